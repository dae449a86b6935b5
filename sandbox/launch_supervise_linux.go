//go:build amd64 || arm64

package sandbox

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

// launchMain runs this process as one of the launcher's stages if that is what
// it was started as, and then does not return.
func launchMain() (handled bool) {
	if len(os.Args) != 1 {
		return false
	}
	// Not os.Exit: built with the race detector, that waits a second for others.
	switch os.Args[0] {
	case launchStage:
		syscall.Exit(superviseMain())
	case confineStage:
		syscall.Exit(confineMain())
	}
	return false
}

// launchPoll is how often a supervisor counts what its process has started. A
// fork bomb makes a few dozen processes in that time.
const launchPoll = 10 * time.Millisecond

// A supervisor runs one process, and is the parent of all that loses its own
// among what that process starts.
type supervisor struct {
	spec    launchSpec
	main    int
	ended   bool                    // main has been waited for
	fenced  bool                    // this thread can signal nobody but descendants
	mainEnd chan syscall.WaitStatus // how the process itself has ended
	allGone chan struct{}           // closed when no descendant is left
}

// superviseMain is the supervisor: descriptor 3 tells it what to run, and when
// it is closed to end it; to 4 it reports.
func superviseMain() int {
	// The process is to die with this thread, so this thread must stay.
	runtime.LockOSThread()
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	control, status := os.NewFile(3, "control"), json.NewEncoder(os.NewFile(4, "status"))
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGPIPE)
	s := &supervisor{mainEnd: make(chan syscall.WaitStatus, 1), allGone: make(chan struct{})}
	if err := json.NewDecoder(control).Decode(&s.spec); err != nil {
		return 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		_ = status.Encode(launchReport{Reason: launchUnconfined, Text: "adopt orphans: " + err.Error()})
		return 0
	}
	s.fenced = fenceSignals(s.spec.ABI) == nil
	released := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, control)
		close(released)
	}()
	trouble, err := s.start()
	if err != nil {
		_ = status.Encode(launchReport{Reason: launchUnconfined, Text: err.Error()})
		return 0
	}
	_ = status.Encode(launchReport{PID: s.main})
	report := s.watch(released, ends, trouble)
	s.endAll()
	_ = status.Encode(report)
	return 0
}

// start starts the confining stage. What it says before it becomes the process
// comes out of the channel, "" if it does.
func (s *supervisor) start() (trouble <-chan string, err error) {
	order, err := json.Marshal(&s.spec)
	if err != nil {
		return nil, err
	}
	var specs, errs, pair [2]int
	if err := unix.Pipe2(specs[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := unix.Pipe2(errs[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, err
	}
	s.main, err = syscall.ForkExec("/proc/self/exe", []string{confineStage}, &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=2"},
		Files: []uintptr{0, 1, 2, specPipe: uintptr(specs[0]), troublePipe: uintptr(errs[1]), listenSocket: uintptr(pair[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	for _, fd := range []int{specs[0], errs[1], pair[1]} {
		unix.Close(fd)
	}
	if err != nil {
		return nil, err
	}
	go s.reap()
	go s.tend(pair[0])
	w := os.NewFile(uintptr(specs[1]), "spec")
	go func() {
		_, _ = w.Write(order)
		w.Close()
	}()
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(os.NewFile(uintptr(errs[0]), "trouble"), 4<<10))
		said <- string(text)
	}()
	return said, nil
}

// tend answers the calls that the process's filter holds, if it has such a one.
func (s *supervisor) tend(socket int) {
	listener, err := receiveListener(socket)
	unix.Close(socket)
	if err == nil {
		newJanitor(listener, s.spec.Write).serve()
	}
}

// reap waits for whatever becomes a child of this process. When there is none
// left, there is no descendant either: each that loses its parent comes here.
func (s *supervisor) reap() {
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			close(s.allGone)
			return
		case pid == s.main:
			s.mainEnd <- st
		}
	}
}

// watch waits for the reason to end everything.
func (s *supervisor) watch(released <-chan struct{}, ends <-chan os.Signal, trouble <-chan string) launchReport {
	deadline := time.NewTimer(s.spec.Timeout)
	poll := time.NewTicker(launchPoll)
	for {
		select {
		case text := <-trouble:
			if reason, text, bad := strings.Cut(text, " "); bad {
				return launchReport{Reason: reason, Text: text}
			}
			trouble = nil
		case st := <-s.mainEnd:
			s.ended = true
			if trouble != nil {
				if reason, text, bad := strings.Cut(<-trouble, " "); bad {
					return launchReport{Reason: reason, Text: text}
				}
			}
			if st.Signaled() {
				return launchReport{Reason: launchExited, Signal: int(st.Signal())}
			}
			return launchReport{Reason: launchExited, Exit: st.ExitStatus()}
		case <-released:
			return launchReport{Reason: launchEnded}
		case <-ends:
			return launchReport{Reason: launchEnded}
		case <-deadline.C:
			return launchReport{Reason: launchTimedOut}
		case <-poll.C:
			if reason := s.excess(); reason != "" {
				return launchReport{Reason: reason}
			}
		}
	}
}

// What all descendants together may have, for each process that they may be:
// threads are no processes but cost the system as much.
const (
	launchThreads = 16
	launchShares  = 4 // times the memory of one
)

// excess says which limit the descendants are over, if any.
func (s *supervisor) excess() string {
	var all int64
	n, threads := 0, 0
	for _, p := range childTree(os.Getpid(), s.spec.Processes+1) {
		n++
		threads += p.threads
		all += p.memory
		if p.memory > s.spec.Memory {
			return launchSwollen
		}
	}
	switch {
	case n > s.spec.Processes || threads > launchThreads*s.spec.Processes:
		return launchCrowded
	case all > launchShares*s.spec.Memory:
		return launchSwollen
	}
	return ""
}

// fenceSignals keeps what this thread signals to its descendants: those are
// behind the same fence, and all others outside. So that one signal to everybody
// reaches them all at once, and none of them can have forked meanwhile.
func fenceSignals(abi int) error {
	if upTo(abi, landlockScope) == 0 {
		return unix.ENOSYS
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	// Any fence takes the right to move files between folders, unless it says
	// that it does not.
	attr := landlock.RulesetAttr{HandledAccessFS: landlock.AccessFSRefer, Scoped: landlock.ScopeSignal}
	set, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(set)
	if err := allowPath(set, "/", 0, landlock.AccessFSRefer, 0); err != nil {
		return err
	}
	if err := landlock.LandlockRestrictSelf(set, 0); err != nil {
		return err
	}
	// What is to come would be a catastrophe if the fence did not hold: so try
	// it, on the process that started this one.
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
		if s.fenced {
			_ = syscall.Kill(-1, syscall.SIGKILL)
		} else {
			s.hunt()
		}
		select {
		case <-s.allGone:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// hunt kills the descendants that it finds. What is killed can start no other,
// so each time fewer are left of those that could.
func (s *supervisor) hunt() {
	if !s.ended {
		// The whole group at once, which a fork cannot slip through.
		_ = syscall.Kill(-s.main, syscall.SIGKILL)
	}
	for _, p := range descendants(os.Getpid()) {
		p.kill()
	}
}
