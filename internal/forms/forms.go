// Package forms reads forms: flat JSON Schemas of untrusted authors, which a person fills in. They
// are those of the elicitation of the Model Context Protocol.
package forms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Form is what a person fills in. Its texts have no control characters.
type Form struct{ Fields []Field }

// A Field is one value of a form.
type Field struct {
	Name        string
	Title       string // or ""
	Description string // or ""
	Type        string // "string", "number", "integer", "boolean" or "array"
	Required    bool
	Default     value.Value // a valid one, or nil
	Options     []Option    // the texts to choose from; of an array, any number of them
	Format      string      // of a string: "email", "uri", "date", "date-time" or ""

	// The limits of a number, of the length of a text, or of the number of chosen options; nil if
	// there is none.
	Least, Most value.Value
}

// An Option is a text that can be chosen.
type Option struct{ Value, Title string }

// The bounds of a form.
const (
	maxFields  = 30
	maxOptions = 200
	maxSize    = 64 << 10 // of the schema as JSON, in bytes
	maxName    = 100
	maxLabel   = 500
	// maxText is the limit of a text that is filled in, in bytes.
	maxText = 64 << 10
)

// Parse reads a form from its schema. The error is of kind Invalid or Limit.
func Parse(schema *value.Dict) (*Form, error) {
	schema = schema.OrEmpty()
	switch kind := schema.Text("type"); {
	case kind != "" && kind != "object":
		return nil, invalid("its schema is of the type %q instead of object", kind)
	case len(value.FormatJSON(schema, "")) > maxSize:
		return nil, value.Errorf(value.Limit, "invalid form: its schema is longer than %d KB", maxSize>>10)
	}
	properties := schema.Dict("properties").OrEmpty()
	if properties.Len() > maxFields {
		return nil, value.Errorf(value.Limit, "invalid form: it has more than %d fields", maxFields)
	}
	form := &Form{}
	required := schema.Elements("required")
	for key, v := range properties.All() {
		name, _ := key.(string)
		property, ok := v.(*value.Dict)
		if !ok {
			return nil, invalid("the schema of the field %q is not an object", clean(name, maxName))
		}
		f, err := parseField(name, property)
		if err != nil {
			return nil, err
		}
		f.Required = slices.ContainsFunc(required, func(v value.Value) bool { return v == value.Value(name) })
		form.Fields = append(form.Fields, f)
	}
	for _, v := range required {
		if name, _ := v.(string); !properties.Has(name) {
			return nil, invalid("the required field %q is not among its fields", clean(name, maxName))
		}
	}
	return form, nil
}

func invalid(format string, args ...any) *value.Error {
	return value.Errorf(value.Invalid, "invalid form: "+format, args...)
}

// clean returns a text of an untrusted author on one line.
func clean(text string, size int) string {
	return strings.Join(strings.Fields(value.Clean(text, size)), " ")
}

var formats = []string{"email", "uri", "date", "date-time"}

func parseField(name string, d *value.Dict) (Field, error) {
	f := Field{Name: name, Title: clean(d.Text("title"), maxLabel), Description: clean(d.Text("description"), maxLabel), Type: d.Text("type")}
	if clean(name, maxName) != name || name == "" || strings.Contains(name, "=") {
		return f, invalid("invalid name of a field: %q: expected 1 to %d bytes without \"=\", control characters and extra spaces", value.Cut(name, maxName), maxName)
	}
	if f.Type == "" && d.Has("enum") {
		f.Type = "string"
	}
	choices, lower, upper := d, "minimum", "maximum"
	switch f.Type {
	case "string":
		lower, upper = "minLength", "maxLength"
		if format := d.Text("format"); slices.Contains(formats, format) {
			f.Format = format
		}
	case "array":
		lower, upper = "minItems", "maxItems"
		choices = d.Dict("items")
	case "number", "integer":
		choices = nil
	case "boolean":
		choices, lower, upper = nil, "", ""
	default:
		return f, invalid("the field %q is of the type %q: expected string, number, integer, boolean, or array of options", name, clean(f.Type, maxName))
	}
	for _, nested := range []string{"properties", "$ref", "allOf"} {
		if d.Has(nested) || choices.Has(nested) {
			return f, invalid("the field %q is not flat: it has %s", name, nested)
		}
	}
	var err error
	if f.Options, err = parseOptions(name, choices); err != nil {
		return f, err
	}
	if f.Type == "array" && f.Options == nil {
		return f, invalid("the field %q is a list without options", name)
	}
	f.Least, f.Most = numberOf(d, lower), numberOf(d, upper)
	if v, ok := d.Get("default"); ok && v != nil && f.check(v) == nil {
		f.Default = v
	}
	return f, nil
}

// numberOf returns a limit, or nil.
func numberOf(d *value.Dict, name string) value.Value {
	v, _ := d.Get(name)
	if _, ok := floatOf(v); !ok {
		return nil
	}
	return v
}

// parseOptions reads the options of a field: enum with enumNames, or oneOf or anyOf with titles.
func parseOptions(field string, d *value.Dict) (list []Option, err error) {
	names := d.Elements("enumNames")
	for i, v := range d.Elements("enum") {
		o := Option{}
		o.Value, _ = v.(string)
		if i < len(names) {
			title, _ := names[i].(string)
			o.Title = clean(title, maxLabel)
		}
		list = append(list, o)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		for _, v := range d.Elements(keyword) {
			choice, _ := v.(*value.Dict)
			list = append(list, Option{choice.Text("const"), clean(choice.Text("title"), maxLabel)})
		}
	}
	if len(list) > maxOptions {
		return nil, value.Errorf(value.Limit, "invalid form: the field %q has more than %d options", field, maxOptions)
	}
	for _, o := range list {
		if o.Value == "" || value.Clean(o.Value, maxLabel) != o.Value {
			return nil, invalid("the field %q has an option that is not a text, is longer than %d bytes, or has control characters", field, maxLabel)
		}
	}
	return list, nil
}

