package gate

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A quota is what a call has used of its bounds.
type quota struct {
	effects  int // the number of effects that it has asked for, including notices
	notices  int
	logBytes int
	logLines int32
	dropping bool // it has emitted too much: its notices are dropped

	// refusals counts the refusals of a call and of everything that it calls. Only the
	// counter of the responsible pass is used.
	refusals atomic.Int32
	requests atomic.Int32 // the HTTP requests of the call, also in earlier processes of its run
}

// request is the Request of the [tool.Grant].
func (p *Pass) request() error {
	limit := p.call.Limits.Requests
	if int(p.quota.requests.Add(1)) <= limit {
		return nil
	}
	return value.Limitf(value.LimitHTTP, "the call may make at most %d requests, including redirects", limit).
		WithHint("make fewer requests in one call%s", p.moreRequests(limit))
}

// moreRequests is the part of a hint that says how to raise the limit of requests where it was set: in the user's config,
// or in the tool, in the language of its declaration.
func (p *Pass) moreRequests(limit int) string {
	more, most := min(5*limit, tool.MaxRequests), p.now.Bounds.MaxLimits.Requests
	switch {
	case most > 0 && most <= limit:
		return fmt.Sprintf("; to allow more: cassidy config set limits.requests %d; in Go, increase Options.MaxLimits.Requests", 5*limit)
	case p.program != nil:
		return ", or call a tool that makes them"
	case p.tool.Location == tool.Embedded:
		return fmt.Sprintf("; in Go, increase Limits.Requests of the tool, for example to %d", 5*limit)
	case limit >= tool.MaxRequests:
		return ""
	case path.Ext(p.tool.Path) == ".lua":
		return fmt.Sprintf(", or declare limits = { requests = %d }", more)
	case path.Ext(p.tool.Path) == ".md":
		return fmt.Sprintf(", or declare limits: {requests: %d}", more)
	}
	return fmt.Sprintf(", or declare limits = {\"requests\": %d}", more)
}

// admit returns the step of an effect, and fails beyond the number of effects that a call
// or a run may ask for. Notices have bounds of their own.
func (p *Pass) admit(e tool.Effect) (*step, error) {
	q := &p.quota
	q.effects++
	s := &step{of: p, effect: e, number: q.effects}
	s.fn, s.own = p.fn(e.Func)
	if s.fn != nil && s.fn.Kind == tool.Notice {
		q.notices++
	} else if most := p.Run.mostEffects(); int(p.Run.effects.Add(1)) > most {
		return nil, value.Limitf(value.LimitEffects, "the call and its nested calls requested more than %d effects", most).
			WithHint("split the work into several calls")
	}
	if q.effects-q.notices > MaxEffects && p.program == nil {
		return nil, value.Limitf(value.LimitEffects, "the call requested more than %d effects", MaxEffects).
			WithHint("do less in one call: each part of a file that is read or searched is one effect")
	}
	return s, nil
}

// drops reports whether an effect is a notice beyond what its call may emit. The first
// dropped notice is replaced by one that says so.
func (q *quota) drops(s *step) bool {
	if s.fn.Kind != tool.Notice {
		return false
	}
	if q.dropping {
		return true
	}
	q.logLines++
	q.logBytes += len(value.FormatJSON(s.effect.Args, ""))
	if q.dropping = q.logLines > MaxLogLines || q.logBytes > MaxLogBytes; q.dropping {
		s.of.emit(tool.Log{Message: fmt.Sprintf("(more logs of this call are dropped: a call may write %d logs and %d KB of them)", MaxLogLines, MaxLogBytes>>10)})
	}
	return q.dropping
}

// probe is the [tool.Effector] of the check whether a tool can be used here. It only
// passes effects that read.
func (p *Pass) probe(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	if f, _ := p.fn(e.Func); f != nil && !strings.HasPrefix(e.Func, toolsPrefix) { // a tool's availability does not depend on other tools
		switch f.Kind {
		case tool.Recorded, tool.Read, tool.Notice:
			return p.perform(ctx, e)
		}
	}
	return tool.Outcome{}, value.Errorf(value.Denied, "%s is not allowed in an availability check", e.Func)
}

// checkCall returns why the call may not be made with any arguments, or nil.
func (p *Pass) checkCall() error {
	if p.depth() > MaxDepth {
		return tooDeep()
	}
	if p.tool.Refusal != nil {
		return p.tool.Refusal
	}
	if verdict, rule := p.rights.JudgeCall(); verdict == tool.Deny {
		return rights.Denied("the call of '"+p.tool.Name+"'", rule)
	}
	if p.tool.Location == tool.Embedded { // a handler in Go does not pass the gate
		for _, need := range p.tool.Needs {
			if rule := p.rights.Refusing(need); rule != nil {
				return rights.Denied("the call of '"+p.tool.Name+"', which needs "+need.String()+",", rule)
			}
		}
	}
	// A script that calls the tool has declared the capability. It does not get more if
	// a handler in Go or a program makes the call for it.
	return p.rights.CallersHave(tool.Capability{Name: "tool", Target: p.tool.Name})
}

// admitCall is checkCall, and audits a refusal.
func (p *Pass) admitCall() error {
	err := p.checkCall()
	if err != nil && value.KindOf(err) == value.Denied {
		return p.refused(decision{what: subjectCall, at: p.call.StepPath}, err)
	}
	return err
}

// CheckDepth fails if what the call makes would be nested too deep. The pass may be nil.
func (p *Pass) CheckDepth() error {
	if p.depth() >= MaxDepth {
		return tooDeep()
	}
	return nil
}

func tooDeep() error {
	return value.Errorf(value.Limit, "tool calls are nested more than %d levels deep", MaxDepth).WithLimit(value.LimitDepth)
}
