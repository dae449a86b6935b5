package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Session is a conversation with a model. Each [Session.Send] is a turn. On a host with a
// store each turn is a recorded run: the conversation survives the process, and
// [Agent.Session] reopens it.
//
// A session has one turn at a time. While this Session has a turn in progress, Send, Resume,
// Compact and Offer fail with kind Busy; while another Session of the same ID or another
// process has one, Send and Resume fail with kind Conflict. These methods, and ID, NextRun,
// Waiting and Files, are safe for concurrent use. The others must not be called during a turn.
type Session struct {
	id     string
	stored bool  // its turns are recorded under its ID
	stale  bool  // state must be read from the store
	past   *past // the last turn in state, or nil

	busy  sync.Mutex // held during a turn
	agent *Agent
	turn  *turn
	state conversation.State

	reoffered bool // Offer has changed the tools

	kept conversation.Kept // files that calls have read or written, and sub-agents

	seeing  sync.Mutex      // guards the fields below, which are also read during a turn
	runID   string          // the run of the turn that is in progress, or comes next
	waiting bool            // the run of runID has not ended
	used    map[string]bool // the keys of the skills that the user has used
}

// A past is the outcome of the last turn.
type past struct {
	reply   *Reply
	failure error
}

// newSession returns a session without turns. For "" it generates an ID.
func (a *Agent) newSession(id string) *Session {
	id = cmp.Or(id, ids.New())
	s := &Session{id: id, stored: host.Operate(a.host).HasStore(), agent: a}
	s.state = conversation.State{Iterations: a.opts.Iterations, Account: a.account(), Marks: &taint.Marks{}}
	s.runID = ids.Turn(id, 0)
	return s
}

// subSession returns the session of a sub-agent. above is the turn that started it, or nil; the
// turn of the sub-agent is part of its run and session. number is that of an agent that the policy or
// the model has started; 0 is one that a script has started with the call in ctx. A resumed run gives
// the same IDs.
func (a *Agent) subSession(ctx context.Context, above *turn, number int) *Session {
	s := a.newSession("")
	s.stored = false
	run, step := host.Operate(a.host).StepOf(ctx)
	switch {
	case above != nil && number > 0:
		s.id, s.runID = above.id, ids.Agent(above.runID, number)
	case above != nil:
		s.id, s.runID = above.id, ids.AgentAt(above.runID, step)
	case run != "":
		s.id, s.runID = run, ids.AgentAt(run, step)
	}
	return s
}

// ID returns the session's ID.
func (s *Session) ID() string { return s.id }

// NextRun returns the ID of the run of the turn that is in progress, or comes
// next.
func (s *Session) NextRun() string {
	s.seeing.Lock()
	defer s.seeing.Unlock()
	return s.runID
}

// Continue lets the first turn of a new session continue a conversation that the model's API has, by its ID.
// It fails with kind Invalid if the API keeps no conversations, or if the session has messages already, and
// Busy during a turn.
func (s *Session) Continue(ctx context.Context, thread string) error {
	if !s.busy.TryLock() {
		return s.errBusy()
	}
	defer s.busy.Unlock()
	switch {
	case !s.agent.sizes.Info(ctx).Threads:
		return value.Errorf(value.Invalid, "the model %s keeps no threads", s.agent.opts.Model.Name()).
			WithHint("to continue a session: cassidy chat --session ID; in Go, call Agent.Session")
	case len(s.state.Messages) > 0 || s.state.Turns > 0:
		return value.Errorf(value.Invalid, "the session %s has a conversation already", s.id).WithHint("omit the thread, or begin a new session")
	}
	s.state.Thread = thread
	return nil
}

