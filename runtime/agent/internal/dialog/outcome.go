package dialog

import (
	"cmp"
	"math"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Asked is the outcome of agent.ask.
type Asked struct {
	Text  string       `json:"text"`
	Calls []model.Call `json:"calls"`
	Stop  model.Stop   `json:"stop"`
	Tokens
	Usage        *value.Dict `json:"usage,omitempty"` // of all requests, as the meter counts it
	Iteration    uint32      `json:"iteration"`
	Full         bool        `json:"full"`
	Unread       bool        `json:"unread,omitempty"` // the provider refused the media of results
	Compacted    *Compaction `json:"compacted,omitempty"`
	Fit          uint32      `json:"fit,omitempty"` // the characters to which the results were cut, or 0
	Thread       string      `json:"thread"`
	References   []string    `json:"references"`
	Opaque       []byte      `json:"opaque,omitempty"`
	Conversation [][]byte    `json:"conversation,omitempty"` // what BeforeAsk made of it, see [Pack]
}

// Take takes the reply of a model into the outcome. changed is the conversation if BeforeAsk has
// changed it, else nil.
func (a *Asked) Take(r *model.Reply, changed []model.Message) (err error) {
	a.Text, a.Stop, a.Thread, a.Opaque = strings.ToValidUTF8(r.Text, "\ufffd"), r.Stop, r.Thread, r.Opaque
	a.Calls, a.References, a.Tokens = append(a.Calls, r.Calls...), append(a.References, Sources(r.References)...), Count(r.Usage)
	if changed != nil {
		a.Conversation, err = Pack(changed)
	}
	return err
}

// Empty reports whether the reply has neither a text nor calls.
func (a *Asked) Empty() bool { return a.Text == "" && len(a.Calls) == 0 }

// A Compaction is the outcome of agent.compact.
type Compaction struct {
	Success      bool   `json:"success"`
	Summary      string `json:"summary"`
	TokensBefore int    `json:"tokens_before"`
	TokensAfter  int    `json:"tokens_after"`
	Tokens
	Keep  uint32      `json:"keep,omitempty"` // the characters of the messages that were kept; 0 is the default
	Error string      `json:"error,omitempty"`
	Usage *value.Dict `json:"usage,omitempty"` // of agent.compact, as the meter counts it
}

// Tokens are the recorded usage of a reply.
type Tokens struct {
	InputTokens  uint32 `json:"input_tokens"`
	OutputTokens uint32 `json:"output_tokens"`
	CachedTokens uint32 `json:"cached_tokens"`
}

// Count returns the usage that a provider reported, which may be any number.
func Count(u model.Usage) Tokens {
	count := func(n int) uint32 { return uint32(min(max(n, 0), math.MaxInt32)) }
	return Tokens{count(u.InputTokens), count(u.OutputTokens), count(u.CachedTokens)}
}

// Unreadable returns the error of a part of a record that is damaged.
func Unreadable(what string, err error) error {
	why := value.ErrorOf(err, value.Failed)
	e := value.Errorf(value.Failed, "the record of %s is damaged: %s", what, why.Message())
	e.Limit, e.Hint = value.LimitRecord, cmp.Or(why.Hint, "begin a new run, or a new session")
	return e
}
