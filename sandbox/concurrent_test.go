package sandbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// poolIsQuiet checks that nothing is left of calls that are over: nobody
// computes or waits, and every worker idles.
func poolIsQuiet(t testing.TB, box *sandbox.Process) {
	t.Helper()
	box.WaitForSpare()
	got := box.State()
	want := sandbox.PoolState{Idle: got.Idle, Alive: got.Idle, Counted: got.Idle}
	if got != want {
		t.Errorf("the pool holds %+v, want %+v", got, want)
	}
}

// script makes a script of a function f() whose body this is.
func script(name, body string) tool.Script {
	return tool.Script{Path: name + ".star", Source: "def f(value = None):\n    \"F.\"\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n\ntool(f)\n"}
}

// The bodies of scripts that do a thing each.
const (
	spins     = "return [all(range(1, (1 << 31) - 1)) for _ in range(1000)]"
	swells    = "return len([0] * ((1 << 30) - 1))"
	computes  = "x = 0\nfor i in range(20000): x += i\nreturn x"
	asksOften = "for i in range(50): value = world.ask(value)\nreturn value"
	replies   = "return 'x' * 500000"
)

// TestR41Neighbours runs bombs of 8 tools at once, 64 of them in a soak: each ends by a
// limit, and a tool that has nothing to do with them goes on giving the right answer.
func TestR41Neighbours(t *testing.T) {
	box := newProcess(t, nil, world)
	nextCallIsRight(t, box)
	before := residentMB(t)
	var bombs sync.WaitGroup
	for i := range testutil.Times(16, 64) {
		body, want := spins, "cpu"
		if i%2 == 1 {
			body, want = swells, "memory"
		}
		s := script(fmt.Sprintf("bomb%d", i%8), body)
		bombs.Go(func() {
			_, err := box.Run(context.Background(), s, tool.Call{Limits: tool.Limits{CPU: time.Duration(testutil.Times(20, 100)) * time.Millisecond}}, nil)
			if e := value.ErrorOf(err, value.Internal); e == nil || string(e.Limit) != want {
				t.Errorf("%s ended by %v, want the limit %s", s.Path, err, want)
			}
		})
	}
	over := make(chan struct{})
	go func() { bombs.Wait(); close(over) }()
	calls := 0
	for going := true; going; calls++ {
		nextCallIsRight(t, box)
		if !testutil.Soak() {
			time.Sleep(5 * time.Millisecond) // it need not compute all the time
		}
		select {
		case <-over:
			going = false
		default:
		}
	}
	if calls < 10 {
		t.Errorf("the neighbour was called %d times meanwhile, want more", calls)
	}
	if grown := residentMB(t) - before; grown > 64 {
		t.Errorf("the host has grown by %d MB, want at most 64", grown)
	}
	poolIsQuiet(t, box)
}

// TestCancelStorm ends calls at any instant: while they wait, start, compute,
// ask for something or reply. Those that nobody ends must not notice.
func TestCancelStorm(t *testing.T) {
	calls := testutil.Times(160, 1500)
	box := newProcess(t, &sandbox.Options{Running: 3, Workers: sandbox.Workers{PerTool: 1}}, world)
	bodies := []string{"return value", spins, computes, asksOften, replies, "return world.ask('wait')"}
	one := func(rnd *rand.Rand) {
		which := rnd.IntN(len(bodies))
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(time.Duration(rnd.IntN(8000))*time.Microsecond, cancel)
		defer timer.Stop()
		defer cancel()
		var over atomic.Bool
		_, err := box.Run(ctx, script(fmt.Sprintf("f%d", which), bodies[which]), tool.Call{Args: value.NewDict("value", "x")}, func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
			if over.Load() {
				t.Error("an effect was served after its call had returned")
			}
			what, _ := e.Args.Get("what")
			if what == "wait" {
				<-ctx.Done()
			}
			return tool.Outcome{Value: what}, nil
		})
		over.Store(true)
		if err != nil && value.KindOf(err) != value.Canceled {
			t.Errorf("a cancelled call gave %v of kind %s", err, value.KindOf(err))
		}
		if which == 5 && err == nil {
			t.Error("a call that waits for its end has succeeded")
		}
	}
	var all sync.WaitGroup
	for seed := range 8 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(seed), 0))
			for range calls / 8 {
				one(rnd)
				s := script("f0", bodies[0]) // the domain is that of calls which are cancelled
				out, err := box.Run(context.Background(), s, tool.Call{Args: value.NewDict("value", "y")}, nil)
				if err != nil || out.Value != "y" {
					t.Errorf("a call that nobody cancelled gave %v, %v, want y", out.Value, err)
				}
			}
		})
	}
	all.Wait()
	poolIsQuiet(t, box)
}

