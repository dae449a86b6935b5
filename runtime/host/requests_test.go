package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// requests carries out the effects of http as requests that are answered at once, and counts them.
func requests(sent *atomic.Int32) host.Executor {
	return func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if !strings.HasPrefix(e.Func, "http.") {
			return host.Execute(ctx, f, e, g)
		}
		if err := g.Request(); err != nil {
			return tool.Outcome{}, err
		}
		sent.Add(1)
		return tool.Outcome{Value: value.NewDict("status", int64(200))}, nil
	}
}

// TestRequestsOfACall checks how many HTTP requests a call may make, and what the error says that exceeds it.
func TestRequestsOfACall(t *testing.T) {
	t.Parallel()
	const one = `http.get("https://example.com/")`
	scripts := map[string]string{
		"t.star": "def t(n):\n    \"Do it.\"\n    for _ in range(n):\n        " + one + "\n\ntool(t, needs = ['http.get:example.com'], limits = {%s})\n",
		"t.lua":  "return tool{description = 'Do it.', params = {n = param('integer', 'n')}, needs = {'http.get:example.com'}, limits = {%s},\nhandler = function(args) for i = 1, args.n do " + one + " end end}\n",
		"t.md":   "---\ndescription: Do it.\nneeds: ['http.get:example.com']\nlimits: {%s}\n---\n```star\ndef t(n):\n    for _ in range(n):\n        " + one + "\n```\n",
	}
	for _, tt := range []struct {
		file, limits string
		o            host.Options
		most         int
		hint         string
	}{
		{file: "t.star", most: 20, hint: `make fewer requests in one call, or declare limits = {"requests": 100}`},
		{file: "t.star", limits: "'requests': 30", most: 30, hint: `make fewer requests in one call, or declare limits = {"requests": 150}`},
		{file: "t.star", limits: "'requests': 1", most: 1, hint: `make fewer requests in one call, or declare limits = {"requests": 5}`},
		{file: "t.star", limits: "'requests': 300", most: 300, hint: `make fewer requests in one call, or declare limits = {"requests": 1000}`},
		{file: "t.lua", most: 20, hint: `make fewer requests in one call, or declare limits = { requests = 100 }`},
		{file: "t.lua", limits: "requests = 30", most: 30, hint: `make fewer requests in one call, or declare limits = { requests = 150 }`},
		{file: "t.md", most: 20, hint: `make fewer requests in one call, or declare limits: {requests: 100}`},
		{file: "t.md", limits: "requests: 30", most: 30, hint: `make fewer requests in one call, or declare limits: {requests: 150}`},
		{file: "t.star", o: host.Options{Limits: tool.Limits{Requests: 3}}, most: 3, hint: `make fewer requests in one call, or declare limits = {"requests": 15}`},
		{file: "t.star", limits: "'requests': 30", o: host.Options{Limits: tool.Limits{Requests: 3}}, most: 30, hint: `make fewer requests in one call, or declare limits = {"requests": 150}`},
		{file: "t.star", limits: "'requests': 30", o: host.Options{MaxLimits: tool.Limits{Requests: 25}}, most: 25,
			hint: "make fewer requests in one call; to allow more: cassidy config set limits.requests 125; in Go, increase Options.MaxLimits.Requests"},
		{file: "t.star", o: host.Options{MaxLimits: tool.Limits{Requests: 25}}, most: 20, hint: `make fewer requests in one call, or declare limits = {"requests": 100}`},
	} {
		var sent atomic.Int32
		r := newRig(t, func(o *host.Options) {
			o.Limits, o.MaxLimits, o.Executor = tt.o.Limits, tt.o.MaxLimits, requests(&sent)
		})
		r.add(tt.file, fmt.Sprintf(scripts[tt.file], tt.limits), func(i *toolset.Info) { i.Path = tt.file })
		if _, err := r.call("n", int64(tt.most)); err != nil || int(sent.Load()) != tt.most {
			t.Errorf("%s with {%s}: %d requests: %v, and %d were made", tt.file, tt.limits, tt.most, err, sent.Load())
		}
		sent.Store(0)
		_, err := r.call("n", int64(tt.most+1))
		e := value.ErrorOf(err, value.Internal)
		if e == nil || e.Kind != value.Limit || !strings.Contains(e.Message(), fmt.Sprintf("at most %d requests", tt.most)) || e.Hint != tt.hint || int(sent.Load()) != tt.most {
			t.Errorf("%s with {%s}, %+v: %d requests: %v, hint %q, and %d were made; want the hint %q", tt.file, tt.limits, tt.o, tt.most+1, err, e.Hint, sent.Load(), tt.hint)
		}
	}
}

