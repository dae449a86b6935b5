package chat

import (
	"context"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A chatAction is a command of a session.
type chatAction struct {
	name, args, usage string
	do                func(t *chatSession, ctx context.Context, args []string) error
}

// chatActions returns the commands of a session.
func chatActions() []chatAction {
	return []chatAction{
		{"help", "", "list the commands", (*chatSession).help},
		{"tools", "[auto|none|NAMES…]", "list the tools of the model, or set them", (*chatSession).tools},
		{"skill", "[NAME]", "list the skills, or add one to the next message; so does /NAME", (*chatSession).skill},
		{"compact", "", "replace the conversation by a summary", (*chatSession).compact},
		{"todo", "", "show the todo list of the model", (*chatSession).todo},
		{"show", "[NUMBER]", "show a call with all its arguments and its result, by default the last one", (*chatSession).show},
		{"undo", "", "undo the file changes of the last turn", (*chatSession).undo},
		{"context", "", "show the length of the conversation", (*chatSession).context},
		{"model", "[NAME]", "show the model, the format and the policy, or continue with another model", (*chatSession).model},
		{"refresh", "", "read the tools and the hooks again, and list what is invalid", (*chatSession).refresh},
		{"clear", "", "begin a new conversation", (*chatSession).clear},
		{"quit", "", "end the session; so do /exit and Ctrl-D", (*chatSession).quit},
		{"exit", "", "", (*chatSession).quit},
	}
}

// do runs a command.
func (t *chatSession) do(ctx context.Context, line string) error {
	words := strings.Fields(line[1:])
	name := ""
	if len(words) > 0 {
		name = words[0]
	}
	var known []string
	for _, k := range chatActions() {
		known = append(known, "/"+k.name)
		if !strings.EqualFold(k.name, name) {
			continue
		}
		if k.args == "" && len(words) > 1 {
			return value.Errorf(value.Invalid, "/%s takes no arguments", k.name).WithHint("type /%s alone", k.name)
		}
		return k.do(t, ctx, words[1:])
	}
	if len(words) == 1 {
		if err := t.useSkill(name); value.KindOf(err) != value.NotFound {
			return err
		}
	}
	return value.Errorf(value.Invalid, "there is no command /%s%s", name, value.DidYouMean("/"+name, known)).
		WithHint("list the commands: /help; or begin a message with // to send a slash")
}

func (t *chatSession) help(context.Context, []string) error {
	var rows [][2]string
	for _, k := range chatActions() {
		if k.usage != "" {
			rows = append(rows, [2]string{strings.TrimSpace("/" + k.name + " " + k.args), k.usage})
		}
	}
	rows = append(rows, [][2]string{
		{`text \`, "continue on the next line"}, {"//text", "send a message that begins with /"},
		{"@FILE", "attach an image, a PDF or a text file; for a literal @, type @@"},
		{"Up Down", "recall earlier messages"}, {"Ctrl-C", "stop the answer or clear the line; press twice to end the session"},
	}...)
	s := t.ScreenOf(t.Err)
	for _, row := range rows {
		t.Draw(s.Fact(draw.None, draw.Pad(s.Own(row[0]), 25, false), row[1]))
	}
	return nil
}

func (t *chatSession) tools(_ context.Context, args []string) error {
	if words := app.Words(args); len(words) > 0 {
		if len(words) == 1 && words[0] == "none" {
			words = nil
		}
		if err := t.session.Offer(words...); err != nil {
			return err
		}
		t.offers = append([]string{}, words...)
		t.known = t.selected()
		t.Note("the next message offers %s to the model", toolCount(len(t.session.Agent().Tools())))
		agents.WarnOverhead(t.App, t.session)
		return nil
	}
	offered := t.session.Agent().Tools()
	if len(offered) == 0 {
		t.Note("the model has no tools; to offer all: /tools auto; to offer some: /tools NAMES…")
		return nil
	}
	var rows [][2]string
	for i := range offered {
		description, _, _ := strings.Cut(offered[i].Description, "\n")
		rows = append(rows, [2]string{offered[i].Name, description})
	}
	t.list(rows)
	return nil
}

// list prints names and their descriptions, a line each.
func (t *chatSession) list(rows [][2]string) {
	width, s := 0, t.ScreenOf(t.Err)
	for i := range rows {
		rows[i][0] = ui.VisibleLine(rows[i][0])
		width = max(width, draw.Cells(rows[i][0]))
	}
	for _, r := range rows {
		t.Draw([]string{s.Cut("  "+draw.Pad(r[0], width, false)+"  "+ui.VisibleLine(r[1]), s.Most())})
	}
}

func (t *chatSession) skill(_ context.Context, args []string) error {
	if len(args) > 0 {
		return t.useSkill(strings.Join(args, " "))
	}
	root, err := t.ProjectRoot()
	if err != nil {
		return err
	}
	skills, _ := skill.List(root, t.Scope())
	if len(skills) == 0 {
		t.Note("no skills found in .cassidy/skills; to create one: cassidy skill new NAME")
		return nil
	}
	var rows [][2]string
	for _, s := range skills {
		about := s.Description
		if !s.Trusted {
			about = "(" + string(toolset.Untrusted) + ") " + s.Reason
		}
		rows = append(rows, [2]string{s.Key, about})
	}
	t.list(rows)
	return nil
}

// useSkill adds a skill to the next message.
func (t *chatSession) useSkill(name string) error {
	text, err := t.session.UseSkill(name)
	if err != nil {
		return err
	}
	t.skills = append(t.skills, text)
	t.Did("the skill %s is added to the next message", name)
	return nil
}

func (t *chatSession) todo(context.Context, []string) error {
	if !t.made.Todo() {
		t.Note("the model has written no list")
	}
	return nil
}

// show shows a call in full.
func (t *chatSession) show(_ context.Context, args []string) error {
	first, last := t.made.Numbers()
	if last == 0 {
		t.Note("the model has made no calls")
		return nil
	}
	number := last
	if len(args) > 0 {
		number, _ = strconv.Atoi(args[0])
	}
	c := t.made.Call(number)
	if c == nil || len(args) > 1 {
		return value.Errorf(value.Invalid, "there is no call %s", strings.Join(args, " ")).WithHint("/show NUMBER, from %d to %d", first, last)
	}
	t.Draw(c.Full(t.ScreenOf(t.Err)))
	return nil
}

// undo undoes the last turn that was not undone yet. The next message reports it to the
// model.
func (t *chatSession) undo(ctx context.Context, _ []string) error {
	if len(t.runs) == 0 {
		t.Note("there is no turn to undo")
		return nil
	}
	last := t.runs[len(t.runs)-1]
	turn, done := t.Interrupts.During(ctx)
	defer done()
	out, err := host.Operate(t.host).UndoRun(turn, operate.Undo{Run: last, ID: agent.NewID()})
	if out == nil {
		return err
	}
	text := calls.Undone(last, out)
	t.console.Print(text)
	if len(out.Done) > 0 {
		t.skills = append(t.skills, "I have undone these file changes of yours:\n"+text)
	}
	if err == nil {
		t.runs = t.runs[:len(t.runs)-1]
	}
	return err
}

func (t *chatSession) compact(ctx context.Context, _ []string) error {
	turn, done := t.Interrupts.During(ctx)
	defer done()
	t.Live.Begin("compact", "compacting the conversation", "")
	before, after, err := t.session.Compact(turn)
	t.Live.End("compact")
	switch {
	case turn.Err() != nil:
		t.Log("stopped compacting; the conversation is unchanged")
		return nil
	case err != nil:
		return err
	}
	t.warned = false
	if after >= before {
		t.Note("compacted a short conversation from %s to %s tokens: the summary is longer", commas(before), commas(after))
		return nil
	}
	t.Did("compacted the conversation from %s to %s tokens", commas(before), commas(after))
	return nil
}

func (t *chatSession) context(context.Context, []string) error {
	a := t.session.Agent()
	overhead, _ := a.Budget()
	t.console.Print("  " + t.usage() + " in " + ui.Count(len(t.session.Messages()), "message") + "; tokens of the tools: " + commas(overhead) + "\n")
	if t.used.Requests > 0 {
		t.console.Print("  used " + t.used.String() + "\n")
	}
	return nil
}

func (t *chatSession) model(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return t.useModel(ctx, strings.Join(args, " "))
	}
	a := t.session.Agent()
	t.console.Print("  " + ui.VisibleLine(t.setup.Options.Model.Name()) + ", format " + string(a.Format()) + ", policy " + ui.VisibleLine(a.Policy().Name) + "\n")
	return nil
}

func (t *chatSession) clear(ctx context.Context, _ []string) error {
	s, err := t.session.Agent().Session(ctx, "")
	if err != nil {
		return err
	}
	t.session = s
	t.skills, t.runs, t.warned, t.used, t.made = nil, nil, false, agent.Usage{}, calls.NewLines(t.App)
	t.Did("began a new conversation")
	return nil
}

func (t *chatSession) quit(context.Context, []string) error {
	t.over = true
	return nil
}

func toolCount(n int) string {
	if n == 0 {
		return "no tools"
	}
	return ui.Count(n, "tool")
}

// commas writes a number with separators: 200,000.
func commas(n int) string { return draw.Commas(strconv.Itoa(n)) }
