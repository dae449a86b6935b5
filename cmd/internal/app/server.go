package app

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	serverFlag     = "server"
	serverVariable = "CASSIDY_SERVER"
)

// OverServer lets a command talk to a server if there is one: then it does over instead of its own action. Of its own
// flags, over takes those with these names.
func (a *App) OverServer(c *cli.Command, over cli.ActionFunc, flags ...string) *cli.Command {
	local := c.Action
	a.offered[c] = true
	c.Action = func(ctx *cli.Context) error {
		if a.Server == "" {
			return local(ctx)
		}
		for _, name := range ctx.LocalFlagNames() {
			if !slices.Contains(flags, name) {
				return value.Errorf(value.Invalid, "--%s does not work over a server", name).WithHint("omit --%s; or for this machine: %s", name, thisMachine(ctx.Command.HelpName))
			}
		}
		return over(ctx)
	}
	return c
}

// chooseServer sets the server of a command with a path. It fails if the command works only on this machine, unless it
// is one that nobody expects to be about a server which the environment names.
func (a *App) chooseServer(ctx *cli.Context, c *cli.Command, path string) error {
	named := slices.ContainsFunc(ctx.Lineage()[1:], func(above *cli.Context) bool { return slices.Contains(above.LocalFlagNames(), serverFlag) })
	if url, set := a.Env(serverVariable); set && !named {
		a.Server = url
	}
	_, word, _ := strings.Cut(path, " ")
	word, _, _ = strings.Cut(word, " ")
	own := []string{"config", "secret", "serve", "worker", "completion", "man", "version", "doctor", "lsp", "mcp", "setup", "demo"}
	if a.Server == "" || a.offered[c] || !named && (c.Hidden || slices.Contains(own, word)) {
		return nil
	}
	return value.Errorf(value.Invalid, "%s works on this machine only, not over the server %s", path, value.Clean(a.Server, 120)).WithHint("%s", thisMachine(path))
}

// thisMachine is what to type for a command that works on this machine, whatever server the environment names.
func thisMachine(path string) string {
	return strings.Replace(path, "cassidy", "cassidy --"+serverFlag+"=", 1)
}
