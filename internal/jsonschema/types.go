package jsonschema

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// CheckTypes returns an error of kind Invalid if a schema or one of its subschemas has a type that
// JSON Schema does not have. [New] accepts such a schema, which no value matches: it may come from an
// author who cannot be asked.
func CheckTypes(schema *value.Dict) error { return checkTypes(nil, schema) }

// typeNames returns the types of JSON Schema.
func typeNames() []string {
	return []string{"string", "number", "integer", "boolean", "object", "array", "null"}
}

// checkTypes checks the schema that a path of keywords and names leads to.
func checkTypes(path []string, d *value.Dict) error {
	for k, v := range d.All() {
		name, _ := k.(string)
		if name == "type" {
			if err := checkType(path, v); err != nil {
				return err
			}
		}
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
			if err := checkTypes(at, sub); err != nil {
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
