package host_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// staged has the first n calls commit only when each of them has staged its write, so that they meet a
// conflict. After the process has died, nothing waits. With old, the commits seem to have begun two hours
// ago, so that their temporary files prove nothing any more and are swept.
func (m *machine) staged(n int, name string, old bool) {
	var p *process
	var mu sync.Mutex
	arrived, open := 0, make(chan struct{})
	m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		out, err := host.Execute(ctx, f, e, g)
		if old && e.Func == "fs.prepare" && out.Undo != nil {
			began := fmt.Sprintf("%08x", time.Now().Add(-2*time.Hour).Unix())
			out.Undo.Args.Put("mark", began+out.Undo.Args.Text("mark")[len(began):])
		}
		m.mu.Lock()
		if p == nil {
			p = m.last
		}
		dead := p != m.last || p.dies > 0 && p.effects >= p.dies
		m.mu.Unlock()
		mu.Lock()
		if wait := arrived < n; wait && (dead || e.Func == name) {
			if arrived++; arrived == n || dead {
				arrived = n
				close(open)
			}
		}
		mu.Unlock()
		if e.Func == name {
			<-open
		}
		return out, err
	}
}

// TestSiblingsSettleACommit ends a process at each effect of parallel calls that write the same file. The
// commits that the run has recorded prove which others were not carried out, so nobody is asked, and every
// call writes once.
func TestSiblingsSettleACommit(t *testing.T) {
	t.Parallel()
	const toggle = "fs.write('f', 'y' if fs.read('f') == 'x' else 'x')"
	for _, test := range []struct {
		name, body, effect string
		files              map[string]string // before
		want               map[string]string
		old                bool
	}{
		{"a file that is created", "fs.append('log', 'x\\n')", "fs.append", nil, map[string]string{"log": "x\nx\nx\n"}, false},
		{"a file that grows", "fs.append('log', 'x\\n')", "fs.append", map[string]string{"log": "a\n"}, map[string]string{"log": "a\nx\nx\nx\n"}, true},
		{"a file that is created, much later", "fs.append('log', 'x\\n')", "fs.append", nil, map[string]string{"log": "x\nx\nx\n"}, true},
		{"a file that changes back", toggle, "fs.read", map[string]string{"f": "x"}, map[string]string{"f": "y"}, true},
		{"several files", "fs.append('a', 'x\\n')\nfs.append('b', 'y\\n')", "fs.append", nil, map[string]string{"a": "x\nx\nx\n", "b": "y\ny\ny\n"}, false},
		{"several files, much later", "fs.append('a', 'x\\n')\nfs.append('b', 'y\\n')", "fs.append", nil, map[string]string{"a": "x\nx\nx\n", "b": "y\ny\ny\n"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const body = "return [r['value'] if r['ok'] else r['error'] for r in tools.call_all([('add', {})] * 3)]"
			process := func(m *machine, at crash) *process {
				p := m.process(at.dies, at.after)
				p.add("add.star", star("add", "", test.body, "needs = ['fs.read', 'fs.write']"), nil)
				return p
			}
			whole := newMachine(t, inStore)
			whole.staged(3, test.effect, test.old)
			p := process(whole, crash{})
			for name, text := range test.files {
				p.write(name, text)
			}
			if _, err := p.run("r", false, body); err != nil {
				t.Fatal(err)
			}
			for _, at := range crashes(p.effects, 12) {
				m := newMachine(t, inStore)
				m.staged(3, test.effect, test.old)
				first := process(m, at)
				for name, text := range test.files {
					first.write(name, text)
				}
				if _, err := first.run("r", false, body); err == nil {
					continue
				}
				second := process(m, crash{})
				out, err := second.run("r", true, body)
				got := m.tree()
				for name := range got {
					if strings.HasPrefix(name, ".cassidy-tmp-") {
						delete(got, name)
					}
				}
				if err != nil || len(m.asked) > 0 || !maps.Equal(got, test.want) {
					t.Errorf("%s: %v, %v, asked %q, files %q", at, out.Value, err, m.asked, got)
				}
			}
		})
	}
}

// TestARefusalLater ends a process at each effect of parallel calls, and then has a rule deny what they do,
// until it is removed: the result of each call says what it has done.
func TestARefusalLater(t *testing.T) {
	t.Parallel()
	const body = "return [r['ok'] for r in tools.call_all([('add', {'f': 'a'}), ('add', {'f': 'b'})])]"
	for _, rule := range []string{"deny fs.write", "deny tool:add"} {
		for dies, died := 1, true; died; dies++ {
			m := newMachine(t, onDisk)
			run := func(dies int, resume bool) (tool.Outcome, error) {
				p := m.process(dies, true)
				defer p.j.Close()
				p.add("add.star", star("add", "f: str", "fs.write(f, (fs.read(f) if fs.exists(f) else '') + 'x')", "needs = ['fs.read', 'fs.write']"), nil)
				return p.run("r", resume, body)
			}
			out, err := run(dies, false)
			if died = err != nil; died {
				m.rules = rules(t, rule)
				out, err = run(0, true)
				if m.rules = nil; err != nil {
					out, err = run(0, true)
				}
			}
			list, _ := out.Value.(value.List)
			if err != nil || len(list) != 2 {
				t.Fatalf("%s, dead at effect %d: the run gave %v, %v", rule, dies, out.Value, err)
			}
			for i, file := range []string{"a", "b"} {
				if want := map[value.Value]string{true: "x", false: ""}[list[i]]; m.tree()[file] != want {
					t.Errorf("%s, dead at effect %d: the call returned %v, and %s is %q, want %q", rule, dies, list[i], file, m.tree()[file], want)
				}
			}
		}
	}
}

// TestAPathThatChangesBack ends a process between a write that is staged and its commit. When the run is resumed, somebody
// has changed the file to what the call writes, and changes it back before the commit: the call writes once more.
func TestAPathThatChangesBack(t *testing.T) {
	t.Parallel()
	for _, read := range []string{"fs.read('f')", "fs.read('f', offset = 1)", "fs.read('f', limit = 1)"} {
		m := newMachine(t, inStore)
		run := func(dies int) (tool.Outcome, error) {
			p := m.process(dies, true)
			p.add("toggle.star", star("toggle", "", "fs.write('f', 'y' if "+read+".strip() == 'x' else 'x')", "needs = ['fs.read', 'fs.write']"), nil)
			if dies > 0 {
				p.write("f", "x")
			} else {
				p.write("f", "y")
			}
			return p.run("r", dies == 0, "return tools.call('toggle')")
		}
		if _, err := run(2); err == nil { // after the read and the write
			t.Fatal("the process did not die")
		}
		m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			if strings.HasPrefix(e.Func, "fs.read") {
				m.last.write("f", "x")
			}
			return host.Execute(ctx, f, e, g)
		}
		if out, err := run(0); err != nil || m.tree()["f"] != "y" {
			t.Errorf("%s: %v, %v, and f is %q, want y", read, out.Value, err, m.tree()["f"])
		}
	}
}
