package lua_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/internal/testutil"
	ours "github.com/cassidy-run/cassidy/runtime/engine/internal/lua"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaSuiteFiles are the test programs of gopher-lua, its own and those of Lua 5.1: all
// succeed there. If one fails here, line is where, and lacks is the part of Lua that
// the sandbox does not have.
var luaSuiteFiles = []struct {
	file  string
	line  int
	lacks string
}{
	{"_glua-tests/base.lua", 4, "dofile"}, // its error would name the file
	{"_glua-tests/coroutine.lua", 0, ""},
	{"_glua-tests/db.lua", 8, "debug"},
	{"_glua-tests/goto.lua", 2, "loadstring"},
	{"_glua-tests/issues.lua", 78, "debug"},
	{"_glua-tests/math.lua", 0, ""},
	{"_glua-tests/os.lua", 2, "os"},
	{"_glua-tests/strings.lua", 0, ""},
	{"_glua-tests/table.lua", 0, ""},
	{"_glua-tests/vm.lua", 84, "loadstring"},
	{"_lua5.1-tests/attrib.lua", 5, "require"},
	{"_lua5.1-tests/calls.lua", 73, "loadstring"},
	{"_lua5.1-tests/closure.lua", 167, "setfenv"},
	{"_lua5.1-tests/constructs.lua", 153, "loadstring"},
	{"_lua5.1-tests/events.lua", 5, "setfenv"},
	{"_lua5.1-tests/files.lua", 1, "os"},
	{"_lua5.1-tests/literals.lua", 3, "loadstring"},
	{"_lua5.1-tests/locals.lua", 24, "loadstring"},
	{"_lua5.1-tests/math.lua", 126, "io"},
	{"_lua5.1-tests/pm.lua", 161, "loadstring"},
	{"_lua5.1-tests/sort.lua", 25, "os"},
	{"_lua5.1-tests/strings.lua", 147, "os"},
	{"_lua5.1-tests/vararg.lua", 101, "loadstring"},
}

// luaMissingNames are the names of Lua that scripts do not have.
var luaMissingNames = []string{"io", "os", "debug", "package", "channel", "require", "module", "load", "loadstring",
	"loadfile", "dofile", "collectgarbage", "setfenv", "getfenv", "newproxy"}

// luaSuiteDir copies the test programs, since some write files beside them.
func luaSuiteDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/gopher-lua").Output()
	from := strings.TrimSpace(string(out))
	if err != nil || from == "" {
		t.Skipf("NOT RUN: the source of gopher-lua, whose test programs these are, is not here: %v", err)
	}
	dir := t.TempDir()
	for _, sub := range []string{"_glua-tests", "_lua5.1-tests"} {
		if err := os.CopyFS(filepath.Join(dir, sub), os.DirFS(filepath.Join(from, sub))); err != nil {
			t.Skipf("NOT RUN: the test programs of gopher-lua are not in its module: %v", err)
		}
	}
	return dir
}

// runLuaNatively runs a program as gopher-lua's own tests do.
func runLuaNatively(name, text string) error {
	L := lua.NewState(lua.Options{RegistrySize: 1024 * 20, CallStackSize: 1024})
	defer L.Close()
	L.SetGlobal("print", L.NewFunction(func(*lua.LState) int { return 0 }))
	fn, err := L.Load(strings.NewReader(text), name)
	if err != nil {
		return err
	}
	L.Push(fn)
	return L.PCall(0, lua.MultRet, nil)
}

// runLuaHere runs a program as the handler of a tool, with the same lines.
func runLuaHere(t *testing.T, name, text string) error {
	s := tool.Script{Path: name, Source: "return tool{description = 'a test', handler = function(...) (function(...) " + text + "\nend)(...) end}"}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	seed := func(context.Context, tool.Effect) (tool.Outcome, error) { return tool.Outcome{Value: int64(1)}, nil }
	_, err := scripts.Both(t, "none").Run(ctx, s, tool.Call{Limits: tool.Limits{Steps: 1 << 40}}, seed)
	return err
}

// A group is a sequence of statements on lines of their own.
type group struct {
	from, to int // lines; to is exclusive
	count    int // of statements
	mentions map[string]bool
	gives    map[string]bool // names that it assigns anywhere
	makes    map[string]bool // names that it defines itself
	dropped  bool
}

func luaGroups(t *testing.T, name, text string) []*group {
	t.Helper()
	stmts, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		t.Fatal(err)
	}
	var groups []*group
	for _, stmt := range stmts {
		mentioned, assigned, made := ours.Names(stmt)
		line := stmt.Line()
		if n := len(groups); n == 0 || groups[n-1].from < line {
			if n > 0 {
				groups[n-1].to = line
			}
			groups = append(groups, &group{from: line, to: 2 + strings.Count(text, "\n"),
				mentions: map[string]bool{}, gives: map[string]bool{}, makes: map[string]bool{}})
		}
		g := groups[len(groups)-1]
		g.count++
		for _, name := range mentioned {
			g.mentions[name] = true
		}
		for _, name := range assigned {
			g.gives[name] = true
		}
		for _, name := range made {
			g.makes[name] = true
		}
	}
	return groups
}

