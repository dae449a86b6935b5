package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A desk is what is left of an agent at work when its process dies: a project and
// a journal.
type desk struct {
	t            *testing.T
	dir, journal string
	replies      map[string][]string // of the model, by the first line of what it is asked
	tools        []string            // of the model, besides the usual ones
	hooks        []hooks.File
	asked        string // what the model was asked last
	step         func(context.Context) error
}

// work begins, or goes on with, a task in a process that dies at a step: a request to its model, or a question.
// 0 is never. It returns the number of the steps.
func (d *desk) work(task string, resume bool, dies int, approve func(*cassidy.Options)) (r agent.Reply, steps int, err error) {
	d.t.Helper()
	opts := &cassidy.Options{TrustSource: true}
	approve(opts)
	var h *cassidy.Host
	d.step = func(ctx context.Context) error {
		if steps++; steps != dies {
			return nil
		}
		go func() { _ = h.Close() }() // and with it the journal
		<-ctx.Done()
		return ctx.Err()
	}
	if a := opts.Approver; a != nil {
		opts.Approver = host.ApproverFunc(func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			if err := d.step(ctx); err != nil {
				return tool.Answer{}, err
			}
			return a.Approve(ctx, q)
		})
	}
	h, err = testhost.Open(d.t, testhost.On{Sandbox: cassidy.Inline, Journal: d.journal}, d.dir, opts)
	if err != nil {
		d.t.Fatal(err)
	}
	defer h.Close()
	if err := agent.RegisterCode(h); err != nil {
		d.t.Fatal(err)
	}
	o := agent.Options{WorkDir: d.dir, Place: "a library", Model: d.model(), Format: decision.Code, Tools: append([]string{"read_file", "write_file", "agent", "execute_code"}, d.tools...), Hooks: d.hooks}
	if err := agent.Register(h, func() (*agent.Options, error) { o := o; return &o, nil }); err != nil {
		d.t.Fatal(err)
	}
	a, err := agent.New(h, &o)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := a.Session(context.Background(), "run")
	if err != nil {
		d.t.Fatal(err)
	}
	if resume {
		r, err = s.Resume(context.Background())
	} else {
		r, err = s.Send(context.Background(), task)
	}
	return r, steps, err
}

// records opens the journal as another process would.
func (d *desk) records() (j *history.Journal, done func()) {
	d.t.Helper()
	store, err := sqlite.Open(d.journal)
	if err != nil {
		d.t.Fatal(err)
	}
	j = history.Open(store, nil)
	return j, func() { j.Close(); store.Close() }
}

// model says by what it has said before what comes next.
func (d *desk) model() model.Model {
	return script.New("replies", false, func(ctx context.Context, messages value.List, said int) (value.Value, error) {
		if err := d.step(ctx); err != nil {
			return nil, err
		}
		first, _ := messages[0].(*value.Dict)
		d.asked = value.FormatJSON(messages[1:], "")
		for task, replies := range d.replies {
			if strings.Contains(first.Text("content"), "# User Question\n\n"+task) && said < len(replies) {
				return replies[said], nil
			}
		}
		return nil, value.Errorf(value.Failed, "the model has no more to say")
	})
}

func (d *desk) file(name string) string {
	data, _ := os.ReadFile(filepath.Join(d.dir, name))
	return string(data)
}

func newDesk(t *testing.T) *desk {
	return &desk{t: t, dir: t.TempDir(), journal: t.TempDir(), replies: map[string][]string{
		"Do it": {
			program(`a = write_file(filepath = "a.txt", content = "one")`, `b = attempt(read_file, filepath = "none.txt")`,
				`write_file(filepath = "b.txt", content = read_file(filepath = "a.txt") + str(b["ok"]))`, `print("half")`, `fail("enough")`),
			`{"tool_decision": {"action": "agent", "input": {"task": "Do a part"}}}`,
			"TASK COMPLETE: done",
		},
		"Do a part": {
			program(`write_file(filepath = "c.txt", content = "three")`, `read_file(filepath = "c.txt")`),
			"TASK COMPLETE: part",
		},
	}}
}

// TestATaskSurvivesItsProcess ends the process of a task that runs programs and
// agents of its own at each step, and compares what comes of it.
func TestATaskSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	all := func(o *cassidy.Options) { o.Approver = host.ApproveAll() }
	whole := newDesk(t)
	want, steps, err := whole.work("Do it", false, 0, all)
	if err != nil || want.Text != "done" || whole.file("c.txt") != "three" || whole.file("b.txt") == "" {
		t.Fatalf("the task gave %+v, %v", want, err)
	}
	for _, dies := range testutil.Sample(countFrom(1, steps), 5) {
		d := newDesk(t)
		if _, _, err := d.work("Do it", false, dies, all); err == nil {
			continue // all that it had to do was done
		}
		got, _, err := d.work("Do it", true, 0, all)
		if err != nil {
			t.Errorf("killed at step %d: %v", dies, err)
			continue
		}
		if got.Text != want.Text || d.file("b.txt") != whole.file("b.txt") || d.file("c.txt") != whole.file("c.txt") {
			t.Errorf("killed at step %d: it gave %+v", dies, got)
		}
		if len(got.Calls) != len(want.Calls) {
			t.Errorf("killed at step %d: %d calls, want %d", dies, len(got.Calls), len(want.Calls))
			continue
		}
		for i := range want.Calls {
			if got.Calls[i].Error != want.Calls[i].Error {
				t.Errorf("killed at step %d: the model was told %q, want %q", dies, got.Calls[i].Error, want.Calls[i].Error)
			}
		}
	}
}

// countFrom returns the numbers from one to another, without that.
func countFrom(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// TestATaskWaitsInAProgram checks that a question in a program that a model has
// written waits for its answer, as often as one comes up.
func TestATaskWaitsInAProgram(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	nobody := func(*cassidy.Options) {}
	waits := 0
	for resume := false; ; resume = true {
		r, _, err := d.work("Do it", resume, 0, nobody)
		if value.KindOf(err) != value.Parked {
			if err != nil || r.Text != "done" || waits < 3 || d.file("c.txt") != "three" {
				t.Errorf("after %d answers the task gave %+v, %v", waits, r, err)
			}
			return
		}
		if waits++; waits > 10 {
			t.Fatal("it waits for ever")
		}
		j, done := d.records()
		open, err := j.Questions(context.Background(), "run")
		if err == nil {
			err = j.Answer(context.Background(), "run", open[0].StepPath, open[0].N, tool.Answer{Yes: true})
		}
		if done(); err != nil {
			t.Fatal(err)
		}
	}
}
