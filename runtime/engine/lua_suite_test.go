package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"slices"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// suiteFiles are the test programs of gopher-lua, its own and those of Lua 5.1
// that it runs. What the sandbox takes away is why a file as a whole fails
// here; "" is a file that passes.
var suiteFiles = []struct{ file, lacks string }{
	{"_glua-tests/base.lua", "dofile"},
	{"_glua-tests/coroutine.lua", ""},
	{"_glua-tests/db.lua", "debug"},
	{"_glua-tests/goto.lua", "loadstring"},
	{"_glua-tests/issues.lua", "debug"},
	{"_glua-tests/math.lua", ""},
	{"_glua-tests/os.lua", "os"},
	{"_glua-tests/strings.lua", ""},
	{"_glua-tests/table.lua", ""},
	{"_glua-tests/vm.lua", "loadstring"},
	{"_lua5.1-tests/attrib.lua", "require"},
	{"_lua5.1-tests/calls.lua", "loadstring"},
	{"_lua5.1-tests/closure.lua", "collectgarbage"},
	{"_lua5.1-tests/constructs.lua", "loadstring"},
	{"_lua5.1-tests/events.lua", "setfenv"},
	{"_lua5.1-tests/files.lua", "os"},
	{"_lua5.1-tests/literals.lua", "loadstring"},
	{"_lua5.1-tests/locals.lua", "loadstring"},
	{"_lua5.1-tests/math.lua", "io"},
	{"_lua5.1-tests/pm.lua", "loadstring"},
	{"_lua5.1-tests/sort.lua", "os"},
	{"_lua5.1-tests/strings.lua", ""},
	{"_lua5.1-tests/vararg.lua", "loadstring"},
}

// takenAway are the names of Lua that scripts do not have.
var takenAway = []string{"io", "os", "debug", "package", "channel", "require", "module", "load", "loadstring",
	"loadfile", "dofile", "collectgarbage", "setfenv", "getfenv", "newproxy"}

// suiteDir copies the test programs, since some write files beside them.
func suiteDir(t *testing.T) string {
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

// runNative runs a program as gopher-lua's own tests do.
func runNative(name, text string) error {
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

// runOurs runs a program as the handler of a tool.
func runOurs(name, text string) error {
	s := tool.Script{Path: name, Source: "return tool{description = 'a test', handler = function(...) " + text + "\nend}"}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := New(nil).Run(ctx, s, tool.Call{Limits: tool.Limits{Steps: 1 << 40}}, func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		return tool.Outcome{Value: int64(1)}, nil
	})
	return err
}


// A suiteGroup is a run of statements of a program that stand on lines of
// their own.
type suiteGroup struct {
	from, to int // lines; to is the first that is not of it
	count    int // of statements
	mentions map[string]bool
	gives    map[string]bool // names that it gives a value, anywhere in it
	makes    map[string]bool // names that it gives a value by itself
	dropped  bool
}

func suiteGroups(t *testing.T, name, text string) []*suiteGroup {
	t.Helper()
	stmts, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		t.Fatal(err)
	}
	var groups []*suiteGroup
	for _, stmt := range stmts {
		f := &luaFile{functions: map[string]ast.Expr{}, constants: map[string]ast.Expr{}, given: map[string]int{},
			names: map[int]string{}, mentions: map[string]bool{}}
		w := luaWalker{file: f}
		w.top([]ast.Stmt{stmt})
		line := stmt.Line()
		if n := len(groups); n == 0 || groups[n-1].from < line {
			if n > 0 {
				groups[n-1].to = line
			}
			groups = append(groups, &suiteGroup{from: line, to: 2 + strings.Count(text, "\n"),
				mentions: map[string]bool{}, gives: map[string]bool{}, makes: map[string]bool{}})
		}
		g := groups[len(groups)-1]
		g.count++
		for name := range f.mentions {
			g.mentions[name] = true
		}
		for name := range f.given {
			g.gives[name] = true
		}
		for name := range f.constants {
			g.makes[name] = true
		}
	}
	return groups
}

// dropDependent drops the groups that name what is taken away, or what only a
// dropped group would have made.
func dropDependent(groups []*suiteGroup, taken []string) {
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

// kept returns a program without what was dropped, each line where it was.
func kept(text string, groups []*suiteGroup) string {
	lines := strings.Split(text, "\n")
	for _, g := range groups {
		for i := g.from; g.dropped && i < min(g.to, len(lines)+1); i++ {
			lines[i-1] = ""
		}
	}
	return strings.Join(lines, "\n")
}

func groupAt(groups []*suiteGroup, line int) *suiteGroup {
	for _, g := range groups {
		if g.from <= line && line < g.to {
			return g
		}
	}
	return nil
}
func TestX(t *testing.T) {
	dir := suiteDir(t)
	total, ran := 0, 0
	for _, s := range suiteFiles {
		b, _ := os.ReadFile(filepath.Join(dir, s.file))
		t.Chdir(filepath.Join(dir, filepath.Dir(s.file)))
		name := filepath.Base(s.file)
		text := string(b)
		prelude := "local function collectgarbage() return 0 end "
		if name == "sort.lua" { prelude += "local os = {clock = function() return 0 end} " }
		groups := suiteGroups(t, name, text)
		taken := slices.DeleteFunc(slices.Clone(takenAway), func(n string) bool { return n == "collectgarbage" || n == "os" && name == "sort.lua" })
		dropDependent(groups, taken)
		for range 30 {
			n := runNative(name, prelude+kept(text, groups))
			if n == nil { break }
			var e *lua.ApiError
			errors.As(n, &e)
			m := regexp.MustCompile(regexp.QuoteMeta(name)+`:(\d+): in main chunk`).FindStringSubmatch(e.StackTrace)
			if m == nil { fmt.Println("NATIVE?", n); break }
			line,_ := strconv.Atoi(m[1])
			g := groupAt(groups, line)
			fmt.Println("native drops", s.file, g.from, g.to, first(n))
			g.dropped = true
			dropDependent(groups, taken)
		}
		for range 30 {
			o := runOurs(name, prelude+kept(text, groups))
			if o == nil { break }
			e := tool.AsError(o, 0)
			fmt.Println("OURS", s.file, e.Error(), e.Trace)
			line := e.Pos.Line
			if len(e.Trace) > 0 {
			m := regexp.MustCompile(regexp.QuoteMeta(name)+`:(\d+): in `).FindStringSubmatch(e.Trace[0])
			line,_ = strconv.Atoi(m[1])
			}
			g := groupAt(groups, line)
			if g == nil { break}
			g.dropped = true
			dropDependent(groups, taken)
		}
		k, a := 0, 0
		for _, g := range groups { a += g.count; if !g.dropped { k += g.count } else {fmt.Print(g.from,"-",g.to," ")} }
		fmt.Println(s.file, k, a)
		total += a; ran += k
	}
	fmt.Println(ran, total)
}
func first(err error) string { if err == nil { return "ok" }; l,_,_ := strings.Cut(err.Error(),"\n"); return l }
