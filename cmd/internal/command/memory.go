package command

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// softLimit is where the collector begins to work as often as it takes to stay below, in bytes. What a
// command of usual size does stays far below it, so that it collects almost never.
const softLimit = 128 << 20

// boundMemory has the process use little memory, unless its user has set the variables of Go for that.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		// Most commands are short: fewer garbage collections save a tenth of the time to list ten
		// thousand tools.
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit)
	}
	go giveBack()
}

// giveBack returns unused memory to the system once nothing is done any more: without allocations, the
// runtime would keep it for minutes.
func giveBack() {
	var p process
	for range time.Tick(2 * time.Second) {
		if p.idle(memory()) {
			debug.FreeOSMemory()
			_, p.freed = memory()
		}
	}
}

// A process is how many bytes a process had allocated at two moments.
type process struct{ last, freed uint64 }

// What is left to the process, in bytes, and how little it allocates between two looks while it has nothing
// to do.
const keepFree, quiet = 32 << 20, 1 << 20

// idle reports whether memory can be given back: the process holds much, does nothing since the last look, and has done
// something since memory was given back last. held and allocated are what it holds of the system, and what it has ever
// allocated, in bytes.
func (p *process) idle(held, allocated uint64) bool {
	rests := allocated-p.last < quiet
	p.last = allocated
	return rests && held > keepFree && allocated-p.freed >= quiet
}

// memory returns the arguments of idle.
func memory() (held, allocated uint64) {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64(), s[2].Value.Uint64()
}
