//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Launch is a [tool.Launcher]. It runs a process where it can read the system's
// programs and libraries and what it is lent, write what it is lent, and open
// connections if it is let. It has no capabilities, signals nobody but what it has itself
// started, and sees of other files whether they exist and how large they are,
// but not what is in them.
//
// The process, whatever it starts included, may have Memory in each process and
// four times as much in all. A file that it writes ends at 1 GB.
//
// Two processes stand between: a worker program, as a supervisor that adopts
// and in the end kills whatever the process has started, also when this program
// dies; and again that program, which takes every right from itself and then
// becomes the process. For Launch it is this program, so one that uses it calls
// [Main] first; see [Launcher] for another one.
//
// The error is of kind Timeout, Limit (processes, memory) or Canceled where the
// process was ended, Command where it ended by a signal, Unavailable where it
// cannot be confined, and otherwise what a writer gave.
func Launch(ctx context.Context, p *tool.Process) (int, error) { return launch(ctx, "", p) }

func launch(ctx context.Context, program string, p *tool.Process) (int, error) {
	if program == "" && !ready.Load() {
		// Without this a program that forgot Main would start itself for ever.
		return -1, value.Errorf(value.Unavailable, "this program cannot confine commands").
			WithHint("call sandbox.Main(stdlib.Pure()...) first in its main, or name a worker in Workers.Program")
	}
	if err := launchStopped(ctx); err != nil {
		return -1, err
	}
	full, err := launchComplete(p)
	if err != nil {
		return -1, err
	}
	spec, err := newLaunchSpec(full)
	if err != nil {
		return -1, err
	}
	l, err := startLauncher(program, spec)
	if err != nil {
		return -1, value.Errorf(value.Unavailable, "start %s: %w", p.Path, err)
	}
	defer l.close()
	return l.wait(ctx, full)
}

// LaunchConfined reports whether [Launch] confines what it runs on this
// machine. It needs Landlock as Linux has it since 6.2; where there is none, it
// refuses to run anything.
func LaunchConfined() bool {
	abi, err := landlock.LandlockGetABIVersion()
	return err == nil && abi >= launchABI
}

// launchABI is the first version of Landlock that keeps a process from
// emptying files that it may only read.
const launchABI = 3

func newLaunchSpec(p *tool.Process) (*launchSpec, error) {
	if !LaunchConfined() {
		return nil, value.Errorf(value.Unavailable, "commands cannot be confined on this machine").
			WithHint("it takes Linux 6.2 or later, with Landlock, on amd64 or arm64")
	}
	info, err := os.Stat(p.Path)
	if err != nil {
		return nil, value.Errorf(value.Unavailable, "there is no program %s: %w", p.Path, errors.Unwrap(err))
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, value.Errorf(value.Unavailable, "%s is no program", p.Path)
	}
	abi, _ := landlock.LandlockGetABIVersion()
	return &launchSpec{
		Path: launchText(p.Path), Dev: uint64(st.Dev), Ino: st.Ino, Args: launchTexts(p.Args), Dir: launchText(p.Dir), Env: launchTexts(p.Env),
		Read: launchTexts(p.Read), Write: launchTexts(p.Write), Network: p.Network, Timeout: p.Timeout, Memory: p.Memory,
		Processes: p.Processes, ABI: abi,
	}, nil
}

// A launched is the host's end of a supervisor.
type launched struct {
	proc     *os.Process
	control  *os.File // closing it tells the supervisor to end everything
	status   *os.File
	out, err *os.File
}

