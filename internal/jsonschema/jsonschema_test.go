package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// suiteDir holds the JSON-Schema-Test-Suite, which is beside the project and not part
// of it.
const suiteDir = "../../../shared/data/json-schema-test-suite"

// suiteMisses are the required tests of draft 2020-12 that the library fails.
var suiteMisses = []string{
	// The metaschema is remote; the suite expects it to be available.
	"defs: validate definition against metaschema: valid definition schema",
	"defs: validate definition against metaschema: invalid definition schema",
	"ref: remote ref, containing refs itself: remote ref valid",
	"ref: remote ref, containing refs itself: remote ref invalid",
	// An unknown dialect is read as draft 2020-12.
	"vocabulary: schema that uses custom metaschema with with no validation vocabulary: no validation: invalid number, but it still validates",
}

// A suiteGroup is a schema of the suite with its tests, from a file without its suffix.
type suiteGroup struct {
	file        string
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// suite returns the required tests of draft 2020-12.
func suite(t *testing.T) (all []suiteGroup) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suiteDir, "tests/draft2020-12/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the JSON-Schema-Test-Suite is not beside the project")
	}
	for _, file := range files {
		var groups []suiteGroup
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &groups)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			g.file = strings.TrimSuffix(filepath.Base(file), ".json")
			all = append(all, g)
		}
	}
	return all
}