// dropLuaDependent drops the groups that use missing names or names that only dropped
// groups define.
func dropLuaDependent(groups []*group, taken []string) {
	missing := map[string]bool{}
	for _, name := range taken {
		missing[name] = true
	}
	for _, g := range groups {
		for name := range g.mentions {
			if missing[name] && !(g.makes[name] && len(g.mentions) == 1) {
				g.dropped = true
			}
		}
		for name := range g.gives {
			if g.dropped {
				missing[name] = true
			} else if g.makes[name] {
				delete(missing, name)
			}
		}
	}
}

// keptLua returns a program without the dropped groups, on the same lines.
func keptLua(text string, groups []*group) string {
	lines := strings.Split(text, "\n")
	for _, g := range groups {
		for i := g.from; g.dropped && i < min(g.to, len(lines)+1); i++ {
			lines[i-1] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// withLuaSuite calls a test for each program, in the program's folder.
func withLuaSuite(t *testing.T, test func(t *testing.T, i int, name, text string)) {
	dir := luaSuiteDir(t)
	for i, s := range luaSuiteFiles {
		t.Run(s.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, s.file))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(filepath.Join(dir, filepath.Dir(s.file)))
			test(t, i, filepath.Base(s.file), string(text))
		})
	}
}

// TestLuaSuite runs each program unchanged: it ends as with gopher-lua, except at the
// first use of a missing name. By default, the program that computes most is only a part
// of TestLuaSuiteStatements.
func TestLuaSuite(t *testing.T) {
	testutil.SkipShort(t)
	whole := 0
	withLuaSuite(t, func(t *testing.T, i int, name, text string) {
		want := luaSuiteFiles[i]
		if name == "constructs.lua" && !testutil.Soak() {
			t.Skip("takes as long as all others: only in make soak")
		}
		if err := runLuaNatively(name, text); err != nil {
			t.Errorf("%s with gopher-lua: %v, want no error", want.file, err)
		}
		err := runLuaHere(t, name, text)
		if want.lacks == "" && err == nil {
			whole++
			return
		}
		e := value.ErrorOf(err, value.Internal)
		if e == nil || want.lacks == "" || e.Pos.Line != want.line || e.Kind != value.Internal {
			t.Fatalf("%s: error %v, want one at line %d, for want of %q", want.file, err, want.line, want.lacks)
		}
		lines := strings.Split(text, "\n")
		if near := strings.Join(lines[max(0, want.line-3):want.line], "\n"); !strings.Contains(near, want.lacks) {
			t.Errorf("%s: line %d does not use %q:\n%s", want.file, want.line, want.lacks, near)
		}
	})
	t.Logf("%d of %d programs run completely; the others need missing names", whole, len(luaSuiteFiles))
}

// TestLuaSuiteStatements runs each program without the statements that use missing
// names or their results: no statement that works with gopher-lua fails here.
func TestLuaSuiteStatements(t *testing.T) {
	testutil.SkipShort(t)
	all, ran := 0, 0
	withLuaSuite(t, func(t *testing.T, _ int, name, text string) {
		groups := luaGroups(t, name, text)
		// What only waits or measures is replaced, in both.
		prelude, taken := "local function collectgarbage() return 0 end ", slices.Clone(luaMissingNames)
		taken = slices.DeleteFunc(taken, func(name string) bool { return name == "collectgarbage" })
		if name == "sort.lua" {
			prelude += "local os = {clock = function() return 0 end} "
			taken = slices.DeleteFunc(taken, func(name string) bool { return name == "os" })
		}
		dropLuaDependent(groups, taken)
		for err := runLuaNatively(name, prelude+keptLua(text, groups)); err != nil; err = runLuaNatively(name, prelude+keptLua(text, groups)) {
			dropLuaAt(t, groups, luaLineIn(name, "main chunk", err), err)
			dropLuaDependent(groups, taken)
		}
		for err := runLuaHere(t, name, prelude+keptLua(text, groups)); err != nil; err = runLuaHere(t, name, prelude+keptLua(text, groups)) {
			t.Errorf("%s: %v, want no error, as with gopher-lua", name, err)
			dropLuaAt(t, groups, luaLineIn(name, "a function of line 1", err), err)
			dropLuaDependent(groups, taken)
		}
		count, left := 0, 0
		for _, g := range groups {
			count += g.count
			if !g.dropped {
				left += g.count
			}
		}
		t.Logf("%s: %d of %d statements", name, left, count)
		all, ran = all+count, ran+left
	})
	t.Logf("%d of %d statements run in both and end the same", ran, all)
	if ran < 1200 {
		t.Errorf("%d statements ran, want at least 1200: the division into statements has become too coarse", ran)
	}
}

// dropLuaAt drops the group at a line, so that the rest can run.
func dropLuaAt(t *testing.T, groups []*group, line int, err error) {
	t.Helper()
	for _, g := range groups {
		if g.from <= line && line < g.to && !g.dropped {
			g.dropped = true
			return
		}
	}
	t.Fatalf("no statement at line %d, of the error %v", line, err)
}

// luaLineIn returns the line of a function when an error was raised.
func luaLineIn(name, function string, err error) int {
	var native *lua.ApiError
	trace := ""
	if errors.As(err, &native) {
		trace = native.StackTrace
	} else {
		trace = strings.Join(value.ErrorOf(err, value.Internal).Trace, "\n")
	}
	m := regexp.MustCompile(regexp.QuoteMeta(name) + `:(\d+): in (?:` + function + ")").FindStringSubmatch(trace)
	if m == nil {
		return 0
	}
	line, _ := strconv.Atoi(m[1])
	return line
}
