package tool

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// An Event tells that something happened. The terminal, a web page, MCP and a
// trace only ever read events.
type Event struct {
	Type EventType
	Time time.Time
	Call string // the ID of the call it belongs to
	Tool string
	Data *Dict // what the type says it holds
}

// An EventType names a sort of event.
type EventType string

// The events of a call, in the order in which they come. In brackets what Data
// holds. A call that fails ends with an error and then, like any other, with a
// tool_call_end.
const (
	CallStart   EventType = "tool_call_start"   // [arguments, toolName, reasoning]
	ArgsRead    EventType = "arguments_read"    // [notes] where they were not taken as they came
	OutputChunk EventType = "tool_output_chunk" // [chunk]
	Progress    EventType = "progress"          // [message, done, total]
	Log         EventType = "log"               // [message]
	EffectDone  EventType = "effect"            // [func, place, capabilities, success, wall_ms, error]
	Audit       EventType = "audit"             // [decision, func, capabilities, place, caller, why]: what was allowed by somebody, or refused
	CallEnd     EventType = "tool_call_end"     // [success, result, preview], and [waits] where the run is parked and the call goes on later
	ErrorEvent  EventType = "error"             // [error, error_type, toolName]
)

// The events of a run, which an agent or a workflow makes. Call is the run's ID
// then, and the IDs of the calls that it makes begin with it.
const (
	RunStart    EventType = "run_start"    // [run, task, model, policy, format, tools, tool_overhead, effective_limit]
	ModelAsk    EventType = "model_ask"    // [iteration, messages, tokens]
	ModelText   EventType = "model_text"   // [text]: a piece of the answer, as it comes
	ModelReply  EventType = "model_reply"  // [iteration, text, calls, input_tokens, output_tokens]
	Decided     EventType = "decision"     // [kind, action, input, reasoning, ...]: what was read in the reply
	SkillLoaded EventType = "skill_loaded" // [name, notes]
	Compacted   EventType = "compacted"    // [success, summary, tokens_before, tokens_after, error]
	RunEnd      EventType = "run_end"      // [run, reason, answer, success, iterations, error]
)

// AnyEvent subscribes to every type.
const AnyEvent EventType = "*"

// Events brings events to those who subscribed. The zero value is ready, and
// safe for concurrent use.
type Events struct {
	mu     sync.RWMutex
	next   int
	subs   []subscription            // to the events of all calls
	byCall map[string][]subscription // to those of one, by the first part of its ID
}

type subscription struct {
	id   int
	call string // "" is every one
	kind EventType
	tell func(Event)
}

// Subscribe has tell called for every event of a type, or of all with "*",
// until the returned function is called. A tell that panics is not heard
// from and breaks nothing; one that is slow slows the call.
func (s *Events) Subscribe(kind EventType, tell func(Event)) (unsubscribe func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	id := s.next
	s.subs = with(s.subs, subscription{id: id, kind: kind, tell: tell})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subs = without(s.subs, id)
	}
}

// SubscribeTo is [Events.Subscribe] to the events of one call or run, and of
// the calls that are made for it, whose IDs begin with its own and a slash. Who
// else subscribes so costs the emitter nothing: of ten thousand agents, each
// hears its own.
func (s *Events) SubscribeTo(call string, kind EventType, tell func(Event)) (unsubscribe func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byCall == nil {
		s.byCall = map[string][]subscription{}
	}
	s.next++
	id, first := s.next, firstPart(call)
	s.byCall[first] = with(s.byCall[first], subscription{id, call, kind, tell})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.byCall[first] = without(s.byCall[first], id); len(s.byCall[first]) == 0 {
			delete(s.byCall, first)
		}
	}
}

// firstPart is what a call's ID has in common with those of all that made it and
// that it makes.
func firstPart(call string) string {
	first, _, _ := strings.Cut(call, "/")
	return first
}

// with and without change a copy: who emits goes through the list meanwhile.
func with(subs []subscription, s subscription) []subscription {
	return append(subs[:len(subs):len(subs)], s)
}

func without(subs []subscription, id int) []subscription {
	return slices.DeleteFunc(slices.Clone(subs), func(s subscription) bool { return s.id == id })
}

// Wanted reports whether anybody listens, so that nobody need make events for
// no one.
func (s *Events) Wanted() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.subs)+len(s.byCall) > 0
}

// Emit brings an event to its subscribers, in the order of subscription; those
// to one call come after those to all.
func (s *Events) Emit(e Event) {
	s.mu.RLock()
	all, one := s.subs, []subscription(nil)
	if len(s.byCall) > 0 {
		one = s.byCall[firstPart(e.Call)]
	}
	s.mu.RUnlock()
	for _, sub := range all {
		sub.hear(e)
	}
	for _, sub := range one {
		sub.hear(e)
	}
}

func (s subscription) hear(e Event) {
	if s.kind != e.Type && s.kind != AnyEvent {
		return
	}
	if rest, ok := strings.CutPrefix(e.Call, s.call); !ok || s.call != "" && rest != "" && rest[0] != '/' {
		return
	}
	defer func() { _ = recover() }() // a listener must not break the call
	s.tell(e)
}
