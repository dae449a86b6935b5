package tool

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A SchemaChecker checks values against a JSON Schema (draft 2020-12) that
// somebody else wrote, as a tool of an MCP server brings one.
type SchemaChecker struct {
	resolved *jsonschema.Resolved
}

// NewSchemaChecker reads a schema. A $ref beyond the schema itself is asked of
// load, by its absolute URI; with a nil load, the default, it is an error:
// nothing is ever fetched.
func NewSchemaChecker(schema []byte, load func(uri string) ([]byte, error)) (*SchemaChecker, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, Errorf(Invalid, "read JSON Schema: %w", err)
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{
		Loader: func(uri *url.URL) (*jsonschema.Schema, error) {
			if load == nil {
				return nil, fmt.Errorf("it refers to %s, and remote schemas are not fetched", uri)
			}
			data, err := load(uri.String())
			if err != nil {
				return nil, err
			}
			var remote jsonschema.Schema
			return &remote, json.Unmarshal(data, &remote)
		},
	})
	if err != nil {
		return nil, Errorf(Invalid, "resolve JSON Schema: %w", err)
	}
	return &SchemaChecker{resolved}, nil
}

// Check says whether a value, given as JSON, fits the schema.
func (c *SchemaChecker) Check(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return Errorf(Invalid, "read JSON: %w", err)
	}
	if err := c.resolved.Validate(v); err != nil {
		return Errorf(Invalid, "%s", schemaProblem(err))
	}
	return nil
}

// schemaProblem keeps the last part of a validation error: the library puts
// each enclosing schema in front of it.
func schemaProblem(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "validating /"); i >= 0 {
		text = strings.TrimPrefix(text[i:], "validating ")
	}
	return text
}

func (t *Tool) checkRaw(args *Dict) error {
	checker, err := NewSchemaChecker(t.Schema, nil)
	if err != nil {
		return err
	}
	if args == nil {
		args = &Dict{}
	}
	data, err := AppendJSON(nil, args)
	if err != nil {
		return Errorf(Invalid, "%w", err)
	}
	if err := checker.Check(data); err != nil {
		return Errorf(Invalid, "%s", t.problemText([]string{err.Error()})).
			WithHint("cassidy tool schema %s shows what it takes", t.Name)
	}
	return nil
}
