package host_test

import (
	"context"
	"maps"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestEchoIsComplete resumes a run after calls of which a part is not recorded: a notice, or an attempt that was given up
// and made again. Whoever watches the resumed run gets the event of every effect again, since an agent learns from them
// which files its tools have read. That an effect was refused is in the record, so that is an event only then.
func TestEchoIsComplete(t *testing.T) {
	t.Parallel()
	for _, on := range []keeper{inMemory, inStore} {
		for _, tt := range []struct {
			name, body string
			fails      string // the effect that fails once, since others have changed its file
		}{
			{"notices", "log('one')\nfs.read('a')\nlog('two')\nlog('three')\nfs.read('b')\nfs.append('log', 'x\\n')", ""},
			{"a refused effect", "attempt(fs.read, 'none')\nattempt(fs.write, '../x', 'y')\nfs.read('b')", ""},
			{"made again", "fs.read('a')\nfs.append('log', 'mine\\n')\nfs.read('b')", "fs.append"},
			{"made again, after notices", "log('one')\nfs.append('log', 'mine\\n')\nlog('two')\nfs.read('b')", "fs.append"},
			{"made again, after its commit", "fs.read('a')\nfs.append('log', 'mine\\n')", "fs.commit"},
		} {
			m := headless(t, on)
			m.approve = host.ApproveAll()
			left := tt.fails
			m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				if e.Func == left {
					left = ""
					return tool.Outcome{}, value.Errorf(value.Conflict, "log was changed by another process").WithLimit(value.LimitChanged)
				}
				return host.Execute(ctx, f, e, g)
			}
			events := func(resume bool) map[string]bool { // whether the effect succeeded
				list := map[string]bool{}
				p := m.process(0, false)
				defer p.j.Close()
				for _, name := range []string{"a", "b", "log"} {
					if !resume {
						p.write(name, name+"\n")
					}
				}
				p.add("work.star", star("work", "", tt.body, "needs = ['fs.read', 'fs.write']"), nil)
				heard := p.Subscribe(t.Context(), host.EventFilter{Buffer: 1000})
				if _, err := p.run("r", resume, "tools.work()\ntools.call_all([('work', {}), ('work', {})])\nhuman.ask('go on?')"); value.KindOf(err) != value.Parked {
					t.Fatalf("%s: the run gave %v, want that it waits", tt.name, err)
				}
				p.Close()
				for e := range heard {
					if d, ok := e.Data.(tool.EffectDone); ok && d.Func != "tools.call" && d.Func != "tools.call_all" && d.Func != "human.ask" {
						list[d.Step+" "+d.Func] = d.Success
					}
				}
				return list
			}
			live, again := events(false), events(true)
			maps.DeleteFunc(again, func(what string, ok bool) bool { _, known := live[what]; return !known && !ok })
			if left != "" || len(live) < 4 || !maps.Equal(live, again) {
				t.Errorf("%s: the resumed run emitted %v, want as before: %v", tt.name, again, live)
			}
		}
	}
}
