package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// nobodyYet notes each question, and answers none.
type nobodyYet struct{ asked []tool.Question }

func (n *nobodyYet) Approve(_ context.Context, q tool.Question) (tool.Answer, error) {
	n.asked = append(n.asked, q)
	return tool.Answer{Yes: true}, value.ErrUnanswered
}

func (n *nobodyYet) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	return n.Approve(ctx, q)
}

// newQuestionRig returns a host with a journal in a store, as one process of many.
func newQuestionRig(t *testing.T, store journal.Store, change func(*host.Options)) *rig {
	j := history.Open(store, nil)
	t.Cleanup(func() { j.Close() })
	return newRig(t, func(o *host.Options) {
		o.Journal = recordIn(j)
		if change != nil {
			change(o)
		}
	})
}

// waiting returns what waits for an answer.
func (r *rig) waiting() (list []tool.Question) {
	r.t.Helper()
	for q, err := range r.Waiting(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, q)
	}
	return list
}

// asJSON shows questions in full.
func asJSON(t *testing.T, list ...tool.Question) string {
	t.Helper()
	data, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAQuestionIsTheSameEverywhere checks that who is asked live, the error of a run
// that parks, the host, and another process get the same question.
func TestAQuestionIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, params, body, fields string
		rules                      []string
		caller                     tool.Caller
		want                       tool.Question // but for ID, Run, Tool, Reasoning and Asked
	}{
		{"a call", "n: int, working_dir: str", "return n", "risky = True, needs = ['env:HOME']", nil, tool.ByModel, tool.Question{Step: "1",
			Kind: tool.QuestionApproval, Text: "the tool 't' needs approval: t(n=1)", Why: "the author marked the tool as risky", Args: value.NewDict("n", 1),
			Capabilities: []tool.Capability{{Name: "env", Target: "HOME"}}, Rules: rules(t, "allow tool:t")}},
		{"an effect", "n: int", "return fs.read('secret')", "needs = ['fs.read']", []string{"ask fs.read:secret"}, tool.ByPerson, tool.Question{Step: "1.1",
			Kind: tool.QuestionApproval, Func: "fs.read", Text: "the tool 't' needs approval for fs.read (fs.read:secret)", Why: "a rule asks: ask fs.read:secret (my config)",
			Args: value.NewDict("path", "secret", "offset", 1, "limit", nil, "encoding", "utf-8"), Capabilities: []tool.Capability{{Name: "fs.read", Target: "secret"}}, NoRule: "a rule asks each time: ask fs.read:secret (my config)"}},
		{"changes", "n: int", "fs.write('a.txt', 'one\\nzwei\\n')\nfs.write('b.bin', bytes([0]))", "needs = ['fs.write']", nil, tool.ByModel, tool.Question{Step: "1.3",
			Kind: tool.QuestionApproval, Text: "the tool 't' needs approval to change a.txt, b.bin", Why: "the call changes files", Args: value.NewDict("n", 1),
			Capabilities: []tool.Capability{{Name: "fs.write", Target: "a.txt"}, {Name: "fs.write", Target: "b.bin"}},
			Rules:        []tool.Rule{{Tool: "t", Capability: tool.Capability{Name: "fs.write", Target: "a.txt"}}, {Tool: "t", Capability: tool.Capability{Name: "fs.write", Target: "b.bin"}}},
			Changes: []tool.Change{
				{Path: "a.txt", Before: plainFile("one\ntwo\n"), After: plainFile("one\nzwei\n"), Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"},
				{Path: "b.bin", After: plainFile("\x00")},
			}}},
		{"a text", "n: int", "return human.ask('which?')", "needs = ['human']", nil, tool.ByPerson, tool.Question{Step: "1.1",
			Kind: tool.QuestionAsk, Func: "human.ask", Text: "which?", Why: "the tool asks for an answer in words", Args: value.NewDict("question", "which?", "default", nil, "timeout", nil),
			Capabilities: []tool.Capability{{Name: "human"}}}},
		{"a yes or no", "n: int", "return human.confirm('sure?')", "needs = ['human']", nil, tool.ByPerson, tool.Question{Step: "1.1",
			Kind: tool.QuestionConfirm, Func: "human.confirm", Text: "sure?", Why: "the tool asks for yes or no", Args: value.NewDict("question", "sure?", "timeout", nil),
			Capabilities: []tool.Capability{{Name: "human"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var who nobodyYet
			store := journal.Memory()
			r := newQuestionRig(t, store, func(o *host.Options) { o.Approver, o.Asker, o.Rules = &who, &who, rules(t, c.rules...) })
			r.write("a.txt", "one\ntwo\n")
			r.write("secret", "s")
			r.script(c.params, c.body, c.fields)
			before := time.Now()
			_, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("n", 1), Reasoning: "because", Caller: c.caller}, host.Durable("r"))
			var parked *host.ParkedError
			if !errors.As(err, &parked) || !errors.Is(err, value.ErrParked) || len(parked.Questions) != 1 || len(who.asked) != 1 {
				t.Fatalf("the call gave %v after %d questions, want that it waits for one", err, len(who.asked))
			}
			live := who.asked[0]
			want := c.want
			want.Run, want.ID, want.Tool, want.Reasoning, want.Asked = "r", "r:"+want.Step+":1", "t", "because", live.Asked
			if live.Asked.Before(before.Add(-time.Second)) || live.Asked.After(time.Now().Add(time.Second)) {
				t.Errorf("asked at %v, want about %v", live.Asked, before)
			}
			live.Changes = slices.Clone(live.Changes)
			for i := range live.Changes { // they depend on the system
				live.Changes[i].Before.Mode, live.Changes[i].After.Mode = want.Changes[i].Before.Mode, want.Changes[i].After.Mode
			}
			if diff := cmp.Diff(asJSON(t, want), asJSON(t, live)); diff != "" {
				t.Errorf("live (-want +got):\n%s", diff)
			}
			live = who.asked[0]
			other := newQuestionRig(t, store, nil)
			for where, got := range map[string][]tool.Question{"the error": parked.Questions, "the host": r.waiting(), "another host": other.waiting()} {
				if diff := cmp.Diff(asJSON(t, live), asJSON(t, got...)); diff != "" {
					t.Errorf("%s (-live +got):\n%s", where, diff)
				}
			}
		})
	}
}

