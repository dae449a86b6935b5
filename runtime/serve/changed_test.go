package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// TestChangedFile checks that nobody approves changes of a file that is no longer what they have seen.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	file := filepath.Join(r.dirs["bakery"], "count")
	id := r.post("rob", "/v1/tools/bump/call", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	q := r.question(id)
	answer := func(question, body string, status int) string {
		t.Helper()
		d := r.post("ann", "/v1/runs/"+id+"/questions/"+question+"/answer", body, status)
		if status == http.StatusOK {
			return ""
		}
		if got := errorText(d); !strings.Contains(got, "count") || !strings.Contains(d.Dict("question").Dict("data").Dict("changes").String(), "count") {
			t.Errorf("the conflict is %q, %v", got, d)
		}
		return d.Dict("question").Text("id")
	}
	if err := os.WriteFile(file, []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := answer(q.Text("id"), `{"yes": true, "seen": "`+q.Text("seen")+`"}`, http.StatusConflict)
	if text, _ := os.ReadFile(file); again == q.Text("id") || string(text) != "5" {
		t.Fatalf("the file is %q, and the question %s became %s", text, q.Text("id"), again)
	}
	answer(again, `{"yes": true, "seen": "`+r.question(id).Text("seen")+`"}`, http.StatusOK)
	r.until(id, history.Done)
	if text, _ := os.ReadFile(file); string(text) != "6" {
		t.Errorf("the file is %q, want 6", text)
	}
}
