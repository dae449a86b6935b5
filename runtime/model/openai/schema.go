package openai

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// strictWords are the keywords of a schema that strict output supports,
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas. Those that it
// supports only in part, such as pattern, are left out: a strict schema with one that the API
// does not support is refused, and the caller checks the reply in any case.
var strictWords = []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
	"title", "description", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}

// strictDepth and strictProperties are how deep and large a strict schema may be. The limits of
// the API have been raised since; these hold for all its models.
const strictDepth, strictProperties = 5, 100

// isStrict reports whether a schema fulfils what strict output demands: an object whose objects
// list all their properties as required and allow no others.
func isStrict(schema *value.Dict) bool {
	properties := 0
	return schema.Text("type") == "object" && !schema.Has("anyOf") && strictPart(schema, 0, &properties)
}

func strictPart(schema *value.Dict, depth int, properties *int) bool {
	if schema == nil || depth > strictDepth {
		return false
	}
	for k := range schema.All() {
		if !slices.Contains(strictWords, k.(string)) {
			return false
		}
	}
	if ref, ok := schema.Lookup("$ref"); ok {
		target, _ := ref.Value.(string)
		return strings.HasPrefix(target, "#")
	}
	if schema.Has("anyOf") {
		return strictAll(schema.Elements("anyOf"), depth, properties) && !schema.Has("type")
	}
	for _, name := range typesOf(schema) {
		switch name {
		case "object":
			if !strictObject(schema, depth, properties) {
				return false
			}
		case "array":
			items, _ := schema.Get("items")
			if !strictAll([]value.Value{items}, depth, properties) {
				return false
			}
		}
	}
	return len(typesOf(schema)) > 0
}

func strictObject(schema *value.Dict, depth int, properties *int) bool {
	closed, has := schema.Get("additionalProperties")
	required := schema.Elements("required")
	all := schema.Dict("properties")
	if !has || closed != false || len(required) != all.Len() {
		return false
	}
	if *properties += all.Len(); *properties > strictProperties {
		return false
	}
	for name, part := range all.All() {
		if !slices.Contains(required, name) || !strictAll([]value.Value{part}, depth, properties) {
			return false
		}
	}
	for _, part := range schema.Dict("$defs").All() {
		if !strictAll([]value.Value{part}, depth, properties) {
			return false
		}
	}
	return true
}

func strictAll(parts []value.Value, depth int, properties *int) bool {
	for _, part := range parts {
		d, _ := part.(*value.Dict)
		if !strictPart(d, depth+1, properties) {
			return false
		}
	}
	return len(parts) > 0
}

// typesOf returns the names in the type of a schema.
func typesOf(schema *value.Dict) []string {
	if name := schema.Text("type"); name != "" {
		return []string{name}
	}
	var names []string
	for _, v := range schema.Elements("type") {
		name, _ := v.(string)
		names = append(names, name)
	}
	return names
}

// format returns a schema as the format of the reply, or nil if there is none, or the API does
// not take it: it takes only objects. The system prompt asks for such a reply instead.
func (m *client) format(r *model.Request) *value.Dict {
	if r.Schema == nil || m.noSchema.Load() || r.Schema.Text("type") != "object" {
		return nil
	}
	d := value.NewDict("name", schemaName(r.Schema.Text("title")), "schema", r.Schema)
	if isStrict(r.Schema) {
		d.Put("strict", true)
	}
	return d
}

// schemaName makes a title the name of a schema: at most 64 of a-z, A-Z, 0-9, _ and -.
func schemaName(title string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, title)
	if strings.Trim(name, "_") == "" {
		return "reply"
	}
	return name[:min(len(name), 64)]
}

// system returns the system prompt. It asks for the schema if the API does not.
func (m *client) system(r *model.Request) string {
	if r.Schema == nil || m.format(r) != nil {
		return r.System
	}
	said := "Reply only with a JSON value that matches this JSON Schema, without a code fence or other text:\n" + value.FormatJSON(r.Schema, "")
	if r.System == "" {
		return said
	}
	return r.System + "\n\n" + said
}

// choice returns the value of tool_choice, or nil for the default. named makes it for a tool.
func choice(r *model.Request, named func(tool string) *value.Dict) value.Value {
	switch {
	case len(r.Tools) == 0 || r.ToolChoice == "" || r.ToolChoice == model.ToolAuto:
		return nil
	case r.ToolChoice == model.ToolNone || r.ToolChoice == model.ToolRequired:
		return r.ToolChoice
	}
	return named(r.ToolChoice)
}
