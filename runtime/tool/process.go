package tool

import (
	"context"
	"io"
	"time"
)

// A Process is a program to be run where it can reach what is named here, the
// system's own programs and libraries, and nothing else.
type Process struct {
	Path      string   // of the program, absolute
	Args      []string // what follows its name
	Dir       string   // where it starts, absolute
	Env       []string // NAME=value: all that it is told
	Read      []string // folders and files that it may also read, absolute
	Write     []string // those that it may change as well
	Network   bool     // it may open connections; else it has no sockets
	Timeout   time.Duration
	Memory    int64 // bytes of one process
	Processes int   // how many may run at one time
	// Stdout and Stderr get what it says. An error of either ends it.
	Stdout, Stderr io.Writer
}

// A Launcher runs a process to its end and returns its exit code. When it
// returns, the process and all that it started are gone, whatever they did to
// stay. One that was ended has the error of why: of kind Timeout, Limit
// or Canceled. Where the launcher cannot confine the process, it does not run it.
type Launcher func(ctx context.Context, p *Process) (exit int, err error)