func plainFile(text string) tool.FileState {
	return tool.FileState{Exists: true, Data: []byte(text), Hash: tool.HashBytes([]byte(text))}
}

// TestAnswersLater answers by ID what nobody was there to answer, with other
// arguments, from the host that asked and from another one.
func TestAnswersLater(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		ctx, store := context.Background(), journal.Memory()
		tools := func(r *rig) *rig {
			r.script("n: int", "return n * 2", "risky = True")
			return r
		}
		r := tools(newQuestionRig(t, store, nil))
		_, err := r.Call(ctx, tool.Call{Tool: "t", Args: value.NewDict("n", 1)}, host.Durable("r"))
		var parked *host.ParkedError
		if !errors.As(err, &parked) {
			t.Fatalf("the call gave %v, want that it waits", err)
		}
		if elsewhere {
			r.Close()
			r = tools(newQuestionRig(t, store, nil))
		}
		open := r.waiting()
		if len(open) != 1 || open[0].ID != parked.Questions[0].ID {
			t.Fatalf("waiting are %+v, want that of %v", open, parked)
		}
		fail := func(what, id string, a tool.Answer, want error) {
			t.Helper()
			if err := r.Answer(ctx, id, a); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		id := open[0].ID
		fail("no ID", "", tool.Answer{Yes: true}, value.ErrNotFound)
		fail("not an ID", "yes please", tool.Answer{Yes: true}, value.ErrNotFound)
		fail("another run", "s:1:1", tool.Answer{Yes: true}, value.ErrNotFound)
		fail("another step", "r:7:1", tool.Answer{Yes: true}, value.ErrNotFound)
		fail("another number", "r:1:2", tool.Answer{Yes: true}, value.ErrNotFound)
		fail("a text", id, tool.Answer{Value: "yes"}, value.ErrInvalid)
		fail("a value of no kind", id, tool.Answer{Yes: true, Value: make(chan int)}, value.ErrInvalid)
		for _, n := range []int{5, 21} { // the second corrects the first
			if err := r.Answer(ctx, id, tool.Answer{Yes: true, Args: value.NewDict("n", n), By: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		if open := r.waiting(); len(open) != 0 {
			t.Errorf("with its answer %+v still waits", open)
		}
		if got, err := r.Resume(ctx, "r"); err != nil || got.Value != int64(42) {
			t.Errorf("the result is %v, %v, want 42", got.Value, err)
		}
		fail("a used one", id, tool.Answer{}, value.ErrConflict)
	}
}

// TestAnswersOfTenants checks that a tenant cannot see or answer what another is asked.
func TestAnswersOfTenants(t *testing.T) {
	t.Parallel()
	ctx, all := context.Background(), history.Open(journal.Memory(), nil)
	defer all.Close()
	h := func(tenant string) *rig {
		r := newRig(t, func(o *host.Options) { o.Journal = recordIn(all.Tenant(tenant)) })
		r.script("", "return 1", "risky = True")
		return r
	}
	a, b := h("a"), h("b")
	if _, err := a.Call(ctx, tool.Call{Tool: "t"}, host.Durable("r")); !errors.Is(err, value.ErrParked) {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	if open := b.waiting(); len(open) != 0 {
		t.Errorf("another tenant sees %+v", open)
	}
	if err := b.Answer(ctx, "r:1:1", tool.Answer{Yes: true}); !errors.Is(err, value.ErrNotFound) {
		t.Errorf("the answer of another tenant gave %v, want that there is no such question", err)
	}
	if err := a.Answer(ctx, "r:1:1", tool.Answer{Yes: true}); err != nil {
		t.Error(err)
	}
}

// TestWaitingLoops answers and resumes in the loop, and ends it in all ways.
func TestWaitingLoops(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), journal.Memory()
	r := newQuestionRig(t, store, nil)
	r.script("", "return human.confirm('sure?')", "needs = ['human'], risky = True")
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		if _, err := r.Call(ctx, tool.Call{Tool: "t"}, host.Durable(id)); !errors.Is(err, value.ErrParked) {
			t.Fatalf("the call gave %v, want that it waits", err)
		}
	}
	n := 0
	for range r.Waiting(ctx) {
		n++
		break
	}
	ended, cancel := context.WithCancel(ctx)
	defer cancel()
	var last error
	for _, err := range r.Waiting(ended) {
		n++
		last = err
		cancel()
	}
	if n != 3 || !errors.Is(last, value.ErrCanceled) {
		t.Errorf("the loops took %d steps, the last with %v, want 3 and that it was cancelled", n, last)
	}
	for q, err := range r.Waiting(ended) {
		if q.ID != "" || !errors.Is(err, value.ErrCanceled) {
			t.Errorf("in an ended context there is %+v, %v", q, err)
		}
	}
	var seen []string
	for q, err := range r.Waiting(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, q.Run)
		if err := r.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
		if _, err := r.Resume(ctx, q.Run); !errors.Is(err, value.ErrParked) { // at its second question
			t.Errorf("%s gave %v, want that it waits", q.Run, err)
		}
	}
	if slices.Sort(seen); !slices.Equal(seen, ids) {
		t.Errorf("the loop saw %v, want %v", seen, ids)
	}
	for _, q := range r.waiting() {
		if err := r.Answer(ctx, q.ID, tool.Answer{Value: true}); err != nil || q.Kind != tool.QuestionConfirm {
			t.Errorf("%+v: %v", q, err)
		}
		if got, err := r.Resume(ctx, q.Run); err != nil || got.Value != true {
			t.Errorf("%s gave %v, %v, want true", q.Run, got.Value, err)
		}
	}
	for _, err := range newRig(t, nil).Waiting(ctx) {
		if !errors.Is(err, value.ErrInvalid) {
			t.Errorf("without a journal: %v", err)
		}
	}
}

// A spoilt store has lost what it has of one run.
type spoilt struct {
	journal.Store
	run string
}

func (s *spoilt) Load(ctx context.Context, num int64) (journal.Stored, error) {
	st, err := s.Store.Load(ctx, num)
	if st.Row.ID == s.run {
		st.Frames = slices.Clone(st.Frames)
		for i, f := range st.Frames[1:] {
			st.Frames[i+1] = slices.Clone(f[:len(f)-1])
		}
	}
	return st, err
}

// TestWaitingWithDamage checks that a damaged run hides no other.
func TestWaitingWithDamage(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), journal.Memory()
	r := newQuestionRig(t, store, nil)
	r.script("", "return 1", "risky = True")
	for _, id := range []string{"a", "b", "c"} {
		if _, err := r.Call(ctx, tool.Call{Tool: "t"}, host.Durable(id)); !errors.Is(err, value.ErrParked) {
			t.Fatalf("the call gave %v, want that it waits", err)
		}
	}
	r = newQuestionRig(t, &spoilt{store, "b"}, nil)
	whole, damaged := "", ""
	for q, err := range r.Waiting(ctx) {
		if err != nil {
			damaged += q.Run
		} else {
			whole += q.Run
		}
	}
	if whole != "ca" || damaged != "b" {
		t.Errorf("the runs %q ask, and %q are damaged, want ca and b", whole, damaged)
	}
}

