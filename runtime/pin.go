package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A pinned tool is one as a run has first called it. What becomes of its file
// later changes nothing for the run.
type pinned struct {
	hash string
	kept *tool.Dict // what is noted of it, where it was pinned by an earlier process
	tool *tool.Tool // read from what is kept
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

// tool returns the tool of a name as the run knows it. current, which may be
// nil with an error, is what there is now.
func (r *recording) tool(ctx context.Context, h *Host, c *tool.Call, current *tool.Tool, run tool.Runner, err error) (*tool.Tool, tool.Runner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := tool.Key(c.Tool)
	p := r.pinned[key]
	if w := r.replay; w != nil && !w.Root && w.forked(c.Place) && key == tool.Key(w.With.Name) {
		w.out.Used = true
		return h.replaced(ctx, w.With)
	}
	switch {
	case p == nil && r.replay != nil:
		return current, run, err
	case p == nil && err != nil, p == nil && current.State != tool.Ready:
		return current, run, err
	case p == nil:
		p = &pinned{hash: current.Hash}
		if err := r.keep(ctx, h, c.Place, current); err != nil {
			return nil, nil, err
		}
		r.pinned[key] = p
		return current, run, nil
	case err == nil && (current.Hash == p.hash || current.Revoked):
		return current, run, nil
	case p.kept == nil: // pinned by this process, and changed since: the runner still has the script
		return current, run, err
	case p.tool == nil:
		if p.tool, p.run, err = h.revive(ctx, p.kept); err != nil {
			return nil, nil, err
		}
	}
	return p.tool, p.run, nil
}

// keep notes a tool with its script, so that the run can go on with it.
func (r *recording) keep(ctx context.Context, h *Host, at tool.Place, t *tool.Tool) error {
	load, ok := h.scripts.Load(t)
	if !ok || len(at) == 0 {
		return nil // it is written in Go
	}
	s, err := load.(func() (tool.Script, error))()
	if err != nil {
		return err
	}
	granted := tool.List{}
	for _, c := range t.Granted {
		granted = append(granted, c.String())
	}
	note := tool.NewDict(noteTool, t.Name, noteHash, t.Hash, noteFrom, string(t.Location), noteGranted, granted,
		noteScript, s.Value())
	if err := r.log.Note(ctx, at, note); err != nil {
		return unrecorded(err)
	}
	return nil
}

// replaced makes a tool of the script that a replay has in its place.
func (h *Host) replaced(ctx context.Context, s *tool.Script) (*tool.Tool, tool.Runner, error) {
	t, err := h.Describe(ctx, *s)
	if err != nil {
		return nil, nil, err
	}
	t.Location, t.Path, t.State, t.Granted = tool.Project, s.Path, tool.Ready, t.Needs // it can reach nothing but the record
	return &t, h.scriptRunner(&t, func() (tool.Script, error) { return *s, nil }), nil
}

// revive makes a tool of what is noted of it.
func (h *Host) revive(ctx context.Context, note *tool.Dict) (*tool.Tool, tool.Runner, error) {
	damaged := unrecorded(tool.Errorf(tool.Failed, "what is recorded of the tool '%s' is damaged", tool.Clean(note.Text(noteTool), 80)))
	kept, _ := note.Get(noteScript)
	s, ok := tool.ReadScript(kept)
	if !ok {
		return nil, nil, damaged
	}
	from := tool.Location(note.Text(noteFrom))
	box := h.boxFor(from, tool.Limits{})
	if box == nil {
		return nil, nil, tool.Errorf(tool.Invalid, "the host has no sandbox to run '%s' in", s.Name)
	}
	t, err := box.Describe(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	t.Location, t.Path, t.Hash, t.State = from, s.Path, note.Text(noteHash), tool.Ready
	list, _ := note.Get(noteGranted)
	granted, _ := tool.Elements(list)
	for _, v := range granted {
		text, _ := v.(string)
		c, err := tool.ParseCapability(text)
		if err != nil {
			return nil, nil, damaged
		}
		t.Granted = append(t.Granted, c)
	}
	return &t, h.scriptRunner(&t, func() (tool.Script, error) { return s, nil }), nil
}

// recall takes from the record what holds for all of the run: the tools as it
// has called them, and what was approved for good, if that is to hold again.
func (h *Host) recall(ctx context.Context, r *recording, approvals bool) error {
	for n, err := range r.log.Notes() {
		if err != nil {
			return unrecorded(err)
		}
		if name := n.Text(noteTool); name != "" {
			r.pinned[tool.Key(name)] = &pinned{hash: n.Text(noteHash), kept: n}
		}
		if a, ok := lasting(n); ok && approvals {
			h.remember(a)
		}
	}
	return ctx.Err()
}
