// Package enginetest runs scripts twice, by an engine in this process and in a worker,
// and fails the test if they differ.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// pureOf returns the functions of modules that a worker runs itself.
func pureOf(modules []tool.Module) []tool.Module {
	var pure []tool.Module
	for _, m := range modules {
		m.Funcs = slices.DeleteFunc(slices.Clone(m.Funcs), func(f tool.Func) bool { return f.Kind != tool.Pure })
		pure = append(pure, m)
	}
	return pure
}

// Workers are the sandboxes that a package's tests share, one for each set of modules.
// Callers set only Sets.
type Workers struct {
	// Sets are the modules that the scripts of a test use, by name. A worker finds the
	// name of its set in the name of its program.
	Sets map[string]func() []tool.Module

	mu    sync.Mutex
	dir   string
	open  map[string]*sandbox.Process
	calls map[string]int // by the name of the test
}

// alwaysTwice is how many calls of a test are always also made in a worker, and oneOf that one of so
// many others is.
const alwaysTwice, oneOf = 2, 16

// isTwice reports whether a call of a script is also made in a worker, which starts a process. In a
// run of make soak all calls are; else the first ones of each test, and a fixed sample of the others.
func (w *Workers) isTwice(t testing.TB, s tool.Script, entry string) bool {
	if testutil.Soak() {
		return true
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[string]int{}
	}
	w.calls[name]++
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s %s %s", s.Path, entry, s.Source)
	return w.calls[name] <= alwaysTwice || sum.Sum32()%oneOf == 0
}

