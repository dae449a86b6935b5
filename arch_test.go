package cassidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/cassidy-run/cassidy"

// layers is the house: each package, how its documentation begins, and which
// of our packages it may import. A package that is not here must not be.
var layers = map[string]struct {
	doc  string
	uses string
	why  string
}{
	"runtime/tool": {
		"Package tool defines the words of cassidy",
		"runtime/value internal/gostruct internal/jsonschema internal/yaml",
		"everybody speaks these words, so they know nobody",
	},
	"runtime/value": {
		"Package value holds the values that cross every border of cassidy",
		"internal/gostruct",
		"what everybody passes on knows nobody",
	},
	"internal/gostruct": {
		"Package gostruct finds the fields of Go structs",
		"",
		"shared by values and the schemas of tools",
	},
	"internal/goschema": {
		"Package goschema derives what a tool takes and returns",
		"runtime/tool runtime/value internal/gostruct",
		"a tool in Go says it once, in its types",
	},
	"internal/jsonschema": {
		"Package jsonschema checks values against JSON Schemas",
		"runtime/value",
		"a schema of somebody else can be hostile",
	},
	"internal/yaml": {
		"Package yaml reads and writes values as YAML",
		"runtime/value",
		"the one place that knows YAML",
	},
	"internal/valuetest": {
		"Package valuetest generates values for tests.",
		"runtime/value",
		"tests only",
	},
	"runtime/engine": {
		"Package engine runs Starlark and Lua scripts that can touch nothing they are not given.",
		"runtime/tool runtime/value runtime/engine/internal/script runtime/engine/internal/star runtime/engine/internal/lua runtime/engine/internal/markdown",
		"a script's only way out is the effector it is handed",
	},
	"runtime/engine/internal/script": {
		"Package script is what the languages of the engine share",
		"runtime/tool runtime/value",
		"what every language does in the same way",
	},
	"internal/scan": {
		"Package scan reads the tokens of Starlark files",
		"",
		"the one tokenizer of Starlark",
	},
	"runtime/engine/internal/habits": {
		"Package habits finds in a program in Starlark what its author is used to from Python",
		"runtime/tool runtime/value internal/scan",
		"it reads programs and runs none",
	},
	"runtime/engine/internal/star": {
		"Package star reads and runs scripts in Starlark",
		"runtime/tool runtime/value runtime/engine/internal/script runtime/engine/internal/habits internal/scan",
		"one language knows nothing of another",
	},
	"runtime/engine/internal/lua": {
		"Package lua reads and runs scripts in Lua.",
		"runtime/tool runtime/value runtime/engine/internal/script",
		"one language knows nothing of another",
	},
	"runtime/engine/internal/markdown": {
		"Package markdown reads tools in the form in which the first ones were written.",
		"runtime/tool runtime/value internal/yaml runtime/engine/internal/script",
		"the languages of its code are handed in",
	},
	"internal/folder": {
		"Package folder reads the files of folders that may be untrusted",
		"",
		"shared by whoever reads what a project holds",
	},
	"internal/pack": {
		"Package pack writes integers and strings one after another",
		"",
		"shared by the index and the records of trust",
	},
	"internal/config": {
		"Package config reads config.yaml",
		"runtime/tool runtime/value internal/folder internal/yaml",
		"a config is read before anything is trusted or run",
	},
	"internal/trust": {
		"Package trust remembers which files of a project its user has reviewed.",
		"runtime/tool runtime/value internal/folder internal/pack",
		"what is trusted does not depend on how files are read",
	},
	"internal/index": {
		"Package index remembers what was read of the tools in a folder",
		"runtime/tool runtime/value internal/pack",
		"a cache decides nothing",
	},
	"internal/skill": {
		"Package skill reads and writes skills",
		"runtime/tool runtime/value internal/folder internal/trust internal/yaml",
		"instructions for a model run nothing",
	},
	"internal/project": {
		"Package project reads what a folder holds",
		"runtime/tool runtime/value internal/config internal/folder internal/index internal/skill internal/trust",
		"reading a folder must not be able to run what is in it",
	},
	"stdlib/table": {
		"Package table is what scripts can do with tables",
		"runtime/tool runtime/value",
		"a table is computed with beside the script, and asks for a file's bytes as the script would",
	},
	"stdlib/internal/row": {
		"Package row holds what the rows of the standard library share",
		"runtime/tool runtime/value",
		"shared by the packages of the standard library",
	},
	"stdlib/internal/rowtest": {
		"Package rowtest calls the rows of the standard library in tests",
		"runtime/tool runtime/value",
		"tests only; the rows are handed in",
	},
	"stdlib/encoding": {
		"Package encoding is what scripts can do with texts and bytes of known forms",
		"runtime/tool runtime/value internal/yaml stdlib/internal/row",
		"it computes, and acts on nothing",
	},
	"stdlib/text": {
		"Package text is what scripts can do with texts",
		"runtime/tool runtime/value stdlib/encoding stdlib/internal/row",
		"it computes, and acts on nothing",
	},
	"stdlib/number": {
		"Package number is what scripts can compute with numbers",
		"runtime/tool runtime/value stdlib/internal/row",
		"it computes, and acts on nothing",
	},
	"stdlib/clock": {
		"Package clock is what scripts can do with time",
		"runtime/tool runtime/value stdlib/internal/row",
		"the clock that is read is handed in",
	},
	"stdlib/shell": {
		"Package shell takes command lines apart",
		"runtime/tool runtime/value stdlib/internal/row",
		"it computes, and acts on nothing",
	},
	"stdlib/human": {
		"Package human lets scripts ask the person for whom they run",
		"runtime/tool runtime/value stdlib/internal/row",
		"who answers is handed in with the call",
	},
	"stdlib/fs": {
		"Package fs is what scripts can do with the files of one project",
		"runtime/tool runtime/value stdlib/internal/row",
		"who may touch which file is handed in with the call",
	},
	"stdlib": {
		"Package stdlib is what scripts can use",
		"runtime/tool runtime/value stdlib/clock stdlib/encoding stdlib/fs stdlib/human stdlib/shell stdlib/number stdlib/table stdlib/text stdlib/internal/row",
		"an effect acts on the world and knows nothing of who asked",
	},
	"sandbox": {
		"Package sandbox runs a script where it can compute but not act.",
		"runtime/tool runtime/value runtime/engine",
		"the pure functions are handed in, so a worker holds no effect",
	},
	"runtime/host": {
		"Package host runs tools for a model and decides what they may do.",
		"runtime/tool runtime/value internal/goschema runtime/host/internal/diffs runtime/host/internal/events runtime/host/internal/inflight runtime/host/internal/texts runtime/history sandbox",
		"who decides what is allowed does none of it",
	},
	"runtime/host/internal/diffs": {
		"Package diffs shows what would change in files.",
		"runtime/tool",
		"it reads what it is given",
	},
	"runtime/host/internal/events": {
		"Package events delivers the events of a host",
		"runtime/tool",
		"it knows no calls",
	},
	"runtime/host/internal/inflight": {
		"Package inflight knows what a host does for its callers",
		"runtime/value",
		"it ends what it does not know",
	},
	"runtime/host/internal/texts": {
		"Package texts is a file system of texts in memory.",
		"runtime/value",
		"a source that is no folder",
	},
	"runtime/journal": {
		"Package journal stores the records of runs",
		"runtime/tool runtime/value",
		"a store interprets nothing that it keeps",
	},
	"runtime/journal/sqlite": {
		"Package sqlite is a journal store in a folder",
		"runtime/journal runtime/tool runtime/value",
		"a store depends on the interface alone",
	},
	"runtime/journal/journaltest": {
		"Package journaltest is the conformance suite of journal stores.",
		"runtime/journal runtime/tool runtime/value",
		"tests only; it sees a store through the interface",
	},
	"runtime/history": {
		"Package history records what a run did, so that it can be resumed, replayed, audited and undone.",
		"runtime/tool runtime/value runtime/journal",
		"a record knows nothing of who asked or who may",
	},
	"runtime/model": {
		"Package model talks to language models.",
		"runtime/tool runtime/value",
		"a model is asked, and decides nothing about what is done",
	},
	"runtime/agent": {
		"Package agent lets a model reach a goal by calling tools, under a policy",
		"runtime/tool runtime/value runtime/host runtime/model runtime/agent/decision runtime/agent/internal/names runtime/agent/internal/prose runtime/agent/internal/prompt runtime/agent/internal/stub scripts",
		"it acts through the host alone",
	},
	"runtime/agent/internal/prompt": {
		"Package prompt writes what a language model is told",
		"runtime/tool runtime/value runtime/model runtime/agent/decision runtime/agent/internal/prose runtime/agent/internal/stub scripts",
		"it writes texts, and asks nobody",
	},
	"runtime/agent/internal/stub": {
		"Package stub shows tools as the functions of programs",
		"runtime/tool runtime/value runtime/agent/decision runtime/agent/internal/names runtime/agent/internal/prose",
		"shared by prompts and by the programs themselves",
	},
	"runtime/agent/decision": {
		"Package decision reads what a language model asks for in its reply",
		"runtime/tool runtime/value runtime/model runtime/agent/internal/prose",
		"what a reply means is read without doing any of it",
	},
	"runtime/agent/promote": {
		"Package promote makes a tool of a program that a model wrote and that has run.",
		"runtime/tool runtime/value runtime/agent/internal/names runtime/agent/internal/prose",
		"it writes a text; whoever asked for it puts it somewhere",
	},
	"runtime/agent/internal/names": {
		"Package names knows the names that a program in Starlark cannot give",
		"",
		"shared by the programs of agents and their promotion",
	},
	"runtime/agent/internal/prose": {
		"Package prose takes texts apart for what a model is told",
		"runtime/tool runtime/value",
		"shared by prompts, decisions and promotion",
	},
	"tools": {
		"Package tools holds the built-in tools",
		"",
		"data only",
	},
	"scripts": {
		"Package scripts holds the built-in policies, prompts and templates",
		"",
		"data only",
	},
	".": {
		"Package cassidy runs tools for language models",
		"runtime/tool runtime/value runtime/host runtime/history runtime/journal runtime/agent internal/config internal/index internal/project internal/trust stdlib sandbox tools",
		"the one place that chooses the parts",
	},
	"runtime/engine/internal/enginetest": {
		"Package enginetest runs scripts twice, by an engine in this process and in a worker",
		"runtime/engine runtime/tool runtime/value sandbox internal/testworker",
		"tests only; a script must not be able to tell where it runs",
	},
	"internal/testhost": {
		"Package testhost opens hosts for tests",
		". internal/testworker runtime/journal/sqlite",
		"tests only; what programs do",
	},
	"internal/testworker": {
		"Package testworker lets tests run scripts in workers",
		"runtime/tool runtime/value sandbox",
		"tests only; what a worker has is handed in",
	},
	"cmd/cassidy": {
		"Cassidy runs tools for language models, in a sandbox.",
		". runtime/tool runtime/value runtime/host runtime/history runtime/journal/sqlite runtime/model runtime/agent runtime/agent/decision runtime/agent/promote internal/config internal/folder internal/project internal/skill internal/trust sandbox stdlib scripts cmd/cassidy/internal/ui",
		"words for people; what a program could want too is in a library",
	},
	"cmd/cassidy/internal/ui": {
		"Package ui prints for people and for programs, and reads what people type on a terminal.",
		"runtime/tool runtime/value runtime/host",
		"what every command prints with knows no command",
	},
	"cmd/cassidy-worker": {
		"Cassidy-worker is the process in which scripts run",
		"sandbox stdlib",
		"a worker initializes all that it imports each time that it is started",
	},
	"examples/embed": {
		"Embed",
		". sandbox stdlib",
		"what an embedder sees",
	},
	"examples/server": {
		"Server offers",
		". runtime/journal/sqlite runtime/model runtime/agent sandbox stdlib",
		"what an embedder sees who has tenants",
	},
}

