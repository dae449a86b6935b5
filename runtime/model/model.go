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
)

// A Model is a language model behind an API. It is safe for concurrent use.
type Model interface {
	// Name is how a user asks for it: "openai:gpt-5".
	Name() string
	// Native reports whether it takes definitions of tools and answers with
	// calls of them. Otherwise both travel in the text.
	Native() bool
	// Ask has it answer. The error is a *[tool.Error], of kind Unavailable where
	// the model or the network is away, the key is wrong or the model unknown;
	// Timeout and Canceled where it took too long or was no longer wanted;
	// Limit where the conversation is too long, or too much was asked of the
	// account: its Limit is "context", "message" (one is too long), "reply" (the
	// answer is) or "rate"; and Invalid where the request cannot be right.
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
	Args *tool.Dict
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
