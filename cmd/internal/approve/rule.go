package approve

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// RuleWords describes a rule in words.
func RuleWords(r *tool.Rule) string {
	who := "every tool"
	switch {
	case strings.HasPrefix(r.Tool, "@"):
		who = "each tool of the group " + r.Tool[1:]
	case r.Tool != "":
		who = r.Tool
	}
	may, c := r.Capability.InWords(), r.Capability
	switch {
	case c.Name == "fs.write" && c.Target == ".":
		may = "change files of the project by commands"
	case c.Name == "shell" && strings.HasPrefix(c.Target, "$ "):
		may = "run exactly this command line in the project folder: " + c.Target[2:] + " (with the rights of the tool),"
	case r.Verdict != tool.Allow:
	case c.Name == "tool" && r.Tool == "":
		return "calls of " + callees(c) + " begin without a question; what they do can still ask"
	case c.Name == "tool":
		return who + " may call " + callees(c) + " without a question; what they do can still ask"
	}
	switch {
	case r.Verdict == tool.Deny && r.Tool == "":
		return "no tool may " + may
	case r.Verdict == tool.Deny:
		return who + " may not " + may
	case r.Verdict == tool.Ask && r.Tool == "":
		return "any tool asks each time before it may " + may
	case r.Verdict == tool.Ask:
		return who + " asks each time before it may " + may
	}
	return who + " may " + may + " without a question"
}

// callees names the tools that a capability to call tools is about.
func callees(c tool.Capability) string {
	switch {
	case c.Target == "":
		return "every tool"
	case c.Target[0] == '@':
		return "the tools of the group " + c.Target[1:]
	}
	return c.Target
}

// RuleChange writes what a change of the rules does: in words, and as a diff of the config.
func (p *Page) RuleChange(title string, rules []tool.Rule, c *config.Change) {
	p.Lines(p.Message(draw.Asks, p.Paint(draw.Bold, title)))
	for i := range rules {
		p.Lines(p.Message(draw.None, ui.VisibleLine(RuleWords(&rules[i]))))
	}
	p.Lines(p.Message(draw.None, ui.VisibleLine(c.File)))
	p.Diff(c.Before, c.After)
}

// RuleCommand returns the command line that does something with rules: flag is --rule or
// --remove-rule.
func RuleCommand(flag string, rules []tool.Rule) string {
	return hint.RuleCommand(flag, ui.Map(rules, func(r tool.Rule) string { return ui.VisibleLine(r.String()) }))
}

// rule answers a question by rules that allow exactly what it asks about. It shows them, and adds
// them to the user's config if the person agrees. ok is false if nothing is answered.
func (a *Asker) rule(ctx context.Context, q *approval) (answer tool.Answer, ok bool, err error) {
	if q.Each {
		a.tell(draw.None, "what this call uses is only known when it uses it: it can begin now, and then asks about each effect. "+
			"Answer r to these questions: each rule is then for exactly what is used.")
		ok, err := a.agrees(ctx, []string{"b begin", "N not now"}, "b", "begin")
		return tool.Answer{Yes: true, Each: true}, ok, err
	}
	if len(q.Rules) == 0 {
		why := q.NoRule
		if why == "" {
			why = "nothing that a rule could allow is asked about"
		}
		a.tell(draw.None, "no rule answers this question: "+ui.VisibleLine(why))
		return tool.Answer{}, false, nil
	}
	if a.AddRules == nil {
		a.reportHint(value.Errorf(value.Invalid, "write the config: no home folder is set").WithHint("set CASSIDY_HOME to a folder"))
		return tool.Answer{}, false, nil
	}
	change, err := a.AddRules(q.Rules)
	if err != nil {
		a.reportHint(err)
		return tool.Answer{}, false, nil
	}
	p := a.newPage(true)
	p.RuleChange("this would be added to your config, for this project only:", q.Rules, change)
	a.Term.Print("\n" + p.String())
	if ok, err = a.agrees(ctx, []string{"w write it and approve", "N no"}, "w", "write"); err != nil || !ok {
		return tool.Answer{}, false, err
	}
	if err := change.Write(); err != nil {
		a.reportHint(err)
		return tool.Answer{}, false, nil
	}
	a.noteAdded(q.Rules)
	a.tell(draw.Done, "written; to be asked again: "+RuleCommand("--remove-rule", q.Rules))
	return tool.Answer{Yes: true}, true, nil
}

// reportHint reports an error with its hint.
func (a *Asker) reportHint(err error) {
	a.report(err)
	if e := describe.ForUsers(value.ErrorOf(err, value.Invalid)); e.Hint != "" {
		a.Term.PrintLines(a.ScreenOf(a.Term.Out).Hint("  ", ui.VisibleLine(e.Hint)))
	}
}

// ByRule shows a question in full, and answers it as the choice r does. ok is false if the person does
// not agree. Without a terminal, it only lets a call begin that asks about each effect.
func (a *Asker) ByRule(ctx context.Context, q tool.Question) (answer tool.Answer, ok bool, err error) {
	end, err := a.begin(ctx)
	if err != nil {
		return tool.Answer{}, false, err
	}
	defer end()
	switch of := (approval{Question: q, tool: toolset.Info{Tool: tool.Tool{Name: q.Tool}}, call: tool.Call{Tool: q.Tool, Args: q.Args}}); {
	case a.Term != nil:
		a.page(true, of.review())
		return a.rule(ctx, &of)
	case q.Each:
		return tool.Answer{}, false, value.Errorf(value.Denied, "no rule was written: no terminal is available to ask").WithHint("run the command on a terminal, or answer yes")
	case len(q.Rules) == 0:
		return tool.Answer{}, false, value.Errorf(value.Invalid, "no rule answers the question %q: %s", q.Text, q.NoRule).WithHint("answer yes or no")
	}
	return tool.Answer{}, false, value.Errorf(value.Denied, "no rule was written: no terminal is available to ask").
		WithHint("%s --yes; then answer yes", RuleCommand("--rule", q.Rules))
}

// agrees reads one line, and reports whether it is one of these words.
func (a *Asker) agrees(ctx context.Context, choices []string, words ...string) (bool, error) {
	a.prompt(choices...)
	line, err := a.Term.ReadLine(ctx)
	if err != nil {
		return false, a.left(ctx)
	}
	return isOneOf(strings.ToLower(strings.TrimSpace(line)), words...), nil
}

// noteAdded notes that rules were added to the config.
func (a *Asker) noteAdded(rules []tool.Rule) {
	if a.added == nil {
		a.added = map[string]bool{}
	}
	for _, text := range ruleTexts(rules) {
		a.added[text] = true
	}
}
