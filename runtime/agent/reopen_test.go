package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// reopened opens the session of the stage once more, from the store.
func (s *stage) reopened() *agent.Session {
	s.t.Helper()
	other, err := s.session.Agent().Session(context.Background(), s.session.ID())
	if err != nil {
		s.t.Fatal(err)
	}
	return other
}

// TestReopen compares a session after each turn with one that is reopened
// from the store.
func TestReopen(t *testing.T) {
	t.Parallel()
	a, b := value.NewDict("filepath", "a.txt"), value.NewDict("filepath", "b.txt")
	small := agent.Options{Budget: agent.Budget{Limit: 5000, Reserve: 100, CompactAt: 0.55}}
	for _, c := range []struct {
		name string
		setting
		turns []string
	}{
		{"text", setting{files: twoFiles, approve: host.ApproveAll(), replies: play{overwrite, readsA(), overwrite, done, readsA(), done, done}}, []string{"one", "two", "three"}},
		{"native", setting{files: twoFiles, native: true, replies: play{calls("Both.", "read_file", a, "read_file", b), done, calls("", "read_file", a), done}}, []string{"one", "two"}},
		{"a chat", setting{options: agent.Options{Policy: "chat", Tools: []string{}}, replies: play{"Hello.", "I am well.", "Bye."}}, []string{"Hi", "How are you?", "Bye"}},
		{"signed replies", setting{files: twoFiles, native: true, before: func(_ *stage, o *agent.Options) { o.Model = signed{o.Model} }, replies: play{calls("", "read_file", a), done, done}}, []string{"one", "two"}},
		{"compaction", setting{files: map[string]string{"a.txt": longText, "b.txt": "b\n"}, native: true, options: small, replies: play{
			calls("", "read_file", a), calls("", "read_file", b), "SUMMARY: a.txt has 3 lines", calls("", "list_files", &value.Dict{}), done, done}}, []string{"one", "two"}},
		{"calls that are left", setting{files: twoFiles, native: true, options: agent.Options{Policy: "chat", Iterations: 1}, replies: play{calls("", "read_file", a), done}}, []string{"one", "two"}},
		{"a model that fails", setting{files: twoFiles, replies: play{readsA(), value.Errorf(value.Failed, "no"), done}}, []string{"one", "two"}},
		{"agents", setting{files: twoFiles, before: withAgents, approve: host.ApproveAll(), replies: play{call("agent", "task", "one"), "TASK COMPLETE: 1", done, done}}, []string{"one", "two"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.store = true
			s := newStage(t, c.setting)
			for _, text := range c.turns {
				live, failure := s.session.Send(context.Background(), text)
				other := s.reopened()
				if diff := cmp.Diff(s.session.Kept(), other.Kept()); diff != "" {
					t.Fatalf("after %q the reopened session differs (-live +reopened):\n%s", text, diff)
				}
				again, err := other.Resume(context.Background())
				live.Usage.Wall, again.Usage.Wall = 0, 0
				live.Overhead, again.Overhead, live.EffectiveLimit, again.EffectiveLimit = 0, 0, 0, 0
				if diff := cmp.Diff(jsonOf(t, &live), jsonOf(t, &again)); diff != "" || value.KindOf(err) != value.KindOf(failure) || (err == nil) != (failure == nil) {
					t.Errorf("its reply differs, with %v and %v (-live +reopened):\n%s", failure, err, diff)
				}
			}
		})
	}
}

// TestASessionContinuesElsewhere has two Sessions of one ID take turns.
func TestASessionContinuesElsewhere(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{store: true, options: agent.Options{Policy: "chat", Tools: []string{}}, replies: play{"1", "2", "3", "4"}})
	other := s.reopened()
	for i, session := range []*agent.Session{s.session, other, s.session, other} {
		r, err := session.Send(context.Background(), "next")
		if err != nil || r.Session != "run" || len(session.Messages()) != 2*(i+1) {
			t.Errorf("turn %d gave %+v, %v, and %d messages", i+1, r, err, len(session.Messages()))
		}
	}
	if last, err := host.Operate(s.Host).LastTurn(context.Background(), "run"); err != nil || last.ID != "run--4" {
		t.Errorf("the last turn is %s, %v", last.ID, err)
	}
}

