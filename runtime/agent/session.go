package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Session is a conversation with a model, of one turn or, in a chat, of many.
// It is for one turn at a time.
type Session struct {
	ID string // of the run, as events and results name it

	agent    *Agent
	prompt   Prompt
	account  Account
	messages []model.Message
	thread   string
	question string       // what the first message, or the one after a compaction, asks
	told     bool         // the model has got its instructions
	open     []model.Call // calls of the last reply that have no result yet
	turn     *turn

	seeing sync.Mutex
	files  map[string]Seen // by path, what tools have read and written
}

// NewSession returns a conversation that has not begun. id names it; "" makes
// a name up.
func (a *Agent) NewSession(id string) *Session {
	if id == "" {
		id = NewID()
	}
	o := &a.opts
	return &Session{
		ID:    id,
		agent: a,
		prompt: Prompt{
			Role: a.role(), Tools: a.tools, Format: a.format, Skills: o.Skills, Context: o.Context, WorkDir: o.WorkDir, Iterations: o.Iterations,
		},
		account: *NewAccount(o.Budget, a.tools, a.format),
		files:   map[string]Seen{},
	}
}

// A turn is what comes of one message of the user.
type turn struct {
	*Session
	above    *turn // of the agent whose tool has this one work, or nil
	result   Result
	memory   memory
	mu       sync.Mutex      // tools may run several at a time
	answered map[string]bool // native calls by ID: whether they succeeded
}

// Turn has the policy answer a message. It is [Agent.Run] in a conversation
// that goes on: what was said before is known, and a turn that was broken off
// leaves it well formed.
func (s *Session) Turn(ctx context.Context, message string) (*Result, error) {
	start := time.Now()
	above, _ := ctx.Value(turnKey{}).(*turn)
	t := &turn{Session: s, above: above, result: Result{Run: s.ID, Task: message}}
	s.turn = t
	t.result.Overhead, t.result.EffectiveLimit = s.account.Overhead(), s.account.EffectiveLimit()
	t.emit(tool.RunStart, tool.NewDict("run", s.ID, "task", message, "model", s.agent.opts.Model.Name(), "policy", s.agent.policy.Name,
		"format", string(s.agent.format), "tools", t.toolNames(), "tool_overhead", int64(t.result.Overhead), "effective_limit", int64(t.result.EffectiveLimit)))
	defer s.agent.host.Events.Subscribe(tool.EffectDone, t.watchFiles)()
	out, err := s.agent.host.Run(context.WithValue(ctx, turnKey{}, t), &runtime.Program{
		Name: s.agent.policy.name(), Script: s.agent.policy.Script, Builtin: s.agent.policy.Location == tool.Builtin,
		Entry: entry, Args: tool.NewDict("task", message), ID: s.ID, Modules: t.modules(), Review: t.reviewChanges,
	})
	if err == nil {
		err = t.finish(out.Value)
	}
	if err != nil {
		err = s.agent.policy.plainly(err)
		t.result.Reason = reasonOf(err)
	}
	t.result.Thread, t.result.Usage.Estimated, t.result.Usage.Wall = s.thread, s.account.Used(), time.Since(start)
	t.emitEnd(err)
	return &t.result, err
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

func (t *turn) emitEnd(err error) {
	r := &t.result
	d := tool.NewDict("run", r.Run, "reason", string(r.Reason), "answer", r.Answer, "success", r.Success(), "iterations", int64(r.Iterations))
	if err != nil {
		d.Put("error", tool.AsError(err, tool.Failed).Message())
	}
	t.emit(tool.RunEnd, d)
}

// Usage returns how many tokens the conversation takes of how many.
func (s *Session) Usage() (used, limit int) { return s.account.Used(), s.account.EffectiveLimit() }

// Messages returns the conversation so far.
func (s *Session) Messages() []model.Message { return slices.Clone(s.messages) }
