package agent

import (
	"cmp"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Budget says how long a conversation may become. A zero field means its
// default; the defaults are those of a CassidyAI thread.
type Budget struct {
	Limit     int     // tokens of a conversation; 200,000
	Reserve   int     // tokens kept free for the answer; 10,000, or a quarter of a Limit below 40,000
	WarnAt    float64 // the share of the Limit at which a user is warned; 0.80
	CompactAt float64 // the share at which the conversation is compacted; 0.85

	MessageWarn int // characters of a message above which a user is warned; 100,000
	MessageMax  int // characters above which a message is refused; 250,000
	ThreadMax   int // characters of a conversation; 585,000
}

// The defaults of a [Budget]. Those in characters are what CassidyAI was found
// to take.
const (
	defaultReserve     = 10_000
	defaultWarnAt      = 0.80
	defaultCompactAt   = 0.85
	defaultMessageWarn = 100_000
	defaultMessageMax  = 250_000
	defaultThreadMax   = 585_000
)

// withDefaults returns the budget with the defaults for what is zero.
func (b Budget) withDefaults() Budget {
	b.Limit = cmp.Or(b.Limit, tool.TokenLimit)
	b.Reserve = cmp.Or(b.Reserve, min(defaultReserve, b.Limit/4))
	b.WarnAt = cmp.Or(b.WarnAt, defaultWarnAt)
	b.CompactAt = cmp.Or(b.CompactAt, defaultCompactAt)
	b.MessageWarn = cmp.Or(b.MessageWarn, defaultMessageWarn)
	b.MessageMax = cmp.Or(b.MessageMax, defaultMessageMax)
	b.ThreadMax = cmp.Or(b.ThreadMax, defaultThreadMax)
	return b
}

// An account keeps count of what a conversation has used. It counts each
// message once, by an estimate, and takes the provider's own count where there
// is one. Nothing of it is kept: after a compaction and in another process, a
// new account is told the messages again. It is not safe for concurrent use.
type account struct {
	budget   *Budget // with the defaults; of the agent
	overhead int     // tokens of the tools and the words around them
	beside   int     // the part of the overhead that is in no message
	reported int     // tokens, as the provider counted them
	guessed  int     // tokens of what was added since
	chars    int     // of all that was added
}

// newAccount returns the account of a conversation in which the tools are
// offered. The definitions of native tools count at once; otherwise they are in
// the text of the first message.
func newAccount(b *Budget, tools []tool.Tool, f decision.Format) account {
	a := account{budget: b}
	switch {
	case f == decision.Code:
		a.overhead = tool.EstimateTokens(stub.Text(tools))
	case len(tools) > 0:
		a.overhead = Overhead(tools, a.budget.Limit).Total
	}
	if f == decision.Native {
		a.beside = a.overhead
	}
	return a
}

// Budget returns the budget, with the defaults filled in.
func (a *account) Budget() Budget { return *a.budget }

// Add counts a text that is now part of the conversation.
func (a *account) Add(text string) {
	a.guessed += tool.EstimateTokens(text)
	a.chars += utf8.RuneCountInString(text)
}

// AddMessage counts a message with its calls.
func (a *account) AddMessage(m *model.Message) {
	a.Add(m.Text)
	for _, c := range m.Calls {
		a.Add(c.Tool + prompt.CallArgs(c))
	}
}

// Reported takes the provider's count in place of the estimates, for all that
// was added so far: the input of the last reply, and the reply itself, which
// must have been added before. Zeros change nothing. Nor does a count below a
// quarter of the estimate, which no text explains: it comes from a server that
// leaves out what it had in its cache, or that has cut the conversation.
func (a *account) Reported(input, output int) {
	if n := input + output; n > 0 && 4*n >= a.Used() {
		a.reported, a.guessed, a.beside = n, 0, 0
	}
}

// Used returns how many tokens the conversation has, as far as is known.
func (a *account) Used() int { return a.reported + a.guessed + a.beside }

// Overhead returns what the tools cost, in tokens; 0 where there are none.
func (a *account) Overhead() int { return a.overhead }

// EffectiveLimit returns how many tokens are left for all but the tools and the
// answer.
func (a *account) EffectiveLimit() int {
	return max(0, a.budget.Limit-a.overhead-a.budget.Reserve)
}

// share returns how full the conversation is: 1 is at its limit.
func (a *account) share() float64 {
	return max(float64(a.Used())/float64(a.budget.Limit), float64(a.chars)/float64(a.budget.ThreadMax))
}

// Nearly reports whether the conversation is so long that its user should know.
func (a *account) Nearly() bool { return a.share() >= a.budget.WarnAt }

// Full reports whether the conversation is to be compacted before more is said.
func (a *account) Full() bool { return a.share() >= a.budget.CompactAt }

// String says how full the conversation is, for people.
func (a *account) String() string {
	return fmt.Sprintf("%s of %s tokens (%.0f %%)", withCommas(a.Used()), withCommas(a.budget.Limit), 100*a.share())
}

// Check looks at a message before it is sent. The error, of kind Limit, says
// that it cannot be: it is too long by itself, or for the room that is left.
// The warning is for the user, or "".
func (a *account) Check(message string) (warning string, err error) {
	b := a.budget
	chars := utf8.RuneCountInString(message)
	if chars > b.MessageMax {
		return "", overLimit(value.LimitMessage, "the message has %s characters, and a message may have at most %s", withCommas(chars), withCommas(b.MessageMax)).
			WithHint("send less: name files instead of pasting them, or split the message")
	}
	if a.chars+chars > b.ThreadMax {
		return "", overLimit(value.LimitConversation, "with this message the conversation would have %s characters, and it may have at most %s", withCommas(a.chars+chars), withCommas(b.ThreadMax)).
			WithHint("compact the conversation or begin a new one")
	}
	if n := a.Used() + tool.EstimateTokens(message); n > b.Limit {
		return "", overLimit(value.LimitConversation, "with this message the conversation would have about %s tokens, and it may have at most %s", withCommas(n), withCommas(b.Limit)).
			WithHint("compact the conversation or begin a new one")
	}
	if chars > b.MessageWarn {
		return fmt.Sprintf("the message has %s characters, which is a lot: the answer may take long or leave things out", withCommas(chars)), nil
	}
	return "", nil
}

func overLimit(limit value.LimitName, format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = limit
	return e
}

// withCommas writes a number as in 200,000.
func withCommas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
