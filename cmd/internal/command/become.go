package command

import (
	"os"
	"os/exec"
	"path/filepath"
)

// find returns the path of a program beside this one or on the PATH, or "".
func find(program string) string {
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), program)); err == nil {
			return path
		}
	}
	path, _ := exec.LookPath(program)
	return path
}
