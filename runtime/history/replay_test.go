package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var (
	readFunc  = &tool.Func{Kind: tool.Read}
	writeFunc = &tool.Func{Kind: tool.Write}
	callFunc  = &tool.Func{Kind: tool.External, Mode: tool.ModeCalls}
)

func effectAt(at, name string, arg value.Value) tool.Effect {
	return tool.Effect{Func: name, Args: value.NewDict("arg", arg), StepPath: place(at)}
}

// replayed records a run in each kind of record, and runs a test with it.
//
//	1        read a
//	2        call t
//	2.1      read b
//	2.2      write c
//	2.3      read b again
//	3        call t, which was refused
//	4        call t, which failed
//	4.1      read d
//	5        read e, which has no outcome
//	6        call t of a model, which failed
func replayed(t *testing.T, test func(t *testing.T, r Record)) {
	eachRecord(t, func(t *testing.T, i implementation) {
		ctx, r := context.Background(), i.begin()
		record := func(e tool.Effect, f *tool.Func, v value.Value, failure error) {
			check(t, r.Intend(ctx, Intent{StepPath: e.StepPath, Func: e.Func, Args: e.Args, Kind: f.Kind}))
			check(t, r.Settle(ctx, e.StepPath, tool.Outcome{Value: v}, failure))
		}
		record(effectAt("1", "fs.read", "a"), readFunc, "A", nil)
		check(t, r.Intend(ctx, Intent{StepPath: place("2"), Func: "call", Args: value.NewDict("arg", "t"), Kind: tool.External}))
		record(effectAt("2.1", "fs.read", "b"), readFunc, "B", nil)
		record(effectAt("2.2", "fs.write", "c"), writeFunc, nil, nil)
		record(effectAt("2.3", "fs.read", "b"), readFunc, "B2", nil)
		check(t, r.Settle(ctx, place("2"), tool.Outcome{Value: "called"}, nil))
		record(effectAt("3", "call", "t"), callFunc, nil, value.Errorf(value.Denied, "refused"))
		check(t, r.Intend(ctx, Intent{StepPath: place("4"), Func: "call", Args: value.NewDict("arg", "t"), Kind: tool.External}))
		record(effectAt("4.1", "fs.read", "d"), readFunc, "D", nil)
		check(t, r.Settle(ctx, place("4"), tool.Outcome{}, value.Errorf(value.Failed, "failed")))
		check(t, r.Intend(ctx, Intent{StepPath: place("5"), Func: "fs.read", Args: value.NewDict("arg", "e"), Kind: tool.Read}))
		record(effectAt("6", "call", "t"), callFunc, value.NewDict("success", false, "error", "no such file", "made", true), nil)
		test(t, i.resume(r))
	})
}

func TestReplayOfAnotherWay(t *testing.T) { replayed(t, testReplayOfAnotherWay) }

func testReplayOfAnotherWay(t *testing.T, r Record) {
	p := NewReplay(r, false, nil)
	for _, c := range []struct {
		name string
		e    tool.Effect
		f    *tool.Func
		want string
	}{
		{"an unknown step", effectAt("9", "fs.read", "a"), readFunc, `the record has no step 9, but the script requests fs.read({"arg":"a"})`},
		{"an unknown call", effectAt("9", "call", "a"), callFunc, "no step 9"},
		{"an unknown write", effectAt("9", "fs.write", "a"), writeFunc, "no step 9"},
		{"other arguments", effectAt("1", "fs.read", "z"), readFunc, `step 1 differs from the record: recorded fs.read({"arg":"a"}), got fs.read({"arg":"z"})`},
		{"another function", effectAt("2", "fs.read", "t"), readFunc, "step 2 differs from the record"},
		{"an effect without an outcome", effectAt("5", "fs.read", "e"), readFunc, "the record ends in the middle of step 5, fs.read"},
	} {
		entry, what, err := p.Recall(c.e, c.f)
		fails(t, c.name, err, value.Conflict, c.want)
		if entry != nil || what != Unknown {
			t.Errorf("%s is %v, %+v", c.name, what, entry)
		}
	}
	if o := p.Outcome(); len(o.Would) > 0 {
		t.Errorf("the replay has %+v", o)
	}
}

// TestReplayOfCalls checks which calls are executed again, and how their outcomes are
// compared.
func TestReplayOfCalls(t *testing.T) { replayed(t, testReplayOfCalls) }

