package host

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// grant refuses what the call may not do.
func (s *step) grant(ctx context.Context) error {
	if s.fn == nil || s.fn.Internal && s.fn.Kind != tool.Recorded {
		err := value.Errorf(value.Denied, "there is no effect %s", s.effect.Func)
		return s.of.refused(decision{what: s.effect.Func, place: s.effect.Place}, err)
	}
	if s.fn.Target == nil && s.fn.Risk != tool.RiskAsk {
		return nil
	}
	var err error
	if s.fn.Target != nil {
		s.takes, err = targets(s.fn, s.effect)
	}
	if err == nil {
		err = s.permit(ctx)
	}
	if err != nil {
		return s.failed(s.takes, err)
	}
	return nil
}

// targets asks a row which capabilities an effect takes.
func targets(f *tool.Func, e tool.Effect) (takes []tool.Capability, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = value.Errorf(value.Internal, "%s panicked: %v", e.Func, p)
		}
	}()
	return f.Target(e.Args)
}

// permit says whether the effect may take what it takes. A rule that asks is
// asked for all of it in one question, and so is a function that asks. What would be
// refused all the same is not asked about.
func (s *step) permit(ctx context.Context) error {
	if err := s.rights().refusal(s.takes); err != nil {
		return err
	}
	p, may := s.of, s.rights()
	var asked, unruled []tool.Capability
	var asks, allows *tool.Rule
	for _, c := range s.takes {
		if c.Name == "tool" {
			continue // the rules about calls are for the call itself
		}
		switch verdict, r := may.judge(c); verdict {
		case tool.Ask:
			if slices.Contains(p.consent.reads, c) {
				s.approved = append(s.approved, c)
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
	if asks != nil {
		if p.consent.probe {
			return value.Errorf(value.Denied, "a rule asks, and nobody is asked while a tool is looked at: %s", ruleText(asks))
		}
		return s.askFor(ctx, asked, asks)
	}
	if asksFirst(s, unruled) {
		if p.consent.probe {
			return value.Errorf(value.Denied, "%s asks, and nobody is asked while a tool is looked at", s.effect.Func)
		}
		return s.askFor(ctx, s.takes, nil)
	}
	if allows != nil {
		p.allowed(decision{what: s.effect.Func, place: s.effect.Place, takes: s.takes, why: "a rule allows it: " + ruleText(allows)})
	}
	return nil
}

// check says whether the effect may also use a capability while it is done.
// What a rule wants asked is asked, unless the effect only reads: one that goes
// through a folder would ask about each file, so it gets what has been named
// and approved.
func (s *step) check(ctx context.Context, c tool.Capability) error {
	may := s.rights()
	if err := may.within(c); err != nil {
		return err
	}
	switch verdict, r := may.judge(c); verdict {
	case tool.Deny:
		return denied(c.String(), r)
	case tool.Ask:
		if slices.Contains(s.approved, c) {
			return nil
		}
		if s.of.consent.probe || s.fn.Kind == tool.Read {
			return value.Errorf(value.Denied, "%s is only to be had by its name: %s", c, ruleText(r))
		}
		return s.askFor(ctx, []tool.Capability{c}, r)
	}
	return nil
}

// failed audits an effect that was refused, and returns its error.
func (s *step) failed(takes []tool.Capability, err error) error {
	switch value.KindOf(err) {
	case value.Denied, value.Security, value.Unanswered:
		return s.of.refused(decision{what: s.effect.Func, place: s.effect.Place, takes: takes}, err)
	}
	return err
}
