package host_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// survives runs a workflow, ends its process before or after effects, and
// compares what comes of it, resumed, with the run that nothing happened to.
// It replays the whole one too.
func survives(t *testing.T, on keeper, setup func(*machine), tools func(*process), flow string) {
	t.Helper()
	whole := newMachine(t, on)
	setup(whole)
	p := whole.process(0, false)
	tools(p)
	want, wantErr := p.run("r", false, flow)
	files, sent := whole.tree(), maps.Clone(whole.sent)
	effects := p.effects
	p = whole.process(0, false)
	tools(p)
	r := p.replay(host.Replay{})
	if !value.Equal(r.Outcome.Value, want.Value) || textOf(r.Err) != textOf(wantErr) {
		t.Errorf("replayed: %v, %v, want %v, %v", r.Outcome.Value, r.Err, want.Value, wantErr)
	}
	some := map[keeper]int{onDisk: 2, inStore: 3}[on]
	for _, at := range crashes(effects, some) {
		m := newMachine(t, on)
		setup(m)
		first := m.process(at.dies, at.after)
		tools(first)
		_, _ = first.run("r", false, flow)
		second := m.process(0, false)
		tools(second)
		out, err := second.run("r", true, flow)
		switch {
		case textOf(err) != textOf(wantErr):
			t.Errorf("%s: %v, want %v", at, err, wantErr)
		case !value.Equal(out.Value, want.Value):
			t.Errorf("%s: gave %v, want %v", at, out.Value, want.Value)
		case !maps.Equal(m.tree(), files):
			t.Errorf("%s: the files are %v, want %v", at, m.tree(), files)
		case !maps.Equal(m.sent, sent):
			t.Errorf("%s: sent were %v, want %v", at, m.sent, sent)
		default: // what was resumed is replayed too
			if r := second.replay(host.Replay{}); textOf(r.Err) != textOf(wantErr) || !value.Equal(r.Outcome.Value, want.Value) {
				t.Errorf("%s: replayed it gave %v, %v, want %v", at, r.Outcome.Value, r.Err, want.Value)
			}
		}
		second.j.Close()
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestCallsSurvive ends processes in calls that do what is hard to go on with.
func TestCallsSurvive(t *testing.T) { eachStore(t, testCallsSurvive) }

func testCallsSurvive(t *testing.T, on keeper) {
	const needs = "needs = ['fs.read', 'fs.write', 'use:out', 'tool'], hints = {'idempotent': True}"
	refuse := func(name string) func(*machine) {
		return func(m *machine) {
			m.approve = host.ApproverFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
				return tool.Answer{Yes: q.Tool != name, Why: "not now"}, nil
			})
		}
	}
	none := func(*machine) {}
	cases := []struct {
		name  string
		setup func(*machine)
		tools map[string]string // bodies
		needs string
		flow  string
	}{
		{"notices", none, map[string]string{"w": "fs.append('log', 'x\\n')\nlog('one')\nfs.append('log', 'y\\n')\nlog('two')\nout.send('x')\nlog('three')\nfs.append('log', 'z\\n')\nlog('four')\nreturn fs.read('log')"}, needs,
			"log('a')\na = tools.w()\nlog('b')\nreturn [a, tools.w()]"},
		{"refused at the end", refuse("w"), map[string]string{"w": "fs.append('log', 'x\\n')\nreturn fs.read('log')", "v": "fs.append('log', 'v\\n')\nreturn fs.read('log')"}, "needs = ['fs.read', 'fs.write']",
			"return [tools.v(), attempt(tools.w), tools.v()]"},
		{"refused in the middle", refuse("w"), map[string]string{"w": "fs.append('log', 'x\\n')\na = attempt(time.sleep, 0)\nfs.append('log', 'y\\n')\nreturn [a, fs.read('log')]", "v": "fs.append('log', 'v\\n')\nreturn fs.read('log')"}, "needs = ['fs.read', 'fs.write']",
			"return [tools.v(), attempt(tools.w), tools.v()]"},
		{"failing effects", none, map[string]string{"w": "a = attempt(fs.edit, 'log', 'no', 'yes')\nfs.append('log', 'x\\n')\nb = attempt(fs.edit, 'log', 'no', 'yes')\nout.send('x')\nc = attempt(fs.read, 'none')\nfs.move('log', 'log2')\nd = attempt(fs.read, 'log')\nout.send('y')\nfs.remove('log2')\nfs.write('log', 'w')\nreturn [a, b, c, d]"}, needs,
			"return tools.w()"},
		{"a failing call after writes", none, map[string]string{"w": "fs.append('log', 'x\\n')\nout.send('x')\nfs.append('log', 'y\\n')\nfail('enough')"}, needs,
			"return [attempt(tools.w), attempt(tools.w)]"},
		{"the end is a failure", none, map[string]string{"w": "fs.append('log', 'x\\n')\nout.send('x')\nreturn 1"}, needs,
			"tools.w()\nfail('enough')"},
		{"many at once", none, map[string]string{"w": "fs.append('log', 'x\\n')\nout.send('x')\nreturn [fs.read('log'), random.integer(1, 100) > 0]", "v": "return tools.call_all([('u', {}), ('none', {})])", "u": "fs.write('u/u', 'x')\nout.send('u')\nfs.write('u/v', fs.read('u/u'))\nreturn len(fs.list('u'))"}, needs,
			"return [tools.call_all([('w', {}), ('v', {}), ('w', {'x': 1})]), time.now() != None]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			survives(t, on, c.setup, func(p *process) {
				for _, name := range slices.Sorted(maps.Keys(c.tools)) { // hints list the tools in this order
					p.add(name+".star", star(name, "", c.tools[name], c.needs), nil)
				}
			}, c.flow)
		})
	}
}

// TestWritesBeforeAHandler checks that a script may stage writes before it calls
// a tool written in Go: the commit and the handler have steps of their own.
func TestWritesBeforeAHandler(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, on keeper) {
		survives(t, on, func(*machine) {}, func(p *process) {
			p.add("w.star", star("w", "", "fs.append('log', 'x\\n')\nreturn [tools.g(), fs.read('log')]", "needs = ['fs.read', 'fs.write', 'tool']"), nil)
			p.goTool("g", func(context.Context) (value.Value, error) {
				_, err := os.ReadFile(filepath.Join(p.dir, "log"))
				return err == nil, nil
			})
		}, "return [tools.w(), tools.w()]")
	})
}
