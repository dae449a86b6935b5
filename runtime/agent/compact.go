package agent

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/program"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

type compaction = dialog.Compaction // the outcome of agent.compact

// doCompact is agent.compact.
func (t *turn) doCompact(ctx context.Context, _ tool.Effect) (value.Value, error) {
	c, err := t.compact(ctx)
	if err != nil {
		return nil, err
	}
	c.Usage = t.pending.Take()
	return value.FromGo(c)
}

// compact compacts the conversation. A summary that fails is not an error, unless the run
// ends by it.
func (t *turn) compact(ctx context.Context) (*compaction, error) {
	c, err := t.summarize(ctx)
	if err != nil && (ctx.Err() != nil || value.KindOf(err) == value.Canceled || program.Final(err)) {
		return nil, err
	}
	t.keepSummary(c)
	c.TokensAfter = t.state.Account.Used()
	host.Emit(ctx, tool.Compacted{
		Success: c.Success, Summary: c.Summary, Error: c.Error, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter,
		InputTokens: int(c.InputTokens), OutputTokens: int(c.OutputTokens), CachedTokens: int(c.CachedTokens),
	})
	return c, nil
}

// Compact replaces the conversation by a summary, which the model writes, and its last
// messages. It returns the tokens of the conversation before and after. If it fails, the
// conversation stays as it was. It fails with kind Invalid if the conversation is empty, and
// Busy during a turn.
func (s *Session) Compact(ctx context.Context) (before, after int, err error) {
	if !s.busy.TryLock() {
		return 0, 0, s.errBusy()
	}
	defer s.busy.Unlock()
	if s.turn == nil {
		s.turn = &turn{Session: s}
	}
	s.turn.meter, s.turn.pending = nil, meter.Pending{} // it is not a part of a turn
	before = s.state.Account.Used()
	c, err := s.summarize(ctx)
	s.keepSummary(c)
	return before, s.state.Account.Used(), err
}

// summarize has the model write a summary of the conversation, which stays as it is. The
// compaction is never nil: it also reports the error.
func (s *Session) summarize(ctx context.Context) (*compaction, error) {
	used := s.state.Account.Used()
	c := &compaction{TokensBefore: used, TokensAfter: used}
	a, err := s.askSummary(ctx)
	if err == nil {
		c.Tokens, c.Summary = dialog.Count(a.Usage), strings.ToValidUTF8(a.Text, "\ufffd")
		if c.Summary == "" {
			err = value.Errorf(value.Failed, "compact the conversation: the model wrote no summary")
		} else {
			c.Summary, err = s.turn.hooks().OnCompact(ctx, c.Summary)
		}
	}
	if c.Success = err == nil; err != nil {
		c.Error = value.ErrorOf(err, value.Failed).Message()
	}
	return c, err
}

func (s *Session) askSummary(ctx context.Context) (*answer, error) {
	if len(s.state.Messages) == 0 {
		return nil, value.Errorf(value.Invalid, "compact the conversation: the conversation has no messages")
	}
	answers := s.state.Answers()
	for i := range answers { // they may exceed the limit, and are sent in full afterwards
		answers[i].Media = nil
		answers[i].Text = prompt.CutMiddle(answers[i].Text, prompt.LeastResult, prompt.ShortNote)
	}
	s.turn.sums = true
	defer func() { s.turn.sums = false }()
	return s.send(ctx, append(answers, model.Message{Role: model.User, Text: s.prompt().CompactRequest()}))
}
