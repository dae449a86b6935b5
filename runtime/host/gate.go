package host

import (
	"context"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The gate is the only way from a call to the world. Each effect that a call
// asks for passes it as a step, in this order, and nothing else calls the
// function of an effect:
//
//	admit    count it, and refuse it beyond the bounds of a call   admit.go
//	recall   answer it from the record of the run                  recall.go
//	grant    is it declared, granted, allowed; ask if a rule asks  grant.go
//	commit   write what is staged, if it could be seen             commit.go
//	intend   record that it is about to be done                    do.go
//	do       carry it out                                          do.go
//	settle   record what came of it                                do.go
//
// What concerns one effect is in its step, what concerns one call in its pass,
// and what concerns the root call and all that it calls in their run.

// A step is one effect on its way through the gate.
type step struct {
	of     *pass // the call that asks for it
	effect tool.Effect
	fn     *tool.Func // its row; nil where there is none
	number int        // of the effect in its call, from 1

	own      bool              // the row is provided to the program that asks
	begun    bool              // it is being done
	takes    []tool.Capability // concrete, from fn.Target
	approved []tool.Capability // those that somebody approved for this effect
}

// A pass is one call on its way through the host.
type pass struct {
	run     *run
	above   *pass // that of the call that made this one, or nil
	tool    *tool.Tool
	call    tool.Call
	program *program // nil for a call of a tool

	stage   tool.Stage // the writes that wait for the end of the call
	wall    inflight.Wall
	quota   quota   // what it has used of the bounds of a call
	consent consent // what somebody has said about it
	trail   trail   // what its record and the disk do not agree on yet
}

// perform has an effect of the call done: it is the call's [tool.Effector].
func (p *pass) perform(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	s, err := p.admit(e)
	if err != nil {
		return tool.Outcome{}, err
	}
	defer p.trail.leave(s.fn)
	if out, done, err := s.recall(ctx); done || err != nil {
		return out, err
	}
	if err := s.clear(ctx); err != nil {
		return tool.Outcome{}, s.refuse(ctx, err)
	}
	if p.quota.silences(s) {
		return tool.Outcome{}, nil // the call continues
	}
	if err := s.intend(ctx, s.fn.Kind == tool.Write); err != nil {
		return tool.Outcome{}, err
	}
	out, err := s.do(ctx)
	return out, s.settle(ctx, out, err)
}

// clear is what stands between an effect that has not been done yet and its
// beginning. Like the other parts it is a function of its own so that a
// blocked effect does not carry its frame.
func (s *step) clear(ctx context.Context) error {
	if err := s.grant(ctx); err != nil {
		return err
	}
	return s.commit(ctx)
}

// newPass returns the pass of a call that another one may have made.
func (r *run) newPass(t *tool.Tool, c tool.Call, above *pass) *pass {
	p := &pass{run: r, above: above, tool: t, call: c}
	p.isRoot()
	return p
}

// isRoot makes a pass that no other one is above the root of its run.
func (p *pass) isRoot() {
	if p.above == nil {
		p.run.root = p
	}
}

// depth is how many calls there are from the root to this one; 0 without any.
func depth(p *pass) (n int) {
	for ; p != nil; p = p.above {
		n++
	}
	return n
}

// responsible returns the pass of the call that all of this is for: the root,
// or the one that a program made.
func (p *pass) responsible() *pass {
	for p.above != nil && p.above.program == nil {
		p = p.above
	}
	return p
}

// fn returns the row of an effect, and whether it is provided to the program
// that asks; nil where there is none.
func (p *pass) fn(name string) (f *tool.Func, own bool) {
	if p.program != nil {
		if f := p.program.fn(name); f != nil {
			return f, true
		}
	}
	return p.run.host.funcs[name], false
}

// A program is what a [Program] has that a tool has not.
type program struct {
	modules []tool.Module // that only this program may ask for
	review  func(by *tool.Tool, changes []tool.Change) error
	reason  func(v value.Value, err error) string // see [Recording]; or nil
	session string
	watch   func(tool.Event) // or nil
	end     func(v value.Value, err error) tool.RunEnd
	started time.Time // when its RunStart was emitted; zero means that it has none
}

// fn returns the row of an effect that only the program has, or nil.
func (p *program) fn(name string) *tool.Func {
	module, fn, _ := strings.Cut(name, ".")
	for _, m := range p.modules {
		if m.Name != module {
			continue
		}
		for i := range m.Funcs {
			if m.Funcs[i].Name == fn {
				return &m.Funcs[i]
			}
		}
	}
	return nil
}

// interrupts reports whether an error leaves open what comes of the effect that
// it ended: the run waits, or its record cannot be written or followed.
func interrupts(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e != nil && (e.Kind == value.Parked || e.Limit == value.LimitRecord)
}

// presented returns the error of a call or program for its caller. That a worker
// was killed ends all of a run that can be resumed; in any other run it is a
// failure of the one call.
func (r *run) presented(err error, above *pass) *value.Error {
	e := finish(err)
	if e.Limit == value.LimitWorker && above != nil && !r.record.Keeps() {
		e.Limit = value.LimitCall
	}
	return e
}

// unrecorded is the error of what could not be recorded, or is not as it is
// recorded. That the caller's context ended is not the record's fault.
func unrecorded(err error) error {
	e := *value.ErrorOf(err, value.Unavailable)
	if e.Kind == value.Canceled || e.Kind == value.Timeout {
		return err
	}
	e.Op, e.Limit = "journal", value.LimitRecord
	return &e
}

// firstError returns err, or a recorded error where err is nil.
func firstError(err error, recorded *value.Error) error {
	if err == nil && recorded != nil {
		return recorded
	}
	return err
}

// recorded returns the error of an entry.
func recorded(e *history.Entry) error { return firstError(nil, e.Err) }
