package openapi

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// Bounds of the types that are made of the schemas of an operation, which may contain themselves.
const (
	maxLevels  = 5
	maxHops    = 8        // of allOf, oneOf and anyOf
	maxSchemas = 600      // and properties
	fewSchemas = 200      // enough to see what a tool cannot have
	maxList    = 200      // of an enum, and of the parts of a schema
	maxText    = 200      // characters of the description of a parameter
	maxAnswer  = 24 << 10 // of an example in a test: see [value.FitsJSON]
)

// A shape is a parameter or a part of one, with a value that a test can pass.
type shape struct {
	tool.Param
	sample    value.Value
	fields    []shape  // of an object
	unchecked []string // constraints of the schema that the type does not have, since no value is known that has them
	readOnly  bool
}

// keywords are those of a schema, together with those of the schemas that it consists of.
type keywords struct {
	value.Dict // those of which the last one counts, by name
	properties value.Dict
	required   []value.Value
	examples   []value.Value
	notes      []string // what a caller should know and the type cannot say
}

// copied are the keywords of which the last one counts.
var copied = strings.Fields(`description title default nullable readOnly format enum items minimum maximum exclusiveMinimum exclusiveMaximum
	minLength maxLength minItems maxItems pattern`)

// collect adds what a schema says. What is too much is ignored.
func (p *plan) collect(k *keywords, schema value.Value, level, hops int) {
	if p.left--; p.left < 0 || hops > maxHops {
		return
	}
	s, _ := p.doc.read("schema", schema)
	if s == nil {
		return
	}
	for _, part := range few(s.Elements("allOf")) {
		p.collect(k, part, level, hops+1)
	}
	p.choose(k, slices.Concat(few(s.Elements("oneOf")), few(s.Elements("anyOf"))), level, hops)
	for _, name := range copied {
		if v, ok := s.Get(name); ok {
			k.Put(name, v)
		}
	}
	types := []value.Value{s.Text("type")}
	if list := s.Elements("type"); len(list) > 0 { // of OpenAPI 3.1
		types = slices.DeleteFunc(slices.Clone(few(list)), func(t value.Value) bool { return t == "null" })
		k.Put("nullable", s.Bool("nullable") || len(types) < len(list))
	}
	switch {
	case len(types) > 1:
		k.Put("type", tool.TypeAny)
		k.notes = append(k.notes, "one of: "+strings.Join(value.Map(types, value.Display), ", "))
	case len(types) == 1 && words[value.Display(types[0])] != "":
		k.Put("type", types[0])
	case s.Dict("properties").Len() > 0:
		k.Put("type", tool.TypeObject)
	case s.Has("items"):
		k.Put("type", tool.TypeArray)
	}
	for name, v := range p.doc.object(s, "properties").All() {
		name := name.(string)
		canDeclare := name != "" && !strings.ContainsFunc(name, unicode.IsControl) && !strings.Contains(name, secret.Mark)
		if p.left--; p.left <= 0 || level >= maxLevels {
			break
		}
		if canDeclare && !k.properties.Has(name) {
			k.properties.Put(name, v)
		}
	}
	k.required = append(k.required, few(s.Elements("required"))...)
	if only, ok := s.Get("const"); ok {
		k.Put("enum", value.List{only})
	}
	k.examples = append(k.examples, p.doc.examples(s)...)
}

// few returns as many items of a list as are used.
func few(list []value.Value) []value.Value { return list[:min(len(list), maxList)] }

// choose adds a choice of schemas: the only one besides null, or what all of them have in common.
func (p *plan) choose(k *keywords, choices []value.Value, level, hops int) {
	var real []value.Value
	var names []string
	objects := true
	for _, c := range choices {
		s, ref := p.doc.read("schema", c)
		if s.Text("type") == "null" {
			k.Put("nullable", true)
			continue
		}
		real = append(real, c)
		objects = objects && (s.Text("type") == tool.TypeObject || s.Has("properties"))
		if name := cmp.Or(ref[strings.LastIndexByte(ref, '/')+1:], s.Text("title"), s.Text("type")); name != "" && len(names) < 10 {
			names = append(names, oneLine(name, 40))
		}
	}
	switch {
	case len(real) == 1:
		p.collect(k, real[0], level, hops+1)
	case len(real) > 1:
		if objects {
			k.Put("type", tool.TypeObject)
		}
		k.notes = append(k.notes, "one of: "+strings.Join(names, ", "))
		k.examples = append(k.examples, p.shape(real[0], "", nil, level+1).sample)
	}
}

