package cassidy_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/sourcetest"
)

const module = "github.com/cassidy-run/cassidy"

// never lists what a package must not import, although the drawing in ARCHITECTURE.md has it on its own
// floor or below. DIR/... stands for the packages at and below a folder.
var never = []struct {
	who, what, why string
}{
	{"runtime/value internal/hint internal/membudget", "runtime/tool/...", "everybody speaks these words, so they know nobody"},
	{"runtime/tool/...", "runtime/internal/taint", "what a tool is does not depend on what was read"},
	{"runtime/engine/internal/star/...", "runtime/engine/internal/lua/...", "languages are independent of each other"},
	{"runtime/engine/internal/lua/...", "runtime/engine/internal/star/...", "languages are independent of each other"},
	{"runtime/engine/...", "sandbox/... stdlib/... internal/project internal/trust internal/folder", "scripts act only through the effector"},
	{"sandbox/...", "stdlib/... internal/project internal/trust internal/folder", "the pure functions are handed in, so a worker holds no effect"},
	{"stdlib/...", "runtime/engine/... sandbox/... internal/project internal/trust internal/config internal/folder", "an effect acts on the world, and knows nothing of scripts and of who asked"},
	{"internal/project internal/trust internal/lockfile internal/mcpfile internal/skill internal/agentfile", "runtime/engine/... sandbox/... stdlib/...", "reading and reviewing a project must not run its files"},
	{"runtime/journal/...", "runtime/history/...", "a store does not interpret its contents"},
	{"runtime/history/...", "runtime/journal/sqlite", "records depend on the interface of a store only"},
	{"runtime/host/...", "stdlib/... internal/project internal/trust internal/config internal/folder runtime/engine/... runtime/journal/sqlite", "who decides what is allowed does none of it"},
	{"runtime/model/...", "runtime/host/... runtime/agent/... runtime/hooks sandbox/... stdlib/...", "models only answer; hosts decide what is executed"},
	{"runtime/agent/decision", "runtime/host/...", "what a reply means is read without doing any of it"},
	{"runtime/agent runtime/agent/internal/... runtime/agent/codemode", "sandbox/... stdlib/... runtime/engine/... internal/project internal/config", "an agent acts through the host alone"},
	{"runtime/mcp/...", "runtime/agent/... sandbox/... runtime/engine/... internal/project", "a door: every call passes the host"},
	{"runtime/serve/...", "sandbox/... stdlib/... runtime/engine/... internal/project internal/config runtime/journal/sqlite", "a door: what it does for a person passes the host"},
	{"runtime/... stdlib/... sandbox/... internal/project", ".", "a part does not know who chooses the parts"},
	{"cmd/cassidy-worker", "runtime/host/... runtime/history/... runtime/journal/... internal/project", "a worker initializes all that it imports each time that it is started"},
	{"examples/embed examples/server", "internal/...", "what an embedder sees"},
}