// TestNoEffectAfterTheEnd cancels a call in its first effect: there is no second.
func TestNoEffectAfterTheEnd(t *testing.T) {
	box := newProcess(t, nil, world)
	for range testutil.Times(10, 50) {
		ctx, cancel := context.WithCancel(context.Background())
		served := 0
		_, err := box.Run(ctx, script("f", asksOften), tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
			served++
			cancel()
			return tool.Outcome{}, nil
		})
		if err == nil || value.KindOf(err) != value.Canceled || served != 1 {
			t.Errorf("%v after %d effects, want cancelled after one", err, served)
		}
	}
	poolIsQuiet(t, box)
}

// TestCloseInTheMiddle closes a sandbox whose calls are at any point.
func TestCloseInTheMiddle(t *testing.T) {
	for round := range testutil.Times(5, 15) {
		box := newProcess(t, &sandbox.Options{Running: 2, Workers: sandbox.Workers{PerTool: 1}}, world)
		begun := make(chan struct{})
		var once sync.Once
		var do tool.Effector
		do = func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
			once.Do(func() { close(begun) })
			return box.Run(ctx, script("nested", "return 1"), tool.Call{}, do)
		}
		var all sync.WaitGroup
		for i := range 12 {
			s := script(fmt.Sprintf("f%d", i%4), []string{computes, asksOften, spins, replies}[i%4])
			all.Go(func() {
				for {
					_, err := box.Run(context.Background(), s, tool.Call{Limits: tool.Limits{CPU: 20 * time.Millisecond}}, do)
					e := value.ErrorOf(err, value.Internal)
					if e != nil && e.Kind == value.Canceled {
						return
					}
					if e != nil && e.Limit != value.LimitCPU {
						t.Errorf("a call of a sandbox that is closed meanwhile gave %v of kind %s", e, e.Kind)
						return
					}
				}
			})
		}
		<-begun
		time.Sleep(time.Duration(round) * 7 * time.Millisecond) // another instant each time
		for range 2 {
			all.Go(func() { box.Close() })
		}
		all.Wait()
		box.Close()
		if got, want := box.State(), (sandbox.PoolState{}); got != want {
			t.Errorf("a closed pool holds %+v, want nothing", got)
		}
		if _, err := box.Run(context.Background(), echoScript, tool.Call{}, nil); err == nil || value.KindOf(err) != value.Canceled {
			t.Errorf("a call of a closed sandbox gave %v, want cancelled", err)
		}
	}
}

// TestNested has calls make calls, of their own script and of others, eight deep
// and in a soak sixteen, where one may compute at a time.
func TestNested(t *testing.T) {
	deep := testutil.Times(8, 16)
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict %v", strict), func(t *testing.T) {
			box := newProcess(t, &sandbox.Options{Workers: sandbox.Workers{PerTool: 1}, Running: 1, Strict: strict}, world)
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			var call func(ctx context.Context, depth int64) (tool.Outcome, error)
			call = func(ctx context.Context, depth int64) (tool.Outcome, error) {
				s := script([]string{"own", "own", "other"}[depth%3], "return 1 if value == 0 else 1 + world.ask(value - 1)")
				return box.Run(ctx, s, tool.Call{Args: value.NewDict("value", depth)}, func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
					next, _ := e.Args.Get("what")
					return call(ctx, next.(int64))
				})
			}
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					out, err := call(ctx, int64(deep-1))
					if err != nil || out.Value != int64(deep) {
						t.Errorf("nested calls gave %v, %v, want %d", out.Value, err, deep)
					}
				})
			}
			all.Wait()
			poolIsQuiet(t, box)
		})
	}
}

