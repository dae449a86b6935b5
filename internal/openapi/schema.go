package openapi

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// Bounds of the types that are made of one schema, which may contain itself.
const (
	maxLevels  = 5
	maxHops    = 8   // of allOf, oneOf and anyOf
	maxSchemas = 300 // of one operation
	maxChoices = 200 // of an enum
	maxText    = 200 // characters of the description of a parameter
)

// maxAnswer is the size of an example in a test, as the text of a literal.
const maxAnswer = 4 << 10

// A kind is a type with constraints, as param(…) has them.
type kind struct {
	name           string // string, integer, number, boolean, array, object or any
	nullable       bool
	enum           []any
	min, max       *float64
	minLen, maxLen *uint64
	pattern        string
	items          *kind
	props          []prop // the required ones first
	required       []string
	about          string
	notes          []string // what a caller should know and the type cannot say
	fallback       any      // the default, or nil
	examples       []any
}

// A prop is a property of an object.
type prop struct {
	name               string
	required, readOnly bool
	kind               *kind
}

// A reader makes kinds of the schemas of one operation.
type reader struct{ left int }

func newReader() *reader { return &reader{left: maxSchemas} }

// kind returns the kind of a schema. What is too deep, or too much, is any.
func (r *reader) kind(ref *openapi3.SchemaRef, level int) *kind {
	k := &kind{name: "any"}
	if level <= maxLevels {
		r.add(k, ref, level, 0)
	}
	for i := range k.props {
		k.props[i].required = slices.Contains(k.required, k.props[i].name)
	}
	if level > 1 {
		k.settle()
	}
	slices.SortStableFunc(k.props, func(a, b prop) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return k
}

// add adds what a schema says to a kind.
func (r *reader) add(k *kind, ref *openapi3.SchemaRef, level, hops int) {
	if ref == nil || ref.Value == nil || hops > maxHops || r.left <= 0 {
		return
	}
	r.left--
	s := ref.Value
	for _, part := range s.AllOf {
		r.add(k, part, level, hops+1)
	}
	r.choose(k, slices.Concat(s.OneOf, s.AnyOf), level, hops)
	if s.Nullable {
		k.nullable = true
	}
	types := slices.DeleteFunc(slices.Clone(s.Type.Slice()), func(t string) bool { return t == "null" })
	switch {
	case len(types) == 1 && slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object"}, types[0]):
		k.name = types[0]
	case len(types) > 1:
		k.name = "any"
		k.notes = append(k.notes, "one of: "+strings.Join(types, ", "))
	case len(s.Properties) > 0:
		k.name = "object"
	case s.Items != nil:
		k.name = "array"
	}
	if s.Description != "" {
		k.about = s.Description
	}
	if k.about == "" {
		k.about = s.Title
	}
	r.constrain(k, s)
	if k.name == "array" && s.Items != nil {
		k.items = r.kind(s.Items, level+1)
	}
	if more := s.AdditionalProperties; k.name == "object" && level < maxLevels && more.Schema == nil && (more.Has == nil || !*more.Has) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if r.left <= 0 || slices.ContainsFunc(k.props, func(p prop) bool { return p.name == name }) || !canDeclare(name) {
				continue
			}
			p := prop{name: name, kind: r.kind(s.Properties[name], level+1)}
			if sub := s.Properties[name]; sub != nil && sub.Value != nil {
				p.readOnly = sub.Value.ReadOnly
			}
			k.props = append(k.props, p)
		}
	}
	k.required = append(k.required, s.Required...)
}

// canDeclare reports whether a name can be that of a declared property.
func canDeclare(name string) bool {
	return name != "" && !strings.ContainsFunc(name, unicode.IsControl) && !strings.Contains(name, secret.Mark)
}

// choose adds a choice of schemas: the only one besides null, or what all of them have in common.
func (r *reader) choose(k *kind, choices openapi3.SchemaRefs, level, hops int) {
	var names []string
	var real openapi3.SchemaRefs
	objects := true
	for _, c := range choices {
		if c == nil || c.Value == nil {
			continue
		}
		if c.Value.Type.Is("null") {
			k.nullable = true
			continue
		}
		real = append(real, c)
		objects = objects && (c.Value.Type.Is("object") || len(c.Value.Properties) > 0)
		name := c.Ref[strings.LastIndexByte(c.Ref, '/')+1:]
		if name == "" {
			name = c.Value.Title
		}
		if name == "" {
			name = strings.Join(c.Value.Type.Slice(), " ")
		}
		if name != "" && len(names) < 10 {
			names = append(names, oneLine(name, 40))
		}
	}
	switch {
	case len(real) == 1:
		r.add(k, real[0], level, hops+1)
	case len(real) > 1:
		if objects {
			k.name = "object"
		}
		k.notes = append(k.notes, "one of: "+strings.Join(names, ", "))
		k.examples = append(k.examples, r.kind(real[0], level+1).sample())
	}
}