// prompt returns the prompt of the session with its current tools.
func (s *Session) prompt() *prompt.Prompt {
	o := &s.agent.opts
	return &prompt.Prompt{
		Role: s.agent.role(), Agent: o.As.Instructions(), Tools: s.agent.tools, Format: s.agent.format, Docs: prompt.Docs(o.Docs),
		Skills: o.Skills, Context: o.Context, WorkDir: cmp.Or(o.Place, o.WorkDir), Iterations: s.state.Iterations,
	}
}

// A turn is the work on one message of the user.
type turn struct {
	*Session
	above   *turn         // the turn that started this sub-agent, or nil
	begun   time.Duration // after its agent was made
	result  Reply
	meter   *meter.Meter
	sums    bool                    // the request in progress asks for a summary
	bare    bool                    // it has no tools
	unread  bool                    // the provider refused the media of results
	fit     int                     // the characters to which the results of the next message are cut, or 0
	replied bool                    // the model has replied in this turn
	noted   map[string][]hooks.Note // by step: the notes of calls that are made again
	granted int                     // the replies that the policy knows of: from agent.prompt and agent.more
	passed  bool                    // agent.stop has let the answer pass
	idle    uint8                   // number of replies that are empty or lack a call, since another one
	again   bool                    // the turn is resumed or replayed, or a part of such a run
	working atomic.Int32            // number of sub-agents that work now
	watches atomic.Int32            // watchFiles is on if it is not 0
	spawned background              // the agents of agent.spawn
	schema  *structured.Schema      // of the request in progress, or nil
	other   *sizes                  // the model of the request in progress, if it is not that of the agent
	others  map[string]*sizes       // by name: the models that requests have named
	opened  openedModels            // those models, to be closed
	pending meter.Pending           // of the function of the policy that is in progress
	memory  *conversation.Memory    // nil before the first call
}

// Send sends a message and returns the reply of the model, after its calls of tools: one turn of
// the conversation.
//
// If the turn waits for an approval, an answer, a time or an unavailable model, the error is a
// *[host.ParkedError] (see [errors.As]). If ctx ends, the turn is interrupted and the error is
// of kind Canceled or Timeout. In both cases, on a host with a store, the turn stays open:
// [Session.Resume] or [host.Host.Resume] continues it, and [host.Host.Cancel] ends it. Until
// then Send fails with kind Conflict. After a turn that failed or was cancelled, the
// conversation continues with the messages that were sent in it.
//
// Send fails with kind Invalid for an empty message, and with kind Busy or Conflict while another
// turn of the session is in progress.
func (s *Session) Send(ctx context.Context, text string) (Reply, error) {
	if strings.TrimSpace(text) == "" {
		return Reply{Session: s.id}, value.Errorf(value.Invalid, "send to session '%s': the message is empty", s.id)
	}
	if !s.busy.TryLock() {
		return Reply{Session: s.id}, s.errBusy()
	}
	defer s.busy.Unlock()
	if err := s.admit(ctx); err != nil {
		return Reply{Session: s.id}, err
	}
	t := s.begin(ctx, text)
	p, err := t.recordedProgram(ctx)
	if err != nil {
		return t.result, err
	}
	r, err := t.run(ctx, p)
	if t.replied { // else they were not sent
		s.state.Attached = nil
	}
	r, err = s.settle(ctx, r, err)
	return *r, err
}

// Begin records a turn without executing it, and returns the ID of its run, which [host.Host.Resume] or
// [host.Host.ResumeDue] executes, here or in another process. It fails as [Session.Send] does. The host must have a
// store.
func (s *Session) Begin(ctx context.Context, text string) (runID string, err error) {
	if strings.TrimSpace(text) == "" {
		return "", value.Errorf(value.Invalid, "begin a turn of session '%s': the message is empty", s.id)
	}
	if !s.busy.TryLock() {
		return "", s.errBusy()
	}
	defer s.busy.Unlock()
	if err := s.admit(ctx); err != nil {
		return "", err
	}
	s.stale = true // the store has the turn
	p, err := s.begin(ctx, text).recordedProgram(ctx)
	if err != nil {
		return "", err
	}
	return s.agent.host.BeginProgram(ctx, p)
}

