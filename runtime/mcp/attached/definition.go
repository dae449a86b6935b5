package attached

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Set is the tools of a server, by name, as the server defines them. A review accepts all of a
// set: a definition of another tool can mislead a model as well as that of its own.
type Set struct {
	tools []*value.Dict
	alike map[string]bool // the names of tools that would get the name of another one
}

// definitionFields are the fields of a definition that a review covers. Others, such as icons, are
// neither shown nor used.
var definitionFields = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

const (
	// maxTools is how many tools a server may offer.
	maxTools = 500
	// maxSet is the limit of all definitions together, in bytes.
	maxSet = 1 << 20
	// maxSetDepth and maxSetParts bound what a definition may hold.
	maxSetDepth, maxSetParts = value.MaxDepth, 200_000
)

// ParseSet reads the text of a set. An error is of kind Invalid or Limit.
func ParseSet(text string) (Set, error) {
	if len(text) > maxSet {
		return Set{}, value.Errorf(value.Limit, "the definitions of the tools are larger than %d KB", maxSet>>10)
	}
	v, err := value.ParseJSONWithin([]byte(text), maxSetDepth, maxSetParts)
	if err != nil {
		return Set{}, value.Errorf(value.Invalid, "read the definitions of the tools: %w", err)
	}
	list, ok := v.(value.List)
	if !ok && v != nil {
		return Set{}, value.Errorf(value.Invalid, "read the definitions of the tools: expected a list but got %s", value.TypeOf(v))
	}
	s, err := newSet(list)
	if err != nil {
		return Set{}, value.Errorf(value.KindOf(err), "read the definitions of the tools: %w", err)
	}
	return s, nil
}

// newSet checks definitions, and sorts them.
func newSet(list value.List) (Set, error) {
	if len(list) > maxTools {
		return Set{}, value.Errorf(value.Limit, "more than %d tools", maxTools)
	}
	s := Set{tools: make([]*value.Dict, 0, len(list))}
	for _, v := range list {
		d, ok := v.(*value.Dict)
		if !ok || d.Text("name") == "" {
			return Set{}, value.Errorf(value.Invalid, "a tool without a name")
		}
		own := &value.Dict{}
		for _, name := range definitionFields {
			if field, ok := d.Get(name); ok && field != nil {
				own.Put(name, field)
			}
		}
		s.tools = append(s.tools, own)
	}
	slices.SortFunc(s.tools, func(a, b *value.Dict) int { return cmp.Compare(a.Text("name"), b.Text("name")) })
	for i := range s.tools[min(1, len(s.tools)):] {
		if name := s.tools[i].Text("name"); name == s.tools[i+1].Text("name") {
			return Set{}, value.Errorf(value.Invalid, "two tools with the name %q", value.Clean(name, maxShownName))
		}
	}
	if text := s.Text(); len(text) > maxSet {
		return Set{}, value.Errorf(value.Limit, "the definitions are larger than %d KB", maxSet>>10)
	}
	s.alike = alike(s.Names())
	return s, nil
}

// alike returns those of the names of tools that become one, as getUser and get.user do. A name that
// stays as it is keeps its meaning, so that no rule for it is about another tool.
func alike(names []string) map[string]bool {
	by := map[string][]string{}
	for _, name := range names {
		key := tool.Key(ToolName(name, maxName))
		by[key] = append(by[key], name)
	}
	alike := map[string]bool{}
	for _, names := range by {
		same := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return ToolName(name, maxName) != name })
		for _, name := range names {
			alike[name] = len(names) > 1 && (len(same) != 1 || same[0] != name)
		}
	}
	return alike
}

// maxName is a length of names at which none is cut.
const maxName = 1 << 20

// maxShownName is how much of a tool's name an error shows, in bytes.
const maxShownName = 80

// Len returns the number of tools.
func (s Set) Len() int { return len(s.tools) }

// Names returns the names that the server has given the tools, sorted.
func (s Set) Names() []string {
	return value.Map(s.tools, func(d *value.Dict) string { return d.Text("name") })
}

// Text returns the set as a person reviews it, for [ParseSet].
func (s Set) Text() string {
	return value.FormatJSON(value.List(value.Map(s.tools, func(d *value.Dict) value.Value { return d })), "  ") + "\n"
}

// Digest returns a hash of the set that does not depend on the order of fields.
func (s Set) Digest() string {
	var b []byte
	for _, d := range s.tools {
		b, _ = value.AppendJSON(b, sorted(d)) // a definition was read from JSON
		b = append(b, '\n')
	}
	return "sha256:" + tool.HashBytes(b)
}

// sorted returns a value whose objects have their fields in the order of their names.
func sorted(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.Dict:
		names := make([]string, 0, v.Len())
		for k := range v.All() {
			name, _ := k.(string) // JSON has no other keys
			names = append(names, name)
		}
		slices.Sort(names)
		out := value.MakeDict(len(names))
		for _, name := range names {
			field, _ := v.Get(name)
			out.Put(name, sorted(field))
		}
		return out
	case value.List:
		return value.List(value.Map(v, sorted))
	}
	return v
}

// A Change is one difference between two sets.
type Change struct {
	Tool     string
	What     string // "added", "removed" or "changed"
	Old, New string // the definitions; "" if there is none
}

// Compare lists what another set has different.
func (s Set) Compare(now Set) (changes []Change) {
	text := func(d *value.Dict) string { return value.FormatJSON(d, "  ") + "\n" }
	i, j := 0, 0
	for i < len(s.tools) || j < len(now.tools) {
		order := 0
		switch {
		case i == len(s.tools):
			order = 1
		case j == len(now.tools):
			order = -1
		default:
			order = strings.Compare(s.tools[i].Text("name"), now.tools[j].Text("name"))
		}
		switch {
		case order < 0:
			changes = append(changes, Change{Tool: s.tools[i].Text("name"), What: "removed", Old: text(s.tools[i])})
			i++
		case order > 0:
			changes = append(changes, Change{Tool: now.tools[j].Text("name"), What: "added", New: text(now.tools[j])})
			j++
		default:
			if !value.EqualJSON(s.tools[i], now.tools[j]) {
				changes = append(changes, Change{now.tools[j].Text("name"), "changed", text(s.tools[i]), text(now.tools[j])})
			}
			i, j = i+1, j+1
		}
	}
	return changes
}

// maxSummary is how many tools a summary names.
const maxSummary = 5

// summary lists changes on a line.
func summary(changes []Change) string {
	var list []string
	for _, c := range changes[:min(len(changes), maxSummary)] {
		list = append(list, fmt.Sprintf("%s was %s", value.Clean(c.Tool, maxShownName), c.What))
	}
	if more := len(changes) - maxSummary; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}