func TestJSONSchemaSuite(t *testing.T) {
	total := 0
	var misses []string
	for _, g := range suite(t) {
		c, err := New(g.Schema, loadSuiteRemote)
		for _, tt := range g.Tests {
			total++
			name := fmt.Sprintf("%s: %s: %s", g.file, g.Description, tt.Description)
			if err != nil {
				misses = append(misses, name)
				if !slices.Contains(suiteMisses, name) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if got := checkJSON(c, tt.Data); (got == nil) != tt.Valid {
				misses = append(misses, name)
				if !slices.Contains(suiteMisses, name) {
					t.Errorf("%s: Check(%s) = %v, want valid: %v", name, tt.Data, got, tt.Valid)
				}
			}
		}
	}
	t.Logf("%d of %d right", total-len(misses), total)
	if total != 1299 {
		t.Errorf("read %d tests, want 1299", total)
	}
	for _, name := range suiteMisses {
		if !slices.Contains(misses, name) {
			t.Errorf("%s: is right now; take it off the list", name)
		}
	}
}

// loadSuiteRemote serves the suite's remote schemas.
func loadSuiteRemote(uri string) ([]byte, error) {
	path, ok := strings.CutPrefix(uri, "http://localhost:1234/")
	if !ok {
		return nil, fmt.Errorf("no such schema: %s", uri)
	}
	return os.ReadFile(filepath.Join(suiteDir, "remotes", filepath.FromSlash(path)))
}

func TestSchemaRemoteIsRefused(t *testing.T) {
	for _, schema := range []string{
		`{"$ref": "http://example.com/s.json"}`,
		`{"$ref": "https://json-schema.org/draft/2020-12/schema"}`,
		`{"$ref": "file:///etc/passwd"}`,
		`{"properties": {"a": {"items": {"$ref": "other.json#/x"}}}}`,
		`{"$dynamicRef": "http://example.com/s.json#a"}`,
		`{"$id": "http://example.com/a", "$ref": "b"}`,
		`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "http://json-schema.org/draft-07/schema#"}`,
	} {
		_, err := New([]byte(schema), nil)
		if err == nil || !strings.Contains(err.Error(), "remote schemas are not supported") || value.KindOf(err) != value.Invalid {
			t.Errorf("%s: got %v, want that remote schemas are not supported", schema, err)
		}
	}
}

func TestSchemaChecker(t *testing.T) {
	tests := []struct{ name, schema, data, want string }{
		{"fits", `{"type":"object","required":["a"]}`, `{"a":1}`, ""},
		{"misses", `{"type":"object","required":["a"]}`, `{}`, `required: missing properties: ["a"]`},
		{"inside", `{"properties":{"a":{"type":"string"}}}`, `{"a":1}`, `/properties/a: should be string but got integer`},
		{"extra", `{"additionalProperties":false}`, `{"a":1}`, `unexpected additional properties ["a"]`},
		{"true", `true`, `{"a":1}`, ""},
		{"false", `false`, `1`, "not: validated against"},
		{"3.0 is an integer", `{"type":"integer"}`, `3.0`, ""},
		{"integers are exact", `{"maximum":9007199254740992}`, `9007199254740993`, "maximum: 9007199254740993/1 is greater than"},
		{"integers beyond int64", `{"type":"integer"}`, `18446744073709551616`, ""},
		{"a type of two", `{"type":["integer","boolean"]}`, `{"b":" has type \"null\", want \"x\""}`, "should be one of integer, boolean but got object"},
		{"one of", `{"properties":{"n":{"anyOf":[{"type":"integer"},{"minLength":2}]}}}`, `{"n":"x"}`,
			`/properties/n: anyOf: no schema matches; /properties/n/anyOf/0: should be integer but got string; /properties/n/anyOf/1: minLength: "x"`},
		{"broken JSON", `{}`, `{"a":`, "invalid JSON at line 1, column 6"},
		{"a key twice", `{}`, `{"a":1,"a":2}`, `the name "a" is given twice`},
		{"recursion", `{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}},"$ref":"#/$defs/n"}`, `{"next":{"next":{"v":"x"}}}`, `/$defs/n/properties/v: should be integer but got string`},
		{"a long value is not quoted in full", `{"enum":["a"]}`, `"` + strings.Repeat("x", 10_000) + `"`, "…"},
		{"draft 07 without #", `{"$schema":"http://json-schema.org/draft-07/schema","type":"string"}`, `1`, "should be string but got integer"},
		{"a dialect of its own", `{"$schema":"http://example.com/own","type":"string"}`, `1`, "should be string but got integer"},
		{"draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"string"}`, `1`, "should be string but got integer"},
		{"draft 07", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$id":"#a","type":"string"}},"properties":{"x":{"$ref":"#a"}}}`, `{"x":1}`, "should be string but got integer"},
	}
	for _, tt := range tests {
		c, err := New([]byte(tt.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		err = checkJSON(c, []byte(tt.data))
		switch {
		case err == nil && tt.want != "", err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %.600v, want %q", tt.name, err, tt.want)
		case err != nil && (value.KindOf(err) != value.Invalid || len(err.Error()) > 1000):
			t.Errorf("%s: kind %d and %d bytes, want kind %d and at most 1000", tt.name, value.KindOf(err), len(err.Error()), value.Invalid)
		}
	}
}

func TestNewSchemaCheckerRefuses(t *testing.T) {
	for _, schema := range []string{
		``, `1`, `"a"`, `[]`, `{"type":3}`, `{"type":"object"`, `{"a":1,"a":2}`, `{"properties":[]}`, `{"pattern":"("}`, `{"pattern":"(?=a)"}`,
		`{"$REF":"#"}`, `{"not":{"\u017fchema":1,"AllOf":[]}}`, `{"$defs":{"a":{"$id":"http://a/b"},"b":{"$id":"http://a/b","$ref":"http://a/b"}}}`,
		`{"$defs":{"a":{"$anchor":"x"},"b":{"$dynamicAnchor":"x"}}}`, `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$id":"#x"},"b":{"$id":"#x"}}}`,
		`{"$ref":"#/$defs/none"}`, `{"$ref":"#none"}`, `{"$ref":"%"}`, `{"$id":"%"}`, `{"$id":"#a"}`, `{"minLength":"a"}`, `{"required":"a"}`,
		`{"$comment":"` + strings.Repeat("x", MaxSize) + `"}`,
		strings.Repeat(`{"not":`, value.MaxDepth+1) + `true` + strings.Repeat(`}`, value.MaxDepth+1),
	} {
		if _, err := New([]byte(schema), nil); err == nil {
			t.Errorf("NewSchemaChecker(%.60s) = nil, want an error", schema)
		} else if k := value.KindOf(err); k != value.Invalid && k != value.Limit {
			t.Errorf("NewSchemaChecker(%.60s) = %v of kind %d", schema, err, k)
		}
	}
}

// A hostile schema must neither end the program, as an endless $ref would by
// overflowing the stack, nor keep it busy.
func TestSchemaHostile(t *testing.T) {
	chain := func(n int, link string) string { // a to b, b to c …
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/s0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"s%d":%s,`, i, strings.ReplaceAll(link, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/s%d"}`, i+1)))
		}
		fmt.Fprintf(&b, `"s%d":{}}}`, n)
		return b.String()
	}
	nested := strings.Repeat(`{"a":`, value.MaxDepth-1) + "{}" + strings.Repeat("}", value.MaxDepth-1)
	wide := `{"a":"` + strings.Repeat("x", 100_000) + `"}`
	tests := []struct {
		name, schema, data string
		limit              value.LimitName
	}{
		{"itself", `{"$ref":"#"}`, `1`, ""},
		{"itself, by its name", `{"$id":"http://a/b","$ref":"b"}`, `1`, ""},
		{"itself, by an anchor", `{"$anchor":"x","$ref":"#x"}`, `1`, ""},
		{"itself, dynamically", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, `1`, ""},
		{"each other", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `1`, ""},
		{"through allOf", `{"allOf":[{"$ref":"#"}]}`, `1`, ""},
		{"through not", `{"not":{"$ref":"#"}}`, `1`, ""},
		{"through if", `{"if":{"$ref":"#"}}`, `1`, ""},
		{"through dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, `{"a":1}`, ""},
		{"in draft 07", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://a/b#c","definitions":{"a":{"$id":"#x","allOf":[{"$ref":"#x"}]}},"$ref":"#/definitions/a"}`, `1`, ""},
		{"deep inside", `{"properties":{"a":{"items":{"anyOf":[{"$ref":"#/properties/a/items"}]}}}}`, `{"a":[1]}`, ""},
		{"twice and twice again", chain(40, `{"allOf":[NEXT,NEXT]}`), `1`, "steps"},
		{"a long way", chain(7_000, `NEXT`), `1`, "depth"},
		{"twice at each level of the value", `{"$defs":{"n":{"properties":{"a":{"$ref":"#"}}}},"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}`, nested, "steps"},
		{"many that quote a long value", `{"properties":{"a":{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/n"},`, 5000) + `false]}},"$defs":{"n":{"type":"integer"}}}`, wide, "steps"},
	}
	for _, tt := range tests {
		c, err := New([]byte(tt.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		err = checkJSON(c, []byte(tt.data))
		var e *value.Error
		if !errors.As(err, &e) || e.Limit != tt.limit || (tt.limit == "") != strings.Contains(err.Error(), "has an endless reference to itself") {
			t.Errorf("%s: got %v, want the limit %q, or that it refers to itself", tt.name, err, tt.limit)
		}
	}
	harmless := []struct{ name, schema, data string }{
		{"a loop that no value reaches", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"b":1}`},
		{"a tree", `{"$defs":{"n":{"properties":{"kids":{"items":{"$ref":"#/$defs/n"}}}}},"$ref":"#/$defs/n"}`, `{"kids":[{"kids":[]},{"kids":[{}]}]}`},
		{"one of many", `{"$defs":{"e":{"anyOf":[{"type":"integer"},{"properties":{"l":{"$ref":"#/$defs/e"},"r":{"$ref":"#/$defs/e"}}},{"type":"string"}]}},"$ref":"#/$defs/e"}`, `{"l":{"l":1,"r":2},"r":{"l":"a","r":{"l":3,"r":4}}}`},
		{"a long value", `{"properties":{"a":{"type":"string"}}}`, `{"a":"` + strings.Repeat("x", 8<<20) + `"}`},
	}
	for _, tt := range harmless {
		c, err := New([]byte(tt.schema), nil)
		if err == nil {
			err = checkJSON(c, []byte(tt.data))
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func FuzzSchemaChecker(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"enum":[1,"a",null]}}}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"$dynamicAnchor":"n","anyOf":[{"type":"integer"},{"items":{"$dynamicRef":"#n"}}]}`), []byte(`[[1],[[2]]]`))
	f.Add([]byte(`{"$id":"http://a/b","$ref":"b#/not","not":{"multipleOf":0}}`), []byte(`1`))
	f.Add([]byte(`{"uniqueItems":true,"contains":{"const":{"a":[]}},"prefixItems":[true,{"pattern":"^a"}],"unevaluatedItems":false}`), []byte(`["a",{"a":[]}]`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"$ref":"#"}},"if":true,"then":false}`), []byte(`{"c":{}}`))
	f.Add([]byte(`{"propertyNames":{"maxLength":1},"patternProperties":{"a":{"minimum":1e308}},"unevaluatedProperties":{"type":["null","string"]}}`), []byte(`{"ab":2}`))
	f.Fuzz(func(t *testing.T, schema, data []byte) {
		c, err := New(schema, nil)
		if err != nil {
			return
		}
		_ = checkJSON(c, data) // must neither panic nor overflow the stack
	})
}

// checkJSON checks a value, given as JSON, against a schema.
func checkJSON(c *Schema, data []byte) error {
	v, err := value.ParseJSON(data)
	if err != nil {
		return err
	}
	return c.Check(v)
}

// TestCheckTypes checks which schemas have unknown types.
func TestCheckTypes(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                           "",
		`{"type": ["string", "null"]}`: "",
		`{"const": {"type": "anything"}, "properties": {"type": {"type": "string"}}}`: "",
		`{"type": "objekt"}`:                                     `unknown type "objekt" in type; did you mean "object"?`,
		`{"type": ["string", "int"]}`:                            `unknown type "int" in type; did you mean "integer"?`,
		`{"type": 3}`:                                            `unknown type 3 in type`,
		`{"items": {"anyOf": [{"type": "str"}]}}`:                `unknown type "str" in items.anyOf.type; did you mean "string"?`,
		`{"properties": {"a": {"items": {"type": "strng"}}}}`:    `unknown type "strng" in properties.a.items.type; did you mean "string"?`,
		`{"$defs": {"a": {"type": "x"}}}`:                        `unknown type "x" in $defs.a.type`,
		`{"additionalProperties": {"not": {"type": "Boolean"}}}`: `unknown type "Boolean" in additionalProperties.not.type; did you mean "boolean"?`,
	} {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := CheckTypes(v.(*value.Dict)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("CheckTypes(%s) = %q, want %q", text, got, want)
		}
	}
}

// TestMisspelled checks which keys are taken for misspelled keywords.
func TestMisspelled(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "object", "required": [], "properties": {"propertys": {"minimum": 1}}, "$defs": {}}`: "",
		`{"typ": "object"}`:                               `unknown keyword typ; did you mean "type"?`,
		`{"x-type": 1, "author": "me"}`:                   "",
		`{"properties": {"a": {"items": {"enums": []}}}}`: `unknown keyword properties.a.items.enums; did you mean "enum"?`,
	} {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Misspelled(v.(*value.Dict)), "; "); got != want {
			t.Errorf("Misspelled(%s) = %q, want %q", text, got, want)
		}
	}
}
