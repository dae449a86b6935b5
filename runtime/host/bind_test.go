package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAnAnswerBinds checks that the answer to a question of a waiting run decides, whatever rules are added
// before the run is resumed: only a rule that denies is above it. The audit says who answered, and why.
func TestAnAnswerBinds(t *testing.T) {
	t.Parallel()
	call := "out.send('to ' + to)"
	for _, tt := range []struct {
		name, body, needs string
		first             []string // the rules that ask
		later             []string // those that are added after the answer
	}{
		{"a call", call, "['use:out'], risky = True", nil, []string{"allow use:out for t", "allow tool:t"}},
		{"a call, by a rule", call, "['use:out']", []string{"ask tool:t"}, []string{"allow use:out for t", "allow tool:t"}},
		{"an effect", call, "['use:out']", []string{"allow tool:t", "ask use:out"}, []string{"allow use:out for t", "allow tool:t"}},
		{"changes", "fs.write('sent', to)", "['fs.write']", nil, []string{"allow fs.write for t", "allow tool:t"}},
	} {
		for _, more := range slices.Concat(tt.later, []string{"", "deny use:out", "deny fs.write"}) {
			for _, answer := range []tool.Answer{
				{By: "lena", Why: "not today"},
				{Yes: true, By: "lena", Why: "it is due"},
				{Yes: true, By: "lena", Args: value.NewDict("to", "bob")},
			} {
				changesArgs := strings.HasPrefix(tt.name, "a call")
				if answer.Args != nil && !changesArgs {
					continue
				}
				t.Run(fmt.Sprint(tt.name, ", ", more, ", ", answer.Yes, " ", answer.Args), func(t *testing.T) {
					t.Parallel()
					var audited []tool.Audit
					m := headless(t, inMemory)
					m.rules = rules(t, tt.first...)
					m.audit = func(e tool.Event) error {
						audited = append(audited, e.Data.(tool.Audit))
						return nil
					}
					run := func(resume bool) error {
						p := m.process(0, false)
						defer p.j.Close()
						p.add("t.star", star("t", "to: str", tt.body, "needs = "+tt.needs), nil)
						_, err := p.run("r", resume, "tools.t(to = 'ann')")
						return err
					}
					if err := run(false); value.KindOf(err) != value.Parked {
						t.Fatalf("the run gave %v, want that it waits", err)
					}
					q := m.questions(m.last)[0]
					if err := m.last.answers(&q, answer); err != nil {
						t.Fatal(err)
					}
					if more != "" {
						m.rules = rules(t, append(tt.first[:len(tt.first):len(tt.first)], more)...)
						if strings.HasPrefix(more, "allow") {
							m.rules = rules(t, more)
						}
					}
					err := run(true)
					denied := more == "deny use:out" && strings.HasPrefix(tt.needs, "['use:out']") || more == "deny fs.write" && tt.needs == "['fs.write']"
					var want []string
					switch {
					case !answer.Yes || denied:
					case answer.Args != nil:
						want = []string{"to bob"}
					default:
						want = []string{"to ann"}
					}
					var got []string
					for text := range m.sent {
						got = append(got, text)
					}
					if sent, ok := m.tree()["sent"]; ok {
						got = append(got, "to "+sent)
					}
					if !slices.Equal(got, want) {
						t.Errorf("the service and the files got %q, want %q (%v)", got, want, err)
					}
					if ended := err == nil; ended != (want != nil) {
						t.Errorf("the run gave %v", err)
					}
					if !answer.Yes && !denied && !strings.Contains(fmt.Sprint(err), "not today") {
						t.Errorf("the run gave %v, want the reason of the answer", err)
					}
					if said := slices.ContainsFunc(audited, func(a tool.Audit) bool {
						return a.By == "lena" && (a.Decision == "allowed") == answer.Yes && strings.Contains(a.Why, answer.Why) && strings.Contains(a.Why, "(to)") == (answer.Args != nil)
					}); !said && !denied {
						t.Errorf("the audit has %+v, want the answer of lena", audited)
					}
				})
			}
		}
	}
}

