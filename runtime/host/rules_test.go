package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// add registers a tool from the text of its file, whose name it is given.
func (r *rig) add(file, source string, change func(*toolset.Info)) {
	r.t.Helper()
	s := tool.Script{Path: file, Source: source}
	d, err := r.Describe(context.Background(), s)
	if err != nil {
		r.t.Fatal(err)
	}
	described := toolset.Info{Tool: d.Tool}
	if change != nil {
		change(&described)
	}
	if err := r.RegisterScript(described, func() (tool.Script, error) { return s, nil }); err != nil {
		r.t.Fatal(err)
	}
}

// found returns what a search found of a script.
func found(d tool.Described, standing toolset.Standing, s tool.Script) toolset.Found {
	return toolset.Found{
		Head: toolset.Head{Head: d.Head(), Standing: standing}, Declared: func() (tool.Described, error) { return d, nil },
		Load: func() (tool.Script, error) { return s, nil },
	}
}

// star is the text of a tool's file: one function of some lines.
func star(name, params, body, fields string) string {
	body = strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ")
	return fmt.Sprintf("def %s(%s):\n    \"Do it.\"\n    %s\n\ntool(%s, %s)\n", name, params, body, name, fields)
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// rules reads rules as "deny fs.read:x" or "ask fs.write for t".
func rules(t testing.TB, lines ...string) []tool.Rule {
	t.Helper()
	verdicts := map[string]tool.Verdict{"allow": tool.Allow, "ask": tool.Ask, "deny": tool.Deny}
	var list []tool.Rule
	for _, line := range lines {
		words := strings.Fields(line)
		c, err := tool.ParseCapability(words[1])
		if err != nil {
			t.Fatal(err)
		}
		r := tool.Rule{Verdict: verdicts[words[0]], Capability: c, Source: "my config"}
		if len(words) == 4 {
			r.Tool = words[3]
		}
		list = append(list, r)
	}
	return list
}

func TestRules(t *testing.T) {
	t.Parallel()
	yes := host.ApproveAll()
	cases := []struct {
		name    string
		rules   []string
		body    string
		fields  string
		approve host.Approver
		want    string // the error, or ""
	}{
		{"reading needs no rule", nil, "return fs.read('a/x.txt')", "needs = ['fs.read']", nil, ""},
		{"a rule denies what a person typed", []string{"deny fs.read:a/**"}, "return fs.read('a/x.txt')", "needs = ['fs.read']", yes,
			"fs.read:a/x.txt is refused by a rule: deny fs.read:a/** (my config)"},
		{"deny goes before allow", []string{"deny fs.write:a/**", "allow fs.write"}, "fs.write('a/x.txt', '')", "needs = ['fs.write']", yes, "refused by a rule"},
		{"deny for another tool", []string{"deny fs.read for other"}, "return fs.read('a/x.txt')", "needs = ['fs.read']", nil, ""},
		{"deny for its group", []string{"deny fs.read for @files"}, "return fs.read('a/x.txt')", "needs = ['fs.read'], group = 'files'", nil, "refused by a rule"},
		{"what a person typed is asked by a rule", []string{"ask fs.read:a/**"}, "return fs.read('a/x.txt')", "needs = ['fs.read']", nil,
			"needs approval for fs.read (fs.read:a/x.txt), but no approver is configured: a rule asks: ask fs.read:a/** (my config)"},
		{"and passes when approved", []string{"ask fs.read:a/**"}, "return fs.read('a/x.txt')", "needs = ['fs.read']", yes, ""},
		{"ask goes before allow", []string{"allow fs.read", "ask fs.read:a/**"}, "return fs.read('a/x.txt')", "needs = ['fs.read']", nil, "a rule asks"},
		{"a rule widens nothing", []string{"allow fs.read"}, "return fs.read('b.txt')", "needs = ['fs.read:a/**']", yes, "does not declare that it needs fs.read:b.txt"},
		{"both paths of a move", []string{"deny fs.write:a/**"}, "fs.move('b.txt', 'a/y.txt')", "needs = ['fs.read', 'fs.write']", yes, "fs.write:a/y.txt is refused"},
		{"a way around by a link", []string{"deny fs.read:a/**"}, "return fs.read('link/x.txt')", "needs = ['fs.read']", yes, "fs.read:a/x.txt is refused"},
		{"a call", []string{"deny tool:t"}, "return 1", "", yes, "the call of 't' is refused by a rule: deny tool:t (my config)"},
		{"a call of another", []string{"deny tool:tt"}, "return 1", "", yes, ""},
		{"a call by its group", []string{"deny tool:@files"}, "return 1", "group = 'files'", yes, "the call of 't' is refused"},
		{"a call that is asked", []string{"ask tool:t"}, "return 1", "", nil, "the tool 't' needs approval, but no approver is configured: a rule asks: ask tool:t (my config)"},
		{"a rule for the tools of no group", []string{"deny tool:t for @ungrouped"}, "return 1", "", nil, ""},
		{"an environment variable", []string{"deny env:KEY"}, "return env.get('KEY')", "needs = ['env:KEY']", yes, "refused by a rule"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(o *host.Options) { o.Rules, o.Approver = rules(t, c.rules...), c.approve })
			r.write("a/x.txt", "x")
			r.write("b.txt", "b")
			r.link("a", "link")
			r.script("", c.body, c.fields)
			_, err := r.call()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error = %v, want none", err)
			case c.want != "" && (err == nil || value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error = %v of kind %s, want it denied with %q", err, value.KindOf(err), c.want)
			}
		})
	}
}

