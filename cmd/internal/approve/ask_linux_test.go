package approve

import (
	"io"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestAskOnTerminal checks that on a terminal a person is asked, whatever the
// flags say of approvals, and that what he typed before is no answer.
func TestAskOnTerminal(t *testing.T) {
	for _, args := range [][]string{nil, {"--yes"}, {"--deny"}} {
		person, program := ptytest.Open(t)
		a := New(ui.NewPrinter(io.Discard, program, noEnv), program, &ui.Screen{})
		app := &cli.App{Flags: Flags(), Action: func(ctx *cli.Context) error {
			_, err := a.Approver(ctx)
			return err
		}}
		if err := app.Run(append([]string{"x"}, args...)); err != nil {
			t.Fatal(err)
		}
		if !a.Present() {
			t.Fatalf("with %q there is nobody to ask", args)
		}
		if _, err := io.WriteString(person, "too early\n"); err != nil {
			t.Fatal(err)
		}
		said := make(chan string)
		go func() {
			v, err := a.Ask(t.Context(), tool.Question{Kind: tool.QuestionAsk, Tool: "choose", Text: "Which?"})
			text, _ := v.Value.(string)
			if err != nil {
				text = err.Error()
			}
			said <- text
		}()
		var shown strings.Builder
		buf := make([]byte, 4096)
		for !strings.Contains(shown.String(), enter) {
			n, err := person.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			shown.Write(buf[:n])
		}
		if _, err := io.WriteString(person, "this one\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-said; got != "this one" || !strings.Contains(shown.String(), "Which?") {
			t.Errorf("with %q the answer is %q to:\n%s", args, got, shown.String())
		}
	}
}
