// Package scripttest runs the tests of tools and workflows that are written as scripts.
//
// A test is a function test_* of a test file, such as slug_test.star beside slug.star, or an
// example of a tool that has an expected result. The tools that a test calls run as usual, in the
// sandbox and under their needs. Only the carrying out of their effects is replaced, by the fakes
// that the test defines with its parameter t. An effect without a fake fails the test.
//
// Files are real: each test has a temporary folder as its project. Everything else, such as the
// network, commands, the clock and secrets, is faked.
package scripttest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/history/fixture"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure the tests of a folder.
type Options struct {
	// Runtime has the workers. It must not have a store, since tests record nothing.
	Runtime *cassidy.Runtime
	// Dir is the folder of a project, which contains .cassidy, or a folder with tools.
	Dir string
	// Scope decides which files of a project are trusted. Nil trusts all files.
	Scope *trust.Scope
	// Paths limit the tests to those of test files, tools and folders. Nil means all tests.
	Paths []string
	// Filter selects tests by FILE:NAME. Nil selects all.
	Filter *regexp.Regexp
	// Parallel is how many tests run at a time; 0 means two for each processor.
	Parallel int
	// Timeout is the limit of each test; 0 means 30 seconds.
	Timeout time.Duration
	// Update writes golden values, instead of comparing them.
	Update bool
	// Cover collects which statements of scripts the tests run; see [Suite.Coverage].
	Cover bool
	// Modules are further effects for scripts. A test fakes them with t.effect.
	Modules []tool.Module
	// Record makes a call for real, and returns what it did, also if the call has failed. Tests
	// that use t.replay then write their fixtures. A fixture that exists is only replaced if Paths or
	// Filter select tests. Nil reads fixtures.
	Record func(ctx context.Context, r Recording) (*fixture.Fixture, error)
}

// A Recording is a call to make for real.
type Recording struct {
	Name     string
	Workflow bool // Name is the name of a workflow
	Args     *value.Dict
	Fixture  string // the path of the file that will be written, in Options.Dir
	Replaces bool   // the file exists
}

// A Test is one test of a suite.
type Test struct {
	File string // as messages show it
	Name string // of the function, or "example 1" of a tool
	Line int    // of the function; 0 if it is unknown
	Tool string // the name of the tool or workflow that is tested

	script  *tool.Script // nil: the test has no script
	entry   string
	lines   int // of the script, without the driver
	example *tool.Example
	broken  error // why the test cannot run
	state   *fileState
	first   bool // of the tests of its file
	data    string
}

// ID returns the name by which a filter selects the test.
func (t *Test) ID() string { return t.File + ":" + t.Name }

// A Result is the result of one test.
type Result struct {
	*Test
	Err      *value.Error // nil: the test has passed, or was skipped
	Skipped  bool         // the file is invalid, which its first test reports
	Output   []string     // what the scripts printed
	Duration time.Duration
}

// A Suite has the tests of a folder. It is safe for concurrent use; close it when done.
type Suite struct {
	opts  Options
	files *files
	temp  *scratch.Dir
	dir   string // of temp: with the temporary folders of the suite
	tests []*Test
	cover coverage

	free    chan *slot
	numbers atomic.Int64 // of tests, for the IDs of their runs

	mu    sync.Mutex
	slots []*slot
	kept  []string
}

// defaultTimeout is the limit of a test.
const defaultTimeout = 30 * time.Second

