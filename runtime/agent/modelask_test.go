package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An oracle is a model that keeps what it was asked, and says one thing.
type oracle struct {
	asked *model.Request
	reply *model.Reply
	err   error
}

func (o *oracle) Name() string { return "oracle" }
func (o *oracle) Native() bool { return true }

func (o *oracle) Ask(_ context.Context, r *model.Request) (*model.Reply, error) {
	o.asked = r
	return o.reply, o.err
}

func (o *oracle) open(context.Context) (model.Model, error) { return o, nil }

// askModel carries out model.ask, and returns the events that it told.
func askModel(t *testing.T, open func(context.Context) (model.Model, error), args ...value.Value) (value.Value, []tool.Report, error) {
	t.Helper()
	f := agent.ModelModule(open).Funcs[0]
	bound, err := f.Bind(nil, value.NewDict(args...))
	if err != nil {
		t.Fatal(err)
	}
	var told []tool.Report
	grant := tool.Grant{Call: tool.Call{ID: "c1", Tool: "t1"}, Emit: func(r tool.Report) { told = append(told, r) }}
	out, err := f.Do(context.Background(), tool.Effect{Func: "model.ask", Args: bound}, grant)
	return out.Value, told, err
}

func TestModelAsk(t *testing.T) {
	t.Parallel()
	o := &oracle{reply: &model.Reply{Text: "42\n", Stop: model.StopEnd, Usage: model.Usage{InputTokens: 7, OutputTokens: 2}}}
	got, told, err := askModel(t, o.open, "prompt", "the answer?", "system", "Be brief.")
	if err != nil || got != "42\n" {
		t.Errorf("model.ask = %q, %v, want what the model said", got, err)
	}
	want := &model.Request{System: "Be brief.", Messages: []model.Message{{Role: model.User, Text: "the answer?"}}}
	if diff := cmp.Diff(want, o.asked); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
	reports := []tool.Report{
		tool.ModelAsk{Iteration: 1, Messages: 1, Tokens: tool.EstimateTokens("Be brief.") + tool.EstimateTokens("the answer?")},
		tool.ModelReply{Iteration: 1, Text: "42\n", InputTokens: 7, OutputTokens: 2},
	}
	if diff := cmp.Diff(reports, told); diff != "" {
		t.Errorf("it reported (-want +got):\n%s", diff)
	}
	out, err := agent.ModelModule(o.open).Funcs[0].Do(context.Background(), tool.Effect{Args: value.NewDict("prompt", "?", "system", "")}, tool.Grant{})
	if err != nil || out.Value != "42\n" || o.asked.System != "" {
		t.Errorf("model.ask with nobody to tell = %v, %v, and the system was %q", out.Value, err, o.asked.System)
	}
}

// TestModelAskSettings checks the settings of a request: those of the call, else those of the run.
func TestModelAskSettings(t *testing.T) {
	t.Parallel()
	h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline}, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o := &oracle{reply: &model.Reply{Text: "42"}}
	f := agent.ModelModule(o.open).Funcs[0]
	ask := func(settings *value.Dict, args ...value.Value) error {
		p := &host.Program{Recording: host.Recording{Options: settings}}
		ctx, _, err := agent.Metered(t.Context(), h, p, agent.Ceilings{})
		if err != nil {
			return err
		}
		bound, err := f.Bind(nil, value.NewDict(append(args, "prompt", "?")...))
		if err != nil {
			return err
		}
		_, err = f.Do(ctx, tool.Effect{Func: "model.ask", Args: bound}, tool.Grant{})
		return err
	}
	none, warm, hot := (*float64)(nil), 0.5, 1.0
	run := value.NewDict("effort", "low", "max_tokens", int64(100), "temperature", 0.5)
	for _, tt := range []struct {
		settings *value.Dict
		args     []value.Value
		want     []any
	}{
		{&value.Dict{}, nil, []any{"", 0, none}},
		{run, nil, []any{"low", 100, &warm}},
		{run, []value.Value{"effort", "high", "max_output_tokens", int64(7), "temperature", int64(1)}, []any{"high", 7, &hot}},
		{&value.Dict{}, []value.Value{"effort", "max", "temperature", 0.5}, []any{"max", 0, &warm}},
	} {
		if err := ask(tt.settings, tt.args...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, []any{o.asked.Effort, o.asked.MaxTokens, o.asked.Temperature}); diff != "" {
			t.Errorf("model.ask(%v) in a run with %v (-want +got):\n%s", tt.args, tt.settings, diff)
		}
	}
	for want, args := range map[string][]value.Value{
		`unknown effort "hihg"`: {"effort", "hihg"}, "from 0 to 2": {"temperature", 7.0}, "positive number of tokens": {"max_output_tokens", int64(-1)},
	} {
		if err := ask(&value.Dict{}, args...); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("model.ask(%v) = %v, want %q", args, err, want)
		}
	}
	if err := ask(value.NewDict("effort", "hihg")); value.KindOf(err) != value.Invalid {
		t.Errorf("a run with an unknown effort = %v", err)
	}
}

