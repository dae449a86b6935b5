package examples_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// project copies the quickstart to a temporary folder, since one of its tools writes,
// and opens it.
func project(t *testing.T) (dir string, h *host.Host) {
	t.Helper()
	return projectIn(t, cassidy.Process)
}

func projectIn(t *testing.T, mode cassidy.Mode) (dir string, h *host.Host) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("quickstart")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil { // somebody tried notes_index
		t.Fatal(err)
	}
	return dir, open(t, dir, mode)
}

func open(t *testing.T, dir string, mode cassidy.Mode) *host.Host {
	t.Helper()
	h, err := testhost.Open(t, testhost.On{Sandbox: mode}, dir, &cassidy.Options{TrustSource: true, Approver: host.ApproveAll()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// projectTools returns the tools of the quickstart itself.
func projectTools(h *host.Host) []toolset.Info {
	return slices.DeleteFunc(h.Tools(), func(t toolset.Info) bool { return t.Location != tool.Project })
}

// call calls a tool and returns its result as parsed JSON.
func call(t *testing.T, h *host.Host, name string, args *value.Dict) any {
	t.Helper()
	r, err := h.Call(context.Background(), tool.Call{Tool: name, Args: args})
	if err != nil {
		t.Fatalf("%s(%s): %v", name, value.FormatJSON(args, ""), err)
	}
	return plain(t, r.Value)
}

// plain converts a value to the form of encoding/json, where the order of an object
// does not matter.
func plain(t *testing.T, v value.Value) any {
	t.Helper()
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	var p any
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestQuickstartDeclares(t *testing.T) {
	t.Parallel()
	_, h := project(t)
	for _, e := range h.Broken() {
		t.Errorf("broken: %v", e)
	}
	needs := map[string]string{}
	for _, x := range projectTools(h) {
		var texts []string
		for _, c := range x.Needs {
			texts = append(texts, c.String())
		}
		needs[x.Name] = filepath.Ext(x.Path) + " " + strings.Join(texts, " ")
		if len(x.Warnings) > 0 || x.State != toolset.Ready {
			t.Errorf("%s: state %s %s, warnings %q", x.Name, x.State, x.Reason, x.Warnings)
		}
		if n := len(x.Summary()); n > 80 {
			t.Errorf("%s: the first line of the description has %d characters, want at most 80", x.Name, n)
		}
		for _, p := range x.Params {
			if p.Description == "" || p.Type.Name == "" || p.Type.Name == tool.TypeAny {
				t.Errorf("%s: parameter %s has type %q and description %q", x.Name, p.Name, p.Type, p.Description)
			}
		}
		if x.Returns == nil || !x.Hints.Idempotent || x.Hints.ReadOnly == x.NeedsApproval() {
			t.Errorf("%s: returns %v, hints %+v, needs approval %v", x.Name, x.Returns, x.Hints, x.NeedsApproval())
		}
	}
	want := map[string]string{
		"word_count":   ".star fs.read",
		"column_stats": ".star fs.read:data/**",
		"decades":      ".lua fs.read:data/**",
		"notes_index":  ".star fs.read:notes/** fs.write:out/notes-index.md",
		"log_summary":  ".lua fs.read:data/**",
		"open_tasks":   ".lua fs.read:notes/**",
		"broken_links": ".md fs.read",
	}
	if diff := cmp.Diff(want, needs); diff != "" {
		t.Errorf("languages and needs (-want +got):\n%s", diff)
	}
}

func TestQuickstartExamples(t *testing.T) {
	t.Parallel()
	_, h := project(t)
	for _, x := range projectTools(h) {
		promised := 0
		for _, e := range x.Examples {
			t.Run(x.Name+"/"+e.Description, func(t *testing.T) {
				_, inline := projectIn(t, cassidy.Inline)
				want := call(t, inline, x.Name, e.Args)
				_, h := project(t)
				got := call(t, h, x.Name, e.Args)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("not the same in a worker (-in process +worker):\n%s", diff)
				}
				if !e.HasExpect {
					return
				}
				promised++
				if diff := cmp.Diff(plain(t, e.Expect), got); diff != "" {
					t.Errorf("(-expect +got):\n%s", diff)
				}
			})
		}
		if promised == 0 {
			t.Errorf("%s has no example that says what to expect", x.Name)
		}
	}
}

// TestQuickstartDefinitions checks the definitions for models of each vendor: that they
// are complete, and that the examples match them.
func TestQuickstartDefinitions(t *testing.T) {
	t.Parallel()
	_, h := project(t)
	schemaAt := map[tool.Format][]string{
		tool.JSONSchema: {},
		tool.OpenAI:     {"function", "parameters"},
		tool.Anthropic:  {"input_schema"},
		tool.MCP:        {"inputSchema"},
	}
	for _, x := range projectTools(h) {
		for _, f := range tool.Formats() {
			d, err := x.Definition(f)
			if err != nil {
				t.Errorf("%s as %s: %v", x.Name, f, err)
				continue
			}
			text := value.FormatJSON(d, "")
			if f != tool.JSONSchema && !strings.Contains(text, `"name":"`+x.Name+`"`) || !strings.Contains(text, x.Summary()) {
				t.Errorf("%s as %s lacks the name or the description: %s", x.Name, f, text)
			}
			var v value.Value = d
			for _, key := range schemaAt[f] {
				v, _ = v.(*value.Dict).Get(key)
			}
			checkSchema(t, x.Tool, f, v)
		}
	}
}

func checkSchema(t *testing.T, x tool.Tool, f tool.Format, v value.Value) {
	t.Helper()
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s as %s: %v in %s", x.Name, f, err, text)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s as %s: %v in %s", x.Name, f, err, text)
	}
	for _, p := range x.Params {
		if s.Properties[p.Name] == nil || s.Properties[p.Name].Description != p.Description {
			t.Errorf("%s as %s lacks %s or its description: %s", x.Name, f, p.Name, text)
		}
	}
	for _, e := range x.Examples {
		if err := r.Validate(plain(t, e.Args)); err != nil {
			t.Errorf("%s as %s refuses its own example %q: %v", x.Name, f, e.Description, err)
		}
	}
	if r.Validate(map[string]any{"no such parameter": 1}) == nil {
		t.Errorf("%s as %s accepts an unknown parameter", x.Name, f)
	}
}

func checkJSON(t *testing.T, got any, want string) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLogSummary summarizes the log again, with a regular expression.
func TestLogSummary(t *testing.T) {
	t.Parallel()
	_, h := project(t)
	text, err := os.ReadFile("quickstart/data/shop.log")
	if err != nil {
		t.Fatal(err)
	}
	levels, failed := map[string]any{}, map[string]float64{}
	requests, other := 0.0, 0.0
	slowest := 0
	lineForm := regexp.MustCompile(`^(\S+Z) +([A-Z]+) +(?:request .*status=(\d+) ms=(\d+)$)?`)
	for line := range strings.Lines(string(text)) {
		m := lineForm.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			other++
			continue
		}
		n, _ := levels[m[2]].(float64)
		levels[m[2]] = n + 1
		if m[3] != "" {
			requests++
			ms, _ := strconv.Atoi(m[4])
			slowest = max(slowest, ms)
		}
		if strings.HasPrefix(m[3], "5") {
			failed[m[1][:13]+":00"]++
		}
	}
	got := call(t, h, "log_summary", value.NewDict("slowest", int64(100))).(map[string]any)
	if diff := cmp.Diff(levels, got["levels"]); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if got["requests"] != requests || got["other_lines"] != other {
		t.Errorf("%v requests and %v other lines, want %v and %v", got["requests"], got["other_lines"], requests, other)
	}
	for _, v := range got["hours_with_errors"].([]any) {
		hour := v.(map[string]any)
		if want := failed[hour["hour"].(string)]; hour["failed"] != want {
			t.Errorf("%v: %v failed, want %v", hour["hour"], hour["failed"], want)
		}
		delete(failed, hour["hour"].(string))
	}
	if len(failed) > 0 {
		t.Errorf("hours that are missing: %v", failed)
	}
	list := got["slowest"].([]any)
	if len(list) != 100 || list[0].(map[string]any)["ms"] != float64(slowest) {
		t.Errorf("the slowest of %d is %v, want 100 and %d ms", len(list), list[0], slowest)
	}
	if !slices.IsSortedFunc(list, func(a, b any) int {
		return int(b.(map[string]any)["ms"].(float64) - a.(map[string]any)["ms"].(float64))
	}) {
		t.Errorf("not from the slowest on: %v", list)
	}
}

