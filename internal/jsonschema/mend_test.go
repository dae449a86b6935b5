package jsonschema

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func parseDict(t *testing.T, text string) *value.Dict {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	d, ok := v.(*value.Dict)
	if err != nil || !ok {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// TestMend gives schemas as servers write them, what is left of them, and what is reported.
func TestMend(t *testing.T) {
	for _, c := range []struct{ name, schema, want, left string }{
		{"nothing to do", `{"type":"object","properties":{"a":{"type":["string","null"],"pattern":"^a"}},"required":["a"],"additionalProperties":false}`, "", ""},
		{"a pattern with lookahead", `{"type":"string","pattern":"^(?!a)b"}`, `{"type":"string"}`, `pattern should be a pattern that Go can read (RE2) but is: "^(?!a)b"`},
		{"deep inside", `{"properties":{"a":{"items":{"pattern":"(?=x)"}}}}`, `{"properties":{"a":{"items":{}}}}`, "properties.a.items.pattern should"},
		{"a pattern of names", `{"patternProperties":{"(?!a)":{},"^b":{}}}`, `{"patternProperties":{"^b":{}}}`, "patternProperties.(?!a) should"},
		{"draft 04", `{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`, `{"type":"integer","exclusiveMinimum":1,"maximum":9}`, ""},
		{"draft 04 without a bound", `{"exclusiveMaximum":true}`, `{}`, ""},
		{"draft 03", `{"type":"object","properties":{"a":{"type":"string","required":true},"b":{"required":false}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a"]}`, ""},
		{"an empty type", `{"type":""}`, `{}`, `type is unknown: ""`},
		{"a type of Python", `{"type":"str"}`, `{"type":"string"}`, ""},
		{"types that are one", `{"type":["int","integer","null"]}`, `{"type":["integer","null"]}`, ""},
		{"no type that exists", `{"type":"date"}`, `{}`, `type is unknown: "date"`},
		{"a type that is a schema", `{"type":{"type":"string"}}`, `{}`, "type is unknown"},
		{"nullable", `{"type":"string","nullable":true}`, `{"type":["string","null"]}`, ""},
		{"not nullable", `{"type":"string","nullable":false}`, `{"type":"string"}`, ""},
		{"a parameter called required", `{"properties":{"required":{"type":"boolean"}},"required":["required"]}`, "", ""},
		{"a parameter called type", `{"properties":{"type":{"enum":["a"]},"pattern":{"type":"string"}}}`, "", ""},
		{"required twice", `{"required":["a","a",1]}`, `{"required":["a"]}`, ""},
		{"required as a text", `{"required":"a"}`, `{}`, "required should be a list of names"},
		{"no values", `{"enum":[]}`, `{}`, "enum should be a list of values but is: []"},
		{"one value", `{"enum":"a"}`, `{}`, "enum should be"},
		{"a tuple", `{"items":[{"type":"str"},true],"additionalItems":false}`, `{"prefixItems":[{"type":"string"},true],"items":false}`, ""},
		{"a tuple of draft 07", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"additionalItems":false}`, "", ""},
		{"schemas that are none", `{"properties":{"a":null,"b":"string"},"items":1,"anyOf":[null]}`, `{"properties":{"a":true,"b":true},"items":true,"anyOf":[true]}`, "properties.a should be a schema but is: null"},
		{"properties as a list", `{"properties":[{"name":"a"}]}`, `{}`, "properties should be an object of schemas"},
		{"anyOf as an object", `{"anyOf":{"type":"string"}}`, `{}`, "anyOf should be a list of schemas"},
		{"no variants", `{"oneOf":[]}`, `{}`, ""},
		{"numbers as texts", `{"minimum":"1","maxLength":"3","minItems":-1,"multipleOf":null}`, `{}`, "minimum should be a number but is"},
		{"a description that is none", `{"description":["a"],"title":1,"format":null}`, `{}`, "description should be a text"},
		{"references", `{"$defs":{"a":{"type":"int"},"b~/c":{}},"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b~0~1c"},{"$ref":"#"},{"$ref":"#anchor"}]}`,
			`{"$defs":{"a":{"type":"integer"},"b~/c":{}},"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b~0~1c"},{"$ref":"#"},{"$ref":"#anchor"}]}`, ""},
		{"a reference to nothing", `{"items":{"$ref":"#/$defs/a"}}`, `{"items":{}}`, "items.$ref refers to nothing in the schema"},
		{"a reference to elsewhere", `{"$ref":"https://example.com/a.json"}`, `{}`, "$ref refers to nothing"},
		{"a reference to an item", `{"anyOf":[{}],"not":{"$ref":"#/anyOf/0"},"if":{"$ref":"#/anyOf/1"}}`, `{"anyOf":[{}],"not":{"$ref":"#/anyOf/0"},"if":{}}`, "if.$ref refers"},
	} {
		schema := parseDict(t, c.schema)
		got, left := Mend(schema)
		want := c.want
		if want == "" {
			want = c.schema
		}
		if !value.EqualJSON(got, parseDict(t, want)) {
			t.Errorf("%s: %s\nwant %s", c.name, got, want)
		}
		if text := strings.Join(left, "\n"); (c.left == "") != (text == "") || !strings.Contains(text, c.left) {
			t.Errorf("%s: left out %q, want %q", c.name, left, c.left)
		}
		if !value.EqualJSON(schema, parseDict(t, c.schema)) {
			t.Errorf("%s: the schema itself was changed: %s", c.name, schema)
		}
		if again, left := Mend(got); !value.EqualJSON(again, got) || len(left) > 0 {
			t.Errorf("%s: mended again: %s, %q", c.name, again, left)
		}
	}
}

// TestMendKeeps mends the schemas of the JSON-Schema-Test-Suite: patterns, references and an enum without
// values apart, nothing is left out, and they mean the same.
func TestMendKeeps(t *testing.T) {
	total := 0
	for _, g := range suite(t) {
		v, err := value.ParseJSON(g.Schema)
		d, ok := v.(*value.Dict)
		if err != nil || !ok {
			continue // true and false
		}
		total++
		got, left := Mend(d)
		for _, what := range left {
			if !strings.Contains(what, "$ref") && !strings.Contains(what, "RE2") && g.Description != "empty enum" {
				t.Errorf("%s: %s: %s", g.file, g.Description, what)
			}
		}
		if len(left) == 0 && !value.EqualJSON(got, d) {
			t.Errorf("%s: %s: %s\nwant %s", g.file, g.Description, got, d)
		}
	}
	t.Logf("%d schemas", total)
}
