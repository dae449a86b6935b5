package engine_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// testdata/markdown.txtar has the results of Describe for Markdown files, see
// TestDescribe.

// TestMarkdownIsStarlark declares one tool in both forms: only the file differs.
func TestMarkdownIsStarlark(t *testing.T) {
	const handler = `def word_count(filepath: str, min_length: int = 1, encoding = "UTF-8") -> dict[str, int]:
    """Count the words of a text file.

    Args:
      filepath: File to read.

    Returns:
      how many.
    """
    return {"words": len(fs.read(filepath).split())}
def works(): return True
def restore(args, result): return [args, result]
`
	star := handler + `
tool(word_count, title = "Words", group = "files", risky = True, hints = {"read_only": True, "cheap": False}, needs = ["fs.read:docs/**"],
    params = {"min_length": param(min = 1, max = 100), "encoding": param("string", "How it is written.", default = "UTF-8", enum = ["UTF-8", "latin1"])},
    examples = [example("One", args = {"filepath": "a"}, expect = {"words": 3})], tags = ["text"], version = "1.2", timeout = 3,
    limits = {"steps": 100, "requests": 50}, overhead = 7, available = works, undo = restore, deprecated = {"since": "1", "replacement": "wc"})
`
	markdown := `---
title: Words
group: files
risky: true
hints: {read_only: true, cheap: false}
needs: ["fs.read:docs/**"]
parameters:
  - name: min_length
    min: 1
    max: 100
  - name: encoding
    type: string
    description: How it is written.
    default: UTF-8
    enum: [UTF-8, latin1]
examples:
  - description: One
    args: {filepath: a}
    expect: {words: 3}
tags: [text]
version: 1.2
timeout: 3
limits: {steps: 100, requests: 50}
token_overhead: 7
available: works
undo: restore
deprecated: {since: "1", replacement: wc}
---
Words.
` + "```starlark\n" + handler + "```\n"
	e := both(t, "star")
	var forms [2][]byte
	var schemas [2]string
	for i, s := range []tool.Script{{Path: "word_count.star", Source: star}, {Path: "word_count.md", Source: markdown}} {
		described, err := e.Describe(s)
		if err != nil {
			t.Fatal(err)
		}
		if forms[i], err = pack.Append(nil, &described); err != nil {
			t.Fatal(err)
		}
		for _, f := range tool.Formats() {
			d, err := described.Definition(f)
			if err != nil {
				t.Fatal(err)
			}
			schemas[i] += value.FormatJSON(d, " ") + "\n"
		}
		out, err := e.Run(context.Background(), s, tool.Call{Args: value.NewDict("filepath", "a")}, func(context.Context, tool.Effect) (tool.Outcome, error) {
			return tool.Outcome{Value: "two words"}, nil
		})
		if got := value.FormatJSON(out.Value, ""); err != nil || got != `{"words":2}` {
			t.Errorf("Run(%s) = %s, %v, want 2 words", s.Path, got, err)
		}
	}
	if schemas[0] != schemas[1] {
		t.Errorf("the definitions differ:\n%s\n%s", schemas[0], schemas[1])
	}
	if !bytes.Equal(forms[0], forms[1]) {
		t.Errorf("the tools differ:\n%q\n%q", forms[0], forms[1])
	}
}

// TestDescribeRunsNothing reads files whose top level has effects.
func TestDescribeRunsNothing(t *testing.T) {
	var counter atomic.Int64
	e := both(t, "star")
	e.Engine = engine.New(&engine.Options{Modules: starModules(&counter)}) // a worker has its own counter
	const code = "load('lib/x.star', 'n')\ncount.up()\nx = [][1]\ndef x1(): pass\n"
	libs := map[string]string{"lib/x.star": "n = count.up()"}
	for _, s := range []tool.Script{
		{Path: "x1.star", Source: code + "tool(x1, description = 'Says.')", Libs: libs},
		{Path: "x1.md", Source: "---\ndescription: Says.\n---\n```starlark\n" + code + "```\n", Libs: libs},
	} {
		if _, err := e.Describe(s); err != nil || counter.Load() != 0 {
			t.Errorf("Describe(%s) = %v, and ran %d calls, want none", s.Path, err, counter.Load())
		}
	}
}

