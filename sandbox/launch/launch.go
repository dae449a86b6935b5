// Package launch runs other programs as confined processes.
//
// [Run] is a [tool.Launcher], which stdlib.Options.Launch takes: with it scripts run
// commands. On Linux the kernel confines a command:
//
//   - it reads the system's programs and libraries and the paths in Process.Read, and
//     writes the paths in Process.Write;
//   - it opens network connections only with Process.Network, and never connects to
//     other programs of this machine by their sockets in files;
//   - it has no capabilities, gains none, and signals only processes that it has
//     started;
//   - its time, its memory and its number of processes are limited.
//
// Of other files it sees whether they exist and how large they are. [Confined] reports
// whether this machine can do all that. On other systems a command is limited in time
// and nothing else.
//
// # Processes
//
// Two processes stand between this program and a command. The supervisor starts the
// command, watches its limits and adopts what it leaves behind. It traces the command with ptrace:
// a new process runs only after it has been counted. Where ptrace is forbidden, the supervisor counts
// every 10 ms. When the command ends,
// when its time is over or when this program dies, the supervisor kills everything that
// the command has started. The second process confines itself and then executes the
// command's program in its own place. Both are this program, started again under another
// name, so its main must begin with sandbox.Main; [New] takes another program instead.
package launch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The limits of a process that names none.
const (
	defaultTimeout   = 30 * time.Second
	defaultMemory    = 512 << 20
	defaultProcesses = 64
)

// Run runs a process to its end and returns its exit code. It is a [tool.Launcher], and
// safe for concurrent use.
//
// Zero limits mean 30 seconds, 512 MB in each process and 64 processes. All processes of
// the command together may have four times the memory of one. A file that it writes ends
// at 1 GB. A nil writer discards the output, and a nil Process.Stdin is empty. A pending read of
// Process.Stdin does not delay Run, so end it when Run has returned.
//
// When Run returns, the process and all that it has started are gone. Where there is no
// exit code, it is -1 and the error has one of these kinds:
//
//   - Timeout, Limit (processes or memory) or Canceled: the process was ended. For Canceled
//     the error is the cause of ctx, if that is a [value.Error].
//   - Command: a signal ended the process. The exit code is then 128 plus its number.
//   - Invalid: a path is not absolute, or the arguments are too long.
//   - Unavailable: the program is not executable, this machine cannot confine it (see
//     [Confined]), or the main of this program does not begin with sandbox.Main.
//
// An error of a writer ends the process and is returned as it is.
//
// On systems other than Linux on amd64 and arm64 nothing confines the process: it reads,
// writes and reaches whatever the user can. Network, Read, Write, Memory and Processes
// are ignored. Its process group is killed with it, on Windows itself and the children that
// taskkill finds.
func Run(ctx context.Context, p *tool.Process) (int, error) { return run(ctx, "", p) }

// New returns a launcher that does what [Run] does, with another program to supervise
// and confine commands: its path, such as that of cmd/cassidy-worker. The main of that
// program must begin with sandbox.Main. "" is this program. The launcher is safe for
// concurrent use.
func New(program string) tool.Launcher {
	return func(ctx context.Context, p *tool.Process) (int, error) { return run(ctx, program, p) }
}

// Confined reports whether [Run] confines what it runs on this machine. That needs
// Landlock as Linux has it since 6.2, on amd64 or arm64. On Linux without it Run refuses
// to run anything; on other systems it runs processes unconfined.
func Confined() bool { return confined() }

// Main makes this process a supervisor or a confined command if [Run] has started it as
// one, and then does not return. Otherwise it does nothing. sandbox.Main calls it:
// programs call that.
func Main() { runStage() }

// maxArgs bounds the arguments and the environment of a process together, in bytes.
// Linux takes as much in one argument.
const maxArgs = 128 << 10

// complete returns a process with the defaults for what is zero, or an error of kind
// Invalid.
func complete(p *tool.Process) (*tool.Process, error) {
	full := *p
	if full.Timeout <= 0 {
		full.Timeout = defaultTimeout
	}
	if full.Memory <= 0 {
		full.Memory = defaultMemory
	}
	if full.Processes <= 0 {
		full.Processes = defaultProcesses
	}
	full.Name = programName(p)
	size := 0
	for _, text := range append(append([]string{p.Path, full.Name, p.Dir}, p.Args...), p.Env...) {
		size += len(text)
		if strings.ContainsRune(text, 0) {
			return nil, value.Errorf(value.Invalid, "run command: the path, folder, arguments or environment contain a NUL character")
		}
	}
	if size > maxArgs {
		return nil, value.Errorf(value.Invalid, "the arguments and the environment of the command are longer than %d KB in total", maxArgs>>10)
	}
	for _, name := range append(append([]string{p.Path, p.Dir}, p.Read...), p.Write...) {
		if !filepath.IsAbs(name) {
			return nil, value.Errorf(value.Invalid, "expected an absolute path but got %q", name)
		}
	}
	return &full, nil
}

// programName returns what a program gets as its own name; see [tool.Process]. A program that looks
// itself up in PATH must not find another one of that name.
func programName(p *tool.Process) string {
	if strings.ContainsRune(p.Name, '/') {
		return p.Name
	}
	for _, dir := range filepath.SplitList(pathVariable(p.Env)) {
		name := filepath.Join(dir, p.Name)
		if info, err := os.Stat(name); p.Name != "" && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			if name == p.Path {
				return p.Name
			}
			break
		}
	}
	return p.Path
}

// pathVariable returns PATH in an environment: the first, as getenv of C does.
func pathVariable(env []string) string {
	for _, variable := range env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			return path
		}
	}
	return ""
}

func errTimeout(d time.Duration) *value.Error {
	return value.Errorf(value.Timeout, "the command took longer than %v", d).WithLimit(value.LimitWall)
}
