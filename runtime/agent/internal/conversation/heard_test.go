package conversation

import (
	"strings"
	"testing"
)

func TestHear(t *testing.T) {
	heard := Hear(nil, "")
	if heard != nil {
		t.Errorf("nothing is heard as %q", heard)
	}
	heard = Hear(Hear(heard, "first"), "second")
	if len(heard) != 2 || heard[1] != "second" {
		t.Errorf("heard %q", heard)
	}
	long := strings.Repeat("x", maxHeard-3)
	if heard = Hear(heard, long); len(heard) != 1 || heard[0] != long {
		t.Errorf("%d outputs are kept after a long one, want that one", len(heard))
	}
}
