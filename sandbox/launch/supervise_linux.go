//go:build amd64 || arm64

package launch

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// runStage is [Main].
func runStage() {
	if len(os.Args) != 1 {
		return
	}
	// Not os.Exit: in a build with the race detector it waits for a second.
	switch os.Args[0] {
	case superviseStage:
		syscall.Exit(superviseMain())
	case confineStage:
		syscall.Exit(confineMain())
	}
}

// pollInterval is how often a supervisor measures its command. It counts the processes too, where they cannot
// be traced.
const pollInterval = 10 * time.Millisecond

// A supervisor runs one process, and becomes the parent of each of its descendants whose
// own parent ends.
type supervisor struct {
	cmd               command
	main              int                     // the PID of the process
	ended             bool                    // main has been waited for
	signalsRestricted bool                    // this thread can signal only descendants
	mainEnd           chan syscall.WaitStatus // how main has ended
	allGone           chan struct{}           // closed when no descendant is left
	gate              *forkGate
}

// superviseMain is the main of the supervisor. It reads the command from the control pipe,
// ends the command when that is closed, and writes reports to the status pipe.
func superviseMain() int {
	// The kernel kills the process with this thread (Pdeathsig), so this thread must stay.
	runtime.LockOSThread()
	unix.CloseOnExec(controlPipe)
	unix.CloseOnExec(statusPipe)
	control, status := os.NewFile(controlPipe, "control"), json.NewEncoder(os.NewFile(statusPipe, "status"))
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGPIPE)
	s := &supervisor{mainEnd: make(chan syscall.WaitStatus, 1), allGone: make(chan struct{})}
	if err := json.NewDecoder(control).Decode(&s.cmd); err != nil {
		return 1
	}
	s.gate = newForkGate(s.cmd.Processes)
	for i := range s.cmd.Places {
		unix.CloseOnExec(supervisePlaces + i)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		_ = status.Encode(report{Reason: reasonUnconfined, Text: "adopt orphans: " + err.Error()})
		return 0
	}
	s.signalsRestricted = restrictSignals(s.cmd.ABI) == nil
	released := make(chan struct{}) // by the host
	go func() {
		_, _ = io.Copy(io.Discard, control)
		close(released)
	}()
	failure, err := s.start()
	if err != nil {
		_ = status.Encode(report{Reason: reasonUnconfined, Text: err.Error()})
		return 0
	}
	_ = status.Encode(report{PID: s.main})
	report := s.watch(released, ends, failure)
	s.gate.close()
	s.endAll()
	_ = status.Encode(report)
	return 0
}

// start starts the confining stage. The channel delivers why it failed, or "" when it
// has executed the program.
func (s *supervisor) start() (failure <-chan string, err error) {
	text, err := json.Marshal(&s.cmd)
	if err != nil {
		return nil, err
	}
	var commands, errs, pair [2]int
	if err := unix.Pipe2(commands[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := unix.Pipe2(errs[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, err
	}
	files := []uintptr{0, 1, 2, commandPipe: uintptr(commands[0]), failurePipe: uintptr(errs[1]), listenSocket: uintptr(pair[1])}
	for i := range s.cmd.Places {
		files = append(files, supervisePlaces+uintptr(i))
	}
	s.main, err = syscall.ForkExec("/proc/self/exe", []string{confineStage}, &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=2"},
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	for _, fd := range []int{commands[0], errs[1], pair[1]} {
		unix.Close(fd)
	}
	if err != nil {
		return nil, err
	}
	attached := make(chan struct{})
	go s.reap(attached)
	<-attached // the process waits for its command
	go s.serveMetadata(pair[0])
	w := os.NewFile(uintptr(commands[1]), "command")
	go func() {
		_, _ = w.Write(text)
		w.Close()
	}()
	failed := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(os.NewFile(uintptr(errs[0]), "failure"), 4<<10))
		failed <- string(text)
	}()
	return failed, nil
}

// serveMetadata answers the system calls that the filter of the process holds, if it has
// such a filter.
func (s *supervisor) serveMetadata(socket int) {
	listener, err := receiveListener(socket)
	unix.Close(socket)
	if err == nil {
		newMetadataServer(listener, &s.cmd).serve()
	}
}

// reap waits for every child of this process. When no child is left, no descendant is
// left either: a descendant whose parent ends becomes a child. It first traces the process, and
// closes attached.
func (s *supervisor) reap(attached chan<- struct{}) {
	runtime.LockOSThread()    // only the thread that traces a process can have it continue
	_ = s.gate.attach(s.main) // where that is forbidden, the poll counts processes
	close(attached)
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			close(s.allGone)
			return
		case st.Stopped():
			s.gate.stopped(pid, st)
		default:
			s.gate.ended(pid)
			if pid == s.main {
				s.mainEnd <- st
			}
		}
	}
}