// examples returns the examples of a parameter, a body or a schema.
func (d *Document) examples(o *value.Dict) (list []value.Value) {
	if v, ok := o.Get("example"); ok {
		list = append(list, v)
	}
	list = append(list, few(o.Elements("examples"))...) // of a schema
	named := o.Dict("examples")
	for _, name := range sortedKeys(named) {
		if v, ok := d.object(named, name).Get("value"); ok && len(list) < maxList {
			list = append(list, v)
		}
	}
	return list
}

// shape returns the shape of what has a schema. about and examples are what stands beside the schema. What is too deep, or too
// much, is any.
func (p *plan) shape(schema value.Value, about string, examples []value.Value, level int) shape {
	var k keywords
	if level <= maxLevels {
		p.collect(&k, schema, level, 0)
	}
	t := p.constraints(&k)
	s := shape{readOnly: k.Bool("readOnly"), Param: tool.Param{Description: description(cmp.Or(about, k.Text("description"), k.Text("title")), k.notes)}}
	if _, err := regexp.Compile(t.Pattern); err != nil || len(t.Pattern) > 500 {
		t.Pattern, s.unchecked = "", []string{"pattern"}
	}
	var one value.Value = "text" // an item
	all := &value.Dict{}         // fields
	if v, ok := k.Get("items"); ok && t.Name == tool.TypeArray {
		item := p.shape(v, "", nil, level+1)
		t.Items, one = &item.Type, item.sample
	}
	if t.Name == tool.TypeObject {
		for name, v := range k.properties.All() {
			if f := p.shape(v, "", nil, level+1); !f.readOnly || !p.request {
				f.Name, f.Required = name.(string), slices.Contains(k.required, name)
				s.fields = append(s.fields, f)
				all.Put(f.Name, f.sample)
			}
		}
		s.fields = requiredFirst(s.fields, func(f shape) bool { return !f.Required })
		t.Fields = value.Map(s.fields, func(f shape) tool.Param { return f.Param })
	}
	fallback, _ := k.Get("default")
	candidates := slices.Concat(examples, k.examples, []value.Value{fallback, formats[k.Text("format")]}, t.Enum)
	for {
		ok := false
		if s.sample, ok = p.first(t, level, append(slices.Clip(candidates), made(t, one, all)...)); ok {
			break
		}
		if t.Pattern != "" {
			t.Pattern, s.unchecked = "", append(s.unchecked, "pattern")
		} else {
			t, s.unchecked = tool.Type{Name: t.Name, Nullable: t.Nullable}, append(s.unchecked, "constraints")
		}
	}
	s.Type = t
	s.Default, s.HasDefault = p.first(t, level, []value.Value{fallback})
	return s
}

// requiredFirst returns a list with its optional items at the end.
func requiredFirst[T any](list []T, optional func(T) bool) []T {
	last := slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !optional(x) })
	return append(slices.DeleteFunc(list, optional), last...)
}

// limits are the keywords that limit the values of a type.
var limits = map[string][]string{
	tool.TypeString: {"minLength", "maxLength", "pattern"}, tool.TypeArray: {"minItems", "maxItems"},
	tool.TypeInteger: {"minimum", "maximum"}, tool.TypeNumber: {"minimum", "maximum"},
}

