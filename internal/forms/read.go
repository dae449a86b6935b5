package forms

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The actions of a person who is asked to fill in a form.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Accepted returns the response of a person who has filled in the form: a dict with the action and the
// content, in which fields that are left out have their defaults. A nil content leaves out all fields.
// An error is of kind Invalid.
func (f *Form) Accepted(content *value.Dict) (*value.Dict, error) {
	content = content.OrEmpty()
	for key := range content.All() {
		name, _ := key.(string)
		if f.Field(name) == nil {
			return nil, value.Errorf(value.Invalid, "the form has no field %q%s", clean(name, maxName), value.DidYouMean(name, f.names()))
		}
	}
	checked := &value.Dict{}
	for i := range f.Fields {
		field := &f.Fields[i]
		v, given := content.Get(field.Name)
		switch {
		case given && v != nil:
			if err := field.check(v); err != nil {
				return nil, err
			}
			checked.Put(field.Name, v)
		case field.Default != nil:
			checked.Put(field.Name, field.Default)
		case field.Required:
			return nil, value.Errorf(value.Invalid, "the field %q of the form is missing", field.Name)
		}
	}
	return value.NewDict("action", Accept, "content", checked), nil
}

// Field returns a field by its name, or nil.
func (f *Form) Field(name string) *Field {
	i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Fields[i]
}

func (f *Form) names() []string {
	return value.Map(f.Fields, func(field Field) string { return field.Name })
}

// Read returns the response in a text that a person has typed, or that a program has recorded: the JSON
// of the response or of its content, a line NAME=VALUE for each field, or the value of the only field.
// An empty text is not valid. An error is of kind Invalid.
func (f *Form) Read(text string) (*value.Dict, error) {
	if strings.TrimSpace(text) == "" {
		return nil, value.Errorf(value.Invalid, "the answer is empty").WithHint("write a line NAME=VALUE for each field, or {} for the defaults")
	}
	if parsed, err := value.ParseJSON([]byte(text)); err == nil {
		if d, ok := parsed.(*value.Dict); ok {
			return f.readDict(d)
		}
	}
	content, err := f.readLines(text)
	switch {
	case err == nil:
		return f.Accepted(content)
	case len(f.Fields) != 1:
		return nil, err
	}
	only := &f.Fields[0]
	v, err := only.Read(text)
	if err != nil {
		return nil, err
	}
	content = &value.Dict{}
	if v != nil {
		content.Put(only.Name, v)
	}
	return f.Accepted(content)
}

// readDict reads the JSON of a response, or of its content. The author of the form chooses the names of
// the fields, but none of them is a dict: so a dict as content shows that it is a response. If no field is
// named action, an action without content shows that, too.
func (f *Form) readDict(d *value.Dict) (*value.Dict, error) {
	action := d.Text("action")
	isResponse := d.Dict("content") != nil || !d.Has("content") && f.Field("action") == nil
	if !isResponse || !slices.Contains([]string{Accept, Decline, Cancel}, action) {
		return f.Accepted(d)
	}
	if action != Accept {
		return value.NewDict("action", action), nil
	}
	return f.Accepted(d.Dict("content"))
}

// readLines reads lines of names and values.
func (f *Form) readLines(text string) (*value.Dict, error) {
	content := &value.Dict{}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, typed, found := strings.Cut(line, "=")
		field := f.Field(strings.TrimSpace(name))
		if !found || field == nil {
			return nil, value.Errorf(value.Invalid, "%q is not NAME=VALUE with a field of the form: %s", clean(line, maxName), strings.Join(f.names(), ", ")).
				WithHint("write a line NAME=VALUE for each field, or a JSON object with the fields")
		}
		v, err := field.Read(strings.TrimRight(typed, "\r\n"))
		if err != nil {
			return nil, err
		}
		if v != nil {
			content.Put(field.Name, v)
		}
	}
	return content, nil
}

