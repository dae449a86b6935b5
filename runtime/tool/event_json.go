package tool

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool/internal/form"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Fields returns the names and values of the event's Data, as its JSON has them.
// It is nil if Data is not of a type of events.
func (e *Event) Fields() *value.Dict {
	d := &value.Dict{}
	if !e.putFields(d) {
		return nil
	}
	return d
}

// putFields puts the fields of Data into a dict, and reports whether Data is of a type of
// events.
func (e *Event) putFields(d *value.Dict) bool {
	if _, other := e.Data.(OtherEvent); !other && e.Type() == "" {
		return false
	}
	data := e.Data
	switch x := e.Data.(type) { // what comes before the fields
	case OtherEvent:
		for k, v := range x.Fields.All() {
			if name, ok := k.(string); ok && !d.Has(name) {
				d.Put(name, v)
			}
		}
	case ToolCallStart:
		if x.Args == nil {
			x.Args = &value.Dict{}
			data = x
		}
		d.Put("arguments", x.Args)
		d.Put("toolName", e.Tool)
	case ErrorEvent:
		d.Put("error", x.Error)
		d.Put("error_type", x.ErrorType)
		d.Put("toolName", e.Tool)
	case RunStart, RunEnd:
		d.Put("run", e.Call)
	}
	form.Put(d, data)
	switch x := e.Data.(type) { // and after them
	case ToolCallEnd:
		if f := x.Err; f != nil {
			form.Put(d, failure{f.Message(), f.Kind.Type(), f.Kind.String(), f.Hint, f.Limit})
		}
	case Progress:
		if x.Total == 0 {
			d.Put("total", nil)
			if x.Done == 0 {
				d.Put("done", nil)
			}
		}
	}
	return true
}

// A failure is an error in the fields that a result has for it, and its kind.
type failure struct {
	Error      string          `dict:"error"`
	ErrorType  string          `dict:"error_type"`
	Kind       string          `dict:"error_kind"`
	Suggestion string          `dict:"suggestion"`
	Limit      value.LimitName `dict:"limit,omitempty"`
}

// SetFields sets Data to what [Event.Fields] returned for an event of a type. It
// fails with kind Invalid if a field has a wrong type; a missing one is zero.
func (e *Event) SetFields(name string, fields *value.Dict) error {
	i := slices.IndexFunc(eventTypes, func(t eventType) bool { return t.name == name })
	if i < 0 {
		e.Data = OtherEvent{name, fields}
		return nil
	}
	data := reflect.New(reflect.TypeOf(eventTypes[i].zero))
	err := form.Read(data.Interface(), fields)
	if end, ok := data.Interface().(*ToolCallEnd); ok && err == nil && fields.Has("error_kind") {
		f := failure{}
		err = form.Read(&f, fields)
		kind, _ := value.KindNamed(f.Kind)
		end.Err = &value.Error{Kind: kind, Err: errors.New(f.Error), Hint: f.Suggestion, Limit: f.Limit}
	}
	if err != nil {
		return value.Errorf(value.Invalid, "read an event: %s: %w", name, err)
	}
	e.Data = data.Elem().Interface()
	return nil
}

// The names that an event has beside those of its Data.
var eventNames = []string{"type", "time", "call", "tool", "run", "session", "seq"}

// MarshalJSON returns an object with type, time, call, tool, run, session and seq,
// and the fields of Data. tool, session and seq are omitted if they are zero. It fails
// if Data is not of a type of events.
func (e Event) MarshalJSON() ([]byte, error) {
	d := value.NewDict("type", e.Type(), "time", e.Time.UTC().Format(time.RFC3339Nano), "call", e.Call)
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
	if !e.putFields(d) {
		return nil, value.Errorf(value.Invalid, "encode event: unknown event type %T", e.Data)
	}
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
	if d.Has("run") && name != "run_start" && name != "run_end" { // these have a field of that name
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
