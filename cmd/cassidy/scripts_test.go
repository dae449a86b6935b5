package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestScripts runs the command as a user would; each file of testdata/script
// is a story.
//
// In a script, "cassidy" runs the command in the process of the test, and the tools and workflows
// too, because processes cost much more than most commands. "cassidy ARGS < FILE" gives it a file
// as its input. "exec cassidy" starts a process, with workers. A script needs that for a terminal,
// for a command in the background, for what another program starts, for limits on memory, and for
// variables that the packages of Go read only once, such as HTTP_PROXY. Under make soak, all
// scripts of tools and workflows run in workers.
func TestScripts(t *testing.T) {
	providers, bin, known := fakeProviders(t), binOf(t), commandTree()
	testscript.RunT(inOrder{t}, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cassidy": func(ts *testscript.TestScript, wantFailure bool, args []string) {
				runHere(ts, known, wantFailure, args)
			},
		},
		Condition: func(name string) (bool, error) {
			if name != "soak" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return testutil.Soak(), nil
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("CASSIDY_HOME", env.WorkDir+"/home")
			env.Setenv("CASSIDY_WORKER", testworker.Exec())
			env.Setenv("PROVIDERS", providers)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			var names []string
			for _, v := range env.Vars {
				name, _, _ := strings.Cut(v, "=")
				names = append(names, name)
			}
			env.Values[variables{}] = names
			return nil
		},
	})
}

// binOf returns a folder with the command, for the variable PATH.
func binOf(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cassidy")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	exe, err := os.Executable()
	if err == nil {
		err = testworker.Copy(program, exe)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(program)
}

// variables is the key of the names of a script's environment variables, among its values.
type variables struct{}

// inOrder is a test whose scripts do not run in parallel, because the working folder and the
// environment of the process are those of the script.
type inOrder struct{ *testing.T }

func (t inOrder) Parallel() {}

func (t inOrder) Verbose() bool { return testing.Verbose() }

func (t inOrder) Run(name string, do func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { do(inOrder{t}) })
}

// runHere is the command cassidy of scripts. It runs in this process, with the folder and the
// environment of the script. The command lines in the hints that it prints are checked, as people type them.
func runHere(ts *testscript.TestScript, known *tree, wantFailure bool, args []string) {
	in := ""
	if n := len(args); n >= 2 && args[n-2] == "<" {
		in, args = ts.ReadFile(args[n-1]), args[:n-2]
	}
	leave, err := enter(ts)
	ts.Check(err)
	var printed strings.Builder
	code := command.Main(context.Background(), args, &app.World{
		In: strings.NewReader(in), Out: ts.Stdout(), Err: io.MultiWriter(ts.Stderr(), &printed),
		Env: func(name string) (string, bool) { v := ts.Getenv(name); return v, v != "" }, Sandbox: apptest.Sandbox(),
	})
	ts.Check(leave())
	if failed := code != 0; failed != wantFailure {
		ts.Fatalf("cassidy ended with %d", code)
	}
	for line := range strings.Lines(printed.String()) {
		hint, _ := strings.CutPrefix(line, "cassidy: hint: ")
		if hint == line {
			continue
		}
		for _, m := range commandLine.FindAllStringSubmatch(strings.ReplaceAll(hint, "~/.cassidy", "~"), -1) {
			if why := known.check(m[1]); why != "" {
				ts.Fatalf("the hint %q: cassidy %s: %s", strings.TrimSpace(hint), m[1], why)
			}
		}
	}
}

// enter sets the working folder and the environment of the process to those of a script, until
// leave is called.
func enter(ts *testscript.TestScript) (leave func() error, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	before := os.Environ()
	setAll := func(vars []string) error {
		os.Clearenv()
		for _, v := range vars {
			name, value, _ := strings.Cut(v, "=")
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
		return nil
	}
	leave = func() error {
		if err := setAll(before); err != nil {
			return err
		}
		return os.Chdir(dir)
	}
	var vars []string
	for _, name := range ts.Value(variables{}).([]string) {
		vars = append(vars, name+"="+ts.Getenv(name))
	}
	if err := setAll(vars); err != nil {
		return nil, err
	}
	return leave, os.Chdir(ts.MkAbs("."))
}