// TestARuleKnowsBothSpellings checks that a rule holds however the name of a
// tool is written in it, in the tool and in the call.
func TestARuleKnowsBothSpellings(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"deny tool:my-tool", "deny tool:my_tool"} {
		r := newRig(t, func(o *host.Options) { o.Rules = rules(t, rule) })
		r.add("my_tool.star", star("my_tool", "", "return 1", "name = 'my-tool'"), nil)
		for _, name := range []string{"my-tool", "my_tool"} {
			if _, err := r.byModel(name); err == nil || value.KindOf(err) != value.Denied {
				t.Errorf("%s, call of %s: %v, want it denied", rule, name, err)
			}
		}
	}
}

// TestARuleHidesFiles checks that what a rule refuses or asks about is not
// there for what goes through a folder, and that the folder is.
func TestARuleHidesFiles(t *testing.T) {
	t.Parallel()
	for _, verdict := range []string{"deny", "ask"} {
		asked := 0
		r := newRig(t, func(o *host.Options) {
			o.Rules = rules(t, verdict+" fs.read:**/.env", verdict+" fs.read:*.key")
			o.Approver = host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) {
				asked++
				return tool.Answer{}, nil
			})
		})
		for _, name := range []string{".env", "a.key", "b.txt", "d/.env", "d/c.txt"} {
			r.write(name, "secret")
		}
		r.script("", "return [[e['name'] for e in fs.list('.')], fs.glob('**', hidden = True), [m['path'] for m in fs.search('secret')]]", "needs = ['fs.read']")
		got, err := r.call()
		text := value.FormatJSON(got.Value, "")
		if err != nil || strings.Contains(text, ".env") || strings.Contains(text, ".key") || strings.Count(text, "b.txt") != 3 {
			t.Errorf("%s: it sees %s, %v, want b.txt and no secrets", verdict, text, err)
		}
		if asked > 0 {
			t.Errorf("%s: somebody was asked %d times while a folder was read", verdict, asked)
		}
	}
}

func TestRulesThatMeanNothingAreErrors(t *testing.T) {
	t.Parallel()
	for _, r := range []tool.Rule{
		{Capability: tool.Capability{Name: "fs.read"}},
		{Verdict: 9, Capability: tool.Capability{Name: "fs.read"}},
		{Verdict: tool.Deny},
		{Verdict: tool.Deny, Capability: tool.Capability{Name: "fs.reed"}},
		{Verdict: tool.Deny, Capability: tool.Capability{Name: "fs.read", Target: "../x"}},
	} {
		if _, err := host.New(&host.Options{Rules: []tool.Rule{r}}); err == nil || value.KindOf(err) != value.Invalid {
			t.Errorf("a rule %+v: %v, want it refused", r, err)
		}
	}
}

