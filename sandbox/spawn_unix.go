//go:build unix

package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// workerDir is the folder that a worker is started in.
const workerDir = "/"

// mayOverflow has what a worker writes to its standard error beyond the pipe's capacity be lost, so that
// it need not wait for a reader.
func mayOverflow(stderr *os.File) {
	_ = unix.SetNonblock(int(stderr.Fd()), true) // it cannot fail; otherwise, the worker would wait
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