func TestMarkdownRuns(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"first block", "---\ndescription: x\n---\n\n# é\n\n```python\ndef f(): return 1\n```\n```python\ndef g(): return undefined_here\n```\n", "1"},
		{"markers", "---\ndescription: x\n---\n```starlark\nx = undefined_here\n# TOOL BEGINS HERE\ndef f():\n    return 2\n# TOOL ENDS HERE\ny = 1 1\n```\n", "2"},
		{"CRLF", strings.ReplaceAll("---\ndescription: x\n---\n```starlark\ndef f(a: int = 3) -> int:\n    return a\n```\n", "\n", "\r\n"), "3"},
		{"byte order mark", "\ufeff---\ndescription: x\n---\n```starlark\ndef f(): return 4\n```\n", "4"},
		{"fails", "---\ndescription: é\n---\n# é\n\n```python\ndef f():\n    é = 1; fail('no')\n```\n", "x.md:8:16: no"},
		{"fails in a helper", "---\ndescription: é\n---\n# é\n\n```python\ndef _g(x: list[\n     str]) -> int:\n    return 1 // x\n\ndef f():\n    _g(0)\n```\n", "x.md:9:14: floored division by zero"},
		{"fails between markers", "---\ndescription: é\n---\n```python\nx = 1\n\n# TOOL BEGINS HERE\ndef f(): fail('no')\n# TOOL ENDS HERE\n```\n", "x.md:8:14: no"},
		{"undefined", "---\ndescription: é\n---\n\n\n```python\ndef f():\n    return open('x')\n```\n", "x.md:8:12: undefined: open"},
		{"no front matter", "```python\ndef f(): return 1\n```\n", "x.md:1: No valid YAML frontmatter found: the file does not begin with ---"},
		{"no code", "---\ndescription: x\n---\n", "x.md:3: No code block found (use ```starlark, ```python or ```lua, or the markers # TOOL BEGINS HERE and # TOOL ENDS HERE)"},
		{"not UTF-8", "---\ndescription: x\n---\n```python\ndef f(): return '\xff'\n```\n", "x.md:5:18: the byte 0xff is not allowed in a script"},
	}
	for _, test := range tests {
		out, err := both(t, "star").Run(context.Background(), tool.Script{Path: "x.md", Source: test.src}, tool.Call{}, nil)
		got := value.FormatJSON(out.Value, "")
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestMarkdownOptional calls a tool with an optional parameter in its front matter and
// no default in its handler: an absent argument is None there.
func TestMarkdownOptional(t *testing.T) {
	s := tool.Script{Path: "x.md", Source: "---\ndescription: x\nparameters:\n  - name: a\n    required: false\n  - name: b\n    type: string\n---\n```python\ndef f(a, b): return [a, b]\n```\n"}
	e := both(t, "star")
	described, err := e.Describe(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := described.Check(value.NewDict("a", int64(1))); err == nil || !strings.Contains(err.Error(), "Missing required parameter: b") {
		t.Errorf("Check without b = %v, want that b is missing", err)
	}
	args, err := described.Check(value.NewDict("b", "x"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Run(context.Background(), s, tool.Call{Args: args}, nil)
	if got := value.FormatJSON(out.Value, ""); err != nil || got != `[null,"x"]` {
		t.Errorf("Run = %s, %v, want [null,\"x\"]", got, err)
	}
}

// TestMarkdownLuaEmptyTable checks that an empty table of a Lua handler has the type of
// the front matter, as in a Lua file.
func TestMarkdownLuaEmptyTable(t *testing.T) {
	for returns, want := range map[string]string{"object": "{}", "array": "[]"} {
		s := tool.Script{Path: "x.md", Source: "---\ndescription: Give nothing.\nreturns: " + returns +
			"\n---\n```lua\nfunction(args) return {} end\n```\n"}
		out, err := both(t, "none").Run(context.Background(), s, tool.Call{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := value.FormatJSON(out.Value, ""); got != want {
			t.Errorf("returns %s: {} is %s, want %s", returns, got, want)
		}
	}
}
