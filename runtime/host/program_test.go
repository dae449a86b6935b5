package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// lentRows are the effects that the programs of these tests are lent, as a
// sandbox knows them.
func lentRows() []tool.Module { return (&rig{}).lent() }

// lent are the same, working: they double, call tools as an agent would, and
// wait for an hour.
func (r *rig) lent() []tool.Module {
	text := func(name string, required bool) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Required: required, HasDefault: !required}
	}
	return []tool.Module{{Name: "lent", Funcs: []tool.Func{{
		Name: "double", Kind: tool.Recorded, Params: []tool.Param{{Name: "n", Type: tool.Type{Name: tool.TypeInteger}, Required: true}},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{Value: 2 * e.Args.Int("n")}, nil
		},
	}, {
		Name: "call", Kind: tool.External, Params: []tool.Param{text("name", true), text("then", false)},
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			got, err := r.Call(ctx, tool.Call{Tool: e.Args.Text("name"), Caller: tool.ByModel})
			if then := e.Args.Text("then"); err == nil && then != "" {
				got, err = r.Call(ctx, tool.Call{Tool: then, Caller: tool.ByModel})
			}
			return tool.Outcome{Value: got.Value}, err
		},
	}, {
		Name: "wait", Kind: tool.Repeatable,
		Do: func(ctx context.Context, _ tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			_, err := slow(ctx, tool.Question{})
			return tool.Outcome{}, err
		},
	}}}}
}

// newProgramRig is newRig with a sandbox that knows what programs are lent.
func newProgramRig(t testing.TB, change func(*host.Options)) *rig {
	return newRig(t, func(o *host.Options) {
		if change != nil {
			change(o)
		}
		o.Sandbox = inline(slices.Concat(o.Modules, lentRows()))
	})
}

// program is one whose function has this body.
func (r *rig) program(body string) *host.Program {
	body = strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ")
	return &host.Program{
		Name: "program p", ID: "p", Entry: "main", Modules: r.lent(),
		Script: tool.Script{Name: "p", Path: "p.star", Source: "def main(arg = None):\n    " + body + "\n"},
	}
}

// goTool registers a tool in Go.
func (r *rig) goTool(name string, do func(ctx context.Context) (value.Value, error)) {
	r.t.Helper()
	err := r.Register(tool.Tool{Name: name, Description: "Do it."}, func(ctx context.Context, _ *value.Dict) (value.Value, error) { return do(ctx) })
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestAProgramHasWhatItIsLent checks that a program has that and no more, and
// nobody else has it.
func TestAProgramHasWhatItIsLent(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body string
		want       value.Value
		kind       value.Kind
		text       string
	}{
		{"what it is lent", "return lent.double(n = 21)", int64(42), 0, ""},
		{"its arguments, and a module", "return lent.double(n = arg)", int64(14), 0, ""},
		{"pure functions", "return json.encode([1])", "[1]", 0, ""},
		{"a file", "return fs.read('a')", nil, value.Denied, "the program p may not use fs.read:a itself"},
		{"writing one", "fs.write('a', 'x')", nil, value.Denied, "the program p may not use fs.write:a itself"},
		{"a tool", "return tools.t()", nil, value.Denied, "the program p may not use tool:t itself"},
		{"through a tool", "return lent.call('t')", "read", 0, ""},
		{"more effects than a call", "for i in range(1500):\n    lent.double(n = i)\nreturn 1", int64(1), 0, ""},
		{"too many", "for i in range(10001):\n    lent.double(n = i)", nil, value.Limit, "more than 10000 effects"},
		{"too many steps", "for i in range(100000000): pass", nil, value.Limit, "steps"},
		{"no JSON", "return float('nan')", nil, value.Failed, "JSON"},
		{"a panic of the world", "return lent.call(name = 'panic')", nil, value.Internal, "panic"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newProgramRig(t, nil)
			r.write("a", "read")
			r.add("t.star", star("t", "", "return fs.read('a')", "needs = ['fs.read']"), nil)
			r.goTool("panic", func(context.Context) (value.Value, error) { panic("a bug") })
			p := r.program(c.body)
			p.Args = value.NewDict("arg", int64(7))
			out, err := r.RunProgram(context.Background(), p)
			if c.text == "" && (err != nil || out.Value != c.want) {
				t.Errorf("result = %v, %v, want %v", out.Value, err, c.want)
			}
			if c.text != "" && (err == nil || value.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("error = %v of kind %s, want %q of kind %s", err, value.KindOf(err).Type(), c.text, c.kind.Type())
			}
		})
	}
	r := newProgramRig(t, nil)
	r.add("t.star", star("t", "", "return lent.double(n = 1)", ""), nil)
	p := r.program("return lent.call('t')")
	if _, err := r.RunProgram(context.Background(), p); err == nil || !strings.Contains(err.Error(), "unknown effect lent.double") {
		t.Errorf("a tool that a program has called has what that was lent: %v", err)
	}
	p.Modules = nil
	if _, err := r.RunProgram(context.Background(), p); err == nil || !strings.Contains(err.Error(), "unknown effect lent.call") {
		t.Errorf("a program has what it was not lent: %v", err)
	}
}

