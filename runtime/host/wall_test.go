package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// slow is an approver that somebody takes an hour for.
func slow(ctx context.Context, _ tool.Question) (tool.Answer, error) {
	select {
	case <-time.After(time.Hour):
		return tool.Answer{Yes: true}, nil
	case <-ctx.Done():
		return tool.Answer{}, context.Cause(ctx)
	}
}

// TestTheTimeOfACall checks what counts: what a call does, and not what it
// waits for.
func TestTheTimeOfACall(t *testing.T) {
	cases := []struct {
		name, body, child string // the call has 10 s, its child 20
		took              time.Duration
		limit             string // whose time ran out, in the error's text, or ""
	}{
		{"in time", "time.sleep(9)", "pass", 9 * time.Second, ""},
		{"too late", "time.sleep(60)", "pass", 10 * time.Second, "the call took longer than 10s"},
		{"it waits for people", "fs.write('a', 'x')\ntime.sleep(6)\nfs.write('b', 'x')", "pass", 2*time.Hour + 6*time.Second, ""},
		{"it is late between people", "fs.write('a', 'x')\ntime.sleep(6)\nfs.write('b', 'x')\ntime.sleep(6)", "pass", 2*time.Hour + 10*time.Second, "the call took longer than 10s"},
		{"it waits for what it calls", "time.sleep(4)\ntools.child()\ntime.sleep(4)", "time.sleep(19)", 27 * time.Second, ""},
		{"it is late after that", "time.sleep(4)\ntools.child()\ntime.sleep(7)", "time.sleep(19)", 29 * time.Second, "the call took longer than 10s"},
		{"what it calls is late", "tools.child()", "time.sleep(60)", 20 * time.Second, "child: the call took longer than 20s"},
		{"what it calls waits for people", "tools.child()\ntime.sleep(9)", "time.sleep(15)\nfs.write('a', 'x')\ntime.sleep(4)", time.Hour + 28*time.Second, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(o *host.Options) { o.Approver = host.ApproverFunc(slow) })
				r.add("t.star", star("t", "", c.body, "timeout = 10, needs = ['tool', 'fs.write']"), nil)
				r.add("child.star", star("child", "", c.child, "timeout = 20, needs = ['fs.write']"), nil)
				start := time.Now()
				_, err := r.byModel("t")
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if c.limit == "" && err != nil {
					t.Error(err)
				}
				if e := value.ErrorOf(err, value.Internal); c.limit != "" && (e == nil || e.Kind != value.Timeout || e.Limit == "" || e.Message() != c.limit) {
					t.Errorf("error = %v, want %q", err, c.limit)
				}
			})
		})
	}
}

// TestTheTimeOfAnEffect checks that what an effect gets ends with the call's
// time, and says why.
func TestTheTimeOfAnEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		wait := tool.Module{Name: "lent", Funcs: []tool.Func{{Name: "wait", Kind: tool.Read,
			Do: func(ctx context.Context, _ tool.Effect, _ tool.Grant) (tool.Outcome, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return tool.Outcome{}, ctx.Err()
			}}}}
		r := newRig(t, func(o *host.Options) {
			o.Modules = append(o.Modules, wait)
			o.Sandbox = inline(o.Modules)
		})
		r.script("", "lent.wait()", "timeout = 3")
		_, err := r.call()
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Timeout || e.Limit != value.LimitWall || !strings.Contains(e.Message(), "longer than 3s") {
			t.Errorf("error = %v, want the time of the call", err)
		}
		if e := value.ErrorOf(cause, value.Internal); e == nil || e.Limit != value.LimitWall {
			t.Errorf("the effect was told %v, want the time of the call", cause)
		}
	})
}

// TestTimesOfManyCalls checks that the questions of one call do not stop the
// clock of another, that they are put in parallel unless the program wants them
// one after the other, and that waiting for one's turn does not count.
func TestTimesOfManyCalls(t *testing.T) {
	t.Parallel()
	t.Run("parallel", func(t *testing.T) {
		timesOfManyCalls(t, func(a host.Approver) host.Approver { return a }, time.Hour)
	})
	t.Run("serial", func(t *testing.T) { timesOfManyCalls(t, host.Serial, 5*time.Hour) })
}

func timesOfManyCalls(t *testing.T, how func(host.Approver) host.Approver, want time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *host.Options) { o.Approver = how(host.ApproverFunc(slow)) })
		r.add("t.star", star("t", "n: int", "time.sleep(5)\nfs.write('f%d' % n, 'x')", "timeout = 10, needs = ['fs.write']"), nil)
		r.add("late.star", star("late", "", "time.sleep(60)", "timeout = 10"), nil)
		var wait sync.WaitGroup
		start := time.Now()
		for n := range 5 {
			wait.Go(func() {
				if _, err := r.byModel("t", "n", int64(n)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Go(func() {
			if _, err := r.byModel("late"); err == nil || value.KindOf(err) != value.Timeout || time.Since(start) != 10*time.Second {
				t.Errorf("late: %v after %v, want a timeout after 10 s", err, time.Since(start))
			}
		})
		wait.Wait()
		if took := time.Since(start); took != want+5*time.Second {
			t.Errorf("five questions took %v, want %v and five seconds", took, want)
		}
	})
}