// TestGrants checks that a tool may do what it declares and was granted, both.
func TestGrants(t *testing.T) {
	t.Parallel()
	all, some := tool.Capability{Name: "fs.read"}, tool.Capability{Name: "fs.read", Target: "a/**"}
	cases := []struct {
		name    string
		granted []tool.Capability
		path    string
		want    string
	}{
		{"nobody has said", nil, "b.txt", ""},
		{"all of it", []tool.Capability{all}, "b.txt", ""},
		{"nothing", []tool.Capability{}, "b.txt", "was not granted fs.read:b.txt"},
		{"some, and that", []tool.Capability{some}, "a/x.txt", ""},
		{"some, and other", []tool.Capability{some}, "b.txt", "was not granted fs.read:b.txt"},
		{"more than is declared", []tool.Capability{all, {Name: "fs.write"}}, "b.txt", ""},
	}
	for _, c := range cases {
		r := newRig(t, nil)
		r.write("a/x.txt", "x")
		r.write("b.txt", "b")
		r.add("t.star", star("t", "path: str", "return fs.read(path)", "needs = ['fs.read']"), func(x *toolset.Info) { x.Granted = c.granted })
		_, err := r.call("path", c.path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error = %v, want %q", c.name, err, c.want)
		}
	}
	r := newRig(t, nil)
	r.add("t.star", star("t", "", "fs.write('x', '')", "needs = ['fs.read']"), func(x *toolset.Info) { x.Granted = []tool.Capability{{Name: "fs.write"}} })
	if _, err := r.call(); err == nil || !strings.Contains(err.Error(), "does not declare") {
		t.Errorf("a grant of what is not declared: %v, want it refused", err)
	}
}

// TestGrantsOfFoundTools checks that what a search finds in a project has what
// its loader says and nothing else.
func TestGrantsOfFoundTools(t *testing.T) {
	t.Parallel()
	source := star("t", "", "return fs.exists('x')", "needs = ['fs.read']")
	for location, want := range map[tool.Location]bool{tool.Project: false, tool.Builtin: true, tool.Personal: true, tool.Embedded: false, "": false} {
		r := newRig(t, func(o *host.Options) {
			box := o.Sandbox
			o.Discover = func(ctx context.Context, _ toolset.Source) (toolset.Discovered, error) {
				s := tool.Script{Path: "t.star", Source: source}
				x, err := box.Describe(ctx, s)
				return toolset.Discovered{Tools: []toolset.Found{found(x, toolset.Standing{Location: location}, s)}}, err
			}
		})
		if _, err := r.call(); (err == nil) != want {
			t.Errorf("a tool of %q: %v, want it allowed: %v", location, err, want)
		}
	}
}

// TestUntrusted checks that a tool that nobody has reviewed is listed, and
// that nothing of it runs.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) { o.Approver = host.ApproveAll() })
	bad := "def here():\n    fs.exists('x')\n    return True\n\ndef t():\n    \"D.\"\n    return fs.read('x')\n\ntool(t, available = here, needs = ['fs.read'], group = 'g')\n"
	r.add("t.star", bad, func(x *toolset.Info) { x.State, x.Reason = toolset.Untrusted, "it is new" })
	r.add("good.star", star("good", "", "return tools.t()", "needs = ['tool:t', 'fs.read'], group = 'g'"), nil)
	effects := 0
	stop := hear(t, r.Host, func(e tool.Event) {
		if _, ok := e.Data.(tool.EffectDone); ok && e.Tool == "t" {
			effects++
		}
	})
	for _, x := range r.Tools() {
		if x.Name == "t" && x.State != toolset.Untrusted {
			t.Errorf("it is listed as %s", x.State)
		}
	}
	for _, words := range [][]string{nil, {"@g"}, {"all"}} {
		if got, err := r.Select(words...); err != nil || len(got) != 1 || got[0].Name != "good" {
			t.Errorf("Select(%v) = %v, %v, want good alone", words, got, err)
		}
	}
	check := func(what string, err error) {
		t.Helper()
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Denied || !strings.Contains(e.Hint, "cassidy trust") || !strings.Contains(e.Error(), "it is new") {
			t.Errorf("%s: %+v, want it denied, with its reason and a hint", what, e)
		}
	}
	_, err := r.Select("t")
	check("Select", err)
	_, err = r.call()
	check("a call", err)
	_, err = r.Call(context.Background(), tool.Call{Tool: "good"})
	check("a call by a tool", err)
	if stop(); effects > 0 {
		t.Errorf("it did %d things", effects)
	}
}

