package sandbox

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// What a process gets that does not say what it needs.
const (
	launchTimeout   = 30 * time.Second
	launchMemory    = 512 << 20
	launchProcesses = 64
)

// Launcher returns [Launch] with a program of its own to supervise what is run: one
// whose main begins with [Main]. "" is this program.
func Launcher(program string) tool.Launcher {
	return func(ctx context.Context, p *tool.Process) (int, error) { return launch(ctx, program, p) }
}

// launchMaxArgs bounds the arguments and environment of a process: what Linux
// takes of one argument.
const launchMaxArgs = 128 << 10

// launchComplete gives a process with what it left out filled in, or says what
// is wrong with it.
func launchComplete(p *tool.Process) (*tool.Process, error) {
	full := *p
	if full.Timeout <= 0 {
		full.Timeout = launchTimeout
	}
	if full.Memory <= 0 {
		full.Memory = launchMemory
	}
	if full.Processes <= 0 {
		full.Processes = launchProcesses
	}
	size := 0
	for _, text := range append(append([]string{p.Path, p.Dir}, p.Args...), p.Env...) {
		size += len(text)
		if strings.ContainsRune(text, 0) {
			return nil, value.Errorf(value.Invalid, "an argument of a command cannot hold the character NUL")
		}
	}
	if size > launchMaxArgs {
		return nil, value.Errorf(value.Invalid, "the arguments of a command are longer than %d KB in all", launchMaxArgs>>10)
	}
	for _, name := range append(append([]string{p.Path, p.Dir}, p.Read...), p.Write...) {
		if !filepath.IsAbs(name) {
			return nil, value.Errorf(value.Invalid, "%q is not an absolute path", name)
		}
	}
	return &full, nil
}

func launchTooLong(d time.Duration) *value.Error {
	e := value.Errorf(value.Timeout, "the command took longer than %v", d)
	e.Limit = value.LimitWall
	return e
}

func launchLimit(limit value.LimitName, format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = limit
	return e
}
