package tool

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Fields returns the names and values of the event's Data, as its JSON has them.
// It is nil where Data is of no type of events.
func (e *Event) Fields() *value.Dict {
	p := payloadOf(e.Data)
	if p == nil {
		return nil
	}
	w := &wire{event: e, fields: &value.Dict{}}
	p.wire(w)
	return w.fields
}

// SetFields sets Data to what [Event.Fields] returned for an event of a type. It
// fails, with kind Invalid, where a field has a wrong type; a missing one is zero.
func (e *Event) SetFields(name string, fields *value.Dict) error {
	p := newPayload(name)
	w := &wire{event: e, fields: fields, reads: true}
	p.wire(w)
	if w.wrong != "" {
		return value.Errorf(value.Invalid, "read an event: the field %q of %s has a wrong type", w.wrong, value.Clean(name, 40))
	}
	e.Data = reflect.ValueOf(p).Elem().Interface()
	return nil
}

// The names that an event has beside those of its Data.
var eventNames = []string{"type", "time", "call", "tool", "run", "session", "seq"}

// MarshalJSON gives an object with type, time, call, tool, run, session and seq,
// and beside them the fields of Data. Of these, tool, session and seq are left
// out where they are zero. It fails where Data is of no type of events.
func (e Event) MarshalJSON() ([]byte, error) {
	p := payloadOf(e.Data)
	if p == nil {
		return nil, value.Errorf(value.Invalid, "write an event: %T is not a type of events", e.Data)
	}
	d := value.NewDict("type", p.eventType(), "time", e.Time.UTC().Format(time.RFC3339Nano), "call", e.Call)
	if e.Tool != "" {
		d.Put("tool", e.Tool)
	}
	d.Put("run", e.Run)
	if e.Session != "" {
		d.Put("session", e.Session)
	}
	if e.Seq != 0 {
		d.Put("seq", int64(e.Seq))
	}
	p.wire(&wire{event: &e, fields: d})
	return value.AppendJSON(nil, d)
}

// UnmarshalJSON reads what [Event.MarshalJSON] wrote. An event of an unknown type
// becomes an [OtherEvent].
func (e *Event) UnmarshalJSON(data []byte) error {
	v, err := value.ParseJSON(data)
	if err != nil {
		return err
	}
	d, ok := v.(*value.Dict)
	if !ok || d.Text("type") == "" {
		return value.Errorf(value.Invalid, "read an event: expected an object with a type")
	}
	at, err := time.Parse(time.RFC3339Nano, d.Text("time"))
	if err != nil && d.Has("time") {
		return value.Errorf(value.Invalid, "read an event: %w", err)
	}
	name := d.Text("type")
	first, _, _ := strings.Cut(d.Text("call"), "/")
	read := Event{Time: at, Call: d.Text("call"), Tool: d.Text("tool"), Run: first, Session: d.Text("session"), Seq: uint64(max(0, d.Int("seq")))}
	if d.Has("run") && name != "run_start" && name != "run_end" { // of which it is a field of their own
		read.Run = d.Text("run")
	}
	fields := &value.Dict{}
	for k, v := range d.All() {
		if name, ok := k.(string); ok && !slices.Contains(eventNames, name) {
			fields.Put(name, v)
		}
	}
	if err := read.SetFields(name, fields); err != nil {
		return err
	}
	*e = read
	return nil
}

// A wire writes the fields of an event to a dict, or reads them: one description
// of each type does for both.
type wire struct {
	event  *Event
	fields *value.Dict
	reads  bool
	wrong  string // the first field that has a wrong type
}

// eventField takes a field that is read.
func eventField[T any](w *wire, name string) (v T) {
	given, ok := w.fields.Get(name)
	if !ok || given == nil {
		return v
	}
	if v, ok = given.(T); !ok && w.wrong == "" {
		w.wrong = name
	}
	return v
}

func (w *wire) text(name string, s *string) {
	if w.reads {
		*s = eventField[string](w, name)
		return
	}
	w.fields.Put(name, *s)
}

// some is text that is left out where it is empty.
func (w *wire) some(name string, s *string) {
	if w.reads || *s != "" {
		w.text(name, s)
	}
}

func (w *wire) bool(name string, b *bool) {
	if w.reads {
		*b = eventField[bool](w, name)
		return
	}
	w.fields.Put(name, *b)
}

// flag is a bool that is left out where it is false.
func (w *wire) flag(name string, b *bool) {
	if w.reads || *b {
		w.bool(name, b)
	}
}

func (w *wire) int(name string, n *int) {
	if w.reads {
		*n = int(eventField[int64](w, name))
		return
	}
	w.fields.Put(name, int64(*n))
}

