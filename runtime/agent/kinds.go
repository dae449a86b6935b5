package agent

import (
	"context"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The kinds of an agent's runs.
const (
	taskKind = "task"
	chatKind = "chat"
)

// An Opener returns the options for an agent with these settings: the opened model, and the
// functions for policies, skills and so on. The settings then replace the fields that they
// have. It is called for each run that is resumed or replayed, concurrently.
type Opener func(ctx context.Context, s Settings) (*Options, error)

// kinds are the options with which the runs of agents on a host are resumed.
type kinds struct {
	mu     sync.Mutex
	open   Opener // or nil
	agents map[agentName]*Options
}

// An agentName identifies an agent for a recorded run.
type agentName struct{ name, model string }

// kindsOf returns the kinds of a host, and registers them the first time.
func kindsOf(h *host.Host) *kinds {
	k, _ := host.Operate(h).Shared("agents", func() any {
		k := &kinds{agents: map[agentName]*Options{}}
		for _, name := range []string{taskKind, chatKind} {
			_ = h.RegisterKind(host.Kind{Name: name, Resume: k.resumeRun}) // fails if the program has such runs of its own
		}
		return k
	}).(*kinds)
	return k
}

// add stores the options of an agent for runs that are resumed later. They replace those of
// an earlier agent with the same name and model.
func (k *kinds) add(a *Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.agents[a.key()] = a.given
}

func (a *Agent) key() agentName { return agentName{a.recorded.Name, a.recorded.Model} }

// RegisterKinds lets a host resume runs of agents that were not made with [New] in this
// process: open returns their options. It fails with kind Invalid if open is nil or the host
// already has an Opener.
func RegisterKinds(h *host.Host, open Opener) error {
	if err := host.Operate(h).Valid(); err != nil {
		return err
	}
	k := kindsOf(h)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open != nil || open == nil {
		return value.Errorf(value.Invalid, "register the kinds of agent runs: the Opener is nil, or an Opener is already registered")
	}
	k.open = open
	return nil
}

// Resume resumes the run of an agent as [host.Host.Resume] does, and returns the Reply of
// the turn. It fails with kind Invalid for a run of another kind, and Conflict for a run that
// has ended.
func Resume(ctx context.Context, h *host.Host, runID string) (Reply, error) {
	r, err := h.Recorded(ctx, runID)
	if err != nil {
		return Reply{Run: runID}, err
	}
	if err := isAgents(&r); err != nil {
		return Reply{Run: runID}, err
	}
	t, err := kindsOf(h).resume(ctx, h, &r, nil)
	if t == nil {
		return Reply{Run: runID, Session: r.Session, Task: r.Args.Text(conversation.TaskArg)}, err
	}
	return t.result, err
}

// Replay runs the recorded run of an agent again with the recorded outcomes: it asks no
// model and calls no tool. o.Program is ignored.
func Replay(ctx context.Context, h *host.Host, r host.Recorded, o host.Replay) (*host.Replayed, error) {
	if err := isAgents(&r); err != nil {
		return nil, err
	}
	t, err := kindsOf(h).reopen(ctx, h, &r, nil, true)
	if err != nil {
		return nil, err
	}
	o.Program = t.program()
	t.watches.Add(1)
	return h.Replay(t.within(ctx), o)
}

func isAgents(r *host.Recorded) error {
	if r.Kind == taskKind || r.Kind == chatKind {
		return nil
	}
	return value.Errorf(value.Invalid, "resume run '%s' as an agent: expected the kind task or chat, but got %q", r.ID, r.Kind)
}

// resumeRun is the Resume of the kinds. The value of a resumed run is the result of its
// policy: usually {"reason", "answer"}.
func (k *kinds) resumeRun(ctx context.Context, h *host.Host, r host.Recorded) (tool.Result, error) {
	if _, err := k.resume(ctx, h, &r, nil); err != nil {
		return tool.Result{}, err
	}
	return h.Resume(context.WithoutCancel(ctx), r.ID) // the result of the ended run
}

// resume continues a recorded turn. The turn is nil if it could not begin. by is preferred if
// it is the agent of the turn; it may be nil.
func (k *kinds) resume(ctx context.Context, h *host.Host, r *host.Recorded, by *Agent) (*turn, error) {
	t, err := k.reopen(ctx, h, r, by, false)
	if err != nil {
		return nil, err
	}
	p := t.program()
	p.Resume = true
	_, err = t.run(ctx, p)
	return t, err
}

// reopen begins a recorded turn again, with the recorded settings of its agent. A replay has the
// tools as the run has called them.
func (k *kinds) reopen(ctx context.Context, h *host.Host, r *host.Recorded, by *Agent, replays bool) (*turn, error) {
	settings, turn, err := readTurn(ctx, h, r.Session, r)
	if err != nil {
		return nil, err
	}
	before, recorded := recordedUsage(ctx, h, r.ID, meter.Limits{Ceilings: settings.Ceilings, Iterations: settings.Iterations})
	settings.Ceilings, settings.Iterations = recorded.Ceilings, recorded.Iterations
	o, err := k.options(ctx, r, settings, by)
	if err != nil {
		return nil, err
	}
	own := *o
	settings.Apply(&own)
	own.Policies = func(name string) (Policy, error) { return recordedPolicy(name, r.Script), nil }
	if replays {
		own.Tools = []string{}
	}
	a, err := newAgent(h, &own)
	if err == nil && replays {
		a.sizes.Assume(model.Info{}) // a replay asks no server
		err = a.offerRecorded(ctx, turn)
	}
	if err == nil && !replays {
		err = a.checkPrice(ctx) // before the run goes on: it would end with this error, and its work would be lost
	}
	if err != nil {
		return nil, err
	}
	t, err := a.newSession(r.Session).again(ctx, turn, !replays)
	if err == nil {
		a.rules.Changed.Store(a.rules.Limits != recorded && !replays)
		t.meter = meter.New(meter.Of(ctx), a.rules, before)
		t.noted = hooks.RecordedNotes(ctx, h, r.ID)
	}
	return t, err
}

// readTurn returns what the run of a turn of a session has recorded of its agent, and of the conversation. If that is
// damaged, nobody can continue the turn: its run is stuck.
func readTurn(ctx context.Context, h *host.Host, session string, r *host.Recorded) (Settings, *conversation.Turn, error) {
	settings, err := ReadSettings(r.Options)
	if err == nil && session == "" {
		err = value.Errorf(value.Failed, "no session")
	}
	if err != nil {
		err = dialog.Unreadable("run '"+r.ID+"'", err)
		host.Operate(h).Stick(ctx, r.ID, err)
		return settings, nil, err
	}
	turn, err := conversation.ReadTurn(session, r)
	if err != nil {
		host.Operate(h).Stick(ctx, r.ID, err)
	}
	return settings, turn, err
}

// options returns the options with which a run is resumed: those of by, of the agent with
// the recorded name and model, or of the Opener.
func (k *kinds) options(ctx context.Context, r *host.Recorded, s Settings, by *Agent) (*Options, error) {
	name := agentName{s.Name, s.Model}
	if by != nil && by.key() == name {
		return by.given, nil
	}
	k.mu.Lock()
	o, open := k.agents[name], k.open
	k.mu.Unlock()
	switch {
	case o != nil:
		return o, nil
	case open != nil:
		return open(ctx, s)
	}
	of := ""
	if s.Name != "" {
		of = " named '" + s.Name + "'"
	}
	return nil, value.Errorf(value.Invalid, "resume run '%s': the host has no agent%s with the model '%s'", r.ID, of, s.Model).
		WithHint("create the agent first: agent.New(host, &agent.Options{ModelName: %q, …})", s.Model)
}

// recordedPolicy returns the policy with which a run began. It is trusted as built-in only
// if it is equal to the built-in policy of its name.
func recordedPolicy(name string, s tool.Script) Policy {
	p := Policy{Name: name, Script: s, Location: tool.Project}
	if b, err := Builtin(name); err == nil && b.Script.Sum() == s.Sum() {
		p.Location = tool.Builtin
	}
	return p
}
