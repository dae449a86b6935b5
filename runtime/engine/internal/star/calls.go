package star

import (
	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/starlint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// calls returns a checker of calls, without functions of a library and tools.
func (l *Language) calls(predeclared starlark.StringDict) *starlint.Calls {
	modules := map[string]bool{}
	for name, v := range predeclared {
		_, modules[name] = v.(*starModule)
	}
	return &starlint.Calls{Predeclared: predeclared, Modules: modules, Functions: l.functions, Attempt: attemptName,
		Library: map[string]*lint.Signature{failName: failSignature()}, Tools: map[string]*lint.Signature{}}
}

// typesLib is the library file with the types of the functions in [toolsLib], in JSON: a list of
// [codeFunction]. It is optional.
const typesLib = "tools.json"

// uncheckedLib is a library file whose presence says that the calls of a program are checked only
// as they are made: for programs that have made some of them.
const uncheckedLib = "unchecked"

// A codeFunction describes a function of a library that calls a tool.
type codeFunction struct {
	Function string      `json:"function"`
	Tool     string      `json:"tool"`
	Params   []codeParam `json:"params"`
	More     bool        `json:"more"` // the tool accepts any argument
}

// A codeParam is a parameter of a codeFunction. Name is that of the function.
type codeParam struct {
	Name  string     `json:"name"`
	Param tool.Param `json:"param"`
}

// newCallChecker returns the checker of programs with a library.
func (l *Code) newCallChecker(predeclared starlark.StringDict, libs map[string]string) (*starlint.Calls, error) {
	k := l.star.calls(predeclared)
	if text, ok := libs[typesLib]; ok {
		if err := readTypes(k, text); err != nil {
			return nil, err
		}
	}
	if _, ok := libs[toolsLib]; !ok {
		return k, nil
	}
	lib, err := l.star.libsOf(libs).get(toolsLib)
	if err != nil {
		return nil, err
	}
	for name, def := range lib.file.defs {
		if k.Library[name] == nil {
			k.Library[name] = starlint.SignatureOf(def)
		}
	}
	return k, nil
}

// readTypes reads the types of the library.
func readTypes(k *starlint.Calls, text string) error {
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return value.Errorf(value.Invalid, "%s: %w", typesLib, err)
	}
	list, err := value.ToGo[[]codeFunction](v)
	if err != nil {
		return value.Errorf(value.Invalid, "%s: %w", typesLib, err)
	}
	for _, f := range list {
		s := &lint.Signature{Name: f.Function, Named: f.More}
		t := &lint.Signature{Name: "tools." + f.Function, Named: f.More, ByName: true}
		for i := range f.Params {
			p := &f.Params[i]
			own := lint.Param{Name: p.Name, Required: p.Param.Required, Type: &p.Param, Omits: !p.Param.Required, Others: p.Param.Aliases}
			if p.Name != p.Param.Name {
				own.Others = append([]string{p.Param.Name}, own.Others...)
			}
			s.Params = append(s.Params, own)
			t.Params = append(t.Params, lint.Param{Name: p.Param.Name, Required: p.Param.Required, Type: &p.Param, Omits: !p.Param.Required, Aliases: p.Param.Aliases})
		}
		k.Library[f.Function], k.Tools[tool.Key(f.Tool)] = s, t
	}
	return nil
}

// functionsOf returns the functions of modules by their full names.
func functionsOf(modules []script.Module) map[string]*tool.Func {
	functions := map[string]*tool.Func{}
	for _, m := range modules {
		for _, f := range m.Funcs {
			functions[f.DisplayName()] = f.Func
		}
	}
	return functions
}
