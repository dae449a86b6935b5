//go:build !linux || !(amd64 || arm64)

package seal

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxStack ends a runaway recursion of our own Go code long before it has used
// the default of 1 GB.
const maxStack = 64 << 20

// Apply sets the limits of the Go runtime, which every system has. They bound accidents, and
// confine nothing: see [Layers]. The error is of kind Invalid if the memory is not positive.
func Apply(memory int64) error {
	if memory <= 0 {
		return value.Errorf(value.Invalid, "confine the worker: invalid memory limit: %d bytes", memory)
	}
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(maxStack)
	return nil
}

// Environment returns the environment that a worker is started with.
func Environment() []string { return []string{"GOMAXPROCS=2"} }

// Layers returns what confines a worker on this system, in words for people, and an error
// of kind Unavailable: the kernel does not confine it.
func Layers() ([]string, error) {
	layers := []string{"separate process: a crash or a hang affects only the worker"}
	return layers, value.Errorf(value.Unavailable,
		"this system cannot confine workers: Landlock and seccomp are not supported on %s/%s", runtime.GOOS, runtime.GOARCH).
		WithHint("use Linux on amd64 or arm64, or run only tools that you trust")
}

// Verify does nothing: see [Layers].
func Verify(int) error { return nil }

// Memory is not known here.
func Memory(int) (int64, bool) { return 0, false }

// CPUTime is not known here.
func CPUTime(int) (time.Duration, bool) { return 0, false }

// ApplyAvailable is [Apply].
func ApplyAvailable(memory int64) error { return Apply(memory) }

// PrepareThread does nothing: there is no confinement that a worker could inherit.
func PrepareThread() {}
