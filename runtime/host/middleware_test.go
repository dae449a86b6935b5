package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A journal of calls notes them on their way in and out.
type noted struct {
	mu    sync.Mutex
	lines []string
}

func (n *noted) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// around returns a middleware that notes calls under a name.
func (n *noted) around(name string) host.Middleware {
	return func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			n.add("%s>%s", name, c.Tool)
			r, err := next(ctx, c)
			said := "ok"
			if err != nil {
				said = value.KindOf(err).String()
			}
			n.add("%s<%s %s", name, c.Tool, said)
			return r, err
		}
	}
}

// TestMiddleware checks the order, that calls which others make pass it too, and what
// a middleware may change.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	var n noted
	change := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			switch c.Tool {
			case "cached":
				return tool.Succeed(tool.Outcome{Value: "from the cache"}), nil
			case "old":
				c.Tool, c.StepPath, c.ID = "inner", tool.StepPath{9}, "another"
			case "broken":
				panic("oh")
			case "lost":
				return next(context.Background(), c)
			case "refused":
				return tool.Result{}, errors.New("no")
			}
			return next(ctx, c)
		}
	}
	r := newRig(t, func(o *host.Options) {
		o.Middleware = []host.Middleware{n.around("a"), n.around("b"), change}
	})
	r.add("inner.star", star("inner", "", "return 1", ""), nil)
	r.add("outer.star", star("outer", "", "return tools.inner() + 1", "needs = ['tool']"), nil)
	ctx := context.Background()
	if got, err := r.Call(ctx, tool.Call{Tool: "outer"}); err != nil || got.Value != int64(2) {
		t.Errorf("outer gave %v, %v", got.Value, err)
	}
	want := "a>outer b>outer a>inner b>inner b<inner ok a<inner ok b<outer ok a<outer ok"
	if got := strings.Join(n.lines, " "); got != want {
		t.Errorf("calls went %s\nwant %s", got, want)
	}
	for name, want := range map[string]value.Value{"cached": "from the cache", "old": int64(1)} {
		if got, err := r.Call(ctx, tool.Call{Tool: name}); err != nil || got.Value != want || !got.Success {
			t.Errorf("%s gave %+v, %v, want %v", name, got, err, want)
		}
	}
	for name, want := range map[string]value.Kind{"broken": value.Internal, "lost": value.Internal, "refused": value.Failed, "none": value.NotFound} {
		got, err := r.Call(ctx, tool.Call{Tool: name})
		if value.KindOf(err) != want || got.Success || got.Error == "" {
			t.Errorf("%s gave %+v, %v, want an error of kind %v", name, got, err, want)
		}
	}
	for _, bad := range [][]host.Middleware{{nil}, {func(host.CallFunc) host.CallFunc { return nil }}} {
		if _, err := host.New(&host.Options{Middleware: bad}); value.KindOf(err) != value.Invalid {
			t.Errorf("New with a middleware that is none gave %v", err)
		}
	}
}

// TestMiddlewareOfPrograms checks that the middleware of a program wraps the calls that are made
// for it, also by tools and by programs below, inside that of the host, and no other call.
func TestMiddlewareOfPrograms(t *testing.T) {
	t.Parallel()
	var n noted
	r := newProgramRig(t, func(o *host.Options) { o.Middleware = []host.Middleware{n.around("h")} })
	r.add("inner.star", star("inner", "", "return 1", ""), nil)
	r.add("outer.star", star("outer", "", "return tools.inner() + 1", "needs = ['tool']"), nil)
	below := r.program("return lent.call('inner')")
	below.Middleware, below.ID = n.around("q"), "q"
	r.goTool("runs", func(ctx context.Context) (value.Value, error) {
		out, err := r.RunProgram(ctx, below)
		return out.Value, err
	})
	p := r.program("return lent.call('outer') + lent.call('runs')")
	p.Middleware = n.around("p")
	if out, err := r.RunProgram(context.Background(), p); err != nil || out.Value != int64(3) {
		t.Errorf("the program gave %v, %v", out.Value, err)
	}
	want := "h>outer p>outer h>inner p>inner p<inner ok h<inner ok p<outer ok h<outer ok " +
		"h>runs p>runs h>inner p>inner q>inner q<inner ok p<inner ok h<inner ok p<runs ok h<runs ok"
	if got := strings.Join(n.lines, " "); got != want {
		t.Errorf("calls went %s\nwant %s", got, want)
	}
	n.lines = nil
	if _, err := r.Call(context.Background(), tool.Call{Tool: "inner"}); err != nil || strings.Join(n.lines, " ") != "h>inner h<inner ok" {
		t.Errorf("a call of its own went %s, %v", strings.Join(n.lines, " "), err)
	}
	alone := newProgramRig(t, nil)
	alone.add("inner.star", star("inner", "", "return 1", ""), nil)
	p = alone.program("return lent.call('inner')")
	p.Middleware = func(host.CallFunc) host.CallFunc {
		return func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{}, value.Errorf(value.Denied, "no")
		}
	}
	if _, err := alone.RunProgram(context.Background(), p); value.KindOf(err) != value.Denied {
		t.Errorf("a host without middleware gave %v, want that of the program", err)
	}
}

