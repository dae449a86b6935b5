package star_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/enginetest"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/star"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// scripts runs the scripts of these tests, with the modules of a set.
var scripts = enginetest.Workers{Sets: map[string]func() []tool.Module{
	"suite": func() []tool.Module { return []tool.Module{star.SuiteModule()} },
}}

// TestMain makes the test its own worker.
func TestMain(m *testing.M) { scripts.Main(m) }
