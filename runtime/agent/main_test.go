package agent_test

import (
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestMain makes the test its own worker, and the process that
// TestSessionsSurviveTheirProcess kills.
func TestMain(m *testing.M) {
	if args := os.Getenv(crashEnv); args != "" {
		crash(args)
		return
	}
	testworker.Main(m, stdlib.Pure()...)
}
