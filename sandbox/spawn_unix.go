//go:build unix

package sandbox

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
	"github.com/cassidy-run/cassidy/sandbox/internal/self"
)

// spawn starts a worker: the program, or this one if it is "", under another name, with a
// socket as its standard input, a pipe as its standard error, and no other file of ours.
func spawn(program string) (*child, error) {
	// A process that is started meanwhile must not inherit what is opened here.
	syscall.ForkLock.RLock()
	ours, theirs, err := ends(func(p *[2]int) (err error) { *p, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err })
	var stderr, theirStderr *os.File
	if err == nil {
		stderr, theirStderr, err = ends(func(p *[2]int) error {
			// What a worker writes beyond the pipe's capacity is lost: it need not wait for a reader.
			return errors.Join(unix.Pipe(p[:]), unix.SetNonblock(p[1], true))
		})
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		closeAll(ours, theirs)
		return nil, err
	}
	process, err := startWorker(program, theirs, theirStderr)
	closeAll(theirs, theirStderr)
	if err != nil {
		closeAll(ours, stderr)
		return nil, err
	}
	c := &child{process: process, link: ours, stderr: stderr, in: frameReader{from: ours}}
	c.watch.child, c.in.seen = c, c.watch.arrived
	return c, nil
}

// ends makes a pair of files: the first for the host, which blocks no thread, the second for
// a worker.
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

// startWorker starts the process. The calling thread must outlive it: see [starter].
func startWorker(program string, link, theirStderr *os.File) (*os.Process, error) {
	if program == "" {
		var err error
		if program, err = self.Path(); err != nil {
			return nil, err
		}
	}
	return os.StartProcess(program, []string{workerName}, &os.ProcAttr{
		Dir: "/", Env: seal.Environment(),
		Files: []*os.File{link, theirStderr, theirStderr},
		Sys:   workerAttr(),
	})
}

// forbiddenCall reports whether a process ended because of a system call that
// its filter forbids.
func forbiddenCall(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGSYS
}

// killedFromOutside reports whether a process ended by a signal that another process has
// sent: no script makes its worker end by one of these.
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

// workerEnds returns the files by which a worker is connected to its host: one socket for
// both directions. Standard output is closed, so that nothing gets between the frames.
func workerEnds() (in, out *os.File, err error) {
	return os.Stdin, os.Stdin, os.Stdout.Close()
}
