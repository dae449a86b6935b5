package tool

import (
	"context"
	"io"
	"time"
)

// A Process is a program to run in a sandbox, with access only to what is named here and
// to the system's own programs and libraries.
type Process struct {
	Path string // of the program, absolute
	// Name is the command as it was written: python3, or .venv/bin/python. The program gets it as
	// its own name (argv[0]), from which some programs find their files. If Name has no slash and is
	// not the way from PATH in Env to the program, the program gets Path; so it does if Name is "".
	Name  string
	Args  []string // what follows the name
	Dir   string   // where it starts, absolute
	Env   []string // NAME=value: its complete environment
	Read  []string // folders and files that it may also read, absolute
	Write []string // folders and files that it may read and change, absolute
	// Opened are descriptors of paths in Dir, Read and Write: what was at the path when it
	// was checked. A launcher that confines a process uses them and does not look these
	// paths up again. They must stay open until it returns.
	Opened    map[string]uintptr
	Network   bool // it may open connections; else it has no sockets
	Timeout   time.Duration
	Memory    int64 // bytes of one process
	Processes int   // how many may run in parallel
	// Stdin is its input; nil is none. The launcher may read more than the process does, and a
	// pending read may outlast the process.
	Stdin io.Reader
	// Stdout and Stderr get its output. An error of either ends it.
	Stdout, Stderr io.Writer
}

// A Launcher runs a process to its end and returns its exit code. When it
// returns, the process and all processes that it started have ended. If it ended the
// process, the error is of kind Timeout, Limit or Canceled. A launcher that cannot confine
// the process does not run it, and returns an error.
type Launcher func(ctx context.Context, p *Process) (exit int, err error)