// TestBegin checks that a turn which a session begins is executed by whoever resumes its run, once, and that the
// conversation continues after it.
func TestBegin(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{store: true, options: agent.Options{Policy: "chat", Tools: []string{}}, replies: play{"1", "2", "3"}})
	ctx := context.Background()
	for i, begun := range []bool{false, true, true} {
		if !begun {
			if _, err := s.session.Send(ctx, "next"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		run, err := s.session.Begin(ctx, "next")
		if want := fmt.Sprintf("run--%d", i+1); run != want || err != nil {
			t.Fatalf("Begin gave %q, %v, want %q", run, err, want)
		}
		if _, err := s.session.Send(ctx, "too early"); value.KindOf(err) != value.Conflict {
			t.Errorf("Send before the turn gave %v, want a conflict", err)
		}
		if _, err := s.session.Begin(ctx, "too early"); value.KindOf(err) != value.Conflict {
			t.Errorf("Begin before the turn gave %v, want a conflict", err)
		}
		result, err := s.Resume(ctx, run)
		if d, _ := result.Value.(*value.Dict); err != nil || d.Text("answer") != fmt.Sprint(i+1) {
			t.Errorf("the turn gave %v, %v", result.Value, err)
		}
	}
	if n := len(s.reopened().Messages()); n != 6 {
		t.Errorf("the conversation has %d messages, want those of three turns", n)
	}
	if _, err := s.session.Begin(ctx, " "); value.KindOf(err) != value.Invalid {
		t.Errorf("an empty message gave %v", err)
	}
}

// TestElsewhere compares sessions whose turns others execute with sessions whose turns are executed here.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	const question = "and now?"
	set := setting{store: true, files: twoFiles, options: agent.Options{Policy: "chat"}, replies: play{readsA(), "It says a.", &value.Error{Kind: value.Invalid, Err: errors.New("no such model")}, "3"}}
	here, there := newStage(t, set), newStage(t, set)
	h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline, Journal: there.journal, Resume: func(_, id string) { _, _ = there.Resume(context.Background(), id) }}, there.dir, &cassidy.Options{TrustSource: true})
	if err != nil {
		t.Fatal(err)
	}
	o := set.options
	o.WorkDir, o.Model, o.Tools = there.dir, script.New("replies", false, nil), []string{"read_file", "list_files", "write_file"}
	a, err := agent.New(h, &o)
	if err != nil {
		t.Fatal(err)
	}
	away := a.NewSession("run")
	for _, text := range []string{"what is in a?", "fail", question} {
		want, wantErr := here.session.Send(t.Context(), text)
		got, gotErr := away.Send(t.Context(), text)
		if got.Text != want.Text || got.Reason != want.Reason || got.Run != want.Run || len(got.Calls) != len(want.Calls) || got.Usage.Requests != want.Usage.Requests || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("elsewhere: %+v, %v\nhere: %+v, %v", got, gotErr, want, wantErr)
		}
	}
	if got, want := away.Messages(), here.session.Messages(); len(got) != len(want) || got[len(got)-1].Text != want[len(want)-1].Text {
		t.Errorf("the conversation elsewhere is %v, want %v", got, want)
	}
}

