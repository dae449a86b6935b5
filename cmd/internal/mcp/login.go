package mcp

import (
	"context"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/mcp/oauth"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func loginCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "login", Usage: "sign in to an attached server, in a browser", ArgsUsage: "SERVER",
		Description: "SERVER is the name of an entry with a URL in the project's .cassidy/mcp.json or in your own mcp.json. The command prints an address. Open it in a browser, and sign in. The command waits until you have signed in.\n" +
			"After that, the browser opens an address of this machine, with a port that the command has chosen. If the browser runs on\n" +
			"another machine, choose the port with --port, and forward this port from the other machine to this one.\n" +
			"The tokens are stored in ~/.cassidy or $CASSIDY_HOME. Only you can read them. Tokens that expire are renewed automatically.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "open", Usage: "open the address in your browser"},
			&cli.IntFlag{Name: "port", Usage: "after the sign-in, have the browser open the port `N` of this machine", DefaultText: "any free one"},
			&cli.StringFlag{Name: "client-id", Usage: "sign in with the client `ID` that you have registered at the server; needed if programs cannot register themselves"},
			&cli.StringFlag{Name: "client-secret-env", Usage: "with --client-id: read the secret of the client from the environment variable `NAME`"},
			&cli.StringFlag{Name: "client-metadata", Usage: "sign in as the client that the document at `URL` describes; not every server supports this"},
		},
		Action: c.login,
	}
}

func (c *command) login(ctx *cli.Context) error {
	if isURL(ctx.Args().First()) {
		return value.Errorf(value.Invalid, "sign in: expected the name of a server but got a URL").
			WithHint("add the server: cassidy mcp add NAME %s; then sign in: cassidy mcp login NAME", value.Clean(ctx.Args().First(), 200))
	}
	s, dir, err := c.remote(ctx.Args().First())
	if err != nil {
		return err
	}
	o := oauth.Options{
		Name: s.Name, Server: s.URL, Dir: dir, Port: ctx.Int("port"), ClientID: ctx.String("client-id"), ClientMetadata: ctx.String("client-metadata"),
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
	c.Did("signed in at %s", s.Name)
	return nil
}

// remote returns a trusted server with a URL, whose variables have their values, and the folder of
// the tokens. For a URL, it returns a server with only that.
func (c *command) remote(name string) (s *mcpfile.Server, tokens string, err error) {
	root, err := c.Root()
	if err != nil {
		return nil, "", err
	}
	o := c.Servers(root)
	if o.Tokens == "" {
		return nil, "", value.Errorf(value.Invalid, "open the folder of the tokens: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	}
	if isURL(name) {
		return &mcpfile.Server{URL: name}, o.Tokens, nil
	}
	e, err := o.Find(name)
	if err != nil {
		return nil, "", err
	}
	if e.URL == "" {
		return nil, "", value.Errorf(value.Invalid, "the server %s is a program: only servers with a URL have a sign-in", name).
			WithHint("to pass a secret: cassidy mcp add %s --replace --env VARIABLE -- COMMAND", name)
	}
	expanded, err := e.Expand(c.Env)
	return &expanded, o.Tokens, err
}

// showAddress shows where the user signs in. The address is shown with --quiet and --json too.
func (c *command) showAddress(address string, open bool) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	c.Log("sign in at %s with this address:", u.Host)
	c.LogWhole(ui.VisibleLine(address))
	if open {
		return c.OpenBrowser(address)
	}
	return nil
}

func logoutCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "logout", Usage: "delete the tokens of an attached server", ArgsUsage: "SERVER|URL",
		Description: "SERVER is the name of an entry with a URL in the project's .cassidy/mcp.json or in your own mcp.json. If the entry no longer exists, pass its URL.\n" +
			"The tokens are deleted only on this machine. To revoke them at the server, use the web page of the server.",
		Action: c.logout,
	}
}

func (c *command) logout(ctx *cli.Context) error {
	name := ctx.Args().First()
	s, dir, err := c.remote(name)
	if err != nil {
		return err
	}
	had, err := oauth.Logout(dir, s.URL)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return c.PrintJSON(value.NewDict("server", name, "url", s.URL, "signed_out", had))
	case had:
		c.Did("deleted the tokens of %s", name)
	default:
		c.Note("there are no tokens of %s", name)
	}
	return nil
}
