// Package account counts the tokens of conversations, and bounds their length.
package account

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Budget bounds the length of a conversation. A zero field has its default. The Limit is the
// context window of the model, as far as that is known; the limits in characters then grow with
// it. Otherwise the defaults are the limits of a CassidyAI thread.
type Budget struct {
	Limit     int     `json:"limit"`      // tokens of a conversation; default as above, or 200,000
	Reserve   int     `json:"reserve"`    // tokens kept free for the answer; 10,000, or a quarter of a Limit below 40,000
	WarnAt    float64 `json:"warn_at"`    // the share of the Limit at which the user is warned; 0.80
	CompactAt float64 `json:"compact_at"` // the share at which the conversation is compacted; 0.85

	MessageWarn int `json:"message_warn"` // characters of a message above which the user is warned; 100,000
	MessageMax  int `json:"message_max"`  // characters above which a message is refused; 250,000
	ThreadMax   int `json:"thread_max"`   // characters of a conversation; 585,000
}

// The defaults of a [Budget]. Those in characters were measured with CassidyAI.
const (
	defaultReserve     = 10_000
	defaultWarnAt      = 0.80
	defaultCompactAt   = 0.85
	defaultMessageWarn = 100_000
	defaultMessageMax  = 250_000
	defaultThreadMax   = 585_000
)

// WithDefaults returns the budget with the defaults for its zero fields.
func (b Budget) WithDefaults() Budget {
	b.Limit = cmp.Or(b.Limit, tool.TokenLimit)
	b.Reserve = cmp.Or(b.Reserve, min(defaultReserve, b.Limit/4))
	b.WarnAt = cmp.Or(b.WarnAt, defaultWarnAt)
	b.CompactAt = cmp.Or(b.CompactAt, defaultCompactAt)
	b.MessageWarn = cmp.Or(b.MessageWarn, defaultMessageWarn)
	b.MessageMax = cmp.Or(b.MessageMax, defaultMessageMax)
	b.ThreadMax = cmp.Or(b.ThreadMax, defaultThreadMax)
	return b
}

// Sized returns the budget for a context window, in tokens. The limits in characters grow with it.
func (b Budget) Sized(context int) Budget {
	const chars = 4 // of a token, about
	b.Limit = context
	b.MessageWarn = cmp.Or(b.MessageWarn, max(defaultMessageWarn, chars*context/4))
	b.MessageMax = cmp.Or(b.MessageMax, max(defaultMessageMax, chars*context/2))
	b.ThreadMax = cmp.Or(b.ThreadMax, max(defaultThreadMax, chars*context))
	return b
}

// An Account counts the tokens of a conversation. It estimates each message, and uses the
// provider's count instead if there is one. After a compaction a new account counts the
// messages again. It is not safe for concurrent use.
type Account struct {
	budget   *Budget // with the defaults; of the agent
	overhead int     // tokens of the tools and their instructions
	beside   int     // the part of the overhead that is not in a message
	reported int     // tokens, as the provider counted them
	guessed  int     // estimated tokens of messages since
	chars    int     // of all messages
}

// Counts are the recorded state of an account. They are unsigned, so that a damaged record cannot
// make them negative.
type Counts struct {
	Reported uint32 `json:"reported"`
	Guessed  uint32 `json:"guessed"`
	Beside   uint32 `json:"beside"`
	Chars    uint32 `json:"chars"`
}

// Counts returns the state for the record.
func (a *Account) Counts() Counts {
	return Counts{Reported: uint32(a.reported), Guessed: uint32(a.guessed), Beside: uint32(a.beside), Chars: uint32(a.chars)}
}

// Restore sets the state to a recorded one.
func (a *Account) Restore(c Counts) {
	a.reported, a.guessed, a.beside, a.chars = int(c.Reported), int(c.Guessed), int(c.Beside), int(c.Chars)
}

// Bound replaces the budget, which must have its defaults.
func (a *Account) Bound(b *Budget) { a.budget = b }

