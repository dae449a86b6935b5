package decision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/fields"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A shape is the calls in a JSON value. The value may contain only the keys of calls and of the
// wrappers of APIs. Data that contain something like a call are not a call.
type shape struct {
	call  bool // the value is meant as one or more calls
	ours  bool // in PureJSON
	calls []Decision
	err   string // what is wrong, or ""
}

func wrong(ours bool, format string, args ...any) shape {
	return shape{call: true, ours: ours, err: fmt.Sprintf(format, args...)}
}

// shape returns the calls in a value.
func (s *reader) shape(v value.Value) shape { return s.shapeWithin(v, maxWraps) }

// maxWraps is the limit of nested wrappers around a call.
const maxWraps = 6

func (s *reader) shapeWithin(v value.Value, wraps int) shape {
	if wraps == 0 {
		return shape{}
	}
	switch v := v.(type) {
	case value.List:
		return s.listShape(v, wraps)
	case *value.Dict:
		if decision, ok := v.Get("tool_decision"); ok {
			d, isDict := decision.(*value.Dict)
			if !isDict {
				return wrong(true, "tool_decision: expected an object with action and input but got %s", value.TypeOf(decision))
			}
			return s.ourCall(d)
		}
		return s.dictShape(v, wraps)
	}
	return shape{}
}

// listShape returns the calls in a list that has nothing else.
func (s *reader) listShape(list value.List, wraps int) shape {
	all := shape{call: len(list) > 0 && len(list) <= maxCalls}
	for i, v := range list {
		_, nested := v.(value.List)
		one := s.shapeWithin(v, wraps-1)
		if nested || !one.call || i > 0 && one.ours != all.ours {
			return shape{}
		}
		all.join(one)
	}
	return all
}

// join adds the calls of another shape.
func (sh *shape) join(one shape) {
	sh.ours = one.ours
	sh.calls = append(sh.calls, one.calls...)
	if sh.err == "" {
		sh.err = one.err
	}
}

// ourCall returns the call in the object under tool_decision.
func (s *reader) ourCall(d *value.Dict) shape {
	action, has := d.Get("action")
	if !has {
		action, has = d.Get("tool")
	}
	name, ok := action.(string)
	switch {
	case isStandIn(name):
		return shape{} // the form itself
	case has && action == nil, ok && s.tools.FindFold(name) == nil && (fields.IsNobody(name) || isEnd(name)), plainName(name) == "" && endsEmpty(d):
		return s.ending(name, d)
	case !ok || plainName(name) == "":
		return wrong(true, "the decision has no action: expected the name of a tool")
	}
	one := Decision{Kind: ToolCall, Format: PureJSON}
	one.Action = s.actionName(name, &one)
	input, has := d.Get("input")
	for _, other := range s.words.Of(phrases.ArgsKey) {
		if !has {
			if input, has = d.Get(other); has {
				one.Repaired = append(one.Repaired, fixedWrapper)
			}
		}
	}
	args, nested, ok := loose.DictOf(input)
	if !ok {
		return wrong(true, "the input of the decision: expected a JSON object but got %s", value.TypeOf(input))
	}
	if nested {
		one.Repaired = append(one.Repaired, loose.FixedNesting)
	}
	one.Input, one.Reasoning, one.Status = args, d.Text("reasoning"), statusOf(d.Text("status"))
	return shape{call: true, ours: true, calls: []Decision{one}}
}

// dictShape returns the calls in any other object.
func (s *reader) dictShape(d *value.Dict, wraps int) shape {
	if kind, ok := d.Get("type"); ok && !slices.ContainsFunc(s.words.Of(phrases.CallType), func(t string) bool { return kind == value.Value(t) }) {
		return s.keyedShape(d)
	}
	if action, ok := s.endsAlone(d); ok {
		sh := s.ending(action, d)
		sh.ours = false
		return sh
	}
	for _, key := range s.words.Of(phrases.WrapKey) {
		inner, ok := d.Get(key)
		if !ok || !s.onlyKeys(d, key) || d.Has("role") && d.Text("role") != "assistant" {
			continue
		}
		if text, isText := inner.(string); isText {
			inner, _ = loose.Whole(text)
		}
		if sh := s.shapeWithin(inner, wraps-1); sh.call && !sh.ours {
			return sh
		}
	}
	for _, key := range s.words.Of(phrases.NameKey) {
		if name, ok := d.Get(key); ok {
			text, _ := name.(string)
			return s.namedShape(d, key, text)
		}
	}
	return s.keyedShape(d)
}

