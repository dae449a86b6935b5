package cassidy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/history"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// Workers bound the processes in which scripts run. A zero field means the default. See
// [sandbox.Workers].
//
//	Max       int           // workers for calls that no other call makes; default 128
//	PerTenant int           // of these, workers of one tenant; default half of Max
//	PerTool   int           // workers of one script that compute at one time; default two for each processor
//	Idle      int           // idle workers that are kept for later calls; default 16
//	IdleTime  time.Duration // until other idle workers are ended; default 3 seconds
//	Program   string        // the program to start as a worker; default this one
type Workers = sandbox.Workers

// A Mode is where scripts run, except for the built-in ones.
type Mode uint8

// The modes. In the first two a script has a process of its own, in which it
// can compute and nothing else; the program's main must begin with
// [sandbox.Main], or Workers.Program name one whose main does.
const (
	// Process keeps the process for the next call of the same script.
	Process Mode = iota
	// Strict makes a new one for each call.
	Strict
	// Inline runs scripts in the program itself, whose memory they can exhaust and
	// which they can block: for scripts that are as trusted as the program.
	Inline
	modes
)

// String returns the mode as a config names it.
func (m Mode) String() string {
	names := [...]config.SandboxMode{Process: config.SandboxProcess, Strict: config.SandboxStrict, Inline: config.SandboxInline}
	if m < modes {
		return string(names[m])
	}
	return fmt.Sprintf("Mode(%d)", m)
}

// ParseMode reads a mode as a config names it: "process", "strict" or "inline". "" is
// Process, and any other name an error of kind Invalid.
func ParseMode(name string) (Mode, error) {
	for m := range modes {
		if name == "" || name == m.String() {
			return m, nil
		}
	}
	return 0, value.Errorf(value.Invalid, "unknown sandbox %q", name).WithHint(`use "process", "strict" or "inline"`)
}

// RuntimeOptions are what the hosts of a process share. The zero value has workers
// that are confined, and records no runs.
type RuntimeOptions struct {
	// Workers bound the processes in which scripts run. They are not used in the
	// mode Inline, but for Workers.Program, which supervises commands too.
	Workers Workers
	// Sandbox is where scripts run, except for the built-in ones.
	Sandbox Mode
	// AllowUnconfined runs scripts, and commands, also where the system cannot
	// confine them: see [sandbox.Confinement]. Without it New fails there, and
	// commands are refused.
	AllowUnconfined bool
	// Store keeps the records of durable runs. The caller closes it, after the
	// Runtime. Nil keeps none: to ask for a durable run is then ErrInvalid.
	Store journal.Store
	// OpenStore opens Store when something is first recorded or read, if it is nil. It is
	// called at most once, and its error is that of each run. The caller closes the store.
	OpenStore func() (Store, error)
	// Logger gets what an operator needs to know, without arguments, results and
	// secrets. Nil logs nothing.
	Logger *slog.Logger
	// Clock gives the times that scripts see and that are recorded. It is called
	// concurrently. Nil means time.Now.
	Clock func() time.Time
}

// A Runtime is what the hosts of a process share: the workers, and the store of
// durable runs. It is safe for concurrent use. The methods of a nil or zero Runtime
// fail with kind Invalid, see [New].
type Runtime struct {
	opts    RuntimeOptions
	pool    *sandbox.Pool                    // nil in the mode Inline
	journal func() (*history.Journal, error) // nil without a store
	reader  string                           // names the build that reads scripts

	mu     sync.Mutex
	opened *history.Journal // by journal
	ended  bool             // journal opens nothing any more
	hosts  map[*Host]struct{}
	closed bool
	done   chan struct{} // closed when all that was open has ended
}

