package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func workerAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// processTime returns how much processor time this process has used.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0 // the clock is the kernel's own; the host has another
	}
	return time.Duration(t.Nano())
}

// wantsCPU reports whether a process computes or waits for a processor. A process that does
// neither sleeps or was stopped.
func wantsCPU(pid int) bool {
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil {
		return false
	}
	for _, file := range tasks {
		text, err := os.ReadFile(file)
		// The state follows the name, which is in brackets and may hold some.
		name := strings.LastIndex(string(text), ") ")
		if state := string(text)[name+1:]; err == nil && name >= 0 && (strings.HasPrefix(state, " R") || strings.HasPrefix(state, " D")) {
			return true
		}
	}
	return false
}
