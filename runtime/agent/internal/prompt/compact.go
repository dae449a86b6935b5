package prompt

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/model"
)

const (
	// defaultPairs is how many replies, with what belongs to them, go on with a
	// conversation beside its summary.
	defaultPairs = 2
	// DefaultKept is how many characters they may have in all: a sixth of a
	// conversation, so that it is not compacted again at once.
	DefaultKept = 100_000
	// maxSummary is how many characters of a summary are used: several times
	// what is asked for.
	maxSummary = 20_000
	// LeastResult is what a kept result is cut to at most, in characters.
	LeastResult = 1_000
)

// A Keep says what goes on when a conversation is compacted.
type Keep struct {
	Pairs int // replies, with what belongs to them; 0 means 2
	Chars int // that they may have in all; 0 means 100,000
}

// Continue returns the conversation that takes the place of one that has grown
// too long: the whole prompt, with the summary of what was, then the last
// messages of the old conversation. The old conversation begins with the
// message that its prompt made; question is what that asked.
//
// A native call stays with its result, and a result with its call. Where what
// is kept is too long, its results are cut, and where that does not help, fewer
// messages are kept, but never less than the last reply and what follows it. In
// a chat the question is that of the user which the kept messages answer.
// Compact between a message and its answer, when all results are there.
func (p *Prompt) Continue(question, summary string, old []model.Message, k *Keep) []model.Message {
	if k == nil {
		k = &Keep{}
	}
	chars := cmp.Or(k.Chars, DefaultKept)
	var kept []model.Message
	for pairs := cmp.Or(k.Pairs, defaultPairs); pairs > 0; pairs-- {
		start := tailStart(old, pairs, p.Chats())
		kept = shortened(wholeCalls(old[start:]), chars)
		if p.Chats() && start > 1 {
			question = old[start-1].Text
		}
		if countChars(kept) <= chars {
			break
		}
	}
	next := *p
	soFar := say("continuation", "summary", guest(CutMiddle(summary, maxSummary, ShortNote)))
	next.Context = strings.Join(nonEmpty(p.Context, soFar), "\n\n")
	first := model.Message{Role: model.User, Text: next.Message(question)}
	return append([]model.Message{first}, kept...)
}

// ShortNote says that so much of a text is left out.
func ShortNote(left int) string { return leftOutNote(left, "") }

// tailStart returns where the last so many replies begin: at a reply, and in a
// chat at one that a question of the user stands before, or at 1. Behind the
// last message where there is no reply.
func tailStart(old []model.Message, replies int, chat bool) int {
	start := len(old)
	for i := len(old) - 1; i > 0; i-- {
		if old[i].Role != model.Assistant {
			continue
		}
		if start, replies = i, replies-1; replies > 0 {
			continue
		}
		before := old[i-1]
		if i == 1 || !chat || before.Role == model.User && !isTurn(before.Text) {
			break
		}
	}
	return min(start, len(old))
}

// wholeCalls returns a copy of the messages without calls that have no result
// and results that have no call, and without replies in which nothing is left:
// an API refuses a conversation that has such a thing.
func wholeCalls(messages []model.Message) []model.Message {
	answered, called := map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		if m.Role == model.ToolRole {
			answered[m.CallID] = true
		}
		for _, c := range m.Calls {
			called[c.ID] = true
		}
	}
	var whole []model.Message
	for _, m := range messages {
		if m.Role == model.ToolRole && !called[m.CallID] {
			continue
		}
		if n := len(m.Calls); n > 0 {
			m.Calls = slices.DeleteFunc(slices.Clone(m.Calls), func(c model.Call) bool { return !answered[c.ID] })
			if len(m.Calls) < n {
				m.Opaque = nil // it is of the message as it was
			}
			if len(m.Calls) == 0 && m.Text == "" {
				continue
			}
		}
		whole = append(whole, m)
	}
	return whole
}

// shortened returns a copy of the messages in which results are cut, the
// longest the most, until all have at most so many characters; or their results
// can be cut no further.
func shortened(messages []model.Message, chars int) []model.Message {
	limit := chars
	short := slices.Clone(messages)
	for countChars(short) > chars && limit > LeastResult {
		limit = max(limit/2, LeastResult)
		for i, m := range messages {
			if m.Role == model.ToolRole || m.Role == model.User && isTurn(m.Text) {
				short[i].Text = CutMiddle(m.Text, limit, ShortNote)
			}
		}
	}
	return short
}

func countChars(messages []model.Message) int {
	n := 0
	for i := range messages {
		n += messageChars(&messages[i])
	}
	return n
}

// messageChars counts the characters of a message's text and calls.
func messageChars(m *model.Message) int {
	n := utf8.RuneCountInString(m.Text)
	for _, c := range m.Calls {
		n += len(c.Tool) + utf8.RuneCountInString(CallArgs(c))
	}
	return n
}

// CallArgs returns the arguments of a call as text.
func CallArgs(c model.Call) string {
	if c.Args == nil {
		return c.Raw
	}
	return c.Args.String()
}