// TestUsageOfAProgram checks that the RunEnd of a metered program has its usage.
func TestUsageOfAProgram(t *testing.T) {
	t.Parallel()
	o := &oracle{reply: &model.Reply{Text: "42", Usage: model.Usage{InputTokens: 7, OutputTokens: 2}}}
	h, err := testhost.Open(t, testhost.On{Journal: t.TempDir()}, t.TempDir(), &cassidy.Options{TrustSource: true, Modules: []tool.Module{agent.ModelModule(o.open)}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	w := host.Workflow{Tool: tool.Tool{Name: "twice"}, Script: tool.Script{Name: "twice", Path: "twice.star", Source: "def main():\n    return model.ask(\"?\") + model.ask(\"?\")\n"}}
	p, err := w.Program(&value.Dict{}, "")
	if err != nil {
		t.Fatal(err)
	}
	p.ID, p.Kind = "twice", host.WorkflowKind
	ctx, used, err := agent.Metered(t.Context(), h, p, agent.Ceilings{})
	if err != nil {
		t.Fatal(err)
	}
	events := h.Subscribe(t.Context(), host.EventFilter{Buffer: 100})
	if out, err := h.RunProgram(ctx, p); err != nil || out.Value != "4242" {
		t.Fatalf("the workflow returned %v, %v", out.Value, err)
	}
	for e := range events {
		end, ok := e.Data.(tool.RunEnd)
		if !ok {
			continue
		}
		const want = `{"requests":2,"input_tokens":14,"cached_input_tokens":0,"output_tokens":4,"cost_usd":null}`
		if got := value.FormatJSON(end.Usage, ""); got != want || end.Reason != "final" || !end.Success || used().Requests != 2 {
			t.Errorf("run_end = %+v with the usage %s, want %s", end, got, want)
		}
		break
	}
}

func TestModelAskFails(t *testing.T) {
	t.Parallel()
	away := value.Errorf(value.Unavailable, "no model is configured").WithHint("set a key")
	parked := value.Errorf(value.Parked, "later")
	for _, tt := range []struct {
		name   string
		prompt string
		oracle oracle
		open   error
		kind   value.Kind
		says   string
	}{
		{"nothing is asked", " \n", oracle{}, nil, value.Invalid, "the prompt is empty"},
		{"no model", "?", oracle{}, away, value.Unavailable, "no model is configured"},
		{"the model is away", "?", oracle{err: value.Errorf(value.Limit, "too much")}, nil, value.Limit, "too much"},
		{"the run is parked", "?", oracle{err: parked}, nil, value.Parked, "later"},
		{"empty", "?", oracle{reply: &model.Reply{Text: " \n", Stop: model.StopLength}}, nil, value.Unavailable, "the reply is empty"},
		{"refused", "?", oracle{reply: &model.Reply{Text: "I can't", Stop: model.StopRefuse}}, nil, value.Failed, "blocked the answer of the model oracle"},
		{"neither", "?", oracle{}, nil, value.Internal, "neither a reply nor an error"},
	} {
		got, told, err := askModel(t, func(context.Context) (model.Model, error) { return &tt.oracle, tt.open }, "prompt", tt.prompt)
		if got != nil || value.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: model.ask = %v, %v, want %s with %q", tt.name, got, err, tt.kind, tt.says)
		}
		if asked := tt.oracle.asked != nil; asked != (len(told) > 0) {
			t.Errorf("%s: it told %v, and the model was asked: %v", tt.name, told, asked)
		}
	}
	if _, _, err := askModel(t, nil, "prompt", "?"); value.KindOf(err) != value.Unavailable {
		t.Errorf("model.ask without a model = %v", err)
	}
}

// TestModelAskFromATool checks that a tool in a worker can ask where it declares
// that, and not otherwise.
func TestModelAskFromATool(t *testing.T) {
	t.Parallel()
	s := &stage{t: t, dir: t.TempDir()}
	const source = "def NAME(text: str) -> str:\n    \"\"\"Sum a text up.\"\"\"\n    return model.ask(\"Sum this up: \" + text)\n\ntool(NAME, needs = [NEEDS])\n"
	for name, needs := range map[string]string{"sum_up": `"model"`, "sneak": ""} {
		s.write(".cassidy/tools/"+name+".star", strings.NewReplacer("NAME", name, "NEEDS", needs).Replace(source))
	}
	o := &oracle{reply: &model.Reply{Text: "short"}}
	h, err := testhost.Open(t, testhost.On{}, s.dir, &cassidy.Options{TrustSource: true, Modules: []tool.Module{agent.ModelModule(o.open)}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := h.Call(context.Background(), tool.Call{Tool: "sum_up", Args: value.NewDict("text", "long")})
	if err != nil || r.Value != "short" || o.asked.Messages[0].Text != "Sum this up: long" {
		t.Errorf("sum_up = %v, %v; the model was asked %v", r.Value, err, o.asked)
	}
	o.asked = nil
	if _, err := h.Call(context.Background(), tool.Call{Tool: "sneak", Args: value.NewDict("text", "long")}); value.KindOf(err) != value.Denied || o.asked != nil {
		t.Errorf("sneak = %v, want it denied; the model was asked %v", err, o.asked)
	}
}