// constrain adds the constraints of a schema.
func (r *reader) constrain(k *kind, s *openapi3.Schema) {
	if len(s.Enum) > 0 && len(s.Enum) <= maxChoices {
		k.enum = nil
		for _, v := range s.Enum {
			switch bare := (kind{name: k.name}); {
			case v == nil:
				k.nullable = true
			case bare.fits(v):
				k.enum = append(k.enum, v)
			}
		}
	}
	if k.name == "any" && len(k.enum) > 0 && !slices.ContainsFunc(k.enum, func(v any) bool { _, ok := v.(string); return !ok }) {
		k.name = "string"
	}
	bound := func(limit *float64, exclusive bool, step float64, words string) *float64 {
		if limit == nil || !exclusive {
			return limit
		}
		if v := *limit + step; k.name == "integer" && *limit == math.Trunc(*limit) {
			return &v
		}
		k.notes = append(k.notes, words+" "+number(*limit))
		return limit
	}
	if k.name == "integer" || k.name == "number" {
		k.min, k.max = bound(s.Min, s.ExclusiveMin, 1, "more than"), bound(s.Max, s.ExclusiveMax, -1, "less than")
	}
	switch k.name {
	case "string":
		if s.MinLength > 0 {
			k.minLen = &s.MinLength
		}
		k.maxLen = s.MaxLength
		if _, err := regexp.Compile(s.Pattern); err == nil && len(s.Pattern) <= 500 {
			k.pattern = s.Pattern
		}
		if s.Format != "" {
			k.notes = append(k.notes, "format "+oneLine(s.Format, 30))
		}
	case "array":
		if s.MinItems > 0 {
			k.minLen = &s.MinItems
		}
		k.maxLen = s.MaxItems
	}
	if s.Default != nil {
		k.fallback = s.Default
	}
	if s.Example != nil {
		k.examples = append(k.examples, s.Example)
	}
	if s.Default != nil {
		k.examples = append(k.examples, s.Default)
	}
	if s.Format != "" {
		if v, ok := formats[s.Format]; ok {
			k.examples = append(k.examples, v)
		}
	}
}

// formats are examples of formats.
var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "P1D", "email": "ada@example.com",
	"uri": "https://example.com/a", "url": "https://example.com/a", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "6f1c6f9e-5d5b-4f0e-9d5c-0a1b2c3d4e5f", "byte": "dGV4dA==",
}

// isSimple reports whether a value is a text, a number, a bool or a list of them.
func (k *kind) isSimple() bool {
	return isScalar(k) || k.name == "array" && k.items != nil && isScalar(k.items)
}

func isScalar(k *kind) bool {
	return slices.Contains([]string{"string", "integer", "number", "boolean"}, k.name)
}

// writable removes what a request does not have.
func (k *kind) writable() {
	k.props = slices.DeleteFunc(k.props, func(p prop) bool { return p.readOnly })
	for _, p := range k.props {
		p.kind.writable()
	}
	if k.items != nil {
		k.items.writable()
	}
}

// settle removes the constraints for which no example can be made, and a default that does not fit. It returns what it removed.
func (k *kind) settle() (removed []string) {
	if k.fallback != nil && !k.fits(k.fallback) {
		k.fallback = nil
	}
	if k.fits(k.sample()) {
		return nil
	}
	if k.pattern != "" {
		k.pattern, removed = "", append(removed, "pattern")
	}
	if !k.fits(k.sample()) {
		*k = kind{name: k.name, nullable: k.nullable, about: k.about, notes: k.notes}
		removed = append(removed, "constraints")
	}
	return removed
}

// fits reports whether a call with a value is valid.
func (k *kind) fits(v any) bool {
	if v == nil {
		return k.nullable || k.name == "any"
	}
	if len(k.enum) > 0 && !slices.ContainsFunc(k.enum, func(choice any) bool { return literal(choice, "") == literal(v, "") }) {
		return false
	}
	length := -1
	switch v := v.(type) {
	case string:
		if k.name != "string" && k.name != "any" || strings.Contains(v, secret.Mark) || k.pattern != "" && !regexp.MustCompile(k.pattern).MatchString(v) {
			return false
		}
		length = utf8.RuneCountInString(v)
	case float64:
		if k.name != "number" && k.name != "any" && (k.name != "integer" || v != math.Trunc(v) || math.Abs(v) >= 1e15) ||
			k.min != nil && v < *k.min || k.max != nil && v > *k.max {
			return false
		}
	case bool:
		return k.name == "boolean" || k.name == "any"
	case []any:
		if k.name != "array" && k.name != "any" || k.items != nil && slices.ContainsFunc(v, func(item any) bool { return !k.items.fits(item) }) {
			return false
		}
		length = len(v)
	case map[string]any:
		if k.name != "object" && k.name != "any" {
			return false
		}
		for _, p := range k.props {
			if item, ok := v[p.name]; !ok && p.required || ok && !p.kind.fits(item) {
				return false
			}
		}
		return len(k.props) == 0 || !slices.ContainsFunc(slices.Collect(maps.Keys(v)), func(name string) bool {
			return !slices.ContainsFunc(k.props, func(p prop) bool { return p.name == name })
		})
	default:
		return false
	}
	return length < 0 || (k.minLen == nil || uint64(length) >= *k.minLen) && (k.maxLen == nil || uint64(length) <= *k.maxLen)
}