// A box is a sandbox that runs Go in place of scripts, as a worker could that
// somebody has taken over.
type box struct {
	sandbox.Sandbox
	run func(context.Context, tool.Call, tool.Effector) (tool.Outcome, error)
}

func (b box) Run(ctx context.Context, _ tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	return b.run(ctx, c, do)
}

// TestInternalEffectsAreTheHosts checks that a script that has got out of its
// language cannot commit or restore files itself.
func TestInternalEffectsAreTheHosts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fs.commit", "fs.restore", "fs.nothing", ""} {
		r := newRig(t, func(o *host.Options) {
			o.Sandbox = box{o.Sandbox, func(ctx context.Context, _ tool.Call, do tool.Effector) (tool.Outcome, error) {
				_, err := do(ctx, tool.Effect{Func: "fs.write", Args: value.NewDict("path", "a", "content", "x"), StepPath: tool.StepPath{1}})
				if err != nil {
					t.Error(err)
				}
				_, err = do(ctx, tool.Effect{Func: name, StepPath: tool.StepPath{2}})
				return tool.Outcome{}, err
			}}
		})
		r.script("", "pass", "needs = ['fs.write']")
		if _, err := r.call(); err == nil || value.KindOf(err) != value.Denied {
			t.Errorf("%s: %v, want it denied", name, err)
		}
		if got := r.file("a"); got != "none" {
			t.Errorf("%s committed %q", name, got)
		}
	}
}

// TestAPanicOfAnEffectIsTheToolsFailure checks that what a program lends takes
// the program not with it.
func TestAPanicOfAnEffectIsTheToolsFailure(t *testing.T) {
	t.Parallel()
	stock := tool.Module{Name: "stock", Funcs: []tool.Func{
		{Name: "do", Kind: tool.Read, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { panic("oh") }},
		{Name: "target", Kind: tool.Read, Target: func(*value.Dict) ([]tool.Capability, error) { panic("oh") },
			Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }},
	}}
	for _, f := range stock.Funcs {
		r := newRig(t, func(o *host.Options) {
			o.Modules = append(o.Modules, stock)
			o.Sandbox = box{o.Sandbox, func(ctx context.Context, _ tool.Call, do tool.Effector) (out tool.Outcome, err error) {
				done := make(chan bool)
				go func() { // a panic here would be the program's end
					defer close(done)
					_, err = do(ctx, tool.Effect{Func: "stock." + f.Name, StepPath: tool.StepPath{1}})
				}()
				<-done
				return tool.Outcome{}, err
			}}
		})
		r.script("", "pass", "")
		if _, err := r.call(); err == nil || value.KindOf(err) != value.Internal || !strings.Contains(err.Error(), "stock."+f.Name+" panicked: oh") {
			t.Errorf("%s: %v, want an internal error", f.Name, err)
		}
	}
}

