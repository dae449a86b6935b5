package mcp

import (
	"strings"

	"github.com/tailscale/hujson"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An unclearError is why a file of settings cannot be changed without losing something.
type unclearError string

func (e unclearError) Error() string { return string(e) }

// parseJSONC reads an object of JSON, which may have comments.
func parseJSONC(text string) (*value.Dict, error) {
	plain, err := hujson.Standardize([]byte(text))
	if err != nil {
		return nil, value.Errorf(value.Invalid, "it is not valid JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	v, err := value.ParseJSON(plain)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "it is not valid JSON: %w", err)
	}
	d, is := v.(*value.Dict)
	if !is {
		return nil, value.Errorf(value.Invalid, "it is not an object of JSON")
	}
	return d, nil
}

// setJSON returns a text of JSON, which may have comments, whose field at a path has a value. Everything else stays as it is.
// Missing objects on the path are made.
func setJSON(text string, path []string, v value.Value) (string, error) {
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return "", err
	}
	style := styleOf(text, &root)
	at, inline := &root, false
	for i, key := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return "", unclearError("its field " + strings.Join(path[:i], ".") + " is not an object")
		}
		inner := memberOf(object, key)
		if inner == nil {
			for j := len(path) - 1; j > i; j-- {
				v = value.NewDict(path[j], v)
			}
			return style.insert(text, at, object, key, v), nil
		}
		inline = len(object.Members) > 0 && isInline(text, at, object)
		at = inner
	}
	return text[:at.StartOffset] + style.render(v, lineIndent(text, at.StartOffset), inline) + text[at.EndOffset:], nil
}

// memberOf returns the value of a field, or nil. Of several with the same name, the last one counts.
func memberOf(o *hujson.Object, name string) *hujson.Value {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if literal, is := o.Members[i].Name.Value.(hujson.Literal); is && literal.String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// A jsonStyle is how a text is laid out.
type jsonStyle struct{ newline, unit string }

func styleOf(text string, root *hujson.Value) jsonStyle {
	s := jsonStyle{"\n", "  "}
	if strings.Contains(text, "\r\n") {
		s.newline = "\r\n"
	}
	if object, is := root.Value.(*hujson.Object); is && len(object.Members) > 0 && !isInline(text, root, object) {
		if unit := lineIndent(text, object.Members[0].Name.StartOffset); unit != "" {
			s.unit = unit
		}
	}
	return s
}

// isInline reports whether an object begins with its first field on the same line.
func isInline(text string, at *hujson.Value, o *hujson.Object) bool {
	return !strings.Contains(text[at.StartOffset:o.Members[0].Name.StartOffset], "\n")
}

// lineIndent returns the space at the beginning of the line of an offset.
func lineIndent(text string, offset int) string {
	line := text[strings.LastIndexByte(text[:offset], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// render returns a value as JSON in a line with an indent.
func (s jsonStyle) render(v value.Value, indent string, inline bool) string {
	if inline {
		return value.FormatJSON(v, "")
	}
	return strings.ReplaceAll(value.FormatJSON(v, s.unit), "\n", s.newline+indent)
}

// insert adds a field to the end of an object.
func (s jsonStyle) insert(text string, at *hujson.Value, o *hujson.Object, name string, v value.Value) string {
	field := func(indent string, inline bool) string {
		return value.FormatJSON(name, "") + ": " + s.render(v, indent, inline)
	}
	outer, close := lineIndent(text, at.StartOffset), at.EndOffset-1
	if len(o.Members) == 0 {
		inner := outer + s.unit
		comments := strings.TrimRight(text[at.StartOffset+1:close], " \t\r\n")
		return text[:at.StartOffset+1] + comments + s.newline + inner + field(inner, false) + s.newline + outer + text[close:]
	}
	last := &o.Members[len(o.Members)-1].Value
	end := last.EndOffset
	if isInline(text, at, o) {
		return text[:end] + ", " + field("", true) + text[end:]
	}
	indent := lineIndent(text, o.Members[0].Name.StartOffset)
	line := s.newline + indent + field(indent, false)
	after, comma := end, ","
	if next := end + len(last.AfterExtra); text[next] == ',' { // the last field has one
		after, comma = next+1, ""
		line += ","
	}
	after += len(restOfLine(text[after:close]))
	return text[:end] + comma + text[end:after] + line + text[after:]
}

// restOfLine returns the comments at the end of a line.
func restOfLine(text string) string {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			return strings.TrimRight(text[:i], "\r")
		case strings.HasPrefix(text[i:], "/*"):
			if end := strings.Index(text[i+2:], "*/"); end >= 0 {
				i += 2 + end + 1
			}
		}
	}
	return ""
}
