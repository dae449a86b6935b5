package gate

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/events"
	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A stand is a gate without a host, and the only tool that it knows.
type stand struct {
	tool     *Callee // nil: there is none
	unusable error
	rules    []tool.Rule
	bounds   rights.Bounds
	args     *value.Dict // of the call
	answer   *tool.Answer
	effect   tool.Effect // that the tool asks for; none without a Func

	asked    int      // how often somebody was asked
	executed []string // the effects that were carried out
	called   bool
}

func (s *stand) Find(context.Context, string, tool.StepPath) (*Callee, tool.Runner, error) {
	if s.tool == nil {
		return nil, nil, value.Errorf(value.NotFound, "no such tool")
	}
	return s.tool, s.run, nil
}

func (s *stand) run(ctx context.Context, _ tool.Call, do tool.Effector) (out tool.Outcome, err error) {
	if s.called = true; s.effect.Func != "" {
		out, err = do(ctx, s.effect)
	}
	return out, err
}

func (s *stand) Lookup(context.Context, string) (*Callee, error)    { return s.tool, nil }
func (s *stand) List() []*Callee                                    { return []*Callee{s.tool} }
func (s *stand) Usable(context.Context, *Callee, tool.Runner) error { return s.unusable }
func (s *stand) Group(string) (string, bool)                        { return "", false }
func (s *stand) approve(context.Context, tool.Question) (tool.Answer, error) {
	s.asked++
	return *s.answer, nil
}

// call makes one call as the root of a run.
func (s *stand) call(t *testing.T) error {
	t.Helper()
	s.asked, s.executed, s.called = 0, nil, false
	now := &Settings{Rules: s.rules, Bounds: s.bounds}
	p := Parts{
		Execute: func(_ context.Context, _ *tool.Func, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			s.executed = append(s.executed, e.Func)
			return tool.Outcome{Value: "done"}, nil
		},
		Settings: func() *Settings { return now },
		Surroundings: Surroundings{
			Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Hub: &events.Hub{}, Inflight: &inflight.Group{},
		},
	}
	if s.answer != nil {
		p.Approve = s.approve
	}
	g := &Gate{}
	g.Open(p)
	send := tool.Func{Name: "send", Kind: tool.External, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
		return tool.Outcome{}, nil
	}, Target: func(args *value.Dict) ([]tool.Capability, error) {
		if args.Text("to") == "" {
			return nil, value.Errorf(value.Invalid, "nobody to send it to")
		}
		return []tool.Capability{{Name: "use", Target: "out"}}, nil
	}}
	if err := g.Effects.Provide(tool.Module{Name: "out", Funcs: []tool.Func{send}}); err != nil {
		t.Fatal(err)
	}
	_, err := g.NewRun("r", s, nil).Root(tool.Call{ID: "c", Tool: "t", Args: s.args}).Make(t.Context())
	return err
}

// A fault is one of several for which a call or an effect is refused.
type fault struct {
	kind value.Kind
	text string // in the error
	fix  func(s *stand)
}

// refusedFor checks that a call with many faults is refused for the first of them, then,
// without that, for the second, and so on, and that nothing was done before.
func (s *stand) refusedFor(t *testing.T, faults []fault, done func() bool) {
	t.Helper()
	for _, f := range faults {
		err := s.call(t)
		if value.KindOf(err) != f.kind || err == nil || !strings.Contains(err.Error(), f.text) {
			t.Errorf("refused with %v, want %v: %s", err, f.kind, f.text)
		}
		if done() {
			t.Errorf("it was done before it was refused: %s", f.text)
		}
		f.fix(s)
	}
	if err := s.call(t); err != nil || !done() {
		t.Errorf("without any fault: %v, done: %v", err, done())
	}
}

