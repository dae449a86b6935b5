package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
)

func TestFindings(t *testing.T) {
	t.Parallel()
	findings := []finding{
		{name: "system", value: "linux/amd64"},
		{name: "sandbox", value: "the worker cannot be started: there is no program for it on this machine", bad: true, hint: "set CASSIDY_WORKER to the program"},
	}
	for _, c := range []struct {
		screen draw.Screen
		want   string
	}{
		{draw.Screen{Width: 60}, `
✓ system    linux/amd64
✗ sandbox   the worker cannot be started: there is no
            program for it on this machine
  try  set CASSIDY_WORKER to the program
`},
		{draw.Screen{Width: 60, ASCII: true, Plain: true}, `
done: system: linux/amd64
failed: sandbox: the worker cannot be started: there is no
                 program for it on this machine
  try: set CASSIDY_WORKER to the program
`},
		{draw.Screen{}, `
✓ system: linux/amd64
✗ sandbox: the worker cannot be started: there is no program for it on this
  machine
    → set CASSIDY_WORKER to the program
`},
	} {
		p := draw.Page{Screen: c.screen}
		for i := range findings {
			writeFinding(&p, &findings[i])
		}
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), p.String()); diff != "" {
			t.Errorf("on %+v (-want +got):\n%s", c.screen, diff)
		}
	}
}
