package mcp

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// tomlTable returns a table of TOML, and after it the tables in it. Texts and lists of texts are
// written as JSON has them, which is valid TOML.
func tomlTable(name string, d *value.Dict) string {
	var b, inner strings.Builder
	b.WriteString("[" + name + "]\n")
	for k, v := range d.All() {
		if table, ok := v.(*value.Dict); ok {
			inner.WriteString("\n" + tomlTable(name+"."+k.(string), table))
			continue
		}
		b.WriteString(tomlField(k, v))
	}
	return b.String() + inner.String()
}

func tomlField(name, v value.Value) string {
	return name.(string) + " = " + value.FormatJSON(v, "") + "\n"
}

// editedTOML changes the table of a server, or appends one.
func (f *form) editedTOML(before, server string, entry *value.Dict) (e edit, err error) {
	items, err := parseTOML(before)
	if err != nil {
		return e, err
	}
	path := []string{f.path[0], server}
	tables, other := tomlTables(items, path)
	if other {
		return e, unclearError("it has the server in another form than the table [" + strings.Join(path, ".") + "]")
	}
	if e.had = len(tables) > 0; !e.had {
		if before = strings.TrimRight(before, "\n"); before != "" {
			before += "\n\n"
		}
		e.text = before + f.snippet(server, entry)
		return e, nil
	}
	t := tomlEdit{text: before, items: items}
	if t.find(slices.Concat(path, []string{"command"}), false) == nil {
		return e, unclearError("its server " + server + " has no command")
	}
	e.replaces = t.merge(path, entry, f.more)
	if t.failed != "" {
		return edit{}, unclearError(t.failed)
	}
	e.text = t.apply()
	return e, nil
}

// tomlTables returns the headers of a table. other reports whether the text has the table, or a part of it, in another form.
func tomlTables(items []tomlItem, path []string) (headers []tomlItem, other bool) {
	for _, item := range items {
		within := len(item.path) >= len(path) && slices.Equal(item.path[:len(path)], path)
		switch {
		case item.isTable && !item.isArray && slices.Equal(item.path, path):
			headers = append(headers, item)
		case item.isTable:
			other = other || within && len(headers) == 0 || item.isArray && slices.Equal(item.path, path[:1])
		case within && len(item.table) < len(path), slices.Equal(item.path, path[:1]):
			other = true
		}
	}
	return headers, other || len(headers) > 1
}

// A tomlEdit collects changes of a text.
type tomlEdit struct {
	text    string
	items   []tomlItem
	changes []tomlChange
	failed  string // why it is not possible
}

type tomlChange struct {
	start, end int
	text       string
}

// merge sets the fields of a table to those of an entry, and adds more where they are missing. It reports whether the
// table started something else.
func (t *tomlEdit) merge(path []string, entry, more *value.Dict) (other bool) {
	for k, v := range entry.All() {
		name := k.(string)
		if inner, is := v.(*value.Dict); is {
			t.mergeTable(slices.Concat(path, []string{name}), inner)
			continue
		}
		old := t.find(slices.Concat(path, []string{name}), false)
		switch {
		case old == nil:
			t.add(path, k, v)
			other = true
		case !value.Equal(old.value, v):
			t.changes = append(t.changes, tomlChange{old.start, old.end, value.FormatJSON(v, "")})
			other = true
		}
	}
	for k, v := range more.OrEmpty().All() {
		if t.find(slices.Concat(path, []string{k.(string)}), false) == nil {
			t.add(path, k, v)
		}
	}
	return other
}

// mergeTable merges a table within another one.
func (t *tomlEdit) mergeTable(path []string, d *value.Dict) {
	switch {
	case t.find(path, true) != nil:
		t.merge(path, d, nil)
	case slices.ContainsFunc(t.items, func(item tomlItem) bool {
		return !item.isTable && len(item.path) >= len(path) && slices.Equal(item.path[:len(path)], path)
	}):
		t.failed = "it has " + strings.Join(path, ".") + " in another form than a table"
	default:
		at := t.endOf(path[:len(path)-1])
		t.changes = append(t.changes, tomlChange{at, at, "\n" + tomlTable(strings.Join(path, "."), d)})
	}
}

// find returns the table or the field at a path, or nil.
func (t *tomlEdit) find(path []string, isTable bool) *tomlItem {
	for i := range t.items {
		if item := &t.items[i]; item.isTable == isTable && slices.Equal(item.path, path) {
			return item
		}
	}
	return nil
}

// endOf returns where the last field of a table ends.
func (t *tomlEdit) endOf(table []string) (at int) {
	for i := range t.items {
		if item := &t.items[i]; item.isTable && slices.Equal(item.path, table) || !item.isTable && slices.Equal(item.table, table) {
			at = item.after
		}
	}
	return at
}

func (t *tomlEdit) add(table []string, name, v value.Value) {
	at := t.endOf(table)
	t.changes = append(t.changes, tomlChange{at, at, tomlField(name, v)})
}

// apply returns the text with the changes. Those at one place follow each other.
func (t *tomlEdit) apply() string {
	slices.SortStableFunc(t.changes, func(a, b tomlChange) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, c := range t.changes {
		b.WriteString(t.text[at:c.start])
		if c.start == len(t.text) && !strings.HasSuffix(t.text, "\n") && at < c.start {
			b.WriteString("\n")
		}
		b.WriteString(c.text)
		at = c.end
	}
	return b.String() + t.text[at:]
}