// powers is who alone may import what can act on the world, or what we build
// on: everything outside the standard library is here.
var powers = map[string]struct {
	users string
	why   string
}{
	"os":            {"stdlib stdlib/fs stdlib/internal/rowtest internal/folder internal/config internal/trust internal/index internal/skill internal/project runtime/journal/sqlite sandbox . cmd/cassidy cmd/cassidy/internal/ui cmd/cassidy-worker examples/embed examples/server internal/testworker runtime/engine/internal/enginetest", "files are touched by effects, by who reads the project's folder, by who keeps the records of runs, by who starts a worker and looks at it, by the command, and by who builds a worker for tests"},
	"os/exec":       {"sandbox cmd/cassidy internal/testworker", "the launcher of commands where no system confines them, a person's own editor, and the worker of a test"},
	"os/signal":     {"sandbox cmd/cassidy cmd/cassidy/internal/ui examples/server", "a library installs no signal handler; the supervisor of a command is a process of its own"},
	"syscall":       {"stdlib stdlib/fs runtime/journal/sqlite sandbox examples/server", "opening a file without waiting for a FIFO's other end; the lock of a run, which ends with its process; being asked before a connection is made; how a worker is started, and how it ended; the name of SIGTERM"},
	"net":           {"stdlib examples/server", "only the effects of http reach a network for scripts, and they check each address that they dial; a server listens"},
	"net/http":      {". stdlib runtime/model examples/server", "the client of http.*, without a proxy, cookies or shared connections; and what models are asked with; in the root only the types of Options.HTTP; and a server"},
	"net/netip":     {"stdlib internal/config .", "reads and judges addresses, and reaches none"},
	"net/url":       {"stdlib stdlib/encoding stdlib/text internal/jsonschema runtime/model", "takes addresses apart, and reaches none"},
	"crypto/tls":    {"stdlib", "the connections of http.*"},
	"crypto/x509":   {"stdlib .", "the authorities that http.* trusts"},
	"plugin":        {"", "nothing is loaded into the process"},
	"io/ioutil":     {"", "os by another name"},
	"os/user":       {"", "the command asks the environment"},
	"unsafe":        {"sandbox", "seccomp and capset take pointers, and have no wrapper"},
	"embed":         {"tools scripts", "data travels in the binary"},
	"time/tzdata":   {"stdlib/clock", "a sandboxed process cannot read the system's time zones"},
	"runtime/debug": {"cmd/cassidy sandbox runtime/host", "the version of the build; a worker's limits; the stack of a panic, for the log"},

	"go.starlark.net":                               {"runtime/engine/internal/star runtime/engine/internal/habits", "one package knows the language"},
	"github.com/bazelbuild/buildtools":              {"runtime/engine/internal/star", "reads type annotations, which go.starlark.net does not"},
	"github.com/yuin/gopher-lua":                    {"runtime/engine/internal/lua", "one package knows the language"},
	"gopkg.in/yaml.v3":                              {"internal/yaml", "archived upstream: one file wraps it"},
	"github.com/google/jsonschema-go":               {"internal/jsonschema", "checks the schemas that others wrote"},
	"github.com/bmatcuk/doublestar/v4":              {"runtime/tool stdlib/fs", "globs, in capabilities and in fs.glob"},
	"github.com/aymanbagabas/go-udiff":              {"stdlib/fs stdlib/text runtime/host/internal/diffs cmd/cassidy", "unified diffs: of effects, in questions, and on a terminal"},
	"github.com/urfave/cli/v2":                      {"cmd/cassidy", "only the command has flags"},
	"golang.org/x/sys":                              {"runtime/journal/sqlite sandbox cmd/cassidy/internal/ui", "the same lock on Windows; the kernel's names for what a worker gives up; the width of a terminal, and what was typed too early"},
	"golang.org/x/net":                              {"stdlib stdlib/text sandbox", "idna: which host a name means, asked before it is judged; html: reads pages tag by tag; bpf: assembles the filter of system calls"},
	"github.com/landlock-lsm/go-landlock":           {"sandbox", "what a worker may not open"},
	"kernel.org/pub/linux/libs/security/libcap/psx": {"sandbox", "capabilities belong to threads, with cgo or without"},
	"database/sql":                                  {"runtime/journal/sqlite stdlib/table", "the records of runs; and data.sql, in memory"},
	"modernc.org/sqlite":                            {"runtime/journal/sqlite stdlib/table", "the database, without cgo"},
	"golang.org/x/text":                             {"stdlib/table", "the encodings of old text files"},
	"modernc.org/libc":                              {"stdlib/table", "two switches of the database that its driver has no name for: how much memory a query may take"},
	"mvdan.cc/sh/v3":                                {"stdlib/shell", "takes command lines apart, and runs none"},
	"github.com/rogpeppe/go-internal":               {"", "tests only"},
	"github.com/google/go-cmp":                      {"runtime/engine/internal/enginetest", "tests only"},
	"pgregory.net/rapid":                            {"internal/valuetest", "tests only"},
}

