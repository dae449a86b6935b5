//go:build unix && (!linux || !(amd64 || arm64))

package sandbox

import (
	"os/exec"
	"syscall"
)

// launchGroup gives a command a process group of its own, and has it killed
// with it.
func launchGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// launchSweep ends what is left of a command's group.
func launchSweep(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