// TestWhatCannotBeLent checks that what is lent takes the place of nothing.
func TestWhatCannotBeLent(t *testing.T) {
	t.Parallel()
	r := newProgramRig(t, nil)
	do := func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }
	for _, m := range []tool.Module{
		{Name: "fs", Funcs: []tool.Func{{Name: "read", Kind: tool.Read, Do: do}}},
		{Name: "tools", Funcs: []tool.Func{{Name: "call", Kind: tool.External, Do: do}}},
		{Name: "lent", Funcs: []tool.Func{{Name: "nothing", Kind: tool.Read}}},
	} {
		p := r.program("return 1")
		p.Modules = []tool.Module{m}
		if _, err := r.RunProgram(context.Background(), p); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "the program 'program p' cannot have the function "+m.Name+".") {
			t.Errorf("lending %s.%s: %v, want it refused", m.Name, m.Funcs[0].Name, err)
		}
	}
	if _, err := (&host.Host{}).RunProgram(context.Background(), &host.Program{Name: "p"}); value.KindOf(err) != value.Invalid {
		t.Errorf("a host without a sandbox: %v, want it refused", err)
	}
}

// TestWhatIsDoneForACaller checks that what a handler in Go does for a script's
// call, itself or through a program, is bounded by that script's tool.
func TestWhatIsDoneForACaller(t *testing.T) {
	t.Parallel()
	ways := map[string]func(r *rig, ctx context.Context) (value.Value, error){
		"by a handler": func(r *rig, ctx context.Context) (value.Value, error) {
			got, err := r.Call(ctx, tool.Call{Tool: "reader", Caller: tool.ByPerson})
			return got.Value, err
		},
		"by a program": func(r *rig, ctx context.Context) (value.Value, error) {
			out, err := r.RunProgram(ctx, r.program("return lent.call('reader')"))
			return out.Value, err
		},
		"by a program of a program": func(r *rig, ctx context.Context) (value.Value, error) {
			out, err := r.RunProgram(ctx, r.program("return lent.call('inner')"))
			return out.Value, err
		},
	}
	cases := []struct {
		name, needs string // of the script that calls the handler
		rules       []string
		want        string // in the error, or ""
	}{
		{"it may all", "'tool', 'fs.read'", nil, ""},
		{"it may just this", "'tool:work', 'tool:reader', 'tool:inner', 'fs.read:secret/x'", nil, ""},
		{"it may not read", "'tool'", nil, "the tool 't' (which called 'reader') does not declare that it needs fs.read:secret/x"},
		{"it may read something else", "'tool', 'fs.read:docs/**'", nil, "does not declare that it needs fs.read:secret/x"},
		{"a rule about it", "'tool', 'fs.read'", []string{"deny fs.read:secret/** for t"}, "is refused by a rule"},
		{"a rule about what it has called", "'tool', 'fs.read'", []string{"deny tool:reader for t"}, "the call of 'reader' is refused by a rule"},
		{"it may not call the reader", "'tool:work', 'tool:inner', 'fs.read'", nil, "does not declare that it needs tool:reader"},
	}
	for name, way := range ways {
		for _, c := range cases {
			t.Run(name+", "+c.name, func(t *testing.T) {
				r := newProgramRig(t, func(o *host.Options) { o.Rules = rules(t, c.rules...) })
				r.write("secret/x", "42")
				r.add("reader.star", star("reader", "", "return fs.read('secret/x')", "needs = ['fs.read']"), nil)
				r.goTool("work", func(ctx context.Context) (value.Value, error) { return way(r, ctx) })
				r.goTool("inner", func(ctx context.Context) (value.Value, error) {
					out, err := r.RunProgram(ctx, r.program("return lent.call('reader')"))
					return out.Value, err
				})
				r.add("t.star", star("t", "", "return tools.work()", "needs = ["+c.needs+"]"), nil)
				got, err := r.byModel("t")
				if c.want == "" && (err != nil || got.Value != "42") {
					t.Errorf("result = %v, %v, want 42", got.Value, err)
				}
				if c.want != "" && (err == nil || value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("result = %v, error = %v, want it denied with %q", got.Value, err, c.want)
				}
				if out, err := way(r, context.Background()); err != nil && len(c.rules) == 0 || err == nil && out != "42" {
					t.Errorf("for nobody: %v, %v, want 42", out, err)
				}
			})
		}
	}
}

