package approve

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// ruleTexts returns rules as they are written in a config.
func ruleTexts(rules []tool.Rule) []string {
	texts := make([]string, len(rules))
	for i := range rules {
		texts[i] = ui.VisibleLine(rules[i].String())
	}
	return texts
}

// covered reports whether rules that were added while the question waited answer it. They may have been
// removed since.
func (a *Asker) covered(q *approval) bool {
	for _, text := range ruleTexts(q.rules) {
		if !a.added[text] {
			return false
		}
	}
	if len(q.rules) == 0 || a.AddRules == nil {
		return false
	}
	change, err := a.AddRules(q.rules)
	return err == nil && change.Before == change.After
}

// savesRules reports whether rules in the user's config would answer the question, and can be added.
func (a *Asker) savesRules(q *approval) bool { return a.AddRules != nil && len(q.rules) > 0 }

// untilEnd says for how long a yes holds.
const untilEnd = "approved until cassidy ends"

// always asks for how long a yes is to hold: until the command ends, or in this project by
// rules in the user's config, which it adds. ok is false if the person wants neither.
func (a *Asker) always(ctx context.Context, q *approval) (answer tool.Answer, ok bool, err error) {
	rules := ruleTexts(q.rules)
	if !a.savesRules(q) {
		a.tell(draw.Done, untilEnd)
		return tool.Answer{Yes: true, Always: true}, true, nil
	}
	most := a.ScreenOf(a.Term.Out).Most()
	lines := append(draw.Wrap("  s  ", "approve "+kindText(q)+", until cassidy ends or "+q.tool.Name+" changes", most),
		draw.Wrap("  p  ", "approve permanently in this project: add these rules to "+ui.VisibleLine(a.Config), most)...)
	a.Term.Print(strings.Join(lines, "\n") + "\n")
	for _, text := range rules {
		a.Term.Print("       - " + text + "\n")
	}
	for {
		a.prompt("s session", "p project", "N neither")
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return tool.Answer{}, false, a.left(ctx)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "s", "session":
			a.tell(draw.Done, untilEnd)
			return tool.Answer{Yes: true, Always: true}, true, nil
		case "p", "project":
			change, err := a.AddRules(q.rules)
			if err == nil {
				err = change.Write()
			}
			if err != nil {
				a.report(err)
				continue
			}
			a.noteAdded(q.rules)
			a.tell(draw.Done, "added to "+ui.VisibleLine(a.Config)+"; to be asked again, delete these lines:")
			a.Term.Print(ui.Visible(change.Lines))
			return tool.Answer{Yes: true}, true, nil
		case "", "n", "no", "neither":
			return tool.Answer{}, false, nil
		}
	}
}

// kindText describes what a permanent yes to a question holds for.
func kindText(q *approval) string {
	if q.Func == "" {
		return "all calls of " + q.tool.Name + " and all their effects"
	}
	text := "each " + q.Func + " of " + q.tool.Name
	for i, c := range q.Capabilities {
		text += map[bool]string{true: " with ", false: ", "}[i == 0] + ui.VisibleLine(c.String())
	}
	return text
}
