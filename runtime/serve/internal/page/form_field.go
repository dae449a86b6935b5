package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ControlKind is how a value is entered.
type ControlKind string

// The kinds of controls.
const (
	TextControl     ControlKind = "text"
	AreaControl     ControlKind = "area"
	PasswordControl ControlKind = "password"
	NumberControl   ControlKind = "number"
	CheckControl    ControlKind = "check"
	RadioControl    ControlKind = "radio"
	SelectControl   ControlKind = "select"
	DateControl     ControlKind = "date"
	MomentControl   ControlKind = "datetime-local"
	TimeControl     ControlKind = "time"
	FileControl     ControlKind = "file"
	ListControl     ControlKind = "list"
	DictControl     ControlKind = "dict"
	ObjectControl   ControlKind = "object"
	VariantControl  ControlKind = "variant"
	ConstControl    ControlKind = "const"
	JSONControl     ControlKind = "json"
)

// The bounds of a form. A schema beyond them is entered as JSON.
const (
	maxFormDepth = 4   // of fieldsets
	maxFormField = 300 // fields of the schema
	maxRadio     = 5   // options of a control with radio buttons
	maxChoice    = 500 // options of a select
	maxVariant   = 8
	longText     = 80  // characters from which a text gets several lines
	longLimit    = 200 // the maxLength from which it does
)

// A field is a part of a schema, and how its values are entered.
type field struct {
	kind       ControlKind
	name       string // of the property, or ""
	title      string
	help       string
	typ        string // what is entered, in words
	required   bool
	nullable   bool
	def        value.Value // or nil
	hasDefault bool
	schema     *value.Dict
	options    []option
	coded      bool // the options are sent as JSON, because not all of them are texts
	item       *field
	fields     []*field
	variants   []*field // their title is that of the choice
	constant   value.Value
	whole      bool // an integer
	long       bool // a text that may have several lines
	min, max   string
}

// An option is a value that can be chosen.
type option struct {
	sent, title string
	value       value.Value
}

// A schemaReader makes fields of a schema.
type schemaReader struct {
	root *value.Dict
	left int // fields that may still be made
}

// object reads the schema of arguments. It returns nil if they can be entered as JSON only.
func (r *schemaReader) object(schema *value.Dict) *field {
	f := r.field("", schema, 0)
	switch {
	case r.left < 0:
		return nil
	case f.kind == ObjectControl:
		return f
	case f.kind == JSONControl && r.empty(schema):
		return &field{kind: ObjectControl, schema: schema}
	}
	return nil
}

// empty reports whether a schema is that of a tool without parameters.
func (r *schemaReader) empty(s *value.Dict) bool {
	kind := s.Text("type")
	more, _ := s.Get("additionalProperties")
	_, isSchema := more.(*value.Dict)
	return (kind == "" || kind == "object") && s.Dict("properties").OrEmpty().Len() == 0 && !isSchema && !hasAny(s, complexKeywords()...)
}

func hasAny(s *value.Dict, names ...string) bool {
	return slices.ContainsFunc(names, s.Has)
}

// complexKeywords returns the keywords that no control expresses.
func complexKeywords() []string {
	return []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "prefixItems"}
}

// field reads a schema. depth is how many fieldsets it is in.
func (r *schemaReader) field(name string, given value.Value, depth int) *field {
	r.left--
	s, ok := given.(*value.Dict)
	if !ok {
		s = &value.Dict{}
	}
	s, nullable, resolved := r.resolve(s)
	f := &field{
		kind: JSONControl, name: name, schema: s, nullable: nullable, typ: "JSON",
		title: s.Text("title"), help: strings.TrimSpace(s.Text("description")),
	}
	f.def, f.hasDefault = s.Get("default")
	if !resolved || r.left < 0 {
		return f
	}
	if v, ok := s.Get("const"); ok {
		f.kind, f.constant, f.typ = ConstControl, v, "always "+value.Cut(value.Display(v), 60)
		return f
	}
	if r.choices(f, s) || r.variantsOf(f, s, depth) || hasAny(s, complexKeywords()...) {
		return f
	}
	r.typed(f, s, depth)
	return f
}

// resolve follows references, and takes null out of a schema. It reports false for a schema that
// cannot be resolved.
func (r *schemaReader) resolve(s *value.Dict) (resolved *value.Dict, nullable, ok bool) {
	for range 16 {
		switch only, key := single(s); {
		case s.Has("$ref"):
			target, isDict := jsonschema.Referred(r.root, s.Text("$ref")).(*value.Dict)
			if !isDict {
				return s, nullable, false
			}
			s = over(target, s, "$ref")
		case key != "":
			s = over(only, s, key)
		default:
			rest, had := withoutNull(s)
			if !had {
				return s, nullable, true
			}
			s, nullable = rest, true
		}
	}
	return s, nullable, false
}

