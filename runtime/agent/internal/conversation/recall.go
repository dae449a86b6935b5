package conversation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Memory has the calls of a turn that need not be repeated: those that only read, as long
// as nothing can have changed. The zero value is ready to use, and safe for concurrent use. A nil
// Memory has no calls.
type Memory struct {
	mu    sync.Mutex
	calls map[string]Earlier
}

// An Earlier call is a call that succeeded.
type Earlier struct {
	Value  value.Value
	Number int // of the call in the turn, from 1
}

// Key returns a key that is equal for equal calls.
func Key(t *tool.Tool, args *value.Dict) string {
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
		text, err := value.AppendJSON(nil, v)
		if err != nil { // such as NaN
			text = []byte(value.FormatJSON(v, ""))
		}
		b.WriteString("\x00" + name + "\x00" + string(text))
	}
	return b.String()
}

// Find returns the call with a key, if it has that.
func (m *Memory) Find(key string) (Earlier, bool) {
	if m == nil {
		return Earlier{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.calls[key]
	return c, ok
}

// OnlyReads reports whether calls of a tool change nothing. Other calls can change what was
// read before, even if they fail.
func OnlyReads(t *tool.Tool) bool { return t.Hints.ReadOnly && !t.NeedsApproval() }

// Note stores a call that would return the same result again.
func (m *Memory) Note(t *tool.Tool, key string, v value.Value, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !OnlyReads(t) || !t.Hints.Idempotent || t.Hints.OpenWorld {
		return // the result can change at any time
	}
	if m.calls == nil {
		m.calls = map[string]Earlier{}
	}
	m.calls[key] = Earlier{v, number}
}

// String lists the calls, in any order but always the same.
func (m *Memory) String() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m.calls)) {
		fmt.Fprintf(&b, "%q: %d %s\n", key, m.calls[key].Number, value.FormatJSON(m.calls[key].Value, ""))
	}
	return b.String()
}

// Forget removes all calls.
func (m *Memory) Forget() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = nil
}
