package engine_test

import (
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/enginetest"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// These tests run their scripts twice: by the engine in this process, and in a worker.
// The results must be the same; see [enginetest.Twice]. Only the engine runs
//
//   - TestEngineKeepsFew and TestStarCompileOnce, which test what one engine shares
//     among many scripts: a worker has one,
//   - the benchmarks, which measure it,
//   - the fuzz targets, whose seeds are cases of tests that run in both.

// scripts runs the scripts of these tests, with the modules of a set.
var scripts = enginetest.Workers{Sets: map[string]func() []tool.Module{
	"none":  func() []tool.Module { return nil },
	"star":  func() []tool.Module { return starModules(new(atomic.Int64)) },
	"lua":   luaModules,
	"tools": toolsModules,
	"dozen": dozenModules,
	"read":  readModules,
	"code":  codeModules,
	"trace": traceModules,
}}

// TestMain makes the test its own worker, with the pure functions of a set.
func TestMain(m *testing.M) { scripts.Main(m) }

// both returns an engine whose scripts have the modules of a set.
func both(t testing.TB, set string) *enginetest.Twice {
	t.Helper()
	return scripts.Both(t, set)
}

// bothSteps is both with a limit of steps for each call.
func bothSteps(t testing.TB, set string, steps int64) *enginetest.Twice {
	t.Helper()
	return scripts.BothSteps(t, set, steps)
}
