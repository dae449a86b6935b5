package gate

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// grant fails if the call may not carry out the effect.
func (s *step) grant(ctx context.Context) error {
	if s.fn == nil || s.fn.Mode == tool.ModeInternal && s.fn.Kind != tool.Recorded {
		err := value.Errorf(value.Denied, "unknown effect %s", s.effect.Func)
		return s.of.refused(decision{what: s.effect.Func, at: s.effect.StepPath, pos: s.effect.Pos}, err)
	}
	if s.fn.Target == nil && s.fn.Risk != tool.RiskAsk {
		return nil
	}
	var err error
	if s.fn.Target != nil {
		s.takes, err = targets(s.fn, s.effect)
	}
	if s.fn.Exact != nil && err == nil {
		s.exact, _ = s.fn.Exact(s.effect.Args)
	}
	if err == nil {
		err = s.heed(ctx)
	}
	if err == nil {
		err = s.permit(ctx)
	}
	if err != nil {
		return s.failed(s.takes, err)
	}
	return nil
}

// targets returns the capabilities that an effect takes, by the Target of its function.
func targets(f *tool.Func, e tool.Effect) (takes []tool.Capability, err error) {
	if f.Target == nil {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = value.Errorf(value.Internal, "%s panicked: %v", e.Func, p)
		}
	}()
	return f.Target(e.Args)
}

// permit checks the capabilities that the effect takes, and asks for approval if a rule or
// the function asks: one question covers all of them. Nobody is asked about an effect that
// is refused anyway.
func (s *step) permit(ctx context.Context) error {
	if err := s.of.rights.Refusal(s.takes, s.own); err != nil {
		return err
	}
	p, may := s.of, &s.of.rights
	var asked, unruled []tool.Capability
	var asks, allows *tool.Rule
	for _, c := range s.takes {
		if c.Name == "tool" {
			continue // the call itself is judged by the rules about calls
		}
		verdict, r := may.Judge(c)
		if c.Name == s.exact.Name && verdict == tool.Unruled {
			verdict, r = may.Judge(s.exact)
		}
		if verdict != tool.Allow && isUnsent(c) {
			continue
		}
		switch verdict {
		case tool.Ask:
			if slices.Contains(p.consent.reads, c) {
				s.approved = append(s.approved, c)
			}
			if slices.Contains(s.approved, c) {
				continue
			}
			asked, asks = append(asked, c), r
		case tool.Allow:
			if c.Acts() {
				allows = r
			}
		default:
			unruled = append(unruled, c)
		}
	}
	if read := s.steers(); read != nil {
		return s.askFor(ctx, s.takes, asks, read)
	}
	if asks != nil {
		for _, c := range unruled { // which would ask next
			if p.consent.each && s.asksItself(c) && !slices.Contains(s.approved, c) {
				asked = append(asked, c)
			}
		}
		if p.consent.probe {
			return value.Errorf(value.Denied, "approval is impossible in an availability check, but a rule requires it: %s", rights.RuleText(asks))
		}
		return s.askFor(ctx, asked, asks, nil)
	}
	if s.asksFirst(unruled) {
		if p.Run.gate.changed() {
			return s.permit(ctx)
		}
		if p.consent.probe {
			return value.Errorf(value.Denied, "%s requires approval, which is impossible in an availability check", s.effect.Func)
		}
		return s.askFor(ctx, s.takes, nil, nil)
	}
	if allows != nil {
		p.allowed(decision{what: s.effect.Func, at: s.effect.StepPath, pos: s.effect.Pos, takes: s.takes, why: "a rule allows it: " + rights.RuleText(allows)})
	}
	return nil
}

// isUnsent reports whether a capability is for the placeholder of a secret. Scripts get it without a question:
// the request that sends the secret asks about its host.
func isUnsent(c tool.Capability) bool { return c.Name == "secret" && strings.HasSuffix(c.Target, "@") }

// check is the Check of the [tool.Grant]: it checks a further capability that the effect uses
// while it runs. If a rule asks, it asks for approval, unless the effect only reads. A search
// of a folder would ask about each file, so it gets only what was named and approved.
func (s *step) check(ctx context.Context, c tool.Capability) error {
	may := &s.of.rights
	if err := may.Within(c, s.own); err != nil {
		return err
	}
	verdict, r := may.Judge(c)
	if verdict == tool.Deny {
		return rights.Denied(c.String(), r)
	}
	if s.of.remembers() && s.fn.Kind != tool.Read && !slices.Contains(s.approved, c) {
		takes := []tool.Capability{c}
		if answered, err := s.of.answered(ctx, inquiry{at: s.effect.StepPath, effect: &s.effect, takes: takes}); err != nil {
			return err
		} else if answered {
			return s.askFor(ctx, takes, nil, nil)
		}
	}
	switch {
	case verdict == tool.Unruled && s.of.consent.each && s.asksItself(c) && !slices.Contains(s.approved, c):
		if s.of.Run.gate.changed() {
			return s.check(ctx, c)
		}
		return s.askFor(ctx, []tool.Capability{c}, nil, nil)
	case verdict == tool.Ask:
		if slices.Contains(s.approved, c) {
			return nil
		}
		if s.of.consent.probe || s.fn.Kind == tool.Read {
			return value.Errorf(value.Denied, "%s cannot request the approval that a rule requires for %s: %s", s.effect.Func, c, rights.RuleText(r))
		}
		return s.askFor(ctx, []tool.Capability{c}, r, nil)
	}
	return nil
}

// failed returns the error of an effect, and audits it if it is a refusal.
func (s *step) failed(takes []tool.Capability, err error) error {
	switch value.KindOf(err) {
	case value.Denied, value.Security, value.Unanswered:
		return s.of.refused(decision{what: s.effect.Func, at: s.effect.StepPath, pos: s.effect.Pos, takes: takes, by: s.by}, err)
	}
	return err
}
