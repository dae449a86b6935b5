package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// recorded writes down what a run asks for: before it is done, and what came of
// it. What a call stages is no effect yet; its commit is. An effect that cannot
// be written down is not done.
func (g *gate) recorded(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		log, f := g.root().log, g.fn(e.Func)
		if log == nil || f == nil || f.Class == tool.Notice || f.Class == tool.Write {
			return next(ctx, e)
		}
		return record(ctx, log, journal.Intent{Place: e.Place, Func: e.Func, Args: e.Args, Class: f.Class}, func() (tool.Outcome, error) { return next(ctx, e) })
	}
}

// record writes an effect down around doing it.
func record(ctx context.Context, log *journal.Log, i journal.Intent, do func() (tool.Outcome, error)) (tool.Outcome, error) {
	if err := log.Intend(ctx, i); err != nil {
		return tool.Outcome{}, unrecorded(err)
	}
	out, err := do()
	if failure := log.Settle(ctx, i.Place, out, err); failure != nil && err == nil {
		err = unrecorded(failure)
	}
	return out, err
}

// unrecorded is the error of what could not be written down. No script catches
// it: the run would go on without a record.
func unrecorded(err error) error {
	e := *tool.AsError(err, tool.Unavailable)
	e.Op, e.Limit = "journal", "effects"
	return &e
}

// commitIntent says what a commit is about to do to files: what is there and
// what will be, in hashes.
func commitIntent(at tool.Place, changes []tool.Change) journal.Intent {
	change := &tool.Dict{}
	for _, c := range changes {
		change.Put(c.Path, tool.NewDict("before", stateText(c.Before), "after", stateText(c.After)))
	}
	return journal.Intent{Place: at, Func: commitEffect, Args: &tool.Dict{}, Class: tool.Write, Change: change}
}

// stateText names what is at a path: "", "dir", or the hash of a file.
func stateText(s tool.FileState) string {
	switch {
	case !s.Exists:
		return ""
	case s.Dir:
		return "dir"
	}
	return s.Hash
}

// beginLog begins the record of a program that is run for nobody else.
func (h *Host) beginLog(ctx context.Context, p *Program, c tool.Call) (*journal.Log, error) {
	if h.opts.Journal == nil || p.Kind == "" {
		return nil, nil
	}
	return h.opts.Journal.Begin(ctx, journal.Run{ID: c.ID, Kind: p.Kind, Title: p.Title, Args: p.Args}, p.Script)
}

// endLog ends it.
func (g *gate) endLog(ctx context.Context, p *Program, out tool.Outcome, err error) error {
	if g.log == nil {
		return err
	}
	reason := ""
	if p.Reason != nil {
		reason = p.Reason(out.Value, err)
	}
	if failure := g.log.End(context.WithoutCancel(ctx), reason, out, err); failure != nil && err == nil {
		return unrecorded(failure)
	}
	return err
}