// TestCompute checks that a script that can only compute has no effects.
func TestCompute(t *testing.T) {
	t.Parallel()
	r := newProgramRig(t, nil)
	r.write("a", "text")
	s := tool.Script{Name: "s", Path: "s.star", Source: "def add(x):\n    return x + 1\n\ndef reads(x):\n    return fs.read('a')\n\ndef loops(x):\n    for i in range(100000000): pass\n"}
	compute := func(entry string) (value.Value, error) {
		return host.Operate(r.Host).Compute(context.Background(), s, tool.Call{Tool: "s", Entry: entry, Args: value.NewDict("x", int64(1)), Limits: tool.Limits{Steps: 100_000}})
	}
	if v, err := compute("add"); err != nil || v != int64(2) {
		t.Errorf("add gave %v, %v", v, err)
	}
	if _, err := compute("reads"); value.KindOf(err) != value.Denied {
		t.Errorf("reads gave %v, want an error of kind Denied", err)
	}
	if _, err := compute("loops"); value.KindOf(err) != value.Limit {
		t.Errorf("loops gave %v, want an error of kind Limit", err)
	}
	h, err := host.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Operate(h).Compute(context.Background(), s, tool.Call{Entry: "add"}); value.KindOf(err) != value.Invalid {
		t.Errorf("a host without a sandbox gave %v, want an error of kind Invalid", err)
	}
}

// TestMiddlewareOfDurableCalls checks that a call passes the middleware again when it
// is resumed, and that what the record answers does not.
func TestMiddlewareOfDurableCalls(t *testing.T) { eachStore(t, testMiddlewareOfDurableCalls) }

