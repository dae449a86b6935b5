package agent

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A memory has the calls of a turn that need not be repeated: those that only read, as long
// as nothing can have changed.
type memory struct {
	mu    sync.Mutex
	calls map[string]earlier
}

// An earlier call is a call that succeeded.
type earlier struct {
	value  value.Value
	number int // of the call in the turn, from 1
}

// callKey returns a key that is equal for equal calls.
func callKey(t *tool.Tool, args *value.Dict) string {
	names := make([]string, 0, args.Len())
	for k := range args.All() {
		if name, ok := k.(string); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString(tool.Key(t.Name))
	for _, name := range names {
		v, _ := args.Get(name)
		b.WriteString("\x00" + name + "\x00" + value.FormatJSON(v, ""))
	}
	return b.String()
}

func (m *memory) find(key string) (earlier, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.calls[key]
	return c, ok
}

// onlyReads reports whether calls of a tool change nothing. Other calls can change what was
// read before, even if they fail.
func onlyReads(t *tool.Tool) bool { return t.Hints.ReadOnly && !t.NeedsApproval() }

// note stores a call that would return the same result again.
func (m *memory) note(t *tool.Tool, key string, v value.Value, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !onlyReads(t) || !t.Hints.Idempotent || t.Hints.OpenWorld {
		return // the result can change at any time
	}
	if m.calls == nil {
		m.calls = map[string]earlier{}
	}
	m.calls[key] = earlier{v, number}
}

func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = nil
}

// Seen holds when the tools of a session last read and wrote a file. A zero time means never.
type Seen struct{ Read, Written time.Time }

// Files returns the files that the tools of the session have read or written in calls that
// have ended, by path in the project.
func (s *Session) Files() map[string]Seen {
	s.seeing.Lock()
	defer s.seeing.Unlock()
	return maps.Clone(s.files)
}

// traces are the effects of a call in progress on the state of its turn. They are recorded
// with the outcome of the call, for a resumed run.
type traces struct {
	files  map[string]trace
	agents int // number of agents that it started
}

// A trace is what a call did with a file. changed means that an agent of the model wrote it:
// the model must read it again.
type trace struct{ changed, read, wrote bool }

// takeTraces returns and clears the traces.
func (t *turn) takeTraces() traces {
	t.seeing.Lock()
	defer t.seeing.Unlock()
	left := t.traces
	t.traces = traces{}
	return left
}

// leave adds the traces of a call to its turn.
func (t *turn) leave(left traces) {
	t.seeing.Lock()
	defer t.seeing.Unlock()
	t.agents += left.agents
	if t.files == nil && len(left.files) > 0 {
		t.files = map[string]Seen{}
	}
	for path, did := range left.files {
		seen := t.files[path]
		if did.changed {
			seen = Seen{}
		}
		if did.read {
			seen.Read = time.Now()
		}
		if did.wrote {
			seen.Written = time.Now()
		}
		if t.files[path] = seen; seen == (Seen{}) {
			delete(t.files, path)
		}
	}
}

// known reports whether the model has read or written the present content of a file.
func (t *turn) known(path string) bool {
	did := t.traces.files[path]
	return did.read || did.wrote || !did.changed && t.files[path] != Seen{}
}

// watchFiles records which files the tools of the session read and write. Listing a file
// does not count as reading it.
func (t *turn) watchFiles(e tool.Event) {
	done, isEffect := e.Data.(tool.EffectDone)
	if !isEffect || !t.watches.Load() {
		return
	}
	call, ours := strings.CutPrefix(e.Call, t.runID+"/")
	others := strings.HasPrefix(call, agentID)
	read := done.Func == "fs.read" || done.Func == "fs.read_bytes"
	if !ours || !done.Success || !read && done.Func != "fs.commit" || read && others {
		return
	}
	t.seeing.Lock()
	defer t.seeing.Unlock()
	l := &t.traces
	if l.files == nil {
		l.files = map[string]trace{}
	}
	for _, c := range done.Capabilities {
		path := c.Target
		did := l.files[path]
		switch {
		case others:
			did = trace{changed: true}
		case read:
			did.read = true
		default:
			did.wrote = true
		}
		l.files[path] = did
	}
}

// reviewChanges stops a built-in tool from replacing a file that the model has not read.
// Other tools may replace any file.
func (t *turn) reviewChanges(_ *tool.Tool, from tool.Location, changes []tool.Change) error {
	t.seeing.Lock()
	defer t.seeing.Unlock()
	if t.working.Load() > 0 {
		return nil // a sub-agent writes, and reviews its own changes
	}
	for _, c := range changes {
		replaces := c.Before.Exists && !c.Before.Dir && c.After.Exists && c.Before.Hash != c.After.Hash
		if from == tool.Builtin && replaces && !t.known(c.Path) {
			return value.Errorf(value.Conflict, "write %s: the file exists, but this conversation has not read it; nothing was written", c.Path).
				WithHint("read the file first, then write it again")
		}
	}
	return nil
}