// The size beyond which a package cannot be read in one sitting.
const (
	maxLines = 3000 // of code, without tests, comments and empty lines
	maxNames = 45   // that it exports, without methods and fields
)

// large are the packages beyond that size, and how large they may be. What is still to
// be divided is here too, so that it does not grow.
var large = map[string]struct {
	lines, names int
	why          string
}{
	".":                      {maxLines, 150, "the names of the other packages that programs need"},
	"runtime/value":          {maxLines, 120, "values, errors, limits: the words of all others"},
	"runtime/tool":           {3600, 150, "the words of the rest; its codec is to go"},
	"stdlib/table":           {12200, maxNames, "its parts import each other; it is divided when its speed is worked on"},
	"runtime/host":           {6200, 60, "to be divided: the gate, and the drivers of runs"},
	"runtime/agent":          {3250, 55, "sessions, policies and programs share a turn"},
	"sandbox":                {4700, maxNames, "to be divided: how commands are confined"},
	"runtime/agent/decision": {3800, maxNames, "to be cut to the rules that earn something"},
}

// A goFile is one file of ours, parsed.
type goFile struct {
	name string
	dir  string
	ast  *ast.File
	set  *token.FileSet
	test bool
}

func sources(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, goFile{name, path.Dir(filepath.ToSlash(name)), f, set, strings.HasSuffix(name, "_test.go")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func imports(f goFile) []string {
	var list []string
	for _, spec := range f.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		list = append(list, p)
	}
	return list
}

func TestLayers(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		layer, known := layers[f.dir]
		if !known {
			if !f.test {
				t.Errorf("%s: package %s is not in the table of layers", f.name, f.dir)
			}
			continue
		}
		if f.test {
			continue // a test may look at anything
		}
		if f.ast.Doc != nil && strings.HasPrefix(strings.Join(strings.Fields(f.ast.Doc.Text()), " "), layer.doc) {
			documented[f.dir] = true
		}
		for _, p := range imports(f) {
			ours, ok := strings.CutPrefix(p, module)
			if !ok {
				continue
			}
			ours = strings.TrimPrefix(ours, "/")
			if ours == "" {
				ours = "."
			}
			if !slices.Contains(strings.Fields(layer.uses), ours) {
				t.Errorf("%s: %s must not import %s: %s", f.name, f.dir, ours, layer.why)
			}
		}
	}
	for dir, layer := range layers {
		if !documented[dir] {
			t.Errorf("package %s: its documentation should begin with %q", dir, layer.doc)
		}
	}
}

