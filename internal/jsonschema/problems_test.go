package jsonschema

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestProblems gives values that do not match a schema, and the reasons that are told.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ schema, v, want string }{
		{`{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["a","b"],"additionalProperties":false}`,
			`{"n":0,"a":1,"x":true}`, "lacks the required field 'b'\nn must be >= 1 (got 0)\na should be string but got number\nhas the unknown field 'x'"},
		{`{"items":{"properties":{"kind":{"enum":["x","y"]}},"required":["kind"]}}`, `[{"kind":"x"},{"kind":"z"},{}]`, "[1].kind must be one of: x, y (got z)\n[2] lacks the required field 'kind'"},
		{`{"prefixItems":[{"type":"string"},{"const":{"a":1}}],"items":false}`, `[1,{"a":2},3]`, "[0] should be string but got number\n[1] must be {\"a\":1} (got {\"a\":2})\n[2] is not allowed"},
		{`{"type":["string","null"],"maxLength":2,"pattern":"^a"}`, `"bcd"`, "must have at most 2 characters (got 3)\nmust match pattern: ^a"},
		{`{"type":["string","null"]}`, `1.5`, "should be string or null but got number"},
		{`{"exclusiveMinimum":1,"maximum":3}`, `1`, "must be > 1 (got 1)"},
		{`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`, `"a"`, "should be integer or boolean but got string"},
		{`{"anyOf":[{"type":"string","minLength":3},{"type":"array"}]}`, `"a"`, "must have at least 3 characters (got 1)"},
		{`{"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},{"properties":{"kind":{"const":"b"}},"required":["kind"]}]}`, `{"kind":"a","x":1}`,
			"x should be string but got number"},
		{`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `3`, "must match exactly one of 2 alternatives, but matches number 1 and number 2"},
		{`{"anyOf":[{"minLength":3},{"pattern":"x"}]}`, `"a"`, "matches none of 2 alternatives: must have at least 3 characters (got 1); or must match pattern: x"},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, "lacks the required field 'a'\nlacks the required field 'b'"},
		{`{"not":{"type":"string"}}`, `"a"`, `must not match {"type":"string"}`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, "lacks the required field 'b'"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, "lacks the required field 'c'"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "must have b, because it has a"},
		{`{"minProperties":2}`, `{"a":1}`, "must have at least 2 properties (got 1)"},
		{`{"uniqueItems":true,"minItems":4}`, `[1,2,1]`, "must have at least 4 items (got 3)\nmust not have equal items ([0] and [2])"},
		{`{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":{"type":"integer"}}`, `{"x-a":1,"b":"c"}`, "x-a should be string but got number\nb should be integer but got string"},
		{`{"$ref":"#/$defs/node","$defs":{"node":{"properties":{"next":{"$ref":"#/$defs/node"},"v":{"type":"integer"}}}}}`, `{"next":{"next":{"v":"x"}}}`, "next.next.v should be integer but got string"},
		{`{"multipleOf":0.1}`, `0.35`, "must be a multiple of 0.1 (got 0.35)"},
		{`{"contains":{"type":"string"},"minContains":2}`, `["a",1]`, `must have at least 2 items that match {"type":"string"} (got 1)`},
		{`{"propertyNames":{"pattern":"^a"}}`, `{"ab":1,"b":2}`, "has a field with an invalid name: 'b' must match pattern: ^a"},
		{`{"$ref":"#"}`, `1`, ""},
		{`{"type":"string"}`, `"a"`, ""},
		{`false`, `1`, "is not allowed"},
	} {
		v, err := value.ParseJSON([]byte(c.v))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := value.ParseJSON([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		s := Schema{root: schema}
		var got []string
		for _, p := range s.Problems(v, 50) {
			got = append(got, p.String())
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s of %s:\n%s\nwant\n%s", c.schema, c.v, text, c.want)
		}
		if first := s.Problems(v, 1); len(got) > 0 && (len(first) != 1 || first[0].String() != got[0]) {
			t.Errorf("%s of %s: the first problem is %v", c.schema, c.v, first)
		}
	}
}

// TestProblemsAreReal compares the explanations with the JSON-Schema-Test-Suite: none is given for a valid
// value, and most invalid ones have one.
func TestProblemsAreReal(t *testing.T) {
	explained, all := 0, 0
	for _, g := range suite(t) {
		s, err := New(g.Schema, nil)
		if err != nil {
			continue
		}
		for _, test := range g.Tests {
			v, err := value.ParseJSON(test.Data)
			if err != nil {
				t.Fatal(err)
			}
			problems := s.Problems(v, 5)
			if valid := s.Check(v) == nil; valid && len(problems) > 0 {
				t.Errorf("%s: %s: %s: %s is valid, but: %v", g.file, g.Description, test.Description, test.Data, problems)
			} else if !valid {
				all++
				if len(problems) > 0 {
					explained++
				}
			}
		}
	}
	t.Logf("%d of %d invalid values are explained", explained, all)
	if 10*explained < 7*all { // the rest is of unevaluatedProperties and other keywords that servers hardly use
		t.Errorf("only %d of %d invalid values are explained", explained, all)
	}
}

// FuzzProblems explains any value with any schema, in bounded time.
func FuzzProblems(f *testing.F) {
	f.Add(`{"$ref":"#/a","a":{"allOf":[{"$ref":"#/a"},{"$ref":"#/a"}]}}`, `1`)
	f.Add(`{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"type":"string"}]}`, `[[[1]]]`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		s, err := value.ParseJSON([]byte(schema))
		if err != nil {
			t.Skip()
		}
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Skip()
		}
		if problems := (&Schema{root: s}).Problems(v, 50); len(problems) > 50 {
			t.Errorf("%d problems", len(problems))
		}
	})
}
