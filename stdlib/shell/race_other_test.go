//go:build !linux

package shell

// raceMain is the program of the races, which need Linux.
func raceMain() bool { return false }