func (w *wire) value(name string, v *value.Value) {
	if w.reads {
		*v, _ = w.fields.Get(name)
		return
	}
	w.fields.Put(name, *v)
}

func (w *wire) dict(name string, d **value.Dict) {
	if w.reads {
		*d = eventField[*value.Dict](w, name)
		return
	}
	if *d == nil {
		w.fields.Put(name, nil)
		return
	}
	w.fields.Put(name, *d)
}

func (w *wire) list(name string, l *value.List) {
	if w.reads {
		*l = eventField[value.List](w, name)
		return
	}
	w.fields.Put(name, append(value.List{}, *l...))
}

func (w *wire) texts(name string, s *[]string) {
	if !w.reads {
		list := make(value.List, len(*s))
		for i, text := range *s {
			list[i] = text
		}
		w.fields.Put(name, list)
		return
	}
	*s = nil
	for _, v := range eventField[value.List](w, name) {
		text, ok := v.(string)
		if !ok && w.wrong == "" {
			w.wrong = name
		}
		*s = append(*s, text)
	}
}

func (w *wire) capabilities(name string, c *[]Capability) {
	texts := make([]string, len(*c))
	for i := range *c {
		texts[i] = (*c)[i].String()
	}
	w.texts(name, &texts)
	if !w.reads {
		return
	}
	*c = nil
	for _, text := range texts {
		name, target, _ := strings.Cut(text, ":")
		*c = append(*c, Capability{Name: name, Target: target})
	}
}

// number is a number that may be a whole one.
func (w *wire) number(name string, known bool, f *float64) {
	switch {
	case !w.reads && !known:
		w.fields.Put(name, nil)
		return
	case !w.reads && *f == math.Trunc(*f) && math.Abs(*f) < 1<<53:
		w.fields.Put(name, int64(*f))
		return
	case !w.reads:
		w.fields.Put(name, *f)
		return
	}
	switch v := eventField[any](w, name).(type) {
	case nil:
	case int64:
		*f = float64(v)
	case float64:
		*f = v
	default:
		w.wrong = name
	}
}

// duration is a time in milliseconds.
func (w *wire) duration(name string, d *time.Duration) {
	if !w.reads {
		w.fields.Put(name, float64(*d)/float64(time.Millisecond))
		return
	}
	var ms float64
	w.number(name, true, &ms)
	*d = time.Duration(math.Round(ms * float64(time.Millisecond)))
}

func (w *wire) usage(name string, u *Usage) {
	if !w.reads {
		d := &value.Dict{}
		inner := &wire{fields: d}
		d.Put("steps", u.Steps)
		inner.int("effects", &u.Effects)
		inner.duration("wall_ms", &u.Wall)
		w.fields.Put(name, d)
		return
	}
	inner := &wire{fields: eventField[*value.Dict](w, name), reads: true}
	u.Steps = eventField[int64](inner, "steps")
	inner.int("effects", &u.Effects)
	inner.duration("wall_ms", &u.Wall)
	if inner.wrong != "" && w.wrong == "" {
		w.wrong = name
	}
}

// failure is an error in the fields that a result has for it, and its kind.
func (w *wire) failure(e **value.Error) {
	if !w.reads {
		if *e != nil {
			w.fields.Put("error", (*e).Message())
			w.fields.Put("error_type", (*e).Kind.Type())
			w.fields.Put("error_kind", (*e).Kind.String())
			w.fields.Put("suggestion", (*e).Hint)
			limit := string((*e).Limit)
			w.some("limit", &limit)
		}
		return
	}
	if !w.fields.Has("error_kind") {
		return
	}
	named := eventField[string](w, "error_kind")
	kind := value.Internal
	for k := value.Failed; k <= value.LastKind; k++ {
		if k.String() == named {
			kind = k
		}
	}
	*e = &value.Error{Kind: kind, Err: errors.New(eventField[string](w, "error")), Hint: eventField[string](w, "suggestion"), Limit: value.LimitName(eventField[string](w, "limit"))}
}

// written adds a field that repeats a part of the event.
func (w *wire) written(name, text string) {
	if !w.reads {
		w.fields.Put(name, text)
	}
}

func (e *ToolCallStart) wire(w *wire) {
	if !w.reads && e.Args == nil {
		w.fields.Put("arguments", &value.Dict{})
	} else {
		w.dict("arguments", &e.Args)
	}
	w.written("toolName", w.event.Tool)
	w.text("reasoning", &e.Reasoning)
	w.flag("recorded", &e.Recorded)
}

