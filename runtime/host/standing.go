package host

import (
	"cmp"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// complete returns the complete tool of a search result.
func complete(f *toolset.Found) (*toolset.Info, error) {
	d, err := f.Declared()
	if err != nil {
		return nil, err
	}
	return &toolset.Info{Tool: d.Tool, Standing: f.Head.Standing, Warnings: d.Warnings}, nil
}

// calleeOf returns the tool for calls.
func calleeOf(t *toolset.Info) *gate.Callee {
	return &gate.Callee{Tool: &t.Tool, Location: t.Location, Path: t.Path, Hash: t.Hash, Granted: t.Granted, Refusal: refusal(t)}
}

// refusal returns the error of a call of a tool that is not ready, or nil.
func refusal(t *toolset.Info) error { return notReady("tool", t.Name, t.State, t.Reason) }

// notReady returns the error of a tool or workflow that is not ready, or nil. Any state other
// than Ready and NotHere counts as untrusted.
func notReady(what, name string, s toolset.State, reason string) error {
	switch s {
	case toolset.Ready:
		return nil
	case toolset.NotHere:
		return value.Errorf(value.Unavailable, "the %s '%s' is unavailable: %s", what, name, reason)
	}
	return value.Errorf(value.Denied, "the %s '%s' is untrusted: %s", what, name, cmp.Or(reason, "nobody has reviewed it yet")).
		WithHint(rights.ReviewHint).WithLimit(value.LimitTool)
}

// headOf returns the head of the tool.
func headOf(t *toolset.Info) *toolset.Head {
	return &toolset.Head{Head: t.Tool.Head(), Standing: t.Standing}
}

// completeStanding sets the defaults of a standing: the state Ready and, for a tool that is
// trusted by its location, the capabilities that it needs.
func completeStanding(s *toolset.Standing, needs []tool.Capability, trusted bool) {
	if s.State == "" {
		s.State = toolset.Ready
	}
	if trusted && s.Granted == nil && (s.State == toolset.Ready || s.State == toolset.NotHere) {
		s.Granted = needs
	}
}