func testReplayOfCalls(t *testing.T, r Record) {
	ctx := context.Background()
	again := func(p *Replay, at string) {
		t.Helper()
		if _, what, err := p.Recall(effectAt(at, "call", "t"), callFunc); what != Unknown || err != nil {
			t.Errorf("the call at %s is %v, %v; want that it is made again", at, what, err)
		}
	}
	p := NewReplay(r, false, nil)
	again(p, "2")
	again(p, "4")
	if e, what, err := p.Recall(effectAt("3", "call", "t"), callFunc); what != Known || err != nil || e.Err.Message() != "refused" {
		t.Errorf("a call that was refused is %v, %v", what, err)
	}
	if e, what, err := p.Recall(effectAt("6", "call", "t"), callFunc); what != Known || err != nil || e.Outcome.Value.(*value.Dict).Text("error") != "no such file" {
		t.Errorf("a call of a model that failed before its first effect is %v, %v", what, err)
	}
	check(t, p.Settle(ctx, place("2"), tool.Outcome{Value: "called"}, nil))
	check(t, p.Settle(ctx, place("4"), tool.Outcome{}, errors.New("failed")))
	check(t, p.Settle(ctx, place("1"), tool.Outcome{Value: "not made again"}, nil))
	if o := p.Outcome(); o.Steps != 4 || len(o.Differences) > 0 {
		t.Errorf("the replay has %+v", o)
	}

	for _, c := range []struct {
		at      string
		value   value.Value
		failure error
		want    string
	}{
		{"2", "other", nil, `step 2 has a different outcome: recorded "called", got "other"`},
		{"2", "called", errors.New("x"), `got the failure "x"`},
		{"4", nil, nil, `recorded the failure "failed", got null`},
		{"4", nil, errors.New("failed otherwise"), `got the failure "failed otherwise"`},
		{"4", nil, value.Errorf(value.Denied, "failed"), "the failure"},
	} {
		for _, changed := range []bool{false, true} {
			p := NewReplay(r, changed, place("9"))
			again(p, c.at)
			err := p.Settle(ctx, place(c.at), tool.Outcome{Value: c.value}, c.failure)
			if changed {
				check(t, err)
			} else {
				fails(t, "another outcome", err, value.Conflict, c.want)
			}
			o := p.Outcome()
			if len(o.Differences) != 1 {
				t.Fatalf("the replay has %+v", o)
			}
			if d := o.Differences[0]; d.StepPath.String() != c.at || d.Call != `call({"arg":"t"})` || !value.Equal(d.Is, c.value) || d.IsFailed != c.failure || (d.WasFailed != nil) != (c.at == "4") {
				t.Errorf("the difference is %+v", d)
			}
		}
	}
}

// TestForkedReplay replaces a script starting at a step.
func TestForkedReplay(t *testing.T) { replayed(t, testForkedReplay) }

func testForkedReplay(t *testing.T, r Record) {
	ctx := context.Background()
	p := NewReplay(r, true, place("2"))
	for at, want := range map[string]bool{"": false, "1": false, "1.9": false, "2": true, "2.1": true, "3": true, "10": true} {
		if p.Forked(place(at)) != want {
			t.Errorf("step %q is forked: %v", at, !want)
		}
	}
	if NewReplay(r, false, nil).Forked(place("1")) || !NewReplay(r, true, nil).Forked(nil) {
		t.Error("a replay without a replacement is forked, or one of everything is not")
	}
	known := func(at, name, arg string, f *tool.Func, want value.Value) {
		t.Helper()
		if e, what, err := p.Recall(effectAt(at, name, arg), f); what != Known || err != nil || !value.Equal(e.Outcome.Value, want) {
			t.Errorf("%s at %s is %v, %+v, %v", name, at, what, e, err)
		}
	}
	unknown := func(at, name, arg string, f *tool.Func) {
		t.Helper()
		if _, what, err := p.Recall(effectAt(at, name, arg), f); what != Unknown || err != nil {
			t.Errorf("%s at %s is %v, %v", name, at, what, err)
		}
	}
	_, _, err := p.Recall(effectAt("1", "fs.read", "z"), readFunc)
	fails(t, "a change before the fork", err, value.Conflict, "replay: the record has no outcome of step 1")
	known("1", "fs.read", "a", readFunc, "A")
	unknown("2", "call", "t", callFunc)
	known("2.2", "fs.read", "b", readFunc, "B") // recorded at 2.1
	known("2.5", "fs.read", "b", readFunc, "B2")
	_, _, err = p.Recall(effectAt("2.6", "fs.read", "b"), readFunc)
	fails(t, "an effect more than recorded", err, value.Conflict, "replay: the record has no outcome of step 2.6")
	known("2.7", "fs.write", "c", writeFunc, nil)
	unknown("2.8", "fs.write", "d", writeFunc)
	unknown("2.9", "call", "u", callFunc)
	check(t, p.Settle(ctx, place("2.9"), tool.Outcome{Value: "new"}, nil))
	check(t, p.Settle(ctx, place("2"), tool.Outcome{Value: "other"}, nil))
	unknown("3", "call", "t", callFunc) // the call might succeed now
	_, _, err = p.Recall(effectAt("4.1", "fs.read", "b"), readFunc)
	fails(t, "an effect of another call", err, value.Conflict, "step 4.1")
	var would []string
	o := p.Outcome()
	for _, e := range o.Would {
		would = append(would, fmt.Sprint(e.StepPath, e.Func, e.Args))
	}
	if strings.Join(would, " ") != `2.8fs.write{"arg":"d"}` || len(o.Differences) != 1 || o.Steps != 6 {
		t.Errorf("the replay has %+v", o)
	}
}

// TestReplayOfDamage replays a record with a lost value.
func TestReplayOfDamage(t *testing.T) {
	t.Parallel()
	f := &faultStore{Store: journal.Memory()}
	j := openOn(t, f)
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Read, strings.Repeat("x", 100_000))
	r, err := j.Read(context.Background(), "r")
	check(t, err)
	f.blob = func(int64) error { return journal.ErrBlob("x", "is missing") }
	for _, changed := range []bool{false, true} {
		_, _, err := NewReplay(r, changed, nil).Recall(tool.Effect{Func: "f", StepPath: place("1")}, readFunc)
		fails(t, "a lost value", err, value.Failed, "is missing")
	}
}
