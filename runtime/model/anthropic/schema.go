package anthropic

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// outputSchema returns the form of a JSON Schema that the API can enforce, or false if it has
// none. The API wants closed objects, and knows neither recursion nor limits of numbers, lengths
// and so on. What it does not know is written into the description: the model reads it, and the
// caller checks it.
//
// Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
func outputSchema(schema *value.Dict) (*value.Dict, bool) {
	s := shaper{root: schema, defs: value.NewDict(), ok: true}
	shaped := s.shape(schema)
	if s.defs.Len() > 0 {
		shaped.Put("$defs", s.defs)
	}
	return shaped, s.ok
}

// A shaper converts a schema.
type shaper struct {
	root *value.Dict
	defs *value.Dict // the definitions that are used, converted
	path []string    // the definitions that are being converted
	ok   bool
}

func (s *shaper) fail() *value.Dict {
	s.ok = false
	return value.NewDict()
}

// shape converts a schema.
func (s *shaper) shape(v value.Value) *value.Dict {
	d, _ := v.(*value.Dict)
	if d == nil || !s.ok {
		return s.fail()
	}
	if ref := d.Text("$ref"); ref != "" {
		return s.refer(ref)
	}
	types, _ := d.Get("type")
	if list, ok := value.Elements(types); ok {
		return s.either(d, list)
	}
	out := value.NewDict()
	variants := d.Elements("anyOf")
	if variants == nil {
		variants = d.Elements("oneOf")
	}
	all := d.Elements("allOf")
	switch {
	case variants != nil && all == nil && !d.Has("properties"):
		var list value.List
		for _, one := range variants {
			list = append(list, s.shape(one))
		}
		out.Put("anyOf", list)
	case variants != nil || all != nil: // closed objects cannot be combined
		return s.fail()
	case d.Has("enum") || d.Has("const"):
		s.literals(d, out)
	default:
		s.typed(d, out)
	}
	describe(d, out)
	return out
}

// refer converts a reference to a definition of the schema. Recursion has no form.
func (s *shaper) refer(ref string) *value.Dict {
	home, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	defs, _ := s.root.Get(home)
	table, _ := defs.(*value.Dict)
	definition, found := table.Get(name)
	if home != "$defs" && home != "definitions" || !found || slices.Contains(s.path, name) {
		return s.fail()
	}
	if !s.defs.Has(name) {
		s.path = append(s.path, name)
		shaped := s.shape(definition)
		s.path = s.path[:len(s.path)-1]
		s.defs.Put(name, shaped)
	}
	return value.NewDict("$ref", "#/$defs/"+name)
}

// either converts a schema with several types to one variant for each.
func (s *shaper) either(d *value.Dict, types []value.Value) *value.Dict {
	var list value.List
	for _, t := range types {
		one := d.Clone(0)
		one.Put("type", t)
		if t == "null" {
			one = value.NewDict("type", "null")
		}
		list = append(list, s.shape(one))
	}
	if len(list) == 1 {
		return list[0].(*value.Dict)
	}
	return value.NewDict("anyOf", list)
}

// literals converts enum and const, whose values must be simple.
func (s *shaper) literals(d, out *value.Dict) {
	if c, ok := d.Get("const"); ok {
		out.Put("const", c)
		s.ok = s.ok && simple(c)
		return
	}
	values := d.Elements("enum")
	s.ok = s.ok && len(values) > 0 && !slices.ContainsFunc(values, func(v value.Value) bool { return !simple(v) })
	if t := d.Text("type"); t != "" {
		out.Put("type", t)
	}
	out.Put("enum", value.List(values))
}

func simple(v value.Value) bool {
	_, list := value.Elements(v)
	_, dict := v.(*value.Dict)
	return !list && !dict
}

// typed converts a schema with one type.
func (s *shaper) typed(d, out *value.Dict) {
	out.Put("type", d.Text("type"))
	switch d.Text("type") {
	case "object":
		s.object(d, out)
	case "array":
		if d.Has("prefixItems") {
			s.fail()
		}
		if items, ok := d.Get("items"); ok {
			out.Put("items", s.shape(items))
		}
		if n, ok := d.Get("minItems"); ok && (value.Equal(n, int64(0)) || value.Equal(n, int64(1))) {
			out.Put("minItems", n)
		}
	case "string":
		if slices.Contains(formats(), d.Text("format")) {
			out.Put("format", d.Text("format"))
		}
	case "integer", "number", "boolean", "null":
	default:
		s.fail()
	}
}

// formats are those that the API knows.
func formats() []string {
	return []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
}

// object converts an object. It must be closed, so a schema that asks for other fields has no
// form.
func (s *shaper) object(d, out *value.Dict) {
	more, stated := d.Get("additionalProperties")
	fields, _ := d.Get("properties")
	properties, _ := fields.(*value.Dict)
	if stated && more != false || d.Has("patternProperties") || properties.Len() == 0 && !stated {
		s.fail()
		return
	}
	shaped := value.NewDict()
	for name, field := range properties.All() {
		shaped.Put(name.(string), s.shape(field))
	}
	out.Put("properties", shaped)
	if required, ok := d.Get("required"); ok {
		out.Put("required", required)
	}
	out.Put("additionalProperties", false)
}

// describe adds the description, with what the API does not know.
func describe(d, out *value.Dict) {
	text := d.Text("description")
	var rest []string
	for k, v := range d.All() {
		name, _ := k.(string)
		switch name {
		case "title", "description", "default", "examples", "anyOf", "oneOf", "$defs", "definitions":
			continue
		}
		if !out.Has(name) && !strings.HasPrefix(name, "$") {
			rest = append(rest, name+": "+value.FormatJSON(v, ""))
		}
	}
	if title := d.Text("title"); title != "" {
		out.Put("title", title)
	}
	if len(rest) > 0 {
		text = strings.TrimSpace(text + "\n\n{" + strings.Join(rest, ", ") + "}")
	}
	if text != "" {
		out.Put("description", text)
	}
}