// watch waits until there is a reason to end everything, and returns it.
func (s *supervisor) watch(released <-chan struct{}, ends <-chan os.Signal, failure <-chan string) report {
	deadline := time.NewTimer(s.cmd.Timeout)
	poll := time.NewTicker(pollInterval)
	for {
		select {
		case text := <-failure:
			if reason, text, bad := strings.Cut(text, " "); bad {
				return report{Reason: reason, Text: text}
			}
			failure = nil
		case st := <-s.mainEnd:
			s.ended = true
			if failure != nil {
				if reason, text, bad := strings.Cut(<-failure, " "); bad {
					return report{Reason: reason, Text: text}
				}
			}
			if st.Signaled() {
				return report{Reason: reasonExited, Signal: int(st.Signal())}
			}
			return report{Reason: reasonExited, Exit: st.ExitStatus()}
		case <-released:
			return report{Reason: reasonEnded}
		case <-ends:
			return report{Reason: reasonEnded}
		case <-s.gate.over:
			return report{Reason: reasonProcesses}
		case <-deadline.C:
			return report{Reason: reasonTimeout}
		case <-poll.C:
			if reason := s.excess(); reason != "" {
				return report{Reason: reason}
			}
		}
	}
}

// What all descendants together may have. Threads are not processes, but cost the system
// as much.
const (
	threadsPerProcess = 16 // times the number of processes
	memoryShares      = 4  // times the memory of one process
)

// excess returns the limit that the descendants exceed, as a reason, or "".
func (s *supervisor) excess() string {
	var all int64
	n, threads := 0, 0
	for _, p := range childTree(os.Getpid(), s.cmd.Processes+1) {
		n++
		threads += p.threads
		all += p.memory
		if p.memory > s.cmd.Memory {
			return reasonMemory
		}
	}
	switch {
	case n > s.cmd.Processes || threads > threadsPerProcess*s.cmd.Processes:
		return reasonProcesses
	case all > memoryShares*s.cmd.Memory:
		return reasonMemory
	}
	return ""
}

// restrictSignals has Landlock confine the signals of this thread to its descendants,
// which inherit the restriction. One signal to every process (-1) then reaches all of them
// at the same moment, so that none can fork meanwhile.
func restrictSignals(abi int) error {
	if upTo(abi, landlockScope) == 0 {
		return unix.ENOSYS
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	// Every set of rules takes the right to move files between folders, unless it handles
	// and grants that right.
	attr := landlock.RulesetAttr{HandledAccessFS: landlock.AccessFSRefer, Scoped: landlock.ScopeSignal}
	set, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(set)
	if err := allowPath(set, "/", landlock.AccessFSRefer, 0); err != nil {
		return err
	}
	if err := landlock.LandlockRestrictSelf(set, 0); err != nil {
		return err
	}
	// Without the restriction, kill(-1) would end every process of the user: so try it, on
	// the process that started this one.
	if err := syscall.Kill(os.Getppid(), 0); err != syscall.EPERM {
		return unix.ENOSYS
	}
	return nil
}

// endAll kills every descendant, and returns when none is left.
func (s *supervisor) endAll() {
	for {
		select {
		case <-s.allGone:
			return
		default:
		}
		if s.signalsRestricted {
			_ = syscall.Kill(-1, syscall.SIGKILL)
		} else {
			s.killEach()
		}
		select {
		case <-s.allGone:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// killEach kills the descendants that it finds. A killed process cannot start another, so
// each call leaves fewer.
func (s *supervisor) killEach() {
	if !s.ended {
		// The complete group in one call, so that none of it can fork meanwhile.
		_ = syscall.Kill(-s.main, syscall.SIGKILL)
	}
	for _, p := range descendants(os.Getpid()) {
		p.kill()
	}
}
