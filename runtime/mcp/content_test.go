package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A png of one pixel.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// TestStructuredResults checks, for each kind of result, what a client gets as text and as structured content, and that this
// fits the schema of the tool. A first text that is JSON always comes with an object.
func TestStructuredResults(t *testing.T) {
	data, _ := base64.StdEncoding.DecodeString(onePixel)
	image := value.Media{Type: "image/png", Data: data}
	integers := tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeInteger}}
	nullable := tool.Type{Name: tool.TypeNumber, Nullable: true}
	b := serve(t, nil)
	for i, test := range []struct {
		name       string
		returns    *tool.Type
		result     value.Value
		blocks     string // the kinds of the content
		structured string
		declared   bool
	}{
		{"a text", &tool.Type{Name: tool.TypeString}, "hello", "text", "null", false},
		{"an empty text", nil, "", "", "null", false},
		{"a text that is a number", nil, " 5 ", "text", `{"result":" 5 "}`, false},
		{"a text that is a list", &tool.Type{Name: tool.TypeString}, "[1, 2]", "text", `{"result":"[1, 2]"}`, false},
		{"a text that is an object", nil, `{"a": 1}`, "text", `{"result":"{\"a\": 1}"}`, false},
		{"nothing", nil, nil, "", "null", false},
		{"nothing instead of a number", &nullable, nil, "", `{"result":null}`, true},
		{"a number", &tool.Type{Name: tool.TypeInteger}, int64(41), "text", `{"result":41}`, true},
		{"an undeclared number", nil, 1.5, "text", `{"result":1.5}`, false},
		{"a bool", &tool.Type{Name: tool.TypeBoolean}, false, "text", `{"result":false}`, true},
		{"a list", &integers, value.List{int64(3), int64(5)}, "text", `{"result":[3,5]}`, true},
		{"a list of anything", &tool.Type{Name: tool.TypeArray}, value.List{"x"}, "text", `{"result":["x"]}`, false},
		{"a dict", &tool.Type{Name: tool.TypeObject}, value.NewDict("a", int64(1)), "text", `{"a":1}`, false},
		{"a dict with fields", &tool.Type{Name: tool.TypeObject, Fields: []tool.Param{tool.Required("a", tool.TypeInteger, "")}}, value.NewDict("a", int64(1)), "text", `{"a":1}`, true},
		{"a dict of integers", &tool.Type{Name: tool.TypeObject, Values: &tool.Type{Name: tool.TypeInteger}}, value.NewDict("a", int64(1)), "text", `{"a":1}`, true},
		{"an image", &tool.Type{Name: tool.TypeMedia}, image, "image", "null", false},
		{"images", &tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeMedia}}, value.List{image, image}, "image image text", "null", false},
		{"a list with an image", nil, value.List{"x", image}, "image text", "null", false},
		{"an image in declared fields", &tool.Type{Name: tool.TypeObject, Values: &tool.Type{}}, value.NewDict("a", image), "text image", `{"a":"[image/png, 70 bytes]"}`, true},
		{"an image in a dict", &tool.Type{Name: tool.TypeObject}, value.NewDict("a", image), "text image", "null", false},
	} {
		name := fmt.Sprintf("kind_%d", i)
		err := b.host.Register(cassidy.Tool{Name: name, Description: "Return something.", Returns: test.returns},
			func(context.Context, *value.Dict) (value.Value, error) { return test.result, nil })
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		c := b.connect(t, nil)
		_, r := call(t, c, name, nil)
		var blocks []string
		for _, block := range r.Content {
			kind, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprintf("%T", block), "*mcp."), "Content")
			blocks = append(blocks, strings.ToLower(kind))
		}
		structured, _ := json.Marshal(r.StructuredContent)
		if got := strings.Join(blocks, " "); got != test.blocks || string(structured) != test.structured || r.IsError {
			t.Errorf("%s: %s and %s, want %s and %s", test.name, got, structured, test.blocks, test.structured)
		}
		if len(r.Content) > 0 {
			first, isText := r.Content[0].(*sdk.TextContent)
			if isText && json.Valid([]byte(first.Text)) && r.StructuredContent == nil && !strings.HasPrefix(first.Text, "{") {
				t.Errorf("%s: the first text is JSON, and there is no structured content", test.name)
			}
		}
		schema := outputSchema(t, c, name)
		if (schema != nil) != test.declared {
			t.Errorf("%s: the schema is %v", test.name, schema)
		} else if schema != nil {
			if err := schema.Validate(r.StructuredContent); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
}

