package wire

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An adapter converts the schema of a tool's arguments to what all APIs accept: an object, without
// combinations of schemas at the top, whose schemas are objects, whose arrays have items, and whose
// parameters have names of the form that the API wants. The host checks the arguments by the schema as it
// was.
type adapter struct {
	form    Form              // of the names of parameters
	keys    map[string]string // what is sent for the names that do not have it
	changed bool
}

// maxRest is how much of the schema that cannot be sent is described, in characters.
const maxRest = 2000

// top converts the schema. rest is the JSON of what the API does not accept at its top, for the
// description of the tool, or "".
func (a *adapter) top(schema *value.Dict) (adapted *value.Dict, rest string) {
	left := value.NewDict()
	flat := a.flatten(schema, schema, left, 0)
	if flat.Text("type") != "object" {
		a.changed = true
		flat.Put("type", "object")
	}
	if _, ok := flat.Lookup("properties"); !ok {
		a.changed = true
		flat.Put("properties", value.NewDict())
	}
	if left.Len() > 0 {
		a.changed, rest = true, value.Cut(value.FormatJSON(left, ""), maxRest)
	}
	return a.schema(flat), rest
}

// maxReferences is how many references and combinations at the top are followed.
const maxReferences = 8

// flatten returns a schema of an object as one schema with properties: those of all that it combines.
// left gets what cannot be said so.
func (a *adapter) flatten(s, root, left *value.Dict, depth int) *value.Dict {
	out := value.NewDict()
	for k, v := range s.All() {
		switch name, _ := k.(string); name {
		case "$ref", "allOf", "anyOf", "oneOf":
			a.changed = true
		case "not", "if", "then", "else", "enum", "const", "dependentSchemas":
			left.Put(name, v)
		default:
			out.Put(name, v)
		}
	}
	if depth == maxReferences {
		return out
	}
	if part := refer(s.Text("$ref"), root); part != nil {
		merge(out, a.flatten(part, root, left, depth+1), true)
	}
	for _, part := range s.Elements("allOf") {
		if d, ok := part.(*value.Dict); ok {
			merge(out, a.flatten(d, root, left, depth+1), true)
		}
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		variants := s.Elements(word)
		if variants == nil {
			continue
		}
		left.Put(word, value.List(variants))
		var required []value.Value
		for i, part := range variants {
			d, _ := part.(*value.Dict)
			d = a.flatten(d.OrEmpty(), root, value.NewDict(), depth+1)
			names := d.Elements("required")
			if i == 0 {
				required = names
			}
			required = slices.DeleteFunc(slices.Clone(required), func(name value.Value) bool { return !slices.Contains(names, name) })
			merge(out, d, false)
		}
		if len(required) > 0 {
			merge(out, value.NewDict("required", value.List(required)), true)
		}
	}
	return out
}

// refer returns the definition of a schema that a reference names, or nil.
func refer(ref string, root *value.Dict) *value.Dict {
	for _, home := range []string{"$defs", "definitions"} {
		if name, ok := strings.CutPrefix(ref, "#/"+home+"/"); ok {
			return root.Dict(home).Dict(name)
		}
	}
	return nil
}

// merge adds the properties of a schema to another one, and what is required, if that is certain.
// A property that both have may have either schema.
func merge(into, from *value.Dict, certain bool) {
	if properties := from.Dict("properties"); properties.Len() > 0 {
		all := value.NewDict()
		for k, v := range into.Dict("properties").OrEmpty().All() {
			all.Put(k.(string), v)
		}
		for k, v := range properties.All() {
			name, _ := k.(string)
			if had, ok := all.Get(name); ok && !value.EqualJSON(had, v) && !certain {
				v = value.NewDict("anyOf", value.List{had, v})
			}
			all.Put(name, v)
		}
		into.Put("properties", all)
	}
	if !certain {
		return
	}
	required := value.List(slices.Clone(into.Elements("required")))
	for _, name := range from.Elements("required") {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		into.Put("required", required)
	}
	for k, v := range from.All() {
		if name, _ := k.(string); !into.Has(name) {
			into.Put(name, v)
		}
	}
}

// schema converts a schema and those in it.
func (a *adapter) schema(s *value.Dict) *value.Dict {
	out := value.MakeDict(s.Len())
	for k, v := range s.All() {
		name, _ := k.(string)
		switch name {
		case "properties":
			v = a.properties(v)
		case "patternProperties", "$defs", "definitions", "dependentSchemas":
			if d, ok := v.(*value.Dict); ok {
				v = a.each(d)
			}
		case "items", "not", "if", "then", "else", "contains", "propertyNames", "additionalItems":
			v = a.part(v)
		case "additionalProperties", "unevaluatedProperties", "unevaluatedItems": // usually true or false
			if d, ok := v.(*value.Dict); ok {
				v = a.schema(d)
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			v = value.List(value.Map(s.Elements(name), a.part))
		case "required":
			v = value.List(value.Map(s.Elements(name), func(v value.Value) value.Value {
				name, _ := v.(string)
				return a.key(name)
			}))
		}
		if list, tuple := value.Elements(v); tuple && name == "items" { // of draft 07
			a.changed, name, v = true, "prefixItems", value.List(value.Map(list, a.part))
		}
		out.Put(name, v)
	}
	a.define(out)
	if out.Text("type") == "array" && !out.Has("items") && !out.Has("prefixItems") {
		a.changed = true
		out.Put("items", value.NewDict())
	}
	return out
}

// define adds the properties that an object requires and does not describe: some APIs refuse those.
func (a *adapter) define(s *value.Dict) {
	required, given := s.Elements("required"), s.Dict("properties")
	if given == nil && s.Text("type") != "object" {
		return
	}
	properties := given.OrEmpty().Clone(0)
	for _, v := range required {
		if name, _ := v.(string); !properties.Has(name) {
			properties.Put(name, value.NewDict())
		}
	}
	if properties.Len() > given.Len() {
		a.changed = true
		s.Put("properties", properties)
	}
}

// part converts a schema, which may be true or false.
func (a *adapter) part(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.Dict:
		return a.schema(v)
	case bool:
		a.changed = true
		if v {
			return value.NewDict()
		}
		return value.NewDict("not", value.NewDict())
	}
	return v
}

// each converts schemas by name.
func (a *adapter) each(d *value.Dict) *value.Dict {
	out := value.MakeDict(d.Len())
	for k, v := range d.All() {
		out.Put(k.(string), a.part(v))
	}
	return out
}

// properties converts the schemas of properties, and their names.
func (a *adapter) properties(v value.Value) value.Value {
	d, ok := v.(*value.Dict)
	if !ok {
		return v
	}
	out := value.MakeDict(d.Len())
	for k, part := range d.All() {
		out.Put(a.key(k.(string)), a.part(part))
	}
	return out
}

// key returns the name under which a property is sent.
func (a *adapter) key(name string) string {
	sent := a.form.from(name)
	if sent != name {
		a.keys[name], a.changed = sent, true
	}
	return sent
}
