package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An asker notes what it is asked, and answers what it was told to.
type asker struct {
	mu     sync.Mutex
	asked  []tool.Question
	calls  []tool.Call                     // that the questions are about
	answer func(tool.Question) tool.Answer // nil says yes
}

func (a *asker) approve(ctx context.Context, q tool.Question) (tool.Answer, error) {
	_, call, _ := host.AskedCall(ctx)
	a.mu.Lock()
	a.asked, a.calls = append(a.asked, q), append(a.calls, call)
	a.mu.Unlock()
	if a.answer == nil {
		return tool.Answer{Yes: true}, nil
	}
	return a.answer(q), nil
}

// kinds tells what was asked about, in short.
func (a *asker) kinds() string {
	var list []string
	for _, q := range a.asked {
		text := q.Tool
		if q.Func != "" {
			text += " " + q.Func
		}
		for _, c := range q.Changes {
			text += " " + c.Path
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func no(tool.Question) tool.Answer { return tool.Answer{Why: "not today"} }

func (r *rig) byModel(name string, args ...value.Value) (tool.Result, error) {
	return r.Call(context.Background(), tool.Call{Tool: name, Args: value.NewDict(args...)})
}

// TestWhatIsAsked checks of which calls somebody is asked, when, and about what.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	const write, run = "fs.write('out/a.txt', 'x')\nfs.write('out/sub/b.txt', 'y')", "stock.sell()"
	cases := []struct {
		name, body, fields string
		rules              []string
		asked              string
	}{
		{"reading", "return fs.exists('x')", "needs = ['fs.read']", nil, ""},
		{"it says that it is risky", "pass", "risky = True", nil, "t"},
		{"it writes: what it writes", write, "needs = ['fs.write']", nil, "t out out/a.txt out/sub out/sub/b.txt"},
		{"it writes nothing after all", "pass", "needs = ['fs.write']", nil, ""},
		{"it ends as it began", "fs.write('old', 'new')\nfs.write('old', 'old')", "needs = ['fs.write']", nil, ""},
		{"it writes and is risky", write, "needs = ['fs.write'], risky = True", nil, "t out out/a.txt out/sub out/sub/b.txt"},
		{"it is risky, may write and fails: nobody", "attempt(fs.read, 'none')\nfs.write('a', 'x')\nfs.remove('a')", "needs = ['fs.read', 'fs.write'], risky = True", nil, ""},
		{"it is risky, and a rule allows what it writes", write, "needs = ['fs.write'], risky = True", []string{"allow fs.write:out/**"}, ""},
		{"a rule allows calls of a risky tool", "pass", "risky = True", []string{"allow tool:t"}, ""},
		{"but not what it uses", run, "needs = ['use:stock'], risky = True", []string{"allow tool:t"}, "t stock.sell"},
		{"nor what it does besides", run, "needs = ['use:stock', 'shell:git'], risky = True", []string{"allow tool:t"}, "t"},
		{"both rules do", run, "needs = ['use:stock', 'shell:git'], risky = True", []string{"allow tool:t", "allow shell:git for t", "allow use:stock for t"}, ""},
		{"it writes and more", write, "needs = ['fs.write', 'use:stock']", nil, "t"},
		{"it writes before it waits", "fs.write('a', '1')\ntime.sleep(0)\nfs.write('b', '2')", "needs = ['fs.write']", nil, "t a, t b"},
		{"a registered function, when it is used", run, "needs = ['use:stock']", nil, "t stock.sell"},
		{"a registered function that is not used", "pass", "needs = ['use:stock']", nil, ""},
		{"once in a call", run + "\n" + run, "needs = ['use:stock']", nil, "t stock.sell"},
		{"a risky tool is asked about before", run, "needs = ['use:stock'], risky = True", nil, "t"},
		{"a rule allows all", run, "needs = ['use:stock']", []string{"allow use:stock"}, ""},
		{"a rule allows it to this tool", run, "needs = ['use:stock']", []string{"allow use:stock for t"}, ""},
		{"a rule allows it to another", run, "needs = ['use:stock']", []string{"allow use:stock for other"}, "t stock.sell"},
		{"a rule allows more than a literal need", run, "needs = ['use:stock']", []string{"allow use:s*"}, ""},
		{"a rule allows the same pattern", run, "needs = ['use:s*']", []string{"allow use:s*"}, ""},
		{"patterns are compared with what is used", run, "needs = ['use:st*']", []string{"allow use:s*"}, ""},
		{"and so is a need of everything", run, "needs = ['use']", []string{"allow use:*", "allow use:**"}, ""},
		{"a risky tool all the same", run, "needs = ['use:stock'], risky = True", []string{"allow use"}, "t"},
		{"a call's rule approves nothing", run, "needs = ['use:stock']", []string{"allow tool:t"}, "t stock.sell"},
		{"a rule allows the changes", write, "needs = ['fs.write']", []string{"allow fs.write:out/**"}, ""},
		{"a rule allows the files, and so their folders", write, "needs = ['fs.write']", []string{"allow fs.write:out/*.txt", "allow fs.write:out/sub/*.txt"}, ""},
		{"a rule allows some of the changes", write, "needs = ['fs.write']", []string{"allow fs.write:out/a.txt"}, "t out out/a.txt out/sub out/sub/b.txt"},
		{"a folder that nothing is in", "fs.mkdir('new')\nfs.write('out/a.txt', '')", "needs = ['fs.write']", []string{"allow fs.write:out/**"}, "t new out out/a.txt"},
		{"more than writing, but for a rule", write + "\n" + run, "needs = ['fs.write', 'use:stock']", []string{"allow use:stock"}, "t"},
		{"a rule asks once for reading the same", "fs.read('old')\nfs.stat('old')\nfs.read('old')", "needs = ['fs.read']", []string{"ask fs.read:old"}, "t fs.read"},
		{"and again for another file", "fs.write('b', '')\nfs.read('old')\nfs.read('b')", "needs = ['fs.read', 'fs.write']", []string{"ask fs.read", "allow fs.write"}, "t fs.read, t fs.read"},
		{"a rule asks for another effect each time", run + "\n" + run, "needs = ['use:stock']", []string{"ask use:stock"}, "t stock.sell, t stock.sell"},
		{"a rule asks for a write, which is then approved", "fs.write('old', '1')", "needs = ['fs.write']", []string{"ask fs.write:old"}, "t fs.write"},
		{"and one that is not", "fs.write('old', '1')\nfs.write('b', '2')", "needs = ['fs.write']", []string{"ask fs.write:old"}, "t fs.write, t b old"},
		{"a rule asks for a call", "pass", "", []string{"ask tool:t"}, "t"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var who asker
			r := newStockRig(t, &who, c.rules...)
			r.write("old", "old")
			r.script("", c.body, c.fields)
			if _, err := r.byModel("t"); err != nil {
				t.Fatal(err)
			}
			if got := who.kinds(); got != c.asked {
				t.Errorf("asked about %q, want %q", got, c.asked)
			}
			for _, q := range who.asked {
				if q.Why == "" || len(q.Capabilities) == 0 && strings.Contains(c.fields, "needs") {
					t.Errorf("the question says why %q and takes %v", q.Why, q.Capabilities)
				}
			}
		})
	}
}

// newStockRig is a rig with an effect that acts beyond the project.
func newStockRig(t testing.TB, who *asker, lines ...string) *rig {
	stock := tool.Module{Name: "stock", Funcs: []tool.Func{{Name: "sell", Kind: tool.External,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "use", Target: "stock"}}, nil
		},
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil },
	}}}
	return newRig(t, func(o *host.Options) {
		o.Modules = append(o.Modules, stock)
		o.Sandbox = inline(o.Modules)
		o.Rules = rules(t, lines...)
		if who != nil {
			o.Approver = host.ApproverFunc(who.approve)
		}
	})
}

