package hooks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A rig is a host with hooks and the tools echo(text, times = 1), which returns its arguments,
// and fails(), which fails.
type rig struct {
	*host.Host
	set    *hooks.Set
	wrap   host.Middleware
	called []string
}

func newRig(t testing.TB, sources ...string) *rig {
	t.Helper()
	r := &rig{}
	wrap := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if r.wrap == nil {
				return next(ctx, c)
			}
			return r.wrap(next)(ctx, c)
		}
	}
	modules := slices.Concat(stdlib.Pure(), host.Modules())
	h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(modules...), Middleware: []host.Middleware{wrap}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	r.Host = h
	text, whole := tool.Type{Name: tool.TypeString}, tool.Type{Name: tool.TypeInteger}
	register := func(x tool.Tool, do func(context.Context, *value.Dict) (value.Value, error)) {
		x.Description, x.Hints = "Do it.", tool.Hints{ReadOnly: true}
		if err := h.Register(x, do); err != nil {
			t.Fatal(err)
		}
	}
	register(tool.Tool{Name: "echo", Params: []tool.Param{
		{Name: "text", Type: text, Required: true, Aliases: []string{"message"}},
		{Name: "times", Type: whole, HasDefault: true, Default: int64(1)},
	}}, func(_ context.Context, args *value.Dict) (value.Value, error) {
		r.called = append(r.called, value.FormatJSON(args, ""))
		return args, nil
	})
	register(tool.Tool{Name: "fails"}, func(context.Context, *value.Dict) (value.Value, error) { return nil, errors.New("out of paper") })
	var files []hooks.File
	for _, s := range sources {
		files = append(files, hooks.File{Path: ".cassidy/hooks.star", Source: s})
	}
	if r.set, err = hooks.New(h, files); err != nil {
		t.Fatal(err)
	}
	r.wrap = r.set.Middleware()
	return r
}

// call calls a tool, and returns its result or its error, and the notes for the model.
func (r *rig) call(name string, args *value.Dict) (result, notes string) {
	ctx, n := hooks.Collect(context.Background(), nil, nil, nil)
	got, err := r.Call(ctx, tool.Call{Tool: name, Args: args, Reasoning: "why not"})
	if err != nil {
		return value.KindOf(err).String() + ": " + err.Error(), n.Text()
	}
	return value.FormatJSON(got.Value, ""), n.Text()
}

// TestCalls checks what before_tool and after_tool see and change.
func TestCalls(t *testing.T) {
	const hi = `{"text":"hi","times":1}`
	cases := []struct{ name, source, want, notes string }{
		{"nothing", "def before_tool(call): return None", hi, ""},
		{"an empty dict", "def before_tool(call): return {}", hi, ""},
		{"None as a value", `def before_tool(call): return {"deny": None, "edit": None, "note": None}`, hi, ""},
		{"a change of what it sees", "def before_tool(call): call['args']['text'] = 'x'", hi, ""},
		{"a refusal", `def before_tool(call): return {"deny": "not today"}`, "denied: the call of echo was refused by the hook before_tool: not today", ""},
		{"what it sees", `def before_tool(call): return {"note": json.encode(call)}`, hi, "\n\nNote: " + `{"tool":"echo","args":{"text":"hi","times":1},"caller":"model","reasoning":"why not"}`},
		{"an edit", `def before_tool(call): return {"edit": {"times": 3}}`, `{"text":"hi","times":3}`, "\n\nNote: A hook of the user changed the arguments. The call was made as echo(text=\"hi\", times=3)"},
		{"the same edit", `def before_tool(call): return {"edit": {"times": 1}}`, hi, ""},
		{"an edit and a note", `def before_tool(call): return {"edit": {"text": "ho"}, "note": "ho it is"}`, `{"text":"ho","times":1}`, "\n\nNote: A hook of the user changed the arguments. The call was made as echo(text=\"ho\", times=1)\n\nNote: ho it is"},
		{"an invalid edit", `def before_tool(call): return {"edit": {"times": "many"}}`, "denied: the hook before_tool in .cassidy/hooks.star failed: the edited arguments are invalid: ", ""},
		{"an edit with another parameter", `def before_tool(call): return {"edit": {"nothing": 1}}`, "denied: the hook before_tool in .cassidy/hooks.star failed: the edited arguments are invalid: ", ""},
		{"an edit with a number as a name", `def before_tool(call): return {"edit": {1: 1}}`, "denied: the hook before_tool in .cassidy/hooks.star failed: ", ""},
		{"a result", `def after_tool(call, result): return {"note": "got " + result["value"]["text"]}`, hi, "\n\nNote: got hi"},
		{"a refused result", `def after_tool(call, result): return {"deny": "secret"}`, "denied: the result of echo was refused by the hook after_tool: secret", ""},
		{"another result", `def after_tool(call, result): return {"result": "x"}`, `"x"`, ""},
		{"no result", `def after_tool(call, result): return {"result": None}`, `null`, ""},
		{"both", "def before_tool(call): return {'edit': {'text': 'a'}}\ndef after_tool(call, result): return {'result': [call['args']['text'], result['success']]}", `["a",true]`, "\n\nNote: A hook of the user changed the arguments. The call was made as echo(text=\"a\", times=1)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, notes := newRig(t, c.source).call("echo", value.NewDict("message", "hi"))
			if !strings.HasPrefix(got, c.want) || notes != c.notes {
				t.Errorf("the call gave %s and the notes %q\nwant %s and %q", got, notes, c.want, c.notes)
			}
		})
	}
}

