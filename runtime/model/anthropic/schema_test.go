package anthropic

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestOutputSchema(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"an object", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"limits", `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"description":"how many"},"s":{"type":"string","minLength":2,"format":"uri"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"n":{"type":"integer","description":"how many\n\n{minimum: 1}"},"s":{"type":"string","format":"uri","description":"{minLength: 2}"}},"additionalProperties":false}`},
		{"an array", `{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":5}`, `{"type":"array","items":{"type":"number"},"minItems":1,"description":"{maxItems: 5}"}`},
		{"more items", `{"type":"array","items":{"type":"number"},"minItems":2}`, `{"type":"array","items":{"type":"number"},"description":"{minItems: 2}"}`},
		{"two types", `{"type":["string","null"],"maxLength":3}`, `{"anyOf":[{"type":"string","description":"{maxLength: 3}"},{"type":"null"}]}`},
		{"an enum", `{"enum":["a","b",null],"default":"a"}`, `{"enum":["a","b",null]}`},
		{"a constant", `{"const":3,"title":"T"}`, `{"const":3,"title":"T"}`},
		{"one of", `{"oneOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"null"}}}]}`,
			`{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false}]}`},
		{"a definition", `{"$defs":{"p":{"type":"string","pattern":"^a"}},"type":"object","properties":{"a":{"$ref":"#/$defs/p"},"b":{"$ref":"#/$defs/p"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/p"},"b":{"$ref":"#/$defs/p"}},"additionalProperties":false,"$defs":{"p":{"type":"string","description":"{pattern: \"^a\"}"}}}`},
		{"an old definition", `{"definitions":{"p":{"type":"string"}},"$ref":"#/definitions/p"}`, `{"$ref":"#/$defs/p","$defs":{"p":{"type":"string"}}}`},
		{"recursion", `{"$defs":{"t":{"type":"object","properties":{"next":{"$ref":"#/$defs/t"}}}},"$ref":"#/$defs/t"}`, ""},
		{"recursion through the root", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, ""},
		{"an open object", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, ""},
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		{"any object", `{"type":"object"}`, ""},
		{"an empty object", `{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`},
		{"anything", `{}`, ""},
		{"anything inside", `{"type":"object","properties":{"a":true}}`, ""},
		{"all of", `{"allOf":[{"type":"object","properties":{}},{"type":"object","properties":{}}]}`, ""},
		{"a tuple", `{"type":"array","prefixItems":[{"type":"string"}]}`, ""},
		{"values that are lists", `{"enum":[[1]]}`, ""},
		{"another file", `{"$ref":"other.json"}`, ""},
		{"an unknown type", `{"type":"money"}`, ""},
	}
	for _, test := range tests {
		v, err := value.ParseJSON([]byte(test.in))
		if err != nil {
			t.Fatal(err)
		}
		before := value.FormatJSON(v, "")
		got := ""
		if d, ok := outputSchema(v.(*value.Dict)); ok {
			got = d.String()
		}
		if got != test.want {
			t.Errorf("%s: got  %s\nwant %s", test.name, got, test.want)
		}
		if value.FormatJSON(v, "") != before {
			t.Errorf("%s: the schema was changed", test.name)
		}
	}
}

func TestFamilies(t *testing.T) {
	tests := []struct {
		name   string
		thinks thinking
		forced bool
	}{
		{"claude-3-5-haiku-20241022", thinksNever, true},
		{"claude-sonnet-4-20250514", thinksBudget, true},
		{"claude-opus-4-1@20250805", thinksBudget, true},
		{"claude-opus-4-6", thinksAsked, true},
		{"us.anthropic.claude-opus-4-6-v1:0", thinksAsked, true},
		{"anthropic/claude-sonnet-4.5", thinksBudget, true},
		{"claude-opus-5", thinksAlways, true},
		{"claude-opus-5-20260901", thinksAlways, true},
		{"claude-opus-5-5", thinksAlways, false},
		{"claude-opus-5-6", thinksAlways, false}, // not the family of claude-opus-5
		{"claude-opus-4-9", thinksAlways, false},
		{"claude-haiku-7", thinksAlways, false},
		{"gpt-oss", thinksAsked, true},
	}
	for _, test := range tests {
		if f := familyOf(test.name); f.thinks != test.thinks || f.forced != test.forced {
			t.Errorf("familyOf(%q) = %+v, want thinking %d and forced %t", test.name, f, test.thinks, test.forced)
		}
	}
}
