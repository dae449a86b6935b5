package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

func TestX(t *testing.T) {
	dir := suiteDir(t)
	for _, s := range suiteFiles {
		b, _ := os.ReadFile(filepath.Join(dir, s.file))
		t.Chdir(filepath.Join(dir, filepath.Dir(s.file)))
		n := runNative(filepath.Base(s.file), string(b))
		o := runOurs(filepath.Base(s.file), string(b))
		fmt.Println(s.file, "NATIVE", first(n), "OURS", first(o))
	}
	_ = slices.Contains[[]string]
	_ = errors.New
	var _ ast.Stmt
	_ = parse.EOF
}
func first(err error) string { if err == nil { return "ok" }; l,_,_ := strings.Cut(err.Error(),"\n"); return l }
