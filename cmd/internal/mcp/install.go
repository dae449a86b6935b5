package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// serverName is the name of the server in the settings of clients.
const serverName = "cassidy"

// isValidName reports whether all clients accept the name of a server, as a key of TOML too.
func isValidName(name string) bool {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return name != "" && len(name) <= 64 && strings.Trim(name, characters) == ""
}

func installCommand(c *command) *cli.Command {
	var names []string
	for _, client := range c.clients() {
		names = append(names, client.name)
	}
	return &cli.Command{
		Name: "install", Usage: "add cassidy as a server to the settings of an MCP client", ArgsUsage: "[CLIENT]",
		Description: "CLIENT is one of: " + strings.Join(names, ", ") + ".\n" +
			"The command adds the server \"cassidy mcp serve\" to the settings that the client has for this project. If the client has no settings for\n" +
			"projects, the command uses your own settings of the client. Other settings are not changed.\n" +
			"To print the entry without changing a file: --print",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "print", Usage: "print what to add and where, and change nothing"},
			&cli.BoolFlag{Name: "user", Usage: "add cassidy to your own settings of the client, for all projects"},
			&cli.StringFlag{Name: "name", Value: serverName, Usage: "add the server under `NAME`, for example if the settings already have a server \"cassidy\" of another project"},
			&cli.BoolFlag{Name: "code", Usage: "serve three tools, which search, describe and call all others: see cassidy mcp serve --code"},
			&cli.StringSliceFlag{Name: "tools", Usage: "serve the tools in `LIST`: see cassidy mcp serve --tools"},
		},
		Action: c.install,
	}
}

// An installation is the server in the settings of one client.
type installation struct {
	client  mcpClient
	name    string      // of the server
	file    string      // that is changed; "" if only a command of the client can
	shown   string      // its name for people
	project string      // the folder that the file must be in; "" for the user's own file
	entry   *value.Dict // what is started
}

func (c *command) install(ctx *cli.Context) error {
	in, err := c.installation(ctx)
	if err != nil {
		return err
	}
	if in.file == "" {
		return c.printCommand(in, ctx.Bool("print"))
	}
	snippet := in.client.form.snippet(in.name, in.entry)
	if ctx.Bool("print") {
		return c.printSnippet(in, snippet)
	}
	done, changed, err := in.write()
	var unclear unclearError
	if errors.As(err, &unclear) {
		c.Note("%s was not changed, because %s", in.shown, unclear)
		return c.printSnippet(in, snippet)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("client", in.client.name, "file", in.file, "changed", changed))
	}
	switch {
	case !changed:
		c.Did("%s has the server already", in.shown)
	case done.replaces:
		c.Did("replaced the server %s in %s; to keep both, choose another name: --name NAME", in.name, in.shown)
	case done.had:
		c.Did("updated the server %s in %s", in.name, in.shown)
	default:
		c.Did("added the server to %s", in.shown)
	}
	c.printNext(in)
	return nil
}

// printNext prints what to do next. What is to be copied is alone on its line.
func (c *command) printNext(in *installation) {
	if c.Quiet {
		return
	}
	for i, line := range in.client.next(in.name) {
		switch code, copied := strings.CutPrefix(line, "\t"); {
		case copied:
			c.LogWhole(code)
		case i == 0:
			c.Note("next: %s", line)
		default:
			c.Note("%s", line)
		}
	}
}

// printCommand prints the command of the client that adds the server to the user's settings, alone on its line. It is an error
// unless no more was wanted.
func (c *command) printCommand(in *installation, wanted bool) error {
	e := value.Errorf(value.Invalid, "cassidy cannot change your personal settings of %s", in.client.title)
	line := in.client.byUser(in.name, in.entry)
	switch {
	case c.JSON && wanted:
		return c.PrintJSON(value.NewDict("client", in.client.name, "command", line))
	case c.JSON:
		return e.WithHint("type: %s", line)
	case wanted:
		c.Note("to type in a terminal:")
	}
	c.PrintData(line + "\n")
	if wanted {
		return nil
	}
	return e.WithHint("type the command above; or omit --user, to add the server to %s in this project", in.client.project)
}

// printSnippet prints what to add, and where.
func (c *command) printSnippet(in *installation, snippet string) error {
	if c.JSON {
		return c.PrintJSON(value.NewDict("client", in.client.name, "file", in.file, "add", snippet))
	}
	c.Note("to add to %s:", in.shown)
	c.PrintData(snippet)
	return nil
}

