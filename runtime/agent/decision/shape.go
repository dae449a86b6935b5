package decision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A shape is what a JSON value is as a call. A value is one only if it holds
// nothing else: the fields that calls have, and around them the wrappers that
// APIs have. Data that hold something like a call are data.
type shape struct {
	call  bool // it is a call, or several, or was to be
	ours  bool // in our format
	calls []Decision
	err   string // why it is none after all
}

var (
	// nameKeys are the names under which a call holds the name of its tool.
	nameKeys = []string{"name", "tool", "tool_name", "toolName", "function", "function_name", "action", "tool_call", "recipient_name"}
	// argsKeys are those for its arguments.
	argsKeys = []string{"arguments", "args", "parameters", "params", "input", "action_input", "tool_input", "tool_args", "tool_parameters", "kwargs"}
	// listKeys hold a list of calls, and innerKeys one.
	listKeys  = []string{"tool_calls", "function_calls", "calls"}
	innerKeys = []string{"function", "function_call", "tool_call", "tool_use", "tool"}
	// extraKeys are what else a call may hold. A description, a version or any
	// other setting is not among them: that is a definition or a configuration.
	extraKeys = []string{"id", "call_id", "tool_call_id", "type", "index", "reasoning", "status", "thought", "thoughts", "rationale", "explanation"}
	// callTypes are what the field type of a call may say.
	callTypes = []string{"function", "function_call", "tool_call", "tool_use", "tool", "call"}
	// wrapperKeys may stand beside a list of calls.
	wrapperKeys = []string{"role", "content", "id", "type", "refusal"}
)

func broken(format string, args ...any) shape {
	return shape{call: true, err: fmt.Sprintf(format, args...)}
}

// shape tells what a value is as a call.
func (s *reader) shape(v value.Value) shape {
	switch v := v.(type) {
	case value.List:
		return s.listShape(v)
	case *value.Dict:
		if decision, key, ok := getFold(v, "tool_decision"); ok {
			return s.ourShape(v, decision, key)
		}
		return s.dictShape(v)
	}
	return shape{}
}

// listShape is of a list that holds calls and nothing else.
func (s *reader) listShape(list value.List) shape {
	if len(list) == 0 || len(list) > maxCalls {
		return shape{}
	}
	all := shape{call: true}
	for i, v := range list {
		if _, nested := v.(value.List); nested {
			return shape{}
		}
		one := s.shape(v)
		if !one.call || i > 0 && one.ours != all.ours {
			return shape{}
		}
		all.ours = one.ours
		all.calls = append(all.calls, one.calls...)
		if all.err == "" {
			all.err = one.err
		}
	}
	return all
}

// ourShape is of an object with the key tool_decision.
func (s *reader) ourShape(outer *value.Dict, decision value.Value, key string) shape {
	switch d := decision.(type) {
	case *value.Dict:
		return s.ourCall(d)
	case value.List:
		all := shape{call: true, ours: true}
		for _, v := range d {
			one := shape{err: "each decision should be an object"}
			if inner, ok := v.(*value.Dict); ok {
				one = s.ourCall(inner)
			}
			all.calls = append(all.calls, one.calls...)
			if all.err == "" {
				all.err = one.err
			}
		}
		all.call = all.err != "" || len(all.calls) > 0
		return all
	case string: // the name itself, and the rest beside it
		flat := value.NewDict("action", d)
		for k, v := range outer.All() {
			if name, ok := k.(string); ok && name != key && name != "action" {
				flat.Put(name, v)
			}
		}
		return s.ourCall(flat)
	}
	one := broken("tool_decision should be an object with action and input, but is %s", value.TypeOf(decision))
	one.ours = true
	return one
}

// ourCall is of the object under tool_decision.
func (s *reader) ourCall(d *value.Dict) shape {
	action, _, has := getFold(d, "action")
	if !has {
		action, _, has = getFold(d, "tool")
	}
	name, ok := action.(string)
	switch {
	case !ok && has && action == nil, isNobody(name) && s.lookupFold(name) == nil && ok:
		return shape{} // it says that there is nothing to call
	case !ok || plainName(name) == "":
		one := broken("the decision has no action: it should be the name of a tool")
		one.ours = true
		return one
	case isStandIn(name):
		return shape{}
	}
	one := Decision{Kind: ToolCall, Format: PureJSON, Status: Continue}
	one.Action = s.actionName(name, &one)
	input, _, has := getFold(d, "input")
	for _, other := range argsKeys {
		if !has {
			if input, has = d.Get(other); has {
				one.Repaired = append(one.Repaired, mendedWrapper)
			}
		}
	}
	args, nested, ok := dictOf(input)
	if !ok {
		bad := broken("the input of the decision should be a JSON object, but is %s", value.TypeOf(input))
		bad.ours = true
		return bad
	}
	if nested {
		one.Repaired = append(one.Repaired, mendedNesting)
	}
	one.Input = args
	reasoning, _, _ := getFold(d, "reasoning")
	one.Reasoning, _ = reasoning.(string)
	status, _, _ := getFold(d, "status")
	text, _ := status.(string)
	one.Status = statusOf(text)
	return shape{call: true, ours: true, calls: []Decision{one}}
}

