//go:build amd64 || arm64

package launch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/internal/self"
)

func run(ctx context.Context, program string, p *tool.Process) (int, error) {
	if program == "" && !self.Ready() {
		// Without this check a program that does not call sandbox.Main would start itself
		// again and again.
		return -1, value.Errorf(value.Unavailable, "run command: this program cannot run commands in the sandbox: main does not call sandbox.Main first").
			WithHint("call sandbox.Main(stdlib.Pure()...) first in main, or set Workers.Program")
	}
	if err := stopCause(ctx); err != nil {
		return -1, err
	}
	full, err := complete(p)
	if err != nil {
		return -1, err
	}
	cmd, err := newCommand(full)
	if err != nil {
		return -1, err
	}
	defer cmd.closePlaces()
	l, err := startSupervisor(program, cmd, p.Stdin != nil)
	if err != nil {
		return -1, value.Errorf(value.Unavailable, "start %s: %w", p.Path, err)
	}
	defer l.close()
	return l.wait(ctx, full)
}

func confined() bool {
	abi, err := landlock.LandlockGetABIVersion()
	return err == nil && abi >= minABI
}

// minABI is the first version of Landlock that keeps a process from truncating files
// that it may only read.
const minABI = 3

// newCommand returns what the supervisor is to run, with its places open. Its errors are of
// kind Unavailable.
func newCommand(p *tool.Process) (*command, error) {
	if !confined() {
		return nil, value.Errorf(value.Unavailable, "run command: this machine cannot confine commands").
			WithHint("use Linux 6.2 or later, with Landlock, on amd64 or arm64")
	}
	abi, _ := landlock.LandlockGetABIVersion()
	cmd := &command{
		Path: rawText(p.Path), Name: rawText(p.Name), Args: rawTexts(p.Args), Env: rawTexts(p.Env), Network: p.Network, Timeout: p.Timeout,
		Memory: p.Memory, Processes: p.Processes, ABI: abi,
	}
	if err := cmd.openPlaces(p); err != nil {
		cmd.closePlaces()
		return nil, err
	}
	return cmd, nil
}

// openPlaces opens what a process may reach, unless the caller has.
func (c *command) openPlaces(p *tool.Process) error {
	program, err := os.OpenFile(p.Path, unix.O_PATH, 0)
	if err != nil {
		return value.Errorf(value.Unavailable, "open the program %s: %w", p.Path, errors.Unwrap(err))
	}
	c.add(p.Path, useProgram, program)
	info, err := program.Stat()
	if err != nil {
		return value.Errorf(value.Unavailable, "stat the program %s: %w", p.Path, errors.Unwrap(err))
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return value.Errorf(value.Unavailable, "%s is not executable", p.Path)
	}
	c.Dev, c.Ino = uint64(st.Dev), st.Ino
	// The paths of a caller are not followed: an untrusted author may have put a link
	// there, which leads anywhere.
	if err := c.open(p, useDir, unix.O_DIRECTORY, p.Dir); err != nil {
		return err
	}
	if err := c.open(p, useRead, unix.O_NOFOLLOW, p.Read...); err != nil {
		return err
	}
	return c.open(p, useWrite, unix.O_NOFOLLOW, p.Write...)
}

func (c *command) open(p *tool.Process, use use, flags int, names ...string) error {
	for _, name := range names {
		var fd int
		var err error
		if opened, ok := p.Opened[name]; ok {
			fd, err = unix.FcntlInt(opened, unix.F_DUPFD_CLOEXEC, 0)
		} else {
			fd, err = unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
		}
		if err != nil {
			return value.Errorf(value.Unavailable, "confine the command: %s: %w", name, err)
		}
		c.add(name, use, os.NewFile(uintptr(fd), name))
	}
	return nil
}

func (c *command) add(name string, use use, f *os.File) {
	c.Places = append(c.Places, place{rawText(name), use})
	c.files = append(c.files, f)
}

// A supervisorLink is this program's end of the pipes to a supervisor.
type supervisorLink struct {
	proc     *os.Process
	control  *os.File // closing it makes the supervisor end everything
	status   *os.File
	out, err *os.File
	in       *os.File // nil for a process without input
}

