package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// tenLeft is how many steps of the workflow of many steps are left when it breaks off.
const tenLeft = 10

// steps is the workflow of so many steps: each is a call of a tool that reads a file and writes
// another.
func (p *process) steps(n int) string {
	p.m.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "in.txt"), []byte("something to read\n"), 0o600); err != nil {
		p.m.t.Fatal(err)
	}
	p.add("step.star", star("step", "n: int", "text = fs.read('in.txt')\nfs.write('out/%d.txt' % n, text)\nreturn n", "needs = ['fs.read', 'fs.write']"), nil)
	return fmt.Sprintf("done = 0\nfor i in range(%d):\n    done += 1 if tools.step(n = i) == i else 0\nreturn done", n)
}

// killed returns a machine on which a workflow of so many steps broke off ten steps before its
// end, and what had been done of it.
func killed(t testing.TB, steps int) (*machine, []string) {
	t.Helper()
	one := newMachine(t, onDisk)
	p := one.process(0, false)
	if _, err := p.run("r", false, p.steps(1)); err != nil {
		t.Fatal(err)
	}
	m, each := newMachine(t, onDisk), p.effects
	p = m.process(each*(steps-tenLeft-1)+2, false)
	if _, err := p.run("r", false, p.steps(steps)); err == nil {
		t.Fatal("the process did not die")
	}
	return m, p.did[:len(p.did)-1] // the last was not done
}

// resumes goes on with the workflow in another process.
func (m *machine) resumes(steps int) *process {
	m.t.Helper()
	p := m.process(0, false)
	out, err := p.run("r", true, p.steps(steps))
	if err != nil || out.Value != int64(steps) {
		m.t.Fatalf("the resumed run gave %v, %v", out.Value, err)
	}
	return p
}

// TestALongRunIsResumedWithoutRepeating checks that a workflow of many steps
// that broke off ten steps before its end does nothing again that its record has.
func TestALongRunIsResumedWithoutRepeating(t *testing.T) {
	t.Parallel()
	steps := testutil.Times(100, 1000)
	m, before := killed(t, steps)
	p := m.resumes(steps)
	for _, did := range p.did {
		if slices.Contains(before, did) {
			t.Errorf("%s was done again", did)
		}
	}
	if all := len(before) + len(p.did); all != len(before)/(steps-tenLeft-1)*steps {
		t.Errorf("%d effects were done before and %d after, want %d for each of %d steps", len(before), len(p.did), len(before)/(steps-tenLeft-1), steps)
	}
	if files := m.tree(); len(files) != steps+1 {
		t.Errorf("there are %d files, want one for each step", len(files))
	}
}

// BenchmarkResume is the same workflow of 1,000 steps, resumed in a new
// process, against the last ten steps as a run of their own.
func BenchmarkResume(b *testing.B) {
	const steps = 1000
	m, _ := killed(b, steps)
	dir, record := m.dir, m.journal
	var resumed, alone time.Duration
	for b.Loop() {
		m.dir, m.journal = b.TempDir(), b.TempDir()
		copyTree(b, dir, m.dir)
		copyTree(b, record, m.journal)
		start := time.Now()
		m.resumes(steps)
		resumed += time.Since(start)
		few := newMachine(b, onDisk)
		start = time.Now()
		p := few.process(0, false)
		if _, err := p.run("r", false, p.steps(tenLeft)); err != nil {
			b.Fatal(err)
		}
		alone += time.Since(start)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(resumed.Microseconds())/1000/float64(b.N), "resume-ms")
	b.ReportMetric(float64(alone.Microseconds())/1000/float64(b.N), "ten-steps-ms")
	b.ReportMetric(float64(resumed)/float64(alone), "ratio")
}

func copyTree(b *testing.B, from, to string) {
	b.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkJournaledCall is a call of a tool that reads three files and writes
// one, in a run: with a journal, against the same without.
func BenchmarkJournaledCall(b *testing.B) {
	const calls = 100
	var took [2]time.Duration
	for b.Loop() {
		for i, kind := range []string{"run", ""} {
			m := newMachine(b, onDisk)
			p := m.process(0, false)
			p.steps(0)
			p.add("four.star", star("four", "n: int", "text = fs.read('in.txt') + fs.read('in.txt') + fs.read('in.txt')\nfs.write('out.txt', text + str(n))\nreturn n", "needs = ['fs.read', 'fs.write']"), nil)
			program := p.program(fmt.Sprintf("for i in range(%d):\n    tools.four(n = i)", calls))
			program.Modules, program.Kind, program.Needs = nil, kind, []tool.Capability{{Name: "tool"}}
			start := time.Now()
			if _, err := p.RunProgram(b.Context(), program); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(start)
		}
	}
	n := float64(b.N * calls)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[0].Microseconds())/n, "journal-µs")
	b.ReportMetric(float64(took[1].Microseconds())/n, "bare-µs")
	b.ReportMetric(float64(took[0]-took[1])/1000/n/6, "µs/effect") // with the call and the commit
	b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
}