// TestAPersonIsNotAskedTwice checks that who typed a call is asked only where
// a rule wants it.
func TestAPersonIsNotAskedTwice(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{"needs = ['fs.write']", "needs = ['fs.write', 'use:stock']", "risky = True, needs = ['fs.write']"} {
		var who asker
		r := newStockRig(t, &who)
		r.script("", "fs.write('a', 'x')", fields)
		if _, err := r.call(); err != nil || len(who.asked) > 0 || r.file("a") != "x" {
			t.Errorf("%s: asked %q, %v, a = %q, want no question and x", fields, who.kinds(), err, r.file("a"))
		}
	}
}

// TestADiffThatIsRefused checks that nothing of it reaches the disk, whatever
// the script does about it.
func TestADiffThatIsRefused(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"at the end":        `fs.write("new/a.txt", "x") fs.remove("old")`,
		"before it waits":   `fs.write("a.txt", "x") fs.remove("old") time.sleep(0)`,
		"caught":            `fs.write("a.txt", "x") fs.remove("old") for i = 1, 50 do pcall(time.sleep, 0) end`,
		"caught, then more": `fs.write("a.txt", "x") fs.remove("old") pcall(time.sleep, 0) fs.write("b.txt", "x")`,
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			who := asker{answer: no}
			r := newRig(t, func(o *host.Options) { o.Approver = host.ApproverFunc(who.approve) })
			r.write("old", "old")
			r.add("t.lua", `return tool{ description = "D.", needs = {"fs.write"}, handler = function() `+body+` end }`, nil)
			_, err := r.byModel("t")
			if err == nil || value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "not today") {
				t.Errorf("error = %v, want it denied, with the reason", err)
			}
			if r.file("old") != "old" || r.file("a.txt") != "none" || r.file("b.txt") != "none" || r.file("new/a.txt") != "none" {
				t.Error("some of it is on disk")
			}
			if len(who.asked) != 1 {
				t.Errorf("asked %d times, want once", len(who.asked))
			}
		})
	}
}

