// Package command is the program cassidy: all of its commands, and how they are executed.
package command

import (
	"context"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/chat"
	"github.com/cassidy-run/cassidy/cmd/internal/check"
	"github.com/cassidy-run/cassidy/cmd/internal/completion"
	"github.com/cassidy-run/cassidy/cmd/internal/config"
	"github.com/cassidy-run/cassidy/cmd/internal/demo"
	"github.com/cassidy-run/cassidy/cmd/internal/doctor"
	"github.com/cassidy-run/cassidy/cmd/internal/eval"
	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/cmd/internal/lsp"
	"github.com/cassidy-run/cassidy/cmd/internal/mcp"
	"github.com/cassidy-run/cassidy/cmd/internal/repl"
	"github.com/cassidy-run/cassidy/cmd/internal/runs"
	"github.com/cassidy-run/cassidy/cmd/internal/scaffold"
	"github.com/cassidy-run/cassidy/cmd/internal/secret"
	"github.com/cassidy-run/cassidy/cmd/internal/serve"
	"github.com/cassidy-run/cassidy/cmd/internal/setup"
	"github.com/cassidy-run/cassidy/cmd/internal/skill"
	"github.com/cassidy-run/cassidy/cmd/internal/test"
	"github.com/cassidy-run/cassidy/cmd/internal/tool"
	"github.com/cassidy-run/cassidy/cmd/internal/trust"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// Commands returns all commands, in the order of the help.
func Commands() []func(*app.App) *cli.Command {
	return []func(*app.App) *cli.Command{
		demo.Command, setup.Command, scaffold.Command, agents.TaskCommand, chat.Command, runs.RunCommand, tool.Command, check.Command, check.Format, test.Command, repl.Command, skill.Command,
		agents.AgentsCommand, trust.Command, trust.LockCommand, lsp.Command, mcp.Command,
		runs.Command, serve.Command, serve.WorkerCommand, eval.DecisionCommand, eval.Command, eval.FormatTest, agents.ModelsCommand, config.Command, secret.Command, completion.Command, completion.Man, completion.Words, doctor.Command, versionCommand,
	}
}

// Execute runs the program with the arguments of the process, and exits. change, which may be nil, changes what the program uses of
// the machine. In a worker it does not return from the beginning: call nothing before it.
func Execute(change func(*app.World)) {
	sandbox.Main(stdlib.Pure()...)
	boundMemory()
	ctx, interrupts := app.CatchInterrupts()
	w := &app.World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.LookupEnv, Interrupts: interrupts, Keyring: keyring.System(os.LookupEnv), Exec: become,
	}
	if change != nil {
		change(w)
	}
	os.Exit(Main(ctx, os.Args[1:], w))
}

// Main runs the command and returns its exit code.
func Main(ctx context.Context, args []string, w *app.World) int {
	return app.Run(ctx, args, w, Commands()...)
}
