package agent

import (
	"maps"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

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
	t.agents += int32(left.agents)
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
