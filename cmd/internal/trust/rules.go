package trust

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// rules carries out the flags about rules: --rules, --rule and --remove-rule.
func (c *command) rules(ctx *cli.Context, root string) error {
	words := ctx.Args().Slice()
	switch {
	case ctx.Bool("rules") && len(words) > 0:
		return value.Errorf(value.Invalid, "--rules and the argument %q are mutually exclusive", words[0]).WithHint("cassidy trust --rules")
	case ctx.Bool("rules"):
		return c.listRules(root)
	case len(words) == 0:
		return value.Errorf(value.Invalid, "RULE is missing").
			WithHint(`write the rule as in the config, in quotes: cassidy trust --rule '{tool: deploy, capability: "shell:git"}'`)
	case c.ConfigFile() == "":
		return value.Errorf(value.Invalid, "write the config: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	}
	rules := make([]tool.Rule, len(words))
	for i, word := range words {
		var err error
		if rules[i], err = config.ParseRule(word); err != nil {
			return err
		}
	}
	if ctx.Bool("remove-rule") {
		return c.removeRules(ctx, root, rules)
	}
	return c.addRules(ctx, root, rules)
}

// addRules shows and adds rules that allow something.
func (c *command) addRules(ctx *cli.Context, root string, rules []tool.Rule) error {
	notes, err := c.checkRules(root, rules)
	if err != nil {
		return err
	}
	notes = append(notes, c.unknown(rules)...)
	change, err := config.AddRules(c.ConfigFile(), root, rules)
	if err != nil {
		return err
	}
	if change.Before == change.After {
		return c.ruleChanged(rules, change, notes, "the config has this rule already")
	}
	return c.confirmRules(ctx, "this would be added to your config, for this project only:", rules, change, notes)
}

// removeRules shows and removes rules that allow something.
func (c *command) removeRules(ctx *cli.Context, root string, rules []tool.Rule) error {
	change, err := config.RemoveRules(c.ConfigFile(), root, rules)
	if err != nil {
		return err
	}
	return c.confirmRules(ctx, "this would be removed from your config:", rules, change, nil)
}

// confirmRules shows a change of the rules, and makes it if the user agrees.
func (c *command) confirmRules(ctx *cli.Context, title string, rules []tool.Rule, change *config.Change, notes []string) error {
	if !c.JSON {
		p := approve.Page{Screen: c.ScreenOf(c.Out), All: true}
		p.RuleChange(title, rules, change)
		c.Print(p.String())
		for _, note := range notes {
			c.Note("%s", note)
		}
	}
	switch {
	case ctx.Bool("yes"):
	case !c.Asks(c.In):
		return value.Errorf(value.Denied, "nothing was written: no terminal is available to ask").
			WithHint("run the command on a terminal, or add --yes after you have read the change")
	default:
		in := c.Terminal(c.In)
		in.Print(c.ScreenOf(c.Err).Prompt("y write this", "N no"))
		line, err := in.ReadLine(ctx.Context)
		if ctx.Context.Err() != nil {
			return ctx.Context.Err()
		}
		if word := strings.ToLower(strings.TrimSpace(line)); err != nil || word != "y" && word != "yes" {
			c.Note("nothing was written")
			return nil
		}
	}
	if err := change.Write(); err != nil {
		return err
	}
	return c.ruleChanged(rules, change, notes, "written to "+change.File)
}

// ruleChanged reports what came of a change.
func (c *command) ruleChanged(rules []tool.Rule, change *config.Change, notes []string, what string) error {
	if c.JSON {
		return c.PrintJSON(value.NewDict("file", change.File, "rules", ui.Texts(ui.Map(rules, func(r tool.Rule) string { return r.String() })),
			"lines", change.Lines, "written", change.Before != change.After, "notes", ui.Texts(notes)))
	}
	c.Did("%s", what)
	return nil
}

// checkRules returns what the user should know about new rules. It fails for a rule that would have no
// effect, because another one decides.
func (c *command) checkRules(root string, rules []tool.Rule) (notes []string, err error) {
	known, err := c.ListRules(root)
	if err != nil {
		return nil, err
	}
	for i := range rules {
		r := &rules[i]
		for j := range known {
			k := &known[j]
			if k.Verdict == tool.Allow || k.Capability.Name != r.Capability.Name && k.Capability.Name != "http" && r.Capability.Name != "http" ||
				k.Tool != "" && k.Tool[0] != '@' && r.Tool != "" && tool.Key(k.Tool) != tool.Key(r.Tool) {
				continue
			}
			by := k.Verdict.String() + " " + k.String() + " in " + place(root, k)
			if k.Covers(&tool.Tool{Name: r.Tool}, r.Capability) || k.Tool == "" && k.Capability.Target == "" && k.Capability.Allows(r.Capability) {
				return nil, value.Errorf(value.Denied, "the rule %s would have no effect, because another rule overrides it: %s", r.String(), by).WithHint("change or delete the other rule first")
			}
			notes = append(notes, "another rule overrides the new one where both apply: "+by)
		}
		if r.Capability.Sends() {
			notes = append(notes, "after a model has read untrusted text, "+cmp.Or(r.Tool, "a tool")+" still asks; a hook can still refuse")
		}
	}
	slices.Sort(notes)
	return slices.Compact(notes), nil
}

// unknown returns a note for each name of a tool or a group in new rules that is unknown here. The tools of
// attached servers, which have a dot in their names, are not looked up.
func (c *command) unknown(rules []tool.Rule) (notes []string) {
	h, done, err := c.Open()
	if err != nil {
		return nil // the files are wrong, and the rules can be right
	}
	defer done()
	names, groups := []string{"agent", "todo"}, []string(nil) // an agent has these
	for _, t := range h.List() {
		names, groups = append(names, tool.Key(t.Name)), append(groups, "@"+t.DisplayGroup())
	}
	for i := range rules {
		list := []string{rules[i].Tool}
		if c := rules[i].Capability; c.Name == "tool" {
			list = append(list, c.Target)
		}
		for _, name := range list {
			switch {
			case name == "" || strings.ContainsAny(name, "./"), strings.Contains(name, "__"):
			case name[0] == '@' && !slices.Contains(groups, name):
				notes = append(notes, "no tool here is in the group "+ui.VisibleLine(name[1:])+value.DidYouMean(name, groups))
			case name[0] != '@' && !slices.Contains(names, tool.Key(name)):
				notes = append(notes, "no tool here has the name "+ui.VisibleLine(name)+value.DidYouMean(tool.Key(name), names))
			}
		}
	}
	return notes
}

// place returns where a rule is: its file, relative to the project if it is there, and its line.
func place(root string, r *config.ListedRule) string {
	file := r.File
	if rel, err := filepath.Rel(root, file); err == nil && r.Project {
		file = rel
	}
	return fmt.Sprintf("%s:%d", file, r.Line)
}

// listRules lists the rules that are in force in the project.
func (c *command) listRules(root string) error {
	rules, err := c.ListRules(root)
	if err != nil {
		return err
	}
	list := value.List{}
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	below := "  "
	if p.Width > 0 {
		below = "    "
	}
	for i := range rules {
		r := &rules[i]
		remove := fmt.Sprintf("edit %s, line %d", r.File, r.Line)
		if r.Verdict == tool.Allow {
			remove = approve.RuleCommand("--remove-rule", []tool.Rule{r.Rule})
		}
		list = append(list, value.NewDict("verdict", r.Verdict.String(), "tool", r.Tool, "capability", r.Capability.String(), "rule", r.String(),
			"text", approve.RuleWords(&r.Rule), "file", r.File, "line", r.Line, "this_project", r.Here || r.Project, "remove", remove))
		p.Long("", ui.VisibleLine(approve.RuleWords(&r.Rule)))
		scope := "in every project"
		if r.Here || r.Project {
			scope = "only in this project"
		}
		p.Long(below, p.Paint(draw.Dim, ui.VisibleLine(r.Verdict.String()+", "+scope+", from "+place(root, r))))
		p.Line(below + p.Paint(draw.Dim, "to remove it: "+ui.VisibleLine(remove)))
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("project", root, "rules", list))
	}
	if len(rules) == 0 {
		c.Note("no rule is in force in this project")
	}
	c.Print(p.String())
	return nil
}