// TestWhoCannotAnswer checks what comes of an approver, or an asker, that gives
// something else than an answer.
func TestWhoCannotAnswer(t *testing.T) {
	t.Parallel()
	var p *int
	gives := func(a tool.Answer, err error) func(context.Context, tool.Question) (tool.Answer, error) {
		return func(context.Context, tool.Question) (tool.Answer, error) { return a, err }
	}
	for _, c := range []struct {
		name    string
		who     func(context.Context, tool.Question) (tool.Answer, error)
		want    error // of a call
		durable error
		text    string
	}{
		{"nobody", nil, value.ErrDenied, value.ErrParked, ""},
		{"unanswered", gives(tool.Answer{Yes: true}, value.ErrUnanswered), value.ErrDenied, value.ErrParked, ""},
		{"unanswered, wrapped", gives(tool.Answer{}, value.Errorf(value.Unanswered, "lunch")), value.ErrDenied, value.ErrParked, ""},
		{"an error", gives(tool.Answer{Yes: true, Value: "x"}, errors.New("the pager is broken")), value.ErrDenied, value.ErrDenied, "the pager is broken"},
		{"a panic", func(context.Context, tool.Question) (tool.Answer, error) {
			return tool.Answer{Yes: *p == 1}, nil
		}, value.ErrFailed, value.ErrFailed, "panicked"},
		{"another type", gives(tool.Answer{Value: 1.5}, nil), value.ErrFailed, value.ErrFailed, "expects"},
	} {
		for kind, body := range map[string]string{"approve": "return fs.read('secret')", "ask": "return human.ask('which?')", "confirm": "return human.confirm('sure?')"} {
			r := newQuestionRig(t, journal.Memory(), func(o *host.Options) {
				o.Rules = rules(t, "ask fs.read:secret")
				if c.who != nil {
					o.Approver, o.Asker = host.ApproverFunc(c.who), host.AskerFunc(c.who)
				}
			})
			r.write("secret", "s")
			r.script("", body, "needs = ['human', 'fs.read']")
			call := tool.Call{Tool: "t", Caller: tool.ByPerson}
			_, err := r.Call(context.Background(), call)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s, %s: %v, want %v with %q", c.name, kind, err, c.want, c.text)
			}
			_, err = r.Call(context.Background(), call, host.Durable("r"))
			if !errors.Is(err, c.durable) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s, %s, durable: %v, want %v with %q", c.name, kind, err, c.durable, c.text)
			}
		}
	}
}

