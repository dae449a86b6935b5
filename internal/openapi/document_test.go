package openapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// document returns a document with some paths, and more fields at the top.
func document(paths string, more ...string) string {
	return "openapi: 3.1.0\ninfo: {title: A, version: '1'}\nservers: [{url: https://a.example.com}]\n" + strings.Join(more, "\n") + "\npaths:\n" + paths
}

// get is an operation without anything.
const get = "  /a: {get: {responses: {'200': {description: OK}}}}\n"

func TestReadFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
	}{
		"not YAML":    {"a: [", "invalid YAML: the closing ']' is missing"},
		"a text":      {"hello", "this is no OpenAPI document: neither an object in JSON nor a mapping in YAML"},
		"other YAML":  {"a: 1", "this is no OpenAPI document: the field openapi is missing"},
		"other JSON":  {`{"a": 1}`, "this is no OpenAPI document: the field openapi is missing"},
		"a list":      {"[1]", "this is no OpenAPI document: neither"},
		"Swagger":     {"swagger: '2.0'", "the document is Swagger 2.0, and only OpenAPI 3.0 and 3.1 can be imported"},
		"4.0":         {"openapi: 4.0.0", "the document is OpenAPI 4.0.0, and only 3.0 and 3.1 can be imported"},
		"no paths":    {"openapi: 3.1.0", "the document has no operations"},
		"empty paths": {document("  {}"), "the document has no operations"},
		"wrong paths": {"openapi: 3.0.0\npaths: [1]", "read the document: "},
		"wrong list":  {document("  /a: {get: {parameters: {name: a, in: query}}}"), "read the document: parameters: should be a list but is {"},
		"through":     {document("  /a: {get: {parameters: [{$ref: '#/paths/~1a/get/parameters/0/$ref/0'}]}}"), "leads back to itself"},
		"long":        {strings.Repeat(" ", 20<<20), "the document is longer than 16 MB"},
		"aliases":     {"a: &a [1]\nb: *a\n", "aliases (*a) are not supported"},
		"a bomb":      {"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n", "aliases (*a) are not supported"},
		"deep":        {strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested more than 64 levels deep"},
		"remote": {document("  /a: {get: {responses: {'200': {$ref: 'https://evil.example.com/r.yaml#/x'}}}}"),
			`the document refers to another one, which is not fetched: $ref "https://evil.example.com/r.yaml#/x"`},
		"file":    {document("  /a: {$ref: '/etc/passwd'}"), `the document refers to another one, which is not fetched: $ref "/etc/passwd"`},
		"missing": {document("  /a: {get: {responses: {'200': {$ref: '#/components/responses/none'}}}}"), "read the document: "},
		"itself": {document("  /a: {get: {parameters: [{name: a, in: query, schema: {$ref: '#/components/schemas/A'}}]}}\n", "components: {schemas: {A: {$ref: '#/components/schemas/A'}}}"),
			"the reference #/components/schemas/A leads back to itself"},
		"a cycle": {document("  /a: {get: {parameters: [{$ref: '#/components/parameters/A'}]}}\n", "components: {parameters: {A: {$ref: '#/components/parameters/B'}, B: {$ref: '#/components/parameters/A'}}}"),
			"leads back to itself"},
	} {
		_, err := Read(t.Context(), c.text, &Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if kind := value.KindOf(err); kind != value.Invalid && kind != value.Limit {
			t.Errorf("%s: kind %v", name, kind)
		}
	}
}

// TestSameName reads two operations of one name.
func TestSameName(t *testing.T) {
	t.Parallel()
	d, err := Read(t.Context(), document("  /a: {get: {operationId: same, responses: {}}, post: {operationId: same, responses: {}}}\n"), &Options{})
	if err != nil || d.Operations[0].Name != "same" || d.Operations[1].Name != "same_2" {
		t.Errorf("two operations of one name: %v, %v", d, err)
	}
}

// TestLeftOut checks which operations cannot become tools, and what is left out of others.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	schemes := `components: {securitySchemes: {c: {type: apiKey, in: cookie, name: S}, b: {type: http, scheme: bearer}, d: {type: http, scheme: digest}, o: {type: oauth2, flows: {}}}}`
	for _, c := range []struct{ operation, leftOut, note string }{
		{"{options: {responses: {}}}", "scripts cannot send OPTIONS", ""},
		{"{get: {requestBody: {content: {application/json: {}}}}}", "scripts cannot send a body with GET", "no response"},
		{"{post: {requestBody: {content: {multipart/form-data: {}}}}}", "its body is multipart/form-data, which is not supported", ""},
		{"{post: {requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: object}}}}}}}}", "its form has fields", ""},
		{"{post: {callbacks: {c: {'{$url}': {post: {responses: {}}}}}, responses: {'200': {description: OK}}}}", "", "callbacks are not received"},
		{"{get: {responses: {'404': {description: No}}}}", "", "no response that is a success"},
		{"{get: {}}", "", "the document describes no response"},
		{"{get: {security: [{c: []}]}}", "its security scheme c is in a cookie", ""},
		{"{get: {security: [{c: []}, {b: []}]}}", "", "no response"},
		{"{get: {security: [{c: []}, {}]}}", "", "without a secret: its security scheme c"},
		{"{get: {security: [{d: []}]}}", "its security scheme d is not supported", ""},
		{"{get: {security: [{none: []}]}}", "its security scheme none is not defined", ""},
		{"{get: {security: [{o: []}]}}", "", "there is no sign-in by oauth2"},
		{"{get: {parameters: [{name: p, in: cookie}, {name: q, in: cookie}]}}", "", "without its cookies, which a script cannot send: p, q"},
		{"{get: {parameters: [{name: p, in: cookie, required: true}]}}", "its parameter p is a cookie", ""},
		{"{get: {parameters: [{name: Host, in: header, required: true}]}}", "its parameter Host cannot be set by a script", ""},
		{`{get: {parameters: [{name: "A\nB", in: header}]}}`, "", "which cannot be set by a script"},
		{"{get: {parameters: [{name: p, in: query, explode: false, schema: {type: object}}]}}", "", "which has a style that is not supported"},
		{"{get: {parameters: [{name: p, in: query, schema: {type: string, pattern: '^(?:a$)b'}}]}}", "", "the pattern of p is not checked"},
	} {
		d, err := Read(t.Context(), document("  /a: "+c.operation+"\n", schemes), &Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.operation, err)
		}
		op := d.Operations[0]
		if (c.leftOut == "") != (op.LeftOut == "") || !strings.Contains(op.LeftOut, c.leftOut) ||
			op.LeftOut == "" && !strings.Contains(strings.Join(op.Notes, "\n"), c.note) {
			t.Errorf("%s: left out because %q, notes %q; want %q, %q", c.operation, op.LeftOut, op.Notes, c.leftOut, c.note)
		}
	}
}

// TestLarge reads a document with many operations.
func TestLarge(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "  /a%d: {get: {operationId: get%d, responses: {'200': {$ref: '#/components/responses/r'}}}}\n", i, i)
	}
	d, err := Read(t.Context(), document(b.String(), "components: {responses: {r: {description: OK}}}"), &Options{})
	if err != nil || len(d.Operations) != 10_000 {
		t.Fatalf("10,000 operations: %v", err)
	}
}
