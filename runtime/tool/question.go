package tool

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Question is what a call asks a person: whether it may run, do an effect or
// write files, or what a script asks itself. Whoever answers it gets the same
// question: a program at once, whoever lists what waits, and every process that
// opens the store later.
type Question struct {
	// ID names the question, as RUN:STEP:N. It is not used for another question
	// until the run is deleted and another one gets its ID. ID and Run are "" where
	// the run is not recorded: such a question can only be answered where it is put.
	ID, Run string
	Step    string // where in the run the question comes up, as "3.1"
	Tool    string // the name of the tool, or of the program, that asks
	// Func is the effect that the question is about. It is "" for a call that has
	// not run and for the writes of one that has.
	Func      string
	Text      string // what is asked, for people
	Why       string // what asks: the tool's author, a capability, a rule; for edited arguments that are invalid, the reason
	Reasoning string // why the call is made, in the words of its caller; "" where none are known
	Kind      QuestionKind
	// Args are the arguments of the effect or of the call, without those that the
	// host fills in. They must not be changed.
	Args         *value.Dict
	Capabilities []Capability // what a yes lets it use
	Changes      []Change     // what a yes writes, with the diff; nil where nothing is written yet
	Asked        time.Time    // when; the zero time of a question that was not put yet
	Expires      time.Time    // when an answer comes too late; zero means never
}

// A QuestionKind is what kind of answer a question expects.
type QuestionKind string

const (
	QuestionApproval QuestionKind = "approval" // yes or no, to a call, an effect or changes
	QuestionConfirm  QuestionKind = "confirm"  // yes or no, to a script
	QuestionAsk      QuestionKind = "ask"      // a text, to a script
	QuestionUnknown  QuestionKind = "unknown"  // yes or no: repeat an effect that may have happened
)

// An Answer answers a [Question]. The zero value is no.
type Answer struct {
	Yes bool
	// Always, of an approval, approves also what the same tool, unchanged, asks for
	// of the same kind later: its calls and what they change, or an effect of the
	// same name with the same capabilities. Given to a recorded question it holds
	// for that run, else for as long as the host is open.
	Always bool
	// Value is the answer to an ask: a string. Of a confirm or unknown it may be the
	// bool instead of Yes. Nil otherwise.
	Value any
	// Args are the arguments to run a call with instead of its own. They are checked
	// again; if they are invalid, the question is asked again. Nil keeps the call's.
	// Only the approval of a call that has not run takes them.
	Args *value.Dict
	Why  string // the reason, for who asked and for the record
	By   string // who answered, for the record
}

// Accepts returns the answer in the form that it is recorded in. It fails, with
// kind Invalid, for an answer of another kind than the question expects.
func (q *Question) Accepts(a Answer) (Answer, error) {
	v, err := value.FromGo(a.Value)
	if err != nil {
		return a, value.Errorf(value.Invalid, "the answer to %q: %w", q.Text, err)
	}
	a.Value = v
	_, isText := v.(string)
	yes, isBool := v.(bool)
	switch {
	case q.Kind == QuestionAsk && !isText:
		return a, value.Errorf(value.Invalid, "the question %q expects a text", q.Text).WithHint("set Answer.Value to a string")
	case q.Kind == QuestionAsk && a.Yes:
		return a, value.Errorf(value.Invalid, "the question %q expects a text, not yes or no", q.Text).WithHint("leave Answer.Yes false")
	case q.Kind != QuestionApproval && (a.Always || a.Args != nil):
		return a, value.Errorf(value.Invalid, "only an approval takes other arguments, or holds always")
	case q.Kind == QuestionAsk:
		return a, nil
	case isBool && q.Kind != QuestionApproval && (yes || !a.Yes):
		a.Yes, a.Value = yes, nil
	case v != nil:
		return a, value.Errorf(value.Invalid, "the question %q expects yes or no", q.Text).WithHint("set Answer.Yes, and leave Answer.Value nil")
	}
	if a.Args != nil && (q.Func != "" || len(q.Changes) > 0) {
		return a, value.Errorf(value.Invalid, "other arguments are only for a call that has not run, and the question is about %s", q.about()).WithHint("leave Answer.Args nil")
	}
	return a, nil
}

// about names what an approval that is not about a call is about.
func (q *Question) about() string {
	if q.Func != "" {
		return q.Func
	}
	return "the files that it has changed"
}

// The names in the dict and in the JSON of a question.
const (
	questionID           = "id"
	questionRun          = "run"
	questionStep         = "step"
	questionKind         = "kind"
	questionTool         = "tool"
	questionFunc         = "func"
	questionText         = "text"
	questionWhy          = "why"
	questionReasoning    = "reasoning"
	questionArgs         = "args"
	questionCapabilities = "capabilities"
	questionChanges      = "changes"
	questionAsked        = "asked"
	questionExpires      = "expires"
)

// Dict returns the question as a dict, in which it is recorded. Its texts are
// valid UTF-8.
func (q *Question) Dict() *value.Dict {
	capabilities := make(value.List, len(q.Capabilities))
	for i, c := range q.Capabilities {
		capabilities[i] = validText(c.String())
	}
	changes := make(value.List, len(q.Changes))
	for i := range q.Changes {
		changes[i] = q.Changes[i].dict()
	}
	d := value.NewDict(questionID, validText(q.ID), questionRun, validText(q.Run), questionStep, validText(q.Step), questionKind, validText(string(q.Kind)),
		questionTool, validText(q.Tool), questionFunc, validText(q.Func), questionText, validText(q.Text), questionWhy, validText(q.Why),
		questionReasoning, validText(q.Reasoning), questionArgs, nil, questionCapabilities, capabilities, questionChanges, changes,
		questionAsked, timeText(q.Asked), questionExpires, timeText(q.Expires))
	if q.Args != nil {
		d.Put(questionArgs, q.Args)
	}
	return d
}

