package approve

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/forms"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askTries is how often an invalid answer is asked for again.
const askTries = 3

// Present reports whether there may be a person. Only a question shows whether there is
// one: until then, the command may read standard input, see [ui.Printer.OpenTerminal].
func (a *Asker) Present() bool {
	t := a.OpenTerminal(a.In, true)
	if t != nil && t.File != a.In {
		_ = t.File.Close() // it was opened only to know that it can be
	}
	return t != nil
}

// Ask implements [host.Asker]. Without an answer, a run that can wait is parked. The flags
// answer no such questions.
func (a *Asker) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	end, err := a.begin(ctx)
	if err != nil {
		return tool.Answer{}, err
	}
	defer end()
	if a.Term == nil {
		return tool.Answer{}, unanswered("no terminal is available to ask")
	}
	isText := q.Kind == tool.QuestionAsk
	r := review.Of(&q, &review.About{})
	hidden := a.page(isText, r)
	switch {
	case isText && q.Form != nil:
		return a.form(ctx, &q)
	case isText:
		return a.text(ctx)
	}
	return a.yesOrNo(ctx, r, hidden, q.TakesDone())
}

func unanswered(why string) error {
	return value.Errorf(value.Parked, "the question was not answered: %s", why)
}

// yesOrNo reads lines until one is yes or no, or with orDone, done. An empty line is none.
func (a *Asker) yesOrNo(ctx context.Context, r *review.Review, hidden review.Hidden, orDone bool) (tool.Answer, error) {
	choices, letters := []string{"y yes", "n no", "v view"}, "y, n,"
	if orDone {
		choices, letters = []string{"y yes", "n no", "d done", "v view"}, "y, n, d,"
	}
	for tries := 0; tries < askTries; {
		a.prompt(choices...)
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return tool.Answer{}, a.left(ctx)
		}
		switch word := strings.ToLower(strings.TrimSpace(line)); {
		case hidden.Any() && isOneOf(word, "y", "yes"):
			a.unseen(hidden)
		case isOneOf(word, "y", "yes"):
			a.tell(draw.Done, "yes")
			return tool.Answer{Yes: true}, nil
		case isOneOf(word, "n", "no"):
			a.tell(draw.Failed, "no")
			return tool.Answer{}, nil
		case orDone && isOneOf(word, "d", "done"):
			return a.result(ctx)
		case isOneOf(word, "v", "view"):
			if a.view(ctx, r) {
				hidden = review.Hidden{}
			}
		default:
			tries++
			a.Term.Print("  type " + letters + " or v to view the full question; Ctrl-C ends the run\n")
		}
	}
	return tool.Answer{}, unanswered("expected yes or no")
}

// result asks for the result of an effect that was carried out.
func (a *Asker) result(ctx context.Context) (tool.Answer, error) {
	for range askTries {
		a.prompt("its result as JSON; an empty line is null")
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return tool.Answer{}, a.left(ctx)
		}
		if line = strings.TrimSpace(line); line == "" {
			return tool.Answer{Done: true}, nil
		}
		v, err := value.ParseJSON([]byte(line))
		if err == nil {
			return tool.Answer{Done: true, Value: v}, nil
		}
		a.Term.Print("  " + value.ErrorOf(err, value.Invalid).Message() + "\n")
	}
	return tool.Answer{}, unanswered("expected JSON")
}

// form asks whether to fill in a form, and then for each field.
func (a *Asker) form(ctx context.Context, q *tool.Question) (tool.Answer, error) {
	form, err := forms.Parse(q.Form)
	if err != nil {
		return tool.Answer{}, err
	}
	for range askTries {
		a.prompt("y yes, fill it in", "n no, decline")
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return tool.Answer{}, a.left(ctx)
		}
		switch word := strings.ToLower(strings.TrimSpace(line)); {
		case isOneOf(word, "y", "yes"):
			return a.fields(ctx, form)
		case isOneOf(word, "n", "no"):
			return tool.Answer{}, nil
		}
		a.Term.Print("  type y or n\n")
	}
	return tool.Answer{}, unanswered("expected yes or no")
}

// fields asks for the fields of a form, one after the other. Enter alone is the default.
func (a *Asker) fields(ctx context.Context, form *forms.Form) (tool.Answer, error) {
	content := &value.Dict{}
	for i := range form.Fields {
		f := &form.Fields[i]
		for tries := 1; ; tries++ {
			a.Term.Print("  " + ui.VisibleLine(f.String()) + "\n")
			a.prompt(ui.VisibleLine(f.Name))
			line, err := a.Term.ReadLine(ctx)
			if err != nil {
				return tool.Answer{}, a.left(ctx)
			}
			v, err := f.Read(strings.TrimRight(line, "\r\n"))
			if err == nil {
				if v != nil {
					content.Put(f.Name, v)
				}
				break
			}
			if tries == askTries {
				return tool.Answer{}, unanswered(value.ErrorOf(err, value.Invalid).Message())
			}
			a.Term.Print("  " + ui.VisibleLine(value.ErrorOf(err, value.Invalid).Message()) + "\n")
		}
	}
	return tool.Answer{Value: value.FormatJSON(value.NewDict("action", forms.Accept, "content", content), "")}, nil
}

// text reads a line, which may be empty.
func (a *Asker) text(ctx context.Context) (tool.Answer, error) {
	for range askTries {
		a.prompt("your answer in one line")
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return tool.Answer{}, a.left(ctx)
		}
		if utf8.ValidString(line) {
			return tool.Answer{Value: line}, nil
		}
		a.Term.Print("  the answer is not UTF-8 text\n")
	}
	return tool.Answer{}, unanswered("the answer is not UTF-8 text")
}