// installation reads the arguments.
func (c *command) installation(ctx *cli.Context) (*installation, error) {
	all := c.clients()
	names := make([]string, len(all))
	in := &installation{name: ctx.String("name")}
	for i, client := range all {
		if names[i] = client.name; client.name == ctx.Args().First() {
			in.client = client
		}
	}
	if !ctx.Args().Present() {
		return nil, value.Errorf(value.Invalid, "CLIENT is missing").WithHint("cassidy mcp install CLIENT: the clients are %s", strings.Join(names, ", "))
	}
	if name := ctx.Args().First(); in.client.name == "" {
		return nil, value.Errorf(value.NotFound, "unknown client %q%s", value.Clean(name, 40), value.DidYouMean(name, names)).
			WithHint("the clients are %s; for any other client, follow its documentation; to print the usual entry: cassidy mcp install cursor --print", strings.Join(names, ", "))
	}
	if !isValidName(in.name) {
		return nil, value.Errorf(value.Invalid, "--name %q is not a name: use letters, digits, - and _", value.Clean(in.name, 40))
	}
	program, err := os.Executable()
	if err != nil {
		return nil, value.Errorf(value.Failed, "find the file of this program: %w", err)
	}
	dir, root, err := c.WorkProject()
	if err != nil {
		return nil, err
	}
	if root == "" {
		root = dir
		c.noteNoProject(dir)
	}
	args := []string{"--dir", root, "mcp", "serve"}
	if ctx.Bool("code") {
		args = append(args, "--code")
	}
	if words := app.Words(ctx.StringSlice("tools")); len(words) > 0 {
		args = append(args, "--tools", strings.Join(words, ","))
	}
	var env *value.Dict
	if home, _ := c.Env("CASSIDY_HOME"); home != "" { // clients do not pass it on
		env = value.NewDict("CASSIDY_HOME", home)
	}
	in.entry = in.client.form.entry(program, args, env)
	return in, in.place(root, ctx.Bool("user"), c.Env)
}

// place decides which file is changed.
func (in *installation) place(root string, user bool, env func(string) (string, bool)) error {
	if in.client.project != "" && !user {
		in.shown, in.file, in.project = in.client.project, filepath.Join(root, filepath.FromSlash(in.client.project)), root
		return nil
	}
	if in.client.user == "" {
		return nil
	}
	in.shown = in.client.user
	rest, below := strings.CutPrefix(filepath.ToSlash(in.client.user), "~/")
	if !below {
		in.file = in.client.user
		return nil
	}
	home, _ := env("HOME")
	if home == "" {
		home, _ = env("USERPROFILE")
	}
	if home == "" {
		return value.Errorf(value.Invalid, "your home folder is unknown: HOME is not set").WithHint("set HOME, or print the entry to add: cassidy mcp install %s --print", in.client.name)
	}
	in.file = filepath.Join(home, filepath.FromSlash(rest))
	return nil
}

// maxSettings is the size of the largest file of settings that is changed, in bytes.
const maxSettings = 8 << 20

// write adds the server to the file. changed is false if the file has it already.
func (in *installation) write() (done edit, changed bool, err error) {
	if err := in.check(); err != nil {
		return done, false, err.WithHint("see what to add: cassidy mcp install %s --print", in.client.name)
	}
	before, err := os.ReadFile(in.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, false, value.Errorf(value.Failed, "read %s: %w", in.shown, err)
	}
	if len(before) > maxSettings {
		return done, false, value.Errorf(value.Limit, "%s is larger than %d MB", in.shown, maxSettings>>20).WithHint("to print the entry to add: cassidy mcp install %s --print", in.client.name)
	}
	done, err = in.client.form.edited(string(before), in.name, in.entry)
	var unclear unclearError
	if err != nil && !errors.As(err, &unclear) {
		return done, false, value.Errorf(value.Invalid, "%s was not changed: %w", in.shown, err).
			WithHint("correct the file; or print the entry, to add it yourself: cassidy mcp install %s --print", in.client.name)
	}
	if err != nil || done.text == string(before) {
		return done, false, err
	}
	if err := replaceFile(in.file, []byte(done.text)); err != nil {
		return done, false, value.Errorf(value.Failed, "write %s: %w", in.shown, err).WithHint("to print the entry to add: cassidy mcp install %s --print", in.client.name)
	}
	return done, true, nil
}

// check refuses a file of a project that is elsewhere: the project may have links of an untrusted author.
// It refuses a FIFO, which would be read forever, and other files that are not regular ones, too.
func (in *installation) check() *value.Error {
	if info, err := os.Stat(in.file); err == nil && !info.Mode().IsRegular() {
		return value.Errorf(value.Invalid, "%s is not a regular file", in.shown)
	}
	if in.project != "" && !isBelow(in.file, in.project) {
		return value.Errorf(value.Denied, "%s leads out of the project", in.shown)
	}
	return nil
}

// isBelow reports whether a file, or the nearest folder of it that exists, is really in a folder.
func isBelow(file, folder string) bool {
	root, err := filepath.EvalSymlinks(folder)
	for path := file; err == nil && path != filepath.Dir(path); path = filepath.Dir(path) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			rel, err := filepath.Rel(root, real)
			return err == nil && filepath.IsLocal(rel)
		}
	}
	return false
}

// replaceFile writes a file of settings, whose folder may not exist.
func replaceFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return folder.Replace(file, data, 0o600)
}