// sample returns an example of a value: one of the document that fits, or else one that is made.
func (k *kind) sample() any {
	for _, v := range k.examples {
		if k.fits(v) && len(literal(v, "")) <= maxAnswer {
			return v
		}
	}
	if len(k.enum) > 0 {
		return k.enum[0]
	}
	switch k.name {
	case "integer", "number":
		v := 1.0
		if k.min != nil {
			v = math.Max(v, math.Ceil(*k.min))
		}
		if k.max != nil {
			v = math.Min(v, math.Floor(*k.max))
		}
		return v
	case "boolean":
		return true
	case "array":
		list := []any{}
		n := 1
		if k.minLen != nil {
			n = int(min(*k.minLen, 20))
		}
		for range n {
			if k.items == nil {
				list = append(list, "text")
			} else {
				list = append(list, k.items.sample())
			}
		}
		return list
	case "object":
		d := map[string]any{}
		for _, p := range k.props {
			d[p.name] = p.kind.sample()
		}
		return d
	}
	return k.text()
}

// text makes a text that fits.
func (k *kind) text() string {
	text := "text"
	if k.pattern != "" {
		if e, err := syntax.Parse(k.pattern, syntax.Perl); err == nil {
			text = matching(e.Simplify(), 0)
		}
	}
	for n := 0; k.minLen != nil && n < 1000 && uint64(utf8.RuneCountInString(text)) < *k.minLen; n++ {
		text += "a"
	}
	if runes := []rune(text); k.maxLen != nil && uint64(len(runes)) > *k.maxLen {
		text = string(runes[:*k.maxLen])
	}
	return text
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

// annotation writes a kind as the type of a parameter.
func (k *kind) annotation() string {
	name := map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict", "any": "any", "array": "list"}[k.name]
	if k.name == "array" && k.items != nil && isScalar(k.items) && !k.items.nullable {
		name = "list[" + k.items.annotation() + "]"
	}
	if k.nullable && k.name != "any" {
		name += " | None"
	}
	return name
}

// fields writes the fields of param(…) that the type does not say.
func (k *kind) fields(indent string) (fields []string) {
	put := func(name string, v string) { fields = append(fields, name+" = "+v) }
	if k.min != nil {
		put("min", number(*k.min))
	}
	if k.max != nil {
		put("max", number(*k.max))
	}
	if k.minLen != nil {
		put("min_length", strconv.FormatUint(*k.minLen, 10))
	}
	if k.maxLen != nil {
		put("max_length", strconv.FormatUint(*k.maxLen, 10))
	}
	if k.pattern != "" {
		put("pattern", quote(k.pattern))
	}
	if len(k.enum) > 0 {
		put("enum", literal(k.enum, indent))
	}
	if k.items != nil {
		if inner := k.items.fields(indent + "    "); len(inner) > 0 || !isScalar(k.items) && k.items.name != "any" {
			put("items", k.items.param("", indent))
		}
	}
	if len(k.props) > 0 {
		var items []string
		for _, p := range k.props {
			more := ""
			if !p.required {
				more = "required = False"
			}
			items = append(items, quote(p.name)+": "+p.kind.param(more, indent+"    "))
		}
		put("properties", bracket("{", items, "}", indent))
	}
	return fields
}

// param writes a kind inside of another one.
func (k *kind) param(more, indent string) string {
	name := k.name
	if k.nullable && name != "any" {
		name += " | null"
	}
	fields := []string{quote(name)}
	if about := k.description(); about != "" {
		fields = append(fields, quote(about))
	}
	if more != "" {
		fields = append(fields, more)
	}
	return bracket("param(", append(fields, k.fields(indent+"    ")...), ")", indent)
}

// description returns what the document says about a value, and what its type cannot say.
func (k *kind) description() string {
	text := oneLine(k.about, maxText)
	if notes := strings.Join(slices.Compact(slices.Sorted(slices.Values(k.notes))), "; "); notes != "" {
		text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, oneLine(notes, maxText)))
	}
	return text
}
