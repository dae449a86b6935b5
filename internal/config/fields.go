package config

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Field is a field that is in force, and where its value comes from.
type Field struct {
	Path    []string
	Value   value.Value // not an object with fields, see [Fields]
	File    string      // the config that sets it; "" for a default
	Line    int         // of the field in the file, from 1
	Project bool        // the file is the project's, which can only restrict
}

// Name returns the path as [ParsePath] reads it.
func (f *Field) Name() string { return PathText(f.Path) }

// Fields returns the fields that are in force in a project, as [Read] reads them: those of the user's config, then
// those of the project's, each in the order of the file, and then the defaults of those that are not set.
// A list that both have, such as deny, is a field of both.
func Fields(root string, o *Options) ([]Field, error) {
	if _, err := Read(root, o); err != nil {
		return nil, err
	}
	var all []Field
	for _, r := range readers(root, o) {
		text, err := r.readBounded()
		if err != nil {
			continue // it does not exist, since Read has read it
		}
		v, _ := yaml.Parse(text)
		d, _ := v.(*value.Dict)
		line := yaml.Lines(text)
		for _, f := range flat(nil, d) {
			if r.project && f.Path[0] == "allow" {
				continue // is not read
			}
			f.File, f.Line, f.Project = r.file, line(f.Path...), r.project
			all = append(all, f)
		}
	}
	for _, f := range defaults() {
		if !slices.ContainsFunc(all, func(set Field) bool { return covers(set.Path, f.Path) }) {
			all = append(all, f)
		}
	}
	return all, nil
}

// covers reports whether a field that is set has another one, such as sandbox of sandbox.mode.
func covers(set, path []string) bool {
	n := min(len(set), len(path))
	return slices.Equal(set[:n], path[:n])
}

// flat returns the fields in an object that are not themselves objects with fields.
func flat(at []string, d *value.Dict) (fields []Field) {
	for k, v := range d.All() {
		name, _ := k.(string)
		path := append(slices.Clip(at), name)
		if inner, ok := v.(*value.Dict); ok && inner.Len() > 0 {
			fields = append(fields, flat(path, inner)...)
		} else if v != nil {
			fields = append(fields, Field{Path: path, Value: v})
		}
	}
	return fields
}

// defaults returns the fields that mean something if they are not set.
func defaults() []Field {
	return []Field{
		{Path: []string{"project_overrides_personal"}, Value: false},
		{Path: []string{"sandbox", "mode"}, Value: string(SandboxProcess)},
		{Path: []string{"sandbox", "required"}, Value: SandboxConfig{}.Confines()},
		{Path: []string{"limits", "host_memory"}, Value: int64(membudget.Default)},
		{Path: []string{"docs"}, Value: "auto"},
		{Path: []string{"repeat_instructions"}, Value: false},
	}
}

// ParsePath reads the path of a field, such as limits.cpu. A name with a dot is in double quotes, as in
// models."openai:gpt-6.2".context. It fails with kind Invalid for a field that no config has.
func ParsePath(text string) (path []string, err error) {
	bad := func(why string) ([]string, error) {
		return nil, value.Errorf(value.Invalid, "invalid name of a field: %s %s", quoted(text), why).WithHint(`write the name as in limits.cpu or models."openai:my-model".context; list the fields: cassidy config list`)
	}
	for rest := text; ; {
		var name string
		if quotedName, after, ok := strings.Cut(strings.TrimPrefix(rest, `"`), `"`); strings.HasPrefix(rest, `"`) {
			if !ok || after != "" && after[0] != '.' {
				return bad("has a quote that is not closed")
			}
			name, rest = quotedName, after
		} else if i := strings.IndexByte(rest, '.'); i >= 0 {
			name, rest = rest[:i], rest[i:]
		} else {
			name, rest = rest, ""
		}
		if name == "" {
			return bad("has an empty part")
		}
		path = append(path, name)
		if rest == "" {
			break
		}
		rest = rest[1:]
	}
	var known []string
	for _, f := range fieldReaders {
		known = append(known, f.name)
	}
	if !slices.Contains(known, path[0]) {
		return nil, value.Errorf(value.Invalid, "unknown field '%s'%s", path[0], value.DidYouMean(path[0], known)).WithHint("the fields are %s", strings.Join(known, ", "))
	}
	return path, nil
}

// PathText returns a path as [ParsePath] reads it.
func PathText(path []string) string {
	return strings.Join(value.Map(path, func(name string) string {
		if strings.Contains(name, ".") {
			return `"` + name + `"`
		}
		return name
	}), ".")
}

// SetField returns the change that sets a field of the user's config, and leaves the rest as it is. It fails if the config would
// be invalid with it, or cannot be changed without losing a comment.
func SetField(file string, path []string, v value.Value) (*Change, error) {
	return editField(file, func(text string) (string, error) { return yaml.Set(text, path, v) })
}

// UnsetField returns the change that removes a field from the user's config. It fails with kind NotFound if the config does
// not set it.
func UnsetField(file string, path []string) (*Change, error) {
	return editField(file, func(text string) (string, error) { return yaml.Remove(text, path) })
}

func editField(file string, edit func(text string) (string, error)) (*Change, error) {
	c := &Change{File: file, purpose: "change "}
	c.edit = func(text string) (string, error) {
		r := reader{to: &Config{}, file: file, source: file}
		if err := r.parseFile(text); err != nil {
			return "", err
		}
		changed, err := edit(text)
		if err == nil {
			_, err = parsed(file, "", changed)
		} else if e := *value.ErrorOf(err, value.Failed); e.Kind == value.Conflict {
			e.Hint = "edit " + file
			err = &e
		}
		return changed, err
	}
	if err := c.plan(); err != nil {
		return c, err
	}
	return c, c.writable() // found before a secret is typed
}
