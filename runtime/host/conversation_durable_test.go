package host_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDurableConversation checks recorded calls of a conversation that has read untrusted text:
// they ask, also when they are resumed without the conversation.
func TestDurableConversation(t *testing.T) {
	t.Parallel()
	h, sent := hostOfMail(t)
	talk := h.Conversation(t.Context())
	if _, err := h.Call(talk, tool.Call{Tool: "read_mail"}, host.Durable("read")); err != nil {
		t.Fatal(err)
	}
	_, err := h.Call(talk, tool.Call{Tool: "send_mail"}, host.Durable("send"))
	if value.KindOf(err) != value.Parked {
		t.Fatalf("the recorded call gave %v", err)
	}
	if _, err := h.Resume(t.Context(), "send"); value.KindOf(err) != value.Parked || *sent != 0 {
		t.Fatalf("resumed without the conversation it gave %v", err)
	}
	for q, err := range h.Waiting(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Answer(t.Context(), q.ID, tool.Answer{Yes: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Resume(t.Context(), "send"); err != nil || *sent != 1 {
		t.Errorf("after the answer it gave %v, and has sent %d", err, *sent)
	}
}

// hostOfMail returns a host with a source and a sink, and how often the sink has sent.
func hostOfMail(t *testing.T) (*host.Host, *int) {
	t.Helper()
	sent := new(int)
	h, err := host.New(&host.Options{Journal: recordIn(history.Open(journal.Memory(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	add := func(name string, hints tool.Hints, do func()) {
		t.Helper()
		if err := h.Register(tool.Tool{Name: name, Description: "Do it.", Hints: hints}, func(context.Context, *value.Dict) (value.Value, error) {
			do()
			return "x", nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	add("read_mail", tool.Hints{UntrustedOutput: true}, func() {})
	add("send_mail", tool.Hints{OpenWorld: true}, func() { *sent++ })
	return h, sent
}