// TestAnApproverThatIgnoresItsContext checks that a call ends within a second after
// its context, while who was asked thinks on.
func TestAnApproverThatIgnoresItsContext(t *testing.T) {
	for kind, body := range map[string]string{"approve": "return fs.read('secret')", "ask": "return human.ask('which?')"} {
		synctest.Test(t, func(t *testing.T) {
			asked := make(chan tool.Question, 1)
			who := func(_ context.Context, q tool.Question) (tool.Answer, error) {
				asked <- q
				time.Sleep(time.Hour)
				return tool.Answer{Yes: true, Value: "late"}, nil
			}
			r := newRig(t, func(o *host.Options) {
				o.Rules = rules(t, "ask fs.read:secret")
				o.Approver, o.Asker = host.ApproverFunc(who), host.AskerFunc(who)
			})
			r.write("secret", "s")
			r.script("", body, "needs = ['human', 'fs.read']")
			start := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := r.Call(ctx, tool.Call{Tool: "t", Caller: tool.ByPerson})
			if took := time.Since(start); err == nil || took < time.Minute || took > time.Minute+time.Second {
				t.Errorf("%s: %v after %v, want an error within a second after a minute", kind, err, took)
			}
			if expires := (<-asked).Expires; !expires.Equal(start.Add(time.Minute)) {
				t.Errorf("%s: the question expires at %v, want %v", kind, expires, start.Add(time.Minute))
			}
			time.Sleep(time.Hour) // the goroutine of who was asked ends
		})
	}
}

// TestUnrecordedQuestions checks what a question has in a run that is not recorded.
func TestUnrecordedQuestions(t *testing.T) {
	t.Parallel()
	var who nobodyYet
	r := newRig(t, func(o *host.Options) { o.Approver = &who })
	r.script("", "return 1", "risky = True")
	if _, err := r.Call(context.Background(), tool.Call{Tool: "t"}); !errors.Is(err, value.ErrDenied) {
		t.Errorf("the call gave %v, want that it is denied", err)
	}
	if q := who.asked[0]; q.ID != "" || q.Run != "" || q.Tool != "t" || q.Asked.IsZero() || !q.Expires.IsZero() {
		t.Errorf("asked %+v", q)
	}
}

// TestSerialOfNil checks that no approver stays none.
func TestSerialOfNil(t *testing.T) {
	t.Parallel()
	if host.Serial(nil) != nil {
		t.Error("Serial makes an approver of none")
	}
	if _, _, ok := host.AskedCall(context.Background()); ok {
		t.Error("a context without a question has a call")
	}
}