// dictShape is of any other object.
func (s *reader) dictShape(d *value.Dict) shape {
	for _, key := range listKeys {
		if v, ok := d.Get(key); ok {
			list, isList := v.(value.List)
			if !isList || !onlyKeys(d, wrapperKeys, key) {
				return shape{}
			}
			return s.wrapped(s.listShape(list))
		}
	}
	for _, key := range innerKeys {
		if v, ok := d.Get(key); ok {
			inner, isDict := v.(*value.Dict)
			if !isDict {
				continue
			}
			if !onlyKeys(d, extraKeys, key) || !isCallType(d) {
				return shape{}
			}
			return s.wrapped(s.dictShape(inner))
		}
	}
	for _, key := range nameKeys {
		if name, ok := d.Get(key); ok {
			text, isText := name.(string)
			if !isText {
				return shape{}
			}
			return s.namedShape(d, key, text)
		}
	}
	if text, ok := messageText(d); ok {
		if v, err := readWhole(text); err == nil {
			if _, isDict := v.(*value.Dict); isDict && v.(*value.Dict).Len() > 1 {
				return s.wrapped(s.shape(v))
			}
		}
		return shape{}
	}
	return s.keyedShape(d)
}

// messageText returns the text of a message that a model wrote as an API would
// hold its reply.
func messageText(d *value.Dict) (string, bool) {
	text := d.Text("content")
	role, has := d.Get("role")
	return text, strings.HasPrefix(strings.TrimSpace(text), "{") && onlyKeys(d, []string{"role", "content"}) && (!has || role == value.Value("assistant"))
}

func (s *reader) wrapped(sh shape) shape {
	if !sh.ours {
		return sh
	}
	return shape{}
}

// namedShape is of an object that holds a tool's name and, beside or under
// another key, its arguments.
func (s *reader) namedShape(d *value.Dict, key, name string) shape {
	t := s.lookup(name)
	if t == nil || !isCallType(d) {
		return shape{}
	}
	one := s.foreign(t, name)
	one.Reasoning = firstText(d, "reasoning", "thought", "thoughts", "rationale", "explanation")
	one.Status = statusOf(d.Text("status"))
	for _, argsKey := range argsKeys {
		v, ok := d.Get(argsKey)
		if !ok {
			continue
		}
		if !onlyKeys(d, extraKeys, key, argsKey) {
			if s.flatArgs(t, d, key) { // a parameter with such a name
				break
			}
			return shape{}
		}
		args, nested, ok := dictOf(v)
		if text, isText := v.(string); isText && !ok && strings.HasSuffix(argsKey, "_input") {
			args, ok = onlyArg(t, text)
		}
		if !ok {
			return broken("the %s of %s should be a JSON object, but is %s", argsKey, t.Name, value.TypeOf(v))
		}
		if nested {
			one.Repaired = append(one.Repaired, mendedNesting)
		}
		return s.called(t, args, one)
	}
	if !s.flatArgs(t, d, key) {
		return shape{}
	}
	flat := &value.Dict{}
	for k, v := range d.All() {
		if k != value.Value(key) {
			flat.Put(k.(string), v)
		}
	}
	return s.called(t, flat, one)
}

// onlyArg takes a text for the argument of a tool that requires one text and
// nothing else.
func onlyArg(t *tool.Tool, text string) (*value.Dict, bool) {
	args := &value.Dict{}
	for _, p := range t.Params {
		if p.Required && !p.FromHost {
			if p.Type.Name != tool.TypeString || args.Len() > 0 || strings.HasPrefix(text, "{") {
				return nil, false
			}
			args.Put(p.Name, text)
		}
	}
	return args, args.Len() == 1
}

// flatArgs reports whether what stands beside the name are exactly a tool's
// arguments. A lone name is a call only under a key that says so: {"name": x}
// can be anything.
func (s *reader) flatArgs(t *tool.Tool, d *value.Dict, key string) bool {
	if d.Len() == 1 {
		return key != "name" && key != "function" && missingArg(t, d) == ""
	}
	args := &value.Dict{}
	for k, v := range d.All() {
		if k != value.Value(key) {
			args.Put(k.(string), v)
		}
	}
	return fitsArgs(t, args)
}

