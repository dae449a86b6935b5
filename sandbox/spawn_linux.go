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

// self is this program, even where its file has been replaced or removed.
func self() string {
	const link = "/proc/self/exe"
	if _, err := os.Lstat(link); err == nil {
		return link
	}
	path, _ := os.Executable() // "" cannot be started, which says so
	return path
}

func workerAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// processTime is how much processor time this process has used.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0 // the clock is the kernel's own; the host has another
	}
	return time.Duration(t.Nano())
}

// wantsCPU reports whether a process computes or waits to: one that does
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
