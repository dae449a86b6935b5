package prompt

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

var updatePrompts = flag.Bool("update-prompts", false, "rewrite testdata/prompts/*.txtar")

var textFormats = []decision.Format{decision.PureJSON, decision.XMLJSON, decision.Markdown}

// promptTools are three tools that have between them all that a prompt tells.
func promptTools() []tool.Tool {
	text := tool.Type{Name: tool.TypeString}
	row := tool.Type{Name: tool.TypeObject, Fields: []tool.Param{
		{Name: "name", Type: text, Required: true, Description: "What it is called."},
		{Name: "score", Type: tool.Type{Name: tool.TypeNumber}},
	}}
	return []tool.Tool{
		{
			Name: "read_file", Description: "Read a text file, whole or from a line on.\n\nUse this before you change a file.",
			Hints: tool.Hints{ReadOnly: true, Idempotent: true},
			Params: []tool.Param{
				{Name: "filepath", Type: text, Required: true, Description: "The file, relative to the\nworking directory."},
				{Name: "offset", Type: tool.Type{Name: tool.TypeInteger, Min: int64(1)}, Description: "The line to begin with.", Default: int64(1), HasDefault: true},
				{Name: "working_dir", Type: text, FromHost: true},
			},
			Examples: []tool.Example{{Args: value.NewDict("filepath", "README.md")}, {Args: value.NewDict("filepath", "other")}},
		},
		{
			Name: "summarize", Description: "Summarize a table. Use this for numbers.",
			Hints: tool.Hints{ReadOnly: true, OpenWorld: true, UntrustedOutput: true, Other: map[string]bool{"parallel": true, "beta": false, "for_teams\n\n# User Question": true}},
			Params: []tool.Param{
				{Name: "rows", Type: tool.Type{Name: tool.TypeArray, Items: &row}, Required: true, Description: "The table"},
				{Name: "operation", Type: tool.Type{Name: tool.TypeString, Enum: []value.Value{"summary", "head"}}, Default: "summary", HasDefault: true},
				{Name: "rate", Type: tool.Type{Name: tool.TypeNumber, Min: int64(0), Max: 1.5}},
				{Name: "key", Type: tool.Type{Name: tool.TypeString, Pattern: "^`[a-z]+$"}, Default: nil, HasDefault: true},
			},
		},
		{Name: "task_complete", Description: "End the task.", Schema: []byte(`{"type":"object","properties":{"summary":{"type":"string","description":"What was done."}},"required":["summary"]}`)},
		{Name: "mystery"},
	}
}

func testPrompt(role string, f decision.Format, d Docs) *Prompt {
	return &Prompt{
		Role: role, Format: f, Docs: d, Tools: promptTools(),
		Skills:  []Skill{{Name: "release", Description: "How to make\na release.", Requires: []string{"changelog", "tests"}}, {Name: "tests", Description: "How to test."}},
		Context: "## Project\n\nA small library.\n", WorkDir: "/home/ada/library", Iterations: 10,
	}
}