// single returns the only schema in allOf, anyOf or oneOf, and the keyword, or "".
func single(s *value.Dict) (*value.Dict, string) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if list := s.Elements(key); len(list) == 1 {
			if only, ok := list[0].(*value.Dict); ok {
				return only, key
			}
		}
	}
	return nil, ""
}

// over returns a schema with the keywords of another one that refers to it by key.
func over(target, s *value.Dict, key string) *value.Dict {
	merged := target.Clone(s.Len())
	for k, v := range s.All() {
		if k != value.Value(key) {
			merged.Put(k.(string), v)
		}
	}
	return merged
}

// without returns a copy of a dict without a key.
func without(d *value.Dict, name string) *value.Dict {
	rest := value.MakeDict(d.Len())
	for k, v := range d.All() {
		if k != value.Value(name) {
			_ = rest.Set(k, v) // it was a key before
		}
	}
	return rest
}

// withoutNull takes null out of the types, the enum and the alternatives of a schema, and reports whether
// it was there.
func withoutNull(s *value.Dict) (*value.Dict, bool) {
	isNull := func(v value.Value) bool { return v == nil || v == value.Value("null") }
	found := false
	out := s.Clone(0)
	if names, ok := value.Elements(get(s, "type")); ok && slices.ContainsFunc(names, isNull) && len(names) > 1 {
		rest := slices.DeleteFunc(slices.Clone(names), isNull)
		found = true
		if len(rest) == 1 {
			out.Put("type", rest[0])
		} else {
			out.Put("type", value.List(rest))
		}
		if list := s.Elements("enum"); slices.Contains(list, nil) {
			out.Put("enum", value.List(slices.DeleteFunc(slices.Clone(list), func(v value.Value) bool { return v == nil })))
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list := s.Elements(key)
		rest := slices.DeleteFunc(slices.Clone(list), func(v value.Value) bool {
			d, _ := v.(*value.Dict)
			c, isConst := d.Get("const")
			return d != nil && (d.Text("type") == "null" || isConst && c == nil)
		})
		if len(rest) < len(list) && len(rest) > 0 {
			found = true
			out.Put(key, value.List(rest))
		}
	}
	return out, found
}

func get(d *value.Dict, name string) value.Value {
	v, _ := d.Get(name)
	return v
}

// choices reads an enum, or alternatives that are constants, as options.
func (r *schemaReader) choices(f *field, s *value.Dict) bool {
	names := s.Elements("enumNames")
	for i, v := range s.Elements("enum") {
		o := option{value: v, title: value.Display(v)}
		if i < len(names) {
			o.title = value.Display(names[i])
		}
		f.options = append(f.options, o)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for _, v := range s.Elements(key) {
			one, _ := v.(*value.Dict)
			v, ok := one.Get("const")
			if !ok {
				f.options = nil
				return false
			}
			o := option{value: v, title: one.Text("title")}
			if o.title == "" {
				o.title = value.Display(v)
			}
			f.options = append(f.options, o)
		}
	}
	if len(f.options) == 0 || len(f.options) > maxChoice {
		f.options = nil
		return false
	}
	f.coded = slices.ContainsFunc(f.options, func(o option) bool { text, ok := o.value.(string); return !ok || text == "" })
	total := 0
	for i := range f.options {
		o := &f.options[i]
		o.sent = value.FormatJSON(o.value, "")
		if !f.coded {
			o.sent = o.value.(string)
		}
		o.title = value.Cut(o.title, 200)
		total += len(o.title)
	}
	f.kind, f.typ = SelectControl, fmt.Sprintf("one of %d", len(f.options))
	if len(f.options) <= maxRadio && total <= 80 {
		f.kind = RadioControl
	}
	return true
}

// variantsOf reads alternatives that differ by a title, a constant or a type.
func (r *schemaReader) variantsOf(f *field, s *value.Dict, depth int) bool {
	list := s.Elements("oneOf")
	if list == nil {
		list = s.Elements("anyOf")
	}
	if len(list) < 2 || len(list) > maxVariant || depth >= maxFormDepth || hasAny(s, "properties", "items", "allOf", "not", "if") {
		return false
	}
	var variants []*field
	for _, one := range list {
		v := r.field("", one, depth+1)
		v.required = true
		v.title = variantTitle(v)
		if v.title == "" || slices.ContainsFunc(variants, func(o *field) bool { return o.title == v.title }) {
			return false
		}
		variants = append(variants, v)
	}
	f.kind, f.variants, f.typ = VariantControl, variants, fmt.Sprintf("one of %d kinds", len(variants))
	return true
}

// variantTitle returns what names a variant: its title, the constant of one of its fields, or its type.
func variantTitle(v *field) string {
	if v.title != "" {
		return value.Cut(v.title, 100)
	}
	for _, f := range v.fields {
		if text, ok := f.constant.(string); ok && f.kind == ConstControl && text != "" {
			return value.Cut(text, 100)
		}
	}
	if v.kind == JSONControl || v.kind == ObjectControl {
		return ""
	}
	return v.typ
}

// typed reads a schema by its type.
func (r *schemaReader) typed(f *field, s *value.Dict, depth int) {
	kind, _ := get(s, "type").(string)
	if kind == "" && s.Has("properties") {
		kind = "object"
	}
	if is := jsonschema.TypeNamed(kind); is != "" {
		kind = is
	}
	switch kind {
	case "string":
		f.text(s)
	case "integer", "number":
		f.number(s, kind)
	case "boolean":
		f.boolean()
	case "array":
		f.typ = "list"
		if items, ok := get(s, "items").(*value.Dict); ok && depth < maxFormDepth {
			f.item = r.field("", items, depth+1)
			f.kind, f.typ = ListControl, "list of "+f.item.typ+bounds(s, "minItems", "maxItems", "item")
		}
	case "object":
		r.objectOf(f, s, depth)
	}
}

func (r *schemaReader) objectOf(f *field, s *value.Dict, depth int) {
	f.typ = "object"
	properties := s.Dict("properties").OrEmpty()
	more, isSchema := get(s, "additionalProperties").(*value.Dict)
	switch {
	case depth > maxFormDepth:
	case properties.Len() == 0 && isSchema && depth < maxFormDepth:
		f.item = r.field("", more, depth+1)
		f.item.required = true
		f.kind, f.typ = DictControl, "dict of "+f.item.typ
	case properties.Len() > 0 && !isSchema:
		required := s.Elements("required")
		for key, sub := range properties.All() {
			if r.left < 0 {
				return
			}
			name, _ := key.(string)
			child := r.field(name, sub, depth+1)
			child.required = slices.Contains(required, value.Value(name))
			f.fields = append(f.fields, child)
		}
		f.kind = ObjectControl
	}
}

// mediaPattern returns the pattern by which the schema of a tool shows a parameter that is a file.
func mediaPattern() string { return tool.Type{Name: tool.TypeMedia}.JSONSchema().Text("pattern") }

func (f *field) text(s *value.Dict) {
	f.kind, f.typ = TextControl, "text"+bounds(s, "minLength", "maxLength", "character")
	most := s.IntOr("maxLength", 0)
	def, _ := f.def.(string)
	f.long = most > longLimit || isLong(def)
	switch s.Text("format") {
	case "date":
		f.kind, f.typ = DateControl, "date"
	case "date-time":
		f.kind, f.typ = MomentControl, "date and time"
	case "time":
		f.kind, f.typ = TimeControl, "time"
	case "password":
		f.kind, f.typ = PasswordControl, "password"
		f.hasDefault, f.def = false, nil
	case "email", "uri", "uuid", "hostname", "ipv4", "ipv6", "idn-email", "iri", "duration":
		f.typ = s.Text("format")
	}
	if s.Text("pattern") == mediaPattern() {
		f.kind, f.typ = FileControl, "image or PDF"
	}
}

// isLong reports whether a text needs several lines.
func isLong(text string) bool {
	return strings.Contains(text, "\n") || len([]rune(value.Cut(text, 4*longText+4))) > longText
}

func (f *field) number(s *value.Dict, kind string) {
	f.kind, f.typ, f.whole = NumberControl, kind, kind == "integer"
	least, most := get(s, "minimum"), get(s, "maximum")
	if value.Numeric(least) {
		f.min = value.FormatJSON(least, "")
	}
	if value.Numeric(most) {
		f.max = value.FormatJSON(most, "")
	}
	switch {
	case f.min != "" && f.max != "":
		f.typ += ", " + f.min + " to " + f.max
	case f.min != "":
		f.typ += ", " + f.min + " or more"
	case f.max != "":
		f.typ += ", " + f.max + " or less"
	}
}

// boolean has a checkbox if it is false when nothing is said, and otherwise a choice that can be left open.
func (f *field) boolean() {
	f.typ = "yes or no"
	f.kind = RadioControl
	f.coded = true
	f.options = []option{{"true", "yes", true}, {"false", "no", false}}
}

// settle decides what depends on whether a field is required, which its schema does not say.
func (f *field) settle() {
	if f.kind == RadioControl && len(f.options) == 2 && f.options[0].value == value.Value(true) && f.hasDefault && f.def == value.Value(false) && !f.required && !f.nullable {
		f.kind, f.options = CheckControl, nil
	}
	for _, child := range f.fields {
		child.settle()
	}
	for _, child := range f.variants {
		child.settle()
	}
	if f.item != nil {
		f.item.settle()
	}
}

// bounds names the limits of a length, such as ", at most 3 items".
func bounds(s *value.Dict, lower, upper, unit string) string {
	least, most := s.IntOr(lower, 0), s.IntOr(upper, -1)
	count := func(n int64) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case least > 0 && most == least:
		return ", " + count(least)
	case least > 0 && most >= 0:
		return fmt.Sprintf(", %d to %s", least, count(most))
	case least > 0:
		return ", at least " + count(least)
	case most >= 0:
		return ", at most " + count(most)
	}
	return ""
}
