package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
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

func TestModelAskFails(t *testing.T) {
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
