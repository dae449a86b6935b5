// Package secret has the commands that keep the user's secrets: keys of models, and what tools send.
package secret

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// A command is one run of a command of cassidy secret.
type command struct{ *app.App }

// Command returns cassidy secret.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "secret", Usage: "keep secrets for tools and models: set, list, rm",
		Description: "A secret is a value that no script and no model sees, such as a token. A tool that declares secret:NAME@HOST can send it to\n" +
			"this host. A model's key is the secret with the name of its environment variable, such as OPENAI_API_KEY.",
		Subcommands: []*cli.Command{
			{
				Name: "set", Usage: "ask for the value of a secret and keep it", ArgsUsage: "NAME",
				Description: "The value is typed on the terminal, where it is not shown, or read from standard input: it is never an argument, which other\n" +
					"programs can see. It is kept in the keyring of the system if there is one, else in a file that only you can read.\n" +
					"With the URL of a server as NAME, it is your token for --server URL, which only the keyring keeps.",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "file", Usage: "keep it in a file that only you can read, also if there is a keyring"},
					&cli.StringFlag{Name: "env", Usage: "keep no value: it is in the environment variable `VARIABLE`"},
				},
				Action: c.set,
			},
			{Name: "list", Usage: "list the secrets, and where their values are", Action: c.list},
			{Name: "rm", Usage: "delete a secret", ArgsUsage: "NAME", Action: c.remove},
		},
	}
}

// name returns the argument.
func (c *command) name(ctx *cli.Context) (string, error) {
	name := ctx.Args().First()
	switch {
	case name == "":
		return "", value.Errorf(value.Invalid, "NAME is missing").WithHint("cassidy secret %s API_TOKEN", ctx.Command.Name)
	case filepath.Base(name) != name || strings.Trim(name, ".") == "":
		return "", value.Errorf(value.Invalid, "invalid name of a secret: %q", name).WithHint("%s", nameHint)
	}
	return name, nil
}

const nameHint = "use letters, digits and _, as in API_TOKEN"

func (c *command) set(ctx *cli.Context) error {
	if url := ctx.Args().First(); isServer(url) {
		return c.changeToken(ctx.Context, url, true)
	}
	name, err := c.name(ctx)
	if err != nil {
		return err
	}
	if err := secret.CheckName(name); err != nil { // no script could name it
		return value.ErrorOf(err, value.Invalid).WithHint("%s", nameHint)
	}
	if ctx.IsSet("env") && ctx.Bool("file") {
		return value.Errorf(value.Invalid, "--env and --file are mutually exclusive").WithHint("omit one of them")
	}
	k := keeper{App: c.App, name: name, file: ctx.Bool("file"), env: ctx.String("env")}
	if err := k.plan(); err != nil {
		return err
	}
	text := ""
	if !ctx.IsSet("env") {
		if text, err = Ask(ctx.Context, c.App, name, "cassidy secret set "+name); err != nil {
			return err
		}
	}
	if err := k.keep(ctx.Context, text); err != nil {
		return err
	}
	kind, at, words := place(k.from)
	switch {
	case c.JSON:
		err = c.PrintJSON(value.NewDict("name", name, "source", kind, "at", at, "config", k.change.File))
	case ctx.IsSet("env"):
		c.Did("%s is now %s (%s)", name, words, c.SecretState(ctx.Context, k.from))
	default:
		c.Did("%s is kept in %s", name, words)
	}
	k.dropOld(ctx.Context)
	return err
}

// Keep keeps the value of a secret, and returns in words where.
func Keep(ctx context.Context, a *app.App, name, text string) (where string, err error) {
	k := keeper{App: a, name: name}
	if err := k.plan(); err != nil {
		return "", err
	}
	_, _, where = place(k.from)
	if err = k.keep(ctx, text); err == nil {
		k.dropOld(ctx)
	}
	return where, err
}

// A keeper keeps one secret.
type keeper struct {
	*app.App
	name   string
	file   bool   // in a file, also if there is a keyring
	env    string // the variable that has the value, or ""
	from   config.SecretSource
	old    config.SecretSource // where it was before, if nothing else is there
	change *config.Change      // of the config
}

