package runs

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestPromoteAsks checks that a person sees what was made, and decides on it.
func TestPromoteAsks(t *testing.T) {
	for _, tt := range []struct {
		answer, said string
		runs         bool
	}{
		{"y\n", "trusted 1 file", true},
		{"\n", "nothing was trusted", false},
	} {
		h := newPromoteHome(t)
		l := h.begin("r")
		h.ran(l, "3", "x = 2\nx + 1", int64(3))
		h.check(l.End(context.Background(), "final", tool.Outcome{}, nil))
		person, program := ptytest.Open(t)
		if _, err := person.WriteString(tt.answer); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		env := func(name string) (string, bool) {
			v, ok := map[string]string{"CASSIDY_HOME": h.home, "CASSIDY_WORKER": testworker.Exec()}[name]
			return v, ok
		}
		code := app.Run(context.Background(), []string{"--dir", h.project, "runs", "promote", "r", "--name", "three"},
			&app.World{In: program, Out: &out, Err: &errs, Env: env}, commands()...)
		if code != 0 || !strings.Contains(out.String(), "│ def three(x: int = 2) -> int:") || !strings.Contains(out.String(), "only compute") ||
			!strings.Contains(errs.String(), "y yes · N no · v view") || !strings.Contains(errs.String(), tt.said) {
			t.Errorf("%q: exit %d\n%s%s", tt.answer, code, out.String(), errs.String())
		}
		if stdout, stderr, code := h.in("tool", "run", "three"); (code == 0) != tt.runs {
			t.Errorf("%q: the tool, exit %d, %s%s", tt.answer, code, stdout, stderr)
		}
	}
}