// TestTheDiffIsWhatIsWritten checks what somebody is shown.
func TestTheDiffIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	var who asker
	r := newRig(t, func(o *host.Options) { o.Approver = host.ApproverFunc(who.approve) })
	r.write("a.txt", "old")
	r.script("", "fs.write('a.txt', 'new')", "needs = ['fs.write']")
	if _, err := r.Call(context.Background(), tool.Call{Tool: "t", Reasoning: "because"}); err != nil {
		t.Fatal(err)
	}
	q := who.asked[0]
	if c := q.Changes[0]; string(c.Before.Data) != "old" || string(c.After.Data) != "new" || q.Reasoning != "because" || fmt.Sprint(q.Capabilities) != "[fs.write:a.txt]" {
		t.Errorf("asked %+v, want the old and the new text, the reasoning, and fs.write:a.txt", q)
	}
}

func TestArgumentsThatAreMended(t *testing.T) {
	t.Parallel()
	answers := []tool.Answer{
		{Yes: true, Args: value.NewDict("n", "many")},
		{Yes: true, Args: value.NewDict("n", int64(1000))},
		{Yes: true, Args: value.NewDict("n", int64(3))},
	}
	var who asker
	who.answer = func(tool.Question) tool.Answer { return answers[len(who.asked)-1] }
	r := newRig(t, func(o *host.Options) { o.Approver = host.ApproverFunc(who.approve) })
	r.script("n: int, working_dir: str", "return [n, working_dir != '']", "risky = True, params = {'n': param(max = 10)}")
	if got, err := r.byModel("t", "n", int64(1)); err != nil || value.FormatJSON(got.Value, "") != "[3,true]" {
		t.Errorf("result = %s, %v, want what was mended", value.FormatJSON(got.Value, ""), err)
	}
	var why []string
	for _, q := range who.asked {
		why = append(why, q.Why)
		if q.Args.Has("working_dir") {
			t.Errorf("asked about %s, want it without what the host fills in", value.FormatJSON(q.Args, ""))
		}
	}
	if len(why) != 3 || !strings.Contains(why[1], "should be integer") || !strings.Contains(why[2], "<= 10") {
		t.Errorf("asked because %q, want it to say what is wrong", why)
	}
}

// TestAlways checks for whom, and for what, a permanent answer is valid.
func TestAlways(t *testing.T) {
	t.Parallel()
	always := func(tool.Question) tool.Answer { return tool.Answer{Yes: true, Always: true} }
	source := star("t", "", "fs.write('a', 'x')\nfs.read('old')", "needs = ['fs.write', 'fs.read', 'tool']")
	who := asker{answer: always}
	standing, needs := toolset.Standing{}, []tool.Capability(nil)
	r := newRig(t, func(o *host.Options) {
		box := o.Sandbox
		o.Approver = host.ApproverFunc(who.approve)
		o.Rules = rules(t, "ask fs.read:old", "ask fs.read:b")
		o.Discover = func(ctx context.Context, _ toolset.Source) (toolset.Discovered, error) {
			s := tool.Script{Path: "t.star", Source: source}
			x, err := box.Describe(ctx, s)
			x.Needs = append(x.Needs, needs...)
			return toolset.Discovered{Tools: []toolset.Found{found(x, standing, s)}}, err
		}
	})
	r.write("old", "old")
	all := []tool.Capability{{Name: "fs.write"}, {Name: "fs.read"}}
	steps := []struct {
		name    string
		hash    string
		granted []tool.Capability
		needs   []tool.Capability // more than it declares
		asked   string
	}{
		{"first", "1", all, nil, "t fs.read, t a"},
		{"the same again", "1", all, nil, ""},
		{"another text", "2", all, nil, "t fs.read, t a"},
		{"other grants", "1", append(slices.Clone(all), tool.Capability{Name: "env"}), nil, "t fs.read, t a"},
		{"other needs", "1", all, []tool.Capability{{Name: "model"}}, "t fs.read, t a"},
		{"a text that nobody has hashed", "", all, nil, "t fs.read, t a"},
		{"and which may be another now", "", all, nil, "t fs.read, t a"},
		{"the first again", "1", all, nil, ""},
	}
	for i, step := range steps {
		standing = toolset.Standing{Location: tool.Project, Hash: step.hash, Granted: step.granted}
		needs, who.asked = step.needs, nil
		if err := r.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.write("a", fmt.Sprint("before ", i))
		if _, err := r.byModel("t"); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := who.kinds(); got != step.asked {
			t.Errorf("%s: asked %q, want %q", step.name, got, step.asked)
		}
	}
	// An answer for one file of a rule is none for another.
	source, who.asked = strings.Replace(source, "'old'", "'b'", 1), nil
	r.write("b", "b")
	if err := r.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.byModel("t"); err != nil || who.kinds() != "t fs.read" {
		t.Errorf("another file: asked %q, %v, want one question", who.kinds(), err)
	}
}

