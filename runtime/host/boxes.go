package host

import (
	"context"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// boxes are the sandboxes in which the scripts of a host run.
type boxes struct {
	Others  sandbox.Sandbox // nil: scripts cannot be run
	Builtin sandbox.Sandbox // of built-in scripts; nil: they run in Others
}

// Of returns the sandbox of a script from a location, or nil. A built-in script that declares
// limits of memory or processor time, since it reads untrusted data, runs in the sandbox
// that enforces them.
func (b boxes) Of(from tool.Location, l tool.Limits) sandbox.Sandbox {
	if from == tool.Builtin && b.Builtin != nil && l.Memory == 0 && l.CPU == 0 {
		return b.Builtin
	}
	return b.Others
}

// Runner returns a runner of the script that load returns. It calls load until that succeeds.
func (b boxes) Runner(from tool.Location, limits tool.Limits, load func() (tool.Script, error)) tool.Runner {
	box := b.Of(from, limits)
	var loaded atomic.Pointer[tool.Script]
	return func(ctx context.Context, c tool.Call, do tool.Effector) (tool.Outcome, error) {
		s := loaded.Load()
		if s == nil {
			fresh, err := load()
			if err != nil {
				return tool.Outcome{}, err
			}
			s = &fresh
			loaded.Store(s)
		}
		return box.Run(ctx, *s, c, do)
	}
}

// The names in the note of a tool.
const (
	noteTool    = "tool"
	noteHash    = "hash"
	noteFrom    = "location"
	noteGranted = "granted"
	noteScript  = "script"
)

// note returns the note of a tool with its script, for the record of a run that calls it.
func note(t *gate.Callee, s tool.Script) *value.Dict {
	granted := value.List(value.Map(t.Granted, func(c tool.Capability) value.Value { return c.String() }))
	return value.NewDict(noteTool, t.Name, noteHash, t.Hash, noteFrom, string(t.Location), noteGranted, granted, noteScript, s.Value())
}

// reviewed returns the script in a note if it is one of a project, which its user has reviewed.
func reviewed(note *value.Dict) (s tool.Script, ok bool) {
	if tool.Location(note.Text(noteFrom)) != tool.Project {
		return s, false
	}
	kept, _ := note.Get(noteScript)
	return tool.ReadScript(kept)
}

// Revive returns a tool from its note.
func (b boxes) Revive(ctx context.Context, note *value.Dict) (*gate.Callee, tool.Runner, error) {
	damaged := gate.Unrecorded(value.Errorf(value.Failed, "the record of the tool '%s' is damaged", value.Clean(note.Text(noteTool), 80)))
	kept, _ := note.Get(noteScript)
	s, ok := tool.ReadScript(kept)
	if !ok {
		return nil, nil, damaged
	}
	from := tool.Location(note.Text(noteFrom))
	box := b.Of(from, tool.Limits{})
	if box == nil {
		return nil, nil, value.Errorf(value.Invalid, "run '%s': the host has no sandbox", s.Name).WithHint("set Options.Sandbox")
	}
	d, err := box.Describe(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	t := &gate.Callee{Tool: &d.Tool, Location: from, Path: s.Path, Hash: note.Text(noteHash)}
	if t.Granted, err = rights.ReadCapabilities(note.Elements(noteGranted)); err != nil {
		return nil, nil, damaged
	}
	return t, b.Runner(t.Location, t.Limits, func() (tool.Script, error) { return s, nil }), nil
}
