package command

import "testing"

// TestIdle checks that memory is given back once after something was done, and not meanwhile.
func TestIdle(t *testing.T) {
	t.Parallel()
	var p process
	for i, look := range []struct {
		held, allocated uint64 // in MB
		want            bool
	}{
		{100, 100, false}, // it has just been busy
		{100, 100, true},
		{90, 100, false}, // nothing was done since
		{200, 300, false},
		{200, 400, false},
		{200, 400, true},
		{30, 500, false},
		{30, 500, false}, // it holds little
	} {
		got := p.idle(look.held<<20, look.allocated<<20)
		if got != look.want {
			t.Errorf("look %d: %v", i, got)
		}
		if got {
			p.freed = look.allocated << 20
		}
	}
}
