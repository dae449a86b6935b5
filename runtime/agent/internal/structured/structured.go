// Package structured reads values from the answers of models, and checks them against a schema.
package structured

import (
	"errors"
	"strings"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Retries is how often a model is asked again for a value that matches.
const Retries = 2

// maxProblems is the limit of a text about a value that does not match, in bytes.
const maxProblems = 2000

// A Schema is a JSON Schema of an answer. It is safe for concurrent use.
type Schema struct {
	Dict  *value.Dict
	check *jsonschema.Schema
	like  tool.Type // the schema as a type, which describes most of what does not match it
}

// New returns the schema for a JSON Schema, or for the text of a type such as "list[str]". It is
// nil for nil. New fails with kind Invalid for anything else.
func New(v value.Value) (*Schema, error) {
	s := &Schema{}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		t, err := tool.ParseAnnotation(v)
		if err != nil {
			return nil, value.Errorf(value.Invalid, "the schema is invalid: %w", err).WithHint(`use a JSON Schema, or a type such as "list[str]"`)
		}
		s.Dict = t.JSONSchema()
	case *value.Dict:
		s.Dict = v
	default:
		return nil, value.Errorf(value.Invalid, "the schema is invalid: expected an object but got %s", value.TypeOf(v)).
			WithHint(`use a JSON Schema, or a type such as "list[str]"`)
	}
	text, err := value.AppendJSON(nil, s.Dict)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "the schema is invalid: %w", err)
	}
	if s.check, err = jsonschema.New(text, nil); err != nil {
		return nil, value.Errorf(value.Invalid, "the schema is invalid: %w", err)
	}
	const name = "value"
	if params, err := tool.ParamsFromSchema(value.NewDict("properties", value.NewDict(name, s.Dict))); err == nil {
		s.like = params[0].Type
	}
	return s, nil
}

// Read returns the value in an answer: all of its text, a code block, or the text from the first
// bracket to the last one. It fails with kind Invalid if there is none that matches the schema.
func (s *Schema) Read(answer string) (value.Value, error) {
	v, err := parse(answer)
	if err != nil {
		return nil, err
	}
	err = s.check.Check(v)
	if err == nil {
		return v, nil
	}
	if texts := s.like.Problems(v); len(texts) > 0 {
		return nil, value.Errorf(value.Invalid, "the value does not match the schema: %s", value.Cut(strings.Join(texts, "; "), maxProblems))
	}
	return nil, value.Errorf(value.Invalid, "the value does not match the schema: %w", err)
}

// Is reports whether all of a text is one value that matches the schema, as JSON or in a code block.
func (s *Schema) Is(text string) bool {
	text = strings.TrimSpace(text)
	first, _, _ := strings.Cut(text, "\n")
	if fence := prose.FenceOf(first); fence != "" {
		end, closed := prose.FenceEnd(text, min(len(first)+1, len(text)), fence)
		if !closed || strings.Trim(text[end:], fence+" \n") != "" {
			return false
		}
		text = text[min(len(first)+1, end):end]
	}
	v, err := value.ParseJSON([]byte(strings.TrimSpace(text)))
	return err == nil && s.check.Check(v) == nil
}

func parse(answer string) (v value.Value, err error) {
	text := strings.TrimSpace(answer)
	if v, err = value.ParseJSON([]byte(text)); err == nil {
		return v, nil
	}
	for _, part := range []string{block(text), between(text)} {
		if part == "" {
			continue
		}
		if v, inner := value.ParseJSON([]byte(part)); inner == nil {
			return v, nil
		}
	}
	return nil, value.Errorf(value.Invalid, "the answer is not JSON: %w", err)
}

// block returns the text of the last code block, or "".
func block(text string) (inside string) {
	at := 0
	for line := range strings.Lines(text) {
		at += len(line)
		fence := prose.FenceOf(line)
		if fence == "" {
			continue
		}
		if end, closed := prose.FenceEnd(text, at, fence); closed && end > at {
			inside = strings.TrimSpace(text[at:end])
			if _, err := value.ParseJSON([]byte(inside)); err == nil {
				return inside
			}
		}
	}
	return inside
}

// between returns the text from the first bracket to the last one that closes, or "".
func between(text string) string {
	start, end := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if start < 0 || end < start {
		return ""
	}
	return text[start : end+1]
}

// Request returns the instruction for the model to answer with a value of the schema.
func (s *Schema) Request() string {
	return "Give the final answer as one JSON value that matches this JSON Schema, without other text:\n\n" + value.FormatJSON(s.Dict, "")
}

// Again returns the message for an answer that cannot be used.
func (s *Schema) Again(err error) string {
	return "ERROR: " + problem(err) + "\n\n" + s.Request()
}

// Failed returns the error after the last attempt. err is that of the last answer.
func (s *Schema) Failed(op string, err error) error {
	e := value.Errorf(value.Failed, "the model gave no valid answer: %s", problem(err)).
		WithHint("ask for a shorter answer, make the schema simpler, or use another model")
	e.Op = op
	return e
}

func problem(err error) string {
	var e *value.Error
	if errors.As(err, &e) {
		return e.Message()
	}
	return err.Error()
}
