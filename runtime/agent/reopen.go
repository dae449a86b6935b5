package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Session returns the session with an ID: the conversation as its last turn left it, or a new
// one. For "" it generates an ID, see [Session.ID].
//
// On a host with a store, the conversation is read from there. Each call returns another
// Session, which reads the turns that others have added before each turn of its own. A turn
// that was interrupted, waits or lost its process stays open: [Session.Waiting] returns its
// run, and it continues with the agent that began it. New turns use this agent, with its
// model, policy and tools. Sessions of other tenants are not found: their IDs name new
// sessions here.
//
// On a host without a store, sessions are kept in memory: the same ID returns the same Session
// as long as the Agent is used.
//
// Session fails with kind Invalid for an ID that is longer than 200 bytes, is not UTF-8 or has
// control characters, and with kind Failed if the record of the last turn is damaged.
func (a *Agent) Session(ctx context.Context, id string) (*Session, error) {
	if err := ids.CheckSession(id); err != nil {
		return nil, err
	}
	if !host.Operate(a.host).HasStore() {
		return a.local.session(a, id), nil
	}
	s := a.newSession(id)
	if id == "" {
		return s, nil
	}
	s.stale = true
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// localSessions are the sessions of an agent on a host without a store.
type localSessions struct {
	mu   sync.Mutex
	byID map[string]*Session
}

func (l *localSessions) session(a *Agent, id string) *Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byID[id]; s != nil {
		return s
	}
	s := a.newSession(id)
	l.byID[s.id] = s
	return s
}

// Waiting returns the ID of the run of the turn that has not ended, or "". Such a turn waits,
// was interrupted, lost its process, or is in progress elsewhere. The state is that of the
// last call of [Agent.Session], Send or Resume.
func (s *Session) Waiting() string {
	s.seeing.Lock()
	defer s.seeing.Unlock()
	if !s.waiting {
		return ""
	}
	return s.runID
}

// Resume continues the turn that has not ended, see [Session.Waiting], with the model, policy
// and tools with which it began. Its recorded steps are not repeated: a request to the model is
// made again only if its reply was not recorded. If all turns have ended, Resume returns the
// reply and the error of the last one.
//
// It fails with kind NotFound if the session has no turns, Invalid if the host has no store or
// no agent with the turn's model (see [New]), Conflict while the turn is in progress
// elsewhere, and otherwise as [Session.Send] does.
func (s *Session) Resume(ctx context.Context) (Reply, error) {
	if !s.busy.TryLock() {
		return Reply{Session: s.id}, s.errBusy()
	}
	defer s.busy.Unlock()
	if s.stored {
		if err := s.refresh(ctx); err != nil {
			return Reply{Session: s.id}, err
		}
	}
	switch {
	case s.waiting:
	case s.past != nil:
		return *s.past.reply, s.past.failure
	default:
		return Reply{Session: s.id}, value.Errorf(value.NotFound, "the session '%s' has no turns", s.id)
	}
	r, err := s.agent.host.Recorded(ctx, s.runID)
	if err != nil {
		return Reply{Session: s.id, Run: s.runID}, err
	}
	t, err := kindsOf(s.agent.host).resume(ctx, s.agent.host, &r, s.agent)
	s.stale = true
	_ = s.refresh(context.WithoutCancel(ctx)) // if it fails, the next turn tries again
	if t == nil {
		return Reply{Session: s.id, Run: r.ID}, err
	}
	return t.result, err
}

// admit returns an error if the turn before has not ended.
func (s *Session) admit(ctx context.Context) error {
	if !s.stored {
		return nil
	}
	if err := s.refresh(ctx); err != nil || !s.waiting {
		return err
	}
	err := value.Errorf(value.Conflict, "the last turn of session '%s' has not ended (it is the run %s)", s.id, s.runID)
	if host.Operate(s.agent.host).Running(s.runID) {
		return err.WithHint("wait until the run ends, or cancel it: cassidy runs cancel %s; in Go, call Host.Cancel", s.runID)
	}
	return err.WithHint("continue the turn: cassidy runs resume %[1]s; or end it: cassidy runs cancel %[1]s; in Go, call Host.Resume or Host.Cancel", s.runID)
}

// settle stores how a turn of this session ended. After a failure, it reads the state from the
// store, and also the reply if others executed the turn.
func (s *Session) settle(ctx context.Context, r *Reply, err error) (*Reply, error) {
	ctx = context.WithoutCancel(ctx)
	if s.stored && host.Operate(s.agent.host).Elsewhere("") {
		s.stale = true
		if e := s.load(ctx, r.Run); e != nil || s.waiting {
			return r, cmp.Or(err, e)
		}
		return s.past.reply, s.past.failure
	}
	s.past = &past{r, err}
	if s.stored && err != nil {
		s.stale = true
		_ = s.refresh(ctx) // if it fails, the next turn tries again
	}
	return r, err
}

