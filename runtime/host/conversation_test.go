package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestConversation checks the calls of a program that makes the calls of a model itself: without an
// approver, what sends is denied once untrusted text was read in the same conversation.
func TestConversation(t *testing.T) {
	t.Parallel()
	for _, trusted := range [][]string{nil, {"tool:read_mail"}} {
		h, err := host.New(&host.Options{TrustedSources: trusted})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		for name, hints := range map[string]tool.Hints{"read_mail": {UntrustedOutput: true}, "send_mail": {OpenWorld: true}, "count": {}} {
			err := h.Register(tool.Tool{Name: name, Description: "Do it.", Hints: hints}, func(context.Context, *value.Dict) (value.Value, error) { return "x", nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		one, other := h.Conversation(t.Context()), h.Conversation(t.Context())
		for _, step := range []struct {
			ctx    context.Context
			tool   string
			caller tool.Caller
			denied bool
		}{
			{one, "read_mail", tool.ByModel, false},
			{one, "count", tool.ByModel, false},
			{one, "send_mail", tool.ByModel, true},
			{one, "send_mail", tool.ByPerson, false},
			{one, "send_mail", tool.ByScript, false},
			{other, "send_mail", tool.ByModel, false},
			{t.Context(), "send_mail", tool.ByModel, false},
		} {
			_, err := h.Call(step.ctx, tool.Call{Tool: step.tool, Caller: step.caller})
			if denied := err != nil; denied != (step.denied && trusted == nil) {
				t.Errorf("%s by a %s: %v, trusted %v", step.tool, step.caller, err, trusted)
			} else if denied {
				e := value.ErrorOf(err, value.Failed)
				if e.Kind != value.Denied || !strings.Contains(e.Message(), "the result of read_mail") || !strings.Contains(e.Hint, `cassidy config set --add trusted_sources tool:read_mail;`) {
					t.Errorf("the error is %v, with the hint %q", err, e.Hint)
				}
			}
		}
	}
	if _, err := host.New(&host.Options{TrustedSources: []string{"shell:git"}}); value.KindOf(err) != value.Invalid || err == nil {
		t.Errorf("a source that cannot be one: %v", err)
	}
}