// TestAnAnswerIsRecorded checks that a run shows the answer that it was given, though a rule would allow
// what was asked about.
func TestAnAnswerIsRecorded(t *testing.T) { eachRecord(t, testAnAnswerIsRecorded) }

func testAnAnswerIsRecorded(t *testing.T, on keeper) {
	m := headless(t, on)
	const body = "tools.note(text = 'one')"
	at := m.waits(body, false, "approval")
	p := m.process(0, false)
	q := m.questions(p)[0]
	if err := p.answers(&q, tool.Answer{Yes: true, By: "lena", Why: "fine", Args: value.NewDict("text", "two")}); err != nil {
		t.Fatal(err)
	}
	m.rules = rules(t, "allow fs.write", "allow use:out")
	if _, err := m.ends(body); err != nil {
		t.Fatal(err)
	}
	if m.tree()["log"] != "two\n" {
		t.Errorf("the file has %q, want the arguments of the answer", m.tree()["log"])
	}
	if on == inMemory {
		return // it has no page
	}
	p = m.process(0, false)
	for e, err := range p.j.Entries(t.Context(), "r") {
		if err != nil {
			t.Fatal(err)
		}
		if e.StepPath.String() == at.String() && len(e.Questions) == 1 && e.Questions[0].Answer != nil && e.Questions[0].Answer.By == "lena" {
			return
		}
	}
	t.Errorf("no step has the answer of lena at %s", at)
}

// TestAnswersWhileARunResumes corrects an answer again and again while its run is resumed: the run does
// what the answer says that it has used, and uses no other one.
func TestAnswersWhileARunResumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for i := range 8 {
		m := headless(t, onDisk)
		run := func(resume bool) error {
			p := m.process(0, false)
			defer p.j.Close()
			p.add("put.star", star("put", "", "fs.write('a', 'x')", "needs = ['fs.write']"), nil)
			_, err := p.run("r", resume, "tools.put()")
			return err
		}
		if err := run(false); value.KindOf(err) != value.Parked {
			t.Fatalf("the run gave %v, want that it waits", err)
		}
		other, closeStore := m.open()
		open, err := other.Questions(ctx, "r")
		if err != nil || len(open) != 1 {
			t.Fatalf("the questions are %v, %v", open, err)
		}
		answered := make(chan error, 1)
		go func() {
			for n := i; ; n++ {
				if err := other.Answer(ctx, "r", open[0].StepPath, open[0].N, tool.Answer{Yes: n%2 == 0}); err != nil {
					answered <- err
					return
				}
			}
		}()
		for err = run(true); value.KindOf(err) == value.Parked; err = run(true) {
		}
		if late := <-answered; value.KindOf(late) != value.Conflict {
			t.Errorf("an answer after the one that was used gave %v, want a conflict", late)
		}
		e := entryAt(t, other, open[0].StepPath)
		used := e.Questions[len(e.Questions)-1].Answer
		_, wrote := m.tree()["a"]
		if used == nil || len(e.Questions) != 1 || wrote != used.Yes || (err == nil) != used.Yes {
			t.Errorf("the run used %+v of %d questions, gave %v and wrote: %v", used, len(e.Questions), err, wrote)
		}
		other.Close()
		closeStore()
	}
}

// entryAt returns what is recorded of a step of the run r.
func entryAt(t *testing.T, j *history.Journal, at tool.StepPath) history.Entry {
	t.Helper()
	for e, err := range j.Entries(context.Background(), "r") {
		if err != nil {
			t.Fatal(err)
		}
		if e.StepPath.String() == at.String() {
			return e
		}
	}
	t.Fatalf("nothing is recorded of step %s", at)
	return history.Entry{}
}
