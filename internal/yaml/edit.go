package yaml

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Set returns a text whose field at a path has a value. The rest of the text stays as it is, with its comments.
// Missing fields on the path are made. It fails with kind Conflict if the text cannot be changed in this way: a comment
// would be lost, or the path leads through something other than a mapping.
func Set(text string, path []string, v value.Value) (string, error) { return edit(text, path, &v) }

// Remove is Set for a text without the field, and without the fields on the path that have nothing else. It fails
// with kind NotFound if there is no such field.
func Remove(text string, path []string) (string, error) { return edit(text, path, nil) }

func edit(text string, path []string, v *value.Value) (string, error) {
	parsed, err := Parse(text)
	if err != nil {
		return "", err
	}
	root, ok := parsed.(*value.Dict)
	if !ok && parsed != nil {
		return "", notEditable("it is not a mapping")
	}
	want, err := changed(root.OrEmpty(), path, v)
	if err != nil {
		return "", err
	}
	doc, err := yamlDocument(text)
	if err != nil {
		return "", err
	}
	e := editor{lines: slices.Collect(strings.Lines(text)), want: want}
	if last := len(e.lines) - 1; last >= 0 && !strings.HasSuffix(e.lines[last], "\n") {
		e.lines[last] += "\n"
	}
	if doc.Kind == 0 || doc.Content[0].Kind != yaml.MappingNode { // nothing but comments
		if text, ok := e.replaced(len(e.lines), len(e.lines), rendered(want, nil, 0)); ok {
			return text, nil
		}
		return "", notEditable("it has no fields")
	}
	if text, ok := e.in(doc.Content[0], nil, path, len(e.lines), v == nil); ok {
		return text, nil
	}
	return "", notEditable("a comment would be lost")
}

func notEditable(why string) error {
	return value.Errorf(value.Conflict, "the text cannot be changed automatically: %s", why).WithHint("edit the file yourself")
}

// changed returns a mapping with another value at a path, or without the field if v is nil.
func changed(d *value.Dict, path []string, v *value.Value) (*value.Dict, error) {
	name := path[0]
	old, given := d.Get(name)
	next := old
	switch inner, ok := old.(*value.Dict); {
	case v == nil && !given, v == nil && len(path) > 1 && !ok:
		return nil, value.Errorf(value.NotFound, "there is no field '%s'", strings.Join(path, "."))
	case len(path) == 1 && v != nil:
		next = *v
	case len(path) > 1:
		if !ok && old != nil {
			return nil, notEditable("'" + name + "' is not a mapping")
		}
		below, err := changed(inner.OrEmpty(), path[1:], v)
		if err != nil {
			return nil, err
		}
		next = below
		if v == nil && below.Len() == 0 {
			next = nil
		}
	}
	out := &value.Dict{}
	for k, was := range d.All() {
		switch {
		case k != name:
			out.PutEntry(value.Entry{Key: k, Value: was})
		case next != nil && !(v == nil && len(path) == 1):
			out.Put(name, next)
		}
	}
	if !given {
		out.Put(name, next)
	}
	return out, nil
}

// An editor changes the lines of a text until it means what is wanted.
type editor struct {
	lines []string
	want  *value.Dict
}

// in changes the field that rest leads to in a mapping, whose own path is at. The mapping ends before the line end,
// counted from 0. Fields in braces are changed with the field that has the braces.
func (e *editor) in(m *yaml.Node, at, rest []string, end int, removes bool) (string, bool) {
	indent := 0
	if len(m.Content) > 0 {
		indent = m.Content[0].Column - 1
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, val := m.Content[i], m.Content[i+1]
		if key.Value != rest[0] {
			continue
		}
		from, to := key.Line-1, end
		if i+2 < len(m.Content) {
			to = m.Content[i+2].Line - 1
		}
		here := append(slices.Clip(at), rest[0])
		if len(rest) > 1 && val.Kind == yaml.MappingNode && val.Style&yaml.FlowStyle == 0 && len(val.Content) > 0 {
			if text, ok := e.in(val, here, rest[1:], to, removes); ok {
				return text, true
			}
		}
		lines, comment := rendered(e.want, here, indent), key.LineComment
		if val.Line == key.Line {
			comment = cmp.Or(comment, val.LineComment)
		}
		if lines != nil && comment != "" {
			lines[0] = strings.TrimSuffix(lines[0], "\n") + " " + comment + "\n"
		}
		for next := from + 1; next <= to; next++ {
			if next == from+1 && commented(val.Content, key.Line) || strings.Contains(strings.Join(e.lines[from+1:next], ""), "#") {
				return "", false
			}
			if text, ok := e.replaced(from, next, lines); ok {
				return text, true
			}
		}
		return "", false
	}
	if len(m.Content) == 0 || m.Style&yaml.FlowStyle != 0 {
		return "", false
	}
	lines := rendered(e.want, append(slices.Clip(at), rest[0]), indent)
	for next := m.Content[len(m.Content)-2].Line; next <= end; next++ {
		if text, ok := e.replaced(next, next, lines); ok {
			return text, true
		}
	}
	return "", false
}

// commented reports whether nodes, or those in them, have a comment on a line.
func commented(nodes []*yaml.Node, line int) bool {
	return slices.ContainsFunc(nodes, func(n *yaml.Node) bool {
		return n.Line == line && n.LineComment != "" || commented(n.Content, line)
	})
}

// replaced returns the text with other lines from a line up to another one, if it then means what is wanted.
func (e *editor) replaced(from, to int, lines []string) (string, bool) {
	text := strings.Join(slices.Concat(e.lines[:from], lines, e.lines[to:]), "")
	v, err := Parse(text)
	d, _ := v.(*value.Dict)
	return text, err == nil && (v == nil || d != nil) && value.Equal(d.OrEmpty(), e.want) && value.FormatJSON(d.OrEmpty(), "") == value.FormatJSON(e.want, "")
}

// rendered returns the lines of the field of a mapping that a path leads to, or of all its fields; nil if it has none.
func rendered(d *value.Dict, path []string, indent int) []string {
	for i, name := range path {
		v, given := d.Get(name)
		if !given {
			return nil
		}
		if i == len(path)-1 {
			d = value.NewDict(name, v)
		} else {
			d, _ = v.(*value.Dict)
		}
	}
	if d.Len() == 0 {
		return nil
	}
	text, err := Format(d)
	if err != nil {
		return nil
	}
	lines := slices.Collect(strings.Lines(strings.TrimSuffix(text, "\n") + "\n"))
	for i := range lines {
		lines[i] = strings.Repeat(" ", indent) + lines[i]
	}
	return lines
}
