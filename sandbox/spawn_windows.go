package sandbox

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// workerDir is the folder that a worker is started in: that of its host.
const workerDir = ""

func workerAttr() *syscall.SysProcAttr { return nil }

// mayOverflow does nothing: a worker that writes too much waits, until its call takes too long.
func mayOverflow(*os.File) {}

// forbiddenCall is false: there is no filter of system calls here.
func forbiddenCall(*os.ProcessState) bool { return false }

// killedFromOutside is unknown here.
func killedFromOutside(*os.ProcessState) bool { return false }

// processTime returns how much processor time this process has used.
func processTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0 // the host has a clock too
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return 100 * time.Duration(ticks(kernel)+ticks(user)) // in units of 100 ns
}

// wantsCPU is unknown here, so that no worker counts as stuck.
func wantsCPU(int) bool { return true }
