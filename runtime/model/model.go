// Package model provides language models behind one interface.
//
// A [Model] replies to a conversation. Each kind is a package in this folder. They have no
// state for a conversation: all of it is in the [Request], so a conversation can continue in
// another process. They do not read the environment: addresses and keys are options.
package model

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Model is a language model behind an API. Its methods are called concurrently, for
// different conversations. Programs may implement it: see the example.
type Model interface {
	// Name identifies the model in records and events, as in "openai:gpt-5". It is not
	// empty, never changes, and is the same in every process: a run is resumed with the
	// model of the same name.
	Name() string
	// Native reports whether the model accepts definitions of tools and answers with
	// native calls. Otherwise Request.Tools is empty, and calls are part of the text.
	// It never changes.
	Native() bool
	// Ask returns the reply to a conversation, or an error. It neither
	// changes nor keeps the request, and returns soon after ctx ends.
	//
	// A Reply has a Text, Calls or both, and a Stop: StopCalls with Calls, else
	// StopEnd, or StopLength if the reply was truncated. Each call has an ID that is
	// unique in the conversation and the name of an offered tool. A reply without text and calls is
	// the error [ErrEmpty], after which the model is reminded; only its Thread counts.
	//
	// Other errors are a *[value.Error]. Unavailable: the model or the network is
	// unavailable, the key is wrong or the model unknown. Timeout and Canceled: a
	// timeout expired or ctx ended. Limit: the conversation is too long, or the
	// account's limit is reached; the limit is "context", "message" (one is too long),
	// "reply" (the reply is too long) or "rate". Invalid: the request is invalid.
	// After Unavailable and the limit "rate" a recorded turn waits, and the request is
	// repeated when it is resumed; other errors end it. Errors of another type count as
	// Failed.
	Ask(ctx context.Context, r *Request) (*Reply, error)
}

// A Request is a conversation, to which the model replies.
type Request struct {
	// System is an instruction before the conversation, or "". Models without system
	// prompts get it before the first message.
	System   string
	Messages []Message // the last is the user's, or results of tools
	Tools    []tool.Tool
	// Thread is the Thread of the last [Reply] in this conversation. It is "" at the
	// start, and if earlier messages have changed.
	Thread string
	// MaxTokens limits the reply; 0 means the model's default.
	MaxTokens int
	// ToolChoice says whether the model must call a tool: [ToolAuto], the default,
	// [ToolNone], [ToolRequired], or the name of the tool that it must call. It is ignored
	// without Tools.
	ToolChoice string
	// Effort is how much the model reasons: "none", "minimal", "low", "medium", "high",
	// "xhigh" or "max"; not every model supports every level. "" is the model's default.
	Effort string
	// Temperature is that of the sampling; nil is the model's default.
	Temperature *float64
	// Schema is a JSON Schema: the text of the reply is a JSON value that matches it. The
	// caller checks it, since some models only try. Nil means any text.
	Schema *value.Dict
	// Conversation identifies the conversation for the provider's cache, or is "".
	Conversation string
	// Text is called with each piece of the reply's text as it arrives, or once with
	// the full text if the API does not stream; it may be nil. It is called by the
	// goroutine that called Ask. It may have been called before Ask fails.
	Text func(piece string)
	// Notice is called with what happens besides; it may be nil. It is called by the
	// goroutine that called Ask.
	Notice func(Notice)
}

// The values of Request.ToolChoice that are not names of tools.
const (
	ToolAuto     = "auto"
	ToolNone     = "none"
	ToolRequired = "required"
)

// A Notice is an event while a model is asked. The zero Notice says that data arrived, such as
// a part of the model's reasoning.
type Notice struct {
	// Retry is the error because of which the request is sent again after Wait, or nil. The
	// reply begins again: text that was streamed before is not a part of it.
	Retry error
	Wait  time.Duration
}

// A Role is the author of a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the result of one call
	// SystemRole is an instruction in mid-conversation: unlike a new Request.System it leaves
	// what was before it in the provider's cache. Models without such instructions get it as
	// a part of the user's message.
	SystemRole Role = "system"
)

