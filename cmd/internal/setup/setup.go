// Package setup has the command that sets up a model and an MCP client.
package setup

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/cmd/internal/secret"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Command returns cassidy setup.
func Command(a *app.App) *cli.Command {
	return &cli.Command{
		Name: "setup", Usage: "choose a model, keep its key, and add cassidy to an MCP client",
		Description: "On a terminal, the command asks for what no flag says. It makes one request to the model, and then writes your config.yaml.\n" +
			"Elsewhere, the key is read from standard input unless it is kept already:\n" +
			"  cassidy setup --provider anthropic < key.txt",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "provider", Usage: "ask the models of `PROVIDER`: " + strings.Join(config.BuiltinProviders(), ", ") + ", or one of your config.yaml"},
			&cli.StringFlag{Name: "model", Usage: "use the model `NAME` of the provider"},
			&cli.StringFlag{Name: "client", Usage: "add cassidy to the settings of `CLIENT` for this project: see cassidy mcp install --help"},
		},
		Action: func(ctx *cli.Context) error {
			w := &wizard{App: a, ctx: ctx, term: a.OpenTerminal(a.In, false)}
			return w.run()
		},
	}
}

// A wizard is one run of the command.
type wizard struct {
	*app.App
	ctx  *cli.Context
	term *ui.Terminal // nil without one

	offer models.Offer
	key   string // that was typed, or ""
	name  string // of the model
}

func (w *wizard) run() error {
	for _, step := range []func() error{w.chooseProvider, w.askKey, w.chooseModel, w.try, w.write, w.addToClient} {
		if err := step(); err != nil {
			return err
		}
	}
	if w.JSON {
		return w.PrintJSON(value.NewDict("model", w.word(), "config", w.ConfigFile(), "client", w.ctx.String("client")))
	}
	w.Note("next: cassidy task \"What is in this folder?\"; or cassidy chat; to change settings: cassidy config list")
	return nil
}

// word returns the model as --model and the config have it.
func (w *wizard) word() string { return w.offer.Provider + ":" + w.name }

// ask asks a question on the terminal; without an answer it is otherwise.
func (w *wizard) ask(question, otherwise string) (string, error) {
	if otherwise != "" {
		question += " [" + otherwise + "]"
	}
	s := w.ScreenOf(w.Err)
	w.term.Print(s.Mark(draw.Asks) + " " + s.Prompt(question))
	line, err := w.term.ReadLine(w.ctx.Context)
	if errors.Is(err, io.EOF) {
		return "", context.Canceled
	}
	if line = strings.TrimSpace(line); line == "" {
		line = otherwise
	}
	return line, err
}

func (w *wizard) chooseProvider() error {
	if w.ConfigFile() == "" {
		return value.Errorf(value.Invalid, "write the config: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	}
	offers, word := models.Offers(), w.ctx.String("provider")
	if word == "" && w.term == nil {
		return value.Errorf(value.Invalid, "--provider is missing, and no terminal is available to ask").
			WithHint("cassidy setup --provider anthropic < FILE; the providers are %s", strings.Join(config.BuiltinProviders(), ", "))
	}
	for word == "" {
		for i, offer := range offers {
			w.term.Print(strconv.Itoa(i+1) + "  " + offer.Title + "\n")
		}
		answer, err := w.ask("which models do you use", "1")
		if err != nil {
			return err
		}
		word = answer
		if n, err := strconv.Atoi(answer); err == nil {
			word = ""
			if n >= 1 && n <= len(offers) {
				word = offers[n-1].Provider
			}
		}
	}
	i := slices.IndexFunc(offers, func(o models.Offer) bool { return o.Provider == word })
	if w.offer = (models.Offer{Provider: word}); i >= 0 {
		w.offer = offers[i]
	}
	return nil
}

// askKey asks for the key unless there is one.
func (w *wizard) askKey() error {
	has, err := w.Models().Keyed(w.offer.Provider)
	if err != nil || has || w.offer.Key == "" {
		return err
	}
	w.key, err = secret.Ask(w.ctx.Context, w.App, w.offer.Key, "cassidy setup --provider "+w.offer.Provider)
	return err
}

// opener returns the opener of models, which has the key that was typed.
func (w *wizard) opener() *models.Opener {
	o := w.Models()
	env := o.Env
	o.Env = func(name string) (string, bool) {
		if w.key != "" && name == w.offer.Key {
			return w.key, true
		}
		return env(name)
	}
	return o
}

func (w *wizard) chooseModel() error {
	w.name = w.ctx.String("model")
	if _, name, ok := strings.Cut(w.name, w.offer.Provider+":"); ok {
		w.name = name
	}
	switch {
	case w.name != "":
		return nil
	case w.term == nil && w.offer.Model != "":
		w.name = w.offer.Model
		return nil
	case w.term == nil:
		return value.Errorf(value.Invalid, "--model is missing").WithHint("list the models: cassidy models %s; then cassidy setup --provider %[1]s --model NAME", w.offer.Provider)
	}
	otherwise := w.offer.Model
	if otherwise == "" {
		if groups, err := w.opener().List(w.ctx.Context, w.offer.Provider); err == nil && len(groups) > 0 && len(groups[0].Models) > 0 {
			otherwise = groups[0].Models[0].Name
		}
	}
	for w.name == "" {
		var err error
		if w.name, err = w.ask("which model", otherwise); err != nil {
			return err
		}
	}
	return nil
}

// try makes a request to the model: a wrong key is found before anything is written.
func (w *wizard) try() error {
	w.Note("asking %s …", w.word())
	m, err := w.opener().Open(w.ctx.Context, nil, w.word(), false)
	if err != nil {
		return err
	}
	r, err := m.Ask(w.ctx.Context, &model.Request{Messages: []model.Message{{Role: model.User, Text: "Reply with the word: ready"}}})
	if err != nil {
		e := *value.ErrorOf(err, value.Unavailable)
		if w.key != "" && e.Hint != "" {
			e.Hint += "; nothing was written"
		}
		return &e
	}
	w.Did("the model answers: %s", ui.CutShown(r.Text, 60))
	return nil
}

// write keeps the key, and sets the model.
func (w *wizard) write() error {
	change, err := config.SetField(w.ConfigFile(), []string{"model"}, w.word())
	if err != nil {
		return err
	}
	if w.key != "" {
		where, err := secret.Keep(w.ctx.Context, w.App, w.offer.Key, w.key)
		if err != nil {
			return err
		}
		w.Did("%s is kept in %s", w.offer.Key, where)
	}
	if err := change.Write(); err != nil {
		return err
	}
	w.Did("%s is now the model in %s", w.word(), change.File)
	return nil
}

// addToClient adds cassidy to the settings of an MCP client, as cassidy mcp install does.
func (w *wizard) addToClient() error {
	client := w.ctx.String("client")
	if client == "" && w.term != nil {
		w.term.Print("claude-code, claude-desktop, cursor, vscode, zed, codex, opencode, gemini\n")
		var err error
		if client, err = w.ask("add cassidy to one of these programs (Enter for none)", ""); err != nil {
			return err
		}
	}
	if client == "" {
		return nil
	}
	args := []string{"cassidy", "mcp", "install", "--", client}
	if w.Dir != "" {
		args = slices.Insert(args, 1, "--dir", w.Dir)
	}
	asJSON, dir := w.JSON, w.Dir
	if asJSON {
		args = slices.Insert(args, 1, "--quiet")
	}
	err := w.ctx.App.RunContext(w.ctx.Context, args)
	w.JSON, w.Dir = asJSON, dir // which the flags of that command line have set
	return err
}
