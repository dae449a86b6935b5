package cassidy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func auditEvent(data any) tool.Event {
	at := time.Date(2026, 3, 4, 5, 6, 7, 89_600_000, time.FixedZone("", 3600))
	return tool.Event{Time: at, Call: "call-1", Tool: "put_note", Data: data}
}

func TestAuditLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		data []value.Value
		want string
	}{
		{"what the host tells", []value.Value{"decision", "denied", "func", "fs.write", "capabilities", []string{"fs.write:a", "fs.read:a"},
			"place", "3.1", "caller", "model", "why", "a rule"},
			`,"decision":"denied","func":"fs.write","capabilities":["fs.write:a","fs.read:a"],"place":"3.1","caller":"model","why":"a rule"}`},
		{"nothing", nil, `}`},
		{"what cannot be seen", []value.Value{"why", "a\x1b[2J\nb\u202ec\u200b\x7f"}, `,"why":"a<U+001B>[2J<U+000A>b<U+202E>c<U+200B><U+007F>"}`},
		{"names that are taken", []value.Value{"time", "never", "tool", "other", "call", "call-2", "why", "x"}, `,"why":"x"}`},
		{"a name with a control character", []value.Value{"a\nb", true}, `,"a<U+000A>b":true}`},
		{"a long text", []value.Value{"why", strings.Repeat("x", 2000)}, `,"why":"` + strings.Repeat("x", maxAuditText) + `…"}`},
		{"a long list", []value.Value{"capabilities", make([]int, 1000)}, `,"capabilities":[` + strings.Repeat("0,", maxAuditItems) + `"… and 900 more"]}`},
		{"a deep value", []value.Value{"why", value.List{value.List{value.List{"x"}}}}, `,"why":[["…"]]}`},
		{"a number", []value.Value{"n", 1.5, "args", value.NewDict("a", 1, "b", []byte{1})}, `,"n":"1.5","args":{"a":1,"b":"\"AQ==\""}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := auditLine(auditEvent(tool.OtherEvent{Fields: value.NewDict(tt.data...)}))
			if err != nil {
				t.Fatal(err)
			}
			want := `{"time":"2026-03-04T04:06:07.089Z","tool":"put_note","call":"call-1"` + tt.want + "\n"
			var compact strings.Builder // AppendJSON puts spaces as Python does
			if err := json.NewEncoder(&compact).Encode(json.RawMessage(got)); err != nil {
				t.Fatalf("%q is no JSON: %v", got, err)
			}
			if strings.Count(string(got), "\n") != 1 {
				t.Errorf("%q is not one line", got)
			}
			if diff := cmp.Diff(unescaped(want), unescaped(compact.String())); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

// unescaped undoes what encoding/json does for HTML.
func unescaped(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text)
}

// TestAuditFile goes through a host, as a program would.
func TestAuditFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "home", "state", "audit.jsonl")
	r, err := New(&RuntimeOptions{Workers: Workers{Program: testworker.Exec()}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := r.Open(Source{}, &Options{Dir: t.TempDir(), Audit: file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is an audit file before anything was decided")
	}
	write := tool.Call{Tool: "write_file", Args: value.NewDict("filepath", "a", "content", "x")}
	if _, err := h.Call(t.Context(), write); value.KindOf(err) != value.Denied {
		t.Fatalf("the call gave %v, want it denied", err)
	}
	write.Caller = tool.ByPerson
	if _, err := h.Call(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if got := decisions(t, file); !cmp.Equal(got, []string{"denied", "allowed"}) {
		t.Errorf("recorded %v, want denied and allowed", got)
	}
	if runtime.GOOS == "windows" {
		return // modes mean nothing there
	}
	for name, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", filepath.Base(name), got, want)
		}
	}
}

// decisions returns what a file has recorded, each line of which must be JSON.
func decisions(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		var d struct{ Decision string }
		if err := json.Unmarshal([]byte(line), &d); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("line %q: %v", line, err)
		}
		list = append(list, d.Decision)
	}
	return list
}

// TestAuditRotates fills the file: it is put aside, once, and goes on.
func TestAuditRotates(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	line, err := auditLine(auditEvent(tool.Audit{Decision: "0"}))
	if err != nil {
		t.Fatal(err)
	}
	a := &audit{file: file, max: int64(3 * len(line))}
	for _, d := range []string{"0", "1", "2", "3", "4", "5", "6"} {
		if err := a.record(auditEvent(tool.Audit{Decision: d})); err != nil {
			t.Error(err)
		}
	}
	if got, want := decisions(t, file), []string{"6"}; !cmp.Equal(got, want) {
		t.Errorf("the file holds %v, want %v", got, want)
	}
	if got, want := decisions(t, aside(file)), []string{"3", "4", "5"}; !cmp.Equal(got, want) {
		t.Errorf("beside it there are %v, want %v", got, want)
	}
	if got, want := filepath.Base(aside(file)), "audit.1.jsonl"; got != want {
		t.Errorf("the full file is called %s, want %s", got, want)
	}
}

// TestAuditTogether has several hosts record in one file at a time.
func TestAuditTogether(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	const hosts, lines = 8, 100
	var done sync.WaitGroup
	for range hosts {
		record := auditTo(file)
		done.Go(func() {
			for range lines {
				if err := record(auditEvent(tool.Audit{Decision: "allowed", Why: strings.Repeat("x", 1000)})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if got := len(decisions(t, file)); got != hosts*lines {
		t.Errorf("%d lines, want %d", got, hosts*lines)
	}
}

// TestAuditFails checks that a file that cannot be written fails nothing, and is
// reported once, and again only after it could be.
func TestAuditFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := New(&RuntimeOptions{Workers: Workers{Program: testworker.Exec()}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := t.TempDir()
	h, err := r.Open(Dir(dir), &Options{Dir: dir, Audit: file})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	events := h.Subscribe(t.Context(), EventFilter{})
	denied := func() (told []string) {
		t.Helper()
		if _, err := h.Call(t.Context(), tool.Call{Tool: "write_file", Args: value.NewDict("filepath", "a", "content", "x")}); value.KindOf(err) != value.Denied {
			t.Errorf("the call gave %v, want it denied", err)
		}
		for len(events) > 0 {
			e := <-events
			if line, ok := e.Data.(tool.Log); ok {
				told = append(told, line.Message)
			}
		}
		return told
	}
	want := []string{"the audit event was not recorded: write the audit file " + file + ": not a regular file"}
	if diff := cmp.Diff(want, denied()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if told := denied(); told != nil {
		t.Errorf("told %q again", told)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if told := denied(); told != nil || len(decisions(t, file)) != 1 {
		t.Errorf("told %q, recorded %v, want what came when it could be", told, decisions(t, file))
	}
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, denied()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestAuditNoFolder checks a folder that cannot be made.
func TestAuditNoFolder(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := auditTo(filepath.Join(blocked, "audit.jsonl"))(auditEvent(tool.Audit{Decision: "allowed"})); value.KindOf(err) != value.Unavailable {
		t.Errorf("the record gave %v, want that it is unavailable", err)
	}
}
