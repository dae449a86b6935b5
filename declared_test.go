package cassidy_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
)

// TestDeclared checks that Declared lists a tool without the function that reports whether the tool
// can be used, which Tools calls.
func TestDeclared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, ".cassidy/tools/gone.star"), "def gone():\n    \"\"\"Be gone.\"\"\"\n\ndef here():\n    return False\n\ntool(gone, available = here)\n")
	h, err := testhost.Open(t, testhost.On{}, dir, &cassidy.Options{TrustSource: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, tt := range []struct {
		list []toolset.Info
		want toolset.State
	}{{host.Operate(h).Declared(), toolset.Ready}, {h.Tools(), toolset.NotHere}, {host.Operate(h).Declared(), toolset.Ready}} {
		i := slices.IndexFunc(tt.list, func(t toolset.Info) bool { return t.Name == "gone" })
		if i < 0 || tt.list[i].State != tt.want {
			t.Errorf("the tool is at %d of %d, want it with the state %s", i, len(tt.list), tt.want)
		}
	}
}
