// Package jsonschema checks values against JSON Schemas that somebody else wrote.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Schema checks values against a JSON Schema (draft 2020-12 or 07)
// that somebody else wrote, as a tool of an MCP server brings one. Such a
// schema can be hostile: one that refers to itself without end, or makes a
// check too much work, is refused when a value is checked. It is safe for
// concurrent use.
type Schema struct {
	source   string
	resolved *jsonschema.Resolved
	work     *schemaWork
}

// MaxSize is how long a JSON Schema may be, in bytes. A model reads it on
// every turn, so a longer one is of no use to anybody.
const MaxSize = 256 << 10

// New reads a schema. A $ref beyond the schema itself is asked of
// load, by its absolute URI; with a nil load, the default, it is an error:
// nothing is ever fetched.
func New(schema []byte, load func(uri string) ([]byte, error)) (c *Schema, err error) {
	defer recoverSchema(&err)
	root, s, err := parseSchema(schema)
	if err != nil {
		return nil, err
	}
	docs := map[string]value.Value{"": root}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{
		Loader: func(uri *url.URL) (*jsonschema.Schema, error) {
			if load == nil {
				return nil, fmt.Errorf("it refers to %s, and remote schemas are not fetched", uri)
			}
			data, err := load(uri.String())
			if err != nil {
				return nil, err
			}
			doc, remote, err := parseSchema(data)
			if err != nil {
				return nil, err
			}
			docs[uri.String()] = doc
			remote.Schema = s.Schema
			return remote, nil
		},
	})
	if err != nil {
		return nil, value.Errorf(value.Invalid, "resolve JSON Schema: %s", shorten(err.Error()))
	}
	work, err := newSchemaWork(docs, s.Schema == draft07)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "resolve JSON Schema: %w", err)
	}
	return &Schema{string(schema), resolved, work}, nil
}

// parseSchema reads a schema twice: into the library's form, and as a value
// within our bounds of depth and size.
func parseSchema(data []byte) (value.Value, *jsonschema.Schema, error) {
	if len(data) > MaxSize {
		return nil, nil, value.Limitf(value.LimitSource, "a JSON Schema of more than %d KB", MaxSize>>10)
	}
	v, err := value.ParseJSON(data)
	if err != nil {
		return nil, nil, value.Errorf(value.KindOf(err), "read JSON Schema: %w", err)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, nil, value.Errorf(value.Invalid, "read JSON Schema: %s", shorten(err.Error()))
	}
	s.Schema = schemaDraft(s.Schema)
	return v, s, nil
}

// The drafts that the library knows, by the one name that it knows them under.
const (
	draft07     = "http://json-schema.org/draft-07/schema#"
	draft202012 = "https://json-schema.org/draft/2020-12/schema"
)

// schemaDraft gives the draft that a $schema means. The older ones are read as
// draft 07, which differs from them in little; anything else as 2020-12, the
// default of MCP, even somebody's own dialect, which is mostly a part of it.
func schemaDraft(name string) string {
	_, name, _ = strings.Cut(strings.TrimSuffix(name, "#"), "://json-schema.org/")
	switch name {
	case "draft-04/schema", "draft-06/schema", "draft-07/schema":
		return draft07
	}
	return draft202012
}

// recoverSchema turns a panic of the library, which asserts what it expects of
// a schema, into an error.
func recoverSchema(err *error) {
	if p := recover(); p != nil {
		*err = value.Errorf(value.Invalid, "JSON Schema: %s", shorten(fmt.Sprint(p)))
	}
}

// Check says whether a value, given as JSON, fits the schema.
func (c *Schema) Check(data []byte) error {
	v, err := value.ParseJSON(data)
	if err != nil {
		return err
	}
	return c.CheckValue(v)
}

// CheckValue says whether a value fits the schema.
func (c *Schema) CheckValue(v value.Value) (err error) {
	defer recoverSchema(&err)
	if err := c.work.bound(v); err != nil {
		return err
	}
	if err := c.resolved.Validate(plain(v)); err != nil {
		return value.Errorf(value.Invalid, "%s", schemaProblem(err))
	}
	return nil
}

// plain gives a value the form that encoding/json would, but for integers,
// which stay exact where they fit.
func plain(v value.Value) any {
	switch v := v.(type) {
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f
	case *value.Dict:
		m := make(map[string]any, v.Len())
		for k, item := range v.All() {
			m[value.Display(k)] = plain(item)
		}
		return m
	case []byte:
		return strings.Trim(value.FormatJSON(v, ""), `"`)
	}
	items, ok := value.Elements(v)
	if !ok {
		return v
	}
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = plain(item)
	}
	return list
}

// schemaProblem keeps the last part of a validation error: the library puts
// each enclosing schema in front of it.
func schemaProblem(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "validating /"); i >= 0 {
		text = strings.TrimPrefix(text[i:], "validating ")
	}
	return shorten(text)
}

// shorten bounds an error text of the library, which may quote whole values.
func shorten(text string) string { return value.Cut(text, 500) }

// Of reports whether the checker was made of this schema.
func (c *Schema) Of(schema []byte) bool { return c.source == string(schema) }
