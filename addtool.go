package cassidy

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// AddTool registers a Go function as a tool of h:
//
//	type statusIn struct {
//		Order int `json:"order" jsonschema:"the number of the order"`
//	}
//	type statusOut struct {
//		Status string `json:"status"`
//	}
//	err := cassidy.AddTool(host, cassidy.Tool{Name: "order_status", Description: "Return how far an order has come."},
//		func(ctx context.Context, in statusIn) (statusOut, error) { … })
//
// In and Out are structs, or pointers to structs, with json tags as in encoding/json.
// The parameters of the tool and the type of its result are derived from them: a field
// is a required parameter unless its tag has omitempty or omitzero or it is a pointer,
// and the tag jsonschema is its description. A Tool with Params, a Schema or Returns
// uses those instead; Params and Schema must fit In. An In without fields takes no
// arguments, and an Out without fields is no result. Out may be any type that [Encode]
// takes.
//
// The arguments of each call are checked against the parameters and decoded as
// [Decode] does it. What f returns is encoded as [Encode] does it, so that a nil slice
// is null.
//
// A tool that has no Needs, and is not Risky, does not ask before it runs. An error of
// f that is an *[Error] or wraps one keeps its kind, the end of a context is of kind
// Canceled or Timeout, and any other is of kind Failed. A panic, and a result that
// cannot be encoded, is an error of kind Internal.
//
// f is called concurrently. It must return when its context ends: the host waits for
// it without a limit.
//
// AddTool fails with kind Closed on a closed host, and with kind Invalid for a nil
// function, for an In that is not a struct, for a type that cannot be encoded or decoded,
// for an invalid definition, and for a name that another tool has. Undo, Preview and Available of
// the definition name functions of a script and must be empty: pass functions with
// [UndoFunc], [PreviewFunc] and [AvailableFunc]. It is safe to add and remove tools while others are
// called.
func AddTool[In, Out any](h *Host, t Tool, f func(ctx context.Context, in In) (Out, error), opts ...ToolOption) error {
	return host.AddTool(h, t, f, opts...)
}

// UndoFunc has Host.Undo undo a call of the tool with f. It gets the recorded
// arguments and result of the call, decoded as In and Out, which are the types of the
// tool's function, or *[Dict] and [Value]; with others, and with a nil f, [AddTool]
// fails with kind Invalid.
//
// An undo is approved like a call of the tool. f is called concurrently. It must
// return when its context ends.
func UndoFunc[In, Out any](f func(ctx context.Context, in In, out Out) error) ToolOption {
	return host.UndoFunc(f)
}

// PreviewFunc has f show a result of the tool to people: f returns one text of a few lines. The
// text is not recorded, and no model gets it. f must be fast, and have no effects. If f panics, the
// default preview is shown. With a nil f, [AddTool] fails with kind Invalid.
func PreviewFunc[In, Out any](f func(in In, out Out) string) ToolOption {
	return host.PreviewFunc(f)
}

// AvailableFunc has f report whether the tool can be used. Nil means that it can. An
// error is the reason why it cannot: the tool is listed as unavailable with it, and
// calls fail with its kind, or with kind Unavailable if it has none. The answer is
// cached until the next Host.Refresh. The context of f ends after 2 seconds.
//
// f is called concurrently. It must not list the tools of the host. With a nil f,
// [AddTool] fails with kind Invalid.
func AvailableFunc(f func(ctx context.Context) error) ToolOption {
	return host.AvailableFunc(f)
}

// Decode decodes a value, such as the result of a call, as a T. It follows
// encoding/json. An error is of kind Invalid and names the path, as in
// "orders[2].count: expected an integer but got string". See [value.ToGo] for the rules.
func Decode[T any](v Value) (T, error) { return value.ToGo[T](v) }

// Encode encodes a Go value, such as a struct with json tags, as a [Value]. It follows
// encoding/json, but integers are exact, bytes are bytes, and a [time.Duration] is text
// such as "1m30s". An error is of kind Invalid, or of kind Limit for a value that is
// nested too deeply, as every cycle is. See [value.FromGo] for the rules.
func Encode(v any) (Value, error) { return value.FromGo(v) }

// NewDict returns a dict of alternating keys and values, as in
// NewDict("path", "a.txt", "limit", 3). The values are encoded as [Encode] does it. It
// panics if the number of arguments is odd, if a key is not a string, and if a value
// cannot be encoded.
func NewDict(pairs ...any) *Dict { return value.NewDict(pairs...) }