// TestOneQuestionAtATime checks that Serial puts the questions of parallel calls
// one after the other, and that a permanent answer answers those that wait.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	open, asked := 0, 0
	waiting := make(chan bool)
	r := newRig(t, func(o *host.Options) {
		o.Approver = host.Serial(host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) {
			mu.Lock()
			open++
			asked++
			first := asked == 1
			if open > 1 {
				t.Error("two questions at one time")
			}
			mu.Unlock()
			if first {
				<-waiting
			}
			mu.Lock()
			defer mu.Unlock()
			open--
			return tool.Answer{Yes: true, Always: true}, nil
		}))
	})
	r.script("", "return 1", "risky = True")
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, err := r.byModel("t"); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Call(ctx, tool.Call{Tool: "t"}); err == nil || value.KindOf(err) != value.Canceled {
		t.Errorf("a call that was cancelled = %v, want it cancelled", err)
	}
	close(waiting)
	wait.Wait()
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

// TestNobodyIsAskedToDeath checks that a script that does not take a no cannot
// go on asking, nor have the tools that it calls ask.
func TestNobodyIsAskedToDeath(t *testing.T) {
	t.Parallel()
	who := asker{answer: no}
	r := newRig(t, func(o *host.Options) {
		o.Approver, o.Rules = host.ApproverFunc(who.approve), rules(t, "ask fs.read:secret/**")
	})
	r.add("t.lua", `return tool{ description = "D.", needs = {"fs.read", "tool:b"}, handler = function()
  for i = 1, 200 do pcall(fs.read, "secret/" .. i) pcall(tools.b, {}) end
  return "done"
end }`, nil)
	r.add("b.star", star("b", "", "return 1", "risky = True"), nil)
	if got, err := r.byModel("t"); err != nil || got.Value != "done" {
		t.Errorf("result = %v, %v, want done", got.Value, err)
	}
	if len(who.asked) != 3 {
		t.Errorf("asked %d times, want 3", len(who.asked))
	}
	who.asked = nil
	if _, err := r.byModel("t"); err != nil || len(who.asked) != 3 {
		t.Errorf("another call: %v, asked %d times, want 3", err, len(who.asked))
	}
}

// TestAQuestionInAQuestion checks that an Approver that makes a call which asks
// again is told so, and does not wait for itself.
func TestAQuestionInAQuestion(t *testing.T) {
	t.Parallel()
	var r *rig
	var inner error
	r = newRig(t, func(o *host.Options) {
		o.Approver = host.ApproverFunc(func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			_, inner = r.Call(ctx, tool.Call{Tool: "t"})
			return tool.Answer{Yes: true}, nil
		})
	})
	r.script("", "return 1", "risky = True")
	if _, err := r.byModel("t"); err != nil || inner == nil || value.KindOf(inner) != value.Denied {
		t.Errorf("the calls gave %v and %v, want the inner one denied", err, inner)
	}
}

