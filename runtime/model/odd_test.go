package model_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A pattern is what an API accepts of names, as its errors state it.
type patterns struct{ path, name, id, key string }

var apis = []patterns{
	{"/chat/completions", `^[a-zA-Z0-9_-]{1,64}$`, `^[a-zA-Z0-9_.:-]{1,64}$`, ``},
	{"/responses", `^[a-zA-Z0-9_-]{1,64}$`, `^[a-zA-Z0-9_.:-]{1,64}$`, ``},
	{"/messages", `^[a-zA-Z0-9_-]{1,128}$`, `^[a-zA-Z0-9_-]{1,128}$`, `^[a-zA-Z0-9_.-]{1,64}$`},
	{"enerateContent", `^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`, ``, ``},
	{"/api/chat", `.`, `.`, ``},
}

// checkNames fails the test if a request has the name of a tool, an ID, arguments or a schema that its
// API refuses.
func checkNames(t *testing.T, q request) {
	for _, api := range apis {
		if !strings.Contains(q.path, api.path) {
			continue
		}
		seen := map[string]bool{}
		for _, d := range definitionsIn(q.body) {
			if !regexp.MustCompile(api.name).MatchString(d.name) || seen[d.name] {
				t.Errorf("%s: a tool is called %q, known: %t", q.path, d.name, seen[d.name])
			}
			seen[d.name] = true
			checkSchema(t, d.name, d.schema, regexp.MustCompile(api.key))
		}
		ids := map[string]bool{}
		for _, c := range callsIn(q.body) {
			if !regexp.MustCompile(api.name).MatchString(c.name) {
				t.Errorf("%s: a call of %q", q.path, c.name)
			}
			if !regexp.MustCompile(api.id).MatchString(c.id) || ids[c.id] && c.id != "" {
				t.Errorf("%s: a call has the ID %q, known: %t", q.path, c.id, ids[c.id])
			}
			ids[c.id] = true
			args := c.args
			if text, ok := args.(string); ok {
				args, _ = value.ParseJSON([]byte(text))
			}
			if _, ok := args.(*value.Dict); !ok {
				t.Errorf("%s: a call of %q with the arguments %v", q.path, c.name, c.args)
			}
		}
	}
}

type definition struct {
	name   string
	schema *value.Dict
}

// definitionsIn returns the tools of a request to any API.
func definitionsIn(body *value.Dict) (list []definition) {
	for _, d := range dictsIn(body, "tools") {
		if inner(d, "function") != nil {
			d = inner(d, "function")
		}
		for _, schema := range []string{"parameters", "input_schema"} {
			if d.Has(schema) {
				list = append(list, definition{d.Text("name"), inner(d, schema)})
			}
		}
		for _, fn := range dictsIn(d, "functionDeclarations") {
			list = append(list, definition{fn.Text("name"), inner(fn, "parametersJsonSchema")})
		}
	}
	return list
}

type earlierCall struct {
	id, name string
	args     value.Value
}

// callsIn returns the earlier calls of a request to any API.
func callsIn(body *value.Dict) (list []earlierCall) {
	add := func(d *value.Dict, id, args string) {
		v, _ := d.Get(args)
		list = append(list, earlierCall{id, d.Text("name"), v})
	}
	for _, name := range []string{"messages", "input", "contents"} {
		for _, m := range dictsIn(body, name) {
			if m.Text("type") == "function_call" {
				add(m, m.Text("call_id"), "arguments")
			}
			for _, c := range dictsIn(m, "tool_calls") {
				add(inner(c, "function"), c.Text("id"), "arguments")
			}
			for _, block := range dictsIn(m, "content") {
				if block.Text("type") == "tool_use" {
					add(block, block.Text("id"), "input")
				}
			}
			for _, part := range dictsIn(m, "parts") {
				if c := inner(part, "functionCall"); c != nil {
					add(c, c.Text("id"), "args")
				}
			}
		}
	}
	return list
}

