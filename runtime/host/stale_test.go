package host_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAConflictAsksAgain checks what becomes of an approval whose files others have changed since: the same
// addition to a file that only grew is made, and anything else is shown again as it would be now. A refusal
// holds, and the run never ends because of the conflict.
func TestAConflictAsksAgain(t *testing.T) {
	t.Parallel()
	eachRecord(t, testAConflictAsksAgain)
}

func testAConflictAsksAgain(t *testing.T, on keeper) {
	appends := "fs.append('log', 'mine\\n')"
	rereads := "fs.write('log', fs.read('log') + 'mine\\n')"
	counts := "text = fs.read('log')\nfs.append('log', '%d mine\\n' % len(text))"
	shows := appends + "\nreturn fs.read('log')"
	measures := "return str(fs.append('log', 'mine\\n')['bytes'])"
	long := strings.Repeat("long line\n", 10_000)
	for _, tt := range []struct {
		name, body, before, meanwhile string
		again                         bool   // somebody is asked again
		want                          string // in the file after a yes
	}{
		{"unchanged", appends, "a\n", "a\n", false, "a\nmine\n"},
		{"grown", appends, "a\n", "a\nb\n", false, "a\nb\nmine\n"},
		{"grown much", appends, "a\n", long, true, long + "mine\n"},
		{"a long file, grown", appends, long, long + "b\n", false, long + "b\nmine\n"},
		{"a long file, edited", appends, long, "b\n" + long, true, "b\n" + long + "mine\n"},
		{"a new file, which others have made", appends, "", "b\n", false, "b\nmine\n"},
		{"edited", appends, "a\n", "b\n", true, "b\nmine\n"},
		{"cut", appends, "a\n", "", true, "mine\n"},
		{"grown, and read before", rereads, "a\n", "a\nb\n", false, "a\nb\nmine\n"},
		{"edited, and read before", rereads, "a\n", "b\n", true, "b\nmine\n"},
		{"grown, and its own addition read", shows, "a\n", "a\nb\n", false, "a\nb\nmine\n"},
		{"edited, and its own addition read", shows, "a\n", "b\n", true, "b\nmine\n"},
		{"a new file, and its own addition read", shows, "", "b\n", false, "b\nmine\n"},
		{"grown, and the result of the write used", measures, "a\n", "a\nb\n", false, "a\nb\nmine\n"},
		{"grown, and another addition", counts, "a\n", "a\nb\n", true, "a\nb\n4 mine\n"},
	} {
		for _, yes := range []bool{true, false} {
			name := fmt.Sprint(tt.name, " ", yes)
			m := headless(t, on)
			result := value.Value(nil)
			run := func(resume bool) error {
				p := m.process(0, false)
				defer p.j.Close()
				p.add("put.star", star("put", "", tt.body, "needs = ['fs.read', 'fs.write']"), nil)
				out, err := p.run("r", resume, "return tools.put()")
				result = out.Value
				return err
			}
			if p := m.process(0, false); tt.before != "" {
				p.write("log", tt.before)
			}
			if err := run(false); value.KindOf(err) != value.Parked {
				t.Fatalf("%s: the run gave %v, want that it waits", name, err)
			}
			if m.last.write("log", tt.meanwhile); tt.before == "" && tt.meanwhile == "" {
				t.Fatal("nothing changes")
			}
			first := m.questions(m.last)[0]
			m.answers(first.StepPath, yes)
			err := run(true)
			if again := value.KindOf(err) == value.Parked; again != (tt.again && yes) {
				t.Errorf("%s: the run gave %v, want that it asks again: %v", name, err, tt.again && yes)
				continue
			} else if again {
				second := m.questions(m.last)[0]
				if second.ID == first.ID || second.Changes[0].Before.Sum() != tool.HashBytes([]byte(tt.meanwhile)) || m.tree()["log"] != tt.meanwhile {
					t.Errorf("%s: asked %q about %v, and the file is %.40q, want a new question about the file as it is", name, second.ID, second.Changes, m.tree()["log"])
				}
				m.answers(second.StepPath, true)
				err = run(true)
			}
			want := tt.want
			if !yes {
				want = tt.meanwhile
			}
			if denied := value.KindOf(err) == value.Denied; (err != nil) == yes || denied == yes || m.tree()["log"] != want {
				t.Errorf("%s: the run gave %v, and the file is %.40q, want %.40q", name, err, m.tree()["log"], want)
			}
			if got := map[string]value.Value{shows: want, measures: fmt.Sprint(len(want))}[tt.body]; err == nil && got != result {
				t.Errorf("%s: the call returned %v, want what it has done: %v", name, result, got)
			}
			if on == inMemory || err != nil {
				continue
			}
			p := m.process(0, false)
			p.add("put.star", star("put", "", tt.body, "needs = ['fs.read', 'fs.write']"), nil)
			if r := p.replay(host.Replay{}); r.Err != nil || len(r.Differences) > 0 {
				t.Errorf("%s: replayed: %v, differences %v", name, r.Err, r.Differences)
			}
		}
	}
}

// TestParkedAppends approves forty additions of ten waiting runs to one file, in any order, and resumes the
// runs in two processes: each line is there once, and nobody is asked twice.
func TestParkedAppends(t *testing.T) {
	t.Parallel()
	const appends = "fs.append('log', text + '\\n')"
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		testParkedAppends(t, appends, "for text in %s: tools.put(text = text)")
	})
	t.Run("in parallel", func(t *testing.T) {
		t.Parallel()
		testParkedAppends(t, appends, "tools.call_all([('put', {'text': text}) for text in %s])")
	})
	t.Run("in parallel, and read", func(t *testing.T) {
		t.Parallel()
		testParkedAppends(t, appends+"\nreturn fs.read('log')", "tools.call_all([('put', {'text': text}) for text in %s])")
	})
}