func TestLogSummaryOfOddLogs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, log, want string }{
		{"no requests", "2026-01-01T00:00:00Z INFO hello\r\n", `{"other_lines": 0, "levels": {"INFO": 1}, "errors": 0,
			"requests": 0, "failed": 0, "failed_percent": 0, "hours_with_errors": [], "slowest": []}`},
		{"an hour comes back", "2026-01-01T01:00:00Z ERROR a\n2026-01-01T02:00:00Z INFO b\n2026-01-01T01:59:59Z ERROR c",
			`{"other_lines": 0, "levels": {"ERROR": 2, "INFO": 1}, "errors": 2, "requests": 0, "failed": 0, "failed_percent": 0,
			"hours_with_errors": [{"hour": "2026-01-01T01:00", "errors": 2, "requests": 0, "failed": 0, "failed_percent": 0}], "slowest": []}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, h := project(t)
			write(t, dir, "data/odd.log", tt.log)
			checkJSON(t, call(t, h, "log_summary", value.NewDict("path", "data/odd.log")), tt.want)
		})
	}
}

func TestOpenTasks(t *testing.T) {
	t.Parallel()
	dir, h := project(t)
	if err := os.RemoveAll(filepath.Join(dir, "notes")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "notes/deep/a.md", "- [ ] before any heading\r\n# Plan #1\r\n  * [X] done\r\n+ [ ] Näxt  \r\n- [y] no task\r\n-[ ] no task\r\n")
	write(t, dir, "notes/b.md", "~~~\n- [ ] in code\n```\n- [ ] still in code\n~~~\n- [ ] last, 100% [sure](x.md)")
	checkJSON(t, call(t, h, "open_tasks", nil), `{"open": 3, "done": 1, "tasks": [
		{"where": "notes/b.md:6", "section": "", "task": "last, 100% [sure](x.md)"},
		{"where": "notes/deep/a.md:1", "section": "", "task": "before any heading"},
		{"where": "notes/deep/a.md:4", "section": "Plan #1", "task": "Näxt"}]}`)
	checkJSON(t, call(t, h, "open_tasks", value.NewDict("containing", "100% [SURE]")), `{"open": 1, "done": 0, "tasks": [
		{"where": "notes/b.md:6", "section": "", "task": "last, 100% [sure](x.md)"}]}`)
}

func TestBrokenLinks(t *testing.T) {
	t.Parallel()
	dir, h := project(t)
	write(t, dir, "odd/pages/a.md", strings.Join([]string{
		"# Größe & Zahl",
		"## Same",
		"## Same",
		"[up](../b.md), [self](#größe--zahl), [again](#same-1), [folder](..), [percent](<../a%20b.md>), [title](../b.md \"B\")",
		"[web](https://example.com/x.md), [mail](mailto:a@example.com), [other](//example.com)",
		"`[code](nowhere.md)`",
		"```",
		"[code](nowhere.md)",
		"```",
		"![image](image.png) and [none](#same-2)",
		"[out](../../../etc/passwd) [in b](../b.md#Missing)",
	}, "\n"))
	write(t, dir, "odd/b.md", "no heading\n")
	write(t, dir, "odd/a b.md", "# Blank\n")
	checkJSON(t, call(t, h, "broken_links", value.NewDict("path", "odd")), `{"files": 3, "links": 10, "broken": [
		{"file": "odd/pages/a.md", "line": 10, "link": "image.png", "reason": "there is no file odd/pages/image.png"},
		{"file": "odd/pages/a.md", "line": 10, "link": "#same-2", "reason": "odd/pages/a.md has no heading #same-2"},
		{"file": "odd/pages/a.md", "line": 11, "link": "../../../etc/passwd", "reason": "it leads out of the project"},
		{"file": "odd/pages/a.md", "line": 11, "link": "../b.md#Missing", "reason": "odd/b.md has no heading #Missing"}]}`)
}

func TestNotesIndex(t *testing.T) {
	t.Parallel()
	dir, h := project(t)
	call(t, h, "notes_index", value.NewDict("depth", int64(6)))
	file := filepath.Join(dir, "out", "notes-index.md")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(first), "# Notes\n\n- [Handbook](../notes/handbook.md)\n") {
		t.Errorf("the index begins with %q", first[:min(60, len(first))])
	}
	if got := call(t, h, "broken_links", value.NewDict("path", "out")).(map[string]any); got["links"] == 0.0 || len(got["broken"].([]any)) > 0 {
		t.Errorf("links of the index: %v", got)
	}
	call(t, h, "notes_index", value.NewDict("depth", int64(6)))
	if again, _ := os.ReadFile(file); string(again) != string(first) {
		t.Errorf("the second index is\n%s\nwant\n%s", again, first)
	}
}