// TestNestedFailure ends the innermost call by a limit, and by a cancellation
// while all the others wait for it.
func TestNestedFailure(t *testing.T) {
	box := newProcess(t, &sandbox.Options{Workers: sandbox.Workers{PerTool: 1}, Running: 1}, world)
	for _, innermost := range []string{swells, spins, "return world.ask('cancel')", "fail('no')"} {
		ctx, cancel := context.WithCancel(context.Background())
		var call func(ctx context.Context, depth int) (tool.Outcome, error)
		call = func(ctx context.Context, depth int) (tool.Outcome, error) {
			body := "return world.ask('more')"
			if depth == 0 {
				body = innermost
			}
			return box.Run(ctx, script("f", body), tool.Call{Limits: tool.Limits{CPU: 50 * time.Millisecond}}, func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
				if what, _ := e.Args.Get("what"); what == "cancel" {
					cancel()
					return tool.Outcome{}, nil
				}
				return call(ctx, depth-1)
			})
		}
		_, err := call(ctx, 5)
		want := map[string]value.Kind{swells: value.Limit, spins: value.Limit, "fail('no')": value.Failed}
		kind, ok := want[innermost]
		if !ok {
			kind = value.Canceled
		}
		if err == nil || value.KindOf(err) != kind {
			t.Errorf("%q at the bottom gave %v, want %s", innermost, err, kind)
		}
		cancel()
		poolIsQuiet(t, box)
		nextCallIsRight(t, box)
	}
}

// TestStrictSharesNothing checks that no process is used twice.
func TestStrictSharesNothing(t *testing.T) {
	box := newProcess(t, &sandbox.Options{Strict: true}, world)
	seen := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	calls := testutil.Times(12, 30)
	for range 3 {
		all.Go(func() {
			for range calls / 3 {
				out, err := box.Run(context.Background(), script("f", asksOften), tool.Call{Args: value.NewDict("value", "x")}, func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
					what, _ := e.Args.Get("what")
					return tool.Outcome{Value: what}, nil
				})
				if err != nil || out.Value != "x" {
					t.Errorf("a strict call gave %v, %v, want x", out.Value, err)
				}
				mu.Lock()
				for _, pid := range box.Workers() {
					seen[pid]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	poolIsQuiet(t, box)
	if got := box.State(); got.Idle > 1 {
		t.Errorf("%d workers idle, want the spare at most", got.Idle)
	}
	if len(seen) < calls/3 {
		t.Errorf("%d processes were seen in %d calls, want one for each", len(seen), calls)
	}
}

// TestThreadsThatEnd ends threads of the program, as a goroutine does that has
// locked its own: no worker may end with them.
func TestThreadsThatEnd(t *testing.T) {
	box := newProcess(t, nil, world)
	for range 10 {
		_, err := box.Run(context.Background(), script("f", "return world.ask(1)"), tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { runtime.LockOSThread() })
			}
			all.Wait()
			return tool.Outcome{}, nil
		})
		if err != nil {
			t.Fatalf("a worker ended with a thread: %v", err)
		}
	}
}

// TestEffectThatPanics checks that a program which survives the panic of its
// own effect has lost no worker and no turn.
func TestEffectThatPanics(t *testing.T) {
	box := newProcess(t, &sandbox.Options{Workers: sandbox.Workers{PerTool: 1}, Running: 1}, world)
	for _, how := range []func(){func() { panic("oops") }, runtime.Goexit} {
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer func() { _ = recover() }()
			_, err := box.Run(context.Background(), script("f", "return world.ask(1)"), tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
				how()
				return tool.Outcome{}, nil
			})
			t.Errorf("the call returned %v", err)
		}()
		<-over
		poolIsQuiet(t, box)
		nextCallIsRight(t, box)
	}
}

