package agentfile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/agentfile"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// parse reads a file with a description and these lines.
func parse(lines ...string) (tool.Agent, []string, error) {
	return agentfile.Parse("helper", ".cassidy/agents/helper.md", "---\ndescription: Helps\n"+strings.Join(lines, "\n")+"\n---\nBe brief.\n")
}

func rule(v tool.Verdict, capability string) tool.Rule {
	name, target, _ := strings.Cut(capability, ":")
	return tool.Rule{Verdict: v, Capability: tool.Capability{Name: name, Target: target}, Source: ".cassidy/agents/helper.md"}
}

func TestParse(t *testing.T) {
	text := "\ufeff---\r\nname: reviewer\r\ndescription: |\r\n  Reviews\r\n  code\r\nmodel: openai:gpt-x\r\neffort: high\r\ntemperature: 1\r\npolicy: review\r\n" +
		"tools: [read_file, '@files']\r\ndisallowedTools: write_file, edit_file\r\nmaxTurns: 7\r\noutput_schema: list[str]\r\n" +
		"permissions: {deny: [shell], ask: ['fs.write:src/**', {tool: deploy, capability: http}]}\r\n" +
		"limits: {cost: 0.5, requests: 3, tokens: 1000, tool_calls: 4, time: 5m}\r\nmode: subagent\r\ncolor: red\r\nhidden: true\r\n---\r\n\r\nRead it.\x1b[2J\r\n---\r\nEnd.\r\n"
	d, warnings, err := agentfile.Parse("other", ".cassidy/agents/other.md", text)
	if err != nil || warnings != nil {
		t.Fatal(warnings, err)
	}
	one := 1.0
	file := ".cassidy/agents/other.md"
	want := tool.Agent{
		Name: "reviewer", Description: "Reviews code", Path: file, Prompt: "Read it.\\u001b[2J\n---\nEnd.", Model: "openai:gpt-x", Effort: "high", Temperature: &one,
		Policy: "review", Tools: []string{"read_file", "@files"}, Without: []string{"write_file", "edit_file"}, Iterations: 7,
		Rules: []tool.Rule{
			{Verdict: tool.Deny, Capability: tool.Capability{Name: "shell"}, Source: file},
			{Verdict: tool.Ask, Capability: tool.Capability{Name: "fs.write", Target: "src/**"}, Source: file},
			{Verdict: tool.Ask, Tool: "deploy", Capability: tool.Capability{Name: "http"}, Source: file},
		},
		Schema: value.NewDict("type", "array", "items", value.NewDict("type", "string")),
		Limits: tool.AgentLimits{CostUSD: 0.5, Requests: 3, Tokens: 1000, ToolCalls: 4, Time: 5 * time.Minute}, Mode: "subagent", Hidden: true,
	}
	same := cmp.Comparer(func(a, b *value.Dict) bool { return value.Equal(a, b) })
	if diff := cmp.Diff(want, d, same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v, err := value.FromGo(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := value.ToGo[tool.Agent](v)
	if diff := cmp.Diff(want, again, same); err != nil || diff != "" {
		t.Errorf("read from the record: %v (-want +got):\n%s", err, diff)
	}
}

// TestParseForeign checks fields as Claude Code and opencode write them.
func TestParseForeign(t *testing.T) {
	for _, c := range []struct {
		lines    string
		tools    string // "all" for nil
		without  string
		rules    []tool.Rule
		warnings []string
	}{
		{lines: "tools: Read, Grep, Bash", tools: "Read read_file read_files Grep search_files Bash run_command"},
		{lines: "tools: '*'", tools: "all"},
		{lines: "tools:", tools: "all"},
		{lines: "tools: []"},
		{lines: "tools: ''"},
		{lines: "tools: Read, Bash(git log:*, git diff:*), mcp__db__query", tools: "Read read_file read_files mcp__db__query",
			warnings: []string{"Bash(git log:*, git diff:*) is ignored in 'tools'"}},
		{lines: "tools: {write: false, bash: false, read: true}", tools: "all", without: "write write_file bash run_command"},
		{lines: "tools: {'*': false, read: true, 'db_*': true}", tools: "read read_file read_files db_*"},
		{lines: "disallowedTools: [Write, 'Bash(rm:*)']", tools: "all", without: "Write write_file Bash run_command", warnings: []string{"Bash(rm:*) removes the complete tool Bash"}},
		{lines: "permissionMode: bypassPermissions", tools: "all", warnings: []string{"'permissionMode: bypassPermissions' is ignored: an agent file cannot grant anything"}},
		{lines: "permissionMode: acceptEdits", tools: "all", warnings: []string{"an agent file cannot grant anything"}},
		{lines: "permissions: {allow: [shell], deny: [http]}", tools: "all", rules: []tool.Rule{rule(tool.Deny, "http")}, warnings: []string{"'permissions.allow' is ignored"}},
		{lines: "permission: {edit: deny, bash: {'*': ask, 'git status*': allow, 'git push *': deny}, webfetch: ask, 'db_*': deny, deploy: ask}", tools: "all", without: "db_*",
			rules:    []tool.Rule{rule(tool.Deny, "fs.write"), rule(tool.Ask, "shell"), rule(tool.Deny, "shell:git"), rule(tool.Ask, "http"), rule(tool.Ask, "tool:deploy")},
			warnings: []string{"the rule for 'bash: git push *' applies to the command git with any arguments"}},
		{lines: "permission: {edit: {'src/**': ask}}", tools: "all", rules: []tool.Rule{rule(tool.Ask, "fs.write:src/**")}},
		{lines: "hooks: {PreToolUse: [{command: evil}]}", tools: "all", warnings: []string{"'hooks' is ignored: hooks of agent files are never run"}},
		{lines: "isolation: worktree\nmcpServers: {}", tools: "all", warnings: []string{"'isolation' is ignored", "'mcpServers' is ignored"}},
		{lines: "disalowedTools: Bash", tools: "all", warnings: []string{`unknown field 'disalowedTools' is ignored; did you mean "disallowedTools"?`}},
		{lines: "model: Inherit", tools: "all"},
	} {
		d, warnings, err := parse(c.lines)
		if err != nil {
			t.Errorf("%s: %v", c.lines, err)
			continue
		}
		tools := strings.Join(d.Tools, " ")
		if d.Tools == nil {
			tools = "all"
		}
		if tools != c.tools || strings.Join(d.Without, " ") != c.without || d.Model != "" {
			t.Errorf("%s: tools %q without %q, model %q; want %q without %q", c.lines, tools, d.Without, d.Model, c.tools, c.without)
		}
		if diff := cmp.Diff(c.rules, d.Rules); diff != "" {
			t.Errorf("%s: rules (-want +got):\n%s", c.lines, diff)
		}
		if len(warnings) != len(c.warnings) {
			t.Errorf("%s: warnings %q, want %q", c.lines, warnings, c.warnings)
			continue
		}
		for i, want := range c.warnings {
			if !strings.Contains(warnings[i], want) {
				t.Errorf("%s: warning %q, want %q", c.lines, warnings[i], want)
			}
		}
	}
}

// TestPlanMode checks that an agent in the mode plan may only read.
func TestPlanMode(t *testing.T) {
	d, _, err := parse("permissionMode: plan")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]tool.Verdict{
		"fs.write:a": tool.Deny, "shell:git": tool.Deny, "http.post:example.com": tool.Deny, "skill.create": tool.Deny,
		"fs.read:a": tool.Unruled, "http.get:example.com": tool.Unruled,
	} {
		c, err := tool.ParseCapability(text)
		if err != nil {
			t.Fatal(err)
		}
		got, decides := tool.Judge(d.Rules, &tool.Tool{Name: "any"}, c)
		if got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if got == tool.Deny && decides.Setting != "permissionMode: plan" {
			t.Errorf("%s is denied by the setting %q", text, decides.Setting)
		}
	}
}

// TestQuotedDescription checks a description that is not valid YAML.
func TestQuotedDescription(t *testing.T) {
	text := "---\nname: helper\ndescription: Use it when: somebody's \"test\" fails. [Examples]: <x>\ntools: Read\n---\nBody"
	d, warnings, err := agentfile.Parse("x", "x.md", text)
	if err != nil || d.Description != `Use it when: somebody's "test" fails. [Examples]: <x>` || len(warnings) != 1 || !strings.Contains(warnings[0], "put it in quotes") {
		t.Errorf("Parse = %+v, %q, %v", d, warnings, err)
	}
}

func TestParseRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "1: the file does not begin with front matter",
		"# Heading\n":         "1: the file does not begin with front matter",
		"---\nname: x\n":      "1: the front matter has no end",
		"---\n---\nx":         "1: the front matter has no fields",
		"---\n- a\n---\n":     "1: the front matter has no fields",
		"---\nname: x\n---\n": "0: the agent has no description",
		"---\nname: Bad Name\ndescription: d\n---":                  `2: invalid name of an agent: "Bad Name"`,
		"---\nname: ../x\ndescription: d\n---":                      "2: invalid name of an agent",
		"---\ndescription: d\nmodel: [a\n---":                       "invalid YAML: a ',' or the closing ']' is missing",
		"---\ndescription: 3\n---":                                  "2: 'description' should be a string but got int",
		"---\ndescription: d\n\ntools: 3\n---":                      "4: 'tools' should be a list of names but got int",
		"---\ndescription: d\ntools: [3]\n---":                      "3: 'tools' should be a list of names but contains int",
		"---\ndescription: d\nmaxTurns: 0\n---":                     "3: 'maxTurns' should be a positive number but got 0",
		"---\ndescription: d\nmaxTurns: 1e99\n---":                  "3: 'maxTurns' should be a positive number",
		"---\ndescription: d\nmode: sub\n---":                       `3: unknown mode "sub"`,
		"---\ndescription: d\nlimits: {costs: 3}\n---":              `3: unknown field 'limits.costs'; did you mean "cost"?`,
		"---\ndescription: d\nlimits: {cost: -1}\n---":              "3: 'limits.cost' should be a positive amount in US dollars but got -1",
		"---\ndescription: d\nlimits: {time: 5}\n---":               "3: 'limits.time' should be a positive duration with a unit but got 5",
		"---\ndescription: d\nlimits: 5\n---":                       "3: 'limits' should be an object",
		"---\ndescription: d\ntemperature: 3\n---":                  "3: 'temperature' should be a number from 0 to 2 but got 3",
		"---\ndescription: d\noutput_schema: {$ref: '#/none'}\n---": "3: 'output_schema' is invalid",
		"---\ndescription: d\noutput_schema: lst[str]\n---":         "3: 'output_schema' is invalid",
		"---\ndescription: d\npermissions: {deny: [fs.wirte]}\n---": `3: 'permissions.deny': unknown capability "fs.wirte"; did you mean "fs.write"?`,
		"---\ndescription: d\npermission: {edit: never}\n---":       `3: 'permission.edit' should be "ask" or "deny" but got "never"`,
		"---\ndescription: d\npermissions: all\n---":                "3: 'permissions' should be an object",
		"---\ndescription: d\nhidden: 1\n---":                       "3: 'hidden' should be true or false but got int",
	} {
		_, _, err := agentfile.Parse("x", "x.md", text)
		e := value.ErrorOf(err, value.Failed)
		if e == nil || e.Kind != value.Invalid {
			t.Errorf("Parse(%q) = %v, want Invalid", text, err)
			continue
		}
		line, message, ok := strings.Cut(want, ": ")
		if !ok || strings.Trim(line, "0123456789") != "" {
			line, message = "", want
		}
		if !strings.Contains(e.Message(), message) || line != "" && line != strings.TrimSpace(value.FormatJSON(int64(e.Pos.Line), "")) {
			t.Errorf("Parse(%q) = line %d: %s, want %s", text, e.Pos.Line, e.Message(), want)
		}
	}
}

