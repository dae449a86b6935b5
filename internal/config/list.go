package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ListedRule is a rule that is in force, and its place in a config.
type ListedRule struct {
	tool.Rule
	File    string // the config
	Line    int    // of the rule, from 1
	Here    bool   // it is only for this project
	Project bool   // it is in the project's config, which restricts only
	index   int    // in the list of its verdict
}

// ListRules returns the rules that are in force in a project, as [Read] reads them: those of the user's
// config, then those of the project's, each in the order of the file.
func ListRules(root string, o *Options) ([]ListedRule, error) {
	var list []ListedRule
	if _, err := readListing(root, o, &list); err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for i := range list {
		r := &list[i]
		text, known := texts[r.File]
		if !known {
			f := reader{file: r.File, project: r.Project, root: root}
			text, _ = f.readBounded() // it was read a moment ago
			texts[r.File] = text
		}
		r.Line = yaml.Line(text, r.Verdict.String(), strconv.Itoa(r.index))
	}
	return list, nil
}

// listed returns the entry of a rule that is in force, without its line.
func (r *reader) listed(rule tool.Rule, index int, item value.Value) ListedRule {
	fields, _ := item.(*value.Dict)
	_, here := fields.Get("project")
	return ListedRule{Rule: rule, File: r.file, Here: here, Project: r.project, index: index}
}

// ParseRule reads a rule that allows something, as it is written in the list 'allow' of a config,
// such as {tool: deploy, capability: "shell:git"}. The fields project and id are not allowed.
func ParseRule(text string) (tool.Rule, error) {
	v, err := yaml.Parse(text)
	if err != nil {
		return tool.Rule{}, value.Errorf(value.Invalid, "invalid rule %s: %w", quoted(text), err).WithHint(ruleHint)
	}
	var c Config
	r := reader{to: &c, project: true}
	rule, _, err := r.rule(tool.Allow, v)
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		e.Err, e.Op, e.Hint = value.Errorf(value.Invalid, "invalid rule %s: %s", quoted(text), e.Message()).Err, "", cmp.Or(e.Hint, ruleHint)
		return tool.Rule{}, &e
	}
	rule.Verdict = tool.Allow
	return rule, nil
}

const ruleHint = `write the rule as '{tool: deploy, capability: "shell:git"}'`

// RemoveRules returns the change that removes rules which allow something from the user's config: for
// each, one for this project if there is such a rule, or else one for all projects. It fails with kind
// NotFound if the config lacks one of them here.
func RemoveRules(file, project string, rules []tool.Rule) (*Change, error) {
	texts := value.Map(rules, func(r tool.Rule) string { return r.String() })
	c := &Change{File: file, purpose: "remove a rule from ", hint: "edit " + file + " and delete from the list 'allow': " + strings.Join(texts, ", ")}
	c.edit = func(text string) (string, error) {
		c.Lines = ""
		for i := range rules {
			r, err := ruleIn(text, file, project, &rules[i])
			if err != nil {
				return "", err
			}
			lines, before := c.Lines, text
			if text, err = c.without(before, project, r); err != nil {
				return "", err
			}
			if short, ok := withoutEmptyAllow(text); ok && checkEdit(file, project, short, before, []tool.Rule{r.Rule}) == nil {
				text = short
			}
			c.Lines = lines + c.Lines
		}
		return text, nil
	}
	return c, c.plan()
}

// ruleIn returns the rule that RemoveRules removes from a text of the config.
func ruleIn(text, file, project string, rule *tool.Rule) (*ListedRule, error) {
	var list []ListedRule
	r := reader{to: &Config{}, file: file, source: file, root: project, list: &list}
	if err := r.parse(text); err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(list, func(has ListedRule) bool {
		return has.Verdict != tool.Allow || tool.Key(has.Tool) != tool.Key(rule.Tool) || has.Capability != rule.Capability
	})
	if len(found) == 0 {
		return nil, value.Errorf(value.NotFound, "the list 'allow' has no rule %s for this project", rule.String()).WithHint("list the rules: cassidy trust --rules")
	}
	return &found[max(0, slices.IndexFunc(found, func(r ListedRule) bool { return r.Here }))], nil
}