// recordedProgram returns the program of a turn with the options that are recorded.
func (t *turn) recordedProgram(ctx context.Context) (p *host.Program, err error) {
	if err := t.agent.checkPrice(ctx); err != nil {
		return nil, err
	}
	p = t.program()
	p.Options, err = t.options()
	return p, err
}

// begin returns the next turn.
func (s *Session) begin(ctx context.Context, message string) *turn {
	above, _ := ctx.Value(turnKey{}).(*turn)
	t := &turn{Session: s, above: above, begun: time.Since(s.agent.made), result: Reply{Run: s.runID, Session: s.id, Task: message}}
	t.again = above != nil && above.again
	s.state.Marks.Typed(message)
	s.state.BeginTurn()
	s.agent.sizes.Info(ctx)
	s.state.Account.Bound(s.agent.sizes.Budget())
	t.result.Overhead, t.result.EffectiveLimit = s.state.Account.Overhead(), s.state.Account.EffectiveLimit()
	s.turn = t
	s.kept.Begin()
	return t
}

// program returns the policy as a program for the turn.
func (t *turn) program() *host.Program {
	p := t.agent.program
	p.Narrow = t.agent.opts.As.Narrow()
	p.ID, p.Session, p.Args, p.Review = t.runID, t.id, value.NewDict(conversation.TaskArg, t.result.Task), t.reviewChanges
	p.Title, p.Reason = t.result.Task, t.reason
	if t.above != nil { // its calls pass the middleware of the turn above
		p.Middleware = nil
	}
	p.Watch, p.Start, p.End = t.watchFiles, t.startEvent(), t.endEvent
	return &p
}

// run runs the policy for the turn.
func (t *turn) run(ctx context.Context, p *host.Program) (*Reply, error) {
	defer t.next()
	defer t.opened.Close()
	out, err := t.agent.host.RunProgram(t.within(ctx), p)
	t.spawned.End(value.KindOf(err) == value.Parked)
	return t.outcome(out.Value, err)
}

// within returns the context of the turn.
func (t *turn) within(ctx context.Context) context.Context {
	if t.meter == nil {
		t.meter = meter.New(meter.Of(ctx), t.agent.rules, meter.Usage{})
	}
	return &turnContext{taint.With(ctx, t.state.Marks), t}
}

// A turnContext is the context of a turn, with its meter. It is one value, since a waiting agent
// holds it.
type turnContext struct {
	context.Context
	turn *turn
}

// Value implements [context.Context].
func (c *turnContext) Value(key any) any {
	switch key.(type) {
	case turnKey:
		return c.turn
	case meter.Key:
		return c.turn.meter
	}
	return c.Context.Value(key)
}

// outcome makes the reply of the turn. It is separate so that the stack of a turn
// that waits does not carry its frame.
func (t *turn) outcome(v value.Value, err error) (*Reply, error) {
	t.kept.Leave(t.kept.Take()) // of a call without an outcome
	err = t.judge(v, err)
	t.result.Usage = usageOf(t.meter.Total())
	t.result.Thread, t.result.Usage.Estimated, t.result.Usage.Wall = t.state.Thread, t.state.Account.Used(), time.Since(t.agent.made)-t.begun
	return &t.result, err
}

// judge stores the result of the policy, and returns the error of the turn.
func (t *turn) judge(v value.Value, err error) error {
	if err == nil {
		err = t.finish(v)
	}
	if err != nil {
		err = t.agent.policy.placeless(err)
		t.result.Reason = reasonOf(err)
	}
	return err
}

// reason returns the reason of the turn for the record.
func (t *turn) reason(v value.Value, err error) string {
	t.spawned.End(value.KindOf(err) == value.Parked) // before the record ends
	if err != nil {
		return string(reasonOf(err))
	}
	if d, ok := v.(*value.Dict); ok {
		return d.Text("reason")
	}
	return string(ReasonFinal)
}

