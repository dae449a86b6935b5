package host_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestParkedErrorAsJSON checks that what a run waits for is read back from its JSON.
func TestParkedErrorAsJSON(t *testing.T) {
	t.Parallel()
	for _, e := range []host.ParkedError{
		{Run: "r", Reason: "sleep", Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{Run: "r", Reason: "approval", Questions: []tool.Question{{ID: "r:1:1", Run: "r", Step: "1", Kind: tool.QuestionApproval, Tool: "send", Args: value.NewDict("to", "Ann")}}},
	} {
		text, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		var back host.ParkedError
		if err := json.Unmarshal(text, &back); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		same := cmp.Comparer(func(a, b *value.Dict) bool { return value.Equal(a, b) })
		if diff := cmp.Diff(e, back, same, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
