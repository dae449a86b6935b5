// Package self reports whether this program can be started again as another process, and
// where its file is.
//
// Workers and the supervisors of commands are processes of the program that uses
// them, unless it names another one. So its main begins with sandbox.Main, which
// makes such a process what it was started as, and calls [SetReady] in all others.
package self

import (
	"os"
	"runtime"
	"sync/atomic"
)

// ready says that SetReady was called.
var ready atomic.Bool

// SetReady notes that the main of this program can be started as another process.
func SetReady() { ready.Store(true) }

// Ready reports whether [SetReady] was called. Where it was not, a process that this
// program starts of itself would be a copy of it, and start others for ever.
func Ready() bool { return ready.Load() }

// Path returns the path of this program. On Linux that is one which leads to it
// even where its file has been replaced or removed.
func Path() (string, error) {
	if runtime.GOOS == "linux" {
		const link = "/proc/self/exe"
		if _, err := os.Lstat(link); err == nil {
			return link, nil
		}
	}
	return os.Executable()
}