// powers is who alone may import what can act on the world, or what we build
// on: everything outside the standard library is here.
var powers = map[string]struct {
	users string
	why   string
}{
	"os":            {"bench/guard stdlib/fs stdlib/fs/internal/swap stdlib/shell internal/beneath internal/scratch stdlib/internal/rowtest internal/folder internal/protect internal/audit internal/config internal/identity internal/memory internal/trust internal/index internal/skill internal/project internal/lockfile internal/mcpfile internal/watch runtime/journal/sqlite sandbox sandbox/internal/seal sandbox/launch sandbox/internal/self . cmd/cassidy cmd/internal/... cmd/cassidy-worker examples/embed examples/mcp-conformance examples/mcp-conformance/client examples/server internal/browsertest internal/testutil internal/testworker runtime/engine/internal/enginetest runtime/mcp/oauth internal/scripttest internal/check", "files are touched by effects, by who reads the project's folder, by who keeps the records of runs and of decisions, by who starts a worker and looks at it, by the command, and by who builds a worker for tests"},
	"os/exec":       {"bench/guard sandbox/launch cmd/internal/app cmd/internal/approve cmd/internal/demo internal/browsertest internal/testutil internal/testworker cmd/internal/command", "the launcher of commands where no system confines them, a person's own editor, the demo, and the worker and the browser of a test, and benchmarks; the program of another engine"},
	"os/signal":     {"sandbox/launch cmd/internal/app cmd/internal/ui examples/server", "a library installs no signal handler; the supervisor of a command is a process of its own"},
	"syscall":       {"internal/testutil stdlib/fs stdlib/fs/internal/swap stdlib/web runtime/journal/sqlite sandbox sandbox/launch cmd/internal/ui runtime/mcp examples/server internal/identity internal/memory internal/protect internal/scratch runtime/mcp/oauth cmd/internal/command", "opening a file without waiting for a FIFO's other end; the lock of a run, which ends with its process; being asked before a connection is made; a client that has gone; how a worker is started, and how it ended; the names of SIGTERM and SIGHUP; the lock of the programs that tests build; the number of a file, how many names it has and when it was made; the program of another engine takes the place of the process"},
	"net":           {"stdlib/web runtime/mcp cmd/internal/mcp examples/server runtime/mcp/oauth runtime/serve cmd/internal/serve", "only the effects of http reach a network for scripts, and they check each address that they dial; a server listens"},
	"net/http":      {". stdlib stdlib/web runtime/model runtime/model/internal/wire runtime/model/anthropic runtime/model/cassidyai runtime/model/gemini cmd/internal/models runtime/mcp cmd/internal/mcp examples/mcp-conformance examples/mcp-conformance/client examples/server runtime/mcp/oauth runtime/mcp/attached internal/scripttest runtime/serve cmd/internal/serve cmd/internal/remote", "the client of http.*, without a proxy, cookies or shared connections; and what models are asked with, for the command through the proxy of its environment; in the root and stdlib only the types of Options.HTTP; and a server, with the command that talks to it"},
	"net/netip":     {"internal/scripttest stdlib stdlib/web internal/config . runtime/mcp/oauth runtime/serve cmd/internal/remote", "reads and judges addresses, and reaches none"},
	"net/url":       {"stdlib/encoding stdlib/internal/row stdlib/secret stdlib/text stdlib/web internal/jsonschema internal/lsp internal/mcpfile internal/openapi runtime/model/cassidyai runtime/model/internal/wire runtime/mcp cmd/internal/mcp cmd/internal/check cmd/internal/models cmd/internal/tool runtime/mcp/oauth runtime/serve runtime/serve/internal/page cmd/internal/remote", "takes addresses apart, and reaches none"},
	"crypto/tls":    {"stdlib/web cmd/internal/serve", "the connections of http.*, and a server"},
	"crypto/x509":   {"stdlib stdlib/web .", "the authorities that http.* trusts"},
	"plugin":        {"", "nothing is loaded into the process"},
	"io/ioutil":     {"", "os by another name"},
	"os/user":       {"", "the command asks the environment"},
	"unsafe":        {"sandbox sandbox/internal/seal sandbox/launch sandbox/internal/seccomp", "seccomp and capset take pointers, and have no wrapper; a message of megabytes becomes a string without a copy"},
	"embed":         {"cmd/internal/completion cmd/internal/demo tools scripts runtime/model/catalog runtime/serve runtime/serve/internal/page", "data travels in the binary"},
	"time/tzdata":   {"stdlib/clock", "a sandboxed process cannot read the system's time zones"},
	"runtime/debug": {"internal/testutil cmd/internal/command cmd/internal/app sandbox sandbox/internal/seal runtime/host/internal/gate runtime/history", "the version of the build; a worker's limits; the stack of a panic, for the log"},

	"go.starlark.net":                               {"runtime/engine/internal/star runtime/engine/internal/lint/starlint runtime/engine/internal/lint/starlint internal/scan runtime/agent/promote", "one package runs the language; the others read its syntax"},
	"github.com/bazelbuild/buildtools":              {"runtime/engine/internal/star", "reads type annotations, which go.starlark.net does not"},
	"github.com/yuin/gopher-lua":                    {"runtime/engine/internal/lua runtime/engine/internal/lint/lualint runtime/engine/source", "one package runs the language; the others read its syntax"},
	"gopkg.in/yaml.v3":                              {"internal/yaml", "archived upstream: one file wraps it"},
	"github.com/google/jsonschema-go":               {"internal/jsonschema", "checks the schemas that others wrote"},
	"github.com/bmatcuk/doublestar/v4":              {"runtime/tool/internal/target stdlib/fs", "globs, in capabilities and in fs.glob"},
	"github.com/aymanbagabas/go-udiff":              {"stdlib/fs/internal/edits stdlib/text runtime/host/internal/gate internal/review internal/scripttest runtime/serve/internal/page cmd/internal/serve", "unified diffs: of effects, in questions, in tests, and where they are shown"},
	"github.com/urfave/cli/v2":                      {"cmd/internal/...", "only the command has flags"},
	"golang.org/x/sys":                              {"runtime/journal/sqlite stdlib/fs/internal/swap sandbox sandbox/internal/seal sandbox/launch sandbox/internal/seccomp sandbox/internal/seccomp/seccomptest internal/identity internal/beneath cmd/internal/ui cmd/internal/ptytest", "the time when a folder was made; the same lock on Windows; opening what is below a folder without following links; the kernel's names for what a worker and a command give up; discarding what was typed too early"},
	"github.com/go-analyze/charts":                  {"stdlib/table", "draws charts, as PNG and SVG"},
	"github.com/rivo/uniseg":                        {"cmd/internal/draw", "how many cells a text has, and where it can be cut"},
	"github.com/yuin/goldmark":                      {"internal/markdown cmd/internal/draw runtime/serve/internal/page", "reads Markdown"},
	"golang.org/x/term":                             {"cmd/internal/ui", "edits lines on a terminal, and knows its width"},
	"golang.org/x/net":                              {"stdlib/text stdlib/web sandbox/internal/seccomp sandbox/internal/seccomp/seccomptest cmd/internal/models", "httpproxy: which proxy the environment names for an address; idna: which host a name means, asked before it is judged; html: reads pages tag by tag; bpf: assembles the filter of system calls"},
	"github.com/landlock-lsm/go-landlock":           {"sandbox/internal/seal sandbox/launch", "what a worker and a command may not open"},
	"kernel.org/pub/linux/libs/security/libcap/psx": {"sandbox/internal/seal", "capabilities belong to threads, with cgo or without"},
	"github.com/creachadair/jrpc2":                  {"internal/lsp", "JSON-RPC, on which the protocol of editors is built"},
	"database/sql":                                  {"runtime/journal/sqlite stdlib/table", "the records of runs; and data.sql, in memory"},
	"modernc.org/sqlite":                            {"runtime/journal/sqlite stdlib/table", "the database, without cgo"},
	"golang.org/x/text":                             {"stdlib/fs/internal/edits stdlib/internal/charset stdlib/table stdlib/text stdlib/web internal/visible", "the encodings of old text files and pages, and the properties of characters"},
	"modernc.org/libc":                              {"stdlib/table", "two switches of the database that its driver has no name for: how much memory a query may take"},
	"mvdan.cc/sh/v3":                                {"stdlib/shell", "takes command lines apart, and runs none"},
	"github.com/modelcontextprotocol/go-sdk":        {"runtime/mcp runtime/mcp/attached examples/mcp-conformance runtime/mcp/oauth", "the protocol; a door stands on it"},
	"github.com/rogpeppe/go-internal":               {"internal/config cmd/internal/mcp runtime/mcp/oauth", "lockedfile: two processes that change the rules of a config, or a list of servers; the rest is for tests only"},
	"golang.org/x/mod":                              {"internal/lockfile", "dirhash: digests as in go.sum"},
	"golang.org/x/time":                             {"runtime/serve", "how often somebody may ask"},
	"golang.org/x/oauth2":                           {"runtime/mcp/oauth", "the tokens of the SDK's authorization"},
	"github.com/tailscale/hujson":                   {"cmd/internal/mcp", "JSON with comments: the settings of editors"},
	"github.com/zalando/go-keyring":                 {"cmd/internal/keyring", "the keyrings of three systems"},
	"github.com/fsnotify/fsnotify":                  {"internal/watch", "the system's reports of changed files"},
	"github.com/chromedp/cdproto":                   {"internal/browsertest", "tests: what Chromium is told"},
	"github.com/chromedp/chromedp":                  {"internal/browsertest", "tests: starts Chromium"},
	"github.com/google/go-cmp":                      {"runtime/engine/internal/enginetest", "tests"},
	"pgregory.net/rapid":                            {"internal/valuetest", "tests only"},
}

