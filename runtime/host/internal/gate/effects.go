package gate

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A effectTable has the functions of a host's effects, by their full names, as in "fs.read". It is complete
// before the first call: then several goroutines may read it.
type effectTable map[string]*tool.Func

// Provide registers the functions of a module. It fails with kind Invalid for an invalid function, and
// for a name that is registered.
func (t effectTable) Provide(m tool.Module) error {
	if err := m.CheckKinds(); err != nil {
		return err
	}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		name := f.Name
		if m.Name != "" {
			name = m.Name + "." + name
		}
		// Repeatable is not here: time.sleep takes no capability.
		acts := f.Kind == tool.Write || f.Kind == tool.External
		switch {
		case m.Name != "" && !identifier(m.Name) || !identifier(f.Name):
			return value.Errorf(value.Invalid, "invalid name of an effect: %q", name)
		case t[name] != nil:
			return value.Errorf(value.Invalid, "the effect %s is registered twice", name)
		case f.Do == nil:
			return value.Errorf(value.Invalid, "the effect %s has no Do", name)
		case acts && f.Target == nil && f.Mode != tool.ModeInternal && !f.MakesCalls():
			return value.Errorf(value.Invalid, "the effect %s has no Target, so it would need no capability", name).
				WithHint("set Target to return the needed capabilities, such as use:%s", name)
		}
		t[name] = f
	}
	return nil
}

// identifier reports whether a script can use a name.
func identifier(name string) bool {
	for i, r := range name {
		if r != '_' && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') && !(i > 0 && '0' <= r && r <= '9') {
			return false
		}
	}
	return name != ""
}

// Func returns the function of an effect, or nil.
func (t effectTable) Func(name string) *tool.Func { return t[name] }

// CheckModules fails if a program cannot be granted the modules.
func (t effectTable) CheckModules(program string, modules []tool.Module) error {
	for _, m := range modules {
		if err := m.CheckKinds(); err != nil {
			return err
		}
		for i := range m.Funcs {
			f := &m.Funcs[i]
			name := m.Name + "." + f.Name
			switch {
			case f.Do == nil:
				return value.Errorf(value.Invalid, "the program '%s' cannot have the function %s: its Do is nil", program, name)
			case t[name] != nil:
				return value.Errorf(value.Invalid, "the program '%s' cannot have the function %s: the host has a function with this name", program, name)
			}
		}
	}
	return nil
}
