package agent

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
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

// roomWays is how many ways there are to make room.
const roomWays = 4

// makeRoom makes room for a request that is too long. Each way is tried if the one before was not enough:
// a summary of the conversation; a quarter of its last messages; a quarter of the results of the last calls;
// and a sixteenth of both, as a server may have less room than is known. None of them loses the task, what
// the user has said last, or a call without a result. What was done is recorded with the request. An error
// ends the run.
func (t *turn) makeRoom(ctx context.Context, way int, c *compaction) (*compaction, error) {
	if way == 0 {
		c, err := t.compact(ctx)
		if program.Final(err) {
			return nil, err
		}
		return c, nil
	}
	part := 4
	if way == 3 {
		part = 16
	}
	if way != 2 && c != nil && c.Success { // otherwise a hook has refused the summary, or the provider failed
		used := t.state.Account.Used()
		c = &compaction{Success: true, Summary: c.Summary, TokensBefore: used, Tokens: c.Tokens, Keep: uint32(max(1, t.keptChars()/part))}
		t.keepCompaction(ctx, c)
	}
	if way > 1 {
		t.fit = max(1, t.keptChars()/part)
		host.Emit(ctx, tool.Log{Message: "the results of the last calls are too long for the model: their middles are left out"})
	}
	return c, nil
}

// compact compacts the conversation. A summary that fails is not an error, unless the run
// ends by it.
func (t *turn) compact(ctx context.Context) (*compaction, error) {
	c, err := t.summarize(ctx)
	if err != nil && (ctx.Err() != nil || value.KindOf(err) == value.Canceled || program.Final(err)) {
		return nil, err
	}
	t.keepCompaction(ctx, c)
	return c, nil
}

// keepCompaction replaces the conversation, if that has succeeded, and tells the user.
func (t *turn) keepCompaction(ctx context.Context, c *compaction) {
	t.keepSummary(c)
	c.TokensAfter = t.state.Account.Used()
	host.Emit(ctx, tool.Compacted{
		Success: c.Success, Summary: c.Summary, Error: c.Error, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter,
		InputTokens: int(c.InputTokens), OutputTokens: int(c.OutputTokens), CachedTokens: int(c.CachedTokens),
	})
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

// summarize has the model write a summary of the conversation, which stays as it is. If the model writes
// none, or has no room for the request, a list of what was done takes its place. The compaction is never
// nil: it also reports the error.
func (s *Session) summarize(ctx context.Context) (*compaction, error) {
	used := s.state.Account.Used()
	c := &compaction{TokensBefore: used, TokensAfter: used}
	a, err := s.askSummary(ctx)
	switch {
	case err == nil && strings.TrimSpace(a.Text) != "":
		c.Summary = strings.ToValidUTF8(a.Text, "\ufffd")
	case err == nil || dialog.NoRoom(err):
		c.Summary, c.Error, err = prompt.Listed(s.state.Messages, prompt.Short), "the model wrote no summary: the conversation has a list of what was done", nil
	}
	if a != nil {
		c.Tokens = dialog.Count(a.Usage)
	}
	if err == nil {
		c.Summary, err = s.turn.hooks().OnCompact(ctx, c.Summary)
	}
	if c.Success = err == nil; err != nil {
		c.Error = value.ErrorOf(err, value.Failed).Message()
	}
	return c, err
}

// askSummary asks for a summary, with the tools but without calls, so that the provider has the conversation
// in its cache. If the reply has no text, or the request is refused, it asks once more without tools.
func (s *Session) askSummary(ctx context.Context) (*answer, error) {
	if len(s.state.Messages) == 0 {
		return nil, value.Errorf(value.Invalid, "compact the conversation: the conversation has no messages")
	}
	answers := s.state.Answers()
	for i := range answers { // they may exceed the limit, and are sent in full afterwards
		answers[i].Media = nil
		answers[i].Text = prompt.CutMiddle(answers[i].Text, prompt.LeastResult, prompt.ShortNote)
	}
	more := append(answers, model.Message{Role: model.User, Text: s.prompt().CompactRequest()})
	s.turn.sums = true
	defer func() { s.turn.sums, s.turn.bare = false, false }()
	a, err := s.send(ctx, more)
	if len(s.agent.tools) == 0 || s.agent.format != decision.Native || ctx.Err() != nil ||
		err == nil && strings.TrimSpace(a.Text) != "" || err != nil && value.KindOf(err) != value.Invalid {
		return a, err
	}
	s.turn.bare = true
	return s.send(ctx, more)
}