// TestRequestsOfOtherCalls checks that calls which a call makes have limits of their own, that a caught error does not
// help, and what workflows and tools in Go may do.
func TestRequestsOfOtherCalls(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	rigged := func() *rig {
		return newRig(t, func(o *host.Options) { o.Executor, o.Approver = requests(&sent), host.ApproveAll() })
	}
	const get = `http.get("https://example.com/")`
	needs := "needs = ['http.get:example.com', 'tool:a']"
	for _, tt := range []struct {
		name, body, says, hint string
		sent                   int32
	}{
		{name: "nested", body: "for _ in range(4): tools.a()\nfor _ in range(2): " + get, sent: 14},
		{name: "in parallel", body: "tools.call_all([('a', {})] * 4)\nfor _ in range(2): " + get, sent: 14},
		{name: "caught", body: "for _ in range(9): attempt(http.get, 'https://example.com/')\n" + get, says: "at most 2 requests", hint: `or declare limits = {"requests": 10}`, sent: 2},
	} {
		sent.Store(0)
		r := rigged()
		r.add("a.star", star("a", "", "for _ in range(3): "+get, needs+", limits = {'requests': 3}"), nil)
		r.add("t.star", star("t", "", tt.body, needs+", limits = {'requests': 2}"), nil)
		_, err := r.call()
		if e := value.ErrorOf(err, value.Internal); (err != nil) != (tt.says != "") || e != nil && (!strings.Contains(e.Message(), tt.says) || !strings.Contains(e.Hint, tt.hint)) || sent.Load() != tt.sent {
			t.Errorf("%s: %v, with %d requests, want %d", tt.name, err, sent.Load(), tt.sent)
		}
	}

	r := rigged()
	program := &host.Program{Name: "workflow w", Entry: "main", Needs: []tool.Capability{{Name: "http"}},
		Script: tool.Script{Path: "w.star", Source: "def main():\n    for _ in range(21): " + get + "\n"}}
	_, err := r.RunProgram(context.Background(), program)
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Limit || e.Hint != "make fewer requests in one call, or call a tool that makes them" {
		t.Errorf("a workflow with 21 requests: %v, want a limit and how to make more", err)
	}

	inGo := tool.Tool{Name: "ingo", Description: "Get.", OnlyCalls: true, Needs: []tool.Capability{{Name: "http"}}, Limits: tool.Limits{Requests: 2}}
	err = r.Register(inGo, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		for range 3 {
			if _, err := host.Do(ctx, "http.get", value.NewDict("url", "https://example.com/")); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Call(context.Background(), tool.Call{Tool: "ingo", Caller: tool.ByPerson})
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Limit || !strings.HasSuffix(e.Hint, "; in Go, increase Limits.Requests of the tool, for example to 10") {
		t.Errorf("a tool in Go: %v, want a limit and how to raise it", err)
	}
}

// TestRequestsOfAResumedCall checks that a resumed call counts the requests that earlier processes have made, with the
// limit of the call, or with that of its tool as it is now.
func TestRequestsOfAResumedCall(t *testing.T) { eachStore(t, testRequestsOfAResumedCall) }

func testRequestsOfAResumedCall(t *testing.T, on keeper) {
	const body = "for _ in range(3): http.get('https://example.com/')\nhuman.confirm('More?')\nfor _ in range(2): http.get('https://example.com/')"
	for _, tt := range []struct{ call, before, after, sent int }{
		{call: 4, before: 9, after: 9, sent: 4},
		{before: 4, after: 4, sent: 4},
		{before: 4, after: 5, sent: 5},
		{call: 5, before: 4, after: 4, sent: 5},
	} {
		m := headless(t, on)
		var sent atomic.Int32
		m.execute = requests(&sent)
		process := func(limit int) *process {
			p := m.process(0, false)
			p.add("work.star", star("work", "", body, fmt.Sprintf("needs = ['http.get:example.com', 'human'], limits = {'requests': %d}", limit)), nil)
			return p
		}
		p := process(tt.before)
		p.waiting(tool.Call{Tool: "work", Caller: tool.ByPerson, Limits: tool.Limits{Requests: tt.call}}, tool.Answer{Value: true})
		p.j.Close()
		p = process(tt.after)
		_, err := p.Resume(context.Background(), "r")
		if (err != nil) != (tt.sent < 5) || err != nil && value.KindOf(err) != value.Limit || int(sent.Load()) != tt.sent {
			t.Errorf("%+v: %v, with %d requests", tt, err, sent.Load())
		}
		p.j.Close()
	}
}
