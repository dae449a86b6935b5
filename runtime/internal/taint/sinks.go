package taint

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Notes is the capability to write notes that models read in later conversations. An approval is for
// one note, as its text can carry what an untrusted text has told the model.
var Notes = tool.Capability{Name: "memory.add"}

// IsSink reports whether an effect of a tool sends, or runs something. takes are its
// capabilities.
func IsSink(t *tool.Tool, f *tool.Func, args *value.Dict, takes []tool.Capability) bool {
	return slices.ContainsFunc(takes, func(c tool.Capability) bool {
		switch {
		case c.Name == "use":
			return f.Asks() || t.Hints.OpenWorld
		case c.Name == "shell" && f.ReadsOnly != nil:
			return !f.ReadsOnly(args)
		}
		return c.Sends()
	})
}

// MaySink reports whether a call of a tool could be a sink: the tool is written in Go, and reaches
// beyond the project or acts by itself, or it is a script whose needs include a sink.
func MaySink(t *tool.Tool, inGo bool) bool {
	if inGo && t.OnlyCalls {
		return false // what it calls is judged
	}
	return inGo && (t.Hints.OpenWorld || t.Risky) || slices.ContainsFunc(t.Needs, tool.Capability.Sends)
}

// ReturnsUntrusted reports whether the results and the errors of a tool are untrusted text,
// whatever its effects are.
func ReturnsUntrusted(t *tool.Tool, inGo bool) bool {
	switch {
	case t.Hints.UntrustedOutput:
		return true
	case !inGo || t.OnlyCalls:
		return false
	}
	return t.Hints.OpenWorld || slices.ContainsFunc(t.Needs, tool.Capability.Receives)
}

// A Choice is a call that a model chose: its tool and its arguments.
type Choice struct {
	Tool *tool.Tool
	Args *value.Dict
}

// Known reports whether an effect is a request that tells the server nothing new: the same
// request was made before, or the user has typed its address and the model has chosen no other
// text.
func (m *Marks) Known(args *value.Dict, takes []tool.Capability, c Choice) bool {
	sum := Sum(args, takes)
	if m == nil || sum == "" {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.sources, func(s Source) bool { return s.Sum == sum }) {
		return true
	}
	url, auth := args.Text("url"), value.Value(nil)
	if e, given := args.Lookup("auth"); given {
		auth = e.Value
	}
	return slices.Contains(m.typed, url) && args.Dict("params").Len() == 0 && auth == nil && c.hasOnly(url)
}

// hasOnly reports whether an address is the only text in the arguments of a call, besides the
// defaults of its parameters.
func (c Choice) hasOnly(url string) bool {
	for k, v := range c.Args.All() {
		switch v := v.(type) {
		case nil, bool, int64:
			continue
		case string:
			name, _ := k.(string)
			if p, ok := c.Tool.Param(name); strings.TrimSpace(v) == url || ok && p.HasDefault && p.Default == value.Value(v) {
				continue
			}
		}
		return false
	}
	return true
}

// Sum returns the Sum of a source for a request, or "" for an effect that is not a request, or
// does not only read.
func Sum(args *value.Dict, takes []tool.Capability) string {
	other := func(c tool.Capability) bool {
		return c.Name != "http.get" && c.Name != "http.head" && c.Name != "secret" // whose name is in the arguments
	}
	if len(takes) == 0 || takes[0].Name == "secret" || slices.ContainsFunc(takes, other) {
		return ""
	}
	form, err := value.Append(nil, args)
	if err != nil {
		return ""
	}
	return tool.HashBytes(append(form, takes[0].Name...))[:16]
}