// TestAHandlerHasNotApproved checks that a handler that says that a person made
// its call is not believed.
func TestAHandlerHasNotApproved(t *testing.T) {
	t.Parallel()
	r := newProgramRig(t, nil)
	r.add("w.star", star("w", "", "fs.write('a', 'x')", "needs = ['fs.write']"), nil)
	r.goTool("work", func(ctx context.Context) (value.Value, error) {
		_, err := r.Call(ctx, tool.Call{Tool: "w", Caller: tool.ByPerson})
		return nil, err
	})
	if _, err := r.Call(context.Background(), tool.Call{Tool: "work", Caller: tool.ByPerson}); value.KindOf(err) != value.Denied || r.file("a") != "none" {
		t.Errorf("error = %v, a = %q, want it denied", err, r.file("a"))
	}
}

// TestPlacesInAProgram checks that all that comes of a program has a name and a
// place of its own.
func TestPlacesInAProgram(t *testing.T) {
	t.Parallel()
	r := newProgramRig(t, nil)
	r.add("looks.star", star("looks", "", "fs.exists('a')\nfs.exists('b')\nfs.exists('c')", "needs = ['fs.read']"), nil)
	r.add("deep.star", star("deep", "", "fs.exists('a')\ntools.looks()", "needs = ['tool', 'fs.read']"), nil)
	r.goTool("work", func(ctx context.Context) (value.Value, error) {
		for range 2 {
			if _, err := r.Call(ctx, tool.Call{Tool: "looks"}); err != nil {
				return nil, err
			}
		}
		p := r.program("lent.double(n = 1)")
		p.ID = ""
		_, err := r.RunProgram(ctx, p)
		return nil, err
	})
	var got, calls []string
	note := func(e tool.Event) {
		switch d := e.Data.(type) {
		case tool.EffectDone:
			got = append(got, e.Call+" "+d.Step+" "+d.Func)
		case tool.ToolCallStart:
			calls = append(calls, e.Call+" "+e.Tool)
		}
	}
	stop := hear(t, r.Host, note)
	if _, err := r.RunProgram(context.Background(), r.program("lent.double(n = 1)\nlent.call('looks')\nlent.call('deep', then = 'looks')\nlent.call('work')")); err != nil {
		t.Fatal(err)
	}
	stop()
	wantCalls := []string{"p/2 looks", "p/3 deep", "p/3/2 looks", "p/3.2 looks", "p/4 work", "p/4/1 looks", "p/4/1.2 looks"}
	if !slices.Equal(calls, wantCalls) {
		t.Errorf("calls = %q, want %q", calls, wantCalls)
	}
	names, places := map[string]bool{}, map[string]bool{}
	for _, line := range got {
		words := strings.Fields(line)
		if names[words[0]+words[1]] || places[words[1]] {
			t.Errorf("two effects have the place %s: %q", words[1], got)
		}
		names[words[0]+words[1]], places[words[1]] = true, true
	}
	for _, want := range []string{"p 1 lent.double", "p/2 2.1 fs.exists", "p/2 2.3 fs.exists", "p 2 lent.call", "p/3 3.1 fs.exists", "p 4 lent.call"} {
		if !slices.Contains(got, want) {
			t.Errorf("effects = %q, want %q among them", got, want)
		}
	}
	p := r.program("lent.double(n = 1)")
	p.ID, got = "", nil
	stop = hear(t, r.Host, note)
	_, err := r.RunProgram(context.Background(), p)
	if stop(); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "call-") {
		t.Errorf("a program without a name: %v, effects %q, want the host to name it", err, got)
	}
}