// next counts the ended turn and sets the ID of the next one.
func (s *Session) next() {
	s.state.Turns++
	s.seeing.Lock()
	defer s.seeing.Unlock()
	s.runID = ids.Turn(s.id, s.state.Turns)
}

func (s *Session) errBusy() error {
	return value.Errorf(value.Busy, "the session '%s' has a turn in progress", s.id).WithHint("wait for the end of the turn, or use another session")
}

// turnKey is the key of the turn in a context.
type turnKey struct{}

// finish stores the result of the policy: that of agent.finish, or the answer as text.
func (t *turn) finish(v value.Value) error {
	switch v := v.(type) {
	case string:
		if t.hooks().Stops() {
			break
		}
		t.result.Reason, t.result.Text = ReasonFinal, v
		return t.shape()
	case *value.Dict:
		reason := v.Text("reason")
		if slices.Contains(reasons, reason) {
			t.result.Reason, t.result.Text = Reason(reason), v.Text("answer")
			t.result.Value, _ = v.Get("result")
			return t.shape()
		}
	}
	return value.Errorf(value.Failed, "the policy '%s' returned %s: expected the result of agent.finish", t.agent.policy.Name, value.TypeOf(v)).
		WithHint(`end the policy with: return agent.finish("final", answer)`)
}

// startEvent returns the event of the start of the turn.
func (t *turn) startEvent() *tool.RunStart {
	start := &tool.RunStart{
		Task: t.result.Task, Model: t.agent.opts.Model.Name(), Policy: t.agent.policy.Name, Format: string(t.agent.format),
		ToolOverhead: t.result.Overhead, EffectiveLimit: t.result.EffectiveLimit, Tools: toolNames(t.agent.tools),
	}
	return start
}

// endEvent returns the event of the end of the turn, from the result of the policy.
func (t *turn) endEvent(v value.Value, err error) tool.RunEnd {
	err = t.judge(v, err)
	r := &t.result
	end := tool.RunEnd{Reason: string(r.Reason), Answer: r.Text, Success: r.Success(), Iterations: r.Iterations, Usage: usageOf(t.meter.Total()).Dict()}
	if err != nil {
		end.Error = value.ErrorOf(err, value.Failed).Message()
	}
	return end
}

// Usage returns the tokens of the conversation, reported or estimated, and their limit.
func (s *Session) Usage() (used, limit int) {
	return s.state.Account.Used(), s.state.Account.EffectiveLimit()
}

// Messages returns the conversation so far.
func (s *Session) Messages() []model.Message { return slices.Clone(s.state.Messages) }

// Nearly reports whether the conversation is so long that the user should be warned: it has reached
// the share [Budget].WarnAt of its limit.
func (s *Session) Nearly() bool { return s.state.Account.Nearly() }

// Agent returns the agent of the session, with the tools of the last [Session.Offer].
func (s *Session) Agent() *Agent { return s.agent }

// Offer replaces the tools that the model may call, beginning with the next turn, whose message
// describes them. words are for [host.Host.Select]; no words mean no tools. It fails with kind
// Busy during a turn, and as [New] does for unknown or unavailable tools; then nothing changes.
func (s *Session) Offer(words ...string) error {
	if !s.busy.TryLock() {
		return s.errBusy()
	}
	defer s.busy.Unlock()
	return s.offer(words)
}

func (s *Session) offer(words []string) error {
	words = append([]string{}, words...) // nil would mean all tools
	a := *s.agent
	if err := a.offer(words); err != nil {
		return err
	}
	a.recorded.Tools = words
	if err := a.record(); err != nil {
		return err
	}
	s.agent, s.reoffered = &a, true
	if len(a.tools) > 0 {
		s.state.Told = false
	}
	s.state.Replace(s.state.Messages, s.agent.account())
	return nil
}
