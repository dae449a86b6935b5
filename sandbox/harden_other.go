//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxStack ends a runaway recursion of our own Go code long before it has used
// the default of 1 GB.
const maxStack = 64 << 20

// harden sets what every system has: the limits of the Go runtime itself. They
// keep an accident small and confine nobody; [promise] says so.
func harden(memory int64) error {
	if memory <= 0 {
		return value.Errorf(value.Invalid, "a worker with %d bytes of memory", memory)
	}
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(maxStack)
	return nil
}

// workerEnvironment is what a worker is started with.
func workerEnvironment() []string { return []string{"GOMAXPROCS=2"} }

// promise returns what keeps a worker in on this system, in words for people,
// and an error: there is no confinement by the kernel here.
func promise() ([]string, error) {
	layers := []string{"a process of its own, which a crash or a hang does not leave"}
	return layers, value.Errorf(value.Unavailable,
		"a worker cannot be confined here: %s on %s has no Landlock and no seccomp that cassidy can use", runtime.GOOS, runtime.GOARCH).
		WithHint("use Linux on amd64 or arm64, or run only tools that you trust")
}

// verify finds nothing to look at: see [promise].
func verify(int) error { return nil }

// rss is not known here.
func rss(int) (int64, bool) { return 0, false }

// cpuTime is not known here.
func cpuTime(int) (time.Duration, bool) { return 0, false }

// hardenAsFar is harden: there is no more to be had.
func hardenAsFar(memory int64) error { return harden(memory) }

// prepareStarter does nothing: there is no confinement that a worker could inherit.
func prepareStarter() {}
