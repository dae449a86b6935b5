package tool

import (
	"cmp"
	"context"
	"time"
)

// A Described is the declaration of a tool, read from its file without running it.
type Described struct {
	Tool
	Loads    []string // the shared files that its script loads, all of them
	Warnings []string // of the declaration
}

// A Head is what a list shows of a [Described], and what decides whether it may be
// used. Its fields are those of the tool.
type Head struct {
	Name, Description, Group string
	Risky, IsDeprecated      bool
	Needs                    []Capability
	Timeout                  time.Duration
	Limits                   Limits
	Available                string
	Loads                    []string
}

// Head returns what a list shows of the tool. Loads is empty.
func (t *Tool) Head() Head {
	return Head{
		Name: t.Name, Description: t.Description, Group: t.Group, Risky: t.Risky, IsDeprecated: t.Deprecated != nil,
		Needs: t.Needs, Timeout: t.Timeout, Limits: t.Limits, Available: t.Available,
	}
}

// Head returns what a list shows of the tool.
func (d *Described) Head() Head {
	h := d.Tool.Head()
	h.Loads = d.Loads
	return h
}

// DisplayGroup returns the group, or "ungrouped".
func (h *Head) DisplayGroup() string { return cmp.Or(h.Group, "ungrouped") }

// Summary returns the first sentence or line of the description.
func (h *Head) Summary() string { return firstLine(h.Description) }

// NeedsApproval is [Tool.NeedsApproval].
func (h *Head) NeedsApproval() bool { return needsApproval(h.Risky, h.Needs) }

// A Runner runs a checked call of one tool in any language. The script's effects are
// passed to do.
type Runner func(ctx context.Context, c Call, do Effector) (Outcome, error)