// Open reads the tests of a folder. It fails with kind NotFound for a path and a filter that select
// nothing, and with kind Invalid for a folder without tools and for files that cannot be read. An invalid or untrusted test file is a test that fails.
func Open(ctx context.Context, o *Options) (*Suite, error) {
	s := &Suite{opts: *o}
	s.opts.Timeout = cmp.Or(s.opts.Timeout, defaultTimeout)
	if s.opts.Parallel <= 0 {
		s.opts.Parallel = 2 * runtime.GOMAXPROCS(0) // a test often waits for the start of a process
	}
	if s.opts.Record != nil {
		s.opts.Parallel = 1 // calls may ask for approval
	}
	var err error
	if s.files, err = readFiles(ctx, &s.opts); err != nil {
		return nil, err
	}
	if s.temp, err = scratch.Make("", "test"); err != nil {
		return nil, value.Errorf(value.Failed, "create a folder for tests: %w", folder.Cause(err))
	}
	s.dir = s.temp.Path
	if err = s.files.write(s.source()); err == nil {
		err = s.plan()
	}
	if err == nil {
		err = s.slots[0].open() // what is wrong with it is wrong with all tests
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Tests returns the tests in the order of their files and lines.
func (s *Suite) Tests() []*Test { return slices.Clone(s.tests) }

// selective reports whether somebody has selected the tests of the suite.
func (s *Suite) selective() bool { return s.opts.Filter != nil || len(s.opts.Paths) > 0 }

// keep notes a fixture that was not recorded again.
func (s *Suite) keep(fixture string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.kept, fixture) {
		s.kept = append(s.kept, fixture)
	}
}

// Kept returns the fixtures that were not recorded again, since they exist and their tests were not
// selected.
func (s *Suite) Kept() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

// Run runs all tests, some of them in parallel, and calls done with each result in the order of
// the tests, not concurrently.
func (s *Suite) Run(ctx context.Context, done func(Result)) {
	results := make([]chan Result, len(s.tests))
	for i := range results {
		results[i] = make(chan Result, 1)
	}
	groups := s.groups()
	var next atomic.Int64
	for range min(s.opts.Parallel, len(s.tests)) {
		go func() {
			drain := func(g *group) {
				for i := range g.take() {
					results[i] <- s.RunTest(ctx, s.tests[i])
				}
			}
			for n := int(next.Add(1)) - 1; n < len(groups); n = int(next.Add(1)) - 1 {
				drain(groups[n])
			}
			for _, g := range groups { // help with the files that are not finished
				drain(g)
			}
		}()
	}
	for _, r := range results {
		done(<-r)
	}
}

// A group has the tests of one file. Tests that run at the same time should be of different files,
// since each script has its own processes, and starting one takes longer than a short test.
type group struct {
	end  int
	next atomic.Int64 // the index of a test
}

// groups returns the groups of the tests.
func (s *Suite) groups() (list []*group) {
	for i, t := range s.tests {
		if i == 0 || t.File != s.tests[i-1].File {
			g := &group{}
			g.next.Store(int64(i))
			list = append(list, g)
		}
		list[len(list)-1].end = i + 1
	}
	return list
}

// take yields the tests of a group that nobody has taken yet. It may be called concurrently.
func (g *group) take() iter.Seq[int] {
	return func(yield func(int) bool) {
		for {
			i := int(g.next.Add(1)) - 1
			if i >= g.end || !yield(i) {
				return
			}
		}
	}
}

// RunTest runs one test. It waits while as many tests as Options.Parallel are running.
func (s *Suite) RunTest(ctx context.Context, t *Test) Result {
	start := time.Now()
	r := Result{Test: t}
	if err := t.broken; err != nil {
		r.Err = value.ErrorOf(err, value.Invalid)
		return r
	}
	slot, err := s.acquire(ctx)
	if err != nil {
		r.Err = value.ErrorOf(err, value.Failed)
		return r
	}
	defer s.release(slot)
	if err := t.check(ctx, slot.host); err != nil {
		if r.Skipped = !t.first; t.first {
			r.Err = s.shown(value.ErrorOf(err, value.Invalid))
			if r.Err.Pos.Line > t.lines { // at the end of the file
				r.Err.Pos.Line, r.Err.Pos.Col = t.lines, 0
			}
		}
		return r
	}
	x := slot.begin(t)
	err = x.run(ctx)
	r.Output, r.Duration = x.output, time.Since(start)
	if err != nil {
		r.Err = s.shown(value.ErrorOf(err, value.Failed))
	}
	return r
}

// Close ends the hosts of the suite, and removes its temporary folders.
func (s *Suite) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, slot := range s.slots {
		errs = append(errs, slot.closeHost())
	}
	s.slots = nil
	return errors.Join(append(errs, s.temp.Close())...)
}

// source is the project whose tools the hosts have: a copy of the files of the suite.
func (s *Suite) source() string { return filepath.Join(s.dir, "source") }

// plan lists the tests, and makes a slot for each of those that run at a time.
func (s *Suite) plan() error {
	tests, err := s.list()
	if err != nil {
		return err
	}
	for _, t := range tests {
		if s.opts.Filter == nil || s.opts.Filter.MatchString(t.ID()) {
			s.tests = append(s.tests, t)
		}
	}
	if len(tests) > 0 && len(s.tests) == 0 {
		return noMatch(s.opts.Filter, tests)
	}
	n := max(min(s.opts.Parallel, len(s.tests)), 1)
	s.free = make(chan *slot, n)
	for i := range n {
		slot := &slot{suite: s, dir: filepath.Join(s.dir, strconv.Itoa(i))}
		s.slots = append(s.slots, slot)
		s.free <- slot
	}
	return nil
}

// noMatch returns the error of a filter that selects none of the tests. Its hint lists the first ones,
// or the one with a similar name.
func noMatch(filter *regexp.Regexp, tests []*Test) error {
	const most = 5
	var names, ids []string
	for _, t := range tests {
		names, ids = append(names, t.Name), append(ids, t.ID())
	}
	err := value.Errorf(value.NotFound, "no test matches %q", filter)
	if near := value.Nearest(filter.String(), names); near != "" {
		return err.WithHint("a test with a similar name is %s", near)
	}
	if more := len(ids) - most; more > 0 {
		return err.WithHint("the first tests are: %s (%d more)", strings.Join(ids[:most], ", "), more)
	}
	return err.WithHint("the tests are: %s", strings.Join(ids, ", "))
}

// acquire waits for a slot, and opens it.
func (s *Suite) acquire(ctx context.Context) (*slot, error) {
	select {
	case slot := <-s.free:
		if err := slot.open(); err != nil {
			s.free <- slot
			return nil, err
		}
		return slot, nil
	case <-ctx.Done():
		return nil, value.AsError(context.Cause(ctx), value.Canceled)
	}
}

func (s *Suite) release(slot *slot) {
	slot.end()
	s.free <- slot
}

// shown returns an error with the paths of files as the suite shows them.
func (s *Suite) shown(e *value.Error) *value.Error {
	shown := *e
	shown.Pos.File = s.files.shown(shown.Pos.File)
	shown.Trace = slices.Clone(shown.Trace)
	for i, line := range shown.Trace {
		file, rest, ok := strings.Cut(line, ":")
		if ok {
			shown.Trace[i] = s.files.shown(file) + ":" + rest
		}
	}
	return &shown
}

// positionIn returns the innermost position of an error in a file, from its trace.
func positionIn(e *value.Error, file string) value.Position {
	for _, line := range slices.Backward(e.Trace) {
		rest, ok := strings.CutPrefix(line, file+":")
		if !ok {
			continue
		}
		parts := strings.SplitN(rest, ":", 3)
		n, err := strconv.Atoi(parts[0])
		if err != nil {
			continue
		}
		pos := value.Position{File: file, Line: n}
		if len(parts) > 1 {
			pos.Col, _ = strconv.Atoi(parts[1])
		}
		return pos
	}
	return e.Pos
}
