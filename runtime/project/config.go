package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Config is what the user's config.yaml and the project's say.
type Config struct {
	// ProjectOverridesPersonal lets a project's tool stand for a personal one
	// of the same name; else neither is used. Only the user's config decides.
	ProjectOverridesPersonal bool
}

// maxConfig is how long a config may be; [tool.ParseYAML] has the same bound.
const maxConfig = tool.MaxYAML

// loadConfig reads the user's config and looks at the project's, which may
// only tighten and so has nothing to say of tools yet.
func loadConfig(root string, o *Options) (Config, error) {
	var c Config
	file := o.Config
	if file == "" && o.Home != "" {
		file = filepath.Join(o.Home, "config.yaml")
	}
	if file != "" {
		fields, err := readConfig(file, o.Config != "", []string{"project_overrides_personal"})
		if err != nil {
			return c, err
		}
		c.ProjectOverridesPersonal = fields.Bool("project_overrides_personal")
	}
	if root != "" {
		if _, err := readConfig(filepath.Join(root, Folder, "config.yaml"), false, nil); err != nil {
			return c, err
		}
	}
	return c, nil
}

// readConfig reads the fields of a config file, all of which must be known and
// true or false.
func readConfig(file string, must bool, known []string) (*tool.Dict, error) {
	text, err := readBounded(file)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	fail := func(err error) (*tool.Dict, error) {
		e := *tool.AsError(err, tool.Invalid)
		e.Pos.File = file
		return nil, &e
	}
	if err != nil {
		return fail(tool.Errorf(tool.Invalid, "cannot be read: %w", errors.Unwrap(err)))
	}
	v, err := tool.ParseYAML(text)
	if err != nil {
		return fail(err)
	}
	if v == nil {
		return nil, nil
	}
	fields, ok := v.(*tool.Dict)
	if !ok {
		return fail(tool.Errorf(tool.Invalid, "a config is a list of fields, as in project_overrides_personal: true"))
	}
	for k, v := range fields.All() {
		name, _ := k.(string)
		if err := checkField(name, v, known); err != nil {
			return fail(err)
		}
	}
	return fields, nil
}

func checkField(name string, v tool.Value, known []string) error {
	for _, field := range known {
		if field != name {
			continue
		}
		if _, ok := v.(bool); !ok {
			return tool.Errorf(tool.Invalid, "'%s' should be true or false but got %s", name, tool.TypeOf(v))
		}
		return nil
	}
	if name == "project_overrides_personal" {
		return tool.Errorf(tool.Invalid, "'%s' is for the user to decide", name).WithHint("put it into the config.yaml of your own folder")
	}
	return tool.Errorf(tool.Invalid, "there is no field '%s'%s", name, tool.DidYouMean(name, known))
}

func readBounded(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return "", &fs.PathError{Op: "read", Path: file, Err: errors.New("not a regular file, or too large")}
	}
	text, err := os.ReadFile(file)
	return string(text), err
}