// TestAProgramsTime checks that a program has no clock, and stops that of the
// call that it is run for.
func TestAProgramsTime(t *testing.T) {
	cases := []struct {
		name, body string // of the program
		after      time.Duration
		took       time.Duration
		text       string
	}{
		{"it waits", "lent.wait()\nlent.wait()", 0, 2 * time.Hour, ""},
		{"and its caller works on", "lent.wait()", 9 * time.Second, time.Hour + 9*time.Second, ""},
		{"but not too long", "lent.wait()", time.Minute, time.Hour + 10*time.Second, "took longer than 10s"},
		{"what it calls has a clock", "lent.call('late')", 0, 20 * time.Second, "took longer than 20s"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newProgramRig(t, func(o *host.Options) { o.Timeout = 10 * time.Second })
				r.add("late.star", star("late", "", "time.sleep(60)", "timeout = 20"), nil)
				r.goTool("work", func(ctx context.Context) (value.Value, error) {
					if _, err := r.RunProgram(ctx, r.program(c.body)); err != nil {
						return nil, err
					}
					select {
					case <-time.After(c.after):
					case <-ctx.Done():
					}
					return nil, context.Cause(ctx)
				})
				r.add("t.star", star("t", "", "tools.work()", "timeout = 5, needs = ['tool']"), nil)
				start := time.Now()
				_, err := r.byModel("t")
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if c.text == "" && err != nil || c.text != "" && (value.KindOf(err) != value.Timeout || !strings.Contains(err.Error(), c.text)) {
					t.Errorf("error = %v, want %q", err, c.text)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := newProgramRig(t, nil)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := r.RunProgram(ctx, r.program("lent.wait()")); !errors.Is(err, context.DeadlineExceeded) && value.KindOf(err) != value.Timeout {
			t.Errorf("a program whose context ends: %v", err)
		}
	})
}

// TestReview checks that whoever runs a program has a word in what is written
// for it, however far down.
func TestReview(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		refuse     bool
		want       string // of the file a
		by         string
	}{
		{"allowed", "lent.call('w')", false, "x", "w a"},
		{"refused", "lent.call('w')", true, "none", "w a"},
		{"refused further down", "lent.call('deep')", true, "none", "w a"},
		{"nothing to ask about", "lent.double(n = 1)", true, "none", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			who := &asker{}
			r := newProgramRig(t, func(o *host.Options) { o.Approver = host.ApproverFunc(who.approve) })
			r.add("w.star", star("w", "", "fs.write('a', 'x')", "needs = ['fs.write']"), nil)
			r.add("deep.star", star("deep", "", "tools.w()", "needs = ['tool', 'fs.write']"), nil)
			p := r.program(c.body)
			var by []string
			p.Review = func(t *tool.Tool, _ tool.Location, changes []tool.Change) error {
				by = append(by, t.Name+" "+changes[0].Path)
				if c.refuse {
					return value.Errorf(value.Conflict, "not this file")
				}
				return nil
			}
			_, err := r.RunProgram(context.Background(), p)
			if got := strings.Join(by, ","); got != c.by || r.file("a") != c.want {
				t.Errorf("reviewed %q, a = %q, want %q and %q", got, r.file("a"), c.by, c.want)
			}
			if refused := c.refuse && c.by != ""; refused != (err != nil) || refused && (value.KindOf(err) != value.Conflict || !strings.Contains(err.Error(), "not this file")) {
				t.Errorf("error = %v", err)
			}
			if c.refuse && len(who.asked) > 0 && who.asked[0].Changes != nil {
				t.Errorf("somebody was asked about changes that the review refuses: %+v", who.asked)
			}
		})
	}
}

