package sandbox

import (
	"os"
	"time"

	"golang.org/x/sys/windows"

	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
	"github.com/cassidy-run/cassidy/sandbox/internal/self"
)

// spawn starts a worker: the program, or this one if it is "", under another name, with
// pipes as its standard input, output and error.
func spawn(program string) (*child, error) {
	if program == "" {
		var err error
		if program, err = self.Path(); err != nil {
			return nil, err
		}
	}
	var open []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			open = append(open, r, w)
		}
		return r, w, err
	}
	in, toWorker, err := pipe()
	fromWorker, out, err2 := pipe()
	stderr, theirStderr, err3 := pipe()
	for _, e := range []error{err, err2, err3} {
		if e != nil {
			closeAll(open...)
			return nil, e
		}
	}
	process, err := os.StartProcess(program, []string{workerName}, &os.ProcAttr{
		Env: seal.Environment(), Files: []*os.File{in, out, theirStderr},
	})
	closeAll(in, out, theirStderr)
	if err != nil {
		closeAll(toWorker, fromWorker, stderr)
		return nil, err
	}
	c := &child{process: process, link: toWorker, answers: fromWorker, stderr: stderr, in: frameReader{from: fromWorker}}
	c.watch.child, c.in.seen = c, c.watch.arrived
	return c, nil
}

// forbiddenCall is false: there is no filter of system calls here.
func forbiddenCall(*os.ProcessState) bool { return false }

// killedFromOutside is unknown here.
func killedFromOutside(*os.ProcessState) bool { return false }

// processTime returns how much processor time this process has used.
func processTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0 // the host has a clock too
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return 100 * time.Duration(ticks(kernel)+ticks(user)) // in units of 100 ns
}

// workerEnds returns the files by which a worker is connected to its host. It has inherited
// no other handles.
func workerEnds() (in, out *os.File, err error) { return os.Stdin, os.Stdout, nil }

// wantsCPU is unknown here, so that no worker counts as stuck.
func wantsCPU(int) bool { return true }
