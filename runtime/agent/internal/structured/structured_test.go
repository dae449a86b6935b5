package structured_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestRead(t *testing.T) {
	schema, err := value.ParseJSON([]byte(`{"type": "object", "required": ["n"], "properties": {
		"n": {"type": "integer"}, "either": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
		"many": {"type": "array", "items": {"type": "object", "properties": {"of": {"type": "boolean"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := structured.New(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ answer, want, problem string }{
		{`{"n": 1}`, `{"n":1}`, ""},
		{"Here it is:\n\n```json\n{\"n\": 2}\n```\nThat is all.", `{"n":2}`, ""},
		{"```json\n{\"m\": {}}\n```", "", "the value does not match the schema: it lacks the required field 'n'"},
		{`The value is {"n": 3}.`, `{"n":3}`, ""},
		{`{"n": "x"}`, "", "the value does not match the schema: n should be integer but got string"},
		{`["n"]`, "", "the value does not match the schema: it should be object but got array"},
		{`{"n": 1, "many": [{"of": "x"}, {"of": 2}]}`, "", "the value does not match the schema: many[0].of should be boolean but got string; many[1].of should be boolean but got number"},
		{`{"n": 1, "either": "x"}`, "", "the value does not match the schema: /properties/either: anyOf: no schema matches; "},
		{"no value", "", "is not JSON"},
		{"", "", "is not JSON"},
		{`{"n": 1`, "", "is not JSON"},
	} {
		v, err := s.Read(tt.answer)
		if err != nil {
			if tt.problem == "" || !strings.Contains(err.Error(), tt.problem) || !strings.Contains(s.Again(err), tt.problem) {
				t.Errorf("Read(%q): %v, want %q", tt.answer, err, tt.problem)
			}
			continue
		}
		if got := value.FormatJSON(v, ""); got != tt.want {
			t.Errorf("Read(%q) = %s, want %s", tt.answer, got, tt.want)
		}
	}
}

func TestNew(t *testing.T) {
	words, err := structured.New("list[str]")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := words.Read(`["a", 1]`); err == nil {
		t.Error("a list with a number is read as list[str]")
	}
	if v, err := words.Read(`["a", "b"]`); err != nil || !value.Equal(v, value.List{"a", "b"}) {
		t.Errorf("it reads %v, %v", v, err)
	}
	for _, wrong := range []value.Value{"no such type!", int64(3), value.NewDict("$ref", "https://example.com/x.json")} {
		if s, err := structured.New(wrong); value.KindOf(err) != value.Invalid {
			t.Errorf("New(%v) = %v, %v, want an error of kind Invalid", wrong, s, err)
		}
	}
}

// TestIs checks which texts are a value and nothing else.
func TestIs(t *testing.T) {
	s, err := structured.New(value.NewDict("type", "object", "required", value.List{"ok"}))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"ok": true}`:                 true,
		" \n{\"ok\": true}\n":          true,
		"```json\n{\"ok\": true}\n```": true,
		"~~~\n{\"ok\": true}\n~~~\n":   true,
		`{"no": true}`:                 false,
		`[1]`:                          false,
		`{"ok": true`:                  false,
		"":                             false,
		"```":                          false,
		"```json\n{\"ok\": true}":      false,
		"`{\"ok\": true}`":             false,
		"Like this: {\"ok\": true}":    false,
		"{\"ok\": true}\nThat is all.": false,
		"```json\n{\"ok\": true}\n```\nThat is all.": false,
		"Here:\n```json\n{\"ok\": true}\n```":        false,
	} {
		if got := s.Is(text); got != want {
			t.Errorf("Is(%q) = %v, want %v", text, got, want)
		}
	}
}
