package openapi

import (
	"fmt"
	"strings"
	"testing"
)

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