// constraints returns the type that keywords describe, without its parts.
func (p *plan) constraints(k *keywords) tool.Type {
	name := cmp.Or(k.Text("type"), tool.TypeAny)
	schema := value.NewDict("type", name)
	for _, keyword := range limits[name] {
		v, ok := k.Get(keyword)
		exclusive, _ := k.Get("exclusive" + strings.ToUpper(keyword[:1]) + keyword[1:])
		if value.Numeric(exclusive) { // of OpenAPI 3.1
			v, exclusive, ok = exclusive, true, true
		}
		if whole, isWhole := value.Integral(v); exclusive == true && isWhole && name == tool.TypeInteger {
			if n, ok := whole.(int64); ok { // beyond that, no value is left
				v = n + map[string]int64{"minimum": 1, "maximum": -1}[keyword]
			}
		} else if exclusive == true && ok {
			k.notes = append(k.notes, map[string]string{"minimum": "more than ", "maximum": "less than "}[keyword]+value.Display(v))
		}
		if ok {
			schema.Put(keyword, v)
		}
	}
	if format := k.Text("format"); format != "" && name == tool.TypeString {
		k.notes = append(k.notes, "format "+oneLine(format, 30))
	}
	t := tool.Type{Name: name}
	if params, err := tool.ParamsFromSchema(value.NewDict("properties", value.NewDict("x", schema))); err == nil {
		t = params[0].Type
	}
	t.Nullable = k.Bool("nullable")
	texts := true
	if enum := k.Elements("enum"); len(enum) <= maxList {
		for _, v := range enum {
			_, isText := v.(string)
			if texts = texts && isText; v == nil {
				t.Nullable = true
			} else if v, ok := p.first(tool.Type{Name: name}, 0, []value.Value{v}); ok {
				t.Enum = append(t.Enum, v)
			}
		}
	}
	if t.Name == tool.TypeAny && len(t.Enum) > 0 && texts {
		t.Name = tool.TypeString
	}
	return t
}

// first returns the first value that has a type, as a call gets it. A text with the placeholder of a secret has none.
func (p *plan) first(t tool.Type, level int, candidates []value.Value) (value.Value, bool) {
	check := tool.Tool{Params: []tool.Param{{Name: "x", Type: t, Required: true}}}
	for _, v := range candidates {
		if v == nil || !value.FitsJSON(v, maxAnswer) || strings.Contains(value.FormatJSON(v, ""), secret.Mark) {
			continue
		}
		if level == 1 && p.canSend != nil && slices.ContainsFunc(texts(v), func(text string) bool { return !p.canSend(text) }) {
			continue
		}
		args := &value.Dict{}
		args.Put("x", v)
		if checked, err := check.Check(args); err == nil {
			v, _ = checked.Get("x")
			return v, true
		}
	}
	return nil, false
}

// formats are examples of formats.
var formats = map[string]value.Value{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "P1D", "email": "ada@example.com",
	"uri": "https://example.com/a", "url": "https://example.com/a", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "6f1c6f9e-5d5b-4f0e-9d5c-0a1b2c3d4e5f", "byte": "dGV4dA==",
}

// made returns values of which one is likely to have a type: item is one of a list, and fields has those of an object.
func made(t tool.Type, item value.Value, fields *value.Dict) []value.Value {
	switch t.Name {
	case tool.TypeInteger, tool.TypeNumber:
		list := []value.Value{int64(1), t.Min, t.Max}
		if f, ok := t.Min.(float64); ok {
			list = append(list, math.Ceil(f))
		}
		if f, ok := t.Max.(float64); ok {
			list = append(list, math.Floor(f))
		}
		return list
	case tool.TypeBoolean:
		return []value.Value{true}
	case tool.TypeArray:
		n := 1
		if t.MinLength != nil {
			n = min(max(*t.MinLength, n), 20)
		}
		return []value.Value{value.List(slices.Repeat([]value.Value{item}, n)), value.List{}}
	case tool.TypeObject:
		return []value.Value{fields, &value.Dict{}}
	}
	text := "text"
	if t.Pattern != "" {
		if e, err := syntax.Parse(t.Pattern, syntax.Perl); err == nil {
			text = matching(e.Simplify(), 0)
		}
	}
	if t.MinLength != nil {
		text += strings.Repeat("a", min(max(*t.MinLength-utf8.RuneCountInString(text), 0), 1000))
	}
	if runes := []rune(text); t.MaxLength != nil && len(runes) > *t.MaxLength {
		text = string(runes[:max(*t.MaxLength, 0)])
	}
	return []value.Value{text}
}

