package openapi

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// TestScripts compares the files that are made of a document with those in testdata.
func TestScripts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/petstore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{From: "petstore.yaml"}
	d, err := Read(t.Context(), string(text), o)
	if err != nil {
		t.Fatal(err)
	}
	usable := slices.DeleteFunc(slices.Clone(d.Operations), func(op *Operation) bool { return op.LeftOut != "" })
	tools, err := Tools(d, usable)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, tool := range tools {
		if tool.Name != "list_pets" && tool.Name != "replace_pet" {
			continue
		}
		fmt.Fprintf(&b, "-- %s.star --\n%s-- %[1]s_test.star --\n%[3]s", tool.Name, tool.Script, tool.Test)
	}
	const golden = "testdata/petstore.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		servers, option, base string
		want                  string // the server, or a part of the error
	}{
		{"[{url: 'https://A.example.com:443/v1/'}]", "", "", "https://a.example.com/v1"},
		{"[{url: 'https://{where}.example.com', variables: {where: {default: eu}}}]", "", "", "https://eu.example.com"},
		{"[{url: 'http://127.0.0.1:8080'}]", "", "", "http://127.0.0.1:8080"},
		{"[{url: /v1}]", "", "https://a.example.com/docs/openapi.yaml", "https://a.example.com/v1"},
		{"[{url: v1}]", "", "https://a.example.com/docs/openapi.yaml", "https://a.example.com/docs/v1"},
		{"[]", "", "https://a.example.com/docs/openapi.yaml", "https://a.example.com"},
		{"[{url: /v1}]", "https://b.example.com/x", "", "https://b.example.com/x"},
		{"[{url: /v1}]", "", "", "does not say which host"},
		{"[]", "", "", "does not say which host"},
		{"[{url: 'https://*.example.com'}]", "", "", "of one host"},
		{"[{url: 'https://{any}.example.com'}]", "", "", "not a URL"},
		{"[{url: 'https://user:password@example.com'}]", "", "", "of one host"},
		{"[{url: 'https://example.com/?a=b'}]", "", "", "of one host"},
		{"[{url: 'ftp://example.com'}]", "", "", "of one host"},
		{"[{url: 'file:///etc/passwd'}]", "", "", "of one host"},
		{"[{url: 'https://example.com\"]'}]", "", "", "of one host"},
	} {
		text := "openapi: 3.0.0\ninfo: {title: A, version: '1'}\nservers: " + c.servers + "\npaths:\n" + get
		o := &Options{Server: c.option, Base: c.base}
		d, err := Read(t.Context(), text, o)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := d.plan(d.Operations[0], maxSchemas).server()
		if err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("servers %s: %q, %v; want %q", c.servers, got, err, c.want)
		}
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	d, err := Read(t.Context(), document(get), &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Tools(d, slices.Repeat(d.Operations, 201)); err == nil || !strings.Contains(err.Error(), "the limit is 200") {
		t.Errorf("201 tools: %v", err)
	}
}

// TestRecursive makes a tool whose schemas contain themselves.
func TestRecursive(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	// Each schema has ten properties of its own kind: without a bound, that would be 10^n.
	for i := range 10 {
		fmt.Fprintf(&b, "p%d: {$ref: '#/components/schemas/A'}, ", i)
	}
	body := "{required: true, content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}"
	d, err := Read(t.Context(), document("  /a: {post: {requestBody: "+body+", responses: {'200': "+strings.Replace(body, "required: true", "description: OK", 1)+"}}}\n",
		"components: {schemas: {A: {type: object, allOf: [{$ref: '#/components/schemas/A'}], anyOf: [{$ref: '#/components/schemas/A'}, {type: object}], properties: {"+b.String()+"}}}}"), &Options{})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := Tools(d, d.Operations)
	if err != nil || len(tools[0].Script) > 64<<10 || len(tools[0].Test) > 64<<10 {
		t.Errorf("a schema that contains itself: %d and %d bytes, %v", len(tools[0].Script), len(tools[0].Test), err)
	}
}
