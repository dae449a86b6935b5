package engine_test

import (
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/enginetest"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// What these tests run they run twice: by the engine in this process, and in a
// worker. Nobody may be able to tell which it was; see [enginetest.Twice]. The engine alone
// runs
//
//   - TestEngineKeepsFew and TestStarCompileOnce, which are about what one engine
//     shares among many scripts: a worker has one,
//   - the benchmarks, which measure it,
//   - the fuzz targets, which need no process each: their seeds are cases of
//     tests that run in both.

// scripts runs the scripts of these tests, with the modules of a set.
var scripts = enginetest.Workers{Sets: map[string]func() []tool.Module{
	"none":  func() []tool.Module { return nil },
	"star":  func() []tool.Module { return starModules(new(atomic.Int64)) },
	"lua":   luaModules,
	"tools": toolsModules,
	"dozen": dozenModules,
	"read":  readModules,
	"code":  codeModules,
}}

// TestMain makes the test its own worker, with the pure functions of a set.
func TestMain(m *testing.M) { scripts.Main(m) }

// both returns an engine whose scripts have the modules of a set.
func both(t testing.TB, set string) *enginetest.Twice {
	t.Helper()
	return scripts.Both(t, set)
}

// bothSteps is both with so many steps for each call.
func bothSteps(t testing.TB, set string, steps int64) *enginetest.Twice {
	t.Helper()
	return scripts.BothSteps(t, set, steps)
}
