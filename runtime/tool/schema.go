package tool

import (
	"math/big"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Format is a format in which a tool is defined to a model.
type Format string

const (
	JSONSchema Format = "json-schema" // the arguments alone, JSON Schema 2020-12
	OpenAI     Format = "openai"      // platform.openai.com/docs/guides/function-calling
	Anthropic  Format = "anthropic"   // docs.anthropic.com/en/docs/build-with-claude/tool-use
	MCP        Format = "mcp"         // modelcontextprotocol.io, tools/list
	// Locked is the format whose hash a lock of a project keeps. It never changes.
	Locked Format = "locked"
)

// Formats lists the formats of a definition for models and clients.
func Formats() []Format { return []Format{JSONSchema, OpenAI, Anthropic, MCP} }

// Definition returns the tool's definition in a format. An unknown format is an error of
// kind Invalid.
func (t *Tool) Definition(f Format) (*value.Dict, error) {
	args, err := t.ArgsSchema()
	if err != nil {
		return nil, err
	}
	switch f {
	case JSONSchema:
		d := value.NewDict("$schema", "https://json-schema.org/draft/2020-12/schema", "title", t.DisplayTitle(), "description", t.Description)
		for k, v := range args.All() {
			d.Put(k.(string), v)
		}
		return d, nil
	case OpenAI:
		return value.NewDict("type", "function", "function",
			value.NewDict("name", t.ModelName(), "description", t.Description, "parameters", args)), nil
	case Anthropic:
		return value.NewDict("name", t.ModelName(), "description", t.Description, "input_schema", args), nil
	case MCP:
		return t.mcpDefinition(args), nil
	case Locked:
		return t.lockedDefinition(args), nil
	}
	names := value.Map(Formats(), func(f Format) string { return string(f) })
	return nil, value.Errorf(value.Invalid, "unknown format %q%s", f, value.DidYouMean(string(f), names)).
		WithHint(`use "json-schema", "openai", "anthropic" or "mcp"`)
}

// mcpDefinition is a Tool of MCP's tools/list. The annotations are the hints of the
// author, as far as what the tool needs does not contradict them: clients ask their users less about a
// tool that only reads. A wrong hint does no harm for requests that only read, since the host asks for its
// own approvals in any case.
func (t *Tool) mcpDefinition(args *value.Dict) *value.Dict {
	d := value.NewDict("name", t.ModelName(), "title", t.DisplayTitle(), "description", t.Description, "inputSchema", args)
	if schema := t.Returns.outputSchema(); schema != nil {
		d.Put("outputSchema", schema)
	}
	changes := slices.ContainsFunc(t.Needs, func(c Capability) bool { return c.changes() && !c.onlyReads() })
	risky := t.Risky && len(t.Needs) == 0 && !t.Hints.ReadOnly // a handler in Go may do anything
	d.Put("annotations", t.annotations(t.Hints.ReadOnly && !changes, changes || risky))
	return d
}

func (t *Tool) annotations(readOnly, destructive bool) *value.Dict {
	return value.NewDict("title", t.DisplayTitle(), "readOnlyHint", readOnly, "destructiveHint", destructive, "idempotentHint", t.Hints.Idempotent,
		"openWorldHint", t.Hints.OpenWorld || slices.ContainsFunc(t.Needs, Capability.isHTTP))
}

// lockedDefinition is what locks have hashed since their first version.
func (t *Tool) lockedDefinition(args *value.Dict) *value.Dict {
	d := value.NewDict("name", t.ModelName(), "title", t.DisplayTitle(), "description", t.Description, "inputSchema", args)
	if t.Returns != nil && t.Returns.Name == TypeObject && !t.Returns.Nullable {
		d.Put("outputSchema", t.Returns.JSONSchema())
	}
	changes := t.Risky || slices.ContainsFunc(t.Needs, Capability.changes)
	d.Put("annotations", t.annotations(t.Hints.ReadOnly && !changes, changes))
	return d
}

// outputSchema returns the JSON Schema of what MCP calls the structured content of a result, or nil. It must be an object,
// so that of a number, a boolean or an array has the result as its field. Other results have none that is sure to be there:
// a text has one only if it is JSON, and a result with media has none, which any list or dict can have of which nothing is
// declared.
func (t *Type) outputSchema() *value.Dict {
	if t == nil || t.hasMedia() {
		return nil
	}
	switch t.Name {
	case TypeObject:
		if !t.Nullable && (len(t.Fields) > 0 || t.Values != nil) {
			return t.JSONSchema()
		}
		return nil
	case TypeArray:
		if t.Items == nil {
			return nil
		}
	case TypeNumber, TypeInteger, TypeBoolean, TypeLogical, TypeCharacter:
	default:
		return nil
	}
	const field = "result"
	return value.NewDict("type", TypeObject, "properties", value.NewDict(field, t.JSONSchema()), "required", value.List{field})
}

// hasMedia reports whether the declaration of the type has media.
func (t *Type) hasMedia() bool {
	return t != nil && (t.Name == TypeMedia || t.Items.hasMedia() || t.Values.hasMedia() ||
		slices.ContainsFunc(t.Fields, func(p Param) bool { return p.Type.hasMedia() }))
}

// ArgsSchema returns the JSON Schema (2020-12) of the tool's arguments.
func (t *Tool) ArgsSchema() (*value.Dict, error) {
	if len(t.Schema) > 0 {
		v, err := value.ParseJSON(t.Schema)
		if err != nil {
			return nil, err
		}
		d, ok := v.(*value.Dict)
		if !ok {
			return nil, value.Errorf(value.Invalid, "the schema of '%s' is not an object", t.Name)
		}
		return d, nil
	}
	d := objectSchema(t.Params)
	d.Put("additionalProperties", t.AllowExtra)
	return d, nil
}

func objectSchema(params []Param) *value.Dict {
	properties, required := &value.Dict{}, value.List{}
	for _, p := range params {
		if p.FromHost {
			continue
		}
		s := p.Type.JSONSchema()
		if p.Description != "" {
			s.Put("description", p.Description)
		}
		if p.HasDefault && p.Default != nil {
			s.Put("default", p.Default)
		}
		properties.Put(p.Name, s)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	d := value.NewDict("type", "object", "properties", properties)
	if len(required) > 0 {
		d.Put("required", required)
	}
	return d
}

// JSONSchema returns the type as a JSON Schema (2020-12).
func (t Type) JSONSchema() *value.Dict {
	d := &value.Dict{}
	switch t.Name {
	case TypeLogical:
		d.Put("type", TypeBoolean)
	case TypeList:
		d.Put("type", value.List{TypeArray, TypeObject})
	case TypeCharacter:
		each := Type{Name: TypeString, Pattern: t.Pattern, Enum: t.Enum}
		t.Pattern, t.Enum = "", nil // they speak of each string
		d.Put("type", TypeArray)
		d.Put("items", each.JSONSchema())
	case TypeMedia:
		d.Put("type", TypeString)
		d.Put("pattern", `^data:(image/(png|jpeg|gif|webp)|application/pdf);base64,`)
	case TypeString, TypeNumber, TypeInteger, TypeBoolean, TypeArray:
		d.Put("type", t.Name)
	case TypeObject:
		d = objectSchema(t.Fields)
		if len(t.Fields) == 0 {
			d = value.NewDict("type", TypeObject)
		}
		if t.Values != nil {
			d.Put("additionalProperties", t.Values.JSONSchema())
		}
	}
	if t.Items != nil && t.Name == TypeArray {
		d.Put("items", t.Items.JSONSchema())
	}
	t.addConstraints(d)
	if t.Nullable {
		t.addNull(d)
	}
	return d
}

func (t Type) addConstraints(d *value.Dict) {
	minLength, maxLength := "minLength", "maxLength"
	if t.Name == TypeArray || t.Name == TypeCharacter {
		minLength, maxLength = "minItems", "maxItems"
	}
	// A bound beyond int64 is that of a Go type, and some vendors refuse such numbers.
	if _, isBig := t.Min.(*big.Int); t.Min != nil && !isBig {
		d.Put("minimum", t.Min)
	}
	if _, isBig := t.Max.(*big.Int); t.Max != nil && !isBig {
		d.Put("maximum", t.Max)
	}
	if t.MinLength != nil {
		d.Put(minLength, int64(*t.MinLength))
	}
	if t.MaxLength != nil {
		d.Put(maxLength, int64(*t.MaxLength))
	}
	if t.Pattern != "" {
		d.Put("pattern", t.Pattern)
	}
	if len(t.Enum) > 0 {
		d.Put("enum", value.List(slices.Clone(t.Enum)))
	}
}

func (t Type) addNull(d *value.Dict) {
	switch names, _ := d.Get("type"); names := names.(type) {
	case string:
		d.Put("type", value.List{names, "null"})
	case value.List:
		d.Put("type", append(slices.Clone(names), "null"))
	default: // any value may be null already
	}
	if len(t.Enum) > 0 {
		d.Put("enum", append(value.List(slices.Clone(t.Enum)), nil))
	}
}