// plan decides where the secret is kept. It fails if the config cannot have it.
func (k *keeper) plan() error {
	file := k.ConfigFile()
	if file == "" {
		return noHome()
	}
	k.from = config.SecretSource{Env: k.env}
	kind, at := "file", "secrets/"+k.name // relative to the config
	switch {
	case k.env != "":
		kind, at = "env", k.env
	case k.Keyring != nil && !k.file:
		kind, at, k.from.Keyring = "keyring", k.name, k.name
	default:
		k.from.File = filepath.Join(filepath.Dir(file), "secrets", k.name)
	}
	have, err := k.ReadConfig("")
	if err != nil {
		return err
	}
	if old := have.Secrets[k.name]; old != k.from && !isUsed(&have, old, k.name) {
		k.old = old
	}
	k.change, err = config.SetField(file, []string{"secrets", k.name}, value.NewDict(kind, at))
	return err
}

// keep stores the value, and then the entry of the config.
func (k *keeper) keep(ctx context.Context, text string) error {
	switch {
	case k.from.Keyring != "":
		_, err := keyring.Within(ctx, func() (any, error) { return nil, k.Keyring.Set(k.from.Keyring, text) })
		if err != nil {
			return value.Errorf(value.Unavailable, "write to the keyring: %w", err).WithHint("unlock the keyring, or use a file: cassidy secret set --file %s", k.name)
		}
	case k.from.File != "":
		err := os.MkdirAll(filepath.Dir(k.from.File), 0o700)
		if err == nil {
			err = folder.Replace(k.from.File, []byte(text+"\n"), 0o600)
		}
		if err != nil {
			return folder.HomeError("write the secret", k.from.File, err)
		}
	}
	err := k.change.Write()
	if have, _ := k.ReadConfig(""); err != nil && have.Secrets[k.name] != k.from { // nobody would find the value again
		_, _ = (&command{k.App}).drop(ctx, k.ConfigFile(), k.from)
	}
	return err
}

// dropOld deletes the value from where it was before, and says so.
func (k *keeper) dropOld(ctx context.Context) {
	if k.old == (config.SecretSource{}) || k.old.Env != "" {
		return
	}
	_, _, words := place(k.old)
	switch dropped, err := (&command{k.App}).drop(ctx, k.ConfigFile(), k.old); {
	case err != nil:
		k.Warn("the old value of %s could not be deleted from %s: %v", k.name, words, ui.FileError(err))
	case dropped:
		k.Did("the old value was deleted from %s", words)
	default:
		k.Note("the old value stays in %s", words)
	}
}

// isUsed reports whether a secret with another name has its value in the same place.
func isUsed(have *config.Config, from config.SecretSource, name string) bool {
	for other, s := range have.Secrets {
		if other != name && s == from {
			return true
		}
	}
	return false
}

func noHome() error {
	return value.Errorf(value.Invalid, "write the config: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
}

// place returns where the value of a secret is: as in the config, and in words.
func place(s config.SecretSource) (kind, at, words string) {
	switch {
	case s.Env != "":
		return "env", s.Env, "the environment variable " + s.Env
	case s.Keyring != "":
		return "keyring", s.Keyring, "the keyring of the system"
	}
	return "file", s.File, "the file " + s.File
}

// Ask reads the value of a secret from the terminal, which does not show it, or from standard input. command is the command
// line that asks, for hints.
func Ask(ctx context.Context, a *app.App, name, command string) (text string, err error) {
	if term := a.OpenTerminal(a.In, false); term != nil {
		text, err = term.ReadHidden(ctx, "value of "+name+" (not shown): ")
		switch {
		case errors.Is(err, ui.ErrInterrupted):
			return "", context.Canceled
		case errors.Is(err, io.EOF):
			err = nil // Ctrl-D: nothing was typed
		}
	} else {
		var data []byte
		data, err = ui.ReadAll(a.In)
		text = string(data)
	}
	if err != nil {
		return "", value.Errorf(value.KindOf(err), "read the value of %s: %w", name, err)
	}
	text = strings.Trim(text, "\r\n")
	switch {
	case text == "":
		return "", value.Errorf(value.Invalid, "the value of %s is empty: nothing was changed", name).WithHint("type the value on a terminal, or write it to standard input: %s < FILE", command)
	case len(text) < secret.MinLength:
		return "", value.Errorf(value.Invalid, "the value of %s is shorter than %d bytes: it could not be hidden in results", name, secret.MinLength).WithHint("use a longer secret")
	case len(text) > config.MaxSecret:
		return "", value.Errorf(value.Invalid, "the value of %s is longer than %d KB", name, config.MaxSecret>>10).WithHint("a secret is a token or a key, not a file")
	}
	return text, nil
}

// drop deletes the value of a secret if cassidy keeps it: a file elsewhere and a variable are the user's own.
func (c *command) drop(ctx context.Context, file string, from config.SecretSource) (dropped bool, err error) {
	switch {
	case from.Keyring != "" && c.Keyring != nil:
		_, err = keyring.Within(ctx, func() (any, error) { return nil, c.Keyring.Remove(from.Keyring) })
		return true, err
	case from.File != "" && filepath.Dir(from.File) == filepath.Join(filepath.Dir(file), "secrets"):
		if err = os.Remove(from.File); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return true, err
	}
	return false, nil
}

func (c *command) remove(ctx *cli.Context) error {
	if url := ctx.Args().First(); isServer(url) {
		return c.changeToken(ctx.Context, url, false)
	}
	name, err := c.name(ctx)
	if err != nil {
		return err
	}
	file := c.ConfigFile()
	if file == "" {
		return noHome()
	}
	have, err := c.ReadConfig("")
	if err != nil {
		return err
	}
	from, ok := have.Secrets[name]
	if !ok {
		return c.removeUnnamed(ctx.Context, &have, file, name)
	}
	change, err := config.UnsetField(file, []string{"secrets", name})
	if err != nil {
		return err
	}
	dropped := false
	if !isUsed(&have, from, name) {
		if dropped, err = c.drop(ctx.Context, file, from); err != nil {
			return undeleted(name, err)
		}
	}
	if err := change.Write(); err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("name", name, "deleted", dropped))
	}
	if _, _, words := place(from); dropped {
		c.Did("%s was deleted from %s", name, words)
	} else {
		c.Note("%s is not known any more; its value stays in %s", name, words)
	}
	return nil
}

