//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Launch runs a process within its time and until a writer has enough. Nothing
// confines it on this system: it can read, write and reach whatever the user
// can, and only its process group (on Windows only itself and what taskkill
// finds below it) is ended with it. Network, Read, Write, Memory and Processes
// are not enforced. Who lends it to strangers has been told so by
// [LaunchConfined].
func Launch(ctx context.Context, p *tool.Process) (int, error) { return launch(ctx, "", p) }

func launch(ctx context.Context, _ string, p *tool.Process) (int, error) {
	if err := ctx.Err(); err != nil {
		return -1, value.AsError(context.Cause(ctx), value.Canceled)
	}
	full, err := launchComplete(p)
	if err != nil {
		return -1, err
	}
	limited, cancel := context.WithTimeout(ctx, full.Timeout)
	defer cancel()
	ended := &firstError{end: cancel}
	cmd := exec.CommandContext(limited, full.Path, full.Args...)
	cmd.Dir = full.Dir
	cmd.Env = append([]string{}, full.Env...) // not nil, which means all that this process has
	cmd.Stdout, cmd.Stderr = ended.writer(full.Stdout), ended.writer(full.Stderr)
	cmd.WaitDelay = time.Second // for what has left the group and holds the output
	launchGroup(cmd)
	err = cmd.Run()
	launchSweep(cmd)
	var exit *exec.ExitError
	switch {
	case ended.first() != nil:
		return -1, ended.first()
	case ctx.Err() != nil:
		return -1, value.AsError(context.Cause(ctx), value.Canceled)
	case limited.Err() != nil:
		return -1, launchTooLong(full.Timeout)
	case errors.As(err, &exit) && exit.ExitCode() < 0:
		return -1, value.Errorf(value.Command, "the command ended by itself: %s", exit)
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return -1, value.Errorf(value.Unavailable, "the command could not be started: %w", err)
	}
	return 0, nil
}

// LaunchConfined reports whether [Launch] confines what it runs: on this system
// it does not.
func LaunchConfined() bool { return false }

// launchMain has nothing to do here: there are no stages.
func launchMain() (handled bool) { return false }

// A firstError ends a process at the first error of one of its writers.
type firstError struct {
	end func()
	mu  sync.Mutex
	err error
}

func (f *firstError) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *firstError) writer(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return endingWriter{f, w}
}

// An endingWriter passes on what is written, and tells of the first error.
type endingWriter struct {
	errs *firstError
	to   io.Writer
}

// Write implements [io.Writer].
func (w endingWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil {
		w.errs.mu.Lock()
		if w.errs.err == nil {
			w.errs.err = err
		}
		w.errs.mu.Unlock()
		w.errs.end()
	}
	return n, err
}
