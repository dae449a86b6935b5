package agent_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A brokenStore changes a byte of the first frame of each run that it loads.
type brokenStore struct{ journal.Store }

func (s brokenStore) Load(ctx context.Context, num int64) (journal.Stored, error) {
	stored, err := s.Store.Load(ctx, num)
	if len(stored.Frames) > 0 {
		stored.Frames[0] = bytes.Clone(stored.Frames[0])
		stored.Frames[0][40] ^= 1
	}
	return stored, err
}

// TestADamagedTurnIsStuck checks that a turn of which something cannot be read is stuck, whoever finds that before the
// run of the turn is opened, and that one which has ended stays as it is.
func TestADamagedTurnIsStuck(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := script.New("m", false, func(context.Context, value.List, int) (value.Value, error) { return "TASK COMPLETE: done", nil })
	for damage, options := range map[string]*value.Dict{
		"the conversation": value.NewDict("conversation", "x"),
		"the settings":     value.NewDict("model", int64(1)),
		"a frame":          value.NewDict("model", "m"),
	} {
		for way, find := range map[string]func(*host.Host, *agent.Agent) error{
			"the host":    func(h *host.Host, _ *agent.Agent) error { _, err := h.Resume(ctx, "s"); return err },
			"the package": func(h *host.Host, _ *agent.Agent) error { _, err := agent.Resume(ctx, h, "s"); return err },
			"a session":   func(_ *host.Host, a *agent.Agent) error { _, err := a.Session(ctx, "s"); return err },
		} {
			for _, ended := range []bool{false, true} {
				store := journal.Memory()
				whole := history.Open(store, nil)
				l, err := whole.Begin(ctx, history.Run{ID: "s", Kind: "chat", Session: "s", Args: value.NewDict("task", "x"), Options: options}, tool.Script{Source: "x"})
				if err == nil && ended {
					err = l.End(ctx, "final", tool.Outcome{Value: "done"}, nil)
				} else if err == nil {
					err = l.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
				read := whole
				if damage == "a frame" {
					read = history.Open(brokenStore{store}, nil)
				}
				h, err := host.New(&host.Options{
					Sandbox: sandbox.NewInline(append(stdlib.Pure(), agent.Modules()...)...),
					Journal: func() (*history.Journal, error) { return read, nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				a, err := agent.New(h, &agent.Options{Model: m, Policy: "chat", Tools: []string{}})
				if err != nil {
					t.Fatal(err)
				}
				err = find(h, a)
				if !ended && (value.KindOf(err) != value.Failed || !strings.Contains(err.Error(), "damaged")) {
					t.Errorf("%s, found by %s: %v, want that it is damaged", damage, way, err)
				}
				row, err := store.Find(ctx, "", "s")
				if stuck := row.State == history.Stuck && strings.Contains(row.Stuck, "damaged"); err != nil || stuck == ended || ended && row.State != history.Done {
					t.Errorf("%s, found by %s: the run is %s (%q), %v, and had ended: %v", damage, way, row.State, row.Stuck, err, ended)
				}
			}
		}
	}
}
