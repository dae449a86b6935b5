package bench

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// oneProcessor has this process and those that it starts run on one processor until the benchmark ends.
func oneProcessor(b *testing.B) {
	b.Helper()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		b.Fatal(err)
	}
	last := len(all)*64 - 1
	for ; !all.IsSet(last); last-- {
	}
	one.Set(last)
	procs := runtime.GOMAXPROCS(1)
	use(b, &one)
	b.Cleanup(func() {
		use(b, &all)
		runtime.GOMAXPROCS(procs)
	})
}

// use sets the processors of all threads of this process. New threads and processes inherit them.
func use(b *testing.B, set *unix.CPUSet) {
	b.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedSetaffinity(id, set)
		}
		if err != nil && err != unix.ESRCH { // the thread has ended
			b.Fatal(err)
		}
	}
}