// checkSchema fails the test if a schema of arguments is none that all APIs accept.
func checkSchema(t *testing.T, name string, schema *value.Dict, key *regexp.Regexp) {
	t.Helper()
	if name == "read_file" && schema.String() != `{"type":"object","properties":{"path":{"type":"string","description":"which file"},"limit":{"type":"integer"}},`+
		`"required":["path"],"additionalProperties":false}` {
		t.Errorf("the schema of read_file is %s", schema)
	}
	if schema.Text("type") != "object" || inner(schema, "properties") == nil {
		t.Errorf("%s: the schema is no object with properties: %s", name, schema)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if"} {
		if schema.Has(word) {
			t.Errorf("%s: the schema has %s at its top: %s", name, word, schema)
		}
	}
	if _, err := jsonschema.New([]byte(schema.String()), nil); err != nil {
		t.Errorf("%s: %v: %s", name, err, schema)
	}
	if err := jsonschema.CheckTypes(schema); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	checkParts(t, name, schema, key)
}

// checkParts checks the schemas in a schema.
func checkParts(t *testing.T, name string, v value.Value, key *regexp.Regexp) {
	t.Helper()
	if list, ok := value.Elements(v); ok {
		for _, part := range list {
			checkParts(t, name, part, key)
		}
		return
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return
	}
	properties := inner(d, "properties")
	for k, part := range properties.OrEmpty().All() {
		if _, ok := part.(*value.Dict); !ok || !key.MatchString(k.(string)) {
			t.Errorf("%s: the property %q: %v", name, k, part)
		}
	}
	for _, required := range d.Elements("required") {
		if properties != nil && !properties.Has(required.(string)) {
			t.Errorf("%s: required, but not a property: %v", name, required)
		}
	}
	if d.Text("type") == "array" && !d.Has("items") && !d.Has("prefixItems") {
		t.Errorf("%s: an array without items: %s", name, d)
	}
	for k, part := range d.All() {
		if k != "enum" && k != "default" && k != "examples" && k != "const" {
			checkParts(t, name, part, key)
		}
	}
}

// oddSchemas are schemas of tools of MCP servers. Those that [jsonschema.Mend] changes are in them as it
// leaves them.
func oddSchemas(t *testing.T) []*value.Dict {
	var list []*value.Dict
	for _, text := range []string{
		`{}`, `{"type":"object"}`, `{"properties":{}}`, `{"type":["object","null"]}`, `{"type":"string"}`, `{"type":"array","items":{"type":"string"}}`,
		`{"type":"object","properties":{"a":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"type":"integer"}},"required":["a"]}]}`,
		`{"allOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"properties":{"a":{"type":"string"}}}}}`,
		`{"$ref":"#/definitions/x","definitions":{"x":{"type":"object","properties":{"a":{"$ref":"#/definitions/x"}}}}}`,
		`{"$ref":"#/$defs/missing"}`, `{"$ref":"https://example.com/schema.json"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`,
		`{"type":"object","properties":{"$top":{"type":"integer"},"@odata.type":{"type":"string"},"filter[id]":{"type":"string"},"a b":{"type":"string"},"größe":{}}}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"$in":{"type":"array"}},"required":["$in"]}}}`,
		`{"type":"object","properties":{"email":{"type":"string","pattern":"^(?!\\.)a"}}}`,
		`{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`,
		`{"type":"object","properties":{"n":{"type":""},"m":{"type":"date"},"o":{"type":"str"},"p":{"type":["int","null"]}}}`,
		`{"type":"object","properties":{"a":true,"b":false,"c":null,"d":"string"}}`,
		`{"type":"object","properties":{"a":{"type":"string","required":true}},"required":true}`,
		`{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"enum":[]}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`,
		`{"type":"object","required":["a","a","b"],"additionalProperties":{"type":"string"}}`,
		`{"type":"object","properties":{},"if":{"required":["a"]},"then":{"required":["b"]},"else":{"not":{"required":["c"]}}}`,
		`{"type":"object","properties":{"a":{"const":{"x":[1]}},"b":{"default":{"properties":{"$x":true}}}}}`,
		`{"type":"object","patternProperties":{"(?<=a)":{},"^x-":{"type":"array"}},"dependentRequired":{"a":["b"]}}`,
		`{"type":"object","properties":[],"description":["a"],"title":null}`, `{"not":{}}`, `{"enum":[{"a":1}]}`,
		`{"type":"object","properties":{"` + strings.Repeat("long", 30) + `":{"type":"string","description":"` + strings.Repeat("x", 3000) + `"}}}`,
	} {
		d, ok := parse(t, text).(*value.Dict)
		if !ok {
			t.Fatal(text)
		}
		mended, _ := jsonschema.Mend(d)
		list = append(list, mended)
	}
	return list
}

