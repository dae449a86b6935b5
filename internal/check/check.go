// Package check finds faults in the scripts of a project without running them.
package check

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure a checker.
type Options struct {
	// Modules have the functions that scripts can call.
	Modules []tool.Module
	// Tools returns the tools that scripts can call, by their keys. A nil tool exists, but nothing
	// else is known of it. It is called for each file. If it is nil, calls of tools are not checked.
	Tools func() map[string]*tool.Tool
	// Test are the functions that tests get as their parameter. If it is empty, their calls are not checked.
	Test []tool.Func
}

// A Checker finds faults in files. It is safe for concurrent use.
type Checker struct {
	opts   Options
	engine *engine.Engine
}

// New returns a checker.
func New(o Options) *Checker {
	return &Checker{opts: o, engine: engine.New(&engine.Options{Modules: o.Modules})}
}

// File returns the faults of a file with a text, which may differ from that on the disk. The files
// that it loads are read from the folder lib beside it.
func (c *Checker) File(file, text string) []diagnostic.Diagnostic {
	s := tool.Script{Path: filepath.ToSlash(file), Source: text}
	known := &engine.Known{Kind: KindOf(s.Path, text)}
	if abs, err := filepath.Abs(file); err == nil {
		known.Kind = KindOf(filepath.ToSlash(abs), text)
	}
	switch known.Kind {
	case engine.KindPolicy:
		known.Entries, s.Libs = policyEntries(), agent.PolicyLibs()
	case engine.KindHooks:
		known.Entries, known.Strict, known.Computes = hookEntries(), true, true
	default:
		if strings.Contains(text, "load") {
			libs, err := project.Libraries(libraryFolder(file))
			if err != nil {
				return []diagnostic.Diagnostic{invalidFile(s.Path, err)}
			}
			s.Libs = libs
		}
	}
	if c.opts.Tools != nil {
		known.Tools = c.opts.Tools()
	}
	if known.Kind == engine.KindTest {
		known.Test = c.opts.Test
		known.Tools = withBeside(known.Tools, file)
	}
	return c.engine.Check(s, known)
}

// policyEntries returns the function of a policy.
func policyEntries() []engine.Entry {
	name, params := agent.Policy{}.Function()
	return []engine.Entry{{Name: name, Params: params, Types: []string{"string", "dict"}, Result: "the result of agent.finish", Return: `return agent.finish("final", answer)`}}
}

// hookEntries returns the functions of hooks.
func hookEntries() []engine.Entry {
	return value.Map(hooks.Functions(), func(f hooks.Function) engine.Entry {
		return engine.Entry{Name: f.Name, Params: f.Params, Types: []string{"NoneType", "dict"}, Result: f.Expected(), Keys: f.Keys}
	})
}

// withBeside returns tools with those of files beside a test, or in the folder above. Nothing else is known of them.
func withBeside(tools map[string]*tool.Tool, test string) map[string]*tool.Tool {
	if tools == nil {
		return nil
	}
	all := maps.Clone(tools)
	for _, dir := range []string{filepath.Dir(test), filepath.Dir(filepath.Dir(test))} {
		entries, _ := os.ReadDir(dir) // without a folder, there are no tools
		for _, e := range entries {
			stem, ok := strings.CutSuffix(e.Name(), filepath.Ext(e.Name()))
			if key := tool.Key(stem); ok && slices.Contains(tool.ScriptSuffixes(), filepath.Ext(e.Name())) && !strings.HasSuffix(stem, "_test") {
				if _, known := all[key]; !known {
					all[key] = nil
				}
			}
		}
	}
	return all
}

// libraryFolder returns the folder that has the folder lib of a file: the file may be in it.
func libraryFolder(file string) string {
	dir := filepath.Dir(file)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if below, ok := belowProject(dir); ok {
		return below
	}
	if _, err := os.Stat(filepath.Join(dir, libFolder)); err == nil {
		return dir
	}
	for up := dir; filepath.Dir(up) != up; up = filepath.Dir(up) {
		if filepath.Base(up) == libFolder {
			return filepath.Dir(up)
		}
	}
	return dir
}

// belowProject is libraryFolder for a folder below .cassidy: the outermost lib counts there. ok is false for any
// other folder.
func belowProject(dir string) (found string, ok bool) {
	found = dir
	for up := dir; filepath.Dir(up) != up; up = filepath.Dir(up) {
		switch filepath.Base(up) {
		case libFolder:
			found = filepath.Dir(up)
		case folder.Name:
			return found, true
		}
	}
	return "", false
}

// invalidFile returns the diagnostic of a file that cannot be checked.
func invalidFile(file string, err error) diagnostic.Diagnostic {
	e := value.ErrorOf(err, value.Invalid)
	return diagnostic.Diagnostic{Pos: value.Position{File: file, Line: 1, Col: 1}, Severity: diagnostic.Error, Code: diagnostic.InvalidFile, Message: e.Message(), Hint: e.Hint}
}

// libFolder is the folder of the files that scripts load.
const libFolder = "lib"

// KindOf returns what a file is for, by its path and its text.
func KindOf(file, text string) engine.Kind {
	dir, name := path.Split(path.Clean(file))
	nearest, inside := "", false
	for _, one := range strings.Split(dir, "/") {
		switch {
		case one == folder.Name:
			nearest, inside = "", true
		case inside && nearest == libFolder:
		case slices.Contains([]string{"tools", "workflows", "policies", libFolder}, one):
			nearest = one
		}
	}
	switch {
	case path.Ext(name) != ".star":
		return engine.KindTool
	case strings.HasSuffix(name, "_test.star"):
		return engine.KindTest
	case nearest == libFolder && (inside || !declaresAny(text)):
		return engine.KindLibrary
	case declares(text, "tool("):
		return engine.KindTool
	case declares(text, "workflow("):
		return engine.KindWorkflow
	case name == "hooks.star":
		return engine.KindHooks
	case declares(text, "def policy(") && (nearest == "" || nearest == "policies"):
		return engine.KindPolicy
	case declares(text, "def main("):
		return engine.KindWorkflow
	case nearest == "policies":
		return engine.KindPolicy
	case nearest == "workflows" && inside:
		return engine.KindWorkflow
	case nearest == "tools":
		return engine.KindTool
	}
	return engine.KindScript
}

// declaresAny reports whether a text is certainly not that of a library.
func declaresAny(text string) bool {
	return slices.ContainsFunc([]string{"tool(", "workflow(", "def policy(", "def main("}, func(words string) bool { return declares(text, words) })
}

// declares reports whether a line of a text begins with words.
func declares(text, words string) bool {
	return strings.HasPrefix(text, words) || strings.Contains(text, "\n"+words)
}