// Read returns the value of the field in a text that a person has typed; nil is the default, or none.
// An option can be typed as its value, its title or its number from 1. An error is of kind Invalid.
func (f *Field) Read(text string) (value.Value, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		if f.Required && f.Default == nil {
			return nil, f.wrong("is required")
		}
		return nil, nil
	}
	var v value.Value
	switch f.Type {
	case "boolean":
		yes := slices.Contains([]string{"y", "yes", "true"}, strings.ToLower(trimmed))
		if !yes && !slices.Contains([]string{"n", "no", "false"}, strings.ToLower(trimmed)) {
			return nil, f.wrong("should be yes or no")
		}
		v = yes
	case "integer", "number":
		n, err := value.ParseJSON([]byte(trimmed))
		if _, ok := floatOf(n); err != nil || !ok {
			return nil, f.wrong("should be " + map[string]string{"integer": "an integer", "number": "a number"}[f.Type])
		}
		v = n
	case "array":
		list := value.List{}
		for part := range strings.SplitSeq(trimmed, ",") {
			list = append(list, f.option(part))
		}
		v = list
	default:
		v = text
		if len(f.Options) > 0 {
			v = f.option(text)
		} else if f.Format != "" {
			v = trimmed
		}
	}
	return v, f.check(v)
}

// option returns the option that a text names, or else the text.
func (f *Field) option(text string) string {
	text = strings.TrimSpace(text)
	for _, o := range f.Options {
		if o.Value == text {
			return text
		}
	}
	for i, o := range f.Options {
		if strings.EqualFold(o.Value, text) || o.Title != "" && strings.EqualFold(o.Title, text) || strconv.Itoa(i+1) == text {
			return o.Value
		}
	}
	return text
}

func (f *Field) wrong(problem string) *value.Error {
	return value.Errorf(value.Invalid, "the field %q of the form %s", f.Name, problem)
}

// check returns why a value is not one of the field, or nil.
func (f *Field) check(v value.Value) error {
	switch f.Type {
	case "boolean":
		if _, ok := v.(bool); !ok {
			return f.wrong("should be yes or no")
		}
		return nil
	case "integer", "number":
		n, ok := floatOf(v)
		switch {
		case !ok:
			return f.wrong("should be a number")
		case f.Type == "integer" && n != math.Trunc(n):
			return f.wrong("should be an integer")
		}
		return f.within(n, "")
	case "array":
		list, ok := value.Elements(v)
		if !ok {
			return f.wrong("should be a list of options")
		}
		for i, item := range list {
			text, _ := item.(string)
			if !f.offers(text) {
				return f.wrong("should be any of " + optionList(f.Options))
			}
			if slices.Contains(list[:i], item) {
				return f.wrong("has an option twice")
			}
		}
		return f.within(float64(len(list)), " options")
	}
	text, ok := v.(string)
	switch {
	case !ok:
		return f.wrong("should be a text")
	case len(f.Options) > 0 && !f.offers(text):
		return f.wrong("should be one of " + optionList(f.Options))
	case len(f.Options) > 0:
		return nil
	case len(text) > maxText || !utf8.ValidString(text):
		return f.wrong("should be UTF-8 text of at most " + strconv.Itoa(maxText>>10) + " KB")
	case !hasFormat(f.Format, text):
		return f.wrong("should be of the format " + f.Format)
	}
	return f.within(float64(utf8.RuneCountInString(text)), " characters")
}

func (f *Field) offers(text string) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == text })
}

// within checks the limits of the field.
func (f *Field) within(n float64, unit string) error {
	if least, ok := floatOf(f.Least); ok && n < least {
		return f.wrong("should be at least " + value.Display(f.Least) + unit)
	}
	if most, ok := floatOf(f.Most); ok && n > most {
		return f.wrong("should be at most " + value.Display(f.Most) + unit)
	}
	return nil
}

var (
	emails = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[^\s@<>()",;:\\]+@[^\s@.<>()",;:\\]+(\.[^\s@.<>()",;:\\]+)*$`)
	})
	uris = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"]+$`) })
)

// hasFormat reports whether a text has a format.
func hasFormat(format, text string) bool {
	var err error
	switch format {
	case "email":
		return emails().MatchString(text)
	case "uri":
		return uris().MatchString(text)
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	return err == nil
}

// floatOf returns a number.
func floatOf(v value.Value) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case *big.Int:
		f, _ := new(big.Float).SetInt(n).Float64()
		return f, true
	}
	return 0, false
}
