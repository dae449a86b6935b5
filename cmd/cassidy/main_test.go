package main

import (
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
	if os.Getenv(asCassidy) != "" || strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "cassidy" {
		main()
	}
	if signal.Ignored(syscall.SIGHUP) {
		// The tests run under nohup. A command that they start would inherit that, but
		// not a signal that is handled.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testworker.Main(m)
}