// tree returns the Go files of the repository, which are parsed once for all tests of their structure.
var tree = sync.OnceValues(func() ([]sourcetest.File, error) { return sourcetest.Files(".") })

// goFiles returns the Go files of the repository.
func goFiles(t *testing.T) []sourcetest.File {
	t.Helper()
	files, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// imports returns the packages that a file imports.
func imports(f sourcetest.File) []string {
	var list []string
	for _, spec := range f.AST.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		list = append(list, p)
	}
	return list
}

// TestNever checks the rules of never.
func TestNever(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.Test || testsOnly.MatchString(f.Dir) {
			continue // a test may look at anything
		}
		for _, p := range imports(f) {
			for _, rule := range never {
				if strings.HasPrefix(p, module) && isUser(rule.who, f.Dir) && isUser(rule.what, ours(p)) {
					t.Errorf("%s: %s must not import %s: %s", f.Name, f.Dir, ours(p), rule.why)
				}
			}
		}
	}
}

// TestRules checks that the rules name packages that exist.
func TestRules(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	check := func(list string) {
		for user := range strings.FieldsSeq(list) {
			if !slices.ContainsFunc(files, func(f sourcetest.File) bool { return isUser(user, f.Dir) }) {
				t.Errorf("a rule names %s, which does not exist", user)
			}
		}
	}
	for _, rule := range never {
		check(rule.who)
		check(rule.what)
	}
	for _, power := range powers {
		check(power.users)
	}
}