// startLauncher starts the supervisor. What it is to run goes down the control
// pipe, so that nobody can read it off a command line.
func startLauncher(program string, spec *launchSpec) (l *launched, err error) {
	if program == "" {
		program = self()
	}
	order, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	var near, far [4]*os.File // control, status, stdout, stderr
	defer func() {
		for i := range far {
			far[i].Close()
			if err != nil {
				near[i].Close()
			}
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
	proc, err := os.StartProcess(program, []string{launchStage}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=2"},
		Files: []*os.File{null, far[2], far[3], far[0], far[1]},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	control := near[0]
	go func() { _, _ = control.Write(order) }() // it ends when the other end reads, or is closed
	return &launched{proc: proc, control: control, status: near[1], out: near[2], err: near[3]}, nil
}

func (l *launched) close() {
	for _, f := range []*os.File{l.control, l.status, l.out, l.err} {
		f.Close()
	}
}

// launchGrace is how long a supervisor may take to end what it is told to end.
// It takes milliseconds; only a process that the kernel itself cannot end, as
// one that waits for a dead network drive, makes it wait.
const launchGrace = 10 * time.Second

// wait brings what the process says to its writers until all of it has ended,
// and sees to it that it does.
func (l *launched) wait(ctx context.Context, p *tool.Process) (int, error) {
	said := make(chan error, 2)
	go func() { said <- launchCopy(p.Stdout, l.out) }()
	go func() { said <- launchCopy(p.Stderr, l.err) }()
	reports := make(chan launchReport, 1)
	go func() { reports <- l.report() }()
	giveUp := time.NewTimer(p.Timeout + launchGrace)
	defer giveUp.Stop()
	var why error // of our own ending it
	end := func(err error) {
		if err != nil && why == nil {
			why = err
			l.control.Close()
			giveUp.Reset(launchGrace)
		}
	}
	stopped, open := ctx.Done(), 2
	for {
		select {
		case <-stopped:
			stopped = nil
			end(launchStopped(ctx))
		case err := <-said:
			open--
			end(err)
		case r := <-reports:
			_, _ = l.proc.Wait()
			for ; open > 0; open-- {
				end(<-said)
			}
			return r.outcome(p, why)
		case <-giveUp.C:
			_ = l.proc.Kill()
			go l.proc.Wait() // whenever the kernel lets it go
			return -1, value.Errorf(value.Internal, "the command could not be ended within %v", launchGrace)
		}
	}
}

// report reads what the supervisor has to say. One that dies before its last
// word leaves the process, which then is killed with its group.
func (l *launched) report() launchReport {
	var r launchReport
	words := json.NewDecoder(io.LimitReader(l.status, 64<<10))
	for {
		var next launchReport
		if err := words.Decode(&next); err != nil {
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

// outcome gives the exit code or the error that a report stands for. why is
// our own reason to have ended the process.
func (r launchReport) outcome(p *tool.Process, why error) (int, error) {
	switch {
	case r.Reason == "":
		return -1, value.Errorf(value.Internal, "the launcher ended without a report")
	case why != nil:
		return -1, why
	case r.Reason == launchExited && r.Signal == 0:
		return r.Exit, nil
	case r.Reason == launchExited:
		return 128 + r.Signal, value.Errorf(value.Command, "the command was ended by signal %d (%s)", r.Signal, syscall.Signal(r.Signal))
	case r.Reason == launchTimedOut:
		return -1, launchTooLong(p.Timeout)
	case r.Reason == launchCrowded:
		return -1, launchLimit(value.LimitProcesses, "the command had more than %d processes at one time", p.Processes)
	case r.Reason == launchSwollen:
		return -1, launchLimit(value.LimitMemory, "the command used more than %d MB of memory", p.Memory>>20)
	case r.Reason == launchUnconfined:
		return -1, value.Errorf(value.Unavailable, "the command could not be confined: %s", r.Text)
	case r.Reason == launchUnstarted:
		return -1, value.Errorf(value.Unavailable, "the command could not be started: %s", r.Text)
	}
	return -1, value.Errorf(value.Canceled, "the command was ended from outside")
}

// launchCopy brings what comes out of a pipe to a writer. Only the writer's
// errors are any.
func launchCopy(w io.Writer, from *os.File) error {
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

// launchStopped returns why a context has ended, or nil.
func launchStopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return value.AsError(context.Cause(ctx), value.Canceled)
}
