package wire

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func object(t *testing.T, text string) *value.Dict {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	d, ok := v.(*value.Dict)
	if err != nil || !ok {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// TestForms makes names of a form: what has it stays, and two names never become one.
func TestForms(t *testing.T) {
	forms := map[string]Form{
		"any": {}, "openai": {Also: "_-", Max: 64}, "gemini": {Also: "_.:-", Max: 128, Letter: true}, "mistral": {Max: 9, Exact: true},
	}
	for name, form := range forms {
		seen := map[string]string{}
		for _, given := range []string{
			"", "a", "read_file", "browser.tabs.open", "browser_tabs_open", "functions.read_file:0", "read_file<|channel|>commentary", "2fast", "-a", "größe", "grösse",
			"a b", "a\nb", "\x00", "\xff\xfe", "日本", "日本語", strings.Repeat("a", 64), strings.Repeat("a", 80), strings.Repeat("a", 81), "Ab3dE6gH9", "call_1", "call_2", "$top", "@top",
		} {
			got := form.from(given)
			if !form.has(got) {
				t.Errorf("%s: %q becomes %q, which does not have the form", name, given, got)
			}
			if form.has(given) && got != given {
				t.Errorf("%s: %q becomes %q", name, given, got)
			}
			if other, ok := seen[got]; ok {
				t.Errorf("%s: %q and %q become %q", name, given, other, got)
			}
			if seen[got] = given; form.from(given) != got {
				t.Errorf("%s: %q becomes another name each time", name, given)
			}
		}
	}
}

// TestRender writes a request in a dialect, and reads its reply back.
func TestRender(t *testing.T) {
	d := &Dialect{Names: Form{Also: "_-", Max: 64}, IDs: Form{Also: "_-", Max: 40}, Keys: Form{Also: "_.-", Max: 64}}
	given := model.Request{
		ToolChoice: "größe",
		Tools: []tool.Tool{
			{Name: "größe", Schema: []byte(`{"type":"object","properties":{"$top":{"type":"integer"},"filter":{"type":"object","properties":{"a[b]":{"type":"string"}},"required":["a[b]"]}},"required":["$top"]}`)},
			{Name: "plain", Params: []tool.Param{tool.Required("a", tool.TypeString, "")}},
		},
		Messages: []model.Message{
			{Role: model.User, Text: "Hi."},
			{Role: model.Assistant, Calls: []model.Call{
				{ID: "f.g:0", Tool: "größe", Args: object(t, `{"$top":1,"filter":{"a[b]":"x"},"other":[{"$top":2}]}`)},
				{ID: "same", Tool: "plain", Args: object(t, `{"$top":1}`)},
			}},
			{Role: model.ToolRole, CallID: "f.g:0", Tool: "größe", Text: "one"},
			{Role: model.ToolRole, CallID: "same", Tool: "plain", Text: "two"},
			{Role: model.Assistant, Calls: []model.Call{{ID: "same", Tool: "browser.tabs", Raw: "{"}}},
			{Role: model.ToolRole, CallID: "same", Tool: "browser.tabs", Text: "three"},
		},
	}
	before := value.FormatJSON(given.Messages[1].Calls[0].Args, "")
	n := d.render(&given)
	size, top, ab := n.r.Tools[0].Name, d.Keys.from("$top"), d.Keys.from("a[b]")
	if !d.Names.has(size) || n.r.ToolChoice != size || n.r.Tools[1].Name != "plain" || n.r.Tools[1].Schema != nil {
		t.Errorf("the tools are sent as %q and %q, the choice as %q", size, n.r.Tools[1].Name, n.r.ToolChoice)
	}
	if want := object(t, `{"type":"object","properties":{"`+top+`":{"type":"integer"},"filter":{"type":"object","properties":{"`+ab+`":{"type":"string"}},"required":["`+ab+`"]}},"required":["`+top+`"]}`); !value.EqualJSON(object(t, string(n.r.Tools[0].Schema)), want) {
		t.Errorf("the schema is sent as %s\nwant %s", n.r.Tools[0].Schema, want)
	}
	m := n.r.Messages
	if first := m[1].Calls[0]; first.Tool != size || first.ID != m[2].CallID || !d.IDs.has(first.ID) || first.Args.String() != `{"`+top+`":1,"filter":{"`+ab+`":"x"},"other":[{"`+top+`":2}]}` {
		t.Errorf("the first call is sent as %+v, its result as %+v", first, m[2])
	}
	if c := m[1].Calls[1]; c.ID != "same" || m[3].CallID != "same" || c.Args.String() != `{"$top":1}` {
		t.Errorf("the call of another tool is sent as %+v", c)
	}
	if again := m[4].Calls[0]; again.ID == "same" || again.ID != m[5].CallID || !d.IDs.has(again.ID) || !d.Names.has(again.Tool) || m[5].Tool != again.Tool {
		t.Errorf("the second call with an ID is sent as %+v, its result as %+v", again, m[5])
	}
	if given.Tools[0].Name != "größe" || given.Messages[1].Calls[0].ID != "f.g:0" || value.FormatJSON(given.Messages[1].Calls[0].Args, "") != before || given.Messages[5].CallID != "same" {
		t.Errorf("the request itself was changed: %+v", given)
	}
	reply := &model.Reply{Calls: []model.Call{
		{Tool: size, Args: object(t, `{"`+top+`":3,"filter":{"`+ab+`":"y"}}`)}, {Tool: "plain", Args: object(t, `{"`+top+`":3}`)}, {Tool: "unknown.tool"},
	}}
	n.read(reply)
	if c := reply.Calls[0]; c.Tool != "größe" || c.Args.String() != `{"$top":3,"filter":{"a[b]":"y"}}` {
		t.Errorf("the reply is read as %+v", c)
	}
	if c := reply.Calls[1]; c.Args.String() != `{"`+top+`":3}` || reply.Calls[2].Tool != "unknown.tool" {
		t.Errorf("the reply is read as %+v", reply.Calls)
	}
}

// TestAdapter gives schemas of arguments, and what is sent of them.
func TestAdapter(t *testing.T) {
	for _, c := range []struct{ name, schema, want, rest string }{
		{"nothing to do", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`, "", ""},
		{"no type", `{"properties":{"a":{}}}`, `{"properties":{"a":{}},"type":"object"}`, ""},
		{"two types", `{"type":["object","null"],"properties":{}}`, `{"type":"object","properties":{}}`, ""},
		{"nothing", `{}`, `{"type":"object","properties":{}}`, ""},
		{"anyOf beside properties", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`},
		{"variants", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},{"$ref":"#/$defs/b"}],` +
			`"$defs":{"b":{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}}}`,
			`{"$defs":{"b":{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}},"properties":{"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"x":{"type":"string"}},"required":["kind"],"type":"object"}`,
			`{"oneOf":[`},
		{"allOf", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b","a"]}],"required":["c"],"properties":{"c":{}}}`,
			`{"required":["c","a","b"],"properties":{"c":{},"a":{},"b":{}},"type":"object"}`, ""},
		{"a reference at the top", `{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, ""},
		{"a reference to itself", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{"$defs":{"a":{"$ref":"#/$defs/a"}},"type":"object","properties":{}}`, ""},
		{"a condition", `{"type":"object","properties":{},"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"type":"object","properties":{}}`, `{"if":{"required":["a"]},"then":{"required":["b"]}}`},
		{"true and false", `{"type":"object","properties":{"a":true,"b":false},"additionalProperties":true}`, `{"type":"object","properties":{"a":{},"b":{"not":{}}},"additionalProperties":true}`, ""},
		{"an array of anything", `{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`, ""},
		{"a required parameter that is not described", `{"type":"object","properties":{"a":{"type":"object","required":["b"]}},"required":["a","c"]}`,
			`{"type":"object","properties":{"a":{"type":"object","required":["b"],"properties":{"b":{}}},"c":{}},"required":["a","c"]}`, ""},
		{"a tuple", `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`, `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}]}}}`, ""},
	} {
		a := adapter{keys: map[string]string{}}
		schema := object(t, c.schema)
		got, rest := a.top(schema)
		want := c.want
		if want == "" {
			want = c.schema
		}
		if !value.EqualJSON(got, object(t, want)) {
			t.Errorf("%s: %s\nwant %s", c.name, got, want)
		}
		if a.changed != (c.want != "") {
			t.Errorf("%s: changed = %v", c.name, a.changed)
		}
		if (rest == "") != (c.rest == "") || !strings.HasPrefix(rest, c.rest) {
			t.Errorf("%s: the rest is %s, want %s", c.name, rest, c.rest)
		}
		if !value.EqualJSON(schema, object(t, c.schema)) {
			t.Errorf("%s: the schema itself was changed", c.name)
		}
	}
}
