// Package jsonschema checks values against untrusted JSON Schemas.
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

// A Schema checks values against an untrusted JSON Schema (draft 2020-12 or 07), such
// as that of an MCP server's tool. A check fails if it is too much work, for example
// because the schema refers to itself without end. It is safe for concurrent use.
type Schema struct {
	source   string
	root     value.Value
	resolved *jsonschema.Resolved
	work     *schemaNode
}

// MaxSize is how long a JSON Schema may be, in bytes. A model reads it on every turn,
// so longer ones are useless.
const MaxSize = 256 << 10

// New reads a schema. It resolves a $ref beyond the schema by calling load with the
// absolute URI. If load is nil such a $ref is an error: nothing is ever fetched.
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
				return nil, fmt.Errorf("remote schemas are not supported: $ref is %s", uri)
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
	work, err := readSchemas(docs, s.Schema == draft07)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "resolve JSON Schema: %w", err)
	}
	return &Schema{string(schema), root, resolved, work}, nil
}

// parseSchema reads a schema twice: into the library's form, and as a value, which
// bounds depth and size.
func parseSchema(data []byte) (value.Value, *jsonschema.Schema, error) {
	if len(data) > MaxSize {
		return nil, nil, value.Limitf(value.LimitSource, "the JSON Schema is longer than %d KB", MaxSize>>10)
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

// The names of the drafts in the library.
const (
	draft07     = "http://json-schema.org/draft-07/schema#"
	draft202012 = "https://json-schema.org/draft/2020-12/schema"
)

// schemaDraft returns the draft of a $schema. Older drafts are read as draft 07, which
// differs little; anything else, even an unknown dialect, as 2020-12, the default of
// MCP.
func schemaDraft(name string) string {
	_, name, _ = strings.Cut(strings.TrimSuffix(name, "#"), "://json-schema.org/")
	switch name {
	case "draft-04/schema", "draft-06/schema", "draft-07/schema":
		return draft07
	}
	return draft202012
}

// recoverSchema converts a panic of the library, which asserts its expectations of a
// schema, to an error.
func recoverSchema(err *error) {
	if p := recover(); p != nil {
		*err = value.Errorf(value.Invalid, "invalid JSON Schema: %s", shorten(fmt.Sprint(p)))
	}
}

// Check checks a value against the schema.
func (c *Schema) Check(v value.Value) (err error) {
	defer recoverSchema(&err)
	if err := c.work.bound(v); err != nil {
		return err
	}
	if err := c.resolved.Validate(plain(v)); err != nil {
		return value.Errorf(value.Invalid, "%s", schemaProblem(err))
	}
	return nil
}

// plain converts a value to the form of encoding/json, except that integers stay exact
// if they fit int64.
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
	case value.Media:
		text, err := v.MarshalText()
		if err != nil {
			return v.String()
		}
		return string(text)
	case []byte:
		return strings.Trim(value.FormatJSON(v, ""), `"`)
	}
	items, ok := value.Elements(v)
	if !ok {
		return v
	}
	return value.Map(items, plain)
}

// schemaProblem describes a validation error of the library, by the innermost schema that the value
// does not match. If there are several of which any would do, it lists them.
func schemaProblem(err error) string {
	text := err.Error()
	if head, choices, found := strings.Cut(text, noChoice); found {
		if i := strings.IndexByte(choices, '\n'); i >= 0 {
			text = innermost(head) + "anyOf: no schema matches"
			for line := range strings.Lines(choices[i+1:]) {
				text += "; " + inWords(innermost(strings.TrimRight(line, "\n")))
			}
			return shorten(text)
		}
	}
	return shorten(inWords(innermost(text)))
}

// noChoice is what the library writes before the schemas of anyOf, and before their errors, each on a line.
const noChoice = "anyOf: did not validate against any of ["

// innermost removes the enclosing schemas, which the library puts before an error.
func innermost(text string) string {
	if i := strings.LastIndex(text, "validating /"); i >= 0 {
		text = text[i:]
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "validating "), "root: ")
}

// inWords replaces the value of a wrong type, which the library writes in the syntax of Go.
func inWords(text string) string {
	before, wanted, found := cutLast(text, "\", want ")
	rest, got, hasType := cutLast(before, " has type \"")
	at, _, isType := strings.Cut(rest, "type: ")
	if !found || !hasType || !isType {
		return text
	}
	return at + "should be " + strings.ReplaceAll(wanted, `"`, "") + " but got " + got
}

// cutLast slices a text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// shorten bounds an error text of the library, which may quote complete values.
func shorten(text string) string { return value.Cut(text, 500) }

// Of reports whether the checker was made from this schema.
func (c *Schema) Of(schema []byte) bool { return c.source == string(schema) }