func testMiddlewareOfDurableCalls(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	var n noted
	m.middleware = []host.Middleware{n.around("m")}
	p := m.process(0, false)
	p.add("first.star", star("first", "", "return 1", ""), nil)
	p.add("waits.star", star("waits", "", "return tools.first() + (1 if human.confirm('so?') else 0)", "needs = ['tool', 'human']"), nil)
	ctx := context.Background()
	if _, err := p.Call(ctx, tool.Call{Tool: "waits"}, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	for q := range p.Waiting(ctx) {
		if err := p.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
	if got, err := p.Resume(ctx, "r"); err != nil || got.Value != int64(2) {
		t.Errorf("resumed: %v, %v", got.Value, err)
	}
	want := "m>waits m>first m<first ok m<waits parked m>waits m<waits ok"
	if got := strings.Join(n.lines, " "); got != want {
		t.Errorf("calls went %s\nwant %s", got, want)
	}
}

// TestNarrow checks that rules of one call deny and ask, for all that it calls and
// when it is resumed, and are forgotten with it.
func TestNarrow(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) { o.Approver = host.ApproveAll() })
	r.write("a", "text")
	r.add("reads.star", star("reads", "", "return fs.read('a')", "needs = ['fs.read']"), nil)
	r.add("outer.star", star("outer", "", "return tools.reads()", "needs = ['tool', 'fs.read']"), nil)
	ctx := context.Background()
	deny := host.Narrow(rules(t, "deny fs.read:a")...)
	for _, name := range []string{"reads", "outer"} {
		if _, err := r.Call(ctx, tool.Call{Tool: name}, deny); value.KindOf(err) != value.Denied {
			t.Errorf("%s narrowed gave %v, want it denied", name, err)
		}
		if _, err := r.Call(ctx, tool.Call{Tool: name}); err != nil {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
	for name, bad := range map[string][]tool.Rule{"allow": rules(t, "allow fs.read"), "no verdict": {{}}, "no capability": {{Verdict: tool.Deny}}, "unknown": {{Verdict: tool.Deny, Capability: tool.Capability{Name: "fs.raed"}}}} {
		if _, err := r.Call(ctx, tool.Call{Tool: "reads"}, host.Narrow(bad...)); value.KindOf(err) != value.Invalid || !strings.HasPrefix(err.Error(), "Narrow: ") {
			t.Errorf("%s: %v, want an error of kind Invalid", name, err)
		}
	}
	r.goTool("inside", func(ctx context.Context) (value.Value, error) {
		_, err := r.Call(ctx, tool.Call{Tool: "reads"}, deny)
		return nil, err
	})
	if _, err := r.Call(ctx, tool.Call{Tool: "inside"}); value.KindOf(err) != value.Invalid {
		t.Errorf("narrowing inside gave %v, want an error of kind Invalid", err)
	}
}

func TestNarrowHoldsOnResume(t *testing.T) { eachStore(t, testNarrowHoldsOnResume) }

func testNarrowHoldsOnResume(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	p := m.process(0, false)
	p.add("waits.star", star("waits", "", "human.confirm('so?')\nreturn out.send('late')", "needs = ['human', 'use:out']"), nil)
	ctx := context.Background()
	narrow := host.Narrow(tool.Rule{Verdict: tool.Deny, Capability: tool.Capability{Name: "use", Target: "out"}, Source: "the test"})
	call := tool.Call{Tool: "waits"}
	if _, err := p.Call(ctx, call, host.Durable("r"), narrow); value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	if _, err := p.Call(ctx, call, host.Durable("r")); value.KindOf(err) != value.Conflict {
		t.Errorf("the call without its rules gave %v, want a conflict", err)
	}
	for q := range p.Waiting(ctx) {
		if err := p.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.process(0, false).Resume(ctx, "r"); err == nil || slices.Contains([]value.Kind{value.Parked, value.NotFound}, value.KindOf(err)) || m.sent["late"] > 0 {
		t.Errorf("resumed: %v, and sent %v, want it denied", err, m.sent)
	}
}

// TestNarrowedCallsResumeNothing checks that a call cannot have done what its rules
// refuse by resuming another run.
func TestNarrowedCallsResumeNothing(t *testing.T) { eachStore(t, testNarrowedCallsResumeNothing) }

func testNarrowedCallsResumeNothing(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	p, ctx := m.process(0, false), context.Background()
	p.add("waits.star", star("waits", "", "human.confirm('so?')\nreturn out.send('late')", "needs = ['human', 'use:out']"), nil)
	p.goTool("resumes", func(ctx context.Context) (value.Value, error) {
		r, err := p.Resume(ctx, "r")
		return r.Value, err
	})
	if _, err := p.Call(ctx, tool.Call{Tool: "waits"}, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	for q := range p.Waiting(ctx) {
		if err := p.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
	deny := host.Narrow(rules(t, "deny use:out")...)
	for _, opts := range [][]host.CallOption{{deny}, {deny, host.Durable("s")}, nil} {
		_, err := p.Call(ctx, tool.Call{Tool: "resumes"}, opts...)
		if value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "cannot be resumed from within a call") || m.sent["late"] > 0 {
			t.Errorf("a call with %d options resumed another run: %v, sent %v", len(opts), err, m.sent)
		}
	}
	if got, err := p.Resume(ctx, "r"); err != nil || got.Value != "sent late" {
		t.Errorf("resumed by nobody's call: %v, %v", got.Value, err)
	}
	if got, err := p.Call(ctx, tool.Call{Tool: "resumes"}, deny); err != nil || got.Value != "sent late" {
		t.Errorf("the result of the ended run: %v, %v", got.Value, err)
	}
}

// TestErrorsOfExecutors checks that an error of an effect keeps its kind, and is
// Failed where it has none.
func TestErrorsOfExecutors(t *testing.T) {
	t.Parallel()
	for want, fails := range map[value.Kind]error{
		value.Failed: errors.New("disk full"), value.NotFound: fmt.Errorf("a: %w", value.ErrNotFound),
		value.Unavailable: value.Errorf(value.Unavailable, "no network"), value.Timeout: context.DeadlineExceeded,
	} {
		r := newRig(t, func(o *host.Options) {
			o.Executor = func(context.Context, *tool.Func, tool.Effect, tool.Grant) (tool.Outcome, error) {
				return tool.Outcome{}, fails
			}
		})
		r.script("", "time.now()", "")
		if _, err := r.Call(context.Background(), tool.Call{Tool: "t"}); value.KindOf(err) != want || !strings.Contains(err.Error(), fails.Error()) {
			t.Errorf("%v gave %v of kind %s, want %s", fails, err, value.KindOf(err), want)
		}
	}
}