// TestDrawing checks that the drawing in ARCHITECTURE.md has each package that is not the
// inside of another one, and that imports lead downwards in it, or stay on their level.
func TestDrawing(t *testing.T) {
	level := drawn(t)
	for dir := range layers {
		if _, ok := level[dir]; !ok && !isInside(dir) {
			t.Errorf("ARCHITECTURE.md: the drawing lacks %s", dir)
		}
	}
	for _, f := range sources(t) {
		from, ok := level[f.dir]
		if f.test || !ok {
			continue
		}
		for _, p := range imports(f) {
			to, ok := level[ours(p)]
			if ok && to < from {
				t.Errorf("%s imports %s, which is drawn above %s", f.name, p, f.dir)
			}
		}
	}
}

// drawn returns the level of each package in the drawing, from the top.
func drawn(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, drawing, _ := strings.Cut(string(text), "```\n")
	drawing, _, _ = strings.Cut(drawing, "```")
	level, n := map[string]int{}, 0
	for line := range strings.Lines(drawing) {
		if strings.HasPrefix(line, " ├") || strings.HasPrefix(line, " └") {
			n++
		}
		for _, word := range strings.Fields(line) {
			if word == "cassidy" {
				word = "."
			}
			if _, ok := layers[word]; !ok {
				continue
			}
			if _, twice := level[word]; !twice {
				level[word] = n
			}
		}
	}
	return level
}

