package agent

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// doCompact is agent.compact.
func (t *turn) doCompact(ctx context.Context, _ tool.Effect) (value.Value, error) {
	d, err := t.summarize(ctx)
	if err != nil && (ctx.Err() != nil || value.KindOf(err) == value.Canceled || isFinal(err)) {
		return nil, err
	}
	if err := t.keepSummary(d); err != nil {
		return nil, err
	}
	d.Put("tokens_after", int64(t.account.Used()))
	host.Emit(ctx, tool.Compacted{
		Success: d.Bool("success"), Summary: d.Text("summary"), Error: d.Text("error"),
		TokensBefore: int(d.Int("tokens_before")), TokensAfter: int(d.Int("tokens_after")),
		InputTokens: int(d.Int("input_tokens")), OutputTokens: int(d.Int("output_tokens")), CachedTokens: int(d.Int("cached_tokens")),
	})
	return d, nil
}

// Compact replaces the conversation by a summary of it, which the model writes,
// and its last messages. Where that fails, it stays as it was.
func (s *Session) Compact(ctx context.Context) (before, after int, err error) {
	if !s.busy.TryLock() {
		return 0, 0, s.errBusy()
	}
	defer s.busy.Unlock()
	if s.turn == nil {
		s.turn = &turn{Session: s}
	}
	before = s.account.Used()
	d, err := s.summarize(ctx)
	if failure := s.keepSummary(d); err == nil {
		err = failure
	}
	return before, s.account.Used(), err
}

// summarize has the model write a summary of the conversation, which stays as
// it is. Beside an error too, it gives what agent.compact does.
func (s *Session) summarize(ctx context.Context) (*value.Dict, error) {
	used := int64(s.account.Used())
	d := value.NewDict("success", false, "summary", "", "tokens_before", used, "tokens_after", used)
	a, err := s.askSummary(ctx)
	if err == nil {
		putTokens(d, a.Usage)
		if a.Text == "" {
			err = value.Errorf(value.Failed, "the model wrote no summary")
		}
	}
	if err != nil {
		d.Put("error", value.ErrorOf(err, value.Failed).Message())
		return d, err
	}
	d.Put("success", true)
	d.Put("summary", a.Text)
	return d, nil
}

func (s *Session) askSummary(ctx context.Context) (*answer, error) {
	if len(s.messages) == 0 {
		return nil, value.Errorf(value.Invalid, "there is nothing to compact yet")
	}
	answers := s.answers()
	for i := range answers { // they may be what there is no room for, and are sent whole afterwards
		answers[i].Text = prompt.CutMiddle(answers[i].Text, prompt.LeastResult, prompt.ShortNote)
	}
	return s.put(ctx, append(answers, model.Message{Role: model.User, Text: s.prompt().CompactRequest()}))
}

// restart makes the conversation another one, which the model gets whole.
func (s *Session) restart(messages []model.Message) {
	s.messages, s.thread, s.told = messages, "", true
	s.account = s.agent.account()
	for i := range messages {
		s.account.AddMessage(&messages[i])
	}
}
