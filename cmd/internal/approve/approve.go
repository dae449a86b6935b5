// Package approve puts the questions of calls to the person at the terminal: approvals of
// calls and of effects, and the questions of scripts. The flags --yes and --deny answer
// approvals.
package approve

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Flags are the flags of the commands that run tools.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "yes", Usage: "approve everything in this run that asks for approval, except the notes that models write for later conversations"},
		&cli.BoolFlag{Name: "deny", Usage: "refuse everything that asks for approval"},
	}
}

// CheckFlags refuses contradicting flags.
func CheckFlags(ctx *cli.Context) error {
	if ctx.Bool("yes") && ctx.Bool("deny") {
		return value.Errorf(value.Invalid, "--yes and --deny are mutually exclusive").WithHint("use only one of --yes and --deny")
	}
	return nil
}

// An Asker puts questions to the person at the terminal, one at a time. Only an explicit
// yes approves. It implements [host.Approver] and [host.Asker].
type Asker struct {
	*ui.Printer
	In        io.Reader    // standard input
	InputRead bool         // In held an argument, so the terminal must be opened by name
	Screen    *ui.Screen   // waits while a question is open
	Term      *ui.Terminal // the terminal; nil until the first question, unless a chat sets it
	Config    string       // the file whose rules approve permanently, for hints
	// AddRules returns the change that adds rules to the user's config, for this project only. It
	// is nil if there is no config to write.
	AddRules func(rules []tool.Rule) (*config.Change, error)
	added    map[string]bool // the rules that were added, as text
	turn     chan struct{}   // holds an element while a question is open
}

// New returns an asker. It opens the terminal for the first question.
func New(p *ui.Printer, in io.Reader, screen *ui.Screen) *Asker {
	return &Asker{Printer: p, In: in, Screen: screen, turn: make(chan struct{}, 1)}
}

// Approver returns the approver that the flags of the command select.
func (a *Asker) Approver(ctx *cli.Context) (host.Approver, error) {
	if err := CheckFlags(ctx); err != nil {
		return nil, err
	}
	switch {
	case ctx.Bool("yes"):
		return host.ApproveAll(), nil
	case ctx.Bool("deny"):
		return host.DenyAll("the user refuses everything that asks for approval"), nil
	}
	return a, nil
}

// An approval is a question for approval, and the call that it belongs to.
type approval struct {
	tool.Question
	tool  toolset.Info
	call  tool.Call
	rules []tool.Rule // that would answer it
}

// review returns what the person is shown.
func (q *approval) review() *review.Review {
	if q.tool.Location != "" {
		return Question(&q.Question, &q.tool, &q.call)
	}
	of := q.Question // of a record, which has nothing else of the tool
	if of.Func == "" {
		of.Args = q.call.Args
	}
	return Question(&of, nil, nil)
}

// Approve implements [host.Approver].
func (a *Asker) Approve(ctx context.Context, q tool.Question) (tool.Answer, error) {
	t, call, ok := host.AskedCall(ctx)
	if !ok {
		t, call = toolset.Info{Tool: tool.Tool{Name: q.Tool, AllowExtra: true}}, tool.Call{Tool: q.Tool, Args: q.Args}
	}
	return a.approve(ctx, approval{q, t, call, host.AskedRules(ctx)})
}

func (a *Asker) approve(ctx context.Context, q approval) (tool.Answer, error) {
	end, err := a.begin(ctx)
	if err != nil {
		return tool.Answer{}, err
	}
	defer end()
	if a.Term == nil {
		return tool.Answer{}, a.nobody(&q)
	}
	return a.ask(ctx, &q)
}

// begin waits until no other question is open, and reserves the terminal until end is
// called. Without a terminal, a.Term is nil.
func (a *Asker) begin(ctx context.Context) (end func(), err error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		<-a.turn
		return nil, err
	}
	if a.Term == nil {
		a.Term = a.OpenTerminal(a.In, a.InputRead)
	}
	if a.Term == nil {
		return func() { <-a.turn }, nil
	}
	a.Screen.Hold()
	return func() {
		a.Screen.Release()
		<-a.turn
	}, nil
}

