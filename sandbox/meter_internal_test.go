package sandbox

import (
	"testing"
	"time"
)

// TestMeter checks that short calls share a look at the clock of the process, that
// calls which together took longer do not, and that one with a small budget is not
// charged for others.
func TestMeter(t *testing.T) {
	var m meter
	first := m.budget(time.Second).ends
	for _, c := range []struct {
		name   string
		unread time.Duration
		cpu    time.Duration
		shares bool
	}{
		{"short calls", maxUnread, time.Second, true},
		{"longer calls", maxUnread + 1, time.Second, false},
		{"a small budget", maxUnread / 2, maxUnread, false},
		{"a small budget at first", 0, maxUnread, true},
	} {
		m := m
		m.unread = c.unread
		for start := processTime(); processTime() == start; { // the clock goes on
		}
		ends := m.budget(c.cpu).ends - c.cpu
		if shares := ends == first-time.Second; shares != c.shares || ends > processTime() {
			t.Errorf("after %s the budget begins at %v, the one before at %v; want it shared: %v", c.name, ends, first-time.Second, c.shares)
		}
	}
	if b := m.budget(0); b.ends != 0 || b.Err() != nil {
		t.Errorf("a call without a limit of time: %+v", b)
	}
	b := m.budget(time.Nanosecond)
	for b.Err() == nil { // what it computes is what it waits for
	}
}
