// Package cassidytest runs the tests of tools as tests in Go.
//
//	func TestMain(m *testing.M) {
//		sandbox.Main(stdlib.Pure()...) // scripts run in processes of their own, this program again
//		os.Exit(m.Run())
//	}
//
//	func TestTools(t *testing.T) { cassidytest.Run(t, ".", nil) }
//
// The tests are scripts beside the tools: the functions test_* of slug_test.star test slug.star.
// They call tools with fakes for the network, commands, the clock and so on; see docs/testing.md.
// The command cassidy test runs the same tests.
package cassidytest

import (
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Options configure the tests of a folder. The zero value has the defaults.
type Options struct {
	// Runtime has the workers in which the scripts run. It must not have a store. Nil makes one
	// with the defaults, for which TestMain must call sandbox.Main first.
	Runtime *cassidy.Runtime
	// Modules are further effects that the tools need, such as those of [cassidy.Options].
	// They are not carried out: a test fakes them with t.effect.
	Modules []tool.Module
	// Timeout is the limit of each test; 0 means 30 seconds.
	Timeout time.Duration
	// Update writes the golden values of t.golden, instead of comparing them. Set it by a flag
	// of the test, such as -update.
	Update bool
}

// Run runs the tests of a folder as subtests of t, in parallel: for each file a subtest with a
// subtest for each function, and for each tool one for each example with an expected result. dir
// is the folder of a project, whose tools are in .cassidy/tools, or a folder with tools. The files
// are trusted, as the program that is tested is. Options may be nil.
//
// The subtests run when the function that calls Run has returned. They can be selected with -run,
// as in -run 'TestTools/slug_test.star/test_umlauts'.
func Run(t *testing.T, dir string, o *Options) {
	t.Helper()
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Runtime == nil {
		r, err := cassidy.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		opts.Runtime = r
	}
	s, err := scripttest.Open(t.Context(), &scripttest.Options{Runtime: opts.Runtime, Dir: dir, Modules: opts.Modules, Timeout: opts.Timeout, Update: opts.Update})
	if err != nil {
		t.Fatal(err)
	}
	tests := s.Tests()
	if len(tests) == 0 {
		t.Errorf("%s has no tests: write functions test_NAME(t) in files NAME_test.star", dir)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for len(tests) > 0 {
		n := 1
		for n < len(tests) && tests[n].File == tests[0].File {
			n++
		}
		file := tests[:n]
		tests = tests[n:]
		t.Run(base(file[0].File), func(t *testing.T) {
			t.Parallel()
			for _, test := range file {
				t.Run(strings.ReplaceAll(test.Name, " ", "_"), func(t *testing.T) {
					t.Parallel()
					report(t, s.RunTest(t.Context(), test))
				})
			}
		})
	}
}

func base(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// report reports a result to a subtest.
func report(t *testing.T, r scripttest.Result) {
	t.Helper()
	for _, line := range r.Output {
		t.Log(line)
	}
	switch {
	case r.Skipped:
		t.Skip("the file is invalid, as its first test reports")
	case r.Err != nil:
		text := r.Err.Message()
		if at := r.Err.Pos.String(); at != "" {
			text = at + ": " + text
		}
		if r.Err.Hint != "" {
			text += "\nhint: " + r.Err.Hint
		}
		t.Error(text)
	}
}
