package model

import (
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A draft is a reply that is being assembled from a stream.
type draft struct {
	w     *wire
	tell  func(piece string) // nil where nobody watches
	size  int64
	text  strings.Builder
	calls []*callDraft
	stop  Stop // "" until the API says it
	usage Usage
}

// partSize is what a call or a block counts beside its text, in bytes, so that
// a stream of empty ones has an end too.
const partSize = 1024

// A callDraft is a call whose arguments come in pieces.
type callDraft struct {
	key      int64 // the API's number for it
	id, tool string
	args     strings.Builder
	extra    value.Value // what else the API wants back with it
}

// say adds a piece of the text.
func (d *draft) say(piece string) *failure {
	if piece == "" {
		return nil
	}
	piece = d.w.said(piece)
	if f := d.room(len(piece)); f != nil {
		return f
	}
	d.text.WriteString(piece)
	if d.tell != nil {
		d.tell(piece)
	}
	return nil
}

// room makes sure that the reply may grow by n bytes.
func (d *draft) room(n int) *failure {
	if d.size += int64(n); d.size > d.w.maxReply {
		return d.w.tooLong()
	}
	return nil
}

// call returns the call under a key, a new one where there is none.
func (d *draft) call(key int64) *callDraft {
	for _, c := range d.calls {
		if c.key == key {
			return c
		}
	}
	c := &callDraft{key: key}
	d.calls = append(d.calls, c)
	d.size += partSize // and the next to make room sees it
	return c
}

// reply returns the draft as it stands.
func (d *draft) reply() *Reply {
	r := &Reply{Text: d.text.String(), Stop: d.stop, Usage: d.usage}
	for _, c := range d.calls {
		r.Calls = append(r.Calls, newCall(c.id, c.tool, c.args.String()))
	}
	return r
}

// newCall makes a call of what an API gives as its arguments: an object, or one
// as JSON text, which some models encode a second time.
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

// finish completes a reply: each call has an ID of its own in the conversation,
// and a reply without any word or call is an error.
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
	switch { // some servers say "stop" of calls too, or speak of calls that are not there
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

// argsText returns the arguments of a call as JSON text, as they came where
// they were none.
func (c *Call) argsText() string {
	if c.Args == nil {
		return c.Raw
	}
	return value.FormatJSON(c.Args, "")
}

// argsObject returns the arguments as an object, for the APIs that take nothing
// else. Anthropic recommends this form for what is no object.
func (c *Call) argsObject() *value.Dict {
	if c.Args == nil {
		return value.NewDict("INVALID_JSON", c.Raw)
	}
	return c.Args
}

// answer is what Ask returns of an exchange that began at a time.
func answer(start time.Time, reply *Reply, f *failure) (*Reply, error) {
	if f != nil {
		return nil, f.err
	}
	reply.Usage.Wall = time.Since(start)
	return reply, nil
}
