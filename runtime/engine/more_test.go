package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestCheckListsFewFaults checks that at most 100 faults of a file are kept, and that the others are counted, by severity.
func TestCheckListsFewFaults(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "def f%d(): pass\n", i)
	}
	b.WriteString("def a():\n    \"D.\"\n    return 1\n\ntool(a)\n")
	list := engine.New(nil).Check(tool.Script{Path: "a.star", Source: b.String()}, &engine.Known{Kind: engine.KindTool})
	listed, more := 0, map[diagnostic.Severity]int{}
	for _, d := range list {
		if d.Code != diagnostic.MoreFaults {
			listed++
		}
		more[d.Severity] += d.More
	}
	if listed != 100 || len(list) > 102 || more[diagnostic.Warning] != 4900 || more[diagnostic.Error] != 0 {
		t.Errorf("%d faults listed of %d, %v more", listed, len(list), more)
	}
}
