package tool

import (
	"context"
	"time"
)

// A Found is a tool that a search of a folder came upon.
type Found struct {
	Head Head
	// Declared returns the tool as its file declares it: what decides whether it may
	// be used is in Head. It may take a while, and is called when somebody first needs
	// more than Head.
	Declared func() (Tool, error)
	Load     func() (Script, error) // returns its source, which is read on the first call
}

// NewFound returns a tool that is there in full.
func NewFound(t Tool, load func() (Script, error)) Found {
	return Found{Head: t.Head(), Declared: func() (Tool, error) { return t, nil }, Load: load}
}

// Tool returns the tool.
func (f *Found) Tool() (Tool, error) {
	t, err := f.Declared()
	if err != nil {
		return Tool{}, err
	}
	t.Location, t.Path, t.Hash = f.Head.Location, f.Head.Path, f.Head.Hash
	t.State, t.Reason, t.Revoked, t.Granted = f.Head.State, f.Head.Reason, f.Head.Revoked, f.Head.Granted
	return t, nil
}

// A Head is what a list shows of a [Tool], and what decides whether it may be used.
// Its fields are those of the tool.
type Head struct {
	Name, Description, Group string
	Risky, IsDeprecated      bool
	Needs                    []Capability
	Timeout                  time.Duration
	Limits                   Limits
	Available                string
	Loads                    []string

	Location   Location
	Path, Hash string
	State      State
	Reason     string
	Revoked    bool
	Granted    []Capability
}

// Head returns what a list shows of the tool.
func (t *Tool) Head() Head {
	return Head{
		Name: t.Name, Description: t.Description, Group: t.Group, Risky: t.Risky, IsDeprecated: t.Deprecated != nil,
		Needs: t.Needs, Timeout: t.Timeout, Limits: t.Limits, Available: t.Available, Loads: t.Loads,
		Location: t.Location, Path: t.Path, Hash: t.Hash, State: t.State, Reason: t.Reason, Revoked: t.Revoked, Granted: t.Granted,
	}
}

// DisplayGroup returns the group, or "ungrouped".
func (h *Head) DisplayGroup() string { return displayGroup(h.Group) }

// Summary returns the first sentence or line of the description.
func (h *Head) Summary() string { return firstLine(h.Description) }

// NeedsApproval is [Tool.NeedsApproval].
func (h *Head) NeedsApproval() bool { return needsApproval(h.Risky, h.Needs) }

// A Runner runs a checked call of one tool, however that is written. The
// script's effects go to do.
type Runner func(ctx context.Context, c Call, do Effector) (Outcome, error)