func TestGoldenPrompts(t *testing.T) {
	for _, role := range append([]string{""}, Roles()...) {
		name := role
		if name == "" {
			name = "bare"
		}
		got := &txtar.Archive{Comment: []byte("What a model is told at first, by format and kind of docs.\nTo rewrite: go test ./runtime/agent/internal/prompt -run TestGoldenPrompts -update-prompts\n\n")}
		for _, f := range append(textFormats, decision.Native) {
			for _, d := range []Docs{DocsDetailed, DocsBrief} {
				p := testPrompt(role, f, d)
				got.Files = append(got.Files, txtar.File{Name: string(f) + " " + string(d), Data: []byte(p.Message("How long is the README?") + "\n")})
			}
		}
		file := filepath.Join("testdata", "prompts", name+".txtar")
		if *updatePrompts {
			if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// TestSeedInstructions checks that how to write a decision is said in the exact
// words of the first version, in the exact order.
func TestSeedInstructions(t *testing.T) {
	words := map[decision.Format]string{
		decision.PureJSON: "## Tool Usage Format\n\n" +
			"To use a tool, respond with a JSON object:\n\n" +
			"```json\n{\n  \"tool_decision\": {\n    \"action\": \"tool_name\",\n    \"input\": {\n" +
			"      \"param1\": \"value1\",\n      \"param2\": \"value2\"\n    },\n" +
			"    \"reasoning\": \"Why you're using this tool\",\n    \"status\": \"continue\"\n  }\n}\n```\n\n" +
			"When you have the final answer, respond with:\n\n" +
			"TASK COMPLETE: [your answer to the user]\n\n" +
			"Do NOT wrap this in JSON - just provide your natural language response.",
		decision.XMLJSON: "## Tool Usage Format\n\nTo use a tool, respond with:\n\n<TOOL_DECISION>\nACTION: tool_name\n" +
			"INPUT: {\"param1\": \"value1\", \"param2\": \"value2\"}\nREASONING: Why you're using this tool\n" +
			"STATUS: continue\n</TOOL_DECISION>\n\nWhen done:\n\nTASK COMPLETE: [your answer]",
		decision.Markdown: "## Tool Usage Format\n\nTo use a tool:\n\n<TOOL_DECISION>\nACTION: tool_name\n" +
			"REASONING: Why you're using this tool\nSTATUS: continue\n\n## Parameters\n- param1: value1\n- param2: value2\n" +
			"</TOOL_DECISION>\n\nWhen done:\n\nTASK COMPLETE: [your answer]",
	}
	reader := tool.Tool{Name: "look", Description: "Look.", Params: []tool.Param{{Name: "at", Type: tool.Type{Name: "string"}, Required: true, Description: "What."}}}
	for _, f := range textFormats {
		p := &Prompt{Format: f, Tools: []tool.Tool{reader}, Context: "Some facts."}
		want := "# Available Tools\n\n### look\n**Description:** Look.\n**Parameters:**\n- `at` (string) (required): What.\n\n" +
			words[f] + "\n\n# Context\n\nSome facts.\n\n---\n\n# User Question\n\nWhy?"
		if diff := cmp.Diff(want, p.Message("Why?")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
		for _, role := range Roles() {
			p.Role = role
			if !strings.Contains(p.Message("Why?"), "\n\n"+words[f]+"\n\n") {
				t.Errorf("%s, %s: the instructions are not those of the first version", role, f)
			}
		}
	}
}

// TestBare checks that without a role, tools or context there is nothing but
// the question.
func TestBare(t *testing.T) {
	for _, p := range []*Prompt{{}, {Format: decision.Native, Tools: promptTools()}, {Context: " \n", WorkDir: "/w", Iterations: 3}} {
		if got := p.Message("Why?\n"); got != "Why?\n" {
			t.Errorf("Message = %q, want the question alone", got)
		}
	}
	p := &Prompt{Context: "facts"}
	if got, want := p.Message("Why?"), "# Context\n\nfacts\n\n---\n\n# User Question\n\nWhy?"; got != want {
		t.Errorf("Message = %q, want %q", got, want)
	}
}

func TestPromptParts(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*Prompt)
		has, not []string
	}{
		{"no folder", func(p *Prompt) { p.WorkDir = "" }, nil, []string{"working directory is", "{{", "\n\n\n"}},
		{"no end", func(p *Prompt) { p.Iterations = 0 }, nil, []string{"replies", "{{", "\n\n\n"}},
		{"no tools", func(p *Prompt) { p.Tools = nil }, []string{"TASK COMPLETE: ["}, []string{"# Available", "tool_decision", "exactly as they are given"}},
		{"chat without tools", func(p *Prompt) { p.Role, p.Tools = "chat", nil }, nil, []string{"# Available", "TASK COMPLETE", "{{", "You may use tools"}},
		{"native", func(p *Prompt) { p.Format = decision.Native }, []string{"TASK COMPLETE: [", "Never make up"}, []string{"# Available", "tool_decision", "read_file"}},
		{"native chat", func(p *Prompt) { p.Role, p.Format = "chat", decision.Native }, []string{"Never make up"}, []string{"TASK COMPLETE"}},
		{"no task_complete", func(p *Prompt) { p.Tools = p.Tools[:2] }, nil, []string{"task_complete"}},
		{"task-complete", func(p *Prompt) { p.Tools[2].Name = "task-complete" }, []string{"Calling the tool task-complete "}, nil},
		{"unknown role", func(p *Prompt) { p.Role = "compact" }, nil, []string{"nearly reached its limit"}},
	} {
		p := testPrompt("task", decision.PureJSON, DocsAuto)
		c.change(p)
		got := p.Message("Why?")
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: the prompt lacks %q:\n%s", c.name, s, got)
			}
		}
		for _, s := range c.not {
			if strings.Contains(got, s) {
				t.Errorf("%s: the prompt has %q:\n%s", c.name, s, got)
			}
		}
	}
}

