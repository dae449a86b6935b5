package serve

import (
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Decision is what a person decided, or tried to, as [Options].Audit gets it.
type Decision struct {
	Time time.Time
	User string // who; "" if nobody was signed in
	Role string // of the user
	From string // the address of the client
	// Action is sign-in, sign-out, begin, answer, resume, cancel, undo or retry; or, of a refused request, its
	// method and pattern.
	Action  string
	Project string
	Run     string // the ID of the run, of begin, undo and retry the new one; or ""
	Of      string // the run that is undone or retried
	// Question, Answer and Why are those of an answer. The Answer is yes, no, done, or value for a text.
	Question, Answer, Why string
	Rules                 []string // that the answer adds
	Refused               bool     // it was not allowed, or a sign-in failed
}

// Dict returns the decision as an object, with the fields that are set, for records.
func (d *Decision) Dict() *value.Dict {
	out := value.NewDict("time", d.Time.UTC().Format(time.RFC3339Nano), "action", d.Action, "refused", d.Refused)
	for _, f := range [][2]string{{"user", d.User}, {"role", d.Role}, {"from", d.From}, {"project", d.Project}, {"run", d.Run}, {"of", d.Of}, {"question", d.Question}, {"answer", d.Answer}, {"why", d.Why}} {
		if f[1] != "" {
			out.Put(f[0], f[1])
		}
	}
	if len(d.Rules) > 0 {
		out.Put("rules", value.List(value.Map(d.Rules, func(r string) value.Value { return r })))
	}
	return out
}

// decided records a decision of the user who makes the request.
func (r *request) decided(d Decision) {
	if d.Time, d.From = r.s.now(), remote(r.Request); r.user != nil {
		d.User, d.Role = r.user.Name, r.user.Role.String()
	}
	if d.Refused && d.Action == "sign-in" {
		r.s.counts.add("cassidy_failed_sign_ins_total", 1)
	}
	r.s.audited(d)
}

// audited records a decision.
func (s *Server) audited(d Decision) {
	if s.opts.Decisions == nil {
		s.decisions.add(d)
	}
	if s.opts.Audit == nil {
		return
	}
	if err := s.opts.Audit(d); err != nil {
		s.opts.Logger.Error("a decision was not recorded", "action", d.Action, "kind", value.KindOf(err).String())
	}
}
