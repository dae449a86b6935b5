package cassidy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A part is what a program gives a host and a script comes to use: do is what the
// part does.
type part struct {
	name, needs, body string
	give              func(o *cassidy.Options, do func(ctx context.Context) error)
}

func parts() []part {
	answer := func(do func(context.Context) error) func(ctx context.Context, _ cassidy.Question) (cassidy.Answer, error) {
		return func(ctx context.Context, _ cassidy.Question) (cassidy.Answer, error) {
			return cassidy.Answer{}, do(ctx)
		}
	}
	lookup := func(do func(context.Context) error) func(ctx context.Context, _ string) (string, error) {
		return func(ctx context.Context, _ string) (string, error) { return "", do(ctx) }
	}
	rule := func(v cassidy.Verdict, name, target string) []cassidy.Rule {
		return []cassidy.Rule{{Verdict: v, Capability: cassidy.Capability{Name: name, Target: target}}}
	}
	return []part{
		{"Approver", `"env:HOME"`, `return env.get("HOME")`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Approver, o.Rules = cassidy.ApproverFunc(answer(do)), rule(cassidy.Ask, "env", "HOME")
		}},
		{"serial Approver", `"env:HOME"`, `return env.get("HOME")`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Approver, o.Rules = cassidy.Serial(cassidy.ApproverFunc(answer(do))), rule(cassidy.Ask, "env", "HOME")
		}},
		{"Asker", `"human"`, `return human.ask("Who?")`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Asker = cassidy.AskerFunc(answer(do))
		}},
		{"Env", `"env:HOME"`, `return env.get("HOME")`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Env, o.Rules = lookup(do), rule(cassidy.Allow, "env", "HOME")
		}},
		{"Secrets", `"secret:A@example.com"`, `return secret("A")`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Secrets, o.Rules = lookup(do), rule(cassidy.Allow, "secret", "A@example.com")
		}},
		{"HTTP", `"http.get:example.com"`, `return http.get("http://example.com/")["text"]`, func(o *cassidy.Options, do func(context.Context) error) {
			o.HTTP = func(http.RoundTripper) http.RoundTripper {
				return transport(func(r *http.Request) (*http.Response, error) { return nil, do(r.Context()) })
			}
			o.Rules = rule(cassidy.Allow, "http.get", "")
		}},
		{"body of HTTP", `"http.get:example.com"`, `return http.get("http://example.com/")["text"]`, func(o *cassidy.Options, do func(context.Context) error) {
			o.HTTP = func(http.RoundTripper) http.RoundTripper {
				return transport(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Body: io.NopCloser(reader(func([]byte) (int, error) { return 0, cmp.Or(do(r.Context()), io.EOF) }))}, nil
				})
			}
			o.Rules = rule(cassidy.Allow, "http.get", "")
		}},
		{"Executor", `"env:HOME"`, `return env.get("HOME")`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Executor = func(ctx context.Context, _ *cassidy.Func, _ cassidy.Effect, _ cassidy.Grant) (cassidy.Outcome, error) {
				return cassidy.Outcome{}, do(ctx)
			}
			o.Rules = rule(cassidy.Allow, "env", "HOME")
		}},
		{"Modules", `"use:stock"`, `return stock.read()`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Modules = []cassidy.Module{{Name: "stock", Funcs: []cassidy.Func{{
				Name: "read", Kind: cassidy.Read,
				Target: func(*cassidy.Dict) ([]cassidy.Capability, error) {
					return []cassidy.Capability{{Name: "use", Target: "stock"}}, nil
				},
				Do: func(ctx context.Context, _ cassidy.Effect, _ cassidy.Grant) (cassidy.Outcome, error) {
					return cassidy.Outcome{}, do(ctx)
				},
			}}}}
		}},
		{"Middleware", ``, `return 1`, func(o *cassidy.Options, do func(context.Context) error) {
			o.Middleware = []cassidy.Middleware{func(cassidy.CallFunc) cassidy.CallFunc {
				return func(ctx context.Context, _ *cassidy.Call) (cassidy.Result, error) { return cassidy.Result{}, do(ctx) }
			}}
		}},
	}
}

// A reader is a function as an [io.Reader].
type reader func([]byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }

// openWith opens a host whose tool t uses a part, and whose tool ok uses none.
func (p part) open(t *testing.T, r *cassidy.Runtime, do func(ctx context.Context) error) *cassidy.Host {
	t.Helper()
	o := &cassidy.Options{TrustSource: true, NoBuiltins: true, Timeout: 2 * time.Second}
	p.give(o, do)
	return openIn(t, r, cassidy.Scripts(map[string]string{"t.star": starTool("t", p.body, p.needs)}), o)
}

