package host

import (
	"context"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// pins are the tools that a recorded run has called, each as it was at its first call. Later
// changes of its file do not affect the run.
type pins struct {
	host     *Host
	record   history.Record
	*catalog // the current one

	mu    sync.Mutex
	tools map[string]*pinned // by key
}

// A pinned is a tool as the run has first called it.
type pinned struct {
	hash string
	kept *value.Dict  // its note, if an earlier process has pinned it
	tool *gate.Callee // read from kept
	run  tool.Runner
}

// take pins the tool of a note, if it is the note of a tool.
func (p *pins) take(n *value.Dict) {
	if name := n.Text(noteTool); name != "" {
		p.pin(name, &pinned{hash: n.Text(noteHash), kept: n})
	}
}

// pin pins a tool by its name.
func (p *pins) pin(name string, t *pinned) {
	if p.tools == nil {
		p.tools = map[string]*pinned{}
	}
	p.tools[tool.Key(name)] = t
}

// Find implements [gate.Tools] for a recorded run.
func (p *pins) Find(ctx context.Context, name string, at tool.StepPath) (*gate.Callee, tool.Runner, error) {
	current, err := p.lookup(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	pin := p.tools[tool.Key(name)]
	switch {
	case pin == nil && err != nil:
		return nil, nil, err
	case pin != nil && err != nil:
		return p.trusted(ctx, pin, nil, nil, err)
	case pin != nil:
		return p.trusted(ctx, pin, current.callee, current.run, nil)
	case current.callee.Refusal == nil:
		if err := p.keep(ctx, at, current); err != nil {
			return nil, nil, err
		}
		p.pin(name, &pinned{hash: current.callee.Hash})
	}
	return current.callee, current.run, nil
}

// Lookup implements [gate.Tools] for a recorded run.
func (p *pins) Lookup(ctx context.Context, name string) (*gate.Callee, error) {
	current, err := p.catalog.Lookup(ctx, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	pin := p.tools[tool.Key(name)]
	if pin == nil {
		return current, err
	}
	t, _, err := p.trusted(ctx, pin, current, nil, err)
	return t, err
}

// trusted is pinned for a run that calls the tool now, which its user may have revoked since.
func (p *pins) trusted(ctx context.Context, pin *pinned, current *gate.Callee, runner tool.Runner, err error) (*gate.Callee, tool.Runner, error) {
	switch {
	case err == nil && p.catalog.revoked(current.Name):
		return current, runner, nil
	case pin.kept != nil && (err != nil || current.Hash != pin.hash):
		if err := p.revokedTool(pin.kept.Text(noteTool), pin); err != nil {
			return nil, nil, err
		}
	}
	return p.pinned(ctx, pin, current, runner, err)
}

// pinned returns a pinned tool. current is the tool that has its name now, or nil with err.
func (p *pins) pinned(ctx context.Context, pin *pinned, current *gate.Callee, runner tool.Runner, err error) (*gate.Callee, tool.Runner, error) {
	switch {
	case err == nil && current.Hash == pin.hash:
		return current, runner, nil
	case pin.kept == nil: // this process has pinned it: the runner still has the script
		return current, runner, err
	case pin.tool == nil:
		if pin.tool, pin.run, err = p.host.boxes.Revive(ctx, pin.kept); err != nil {
			return nil, nil, err
		}
		if current != nil && current.Refusal == nil { // a run that has reached a limit continues once that is raised
			pin.tool.Limits, pin.tool.Timeout = current.Limits, current.Timeout
		}
	}
	return pin.tool, pin.run, nil
}

// keep records the note of a tool, with its script, so that the run can be resumed with it.
func (p *pins) keep(ctx context.Context, at tool.StepPath, t *offered) error {
	if t.load == nil || len(at) == 0 {
		return nil // it is written in Go
	}
	s, err := t.load()
	if err != nil {
		return err
	}
	return gate.Unrecorded(p.record.Note(ctx, at, note(t.callee, s)))
}
