package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Draft is a reply that is assembled from a stream.
type Draft struct {
	W      *Wire
	OnText func(piece string) // nil if the text is not streamed to the caller
	size   int64
	text   strings.Builder
	Calls  []*CallDraft
	Stop   model.Stop // "" until the API sends it
	Usage  model.Usage
}

// partSize is added to the size of each call or block, in bytes, so that a stream of
// empty ones is bounded.
const PartSize = 1024

// MaxSources is how many sources of a reply are kept: each is compared with the others.
const MaxSources = 1000

// A CallDraft is a call whose arguments are streamed.
type CallDraft struct {
	index    int64 // the API's number of the call, which others may have too
	ID, Tool string
	args     strings.Builder
	whole    bool        // args came complete, in one piece
	Extra    value.Value // other data that the API wants back with the call
}

// Say adds a piece of text.
func (d *Draft) Say(piece string) *Failure {
	if piece == "" {
		return nil
	}
	piece = d.W.Said(piece)
	if f := d.Grow(len(piece)); f != nil {
		return f
	}
	d.text.WriteString(piece)
	if d.OnText != nil {
		d.OnText(piece)
	}
	return nil
}

// Grow counts n more bytes of the reply, up to its limit.
func (d *Draft) Grow(n int) *Failure {
	if d.size += int64(n); d.size > d.W.MaxReply {
		return d.W.tooLong()
	}
	return nil
}

// Begin adds a call. index is the API's number of the call.
func (d *Draft) Begin(index int64) *CallDraft {
	c := &CallDraft{index: index}
	d.Calls = append(d.Calls, c)
	d.size += PartSize // checked by the next grow
	return c
}

// CallOf returns the call to which a streamed piece belongs, and begins a new one if needed. The
// index of a piece, or -1, does not identify its call, because some servers number all calls 0 or
// none; the ID does:
//
//   - A piece with an ID that is new at its index, and with a name, begins a call.
//   - Without an ID, a piece with a name begins a call if the name is another one, or if the call
//     before came complete and arguments follow.
//   - Every other piece continues the call with its ID, or else the last one at its index: some
//     servers send a new ID with each piece.
func (d *Draft) CallOf(index int64, id, name, args string) *CallDraft {
	var last *CallDraft
	for _, c := range slices.Backward(d.Calls) {
		at := index < 0 || c.index == index
		if id != "" && c.ID == id && (at || name == "") {
			return c
		}
		if last == nil && at {
			last = c
		}
	}
	if last == nil || name != "" && (id != "" && last.ID != "" || last.Tool != "" && (last.Tool != name || args != "" && last.whole)) {
		return d.Begin(index)
	}
	return last
}

// Add adds a piece of the arguments.
func (c *CallDraft) Add(args string) {
	if args == "" {
		return
	}
	_, err := value.ParseJSON([]byte(args))
	c.whole = c.args.Len() == 0 && err == nil
	c.args.WriteString(args)
}

// Reply returns the draft as a reply.
func (d *Draft) Reply() *model.Reply {
	r := &model.Reply{Text: d.text.String(), Stop: d.Stop, Usage: d.Usage}
	for _, c := range d.Calls {
		r.Calls = append(r.Calls, NewCall(c.ID, c.Tool, c.args.String()))
	}
	return r
}

// NewCall makes a call from the arguments of an API: an object, or JSON text of one,
// which some models encode twice.
func NewCall(id, name string, args value.Value) model.Call {
	c := model.Call{ID: id, Tool: name}
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

// Finish completes a reply: each call gets a unique ID in the conversation, and a reply
// without text and calls is an error.
func (w *Wire) Finish(r *model.Request, reply *model.Reply) (*model.Reply, *Failure) {
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
	case reply.Stop == model.StopLength || reply.Stop == model.StopRefuse:
	case len(reply.Calls) > 0:
		reply.Stop = model.StopCalls
	default:
		reply.Stop = model.StopEnd
	}
	if reply.Stop == model.StopEnd && strings.TrimSpace(reply.Text) == "" {
		return nil, w.Empty()
	}
	return reply, nil
}

// ArgsText returns the arguments of a call as the JSON text of an object, see [ArgsObject].
func ArgsText(c *model.Call) string { return value.FormatJSON(ArgsObject(c), "") }

// ArgsObject returns the arguments as an object. Many servers refuse each later request if the
// arguments of an earlier call are invalid; Anthropic recommends this form for them.
func ArgsObject(c *model.Call) *value.Dict {
	if c.Args == nil {
		return value.NewDict("INVALID_JSON", c.Raw)
	}
	return c.Args
}
