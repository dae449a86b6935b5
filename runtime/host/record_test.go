package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAProgramIsRecorded checks what is written down of a run: what it and the
// tools that it calls ask for, at their places, with what came of it.
func TestAProgramIsRecorded(t *testing.T) {
	t.Parallel()
	j, close := newMachine(t, onDisk).open()
	defer close()
	defer j.Close()
	r := newProgramRig(t, func(o *host.Options) { o.Journal, o.Approver = recordIn(j), host.ApproveAll() })
	r.add("w.star", star("w", "", "fs.write('a', 'x')\nreturn fs.exists('b')", "needs = ['fs.read', 'fs.write']"), nil)
	p := r.program("lent.call('w')\nreturn 'done'")
	p.ID, p.Kind, p.Title = "one", "task", "Do it"
	p.Reason = func(value.Value, error) string { return "final" }
	if _, err := r.RunProgram(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	runs := allRuns(t, j)
	if len(runs) != 1 || runs[0].State != history.Done || runs[0].Reason != "final" || runs[0].Result != "done" || runs[0].Title != "Do it" {
		t.Fatalf("the runs are %+v, want one that is done", runs)
	}
	got := map[string]string{}
	for e, err := range j.Entries(context.Background(), "one") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Unknown() {
			t.Errorf("%s at %s has no outcome", e.Func, e.StepPath)
		}
		got[e.StepPath.String()] = e.Func
	}
	want := map[string]string{"1": "lent.call", "1.1": "fs.write", "1.2": "fs.exists", "1.3": "fs.commit"}
	for place, name := range want {
		if got[place] != name {
			t.Errorf("at %s is %q, want %s (all: %v)", place, got[place], name, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("recorded are %v, want %v", got, want)
	}
	p.Kind = ""
	p.ID = "two"
	if _, err := r.RunProgram(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	p.Kind, p.ID = "task", "one"
	if _, err := r.RunProgram(context.Background(), p); value.KindOf(err) != value.Conflict {
		t.Errorf("a second run of one ID gave %v, want it refused", err)
	}
	if runs = allRuns(t, j); len(runs) != 1 {
		t.Errorf("%d runs are recorded, want the first alone", len(runs))
	}
}

// TestWhatCannotBeRecordedIsNotDone checks that a run ends before it acts where
// its record does.
func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	t.Parallel()
	j, close := newMachine(t, onDisk).open()
	defer close()
	r := newProgramRig(t, func(o *host.Options) { o.Journal, o.Approver = recordIn(j), host.ApproveAll() })
	closed := false
	r.goTool("stop", func(context.Context) (value.Value, error) {
		closed = true
		return nil, j.Close()
	})
	r.add("w.star", star("w", "", "fs.write('a', 'x')", "needs = ['fs.read', 'fs.write']"), nil)
	p := r.program("lent.call('stop')\nlent.call('w')")
	p.ID, p.Kind = "one", "task"
	_, err := r.RunProgram(context.Background(), p)
	var e *value.Error
	if !closed || !errors.As(err, &e) {
		t.Errorf("the run gave %v, want that it cannot be recorded", err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "a")); err == nil {
		t.Error("it wrote what it had not recorded")
	}
}

func allRuns(t *testing.T, j *history.Journal) (runs []history.Run) {
	t.Helper()
	for r, err := range j.Runs(context.Background(), history.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}

// TestARecordFitsItsProgram gives programs records that are not theirs.
func TestARecordFitsItsProgram(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), newMachine(t, inMemory)
	p := m.process(0, false)
	program := p.program("return 1")
	program.Modules, program.Needs = nil, nil
	with := func(r history.Record) error {
		q := *program
		q.Record = r
		_, err := p.RunProgram(ctx, &q)
		return err
	}
	own := history.NewMemory(history.Run{Args: program.Args}, program.Script)
	checked := *program
	checked.Record, checked.Kind = own, "run"
	if err := p.Check(ctx, &checked); err != nil || own.Current().State != history.Running || len(allRuns(t, p.j)) > 0 {
		t.Errorf("Check: %v, its record is %v, and the journal has %v", err, own.Current().State, allRuns(t, p.j))
	}
	if err := with(own); err != nil || own.Current().State != history.Done {
		t.Errorf("its own record: %v, %v", err, own.Current().State)
	}
	for name, r := range map[string]history.Record{
		"none":               history.None{},
		"another script's":   history.NewMemory(history.Run{Args: program.Args}, tool.Script{Source: "x"}),
		"of other arguments": history.NewMemory(history.Run{Args: value.NewDict("goal", "x")}, program.Script),
	} {
		if err := with(r); value.KindOf(err) != value.Invalid {
			t.Errorf("a record that is %s: %v, want it invalid", name, err)
		}
	}
	if err := with(own); err == nil {
		t.Error("a record that is closed was taken")
	}
	var calls []string
	stop := hear(t, p.Host, func(e tool.Event) {
		if _, starts := e.Data.(tool.ToolCallStart); starts {
			calls = append(calls, e.Call)
		}
	})
	p.goTool("one", func(context.Context) (value.Value, error) { return int64(1), nil })
	named := p.program("return tools.one()")
	named.Modules, named.Needs, named.ID = nil, []tool.Capability{{Name: "tool"}}, "other"
	named.Record = history.NewMemory(history.Run{ID: "mem", Args: named.Args}, named.Script)
	_, err := p.RunProgram(ctx, named)
	if stop(); err != nil || len(calls) != 1 || calls[0] != "mem/1" {
		t.Errorf("the calls of a run with a record are %q, %v, want them named after it", calls, err)
	}
	p.goTool("inner", func(ctx context.Context) (value.Value, error) {
		q := *program
		q.Record = history.NewMemory(history.Run{Args: program.Args}, program.Script)
		_, err := p.RunProgram(ctx, &q)
		return value.KindOf(err).String(), nil
	})
	if out, err := p.run("r", false, "return tools.inner()"); err != nil || out.Value != "invalid" {
		t.Errorf("a record for a program that is part of another run: %v, %v", out.Value, err)
	}
}
