//go:build unix && !linux

package sandbox

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func self() string {
	path, _ := os.Executable() // "" cannot be started, which says so
	return path
}

func workerAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// processTime is how much processor time this process has used.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0 // the host has a clock too
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wantsCPU is not known here, and no worker is taken to be stuck.
func wantsCPU(int) bool { return true }
