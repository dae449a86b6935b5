package host

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestOnlyWhatIsReadyIsUsed checks that the state alone decides whether a tool can be
// called, or a workflow run: not its reason, and an unknown state is not a ready one.
func TestOnlyWhatIsReadyIsUsed(t *testing.T) {
	t.Parallel()
	none := value.KindOf(nil)
	for state, want := range map[toolset.State]value.Kind{
		"": none, toolset.Ready: none, toolset.NotHere: value.Unavailable, toolset.Untrusted: value.Denied, "disabled": value.Denied,
	} {
		for _, reason := range []string{"", "it is new"} {
			info := &toolset.Info{Tool: tool.Tool{Name: "t"}, Standing: toolset.Standing{State: state, Reason: reason}}
			completeStanding(&info.Standing, []tool.Capability{{Name: "fs.read"}}, true)
			err := calleeOf(info).Refusal
			if value.KindOf(err) != want || (err == nil) != (want == none) {
				t.Errorf("a tool in the state %q (%q): %v, want kind %v", state, reason, err, want)
			}
			if granted := len(info.Granted) > 0; granted != (want != value.Denied) {
				t.Errorf("a tool in the state %q: granted is %v", state, granted)
			}
			w := Workflow{Tool: info.Tool, State: state, Reason: reason}
			if _, err := w.Program(nil, ""); value.KindOf(err) != want || (err == nil) != (want == none) {
				t.Errorf("a workflow in the state %q (%q): %v, want kind %v", state, reason, err, want)
			}
		}
	}
}
