package agentfile

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Aliases returns the built-in tools that do what a tool of Claude Code or opencode does.
func Aliases(name string) []string {
	switch strings.ToLower(name) {
	case "read":
		return []string{"read_file", "read_files"}
	case "write":
		return []string{"write_file"}
	case "edit", "multiedit", "patch":
		return []string{"edit_file"}
	case "grep":
		return []string{"search_files"}
	case "glob", "ls", "list":
		return []string{"list_files"}
	case "bash":
		return []string{"run_command"}
	case "webfetch":
		return []string{"fetch_url"}
	case "task", "agent":
		return []string{"agent"}
	}
	return nil
}

// named returns the words for a tool: its name, and those of the tools for which it stands.
func named(word string) []string {
	other := Aliases(word)
	if slices.Contains(other, word) {
		return other
	}
	return append([]string{word}, other...)
}

// tools reads which tools the agent may have: a list, a text with commas, or for each name whether
// it may.
func (p *parser) tools(name string, v value.Value) error {
	if switches, ok := v.(*value.Dict); ok {
		return p.toolSwitches(name, switches)
	}
	words, err := wordsOf(name, v)
	if err != nil {
		return err
	}
	p.to.Tools = []string{}
	for _, word := range words {
		tools, _, partly := strings.Cut(word, "(")
		switch {
		case word == "*":
			p.to.Tools = nil
			return nil
		case partly && Aliases(tools) != nil && tools != "Task" && tools != "Agent":
			p.warn("%.80s is ignored in 'tools': an agent file cannot select a part of a tool; to restrict what a tool may do, use 'permissions'", word)
		default:
			p.to.Tools = append(p.to.Tools, named(tools)...)
		}
	}
	return nil
}

// toolSwitches reads tools as in {"*": false, read: true}.
func (p *parser) toolSwitches(name string, switches *value.Dict) error {
	var with []string
	only := false
	for k, v := range switches.All() {
		word, _ := k.(string)
		on, err := boolOf(name+"."+word, v)
		switch {
		case err != nil:
			return err
		case on:
			with = append(with, named(word)...)
		case word == "*":
			only = true
		default:
			p.to.Without = append(p.to.Without, named(word)...)
		}
	}
	if only {
		p.to.Tools = append([]string{}, with...)
	}
	return nil
}

func (p *parser) disallowed(name string, v value.Value) error {
	words, err := wordsOf(name, v)
	for _, word := range words {
		tools, _, partly := strings.Cut(word, "(")
		if partly {
			p.warn("%.80s removes the complete tool %s: an agent file cannot remove a part of a tool", word, tools)
		}
		p.to.Without = append(p.to.Without, named(tools)...)
	}
	return err
}

// wordsOf reads a list of texts, or a text with commas.
func wordsOf(name string, v value.Value) ([]string, error) {
	if text, ok := v.(string); ok {
		return splitWords(text), nil
	}
	items, ok := value.Elements(v)
	if !ok {
		return nil, wrongType(name, "a list of names", v)
	}
	var words []string
	for _, item := range items {
		word, ok := item.(string)
		if !ok {
			return nil, value.Errorf(value.Invalid, "'%s' should be a list of names but contains %s", name, value.TypeOf(item)).WithHint("put the name in quotes")
		}
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words, nil
}

// splitWords splits a text at the commas that are not in parentheses.
func splitWords(text string) []string {
	depth := 0
	words := strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth <= 0
	})
	words = value.Map(words, strings.TrimSpace)
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}

// permissionMode reads the mode of Claude Code. Modes that grant something are ignored.
func (p *parser) permissionMode(name string, v value.Value) error {
	mode := ""
	if err := p.text(name, v, &mode); err != nil {
		return err
	}
	switch mode {
	case "", "default":
	case "plan":
		for _, c := range tool.CapabilityNames() {
			if (tool.Capability{Name: c}).Acts() && c != "http" && c != "http.get" && c != "http.head" && c != "env" && c != "secret" {
				p.to.Rules = append(p.to.Rules, tool.Rule{Verdict: tool.Deny, Capability: tool.Capability{Name: c}, Source: p.to.Path, Setting: name + ": " + mode})
			}
		}
	default:
		p.warn("'%s: %s' is ignored: an agent file cannot grant anything", name, mode)
	}
	return nil
}

