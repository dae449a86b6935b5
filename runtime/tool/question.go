package tool

import (
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/internal/forms"
	"github.com/cassidy-run/cassidy/runtime/tool/internal/form"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Question is a question of a call to a person: whether it may run, execute an effect or
// write files, or what its script asks. An approver in this process, a list of open
// questions and a process that opens the store later all get the same Question.
type Question struct {
	// ID names the question, as RUN:STEP:N. It is not used for another question
	// until the run is deleted and another one gets its ID. ID and Run are "" if the run
	// is not recorded: then only the approver that is asked can answer it.
	ID   string       `dict:"id"`
	Run  string       `dict:"run"`
	Step string       `dict:"step"` // the step of the run that asks, as "3.1"
	Kind QuestionKind `dict:"kind"`
	Tool string       `dict:"tool"` // the name of the tool, or of the program, that asks
	// Func is the effect that the question is about. It is "" for a call that has
	// not run and for the writes of one that has.
	Func      string `dict:"func"`
	Text      string `dict:"text"`      // the question, for people
	Why       string `dict:"why"`       // the reason for asking: the tool's author, a capability, a rule, or why edited arguments are invalid
	Reasoning string `dict:"reasoning"` // why the call is made, in the words of its caller, or ""
	// Args are the arguments of the effect or of the call, without those that the
	// host fills in. They must not be changed.
	Args         *value.Dict  `dict:"args"`
	Capabilities []Capability `dict:"capabilities"` // what a yes allows
	Changes      []Change     `dict:"changes"`      // what a yes writes, with the diff; nil if nothing is written yet
	Asked        time.Time    `dict:"asked"`        // when it was asked; zero means not yet
	Expires      time.Time    `dict:"expires"`      // when it can no longer be answered; zero means never
	// Rules, of an approval, are the narrowest rules with which it would not be asked: for this tool
	// and exactly what it uses. An answer can add them.
	Rules []Rule `dict:"rules,omitempty"`
	// NoRule, of an approval without Rules, is why no rule answers it. It is "" if Each is set.
	NoRule string `dict:"no_rule,omitempty"`
	// Sources, of an approval that is asked because a model has read untrusted text, are the entries of
	// trusted_sources with which what it has read would be trusted. They are nil if no list can name it.
	Sources []string `dict:"sources,omitempty"`
	// Each, of the approval of a call, says that only the effects of the call show what it uses, and
	// so which rules would answer. An answer can have the call ask about each of them.
	Each bool `dict:"each,omitempty"`
	// Form, of an ask, is the flat JSON Schema of the form that the answer fills in. Accepts reads the
	// answer: the Value can be the JSON of the fields, a line NAME=VALUE for each field, or the value
	// of the only field. Without a Value, Yes accepts the defaults, and no declines.
	Form *value.Dict `dict:"form,omitempty"`
}

// A QuestionKind is what kind of answer a question expects.
type QuestionKind string

const (
	QuestionApproval QuestionKind = "approval" // yes or no, to a call, an effect or changes
	QuestionConfirm  QuestionKind = "confirm"  // yes or no, to a script
	QuestionAsk      QuestionKind = "ask"      // a text, to a script
	QuestionUnknown  QuestionKind = "unknown"  // yes, no or done: repeat an effect that may have happened
)

// An Answer answers a [Question]. The zero value is no.
type Answer struct {
	Yes bool `dict:"yes"`
	// Always, of an approval, approves also what the same tool, unchanged, asks for
	// of the same kind later: its calls and what they change, or an effect of the
	// same name with the same capabilities. Given to a recorded question it holds
	// for that run, else for as long as the host is open.
	Always bool `dict:"always"`
	// Value is the answer to an ask: a string. Of a form it may also be a dict with the fields, and
	// Accepts makes it the JSON of a dict with action and content. Of a confirm or unknown it may be
	// the bool instead of Yes. With Done it is the result. Nil otherwise.
	Value any `dict:"value"`
	// Done, of an unknown about an effect, says that the effect was carried out. It is not repeated, and Value
	// is recorded as its result, nil as null.
	Done bool `dict:"done,omitempty"`
	// Args are the arguments to run a call with instead of its own. They are checked
	// again; if they are invalid, the question is asked again. Nil keeps the call's.
	// Only the approval of a call that has not run takes them.
	Args *value.Dict `dict:"args"`
	// Rules, of a yes, are rules of the question that the host has from now on: for the call that
	// asks, for other calls, and for later runs, until it is closed. To have them longer, store
	// them, and open the host with them.
	Rules []Rule `dict:"rules,omitempty"`
	// Each, of a yes to a question whose Each is set, lets the call begin, and asks about each of
	// its effects that no rule allows.
	Each bool   `dict:"each,omitempty"`
	Why  string `dict:"why"` // the reason, for who asked and for the record
	By   string `dict:"by"`  // who answered, for the record
}

// Accepts returns the answer in the form that it is recorded in. It fails, with
// kind Invalid, for an answer of another kind than the question expects.
func (q *Question) Accepts(a Answer) (Answer, error) {
	v, err := value.FromGo(a.Value)
	if err != nil {
		return a, value.Errorf(value.Invalid, "the answer to %q: %w", q.Text, err)
	}
	a.Value = v
	if a.Done {
		if !q.TakesDone() || a.Yes || a.Always || a.Args != nil || a.Rules != nil || a.Each {
			return a, value.Errorf(value.Invalid, "the answer done is not one to the question %q", q.Text).WithHint("answer yes or no; in Go, omit Answer.Done")
		}
		return a, nil
	}
	if q.Kind == QuestionAsk && q.Form != nil {
		if a, err = q.acceptsForm(a); err != nil {
			return a, err
		}
	}
	_, isText := a.Value.(string)
	yes, isBool := v.(bool)
	switch {
	case q.Kind == QuestionAsk && !isText:
		return a, value.Errorf(value.Invalid, "the question %q expects a string", q.Text).WithHint("set Answer.Value to a string")
	case q.Kind == QuestionAsk && a.Yes:
		return a, value.Errorf(value.Invalid, "the question %q expects a string, not yes or no", q.Text).WithHint("set Answer.Value instead of Answer.Yes")
	case q.Kind != QuestionApproval && (a.Always || a.Args != nil || a.Rules != nil || a.Each):
		return a, value.Errorf(value.Invalid, "the question %q does not ask for approval, but the answer has arguments or rules, or is permanent", q.Text).
			WithHint("omit the arguments and the rules; in Go, omit Answer.Args, Answer.Always, Answer.Rules and Answer.Each")
	case q.Kind == QuestionAsk:
		return a, nil
	case isBool && q.Kind != QuestionApproval && (yes || !a.Yes):
		a.Yes, a.Value = yes, nil
	case v != nil:
		return a, value.Errorf(value.Invalid, "the question %q expects yes or no", q.Text).WithHint("set Answer.Yes instead of Answer.Value")
	}
	if a.Args != nil && (q.Func != "" || len(q.Changes) > 0) {
		return a, value.Errorf(value.Invalid, "the answer has arguments, which only the approval of a call can have, but the question is about %s", q.about()).
			WithHint("omit the arguments; in Go, omit Answer.Args")
	}
	return q.acceptsRules(a)
}

// TakesDone reports whether Answer.Done can answer the question: it is about an effect that may have been carried
// out, and not about changes of files, which are there to see.
func (q *Question) TakesDone() bool { return q.Kind == QuestionUnknown && len(q.Changes) == 0 }

// acceptsForm returns an answer whose Value is the JSON of the response to the form.
func (q *Question) acceptsForm(a Answer) (Answer, error) {
	form, err := forms.Parse(q.Form)
	if err != nil {
		return a, err
	}
	response := value.NewDict("action", forms.Decline)
	switch v := a.Value.(type) {
	case nil:
		if a.Yes {
			response, err = form.Accepted(nil)
		}
	case string:
		response, err = form.Read(v)
	case *value.Dict:
		response, err = form.Read(value.FormatJSON(v, ""))
	default:
		return a, value.Errorf(value.Invalid, "the form %q expects its fields", q.Text).WithHint("set Answer.Value to a dict with the fields")
	}
	if err != nil {
		return a, err
	}
	if !response.Has("content") { // without it, the response could be read as a field named action
		response.Put("content", &value.Dict{})
	}
	a.Yes, a.Value = false, value.FormatJSON(response, "")
	return a, nil
}

// acceptsRules is Accepts for the parts of an answer that rules are about.
func (q *Question) acceptsRules(a Answer) (Answer, error) {
	if a.Each && (!q.Each || !a.Yes || a.Always) {
		return a, value.Errorf(value.Invalid, "Answer.Each does not answer the question %q", q.Text).WithHint("set Answer.Each only if Question.Each is set, together with Answer.Yes and without Answer.Always")
	}
	if len(a.Rules) > 0 && !a.Yes {
		return a, value.Errorf(value.Invalid, "the answer to %q is no, but has Rules", q.Text).WithHint("set Answer.Yes, or omit Answer.Rules")
	}
	a.Rules = slices.Clone(a.Rules)
	for i := range a.Rules {
		r := &a.Rules[i]
		if (r.Verdict != Unruled && r.Verdict != Allow) || !slices.ContainsFunc(q.Rules, func(o Rule) bool { return o.Capability == r.Capability && Key(o.Tool) == Key(r.Tool) }) {
			return a, value.Errorf(value.Invalid, "the rule %s does not answer the question %q", r.String(), q.Text).WithHint("use only rules from Question.Rules in Answer.Rules")
		}
		r.Verdict = Allow
	}
	return a, nil
}

// PutRules puts the Rules and the Each of an answer into a dict, in which they are recorded, if they are
// set. ReadRules reads them.
func (a *Answer) PutRules(d *value.Dict) {
	form.Put(d, answerRules{a.Rules, a.Each})
}

// ReadRules sets Rules and Each to what PutRules has put into a dict.
func (a *Answer) ReadRules(d *value.Dict) {
	var read answerRules
	_ = form.Read(&read, d) // only PutRules writes these fields
	a.Rules, a.Each = allowing(read.Rules), read.Each
}

// answerRules are the parts of an answer that PutRules writes.
type answerRules struct {
	Rules []Rule `dict:"rules,omitempty"`
	Each  bool   `dict:"each,omitempty"`
}

// allowing sets the verdict of rules that were read.
func allowing(rules []Rule) []Rule {
	for i := range rules {
		rules[i].Verdict = Allow
	}
	return rules
}

// about names what an approval that is not about a call is about.
func (q *Question) about() string {
	if q.Func != "" {
		return q.Func
	}
	return "changed files"
}

// Dict returns the question as a dict, in which it is recorded. Its texts are
// valid UTF-8.
func (q *Question) Dict() *value.Dict { return form.Dict(*q) }

// QuestionOf reads what [Question.Dict] returned, also after JSON. It fails, with
// kind Invalid, for a part of another type; a part that is missing is zero.
func QuestionOf(d *value.Dict) (Question, error) {
	var q Question
	err := form.Read(&q, d)
	allowing(q.Rules)
	return q, err
}

// MarshalJSON returns the object of a question: id, run, step, kind, tool, func,
// text, why, reasoning, args, capabilities, changes, asked and expires; and rules, no_rule, each
// and form if they are set. A rule has the fields tool and capability. Times
// are RFC 3339, null for zero; contents of files are base64. Values without a JSON form,
// such as NaN, are written as text.
func (q Question) MarshalJSON() ([]byte, error) {
	return []byte(value.FormatJSON(q.Dict(), "")), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. It fails with kind Invalid.
func (q *Question) UnmarshalJSON(data []byte) error {
	d, err := parseObject(data, "a question")
	if err == nil && d != nil {
		*q, err = QuestionOf(d)
	}
	return err
}

// MarshalJSON returns the object of an answer: yes, always, value, args, why and by; and done, rules and
// each if they are set.
func (a Answer) MarshalJSON() ([]byte, error) {
	v, err := value.FromGo(a.Value)
	if err != nil {
		return nil, err
	}
	a.Value = v
	return value.AppendJSON(nil, form.Dict(a))
}

// UnmarshalJSON reads what MarshalJSON wrote; a part that is missing is zero. It
// fails with kind Invalid.
func (a *Answer) UnmarshalJSON(data []byte) error {
	d, err := parseObject(data, "an answer")
	if err != nil || d == nil {
		return err
	}
	var read Answer
	if err = form.Read(&read, d); err == nil {
		allowing(read.Rules)
		*a = read
	}
	return err
}

// parseObject reads a JSON object, or nil for null.
func parseObject(data []byte, what string) (*value.Dict, error) {
	v, err := value.ParseJSON(data)
	if err != nil || v == nil {
		return nil, err
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "%s should be an object but got %s", what, value.TypeOf(v))
	}
	return d, nil
}
