package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Kind is how runs of a kind are resumed. The host itself has the kinds of calls, workflows
// and undos. A package that begins runs of another kind registers the kind.
type Kind struct {
	Name string
	// Resume continues a run that has not ended, and returns its result. It is called
	// concurrently for different runs.
	Resume func(ctx context.Context, h *Host, r Recorded) (tool.Result, error)
}

// RegisterKind registers a kind of runs for [Host.Resume]. It fails with kind Invalid for a
// kind without a name or a Resume, and for a name that is registered already.
func (h *Host) RegisterKind(k Kind) error {
	if err := h.valid(); err != nil {
		return err
	}
	return h.kinds.register(k)
}

// Kinds are the kinds of runs that a host can resume.
type kinds struct {
	mu    sync.Mutex
	named map[string]Kind
}

// begin registers the kinds that every host has.
func (k *kinds) begin() {
	k.named = map[string]Kind{
		CallKind:     {Name: CallKind, Resume: resumeCall},
		UndoKind:     {Name: UndoKind, Resume: resumeUndo},
		WorkflowKind: {Name: WorkflowKind, Resume: resumeWorkflow},
	}
}

func (k *kinds) register(one Kind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one.Name == "" || one.Resume == nil {
		return value.Errorf(value.Invalid, "register a kind of runs: Kind.Name and Kind.Resume are required")
	}
	if _, exists := k.named[one.Name]; exists {
		return value.Errorf(value.Invalid, "the kind of runs %q is already registered", one.Name)
	}
	k.named[one.Name] = one
	return nil
}

// find returns how runs of a kind are resumed.
func (k *kinds) find(name string) (Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, known := k.named[name]
	if !known {
		return one, value.Errorf(value.Invalid, "this host cannot resume runs of the kind %q", name).
			WithHint("supported kinds: %s; in Go, call Host.RegisterKind to add a kind", strings.Join(slices.Sorted(maps.Keys(k.named)), ", "))
	}
	return one, nil
}