func (p *parser) rule(verdict tool.Verdict, c tool.Capability) {
	p.to.Rules = append(p.to.Rules, tool.Rule{Verdict: verdict, Capability: c, Source: p.to.Path})
}

// permissions reads rules in one of two forms: lists of capabilities by verdict, as in
// {deny: [shell], ask: ["fs.write:src/**"]}, or verdicts by tool, as in {edit: ask, bash: {"git *": deny}}.
func (p *parser) permissions(name string, v value.Value) error {
	fields, ok := v.(*value.Dict)
	if !ok {
		return wrongType(name, `an object, as in {deny: [shell], ask: ["fs.write:src/**"]},`, v)
	}
	for k, v := range fields.All() {
		word, _ := k.(string)
		verdict, isVerdict := verdicts()[word]
		var err error
		switch {
		case word == "allow":
			p.warn("'%s.allow' is ignored: an agent file cannot grant anything", name)
		case isVerdict:
			err = p.ruleList(name+"."+word, verdict, v)
		default:
			err = p.toolRules(name+"."+word, word, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func verdicts() map[string]tool.Verdict {
	return map[string]tool.Verdict{"allow": tool.Allow, "ask": tool.Ask, "deny": tool.Deny}
}

// ruleList reads capabilities, as in the rules of a config.
func (p *parser) ruleList(name string, verdict tool.Verdict, v value.Value) error {
	items, ok := value.Elements(v)
	if text, isText := v.(string); isText {
		items, ok = value.List{text}, true
	}
	if !ok {
		return wrongType(name, `a list of capabilities, as in ["fs.write:src/**"],`, v)
	}
	for _, item := range items {
		text, about := "", ""
		switch item := item.(type) {
		case string:
			text = item
		case *value.Dict:
			text, about = item.Text("capability"), item.Text("tool")
		}
		c, err := tool.ParseCapability(text)
		if err != nil {
			e := value.ErrorOf(err, value.Invalid)
			return value.Errorf(value.Invalid, "'%s': %s", name, e.Message()).WithHint("%s", e.Hint)
		}
		if c.Name == "tool" && !strings.HasPrefix(c.Target, "@") {
			c.Target = tool.Key(c.Target)
		}
		p.to.Rules = append(p.to.Rules, tool.Rule{Verdict: verdict, Tool: about, Capability: c, Source: p.to.Path})
	}
	return nil
}

// toolRules reads the verdict for a tool of opencode, or its verdicts by pattern.
func (p *parser) toolRules(name, word string, v value.Value) error {
	patterns, ok := v.(*value.Dict)
	if !ok {
		patterns = value.NewDict("*", v)
	}
	for k, v := range patterns.All() {
		pattern, _ := k.(string)
		text, _ := v.(string)
		verdict, ok := verdicts()[text]
		if !ok {
			return value.Errorf(value.Invalid, "'%s' should be \"ask\" or \"deny\" but got %s", name, brief(v)).WithHint("an agent file can only ask or deny, and cannot allow anything")
		}
		if verdict != tool.Allow {
			p.toolRule(verdict, word, pattern)
		}
	}
	return nil
}

// toolRule adds a rule for a tool of opencode. It covers at least what the pattern covers.
func (p *parser) toolRule(verdict tool.Verdict, word, pattern string) {
	c := tool.Capability{}
	switch strings.ToLower(word) {
	case "edit", "write", "patch":
		c = target("fs.write", pattern)
	case "read":
		c = target("fs.read", pattern)
	case "bash":
		first, _, _ := strings.Cut(pattern, " ")
		if c = target("shell", first); c.Target != "" && c.Target != pattern {
			p.warn("the rule for '%s: %.80s' applies to the command %s with any arguments", word, pattern, c.Target)
		}
	case "webfetch", "websearch":
		c.Name = "http"
	case "task":
		c = tool.Capability{Name: "tool", Target: "agent"}
	default:
		if verdict == tool.Ask && tool.CheckCallName(word) == nil {
			c = tool.Capability{Name: "tool", Target: tool.Key(word)}
			break
		}
		p.to.Without = append(p.to.Without, named(word)...)
		return
	}
	p.rule(verdict, c)
}

// target returns a capability with a target, or without one if the pattern covers everything or
// cannot be one.
func target(name, pattern string) tool.Capability {
	c, err := tool.ParseCapability(name + ":" + pattern)
	if err != nil || strings.Trim(pattern, "*/") == "" {
		return tool.Capability{Name: name}
	}
	return c
}