// matching makes a text that a regular expression matches, in simple cases.
func matching(e *syntax.Regexp, level int) string {
	var b strings.Builder
	switch {
	case level > 20:
	case e.Op == syntax.OpLiteral:
		return string(e.Rune)
	case e.Op == syntax.OpCharClass && len(e.Rune) > 0:
		for i := 0; i+1 < len(e.Rune); i += 2 { // one that can be seen, rather than the first
			if r := max(e.Rune[i], '0'); r <= e.Rune[i+1] {
				return string(r)
			}
		}
		return string(e.Rune[0])
	case e.Op == syntax.OpAnyChar || e.Op == syntax.OpAnyCharNotNL:
		return "a"
	case e.Op == syntax.OpAlternate || e.Op == syntax.OpCapture || e.Op == syntax.OpPlus:
		return matching(e.Sub[0], level+1)
	case e.Op == syntax.OpConcat:
		for _, sub := range e.Sub {
			b.WriteString(matching(sub, level+1))
		}
	case e.Op == syntax.OpRepeat:
		for range min(e.Min, 100) {
			b.WriteString(matching(e.Sub[0], level+1))
		}
	}
	return b.String()
}

// description returns what the document says about a value, and what its type cannot say.
func description(about string, notes []string) string {
	text := oneLine(about, maxText)
	if more := strings.Join(slices.Compact(slices.Sorted(slices.Values(notes))), "; "); more != "" {
		text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, oneLine(more, maxText)))
	}
	return text
}

// words are the names of types in a signature.
var words = map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict", "array": "list", "any": "any"}

// isScalar reports whether a value is a text, a number or a bool.
func isScalar(t *tool.Type) bool {
	return t != nil && slices.Contains([]string{tool.TypeString, tool.TypeInteger, tool.TypeNumber, tool.TypeBoolean}, t.Name)
}

// isSimple reports whether a value is a scalar or a list of them.
func isSimple(t *tool.Type) bool {
	return isScalar(t) || t.Name == tool.TypeArray && isScalar(t.Items)
}

// annotation writes a type as that of a parameter.
func annotation(t tool.Type) string {
	name := words[t.Name]
	if t.Name == tool.TypeArray && t.Items != nil && t.Items.Name != tool.TypeAny {
		name = "list[" + annotation(*t.Items) + "]"
	}
	if t.Nullable && t.Name != tool.TypeAny {
		name += " | None"
	}
	return name
}

// limitNames are the names in param(…) of the keywords that [tool.Type.JSONSchema] writes.
var limitNames = map[value.Value]string{
	"minimum": "min", "maximum": "max", "minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length",
	"pattern": "pattern", "enum": "enum",
}

// fieldsOf writes the fields of param(…) that the annotation does not say.
func fieldsOf(t tool.Type) (fields []string) {
	t.Nullable = false
	for keyword, v := range t.JSONSchema().All() {
		if name := limitNames[keyword]; name != "" {
			fields = append(fields, name+" = "+literal(v))
		}
	}
	if t.Items != nil && len(fieldsOf(*t.Items)) > 0 {
		fields = append(fields, "items = "+paramOf(tool.Param{Type: *t.Items, Required: true}))
	}
	if len(t.Fields) > 0 {
		var items []string
		for _, f := range t.Fields {
			items = append(items, quote(f.Name)+": "+paramOf(f))
		}
		fields = append(fields, "properties = "+bracket("{", items, "}"))
	}
	return fields
}

// paramOf writes a part of a parameter.
func paramOf(f tool.Param) string {
	name := annotation(f.Type)
	if more, ok := strings.CutPrefix(name, "list"); ok && !strings.HasPrefix(more, "[") {
		name = "array" + more // "list" can be an object, too
	}
	list := []string{quote(name)}
	if f.Description != "" {
		list = append(list, quote(f.Description))
	}
	if !f.Required {
		list = append(list, "required = False")
	}
	return bracket("param(", append(list, fieldsOf(f.Type)...), ")")
}
