package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// retrying is a middleware that makes each call of a tool up to three times.
func retrying(name string) host.Middleware {
	return func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (r tool.Result, err error) {
			for range 3 {
				if r, err = next(ctx, c); err == nil || c.Tool != name {
					break
				}
			}
			return r, err
		}
	}
}

// sends is how often a process has sent something.
func (p *process) sends() (n int) {
	for _, did := range p.did {
		if strings.HasPrefix(did, "out.send ") {
			n++
		}
	}
	return n
}

// TestMiddlewareThatRetries checks that a middleware which calls next again has nothing
// done twice in a recorded run, also when that is resumed.
func TestMiddlewareThatRetries(t *testing.T) { eachStore(t, testMiddlewareThatRetries) }

func testMiddlewareThatRetries(t *testing.T, on keeper) {
	m, ctx := headless(t, on), context.Background()
	m.approve = host.ApproveAll()
	m.middleware = []host.Middleware{retrying("work")}
	start := func(body string) *process {
		p := m.process(0, false)
		p.add("work.star", star("work", "", body, "needs = ['use:out', 'human', 'fs.read', 'tool']"), nil)
		p.add("outer.star", star("outer", "", "r = attempt(tools.work)\nhuman.confirm('so?')\nreturn r['error'] + attempt(tools.work)['error']", "needs = ['use:out', 'human', 'fs.read', 'tool']"), nil)
		return p
	}
	p := start("out.send('x')\nfail('no')")
	if _, err := p.Call(ctx, tool.Call{Tool: "work"}); err == nil || p.sends() != 3 {
		t.Errorf("a call that is not recorded gave %v, and sent %d times, want 3", err, p.sends())
	}
	p = start("out.send('x')\nfail('no')")
	if _, err := p.Call(ctx, tool.Call{Tool: "work"}, host.Durable("fails")); err == nil || !strings.Contains(err.Error(), "no") || p.sends() != 1 {
		t.Errorf("a recorded call gave %v, and sent %d times, want once", err, p.sends())
	}
	p = start("out.send('x')\nfail('no')")
	if _, err := p.Call(ctx, tool.Call{Tool: "outer"}, host.Durable("r")); value.KindOf(err) != value.Parked || p.sends() != 1 {
		t.Fatalf("the call gave %v, and sent %d times, want that it waits", err, p.sends())
	}
	for q := range p.Waiting(ctx) {
		if err := p.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
	p.j.Close()
	p = start("out.send('x')\nfail('no')")
	if got, err := p.Resume(ctx, "r"); err != nil || got.Value == "" || p.sends() != 1 { // the second call's
		t.Errorf("resumed: %v, %v, and sent %d times, want once", got.Value, err, p.sends())
	}

	p = start("human.confirm('so?')")
	if _, err := p.Call(ctx, tool.Call{Tool: "work"}, host.Durable("asks")); value.KindOf(err) != value.Parked {
		t.Errorf("a call that asks gave %v", err)
	}
	var asked []string
	for q := range p.Waiting(ctx) {
		asked = append(asked, q.ID)
	}
	if len(asked) != 1 {
		t.Errorf("the questions are %v, want one", asked)
	}
}

// TestMiddlewareThatCallsAnother checks that a recorded run refuses another call at the
// place of one that was made, and two at a time.
func TestMiddlewareThatCallsAnother(t *testing.T) { eachStore(t, testMiddlewareThatCallsAnother) }

func testMiddlewareThatCallsAnother(t *testing.T, on keeper) {
	m, ctx := newMachine(t, on), context.Background()
	entered, leave := make(chan bool), make(chan bool)
	var errs []error
	m.middleware = []host.Middleware{func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			switch c.Tool {
			case "again":
				r, err := next(ctx, c)
				c.Args.Put("n", int64(2))
				_, other := next(ctx, c)
				errs = append(errs, other)
				return r, err
			case "slow":
				ended := make(chan error)
				go func() {
					_, err := next(ctx, c)
					ended <- err
				}()
				<-entered
				_, other := next(ctx, c)
				errs = append(errs, other)
				close(leave)
				return tool.Result{}, <-ended
			}
			return next(ctx, c)
		}
	}}
	p := m.process(0, false)
	p.add("again.star", star("again", "n: int", "return out.send('x')", "needs = ['use:out']"), nil)
	p.goTool("slow", func(context.Context) (value.Value, error) {
		entered <- true
		<-leave
		return 1, nil
	})
	if got, err := p.Call(ctx, tool.Call{Tool: "again", Args: value.NewDict("n", int64(1))}, host.Durable("a")); err != nil || got.Value != "sent x" {
		t.Errorf("again gave %v, %v", got.Value, err)
	}
	if _, err := p.Call(ctx, tool.Call{Tool: "slow"}, host.Durable("b")); err != nil {
		t.Errorf("slow gave %v", err)
	}
	if len(errs) != 2 || slices.ContainsFunc(errs, func(err error) bool { return err == nil || value.KindOf(err) != value.Invalid }) {
		t.Errorf("the other calls gave %v, want errors of kind Invalid", errs)
	}
	if m.sent["x"] != 1 {
		t.Errorf("sent %v, want once", m.sent)
	}
}
