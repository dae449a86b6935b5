package jsonschema

import (
	"slices"
	"strings"
)

// TypeNamed returns the type that a schema means by a name of another language, in any case, such
// as "string" for String and "object" for HashMap. It returns "" for an unknown name.
func TypeNamed(name string) string {
	for _, known := range []struct{ is, names string }{
		{"string", "string str char character text"},
		{"boolean", "boolean bool"},
		{"integer", "integer int long short byte bigint biginteger"},
		{"number", "number float double decimal bigdecimal"},
		{"array", "array list tuple set arraylist linkedlist vector hashset"},
		{"object", "object dict map hashmap hashtable dictionary"},
	} {
		if slices.Contains(strings.Fields(known.names), strings.ToLower(name)) {
			return known.is
		}
	}
	return ""
}
