package conversation

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Seen holds when the tools of a session last read and wrote a file. A zero time means never.
type Seen struct{ Read, Written time.Time }

// A Kept has the traces of the calls of a session. The zero value is empty and ready to use. It is
// safe for concurrent use.
type Kept struct {
	mu     sync.Mutex
	files  map[string]Seen // by path: of calls that have ended
	agents int             // number of sub-agents that ended calls of the turn have started
	now    Traces          // of the calls in progress
}

// Traces are the effects of calls in progress on the state of their turn. They are recorded with
// the outcome of the calls, for a resumed run. The zero value has none.
type Traces struct {
	files  map[string]trace
	agents int // number of sub-agents that they started
}

// A trace is what a call did with a file. changed means that an agent of the model wrote it: the
// model must read it again.
type trace struct{ changed, read, wrote bool }

// Files returns the files that calls have read or written, by path in the project.
func (k *Kept) Files() map[string]Seen {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.files)
}

// Restore replaces the files.
func (k *Kept) Restore(files map[string]Seen) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = files
}

// Begin begins a turn: no sub-agent was started yet, and no call is in progress.
func (k *Kept) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.agents, k.now = 0, Traces{}
}

// NextAgent returns the number of the next sub-agent of the turn, from 1.
func (k *Kept) NextAgent() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.agents++
	return k.agents + k.now.agents
}

// Take returns the traces of the calls in progress, and clears them.
func (k *Kept) Take() Traces {
	k.mu.Lock()
	defer k.mu.Unlock()
	left := k.now
	k.now = Traces{}
	return left
}

// Leave adds the traces of calls that have ended.
func (k *Kept) Leave(left Traces) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.agents += left.agents
	if k.files == nil && len(left.files) > 0 {
		k.files = map[string]Seen{}
	}
	for path, did := range left.files {
		seen := k.files[path]
		if did.changed {
			seen = Seen{}
		}
		if did.read {
			seen.Read = time.Now()
		}
		if did.wrote {
			seen.Written = time.Now()
		}
		if k.files[path] = seen; seen == (Seen{}) {
			delete(k.files, path)
		}
	}
}

// Watch adds what an effect of a call in progress did with files. byAgent says that a sub-agent
// made the call. Listing a file does not count as reading it.
func (k *Kept) Watch(done *tool.EffectDone, byAgent bool) {
	read := done.Func == "fs.read" || done.Func == "fs.read_bytes"
	if !done.Success || !read && done.Func != "fs.commit" || read && byAgent {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now.files == nil {
		k.now.files = map[string]trace{}
	}
	for _, c := range done.Capabilities {
		did := k.now.files[c.Target]
		switch {
		case byAgent:
			did = trace{changed: true}
		case read:
			did.read = true
		default:
			did.wrote = true
		}
		k.now.files[c.Target] = did
	}
}

// Review fails with kind Conflict if a change replaces a file that the model has not read.
func (k *Kept) Review(changes []tool.Change) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range changes {
		replaces := c.Before.Exists && !c.Before.Dir && c.After.Exists && c.Before.Hash != c.After.Hash
		if replaces && !k.known(c.Path) {
			return value.Errorf(value.Conflict, "write %s: the file exists, but this conversation has not read it; nothing was written", c.Path).
				WithHint("read the file first, then write it again")
		}
	}
	return nil
}

// known reports whether the model has read or written the present content of a file.
func (k *Kept) known(path string) bool {
	did := k.now.files[path]
	return did.read || did.wrote || !did.changed && k.files[path] != Seen{}
}

// Put adds the traces to a recorded outcome, as the fields of [Recorded].
func (t Traces) Put(d *value.Dict) {
	paths := func(did func(trace) bool) value.List {
		list := value.List{}
		for _, path := range slices.Sorted(maps.Keys(t.files)) {
			if did(t.files[path]) {
				list = append(list, path)
			}
		}
		return list
	}
	d.Put("read", paths(func(f trace) bool { return f.read }))
	d.Put("wrote", paths(func(f trace) bool { return f.wrote }))
	d.Put("changed", paths(func(f trace) bool { return f.changed }))
	if t.agents > 0 {
		d.Put("agents", value.NewDict("count", int64(t.agents)))
	}
}

// Recorded are traces as [Traces.Put] wrote them.
type Recorded struct {
	Changed []string `json:"changed"`
	Read    []string `json:"read"`
	Wrote   []string `json:"wrote"`
	Agents  struct {
		Count uint32 `json:"count"`
	} `json:"agents"`
}

// Traces returns the traces.
func (r *Recorded) Traces() Traces {
	left := Traces{files: map[string]trace{}, agents: int(r.Agents.Count)}
	mark := func(paths []string, did func(t *trace)) {
		for _, path := range paths {
			t := left.files[path]
			did(&t)
			left.files[path] = t
		}
	}
	mark(r.Changed, func(t *trace) { t.changed = true })
	mark(r.Read, func(t *trace) { t.read = true })
	mark(r.Wrote, func(t *trace) { t.wrote = true })
	return left
}

// String describes the traces of the calls in progress and the number of sub-agents.
func (k *Kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprintf("agents: %d\nin progress: %+v\n", k.agents, k.now)
}