// startSupervisor starts the supervisor. The command is sent through the control pipe,
// so that it does not appear on a command line.
func startSupervisor(program string, cmd *command, input bool) (l *supervisorLink, err error) {
	if program == "" {
		if program, err = self.Path(); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(cmd)
	if err != nil {
		return nil, err
	}
	stdin, in, err := openInput(input)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	var near, far [4]*os.File // control, status, stdout, stderr
	defer func() {
		for i := range far {
			far[i].Close()
			if err != nil {
				near[i].Close()
			}
		}
		if err != nil && in != nil {
			in.Close()
		}
	}()
	for i := range near {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		near[i], far[i] = r, w
	}
	near[0], far[0] = far[0], near[0]
	proc, err := os.StartProcess(program, []string{superviseStage}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=2"},
		Files: append([]*os.File{stdin, far[2], far[3], controlPipe: far[0], statusPipe: far[1]}, cmd.files...),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	control := near[0]
	go func() { _, _ = control.Write(text) }() // returns when the other end has read, or is closed
	return &supervisorLink{proc: proc, control: control, status: near[1], out: near[2], err: near[3], in: in}, nil
}

// openInput returns the input of a process and, if it gets any, the end to which that is written.
func openInput(input bool) (stdin, in *os.File, err error) {
	if !input {
		stdin, err = os.Open(os.DevNull)
		return stdin, nil, err
	}
	return os.Pipe()
}

func (l *supervisorLink) close() {
	for _, f := range []*os.File{l.control, l.status, l.out, l.err} {
		f.Close()
	}
	if l.in != nil {
		l.in.Close()
	}
}

// endGrace is how long a supervisor may take to kill its processes. That takes
// milliseconds, except where the kernel itself cannot end a process, such as one that
// waits for an unreachable network drive.
const endGrace = 10 * time.Second

// wait copies the output of the process to its writers until the process and all that
// it has started have ended. It has them ended when ctx ends, when a writer fails and
// when the time is over.
func (l *supervisorLink) wait(ctx context.Context, p *tool.Process) (int, error) {
	copied := make(chan error, 2)
	go func() { copied <- copyOutput(p.Stdout, l.out) }()
	go func() { copied <- copyOutput(p.Stderr, l.err) }()
	if l.in != nil {
		go func() { // returns when the input ends, or at the next piece after the process has ended
			_, _ = io.Copy(l.in, p.Stdin)
			l.in.Close()
		}()
	}
	reports := make(chan report, 1)
	go func() { reports <- l.readReport() }()
	giveUp := time.NewTimer(p.Timeout + endGrace)
	defer giveUp.Stop()
	var why error // why it is ended from here; nil where it is not
	end := func(err error) {
		if err != nil && why == nil {
			why = err
			l.control.Close()
			giveUp.Reset(endGrace)
		}
	}
	stopped, open := ctx.Done(), 2
	for {
		select {
		case <-stopped:
			stopped = nil
			end(stopCause(ctx))
		case err := <-copied:
			open--
			end(err)
		case r := <-reports:
			_, _ = l.proc.Wait()
			for ; open > 0; open-- {
				end(<-copied)
			}
			return r.outcome(p, why)
		case <-giveUp.C:
			_ = l.proc.Kill()
			go l.proc.Wait() // returns when the kernel has ended it
			return -1, value.Errorf(value.Internal, "the command did not end within %v after the kill", endGrace)
		}
	}
}

// readReport reads the reports of the supervisor until it ends, and returns the last one.
// A supervisor that dies without a reason leaves its process behind, which is then killed
// with its group.
func (l *supervisorLink) readReport() report {
	var r report
	reports := json.NewDecoder(io.LimitReader(l.status, 64<<10))
	for {
		var next report
		if err := reports.Decode(&next); err != nil {
			break
		}
		pid := r.PID
		if r = next; r.PID == 0 {
			r.PID = pid
		}
	}
	if r.Reason == "" && r.PID > 1 {
		_ = syscall.Kill(-r.PID, syscall.SIGKILL)
	}
	return r
}

// outcome returns the exit code or the error that a report stands for. why is the reason
// for which this program has ended the process, or nil.
func (r report) outcome(p *tool.Process, why error) (int, error) {
	switch {
	case r.Reason == "":
		return -1, value.Errorf(value.Internal, "run command: the supervisor process exited without a report")
	case why != nil:
		return -1, why
	case r.Reason == reasonExited && r.Signal == 0:
		return r.Exit, nil
	case r.Reason == reasonExited:
		return 128 + r.Signal, value.Errorf(value.Command, "the command was killed by signal %d (%s)", r.Signal, syscall.Signal(r.Signal))
	case r.Reason == reasonTimeout:
		return -1, errTimeout(p.Timeout)
	case r.Reason == reasonProcesses:
		return -1, value.Errorf(value.Limit, "the command had more than %d processes at the same time", p.Processes).WithLimit(value.LimitProcesses)
	case r.Reason == reasonMemory:
		return -1, value.Errorf(value.Limit, "the command used more than %d MB of memory", p.Memory>>20).WithLimit(value.LimitMemory)
	case r.Reason == reasonUnconfined:
		return -1, value.Errorf(value.Unavailable, "confine the command: %s", r.Text)
	case r.Reason == reasonUnstarted:
		return -1, value.Errorf(value.Unavailable, "start the command: %s", r.Text)
	}
	return -1, value.Errorf(value.Canceled, "the command was killed by another process")
}

// copyOutput copies a pipe to a writer until the pipe's end. The error is the writer's;
// one of the pipe counts as its end. A nil writer discards the output.
func copyOutput(w io.Writer, from *os.File) error {
	if w == nil {
		w = io.Discard
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// stopCause returns why a context has ended, or nil if it has not.
func stopCause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return value.AsError(context.Cause(ctx), value.Canceled)
}
