package tool

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestReadArgs gives the arguments of calls as clients write them.
func TestReadArgs(t *testing.T) {
	object := Type{Name: TypeObject, Fields: []Param{{Name: "n", Type: Type{Name: TypeInteger}}, {Name: "t", Type: Type{Name: TypeString}}}}
	declared := Tool{Name: "f", Params: []Param{
		{Name: "list", Aliases: []string{"items"}, Type: Type{Name: TypeArray, Items: &Type{Name: TypeString}}},
		{Name: "numbers", Type: Type{Name: TypeArray, Items: &Type{Name: TypeInteger}}},
		{Name: "map", Type: Type{Name: TypeObject, Values: &Type{Name: TypeInteger}}},
		{Name: "object", Type: object},
		{Name: "objects", Type: Type{Name: TypeArray, Items: &object}},
		{Name: "n", Type: Type{Name: TypeInteger}}, {Name: "x", Type: Type{Name: TypeNumber}}, {Name: "yes", Type: Type{Name: TypeBoolean}},
		{Name: "text", Type: Type{Name: TypeString}}, {Name: "any", Type: Type{Name: TypeAny}},
	}}
	raw := Tool{Name: "f", Schema: []byte(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"},"text":{"type":"string"},` +
		`"either":{"anyOf":[{"type":"string","maxLength":3},{"type":"array"}]}}}`)}
	for _, c := range []struct {
		tool       *Tool
		caller     Caller
		args, want string // "" is an error
	}{
		{&declared, ByModel, `{"list":["[1]"]}`, `{"list":["[1]"]}`},
		{&declared, ByModel, `{"list":"[\"a\", \"b\"]"}`, `{"list":["a","b"]}`},
		{&declared, ByModel, `{"items":"[\"a\"]"}`, `{"list":["a"]}`},
		{&declared, ByModel, `{"list":"[]"}`, `{"list":[]}`},
		{&declared, ByModel, `{"list":"a,b"}`, ""},
		{&declared, ByModel, `{"list":"[\"a\", 1]"}`, ""},
		{&declared, ByModel, `{"list":"{}"}`, ""},
		{&declared, ByModel, `{"numbers":["1","2"]}`, `{"numbers":[1,2]}`},
		{&declared, ByModel, `{"numbers":"[\"1\", 2]"}`, `{"numbers":[1,2]}`},
		{&declared, ByModel, `{"map":"{\"a\": 1}"}`, `{"map":{"a":1}}`},
		{&declared, ByModel, `{"map":"[]"}`, ""},
		{&declared, ByModel, `{"object":"{\"n\": \"3\", \"t\": \"4\"}"}`, `{"object":{"n":3,"t":"4"}}`},
		{&declared, ByModel, `{"objects":["{\"n\": 1}"]}`, `{"objects":[{"n":1}]}`},
		{&declared, ByModel, `{"n":"2"}`, `{"n":2}`},
		{&declared, ByModel, `{"n":" 2 "}`, `{"n":2}`},
		{&declared, ByModel, `{"n":"2.0"}`, `{"n":2}`},
		{&declared, ByModel, `{"n":"2.5"}`, ""},
		{&declared, ByModel, `{"n":"two"}`, ""},
		{&declared, ByModel, `{"n":"\"2\""}`, ""},
		{&declared, ByModel, `{"n":"true"}`, ""},
		{&declared, ByModel, `{"x":"1e3"}`, `{"x":1000.0}`},
		{&declared, ByModel, `{"yes":"true"}`, `{"yes":true}`},
		{&declared, ByModel, `{"yes":"yes"}`, ""},
		{&declared, ByModel, `{"yes":"1"}`, ""},
		{&declared, ByModel, `{"text":"[1]","any":"[1]","n":"1"}`, `{"n":1,"text":"[1]","any":"[1]"}`},
		{&declared, ByModel, `{"n":"1","list":"a"}`, ""},
		{&declared, ByScript, `{"n":"2"}`, ""},
		{&declared, ByPerson, `{"n":"2","list":"[\"a\"]"}`, `{"list":["a"],"n":2}`},
		{&declared, ByPerson, `{"n":"two"}`, ""},
		{&raw, ByModel, `{"list":"[\"a\"]","n":"3","text":"[1]"}`, `{"list":["a"],"n":3,"text":"[1]"}`},
		{&raw, ByModel, `{"either":"[1]"}`, `{"either":"[1]"}`},
		{&raw, ByModel, `{"list":"[1]"}`, ""},
	} {
		v, err := value.ParseJSON([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		args := v.(*value.Dict)
		got, notes, err := c.tool.ReadArgs(&Call{Tool: "f", Args: args, Caller: c.caller})
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "Tool input validation failed") || got != nil || notes != nil {
				t.Errorf("%s: %s, %q, %v", c.args, got, notes, err)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s, %v; want %s", c.args, got, err, c.want)
		}
		if changed := got.String() != strings.ReplaceAll(c.args, " ", ""); changed != (len(notes) > 0) {
			t.Errorf("%s: the notes are %q", c.args, notes)
		}
		if again, _ := value.ParseJSON([]byte(c.args)); !value.EqualJSON(args, again) {
			t.Errorf("%s: the arguments were changed: %s", c.args, args)
		}
	}
}