// TestNotesIndexAsks checks that a model cannot write without approval.
func TestNotesIndexAsks(t *testing.T) {
	t.Parallel()
	dir, _ := project(t)
	h, err := testhost.Open(t, testhost.On{}, dir, &cassidy.Options{TrustSource: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, err = h.Call(context.Background(), tool.Call{Tool: "notes_index"})
	if value.KindOf(err) != value.Denied || err == nil {
		t.Errorf("a model's call without approval: %v, want it denied", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("it has written all the same")
	}
}

func TestWrongInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool string
		args *value.Dict
		kind value.Kind
		want string
	}{
		{"word_count", value.NewDict(), value.Invalid, "Missing required parameter: filepath"},
		{"word_count", value.NewDict("filepath", "notes/no.md"), value.Failed, "File not found: notes/no.md"},
		{"word_count", value.NewDict("filepath", "../secret"), value.Security, "../secret"},
		{"word_count", value.NewDict("filepath", "README.md", "min_length", int64(0)), value.Invalid, "'min_length' must be >= 1"},
		{"column_stats", value.NewDict("path", "data/co2.csv", "columns", value.List{"co2"}), value.Failed,
			`there is no column "co2"; the columns are year, co2_ppm, uncertainty_ppm`},
		{"column_stats", value.NewDict("path", "data/co2.csv", "over", "month"), value.Failed, `there is no column "month"`},
		{"column_stats", value.NewDict("path", "data/empty.csv"), value.Failed, "data/empty.csv has no rows below its header"},
		{"column_stats", value.NewDict("path", "data/ragged.csv"), value.Failed, "data/ragged.csv, line 2: the row has 3 cells, but the header has 2"},
		{"column_stats", value.NewDict("path", "notes/words.md"), value.Denied, "fs.read:notes/words.md"},
		{"decades", value.NewDict("column", "co2"), value.Failed, "no column \"co2\""},
		{"decades", value.NewDict("path", "notes/words.md"), value.Denied, "fs.read:notes/words.md"},
		{"log_summary", value.NewDict("path", "data/co2.csv"), value.Failed, "data/co2.csv is not a log"},
		{"log_summary", value.NewDict("slowest", int64(101)), value.Invalid, "'slowest' must be <= 100"},
		{"open_tasks", value.NewDict("path", "data"), value.Denied, "fs.read:data"},
		{"open_tasks", value.NewDict("containig", "x"), value.Invalid, "did you mean \"containing\""},
		{"broken_links", value.NewDict("path", "nowhere"), value.Failed, "File not found: nowhere"},
		{"broken_links", value.NewDict("path", "bare"), value.Failed, "there are no Markdown files below bare"},
		{"notes_index", value.NewDict("depth", int64(7)), value.Invalid, "'depth' must be <= 6"},
		{"notes_index", value.NewDict("title", "two\nlines"), value.Invalid, "'title'"},
	} {
		t.Run(tt.tool+" "+tt.want, func(t *testing.T) {
			dir, h := project(t)
			write(t, dir, "data/empty.csv", "a,b\n")
			write(t, dir, "data/ragged.csv", "a,b\n1,2,3\n")
			write(t, dir, "bare/file.txt", "no Markdown\n")
			_, err := h.Call(context.Background(), tool.Call{Tool: tt.tool, Args: tt.args})
			if err == nil || value.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v of kind %v, want %q of kind %v", err, value.KindOf(err), tt.want, tt.kind)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
				t.Error("it has written something")
			}
		})
	}
}

