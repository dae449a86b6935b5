package wire

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Dialect is what an API accepts as the names of tools, the IDs of calls and the names of
// parameters. A conversation may have others: a model invents the name of a tool, a server has
// parameters such as $top, and an earlier provider had other IDs. One of them makes an API refuse the
// request, and then each later one, so requests are written in the dialect of their API, and replies
// are read back. The zero Dialect accepts everything.
type Dialect struct {
	Names, IDs, Keys Form
	Tools            int // how many a request may have; 0 if there is no limit
}

// A Form is the form of a name: letters and digits of ASCII, and the characters of Also. The zero Form
// is any text but the empty one.
type Form struct {
	Also   string
	Max    int  // the longest, in bytes
	Exact  bool // it is as long as Max
	Letter bool // it begins with a letter or _
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }

// has reports whether a name has the form.
func (f Form) has(name string) bool {
	if f == (Form{}) {
		return name != ""
	}
	return name != "" && len(name) <= f.Max && (!f.Exact || len(name) == f.Max) && (!f.Letter || name[0] == '_' || isLetter(rune(name[0]))) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !isLetter(r) && !isDigit(r) && !strings.ContainsRune(f.Also, r) })
}

// from returns a name of the form: the name itself, or one that is made of it, the same each time and
// another one for another name.
func (f Form) from(name string) string {
	if f.has(name) {
		return name
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	if f.Exact {
		return fmt.Sprintf("%0*s", f.Max, strconv.FormatUint(h.Sum64(), 36))[:f.Max]
	}
	clean := strings.Trim(strings.Map(func(r rune) rune {
		if isLetter(r) || isDigit(r) {
			return r
		}
		return '_'
	}, value.Cut(name, 40)), "_")
	if clean == "" || isDigit(rune(clean[0])) {
		clean = "x_" + clean
	}
	return fmt.Sprintf("%s_%08x", clean[:min(len(clean), 40)], uint32(h.Sum64()))
}

// A rendering is a request in the dialect of an API.
type rendering struct {
	d     *Dialect
	r     model.Request
	names map[string]string            // of the tools that are sent under other names
	keys  map[string]map[string]string // by the name that is sent: what is sent for the name of a parameter
}

// render writes a request in the dialect.
func (d *Dialect) render(r *model.Request) *rendering {
	n := &rendering{d: d, r: *r, names: map[string]string{}, keys: map[string]map[string]string{}}
	n.renderTools()
	n.renderMessages()
	return n
}

// renderTools writes the definitions of the tools. Only what differs is copied: a request is held while the
// model is asked.
func (n *rendering) renderTools() {
	given := n.r.Tools
	for i := range given {
		t, name := &given[i], n.d.Names.from(given[i].ModelName())
		schema, rest := n.adapt(t, name)
		if name == t.ModelName() && schema == nil {
			continue
		}
		if &n.r.Tools[0] == &given[0] {
			n.r.Tools = slices.Clone(given)
		}
		now := &n.r.Tools[i]
		if name != t.ModelName() {
			now.Name, n.names[name] = name, t.Name
			if t.Name == n.r.ToolChoice {
				n.r.ToolChoice = name
			}
		}
		if schema != nil {
			now.Schema = schema
		}
		if rest != "" {
			now.Description = strings.TrimSpace(t.Description + "\n\nThe arguments also match this JSON Schema: " + rest)
		}
	}
}

// adapt returns the schema of a tool as the API accepts it, or nil if it does so as it is. rest is what
// cannot be sent.
func (n *rendering) adapt(t *tool.Tool, name string) (schema []byte, rest string) {
	given, err := t.ArgsSchema()
	if err != nil {
		return nil, "" // the definition fails with this error
	}
	a := adapter{form: n.d.Keys, keys: map[string]string{}}
	adapted, rest := a.top(given)
	if !a.changed {
		return nil, ""
	}
	if len(a.keys) > 0 {
		n.keys[name] = a.keys
	}
	return []byte(value.FormatJSON(adapted, "")), rest
}

// renderMessages writes the earlier calls and their results.
func (n *rendering) renderMessages() {
	given := n.r.Messages
	used, sent := map[string]bool{}, map[string]model.Call{} // sent are the last calls by their own IDs
	own := func(i int) *model.Message {
		if &n.r.Messages[0] == &given[0] {
			n.r.Messages = slices.Clone(given)
		}
		return &n.r.Messages[i]
	}
	for i := range given {
		m := &given[i]
		for k, was := range m.Calls {
			c := n.call(was, used)
			if sent[was.ID] = c; c.ID != was.ID || c.Tool != was.Tool || c.Args != was.Args {
				now := own(i)
				if &now.Calls[0] == &m.Calls[0] {
					now.Calls = slices.Clone(m.Calls)
				}
				now.Calls[k] = c
			}
		}
		if c, ok := sent[m.CallID]; ok && m.Role == model.ToolRole && (c.ID != m.CallID || c.Tool != m.Tool) {
			now := own(i)
			now.CallID, now.Tool = c.ID, c.Tool
		}
	}
}

// call returns a call with a name, an ID and parameters that the API accepts. used are the IDs of the calls
// before it.
func (n *rendering) call(c model.Call, used map[string]bool) model.Call {
	id := n.d.IDs.from(c.ID)
	for again := 2; used[id]; again++ {
		id = n.d.IDs.from(c.ID + "#" + strconv.Itoa(again))
	}
	used[id] = true
	c.ID, c.Tool = id, n.d.Names.from(c.Tool)
	if keys := n.keys[c.Tool]; keys != nil && c.Args != nil {
		c.Args, _ = renamed(c.Args, keys).(*value.Dict)
	}
	return c
}

// read reads the calls of a reply back.
func (n *rendering) read(reply *model.Reply) {
	for i := range reply.Calls {
		c := &reply.Calls[i]
		if keys := n.keys[c.Tool]; keys != nil && c.Args != nil {
			back := make(map[string]string, len(keys))
			for name, sent := range keys {
				back[sent] = name
			}
			c.Args, _ = renamed(c.Args, back).(*value.Dict)
		}
		if name, ok := n.names[c.Tool]; ok {
			c.Tool = name
		}
	}
}

// renamed returns a value whose objects have other names for some of their fields.
func renamed(v value.Value, names map[string]string) value.Value {
	switch v := v.(type) {
	case *value.Dict:
		out := value.MakeDict(v.Len())
		for k, field := range v.All() { // read from JSON, whose keys are texts
			name, _ := k.(string)
			out.Put(cmp.Or(names[name], name), renamed(field, names))
		}
		return out
	case value.List:
		return value.List(value.Map(v, func(item value.Value) value.Value { return renamed(item, names) }))
	}
	return v
}
