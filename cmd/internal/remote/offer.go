package remote

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Project is the name of the flag for the project of a server.
const Project = "project"

// Offer lets a command talk to a server, see [app.App.OverServer]. With [Project] among its flags, it gets that flag.
func Offer(a *app.App, c *cli.Command, over func(ctx *cli.Context, s *Client) error, flags ...string) *cli.Command {
	inProject := slices.Contains(flags, Project)
	if inProject {
		c.Flags = append(c.Flags, &cli.StringFlag{Name: Project, Usage: "with --server: in the project `NAME` of the server", Action: func(*cli.Context, string) error {
			if a.Server == "" {
				return value.Errorf(value.Invalid, "--%s needs --server", Project).WithHint("for a project on this machine: --dir DIR")
			}
			return nil
		}})
	}
	return a.OverServer(c, func(ctx *cli.Context) error {
		project := ""
		if inProject {
			project = ctx.String(Project)
		}
		s, err := open(ctx.Context, a, project)
		if err != nil {
			return err
		}
		return over(ctx, s)
	}, flags...)
}
