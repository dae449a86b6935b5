package host

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Operate returns a host as cassidy's own packages use it, such as its command. The interface can change at any time:
// programs use the methods of [Host].
func Operate(h *Host) operate.Host { return operated{h} }

// operated implements [operate.Host], which documents the methods.
type operated struct{ *Host }

// shared is what packages keep on a host.
type shared struct {
	mu     sync.Mutex
	values map[string]any
}

func (h operated) Shared(key string, make func() any) any {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	v, exists := h.shared.values[key]
	if !exists {
		v = make()
		h.shared.values[key] = v
	}
	return v
}

func (h operated) Valid() error { return h.valid() }

func (h operated) HasStore() bool { return h.opts.Journal != nil }

func (h operated) Elsewhere(runID string) bool { return h.elsewhere(runID) }

func (h operated) Journal() (*history.Journal, error) { return h.journal() }

func (h operated) Project() string { return h.opts.Project }

func (h operated) Memory() *membudget.Host { return h.gate.Memory }

func (h operated) Declared() (tools []toolset.Info) {
	for o := range h.tools(context.Background()).all() {
		if o.complete() == nil {
			tools = append(tools, *o.tool)
		}
	}
	return tools
}

func (h operated) Remaining(words ...string) []toolset.Info {
	remaining := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		_, err := h.Select(word)
		return err != nil
	})
	if len(remaining) == 0 && len(words) > 0 {
		return nil
	}
	tools, _ := h.Select(remaining...) // each word selects some
	return tools
}

func (h operated) ToolIn(ctx context.Context, name string) (tool.Tool, error) {
	tools := h.gate.ToolsOf(ctx)
	if tools == nil {
		tools = h.tools(ctx)
	}
	t, err := tools.Lookup(ctx, name)
	if err != nil {
		return tool.Tool{}, err
	}
	return *t.Tool, nil
}

func (h operated) Exchange(remove []string, add []toolset.InGo) []error {
	errs := make([]error, len(add))
	if err := h.notClosed(); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	offers := make([]*offered, len(add))
	for i := range add {
		if offers[i], errs[i] = offerGo(add[i].Tool, add[i].Do, nil); errs[i] == nil {
			offers[i].callee.Foreign = add[i].Foreign
		}
	}
	_ = h.registry.change(func(c *catalog) error { // always nil
		for _, name := range remove {
			if o := c.tools[tool.Key(name)]; o != nil && slices.Contains(c.layers[layerGo], o) {
				c.remove(o)
			}
		}
		for i, o := range offers {
			if o != nil {
				errs[i] = c.add(layerGo, o, false)
			}
		}
		return nil
	})
	return errs
}

func (h operated) Compute(ctx context.Context, s tool.Script, c tool.Call) (value.Value, error) {
	if h.opts.Sandbox == nil {
		return nil, value.Errorf(value.Invalid, "run '%s': the host has no sandbox", c.Tool).WithHint("set Options.Sandbox")
	}
	out, err := h.opts.Sandbox.Run(ctx, s, c, nil)
	return out.Value, err
}

func (h operated) StepOf(ctx context.Context) (run string, at tool.StepPath) {
	return h.gate.StepOf(ctx)
}

func (h operated) ReplayOf(ctx context.Context) string { return replayOf(ctx) }

func (h operated) AskingLive(ctx context.Context, ask func(ctx context.Context, q tool.Question) (tool.Answer, error)) context.Context {
	return gate.WithLive(ctx, ask)
}

func (h operated) LastTurn(ctx context.Context, session string) (history.Run, error) {
	if session == "" {
		return history.Run{}, value.Errorf(value.Invalid, "the ID of the session is missing")
	}
	for r, err := range h.Runs(ctx, history.Filter{Session: session, Limit: 1}) {
		return r, err
	}
	return history.Run{}, value.Errorf(value.NotFound, "the session '%s' has no turns", value.Clean(session, 80))
}

func (h operated) Steps(ctx context.Context, runID string) iter.Seq2[history.Entry, error] {
	return fromJournal(h.Host, func(j *history.Journal) iter.Seq2[history.Entry, error] { return j.Entries(ctx, runID) })
}

func (h operated) Called(ctx context.Context, runID string) (called []toolset.Info, err error) {
	notes, err := h.notes(ctx, runID)
	for _, n := range notes {
		if n.Text(noteTool) == "" {
			continue
		}
		t, _, err := h.boxes.Revive(ctx, n)
		if err != nil {
			return nil, err
		}
		standing := toolset.Standing{Location: t.Location, Path: t.Path, Hash: t.Hash, State: toolset.Ready, Granted: t.Granted}
		called = append(called, toolset.Info{Tool: *t.Tool, Standing: standing})
	}
	return called, err
}

func (h operated) Running(runID string) bool {
	j, err := h.journal()
	return err == nil && j.Held(runID)
}

func (h operated) Executing() []string { return h.gate.Executing() }

func (h operated) NoteRead(ctx context.Context, runID string) error {
	notes, err := h.notes(ctx, runID)
	gate.AddSources(ctx, notes)
	return err
}

func (h operated) Stick(ctx context.Context, runID string, why error) { h.stick(ctx, runID, why) }

func (h operated) PlanUndo(ctx context.Context, runID string) (*operate.Undone, error) {
	return h.planUndo(ctx, runID)
}

func (h operated) Start(ctx context.Context, runID string, known bool, c tool.Call) (func(context.Context) (tool.Result, error), error) {
	if h.gate.InCall(ctx) {
		o := callOptions{durable: true}
		return nil, o.inside()
	}
	j, err := h.journal()
	if err == nil && j.Elsewhere("") {
		id, err := h.BeginCall(ctx, c, Durable(runID))
		return func(ctx context.Context) (tool.Result, error) { return h.awaitResult(ctx, id) }, err
	}
	if err == nil {
		err = h.inflight.Enter()
	}
	if err != nil {
		return nil, err
	}
	d := durable{h.Host, j, runID}
	call, err := d.start(ctx, c, d.begins(ctx, c, nil), !known)
	if err != nil {
		h.inflight.Leave()
		return nil, err
	}
	return func(ctx context.Context) (tool.Result, error) {
		defer h.inflight.Leave()
		return call(ctx)
	}, nil
}

func (h operated) EndFork(ctx context.Context, runID string, err error) error {
	return h.endFork(ctx, runID, err)
}

func (h operated) UndoRun(ctx context.Context, u operate.Undo) (*operate.Undone, error) {
	return h.undo(ctx, u)
}