// namedShape returns the call in an object with the name of a tool. The arguments are under
// another key, or the other keys.
func (s *reader) namedShape(d *value.Dict, key, name string) shape {
	t := s.tools.Find(name)
	if t == nil {
		return shape{}
	}
	one := s.foreign(t, name)
	one.Reasoning = d.Text("reasoning") + d.Text("thought")
	one.Status = statusOf(d.Text("status"))
	flat := without(d, key)
	for _, argsKey := range s.words.Of(phrases.ArgsKey) {
		v, ok := d.Get(argsKey)
		if !ok || !s.onlyKeys(d, key, argsKey) && fits(t, flat) { // the tool has a parameter of this name
			continue
		}
		if !s.onlyKeys(d, key, argsKey) {
			return shape{}
		}
		args, nested, ok := loose.DictOf(v)
		if text, isText := v.(string); isText && !ok && strings.HasSuffix(argsKey, "_input") {
			args, ok = onlyArg(t, text)
		}
		if !ok {
			return wrong(false, "the %s of %s: expected a JSON object but got %s", argsKey, t.Name, value.TypeOf(v))
		}
		if nested {
			one.Repaired = append(one.Repaired, loose.FixedNesting)
		}
		return s.withArguments(t, args, one)
	}
	// The other keys must be exactly the tool's arguments. A name without arguments is a call
	// only under a key that implies it.
	if !fits(t, flat) || flat.Len() == 0 && (key == "name" || key == "function") {
		return shape{}
	}
	return s.withArguments(t, flat, one)
}

// keyedShape returns the calls in {"TOOL": {its arguments}}. The arguments must fit, since
// configurations look the same.
func (s *reader) keyedShape(d *value.Dict) shape {
	all := shape{call: d.Len() > 0 && d.Len() <= maxCalls}
	for k, v := range d.All() {
		t := s.tools.Find(k.(string))
		args, ok := v.(*value.Dict)
		if t == nil || !ok || !fits(t, args) || args.Len() == 0 && d.Len() > 1 {
			return shape{}
		}
		one := s.withArguments(t, args, s.foreign(t, k.(string)))
		if !one.call || one.err != "" {
			return shape{}
		}
		all.join(one)
	}
	return all
}

// foreign returns a call in the format Other, without arguments.
func (s *reader) foreign(t *tool.Tool, as string) Decision {
	d := Decision{Kind: ToolCall, Action: t.Name, Format: Other, Status: Continue, Repaired: []string{fixedWrapper}}
	if as != t.Name {
		d.Repaired = append(d.Repaired, fixedName)
	}
	return d
}

// withArguments adds the arguments to a call, or returns an error if a required one is missing. The
// schema of a definition, and placeholders such as <path>, show that no call is meant.
func (s *reader) withArguments(t *tool.Tool, args *value.Dict, d Decision) shape {
	properties, _ := args.Get("properties")
	_, isSchema := properties.(*value.Dict)
	if _, own := t.Param("properties"); isSchema && !own {
		return shape{}
	}
	required := required(t)
	for _, p := range required {
		if v, _ := args.Get(p.Name); s.off != "stand-ins" && isStandInFor(p.Name, v) {
			return shape{}
		}
	}
	if name := missing(t, args); name != "" {
		return wrong(false, "the call of %s has no argument %s: it is required", t.Name, name)
	}
	for i, p := range required { // the first one is a name or a path; later ones may be empty
		v, has := args.Get(p.Name)
		text, isText := v.(string)
		if has && v == nil && !p.Type.Nullable && p.Type.Name != tool.TypeAny || i == 0 && isText && strings.TrimSpace(text) == "" {
			return wrong(false, "the argument %s of the call of %s is empty: it is required", p.Name, t.Name)
		}
	}
	d.Input = args
	return shape{call: true, calls: []Decision{d}}
}

// actionName returns the name of the tool for an action, or the action itself for an unknown
// tool.
func (s *reader) actionName(name string, d *Decision) string {
	t := s.tools.FindFold(name)
	if t == nil {
		return plainName(name)
	}
	if t.Name != strings.TrimSpace(name) {
		d.Repaired = append(d.Repaired, fixedName)
	}
	return t.Name
}

// onlyKeys reports whether all keys of a dict are in some, or may be beside a call.
func (s *reader) onlyKeys(d *value.Dict, some ...string) bool {
	for k := range d.All() {
		if name, _ := k.(string); !slices.Contains(s.words.Of(phrases.ExtraKey), name) && !slices.Contains(some, name) {
			return false
		}
	}
	return true
}

// without returns a dict without a key.
func without(d *value.Dict, key string) *value.Dict {
	rest := &value.Dict{}
	for k, v := range d.All() {
		if k != value.Value(key) {
			rest.Put(k.(string), v)
		}
	}
	return rest
}

// statusOf reads a status. Anything but final means to continue.
func statusOf(text string) Status {
	if strings.EqualFold(strings.Trim(strings.TrimSpace(text), "`\"'*."), string(LastCall)) {
		return LastCall
	}
	return Continue
}
