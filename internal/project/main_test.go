package project_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

func TestMain(m *testing.M) { testutil.Main(m) }
