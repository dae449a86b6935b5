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

// ReadArgs returns the arguments of a call as its tool gets them, see [Tool.Check], with a note for each that
// was written otherwise: under an alias; as a text, if c.Texts says so; or, unless a script calls, as the
// JSON text of a list, an object, a number or a boolean where a parameter is one. Some models and clients
// encode such values twice, also in the JSON that they have a person's command pass.
func (t *Tool) ReadArgs(c *Call) (args *value.Dict, notes []string, err error) {
	args, notes = c.Args, t.Renamed(c.Args)
	if c.Texts {
		var read []string
		args, read = t.Coerce(args)
		notes = append(notes, read...)
	}
	checked, err := t.Check(args)
	if err == nil || c.Texts || c.Caller == ByScript {
		return checked, notes, err
	}
	decoded, read := t.decode(args)
	if len(read) == 0 {
		return nil, nil, err
	}
	if checked, second := t.Check(decoded); second == nil {
		return checked, append(notes, read...), nil
	}
	return nil, nil, err
}

// decode reads the texts among arguments that are JSON of the declared types.
func (t *Tool) decode(args *value.Dict) (*value.Dict, []string) {
	result := args.OrEmpty().Clone(0)
	var notes []string
	params, _ := t.CallerParams() // a schema that is no such list decodes nothing
	for i := range params {
		name := givenAs(args, &params[i])
		v, _ := args.Get(name)
		if read := params[i].Type.decoded(v); v != nil && !value.Equal(read, v) {
			notes = append(notes, fmt.Sprintf("%s: read the JSON text %s as %s", name, value.Cut(value.FormatJSON(v, ""), 60), value.TypeOf(read)))
			result.Put(name, read)
		}
	}
	return result, notes
}

// decoded returns a value in which the texts that are JSON of the type are read.
func (t *Type) decoded(v value.Value) value.Value {
	if text, ok := v.(string); ok {
		read, err := value.ParseJSON([]byte(text))
		if _, again := read.(string); err != nil || again || !t.takes(read) {
			return v
		}
		v = read
	}
	switch v := v.(type) {
	case *value.Dict:
		out := value.MakeDict(v.Len())
		for k, item := range v.All() {
			name, _ := k.(string)
			of := t.Values
			for i := range t.Fields {
				if t.Fields[i].Name == name {
					of = &t.Fields[i].Type
				}
			}
			if of != nil {
				item = of.decoded(item)
			}
			_ = out.Set(k, item) // it was a key before
		}
		return out
	case value.List:
		if t.Items != nil {
			return value.List(value.Map(v, t.Items.decoded))
		}
	}
	return v
}

// takes reports whether a value that was read from a text is one of the type.
func (t *Type) takes(v value.Value) bool {
	_, isList := value.Elements(v)
	_, isDict := v.(*value.Dict)
	_, isBool := v.(bool)
	switch t.Name {
	case TypeArray:
		return isList
	case TypeObject:
		return isDict
	case TypeList:
		return isList || isDict
	case TypeInteger, TypeNumber:
		return value.Numeric(v)
	case TypeBoolean, TypeLogical:
		return isBool
	}
	return false
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