// TestLimits checks that a sandbox is told every limit, and none beyond what
// the host allows.
func TestLimits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		host, most, tool, call, want tool.Limits
	}{
		{want: tool.DefaultLimits()},
		{tool: tool.Limits{Steps: 9e9, Memory: 1 << 40, Requests: 300}, call: tool.Limits{Result: 5},
			want: tool.Limits{Steps: 9e9, CPU: tool.DefaultCPU, Memory: 1 << 40, Result: 5, Requests: 300}},
		{most: tool.Limits{Steps: 7, CPU: 8, Memory: 9, Result: 10, Requests: 11}, tool: tool.Limits{Steps: 9e9, Memory: 3, Requests: 100},
			want: tool.Limits{Steps: 7, CPU: 8, Memory: 3, Result: 10, Requests: 11}},
		{host: tool.Limits{Steps: 1, CPU: 2, Memory: 3, Result: 40, Requests: 50}, want: tool.Limits{Steps: 1, CPU: 2, Memory: 3, Result: 40, Requests: 50}},
		{host: tool.Limits{Steps: 1, Result: 40}, most: tool.Limits{Steps: 20, Result: 30}, tool: tool.Limits{Steps: 50},
			want: tool.Limits{Steps: 20, CPU: tool.DefaultCPU, Memory: tool.DefaultMemory, Result: 30, Requests: tool.DefaultRequests}},
		{most: tool.Limits{Memory: 1 << 40}, want: tool.DefaultLimits()},
	}
	for _, c := range cases {
		var got tool.Limits
		r := newRig(t, func(o *host.Options) {
			o.Limits, o.MaxLimits = c.host, c.most
			o.Sandbox = box{o.Sandbox, func(_ context.Context, c tool.Call, _ tool.Effector) (tool.Outcome, error) {
				got = c.Limits
				return tool.Outcome{}, nil
			}}
		})
		r.add("t.star", star("t", "", "pass", ""), func(x *toolset.Info) { x.Limits = c.tool })
		if _, err := r.Call(context.Background(), tool.Call{Tool: "t", Limits: c.call}); err != nil || got != c.want {
			t.Errorf("limits of %+v, by default %+v and at most %+v = %+v, %v, want %+v", c.tool, c.host, c.most, got, err, c.want)
		}
	}
	for _, l := range []tool.Limits{{Steps: -1}, {CPU: -1}, {Memory: -1}, {Result: -1}, {Requests: -1}} {
		for _, o := range []host.Options{{Limits: l}, {MaxLimits: l}} {
			if _, err := host.New(&o); value.KindOf(err) != value.Invalid {
				t.Errorf("New with %+v and at most %+v: %v, want an error of kind Invalid", o.Limits, o.MaxLimits, err)
			}
		}
	}
}

// TestBuiltinToolsHaveASandboxOfTheirOwn checks who runs in process.
func TestBuiltinToolsHaveASandboxOfTheirOwn(t *testing.T) {
	t.Parallel()
	for location, want := range map[tool.Location]string{tool.Builtin: "builtin", tool.Project: "other", tool.Personal: "other", "": "other"} {
		runs := func(where string) func(context.Context, tool.Call, tool.Effector) (tool.Outcome, error) {
			return func(context.Context, tool.Call, tool.Effector) (tool.Outcome, error) {
				return tool.Outcome{Value: where}, nil
			}
		}
		r := newRig(t, func(o *host.Options) {
			o.Sandbox, o.Builtin = box{o.Sandbox, runs("other")}, box{o.Sandbox, runs("builtin")}
		})
		r.add("t.star", star("t", "", "pass", ""), func(x *toolset.Info) { x.Location = location })
		if got, err := r.call(); err != nil || got.Value != want {
			t.Errorf("a tool of %q ran in %v, %v, want %s", location, got.Value, err, want)
		}
	}
}

// inline is a sandbox whose scripts know the effects of some modules.
func inline(modules []tool.Module) sandbox.Sandbox {
	return sandbox.NewInline(slices.Concat(stdlib.Pure(), modules, host.Modules())...)
}

// link makes a link in the rig's folder.
func (r *rig) link(to, name string) {
	r.t.Helper()
	if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
		r.t.Skip(err)
	}
}

// TestNarrowed checks that an effect is told of a rule that keeps a part of a
// capability from the tool, or from one that calls it.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules []string
		want  string
	}{
		{nil, ""},
		{[]string{"allow fs.read:docs/**"}, ""},
		{[]string{"deny fs.write:docs/**"}, ""},
		{[]string{"ask fs.read:docs/**"}, "ask fs.read:docs/**"},
		{[]string{"deny fs.read:docs/** for t"}, "deny fs.read:docs/** for t"},
		{[]string{"deny fs.read:docs/** for other"}, ""},
	} {
		got := "not asked"
		look := tool.Module{Name: "look", Funcs: []tool.Func{{Name: "around", Kind: tool.Read,
			Do: func(_ context.Context, _ tool.Effect, g tool.Grant) (tool.Outcome, error) {
				got = g.Narrowed("fs.read")
				return tool.Outcome{}, nil
			},
		}}}
		r := newRig(t, func(o *host.Options) {
			o.Modules = append(o.Modules, look)
			o.Sandbox = inline(o.Modules)
			o.Rules = rules(t, c.rules...)
		})
		r.script("", "look.around()", "")
		if _, err := r.call(); err != nil {
			t.Fatal(err)
		}
		if c.want == "" && got != "" || c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: narrowed by %q, want %q", c.rules, got, c.want)
		}
	}
}