// TestHintsOfRefusals checks that a refusal says what would have allowed it.
func TestHintsOfRefusals(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body, fields, want, hint string }{
		{"a call", "pass", "needs = ['env', 'shell:git']", "the tool 't' needs approval, but no approver is configured: the tool may use env, shell:git", `allow {tool: t, capability: "env"}, {tool: t, capability: "shell:git"} in a rule, or one target of it`},
		{"a function", "stock.sell()", "needs = ['use:stock']", "the tool 't' needs approval for stock.sell (use:stock), but no approver is configured: the function stock.sell requires approval", `allow it permanently: cassidy trust --rule '{tool: t, capability: "use:stock"}'; or run`},
		{"a risky one", "pass", "risky = True", "the author marked the tool as risky", `allow it permanently: cassidy trust --rule '{capability: "tool:t"}'; or run`},
		{"a risky one that acts", "pass", "risky = True, needs = ['shell:git']", "the author marked the tool as risky", `cassidy trust --rule '{capability: "tool:t"}' '{tool: t, capability: "shell:git"}'; or run`},
		{"changes of a name with a pattern", "fs.write('a[1]*.txt', 'x')", "needs = ['fs.write']", "the tool 't' needs approval to change a[1]*.txt", `cassidy trust --rule '{tool: t, capability: "fs.write:a[[]1][*].txt"}'; or run`},
		{"changes of a name that no rule can have", "fs.write('a\\u200bb', 'x')", "needs = ['fs.write']", "the tool 't' needs approval to change", "run the command in a terminal"},
		{"changes", "fs.write('a', 'x')", "needs = ['fs.write']", "the tool 't' needs approval to change a", `cassidy trust --rule '{tool: t, capability: "fs.write:a"}'; or run`},
		{"an effect", "fs.read('secret')", "needs = ['fs.read']", "ask fs.read:secret (my config)", "run the command in a terminal"},
		{"a rule", "fs.read('no')", "needs = ['fs.read']", "fs.read:no is refused by a rule", "change the rule in my config"},
	}
	for _, c := range cases {
		r := newStockRig(t, nil, "ask fs.read:secret", "deny fs.read:no")
		r.script("", c.body, c.fields)
		_, err := r.byModel("t")
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Denied || !strings.Contains(e.Message(), c.want) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %v, want %q and the hint %q", c.name, e, c.want, c.hint)
		}
	}
}

// TestCancellationWhileAsked checks that a call that waits for an answer ends
// when its context does.
func TestCancellationWhileAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	r := newRig(t, func(o *host.Options) {
		o.Approver = host.ApproverFunc(func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			cancel()
			<-ctx.Done()
			return tool.Answer{Yes: true}, nil
		})
	})
	r.script("", "fs.write('a', 'x')", "needs = ['fs.write']")
	_, err := r.Call(ctx, tool.Call{Tool: "t"})
	if err == nil || value.KindOf(err) != value.Canceled || !errors.Is(ctx.Err(), context.Canceled) || r.file("a") != "none" {
		t.Errorf("error = %v, a = %q, want it cancelled and nothing written", err, r.file("a"))
	}
}

// TestApprovalStaysWithTheRun resumes a run that was begun with ApproveAll in hosts without
// an approver, with one that refuses this question, and with DenyAll.
func TestApprovalStaysWithTheRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	refuses := host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{Why: "not this"}, nil })
	for _, c := range []struct {
		name         string
		begin        host.Approver
		resume       host.Approver
		wantErr      value.Kind
		wantApproved bool
	}{
		{"nobody can be asked", host.ApproveAll(), nil, 0, true},
		{"somebody could be asked", host.ApproveAll(), refuses, 0, true},
		{"everything is denied", host.ApproveAll(), host.DenyAll("enough"), value.Denied, false},
		{"it was not begun so", refuses, nil, value.Parked, false},
		{"only the resumed run", nil, host.ApproveAll(), 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Now()
			j := history.Open(journal.Memory(), &history.Options{Clock: func() time.Time { return now }})
			t.Cleanup(func() { j.Close() })
			open := func(a host.Approver) *rig {
				r := newRig(t, func(o *host.Options) {
					o.Journal, o.Approver, o.Clock = recordIn(j), a, func() time.Time { return now }
				})
				r.add("sleeps.star", "def sleeps():\n    \"Sleep, then write.\"\n    time.sleep(3600)\n    fs.write('out.txt', 'x')\n    return 'written'\n\ntool(sleeps, needs = ['fs.write'])\n", nil)
				return r
			}
			if _, err := open(c.begin).Call(ctx, tool.Call{Tool: "sleeps"}, host.Durable("r")); !errors.Is(err, value.ErrParked) {
				t.Fatalf("the call gave %v, want that it sleeps", err)
			}
			now = now.Add(2 * time.Hour)
			res, err := open(c.resume).Resume(ctx, "r")
			if c.wantApproved && (err != nil || res.Value != "written") || !c.wantApproved && value.KindOf(err) != c.wantErr {
				t.Errorf("resumed: %v, %v; want kind %v", res.Value, err, c.wantErr)
			}
		})
	}
}