// keyedShape is of {"TOOL": {its arguments}}. Only arguments that fit make that
// a call: configurations look the same.
func (s *reader) keyedShape(d *value.Dict) shape {
	if d.Len() == 0 || d.Len() > maxCalls {
		return shape{}
	}
	all := shape{call: true}
	for k, v := range d.All() {
		t := s.lookup(k.(string))
		args, ok := v.(*value.Dict)
		if t == nil || !ok || !fitsArgs(t, args) || args.Len() == 0 && d.Len() > 1 {
			return shape{}
		}
		one := s.called(t, args, s.foreign(t, k.(string)))
		if !one.call || one.err != "" {
			return shape{}
		}
		all.calls = append(all.calls, one.calls...)
	}
	return all
}

// foreign starts a call in a form that is not ours.
func (s *reader) foreign(t *tool.Tool, as string) Decision {
	d := Decision{Kind: ToolCall, Action: t.Name, Format: Other, Status: Continue, Repaired: []string{mendedWrapper}}
	if as != t.Name {
		d.Repaired = append(d.Repaired, mendedName)
	}
	return d
}

// called completes a call, or says what it lacks. The schema of a definition and
// stand-ins such as <path> show that nothing was to be called.
func (s *reader) called(t *tool.Tool, args *value.Dict, d Decision) shape {
	if isSchema(t, args) || hasStandIn(t, args) {
		return shape{}
	}
	if name := missingArg(t, args); name != "" {
		return broken("the call of %s has no %s, which is required", t.Name, name)
	}
	if name := emptyArg(t, args); name != "" {
		return broken("the %s of the call of %s is empty, and is required", name, t.Name)
	}
	d.Input = args
	return shape{call: true, calls: []Decision{d}}
}

// lookup returns the offered tool of a name, or nil. "-" and "_" are the same in
// names, and what some models add before or behind them does not count.
func (s *reader) lookup(name string) *tool.Tool {
	if t := s.tools[tool.Key(name)]; t != nil {
		return t
	}
	name = strings.TrimSuffix(name, ".call")
	for _, prefix := range []string{"", "functions.", "tools.", "tool.", "default_api."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if t := s.tools[tool.Key(rest)]; t != nil {
				return t
			}
		}
	}
	return nil
}

// lookupFold does not mind the case either, nor quotes and brackets around the
// name: in our own formats it is sure that a name stands there.
func (s *reader) lookupFold(name string) *tool.Tool {
	name = plainName(name)
	if t := s.lookup(name); t != nil {
		return t
	}
	for i := range s.o.Tools {
		if strings.EqualFold(tool.Key(s.o.Tools[i].Name), tool.Key(name)) {
			return &s.o.Tools[i]
		}
	}
	return nil
}

// plainName takes off what some put around a tool's name.
func plainName(name string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.Trim(name, "`\"'* \t\r\n"), "()"))
}

// actionName returns the name of the tool that an action means, or the action as
// it is written where none was offered under it.
func (s *reader) actionName(name string, d *Decision) string {
	t := s.lookupFold(name)
	if t == nil {
		return plainName(name)
	}
	if t.Name != strings.TrimSpace(name) {
		d.Repaired = append(d.Repaired, mendedName)
	}
	return t.Name
}

// dictOf returns arguments as a dict: null and nothing are none, and a text of
// JSON is read, also one in another. Nested says that there was such a text.
func dictOf(v value.Value) (args *value.Dict, nested, ok bool) {
	for range 3 {
		switch x := v.(type) {
		case nil:
			return &value.Dict{}, nested, true
		case *value.Dict:
			return x, nested, true
		case value.List:
			return &value.Dict{}, nested, len(x) == 0
		case string:
			if strings.TrimSpace(x) == "" {
				return nil, true, false
			}
			inner, err := readWhole(x)
			if err != nil {
				return nil, true, false
			}
			v, nested = inner, true
		default:
			return nil, nested, false
		}
	}
	return nil, nested, false
}

// readWhole reads a text that is one JSON value and nothing else.
func readWhole(text string) (value.Value, *fault) {
	p := newLoose(text, 0, &finder{text: text})
	p.space()
	v, err := p.value(value.MaxDepth)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) || p.cut {
		return nil, p.fail("the end")
	}
	return v, nil
}

// missingArg returns the first required parameter without an argument, or "".
func missingArg(t *tool.Tool, args *value.Dict) string {
	for _, p := range t.Params {
		if p.Required && !p.FromHost && !p.HasDefault && !hasArg(p, args) {
			return p.Name
		}
	}
	return ""
}

