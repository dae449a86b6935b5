package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A world is what the command is given of the machine, so that a test can run
// it in one of its own.
type world struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) (string, bool)
	// interrupts has Ctrl-C end one turn of a session; nil has it end none.
	interrupts *interrupts
}

// A command is one run of cassidy: the world with what the global flags say.
type command struct {
	*ui.Printer
	in         io.Reader
	interrupts *interrupts
	dir        string
	config     string
	records    bool // the command's runs are recorded
	// trustOnce lets everything of the project through, for this command.
	trustOnce bool
	approver  host.Approver // who decides on what needs approval; nil denies it
	asker     host.Asker    // who answers other questions; nil where nobody is there
	model     string        // that scripts ask, as --model names it, or ""
	patience  time.Duration // how long that one may say nothing, or 0 for as long as in a task
	screen    ui.Screen     // what people are shown while calls run
	console   *ui.Terminal  // of a chat, on which its questions are asked too; nil outside of one
	inputRead bool          // standard input held what was asked for, and nothing else
}

// Main runs the command and returns its exit code.
func Main(ctx context.Context, args []string, w *world) int {
	c := commandIn(w)
	app := newApp(c)
	tellUsage(app.Commands)
	// Whether to answer in JSON must be known even if the flags are wrong.
	c.JSON = slices.Contains(args, "--json")
	args, err := reorder(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{"cassidy"}, args...))
	}
	return c.Exit(ctx, err)
}

// commandIn returns a command that has no flags.
func commandIn(w *world) *command {
	return &command{Printer: ui.NewPrinter(w.out, w.err, w.env), in: w.in, interrupts: w.interrupts}
}

func newApp(c *command) *cli.App {
	return &cli.App{
		Name:      "cassidy",
		Usage:     "run tools for language models, in a sandbox",
		UsageText: "cassidy [--dir DIR] [--json] [--quiet|--verbose] [--config FILE] [--trust-once] COMMAND …",
		Description: "A tool is a script in .cassidy/tools: typed, documented, usable at once.\n" +
			"Begin with:  cassidy init  ·  cassidy tool new NAME  ·  cassidy tool list",
		Writer:          c.Out,
		ErrWriter:       c.Err,
		HideVersion:     true,
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Usage: "work in `DIR` instead of the current folder", Destination: &c.dir},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON value on standard output", Destination: &c.JSON},
			&cli.BoolFlag{Name: "quiet", Usage: "print results and errors only", Destination: &c.Quiet},
			&cli.BoolFlag{Name: "verbose", Usage: "print more of what happens", Destination: &c.Verbose},
			&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of the user's config.yaml", Destination: &c.config},
			&cli.BoolFlag{Name: "trust-once", Usage: "trust what is in this project, for this command only", Destination: &c.trustOnce},
		},
		Commands: []*cli.Command{initCommand(c), taskCommand(c), chatCommand(c), workflowCommand(c), toolCommand(c), skillCommand(c), trustCommand(c),
			runsCommand(c), decisionCommand(c), formatTestCommand(c), doctorCommand(c), versionCommand(c)},
		Action:         func(ctx *cli.Context) error { return noCommand(ctx, "cassidy") },
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return usageError(err) },
		ExitErrHandler: func(*cli.Context, error) {}, // Main decides on the exit code
	}
}

// tellUsage has every command answer wrong flags as the program does.
func tellUsage(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return usageError(err) }
		tellUsage(c.Subcommands)
	}
}

// noCommand answers a command that has only subcommands and was given none, or
// one that there is not.
func noCommand(ctx *cli.Context, path string) error {
	if !ctx.Args().Present() {
		return cli.ShowSubcommandHelp(ctx)
	}
	var names []string
	for _, sub := range ctx.Command.Subcommands {
		names = append(names, sub.Name)
	}
	if len(names) == 0 {
		for _, sub := range ctx.App.Commands {
			names = append(names, sub.Name)
		}
	}
	word := ctx.Args().First()
	return value.Errorf(value.Invalid, "there is no command %q%s", path+" "+word, value.DidYouMean(word, names)).
		WithHint("%s --help lists the commands", path)
}

// usageError is an error in the flags.
func usageError(err error) error {
	text := strings.Replace(err.Error(), "flag provided but not defined: -", "there is no flag --", 1)
	return value.Errorf(value.Invalid, "%s", text).WithHint("--help lists the flags")
}

// exactly returns the arguments of a command that takes a fixed number of
// them, which words name.
func exactly(ctx *cli.Context, words ...string) ([]string, error) {
	args := ctx.Args().Slice()
	usage := ctx.Command.HelpName + " " + strings.Join(words, " ")
	if len(args) < len(words) {
		return nil, value.Errorf(value.Invalid, "%s is missing", words[len(args)]).WithHint("%s", usage)
	}
	if len(args) > len(words) {
		return nil, value.Errorf(value.Invalid, "there is one argument too many: %q", args[len(words)]).WithHint("%s", usage)
	}
	return args, nil
}

// workDir returns the folder to work in.
func (c *command) workDir() (string, error) {
	dir := c.dir
	if dir == "" {
		dir = "."
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", value.Errorf(value.Invalid, "there is no folder %s", dir).WithHint("give --dir the folder of your project")
	}
	return filepath.Abs(dir)
}

// home returns the user's own folder, or "" where there is none.
func (c *command) home() string {
	if home, ok := c.Env("CASSIDY_HOME"); ok && home != "" {
		if abs, err := filepath.Abs(home); err == nil {
			return abs
		}
		return home
	}
	if home := c.userHome(); home != "" {
		return filepath.Join(home, ".cassidy")
	}
	return ""
}

// userHome returns the folder in which the user lives, or "".
func (c *command) userHome() string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := c.Env(name); ok && home != "" {
			return home
		}
	}
	return ""
}

// ceiling is how far up a project is looked for: below the user's home folder,
// or anywhere where there is none.
func (c *command) ceiling() string {
	if home := c.userHome(); home != "" {
		return home
	}
	return string(filepath.Separator)
}

// auditFile is where what was allowed or refused is recorded, or "".
func (c *command) auditFile() string {
	if home := c.home(); home != "" {
		return filepath.Join(home, "state", "audit.jsonl")
	}
	return ""
}

func (c *command) cache() string {
	if home := c.home(); home != "" {
		return filepath.Join(home, "cache")
	}
	return ""
}

// state returns the folder in which what happened is remembered, or "".
func (c *command) state() string {
	if home := c.home(); home != "" {
		return filepath.Join(home, "state")
	}
	return ""
}

// journal returns the folder in which runs are recorded, or "" where this
// command makes none.
func (c *command) journal() string {
	if state := c.state(); c.records && state != "" {
		return filepath.Join(state, "runs")
	}
	return ""
}

// worker returns another build of cassidy to run tools in, or "" for this one:
// for a build that cannot, as one with the race detector.
func (c *command) worker() string {
	program, _ := c.Env("CASSIDY_WORKER")
	return program
}

// lookupEnv returns an environment variable, for scripts.
func (c *command) lookupEnv(_ context.Context, name string) (string, error) {
	if value, set := c.Env(name); set {
		return value, nil
	}
	return "", value.Errorf(value.NotFound, "the environment variable %s is not set", name)
}

func versionCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(ctx *cli.Context) error {
			if _, err := exactly(ctx); err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(value.NewDict("version", version()))
			}
			c.Print("cassidy " + version() + "\n")
			return nil
		},
	}
}

// version is that of the module, where the command was installed as one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