// nobody returns the error of an approval without a terminal.
func (a *Asker) nobody(q *approval) error {
	what := ""
	if len(q.rules) == 1 && q.rules[0].Capability.Name != "tool" {
		what = " to use " + q.rules[0].Capability.String()
	}
	err := value.Errorf(value.Denied, "the tool '%s' needs approval%s: no terminal is available to ask", q.tool.Name, what)
	if IsNote(&q.Question) {
		if len(q.rules) == 0 {
			return err.WithHint("run the command in a terminal: --yes approves no notes")
		}
		return err.WithHint("run the command in a terminal: --yes approves no notes; or allow every note: %s", RuleCommand("--rule", q.rules))
	}
	if len(q.rules) == 0 || len(q.Rules) == 0 && !q.Each { // no rule allows it: the reason says what else would
		err = value.Errorf(value.Denied, "the tool '%s' needs approval, and no terminal is available to ask: %s", q.tool.Name, q.Why)
		return err.WithHint("approve it in this run with --yes")
	}
	if q.Each {
		return err.WithHint("approve it in this run with --yes, or permanently, for one target: %s", RuleCommand("--rule", q.examples()))
	}
	return err.WithHint("approve it in this run with --yes, or permanently: %s", RuleCommand("--rule", q.Rules))
}

// IsNote reports whether a question is about a note for later conversations.
func IsNote(q *tool.Question) bool {
	return q.Func != "" && slices.Contains(q.Capabilities, tool.Capability{Name: "memory.add"})
}

// examples returns a rule for one target of what the tool of the question needs.
func (q *approval) examples() []tool.Rule {
	rules := slices.Clone(q.rules)
	for i := range rules {
		c := &rules[i].Capability
		switch c.Name {
		case "fs.read", "fs.write":
			c.Target = cmp.Or(c.Target, "FILE")
		case "shell", "env":
			c.Target = cmp.Or(c.Target, "NAME")
		case "tool":
		default:
			if strings.HasPrefix(c.Name, "http") {
				c.Target = cmp.Or(c.Target, "HOST")
			}
		}
	}
	return rules
}

// ask shows a question, and reads lines until one is an answer.
func (a *Asker) ask(ctx context.Context, q *approval) (tool.Answer, error) {
	if a.covered(q) {
		return tool.Answer{Yes: true}, nil
	}
	var edited *value.Dict
	editable := q.Func == "" && len(q.Changes) == 0
	choices := []string{"v view", "a always", "r rule", "? help"}
	if editable {
		choices = append([]string{"e edit"}, choices...)
	}
	hidden := a.page(false, q.review())
	for {
		if hidden.Any() {
			a.prompt(append([]string{"v view all first, then y", "N no"}, slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return c == "v view" })...)...)
		} else {
			a.prompt(append([]string{"y yes", "N no"}, choices...)...)
		}
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return tool.Answer{}, a.left(ctx)
		}
		word := strings.ToLower(strings.TrimSpace(line))
		switch {
		case hidden.Any() && isOneOf(word, "y", "yes", "a", "always", "r", "rule"):
			a.unseen(hidden)
		case isOneOf(word, "y", "yes"):
			a.tell(draw.Done, "approved once")
			return tool.Answer{Yes: true, Args: edited}, nil
		case isOneOf(word, "a", "always", "r", "rule"):
			permanent := a.always
			if word[0] == 'r' {
				permanent = a.rule
			}
			answer, ok, err := permanent(ctx, q)
			if err != nil {
				return tool.Answer{}, err
			}
			if ok {
				answer.Args = edited
				return answer, nil
			}
		case isOneOf(word, "", "n", "no"):
			a.tell(draw.Failed, "refused")
			return refusal(edited), nil
		case isOneOf(word, "v", "view"):
			if a.view(ctx, q.review()) {
				hidden = review.Hidden{}
			}
		case editable && isOneOf(word, "e", "edit"):
			args, err := a.edited(ctx, q)
			if err != nil {
				return tool.Answer{}, err
			}
			if args != nil {
				edited, q.call.Args = args, args
			}
			hidden = a.page(false, q.review())
		default:
			a.Term.Print(a.helpText(q, editable))
		}
	}
}

func isOneOf(word string, list ...string) bool { return slices.Contains(list, word) }

// refusal returns a no. If the person has edited the arguments before, it says which ones were
// refused.
func refusal(edited *value.Dict) tool.Answer {
	if edited == nil {
		return tool.Answer{}
	}
	return tool.Answer{Why: "these edited arguments were refused: " + value.FormatJSON(edited, "")}
}

// unseen reports that a yes needs a view first.
func (a *Asker) unseen(hidden review.Hidden) {
	a.tell(draw.Folded, HiddenText(hidden)+" were not shown: type v to view them before you approve")
}