func (e *ToolCallEnd) wire(w *wire) {
	w.bool("success", &e.Success)
	w.value("result", &e.Result)
	w.text("preview", &e.Preview)
	w.flag("waits", &e.Waits)
	w.flag("recorded", &e.Recorded)
	w.duration("duration_ms", &e.Duration)
	w.usage("usage", &e.Usage)
	w.failure(&e.Err)
}

func (e *ArgsRead) wire(w *wire)   { w.texts("notes", &e.Notes) }
func (e *ToolOutput) wire(w *wire) { w.text("chunk", &e.Chunk) }
func (e *Log) wire(w *wire)        { w.text("message", &e.Message) }
func (e *Text) wire(w *wire)       { w.text("text", &e.Text) }

func (e *Progress) wire(w *wire) {
	w.text("message", &e.Message)
	w.number("done", e.Done != 0 || e.Total != 0, &e.Done)
	w.number("total", e.Total != 0, &e.Total)
}

func (e *EffectDone) wire(w *wire) {
	w.text("func", &e.Func)
	w.text("place", &e.Step)
	w.capabilities("capabilities", &e.Capabilities)
	w.bool("success", &e.Success)
	w.duration("wall_ms", &e.Duration)
	w.some("error", &e.Error)
}

func (e *Audit) wire(w *wire) {
	w.text("decision", &e.Decision)
	w.text("func", &e.Func)
	w.capabilities("capabilities", &e.Capabilities)
	w.text("place", &e.Step)
	w.text("caller", &e.Caller)
	w.text("why", &e.Why)
}

func (e *ErrorEvent) wire(w *wire) {
	w.text("error", &e.Error)
	w.text("error_type", &e.ErrorType)
	w.written("toolName", w.event.Tool)
	w.flag("recorded", &e.Recorded)
}

func (e *RunStart) wire(w *wire) {
	w.written("run", w.event.Call)
	w.some("kind", &e.Kind)
	w.text("task", &e.Task)
	if w.reads || e.Policy != "" {
		w.text("model", &e.Model)
		w.text("policy", &e.Policy)
		w.text("format", &e.Format)
		w.texts("tools", &e.Tools)
		w.int("tool_overhead", &e.ToolOverhead)
		w.int("effective_limit", &e.EffectiveLimit)
	}
	w.flag("resumed", &e.Resumed)
}

func (e *RunEnd) wire(w *wire) {
	w.written("run", w.event.Call)
	w.text("reason", &e.Reason)
	w.text("answer", &e.Answer)
	w.bool("success", &e.Success)
	w.int("iterations", &e.Iterations)
	w.duration("duration_ms", &e.Duration)
	w.some("error", &e.Error)
}

func (e *ModelAsk) wire(w *wire) {
	w.int("iteration", &e.Iteration)
	w.int("messages", &e.Messages)
	w.int("tokens", &e.Tokens)
}

func (e *ModelReply) wire(w *wire) {
	w.int("iteration", &e.Iteration)
	w.text("text", &e.Text)
	w.list("calls", &e.Calls)
	w.int("input_tokens", &e.InputTokens)
	w.int("output_tokens", &e.OutputTokens)
}

func (e *Decided) wire(w *wire) {
	w.text("kind", &e.Kind)
	w.text("action", &e.Action)
	w.dict("input", &e.Input)
	w.text("reasoning", &e.Reasoning)
	w.text("status", &e.Status)
	w.text("format", &e.Format)
	w.text("answer", &e.Answer)
	w.text("error", &e.Error)
	w.bool("inferred", &e.Inferred)
	w.texts("repaired", &e.Repaired)
	w.text("id", &e.ID)
	w.bool("texts", &e.Texts)
}

func (e *SkillLoaded) wire(w *wire) {
	w.text("name", &e.Name)
	w.texts("notes", &e.Notes)
}

func (e *Compacted) wire(w *wire) {
	w.bool("success", &e.Success)
	w.text("summary", &e.Summary)
	w.int("tokens_before", &e.TokensBefore)
	w.int("tokens_after", &e.TokensAfter)
	w.int("input_tokens", &e.InputTokens)
	w.int("output_tokens", &e.OutputTokens)
	w.int("cached_tokens", &e.CachedTokens)
	w.some("error", &e.Error)
}

func (e *Lost) wire(w *wire) {
	n := int(min(e.N, math.MaxInt64))
	w.int("n", &n)
	e.N = uint64(max(0, n))
}

func (e *OtherEvent) wire(w *wire) {
	if w.reads {
		e.Fields = w.fields
		return
	}
	for k, v := range e.Fields.All() {
		if name, ok := k.(string); ok && !w.fields.Has(name) {
			w.fields.Put(name, v)
		}
	}
}
