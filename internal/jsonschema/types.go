package jsonschema

import (
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// CheckTypes returns an error of kind Invalid if a schema or one of its subschemas has a type that
// JSON Schema does not have. [New] accepts such a schema, which no value matches: it may come from an
// author who cannot be asked.
func CheckTypes(schema *value.Dict) error {
	return walk(nil, schema, func(path []string, d *value.Dict) error {
		if v, ok := d.Get("type"); ok {
			return checkType(path, v)
		}
		return nil
	})
}

// Misspelled returns a text for each key of a schema that is not a keyword of JSON Schema and is
// spelled like one. Such a key has no effect.
func Misspelled(schema *value.Dict) (texts []string) {
	known := append(slices.Collect(maps.Keys(keywords)), strings.Fields("type enum const format title description default examples example deprecated "+
		"readOnly writeOnly nullable required minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern "+
		"minItems maxItems uniqueItems minContains maxContains minProperties maxProperties dependentRequired contentEncoding contentMediaType "+
		"discriminator $schema $comment $vocabulary")...)
	slices.Sort(known)
	_ = walk(nil, schema, func(path []string, d *value.Dict) error {
		for k := range d.All() {
			name, _ := k.(string)
			if near := value.Nearest(name, known); near != "" && near != name && !strings.HasPrefix(name, "x-") {
				texts = append(texts, "unknown keyword "+strings.Join(append(slices.Clone(path), value.Clean(name, 80)), ".")+`; did you mean "`+near+`"?`)
			}
		}
		return nil
	})
	return texts
}

// typeNames returns the types of JSON Schema.
func typeNames() []string {
	return []string{"string", "number", "integer", "boolean", "object", "array", "null"}
}

// walk calls visit with a schema and its subschemas, and the paths of keywords and names that lead to
// them, until visit returns an error.
func walk(path []string, d *value.Dict, visit func(path []string, d *value.Dict) error) error {
	if err := visit(path, d); err != nil {
		return err
	}
	for k, v := range d.All() {
		name, _ := k.(string)
		use, known := keywords[name]
		if !known {
			continue
		}
		for _, held := range heldSchemas(v, use.byName) {
			sub, ok := held.Value.(*value.Dict)
			if !ok {
				continue // true and false
			}
			at := append(slices.Clone(path), name)
			if key, ok := held.Key.(string); ok {
				at = append(at, key)
			}
			if err := walk(at, sub, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkType checks the value of the keyword type: a text, or a list of texts.
func checkType(path []string, v value.Value) error {
	types := typeNames()
	list, ok := value.Elements(v)
	if !ok {
		list = []value.Value{v}
	}
	for _, one := range list {
		name, _ := one.(string)
		if slices.Contains(types, name) {
			continue
		}
		near := value.DidYouMean(name, types)
		if other := TypeNamed(name); other != "" {
			near = `; did you mean "` + other + `"?`
		}
		return value.Errorf(value.Invalid, "unknown type %s in %s%s", value.Clean(value.FormatJSON(one, ""), 80), strings.Join(append(path, "type"), "."), near).
			WithHint("the types are %s", strings.Join(types, ", "))
	}
	return nil
}
