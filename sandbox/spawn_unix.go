//go:build unix

package sandbox

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts a worker: this program again, under another name, with a socket
// as its standard input, a pipe for what it says, and nothing else of ours.
func spawn(program string) (*child, error) {
	// What is opened here must not get into a process that is started meanwhile.
	syscall.ForkLock.RLock()
	ours, theirs, err := ends(func(p *[2]int) (err error) { *p, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err })
	var says, words *os.File
	if err == nil {
		says, words, err = ends(func(p *[2]int) error {
			// A worker that says too much loses it, and need not wait for a reader.
			return errors.Join(unix.Pipe(p[:]), unix.SetNonblock(p[1], true))
		})
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		closeAll(ours, theirs)
		return nil, err
	}
	process, err := startWorker(program, theirs, words)
	closeAll(theirs, words)
	if err != nil {
		closeAll(ours, says)
		return nil, err
	}
	c := &child{process: process, link: ours, says: says, in: frameReader{from: ours}}
	c.watch.child, c.in.seen = c, c.watch.arrived
	return c, nil
}

// ends makes a pair of files: the first for us, which waits without a thread,
// the second for a worker.
func ends(open func(*[2]int) error) (ours, theirs *os.File, err error) {
	var pair [2]int
	if err := open(&pair); err != nil {
		return nil, nil, os.NewSyscallError("socketpair or pipe", err)
	}
	for _, fd := range pair {
		unix.CloseOnExec(fd)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "worker"), nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // nothing was written to it that could be lost
		}
	}
}

// startWorker starts the process. The thread that does so must outlive it: see
// [starter].
func startWorker(program string, link, words *os.File) (*os.Process, error) {
	if program == "" {
		program = self()
	}
	return os.StartProcess(program, []string{workerName}, &os.ProcAttr{
		Dir: "/", Env: workerEnvironment(),
		Files: []*os.File{link, words, words},
		Sys:   workerAttr(),
	})
}

// forbiddenCall reports whether a process ended because of a system call that
// its filter forbids.
func forbiddenCall(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGSYS
}

// killedFromOutside reports whether a process ended by a signal that only
// somebody else can have sent: no script has its worker end by one of these.
func killedFromOutside(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return false
	}
	switch status.Signal() {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT:
		return true
	}
	return false
}

// workerEnds are the files through which a worker talks to its host: both ways
// one socket. Standard output is closed, so that nothing gets between the frames.
func workerEnds() (in, out *os.File, err error) {
	return os.Stdin, os.Stdin, os.Stdout.Close()
}
