package host

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// keep sets the record of a run. resumed says that an earlier process may have begun it.
func (c *catalog) keep(ctx context.Context, r *gate.Run, record history.Record, resumed bool) error {
	if c.host.opts.resumesApproved(record.Run().Options) && admitsApproval(ctx) {
		r.Approve = ApproveAll().Approve
	}
	tools := &pins{host: c.host, record: record, catalog: c}
	if resumed {
		return r.Keep(ctx, record, tools, tools.take)
	}
	return r.Keep(ctx, record, tools, nil)
}

// open sets the record of a program, if it has one. A resumed program gets its script and its
// arguments from the record.
func (p *Program) open(ctx context.Context, r *gate.Run, now *catalog, c *tool.Call) error {
	if p.Resume && p.Record == nil {
		var err error
		if ctx, err = now.host.admit(ctx, p.ID); err != nil {
			return err
		}
	}
	record, err := p.recordOf(ctx, now.host, c.ID)
	if err != nil || record == nil {
		return err
	}
	run := record.Run()
	c.ID = run.ID
	if p.Resume {
		p.Script, c.Args = record.Script(), run.Args
		if err := now.host.mayResume(record, &p.Script); err != nil {
			if failure := record.Park(context.WithoutCancel(ctx), string(gate.ReasonTool), time.Time{}); failure != nil {
				_ = record.Close() // the run is not executed
			}
			return err
		}
	}
	return now.keep(ctx, r, record, p.Resume)
}

// recordOf returns the Record of a program, or opens one in the journal for a program with a
// kind. It is nil without a journal.
func (p *Program) recordOf(ctx context.Context, h *Host, id string) (history.Record, error) {
	if p.Record != nil {
		return p.Record, p.fits(p.Record)
	}
	if p.Kind == "" || h.opts.Journal == nil {
		if p.Resume {
			return nil, value.Errorf(value.Invalid, "resume '%s': the host has no store", p.ID).WithHint("set RuntimeOptions.Store")
		}
		return nil, nil
	}
	j, err := h.journal()
	if err != nil {
		return nil, err
	}
	if p.Resume {
		return opened(j.Resume(ctx, p.ID))
	}
	if p.ID == "" {
		id = "" // the journal makes up a better one
	}
	return opened(j.Begin(ctx, history.Run{ID: id, Project: h.opts.Project, Kind: p.Kind, Session: p.Session, Title: p.Title, Args: p.Args, Options: h.recordedOptions(ctx, p.Options)}, p.Script))
}

// fits fails for a record that cannot be that of the program.
func (p *Program) fits(record history.Record) error {
	run := record.Run()
	switch {
	case !record.Keeps():
		return value.Errorf(value.Invalid, "the Record of the program '%s' stores nothing", p.Name).WithHint("set Record to a history.Memory or to nil")
	case p.Resume || run.Script == p.Script.Sum() && value.Equal(run.Args.OrEmpty(), p.Args.OrEmpty()):
		return nil
	}
	differ := "scripts"
	if run.Script == p.Script.Sum() {
		differ = "arguments"
	}
	return value.Errorf(value.Invalid, "the record '%s' does not match the program: the %s differ", run.ID, differ).
		WithHint("create the record with history.NewMemory(history.Run{Args: args}, script)")
}

// opened returns a log as a Record, and a nil log as a nil Record.
func opened(l *history.Log, err error) (history.Record, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
