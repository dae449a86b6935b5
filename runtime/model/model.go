// Package model talks to language models.
//
// A [Model] answers a conversation. Each of the five kinds is one file:
// CassidyAI's threads, the OpenAI API and what is compatible with it, the
// Anthropic Messages API, Ollama, and a model that a script plays. They keep
// nothing of a conversation: what they must know the next time is in the
// [Request], so that a conversation can go on in another process.
//
// Nothing here reads the environment: addresses and keys come in options.
package model

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Model is a language model behind an API. It is called concurrently, for
// different conversations. A program may implement it: see the example.
type Model interface {
	// Name identifies the model in records and events, as in "openai:gpt-5". It is
	// not empty, always the same, and the same in every process: a run is resumed with the
	// model of the name that it began with.
	Name() string
	// Native reports whether the model takes definitions of tools and answers with
	// calls of them. Otherwise Request.Tools is empty, and calls travel in the
	// text. It is always the same.
	Native() bool
	// Ask returns the answer to a conversation: either a Reply or an error. It
	// neither changes nor keeps the request, and ends soon after ctx does.
	//
	// A Reply has a Text, Calls or both, and a Stop: StopCalls with Calls, else
	// StopEnd, StopLength where the answer was cut off. Each call has an ID that is unique
	// in the conversation and the name of a tool as it was offered. An answer
	// without text and calls is the error [ErrEmpty]: the model is then reminded.
	//
	// Other errors are a *[value.Error], of kind Unavailable where the model or the
	// network is away, the key is wrong or the model unknown; Timeout and Canceled
	// where it took too long or ctx ended; Limit where the conversation is too
	// long, or too much was asked of the account: its Limit is "context",
	// "message" (one is too long), "reply" (the answer is) or "rate"; and Invalid
	// where the request cannot be right. A recorded turn waits after Unavailable and after the
	// limit "rate", and the request is made again when it is resumed; with any other error
	// it fails. An error of another type counts as Failed.
	Ask(ctx context.Context, r *Request) (*Reply, error)
}

// A Request is a conversation to answer.
type Request struct {
	// System is an instruction that stands before the conversation, or "". A
	// model without such a thing gets it before the first message.
	System   string
	Messages []Message // the last is the user's, or the results of tools
	Tools    []tool.Tool
	// Thread is what the last [Reply] of this conversation said, or "" at its
	// start and where the earlier messages have changed.
	Thread string
	// MaxTokens bounds the answer; 0 means the model's own default.
	MaxTokens int
	// Text is called with each piece of the answer's text as it comes, and once
	// with all of it where the API does not stream; nil where nobody watches. It
	// is called by the goroutine that asks. Where Ask fails, pieces may have come.
	Text func(piece string)
}

// A Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the result of one call
)

// A Message is one of a conversation.
type Message struct {
	Role  Role
	Text  string
	Calls []Call // of an assistant's message: the native calls it made
	// Of a tool's message: the call it answers, and whether that failed.
	CallID string
	Tool   string
	Failed bool
	// Opaque is what the API wants back unchanged with an assistant's message,
	// such as signed reasoning; nil for nothing.
	Opaque []byte
}

// A Call is a native call of a tool.
type Call struct {
	ID   string // unique in its conversation; made up where the API gives none
	Tool string
	// Args are the arguments, or nil where Raw is no JSON object.
	Args *value.Dict
	Raw  string // as they came, where Args is nil
}

// A Reply is a model's answer.
type Reply struct {
	Text   string
	Calls  []Call
	Stop   Stop
	Thread string // for the next [Request]; "" where the API keeps none
	// References are the sources that the model names, as text lines.
	References []string
	Usage      Usage
	Opaque     []byte // see [Message]
}

// Message returns the reply as the conversation holds it.
func (r *Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Calls: r.Calls, Opaque: r.Opaque}
}

// A Stop says why a reply ended.
type Stop string

const (
	StopEnd    Stop = "end"    // the model had said all
	StopCalls  Stop = "calls"  // it waits for the results of its calls
	StopLength Stop = "length" // it reached its longest answer: the last call may be cut off
	StopRefuse Stop = "refuse" // the provider kept it from answering
)

// Usage is what a reply cost, as the provider reports it; zeros where it does
// not.
type Usage struct {
	InputTokens  int
	OutputTokens int
	CachedTokens int // of the input, read from the provider's cache
	Wall         time.Duration
}
