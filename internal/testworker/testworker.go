// Package testworker lets tests run scripts in workers, however the tests are built. A
// test is its own worker. A test with the race detector uses cassidy-worker, or a copy of
// itself that is built without the race detector if its scripts have other modules.
//
// A package whose tests need workers declares it once:
//
//	func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }
//
// and passes [Exec] to whatever starts workers: to [sandbox.Options], or in an
// environment variable to a command that the test runs.
package testworker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
)

// Main is the body of a TestMain. In a worker it does not return. The modules are those
// of [sandbox.Main] in cassidy-worker: stdlib.Pure().
func Main(m *testing.M, modules ...tool.Module) {
	sandbox.Main(modules...)
	os.Exit(Suite{M: m}.Run())
}

// A Suite runs the tests of a package from a TestMain that does more than [Main]: it
// calls sandbox.Main first, and Suite.Run instead of m.Run.
type Suite struct {
	M   *testing.M
	Own bool // its worker has other modules than cassidy-worker
	// Measures says that tests bound the memory of this process, so garbage is collected as often as by default.
	Measures bool
}

// Run runs the tests, removes the files of [Exec], and returns the exit code.
func (s Suite) Run() int {
	if !s.Measures {
		testutil.CollectRarely()
	}
	testutil.TempInMemory()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testworker:", err)
		return 1
	}
	cache, err := os.MkdirTemp("", "testworker")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testworker:", err)
		return 1
	}
	b := &builder{source: dir, own: s.Own, dir: cache}
	current.Store(b)
	code := s.M.Run()
	if err := b.remove(); err != nil {
		fmt.Fprintln(os.Stderr, "testworker:", err)
		return 1
	}
	return code
}

// Cache returns a folder for the Cache of hosts, which is removed after the tests: with it the built-in tools
// are described once, and not for each host.
func Cache() string { return running().dir }

// Exec returns the program for sandbox.Workers.Program: "" if the test itself can be
// the worker. Otherwise it builds one, once.
func Exec() string {
	b := running()
	if !raceDetector {
		return ""
	}
	b.once.Do(b.build)
	if b.err != nil {
		panic("testworker: " + b.err.Error())
	}
	return b.program
}

// Copy links or copies a program to a name that selects its role.
func Copy(to, from string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return testutil.WriteProgram(to, program)
}

// current builds the worker of these tests.
var current atomic.Pointer[builder]

func running() *builder {
	b := current.Load()
	if b == nil {
		panic("testworker: the TestMain of the package must call testworker.Main")
	}
	return b
}

// A builder builds one worker on first use.
type builder struct {
	source  string // the package's folder: tests may change the working directory
	own     bool   // the worker has modules of the package
	once    sync.Once
	dir     string // of this process
	program string
	err     error
}

// build compiles the package's own tests without the race detector: no other program
// has the modules of their TestMain.
func (b *builder) build() {
	if !b.own {
		b.program, b.err = testutil.Program(b.source, "cmd/cassidy-worker")
		return
	}
	b.program = filepath.Join(b.dir, "worker.exe")
	c := exec.Command("go", "test", "-c", "-race=false", "-o", b.program, ".")
	c.Dir = b.source
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		b.err = fmt.Errorf("go test -c in %s: %w\n%s", b.source, err, out)
	}
}

func (b *builder) remove() error {
	return os.RemoveAll(b.dir)
}