// TestFloors checks that the drawing in ARCHITECTURE.md has each package that is not the inside of
// another one, and that imports lead downwards in it, or stay on their floor.
func TestFloors(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	packages := map[string]bool{}
	for _, f := range files {
		packages[f.Dir] = packages[f.Dir] || !f.Test
	}
	floor := drawn(t, packages)
	for _, f := range files {
		from, ok := floor[f.Dir]
		switch {
		case f.Test:
			continue
		case !ok && !isInside(f.Dir, packages) && !testsOnly.MatchString(f.Dir):
			t.Errorf("ARCHITECTURE.md: the drawing lacks %s", f.Dir)
		}
		for _, p := range imports(f) {
			to, known := floor[ours(p)]
			if ok && known && to < from {
				t.Errorf("%s imports %s, which is drawn above %s", f.Name, p, f.Dir)
			}
			if strings.HasPrefix(p, module) && testsOnly.MatchString(p) && !testsOnly.MatchString(f.Dir) {
				t.Errorf("%s imports %s, which is for tests", f.Name, p)
			}
		}
	}
}

// testsOnly matches the packages that only tests import.
var testsOnly = regexp.MustCompile(`/(rowtest|valuetest|sourcetest|enginetest|seccomptest|journaltest|apptest|ptytest|browsertest|testutil|testworker|testhost)$`)

