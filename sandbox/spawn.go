package sandbox

import (
	"errors"
	"os"

	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
	"github.com/cassidy-run/cassidy/sandbox/internal/self"
)

// spawn starts a worker: the program, or this one if it is "", under another name, with pipes as its
// standard input, output and error, and no other file of ours. The calling thread must outlive it: see
// [starter].
//
// A socket for both directions would take fewer descriptors, but whoever reads from one wakes up the
// other end, which may write again: each frame would wake up the host twice.
func spawn(program string) (_ *child, err error) {
	if program == "" {
		if program, err = self.Path(); err != nil {
			return nil, err
		}
	}
	c := &child{}
	var theirs [3]*os.File
	var errs [3]error
	theirs[0], c.to, errs[0] = os.Pipe()
	c.from, theirs[1], errs[1] = os.Pipe()
	c.stderr, theirs[2], errs[2] = os.Pipe()
	if err = errors.Join(errs[:]...); err == nil {
		c.process, err = os.StartProcess(program, []string{workerName}, &os.ProcAttr{Dir: workerDir, Env: seal.Environment(), Files: theirs[:], Sys: workerAttr()})
	}
	if err != nil {
		closeAll(append(theirs[:], c.to, c.from, c.stderr)...)
		return nil, err
	}
	mayOverflow(theirs[2])
	closeAll(theirs[:]...)
	c.in = frameReader{from: c.from, seen: c.watch.arrived}
	c.watch.child = c
	return c, nil
}
