package tool

import (
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
	mu   sync.RWMutex
	next int
	subs []subscription
}

type subscription struct {
	id   int
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
	s.subs = append(s.subs[:len(s.subs):len(s.subs)], subscription{id, kind, tell})
	return func() { s.drop(id) }
}

func (s *Events) drop(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]subscription, 0, len(s.subs))
	for _, sub := range s.subs {
		if sub.id != id {
			kept = append(kept, sub)
		}
	}
	s.subs = kept
}

// Wanted reports whether anybody listens, so that nobody need make events for
// no one.
func (s *Events) Wanted() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.subs) > 0
}

// Emit brings an event to its subscribers, in the order of subscription.
func (s *Events) Emit(e Event) {
	s.mu.RLock()
	subs := s.subs
	s.mu.RUnlock()
	for _, sub := range subs {
		if sub.kind == e.Type || sub.kind == AnyEvent {
			sub.safely(e)
		}
	}
}

func (s subscription) safely(e Event) {
	defer func() { _ = recover() }() // a listener must not break the call
	s.tell(e)
}
