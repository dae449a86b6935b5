//go:build unix && !linux

package sandbox

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func workerAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// processTime returns how much processor time this process has used.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0 // the host has a clock too
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wantsCPU is unknown here, so that no worker counts as stuck.
func wantsCPU(int) bool { return true }
