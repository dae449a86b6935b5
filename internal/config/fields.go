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
// models."openai:gpt-6.2".context.
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
	return path, nil
}

// CheckPath fails with kind Invalid for a field that no config has.
func CheckPath(path []string) error {
	var known []string
	for _, f := range fieldReaders {
		known = append(known, f.name)
	}
	if slices.Contains(known, path[0]) {
		return nil
	}
	return value.Errorf(value.Invalid, "unknown field '%s'%s", path[0], value.DidYouMean(path[0], known)).WithHint("the fields are %s", strings.Join(known, ", "))
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
	return strict(EditField(file, path, &v))
}

// UnsetField returns the change that removes a field from the user's config. It fails with kind NotFound if the config does
// not set it.
func UnsetField(file string, path []string) (*Change, error) {
	return strict(EditField(file, path, nil))
}

func strict(c *Change, err error) (*Change, error) {
	if err == nil {
		err = c.Fault
	}
	return c, err
}

// EditField is SetField, or UnsetField if v is nil, for a config that may be invalid: it can repair a field that is.
// The field must be valid then. What else is invalid stays so, and Fault has an error of it.
func EditField(file string, path []string, v *value.Value) (*Change, error) {
	c := &Change{File: file, purpose: "change "}
	c.edit = func(text string) (string, error) {
		was, err := faults(file, text)
		if err != nil {
			return "", err
		}
		edit := yaml.Remove
		if v != nil {
			edit = func(text string, path []string) (string, error) { return yaml.Set(text, path, *v) }
		}
		changed, err := edit(text, path)
		if err != nil {
			if e := *value.ErrorOf(err, value.Failed); e.Kind == value.Conflict {
				e.Hint = "edit " + file
				err = &e
			}
			return changed, err
		}
		is, err := faults(file, changed)
		if err != nil {
			return "", err
		}
		c.Fault = nil
		for _, f := range is {
			if f.field == path[0] || !slices.ContainsFunc(was, func(old fault) bool { return old.field == f.field || f.field == "" }) {
				return "", f.err
			}
			if c.Fault == nil {
				c.Fault = f.placed
			}
		}
		return changed, nil
	}
	if err := c.plan(); err != nil {
		return c, err
	}
	return c, c.writable() // found before a secret is typed
}

// A fault is what is wrong with a field of a config, or with several if field is "".
type fault struct {
	field  string
	err    error
	placed error // err with its place
}

// faults returns what is wrong with each field in a text of the user's config, in their order. It fails if
// the text has no fields.
func faults(file, text string) (list []fault, err error) {
	r := reader{to: &Config{}, file: file, source: file}
	fields, err := fieldsOf(text)
	if err != nil {
		return nil, r.placed(text, err)
	}
	for k, v := range fields.All() {
		name, _ := k.(string)
		r.at = []string{name}
		if err := r.field(name, v); err != nil {
			list = append(list, fault{name, err, r.placed(text, err)})
		}
	}
	if len(list) == 0 {
		if err := r.checkModels(); err != nil {
			list = append(list, fault{"", err, r.placed(text, err)})
		}
	}
	return list, nil
}
