package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A chatAction is what can be typed in a session beside messages.
type chatAction struct {
	name, args, usage string
	do                func(t *chatSession, ctx context.Context, args []string) error
}

// chatActions are the commands of a session.
func chatActions() []chatAction {
	return []chatAction{
		{"help", "", "list the commands", (*chatSession).help},
		{"tools", "[auto|none|NAMES…]", "list the tools that the model may call, or offer others", (*chatSession).tools},
		{"skill", "[NAME]", "list the skills, or use one with the next message", (*chatSession).skill},
		{"compact", "", "have the model summarize the conversation, and go on from there", (*chatSession).compact},
		{"undo", "", "take back what the last turn did to files", (*chatSession).undo},
		{"context", "", "tell how long the conversation is", (*chatSession).context},
		{"model", "", "tell which model answers", (*chatSession).model},
		{"clear", "", "begin a new conversation", (*chatSession).clear},
		{"quit", "", "end the session; so do /exit and Ctrl-D", (*chatSession).quit},
		{"exit", "", "", (*chatSession).quit},
	}
}

// do does a command.
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
			return value.Errorf(value.Invalid, "/%s takes no more words", k.name)
		}
		return k.do(t, ctx, words[1:])
	}
	return value.Errorf(value.Invalid, "there is no command /%s%s", name, value.DidYouMean("/"+name, known)).
		WithHint("/help lists the commands; begin a message with // to send it with one slash")
}

func (t *chatSession) help(context.Context, []string) error {
	var b strings.Builder
	for _, k := range chatActions() {
		if k.usage != "" {
			b.WriteString(ui.Pad("  /"+k.name+" "+k.args, 30) + k.usage + "\n")
		}
	}
	for _, line := range [][2]string{
		{`text \`, "goes on in the next line"}, {"//text", "is sent with one slash"},
		{"↑ ↓", "bring back what was typed before"}, {"Ctrl-C", "stops the answer, or clears the line; twice ends the session"},
	} {
		b.WriteString(ui.Pad("  "+line[0], 30) + line[1] + "\n")
	}
	t.page(b.String())
	return nil
}

// page shows what a command of the session tells.
func (t *chatSession) page(text string) { t.console.Print(text) }

func (t *chatSession) tools(_ context.Context, args []string) error {
	if words := names(args); len(words) > 0 {
		if len(words) == 1 && words[0] == "none" {
			words = nil
		}
		if err := t.session.Offer(words...); err != nil {
			return err
		}
		t.Note("the model has %s from the next message on", toolCount(len(t.session.Agent().Tools())))
		t.warnOverhead(t.session)
		return nil
	}
	offered := t.session.Agent().Tools()
	if len(offered) == 0 {
		t.Note("the model has no tools; /tools auto offers all, /tools NAMES… some")
		return nil
	}
	width := 0
	for i := range offered {
		width = max(width, len(offered[i].Name))
	}
	var b strings.Builder
	for i := range offered {
		description, _, _ := strings.Cut(offered[i].Description, "\n")
		b.WriteString(t.row(offered[i].Name, width, description))
	}
	t.page(b.String())
	return nil
}

// row is a line of a list: a name, and as much about it as fits.
func (t *chatSession) row(name string, width int, about string) string {
	return "  " + ui.Clip(ui.VisibleLine(ui.Pad(name, width)+"  "+ui.OneLine(about)), t.console.Width()-3) + "\n"
}

func (t *chatSession) skill(_ context.Context, args []string) error {
	if len(args) > 0 {
		return t.useSkill(strings.Join(args, " "))
	}
	dir, err := t.workDir()
	if err != nil {
		return err
	}
	root, inProject := project.Find(dir, t.home(), t.ceiling())
	if !inProject {
		root = ""
	}
	skills, _ := skill.List(root, t.scope())
	if len(skills) == 0 {
		t.Note("there are no skills; they are Markdown files in .cassidy/skills")
		return nil
	}
	width := 0
	for i := range skills {
		width = max(width, len(skills[i].Key))
	}
	var b strings.Builder
	for i := range skills {
		s := &skills[i]
		about := s.Description
		if s.State != tool.Ready {
			about = "(" + string(s.State) + ") " + s.Reason
		}
		b.WriteString(t.row(s.Key, width, about))
	}
	t.page(b.String())
	return nil
}

// useSkill puts a skill before the next message.
func (t *chatSession) useSkill(name string) error {
	text, err := t.session.UseSkill(name)
	if err != nil {
		return err
	}
	t.skills = append(t.skills, text)
	t.Note("the next message is sent with the skill %s", name)
	return nil
}

// undo takes back the last turn that was not taken back yet, and has the model
// know with the next message.
func (t *chatSession) undo(ctx context.Context, _ []string) error {
	if len(t.runs) == 0 {
		t.Note("there is no turn to take back")
		return nil
	}
	last := t.runs[len(t.runs)-1]
	turn, done := t.interrupts.during(ctx)
	defer done()
	out, err := t.host.UndoRun(turn, host.Undo{Run: last, ID: agent.NewID()})
	if out == nil {
		return err
	}
	text := undoneText(last, out)
	t.page(text)
	if len(out.Done) > 0 {
		t.skills = append(t.skills, "I have taken back what you did to files:\n"+text)
	}
	if err == nil {
		t.runs = t.runs[:len(t.runs)-1]
	}
	return err
}

func (t *chatSession) compact(ctx context.Context, _ []string) error {
	turn, done := t.interrupts.during(ctx)
	defer done()
	spinner := t.NewSpinner()
	spinner.Wait("compacting the conversation")
	stop := t.screen.Spin(spinner)
	before, after, err := t.session.Compact(turn)
	stop()
	switch {
	case turn.Err() != nil:
		t.Log("stopped; the conversation is as it was")
		return nil
	case err != nil:
		return err
	}
	t.warned = false
	if after >= before {
		t.Note("compacted, though it was short: %s tokens, now %s with the summary", commas(before), commas(after))
		return nil
	}
	t.Note("compacted: %s tokens, now %s", commas(before), commas(after))
	return nil
}

func (t *chatSession) context(context.Context, []string) error {
	a := t.session.Agent()
	overhead, _ := a.Budget()
	t.page("  " + t.usage() + " in " + ui.Count(len(t.session.Messages()), "message") + "; the tools take " + commas(overhead) + "\n")
	return nil
}

func (t *chatSession) model(context.Context, []string) error {
	a := t.session.Agent()
	t.page("  " + ui.VisibleLine(t.setup.options.Model.Name()) + ", format " + string(a.Format()) + ", policy " + ui.VisibleLine(a.Policy().Name) + "\n")
	return nil
}

func (t *chatSession) clear(ctx context.Context, _ []string) error {
	s, err := t.session.Agent().Session(ctx, "")
	if err != nil {
		return err
	}
	t.session = s
	t.skills, t.runs, t.warned = nil, nil, false
	t.Note("a new conversation begins")
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

// commas writes a number as in 200,000.
func commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
