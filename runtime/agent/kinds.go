package agent

import (
	"context"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The kinds of an agent's runs.
const (
	taskKind = "task"
	chatKind = "chat"
)

// An Opener returns the options of an agent with these settings: it opens the
// model, and provides policies, skills and the other functions. What the settings
// hold replaces what it sets. It is called for each run that is resumed or
// replayed, concurrently.
type Opener func(ctx context.Context, s Settings) (*Options, error)

// kinds are what the runs of agents on a host are resumed with.
type kinds struct {
	mu     sync.Mutex
	open   Opener // or nil
	agents map[agentName]*Options
}

// An agentName is what an agent for a recorded run is found by.
type agentName struct{ name, model string }

// kindsOf returns the kinds of a host, and registers them the first time.
func kindsOf(h *host.Host) *kinds {
	kind := func(k *kinds) func() host.Kind {
		return func() host.Kind { return host.Kind{Resume: k.resumeRun, Data: k} }
	}
	k, _ := h.EnsureKind(taskKind, kind(&kinds{agents: map[agentName]*Options{}})).Data.(*kinds)
	if k == nil { // somebody else registered the name
		return &kinds{agents: map[agentName]*Options{}}
	}
	h.EnsureKind(chatKind, kind(k))
	return k
}

// add notes the options of an agent for the runs that are resumed later. It
// keeps those of one agent for each name and model.
func (k *kinds) add(a *Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.agents[a.key()] = a.given
}

func (a *Agent) key() agentName { return agentName{a.recorded.Name, a.recorded.Model} }

// RegisterKinds has a host resume the runs of agents for which no agent was made
// with [New]: open makes the options. It fails with kind Invalid if the host has
// an Opener already.
func RegisterKinds(h *host.Host, open Opener) error {
	k := kindsOf(h)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open != nil || open == nil {
		return value.Errorf(value.Invalid, "register the kinds of agents' runs: the host needs exactly one Opener")
	}
	k.open = open
	return nil
}

// Resume is [host.Host.Resume] for the run of an agent, with the Reply of the
// turn. It fails with kind Invalid for a run of another kind, and Conflict for
// one that has ended.
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
		return Reply{Run: runID, Session: r.Session, Task: r.Args.Text(taskArg)}, err
	}
	return t.result, err
}

// Replay runs the recorded run of an agent again, from its record alone: no
// model is asked, and no tool does anything. o needs no Program.
func Replay(ctx context.Context, h *host.Host, r host.Recorded, o host.Replay) (*host.Replayed, error) {
	if err := isAgents(&r); err != nil {
		return nil, err
	}
	t, err := kindsOf(h).reopen(ctx, h, &r, nil)
	if err != nil {
		return nil, err
	}
	o.Program = t.program()
	t.watches.Store(true)
	return h.Replay(context.WithValue(ctx, turnKey{}, t), o)
}

func isAgents(r *host.Recorded) error {
	if r.Kind == taskKind || r.Kind == chatKind {
		return nil
	}
	return value.Errorf(value.Invalid, "the run '%s' is not an agent's: it is of the kind %q", r.ID, r.Kind)
}

// resumeRun is the Resume of the kinds. The value of a resumed run is what its
// policy returned: {"reason", "answer"}, or as the policy has it.
func (k *kinds) resumeRun(ctx context.Context, h *host.Host, r host.Recorded) (tool.Result, error) {
	if _, err := k.resume(ctx, h, &r, nil); err != nil {
		return tool.Result{}, err
	}
	return h.Resume(context.WithoutCancel(ctx), r.ID) // which has ended
}

// resume continues a recorded turn. The turn is nil where it was not begun. by is
// an agent to prefer where it has the turn's model, or nil.
func (k *kinds) resume(ctx context.Context, h *host.Host, r *host.Recorded, by *Agent) (*turn, error) {
	t, err := k.reopen(ctx, h, r, by)
	if err != nil {
		return nil, err
	}
	p := t.program()
	p.Resume = true
	_, err = t.run(ctx, p)
	return t, err
}

// reopen begins a recorded turn again, of an agent as it was then.
func (k *kinds) reopen(ctx context.Context, h *host.Host, r *host.Recorded, by *Agent) (*turn, error) {
	settings, err := ReadSettings(r.Options)
	if err == nil && r.Session == "" {
		err = value.Errorf(value.Failed, "it has no session")
	}
	if err != nil {
		return nil, unreadable("run '"+r.ID+"'", err)
	}
	o, err := k.options(ctx, r, settings, by)
	if err != nil {
		return nil, err
	}
	own := *o
	settings.Apply(&own)
	own.Policies = func(name string) (Policy, error) { return recordedPolicy(name, r.Script), nil }
	a, err := newAgent(h, &own)
	if err != nil {
		return nil, err
	}
	return a.newSession(r.Session).again(ctx, r)
}

// options finds the options that a run is resumed with: those of by, of the agent
// with its name and model, or of the Opener.
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
		WithHint("make it before: agent.New(host, &agent.Options{ModelName: %q, …})", s.Model)
}

// recordedPolicy is the policy that led a run, as it was then. Only if it still is
// the built-in one of its name does it run as that.
func recordedPolicy(name string, s tool.Script) Policy {
	p := Policy{Name: name, Script: s, Location: tool.Project}
	if b, err := Builtin(name); err == nil && b.Script.Sum() == s.Sum() {
		p.Location = tool.Builtin
	}
	return p
}
