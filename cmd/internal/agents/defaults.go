package agents

import (
	"context"
	"flag"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/runtime/host"
)

// Defaults returns the setup of a chat on a host that executes several runs, as if no flags were given but --agent,
// unless the name is "". The tools of [RegisterWithin] must be registered.
func Defaults(ctx context.Context, a *app.App, h *host.Host, name string) (*Setup, error) {
	set := flag.NewFlagSet("chat", flag.ContinueOnError)
	for _, f := range Flags("auto", "chat", "minimal", app.ModelTimeout) {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	if name != "" {
		if err := set.Set("agent", name); err != nil {
			return nil, err
		}
	}
	flags := cli.NewContext(nil, set, nil)
	flags.Context = ctx
	s, err := ReadFlags(a, flags, h, []string{"auto"}, "chat")
	if err == nil {
		s.shared = true
	}
	return s, err
}
