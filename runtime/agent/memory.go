package agent

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A memory is what a turn knows of the calls that it has made: one that only
// reads is not made again while nothing can have changed.
type memory struct {
	mu    sync.Mutex
	calls map[string]earlier
}

// An earlier call is one that succeeded.
type earlier struct {
	value  value.Value
	number int // among the calls of the turn, from 1
}

// callKey names a call by what it asks for.
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

// onlyReads reports whether a call of a tool changes nothing. Any other may
// change what those before it have read, also one that fails.
func onlyReads(t *tool.Tool) bool { return t.Hints.ReadOnly && !t.NeedsApproval() }

// note remembers a call that reads and would give the same again.
func (m *memory) note(t *tool.Tool, key string, v value.Value, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !onlyReads(t) || !t.Hints.Idempotent || t.Hints.OpenWorld {
		return // what is outside changes by itself
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

// Seen is when a session's tools have last read and written a file; a zero time
// means never.
type Seen struct{ Read, Written time.Time }

// Files returns the files that the session's tools have read and written, by
// their paths in the project. A call counts once it has ended.
func (s *Session) Files() map[string]Seen {
	s.seeing.Lock()
	defer s.seeing.Unlock()
	files := make(map[string]Seen, len(s.files))
	for path, seen := range s.files {
		files[path] = seen
	}
	return files
}

// traces are what a call under way leaves in its turn beside what the model is
// told. They are kept with its outcome, so that a run that is resumed has them.
type traces struct {
	files  map[string]trace
	agents int   // that it has had work
	spent  Usage // by those
}

// A trace is what a call has done to a file. What an agent of its own has
// written, the model does not know any more, until it is read again.
type trace struct{ changed, read, wrote bool }

// takeTraces returns the traces since they were last taken.
func (t *turn) takeTraces() traces {
	t.seeing.Lock()
	defer t.seeing.Unlock()
	left := t.left()
	t.traces = nil
	return left
}

// left returns the traces so far. t.seeing is held.
func (t *turn) left() traces {
	if t.traces == nil {
		return traces{}
	}
	return *t.traces
}

// leaving returns the traces to add to. t.seeing is held.
func (t *turn) leaving() *traces {
	if t.traces == nil {
		t.traces = &traces{}
	}
	return t.traces
}

// leave keeps the traces of a call in its turn.
func (t *turn) leave(left traces) {
	t.result.Usage.add(left.spent)
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

// known reports whether the model knows what is in a file.
func (t *turn) known(path string) bool {
	did := t.left().files[path]
	return did.read || did.wrote || !did.changed && t.files[path] != Seen{}
}

// watchFiles notes which files the tools of the session read and write. To know
// that a file exists is not to know what is in it.
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
	l := t.leaving()
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

// reviewChanges refuses to let a built-in tool replace what the model has not
// read: that would destroy what it does not know. Tools that somebody wrote for
// the project know what they replace.
func (t *turn) reviewChanges(by *tool.Tool, changes []tool.Change) error {
	t.seeing.Lock()
	defer t.seeing.Unlock()
	if t.working.Load() > 0 {
		return nil // an agent of its own writes, and was asked about it
	}
	for _, c := range changes {
		replaces := c.Before.Exists && !c.Before.Dir && c.After.Exists && c.Before.Hash != c.After.Hash
		if by.Location == tool.Builtin && replaces && !t.known(c.Path) {
			return value.Errorf(value.Conflict, "%s exists and has not been read in this conversation: nothing was written", c.Path).
				WithHint("read it first, then write it again")
		}
	}
	return nil
}