// Main is the body of a TestMain. In a worker it does not return.
func (w *Workers) Main(m *testing.M) {
	sandbox.Main(pureOf(w.programSet())...)
	code := testworker.Suite{M: m, Own: true}.Run()
	if err := w.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// programSet returns the set that this program is named after, if any.
func (w *Workers) programSet() []tool.Module {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	set := w.Sets[strings.TrimSuffix(filepath.Base(exe), ".exe")]
	if set == nil {
		return nil
	}
	return set()
}

func (w *Workers) get(t testing.TB, set string) *sandbox.Process {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[set] == nil {
		p, err := w.start(set)
		if err != nil {
			t.Fatalf("workers with the modules of %s: %v", set, err)
		}
		if w.open == nil {
			w.open = map[string]*sandbox.Process{}
		}
		w.open[set] = p
	}
	return w.open[set]
}

func (w *Workers) start(set string) (*sandbox.Process, error) {
	program := testworker.Exec()
	var err error
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if w.dir == "" {
		if w.dir, err = os.MkdirTemp("", "engine"); err != nil {
			return nil, err
		}
	}
	name := filepath.Join(w.dir, set+".exe")
	if err := testworker.Copy(name, program); err != nil {
		return nil, err
	}
	// The tests compare what scripts see, also on systems that cannot confine a worker.
	return sandbox.New(&sandbox.Options{Workers: sandbox.Workers{Program: name}, Unconfined: true}, w.Sets[set]()...)
}

func (w *Workers) close() error {
	var err error
	for _, p := range w.open {
		err = errors.Join(err, p.Close())
	}
	if w.dir != "" {
		err = errors.Join(err, os.RemoveAll(w.dir))
	}
	return err
}

// A Twice is an [engine.Engine] that asks twice for each answer: the engine, and a
// worker with the same effect results. The test fails if the two transcripts differ:
// the effects in their order, with arguments and paths; the result, byte for byte; the
// error with its kind, text, hint, limit, position and trace; the number of steps and
// effects. It returns the engine's answer. By default the worker gets only a sample of
// the calls, and all of them in make soak.
//
// Not compared, because they differ by nature:
//
//   - how long a call took,
//   - what an error wraps: a worker's comes as text,
//   - the position and the steps of a script when its context ended: the worker is
//     killed then; kind, text and limit are compared,
//   - a limit of memory or of CPU time, which only a worker has, if a test allows it:
//     see [Twice.Allow].
type Twice struct {
	t      testing.TB
	all    *Workers
	Engine *engine.Engine
	worker *sandbox.Process
	steps  int64             // per call; 0: the engine's default
	limits []value.LimitName // that the worker may meet where the engine does not
	Around func(run func())  // measures what the engine does; nil: nothing
}

// Both returns an engine whose scripts have the modules of a set.
func (w *Workers) Both(t testing.TB, set string) *Twice {
	t.Helper()
	return &Twice{t: t, all: w, Engine: engine.New(&engine.Options{Modules: w.Sets[set]()}), worker: w.get(t, set)}
}

// BothSteps is Both with a limit of steps for each call.
func (w *Workers) BothSteps(t testing.TB, set string, steps int64) *Twice {
	t.Helper()
	e := w.Both(t, set)
	e.Engine, e.steps = engine.New(&engine.Options{Modules: w.Sets[set](), Steps: steps}), steps
	return e
}

// Allow allows the worker to reach limits that the engine does not have.
func (e *Twice) Allow(limits ...value.LimitName) *Twice {
	e.limits = limits
	return e
}

// Describe is [engine.Engine.Describe].
func (e *Twice) Describe(s tool.Script) (tool.Described, error) {
	e.t.Helper()
	want, wantErr := e.Engine.Describe(s)
	if !e.all.isTwice(e.t, s, "") {
		return want, wantErr
	}
	got, gotErr := e.worker.Describe(context.Background(), s)
	if e.same("Describe", s, wantErr, gotErr) && wantErr == nil {
		e.equal("Describe", s, form(pack.Append(nil, &want)), form(pack.Append(nil, &got)))
	}
	return want, wantErr
}

// noEntry is a function that no script has.
const noEntry = "no such function"

// Compile is [engine.Engine.Compile]. A worker compiles only for a call, so the call
// that it gets must fail afterwards.
func (e *Twice) Compile(s tool.Script) error {
	e.t.Helper()
	wantErr := e.Engine.Compile(s)
	if wantErr == nil {
		_, _ = e.Run(context.Background(), s, tool.Call{Entry: noEntry}, nil) // compares
		return nil
	}
	if !e.all.isTwice(e.t, s, noEntry) {
		return wantErr
	}
	_, gotErr := e.worker.Run(context.Background(), s, tool.Call{Entry: noEntry}, nil)
	e.same("Compile", s, wantErr, gotErr)
	return wantErr
}

// Run is [engine.Engine.Run].
func (e *Twice) Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	e.t.Helper()
	r := newTranscript(ctx, do)
	var want tool.Outcome
	var wantErr error
	around := e.Around
	if around == nil {
		around = func(run func()) { run() }
	}
	around(func() { want, wantErr = e.Engine.Run(ctx, s, c, r.recorder()) })
	ended := ctx.Err() != nil

	if !e.all.isTwice(e.t, s, c.Entry) {
		return want, wantErr
	}
	if c.Limits.Steps == 0 {
		c.Limits.Steps = e.steps
	}
	// CPU time is not what is tested.
	c.Limits = c.Limits.Or(tool.Limits{CPU: time.Minute})
	again, cancel := r.repeat()
	defer cancel()
	got, gotErr := e.worker.Run(again, s, c, r.player())
	switch {
	case ended:
		e.equal("Run to the end of its context", s, r.ending(wantErr), r.ending(gotErr))
	case e.same("Run", s, wantErr, gotErr):
		e.equal("Run", s, result(want), result(got))
		e.equal("the effects of Run", s, r.asked, r.again)
	}
	return want, wantErr
}

// same compares errors, and reports whether to compare the rest.
func (e *Twice) same(what string, s tool.Script, want, got error) bool {
	e.t.Helper()
	if limit := value.ErrorOf(got, value.Internal); limit != nil && limit.Kind == value.Limit && slices.Contains(e.limits, limit.Limit) {
		e.t.Logf("%s of %s %s: only in a worker: %v; the engine: %v", what, s.Path, s.Name, got, want)
		return false
	}
	return e.equal(what, s, errorLines(want), errorLines(got))
}

func (e *Twice) equal(what string, s tool.Script, want, got []string) bool {
	e.t.Helper()
	diff := cmp.Diff(want, got)
	if diff != "" {
		e.t.Errorf("%s of %s is not the same in a worker: got %q, want %q (-engine +worker)\n%s\n%.1000s", what, s.Path, got, want, diff, s.Source)
	}
	return diff == ""
}

