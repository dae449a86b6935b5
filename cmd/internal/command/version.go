package command

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func versionCommand(a *app.App) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Action: func(*cli.Context) error {
			if a.JSON {
				return a.PrintJSON(value.NewDict("version", app.Version()))
			}
			a.Print("cassidy " + app.Version() + "\n")
			return nil
		},
	}
}
