package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const reportedBody = "return [tools.send(), tools.send()]"

// interrupted returns a machine whose run broke off in the first of two effects, of the tool send, and waits for
// an answer. add adds the tool.
func interrupted(t *testing.T, on keeper, add func(*process)) *machine {
	t.Helper()
	m := headless(t, on)
	m.approve = host.ApproveAll()
	p := m.process(1, true)
	add(p)
	if _, err := p.run("r", false, reportedBody); err == nil {
		t.Fatal("the process did not die")
	}
	m.resumesWith(add, "the question")
	return m
}

// resumesWith resumes the run, which asks about the effect again, and returns the question.
func (m *machine) resumesWith(add func(*process), what string) history.Asked {
	m.t.Helper()
	p := m.process(0, false)
	defer p.j.Close()
	add(p)
	_, err := p.run("r", true, reportedBody)
	var waits *history.ParkedError
	open := m.questions(p)
	if !errors.As(err, &waits) || len(open) != 1 || open[0].Kind != tool.QuestionUnknown {
		m.t.Fatalf("%s: the run gave %v, and asks %v", what, err, open)
	}
	return open[0]
}

// says answers the open question.
func (m *machine) says(a tool.Answer) {
	m.t.Helper()
	p := m.process(0, false)
	defer p.j.Close()
	q := m.questions(p)[0]
	if err := p.answers(&q, a); err != nil {
		m.t.Fatal(err)
	}
}

func addSend(p *process) {
	p.add("send.star", star("send", "", "return out.send('x')", "needs = ['use:out']"), nil)
}

// TestReportedOutcome checks that somebody can answer that an interrupted effect was carried out: it is not done
// again, the script gets the result, and a replay too.
func TestReportedOutcome(t *testing.T) { eachStore(t, testReportedOutcome) }

func testReportedOutcome(t *testing.T, on keeper) {
	m := interrupted(t, on, addSend)
	var audited []tool.Audit
	m.audit = func(e tool.Event) error {
		if a, ok := e.Data.(tool.Audit); ok && a.Func == "out.send" {
			audited = append(audited, a)
		}
		return nil
	}
	m.says(tool.Answer{Yes: true})
	m.says(tool.Answer{Done: true, Value: "wrong"}) // and it is corrected until it is used
	m.says(tool.Answer{Done: true, Value: "it was sent", Why: "I looked", By: "Ann"})
	p := m.process(0, false)
	addSend(p)
	out, err := p.run("r", true, reportedBody)
	want := value.List{"it was sent", "sent x"}
	if err != nil || !value.Equal(out.Value, want) || m.sent["x"] != 2 || p.effects != 1 {
		t.Fatalf("the run gave %v, %v, with %d effects, and sent %v, want %v", out.Value, err, p.effects, m.sent, want)
	}
	if len(audited) == 0 || audited[0].By != "Ann" || !strings.Contains(audited[0].Why, "done: I looked") {
		t.Errorf("audited %+v, want who reported it and why", audited)
	}
	if r := p.replay(host.Replay{}); r.Err != nil || len(r.Differences) > 0 || !value.Equal(r.Outcome.Value, want) {
		t.Errorf("the replay gave %v, %v, %v", r.Outcome.Value, r.Err, r.Differences)
	}
}

// TestReportedOutcomeIsAboveRules checks that a rule which forbids the effect now does not overrule the answer
// that it was carried out, as nothing is done.
func TestReportedOutcomeIsAboveRules(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{false, true} {
		m := interrupted(t, inStore, addSend)
		m.says(tool.Answer{Yes: yes, Done: !yes})
		m.rules = rules(t, "deny use:out")
		p := m.process(0, false)
		addSend(p)
		if _, err := p.run("r", true, reportedBody); value.KindOf(err) != value.Denied { // the second one, or both
			t.Errorf("answered yes %v: %v", yes, err)
		}
		p.j.Close()
		j, closes := m.open()
		defer closes()
		settled := false
		for e, err := range j.Entries(t.Context(), "r") {
			settled = settled || err == nil && e.Func == "out.send" && !e.Settled.IsZero() && e.Err == nil
		}
		if settled == yes || m.sent["x"] != 1 {
			t.Errorf("answered yes %v: recorded as done %v, sent %v", yes, settled, m.sent)
		}
	}
}

// TestReportedResultIsChecked checks that the result of a tool in Go must have its declared type.
func TestReportedResultIsChecked(t *testing.T) {
	t.Parallel()
	add := func(p *process) {
		d := tool.Tool{Name: "send", Description: "Send.", Returns: &tool.Type{Name: tool.TypeInteger}}
		err := p.Register(d, func(context.Context, *value.Dict) (value.Value, error) {
			p.m.mu.Lock()
			defer p.m.mu.Unlock()
			p.m.sent["x"]++
			if p.dies > 0 {
				p.die()
			}
			return int64(p.m.sent["x"]), nil
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	m := interrupted(t, inStore, add)
	for _, wrong := range []value.Value{"5", nil, "5"} {
		m.says(tool.Answer{Done: true, Value: wrong})
		if q := m.resumesWith(add, "after a wrong result"); !strings.Contains(q.Why, "the reported result is invalid") {
			t.Errorf("after %v it is asked because %s", wrong, q.Why)
		}
	}
	m.says(tool.Answer{Done: true, Value: int64(5)})
	p := m.process(0, false)
	add(p)
	out, err := p.run("r", true, reportedBody)
	if want := (value.List{int64(5), int64(2)}); err != nil || !value.Equal(out.Value, want) {
		t.Errorf("the run gave %v, %v, want %v", out.Value, err, want)
	}
}
