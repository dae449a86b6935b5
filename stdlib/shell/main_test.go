package shell

import (
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/sandbox"
)

// TestMain lets this binary be the stages of the launcher that confines
// commands, and the program of a race.
func TestMain(m *testing.M) {
	sandbox.Main()
	if raceMain() {
		return
	}
	testutil.TempInMemory()
	os.Exit(m.Run())
}