// TestOrderOfRefusalsOfACall checks for what a call is refused first, and that nobody is
// asked about a call that is refused anyway.
func TestOrderOfRefusalsOfACall(t *testing.T) {
	out := tool.Capability{Name: "use", Target: "out"}
	s := &stand{
		unusable: value.Errorf(value.Unavailable, "not usable here"),
		rules: []tool.Rule{
			{Verdict: tool.Deny, Capability: tool.Capability{Name: "tool", Target: "t"}},
			{Verdict: tool.Deny, Capability: out},
		},
		bounds: rights.Bounds{Timeout: time.Minute, TreeEffects: 100, RunEffects: 100},
		args:   value.NewDict("wrong", true),
	}
	no, yes := tool.Answer{}, tool.Answer{Yes: true}
	asked := 0
	s.refusedFor(t, []fault{
		{value.NotFound, "no such tool", func(s *stand) {
			s.tool = &Callee{Tool: &tool.Tool{Name: "t", Needs: []tool.Capability{out}}, Location: tool.Embedded, Refusal: value.Errorf(value.Denied, "not reviewed")}
		}},
		{value.Denied, "not reviewed", func(s *stand) { s.tool.Refusal = nil }},
		{value.Denied, "the call of 't' is refused by a rule", func(s *stand) { s.rules = s.rules[1:] }},
		{value.Denied, "the call of 't', which needs use:out, is refused by a rule", func(s *stand) { s.rules = nil }},
		{value.Unavailable, "not usable here", func(s *stand) { s.unusable = nil }},
		{value.Invalid, "wrong", func(s *stand) { s.args, asked = nil, s.asked }},
		{value.Denied, "needs approval", func(s *stand) { s.answer = &no }},
		{value.Denied, "was not approved", func(s *stand) { s.answer = &yes }},
	}, func() bool { return s.called })
	if asked != 0 || s.asked != 1 {
		t.Errorf("somebody was asked %d times about a call that is refused anyway, and %d times about one that is not", asked, s.asked)
	}
}

// TestOrderOfRefusalsOfAnEffect checks for what an effect is refused first, and that
// nobody is asked about one that is refused anyway.
func TestOrderOfRefusalsOfAnEffect(t *testing.T) {
	out := []tool.Capability{{Name: "use", Target: "out"}}
	s := &stand{
		tool:   &Callee{Tool: &tool.Tool{Name: "t"}, Location: tool.Project},
		rules:  []tool.Rule{{Verdict: tool.Ask, Capability: out[0]}, {Verdict: tool.Deny, Capability: out[0]}},
		bounds: rights.Bounds{Timeout: time.Minute},
		effect: tool.Effect{Func: "out.receive", Args: &value.Dict{}, StepPath: tool.StepPath{1}},
	}
	no, yes := tool.Answer{}, tool.Answer{Yes: true}
	s.refusedFor(t, []fault{
		{value.Limit, "more than 0 effects", func(s *stand) { s.bounds.TreeEffects, s.bounds.RunEffects = 1, 1 }},
		{value.Denied, "unknown effect out.receive", func(s *stand) { s.effect.Func = "out.send" }},
		{value.Invalid, "nobody to send it to", func(s *stand) { s.effect.Args = value.NewDict("to", "Ann") }},
		{value.Denied, "does not declare that it needs use:out", func(s *stand) { s.tool.Needs = out }},
		{value.Denied, "was not granted use:out", func(s *stand) { s.tool.Granted = out }},
		{value.Denied, "use:out is refused by a rule", func(s *stand) { s.rules = s.rules[:1] }},
		{value.Denied, "needs approval for out.send", func(s *stand) { s.answer = &no }},
		{value.Denied, "out.send of 't' was not approved", func(s *stand) { s.answer = &yes }},
	}, func() bool { return len(s.executed) > 0 })
	if s.asked != 1 {
		t.Errorf("somebody was asked %d times, want once", s.asked)
	}
}

// TestAsksBeforeItIsUsed checks that an effect without a rule about it is asked about if
// its function asks, and one that a rule allows is not.
func TestAsksBeforeItIsUsed(t *testing.T) {
	out := []tool.Capability{{Name: "use", Target: "out"}}
	s := &stand{
		tool:   &Callee{Tool: &tool.Tool{Name: "t", Needs: out}, Location: tool.Project, Granted: out},
		bounds: rights.Bounds{Timeout: time.Minute, TreeEffects: 1, RunEffects: 1},
		effect: tool.Effect{Func: "out.send", Args: value.NewDict("to", "Ann"), StepPath: tool.StepPath{1}},
		answer: &tool.Answer{Yes: true},
	}
	if err := s.call(t); err != nil || s.asked != 1 || len(s.executed) != 1 {
		t.Errorf("without a rule: %v, asked %d times, executed %v", err, s.asked, s.executed)
	}
	s.rules = []tool.Rule{{Verdict: tool.Allow, Capability: out[0]}}
	if err := s.call(t); err != nil || s.asked != 0 || len(s.executed) != 1 {
		t.Errorf("where a rule allows it: %v, asked %d times, executed %v", err, s.asked, s.executed)
	}
}
