//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// hardenTestMain has nothing to try where nothing confines.
func hardenTestMain() bool { return false }

func TestPromiseIsHonest(t *testing.T) {
	layers, err := promise()
	if len(layers) != 1 {
		t.Errorf("got %q, want one layer", layers)
	}
	if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Unavailable || e.Hint == "" {
		t.Errorf("got %v, want an error of kind %v with a hint", err, value.Unavailable)
	}
	if err := verify(os.Getpid()); err != nil {
		t.Errorf("verify: got %v, want nil: there is nothing to look at", err)
	}
	if _, ok := rss(os.Getpid()); ok {
		t.Error("rss is known")
	}
	if _, ok := cpuTime(os.Getpid()); ok {
		t.Error("cpuTime is known")
	}
}
