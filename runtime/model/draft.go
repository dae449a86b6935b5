package model

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A draft is a reply that is assembled from a stream.
type draft struct {
	w      *wire
	onText func(piece string) // nil if the text is not streamed to the caller
	size   int64
	text   strings.Builder
	calls  []*callDraft
	stop   Stop // "" until the API sends it
	usage  Usage
}

// partSize is added to the size of each call or block, in bytes, so that a stream of
// empty ones is bounded.
const partSize = 1024

// A callDraft is a call whose arguments are streamed.
type callDraft struct {
	key      int64 // the API's number of the call
	id, tool string
	args     strings.Builder
	extra    value.Value // other data that the API wants back with the call
}

// say adds a piece of text.
func (d *draft) say(piece string) *failure {
	if piece == "" {
		return nil
	}
	piece = d.w.said(piece)
	if f := d.grow(len(piece)); f != nil {
		return f
	}
	d.text.WriteString(piece)
	if d.onText != nil {
		d.onText(piece)
	}
	return nil
}

// grow counts n more bytes of the reply, up to its limit.
func (d *draft) grow(n int) *failure {
	if d.size += int64(n); d.size > d.w.MaxReply {
		return d.w.tooLong()
	}
	return nil
}

// call returns the call with a key. It adds a new one if needed.
func (d *draft) call(key int64) *callDraft {
	for _, c := range d.calls {
		if c.key == key {
			return c
		}
	}
	c := &callDraft{key: key}
	d.calls = append(d.calls, c)
	d.size += partSize // checked by the next grow
	return c
}

// reply returns the draft as a reply.
func (d *draft) reply() *Reply {
	r := &Reply{Text: d.text.String(), Stop: d.stop, Usage: d.usage}
	for _, c := range d.calls {
		r.Calls = append(r.Calls, newCall(c.id, c.tool, c.args.String()))
	}
	return r
}

// newCall makes a call from the arguments of an API: an object, or JSON text of one,
// which some models encode twice.
func newCall(id, name string, args value.Value) Call {
	c := Call{ID: id, Tool: name}
	v := args
	for range 2 {
		text, ok := v.(string)
		if !ok {
			break
		}
		if strings.TrimSpace(text) == "" {
			v = nil
			break
		}
		read, err := value.ParseJSON([]byte(text))
		if err != nil {
			break
		}
		v = read
	}
	switch v := v.(type) {
	case *value.Dict:
		c.Args = v
	case nil: // a call without arguments
		c.Args = &value.Dict{}
	default:
		c.Raw, _ = args.(string)
		if c.Raw == "" {
			c.Raw = value.FormatJSON(args, "")
		}
	}
	return c
}

// finish completes a reply: each call gets a unique ID in the conversation, and a reply
// without text and calls is an error.
func (w *wire) finish(r *Request, reply *Reply) (*Reply, *failure) {
	used := map[string]bool{}
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			used[c.ID] = true
		}
	}
	for i := range reply.Calls {
		c := &reply.Calls[i]
		for n := len(used) + 1; c.ID == "" || used[c.ID]; n++ {
			c.ID = "call_" + strconv.Itoa(n)
		}
		used[c.ID] = true
	}
	switch { // some servers report "stop" with calls, or "tool_calls" without any
	case reply.Stop == StopLength || reply.Stop == StopRefuse:
	case len(reply.Calls) > 0:
		reply.Stop = StopCalls
	default:
		reply.Stop = StopEnd
	}
	if reply.Stop == StopEnd && strings.TrimSpace(reply.Text) == "" {
		return nil, w.empty()
	}
	return reply, nil
}

// argsText returns the arguments of a call as JSON text, or as they came if they are
// invalid.
func (c *Call) argsText() string {
	if c.Args == nil {
		return c.Raw
	}
	return value.FormatJSON(c.Args, "")
}

// argsObject returns the arguments as an object, for APIs that require one. Anthropic
// recommends this form for invalid arguments.
func (c *Call) argsObject() *value.Dict {
	if c.Args == nil {
		return value.NewDict("INVALID_JSON", c.Raw)
	}
	return c.Args
}