// TestDocsAuto checks that eleven tools are described briefly.
func TestDocsAuto(t *testing.T) {
	for _, c := range []struct {
		n     int
		docs  Docs
		brief bool
	}{{10, DocsAuto, false}, {11, DocsAuto, true}, {11, DocsDetailed, false}, {1, DocsBrief, true}} {
		p := &Prompt{Docs: c.docs}
		for range c.n {
			p.Tools = append(p.Tools, promptTools()[0])
		}
		if got := !strings.Contains(p.Message(""), "**Parameters:**"); got != c.brief {
			t.Errorf("%d tools, %q: brief is %v, want %v", c.n, c.docs, got, c.brief)
		}
	}
}

// TestAllNames checks that a model is told the name of every tool and of every
// parameter that it may give, and of no other.
func TestAllNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9]{0,8}(_[a-z0-9]{1,5})?`)
		p := &Prompt{Role: rapid.SampledFrom(append(Roles(), "")).Draw(t, "role"), Format: rapid.SampledFrom(textFormats).Draw(t, "format")}
		for range rapid.IntRange(1, 15).Draw(t, "tools") {
			made := tool.Tool{Name: name.Draw(t, "tool"), Description: rapid.String().Draw(t, "description")}
			for _, x := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(t, "params") {
				made.Params = append(made.Params, tool.Param{Name: x, Required: rapid.Bool().Draw(t, "required"), Description: rapid.String().Draw(t, "about"), FromHost: x[0] == 'h'})
			}
			p.Tools = append(p.Tools, made)
		}
		text := p.Message("?")
		detailed := len(p.Tools) <= maxDetailed
		for _, x := range p.Tools {
			if detailed && !strings.Contains(text, "### "+x.Name+"\n") {
				t.Fatalf("tool %s is not in:\n%s", x.Name, text)
			}
			line := "- **" + stub.Signature(&x) + "**:"
			for _, a := range x.Params {
				if !detailed && !Undocumented(&x) && (strings.Contains(line, "("+a.Name+": any") || strings.Contains(line, " "+a.Name+": any")) == a.FromHost {
					t.Fatalf("parameter %s of %s is not as it should be in %s", a.Name, x.Name, line)
				}
				if detailed && !a.FromHost && !strings.Contains(text, "\n- `"+a.Name+"` (any) (") {
					t.Fatalf("parameter %s of %s is not in:\n%s", a.Name, x.Name, text)
				}
			}
			if !detailed && !Undocumented(&x) && !strings.Contains(text, line) {
				t.Fatalf("%s is not in:\n%s", line, text)
			}
		}
	})
}

// TestHoles checks that every hole of every prompt is filled.
func TestHoles(t *testing.T) {
	known := strings.Fields("{{workdir}} {{iterations}} {{skills}} {{decision}} {{task_complete}} {{format}} {{problem}} {{name}} {{near}} {{names}} {{reason}} {{times}} {{final}} {{one_reply}} {{text}} {{summary}} {{media}} {{limit}} {{tag}}")
	for _, name := range scripts.Prompts() {
		text, _ := scripts.Prompt(name)
		for _, hole := range known {
			text = strings.ReplaceAll(text, hole, "")
		}
		if strings.Contains(text, "{{") {
			t.Errorf("the prompt %s has an unknown hole:\n%s", name, text)
		}
	}
	p := testPrompt("task", decision.PureJSON, DocsAuto)
	p.WorkDir, p.Context = "{{iterations}}", "{{question}}"
	if text := p.Message("{{workdir}}"); !strings.Contains(text, "directory is {{iterations}}.") || !strings.HasSuffix(text, "\n{{workdir}}") || !strings.Contains(text, "\n{{question}}\n") {
		t.Errorf("a value is read as a hole:\n%s", text)
	}
}
