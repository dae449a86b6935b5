package runtime_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestParkedErrorAsJSON checks that what a run waits for can be sent to a client.
func TestParkedErrorAsJSON(t *testing.T) {
	for want, e := range map[string]runtime.ParkedError{
		`{"run":"r","reason":"sleep","questions":null,"until":"2026-01-02T03:04:05Z"}`: {Run: "r", Reason: "sleep", Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"": {Run: "r", Reason: "approval", Questions: []runtime.Question{{ID: "r:1:1", Run: "r", Step: "1", Kind: tool.QuestionApproval, Tool: "send", Args: tool.NewDict("to", "Ann")}}},
	} {
		text, err := json.Marshal(&e)
		if err != nil || want != "" && string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
		var back runtime.ParkedError
		if err := json.Unmarshal(text, &back); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		same := cmp.Comparer(func(a, b *tool.Dict) bool { return tool.Equal(a, b) })
		if diff := cmp.Diff(e, back, same, cmpopts.IgnoreUnexported(runtime.ParkedError{})); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
