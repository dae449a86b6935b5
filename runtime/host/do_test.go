package host_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/human"
)

// TestDo checks that a handler in Go acts by steps of its own and by effects of the host, that its run
// waits for the answer to its question, and that it continues in another host without repeating a step.
func TestDo(t *testing.T) {
	j := history.Open(journal.Memory(), nil)
	var sent []string
	open := func(needs ...tool.Capability) *host.Host {
		h, err := host.New(&host.Options{Modules: []tool.Module{human.Module()}, Journal: func() (*history.Journal, error) { return j, nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		send := tool.Func{
			Name: "mail.send", Kind: tool.External, Params: []tool.Param{tool.Required("text", tool.TypeString, "")},
			Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
				sent = append(sent, e.Args.Text("text"))
				return tool.Outcome{Value: int64(len(sent))}, nil
			},
		}
		letter := tool.Tool{Name: "letter", Description: "Send a letter.", Needs: needs, Steps: []tool.Func{send}}
		err = h.Register(letter, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
			if _, err := host.Do(ctx, "mail.send", value.NewDict("text", "draft")); err != nil {
				return nil, err
			}
			to, err := host.Do(ctx, "human.ask", value.NewDict("question", "To whom?"))
			if err != nil {
				return nil, err
			}
			return host.Do(ctx, "mail.send", value.NewDict("text", "to "+to.(string)))
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	asks := tool.Capability{Name: "human"}
	call := tool.Call{Tool: "letter", Caller: tool.ByPerson}
	first := open(asks)
	if r, err := first.Call(t.Context(), call, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatalf("call = %+v, %v, want that it waits", r, err)
	}
	first.Close()
	second := open(asks)
	var q tool.Question
	for open, err := range second.Waiting(t.Context()) {
		if q = open; err != nil {
			t.Fatal(err)
		}
	}
	if q.Text != "To whom?" || q.Tool != "letter" {
		t.Fatalf("the question is %+v", q)
	}
	if err := second.Answer(t.Context(), q.ID, tool.Answer{Value: "Ann"}); err != nil {
		t.Fatal(err)
	}
	r, err := second.Resume(t.Context(), "r")
	if err != nil || r.Value != int64(2) || len(sent) != 2 || sent[1] != "to Ann" {
		t.Errorf("Resume = %+v, %v after sending %q", r, err, sent)
	}
	if r, err := open().Call(t.Context(), call); value.KindOf(err) != value.Denied {
		t.Errorf("without the need: %+v, %v", r, err)
	}
}

// TestRefused checks that only handlers of tools that declare it have steps, and only valid ones.
func TestRefused(t *testing.T) {
	h, err := host.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := host.Do(t.Context(), "x", nil); value.KindOf(err) != value.Invalid {
		t.Errorf("without a call: %v", err)
	}
	do := func(ctx context.Context, _ *value.Dict) (value.Value, error) { return host.Do(ctx, "x", nil) }
	if err := h.Register(tool.Tool{Name: "plain", Description: "Do."}, do); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call(t.Context(), tool.Call{Tool: "plain"}); value.KindOf(err) != value.Invalid {
		t.Errorf("of a tool without steps: %v", err)
	}
	if err := h.Register(tool.Tool{Name: "calls", Description: "Do.", OnlyCalls: true}, do); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call(t.Context(), tool.Call{Tool: "calls"}); value.KindOf(err) != value.NotFound {
		t.Errorf("of an unknown step: %v", err)
	}
	for _, f := range []tool.Func{{Name: "f", Kind: tool.External}, {Kind: tool.Read}, {Name: "f"}} {
		if err := h.Register(tool.Tool{Name: "bad", Description: "Do.", Steps: []tool.Func{f}}, do); value.KindOf(err) != value.Invalid {
			t.Errorf("with the step %+v: %v", f.Name, err)
		}
	}
}