// left returns the error of a question after Ctrl-C or a hangup.
func (a *Asker) left(ctx context.Context) error {
	if err := a.ended(ctx); err != nil {
		return err
	}
	return unanswered("the input ended")
}

// ended ends the line of the prompt after Ctrl-C or a hangup. It returns the context's
// error, if any.
func (a *Asker) ended(ctx context.Context) error {
	a.Term.Print("\n")
	return ctx.Err()
}

// page shows a review, and returns what it does not show. What was typed until then is no answer: a long review takes a while.
func (a *Asker) page(all bool, r *review.Review) review.Hidden {
	p := a.newPage(all)
	p.Review(r)
	a.Term.Print("\n" + p.String())
	a.Term.Drop()
	return p.Hidden
}

// newPage returns an empty page for the terminal, whose width may have changed.
func (a *Asker) newPage(all bool) *Page { return &Page{Screen: a.ScreenOf(a.Term.Out), All: all} }

// tell prints a message to the person who is asked.
func (a *Asker) tell(mark draw.Symbol, text string) {
	a.Term.PrintLines(a.ScreenOf(a.Term.Out).Quoted(mark, text))
}

// view shows a review in full, and reports whether all of it was shown.
func (a *Asker) view(ctx context.Context, r *review.Review) bool {
	p := a.newPage(true)
	p.Review(r)
	return View(ctx, a.Printer, a.Term, "\n"+p.String())
}

// View shows a text on a terminal: one that is longer than the terminal with the user's pager, or else in parts, with Enter for
// the next one. It reports whether all of it was shown. What was typed before a part was shown is dropped.
func View(ctx context.Context, p *ui.Printer, t *ui.Terminal, text string) bool {
	lines := strings.SplitAfter(text, "\n")
	part := max(1, t.Height()-2)
	whole := t.File == nil || len(lines) <= part
	if whole {
		t.Print(text)
	}
	if whole || paged(ctx, p, t, text) {
		t.Drop()
		return true
	}
	for ; len(lines) > part; lines = lines[part:] {
		t.Print(strings.Join(lines[:part], ""))
		t.Drop()
		t.Print(p.ScreenOf(t.Out).Prompt(ui.Count(len(lines)-part, "more line"), "Enter next", "q back"))
		line, err := t.ReadLine(ctx)
		if word := strings.ToLower(strings.TrimSpace(line)); err != nil || isOneOf(word, "q", "quit", "n", "no") {
			return false
		}
	}
	t.Print(strings.Join(lines, ""))
	t.Drop()
	return true
}

// paged shows a text with the user's pager. It reports false if none is set, or it fails.
func paged(ctx context.Context, p *ui.Printer, t *ui.Terminal, text string) bool {
	pager, _ := p.Env("PAGER")
	words := strings.Fields(pager)
	if len(words) == 0 {
		return false
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), t.Out, t.Out
	cmd.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "-R"))
	if err := cmd.Run(); err != nil {
		t.PrintLines(p.ScreenOf(t.Out).Message(draw.Failed, ui.VisibleLine(words[0]+": "+err.Error())))
		return false
	}
	return true
}

// prompt shows what may be typed, before Enter.
func (a *Asker) prompt(choices ...string) {
	a.Term.Print(a.ScreenOf(a.Term.Out).Prompt(choices...))
}

// helpText explains the answers to a question. Each of them holds as described also after a model has
// read untrusted text: no rule answers such a question.
func (a *Asker) helpText(q *approval, editable bool) string {
	always := "always: approve all such questions of " + q.tool.Name + ", until cassidy ends, the tool changes or the model reads other untrusted text"
	if a.savesRules(q) {
		always += "; or permanently in this project, after you have seen the rule"
	}
	rule := "show why no rule answers this question"
	if q.Each || a.AddRules != nil && len(q.Rules) > 0 {
		rule = "rule: approve permanently, in this project, exactly what is asked about and nothing else; cassidy shows you the rule and the change of your config before it saves it"
	}
	choices := [][2]string{{"y", "approve this call"}, {"n", "refuse; Enter alone refuses too"}}
	if editable {
		choices = append(choices, [2]string{"e", "edit the parameters, then check and show them again"})
	}
	choices = append(choices, [][2]string{{"v", "view everything in full"}, {"a", always}, {"r", rule}, {"Ctrl-C", "end the run"}}...)
	return strings.Join(a.ScreenOf(a.Term.Out).Names("  ", choices, 0), "\n") + "\n"
}
