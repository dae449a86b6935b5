//go:build !linux || !(amd64 || arm64)

package launch

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

func run(ctx context.Context, _ string, p *tool.Process) (int, error) {
	if err := ctx.Err(); err != nil {
		return -1, value.AsError(context.Cause(ctx), value.Canceled)
	}
	full, err := complete(p)
	if err != nil {
		return -1, err
	}
	limited, cancel := context.WithTimeout(ctx, full.Timeout)
	defer cancel()
	ended := &firstError{end: cancel}
	cmd := exec.CommandContext(limited, full.Path, full.Args...)
	cmd.Args[0], cmd.Dir = full.Name, full.Dir
	cmd.Env = append([]string{}, full.Env...) // not nil, which means all that this process has
	cmd.Stdin = full.Stdin
	cmd.Stdout, cmd.Stderr = ended.writer(full.Stdout), ended.writer(full.Stderr)
	cmd.WaitDelay = time.Second // for a process that has left the group and holds the output
	startInGroup(cmd)
	err = cmd.Run()
	killGroup(cmd)
	var exit *exec.ExitError
	switch {
	case ended.first() != nil:
		return -1, ended.first()
	case ctx.Err() != nil:
		return -1, value.AsError(context.Cause(ctx), value.Canceled)
	case limited.Err() != nil:
		return -1, errTimeout(full.Timeout)
	case errors.As(err, &exit) && exit.ExitCode() < 0:
		return -1, value.Errorf(value.Command, "the command failed: %s", exit)
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return -1, value.Errorf(value.Unavailable, "start the command: %w", err)
	}
	return 0, nil
}

func confined() bool { return false }

func runStage() {} // a process has no stages here

// A firstError ends a process at the first error of one of its writers. Its methods are
// safe for concurrent use.
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

// An endingWriter passes on what is written, and reports errors to a firstError.
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
