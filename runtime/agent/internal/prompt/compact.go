package prompt

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/model"
)

const (
	// defaultPairs is the default of Keep.Pairs.
	defaultPairs = 2
	// DefaultKept is the default of Keep.Chars: a sixth of a conversation, so that it
	// is not compacted again soon.
	DefaultKept = 100_000
	// maxSummary is the limit of a summary, in characters: several times the requested
	// length.
	maxSummary = 20_000
	// LeastResult is the shortest length to which a kept result is cut, in characters.
	LeastResult = 1_000
)

// A Keep bounds the messages that are kept when a conversation is compacted.
type Keep struct {
	Pairs int // replies, with their results and answers; default 2
	Chars int // characters of all kept messages; default 100,000
}

// Continue returns the conversation that replaces one that is too long: the full prompt
// with the summary, then the last messages of the old conversation. The old conversation
// begins with the message of its prompt, which asked the question. In a chat the new
// question is the one that the kept messages answer.
//
// Native calls and their results are kept together. If the kept messages are too long,
// their results are cut. If that is not enough, fewer messages are kept, but always the
// last reply and the messages after it. All calls must have results. All attachments of the user are
// kept; the images and documents of results are not.
func (p *Prompt) Continue(question, summary string, old []model.Message, k *Keep) []model.Message {
	if k == nil {
		k = &Keep{}
	}
	chars := cmp.Or(k.Chars, DefaultKept)
	var kept []model.Message
	start := 0
	for pairs := cmp.Or(k.Pairs, defaultPairs); pairs > 0; pairs-- {
		start = tailStart(old, pairs, p.Chats())
		kept = shortened(WithoutMedia(wholeCalls(old[start:])), chars)
		if p.Chats() && start > 1 {
			question = old[start-1].Text
		}
		if countChars(kept) <= chars {
			break
		}
	}
	if countChars(kept) > chars {
		kept = cutReplies(kept, chars)
	}
	next := *p
	soFar := say("continuation", "summary", guest(CutMiddle(summary, maxSummary, ShortNote)))
	next.Context = strings.Join(nonEmpty(p.Context, soFar), "\n\n")
	first := model.Message{Role: model.User, Text: next.Message(question), Media: Attached(old[:start])}
	return append([]model.Message{first}, kept...)
}

// Short is the length of a result in a list of what was done, in characters.
const Short = 200

// Listed returns what was done in a conversation as a text, without a model: the last message of the user,
// and each reply with its calls and the beginnings of their results.
func Listed(messages []model.Message, short int) string {
	var lines []string
	last := ""
	for i := range messages {
		m := &messages[i]
		switch text := prose.Clip(prose.OneLine(m.Text), short); m.Role {
		case model.User:
			switch {
			case isTurn(m.Text): // the results of calls in texts
				lines = append(lines, "- "+text)
			case i > 0:
				last = m.Text
			}
		case model.Assistant:
			if text != "" {
				lines = append(lines, "- You wrote: "+text)
			}
			for _, c := range m.Calls {
				lines = append(lines, "- You called "+c.Tool+" with "+prose.Clip(prose.OneLine(CallArgs(c)), short))
			}
		case model.ToolRole:
			lines = append(lines, "- "+text) // it begins with RESULT or ERROR
		}
	}
	list := CutMiddle(strings.Join(lines, "\n"), maxSummary-LeastResult, ShortNote)
	if last != "" {
		list += "\n\nThe user wrote last: " + CutMiddle(last, LeastResult, ShortNote)
	}
	return list
}

// ShortNote returns the note for omitted characters, without a file that has them.
func ShortNote(left int) string { return leftOutNote(left, "") }

// tailStart returns the index of the first of the last replies. In a chat it is a reply to a
// question of the user, or 1. Without replies it is len(old).
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

// wholeCalls returns a copy of the messages without calls that have no result, results that
// have no call, and replies that become empty: APIs reject these.
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
				m.Opaque = nil // it is valid only for the unchanged message
			}
			if len(m.Calls) == 0 && m.Text == "" {
				continue
			}
		}
		whole = append(whole, m)
	}
	return whole
}

// shortened returns a copy of the messages. Their results are cut to a common length, which is
// halved until the messages have at most chars characters or the length is LeastResult.
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

// cutReplies returns a copy of the messages in which the replies are cut too, or nothing if calls
// are so many or so long that the messages still have far more than chars characters.
func cutReplies(messages []model.Message, chars int) []model.Message {
	short := slices.Clone(messages)
	for i := range short {
		m := &short[i]
		if text := CutMiddle(m.Text, max(chars/len(short)/2, LeastResult), ShortNote); text != m.Text {
			m.Text, m.Opaque = text, nil // it is valid only for the unchanged message
		}
	}
	if countChars(short) > max(chars, 10*LeastResult) {
		return nil
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