func undeleted(name string, err error) error {
	return value.Errorf(value.Failed, "delete the secret %s: %w", name, ui.FileError(err))
}

// removeUnnamed deletes what is kept under a name that the config does not have (any more).
func (c *command) removeUnnamed(ctx context.Context, have *config.Config, file, name string) error {
	var found []config.SecretSource
	unread := ""
	at := config.SecretSource{File: filepath.Join(filepath.Dir(file), "secrets", name)}
	if info, err := os.Lstat(at.File); err == nil && !info.IsDir() && !isUsed(have, at, name) {
		found = append(found, at)
	}
	if at := (config.SecretSource{Keyring: name}); c.Keyring != nil && !isUsed(have, at, name) {
		_, err := keyring.Within(ctx, func() (string, error) { return c.Keyring.Get(name) })
		if err == nil {
			found = append(found, at)
		} else if value.KindOf(err) != value.NotFound {
			unread = ui.Sprintf("; the keyring could not be read: %v", err)
		}
	}
	if len(found) == 0 {
		return value.Errorf(value.NotFound, "there is no secret '%s'%s%s", name, value.DidYouMean(name, slices.Sorted(maps.Keys(have.Secrets))), unread).WithHint("list the secrets: cassidy secret list")
	}
	for _, from := range found {
		if _, err := c.drop(ctx, file, from); err != nil {
			return undeleted(name, err)
		}
		if _, _, words := place(from); !c.JSON {
			c.Did("%s was deleted from %s; the config did not name it", name, words)
		}
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("name", name, "deleted", true))
	}
	return nil
}

func (c *command) list(ctx *cli.Context) error {
	have, err := c.ReadConfig("")
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(have.Secrets))
	rows, list := make([][3]string, 0, len(names)), value.List{}
	width := 0
	for _, name := range names {
		from := have.Secrets[name]
		kind, at, words := place(from)
		state := c.SecretState(ctx.Context, from)
		list = append(list, value.NewDict("name", name, "source", kind, "at", at, "state", state))
		rows, width = append(rows, [3]string{name, state, words}), max(width, len(name))
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("secrets", list))
	}
	if s := c.ScreenOf(c.Out); s.Width > 0 && len(rows) > 0 {
		t := &draw.Table{Columns: []draw.Column{{Name: "secret", Whole: true}, {Name: "state", Whole: true}, {Name: "kept in"}}, AllRows: true}
		for _, row := range rows {
			mark := draw.Failed
			if row[1] == app.SecretIsSet {
				mark = draw.Done
			}
			t.Rows, t.Marks = append(t.Rows, []string{row[0], row[1], ui.VisibleLine(row[2])}), append(t.Marks, mark)
		}
		c.PrintTable(t)
		return nil
	}
	for _, row := range rows {
		c.Print(draw.Pad(row[0], width, false) + "  " + draw.Pad(row[1], len("too short"), false) + "  " + ui.VisibleLine(row[2]) + "\n")
	}
	if len(names) == 0 {
		c.Note("there are no secrets; to add one: cassidy secret set NAME")
	}
	return nil
}
