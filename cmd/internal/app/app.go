// Package app is what every command starts from: the global flags, the user's folders,
// the host of the working folder, and who is asked. A package of commands has a function
// Command that takes an App. Run runs them.
package app

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/cmd/internal/servers"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A World is what the command uses of the machine. Tests replace it.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) (string, bool)
	// Sandbox is where scripts run if the config does not name a mode.
	Sandbox cassidy.Mode
	// Keyring is that of the system, or nil.
	Keyring *keyring.Keyring
	// Deploy opens an engine on other machines; nil in a program that has none. Exec replaces this program by another one
	// with the same arguments, if that is installed; nil does not.
	Deploy func(Engine) (*Deployment, error)
	Exec   func(program string) error
	// Interrupts lets Ctrl-C end a turn of a session. It may be nil.
	Interrupts *Interrupts
}

// An App is one run of cassidy: the world and the global flags.
type App struct {
	*ui.Printer
	Folders
	In         io.Reader
	Interrupts *Interrupts
	Screen     ui.Screen                                                             // shows events while calls run
	RunEnd     tool.Event                                                            // the end of the run that the command shows
	Made       int                                                                   // the calls of that run, on a terminal
	Failed     int                                                                   // those of them that failed
	Refused    []tool.Event                                                          // what refused calls and answers of the model since the last call that was not refused
	Keyring    *keyring.Keyring                                                      // of the system, or nil
	Person     *approve.Asker                                                        // asks the person at the terminal
	Dir        string                                                                // the value of --dir
	Server     string                                                                // the address of the server that the command talks to, or ""
	Records    bool                                                                  // the runs of the command are recorded
	Jobs       int                                                                   // how many runs the command executes at the same time; 0 means that it is no worker
	Replays    bool                                                                  // the command replays a run: no model is asked
	NoHooks    bool                                                                  // agents run without hooks: the value of --no-hooks
	Model      string                                                                // the model for scripts: the value of --model
	Patience   time.Duration                                                         // the idle timeout of that model; 0 is ModelTimeout
	Watch      func([]*value.Error)                                                  // gets the new errors after each change of files; nil: the host does not follow them
	attached   atomic.Pointer[servers.Attached]                                      // of the host that was opened last
	config     string                                                                // the value of --config
	Admit      func(ctx context.Context, r host.Recorded) (approved bool, err error) // decides on runs that others have begun; nil admits all
	engineFlag string                                                                // the value of --engine
	deploy     func(Engine) (*Deployment, error)
	deployed   *Deployment // that all of the command uses, see Deploy
	exec       func(program string) error
	offered    map[*cli.Command]bool // the commands that can talk to a server
	trustOnce  bool                  // everything in the project is trusted for this command
	reported   *sync.Map             // the paths of files that were reported as trusted for this command
	sandbox    cassidy.Mode          // where scripts run if the config does not name a mode
	approver   host.Approver         // decides on what needs approval; nil denies it
	asker      host.Asker            // answers other questions; nil without a terminal
}

// Run runs the command that the arguments name, one of those that the functions
// return, and returns the exit code.
func Run(ctx context.Context, args []string, w *World, commands ...func(*App) *cli.Command) int {
	a := New(w)
	root := newRoot(a, commands)
	hideFalse(root.Flags)
	a.prepare(root.Commands, root.Name)
	// This must be known even if the flags are wrong.
	a.JSON = slices.Contains(args, "--json")
	args, helpOf, err := reorder(root, args)
	switch {
	case err != nil:
	case helpOf != nil && ui.IsTerminal(a.Out):
		a.printHelp(helpOf)
	default:
		err = root.RunContext(ctx, append([]string{"cassidy"}, args...))
	}
	return a.Exit(ctx, err)
}

// New returns an app without flags.
func New(w *World) *App {
	a := &App{Printer: ui.NewPrinter(w.Out, w.Err, w.Env), Folders: Folders{w.Env}, In: w.In, Interrupts: w.Interrupts, Keyring: w.Keyring, sandbox: w.Sandbox, deploy: w.Deploy, exec: w.Exec, reported: &sync.Map{}, offered: map[*cli.Command]bool{}}
	a.Screen.Live = a.Live
	a.Person = approve.New(a.Printer, w.In, &a.Screen)
	return a
}

// Fork returns an app with the same flags and another world, for a command that may run at
// the same time as others.
func (a *App) Fork(w *World) *App {
	f := New(w)
	f.JSON, f.Quiet, f.Verbose = a.JSON, a.Quiet, a.Verbose
	f.engineFlag, f.deploy, f.exec = a.engineFlag, a.deploy, a.exec
	f.Dir, f.Model, f.Patience, f.config, f.trustOnce, f.reported, f.sandbox = a.Dir, a.Model, a.Patience, a.config, a.trustOnce, a.reported, a.sandbox
	return f
}

// newRoot returns the command line: the global flags and the commands.
func newRoot(a *App, commands []func(*App) *cli.Command) *cli.App {
	begin := ui.Map(firstCommands(), func(c [2]string) string { return c[0] })
	root := &cli.App{
		Name: "cassidy", Usage: "run tools for language models, in a sandbox",
		UsageText: "cassidy [--dir DIR | --server URL] [--engine KIND] [--json] [--quiet|--verbose] [--config FILE] [--trust-once] COMMAND …",
		Description: "A tool is a script in .cassidy/tools that a model can call.\n" +
			"Begin with:  " + strings.Join(begin, "  ·  ") + "  ·  cassidy setup",
		Writer:          a.Out,
		ErrWriter:       a.Err,
		HideVersion:     true,
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Usage: "work in `DIR` instead of the current folder", Destination: &a.Dir},
			&cli.StringFlag{Name: serverFlag, Usage: "talk to the server at `URL`, see cassidy serve", DefaultText: "$" + serverVariable + ", if it is set", Destination: &a.Server},
			&cli.StringFlag{Name: "engine", Usage: "record and execute runs with the engine `KIND`: local or temporal", DefaultText: "engine.kind of your config", Destination: &a.engineFlag},
			&cli.BoolFlag{Name: "json", Usage: "print the result as JSON on standard output", Destination: &a.JSON},
			&cli.BoolFlag{Name: "quiet", Usage: "print results and errors only", Destination: &a.Quiet},
			&cli.BoolFlag{Name: "verbose", Usage: "print more details", Destination: &a.Verbose},
			&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of the user's config.yaml", Destination: &a.config},
			&cli.BoolFlag{Name: "trust-once", Usage: "trust everything in this project for this command only", Destination: &a.trustOnce},
		},
		Action:         a.noCommand,
		OnUsageError:   usageError,
		ExitErrHandler: func(*cli.Context, error) {}, // Run decides on the exit code
	}
	for _, command := range commands {
		root.Commands = append(root.Commands, command(a))
	}
	return root
}
