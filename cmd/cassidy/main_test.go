package main

import (
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// asCassidy, in the environment, has the test binary be the command.
const asCassidy = "CASSIDY_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	sandbox.Main(stdlib.Pure()...)
	if os.Getenv(asMortal) != "" {
		os.Exit(mortalProcess())
	}
	if os.Getenv(asCassidy) != "" {
		main()
	}
	if signal.Ignored(syscall.SIGHUP) {
		// The tests run under nohup. A command that they start would inherit that, but
		// not a signal that is handled.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(testworker.Suite{M: m}, map[string]func(){"cassidy": main})
}

// TestScripts runs the command as a user would; each file of testdata/script
// is a story.
func TestScripts(t *testing.T) {
	providers := fakeProviders(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("CASSIDY_HOME", env.WorkDir+"/home")
			env.Setenv("CASSIDY_WORKER", testworker.Exec())
			env.Setenv("PROVIDERS", providers)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
	})
}
