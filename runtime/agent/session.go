package agent

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Session is a conversation with a model, of one turn or, in a chat, of many.
// It is for one turn at a time.
type Session struct {
	// ID names the turn that is under way, or comes next, in events and results.
	ID string

	first      string     // the ID of the first turn
	turns      int        // that have ended
	busy       sync.Mutex // held during a turn
	agent      *Agent
	iterations int // the limit that the prompt states; 0 states none
	account    account
	messages   []model.Message
	thread     string
	question   string     // what the first message asks
	told       bool       // the model has got its instructions
	reoffered  bool       // it has tools that its agent did not begin with
	made       []madeCall // calls since the last reply: the model knows of none what came of it
	heard      []string   // what tools have said, the latest last
	turn       *turn

	seeing sync.Mutex
	files  map[string]Seen // by path, what tools have read and written in calls that have ended
}

// NewSession returns a conversation that has not begun. id names it; "" makes
// a name up.
func (a *Agent) NewSession(id string) *Session {
	if id == "" {
		id = NewID()
	}
	return &Session{ID: id, first: id, agent: a, iterations: a.opts.Iterations, account: a.account()}
}

// prompt returns the prompt of the session, with its present tools.
func (s *Session) prompt() *prompt {
	o := &s.agent.opts
	return &prompt{
		Role: s.agent.role(), Tools: s.agent.tools, Format: s.agent.format,
		Skills: o.Skills, Context: o.Context, WorkDir: o.WorkDir, Iterations: s.iterations,
	}
}

// A turn is what comes of one message of the user.
type turn struct {
	*Session
	above   *turn // of the agent whose tool has this one work, or nil
	begun   time.Time
	result  Result
	memory  memory
	agents  int          // how many it has had work for it, in calls that have ended
	traces  traces       // of the call under way
	working atomic.Int32 // how many agents of its own work now
}

// A madeCall is what a model will be told of a call, in this turn or where it is
// broken off before that, in the next.
type madeCall struct {
	callResult
	turn    *turn
	success bool
	last    bool // the call that ended the task
}

// Turn has the policy answer a message. It is [Agent.Run] in a conversation
// that goes on: what was said before is known, and a turn that was broken off
// leaves it well formed. It is refused while another is under way.
func (s *Session) Turn(ctx context.Context, message string) (*Result, error) {
	if !s.busy.TryLock() {
		return nil, errBusy()
	}
	defer s.busy.Unlock()
	t := s.begin(ctx, message)
	return t.run(ctx, t.program())
}

// begin makes the turn that comes next.
func (s *Session) begin(ctx context.Context, message string) *turn {
	above, _ := ctx.Value(turnKey{}).(*turn)
	t := &turn{Session: s, above: above, begun: time.Now(), result: Result{Run: s.ID, Task: message}}
	t.result.Overhead, t.result.EffectiveLimit = s.account.Overhead(), s.account.EffectiveLimit()
	s.turn = t
	return t
}

// program is the policy, as it is run for the turn.
func (t *turn) program() *runtime.Program {
	p := t.agent.program
	p.ID, p.Args, p.Review = t.ID, tool.NewDict("task", t.result.Task), t.reviewChanges
	p.Title, p.Reason, p.Options = t.result.Task, t.reason, t.options()
	return &p
}

// run has the policy lead the turn to its end.
func (t *turn) run(ctx context.Context, p *runtime.Program) (*Result, error) {
	defer t.next()
	t.emitStart(p.Resume)
	out, err := t.agent.host.RunProgram(context.WithValue(ctx, turnKey{}, t), p)
	return t.ended(out.Value, err)
}

// ended makes the result of the turn. It stands by itself, as emitStart does, so
// that the stack of a turn that waits has no room for what comes after.
func (t *turn) ended(v tool.Value, err error) (*Result, error) {
	t.leave(t.takeTraces()) // of a call that came to no outcome
	if err == nil {
		err = t.finish(v)
	}
	if err != nil {
		err = t.agent.policy.placeless(err)
		t.result.Reason = reasonOf(err)
	}
	t.result.Thread, t.result.Usage.Estimated, t.result.Usage.Wall = t.thread, t.account.Used(), time.Since(t.begun)
	t.emitEnd(err)
	return &t.result, err
}

// reason says in the record why the policy ended.
func (t *turn) reason(v tool.Value, err error) string {
	if err != nil {
		return string(reasonOf(err))
	}
	if d, ok := v.(*tool.Dict); ok {
		return d.Text("reason")
	}
	return string(ReasonFinal)
}

// next names the turn that comes after one.
func (s *Session) next() {
	s.turns++
	s.ID = turnID(s.first, s.turns)
}

// turnID names the turn that comes after so many others.
func turnID(first string, turns int) string {
	if turns == 0 {
		return first
	}
	return first + "-" + strconv.Itoa(turns+1)
}

func errBusy() error {
	return tool.Errorf(tool.Conflict, "the session is answering already").WithHint("wait for its turn to end, or make another session")
}

// turnKey marks the context of a turn.
type turnKey struct{}

// finish takes what the policy returned: what agent.finish gives, or a text,
// which is the answer.
func (t *turn) finish(v tool.Value) error {
	switch v := v.(type) {
	case string:
		t.result.Reason, t.result.Answer = ReasonFinal, v
		return nil
	case *tool.Dict:
		reason := v.Text("reason")
		if slices.Contains(reasons, reason) {
			t.result.Reason, t.result.Answer = Reason(reason), v.Text("answer")
			t.result.Value, _ = v.Get("result")
			return nil
		}
	}
	return tool.Errorf(tool.Failed, "the policy '%s' returned %s", t.agent.policy.Name, tool.TypeOf(v)).
		WithHint(`it must end with: return agent.finish("final", answer)`)
}

func (t *turn) toolNames() tool.List {
	names := tool.List{}
	for i := range t.agent.tools {
		names = append(names, t.agent.tools[i].Name)
	}
	return names
}

// emit tells an event of the run.
func (s *Session) emit(kind tool.EventType, data *tool.Dict) {
	s.agent.host.Events.Emit(tool.Event{Type: kind, Time: time.Now(), Call: s.ID, Data: data})
}

func (t *turn) emitStart(resumed bool) {
	start := tool.NewDict("run", t.ID, "task", t.result.Task, "model", t.agent.opts.Model.Name(), "policy", t.agent.policy.Name,
		"format", string(t.agent.format), "tools", t.toolNames(), "tool_overhead", int64(t.result.Overhead), "effective_limit", int64(t.result.EffectiveLimit))
	if resumed {
		start.Put("resumed", true)
	}
	t.emit(tool.RunStart, start)
}

func (t *turn) emitEnd(err error) {
	r := &t.result
	d := tool.NewDict("run", r.Run, "reason", string(r.Reason), "answer", r.Answer, "success", r.Success(), "iterations", int64(r.Iterations))
	if err != nil {
		d.Put("error", tool.ErrorOf(err, tool.Failed).Message())
	}
	t.emit(tool.RunEnd, d)
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

// Offer has the model choose among other tools from the next turn on, of which
// it is told then. words are for [runtime.Host.Select]; none of them means no
// tools. Where they name what there is not, all stays as it was.
func (s *Session) Offer(words ...string) error {
	a := *s.agent
	if err := a.offer(append([]string{}, words...)); err != nil {
		return err
	}
	s.agent, s.reoffered = &a, true
	if len(a.tools) > 0 {
		s.told = false
	}
	s.account = a.account()
	for i := range s.messages {
		s.account.AddMessage(&s.messages[i])
	}
	return nil
}
