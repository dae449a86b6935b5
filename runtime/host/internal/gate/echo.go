package gate

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An echo emits the events of what the record answers, as if it happened now.
type echo struct{ *Pass }

// entry emits the events of a recorded effect, and of the effects inside it.
func (p echo) entry(entry *history.Entry) {
	e := tool.Effect{Func: entry.Func, Args: entry.Args, StepPath: entry.StepPath}
	f, _ := p.fn(e.Func)
	switch {
	case e.Func == CommitEffect:
		p.Pass.subject().repeat(effectDone(e, rights.Written(entry.Change), entryError(entry), 0, 0))
	case f != nil && f.MakesCalls():
		p.inside(e.StepPath)
	case f != nil && f.Target != nil:
		takes, _ := targets(f, e)
		p.Pass.subject().repeat(effectDone(e, takes, entryError(entry), 0, 0))
	}
}

// inside emits the events of the recorded effects of the call at a step, or of several calls
// that were made in parallel. A call that was made again is a step inside the call, too.
func (p echo) inside(at tool.StepPath) {
	record := p.Run.record
	for _, n := range record.Inside(at) {
		if n == 0 {
			continue // the commit before the step itself
		}
		found := false
		for _, inside := range []tool.StepPath{at.Child(n).Child(0), at.Child(n)} {
			if entry, ok, err := record.Recorded(inside); err == nil && ok && !entry.Intended.IsZero() {
				found = true
				p.entry(&entry)
			}
		}
		if !found {
			p.inside(at.Child(n))
		}
	}
}

// calls emits the events of the recorded calls of a script: programs that count calls need
// them.
func (p echo) calls(s *step, v value.Value, err error) {
	id, e := strconv.Itoa(s.number), s.effect
	switch e.Func {
	case callToolEffect:
		p.emitCall(nestedCall{Tool: e.Args.Text("name"), Args: e.Args.Dict("args")}, id, nestedResult(v, err))
	case callAllEffect:
		calls, _ := readNestedCalls(e.Args)
		results, _ := value.Elements(v)
		for i := range min(len(calls), len(results)) {
			d, _ := results[i].(*value.Dict)
			p.emitCall(calls[i], id+"."+strconv.Itoa(i+1), d)
		}
	}
}

// emitCall emits the events of one recorded call. came is its result, as nestedResult returns it.
func (p echo) emitCall(c nestedCall, id string, came *value.Dict) {
	call := tool.Call{ID: p.call.ID + "/" + id, Tool: c.Tool, Args: c.Args}
	events := subject{p.Run, p.Pass, &call}
	events.repeat(tool.ToolCallStart{Args: c.Args, Reasoning: p.call.Reasoning, Recorded: true})
	if !came.Bool("ok") {
		events.repeat(tool.ErrorEvent{Error: strings.TrimPrefix(came.Text("error"), c.Tool+": "), ErrorType: came.Text("error_type"), Recorded: true})
	}
	value, _ := came.Get("value")
	r := tool.Result{Success: came.Bool("ok"), Value: value, Error: came.Text("error")}
	events.repeat(tool.ToolCallEnd{Success: r.Success, Result: value, Preview: r.Preview(), Err: failureOf(came), Recorded: true})
}

// failureOf returns the error of a failed call from what nestedResult returned, or nil.
func failureOf(came *value.Dict) *value.Error {
	if came.Bool("ok") {
		return nil
	}
	return value.Errorf(value.KindOfType(came.Text("error_type")), "%s", came.Text("error")).WithHint("%s", came.Text("hint"))
}
