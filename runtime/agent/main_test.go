package agent_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestMain makes the test its own worker.
func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }
