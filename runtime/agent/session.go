package agent

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Session is a conversation with a model. [Session.Send] is one turn of it.
// Where the host has a store, each turn is a recorded run: the conversation
// survives the process, and [Agent.Session] reopens it.
//
// It has one turn at a time: Send, Resume, Compact and Offer fail with kind Busy
// while this Session has a turn in progress, and Send and Resume with kind
// Conflict while another Session of the same ID, or another process, has one.
// These methods, and ID, NextRun, Waiting and Files, are safe for concurrent use; the
// others are not during a turn.
type Session struct {
	id     string
	stored bool  // its turns are recorded, and found by id
	stale  bool  // state is to be read from the store
	past   *past // the last turn that is in state, or nil

	busy  sync.Mutex // held during a turn
	agent *Agent
	turn  *turn
	state

	decided func(*decision.Decision) // is called with what is read in replies; or nil

	seeing  sync.Mutex      // held to write what follows, and to read it beside a turn
	runID   string          // the run of the turn that is in progress, or comes next
	waiting bool            // runID is that of a turn that has not ended
	files   map[string]Seen // by path, what tools have read and written in calls that have ended
}

// A past turn is how the last turn ended.
type past struct {
	reply   *Reply
	failure error
}

// A state is what a turn leaves to the next one.
type state struct {
	turns      int // that have ended
	iterations int // the limit that the prompt states; 0 states none
	account    account
	messages   []model.Message
	thread     string
	question   string     // what the first message asks
	told       bool       // the model has got its instructions
	reoffered  bool       // it has tools that its agent did not begin with
	made       []madeCall // calls since the last reply: the model knows of none what came of it
	heard      []string   // what tools have said, the latest last
}

// newSession returns a conversation without turns; "" makes an ID up.
func (a *Agent) newSession(id string) *Session {
	id = cmp.Or(id, NewID())
	s := &Session{id: id, stored: a.host.HasStore(), agent: a}
	s.state = state{iterations: a.opts.Iterations, account: a.account()}
	s.runID = turnID(id, 0)
	return s
}

// subSession returns the conversation of an agent that works for the turn of
// another one, or for nobody's. That turn is part of the run of above, and of its
// session.
func (a *Agent) subSession(above *turn) *Session {
	s := a.newSession("")
	s.stored = false
	if above != nil {
		s.id = above.id
		s.runID = above.runID + "/" + agentID + strconv.Itoa(above.nextAgent())
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

// prompt returns the prompt of the session, with its present tools.
func (s *Session) prompt() *prompt.Prompt {
	o := &s.agent.opts
	return &prompt.Prompt{
		Role: s.agent.role(), Tools: s.agent.tools, Format: s.agent.format,
		Skills: o.Skills, Context: o.Context, WorkDir: o.WorkDir, Iterations: s.iterations,
	}
}

// A turn is what comes of one message of the user.
type turn struct {
	*Session
	above   *turn // of the agent whose tool has this one work, or nil
	begun   time.Time
	result  Reply
	memory  memory
	agents  int          // how many it has had work for it, in calls that have ended
	traces  *traces      // of the call under way, or nil
	working atomic.Int32 // how many agents of its own work now
	watches atomic.Bool  // watchFiles notes what tools do
}

// A madeCall is what a model will be told of a call, in this turn or where it is
// broken off before that, in the next.
type madeCall struct {
	callResult
	turn    *turn
	success bool
	last    bool // the call that ended the task
}

// Send has the model answer a message: one turn of the conversation.
//
// Where the turn waits, for an approval, an answer, a time or a model that is
// unavailable, the error is a *[host.ParkedError] (see [errors.As]). The end of ctx
// interrupts the turn, with an error of kind Canceled or Timeout. In both cases,
// on a host with a store, the turn stays open: [Session.Resume] or
// [host.Host.Resume] continues it, and [host.Host.Cancel] ends it. Until
// then Send fails with kind Conflict. After a turn that failed or was cancelled,
// the conversation continues with what the model was sent in it.
//
// It fails with kind Invalid for an empty message, and Busy or Conflict while
// another turn of the session is in progress.
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
	r, err := t.run(ctx, t.program())
	s.settle(ctx, r, err)
	return *r, err
}

// begin makes the turn that comes next.
func (s *Session) begin(ctx context.Context, message string) *turn {
	above, _ := ctx.Value(turnKey{}).(*turn)
	t := &turn{Session: s, above: above, begun: time.Now(), result: Reply{Run: s.runID, Session: s.id, Task: message}}
	t.result.Overhead, t.result.EffectiveLimit = s.account.Overhead(), s.account.EffectiveLimit()
	s.turn = t
	return t
}

// program is the policy, as it is run for the turn.
func (t *turn) program() *host.Program {
	p := t.agent.program
	p.ID, p.Session, p.Args, p.Review = t.runID, t.id, value.NewDict(taskArg, t.result.Task), t.reviewChanges
	p.Title, p.Reason, p.Options = t.result.Task, t.reason, t.options()
	p.Watch, p.Start, p.End = t.watchFiles, t.startEvent(), t.endEvent
	return &p
}

// run has the policy lead the turn to its end.
func (t *turn) run(ctx context.Context, p *host.Program) (*Reply, error) {
	defer t.next()
	out, err := t.agent.host.RunProgram(context.WithValue(ctx, turnKey{}, t), p)
	return t.outcome(out.Value, err)
}

// outcome makes the reply of the turn. It is separate so that the stack of a turn
// that waits does not carry its frame.
func (t *turn) outcome(v value.Value, err error) (*Reply, error) {
	t.leave(t.takeTraces()) // of a call that came to no outcome
	err = t.judge(v, err)
	t.result.Thread, t.result.Usage.Estimated, t.result.Usage.Wall = t.thread, t.account.Used(), time.Since(t.begun)
	return &t.result, err
}

// judge takes what the policy returned into the result, and returns why the turn
// failed, or nil.
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

// reason says in the record why the policy ended.
func (t *turn) reason(v value.Value, err error) string {
	if err != nil {
		return string(reasonOf(err))
	}
	if d, ok := v.(*value.Dict); ok {
		return d.Text("reason")
	}
	return string(ReasonFinal)
}

// next names the turn that comes after one.
func (s *Session) next() {
	s.turns++
	s.seeing.Lock()
	defer s.seeing.Unlock()
	s.runID = turnID(s.id, s.turns)
}

func (s *Session) errBusy() error {
	return value.Errorf(value.Busy, "the session '%s' has a turn in progress", s.id).WithHint("wait for its end, or use another session")
}

// turnKey marks the context of a turn.
type turnKey struct{}

// finish takes what the policy returned: what agent.finish gives, or a text,
// which is the answer.
func (t *turn) finish(v value.Value) error {
	switch v := v.(type) {
	case string:
		t.result.Reason, t.result.Text = ReasonFinal, v
		return nil
	case *value.Dict:
		reason := v.Text("reason")
		if slices.Contains(reasons, reason) {
			t.result.Reason, t.result.Text = Reason(reason), v.Text("answer")
			t.result.Value, _ = v.Get("result")
			return nil
		}
	}
	return value.Errorf(value.Failed, "the policy '%s' returned %s", t.agent.policy.Name, value.TypeOf(v)).
		WithHint(`it must end with: return agent.finish("final", answer)`)
}

func (t *turn) toolNames() value.List { return toolNames(t.agent.tools) }

func toolNames(tools []tool.Tool) value.List {
	names := value.List{}
	for i := range tools {
		names = append(names, tools[i].Name)
	}
	return names
}

// startEvent is what the event says with which the turn begins.
func (t *turn) startEvent() *tool.RunStart {
	start := &tool.RunStart{
		Task: t.result.Task, Model: t.agent.opts.Model.Name(), Policy: t.agent.policy.Name, Format: string(t.agent.format),
		ToolOverhead: t.result.Overhead, EffectiveLimit: t.result.EffectiveLimit,
	}
	for i := range t.agent.tools {
		start.Tools = append(start.Tools, t.agent.tools[i].Name)
	}
	return start
}

// endEvent is what the event says with which the turn ends, from what the policy
// returned.
func (t *turn) endEvent(v value.Value, err error) tool.RunEnd {
	err = t.judge(v, err)
	r := &t.result
	end := tool.RunEnd{Reason: string(r.Reason), Answer: r.Text, Success: r.Success(), Iterations: r.Iterations}
	if err != nil {
		end.Error = value.ErrorOf(err, value.Failed).Message()
	}
	return end
}

// Usage returns how many tokens the conversation takes of how many.
func (s *Session) Usage() (used, limit int) { return s.account.Used(), s.account.EffectiveLimit() }

// Messages returns the conversation so far.
func (s *Session) Messages() []model.Message { return slices.Clone(s.messages) }

// Nearly reports whether the conversation is so long that its user should know.
func (s *Session) Nearly() bool { return s.account.Nearly() }

// Agent returns the agent that answers, with the tools of the last
// [Session.Offer].
func (s *Session) Agent() *Agent { return s.agent }

// Offer replaces the tools that the model may call from the next turn on, which
// describes them to it. words are for [host.Host.Select]; no words mean no
// tools. If they name an unknown tool, nothing changes. It fails with kind
// Busy during a turn.
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
	a.record()
	s.agent, s.reoffered = &a, true
	if len(a.tools) > 0 {
		s.told = false
	}
	s.recount()
	return nil
}

// recount makes the account of the conversation anew.
func (s *Session) recount() {
	s.account = s.agent.account()
	for i := range s.messages {
		s.account.AddMessage(&s.messages[i])
	}
}
