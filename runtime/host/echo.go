package host

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An echo emits the events of what the record of a call answers, as if it were
// done now.
type echo struct{ *pass }

// entry emits the events of a recorded effect, and of those inside it.
func (p echo) entry(entry *history.Entry) {
	e := tool.Effect{Func: entry.Func, Args: entry.Args, Place: entry.Place}
	f, _ := p.fn(e.Func)
	switch {
	case e.Func == commitEffect:
		subjectOf(p.pass).repeat(effectDone(e, changedPaths(entry.Change), recorded(entry), 0))
	case f != nil && f.Calls:
		p.inside(e.Place)
	case f != nil && f.Target != nil:
		takes, _ := targets(f, e)
		subjectOf(p.pass).repeat(effectDone(e, takes, recorded(entry), 0))
	}
}

// inside emits the events of the recorded effects of the calls at a step: of
// one, or of several that were made in parallel.
func (p echo) inside(at tool.Place) {
	record := p.run.record
	for n := 1; ; n++ {
		found := false
		for _, inside := range []tool.Place{at.Child(n).Child(0), at.Child(n)} {
			if entry, ok, err := record.Recorded(inside); err == nil && ok && !entry.Intended.IsZero() {
				found = true
				p.entry(&entry)
			}
		}
		if _, several, _ := record.Recorded(at.Child(n).Child(1)); !found && several {
			found = true
			p.inside(at.Child(n))
		}
		if !found {
			return
		}
	}
}

// changedPaths are the capabilities that recorded changes took.
func changedPaths(change *value.Dict) (takes []tool.Capability) {
	for path := range change.All() {
		name, _ := path.(string)
		takes = append(takes, tool.Capability{Name: "fs.write", Target: name})
	}
	return takes
}

// calls emits the events of the calls that a script has made, by the record,
// as if they were made now: who counts them needs them.
func (p echo) calls(s *step, v value.Value, err error) {
	id, e := strconv.Itoa(s.number), s.effect
	switch e.Func {
	case toolsCall:
		given, _ := e.Args.Get("args")
		args, _ := given.(*value.Dict)
		p.made(oneCall{e.Args.Text("name"), args}, id, attempted(v, err))
	case toolsCallAll:
		calls, _ := readCalls(e.Args)
		results, _ := value.Elements(v)
		for i := range min(len(calls), len(results)) {
			d, _ := results[i].(*value.Dict)
			p.made(calls[i], id+"."+strconv.Itoa(i+1), d)
		}
	}
}

// made emits those of one.
func (p echo) made(c oneCall, id string, came *value.Dict) {
	call := tool.Call{ID: p.call.ID + "/" + id, Tool: c.name, Args: c.args}
	events := subject{p.run, p.pass, &call}
	events.repeat(tool.ToolCallStart{Args: c.args, Reasoning: p.call.Reasoning, Recorded: true})
	if !came.Bool("ok") {
		events.repeat(tool.ErrorEvent{Error: strings.TrimPrefix(came.Text("error"), c.name+": "), ErrorType: came.Text("error_type"), Recorded: true})
	}
	value, _ := came.Get("value")
	r := tool.Result{Success: came.Bool("ok"), Value: value, Error: came.Text("error")}
	events.repeat(tool.ToolCallEnd{Success: r.Success, Result: value, Preview: r.Preview(), Err: failureOf(came), Recorded: true})
}

// failureOf returns the error of what attempted made of a failed call, or nil.
func failureOf(came *value.Dict) *value.Error {
	if came.Bool("ok") {
		return nil
	}
	kind := value.Failed
	for k := value.Failed; k <= value.LastKind; k++ {
		if k.Type() == came.Text("error_type") {
			kind = k
			break
		}
	}
	return value.Errorf(kind, "%s", came.Text("error"))
}
