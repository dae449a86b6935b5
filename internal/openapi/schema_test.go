package openapi

import (
	"strings"
	"testing"
)

// TestKinds checks the type, the fields and the example of schemas.
func TestKinds(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^a+$"}`:                  `str|min_length = 2, max_length = 5, pattern = "^a+$"|"aa"`,
		`{"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}`:                                   `str|pattern = "^[A-Z]{2}-[0-9]{3}$"|"AA-000"`,
		`{"type": "string", "pattern": "^(?=a)b"}`:                                               `str||"text"`, // RE2 has no lookahead
		`{"type": "string", "pattern": "^$", "minLength": 3}`:                                    `str|min_length = 3|"text"`,
		`{"type": "string", "enum": ["a", "b", null, 1], "nullable": true}`:                      `str | None|enum = ["a", "b"]|"a"`,
		`{"type": "string", "format": "date", "default": "{{secret:A}}"}`:                        `str||"2026-01-02"`,
		`{"type": "integer", "minimum": 5, "exclusiveMinimum": true, "maximum": 9}`:              `int|min = 6, max = 9|6`,
		`{"type": "integer", "exclusiveMaximum": 0}`:                                             `int|max = -1|-1`,
		`{"type": "integer", "minimum": 9, "maximum": 5}`:                                        `int||1`,
		`{"type": "number", "example": 2.5}`:                                                     `float||2.5`,
		`{"type": "number", "example": "much"}`:                                                  `float||1`,
		`{"type": "boolean"}`:                                                                    `bool||True`,
		`{"type": ["string", "null"]}`:                                                           `str | None||"text"`,
		`{"type": "object", "default": {"type": ["null", "a"]}}`:                                 `dict||{"type": ["null", "a"]}`,
		`{"type": "object", "properties": {"const": {"type": "string"}}}`:                        `dict|properties = {"const": param("str", required = False)}|{"const": "text"}`,
		`{"type": "integer", "not": true, "exclusiveMinimum": 1` + strings.Repeat("0", 20) + `}`: `int||1`,
		`{"type": "integer", "examples": [7]}`:                                                   `int||7`,
		`{"type": ["string", "integer"]}`:                                                        `any||"text"`,
		`{"anyOf": [{"type": "integer"}, {"type": "null"}]}`:                                     `int | None||1`,
		`{"oneOf": [{"type": "integer"}, {"type": "string"}]}`:                                   `any||1`,
		`{"const": "x"}`: `str|enum = ["x"]|"x"`,
		`true`:           `any||"text"`,
		`{"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 3}}`:                                                         `list[int]|min_length = 2, items = param("int", min = 3)|[3, 3]`,
		`{"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}`:                                              `list[dict]|items = param("dict", properties = {"a": param("str", required = False)})|[{"a": "text"}]`,
		`{"allOf": [{"type": "object", "required": ["b"], "properties": {"a": {}}}, {"properties": {"b": {"type": "string", "title": "B"}}}]}`: `dict|properties = {"b": param("str", "B"), "a": param("any", required = False)}|{"a": "text", "b": "text"}`,
		`{"allOf": [{"properties": {"b": {"type": "string"}}}], "required": ["b"]}`:                                                            `dict|properties = {"b": param("str")}|{"b": "text"}`,
		`{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}`:                                            `dict|properties = {"a": param("str", required = False)}|{"a": "text"}`,
	} {
		root, err := parse(`{"schema": ` + schema + `}`)
		if err != nil {
			t.Fatal(err)
		}
		d := &Document{root: root, options: &Options{}}
		v, _ := root.Get("schema")
		s := d.plan(&Operation{Method: "GET"}, maxSchemas).shape(v, "", nil, 1)
		got := annotation(s.Type) + "|" + strings.Join(fieldsOf(s.Type), ", ") + "|" + literal(s.sample)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", schema, got, want)
		}
	}
}
