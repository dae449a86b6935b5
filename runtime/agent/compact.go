package agent

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// doCompact is agent.compact.
func (t *turn) doCompact(ctx context.Context, _ tool.Effect) (tool.Value, error) {
	before := t.account.Used()
	summary, err := t.compact(ctx)
	if err != nil && (ctx.Err() != nil || tool.KindOf(err) == tool.Canceled) {
		return nil, err
	}
	d := tool.NewDict("success", err == nil, "summary", summary, "tokens_before", int64(before), "tokens_after", int64(t.account.Used()))
	if err != nil {
		d.Put("error", tool.AsError(err, tool.Failed).Message())
	}
	t.emit(tool.Compacted, d)
	return d, nil
}

// Compact replaces the conversation by a summary of it, which the model writes,
// and its last messages. Where that fails, it stays as it was.
func (s *Session) Compact(ctx context.Context) (before, after int, err error) {
	if !s.busy.TryLock() {
		return 0, 0, errBusy()
	}
	defer s.busy.Unlock()
	if s.turn == nil {
		s.turn = &turn{Session: s}
	}
	before = s.account.Used()
	_, err = s.compact(ctx)
	return before, s.account.Used(), err
}

func (s *Session) compact(ctx context.Context) (summary string, err error) {
	if len(s.messages) == 0 {
		return "", tool.Errorf(tool.Invalid, "there is nothing to compact yet")
	}
	messages, thread, open, made, account := s.messages, s.thread, s.open, s.made, s.account
	answers := s.answers()
	for i := range answers { // they may be what there is no room for, and are sent whole afterwards
		answers[i].Text = cutMiddle(answers[i].Text, leastResult, shortNote)
	}
	reply, err := s.put(ctx, append(answers, model.Message{Role: model.User, Text: s.prompt.CompactRequest()}))
	if err == nil && reply.Text == "" {
		err = tool.Errorf(tool.Failed, "the model wrote no summary")
	}
	s.messages, s.thread, s.open, s.made, s.account = messages, thread, open, made, account
	if err != nil {
		return "", err
	}
	// Half as many characters as there are tokens: a sixth of what there is room for.
	k := &keep{Chars: max(1, min(defaultKept, s.account.EffectiveLimit()/2))}
	s.restart(s.prompt.Continue(s.question, reply.Text, messages, k))
	s.turn.memory.forget() // what it points to may be gone
	return reply.Text, nil
}

// restart makes the conversation another one, which the model gets whole.
func (s *Session) restart(messages []model.Message) {
	s.messages, s.thread, s.open, s.told = messages, "", nil, true
	s.account = *newAccount(s.agent.opts.Budget, s.agent.tools, s.agent.format)
	for i := range messages {
		s.account.AddMessage(&messages[i])
	}
}
