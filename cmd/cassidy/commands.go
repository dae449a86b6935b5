package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/chat"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/completion"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/demo"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/doctor"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/eval"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/lsp"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/mcp"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/repl"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/runs"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/scaffold"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/secret"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/serve"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/setup"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/test"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/tool"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/trust"
)

// commands returns all commands, in the order of the help.
func commands() []func(*app.App) *cli.Command {
	return []func(*app.App) *cli.Command{
		demo.Command, setup.Command, scaffold.Command, agents.TaskCommand, chat.Command, runs.RunCommand, tool.Command, check.Command, check.Format, test.Command, repl.Command, skill.Command,
		agents.AgentsCommand, trust.Command, trust.LockCommand, lsp.Command, mcp.Command,
		runs.Command, serve.Command, serve.WorkerCommand, eval.DecisionCommand, eval.Command, eval.FormatTest, agents.ModelsCommand, config.Command, secret.Command, completion.Command, completion.Man, completion.Words, doctor.Command, versionCommand,
	}
}

// Main runs the command and returns its exit code.
func Main(ctx context.Context, args []string, w *app.World) int {
	return app.Run(ctx, args, w, commands()...)
}
