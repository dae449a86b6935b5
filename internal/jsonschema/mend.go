package jsonschema

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Mend returns a schema of an author who cannot be asked, such as that of an MCP server's tool, without
// what [New] or the API of a model would refuse. What is meant clearly is written as draft 2020-12 has it:
// types of other languages, nullable, the exclusiveMinimum of draft 04, required beside a property. A
// keyword without a meaning, or that cannot be checked here, is left out, and left has a text for each.
func Mend(schema *value.Dict) (mended *value.Dict, left []string) {
	m := mender{root: schema, old: schemaDraft(schema.Text("$schema")) == draft07, named: strings.Contains(value.FormatJSON(schema, ""), `"$id"`)}
	return m.schema(nil, schema), m.left
}

// A mender mends one schema.
type mender struct {
	root  *value.Dict
	old   bool // the schema is of draft 07 or older
	named bool // it has schemas with a name, which references may use
	left  []string
}

// maxLeft is how many keywords that were left out are listed.
const maxLeft = 20

func (m *mender) leave(path []string, name, why string, v value.Value) {
	if len(m.left) < maxLeft {
		at := strings.Join(append(slices.Clone(path), name), ".")
		m.left = append(m.left, fmt.Sprintf("%s %s: %s", value.Clean(at, 100), why, value.Clean(value.FormatJSON(v, ""), 60)))
	}
}

// schema mends a schema and those in it.
func (m *mender) schema(path []string, s *value.Dict) *value.Dict {
	out := value.MakeDict(s.Len())
	for k, v := range s.All() {
		name, _ := k.(string)
		if v, ok := m.keyword(path, name, v, s); ok {
			out.Put(m.name(name, s), v)
		}
	}
	if is, ok := out.Get("type"); ok && s.Bool("nullable") && is != "null" {
		if name, ok := is.(string); ok {
			out.Put("type", value.List{name, "null"})
		}
	}
	if required := m.required(path, s); required != nil {
		out.Put("required", required)
	}
	return out
}

// name returns the name of a keyword in draft 2020-12, which has prefixItems for the items of a tuple.
func (m *mender) name(keyword string, s *value.Dict) string {
	items, _ := s.Get("items")
	if _, tuple := value.Elements(items); tuple && !m.old {
		switch keyword {
		case "items":
			return "prefixItems"
		case "additionalItems":
			return "items"
		}
	}
	return keyword
}

