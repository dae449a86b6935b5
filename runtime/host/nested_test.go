package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestToolsThatCallTools(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, file, source, want string }{
		{"by name", "t.star", star("t", "", "return tools.call('echo', text = 'x', n = 2)", "needs = ['tool:echo']"), `["x",2]`},
		{"as a function", "t.star", star("t", "", "return tools.echo(text = 'x')", "needs = ['tool:echo']"), `["x",1]`},
		{"a parameter that is called name", "t.star", star("t", "", "return [tools.named(name = 'x'), tools.call('named', name = 'y')]", "needs = ['tool']"), `["x","y"]`},
		{"in the other spelling", "t.star", star("t", "", "return tools.my_tool()", "needs = ['tool:my_tool']"), `"mine"`},
		{"and declared in that", "t.star", star("t", "", "return tools.my_tool()", "needs = ['tool:my-tool']"), `"mine"`},
		{"by its group", "t.star", star("t", "", "return tools.echo(text = 'x')", "needs = ['tool:@texts']"), `["x",1]`},
		{"as a value", "t.star", star("t", "", "f = tools.echo\nreturn [f(text = x) for x in ['a', 'b']]", "needs = ['tool:echo']"), `[["a",1],["b",1]]`},
		{"list", "t.star", star("t", "", "return tools.list()", "needs = ['tool:@texts']"), `[{"name":"echo","description":"Do it.","group":"texts"}]`},
		{"describe", "t.star", star("t", "", "return tools.describe('echo')", "needs = ['tool:echo']"),
			`{"name":"echo","description":"Do it.","group":"texts","parameters":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","default":1}},"required":["text"],"additionalProperties":false}}`},
		{"several", "t.star", star("t", "", "return [r['value'] for r in tools.call_all([('echo', {'text': x}) for x in ['a', 'b', 'c']])]", "needs = ['tool:echo']"), `[["a",1],["b",1],["c",1]]`},
		{"none", "t.star", star("t", "", "return tools.call_all([])", "needs = ['tool:echo']"), `[]`},
		{"several, of which some fail", "t.star", star("t", "", "return tools.call_all([('echo', {}), ['my_tool', {}], ('nope', {})])[1:]", "needs = ['tool']"),
			`[{"ok":true,"value":"mine","error":"","error_type":"","hint":""},{"ok":false,"value":null,"error":"nope: Unknown tool: nope","error_type":"validation_error","hint":"use one of the tools: echo, named, my-tool, t"}]`},
		{"several, in Lua", "t.lua", lua(`return tools.call_all({{"echo", {text = "x"}}, {"my_tool", {}}})[2].value`, "tool"), `"mine"`},
		{"Lua, by name", "t.lua", lua(`return tools.call("echo", {text = "x", n = 2})`, "tool:echo"), `["x",2]`},
		{"Lua, as a function", "t.lua", lua(`return { tools.echo{text = "x"}, tools.echo({text = "y"}) }`, "tool:echo"), `[["x",1],["y",1]]`},
		{"Lua, without arguments", "t.lua", lua(`return { tools.my_tool(), tools.my_tool{}, tools.call("my-tool") }`, "tool:my_tool"), `["mine","mine","mine"]`},
		{"Lua, list", "t.lua", lua(`return tools.list()[1].name`, "tool:echo"), `"echo"`},
		{"Lua, describe", "t.lua", lua(`return tools.describe("echo").group`, "tool:echo"), `"texts"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.add("echo.star", star("echo", "text: str, n: int = 1", "return [text, n]", "group = 'texts'"), nil)
			r.add("named.star", star("named", "name: str", "return name", ""), nil)
			r.add("my_tool.star", star("my_tool", "", "return 'mine'", "name = 'my-tool'"), nil)
			r.add(c.file, c.source, nil)
			got, err := r.call()
			if text := value.FormatJSON(got.Value, ""); err != nil || text != c.want {
				t.Errorf("result = %s, %v, want %s", text, err, c.want)
			}
		})
	}
}

// lua is the text of a tool's file in Lua.
func lua(body string, needs ...string) string {
	return fmt.Sprintf("return tool{ description = \"Do it.\", needs = {\"%s\"}, handler = function()\n%s\nend }\n", strings.Join(needs, "\", \""), body)
}

// TestNoToolWidensAnother checks that no chain of tools does what one of them
// may not, whoever has approved what.
func TestNoToolWidensAnother(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		t, b, c string // what each needs; t calls b, b calls c, c reads secret/x and writes out/x
		rules   []string
		grant   []tool.Capability // of b, if not what it needs
		want    string            // the error, or ""
	}{
		{"all may all", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", nil, nil, ""},
		{"all may just this", "'tool:b', 'tool:c', 'fs.read:secret/*', 'fs.write:out/**'", "'tool:c', 'fs.read', 'fs.write:out/x'", "'fs.read', 'fs.write'", nil, nil, ""},
		{"the first may not call", "'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", nil, nil,
			"the tool 't' does not declare that it needs tool:b"},
		{"the first may not call the last", "'tool:b', 'fs.read', 'fs.write'", "'tool:c', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", nil, nil,
			"b: the tool 't' (which called 'b') does not declare that it needs tool:c"},
		{"the first may not read", "'tool', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", nil, nil,
			"b: c: the tool 't' (which called 'c') does not declare that it needs fs.read:secret/x"},
		{"the one between may not read", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.write'", "'fs.read', 'fs.write'", nil, nil,
			"the tool 'b' (which called 'c') does not declare"},
		{"the one between was granted less", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", nil,
			[]tool.Capability{{Name: "tool"}, {Name: "fs.read", Target: "docs/**"}, {Name: "fs.write"}},
			"the tool 'b' (which called 'c') was not granted fs.read:secret/x"},
		{"the first writes elsewhere", "'tool', 'fs.read', 'fs.write:docs/**'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", nil, nil,
			"does not declare that it needs fs.write:out/x"},
		{"the last declares nothing", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "", nil, nil, "the tool 'c' does not declare"},
		{"a rule about the first", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", []string{"deny fs.read:secret/** for t"}, nil,
			"fs.read:secret/x is refused by a rule"},
		{"a rule about whom the first has called", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", []string{"deny tool:c for t"}, nil,
			"the call of 'c' is refused by a rule: deny tool:c for t (my config)"},
		{"a rule about a group", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", []string{"deny tool:@g for b"}, nil,
			"the call of 'c' is refused by a rule"},
		{"a rule about others", "'tool', 'fs.read', 'fs.write'", "'tool', 'fs.read', 'fs.write'", "'fs.read', 'fs.write'", []string{"deny tool:b for c", "deny fs.read for other"}, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(o *host.Options) { o.Approver, o.Rules = host.ApproveAll(), rules(t, c.rules...) })
			r.write("secret/x", "42")
			r.add("t.star", star("t", "", "return tools.b()", "needs = ["+c.t+"]"), nil)
			r.add("b.star", star("b", "", "return tools.c()", "needs = ["+c.b+"]"), func(x *toolset.Info) { x.Granted = c.grant })
			r.add("c.star", star("c", "", "s = fs.read('secret/x')\nfs.write('out/x', s)\nreturn s", "group = 'g', needs = ["+c.c+"]"), nil)
			got, err := r.call()
			if c.want == "" && (err != nil || got.Value != "42" || r.file("out/x") != "42") {
				t.Errorf("result = %v, %v, out/x = %q, want 42", got.Value, err, r.file("out/x"))
			}
			if c.want != "" && (err == nil || value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), c.want) || r.file("out/x") != "none") {
				t.Errorf("error = %v, out/x = %q, want it denied with %q", err, r.file("out/x"), c.want)
			}
		})
	}
}

// TestChildrenAreAsked checks that who typed a call has not approved what it
// calls, and that a refusal of that leaves what the caller did before.
func TestChildrenAreAsked(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		who := asker{answer: func(tool.Question) tool.Answer { return tool.Answer{Yes: yes} }}
		r := newRig(t, func(o *host.Options) { o.Approver = host.ApproverFunc(who.approve) })
		r.add("t.star", star("t", "", "fs.write('a', 'mine')\nreturn tools.b(path = 'a')", "needs = ['tool:b', 'fs.read', 'fs.write']"), nil)
		r.add("b.star", star("b", "path: str", "return fs.read(path)", "risky = True, needs = ['fs.read']"), nil)
		got, err := r.call()
		if yes && (err != nil || got.Value != "mine") {
			t.Errorf("result = %v, %v, want what the caller wrote", got.Value, err)
		}
		if !yes && (err == nil || value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "b: the call of 'b' was not approved")) {
			t.Errorf("error = %v, want it denied", err)
		}
		if len(who.asked) != 1 || who.calls[0].Caller != tool.ByScript || who.asked[0].Args.Text("path") != "a" || who.asked[0].Tool != "b" {
			t.Errorf("asked %+v, want one question about b, by a script", who.asked)
		}
	}
	// Its changes are asked as well, and nobody is there to ask.
	r := newRig(t, nil)
	r.add("t.star", star("t", "", "return tools.b()", "needs = ['tool:b', 'fs.write']"), nil)
	r.add("b.star", star("b", "", "fs.write('a', 'x')", "needs = ['fs.write']"), nil)
	if _, err := r.call(); err == nil || value.KindOf(err) != value.Denied || r.file("a") != "none" {
		t.Errorf("error = %v, a = %q, want it denied and nothing written", err, r.file("a"))
	}
}

// TestTheChangesOfACallerAreAskedBeforeItsChildSeesThem checks the order.
func TestTheChangesOfACallerAreAskedBeforeItsChildSeesThem(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		who := asker{answer: func(tool.Question) tool.Answer { return tool.Answer{Yes: yes} }}
		r := newRig(t, func(o *host.Options) { o.Approver = host.ApproverFunc(who.approve) })
		ran := false
		stop := hear(t, r.Host, func(e tool.Event) {
			_, starts := e.Data.(tool.ToolCallStart)
			ran = ran || starts && e.Tool == "b"
		})
		r.add("t.star", star("t", "", "fs.write('a', 'x')\nreturn tools.b()", "needs = ['tool:b', 'fs.read', 'fs.write']"), nil)
		r.add("b.star", star("b", "", "return fs.exists('a')", "needs = ['fs.read']"), nil)
		got, err := r.byModel("t")
		stop()
		if yes && (err != nil || got.Value != true) || !yes && (err == nil || ran || r.file("a") != "none") {
			t.Errorf("yes = %v: %v, %v, b ran: %v", yes, got.Value, err, ran)
		}
		if who.kinds() != "t a" {
			t.Errorf("asked %q, want the change", who.kinds())
		}
	}
}

// TestCallsGoSoDeep checks that tools may call tools 16 deep, and that all that
// comes of one call is bounded.
func TestCallsGoSoDeep(t *testing.T) {
	t.Parallel()
	calls := 0
	count := func(e tool.Event) {
		if _, starts := e.Data.(tool.ToolCallStart); starts {
			calls++
		}
	}
	deep := func(fields string) *rig {
		r := newRig(t, nil)
		r.add("t.star", star("t", "n: int", "return 1 + tools.t(n = n - 1) if n > 1 else 1", "needs = ['tool:t'], "+fields), nil)
		return r
	}
	r := deep("")
	stop := hear(t, r.Host, count)
	got, err := r.call("n", int64(host.MaxDepth))
	if stop(); err != nil || got.Value != int64(host.MaxDepth) || calls != host.MaxDepth {
		t.Errorf("%d deep = %v, %v in %d calls", host.MaxDepth, got.Value, err, calls)
	}
	_, err = deep("").call("n", int64(host.MaxDepth+1))
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Limit || e.Limit != value.LimitDepth || !strings.Contains(e.Message(), "t: t: t: ") {
		t.Errorf("one deeper = %+v, want the limit of depth", e)
	}

	r = newRig(t, nil)
	r.add("t.lua", strings.Replace(lua(`for i = 1, 900 do pcall(tools.t) end`, "tool:t"), "handler", "timeout = 100, handler", 1), nil)
	calls = 0
	stop = hear(t, r.Host, count)
	_, err = r.call()
	stop()
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Limit != value.LimitEffects || calls > host.MaxTreeEffects+1 {
		t.Errorf("a tool that calls itself without end = %v after %d calls, want the limit of effects", err, calls)
	}
}

// TestATimeoutOfAChildCanBeCaught checks that a script can go on after a call
// which took too long: that was not its own time.
func TestATimeoutOfAChildCanBeCaught(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		"return attempt(tools.b)['error_type']",
		"return tools.call_all([('b', {})])[0]['error_type']",
	} {
		r := newRig(t, nil)
		r.add("b.star", star("b", "", "time.sleep(5)", "timeout = 0.01"), nil)
		r.add("t.star", star("t", "", call, "needs = ['tool']"), nil)
		if got, err := r.call(); err != nil || got.Value != "timeout_error" {
			t.Errorf("%s gave %v, %v, want the kind of error", call, got.Value, err)
		}
	}
}

// TestAFailedChild checks what becomes of its error.
func TestAFailedChild(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body, fields, call string
		kind                     value.Kind
		limit                    value.LimitName
		text                     string
	}{
		{"it fails", "fail('no such thing')", "", "tools.b()", value.Failed, "", "b: no such thing"},
		{"its steps", "for _ in range(10000): pass", "limits = {'steps': 100}", "tools.b()", value.Limit, "steps", "b: the script took more than 100 steps"},
		{"its time", "time.sleep(5)", "timeout = 0.01", "tools.b()", value.Timeout, "call", "b: the call took longer than 10ms"},
		{"its result", "return 1", "returns = 'string'", "tools.b()", value.Failed, "", "b: the result of 'b' does not have its declared type"},
		{"wrong arguments", "return 1", "", "tools.b(x = 1)", value.Failed, "", "b: "},
		{"no such tool", "return 1", "", "tools.nope()", value.NotFound, "tool", "nope: Unknown tool: nope"},
		{"no name of a tool", "return 1", "", "tools.call('../b')", value.NotFound, "", `Unknown tool: "../b"`},
		{"not by its place", "return 1", "", "tools.b(1)", value.Failed, "", "tools.b: the arguments of a tool must be named"},
		{"a name that is no text", "return 1", "", "tools.call(1)", value.Failed, "", "tools.call: argument 'name' should be string"},
		{"described, not there", "return 1", "", "tools.describe('nope')", value.NotFound, "tool", "Unknown tool: nope"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.add("b.star", star("b", "", c.body, c.fields), nil)
			r.add("t.star", star("t", "", "return "+c.call, "needs = ['tool']"), nil)
			_, err := r.call()
			e := value.ErrorOf(err, value.Internal)
			if e == nil || e.Kind != c.kind || e.Limit != c.limit || !strings.HasPrefix(e.Message(), c.text) {
				t.Errorf("error = %v of kind %s and limit %s, want %q of kind %s and limit %s", e, e.Kind, e.Limit, c.text, c.kind, c.limit)
			}
		})
	}
	r := newRig(t, nil)
	r.add("b.star", star("b", "", "fail('no')", ""), nil)
	r.add("t.lua", lua(`local ok, why = pcall(tools.b) return tostring(ok) .. ": " .. why`, "tool:b"), nil)
	if got, err := r.call(); err != nil || got.Value != "false: b: no" {
		t.Errorf("a failure that is caught = %v, %v, want b: no", got.Value, err)
	}
}

// TestListOfToolsShowsWhatMayBeCalled checks that no tool is named to a script
// that could not call it.
func TestListOfToolsShowsWhatMayBeCalled(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) { o.Rules = rules(t, "deny tool:denied", "deny tool:deep for t") })
	for _, name := range []string{"a", "b", "denied", "deep", "untrusted", "away"} {
		source := star(name, "", "return 1", "")
		if name == "away" {
			source = "def here():\n    return len(tools.list()) > 0\n\n" + star(name, "", "return 1", "available = here, needs = ['tool']")
		}
		r.add(name+".star", source, func(x *toolset.Info) {
			if name == "untrusted" {
				x.State = toolset.Untrusted
			}
		})
	}
	names := "return [x['name'] for x in tools.list()]"
	r.add("t.star", star("t", "", "return ["+strings.TrimPrefix(names, "return ")+", tools.inner()]", "needs = ['tool:a', 'tool:denied', 'tool:deep', 'tool:untrusted', 'tool:away', 'tool:inner']"), nil)
	r.add("inner.star", star("inner", "", names, "needs = ['tool']"), nil)
	r.add("none.star", star("none", "", names, ""), nil)
	got, err := r.call()
	if text := value.FormatJSON(got.Value, ""); err != nil || text != `[["a","inner"],["a","inner"]]` {
		t.Errorf("t sees %s, %v, want a and inner, also through inner", text, err)
	}
	if got, err := r.byModel("none"); err != nil || value.FormatJSON(got.Value, "") != "[]" {
		t.Errorf("a tool that may call nothing sees %s, %v", value.FormatJSON(got.Value, ""), err)
	}
	for _, name := range []string{"b", "denied", "untrusted"} {
		r.add("d_"+name+".star", star("d_"+name, "", "return tools.describe('"+name+"')", "needs = ['tool:denied', 'tool:untrusted']"), nil)
		if _, err := r.byModel("d_" + name); err == nil || value.KindOf(err) != value.Denied {
			t.Errorf("describe %s: %v, want it denied", name, err)
		}
	}
}

// TestPlacesAndNamesOfChildren checks that the events of a child tell where in
// the run it stands.
func TestPlacesAndNamesOfChildren(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) { o.Approver = host.ApproveAll() })
	r.add("t.star", star("t", "", "fs.write('a', 'x')\ntools.b()\ntools.b()", "needs = ['tool:b', 'fs.read', 'fs.write']"), nil)
	r.add("b.star", star("b", "", "fs.exists('a')\nfs.write('a', 'y' + fs.read('a'))", "needs = ['fs.read', 'fs.write']"), nil)
	var got []string
	stop := hear(t, r.Host, func(e tool.Event) {
		if done, ok := e.Data.(tool.EffectDone); ok {
			got = append(got, e.Call+" "+done.Step+" "+done.Func)
		}
	})
	if _, err := r.Call(context.Background(), tool.Call{ID: "c", Tool: "t", Caller: tool.ByPerson}); err != nil {
		t.Fatal(err)
	}
	stop()
	want := []string{"c 1 fs.write", "c 2.0 fs.commit",
		"c/2 2.1 fs.exists", "c/2 2.2 fs.read", "c/2 2.3 fs.write", "c/2 2.4 fs.commit", "c 2 tools.call",
		"c/3 3.1 fs.exists", "c/3 3.2 fs.read", "c/3 3.3 fs.write", "c/3 3.4 fs.commit", "c 3 tools.call"}
	if !slices.Equal(got, want) {
		t.Errorf("effects = %q, want %q", got, want)
	}
	if r.file("a") != "yyx" {
		t.Errorf("a = %q, want yyx", r.file("a"))
	}
}

// TestPlacesOfCallsAtATime checks that calls which are made together are told
// apart: the i-th stands at the i-th place inside the effect.
func TestPlacesOfCallsAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.add("t.star", star("t", "", "tools.call_all([('b', {'x': str(i)}) for i in range(20)])", "needs = ['tool:b', 'fs.read']"), nil)
	r.add("b.star", star("b", "x: str", "return fs.exists(x)", "needs = ['fs.read']"), nil)
	var got []string
	stop := hear(t, r.Host, func(e tool.Event) {
		if done, ok := e.Data.(tool.EffectDone); ok && done.Func == "fs.exists" {
			got = append(got, fmt.Sprint(e.Call, " ", done.Step, " ", done.Capabilities))
		}
	})
	if _, err := r.Call(context.Background(), tool.Call{ID: "c", Tool: "t", Caller: tool.ByPerson}); err != nil {
		t.Fatal(err)
	}
	stop()
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf(`c/1.%d 1.%d.1 [fs.read:%d]`, i+1, i+1, i))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("effects = %q, want %q", got, want)
	}
}

// TestCallsAtATimeAreBounded checks what of tools.call_all a script cannot have.
func TestCallsAtATimeAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		calls, needs string
		want         value.Kind
	}{
		{"[('b', {})] * 101", "tool:b", value.Limit},
		{"[('b', {}), ('c', {})]", "tool:b", value.Denied},
		{"[('b', {}, 1)]", "tool", value.Failed},
		{"[()]", "tool", value.Failed},
		{"[('b', 1)]", "tool", value.Failed},
		{"['b']", "tool", value.Failed},
		{"[('../b', {})]", "tool", value.NotFound},
	} {
		r := newRig(t, nil)
		r.add("b.star", star("b", "", "return 1", ""), nil)
		r.add("c.star", star("c", "", "return 1", ""), nil)
		r.add("t.star", star("t", "", "return tools.call_all("+c.calls+")", "needs = ['"+c.needs+"']"), nil)
		if _, err := r.call(); value.KindOf(err) != c.want {
			t.Errorf("call_all(%s) with %s gave %v, want %v", c.calls, c.needs, err, c.want)
		}
	}
}

// TestAGoToolIsCalledByAScript checks that tools written in Go are tools too.
func TestAGoToolIsCalledByAScript(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	integer := tool.Type{Name: tool.TypeInteger}
	double := func(_ context.Context, args *value.Dict) (value.Value, error) { return 2 * args.Int("n"), nil }
	if err := r.Register(tool.Tool{Name: "double", Description: "Double.", Params: []tool.Param{{Name: "n", Type: integer, Required: true}}}, double); err != nil {
		t.Fatal(err)
	}
	r.script("", "return tools.double(n = 21)", "needs = ['tool:double']")
	if got, err := r.call(); err != nil || got.Value != int64(42) {
		t.Errorf("result = %v, %v, want 42", got.Value, err)
	}
}