// withoutEmptyAllow returns a text of the config without the line of a list 'allow' that has nothing, not even a comment. ok
// reports whether there is one.
func withoutEmptyAllow(text string) (short string, ok bool) {
	at := allowLine().FindStringIndex(text)
	if at == nil {
		return text, false
	}
	line, after, _ := strings.Cut(text[at[0]:], "\n")
	if strings.TrimRight(line, " \t") != "allow:" || strings.HasPrefix(after, " ") || strings.HasPrefix(after, "\t") || strings.HasPrefix(after, "-") || strings.HasPrefix(after, "#") {
		return text, false
	}
	return text[:at[0]] + after, true
}

// maxRuleLines is how many lines a rule may have to be removed: one that AddRules has written has
// one line.
const maxRuleLines = 16

// without returns a text of the config without the lines of a rule, and keeps these lines.
func (c *Change) without(text, project string, r *ListedRule) (string, error) {
	lines := slices.Collect(strings.Lines(text))
	from := yaml.Line(text, r.Verdict.String(), strconv.Itoa(r.index)) - 1
	end := min(len(lines), from+maxRuleLines)
	if next := yaml.Line(text, r.Verdict.String(), strconv.Itoa(r.index+1)) - 1; next > from {
		end = next
	}
	for to := from + 1; from >= 0 && to <= end; to++ {
		changed := strings.Join(slices.Concat(lines[:from], lines[to:]), "")
		if checkEdit(c.File, project, changed, text, []tool.Rule{r.Rule}) == nil {
			c.Lines = strings.Join(lines[from:to], "")
			return changed, nil
		}
	}
	if from >= 0 {
		start := len(strings.Join(lines[:from], ""))
		if changed, ok := c.withoutItem(text, project, r, text[:start+len(strings.Join(lines[from:end], ""))], start); ok {
			return changed, nil
		}
	}
	return "", value.Errorf(value.Invalid, "the list 'allow' in the file cannot be edited automatically: the rule is on line %d", from+1)
}

// maxCommas is how many commas a rule in brackets may have to be removed: one that AddRules has written
// has three, and more in its names.
const maxCommas = 8

// withoutItem is without for a rule in a list in brackets, with the comma beside it. It searches text from
// start to the end of upTo.
func (c *Change) withoutItem(text, project string, r *ListedRule, upTo string, start int) (changed string, ok bool) {
	var at []int // where items can begin or end
	for i := start; i < len(upTo); i++ {
		if strings.IndexByte("[,]", upTo[i]) >= 0 {
			at = append(at, i)
		}
	}
	for i, a := range at {
		for _, b := range at[i+1 : min(len(at), i+2+maxCommas)] {
			from, to := a, b
			if text[a] != ',' {
				from, to = a+1, b+1 // the first item, with the comma after it
				to += len(text[to:]) - len(strings.TrimLeft(text[to:], " "))
			}
			if changed = text[:from] + text[to:]; checkEdit(c.File, project, changed, text, []tool.Rule{r.Rule}) == nil {
				c.Lines = "  - " + strings.Trim(text[from:to], ", \t\r\n") + "\n"
				return changed, true
			}
		}
	}
	return "", false
}

// UserFile returns the user's config.
func (o *Options) UserFile() string {
	if o.File != "" || o.Home == "" {
		return o.File
	}
	return filepath.Join(o.Home, "config.yaml")
}

// IsWithin reports whether the user's file, or the file to which it links, is in a folder outside of
// .cassidy. If tools act on this folder, they could write the file.
func (o *Options) IsWithin(dir string) bool {
	file := o.UserFile()
	if file == "" || dir == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	names := []string{file}
	if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		names = append(names, filepath.Join(real, filepath.Base(file)))
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		names = append(names, real)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		rel, err := filepath.Rel(dir, name)
		return err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(filepath.ToSlash(rel), ".cassidy/")
	})
}
