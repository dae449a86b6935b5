package serve

import (
	"crypto/rand"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/serve"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// userCommand returns cassidy serve user.
func userCommand(a *app.App) *cli.Command {
	role := &cli.StringFlag{Name: "role", Value: "run", Usage: "give the user the `ROLE` view, run, approve or admin, each with the rights of those before it"}
	return &cli.Command{
		Name: "user", Usage: "list, add and remove those who may use the server",
		Subcommands: []*cli.Command{{
			Name: "list", Usage: "list the users of the server",
			Action: func(*cli.Context) error { return listUsers(a) },
		}, {
			Name: "add", Usage: "add a user, and print the token with which the user signs in", ArgsUsage: "NAME",
			Description: "The token is shown once: your config has only its hash. To replace the token or the role of a user, add the user again.",
			Flags:       []cli.Flag{role},
			Action:      func(ctx *cli.Context) error { return addUser(a, ctx.Args().First(), ctx.String("role")) },
		}, {
			Name: "remove", Usage: "remove a user, who is signed out", ArgsUsage: "NAME",
			Action: func(ctx *cli.Context) error { return removeUser(a, ctx.Args().First()) },
		}},
	}
}

func listUsers(a *app.App) error {
	conf, err := a.ReadConfig("")
	if err != nil {
		return err
	}
	users := conf.Server.Users
	if a.JSON {
		return a.PrintJSON(value.NewDict("users", value.List(value.Map(users, func(u config.ServerUser) value.Value { return value.NewDict("name", u.Name, "role", u.Role) }))))
	}
	if len(users) == 0 {
		a.Print("No users found\n")
		a.Note("to add one: cassidy serve user add NAME --role run")
		return nil
	}
	t := &draw.Table{Columns: []draw.Column{{Name: "USER"}, {Name: "ROLE"}}, AllRows: true}
	for _, u := range users {
		t.Rows, t.Marks = append(t.Rows, []string{ui.VisibleLine(u.Name), u.Role}), append(t.Marks, draw.None)
	}
	a.PrintTable(t)
	return nil
}

// userField returns the path of a user in the config.
func userField(a *app.App, name, command string) ([]string, error) {
	switch {
	case name == "":
		return nil, value.Errorf(value.Invalid, "NAME is missing").WithHint("cassidy serve user %s NAME", command)
	case a.ConfigFile() == "":
		return nil, value.Errorf(value.Invalid, "there is no config: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	}
	return []string{"server", "users", name}, nil
}

func addUser(a *app.App, name, role string) error {
	path, err := userField(a, name, "add")
	if err == nil {
		_, err = serve.RoleNamed(role)
	}
	if err != nil {
		return err
	}
	token := rand.Text()
	change, err := config.SetField(a.ConfigFile(), path, value.NewDict("role", role, "token", config.TokenPrefix+serve.HashToken(token)))
	if err == nil {
		err = change.Write()
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(value.NewDict("name", name, "role", role, "token", token))
	}
	a.Print(token + "\n")
	a.Note("this is the token of %s (%s), which is shown once; to use it: sign in on the page, or export CASSIDY_TOKEN=…", name, role)
	return nil
}

func removeUser(a *app.App, name string) error {
	path, err := userField(a, name, "remove")
	if err != nil {
		return err
	}
	conf, err := a.ReadConfig("")
	if err != nil {
		return err
	}
	known := value.Map(conf.Server.Users, func(u config.ServerUser) string { return u.Name })
	if !slices.Contains(known, name) {
		return value.Errorf(value.NotFound, "there is no user %q%s", value.Clean(name, 80), value.DidYouMean(name, known)).WithHint("list the users: cassidy serve user list")
	}
	change, err := config.UnsetField(a.ConfigFile(), path)
	if err == nil {
		err = change.Write()
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(value.NewDict("name", name, "removed", true))
	}
	a.Did("removed %s", name)
	return nil
}