// TestArchitectureFiles checks that the files and folders that ARCHITECTURE.md and
// CONTRIBUTING.md name exist.
func TestArchitectureFiles(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range goFiles(t) {
		for name := f.Name; name != ""; _, name, _ = strings.Cut(name, "/") {
			names[name] = true // a page may leave out the first folders
		}
	}
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, quoted := range regexp.MustCompile("`([a-z_/]+\\.go|(?:cmd|internal|runtime|sandbox|scripts|stdlib)/[a-z/-]+)`").FindAllStringSubmatch(string(text), -1) {
			name := quoted[1]
			if _, err := os.Stat(name); err != nil && !names[name] {
				t.Errorf("%s: %s does not exist", page, name)
			}
		}
	}
}

// drawn returns the floor of each package in the drawing, from the top.
func drawn(t *testing.T, packages map[string]bool) map[string]int {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, drawing, _ := strings.Cut(string(text), "```\n")
	drawing, _, _ = strings.Cut(drawing, "```")
	floor, n := map[string]int{}, 0
	for line := range strings.Lines(drawing) {
		if strings.HasPrefix(line, " ├") || strings.HasPrefix(line, " └") {
			n++
		}
		for _, word := range strings.Fields(line) {
			if word == "cassidy" {
				word = "."
			}
			if _, twice := floor[word]; packages[word] && !twice {
				floor[word] = n
			}
		}
	}
	return floor
}

// isInside reports whether a package is a part of another one, or of the commands.
func isInside(dir string, packages map[string]bool) bool {
	for at := strings.LastIndex(dir, "/internal/"); at >= 0; at = strings.LastIndex(dir[:at], "/internal/") {
		if packages[dir[:at]] || dir[:at] == "cmd" { // the commands
			return true
		}
	}
	return false
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
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.Test {
			continue
		}
		for _, p := range imports(f) {
			power, guarded := powers[root(p)]
			switch {
			case guarded && !isUser(power.users, f.Dir):
				t.Errorf("%s: %s must not import %s: %s", f.Name, f.Dir, p, power.why)
			case !guarded && strings.Contains(strings.Split(p, "/")[0], ".") && !strings.HasPrefix(p, module):
				t.Errorf("%s: the dependency %s is not in the table of powers", f.Name, p)
			}
		}
	}
}

// isUser reports whether a list of packages has one; DIR/... stands for all at and
// below a folder.
func isUser(users, dir string) bool {
	return slices.ContainsFunc(strings.Fields(users), func(user string) bool {
		below, all := strings.CutSuffix(user, "/...")
		return user == dir || all && (dir == below || strings.HasPrefix(dir, user[:len(user)-len("...")]))
	})
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

// TestTemporaryFolders checks that every temporary folder is one that the next process removes if
// this one is killed. What only tests and benchmarks make is theirs.
func TestTemporaryFolders(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.Test || isUser("internal/scratch internal/browsertest internal/testutil internal/testworker runtime/engine/internal/enginetest bench/guard examples/mcp-conformance/client", f.Dir) {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			made, ok := call.Fun.(*ast.SelectorExpr)
			inTemp := ok && made.Sel.Name == "CreateTemp"
			if inTemp {
				lit, ok := call.Args[0].(*ast.BasicLit)
				inTemp = ok && lit.Value == `""`
			}
			if ok && made.Sel.Name == "MkdirTemp" || inTemp {
				t.Errorf("%s: make temporary folders with scratch.Make", f.Set.Position(n.Pos()))
			}
			return true
		})
	}
}

// TestNoState checks that a library keeps nothing of its own: no init, and no
// package-level variable that is ever assigned to.
func TestNoState(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	vars := map[string]bool{} // "dir name"
	for _, f := range files {
		for _, d := range f.AST.Decls {
			if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.VAR && !f.Test {
				for _, spec := range gen.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						vars[f.Dir+" "+name.Name] = true
					}
				}
			}
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s has an init function", f.Name)
			}
		}
	}
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			for _, left := range assigned(n) {
				if id, ok := base(left).(*ast.Ident); ok && vars[f.Dir+" "+id.Name] {
					t.Errorf("%s assigns to the package-level variable %s", f.Set.Position(n.Pos()), id.Name)
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