// keyword mends the value of a keyword of a schema, or reports that it is left out.
func (m *mender) keyword(path []string, name string, v value.Value, s *value.Dict) (value.Value, bool) {
	switch name {
	case "required": // is added last
		return nil, false
	case "nullable":
		_, is := v.(bool)
		return v, !is
	case "type":
		return m.types(path, v)
	case "minimum", "maximum":
		if s.Bool("exclusive" + strings.ToUpper(name[:1]) + name[1:]) {
			return nil, false // draft 04: it is the exclusive one
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if is, old := v.(bool); old {
			bound, _ := s.Get(strings.ToLower(strings.TrimPrefix(name, "exclusive")))
			return bound, is && isNumber(bound)
		}
	case "$ref":
		if ref, _ := v.(string); ref == "" || !m.refers(ref) {
			m.leave(path, name, "refers to nothing in the schema", v)
			return nil, false
		}
		return v, true
	}
	wanted := wantedOf(name)
	if f, ok := v.(float64); ok && wanted == aLength && f == float64(int64(f)) {
		v = int64(f)
	}
	if wanted != "" && !m.is(wanted, v) {
		m.leave(path, name, "should be "+wanted+" but is", v)
		return nil, false
	}
	if use, known := keywords[name]; known && (!strings.HasPrefix(name, "$") || use.byName) {
		return m.parts(append(slices.Clone(path), name), name, v, use.byName)
	}
	return v, true
}

// The values that keywords want, as errors name them.
const (
	aNumber  = "a number"
	aLength  = "a number of at least 0"
	aSwitch  = "true or false"
	aText    = "a text"
	aList    = "a list of values"
	aPattern = "a pattern that Go can read (RE2)"
)

// wantedOf returns what a keyword wants, or "" for one that takes any value or holds schemas.
func wantedOf(name string) string {
	switch name {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return aNumber
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return aLength
	case "uniqueItems", "readOnly", "writeOnly", "deprecated":
		return aSwitch
	case "title", "description", "format", "contentEncoding", "contentMediaType", "$comment", "$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor":
		return aText
	case "enum":
		return aList
	case "pattern":
		return aPattern
	}
	return ""
}

// is reports whether a value is what a keyword wants.
func (m *mender) is(wanted string, v value.Value) bool {
	text, isText := v.(string)
	switch wanted {
	case aNumber:
		return isNumber(v)
	case aLength:
		n, ok := v.(int64)
		return ok && n >= 0
	case aSwitch:
		_, ok := v.(bool)
		return ok
	case aList:
		list, ok := value.Elements(v)
		return ok && len(list) > 0
	case aPattern:
		_, err := regexp.Compile(text)
		return isText && err == nil
	}
	return isText
}

func isNumber(v value.Value) bool {
	switch v.(type) {
	case int64, float64, *big.Int:
		return true
	}
	return false
}

// types mends the type of a schema: a name, or a list of names.
func (m *mender) types(path []string, v value.Value) (value.Value, bool) {
	given, isList := value.Elements(v)
	if !isList {
		given = []value.Value{v}
	}
	var names value.List
	for _, one := range given {
		name, _ := one.(string)
		if name != "null" {
			name = TypeNamed(name)
		}
		if name == "" {
			m.leave(path, "type", "is unknown", one)
			return nil, false // another type would refuse what the author allows
		}
		if !slices.Contains(names, value.Value(name)) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, false
	case len(names) == 1 && !isList:
		return names[0], true
	}
	return names, true
}

// required returns the names of the properties that a schema requires: those of its list, and those that
// say so themselves, as in draft 03.
func (m *mender) required(path []string, s *value.Dict) (names value.List) {
	given, ok := s.Get("required")
	list, isList := value.Elements(given)
	if isList {
		names = value.List{}
	}
	if _, is := given.(bool); ok && !isList && !is {
		m.leave(path, "required", "should be a list of names but is", given)
	}
	for k, v := range s.Dict("properties").OrEmpty().All() {
		if d, ok := v.(*value.Dict); ok && d.Bool("required") {
			list = append(list, k)
		}
	}
	for _, name := range list {
		if _, ok := name.(string); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// parts mends the schemas that a keyword holds.
func (m *mender) parts(path []string, name string, v value.Value, byName bool) (value.Value, bool) {
	list, isList := value.Elements(v)
	switch all := strings.HasSuffix(name, "Of") || name == "prefixItems"; {
	case byName:
		d, ok := v.(*value.Dict)
		if !ok {
			m.leave(path[:len(path)-1], name, "should be an object of schemas but is", v)
			return nil, false
		}
		out := value.MakeDict(d.Len())
		for k, part := range d.All() {
			key, _ := k.(string)
			if name == "patternProperties" && !m.is(aPattern, key) {
				m.leave(path, key, "should be "+aPattern+" but is", key)
				continue
			}
			if _, isNames := value.Elements(part); isNames && name == "dependencies" {
				out.Put(key, part)
				continue
			}
			out.Put(key, m.part(append(slices.Clone(path), key), part))
		}
		return out, true
	case isList && (all || name == "items"):
		if len(list) == 0 {
			return nil, false
		}
		return value.List(value.Map(list, func(part value.Value) value.Value { return m.part(path, part) })), true
	case all:
		m.leave(path[:len(path)-1], name, "should be a list of schemas but is", v)
		return nil, false
	}
	return m.part(path, v), true
}

// part mends a schema in another one. What is none allows everything.
func (m *mender) part(path []string, v value.Value) value.Value {
	switch v := v.(type) {
	case *value.Dict:
		return m.schema(path, v)
	case bool:
		return v
	}
	m.leave(path[:len(path)-1], path[len(path)-1], "should be a schema but is", v)
	return true
}

// refers reports whether a reference may name a part of the schema: a path that exists, or an anchor.
func (m *mender) refers(ref string) bool {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return m.named // New looks at nothing else
	}
	if fragment == "" || fragment[0] != '/' {
		return true
	}
	return pointed(m.root, fragment) != nil
}