// errorLines returns all fields of an error.
func errorLines(err error) []string {
	e := value.ErrorOf(err, value.Internal)
	if e == nil {
		return nil
	}
	return append([]string{
		"kind " + e.Kind.String(), "message " + e.Message(), "hint " + e.Hint, "limit " + string(e.Limit),
		fmt.Sprintf("at %q %d:%d", e.Pos.File, e.Pos.Line, e.Pos.Col),
	}, e.Trace...)
}

// result returns all fields of an outcome except the time.
func result(out tool.Outcome) []string {
	lines := append(form(value.Append(nil, out.Value)), fmt.Sprintf("%d steps, %d effects", out.Usage.Steps, out.Usage.Effects))
	for _, l := range out.Lines {
		lines = append(lines, fmt.Sprintf("%s:%d: %d steps", l.File, l.Line, l.Steps))
	}
	return lines
}

// form returns the encoded form of a value.
func form(data []byte, err error) []string {
	if err != nil {
		return []string{"no form: " + err.Error()}
	}
	return []string{fmt.Sprintf("%q", data)}
}

// A transcript records the effects of a call and their results.
type transcript struct {
	do      tool.Effector
	asked   []string // by the engine
	answers []answer
	again   []string // by the worker

	ctx    context.Context // of the call
	left   time.Duration   // the time left at the start, if there is a deadline
	endsAt int             // after how many effects it ended; -1: not ended, or not during an effect
	end    context.CancelCauseFunc
}

type answer struct {
	tool.Outcome
	err error
}

func newTranscript(ctx context.Context, do tool.Effector) *transcript {
	r := &transcript{ctx: ctx, do: do, endsAt: -1}
	if deadline, ok := ctx.Deadline(); ok {
		r.left = time.Until(deadline)
	}
	r.noteEnd()
	return r
}

// noteEnd records when the context ends.
func (r *transcript) noteEnd() {
	if r.endsAt < 0 && r.ctx.Err() != nil {
		r.endsAt = len(r.answers)
	}
}

// ask formats an effect for the transcript.
func ask(e tool.Effect) string {
	text := e.StepPath.String() + ": " + e.Func
	if e.Pos != (value.Position{}) {
		text += " at " + e.Pos.String()
	}
	for name, v := range e.Args.All() { // each may be as deep as a value can
		text += fmt.Sprintf(" %q = %s", name, form(value.Append(nil, v)))
	}
	return text
}

// recorder returns the effector of the engine.
func (r *transcript) recorder() tool.Effector {
	if r.do == nil {
		return nil
	}
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		r.asked = append(r.asked, ask(e))
		out, err := r.do(ctx, e)
		r.answers = append(r.answers, answer{out, err})
		r.noteEnd()
		return out, err
	}
}

// player returns the effector of the worker. It returns the recorded results.
func (r *transcript) player() tool.Effector {
	if r.do == nil {
		return nil
	}
	return func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		r.again = append(r.again, ask(e))
		i := len(r.again) - 1
		if i >= len(r.answers) || r.asked[i] != r.again[i] {
			return tool.Outcome{}, value.Errorf(value.Canceled, "the engine did not ask for this")
		}
		if i+1 == r.endsAt {
			r.end(context.Cause(r.ctx))
		}
		return r.answers[i].Outcome, r.answers[i].err
	}
}

// repeat returns a context that ends as the call's did: at the same effect, or after
// the same time.
func (r *transcript) repeat() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.ctx))
	r.end = cancel
	stop := func() { cancel(nil) }
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		r.end = func(error) {}
		return context.WithTimeout(ctx, r.left)
	}
	if r.endsAt == 0 {
		cancel(context.Cause(r.ctx))
	}
	return ctx, stop
}

// ending returns the fields of an error that are compared if the context ended.
func (r *transcript) ending(err error) []string {
	e := value.ErrorOf(err, value.Internal)
	if e == nil {
		return nil
	}
	return []string{e.Kind.String(), e.Message(), string(e.Limit)}
}
