package tool

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func runCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run a tool", ArgsUsage: "NAME [key=value …]",
		Description: "Write each argument as key=value: the value is converted to the type of the parameter. Or write key:=JSON: the\n" +
			"value is parsed as JSON, and not converted.\n" +
			"Or pass all arguments as a JSON object: --input '{\"key\": 1}', --input @FILE, or --input - for standard input.\n" +
			"Without a terminal, calls that need approval are refused, unless you pass --yes.",
		Flags: append(slices.Concat(approve.Flags(), calls.TraceFlags(), calls.ResultFlags(c.App)),
			&cli.StringFlag{Name: "input", Usage: "pass all arguments as a `JSON` object; @FILE reads the object from FILE, and - from standard input"}),
		Action: func(ctx *cli.Context) error {
			c.Records = c.Home() != ""
			return c.Asking(c.runTool)(ctx)
		},
	}
}

func (c *command) runTool(ctx *cli.Context, h *host.Host) error {
	t, err := c.find(h, ctx.Args().First())
	if err != nil {
		return calls.Failed(c.App, "", err)
	}
	if err := calls.Untrusted(&t); err != nil {
		return calls.Failed(c.App, "", err)
	}
	c.Records = c.Records && changesThings(&t.Tool) // calls that only read are not recorded
	args, err := calls.Arguments(c.App, ctx, &t.Tool)
	if err != nil {
		return calls.Failed(c.App, "", err)
	}
	if ui.IsTerminal(c.Err) {
		c.About = t.Name
	}
	var opts []host.CallOption
	if c.Records {
		opts = append(opts, host.Durable(agent.NewID()))
	}
	_, err = calls.Run(c.App, ctx, h, t.FailedCall(args), func(ctx context.Context, mode trace.Mode) (tool.Result, error) {
		result, err := h.Call(ctx, tool.Call{Tool: t.Name, Args: args, Caller: tool.ByPerson, Trace: mode}, opts...)
		return result, forUser(calls.ExampleHint(err, &t.Tool, "cassidy tool run "), &t)
	})
	return err
}

// forUser leaves out of the hint of an error what only the author of the tool can do, unless that is the user.
func forUser(err error, t *toolset.Info) error {
	e := value.ErrorOf(err, value.Failed)
	if e == nil || t.Location != tool.Builtin {
		return err
	}
	return e.WithHint("%s", hint.For(e.Hint, hint.Users))
}

// changesThings reports whether a tool can do more than read.
func changesThings(t *tool.Tool) bool {
	return slices.ContainsFunc(t.Needs, func(n tool.Capability) bool {
		return n.Acts() || n.Name == "tool" || n.Name == "human" || n.Name == "model"
	})
}

func exampleCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "example", Usage: "run an example of a tool", ArgsUsage: "NAME [NUMBER]",
		Description: "The examples of a tool are numbered from 1. Without NUMBER, the first example is run.\n" +
			"To show the examples: cassidy tool help NAME. The exit code is 1 if the result\n" +
			"differs from the expected one. To run all examples with fakes: cassidy test.",
		Flags: slices.Concat(approve.Flags(), calls.TraceFlags(), calls.ResultFlags(c.App)),
		Action: c.Asking(func(ctx *cli.Context, h *host.Host) error {
			t, err := c.find(h, ctx.Args().First())
			if err != nil {
				return err
			}
			return c.runExample(ctx, h, &t, cmp.Or(ctx.Args().Get(1), "1"))
		}),
	}
}

func (c *command) runExample(ctx *cli.Context, h *host.Host, t *toolset.Info, number string) error {
	if err := calls.Untrusted(t); err != nil {
		return calls.Failed(c.App, "", err)
	}
	if len(t.Examples) == 0 {
		return value.Errorf(value.Failed, "the tool '%s' has no examples", t.Name).WithHint("pass arguments: cassidy tool run %s key=value", t.Name)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(t.Examples) {
		return value.Errorf(value.Invalid, "Example index %s out of range", number).
			WithHint("use a number from 1 to %d", len(t.Examples))
	}
	e := t.Examples[n-1]
	c.Note("%s", t.CallText(e.Args))
	_, err = calls.Run(c.App, ctx, h, t.FailedCall(e.Args), func(ctx context.Context, mode trace.Mode) (tool.Result, error) {
		result, err := h.Call(ctx, tool.Call{Tool: t.Name, Args: e.Args, Caller: tool.ByPerson, Trace: mode})
		if err == nil {
			err = scripttest.ExampleError(&e, result.Value)
		}
		return result, err
	})
	return err
}