// outputSchema returns the schema of a tool's structured content, or nil.
func outputSchema(t *testing.T, c *sdk.ClientSession, name string) *jsonschema.Resolved {
	t.Helper()
	for one, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if one.Name != name || one.OutputSchema == nil {
			continue
		}
		text, _ := json.Marshal(one.OutputSchema)
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil || schema.Type != "object" {
			t.Fatalf("the schema of %s is %s, %v", name, text, err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		return resolved
	}
	return nil
}

// TestStructuredNotes checks that clients which read nothing but the structured content get the notes, too.
func TestStructuredNotes(t *testing.T) {
	b := serve(t, nil)
	tools := map[string]string{"number.star": "42", "table.star": `{"a": 1}`, "empty.star": "{}", "taken.star": `{"notes": 1}`, "words.star": `"words"`}
	for name, result := range tools {
		name, _, _ := strings.Cut(name, ".")
		tools[name+".star"] = "def " + name + "():\n    \"\"\"Return something.\"\"\"\n    log(\"a guess\", note = True)\n    return " + result + "\n\ntool(" + name + ")\n"
	}
	if err := b.host.Swap(t.Context(), cassidy.Scripts(tools)); err != nil {
		t.Fatal(err)
	}
	c := b.connect(t, nil)
	for name, want := range map[string]string{
		"number": `{"notes":"a guess","result":42}`, "table": `{"a":1,"notes":"a guess"}`, "empty": `{"notes":"a guess"}`, "taken": `{"notes":1}`, "words": "null",
	} {
		text, r := call(t, c, name, nil)
		if got, _ := json.Marshal(r.StructuredContent); string(got) != want || !strings.HasSuffix(text, "\na guess") {
			t.Errorf("%s gave %s and %q, want %s", name, got, text, want)
		}
	}
}

// TestStructuredBlocks checks that content which a tool has made itself has an object if its first text is JSON.
func TestStructuredBlocks(t *testing.T) {
	b := serve(t, nil)
	for name, first := range map[string]string{"plain": "a text", "five": "5"} {
		hints := tool.Hints{Other: map[string]bool{mcp.ContentHint: true}}
		err := b.host.Register(cassidy.Tool{Name: name, Description: "Return blocks.", Hints: hints}, func(context.Context, *value.Dict) (value.Value, error) {
			return value.List{value.NewDict("type", "text", "text", first)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := b.connect(t, nil)
	for name, want := range map[string]string{"plain": "null", "five": `{"result":"5"}`} {
		if _, r := call(t, c, name, nil); string(jsonText(t, r.StructuredContent)) != want {
			t.Errorf("%s has %v, want %s", name, r.StructuredContent, want)
		}
	}
}

func jsonText(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestShowsAll has a client that shows its model all of a result: it does not get the same data twice, unless the definition of
// the tool promises the structured content.
func TestShowsAll(t *testing.T) {
	b := serve(t, nil)
	_ = b.host.Register(cassidy.Tool{Name: "numbers", Description: "Return a list."}, func(context.Context, *value.Dict) (value.Value, error) {
		return value.List{int64(1)}, nil
	})
	for client, want := range map[string]string{"@cline/core": `null, {"letters":1}`, "another": `{"result":[1]}, {"letters":1}`} {
		c := b.connectAs(t, client)
		_, numbers := call(t, c, "numbers", nil)
		_, measure := call(t, c, "measure", map[string]any{"text": "x"})
		if got := string(jsonText(t, numbers.StructuredContent)) + ", " + string(jsonText(t, measure.StructuredContent)); got != want {
			t.Errorf("%s got %s, want %s", client, got, want)
		}
	}
}