// A Message is a message of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Text  string `json:"text"`
	Calls []Call `json:"calls,omitempty"` // of an assistant's message: its native calls
	// Of a tool's message: the call that it answers, and whether that failed.
	CallID string `json:"call_id,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Media are images and documents of a user's or a tool's message. A model that cannot
	// read one fails with kind Invalid.
	Media []Media `json:"media,omitempty"`
	// Opaque is data that the API wants back unchanged with an assistant's message,
	// such as signed reasoning, or nil.
	Opaque []byte `json:"opaque,omitempty"`
}

// A Media is an image or a document.
type Media struct {
	Type string `json:"type"` // a MIME type, such as "image/png" or "application/pdf"
	Name string `json:"name,omitempty"`
	Data []byte `json:"data"`
	// URL is the address from which the provider gets the file, in place of Data: with https:// or
	// http://, or gs:// for Gemini. Ollama, CassidyAI and documents of chat completions need Data.
	URL string `json:"url,omitempty"`
}

// A Call is a native call of a tool.
type Call struct {
	ID   string `json:"id"` // unique in its conversation; generated if the API sends none
	Tool string `json:"tool"`
	// Args are the arguments, or nil if Raw is not a JSON object.
	Args *value.Dict `json:"args,omitempty"`
	Raw  string      `json:"raw"` // as received, if Args is nil
}

// A Reply is the reply of a model to a conversation.
type Reply struct {
	Text   string
	Calls  []Call
	Stop   Stop
	Thread string // for the next [Request]; "" if the API has none
	// References are the sources named by the model, as lines of text.
	References []string
	// Reasoning is what the model wrote before its answer, as far as the provider shows it.
	Reasoning string
	Usage     Usage
	Opaque    []byte // see [Message]
}

// Message returns the reply as a message of the conversation.
func (r *Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Calls: r.Calls, Opaque: r.Opaque}
}

// A Stop is the reason why a reply ended.
type Stop string

const (
	StopEnd    Stop = "end"    // the reply is complete
	StopCalls  Stop = "calls"  // it waits for the results of its calls
	StopLength Stop = "length" // it reached its limit, so it may lack calls, or a part of one
	StopRefuse Stop = "refuse" // the provider blocked the reply
)

// Usage is the usage of a reply. A field that the provider did not report is zero.
type Usage struct {
	InputTokens  int
	OutputTokens int
	CachedTokens int // of the input; read from the provider's cache
	// CacheWriteTokens are a part of the input, too. They were written to the provider's
	// cache, which some providers charge for.
	CacheWriteTokens int
	Wall             time.Duration
}

// ErrEmpty is the error of a reply without text and calls. The conversation can
// continue after it.
var ErrEmpty = errors.New("the reply is empty")

// HTTP configures the requests to an API. The zero value has the defaults.
type HTTP struct {
	Client   *http.Client  // default: one without a proxy; redirects are never followed
	Timeout  time.Duration // idle timeout; default 10 minutes
	MaxReply int64         // bytes of a reply; default 8 MB
	// Sleep waits between attempts; default: a timer. It returns the context's error
	// if that ends first.
	Sleep func(ctx context.Context, d time.Duration) error
	// Header are further headers of each request. They do not replace those of the provider's
	// API, such as that of the key. They must not change after New.
	Header http.Header
	// Secrets are texts besides the key that errors must not contain, such as values in Header.
	Secrets []string
}

// An Auth is a way to send a key: in a header with this name, or as a bearer token. The options
// of each provider say which it accepts.
type Auth string

const (
	AuthKey    Auth = "x-api-key"      // of Anthropic and CassidyAI
	AuthAzure  Auth = "api-key"        // of OpenAI models on Azure
	AuthGoogle Auth = "x-goog-api-key" // of Gemini
	AuthBearer Auth = "bearer"         // Authorization: Bearer KEY
	// AuthAuto starts with AuthKey. If a request fails with 401, it tries AuthBearer once, and
	// keeps it if that works. It is for Anthropic, and for CassidyAI, where it is tried only when
	// a thread is created.
	AuthAuto Auth = "auto"
)
