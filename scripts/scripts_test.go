package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/yaml"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

var langs = []string{"star", "lua", "md"}

// alone returns the templates whose examples need no fakes. The tests of the others are run in
// cmd/cassidy/testdata/script/new_templates.txtar.
func alone() []string {
	return slices.DeleteFunc(scripts.Templates(), func(name string) bool {
		_, fakes := scripts.Tests(name, "x")
		return fakes
	})
}

// create writes tools into a new project with no other files, and opens it.
func create(t *testing.T, on testhost.On, template, lang string, names ...string) *host.Host {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, ".cassidy", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("config.yaml", scripts.ProjectConfig())
	for _, name := range names {
		text, ok := scripts.Template(template, lang, name)
		if !ok {
			t.Fatalf("there is no template %s in %s", template, lang)
		}
		write("tools/"+name+"."+lang, text)
	}
	h, err := testhost.Open(t, on, dir, &cassidy.Options{TrustSource: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	for _, e := range h.Broken() {
		t.Errorf("template %s in %s: %v (hint: %s)", template, lang, e, e.Hint)
	}
	return h
}

func find(t *testing.T, h *host.Host, name string) toolset.Info {
	t.Helper()
	found, err := h.Tool(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestExamples checks that a newly created tool runs unchanged.
func TestExamples(t *testing.T) {
	for _, template := range alone() {
		for _, lang := range langs {
			h := create(t, testhost.On{}, template, lang, "word-count2")
			made := find(t, h, "word_count2")
			if made.Title != "Word Count2" || made.Name != "word-count2" || len(made.Warnings) > 0 || len(made.Examples) == 0 {
				t.Errorf("%s in %s: %q, %q, %d examples, warnings %q", template, lang, made.Name, made.Title, len(made.Examples), made.Warnings)
			}
			for _, e := range made.Examples {
				r, err := h.Call(t.Context(), tool.Call{Tool: made.Name, Args: e.Args})
				if err != nil {
					t.Errorf("%s in %s: %v", template, lang, err)
				} else if e.HasExpect && !value.Equal(r.Value, e.Expect) {
					t.Errorf("%s in %s gave %s, want %s", template, lang, r.Text(), value.FormatJSON(e.Expect, "  "))
				}
			}
		}
	}
}

// TestSameTool checks that a template is the same tool in every language: its
// definition, its listing, and the results of its calls.
func TestSameTool(t *testing.T) {
	calls := map[string][]*value.Dict{
		"basic": {
			value.NewDict("input", "Hello World"),
			value.NewDict("input", "  Crème   brûlée! "),
			value.NewDict("input", "?!"),
			value.NewDict("input", ""),
			value.NewDict("input", int64(3)),
			value.NewDict(),
		},
		"file": {
			value.NewDict("filepath", ".cassidy/config.yaml"),
			value.NewDict("filepath", ".cassidy/config.yaml", "preview", int64(0)),
			value.NewDict("filepath", ".cassidy/config.yaml", "preview", int64(100)),
			value.NewDict("filepath", "nowhere.txt"),
			value.NewDict("filepath", ".cassidy"),
			value.NewDict("filepath", "../x"),
			value.NewDict("filepath", ".cassidy/config.yaml", "preview", int64(-1)),
		},
		"table": {
			value.NewDict("source", "name,score\nAda,9\nGrace,8\n"),
			value.NewDict("source", "b,a,c\n1,x,\n2,,\n2,x,\n", "operation", "summary"),
			value.NewDict("source", "name,ok\nAda,true\nGrace,7\n", "operation", "summary"),
			value.NewDict("source", "name,score\nAda,9\nGrace,\nAlan,x\n", "operation", "head", "rows", int64(2)),
			value.NewDict("source", "name,score\nAda,9\n", "operation", "names"),
			value.NewDict("source", "name,score\n"),
			value.NewDict("source", "name,score\nAda,9\n", "operation", "tail"),
			value.NewDict("source", "name,score\nAda\n"),
			value.NewDict("source", "name,name\nAda,1\n"),
			value.NewDict("source", "\n"),
			value.NewDict("source", "nowhere.csv"),
			value.NewDict("source", "a\nb\n", "rows", int64(0)),
			value.NewDict("source", "[{\"a\": 1, \"b\": [true]},\n {\"a\": null}]", "operation", "head"),
			value.NewDict("source", ".cassidy/config.yaml"),
		},
	}
	for _, template := range alone() {
		want := ""
		for _, lang := range langs {
			h := create(t, testhost.On{}, template, lang, "my_tool")
			got := portrait(t, h, find(t, h, "my_tool"), calls[template])
			if lang == langs[0] {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("template %s is another tool in %s than in %s (-want +got):\n%s", template, lang, langs[0], diff)
			}
		}
		if n := strings.Count(want, `"success":true`); n < 2 || n == len(calls[template]) {
			t.Errorf("template %s: %d of %d calls succeed; some should and some should not", template, n, len(calls[template]))
		}
	}
}

// TestDataOperation checks the errors of the data template, which models know from
// elsewhere.
func TestDataOperation(t *testing.T) {
	for _, lang := range langs {
		h := create(t, testhost.On{}, "table", lang, "my_tool")
		for _, test := range []struct {
			args *value.Dict
			want string
		}{
			{value.NewDict("source", "a\n1\n", "operation", "tail"), "Unknown operation: tail (give summary, head or names)"},
			{value.NewDict("source", "nowhere.csv"), "File not found: nowhere.csv"},
			{value.NewDict("source", "\n"), "text is empty"},
			{value.NewDict("source", "a,b,c\n1,2\n"), "line 2: the row has 2 cells, but the header has 3"},
		} {
			if _, err := h.Call(t.Context(), tool.Call{Tool: "my_tool", Args: test.args}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s(%s) = %v, want %q", lang, value.FormatJSON(test.args, ""), err, test.want)
			}
		}
	}
}

// portrait formats everything visible of a tool.
func portrait(t *testing.T, h *host.Host, made toolset.Info, calls []*value.Dict) string {
	t.Helper()
	var b strings.Builder
	for _, format := range []tool.Format{tool.JSONSchema, tool.OpenAI, tool.Anthropic, tool.MCP} {
		d, err := made.Definition(format)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", value.FormatJSON(d, "  "))
	}
	fmt.Fprintf(&b, "%q %q %q %v %v %v %v\n", made.Name, made.Title, made.Group, made.Risky, made.Hints, made.Needs, made.Tags)
	for _, e := range made.Examples {
		fmt.Fprintf(&b, "%s: %s = %s\n", e.Description, made.CallText(e.Args), value.FormatJSON(e.Expect, ""))
	}
	for _, args := range calls {
		r, err := h.Call(t.Context(), tool.Call{Tool: made.Name, Args: args})
		if (err == nil) != r.Success {
			t.Errorf("success is %v, but the error is %v", r.Success, err)
		}
		r.Usage = tool.Usage{}
		if d, ok := r.Value.(*value.Dict); ok && d.Has("modified") {
			d.Put("modified", "…") // each project has just been written
		}
		text, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n  %s\n", made.CallText(args), text)
	}
	return b.String()
}

// TestNames checks that a tool with any name runs, also if its name is reserved in the
// language. By default no worker is started for each of them.
func TestNames(t *testing.T) {
	on := testhost.On{Sandbox: cassidy.Inline}
	if testutil.Soak() {
		on = testhost.On{}
	}
	names := strings.Fields(`
		and break class def do else end fail false for from function global if import in is lambda load local nil
		not or param pass raise repeat return then tool true try until while with yield example example2 null
		args base64 bool context csv data dict diff env error filepath float fs hash http input int ipairs json len
		list log math max mean min name names my_tool my-other-tool number operation pairs preview print range re
		records rows set skill sorted source str string table text time tools type unpack url uuid values yaml
		a a1 x-1_y aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`)
	for _, template := range scripts.Templates() {
		for _, lang := range langs {
			h := create(t, on, template, lang, names...)
			for _, name := range names {
				made := find(t, h, name)
				if made.Location != tool.Project {
					t.Errorf("%s is a tool of its own", name)
					continue
				}
				if !slices.Contains(alone(), template) {
					continue
				}
				if _, err := h.Call(t.Context(), tool.Call{Tool: name, Args: made.Examples[0].Args}); err != nil {
					t.Errorf("%s in %s as %s: %v", template, lang, name, err)
				}
			}
		}
	}
}

// TestText checks the texts of a template for its reader.
func TestText(t *testing.T) {
	for _, template := range scripts.Templates() {
		for _, lang := range langs {
			text, ok := scripts.Template(template, lang, "word-count")
			try := []string{"cassidy tool validate word-count", "cassidy tool example word-count"}
			if !slices.Contains(alone(), template) {
				try = []string{"cassidy test word-count", "cassidy tool run word-count"}
			}
			for _, want := range append(try, "Testing", "Word Count", "word_count") {
				if !ok || !strings.Contains(text, want) {
					t.Errorf("template %s in %s does not say %q", template, lang, want)
				}
			}
			for _, left := range []string{"my_tool", "my-tool", "My Tool", "\t"} {
				if strings.Contains(text, left) {
					t.Errorf("template %s in %s still says %q", template, lang, left)
				}
			}
		}
	}
}

func TestNoTemplate(t *testing.T) {
	for _, c := range []struct{ template, lang string }{{"", "star"}, {"basic", ""}, {"basic", "py"}, {"../config", "yaml"}, {"config", "yaml"}, {"Basic", "star"}} {
		if text, ok := scripts.Template(c.template, c.lang, "x"); ok || text != "" {
			t.Errorf("Template(%q, %q) = %q, %v, want none", c.template, c.lang, text, ok)
		}
	}
}

// TestProjectConfig checks that a new project's config has only comments.
func TestProjectConfig(t *testing.T) {
	text := scripts.ProjectConfig()
	v, err := yaml.Parse(text)
	if v != nil || err != nil {
		t.Errorf("ParseYAML(ProjectConfig()) = %v, %v, want nil", v, err)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			t.Errorf("the line %q is no comment", line)
		}
	}
}

// TestPrompts checks that each prompt is found only by its name, and is the text of a
// file.
func TestPrompts(t *testing.T) {
	names := scripts.Prompts()
	for _, want := range []string{"task", "chat", "plan", "review", "compact", "format/pure_json", "turn/denied"} {
		if !slices.Contains(names, want) {
			t.Errorf("Prompts() lacks %q: %q", want, names)
		}
	}
	for _, name := range names {
		text, ok := scripts.Prompt(name)
		if !ok || text == "" || text != strings.TrimSpace(text) {
			t.Errorf("Prompt(%q) = %q, %v, want a text without space around it", name, text, ok)
		}
		if strings.ContainsAny(text, "\t\r") || strings.Contains(text, "\n\n\n") {
			t.Errorf("the prompt %s has tabs, returns or two blank lines in a row", name)
		}
		if left := strings.Count(text, "{{"); left != strings.Count(text, "}}") {
			t.Errorf("the prompt %s has a hole that is not closed", name)
		}
	}
	for _, name := range []string{"", "nothing", "Task", "task.md", "../templates/basic", "/task", "turn", "turn/", "./task", "turn/../task", "turn//denied"} {
		if text, ok := scripts.Prompt(name); ok || text != "" {
			t.Errorf("Prompt(%q) = %q, %v, want none", name, text, ok)
		}
	}
}