// New returns the account of an empty conversation. The definitions of native tools
// are counted here; other tools are part of the first message.
func New(b *Budget, tools []tool.Tool, f decision.Format) Account {
	a := Account{budget: b}
	switch {
	case f == decision.Code:
		a.overhead = tool.EstimateTokens(stub.Text(tools))
	case len(tools) > 0:
		a.overhead = prompt.Overhead(tools, a.budget.Limit).Total
	}
	if f == decision.Native {
		a.beside = a.overhead
	}
	return a
}

// Budget returns the budget, with the defaults filled in.
func (a *Account) Budget() Budget { return *a.budget }

// Add counts a text that was added to the conversation.
func (a *Account) Add(text string) {
	a.guessed += tool.EstimateTokens(text)
	a.chars += utf8.RuneCountInString(text)
}

// AddMessage counts a message with its calls.
func (a *Account) AddMessage(m *model.Message) {
	const tokens = 1_600 // of an image, about
	a.guessed += tokens * len(m.Media)
	a.Add(m.Text)
	for _, c := range m.Calls {
		a.Add(c.Tool + prompt.CallArgs(c))
	}
}

// Reported replaces the estimates by the provider's count of the last input and reply. The
// reply must have been added before. Zeros are ignored, and so is a count below a quarter
// of the estimate: such servers omit cached tokens, or have cut the conversation.
func (a *Account) Reported(input, output int) {
	if n := input + output; n > 0 && 4*n >= a.Used() {
		a.reported, a.guessed, a.beside = n, 0, 0
	}
}

// Used returns the tokens of the conversation, reported or estimated.
func (a *Account) Used() int { return a.reported + a.guessed + a.beside }

// Overhead returns the tokens of the tools.
func (a *Account) Overhead() int { return a.overhead }

// EffectiveLimit returns the tokens that are left beside the tools and the answer.
func (a *Account) EffectiveLimit() int {
	return max(0, a.budget.Limit-a.overhead-a.budget.Reserve)
}

// share returns the used share of the limit, from 0; 1 is the limit.
func (a *Account) share() float64 {
	return max(float64(a.Used())/float64(a.budget.Limit), float64(a.chars)/float64(a.budget.ThreadMax))
}

// Nearly reports whether the user should be warned about the length.
func (a *Account) Nearly() bool { return a.share() >= a.budget.WarnAt }

// Full reports whether the conversation should be compacted.
func (a *Account) Full() bool { return a.share() >= a.budget.CompactAt }

// Check checks a message before it is sent. It fails with kind Limit if the message or the
// conversation with it would be too long. The warning is for the user, or "".
func (a *Account) Check(message string) (warning string, err error) {
	b := a.budget
	chars := utf8.RuneCountInString(message)
	if chars > b.MessageMax {
		return "", value.Limitf(value.LimitMessage, "the message is too long: %s characters, limit %s", prose.WithCommas(chars), prose.WithCommas(b.MessageMax)).
			WithHint("split the message, or give the paths of files instead of their content")
	}
	if a.chars+chars > b.ThreadMax {
		return "", value.Limitf(value.LimitConversation, "the conversation is too long: %s characters with this message, limit %s", prose.WithCommas(a.chars+chars), prose.WithCommas(b.ThreadMax)).
			WithHint("compact the conversation, or begin a new conversation")
	}
	if n := a.Used() + tool.EstimateTokens(message); n > b.Limit {
		return "", value.Limitf(value.LimitConversation, "the conversation is too long: about %s tokens with this message, limit %s", prose.WithCommas(n), prose.WithCommas(b.Limit)).
			WithHint("compact the conversation, or begin a new conversation")
	}
	if chars > b.MessageWarn {
		return fmt.Sprintf("the message is long (%s characters): the answer may be slow or incomplete", prose.WithCommas(chars)), nil
	}
	return "", nil
}
