package launch

import (
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/sandbox/internal/self"
)

// TestMain makes the test able to supervise and confine commands, as sandbox.Main does.
func TestMain(m *testing.M) {
	if hostileMain() {
		return
	}
	Main()
	self.SetReady()
	os.Exit(m.Run())
}