// QuestionOf reads what [Question.Dict] returned, also after JSON. It fails, with
// kind Invalid, for a part of another type; a part that is missing is zero.
func QuestionOf(d *value.Dict) (Question, error) {
	r := dictReader{dict: d}
	q := Question{
		ID: r.text(questionID), Run: r.text(questionRun), Step: r.text(questionStep), Kind: QuestionKind(r.text(questionKind)),
		Tool: r.text(questionTool), Func: r.text(questionFunc), Text: r.text(questionText), Why: r.text(questionWhy),
		Reasoning: r.text(questionReasoning), Args: r.sub(questionArgs), Asked: r.time(questionAsked), Expires: r.time(questionExpires),
	}
	for _, v := range r.list(questionCapabilities) {
		text, ok := v.(string)
		r.check(ok, questionCapabilities)
		name, target, _ := strings.Cut(text, ":")
		q.Capabilities = append(q.Capabilities, Capability{Name: name, Target: target})
	}
	for _, v := range r.list(questionChanges) {
		d, ok := v.(*value.Dict)
		r.check(ok, questionChanges)
		q.Changes = append(q.Changes, readChange(&r, d))
	}
	return q, r.err
}

// MarshalJSON gives the object of a question: id, run, step, kind, tool, func,
// text, why, reasoning, args, capabilities, changes, asked and expires. Times
// are RFC 3339, null for zero; contents of files are base64. What JSON has no
// form for, as NaN among the arguments, is written as a text.
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

// MarshalJSON gives the object of an answer: yes, always, value, args, why and by.
func (a Answer) MarshalJSON() ([]byte, error) {
	v, err := value.FromGo(a.Value)
	if err != nil {
		return nil, err
	}
	d := value.NewDict("yes", a.Yes, "always", a.Always, "value", v, "args", nil, "why", a.Why, "by", a.By)
	if a.Args != nil {
		d.Put("args", a.Args)
	}
	return value.AppendJSON(nil, d)
}

// UnmarshalJSON reads what MarshalJSON wrote; a part that is missing is zero. It
// fails with kind Invalid.
func (a *Answer) UnmarshalJSON(data []byte) error {
	d, err := parseObject(data, "an answer")
	if err != nil || d == nil {
		return err
	}
	r := dictReader{dict: d}
	read := Answer{Yes: r.bool("yes"), Always: r.bool("always"), Args: r.sub("args"), Why: r.text("why"), By: r.text("by")}
	read.Value, _ = d.Get("value")
	if r.err == nil {
		*a = read
	}
	return r.err
}

// parseObject reads a JSON object, or nil for null.
func parseObject(data []byte, what string) (*value.Dict, error) {
	v, err := value.ParseJSON(data)
	if err != nil || v == nil {
		return nil, err
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "%s should be an object but is %s", what, value.TypeOf(v))
	}
	return d, nil
}

func (c *Change) dict() *value.Dict {
	return value.NewDict("path", validText(c.Path), "before", c.Before.dict(), "after", c.After.dict(), "diff", validText(c.Diff))
}

func (s *FileState) dict() *value.Dict {
	d := value.NewDict("exists", s.Exists, "dir", s.Dir, "mode", int64(s.Mode), "hash", validText(s.Hash), "data", nil)
	if s.Data != nil {
		d.Put("data", s.Data)
	}
	return d
}

func readChange(r *dictReader, d *value.Dict) Change {
	c := dictReader{dict: d, err: r.err}
	change := Change{Path: c.text("path"), Diff: c.text("diff")}
	for name, s := range map[string]*FileState{"before": &change.Before, "after": &change.After} {
		f := dictReader{dict: c.sub(name), err: c.err}
		*s = FileState{Exists: f.bool("exists"), Dir: f.bool("dir"), Mode: uint32(f.int("mode")), Hash: f.text("hash"), Data: f.bytes("data")}
		c.err = f.err
	}
	r.err = c.err
	return change
}

// A dictReader reads the parts of a dict. The first error stays.
type dictReader struct {
	dict *value.Dict
	err  error
}

// get returns a part, or the zero value where it is missing or null.
func get[T value.Value](r *dictReader, name string) (part T) {
	if v, _ := r.dict.Get(name); v != nil {
		var ok bool
		part, ok = v.(T)
		r.check(ok, name)
	}
	return part
}

func (r *dictReader) check(ok bool, name string) {
	if !ok && r.err == nil {
		r.err = value.Errorf(value.Invalid, "the field %s has the wrong type", name)
	}
}

func (r *dictReader) text(name string) string     { return get[string](r, name) }
func (r *dictReader) bool(name string) bool       { return get[bool](r, name) }
func (r *dictReader) int(name string) int64       { return get[int64](r, name) }
func (r *dictReader) sub(name string) *value.Dict { return get[*value.Dict](r, name) }
func (r *dictReader) list(name string) value.List { return get[value.List](r, name) }

func (r *dictReader) time(name string) time.Time {
	text := r.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	r.check(err == nil, name)
	return t.UTC()
}

// bytes reads bytes, which JSON has as base64.
func (r *dictReader) bytes(name string) []byte {
	v, _ := r.dict.Get(name)
	text, ok := v.(string)
	if !ok {
		return get[[]byte](r, name)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	r.check(err == nil, name)
	return data
}

// timeText is a time as JSON has it; nil for the zero time.
func timeText(t time.Time) value.Value {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
