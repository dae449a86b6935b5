package sandbox

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// What a worker reports about the lines of a script, if its call asks for that: a position with
// each effect, and the lines with the answer. A worker may be hostile, so positions must be in
// the files of the script.

// positionFields returns the fields of a position.
func positionFields(p value.Position) value.List {
	return value.List{p.File, int64(p.Line), int64(p.Col)}
}

// readPosition reads positionFields. The position of a worker that does not know it is zero.
func readPosition(f *fields, s *tool.Script) value.Position {
	p := value.Position{File: field[string](f), Line: place(field[int64](f)), Col: place(field[int64](f))}
	if p != (value.Position{}) && !isFile(s, p.File) || p.Line < 0 || p.Col < 0 {
		f.bad = true
	}
	return p
}

// place returns the number of a line or a column, or -1 if no file is so long.
func place(n int64) int {
	if n < 0 || n > engine.MaxSource+1 {
		return -1
	}
	return int(n)
}

// isFile reports whether a script has a file.
func isFile(s *tool.Script, name string) bool {
	_, isLib := s.Libs[name]
	return isLib || name == s.Path
}

// A lineTable is how the lines of a call are sent.
type lineTable struct{ Lines []trace.Line }

// linesField returns the field of lines.
func linesField(lines []trace.Line) (value.Value, error) {
	return pack.Append([]byte(nil), &lineTable{lines})
}

// readLines reads what linesField returned.
func readLines(form []byte, s *tool.Script) ([]trace.Line, error) {
	var t lineTable
	if err := pack.Decode(string(form), &t); err != nil {
		return nil, errMessage
	}
	for _, l := range t.Lines {
		if !isFile(s, l.File) || place(int64(l.Line)) < 0 || l.Steps < 0 || l.Time < 0 {
			return nil, errMessage
		}
	}
	return t.Lines, nil
}

// A call that is killed, since it takes too long or its user interrupts it, has no answer with its
// lines. So a worker reports them while it runs, as if they were an effect. No effect has this name.
const linesEffect = "lines"

// The bytes that a call may use for reports: all of them, and those before which it reports at each
// effect, however soon it follows another one.
const (
	maxReports   = 4 << 20
	quickReports = 1 << 20
	reportEvery  = 100 * time.Millisecond
)

// reporting returns the context for a call. If its lines are counted, they are reported.
func (w *worker) reporting(ctx context.Context) context.Context {
	if !w.trace.Has(trace.Lines) {
		return ctx
	}
	sent, last := 0, time.Time{}
	return engine.ReportLines(ctx, func(lines []trace.Line) {
		if sent > quickReports && time.Since(last) < reportEvery {
			return
		}
		field, err := linesField(lines)
		form, _ := field.([]byte)
		if sent += len(form); err != nil || sent > maxReports {
			return // the answer has them
		}
		last = time.Now()
		_, _ = w.effect(ctx, tool.Effect{Func: linesEffect, Args: value.NewDict(linesEffect, form)}) // the call meets a broken connection itself
	})
}

// takeLines reads the lines that a running call reports.
func (r *remote) takeLines(args *value.Dict) error {
	v, _ := args.Get(linesEffect)
	form, ok := v.([]byte)
	if !ok || args.Len() != 1 {
		return errMessage
	}
	lines, err := readLines(form, &r.script)
	if err == nil {
		r.out.Lines = lines
	}
	return err
}
