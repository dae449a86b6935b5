package anthropic

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A fix is what a conversation needs after the server has refused a request.
type fix struct {
	drop  bool // the server is asked to drop thinking that is bound to another conversation
	strip bool // no thinking is sent back, since the server does not know how to drop it
	plain bool // no schema is sent
}

// header is the header of a request with block_binding.
const dropBeta = "thinking-binding-controls-2026-08-01"

// suited returns the fix for a request to a model: it can be asked to drop thinking only while it
// thinks as much as it decides.
func (f *family) suited(x fix, effort string) fix {
	switch {
	case !x.drop:
	case f.thinks == thinksNever || f.thinks == thinksBudget: // it does not look
		x.drop = false
	case effort == "none" && f.off != "":
		x.drop, x.strip = false, true
	}
	return x
}

// after returns the fix with which a failed request is sent again, or false.
func (x fix) after(f *wire.Failure, schema bool) (fix, bool) {
	if f == nil || f.Status != 400 {
		return x, false
	}
	said := strings.ToLower(f.Err.Message())
	switch {
	case strings.Contains(said, "bound to a different conversation") || strings.Contains(said, "`signature` in `thinking`"):
		switch {
		case x.strip:
			return x, false
		case x.drop:
			return fix{strip: true, plain: x.plain}, true
		}
		return fix{drop: true, plain: x.plain}, true
	case x.drop && (strings.Contains(said, "block_binding") || strings.Contains(said, "anthropic-beta") || strings.Contains(said, "thinking")):
		return fix{strip: true, plain: x.plain}, true // a gateway that does not know it
	case schema && !x.plain && (strings.Contains(said, "output_config") || strings.Contains(said, "schema")):
		x.plain = true
		return x, true
	}
	return x, false
}

// A kept is what is stored with a reply, in [model.Message].Opaque: JSON of its blocks as they
// came, of the prefix that it answers, and of the fix that the conversation needed.
type kept struct {
	blocks value.List
	prefix string // "" in records of earlier versions, which are a list of blocks
	fix    fix
}

// readKept reads what was stored with a message. That of other vendors is ignored.
func readKept(opaque []byte) *kept {
	if len(opaque) == 0 {
		return nil
	}
	v, _ := value.ParseJSON(opaque)
	if blocks, ok := v.(value.List); ok {
		return &kept{blocks: blocks}
	}
	d, _ := v.(*value.Dict)
	list, _ := d.Get("blocks")
	blocks, ok := list.(value.List)
	if !ok || !d.Has("prefix") {
		return nil
	}
	return &kept{blocks: blocks, prefix: d.Text("prefix"), fix: fix{drop: d.Bool("drop"), strip: d.Bool("strip")}}
}

// opaque returns what must be stored, or nil if the text and the calls of the reply say it all.
func (k *kept) opaque() []byte {
	if !k.fix.drop && !k.fix.strip && !k.needed() {
		return nil
	}
	d := value.NewDict("blocks", k.blocks, "prefix", k.prefix)
	if k.fix.drop {
		d.Put("drop", true)
	}
	if k.fix.strip {
		d.Put("strip", true)
	}
	data, err := value.AppendJSON(nil, d)
	if err != nil { // too large: the conversation continues without it
		return nil
	}
	return data
}

// needed reports whether a block is neither a plain text nor a call by the model itself.
func (k *kept) needed() bool {
	for _, b := range k.blocks {
		d, _ := b.(*value.Dict)
		switch d.Text("type") {
		case "text":
			if len(wire.Children(d, "citations")) > 0 {
				return true
			}
		case "tool_use":
			if by := wire.Child(d, "caller").Text("type"); by != "" && by != "direct" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// says reports whether the blocks are those of a message: its text or calls may have been changed
// since.
func (k *kept) says(m *model.Message) bool {
	text, calls := "", 0
	for _, b := range k.blocks {
		d, _ := b.(*value.Dict)
		switch d.Text("type") {
		case "text":
			text += d.Text("text")
		case "tool_use":
			if calls >= len(m.Calls) || m.Calls[calls].ID != d.Text("id") || m.Calls[calls].Tool != d.Text("name") {
				return false
			}
			calls++
		}
	}
	return text == m.Text && calls == len(m.Calls)
}

// fixOf returns the fix that a conversation needed before.
func fixOf(messages []model.Message) (x fix) {
	for i := range messages {
		if messages[i].Role == model.Assistant {
			if k := readKept(messages[i].Opaque); k != nil {
				x.drop, x.strip = x.drop || k.fix.drop, x.strip || k.fix.strip
			}
		}
	}
	if x.strip {
		x.drop = false
	}
	return x
}

// empty reports whether there is nothing but thinking and blank texts.
func (k *kept) empty() bool {
	return k == nil || !slices.ContainsFunc(k.blocks, func(b value.Value) bool {
		d, _ := b.(*value.Dict)
		return d != nil && !isThinking(d) && (d.Text("type") != "text" || strings.TrimSpace(d.Text("text")) != "")
	})
}

// replied returns the blocks of a reply: as they came, if k is not nil, without blank texts, which
// the API rejects, and without thinking that is bound to something else.
func (c *composer) replied(m *model.Message, k *kept) value.List {
	if k == nil {
		return wordedReply(m)
	}
	elsewhere := c.family.boundToPrefix() && k.prefix != "" && k.prefix != c.prefix()
	var blocks value.List
	for _, b := range k.blocks {
		d, _ := b.(*value.Dict)
		switch {
		case d == nil || d.Text("type") == "text" && strings.TrimSpace(d.Text("text")) == "":
		case isThinking(d) && (elsewhere || c.fix.strip):
		default:
			blocks = append(blocks, d)
		}
	}
	return blocks
}

// wordedReply returns the blocks of a reply of which only the text and the calls are left.
func wordedReply(m *model.Message) value.List {
	blocks := textBlocks(m.Text)
	for i := range m.Calls {
		c := &m.Calls[i]
		blocks = append(blocks, value.NewDict("type", "tool_use", "id", c.ID, "name", c.Tool, "input", wire.ArgsObject(c)))
	}
	return blocks
}

func isThinking(block *value.Dict) bool {
	return block.Text("type") == "thinking" || block.Text("type") == "redacted_thinking"
}