// Schema returns the schema of the form, with the parts that Parse has read.
func (f *Form) Schema() *value.Dict {
	properties, required := &value.Dict{}, value.List{}
	for i := range f.Fields {
		field := &f.Fields[i]
		properties.Put(field.Name, field.schema())
		if field.Required {
			required = append(required, field.Name)
		}
	}
	d := value.NewDict("type", "object", "properties", properties)
	if len(required) > 0 {
		d.Put("required", required)
	}
	return d
}

func (f *Field) schema() *value.Dict {
	d := value.NewDict("type", f.Type)
	put := func(name string, v value.Value) {
		if v != nil && v != value.Value("") {
			d.Put(name, v)
		}
	}
	put("title", f.Title)
	put("description", f.Description)
	put("format", f.Format)
	lower, upper := "minimum", "maximum"
	switch f.Type {
	case "string":
		lower, upper = "minLength", "maxLength"
	case "array":
		lower, upper = "minItems", "maxItems"
	}
	put(lower, f.Least)
	put(upper, f.Most)
	switch {
	case f.Type == "array":
		d.Put("items", choices("anyOf", f.Options))
	case len(f.Options) > 0:
		for name, v := range choices("oneOf", f.Options).All() {
			d.Put(name.(string), v)
		}
	}
	put("default", f.Default)
	return d
}

// choices returns the schema of options. Without titles it is an enum.
func choices(keyword string, options []Option) *value.Dict {
	if !slices.ContainsFunc(options, func(o Option) bool { return o.Title != "" }) {
		return value.NewDict("type", "string", "enum", value.List(value.Map(options, func(o Option) value.Value { return o.Value })))
	}
	return value.NewDict(keyword, value.List(value.Map(options, func(o Option) value.Value {
		title := o.Title
		if title == "" {
			title = o.Value
		}
		return value.NewDict("const", o.Value, "title", title)
	})))
}

// Lines describes the fields, one on a line.
func (f *Form) Lines() []string {
	lines := make([]string, 0, len(f.Fields))
	for i := range f.Fields {
		lines = append(lines, f.Fields[i].String())
	}
	return lines
}

// String describes the field on one line.
func (f *Field) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case f.Type == "array":
		add("any of %s", optionList(f.Options))
	case len(f.Options) > 0:
		add("one of %s", optionList(f.Options))
	case f.Type == "boolean":
		add("yes or no")
	case f.Format != "":
		add("%s", f.Format)
	case f.Type == "string":
		add("text")
	default:
		add("%s", f.Type)
	}
	unit := ""
	switch f.Type {
	case "string":
		unit = " characters"
	case "array":
		unit = " options"
	}
	if f.Least != nil && len(f.Options) == 0 || f.Least != nil && f.Type == "array" {
		add("at least %s%s", value.Display(f.Least), unit)
	}
	if f.Most != nil && len(f.Options) == 0 || f.Most != nil && f.Type == "array" {
		add("at most %s%s", value.Display(f.Most), unit)
	}
	switch {
	case f.Default != nil:
		add("default %s", f.Shown(f.Default))
	case f.Required:
		add("required")
	default:
		add("optional")
	}
	text := f.Name
	if f.Title != "" && f.Title != f.Name {
		text += " (" + f.Title + ")"
	}
	text += ": " + strings.Join(parts, ", ")
	if f.Description != "" {
		text += ". " + strings.TrimRight(f.Description, ".")
	}
	return text
}

// Example returns the JSON of an answer with a value for each required field, or for the first one.
func (f *Form) Example() string {
	content := &value.Dict{}
	for i := range f.Fields {
		if field := &f.Fields[i]; field.Required {
			content.Put(field.Name, field.example())
		}
	}
	if content.Len() == 0 && len(f.Fields) > 0 {
		content.Put(f.Fields[0].Name, f.Fields[0].example())
	}
	return value.FormatJSON(content, "")
}

// example returns a value for a field: its default, an option, a limit, or else a placeholder.
func (f *Field) example() value.Value {
	switch {
	case f.Default != nil:
		return f.Default
	case f.Type == "array":
		return value.List{f.Options[0].Value}
	case len(f.Options) > 0:
		return f.Options[0].Value
	case f.Type == "boolean":
		return true
	case f.Type == "string":
		return "…"
	case f.Least != nil:
		return f.Least
	case f.Most != nil:
		return f.Most
	}
	return int64(1)
}

func optionList(options []Option) string {
	return strings.Join(value.Map(options, func(o Option) string {
		if o.Title != "" && o.Title != o.Value {
			return o.Value + " (" + o.Title + ")"
		}
		return o.Value
	}), ", ")
}

// Shown returns a value of the field as a person types it.
func (f *Field) Shown(v value.Value) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return clean(v, maxLabel)
	}
	if list, ok := value.Elements(v); ok {
		return strings.Join(value.Map(list, value.Display), ", ")
	}
	return value.Display(v)
}
