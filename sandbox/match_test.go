package sandbox_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// TestAWorkerThatDoesNotFit checks that a program which is no worker, or one whose
// functions are others, is refused before any script runs in it.
func TestAWorkerThatDoesNotFit(t *testing.T) {
	script := tool.Script{Path: "t.star", Source: "def t():\n    \"T.\"\n\ntool(t)\n"}
	own := tool.Module{Name: "own", Funcs: []tool.Func{{Name: "pure", Kind: tool.Pure, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
		return tool.Outcome{}, nil
	}}}}
	type attempt struct {
		program string
		modules []tool.Module
	}
	attempts := map[string]attempt{"a function more": {testworker.Exec(), []tool.Module{own}}}
	for _, name := range []string{"true", "false"} {
		if path, err := exec.LookPath(name); err == nil {
			attempts[name] = attempt{program: path}
		}
	}
	for name, a := range attempts {
		box, err := sandbox.New(&sandbox.Options{Workers: sandbox.Workers{Program: a.program}}, a.modules...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = box.Describe(t.Context(), script)
		e := value.ErrorOf(err, value.Internal)
		if err == nil || e.Kind != value.Invalid || e.Hint == "" {
			t.Errorf("%s: %v (hint %q), want an error of kind Invalid with a hint", name, err, e.Hint)
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}
