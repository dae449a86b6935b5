package host

import (
	"context"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// pins are the tools that a recorded run has called, each as it was at its first
// call. What becomes of its file later changes nothing for the run.
type pins struct {
	host   *Host
	record history.Record
	now    *catalog

	mu    sync.Mutex
	tools map[string]*pinned // by key
}

// A pinned tool is one as the run has first called it.
type pinned struct {
	hash string
	kept *value.Dict // what is noted of it, where it was pinned by an earlier process
	tool *tool.Tool  // read from what is kept
	run  tool.Runner
}

// The names in a note that keeps a tool.
const (
	noteTool    = "tool"
	noteHash    = "hash"
	noteFrom    = "location"
	noteGranted = "granted"
	noteScript  = "script"
)

// take takes the pinned tool from a note, if that keeps one.
func (p *pins) take(n *value.Dict) {
	if name := n.Text(noteTool); name != "" {
		p.pin(name, &pinned{hash: n.Text(noteHash), kept: n})
	}
}

// pin notes a tool by its name.
func (p *pins) pin(name string, t *pinned) {
	if p.tools == nil {
		p.tools = map[string]*pinned{}
	}
	p.tools[tool.Key(name)] = t
}

// find is the [finder] of a recorded run.
func (p *pins) find(ctx context.Context, c *tool.Call) (*tool.Tool, tool.Runner, error) {
	current, runner, err := p.now.find(ctx, c)
	p.mu.Lock()
	defer p.mu.Unlock()
	pin := p.tools[tool.Key(c.Tool)]
	switch {
	case pin == nil && (err != nil || current.State != tool.Ready):
		return current, runner, err
	case pin == nil:
		if err := p.keep(ctx, c.Place, current); err != nil {
			return nil, nil, err
		}
		p.pin(c.Tool, &pinned{hash: current.Hash})
		return current, runner, nil
	}
	return p.pinned(ctx, pin, current, runner, err)
}

func (p *pins) catalog() *catalog { return p.now }

// pinned returns a pinned tool. current, which may be nil with an error, is what
// there is now of its name.
func (p *pins) pinned(ctx context.Context, pin *pinned, current *tool.Tool, runner tool.Runner, err error) (*tool.Tool, tool.Runner, error) {
	switch {
	case err == nil && (current.Hash == pin.hash || current.Revoked):
		return current, runner, nil
	case pin.kept == nil: // pinned by this process, and changed since: the runner still has the script
		return current, runner, err
	case pin.tool == nil:
		if pin.tool, pin.run, err = p.host.revive(ctx, pin.kept); err != nil {
			return nil, nil, err
		}
	}
	return pin.tool, pin.run, nil
}

// keep notes a tool with its script, so that the run can be resumed with it.
func (p *pins) keep(ctx context.Context, at tool.Place, t *tool.Tool) error {
	o, err := p.now.lookup(t.Name)
	if err != nil || o.load == nil || len(at) == 0 {
		return nil // it is written in Go
	}
	s, err := o.load()
	if err != nil {
		return err
	}
	granted := value.List{}
	for _, c := range t.Granted {
		granted = append(granted, c.String())
	}
	note := value.NewDict(noteTool, t.Name, noteHash, t.Hash, noteFrom, string(t.Location), noteGranted, granted,
		noteScript, s.Value())
	if err := p.record.Note(ctx, at, note); err != nil {
		return unrecorded(err)
	}
	return nil
}

// revive makes a tool of what is noted of it.
func (h *Host) revive(ctx context.Context, note *value.Dict) (*tool.Tool, tool.Runner, error) {
	damaged := unrecorded(value.Errorf(value.Failed, "what is recorded of the tool '%s' is damaged", value.Clean(note.Text(noteTool), 80)))
	kept, _ := note.Get(noteScript)
	s, ok := tool.ReadScript(kept)
	if !ok {
		return nil, nil, damaged
	}
	from := tool.Location(note.Text(noteFrom))
	box := h.boxFor(from, tool.Limits{})
	if box == nil {
		return nil, nil, value.Errorf(value.Invalid, "the host has no sandbox to run '%s' in", s.Name)
	}
	t, err := box.Describe(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	t.Location, t.Path, t.Hash, t.State = from, s.Path, note.Text(noteHash), tool.Ready
	list, _ := note.Get(noteGranted)
	granted, _ := value.Elements(list)
	for _, v := range granted {
		text, _ := v.(string)
		c, err := tool.ParseCapability(text)
		if err != nil {
			return nil, nil, damaged
		}
		t.Granted = append(t.Granted, c)
	}
	return &t, h.scriptRunner(t.Location, t.Limits, func() (tool.Script, error) { return s, nil }), nil
}