// New returns a runtime. A process needs one. Nil options are the defaults. New starts
// no process. It fails with kind Unavailable where the system cannot
// confine scripts, and with kind Invalid in a program that cannot be its own
// worker. Close it, or shut it down, when done.
func New(o *RuntimeOptions) (*Runtime, error) {
	r := &Runtime{hosts: map[*Host]struct{}{}, done: make(chan struct{})}
	if o != nil {
		r.opts = *o
	}
	if r.opts.Sandbox >= modes {
		return nil, value.Errorf(value.Invalid, "RuntimeOptions.Sandbox has the invalid value %s", r.opts.Sandbox).WithHint("use cassidy.Process, cassidy.Strict or cassidy.Inline")
	}
	var err error
	if r.reader, err = readerID(r.opts.Workers.Program); err != nil {
		return nil, err
	}
	if r.opts.Sandbox != Inline {
		r.pool, err = sandbox.NewPool(&sandbox.Options{Workers: r.opts.Workers, Strict: r.opts.Sandbox == Strict, Unconfined: r.opts.AllowUnconfined})
		if err != nil {
			return nil, err
		}
	}
	if r.opts.Store != nil || r.opts.OpenStore != nil {
		r.journal = sync.OnceValues(r.openJournal)
	}
	return r, nil
}

// openJournal opens the journal of the runs of all tenants.
func (r *Runtime) openJournal() (*history.Journal, error) {
	store := r.opts.Store
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, value.Errorf(value.Closed, "the runtime is closed")
	}
	if store == nil {
		var err error
		if store, err = r.opts.OpenStore(); err != nil {
			return nil, err
		}
	}
	r.opened = history.Open(store, &history.Options{Clock: r.opts.Clock})
	return r.opened, nil
}

// readerID names the build that reads scripts: another one may read the same file
// as another tool. "" for program is this one.
func readerID(program string) (string, error) {
	file := program
	if file == "" {
		var err error
		if file, err = os.Executable(); err != nil {
			return "", nil
		}
	}
	info, err := os.Stat(file)
	switch {
	case err == nil && info.Mode().IsRegular():
		return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano()), nil
	case program == "":
		return "", nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	} else if err == nil {
		err = errors.New("not a regular file")
	}
	return "", value.Errorf(value.Invalid, "Workers.Program %s cannot be used: %w", program, err).
		WithHint("build one with: go build github.com/cassidy-run/cassidy/cmd/cassidy-worker")
}

// valid fails with kind Invalid for a runtime that is nil, or that New has not made.
func (r *Runtime) valid() error {
	if r == nil || r.done == nil {
		return value.Errorf(value.Invalid, "use a runtime: it is nil or empty").WithHint("create it with cassidy.New, and look at the error that it returns")
	}
	return nil
}

// take notes a host, which is removed when it is closed. It fails with kind Closed.
// Nil only asks.
func (r *Runtime) take(h *Host) error {
	if err := r.valid(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return value.Errorf(value.Closed, "the runtime is closed")
	}
	if h != nil {
		r.hosts[h] = struct{}{}
	}
	return nil
}

func (r *Runtime) remove(h *Host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.hosts, h)
}

// Shutdown waits for the calls of all hosts, cancels them when ctx ends, and ends
// all workers. The error says whether any had to be cancelled. The runtime and its
// hosts then fail with kind Closed, as new calls do from the beginning. A Close
// meanwhile cancels the calls.
func (r *Runtime) Shutdown(ctx context.Context) error {
	return r.close(func(h *Host) error { return h.Shutdown(ctx) })
}

// Close cancels the calls of all hosts and ends all workers, within a second or
// so. Recorded runs can be resumed. To close it again does nothing, but waits for
// the Close or Shutdown that is in progress.
func (r *Runtime) Close() error { return r.close((*Host).Close) }

func (r *Runtime) close(end func(*Host) error) error {
	if err := r.valid(); err != nil {
		return err
	}
	r.mu.Lock()
	before := r.closed
	r.closed = true
	hosts := slices.Collect(maps.Keys(r.hosts))
	r.mu.Unlock()
	errs := make([]error, len(hosts), len(hosts)+2)
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() { errs[i] = end(h) })
	}
	all.Wait()
	if before {
		<-r.done
		return nil
	}
	if r.pool != nil {
		errs = append(errs, r.pool.Close())
	}
	r.mu.Lock()
	opened := r.opened
	r.ended = true
	r.mu.Unlock()
	if opened != nil {
		errs = append(errs, opened.Close())
	}
	close(r.done)
	return errors.Join(errs...)
}

