// Package human lets scripts ask the person for whom they run, and report to them.
package human

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// The bounds of what is asked and answered.
const (
	MaxQuestion = 4 << 10  // bytes: what somebody reads before he answers
	MaxAnswer   = 64 << 10 // bytes: what somebody pastes
)

// Module returns the questions to a person. To ask again does no harm, so an
// answer that was lost is asked for once more.
func Module() tool.Module {
	question := tool.Required("question", tool.TypeString, "what to ask, at most 4 KB")
	otherwise := tool.Optional("default", tool.TypeString, nil, "what to give where the answer is empty; the person is told")
	otherwise.Type.Nullable = true
	return tool.Module{
		Name: "human",
		Doc: "Questions to the person for whom the call is made. The call's time stands still until the answer; a run that is recorded can wait for it " +
			"without a process. Where nobody is there to answer and the run cannot wait, asking is refused. No flag and no rule answers for him.",
		Funcs: []tool.Func{
			newFunc("ask", "Ask a person, who answers in a line of text.", "the answer as a string", ask, question, otherwise),
			newFunc("confirm", "Ask a person, who answers yes or no.", "True for yes, False for no", confirm, question),
		},
	}
}

func newFunc(name, doc, returns string, do func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error), params ...tool.Param) tool.Func {
	return tool.Func{
		Name: name, Doc: doc, Params: params, Returns: returns, Kind: tool.Repeatable,
		Target: func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "human"}}, nil },
		Do:     do,
	}
}

func ask(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	question := e.Args.Text("question")
	otherwise, _ := e.Args.Get("default")
	if text, _ := otherwise.(string); text != "" {
		question += "\n(an empty answer means: " + text + ")"
	}
	v, err := put(ctx, question, false, g)
	if err != nil {
		return tool.Outcome{}, err
	}
	answer, ok := v.(string)
	switch {
	case !ok:
		return tool.Outcome{}, value.Errorf(value.Internal, "the answer should be text but is %s", value.TypeOf(v))
	case len(answer) > MaxAnswer:
		return tool.Outcome{}, limit("the answer is longer than %d KB", MaxAnswer>>10)
	case !utf8.ValidString(answer):
		return tool.Outcome{}, value.Errorf(value.Failed, "the answer is not UTF-8 text")
	case answer == "" && otherwise != nil:
		return tool.Outcome{Value: otherwise}, nil
	}
	return tool.Outcome{Value: answer}, nil
}

func confirm(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	v, err := put(ctx, e.Args.Text("question"), true, g)
	if err != nil {
		return tool.Outcome{}, err
	}
	if _, ok := v.(bool); !ok {
		return tool.Outcome{}, value.Errorf(value.Internal, "the answer should be yes or no but is %s", value.TypeOf(v))
	}
	return tool.Outcome{Value: v}, nil
}

// humanPut puts a question, without the characters that could redraw the
// terminal of whom it asks.
func put(ctx context.Context, question string, confirm bool, g tool.Grant) (value.Value, error) {
	if err := row.Stopped(ctx); err != nil {
		return nil, err
	}
	if len(question) > MaxQuestion {
		return nil, limit("the question is longer than %d KB", MaxQuestion>>10)
	}
	text := strings.TrimSpace(value.Clean(question, MaxQuestion))
	if text == "" {
		return nil, value.Errorf(value.Invalid, "the question is empty")
	}
	if g.Ask == nil {
		return nil, value.Errorf(value.Denied, "there is nobody to ask here").
			WithHint("run it on a terminal; or give what is asked for as an argument of the tool")
	}
	return g.Ask(ctx, text, confirm)
}

func limit(format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = value.LimitHuman
	return e
}
