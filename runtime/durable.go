package runtime

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A CallOption changes how one call is made.
type CallOption func(*callOptions)

type callOptions struct {
	durable bool
	run     string
}

// Durable records a call as the run of an ID; "" makes one up. It survives the
// end of the process: [Host.Resume] continues it. What nobody answers parks it,
// with an error of kind [tool.Parked]. A call of the same ID continues the run
// or returns its result, if it is the same call; another call is an error of
// kind Conflict. A call that another one makes is part of that one's run and
// cannot be durable itself.
func Durable(runID string) CallOption {
	return func(o *callOptions) { o.durable, o.run = true, runID }
}

// callKind is the kind of the run of a durable call.
const callKind = "tool"

// callDurable makes a call as a run of its own, or continues it.
func (h *Host) callDurable(ctx context.Context, c tool.Call, id string) (tool.Result, error) {
	failed := func(err error) (tool.Result, error) {
		e := finish(err)
		return tool.Fail(e, tool.Usage{}), e
	}
	if h.opts.Journal == nil {
		return failed(noJournal())
	}
	begin := history.Run{ID: id, Kind: callKind, Title: c.Tool + argsText(c.Args), Args: callArgs(c)}
	if id != "" {
		found, err := h.opts.Journal.Runs(ctx, history.Filter{ID: id})
		if err != nil {
			return failed(err)
		}
		if len(found) > 0 {
			if r := found[0]; r.Kind != callKind || !tool.Equal(r.Args, begin.Args) {
				return failed(tool.Errorf(tool.Conflict, "the run '%s' is another call: %s", id, r.Title).WithHint("choose another ID"))
			}
			return h.Resume(ctx, id)
		}
	}
	log, err := h.opts.Journal.Begin(ctx, begin, tool.Script{})
	if err != nil {
		return failed(err)
	}
	return h.recordedCall(ctx, log, c, false)
}

// recordedCall makes the call that a record is of.
func (h *Host) recordedCall(ctx context.Context, log *history.Log, c tool.Call, resumed bool) (tool.Result, error) {
	r := h.newRun(log.Run().ID)
	r.parks = true
	if err := r.keep(ctx, log, resumed); err != nil {
		e := finish(err)
		return tool.Fail(e, tool.Usage{}), e
	}
	c.ID, c.Place = r.id, tool.Place{1}
	result, err := r.call(ctx, c, nil)
	if err = r.end(ctx, "", tool.Outcome{Value: result.Value, Usage: result.Usage}, err); err != nil {
		e := finish(err)
		return tool.Fail(e, result.Usage), e
	}
	return result, nil
}

// callArgs is what is recorded of a durable call.
func callArgs(c tool.Call) *tool.Dict {
	args := c.Args
	if args == nil {
		args = &tool.Dict{}
	}
	return tool.NewDict("tool", c.Tool, "args", args, "texts", c.Texts, "caller", int64(c.Caller), "reasoning", c.Reasoning)
}

// recordedCallOf is the call that callArgs recorded.
func recordedCallOf(d *tool.Dict) tool.Call {
	v, _ := d.Get("args")
	args, _ := v.(*tool.Dict)
	return tool.Call{Tool: d.Text("tool"), Args: args, Texts: d.Bool("texts"), Caller: tool.Caller(d.Int("caller", int64(tool.ByModel))), Reasoning: d.Text("reasoning")}
}

// argsText shows arguments in the title of a run, as they are typed on a command
// line.
func argsText(args *tool.Dict) string {
	const most = 60
	var b strings.Builder
	for k, v := range args.All() {
		name, _ := k.(string)
		text := tool.FormatJSON(v, "")
		if s, ok := v.(string); ok && !strings.ContainsAny(s, " \n\t\"") {
			text = s
		}
		b.WriteString(" " + name + "=" + tool.Clean(text, most))
	}
	return b.String()
}

// A Kind says how runs of a kind are resumed. The kinds of calls and of undoing
// are the host's own; who begins runs of another kind registers it.
type Kind struct {
	Name string
	// Resume continues a run that has not ended and returns its result. It is
	// called concurrently, for different runs.
	Resume func(ctx context.Context, h *Host, r history.Run) (tool.Result, error)
}

// RegisterKind has runs of a kind resumed by [Host.Resume]. It fails with kind
// Invalid where the kind is registered already.
func (h *Host) RegisterKind(k Kind) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.Name == "" || k.Resume == nil {
		return tool.Errorf(tool.Invalid, "a kind of runs needs a name and a Resume")
	}
	if _, exists := h.kinds[k.Name]; exists {
		return tool.Errorf(tool.Invalid, "the kind of runs %q is registered already", k.Name)
	}
	h.kinds[k.Name] = k
	return nil
}

// registerKinds registers the kinds that every host has.
func (h *Host) registerKinds() {
	h.kinds = map[string]Kind{
		callKind: {callKind, resumeCall},
	}
}

func resumeCall(ctx context.Context, h *Host, r history.Run) (tool.Result, error) {
	log, err := h.opts.Journal.Resume(ctx, r.ID)
	if err != nil {
		return tool.Result{}, err
	}
	return h.recordedCall(ctx, log, recordedCallOf(log.Run().Args), true)
}

// Resume continues a recorded run: what it has done is answered from its record.
// Of a run that has ended it returns the result. It fails with kind NotFound if
// there is no such run, Conflict while another process executes it, Invalid for
// a kind that nobody has registered, and else as the run does.
func (h *Host) Resume(ctx context.Context, runID string) (tool.Result, error) {
	failed := func(err error) (tool.Result, error) {
		e := finish(err)
		return tool.Fail(e, tool.Usage{}), e
	}
	if h.opts.Journal == nil {
		return failed(noJournal())
	}
	found, err := h.opts.Journal.Runs(ctx, history.Filter{ID: runID})
	switch {
	case err != nil && len(found) == 0:
		return failed(err)
	case len(found) == 0:
		return failed(tool.Errorf(tool.NotFound, "there is no run '%s'", tool.Clean(runID, 80)))
	}
	r := found[0]
	switch {
	case r.Damage != nil:
		return failed(r.Damage)
	case r.State == history.Done:
		return tool.Succeed(tool.Outcome{Value: r.Result, Usage: r.Usage}), nil
	case r.State.Ended():
		return tool.Fail(r.Err, r.Usage), r.Err
	}
	h.mu.Lock()
	k, known := h.kinds[r.Kind]
	names := slices.Sorted(maps.Keys(h.kinds))
	h.mu.Unlock()
	if !known {
		return failed(tool.Errorf(tool.Invalid, "the run '%s' is of the kind %q, which this program cannot resume", r.ID, r.Kind).
			WithHint("the kinds that it can resume are %s; Host.RegisterKind adds one", strings.Join(names, ", ")))
	}
	result, err := k.Resume(ctx, h, r)
	if err != nil {
		e := finish(err)
		if result.Error == "" {
			result = tool.Fail(e, result.Usage)
		}
		return result, e
	}
	return result, nil
}

func noJournal() error {
	return tool.Errorf(tool.Invalid, "the host records no runs: it has no journal").WithHint("set Options.Journal")
}
