package tool

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Coerce converts text arguments, from a command line or a format without types, to the
// declared types: "3" for an integer is 3, "a,b" or "[\"a\"]" for a list is a list, and
// JSON for an object. Text that cannot be converted stays, for [Tool.Check] to refuse. The
// second result has a note for each conversion.
func (t *Tool) Coerce(args *value.Dict) (*value.Dict, []string) {
	result := &value.Dict{}
	var notes []string
	declared := *t
	if len(t.Schema) > 0 {
		declared.Params, _ = t.CallerParams() // a schema that is no such list converts nothing
	}
	for k, v := range args.All() {
		name, ok := k.(string)
		text, isText := v.(string)
		p, known := declared.Param(name)
		if !ok || !isText || !known {
			_ = result.Set(k, v) // it was a key before
			continue
		}
		read, changed := p.Type.fromText(text)
		if changed {
			notes = append(notes, fmt.Sprintf("%s: read %q as %s", name, value.Cut(text, 60), value.TypeOf(read)))
		}
		result.Put(name, read)
	}
	return result, notes
}

// fromText reads a text as a type and says whether that changed it.
func (t Type) fromText(text string) (value.Value, bool) {
	trimmed := strings.TrimSpace(text)
	if t.Nullable && (trimmed == "null" || trimmed == "None") && t.Name != TypeString {
		return nil, true
	}
	switch t.Name {
	case TypeInteger, TypeNumber:
		if n, ok := yaml.ParseNumber(trimmed); ok {
			return n, true
		}
	case TypeBoolean, TypeLogical:
		switch strings.ToLower(trimmed) {
		case "true", "yes", "1", "on":
			return true, true
		case "false", "no", "0", "off":
			return false, true
		}
	case TypeArray, TypeCharacter, TypeList:
		return t.listFromText(text, trimmed)
	case TypeObject:
		if v, err := value.ParseJSON([]byte(trimmed)); err == nil {
			return v, true
		}
	case TypeAny, "":
		return anyFromText(text, trimmed)
	}
	return text, false
}

// listFromText reads JSON, or items with commas between them.
func (t Type) listFromText(text, trimmed string) (value.Value, bool) {
	if strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{") {
		return anyFromText(text, trimmed)
	}
	list := value.List{}
	if trimmed == "" {
		return list, true
	}
	item := Type{Name: TypeString}
	if t.Items != nil {
		item = *t.Items
	}
	for part := range strings.SplitSeq(trimmed, ",") {
		v, _ := item.fromText(strings.TrimSpace(part))
		list = append(list, v)
	}
	return list, true
}

// anyFromText reads what looks like JSON and is no string as JSON.
func anyFromText(text, trimmed string) (value.Value, bool) {
	v, err := value.ParseJSON([]byte(trimmed))
	if _, isText := v.(string); err != nil || isText {
		return text, false
	}
	return v, true
}