// TestEmbed builds and runs the program that embedders copy from.
func TestEmbed(t *testing.T) {
	t.Parallel()
	program := testutil.Build(t, "examples/embed")
	cmd := exec.Command(program)
	cmd.Dir = ".." // where its default is
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := `word_count: {"words": 152, "distinct": 111}
order_status: {"order": 1025, "status": "waiting for payment"}
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ dir, want string }{
		{filepath.Join(t.TempDir(), "none"), "embed: there is no folder"},
		{t.TempDir(), "Unknown tool"},
	} {
		out, err := exec.Command(program, tt.dir).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("embed %s: %v and %q, want a failure with %q", tt.dir, err, out, tt.want)
		}
	}
}

// TestNotesAreSound checks that the statements of the files about themselves are true.
func TestNotesAreSound(t *testing.T) {
	t.Parallel()
	_, h := project(t)
	names := []string{}
	for _, x := range projectTools(h) {
		names = append(names, x.Name)
	}
	readme, err := os.ReadFile("quickstart/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(readme), "| `"+name+"` |") {
			t.Errorf("README.md does not list %s", name)
		}
	}
	// One link is broken on purpose; all other links are valid.
	got := call(t, h, "broken_links", value.NewDict("path", ".")).(map[string]any)
	if broken := got["broken"].([]any); len(broken) != 1 || got["links"].(float64) < 8 {
		t.Errorf("broken links of the whole project: %v", got)
	}
}
