package star

import (
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A starLib is a shared file. It is parsed once, run once, frozen, and used by every
// tool that loads it.
type starLib struct {
	parsing sync.Once
	file    *file
	broken  error // the error of parsing it

	running sync.Once
	globals starlark.StringDict
	failed  error // the error of running its top level
}

// A starLibs holds the shared files of a script.
type starLibs struct {
	lang  *Language
	texts map[string]string
	key   string // a hash of all texts
}

func (l *Language) libsOf(texts map[string]string) *starLibs {
	libs := &starLibs{lang: l, texts: texts}
	if len(texts) > 0 {
		libs.key = tool.Script{Libs: texts}.Sum()
	}
	return libs
}

// get returns a parsed shared file.
func (libs *starLibs) get(name string) (*starLib, error) {
	lib := libs.lang.lib(name + "\n" + libs.key)
	lib.parsing.Do(func() { lib.file, lib.broken = libs.lang.parse(name, libs.texts[name]) })
	return lib, lib.broken
}

// lib returns the cache entry of a shared file.
func (l *Language) lib(key string) *starLib {
	l.mu.Lock()
	defer l.mu.Unlock()
	lib, ok := l.libs[key]
	if !ok {
		if len(l.libs) >= script.KeptScripts {
			clear(l.libs) // tools keep those that they have loaded
		}
		lib = &starLib{}
		l.libs[key] = lib
	}
	return lib
}

// load returns a shared file's globals. It runs the file if that was not done yet. The
// recursion ends, since [starLibs.all] has excluded cycles.
func (libs *starLibs) load(name string) (starlark.StringDict, error) {
	lib, err := libs.get(name)
	if err != nil {
		return nil, err
	}
	lib.running.Do(func() { lib.globals, lib.failed = libs.lang.initialize(lib.file, libs) })
	return lib.globals, lib.failed
}

// all lists the files that a file loads, directly or indirectly. It fails if one is
// missing, may not be loaded, or loads itself, and if there are too many.
func (libs *starLibs) all(f *file) ([]string, error) {
	w := loadWalk{libs: libs, main: f.path, size: len(f.text), seen: map[string]bool{}}
	if err := w.file(f, nil); err != nil {
		return nil, err
	}
	slices.Sort(w.names)
	return w.names, nil
}

// A loadWalk follows the load statements from file to file.
type loadWalk struct {
	libs  *starLibs
	main  string
	size  int             // of all texts
	names []string        // of all files
	seen  map[string]bool // whether the walk of a file is complete
}

func (w *loadWalk) file(f *file, path []string) error {
	for _, load := range f.loads() {
		name := load.ModuleName()
		switch done, known := w.seen[name]; {
		case done:
			continue
		case known:
			cycle := append(path[slices.Index(path, name):], name)
			return errorAt(load.Load, "the files load each other in a cycle: %s", strings.Join(cycle, " loads "))
		}
		if err := w.admit(load); err != nil {
			return err
		}
		lib, err := w.libs.get(name)
		if err != nil {
			return err
		}
		if err := w.file(lib.file, append(path, name)); err != nil {
			return err
		}
		w.seen[name] = true
	}
	return nil
}

// admit checks that a new file can be loaded.
func (w *loadWalk) admit(load *syntax.LoadStmt) error {
	name := load.ModuleName()
	if err := checkLoad(name); err != nil {
		err.Pos = position(load.Load)
		return err
	}
	text, ok := w.libs.texts[name]
	if !ok {
		return errorAt(load.Load, "file not found: %s", name)
	}
	w.seen[name] = false
	w.names = append(w.names, name)
	w.size += len(text)
	if w.size > script.MaxLoaded || len(w.names) > script.MaxLoads || len(text) > script.MaxSource {
		return script.SourceLimit(w.main, "the file loads too much: at most %d files, %d KB in total and %d KB in one file are allowed", script.MaxLoads, script.MaxLoaded>>10, script.MaxSource>>10)
	}
	return nil
}

// loads lists the load statements of the file. They are at the top level: elsewhere
// they do not compile.
func (f *file) loads() []*syntax.LoadStmt {
	var list []*syntax.LoadStmt
	for _, stmt := range f.syntax.Stmts {
		if load, ok := stmt.(*syntax.LoadStmt); ok {
			list = append(list, load)
		}
	}
	return list
}

// checkLoad fails unless a name may be loaded: a Starlark file under lib/.
func checkLoad(name string) *value.Error {
	rest, ok := strings.CutPrefix(name, "lib/")
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\:\x00") {
			ok = false
		}
	}
	if !ok || !strings.HasSuffix(rest, ".star") {
		return value.Errorf(value.Invalid, "load: %q is not the path of a .star file in the folder lib", name).
			WithHint(`put the file in the folder lib, and load it by its path, as in load("lib/text.star", "slug")`)
	}
	return nil
}
