package taint

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxSaid is how much is kept of what the user has written, in bytes: the newest messages.
const maxSaid = 16 << 10

// say keeps a message of the user, and forgets the oldest ones. m.mu is locked.
func (m *Marks) say(message string) {
	if message == "" {
		return
	}
	m.said = append(m.said, value.Cut(message, maxSaid))
	size := 0
	for i := len(m.said) - 1; i >= 0; i-- {
		if size += len(m.said[i]); size > maxSaid {
			m.said = append([]string(nil), m.said[i+1:]...)
			return
		}
	}
}

// Composed reports whether the arguments of a call of a tool have text that the model may have taken from
// elsewhere: text that the user has not written, as whole words that stand together, and that the schema
// of the tool does not list. Names, an empty text, truth values and short numbers of the schema tell nothing.
// The text of a file is not the user's, although the file may be trusted: it is what an untrusted text
// tells a model to send.
func (m *Marks) Composed(t *tool.Tool, args *value.Dict) bool {
	schema, err := t.ArgsSchema()
	if m == nil || err != nil {
		return args.Len() > 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	j := judge{m.said, schema}
	return !j.tellsNothingNew(j.forms(schema), args)
}

// A judge decides which arguments tell nothing new.
type judge struct {
	said []string
	root *value.Dict // the schema
}

const (
	maxDigits = 10 // of a number; a longer one could be a text
	maxItems  = 16 // of a list; a longer one of numbers could be a text
	maxForms  = 64 // of a schema
)

// tellsNothingNew reports whether a value tells nothing new. forms are what the schema says of it.
func (j *judge) tellsNothingNew(forms []*value.Dict, v value.Value) bool {
	switch v := v.(type) {
	case nil, bool:
		return true
	case string:
		return v == "" || j.says(v) || lists(forms, v)
	case *value.Dict:
		for k, item := range v.All() {
			name, _ := k.(string)
			of := j.within(forms, "properties", name)
			if len(of) == 0 && !j.says(name) || !j.tellsNothingNew(of, item) {
				return false
			}
		}
		return true
	case value.Media, []byte:
		return false
	}
	items, isList := value.Elements(v)
	if !isList {
		text := fmt.Sprint(v)
		return len(text) <= maxDigits || j.says(text) || lists(forms, v)
	}
	of := j.within(forms, "items", "")
	for _, item := range items {
		if len(items) > maxItems || !j.tellsNothingNew(of, item) {
			return false
		}
	}
	return true
}

// forms returns the schemas that can apply where this one stands.
func (j *judge) forms(schema *value.Dict) []*value.Dict {
	list := []*value.Dict{schema}
	for i := 0; i < len(list) && len(list) < maxForms; i++ {
		for _, word := range []string{"anyOf", "oneOf", "allOf"} {
			for _, v := range list[i].Elements(word) {
				if d, ok := v.(*value.Dict); ok {
					list = append(list, d)
				}
			}
		}
		if ref, ok := strings.CutPrefix(list[i].Text("$ref"), "#/"); ok {
			at := j.root
			for step := range strings.SplitSeq(ref, "/") {
				at = at.Dict(step)
			}
			list = append(list, at)
		}
	}
	return list
}

// within returns the forms of what is inside a value: of the property with a name, or of the items.
func (j *judge) within(forms []*value.Dict, word, name string) (list []*value.Dict) {
	for _, f := range forms {
		of := f.Dict(word)
		if name != "" {
			of = of.Dict(name)
		}
		if of != nil && len(list) < maxForms {
			list = append(list, j.forms(of)...)
		}
	}
	return list
}

// lists reports whether a schema has a value, as one of those that are allowed or as the default.
func lists(forms []*value.Dict, v value.Value) bool {
	for _, f := range forms {
		known := f.Elements("enum")
		for _, word := range []string{"const", "default"} {
			if one, ok := f.Get(word); ok {
				known = append(known[:len(known):len(known)], one)
			}
		}
		for _, one := range known {
			if value.Equal(one, v) {
				return true
			}
		}
	}
	return false
}

// says reports whether the user has written a text, as whole words that stand together. Upper and lower
// case, and the white space between the user's words, do not count.
func (j *judge) says(text string) bool {
	text = strings.ToLower(text)
	if strings.TrimSpace(text) == "" {
		return false
	}
	for _, message := range j.said {
		message = strings.ToLower(message)
		if hasWhole(message, text) || hasWhole(strings.Join(strings.Fields(message), " "), text) {
			return true
		}
	}
	return false
}

// The marks that can stand before and behind the words of a user and are not a part of them.
const (
	openers = "\"'`([{<*_#@“”‘’„«»"
	closers = "\"'`)]}>*_.,;:!?…“”‘’«»"
)

// hasWhole reports whether a message has a text between white space, the ends, and marks.
func hasWhole(message, text string) bool {
	for from := 0; ; {
		i := strings.Index(message[from:], text)
		if i < 0 {
			return false
		}
		before, after := message[:from+i], message[from+i+len(text):]
		before = before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
		if end := strings.IndexFunc(after, unicode.IsSpace); end >= 0 {
			after = after[:end]
		}
		if strings.Trim(before, openers) == "" && strings.Trim(after, closers) == "" {
			return true
		}
		from += i + len(text)
	}
}
