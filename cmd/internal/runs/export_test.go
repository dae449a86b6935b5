package runs

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/fixture"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestExportHidesVariables checks that the values of variables with the names of secrets are in no
// fixture, wherever the run has put them, and that those of others are.
func TestExportHidesVariables(t *testing.T) {
	h := newPromoteHome(t)
	ctx := context.Background()
	const key, digits = "sk-\"1234\\5678", "1234567890"
	l, err := h.j.Begin(ctx, history.Run{ID: "w", Kind: "run", Title: "send " + key, Args: value.NewDict("n", int64(1234567890), "key", key)}, tool.Script{Name: "send", Path: "send.star", Source: "def main():\n    pass\n"})
	h.check(err)
	h.did(l, "1", "env.get", value.NewDict("name", "API_KEY"), key, nil)
	h.did(l, "2", "env.get", value.NewDict("name", "DB_PASSWORD"), digits, nil)
	h.did(l, "3", "env.get", value.NewDict("name", "LANG"), "en_US.UTF-8", nil)
	h.did(l, "4", "env.get", value.NewDict("name", "SHORT_TOKEN"), "1", nil)
	h.did(l, "5", "http.get", value.NewDict("headers", value.NewDict("Authorization", "Bearer "+key, key, "x")), value.Tuple{value.List{"got " + key, []byte(digits + "!")}, int64(1234567890)}, nil)
	h.did(l, "6", "http.get", value.NewDict("url", "https://example.com/?"+digits), nil, value.Errorf(value.Failed, "no %s", key).WithHint("not %s", digits))
	h.check(l.End(ctx, "", tool.Outcome{Value: value.NewDict("said", key)}, nil))
	stdout, stderr, code := h.in("runs", "export", "w", "-o", "-")
	f, err := fixture.Parse([]byte(stdout))
	if code != 0 || err != nil {
		t.Fatalf("exit %d, %s, %v", code, stderr, err)
	}
	if strings.Contains(stdout, "5678\\n") || strings.Contains(stdout, "sk-") || strings.Count(stdout, "{{env:API_KEY}}") != 8 || strings.Count(stdout, "{{env:DB_PASSWORD}}") != 3 || !strings.Contains(stdout, "en_US.UTF-8") {
		t.Errorf("the fixture has the value of a variable:\n%s", stdout)
	}
	if f.Args.Int("n") != 1234567890 || f.Steps[3].End.Value != "1" {
		t.Errorf("the fixture has lost a value:\n%s", stdout)
	}
}

func TestExport(t *testing.T) {
	h := newPromoteHome(t)
	ctx := context.Background()
	l, err := h.j.Begin(ctx, history.Run{ID: "w", Kind: "run", Title: "copy", Args: value.NewDict("n", int64(3)), Options: value.NewDict("model", "")},
		tool.Script{Name: "copy", Path: "copy.star", Source: "def main(n):\n    pass\n", Libs: map[string]string{"lib/a.star": "x = 1"}})
	h.check(err)
	h.did(l, "1", "fs.read", value.NewDict("path", "a"), []byte{0xff}, nil)
	h.did(l, "2.1", "http.get", value.NewDict("url", "https://example.com"), nil, value.Errorf(value.Unavailable, "away").WithHint("later"))
	h.check(l.Note(ctx, h.place("3"), value.NewDict("approval", "call", "yes", false)))
	h.intend(l, "4", "fs.list", nil)
	h.check(l.End(ctx, "", tool.Outcome{Value: value.Tuple{int64(1) << 60, "x"}}, nil))
	h.ended("task")
	h.parked("parked", history.Asked{StepPath: h.place("2"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})

	want := `{"version":1,
"run":{"id":"w","kind":"run","title":"copy","options":{"model":""}},
"script":{"name":"copy","path":"copy.star","source":"def main(n):\n    pass\n","libs":{"lib/a.star":"x = 1"}},
"entry":"main",
"args":{"n":3},
"steps":[
{"place":"1","func":"fs.read","args":{"path":"a"},"value":{"$bytes":"/w=="}},
{"place":"2.1","func":"http.get","args":{"url":"https://example.com"},"error":{"kind":"unavailable","message":"away","op":"","hint":"later","limit":"","file":"","line":0,"column":0,"trace":[]}},
{"place":"4","func":"fs.list","args":null}
],
"result":{"$tuple":[{"$int":"1152921504606846976"},"x"]}}
`
	stdout, stderr, code := h.in("runs", "export", "w", "-o", "-")
	if diff := cmp.Diff(want, stdout); diff != "" || code != 0 || stderr != "" {
		t.Errorf("exit %d, %s (-want +got):\n%s", code, stderr, diff)
	}
	for _, tt := range []struct {
		args string
		code int
		want string // of the output
		file string // that is written
	}{
		{"w", 0, ".cassidy/tests/w.json\ncassidy: the file contains everything that 3 steps read", ".cassidy/tests/w.json"},
		{"w", 2, "already exists", ""},
		{"w --output some/where.json", 0, "some/where.json\n", "some/where.json"},
		{"--json task", 0, `"steps":0}`, ".cassidy/tests/task.json"},
		{"parked", 1, "export run 'parked': expected the state done or failed, but got parked", ""},
		{"tusk", 2, `did you mean "task"?`, ""},
	} {
		stdout, stderr, code := h.in(append([]string{"runs", "export"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("export %s: exit %d, %q, %q, want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
		if tt.file == "" {
			continue
		}
		name := filepath.Join(h.project, filepath.FromSlash(tt.file))
		data, err := os.ReadFile(name)
		h.check(err)
		if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has everything that the run has read, but its mode is %v, %v", tt.file, info.Mode(), err)
		}
		if f, err := fixture.Parse(data); err != nil || !strings.Contains(tt.args, f.ID) {
			t.Errorf("%s: %v", tt.file, err)
		}
	}
}

// TestExportCall checks that the fixture of a call names no function: its run has no script.
func TestExportCall(t *testing.T) {
	h := newPromoteHome(t)
	l, err := h.j.Begin(context.Background(), history.Run{ID: "c", Kind: "tool", Title: "write_file"}, tool.Script{})
	h.check(err)
	h.check(l.End(context.Background(), "", tool.Outcome{Value: "done"}, nil))
	stdout, stderr, code := h.in("runs", "export", "c", "-o", "-")
	if f, err := fixture.Parse([]byte(stdout)); code != 0 || err != nil || f.Entry != "" {
		t.Errorf("exit %d, %s, %v: %s", code, stderr, err, stdout)
	}
}