// refresh reads the turns that other Sessions have added.
func (s *Session) refresh(ctx context.Context) error {
	last, err := host.Operate(s.agent.host).LastTurn(ctx, s.id)
	switch {
	case value.KindOf(err) == value.NotFound:
		s.stale = false
		s.seeing.Lock()
		defer s.seeing.Unlock()
		s.waiting = false
		return nil
	case err != nil:
		return err
	case !s.stale && s.past != nil && last.ID == s.past.reply.Run:
		return nil
	}
	return s.load(ctx, last.ID)
}

// load reads the state of the session from the record of its last turn.
func (s *Session) load(ctx context.Context, runID string) error {
	r, err := s.agent.host.Recorded(ctx, runID)
	if err != nil {
		return err
	}
	fresh := s.agent.newSession(s.id)
	fresh.reoffered = s.reoffered
	settings, turn, err := readTurn(ctx, s.agent.host, s.id, &r)
	if err == nil {
		err = fresh.restore(turn, false)
	}
	if err != nil {
		return err
	}
	if !r.State.Ended() {
		fresh.waiting = true
	} else if err := fresh.rebuild(ctx, &r, turn.Task); err != nil {
		return err
	}
	fresh.change(settings, turn.Tools)                  // the turn may have had an agent with another model, format or tools
	fresh.state.Marks.Restore(s.state.Marks.Recorded()) // of what was attached to the next message
	fresh.state.AddReviewed(s.state.Reviewed)
	s.state, s.past, s.stale, s.turn = fresh.state, fresh.past, false, nil
	s.seeing.Lock()
	defer s.seeing.Unlock()
	s.kept.Restore(fresh.kept.Files())
	s.runID, s.waiting = fresh.runID, fresh.waiting
	return nil
}

// rebuild changes a session from the state before a recorded turn to the state after it. It
// keeps the recorded outcomes of the policy's functions, as a resumed run does, but does not
// run the policy.
func (s *Session) rebuild(ctx context.Context, r *host.Recorded, task string) error {
	t := s.begin(context.Background(), task)
	ctx = context.WithValue(ctx, turnKey{}, t)
	var above tool.StepPath
	var used meter.Usage
	for e, err := range host.Operate(s.agent.host).Steps(ctx, r.ID) {
		if err != nil {
			return err
		}
		used.Add(meter.Step(e.Outcome.Value, e.Notes))
		t.state.Marks.AddNotes(e.Notes)
		for _, note := range e.Notes {
			t.state.AddReviewed(host.ReviewedFiles(note))
		}
		if above != nil && len(e.StepPath) > len(above) && slices.Equal(e.StepPath[:len(above)], above) {
			continue // a step of a tool that the model called
		}
		name, ours := strings.CutPrefix(e.Func, moduleName+".")
		if e.Func != "" {
			above = e.StepPath
		}
		keep := again(name)
		if !ours || keep == nil {
			continue
		}
		effect := tool.Effect{Func: e.Func, Args: e.Args, StepPath: e.StepPath}
		switch {
		case e.Settled.IsZero():
			err = t.keepBroken(effect)
		case e.Err != nil:
			err = keep(ctx, effect, e.Outcome, e.Err)
		default:
			err = keep(ctx, effect, e.Outcome, nil)
		}
		if err != nil {
			return dialog.Unreadable("run '"+r.ID+"'", err)
		}
	}
	t.result.Usage = usageOf(used)
	s.ended(t, r)
	if t.replied {
		s.state.Attached = nil
	}
	return nil
}

// ended stores how a recorded turn ended.
func (s *Session) ended(t *turn, r *host.Recorded) {
	t.result.Reason = Reason(r.Reason)
	s.past = &past{reply: &t.result}
	if r.Err != nil {
		s.past.failure = s.agent.policy.placeless(r.Err)
	} else {
		s.past.failure = t.finish(r.Result)
	}
	t.result.Thread, t.result.Usage.Estimated, t.result.Usage.Wall = s.state.Thread, s.state.Account.Used(), r.Ended.Sub(r.Started)
	s.next()
}

// keepBroken keeps the calls that were in progress when their turn ended.
func (t *turn) keepBroken(e tool.Effect) error {
	if e.Func != moduleName+".call" && e.Func != moduleName+".calls" {
		return nil
	}
	decisions, err := functions.Decisions(e.Args)
	for _, d := range decisions {
		c := plannedCall{decision: d}
		t.interrupt(&c)
		err = cmp.Or(err, t.keepOutcome(d, c.dict(), true))
	}
	return err
}