// runs opens the journal of a tenant, or is nil where there is no store.
func (r *Runtime) runs(tenant string) func() (*history.Journal, error) {
	if r.journal == nil {
		return nil
	}
	return sync.OnceValues(func() (*history.Journal, error) {
		all, err := r.journal()
		if err != nil {
			return nil, err
		}
		return all.Tenant(tenant), nil
	})
}

// A DueRun is a run that can be resumed.
type DueRun struct {
	Tenant string // whose run it is
	Run    Run
}

// Due yields the runs of all tenants that can be resumed now, see [host.Host.Due]: by
// tenant, those of each the newest first. A server that opens a host when its tenant
// needs one opens those of the tenants that Due names. It reads the records of the runs
// that wait, and not of those that have ended. An error about one tenant comes with its
// name, and the others follow. Due fails with kind Invalid where the runtime has no
// store, and with kind Closed after Close.
func (r *Runtime) Due(ctx context.Context) iter.Seq2[DueRun, error] {
	return func(yield func(DueRun, error) bool) {
		err := r.take(nil)
		if err == nil && r.journal == nil {
			err = value.Errorf(value.Invalid, "the runtime has no store to record runs in").WithHint("set RuntimeOptions.Store")
		}
		if err != nil {
			yield(DueRun{}, err)
			return
		}
		now := time.Now
		if r.opts.Clock != nil {
			now = r.opts.Clock
		}
		all, err := r.journal()
		if err != nil {
			yield(DueRun{}, err)
			return
		}
		tenants, err := all.Tenants(ctx)
		for _, tenant := range tenants {
			for run, err := range all.Tenant(tenant).Resumable(ctx, now()) {
				if !yield(DueRun{tenant, run}, err) || err != nil && ctx.Err() != nil {
					return
				}
			}
		}
		if err != nil {
			yield(DueRun{}, err)
		}
	}
}

// gives refuses a config that asks for more than the runtime gives: when a host is
// opened, and whenever its source is searched.
func (r *Runtime) gives(c config.SandboxConfig) error {
	weaker := c.Mode == config.SandboxStrict && r.opts.Sandbox != Strict || c.Mode == config.SandboxProcess && r.opts.Sandbox == Inline
	if weaker {
		return value.Errorf(value.Invalid, "the config requires the sandbox %q, but the runtime has %q", c.Mode, r.opts.Sandbox).
			WithHint("restart this command; in Go, set RuntimeOptions.Sandbox")
	}
	unconfined := r.opts.Sandbox == Inline || r.opts.AllowUnconfined
	if c.Required != nil && *c.Required && unconfined {
		return value.Errorf(value.Invalid, "the config requires a sandbox that confines scripts, but the runtime allows scripts without one").
			WithHint("use the mode process or strict; in Go, set RuntimeOptions.Sandbox to cassidy.Process or cassidy.Strict, and do not set RuntimeOptions.AllowUnconfined")
	}
	return nil
}

// launcher returns what runs commands, or nil where they cannot be confined and
// must be.
func (r *Runtime) launcher() tool.Launcher {
	if !launch.Confined() && !r.opts.AllowUnconfined {
		return nil
	}
	return launch.New(r.opts.Workers.Program)
}

// A Source is where the scripts of a host come from; see [Dir], [FS] and [Scripts]. The zero
// value has no scripts.
//
//	Folder() string     // of Dir, or ""
//	Files() fs.FS       // of FS and Scripts, or nil
//	Misnamed() []*Error // one for each invalid name of Scripts
type Source = toolset.Source

// Dir is a project folder: its scripts lie in path/.cassidy, the tools in tools/,
// and beside them workflows/, policies/, skills/ and agents/. A folder that does not exist
// is an error of kind Invalid when the host is opened, and one of Swap and Refresh.
func Dir(path string) Source { return toolset.Dir(path) }

// FS is a file system with tools at its root: files that end in .star, .lua or
// .md, and what they load in lib/. Next to them are the folders workflows/,
// policies/, skills/ and agents/. Host.Refresh notices a change by the content of a file,
// not by its time. A nil f has no files.
func FS(f fs.FS) Source { return toolset.FS(f) }

// Scripts is a source in memory, as [FS]: texts by the names of their files, such
// as "greet.star". The map is copied.
func Scripts(files map[string]string) Source { return toolset.Scripts(files) }
