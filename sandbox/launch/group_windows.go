package launch

import (
	"os/exec"
	"strconv"
)

// startInGroup has a command killed with the processes that it has started, as far as
// taskkill finds them.
func startInGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
		return cmd.Process.Kill()
	}
}

// killGroup does nothing: Windows does not report the children of a process that has
// ended.
func killGroup(*exec.Cmd) {}
