package mcp

import (
	"context"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/mcp/oauth"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func loginCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "login", Usage: "sign in at an attached server, in a browser", ArgsUsage: "SERVER",
		Description: "SERVER is the name of an entry with a url. The command prints the address where you sign in, and waits until you have done so.\n" +
			"The browser comes back to an address of this machine. If it is on another machine, forward a port to it, and name the port with --port.\n" +
			"The tokens are stored in your own folder, and only you can read them. cassidy refreshes them.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "open", Usage: "open the address in your browser"},
			&cli.IntFlag{Name: "port", Usage: "let the browser come back to the port `N` of this machine", DefaultText: "any free one"},
			&cli.StringFlag{Name: "client-id", Usage: "sign in as the registered client `ID`, for servers where programs cannot register"},
			&cli.StringFlag{Name: "client-secret-env", Usage: "the environment variable `NAME` has the secret of that client"},
			&cli.StringFlag{Name: "client-metadata", Usage: "sign in as the client that the document at `URL` describes, where servers support it"},
		},
		Action: c.login,
	}
}

func (c *command) login(ctx *cli.Context) error {
	s, err := c.remote(ctx.Args().First())
	if err != nil {
		return err
	}
	o := oauth.Options{
		Name: s.Name, Server: s.URL, Dir: oauth.Dir(c.State()), Port: ctx.Int("port"), ClientID: ctx.String("client-id"), ClientMetadata: ctx.String("client-metadata"),
		Show: func(_ context.Context, address string) error { return c.showAddress(address, ctx.Bool("open")) },
	}
	if name := ctx.String("client-secret-env"); name != "" {
		if o.ClientSecret, _ = c.Env(name); o.ClientSecret == "" || o.ClientID == "" {
			return value.Errorf(value.Invalid, "--client-secret-env needs --client-id, and an environment variable that is set").WithHint("export %s=… and add --client-id ID", value.Clean(name, 60))
		}
	}
	if o.Port < 0 || o.Port > 65535 {
		return value.Errorf(value.Invalid, "--port must be a number from 1 to 65535").WithHint("omit --port to use any free port")
	}
	h, err := oauth.New(o)
	if err != nil {
		return err
	}
	if err := h.Login(ctx.Context); err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("server", s.Name, "url", s.URL, "signed_in", true))
	}
	c.Note("signed in at %s", s.Name)
	return nil
}

// remote returns a trusted server with a URL, whose variables have their values.
func (c *command) remote(name string) (*mcpfile.Server, error) {
	if c.State() == "" {
		return nil, value.Errorf(value.Invalid, "no home folder is set for the tokens").WithHint("set CASSIDY_HOME to a folder")
	}
	root, err := c.Root()
	if err != nil {
		return nil, err
	}
	e, err := c.Servers(root).Find(name)
	if err != nil {
		return nil, err
	}
	if e.URL == "" {
		return nil, value.Errorf(value.Invalid, "the server %s is a program, and needs no sign-in", name).WithHint("pass a secret to it with: cassidy mcp add --env NAME")
	}
	s, err := e.Expand(c.Env)
	return &s, err
}

// showAddress shows where the user signs in. The address is shown with --quiet and --json too.
func (c *command) showAddress(address string, open bool) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	c.Log("sign in at %s with this address:", ui.VisibleLine(u.Host))
	c.LogLine(ui.VisibleLine(address))
	if open {
		return c.OpenBrowser(address)
	}
	return nil
}

func logoutCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "logout", Usage: "delete the tokens of an attached server", ArgsUsage: "SERVER|URL",
		Description: "SERVER is the name of an entry with a url. If the entry no longer exists, give its URL.\n" +
			"The server itself is not asked to forget them: most servers have a page for this.",
		Action: c.logout,
	}
}

func (c *command) logout(ctx *cli.Context) error {
	name := ctx.Args().First()
	address := name
	if !isURL(name) {
		s, err := c.remote(name)
		if err != nil {
			return err
		}
		address = s.URL
	}
	had, err := oauth.Logout(oauth.Dir(c.State()), address)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return c.PrintJSON(value.NewDict("server", name, "url", address, "signed_out", had))
	case had:
		c.Note("deleted the tokens of %s", name)
	default:
		c.Note("there are no tokens of %s", name)
	}
	return nil
}