// TestEffectsOfAProgramAreCounted checks that what its tools ask for counts with
// its own.
func TestEffectsOfAProgramAreCounted(t *testing.T) {
	t.Parallel()
	r := newProgramRig(t, nil)
	r.add("many.star", star("many", "", "for i in range(990): fs.exists('x')", "needs = ['fs.read']"), nil)
	effects := 0
	stop := hear(t, r.Host, func(e tool.Event) {
		if _, ok := e.Data.(tool.EffectDone); ok {
			effects++
		}
	})
	_, err := r.RunProgram(context.Background(), r.program("for i in range(20): lent.call('many')"))
	stop()
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Limit || e.Limit != value.LimitEffects || effects > host.MaxTreeEffects+20 {
		t.Errorf("error = %v after %d effects, want the limit of %d", err, effects, host.MaxTreeEffects)
	}
}

// TestProgramsAreNotEndless checks that a program that calls what runs it again
// comes to an end.
func TestProgramsAreNotEndless(t *testing.T) {
	t.Parallel()
	r := newProgramRig(t, nil)
	runs := 0
	r.goTool("again", func(ctx context.Context) (value.Value, error) {
		runs++
		_, err := r.RunProgram(ctx, r.program("return lent.call('again')"))
		return nil, err
	})
	_, err := r.RunProgram(context.Background(), r.program("return lent.call('again')"))
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Limit || e.Limit != value.LimitDepth || runs > host.MaxDepth {
		t.Errorf("error = %v after %d runs, want the limit of depth", err, runs)
	}
}

// TestNarrowedProgram checks that the rules of a program hold for all that it calls, also through
// programs without rules, and for nothing else of the run.
func TestNarrowedProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules []string // of the inner program
		want  string   // in the error of what is called within it, or ""
	}{
		{nil, ""},
		{[]string{"deny fs.read:docs/**"}, ""},
		{[]string{"deny fs.read:secret/**"}, "fs.read:secret/x is refused by a rule: deny fs.read:secret/**"},
		{[]string{"ask fs.read"}, "approval"},
		{[]string{"deny tool:reader"}, "the call of 'reader' is refused by a rule"},
		{[]string{"deny tool"}, "is refused by a rule"},
	} {
		r := newProgramRig(t, nil)
		r.write("secret/x", "42")
		r.add("reader.star", star("reader", "", "return fs.read('secret/x')", "needs = ['fs.read']"), nil)
		r.add("t.star", star("t", "", "return tools.reader()", "needs = ['tool', 'fs.read']"), nil)
		r.goTool("inner", func(ctx context.Context) (value.Value, error) {
			out, err := r.RunProgram(ctx, r.program("return lent.call('t')"))
			return out.Value, err
		})
		var failure error
		r.goTool("narrowed", func(ctx context.Context) (value.Value, error) {
			p := r.program("return lent.call('inner')")
			p.Narrow = rules(t, c.rules...)
			_, failure = r.RunProgram(ctx, p)
			return nil, nil
		})
		out, err := r.RunProgram(context.Background(), r.program("lent.call('narrowed')\nreturn lent.call('t')"))
		if err != nil || out.Value != "42" {
			t.Errorf("%v: outside: %v, %v, want 42", c.rules, out.Value, err)
		}
		if c.want == "" && failure != nil || c.want != "" && (value.KindOf(failure) != value.Denied || !strings.Contains(failure.Error(), c.want)) {
			t.Errorf("%v: inside: %v, want %q", c.rules, failure, c.want)
		}
		p := r.program("return lent.call('inner')")
		p.Narrow = rules(t, c.rules...)
		if _, err := r.RunProgram(context.Background(), p); (err == nil) != (c.want == "") {
			t.Errorf("%v: a root: %v, want %q", c.rules, err, c.want)
		}
	}
	r := newProgramRig(t, nil)
	p := r.program("return 1")
	p.Narrow = rules(t, "allow fs.write")
	if _, err := r.RunProgram(context.Background(), p); value.KindOf(err) != value.Invalid {
		t.Errorf("a rule that allows: %v, want Invalid", err)
	}
}