func TestOffers(t *testing.T) {
	for _, c := range []struct {
		d    tool.Agent
		want string
	}{
		{tool.Agent{}, "read_file write-file db_query"},
		{tool.Agent{Tools: []string{}}, ""},
		{tool.Agent{Tools: []string{"read-file", "db_*"}}, "read_file db_query"},
		{tool.Agent{Tools: []string{"@files"}, Without: []string{"write_file"}}, "read_file"},
		{tool.Agent{Without: []string{"*_file"}}, "db_query"},
		{tool.Agent{Tools: []string{"[", "preset:read_only"}}, ""},
	} {
		var got []string
		for _, one := range []tool.Tool{{Name: "read_file", Group: "files"}, {Name: "write-file", Group: "files"}, {Name: "db_query"}} {
			if c.d.Offers(&one) {
				got = append(got, one.Name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v offers %q, want %q", c.d, got, c.want)
		}
	}
}

// FuzzParse checks that no file panics, and that a file which is read has only rules that narrow.
func FuzzParse(f *testing.F) {
	f.Add("---\ndescription: d\npermission: {bash: {'git *': ask}}\n---\nx")
	f.Add("---\ndescription: a: b\ntools: Read(x), *\n---")
	f.Fuzz(func(t *testing.T, text string) {
		d, _, err := agentfile.Parse("x", "x.md", text)
		if err != nil {
			return
		}
		for _, r := range d.Rules {
			if r.Verdict != tool.Ask && r.Verdict != tool.Deny {
				t.Errorf("Parse(%q) allows %v", text, r)
			}
		}
	})
}
