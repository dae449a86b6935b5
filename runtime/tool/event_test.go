package tool

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEventsQ145(t *testing.T) {
	var s Events
	if s.Wanted() {
		t.Errorf("Wanted() = true with no subscriber")
	}
	s.Emit(Event{Type: CallStart}) // to nobody
	var got []string
	hear := func(who string) func(Event) {
		return func(e Event) { got = append(got, who+" "+string(e.Type)) }
	}
	stopAny := s.Subscribe(AnyEvent, hear("any"))
	stopStart := s.Subscribe(CallStart, hear("start"))
	s.Subscribe(CallEnd, hear("end"))
	s.Emit(Event{Type: CallStart})
	s.Emit(Event{Type: CallEnd})
	s.Emit(Event{Type: "later"})
	stopStart()
	stopStart() // twice does no harm
	s.Emit(Event{Type: CallStart})
	stopAny()
	s.Emit(Event{Type: CallStart})
	s.Emit(Event{Type: CallEnd})
	want := []string{"any tool_call_start", "start tool_call_start", "any tool_call_end", "end tool_call_end", "any later", "any tool_call_start", "end tool_call_end"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if !s.Wanted() {
		t.Errorf("Wanted() = false with a subscriber left")
	}
}

// TestEventsOfOneCall checks that whoever subscribes to one call hears it and
// the calls below it, and of those what it asked for.
func TestEventsOfOneCall(t *testing.T) {
	var s Events
	heard := map[string][]string{}
	hear := func(who string) func(Event) {
		return func(e Event) { heard[who] = append(heard[who], string(e.Type)+" "+e.Call) }
	}
	stops := []func(){
		s.SubscribeTo("run", AnyEvent, hear("run")),
		s.SubscribeTo("run/2", EffectDone, hear("run/2")),
		s.SubscribeTo("run-2", AnyEvent, hear("run-2")),
		s.Subscribe(Log, hear("all")),
	}
	emit := func() {
		for _, call := range []string{"run", "run/2", "run/2/1", "run/21", "run-2/2", "ru", ""} {
			s.Emit(Event{Type: EffectDone, Call: call})
		}
		s.Emit(Event{Type: Log, Call: "run/2"})
	}
	emit()
	for who, want := range map[string][]string{
		"run":   {"effect run", "effect run/2", "effect run/2/1", "effect run/21", "log run/2"},
		"run/2": {"effect run/2", "effect run/2/1"},
		"run-2": {"effect run-2/2"},
		"all":   {"log run/2"},
	} {
		if !slices.Equal(heard[who], want) {
			t.Errorf("%s heard %q, want %q", who, heard[who], want)
		}
	}
	for _, stop := range stops {
		stop()
		stop() // twice does no harm
	}
	clear(heard)
	emit()
	if s.Wanted() || len(heard) > 0 || len(s.byCall) > 0 {
		t.Errorf("when all have unsubscribed, Wanted() = %v, and %q were heard", s.Wanted(), heard)
	}
}

func TestEventsQ144Names(t *testing.T) {
	for got, want := range map[EventType]string{CallStart: "tool_call_start", OutputChunk: "tool_output_chunk", CallEnd: "tool_call_end", ErrorEvent: "error", Progress: "progress"} {
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A listener may subscribe and unsubscribe while it is told something.
func TestEventsChangeInsideListener(t *testing.T) {
	var s Events
	first, second, inner := 0, 0, 0
	var stop func()
	stop = s.Subscribe(AnyEvent, func(Event) {
		first++
		stop()
		s.Subscribe(AnyEvent, func(Event) { inner++ })
		if first == 1 {
			s.Emit(Event{Type: Log}) // and emit
		}
	})
	s.Subscribe(AnyEvent, func(Event) { second++ })
	s.Emit(Event{Type: Log})
	s.Emit(Event{Type: Log})
	if first != 1 || second != 3 || inner != 2 {
		t.Errorf("the listeners heard %d, %d and %d events, want 1, 3 and 2", first, second, inner)
	}
}

func TestEventsListenerPanics(t *testing.T) {
	var s Events
	heard := 0
	s.Subscribe(AnyEvent, func(Event) { panic("listener") })
	s.Subscribe(AnyEvent, func(Event) { heard++ })
	s.Emit(Event{Type: Log})
	s.Emit(Event{Type: Log})
	if heard != 2 {
		t.Errorf("the next listener heard %d events, want 2", heard)
	}
}

func TestEventsConcurrent(t *testing.T) {
	var s Events
	var heard atomic.Int64
	s.Subscribe(AnyEvent, func(Event) { heard.Add(1) })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				stop := s.Subscribe(Log, func(Event) {})
				s.Emit(Event{Type: Log})
				stop()
			}
		})
	}
	wg.Wait()
	if got := heard.Load(); got != 800 {
		t.Errorf("heard %d events, want 800", got)
	}
}
