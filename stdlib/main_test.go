package stdlib

import (
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/sandbox"
)

// TestMain lets this binary be the stages of the launcher that confines
// commands.
func TestMain(m *testing.M) {
	sandbox.Main(Pure()...)
	os.Exit(m.Run())
}