// isInside reports whether a package is a part of another one, or is for tests only.
func isInside(dir string) bool {
	parent, _, inside := strings.Cut(dir, "/internal/")
	_, known := layers[parent]
	return inside && known || strings.HasPrefix(layers[dir].why, "tests only")
}

// ours returns the folder of one of our packages, or "".
func ours(p string) string {
	if p == module {
		return "."
	}
	dir, _ := strings.CutPrefix(p, module+"/")
	return dir
}

func TestPowers(t *testing.T) {
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		for _, p := range imports(f) {
			power, guarded := powers[root(p)]
			switch {
			case guarded && !slices.Contains(strings.Fields(power.users), f.dir):
				t.Errorf("%s: %s must not import %s: %s", f.name, f.dir, p, power.why)
			case !guarded && strings.Contains(strings.Split(p, "/")[0], ".") && !strings.HasPrefix(p, module):
				t.Errorf("%s: the dependency %s is not in the table of powers", f.name, p)
			}
		}
	}
}

// root returns the row of the table that an import path belongs to: itself, or
// the module that holds it.
func root(p string) string {
	for q := p; q != "." && q != "/"; q = path.Dir(q) {
		if _, ok := powers[q]; ok && q != "embed" {
			return q
		}
	}
	return p
}

// TestPackageSizes checks that each package of the library can be read in one sitting, and
// that what is listed as larger is.
func TestPackageSizes(t *testing.T) {
	lines, names := map[string]int{}, map[string]int{}
	for _, f := range sources(t) {
		if f.test || strings.HasPrefix(f.dir, "cmd/") || strings.HasPrefix(f.dir, "examples/") || f.dir == "bench" {
			continue
		}
		text, err := os.ReadFile(f.name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines[f.dir]++
			}
		}
		for name := range exportedNames(f.ast) {
			names[f.dir+" "+name]++
		}
	}
	exports := map[string]int{}
	for name := range names { // a name that each system declares counts once
		dir, _, _ := strings.Cut(name, " ")
		exports[dir]++
	}
	for dir, n := range lines {
		most, known := large[dir]
		if !known {
			most.lines, most.names = maxLines, maxNames
		}
		if n > most.lines || exports[dir] > most.names {
			t.Errorf("package %s has %d lines of code and exports %d names, more than %d and %d", dir, n, exports[dir], most.lines, most.names)
		}
		if known && n <= maxLines && exports[dir] <= maxNames {
			t.Errorf("package %s has %d lines of code and exports %d names: it need not be listed as large", dir, n, exports[dir])
		}
	}
}

