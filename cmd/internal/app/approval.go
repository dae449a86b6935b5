package app

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ModelTimeout is the default idle timeout of a model.
const ModelTimeout = 10 * time.Minute

// Asking returns an action that opens a host, on which the user approves calls.
func (a *App) Asking(do func(ctx *cli.Context, h *host.Host) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if err := a.setApprover(ctx); err != nil {
			return err
		}
		return a.WithHost(do)(ctx)
	}
}

// setApprover reads the flags: who approves calls, who answers other questions, and
// which model scripts use.
func (a *App) setApprover(ctx *cli.Context) (err error) {
	a.Person.InputRead = ctx.String("input") == "-"
	a.Person.Config = a.ConfigFile()
	if root, err := a.Root(); err == nil && a.Person.Config != "" {
		a.Person.AddRules = func(rules []tool.Rule) (*config.Change, error) {
			return config.AddRules(a.Person.Config, root, rules)
		}
	}
	a.Model, a.Patience, a.NoHooks = ctx.String("model"), ctx.Duration("timeout"), ctx.Bool("no-hooks")
	if a.Person.Present() {
		a.asker = a.Person
	}
	a.approver, err = a.Person.Approver(ctx)
	return err
}

// Parking is like [App.Asking], but without a terminal a run waits for answers.
func (a *App) Parking(do func(ctx *cli.Context, h *host.Host) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if err := checkDetach(ctx); err != nil {
			return err
		}
		if err := a.setApprover(ctx); err != nil {
			return err
		}
		if a.approver == a.Person && a.OpenTerminal(a.In, a.Person.InputRead) == nil {
			a.approver = nil
		}
		return a.WithHost(do)(ctx)
	}
}

// Recording returns an action that records its runs.
func (a *App) Recording(do cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if a.Records = !ctx.Bool("dry-run"); a.Records {
			if err := a.takeOver(); err != nil {
				return err
			}
		}
		a.ForgetRuns(ctx.Context)
		return do(ctx)
	}
}

// AskedModel opens the model for scripts: that of the run in the context or of --model, or else the default.
func (a *App) AskedModel(ctx context.Context, h *host.Host) (model.Model, error) {
	name, patience := a.Model, a.Patience
	if s := RunStateOf(ctx); s != nil {
		name, patience = s.Model, s.Patience
	}
	m, err := a.Models().Open(ctx, h, name, false)
	if err != nil {
		return nil, err
	}
	return model.WithIdleTimeout(m, cmp.Or(patience, ModelTimeout)), nil
}

// Models returns the opener of models.
func (a *App) Models() *models.Opener {
	o := &models.Opener{Env: a.Env, Dir: a.Dir, Home: a.Home(), Config: a.config, Silent: a.Replays}
	if a.Keyring != nil {
		o.Keyring = a.Keyring.Get
	}
	return o
}

// OpenBrowser opens an address in the user's browser, and does not wait for it.
func (a *App) OpenBrowser(address string) error {
	words := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		words = []string{"open"}
	case "windows":
		words = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.Command(words[0], append(words[1:], address)...)
	if err := cmd.Start(); err != nil {
		return value.Errorf(value.Unavailable, "open the browser: %w", err).WithHint("omit --open, and open the address yourself")
	}
	go func() { _ = cmd.Wait() }() // how the program ends says nothing about the page
	return nil
}

// Edit opens a file in the user's editor.
func (a *App) Edit(file string) error {
	editor := approve.Editor(a.Printer)
	if len(editor) == 0 {
		a.Note("cannot open %s in an editor: EDITOR is not set", file)
		return nil
	}
	cmd := exec.Command(editor[0], append(editor[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return value.Errorf(value.Failed, "run the editor %s: %w", strings.Join(editor, " "), err)
	}
	return nil
}
