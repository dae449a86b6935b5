package host_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestWhatIsAwayIsTriedAgain checks that a run that found something away goes on
// when that is there, and that one that got over it does not try it again.
func TestWhatIsAwayIsTriedAgain(t *testing.T) { eachRecord(t, testWhatIsAwayIsTriedAgain) }

func testWhatIsAwayIsTriedAgain(t *testing.T, on keeper) {
	for _, c := range []struct {
		name, body string
		ends       bool // the first time
		want       value.Value
		tries      int
	}{
		{"in the end", "tools.look()\nreturn 'there'", false, "there", 2},
		{"got over", "r = attempt(tools.look)\nhuman.confirm('go on?')\nreturn r['ok']", false, false, 1},
		{"got over at the end", "return attempt(tools.look)['ok']", true, false, 1},
	} {
		m := headless(t, on)
		tries := 0
		look := func(p *process) {
			err := p.Register(tool.Tool{Name: "look", Description: "Look.", Hints: tool.Hints{ReadOnly: true}}, func(context.Context, *value.Dict) (value.Value, error) {
				if tries++; tries == 1 {
					return nil, value.Errorf(value.Unavailable, "the network is away")
				}
				return "x", nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		p := m.process(0, false)
		look(p)
		out, err := p.run("r", false, c.body)
		if c.ends {
			if err != nil || out.Value != c.want {
				t.Errorf("%s: gave %v, %v", c.name, out.Value, err)
			}
			continue
		}
		run := p.state("r")
		if err == nil || run.State != history.Parked {
			t.Fatalf("%s: gave %v, %v, and the run is %v", c.name, out.Value, err, run.State)
		}
		open := m.questions(p)
		p.j.Close()
		if len(open) > 0 {
			m.answers(open[0].StepPath, true)
		}
		p = m.process(0, false)
		look(p)
		if out, err = p.run("r", true, c.body); err != nil || out.Value != c.want || tries != c.tries {
			t.Errorf("%s: resumed gave %v, %v after %d tries, want %v after %d", c.name, out.Value, err, tries, c.want, c.tries)
		}
	}
}