// TestTooManyAlive checks that calls which wait for the host cannot make more
// and more processes: the next one waits, but for one that they make themselves.
func TestTooManyAlive(t *testing.T) {
	const most = 4
	box := newProcess(t, &sandbox.Options{Workers: sandbox.Workers{Max: most}}, world)
	for i := range most { // workers that idle make room
		if _, err := box.Run(context.Background(), script(fmt.Sprintf("idle%d", i), "return 1"), tool.Call{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	box.WaitForSpare()
	release, inside := make(chan context.Context), make(chan context.Context)
	var all sync.WaitGroup
	for i := range most {
		all.Go(func() {
			_, err := box.Run(context.Background(), script(fmt.Sprintf("f%d", i), "return world.ask(1)"), tool.Call{}, func(ctx context.Context, _ tool.Effect) (tool.Outcome, error) {
				inside <- ctx
				<-release
				return tool.Outcome{}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	var within context.Context
	for range most {
		within = <-inside
	}
	busy := func(what string, err error) {
		t.Helper()
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Busy || e.Limit != value.LimitQueue || e.Hint == "" {
			t.Errorf("%s gave %v, want it busy by the limit queue, with a hint", what, err)
		}
	}
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := box.Run(short, script("f5", "return 1"), tool.Call{}, nil)
	busy("one more", err)
	waits := make(chan error)
	go func() {
		_, err := box.Run(context.Background(), script("f6", "return 1"), tool.Call{}, nil)
		waits <- err
	}()
	// Those that are made by a call do not wait, up to twice as many.
	var nested func(ctx context.Context, n int) error
	nested = func(ctx context.Context, n int) error {
		_, err := box.Run(ctx, script(fmt.Sprintf("nested%d", n), "return world.ask(1)"), tool.Call{}, func(ctx context.Context, _ tool.Effect) (tool.Outcome, error) {
			if got := len(box.Workers()); got != most+n {
				t.Errorf("in nested call number %d there are %d workers, want %d", n, got, most+n)
			}
			return tool.Outcome{}, nested(ctx, n+1)
		})
		return err
	}
	busy("call number 5 in each other", nested(within, 1))
	select {
	case err := <-waits:
		t.Errorf("a call for which there is no worker has ended: %v", err)
	default:
	}
	close(release)
	if err := <-waits; err != nil {
		t.Errorf("the call that waited gave %v", err)
	}
	all.Wait()
	poolIsQuiet(t, box)
	nextCallIsRight(t, box)
}

// waits runs a script of its own name that waits in an effect until it is released.
func waits(t testing.TB, box *sandbox.Process, name string, inside *sync.WaitGroup, release <-chan struct{}) {
	_, err := box.Run(context.Background(), script(name, "return world.ask(1)"), tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
		inside.Done()
		<-release
		return tool.Outcome{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestIdleWorkersEnd checks that many workers are kept for a while, and few for long.
func TestIdleWorkersEnd(t *testing.T) {
	const many, few = 6, 2
	box := newProcess(t, &sandbox.Options{Workers: sandbox.Workers{Idle: few, IdleTime: time.Second}}, world)
	burst := func() {
		release := make(chan struct{})
		var inside, all sync.WaitGroup
		inside.Add(many)
		for range many {
			all.Go(func() { waits(t, box, "f", &inside, release) })
		}
		inside.Wait()
		close(release)
		all.Wait()
	}
	burst()
	first := box.Workers()
	burst() // meets them
	if got := box.State().Idle; got < many {
		t.Errorf("%d workers idle, want the %d that were used", got, many)
	}
	kept := 0
	for _, pid := range box.Workers() {
		if slices.Contains(first, pid) {
			kept++
		}
	}
	if kept < many {
		t.Errorf("the second burst met %d workers of the first, want %d", kept, many)
	}
	eventually(t, "few workers idle", func() bool { // the spare is one
		return box.State().Idle <= few+1 && len(box.Workers()) <= few+1
	})
}

// TestQueueIsBounded checks that who comes when too many wait is told so.
func TestQueueIsBounded(t *testing.T) {
	box := newProcess(t, &sandbox.Options{Workers: sandbox.Workers{PerTool: 1}, Running: 1}, world)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _, _ = box.Run(ctx, script("f", spins), tool.Call{Limits: tool.Limits{CPU: time.Hour}}, nil) })
	eventually(t, "one computes", func() bool { return box.State().Running > 0 })
	var full atomic.Int32
	for range 400 {
		all.Go(func() {
			_, err := box.Run(ctx, echoScript, tool.Call{Args: value.NewDict("value", "x")}, nil)
			e := value.ErrorOf(err, value.Internal)
			if e != nil && e.Limit == value.LimitQueue {
				full.Add(1)
			} else if e != nil && e.Kind != value.Canceled {
				t.Error(e)
			}
			if full.Load() >= 100 {
				cancel()
			}
		})
	}
	all.Wait()
	cancel()
	poolIsQuiet(t, box)
	nextCallIsRight(t, box)
}

// TestLongAnswersAreNotKept checks that workers which idle keep nothing in the
// host of what they said.
func TestLongAnswersAreNotKept(t *testing.T) {
	box := newProcess(t, nil, world)
	nextCallIsRight(t, box)
	before := heapMB()
	for i := range 16 {
		_, err := box.Run(context.Background(), script(fmt.Sprintf("f%d", i), "return 'x' * 8000000"), tool.Call{}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	if grown := heapMB() - before; grown > 8 {
		t.Errorf("the host keeps %d MB, want at most 8", grown)
	}
}

// heapMB is what the Go heap holds that is in use.
func heapMB() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// TestOverIsOver has scripts go on after what ends them: none gets an effect
// more, and none is taken for an attack.
func TestOverIsOver(t *testing.T) {
	limit := func(name value.LimitName) error {
		e := value.Errorf(value.Limit, "too much")
		e.Limit = name
		return e
	}
	long := strings.Repeat("x", 7<<20)
	for _, script := range []tool.Script{
		{Path: "f.star", Source: "def f():\n    for i in range(100):\n        print(i)\n\ntool(f)\n"},
		{Path: "f.lua", Source: "return tool{description = \"F.\", handler = function() for i = 1, 100 do pcall(world.ask, 1) pcall(print, 1) end end}\n"},
	} {
		for name, end := range map[string]error{
			"canceled": value.Errorf(value.Canceled, "no more"), "timeout": value.Errorf(value.Timeout, "no more"),
			"effects": limit("effects"), "traffic": limit("traffic"), "long replies": nil,
		} {
			t.Run(script.Path+" "+name, func(t *testing.T) {
				box := newProcess(t, nil, world, tool.Module{Funcs: []tool.Func{{Name: "log", Kind: tool.Notice, Params: []tool.Param{{Name: "message"}}}}})
				sandbox.LimitSupply(box, 32<<20)
				asked := 0
				_, err := box.Run(context.Background(), script, tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
					asked++
					return tool.Outcome{Value: long}, end
				})
				if err == nil || value.KindOf(err) == value.Security {
					t.Errorf("the call gave %v, want what ended it", err)
				}
				if end != nil && asked != 1 || asked < 1 || asked > 6 {
					t.Errorf("%d effects were asked for, want one, or a few where the replies are what is too much", asked)
				}
				poolIsQuiet(t, box)
			})
		}
	}
}

// TestASlowEffectIsNotTheEnd checks that a script may catch that one effect took
// too long, and go on: its worker is an honest one.
func TestASlowEffectIsNotTheEnd(t *testing.T) {
	box := newProcess(t, nil, world)
	s := tool.Script{Path: "f.lua", Source: "return tool{description = \"F.\", handler = function() pcall(world.ask, 1) return world.ask(2) end}\n"}
	asked := 0
	out, err := box.Run(context.Background(), s, tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
		if asked++; asked == 1 {
			slow := value.Errorf(value.Timeout, "the server was too slow")
			slow.Limit = value.LimitHTTP
			return tool.Outcome{}, slow
		}
		return tool.Outcome{Value: "answer"}, nil
	})
	if err != nil || out.Value != "answer" {
		t.Errorf("after a slow effect: %v, %v, want an answer", out.Value, err)
	}
}
