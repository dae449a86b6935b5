//go:build !linux || !(amd64 || arm64)

package seal

import (
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// probeMain has nothing to try where nothing confines.
func probeMain() bool { return false }

func TestLayersAreHonest(t *testing.T) {
	layers, err := Layers()
	if len(layers) != 1 {
		t.Errorf("got %q, want one layer", layers)
	}
	if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Unavailable || e.Hint == "" {
		t.Errorf("got %v, want an error of kind %v with a hint", err, value.Unavailable)
	}
	if err := Verify(os.Getpid()); err != nil {
		t.Errorf("verify: got %v, want nil: there is nothing to look at", err)
	}
	if _, ok := Memory(os.Getpid()); ok {
		t.Error("Memory is known")
	}
	if _, ok := CPUTime(os.Getpid()); ok {
		t.Error("CPUTime is known")
	}
}
