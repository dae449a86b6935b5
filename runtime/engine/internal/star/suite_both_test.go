package star_test

import (
	"fmt"
	"path/filepath"
	"testing"
	_ "time/tzdata" // a worker cannot read the system's time zones

	"github.com/cassidy-run/cassidy/runtime/engine/internal/star"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestStarlarkSuiteInBoth runs each chunk of go.starlark.net's own tests, with
// annotations and without, in this process and in a worker. A script gets them as
// arguments and passes them to a function that runs them. TestStarlarkSuite checks the
// results.
func TestStarlarkSuiteInBoth(t *testing.T) {
	script := tool.Script{Path: "suite.star", Source: "def run(file, text): return suite.run(file, text)"}
	script.Hash = script.Sum()
	e := scripts.Both(t, "suite").Allow("memory")
	chunks := 0
	star.SuiteChunks(t, func(file, text string) {
		chunks++
		script.Name = fmt.Sprintf("%s, chunk %d", filepath.Base(file), chunks)
		out, err := e.Run(t.Context(), script, tool.Call{Args: value.NewDict("file", file, "text", text)}, nil)
		if _, ok := out.Value.(string); !ok || err != nil {
			t.Errorf("%s: %v, %v, want how the chunk ended", file, out.Value, err)
		}
	})
	t.Logf("%d chunks", chunks)
	if chunks < 200 {
		t.Errorf("ran %d chunks, want all there are", chunks)
	}
}