func hasArg(p tool.Param, args *value.Dict) bool {
	return args.Has(p.Name) || slices.ContainsFunc(p.Aliases, args.Has)
}

// fitsArgs reports whether arguments are a tool's own, all of the required and no
// others, and at least one.
func fitsArgs(t *tool.Tool, args *value.Dict) bool {
	if missingArg(t, args) != "" {
		return false
	}
	for k := range args.All() {
		name, _ := k.(string)
		if _, ok := t.Param(name); !ok {
			return false
		}
	}
	return args.Len() > 0 || !slices.ContainsFunc(t.Params, func(p tool.Param) bool { return p.Required })
}

// emptyArg returns the first required argument that is null, or a text that is empty
// where that cannot be meant: content may be empty, a name or a path may not.
func emptyArg(t *tool.Tool, args *value.Dict) string {
	for _, p := range t.Params {
		v, has := args.Get(p.Name)
		text, isText := v.(string)
		if p.Required && has && v == nil && !p.Type.Nullable && p.Type.Name != tool.TypeAny {
			return p.Name
		}
		if p.Required && isText && strings.TrimSpace(text) == "" && !isContent(p.Name) {
			return p.Name
		}
	}
	return ""
}

func isContent(name string) bool {
	for _, part := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' }) {
		switch part {
		case "content", "contents", "text", "data", "new", "replacement", "replace", "value", "prefix", "suffix", "separator", "default":
			return true
		}
	}
	return false
}

// hasStandIn reports whether a required argument is what a manual writes for
// one, as in <path>.
func hasStandIn(t *tool.Tool, args *value.Dict) bool {
	for _, p := range t.Params {
		v, _ := args.Get(p.Name)
		text, ok := v.(string)
		if ok && p.Required && (isStandIn(text) || text == strings.ToUpper(text) && strings.Contains(text, strings.ToUpper(p.Name)+"_")) {
			return true // also PATH_TO_FILE for a path
		}
	}
	return false
}

// isStandIn reports whether a text stands for another: "...", <path>, {path},
// {{path}}, or your_path_here.
func isStandIn(text string) bool {
	text = strings.TrimSpace(text)
	if text == "..." || text == "…" || text == "" {
		return text != ""
	}
	low := strings.ToLower(text)
	if strings.HasPrefix(low, "your") && strings.HasSuffix(low, "here") {
		return len(text) <= tool.MaxName
	}
	if strings.HasPrefix(low, "/path/to") || strings.HasPrefix(low, "path/to/") {
		return true
	}
	inner := strings.Trim(text, "<>{}")
	ends := text[:1] + text[len(text)-1:]
	return (ends == "<>" || ends == "{}") && inner != "" && strings.Trim(low, "<>{}abcdefghijklmnopqrstuvwxyz0123456789_- ") == ""
}

// isSchema reports whether arguments are a JSON Schema: the definition of a tool
// and not a call of it.
func isSchema(t *tool.Tool, args *value.Dict) bool {
	v, _ := args.Get("properties")
	_, isDict := v.(*value.Dict)
	_, own := t.Param("properties")
	return isDict && !own && (args.Has("type") || args.Has("required"))
}

// isNobody reports whether an action says that there is none.
func isNobody(name string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(name), "`\"'*.()")) {
	case "none", "null", "nothing", "no_tool", "n/a":
		return true
	}
	return false
}

func isCallType(d *value.Dict) bool {
	v, ok := d.Get("type")
	text, _ := v.(string)
	return !ok || slices.Contains(callTypes, text)
}

// onlyKeys reports whether a dict has no keys but some.
func onlyKeys(d *value.Dict, some []string, more ...string) bool {
	for k := range d.All() {
		name, _ := k.(string)
		if !slices.Contains(some, name) && !slices.Contains(more, name) {
			return false
		}
	}
	return true
}

// getFold returns the value of a key in any case.
func getFold(d *value.Dict, key string) (value.Value, string, bool) {
	if v, ok := d.Get(key); ok {
		return v, key, true
	}
	for k, v := range d.All() {
		if name, ok := k.(string); ok && strings.EqualFold(name, key) {
			return v, name, true
		}
	}
	return nil, "", false
}

func firstText(d *value.Dict, names ...string) string {
	for _, name := range names {
		if text := d.Text(name); text != "" {
			return text
		}
	}
	return ""
}

// statusOf reads a status: what is not final means to go on.
func statusOf(text string) Status {
	if strings.EqualFold(strings.Trim(strings.TrimSpace(text), "`\"'*."), string(LastCall)) {
		return LastCall
	}
	return Continue
}