func testParkedAppends(t *testing.T, put, program string) {
	const runs, lines = 10, 4
	m := headless(t, onDisk)
	open := func() *process {
		p := m.process(0, false)
		p.add("put.star", star("put", "text: str", put, "needs = ['fs.read', 'fs.write']"), nil)
		return p
	}
	r := rand.New(rand.NewPCG(1, 2))
	var two [2]*process
	for i := range two {
		two[i] = open()
	}
	for i := range runs {
		id := fmt.Sprint("r", i)
		if _, err := two[0].run(id, false, fmt.Sprintf(program, fmt.Sprintf("['%d-%%d' %% i for i in range(%d)]", i, lines))); value.KindOf(err) != value.Parked {
			t.Fatalf("run %s gave %v, want that it waits", id, err)
		}
	}
	asked := 0
	for range lines {
		var open []history.Asked
		for i := range runs {
			list, err := two[0].j.Questions(t.Context(), fmt.Sprint("r", i))
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, list...)
		}
		if asked += len(open); len(open) == 0 {
			break
		}
		for _, i := range r.Perm(len(open)) {
			if err := two[i%2].answers(&open[i], tool.Answer{Yes: true}); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error)
		for n := range two {
			go func() {
				for i := n; i < runs; i += 2 {
					_, err := two[n].run(fmt.Sprint("r", i), true, "")
					if value.KindOf(err) == value.Parked {
						err = nil
					}
					done <- err
				}
			}()
		}
		for range runs {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	if asked != runs*lines {
		t.Errorf("somebody was asked %d times, want %d", asked, runs*lines)
	}
	log := strings.Fields(m.tree()["log"])
	seen := map[string]bool{}
	for _, line := range log {
		seen[line] = true
	}
	if len(log) != runs*lines || len(seen) != runs*lines {
		t.Errorf("the file has %d lines, %d of them different, want %d", len(log), len(seen), runs*lines)
	}
}

// TestAttemptsSurviveTheirProcess ends a process at each effect of a call that is made again, since another
// program changes its file between its read and its commit, and has others resume the run: the change is made
// once, whatever attempt was begun.
func TestAttemptsSurviveTheirProcess(t *testing.T) {
	t.Parallel()
	const body = "tools.put()\ntools.put()"
	first := func(m *machine, at crash) (*process, error) {
		meddled := false
		m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			if e.Func == "fs.prepare" && !meddled {
				meddled = true
				m.last.write("log", m.tree()["log"]+"theirs\n")
			}
			return host.Execute(ctx, f, e, g)
		}
		p := m.process(at.dies, at.after)
		p.write("log", "")
		p.add("put.star", star("put", "", "fs.write('log', fs.read('log') + 'mine\\n')", "needs = ['fs.read', 'fs.write']"), nil)
		_, err := p.run("r", false, body)
		return p, err
	}
	whole := newMachine(t, inStore)
	p, err := first(whole, crash{})
	if want := "theirs\nmine\nmine\n"; err != nil || whole.tree()["log"] != want {
		t.Fatalf("without a crash the run gave %v, and the file is %q, want %q", err, whole.tree()["log"], want)
	}
	for _, at := range crashes(p.effects, 2*p.effects) {
		m := newMachine(t, inStore)
		if _, err := first(m, at); err == nil {
			t.Fatalf("%v: the process did not die", at)
		}
		second := m.process(0, false)
		second.add("put.star", star("put", "", "fs.write('log', fs.read('log') + 'mine\\n')", "needs = ['fs.read', 'fs.write']"), nil)
		_, err := second.run("r", true, body)
		if log := m.tree()["log"]; err != nil || strings.Count(log, "mine") != 2 || strings.Count(log, "theirs") != 1 {
			t.Errorf("%v: the resumed run gave %v, and the file is %q, want two lines of the run and one of the other program", at, err, log)
		}
	}
}

// TestAnAttemptIsGivenUpForGood checks that an attempt which failed without a record of it, since its recorded
// writes could not be staged again, is not carried out by a later process beside the attempt that followed.
func TestAnAttemptIsGivenUpForGood(t *testing.T) {
	t.Parallel()
	for dies := 1; dies <= 5; dies++ {
		for _, after := range []bool{false, true} {
			m := headless(t, inStore)
			open := func(at crash) *process {
				p := m.process(at.dies, at.after)
				p.add("flow.star", star("flow", "", "fs.append('log', 'mine\\n')", "needs = ['fs.read', 'fs.write']"), nil)
				return p
			}
			if _, err := open(crash{}).run("r", false, "tools.flow()\nhuman.ask('go on?')"); value.KindOf(err) != value.Parked {
				t.Fatalf("the run gave %v, want that it waits", err)
			}
			m.answers(m.questions(m.last)[0].StepPath, true)
			failed := false
			m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				if e.Func == "fs.append" && !failed {
					failed = true
					return tool.Outcome{}, value.Errorf(value.Conflict, "log was changed by another process").WithLimit(value.LimitChanged)
				}
				return host.Execute(ctx, f, e, g)
			}
			_, err := open(crash{dies, after}).run("r", true, "")
			for range 2 {
				if err == nil || value.KindOf(err) == value.Parked {
					break
				}
				_, err = open(crash{}).run("r", true, "")
			}
			if log := m.tree()["log"]; log != "mine\n" || !failed || value.KindOf(err) != value.Parked {
				t.Errorf("killed at %d, %v: the run gave %v, and the file is %q, want one line, and the next question", dies, after, err, log)
			}
		}
	}
}
