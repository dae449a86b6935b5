package host

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A quota is what a call has used of its bounds.
type quota struct {
	effects  int // how many it has asked for, notices among them
	notices  int
	logBytes int
	logLines int
	silenced bool // it has emitted too much

	// refusals counts what was refused to a call with all that it calls; only
	// that of the responsible pass is used.
	refusals atomic.Int32
}

// admit makes an effect of the call a step, and bounds how many it may ask for.
// Notices have bounds of their own.
func (p *pass) admit(e tool.Effect) (*step, error) {
	q := &p.quota
	q.effects++
	s := &step{of: p, effect: e, number: q.effects}
	s.fn, s.own = p.fn(e.Func)
	if s.fn != nil && s.fn.Kind == tool.Notice {
		q.notices++
	} else if p.run.effects.Add(1) > MaxTreeEffects {
		return nil, tooManyEffects(MaxTreeEffects)
	}
	if q.effects-q.notices > MaxEffects && p.program == nil {
		return nil, tooManyEffects(MaxEffects)
	}
	return s, nil
}

func tooManyEffects(most int) error {
	err := value.Errorf(value.Limit, "the call asked for more than %d effects", most)
	err.Limit = value.LimitEffects
	return err.WithHint("do less in one call: a file that is read in parts takes one for each, and again each time that it is looked through")
}

// silences reports whether an effect is a notice beyond what its call may emit.
// The first one is replaced by a notice about that.
func (q *quota) silences(s *step) bool {
	if s.fn.Kind != tool.Notice {
		return false
	}
	if q.silenced {
		return true
	}
	q.logLines++
	q.logBytes += len(value.FormatJSON(s.effect.Args, ""))
	if q.silenced = q.logLines > MaxLogLines || q.logBytes > MaxLogBytes; q.silenced {
		s.of.emit(tool.Log{Message: fmt.Sprintf("(what it tells from here on is left out: a call may tell %d pieces and %d KB)", MaxLogLines, MaxLogBytes>>10)})
	}
	return q.silenced
}

// look is the [tool.Effector] of a question that nobody asked for, as whether a
// tool can be used here: it may read, and changes nothing.
func (p *pass) look(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	if f, _ := p.fn(e.Func); f != nil && !strings.HasPrefix(e.Func, toolsPrefix) { // a tool's availability does not depend on other tools
		switch f.Kind {
		case tool.Recorded, tool.Read, tool.Notice:
			return p.perform(ctx, e)
		}
	}
	return tool.Outcome{}, value.Errorf(value.Denied, "%s is not for finding out whether a tool can be used", e.Func)
}

// admissible says whether the call may be made, whoever makes it and whatever
// its arguments are.
func (r rights) admissible() error {
	if depth(r.of) > MaxDepth {
		return tooDeep()
	}
	if err := notReady(r.of.tool); err != nil {
		return err
	}
	if verdict, rule := r.judgeCall(); verdict == tool.Deny {
		return denied("the call of '"+r.of.tool.Name+"'", rule)
	}
	if r.of.tool.Location == tool.Embedded { // what it does passes no gate
		for _, need := range r.of.tool.Needs {
			if rule := r.refusing(need); rule != nil {
				return denied("the call of '"+r.of.tool.Name+"', which needs "+need.String()+",", rule)
			}
		}
	}
	// A script that calls it declares this before; one for which a handler in
	// Go or a program calls it does not get more that way.
	return r.callersHave(tool.Capability{Name: "tool", Target: r.of.tool.Name})
}

// notReady is the error of a tool that is untrusted, or not available here.
func notReady(t *tool.Tool) error {
	switch t.State {
	case tool.Untrusted:
		return untrusted(t)
	case tool.NotHere:
		return value.Errorf(value.Unavailable, "the tool '%s' is not available here: %s", t.Name, t.Reason)
	}
	return nil
}

// admitCall is admissible, and audits a refusal.
func (p *pass) admitCall() error {
	err := p.rights().admissible()
	if err != nil && value.KindOf(err) == value.Denied {
		return p.refused(decision{what: callItself, place: p.call.Place}, err)
	}
	return err
}

func tooDeep() error {
	err := value.Errorf(value.Limit, "tools call tools more than %d deep", MaxDepth)
	err.Limit = value.LimitDepth
	return err
}
