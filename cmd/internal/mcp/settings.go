package mcp

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An edit is a text of settings with the server.
type edit struct {
	text     string
	had      bool // the settings had a server of the name
	replaces bool // and it started something else
}

// edited returns the settings with a server: what the user has added to its entry stays, and so does everything else.
func (f *form) edited(before, server string, entry *value.Dict) (edit, error) {
	if strings.TrimSpace(before) == "" {
		return edit{text: f.fresh(server, entry)}, nil
	}
	switch f.format {
	case tomlFile:
		return f.editedTOML(before, server, entry)
	case yamlFile:
		return f.editedYAML(before, server, entry)
	}
	return f.editedJSON(before, server, entry)
}

// fresh returns a new file of settings.
func (f *form) fresh(server string, entry *value.Dict) string {
	text := f.snippet(server, entry)
	if f.format == yamlFile { // the file of Continue begins with these
		text = "name: cassidy\nversion: 0.0.1\nschema: v1\n" + text
	}
	return text
}

// merged returns an entry with the fields that the user has added to an older one. It reports whether the older one started
// something else. A server that the older one does not start, such as one with an address, is replaced.
func (f *form) merged(old, entry *value.Dict) (all *value.Dict, other bool) {
	if !starts(old) {
		return f.complete(entry), true
	}
	all = overlaid(old, entry)
	for k, v := range f.more.OrEmpty().All() {
		if !all.Has(k.(string)) {
			all.Put(k.(string), v)
		}
	}
	return all, !value.Equal(program(old), program(entry))
}

// starts reports whether an entry has a command.
func starts(entry *value.Dict) bool { return len(program(entry)) > 0 }

// program returns what an entry starts.
func program(entry *value.Dict) (words value.List) {
	for _, d := range []*value.Dict{entry, entry.Dict("transport").OrEmpty()} {
		if command, is := d.Get("command"); is {
			words = append(words, command, value.List(d.Elements("args")))
		}
	}
	return words
}

// overlaid returns a dict with the entries of another one.
func overlaid(d, over *value.Dict) *value.Dict {
	all := d.Clone(over.Len())
	for k, v := range over.All() {
		name := k.(string)
		if inner, is := v.(*value.Dict); is && d.Dict(name) != nil {
			v = overlaid(d.Dict(name), inner)
		}
		all.Put(name, v)
	}
	return all
}

func (f *form) editedJSON(before, server string, entry *value.Dict) (e edit, err error) {
	settings, err := parseJSONC(before)
	if err != nil {
		return e, err
	}
	path, servers := slices.Concat(f.path, []string{server}), settings
	for _, key := range f.path {
		inner, has := servers.Get(key)
		d, isDict := inner.(*value.Dict)
		if has && !isDict {
			return e, unclearError("its field " + key + " is not an object")
		}
		servers = d.OrEmpty()
	}
	old, had := servers.Get(server)
	was, _ := old.(*value.Dict)
	was, now := was.OrEmpty(), f.complete(entry)
	if e.had = had; had {
		now, e.replaces = f.merged(was, entry)
	}
	if starts(was) {
		e.text, err = setChanged(before, path, was, now)
	} else {
		e.text, err = setJSON(before, path, now)
	}
	return e, err
}

// setChanged is [setJSON] for each field of an object that has changed.
func setChanged(text string, path []string, old, now *value.Dict) (string, error) {
	for k, v := range now.All() {
		name := k.(string)
		was, has := old.Get(name)
		at := slices.Concat(path, []string{name})
		inner, isDict := v.(*value.Dict)
		wasDict, both := was.(*value.Dict)
		var err error
		switch {
		case has && value.Equal(was, v):
			continue
		case isDict && both:
			text, err = setChanged(text, at, wasDict, inner)
		default:
			text, err = setJSON(text, at, v)
		}
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

func (f *form) editedYAML(before, server string, entry *value.Dict) (e edit, err error) {
	parsed, err := yaml.Parse(before)
	if err != nil {
		return e, value.Errorf(value.Invalid, "it is not valid YAML: %w", err)
	}
	settings, isDict := parsed.(*value.Dict)
	if !isDict && parsed != nil {
		return e, value.Errorf(value.Invalid, "it is not a mapping of YAML")
	}
	key := f.path[0]
	field, has := settings.OrEmpty().Get(key)
	servers, isList := field.(value.List)
	if has && field != nil && !isList {
		return e, unclearError("its field " + key + " is not a list")
	}
	servers = slices.Clone(servers)
	i := slices.IndexFunc(servers, func(v value.Value) bool {
		d, is := v.(*value.Dict)
		return is && d.Text("name") == server
	})
	if e.had = i >= 0; e.had {
		old := servers[i].(*value.Dict)
		entry, e.replaces = f.merged(old, entry)
		if servers[i] = named(server, entry); value.Equal(old, servers[i]) {
			e.text = before
			return e, nil
		}
	} else {
		servers = append(servers, named(server, f.complete(entry)))
	}
	e.text, err = yaml.Set(before, []string{key}, servers)
	if err != nil {
		return e, unclearError("a comment in its field " + key + " would be lost")
	}
	return e, nil
}