// exportedNames yields what a file declares for other packages, without methods.
func exportedNames(f *ast.File) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, d := range f.Decls {
			var declared []*ast.Ident
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declared = append(declared, d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declared = append(declared, spec.Name)
					case *ast.ValueSpec:
						declared = append(declared, spec.Names...)
					}
				}
			}
			for _, id := range declared {
				if id.IsExported() && !yield(id.Name) {
					return
				}
			}
		}
	}
}

// TestGateTypes checks that what an effect passes is in types that can be
// surveyed: those of package host have no more than maxFields and maxMethods,
// the options and the host apart.
func TestGateTypes(t *testing.T) {
	const maxFields, maxMethods = 12, 20
	apart := []string{"Options", "Host"}
	fields, methods := map[string]int{}, map[string]int{}
	for _, f := range sources(t) {
		if f.dir != "runtime/host" || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					methods[base(n.Recv.List[0].Type).(*ast.Ident).Name]++
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					fields[n.Name.Name] = s.Fields.NumFields()
				}
			}
			return true
		})
	}
	if fields["step"] == 0 || methods["step"] == 0 {
		t.Fatalf("step has %d fields and %d methods: they are not counted", fields["step"], methods["step"])
	}
	for name, n := range fields {
		if n > maxFields && !slices.Contains(apart, name) {
			t.Errorf("host.%s has %d fields, more than %d", name, n, maxFields)
		}
	}
	for name, n := range methods {
		if n > maxMethods && !slices.Contains(apart, name) {
			t.Errorf("host.%s has %d methods, more than %d", name, n, maxMethods)
		}
	}
}

// TestNoState checks that a library keeps nothing of its own: no init, and no
// package-level variable that is ever assigned to.
func TestNoState(t *testing.T) {
	files := sources(t)
	vars := map[string]bool{} // "dir name"
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.VAR && !f.test {
				for _, spec := range gen.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						vars[f.dir+" "+name.Name] = true
					}
				}
			}
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s has an init function", f.name)
			}
		}
	}
	for _, f := range files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			for _, left := range assigned(n) {
				if id, ok := base(left).(*ast.Ident); ok && vars[f.dir+" "+id.Name] {
					t.Errorf("%s assigns to the package-level variable %s", f.set.Position(n.Pos()), id.Name)
				}
			}
			return true
		})
	}
}

// assigned returns what a statement assigns to.
func assigned(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	}
	return nil
}

// base returns the variable that an expression is a part of, as in v[i].f.
func base(x ast.Expr) ast.Expr {
	for {
		switch y := x.(type) {
		case *ast.IndexExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		default:
			return x
		}
	}
}