// oddTools are 300 tools, of which a tenth have odd schemas.
func oddTools(t *testing.T) []tool.Tool {
	odd := oddSchemas(t)
	list := []tool.Tool{readFile()}
	for i := len(list); i < 300; i++ {
		one := tool.Tool{Name: fmt.Sprintf("server.tool_%d", i), Description: "Does what it does.", Params: []tool.Param{tool.Required("a", tool.TypeString, "")}}
		if i%10 == 5 {
			one.Params, one.Schema = nil, []byte(odd[i/10].String())
		}
		list = append(list, one)
	}
	return list
}

// oddHistory is a conversation with 40 calls as models of other vendors have made them.
func oddHistory() []model.Message {
	names := []string{"read_file", "browser.tabs.open", "functions.read_file", "read_file<|channel|>commentary", strings.Repeat("x", 80), "", "lies größe", "<tool_call>", "2fast", "server__tool_1"}
	ids := []string{"functions.read_file:0", "toolu_01A09q90qw90lq917835lq9", "call_abc|fc_def", "Ab3dE6gH9", "chatcmpl-tool-0123456789abcdef0123456789abcdef", "call_0", "call_0",
		strings.Repeat("i", 90), "größe 1", ""}
	args := []model.Call{
		{Args: value.NewDict("path", "a")}, {Args: &value.Dict{}}, {Raw: `{"path": "a`}, {Raw: "[1]"}, {Raw: "null"}, {Raw: ""}, {Raw: "<arg>\x00\xff"},
		{Args: value.NewDict("$top", int64(1), "filter[id]", value.NewDict("a b", nil))},
	}
	opaque := []string{"", `{"blocks":[{"type":"thinking","thinking":"t","signature":"s"}],"prefix":"p"}`, `{"gemini":"other","parts":[{"text":"x","thoughtSignature":"s"}]}`,
		`{"model":"other","output":[{"type":"reasoning","id":"rs_1"}]}`, `{"thinking":"t"}`, "\x00no JSON"}
	messages := []model.Message{user("Do all of it.")}
	for made := 0; made < 40; {
		m := model.Message{Role: model.Assistant, Opaque: []byte(opaque[made%len(opaque)])}
		for range 1 + made%3 {
			c := args[made%len(args)]
			c.ID, c.Tool = ids[made%len(ids)], names[made/2%len(names)]
			if n := len(m.Calls); n > 0 && m.Calls[n-1].ID == c.ID {
				c.ID += "'" // two calls of a reply never have one ID, see wire.Finish
			}
			m.Calls = append(m.Calls, c)
			made++
		}
		messages = append(messages, m)
		for _, c := range m.Calls {
			messages = append(messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "no such tool", Failed: true})
		}
	}
	return append(messages, user("Go on."))
}

// testOdd continues a conversation that models of other vendors began, with the tools of a real server.
func testOdd(t *testing.T, k kind) {
	b := k.start(t, options{})
	b.next(turn{text: "Done."}, turn{text: "Done.", pieces: []string{"Do", "ne."}}, turn{calls: []fakeCall{{"toolu_9", "read_file", `{"path":"b"}`}}})
	r := &model.Request{Messages: oddHistory(), Tools: oddTools(t)}
	if got := b.ask(r); got.Text != "Done." {
		t.Errorf("Ask = %+v", got)
	}
	sent := b.f.messages()[0].body
	if n := len(definitionsIn(sent)); n != 300 {
		t.Errorf("%d tools were sent", n)
	}
	if n := len(callsIn(sent)); n < 40 {
		t.Errorf("%d calls were sent", n)
	}
	r.Text = func(string) {}
	if got := b.ask(r); got.Text != "Done." {
		t.Errorf("Ask = %+v", got)
	}
	if got := b.ask(r); len(got.Calls) != 1 || got.Calls[0].Tool != "read_file" || got.Calls[0].Args.Text("path") != "b" {
		t.Errorf("Ask = %+v", got)
	}
}
