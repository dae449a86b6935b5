package sandbox

import (
	"os/exec"
	"strconv"
)

// launchGroup has a command killed with what it has started, as far as
// taskkill finds it.
func launchGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
		return cmd.Process.Kill()
	}
}

// launchSweep finds nothing: once its parent has ended, Windows tells of no
// child.
func launchSweep(*exec.Cmd) {}
