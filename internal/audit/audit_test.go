package audit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/testutil"
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
		{"a long text", []value.Value{"why", strings.Repeat("x", 2000)}, `,"why":"` + strings.Repeat("x", maxText) + `…"}`},
		{"a long list", []value.Value{"capabilities", make([]int, 1000)}, `,"capabilities":[` + strings.Repeat("0,", maxItems) + `"… and 900 more"]}`},
		{"a deep value", []value.Value{"why", value.List{value.List{value.List{"x"}}}}, `,"why":[["…"]]}`},
		{"a number", []value.Value{"n", 1.5, "args", value.NewDict("a", 1, "b", []byte{1})}, `,"n":"1.5","args":{"a":1,"b":"\"AQ==\""}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "audit.jsonl")
			if err := To(file)(auditEvent(tool.OtherEvent{Fields: value.NewDict(tt.data...)})); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
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

// TestAuditRotates fills the file: it is put aside, once, and goes on.
func TestAuditRotates(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	a := Open(file)
	if err := a.record(auditEvent(tool.Audit{Decision: "0"})); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	a.max = 3 * info.Size()
	for _, d := range []string{"1", "2", "3", "4", "5", "6"} {
		if err := a.record(auditEvent(tool.Audit{Decision: d})); err != nil {
			t.Error(err)
		}
	}
	if got, want := testutil.Decisions(t, file), []string{"6"}; !cmp.Equal(got, want) {
		t.Errorf("the file holds %v, want %v", got, want)
	}
	if got, want := testutil.Decisions(t, aside(file)), []string{"3", "4", "5"}; !cmp.Equal(got, want) {
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
		record := To(file)
		done.Go(func() {
			for range lines {
				if err := record(auditEvent(tool.Audit{Decision: "allowed", Why: strings.Repeat("x", 1000)})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if got := len(testutil.Decisions(t, file)); got != hosts*lines {
		t.Errorf("%d lines, want %d", got, hosts*lines)
	}
}

// TestAuditNoFolder checks a folder that cannot be made.
func TestAuditNoFolder(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := To(filepath.Join(blocked, "audit.jsonl"))(auditEvent(tool.Audit{Decision: "allowed"})); value.KindOf(err) != value.Unavailable {
		t.Errorf("the record gave %v, want that it is unavailable", err)
	}
}