// TestSessionsAtTheSameTime has many Sessions of one ID send messages until each was
// heard, and loses none.
func TestSessionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	const n = 8
	s := newStage(t, setting{store: true, options: agent.Options{Policy: "chat", Tools: []string{}}, replies: slices.Repeat(play{"yes"}, n)})
	var all sync.WaitGroup
	for i := range n {
		session := s.reopened()
		all.Go(func() {
			for {
				_, err := session.Send(context.Background(), fmt.Sprintf("I am number %d.", i))
				if err == nil {
					return
				}
				if value.KindOf(err) != value.Conflict {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	messages := s.reopened().Messages()
	heard := map[string]bool{}
	for i := 0; i < len(messages); i += 2 {
		heard[messages[i].Text] = true
	}
	if len(messages) != 2*n || len(heard) != n {
		t.Errorf("the conversation has %d messages, and was heard from %d", len(messages), len(heard))
	}
}

// TestTenants checks that a session is its tenant's.
func TestTenants(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	records := history.Open(store, nil)
	defer records.Close()
	m := script.New("counts", false, func(_ context.Context, messages value.List, _ int) (value.Value, error) {
		return fmt.Sprintf("%d messages", len(messages)), nil
	})
	for i, c := range []struct{ tenant, want string }{{"ann", "1 messages"}, {"ben", "1 messages"}, {"ann", "3 messages"}, {"ben", "3 messages"}} {
		h, err := host.New(&host.Options{
			Sandbox: sandbox.NewInline(append(stdlib.Pure(), agent.Modules()...)...),
			Journal: func() (*history.Journal, error) { return records.Tenant(c.tenant), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(h, &agent.Options{Model: m, Policy: "chat", Tools: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.Session(t.Context(), "support")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Send(t.Context(), "hello"); err != nil || r.Text != c.want {
			t.Errorf("turn %d, of %s, gave %q, %v, want %q", i+1, c.tenant, r.Text, err, c.want)
		}
	}
}

// waits opens a session whose first turn waits for an approval.
func waits(t *testing.T, more ...any) (*stage, *host.ParkedError) {
	t.Helper()
	s := newStage(t, setting{files: twoFiles, store: true, replies: append(play{call("write_file", "filepath", "c.txt", "content", "third")}, more...)})
	r, err := s.session.Send(context.Background(), "write it")
	var parked *host.ParkedError
	if !errors.As(err, &parked) || parked.Run != "run" || len(parked.Questions) != 1 || r.Reason != agent.ReasonParked || r.Run != "run" {
		t.Fatalf("the turn gave %+v, %v, want that it waits", r, err)
	}
	if s.session.Waiting() != "run" || s.reopened().Waiting() != "run" {
		t.Fatal("the session has no turn that waits")
	}
	if _, err := s.session.Send(context.Background(), "and now?"); value.KindOf(err) != value.Conflict || value.ErrorOf(err, 0).Hint == "" {
		t.Errorf("a turn before the last has ended gave %v, want a conflict", err)
	}
	return s, parked
}

// TestATurnThatWaits checks the ways to continue, or to end, a turn that waits.
func TestATurnThatWaits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, resume := range map[string]func(s *stage) (string, error){
		"the session": func(s *stage) (string, error) {
			r, err := s.session.Resume(ctx)
			return r.Text, err
		},
		"another session": func(s *stage) (string, error) {
			r, err := s.reopened().Resume(ctx)
			return r.Text, err
		},
		"the host": func(s *stage) (string, error) {
			r, err := s.Resume(ctx, "run")
			d, _ := r.Value.(*value.Dict)
			return d.Text("answer"), err
		},
		"the package": func(s *stage) (string, error) {
			r, err := agent.Resume(ctx, s.Host, "run")
			return r.Text, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, parked := waits(t, "TASK COMPLETE: written", "TASK COMPLETE: more")
			if err := s.Answer(ctx, parked.Questions[0].ID, tool.Answer{Yes: true}); err != nil {
				t.Fatal(err)
			}
			if text, err := resume(s); err != nil || text != "written" || s.file("c.txt") != "third" {
				t.Fatalf("the turn gave %q, %v, and c.txt has %q", text, err, s.file("c.txt"))
			}
			if r, err := s.Resume(ctx, "run"); err != nil || r.Value.(*value.Dict).Text("answer") != "written" {
				t.Errorf("the result of the ended turn is %v, %v", r.Value, err)
			}
			if r, err := s.session.Send(ctx, "and now?"); err != nil || r.Text != "more" || r.Run != "run--2" || s.session.Waiting() != "" {
				t.Errorf("the next turn gave %+v, %v", r, err)
			}
			if n := len(s.session.Messages()); n != 6 {
				t.Errorf("the conversation has %d messages, want 6", n)
			}
		})
	}
	s, _ := waits(t, "TASK COMPLETE: something else")
	if err := s.Cancel(ctx, "run"); err != nil {
		t.Fatal(err)
	}
	if r, err := s.session.Send(ctx, "something else"); err != nil || r.Text != "something else" {
		t.Errorf("after a cancelled turn the next gave %+v, %v", r, err)
	}
	if log := s.log.String(); !strings.Contains(log, "interrupted") {
		t.Errorf("the model does not know what became of its call:\n%s", log)
	}
}

// TestAnInterruptedTurn ends the context of a turn, and resumes it.
func TestAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	s := newStage(t, setting{files: twoFiles, store: true, replies: play{
		readsA(),
		func(ctx context.Context) any { cancel(); <-ctx.Done(); return context.Cause(ctx) },
		done,
	}})
	if r, err := s.session.Send(ctx, "read it"); value.KindOf(err) != value.Canceled || r.Reason != agent.ReasonInterrupted {
		t.Fatalf("the turn ended with %s, %v, want it interrupted", r.Reason, err)
	}
	if _, err := s.session.Send(context.Background(), "and now?"); value.KindOf(err) != value.Conflict {
		t.Errorf("a turn before the last has ended gave %v, want a conflict", err)
	}
	r, err := s.session.Resume(context.Background())
	if err != nil || !r.Success() || len(r.Calls) != 1 || len(s.session.Messages()) != 4 {
		t.Errorf("the resumed turn gave %+v, %v", r, err)
	}
}

// TestWhoResumes checks that a run is resumed only with an agent that has its
// model and its name.
func TestWhoResumes(t *testing.T) {
	t.Parallel()
	s, _ := waits(t, "TASK COMPLETE: refused")
	m := s.model(false, play{"TASK COMPLETE: by another"})
	h, ctx := s.Host, context.Background()
	other, err := agent.New(h, &agent.Options{Name: "other", Model: m, ModelName: "other", Tools: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	// The session is another agent's now, but its open turn is not.
	session, err := other.Session(ctx, "run")
	if err != nil || session.Waiting() != "run" {
		t.Fatalf("the session is %+v, %v", session, err)
	}
	if err := s.Answer(ctx, "run:3:1", tool.Answer{Yes: false}); value.KindOf(err) == value.NotFound {
		for q := range h.Waiting(ctx) {
			err = h.Answer(ctx, q.ID, tool.Answer{Yes: false})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if r, err := session.Resume(ctx); err != nil || r.Text != "refused" {
		t.Errorf("the open turn gave %+v, %v, want the reply of the model that began it", r, err)
	}
	if r, err := session.Send(ctx, "and you?"); err != nil || r.Text != "by another" {
		t.Errorf("the next turn gave %+v, %v, want the reply of the other model", r, err)
	}
	if log := s.log.String(); !strings.Contains(log, "write it") {
		t.Errorf("the other model does not know the conversation:\n%s", log)
	}
}

// TestSessionIDs checks what can be the ID of a session, and that no two
// sessions have a run in common.
func TestSessionIDs(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{store: true, options: agent.Options{Policy: "chat", Tools: []string{}}, replies: slices.Repeat(play{"yes"}, 14)})
	ctx := context.Background()
	runs := map[string]string{}
	for _, id := range []string{"user", "user-2", "user--2", "ann@example.com/42", "ü", strings.Repeat("x", 200), ""} {
		session, err := s.session.Agent().Session(ctx, id)
		if err != nil {
			t.Errorf("Session(%.20q) = %v", id, err)
			continue
		}
		if id != "" && session.ID() != id {
			t.Errorf("the ID of %.20q is %.20q", id, session.ID())
		}
		for range 2 {
			r, err := session.Send(ctx, "hello")
			if err != nil || runs[r.Run] != "" {
				t.Errorf("a turn of %.20q gave %+v, %v; its run is one of %q", id, r, err, runs[r.Run])
			}
			runs[r.Run] = session.ID()
		}
	}
	for _, id := range []string{strings.Repeat("x", 201), "a\x00b", "\xff", "a\nb"} {
		if _, err := s.session.Agent().Session(ctx, id); value.KindOf(err) != value.Invalid {
			t.Errorf("Session(%.20q) = %v, want it refused", id, err)
		}
	}
}

// TestSessionsInMemory checks sessions of a host without a store.
func TestSessionsInMemory(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{options: agent.Options{Policy: "chat", Tools: []string{}}, replies: play{"1", "2"}})
	a, ctx := s.session.Agent(), context.Background()
	one, err := a.Session(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := one.Send(ctx, "next"); err != nil || r.Text != "1" {
		t.Errorf("the turn gave %+v, %v", r, err)
	}
	if two, err := a.Session(ctx, "x"); err != nil || two != one {
		t.Errorf("Session gave another one, %v", err)
	}
	if two, err := a.Session(ctx, "y"); err != nil || len(two.Messages()) != 0 {
		t.Errorf("a new session has %d messages, %v", len(two.Messages()), err)
	}
	if _, err := one.Send(ctx, " \n"); value.KindOf(err) != value.Invalid {
		t.Errorf("an empty message gave %v, want it refused", err)
	}
}

// TestAModelThatIsUnavailable checks that a turn waits for its model.
func TestAModelThatIsUnavailable(t *testing.T) {
	t.Parallel()
	rate := value.Errorf(value.Limit, "HTTP 429")
	rate.Limit = value.LimitRate
	for reason, failure := range map[string]*value.Error{"unavailable": value.Errorf(value.Unavailable, "HTTP 503"), "rate": rate} {
		s := newStage(t, setting{files: twoFiles, store: true, replies: play{readsA(), failure, done}})
		_, err := s.session.Send(context.Background(), "read it")
		var parked *host.ParkedError
		if !errors.As(err, &parked) || parked.Run != "run" || parked.Reason != reason || value.KindOf(err) != failure.Kind || !strings.Contains(err.Error(), "HTTP ") {
			t.Fatalf("the turn gave %#v, want that it waits for its model", err)
		}
		r, err := s.session.Resume(context.Background())
		if err != nil || !r.Success() || len(r.Calls) != 1 || r.Iterations != 2 {
			t.Errorf("the resumed turn gave %+v, %v", r, err)
		}
	}
}

// TestEventsOfASession checks that the events of a turn, down to the pieces of text,
// carry the session and the run, and that a filter selects them.
func TestEventsOfASession(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{files: twoFiles, store: true, replies: play{readsA(), done, "TASK COMPLETE: other"}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := s.Subscribe(ctx, host.EventFilter{Session: "run"})
	if _, err := s.session.Send(ctx, "read it"); err != nil {
		t.Fatal(err)
	}
	other, err := s.session.Agent().Session(ctx, "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Send(ctx, "and you?"); err != nil {
		t.Fatal(err)
	}
	cancel()
	text, calls := 0, 0
	for e := range events {
		if e.Session != "run" || e.Run != "run" {
			t.Errorf("an event of another session: %+v", e)
		}
		switch e.Data.(type) {
		case tool.Text:
			text++
		case tool.ToolCallStart:
			calls++
		}
	}
	if text == 0 || calls != 1 {
		t.Errorf("the turn had %d pieces of text and %d calls", text, calls)
	}
}
