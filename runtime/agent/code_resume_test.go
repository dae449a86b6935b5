package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
)

// TestAProgramInProgressIsNotRefused checks that a program which has made calls continues after a
// crash, although a tool that it calls later has changed and does not take its argument any more:
// then that call fails, and the model is told of the calls that were made.
func TestAProgramInProgressIsNotRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.replies = map[string][]string{"Do it": {
		program(`write_file(filepath = "a.txt", content = "one")`, `write_file(filepath = "b.txt", content = "two")`, `pick(n = 1)`), "TASK COMPLETE: done",
	}}
	d.tools = []string{"pick"}
	pick := func(annotation string) {
		file := filepath.Join(d.dir, ".cassidy", "tools", "pick.star")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("def pick(n: "+annotation+") -> str:\n    \"\"\"Pick one.\"\"\"\n    return \"picked\"\n\ntool(pick)\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pick("int")
	all := func(o *cassidy.Options) { o.Approver = host.ApproveAll() }
	dies := 0
	for d.file("a.txt") == "" || d.file("b.txt") != "" { // after the first of the two writes
		if dies++; dies > 20 {
			t.Fatal("the process never ended between the writes")
		}
		for _, name := range []string{"a.txt", "b.txt"} {
			_ = os.Remove(filepath.Join(d.dir, name))
		}
		d.journal = t.TempDir()
		_, _, _ = d.work("Do it", false, dies, all)
	}
	pick("str")
	r, _, err := d.work("Do it", true, 0, all)
	if err != nil || r.Reason != agent.ReasonFinal || d.file("b.txt") != "two" {
		t.Fatalf("reply = %+v, %v; b.txt = %q", r, err, d.file("b.txt"))
	}
	for _, want := range []string{`1. write_file(filepath = \"a.txt\"`, `2. write_file(filepath = \"b.txt\"`, "3. pick(n = 1) failed"} {
		if !strings.Contains(d.asked, want) {
			t.Errorf("the model was told:\n%s\nwant %q", d.asked, want)
		}
	}
}
