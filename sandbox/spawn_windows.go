package sandbox

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// spawn starts a worker: this program again, under another name, with pipes as
// its standard input, output and error.
func spawn(program string) (*child, error) {
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
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
	says, words, err3 := pipe()
	for _, e := range []error{err, err2, err3} {
		if e != nil {
			closeAll(open...)
			return nil, e
		}
	}
	process, err := os.StartProcess(program, []string{workerName}, &os.ProcAttr{
		Env: workerEnvironment(), Files: []*os.File{in, out, words},
	})
	closeAll(in, out, words)
	if err != nil {
		closeAll(toWorker, fromWorker, says)
		return nil, err
	}
	c := &child{process: process, link: toWorker, answers: fromWorker, says: says, in: frameReader{from: fromWorker}}
	c.watch.child, c.in.seen = c, c.watch.arrived
	return c, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // nothing was written that could be lost
		}
	}
}

// forbiddenCall is for systems with filters of system calls.
func forbiddenCall(*os.ProcessState) bool { return false }

// killedFromOutside is not known here.
func killedFromOutside(*os.ProcessState) bool { return false }

// processTime is how much processor time this process has used.
func processTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0 // the host has a clock too
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return 100 * time.Duration(ticks(kernel)+ticks(user)) // in units of 100 ns
}

// workerEnds are the files through which a worker talks to its host. A process
// gets the handles it is given, so there are no others.
func workerEnds() (in, out *os.File, err error) { return os.Stdin, os.Stdout, nil }

// wantsCPU is not known here, and no worker is taken to be stuck.
func wantsCPU(int) bool { return true }