// TestPartsThatPanic checks that a part of the program that panics fails the call, and
// nothing else, whether it is recorded or not.
func TestPartsThatPanic(t *testing.T) {
	t.Parallel()
	for _, p := range parts() {
		r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: journal.Memory()})
		panics := true
		h := p.open(t, r, func(context.Context) error {
			if panics {
				panic("oh")
			}
			return errors.New("no longer")
		})
		events := h.Subscribe(t.Context(), cassidy.EventFilter{})
		for _, opts := range [][]cassidy.CallOption{nil, {cassidy.Durable("r")}} {
			_, err := callOf(t, h, "t", opts...)
			if err == nil || errors.Is(err, cassidy.ErrParked) {
				t.Errorf("%s: the call gave %v", p.name, err)
			}
			if kind := value.KindOf(err); kind != value.Internal {
				t.Errorf("%s: the error %v is of kind %s", p.name, err, kind)
			}
		}
		panics = false
		if _, err := callOf(t, h, "t"); err == nil || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s: the next call gave %v", p.name, err)
		}
		if err := h.Close(); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		open := 0
		for e := range events {
			switch e.Data.(type) {
			case cassidy.ToolCallStart:
				open++
			case cassidy.ToolCallEnd:
				open--
			}
		}
		if open != 0 {
			t.Errorf("%s: %d calls have no end", p.name, open)
		}
	}
}

// TestPartsThatBlock checks that a call whose part ignores its context does not take
// longer than it may, that the end of a caller ends it, and that Close does.
func TestPartsThatBlock(t *testing.T) {
	for _, p := range parts() {
		if p.name == "Executor" || p.name == "Modules" || p.name == "Middleware" {
			continue // as a handler: the host waits for it
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: journal.Memory()})
			block, begun := make(chan none), make(chan none, 10)
			t.Cleanup(func() { close(block) })
			for name, end := range map[string]func(h *cassidy.Host, cancel func()){
				"the caller left": func(_ *cassidy.Host, cancel func()) { cancel() },
				"the host closes": func(h *cassidy.Host, _ func()) { h.Close() },
			} {
				for _, opts := range [][]cassidy.CallOption{nil, {cassidy.Durable("")}} {
					h := p.open(t, r, func(context.Context) error {
						begun <- none{}
						<-block
						return nil
					})
					ctx, cancel := context.WithCancel(context.Background())
					done := make(chan error, 1)
					go func() {
						_, err := h.Call(ctx, cassidy.Call{Tool: "t"}, opts...)
						done <- err
					}()
					<-begun
					end(h, cancel)
					select {
					case err := <-done:
						if !errors.Is(err, cassidy.ErrCanceled) && !errors.Is(err, cassidy.ErrClosed) {
							t.Errorf("%s: the call gave %v", name, err)
						}
					case <-time.After(2 * time.Minute):
						t.Errorf("%s: the call does not end", name)
					}
					cancel()
				}
			}
		})
	}
}

// TestApproversAreCalledConcurrently checks that as many questions are put at a time as
// there are calls, and one where the Approver is serial.
func TestApproversAreCalledConcurrently(t *testing.T) {
	t.Parallel()
	const calls = 5
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	var mu sync.Mutex
	now, most := 0, 0
	all := make(chan none)
	approver := func(wait bool) cassidy.Approver {
		return cassidy.ApproverFunc(func(ctx context.Context, _ cassidy.Question) (cassidy.Answer, error) {
			mu.Lock()
			now++
			most = max(most, now)
			if now == calls {
				close(all)
			}
			mu.Unlock()
			if wait {
				<-all
			}
			mu.Lock()
			now--
			mu.Unlock()
			return cassidy.Answer{Yes: true}, nil
		})
	}
	for want, a := range map[int]cassidy.Approver{calls: approver(true), 1: cassidy.Serial(approver(false))} {
		mu.Lock()
		most = 0
		mu.Unlock()
		h := openIn(t, r, cassidy.Source{}, &cassidy.Options{Approver: a})
		err := cassidy.AddTool(h, cassidy.Tool{Name: "risky", Description: "Do it.", Risky: true}, func(context.Context, none) (none, error) { return none{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range calls {
			group.Go(func() {
				if _, err := callOf(t, h, "risky"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if most != want {
			t.Errorf("%d questions were put at a time, want %d", most, want)
		}
	}
}

// TestSwapUnderLoad swaps to other sources and to broken ones while calls are made: no
// call fails, and none sees two sources.
func TestSwapUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, nil)
	source := func(n int) cassidy.Source {
		files := map[string]string{
			"inner.star": starTool("inner", fmt.Sprint("return ", n), ""),
			"outer.star": starTool("outer", fmt.Sprintf("return tools.inner() == %d and tools.inner() == %d", n, n), `"tool"`),
		}
		if n%2 == 1 {
			files["zz.star"] = "def broken("
		}
		return cassidy.Scripts(files)
	}
	h := openIn(t, r, source(0), &cassidy.Options{TrustSource: true, NoBuiltins: true})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				if v, err := callOf(t, h, "outer"); v != true || err != nil {
					t.Errorf("a call gave %v, %v", v, err)
					return
				}
			}
		})
	}
	for n := range 20 {
		err := h.Swap(context.Background(), source(n))
		if broken := n%2 == 1; broken != errors.Is(err, cassidy.ErrInvalid) || !broken && err != nil {
			t.Errorf("swap %d gave %v", n, err)
		}
		if broken := h.Broken(); len(broken) != 0 {
			t.Errorf("after swap %d broken are %v", n, broken)
		}
	}
	cancel()
	all.Wait()
}
