// Package taint knows which untrusted texts a model has read, and which calls could act on
// them: the sources and the sinks.
package taint

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Source is one reading of untrusted text.
type Source struct {
	At   tool.StepPath // the step that read it; nil for an earlier run of the conversation
	Tool string        // the tool, or "" for a text that the user attached
	What string        // what it read, as in "http.get https://example.com/page"; "" for the result of the tool
	Sum  string        // a hash of the request, for one that only reads; else ""
}

// maxSources is how many sources are kept. A question shows fewer.
const maxSources = 64

// Marks are the sources that a run, or a conversation, has read, and the words and addresses that its
// user has typed. A nil Marks has none, and ignores what is added. It is safe for concurrent use.
type Marks struct {
	mu      sync.Mutex
	sources []Source
	typed   []string
	said    []string       // the newest messages of the user; see [Marks.Composed]
	names   tool.FileNames // of the run; nil until it is needed
}

// namesOf returns the names of files for the run, or nil.
func (m *Marks) namesOf(f *Files) tool.FileNames {
	if m == nil || f.Names == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = f.Names()
	}
	return m.names
}

// Add adds a source. It reports false for a known one, and when there are enough.
func (m *Marks) Add(s Source) bool {
	if m == nil {
		return false
	}
	s.What = value.Clean(s.What, maxWhat)
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(o Source) bool {
		return s.Tool == o.Tool && s.What == o.What && s.Sum == o.Sum && (len(o.At) == 0 || slices.Compare(o.At, s.At) <= 0)
	}
	if len(m.sources) >= maxSources || slices.ContainsFunc(m.sources, same) {
		return false
	}
	m.sources = append(m.sources, s)
	return true
}

// maxWhat is how much of the name of a source is kept, in bytes.
const maxWhat = 200

// Before returns the sources that a model may know when it chooses the call at a step, in the order
// of the steps: all but those that the call has read itself. Those of agents that work in parallel
// count, as one can pass on to another what it has read. A resumed run has at least those that it
// had before.
func (m *Marks) Before(at tool.StepPath) []Source {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Source
	for _, s := range m.sources {
		if !within(s.At, at) {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b Source) int { return slices.Compare(a.At, b.At) })
	return list
}

// within reports whether a source was read at a step, or inside it.
func within(source, at tool.StepPath) bool {
	return len(source) >= len(at) && len(source) > 0 && slices.Equal(source[:len(at)], at)
}

// Empty reports whether there are no sources.
func (m *Marks) Empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sources) == 0
}

// carry makes all sources those of an earlier run, as the conversation continues in another one.
func (m *Marks) carry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.sources
	m.sources, m.names = nil, nil
	for _, s := range list {
		s.At = nil
		if !slices.ContainsFunc(m.sources, func(o Source) bool { return o.Tool == s.Tool && o.What == s.What && o.Sum == s.Sum }) {
			m.sources = append(m.sources, s)
		}
	}
}

// maxTyped is how many addresses are kept.
const maxTyped = 64

// Typed adds the words and the addresses in a message of the user. After the user has attached an untrusted
// text, messages have what it says too, and nothing is added.
func (m *Marks) Typed(message string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.sources, func(s Source) bool { return s.Tool == "" }) {
		return
	}
	m.say(message)
	for word := range strings.FieldsSeq(message) {
		at := strings.Index(word, "http://")
		if i := strings.Index(word, "https://"); i >= 0 && (at < 0 || i < at) {
			at = i
		}
		if at < 0 || len(m.typed) >= maxTyped {
			continue
		}
		if url := strings.TrimRight(word[at:], ".,;:!?)]}>'\"`*"); !slices.Contains(m.typed, url) {
			m.typed = append(m.typed, url)
		}
	}
}

// key is the key of the Marks of a conversation in a context.
type key struct{}

// With returns the context of a conversation with these marks.
func With(ctx context.Context, m *Marks) context.Context { return context.WithValue(ctx, key{}, m) }

// Of returns the marks of the conversation in a context, for its next run, or nil if it has none.
func Of(ctx context.Context) *Marks {
	m, _ := ctx.Value(key{}).(*Marks)
	if m != nil {
		m.carry()
	}
	return m
}

// The names in the recorded form of a source.
const (
	noteSource = "untrusted" // the tool
	noteWhat   = "what"
	noteSum    = "sum"
	noteAt     = "at"
)

// A Recorded is the recorded form of the marks of a conversation.
type Recorded struct {
	Untrusted value.List `json:"untrusted,omitempty"`
	Typed     []string   `json:"typed,omitempty"`
	Said      []string   `json:"said,omitempty"`
}

// Recorded returns the recorded form.
func (m *Marks) Recorded() (r Recorded) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sources {
		r.Untrusted = append(r.Untrusted, s.Dict())
	}
	r.Typed, r.Said = slices.Clone(m.typed), slices.Clone(m.said)
	return r
}

// Restore adds what Recorded returned in an earlier process.
func (m *Marks) Restore(r Recorded) {
	for _, v := range r.Untrusted {
		if d, ok := v.(*value.Dict); ok {
			m.AddNotes([]*value.Dict{d})
		}
	}
	m.carry()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, url := range r.Typed {
		if len(m.typed) < maxTyped && !slices.Contains(m.typed, url) {
			m.typed = append(m.typed, url)
		}
	}
	for _, message := range r.Said {
		if !slices.Contains(m.said, message) {
			m.say(message)
		}
	}
}

// AddNotes adds the sources among notes.
func (m *Marks) AddNotes(notes []*value.Dict) {
	for _, n := range notes {
		if s, ok := Read(n); ok {
			m.Add(s)
		}
	}
}

// Dict returns the recorded form of a source.
func (s Source) Dict() *value.Dict {
	at := value.List{}
	for _, n := range s.At {
		at = append(at, int64(n))
	}
	return value.NewDict(noteSource, s.Tool, noteWhat, s.What, noteSum, s.Sum, noteAt, at)
}

// Read reads a source from a note. ok is false if it is something else.
func Read(n *value.Dict) (s Source, ok bool) {
	if !n.Has(noteSource) || !n.Has(noteAt) {
		return s, false
	}
	s = Source{Tool: n.Text(noteSource), What: n.Text(noteWhat), Sum: n.Text(noteSum)}
	for _, v := range n.Elements(noteAt) {
		i, _ := v.(int64)
		s.At = append(s.At, int(i))
	}
	return s, true
}
