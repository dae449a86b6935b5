package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// approvalFlags are the flags of the commands that run tools.
func approvalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "yes", Usage: "approve whatever asks for approval in this run"},
		&cli.BoolFlag{Name: "deny", Usage: "refuse whatever asks for approval, without asking"},
	}
}

// asking is a command that needs a host, whose approvals the user gives.
func (c *command) asking(do func(ctx *cli.Context, h *host.Host) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		var err error
		if c.approver, err = c.chooseApprover(ctx); err != nil {
			return err
		}
		return c.withHost(do)(ctx)
	}
}

// checkApprovalFlags refuses flags that contradict each other.
func checkApprovalFlags(ctx *cli.Context) error {
	if ctx.Bool("yes") && ctx.Bool("deny") {
		return value.Errorf(value.Invalid, "--yes and --deny say opposite things").WithHint("use one of them")
	}
	return nil
}

// chooseApprover returns who decides on what needs approval: the flags, or the
// person at the terminal. It also keeps who answers what else is asked: that
// person alone, or the model of the flags.
func (c *command) chooseApprover(ctx *cli.Context) (host.Approver, error) {
	c.inputRead = ctx.String("input") == "-"
	c.model, c.patience = ctx.String("model"), ctx.Duration("timeout")
	a := newAsker(c)
	if a.present() {
		c.asker = a
	}
	if err := checkApprovalFlags(ctx); err != nil {
		return nil, err
	}
	switch {
	case ctx.Bool("yes"):
		return host.ApproveAll(), nil
	case ctx.Bool("deny"):
		return host.ApproverFunc(func(context.Context, host.Question) (host.Answer, error) {
			return host.Answer{Why: "--deny refuses whatever asks for approval"}, nil
		}), nil
	}
	return a, nil
}

// An asker puts questions to the person at the terminal, one at a time. Only
// an explicit yes approves. It is a [host.Approver] and a [host.Asker].
type asker struct {
	*command
	turn chan struct{} // held while a question is open
	term *ui.Terminal  // nil until the first question
}

func newAsker(c *command) *asker {
	return &asker{command: c, turn: make(chan struct{}, 1)}
}

// An approval is a question of that kind with what else of the call is shown.
type approval struct {
	host.Question
	tool tool.Tool
	call tool.Call
}

// Approve implements [host.Approver].
func (a *asker) Approve(ctx context.Context, q host.Question) (host.Answer, error) {
	t, call, ok := host.AskedCall(ctx)
	if !ok {
		t, call = tool.Tool{Name: q.Tool}, tool.Call{Tool: q.Tool, Args: q.Args}
	}
	return a.approve(ctx, approval{q, t, call})
}

func (a *asker) approve(ctx context.Context, q approval) (host.Answer, error) {
	end, err := a.begin(ctx)
	if err != nil {
		return host.Answer{}, err
	}
	defer end()
	if a.term == nil {
		return host.Answer{}, a.nobody(&q)
	}
	return a.ask(ctx, &q)
}

// begin waits until no other question is open, and gives this one the terminal,
// until end is called. Where there is none, a.term is nil.
func (a *asker) begin(ctx context.Context) (end func(), err error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		<-a.turn
		return nil, err
	}
	if a.term == nil {
		a.term = a.console
	}
	if a.term == nil {
		a.term = ui.OpenTerminal(a.in, a.Err, a.inputRead)
	}
	if a.term == nil {
		return func() { <-a.turn }, nil
	}
	a.screen.Hold()
	a.term.Drop()
	return func() {
		a.screen.Release()
		<-a.turn
	}, nil
}

// nobody refuses for want of a terminal, and says how to do without one.
func (a *asker) nobody(q *approval) error {
	config := a.config
	if config == "" {
		config = "your config.yaml"
		if home := a.home(); home != "" {
			config = filepath.Join(home, "config.yaml")
		}
	}
	rules := value.List{}
	what := ""
	for _, c := range q.Capabilities {
		if c.Acts() || q.Func != "" {
			rules = append(rules, c.String())
			what = " to use " + ui.Visible(c.String())
		}
	}
	if len(rules) != 1 {
		what = "" // several would be no sentence
	}
	if len(rules) == 0 {
		rules = value.List{"tool:" + q.tool.Name}
	}
	return value.Errorf(value.Denied, "the tool '%s' needs approval%s, and there is no terminal to ask on", q.tool.Name, what).
		WithHint("--yes approves it in this run; allow: %s in %s approves it for good", value.FormatJSON(rules, ""), config)
}

// ask shows a question and reads what the person says, until that is an
// answer.
func (a *asker) ask(ctx context.Context, q *approval) (host.Answer, error) {
	var edited *value.Dict
	editable := q.Func == "" && q.Changes == nil
	a.put(q, false)
	for {
		a.prompt(choices(editable))
		line, err := a.term.ReadLine(ctx)
		if err != nil {
			return host.Answer{}, a.left(ctx)
		}
		switch word := strings.ToLower(strings.TrimSpace(line)); {
		case word == "y" || word == "yes":
			return host.Answer{Yes: true, Args: edited}, nil
		case word == "a" || word == "always":
			return host.Answer{Yes: true, Always: true, Args: edited}, nil
		case word == "" || word == "n" || word == "no":
			return host.Answer{}, nil
		case word == "v" || word == "view":
			a.put(q, true)
		case editable && (word == "e" || word == "edit"):
			args, err := a.edited(ctx, q)
			if err != nil {
				return host.Answer{}, err
			}
			if args != nil {
				edited, q.call.Args = args, args
			}
			a.put(q, false)
		default:
			a.term.Print(helpText(q, editable))
		}
	}
}

