package seal

import (
	"os"
	"testing"
)

// TestMain also is the main of the processes that the tests start.
func TestMain(m *testing.M) {
	if probeMain() {
		return
	}
	os.Exit(m.Run())
}