// TestBrokenCalls checks that a hook that fails refuses the call with one error that names it, and
// that the tool does not run.
func TestBrokenCalls(t *testing.T) {
	cases := []struct{ name, body, want string }{
		{"fails", `fail("no idea")`, ".cassidy/hooks.star:2:13 failed: no idea"},
		{"a missing key", `call["nothing"]`, `.cassidy/hooks.star:2:13 failed: key "nothing" not in dict`},
		{"loops", "for i in range(1000000000): pass", "steps"},
		{"recursion", "before_tool(call)", "recursively"},
		{"a list", "return [1]", `the function returned array: expected None or a dict with "deny" or "edit" or "note"`},
		{"a text", `return "deny"`, "the function returned string: expected None or a dict with"},
		{"True", `return True`, "the function returned boolean: expected None or a dict with"},
		{"another key", `return {"denied": "x"}`, `the function returned the unknown key "denied": expected "deny" or "edit" or "note"`},
		{"allow", `return {"allow": True}`, `the function returned the unknown key "allow"`},
		{"a key that is a number", `return {1: 2}`, `the function returned the unknown key ""`},
		{"a refusal without a reason", `return {"deny": ""}`, `the function returned an empty string as "deny"`},
		{"a refusal that is True", `return {"deny": True}`, `the function returned boolean as "deny": expected a string`},
		{"a note that is a list", `return {"note": [1]}`, "the function returned array as \"note\": expected a string"},
		{"a long note", `return {"note": "x" * 10001}`, "the function returned 10001 bytes as \"note\": limit 10000"},
		{"an edit that is a text", `return {"edit": "x"}`, `the function returned string as "edit": expected a dict`},
		{"a refusal with an edit", `return {"deny": "x", "edit": {}}`, `the function returned "deny" with another key`},
		{"a result before the call", `return {"result": 1}`, `the function returned the unknown key "result"`},
		{"a file", `return {"note": fs.read("a")}`, "fs"},
		{"a tool", `return {"note": tools.echo(text = "x")}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, "def before_tool(call):\n        "+c.body+"\n")
			got, _ := r.call("echo", value.NewDict("text", "hi"))
			if !strings.HasPrefix(got, "denied: the hook before_tool in .cassidy/hooks.star") || !strings.Contains(got, c.want) {
				t.Errorf("the call gave %s, want an error with %q", got, c.want)
			}
			if len(r.called) != 0 {
				t.Errorf("the tool was called with %s", r.called)
			}
		})
	}
	r := newRig(t, `def after_tool(call, result): fail("no")`)
	got, _ := r.call("echo", value.NewDict("text", "hi"))
	if len(r.called) != 1 || !strings.HasPrefix(got, "denied: the hook after_tool in .cassidy/hooks.star:1:35 failed: ") {
		t.Errorf("after %s the call gave %s, want that its result is withheld", r.called, got)
	}
	r = newRig(t, `def after_tool(call, result): return {"result": 1}`)
	if got, _ := r.call("fails", nil); !strings.Contains(got, "the function replaced the result of a call that failed") {
		t.Errorf("replacing an error gave %s", got)
	}
	r = newRig(t, `def after_tool(call, result): return {"note": result["error_type"] + ": " + result["error"]}`)
	if got, notes := r.call("fails", nil); !strings.Contains(got, "out of paper") || !strings.Contains(notes, "out of paper") {
		t.Errorf("a call that fails gave %s and the notes %q", got, notes)
	}
}

// TestUncheckedCalls checks that a call that cannot be made does not reach a hook, and fails as it
// does without one.
func TestUncheckedCalls(t *testing.T) {
	r := newRig(t, `def before_tool(call): return {"deny": "reached"}`)
	for _, c := range []tool.Call{{Tool: "nothing"}, {Tool: "echo"}, {Tool: "echo", Args: value.NewDict("text", int64(1))}} {
		got, err := r.Call(context.Background(), c)
		r.wrap = nil
		want, wanted := r.Call(context.Background(), c)
		r.wrap = r.set.Middleware()
		if err == nil || err.Error() != wanted.Error() || got.Error != want.Error {
			t.Errorf("%s gave %v, want %v", c.Tool, err, wanted)
		}
	}
	got, err := r.Call(context.Background(), tool.Call{Tool: "echo", Args: value.NewDict("text", "3", "times", "3"), Texts: true})
	if err == nil || !strings.Contains(got.Error, "reached") {
		t.Errorf("a call with texts gave %v", err)
	}
}

// TestNotes checks that the notes of a call that is made again are neither lost nor added twice.
func TestNotes(t *testing.T) {
	var recorded []hooks.Note
	texts := ""
	record := func(d *value.Dict) error {
		recorded, texts = append(recorded, hooks.Note{Text: d.Text("hook_note"), Of: d.Text("hook_of")}), texts+d.Text("hook_note")
		return nil
	}
	if hooks.AddNote(context.Background(), "a") {
		t.Error("a note was added to no call")
	}
	ctx, _ := hooks.Collect(context.Background(), tool.StepPath{1}, nil, record)
	for _, text := range []string{"a", "b", "a", " "} {
		if !hooks.AddNote(ctx, text) {
			t.Errorf("the note %q was added to no call", text)
		}
	}
	ctx, n := hooks.Collect(context.Background(), tool.StepPath{1}, map[string][]hooks.Note{tool.StepPath{1}.String(): recorded}, record)
	for _, text := range []string{"a", "c", "a", "a"} { // b was the note of what has ended
		hooks.AddNote(ctx, text)
	}
	const want = "\n\nNote: a\n\nNote: b\n\nNote: a\n\nNote: c\n\nNote: a"
	if got := n.Text(); got != want || texts != "abaca" {
		t.Errorf("the notes are %q and %q, want %q", got, recorded, want)
	}
}

// TestOrder checks that the files are called in order, that each sees the edits of those before,
// and that the first refusal counts.
func TestOrder(t *testing.T) {
	first := "def before_tool(call): return {'edit': {'text': call['args']['text'] + '1'}}"
	second := "def before_tool(call):\n    if len(call['args']['text']) > 4: return {'deny': call['args']['text']}\n    return {'edit': {'text': call['args']['text'] + '2'}}"
	third := "def on_stop(run): return None"
	r := newRig(t, first, second, third)
	if got, _ := r.call("echo", value.NewDict("text", "a")); got != `{"text":"a12","times":1}` {
		t.Errorf("the call gave %s", got)
	}
	if got, _ := r.call("echo", value.NewDict("text", "abcd")); !strings.HasSuffix(got, "by the hook before_tool: abcd1") {
		t.Errorf("the call gave %s", got)
	}
	if r.set.Stops() != true || newRig(t, first).set.Stops() || newRig(t, third).set.Middleware() != nil || newRig(t).set != nil {
		t.Error("a set has functions that no file defines, or lacks one")
	}
}

// TestSealed checks that a hook cannot see what differs from one run to the next.
func TestSealed(t *testing.T) {
	for _, body := range []string{"time.now()", "random.random()", "random.uuid()", "env.get(\"HOME\")", "clock.now()", "print(1)"} {
		r := newRig(t, "def before_tool(call): return {'note': str("+body+")}")
		got, notes := r.call("echo", value.NewDict("text", "hi"))
		if body == "print(1)" {
			if notes != "\n\nNote: None" {
				t.Errorf("print gave %s and %s", got, notes)
			}
			continue
		}
		if !strings.HasPrefix(got, "denied: the hook before_tool in .cassidy/hooks.star:") && !strings.HasPrefix(got, "invalid: ") {
			t.Errorf("%s gave %s and the notes %s, want that it fails", body, got, notes)
		}
	}
}

// TestFiles checks the errors of files that are not hooks.
func TestFiles(t *testing.T) {
	r := newRig(t)
	cases := []struct{ source, want string }{
		{"", "the file defines no hook"},
		{"x = 1", "the file defines no hook"},
		{"def before_tol(call): pass", `unknown hook "before_tol"; did you mean "before_tool"?`},
		{"def on_start(run): pass\ndef on_stop(run): pass", `unknown hook "on_start"`},
		{"def befor_tool(call): pass\ndef on_stop(run): pass", `unknown hook "befor_tool"; did you mean "before_tool"?`},
		{"def beforeTool(call): pass\ndef on_stop(run): pass", `unknown hook "beforeTool"`},
		{"def _no(call): pass\nbefore_tool = _no\ndef on_stop(run): pass", "the hook before_tool is a variable: expected a function"},
		{"def before_tool(c): pass", "the hook before_tool has the wrong parameters (c)"},
		{"def before_tool(): pass", "the hook before_tool has the wrong parameters ()"},
		{"def after_tool(call): pass", "the hook after_tool has the wrong parameters (call)"},
		{"def after_tool(result, call): pass", "the hook after_tool has the wrong parameters (result, call)"},
	}
	for _, c := range cases {
		_, err := hooks.New(r.Host, []hooks.File{{Path: "h.star", Source: c.source}})
		if e := value.ErrorOf(err, value.Internal); err == nil || e.Kind != value.Invalid || e.Hint == "" || e.Pos.File != "h.star" || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%q gave %v, want %q with a hint", c.source, err, c.want)
		}
	}
	for _, good := range []string{"def after_tool(\n    call: dict,\n    result: dict,\n) -> dict:\n    return {}\n", "def _on_x(a): pass\ndef on_stop( run ): pass"} {
		if _, err := hooks.New(r.Host, []hooks.File{{Path: "h.star", Source: good}}); err != nil {
			t.Errorf("%q gave %v", good, err)
		}
	}
	for source, want := range map[string]string{"def on_stop(run): pass\n)": "h.star:2", "def on_stop(run): pass\nfail('top')": "top", "load('a.star', 'b')\ndef on_stop(run): pass": "a.star"} {
		s, err := hooks.New(r.Host, []hooks.File{{Path: "h.star", Source: source}})
		if err == nil {
			err = s.Check(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", source, err, want)
		}
	}
}

// TestBeforeAsk checks what before_ask sees and adds.
func TestBeforeAsk(t *testing.T) {
	asked := func(source string, messages ...model.Message) (string, error) {
		r := &model.Request{Messages: messages}
		err := newRig(t, source).set.BeforeAsk(context.Background(), r)
		return r.Messages[len(r.Messages)-1].Text, err
	}
	user := model.Message{Role: model.User, Text: "hi"}
	result := model.Message{Role: model.ToolRole, Tool: "t", CallID: "1", Text: "done"}
	if got, err := asked(`def before_ask(request): return {"note": str(len(request["messages"]))}`, user); err != nil || got != "hi\n\nNote: 1" {
		t.Errorf("a note gave %q, %v", got, err)
	}
	said := model.Message{Role: model.Assistant, Text: "x", Calls: []model.Call{{ID: "1", Tool: "t", Args: value.NewDict("a", int64(1))}}}
	if got, err := asked(`def before_ask(request): return {"note": json.encode(request["messages"])}`, user, said, result); err != nil ||
		got != `Note: [{"role":"user","content":"hi"},{"role":"assistant","content":"x","calls":[{"tool":"t","args":{"a":1}}]},{"role":"tool","content":"done","tool":"t"}]` {
		t.Errorf("a note after a result gave %q, %v", got, err)
	}
	if got, err := asked(`def before_ask(request): return {"deny": "no"}`, user); value.KindOf(err) != value.Denied || got != "hi" || !strings.Contains(err.Error(), "the request to the model was refused by the hook before_ask: no") {
		t.Errorf("a refusal gave %q, %v", got, err)
	}
	if _, err := asked(`def before_ask(request): return {"edit": {}}`, user); value.KindOf(err) != value.Denied {
		t.Errorf("an edit gave %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := newRig(t, `def before_ask(request): return {"deny": "no"}`).set.BeforeAsk(ctx, &model.Request{Messages: []model.Message{user}})
	if value.KindOf(err) != value.Canceled {
		t.Errorf("a cancelled request gave %v, want an error of kind Canceled", err)
	}
	var none *hooks.Set
	if err := errors.Join(none.BeforeAsk(ctx, nil), none.Check(ctx)); err != nil || none.Stops() || none.Middleware() != nil {
		t.Errorf("no hooks gave %v", err)
	}
}

// TestStopAndCompact checks on_stop and on_compact.
func TestStopAndCompact(t *testing.T) {
	ctx := context.Background()
	s := newRig(t, `def on_stop(run): return {"deny": "%s %s %d %d" % (run["task"], run["answer"], run["iterations"], run["depth"])} if run["answer"] != "good" else None`).set
	if reason, err := s.OnStop(ctx, hooks.Stop{Task: "t", Answer: "bad", Iterations: 2, Depth: 1}); err != nil || reason != "t bad 2 1" {
		t.Errorf("a bad answer gave %q, %v", reason, err)
	}
	if reason, err := s.OnStop(ctx, hooks.Stop{Answer: "good"}); err != nil || reason != "" {
		t.Errorf("a good answer gave %q, %v", reason, err)
	}
	if reason, err := newRig(t, `def on_stop(run): return {"note": "x"}`).set.OnStop(ctx, hooks.Stop{}); value.KindOf(err) != value.Denied || reason != "" {
		t.Errorf("a note gave %q, %v", reason, err)
	}
	for source, want := range map[string]string{
		`def on_compact(summary): return None`:                                   "old",
		`def on_compact(summary): return {"note": "n"}`:                          "old\n\nNote: n",
		`def on_compact(summary): return {"edit": {"summary": summary.upper()}}`: "OLD",
		`def on_compact(summary): return {"deny": "d"}`:                          "denied: the summary was refused by the hook on_compact: d",
		`def on_compact(summary): return {"edit": {"summary": ""}}`:              "denied: the hook on_compact in .cassidy/hooks.star failed: the function returned an invalid \"edit\"",
		`def on_compact(summary): return {"edit": {"text": "x"}}`:                "denied: the hook on_compact in .cassidy/hooks.star failed: the function returned an invalid \"edit\"",
	} {
		got, err := newRig(t, source).set.OnCompact(ctx, "old")
		if err != nil {
			got = value.KindOf(err).String() + ": " + err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s gave %q, want %q", source, got, want)
		}
	}
}

// TestEvents checks the events of hooks.
func TestEvents(t *testing.T) {
	r := newRig(t, "def before_tool(call):\n    return {'edit': {'times': 2}, 'note': 'n'} if call['args']['text'] == 'a' else {'deny': 'd'}\n")
	events := r.Subscribe(t.Context(), host.EventFilter{})
	err := r.Register(tool.Tool{Name: "outer", Description: "Do it.", OnlyCalls: true}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		for _, text := range []string{"a", "b"} {
			_, _ = r.Call(ctx, tool.Call{Tool: "echo", Args: value.NewDict("text", text)})
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.wrap = nil
	done := make(chan struct{})
	wrap := r.set.Middleware()
	r.wrap = func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if c.Tool == "outer" {
				defer close(done)
				return next(ctx, c)
			}
			return wrap(next)(ctx, c)
		}
	}
	if _, err := r.Call(context.Background(), tool.Call{Tool: "outer"}); err != nil {
		t.Fatal(err)
	}
	<-done
	var got []string
	for e := range events {
		switch d := e.Data.(type) {
		case tool.Hooked:
			got = append(got, d.Hook+" "+d.Action+" "+d.Target+" "+d.Text+value.FormatJSON(d.After, ""))
		case tool.ToolCallEnd:
			got = append(got, "end "+e.Tool)
		}
		if got != nil && got[len(got)-1] == "end outer" {
			break
		}
	}
	want := []string{`before_tool edited echo {"text":"a","times":2}`, "before_tool noted echo n{}", "end echo", "before_tool denied echo d{}", "end echo", "end outer"}
	if !slices.Equal(got, want) {
		t.Errorf("the events are %q\nwant %q", got, want)
	}
}