// ended is why there is no line: the person pressed Ctrl-C, or has gone, which
// is a no.
func (a *asker) ended(ctx context.Context) error {
	a.term.Print("\n") // the cursor stands after the prompt
	return ctx.Err()
}

// put shows the question: all of it, or as much as helps to decide.
func (a *asker) put(q *approval, all bool) {
	a.page(all, func(r *review) { r.question(q) })
}

// page shows what write writes.
func (a *asker) page(all bool, write func(r *review)) {
	r := review{paint: a.PaintOn(a.term.Out), width: a.term.Width(), all: all}
	write(&r)
	a.term.Print("\n" + r.String())
}

func (a *asker) prompt(text string) { a.term.Print("cassidy: " + text + " ") }

func choices(editable bool) string {
	if editable {
		return "[y]es [n]o [e]dit [v]iew [a]lways ?"
	}
	return "[y]es [n]o [v]iew [a]lways ?"
}

func helpText(q *approval, editable bool) string {
	lines := []string{
		"  y  yes, this once",
		"  n  no; so is an empty answer",
	}
	if editable {
		lines = append(lines, "  e  edit the parameters first; they are checked and shown again")
	}
	lines = append(lines,
		"  v  view all of it, nothing left out",
		"  a  always: yes, and to whatever "+q.tool.Name+", unchanged, asks of this kind until cassidy ends",
		"  Ctrl-C ends the whole run")
	return strings.Join(lines, "\n") + "\n"
}

// edited has the person edit the arguments of a call until they are right. It
// returns nil where they are to stay what they were.
func (a *asker) edited(ctx context.Context, q *approval) (*value.Dict, error) {
	before := shownArgs(&q.tool, q.call.Args)
	text := ui.Visible(value.FormatJSON(before, "  ")) + "\n"
	for {
		var err error
		if text, err = a.rewritten(ctx, text); err == nil {
			var after *value.Dict
			if after, err = readEdited(&q.tool, before, text); err == nil {
				return after, nil
			}
		}
		if ctx.Err() != nil {
			return nil, a.ended(ctx)
		}
		e := value.ErrorOf(err, value.Invalid)
		a.term.Print("cassidy: " + ui.Visible(e.Message()) + "\n")
		a.prompt("[enter] edits again, [n]o leaves the parameters as they were ?")
		line, err := a.term.ReadLine(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, a.ended(ctx)
		}
		if err != nil || strings.TrimSpace(line) != "" {
			return nil, nil
		}
	}
}

// rewritten has the person change a text: in an editor, or where none is set,
// by typing another.
func (a *asker) rewritten(ctx context.Context, text string) (string, error) {
	words := a.editor()
	if len(words) == 0 {
		a.term.Print("cassidy: type the parameters as a JSON object, and then an empty line (EDITOR would have an editor open here)\n")
		return a.term.ReadObject(ctx)
	}
	file, err := os.CreateTemp("", "cassidy-*.json")
	if err != nil {
		return text, ui.FileError(err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return text, ui.FileError(err)
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file.Name())...)
	// The result of the call goes to standard output, and nothing else.
	cmd.Stdout, cmd.Stderr = a.term.Out, a.term.Out
	if a.term.File != nil {
		cmd.Stdin = a.term.File
	}
	if err := cmd.Run(); err != nil {
		return text, value.Errorf(value.Failed, "%s: %w", words[0], err)
	}
	f, err := os.Open(file.Name()) // anew: many editors put another file in its place
	if err != nil {
		return text, ui.FileError(err)
	}
	defer f.Close()
	after, err := ui.ReadAll(f)
	if err != nil {
		return text, value.Errorf(value.Invalid, "%w", err)
	}
	return string(after), nil
}

// editor returns the command of the user's editor, or nothing.
func (c *command) editor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if editor, _ := c.Env(name); strings.TrimSpace(editor) != "" {
			return strings.Fields(editor)
		}
	}
	return nil
}

// readEdited reads arguments that a person has edited. What was left as it was
// stays the very value, which JSON may not have had a form for.
func readEdited(t *tool.Tool, before *value.Dict, text string) (*value.Dict, error) {
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	read, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "the parameters should be a JSON object but are %s", value.TypeOf(v))
	}
	after := &value.Dict{}
	for k, v := range read.All() {
		name, _ := k.(string)
		if old, ok := before.Get(name); ok && value.FormatJSON(old, "") == value.FormatJSON(v, "") {
			v = old
		}
		after.Put(name, v)
	}
	if _, err := t.Check(after); err != nil {
		return nil, err
	}
	return after, nil
}

// shownArgs returns the arguments without those that the host fills in.
func shownArgs(t *tool.Tool, args *value.Dict) *value.Dict {
	shown := &value.Dict{}
	for k, v := range args.All() {
		name, _ := k.(string)
		if p, ok := t.Param(name); !ok || !p.FromHost {
			shown.Put(name, v)
		}
	}
	return shown
}
