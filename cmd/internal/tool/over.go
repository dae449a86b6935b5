package tool

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/remote"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The commands of this file are those that talk to a server.

func (c *command) listOver(ctx *cli.Context, s *remote.Client) error {
	if err := app.CheckWord("location", ctx.String("location"), "all", "custom", "project", "personal", "builtin"); err != nil {
		return err
	}
	listed, err := s.Tools(ctx.Context)
	if err != nil {
		return err
	}
	var tools []toolset.Head
	var list value.List
	for _, v := range listed.Elements("tools") {
		d, _ := v.(*value.Dict)
		t := describe.ReadTool(d)
		h := toolset.Head{Head: t.Tool.Head(), Standing: t.Standing}
		if named := ctx.Args().Slice(); wanted(ctx, &h) && (len(named) == 0 || slices.Contains(named, t.Name) || slices.Contains(named, "@"+t.DisplayGroup())) {
			tools, list = append(tools, h), append(list, d)
		}
	}
	var broken []*value.Error
	for _, v := range listed.Elements("errors") {
		d, _ := v.(*value.Dict)
		e := &value.Error{Kind: value.Invalid, Err: errors.New(d.Text("reason")), Hint: d.Text("suggestion")}
		e.Pos.File, e.Pos.Line, e.Pos.Col = d.Text("file"), int(d.Int("line")), int(d.Int("column"))
		broken = append(broken, e)
	}
	return c.printTools(ctx, tools, list, broken)
}

// aboutOver returns what prints a tool of a server as do prints one of this machine.
func (c *command) aboutOver(do func(*cli.Context, toolset.Info) error) func(*cli.Context, *remote.Client) error {
	return func(ctx *cli.Context, s *remote.Client) error {
		d, err := s.Tool(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		return do(ctx, describe.ReadTool(d))
	}
}

// runOver has the server make a call, follows it until it has ended or waits, and prints its result.
func (c *command) runOver(ctx *cli.Context, s *remote.Client) error {
	d, err := s.Tool(ctx.Context, ctx.Args().First())
	if err != nil {
		return calls.Failed(c.App, "", err)
	}
	t := describe.ReadTool(d)
	if err := calls.Untrusted(&t); err != nil {
		return calls.Failed(c.App, "", err)
	}
	args, err := calls.Arguments(c.App, ctx, &t.Tool)
	if err != nil {
		return calls.Failed(c.App, "", err)
	}
	result, err := s.Call(ctx.Context, t.Name, args, calls.Shower(c.App))
	c.Live.Clear()
	plain := t.Tool // for an example, which is not made of a schema
	plain.Params, _ = t.CallerParams()
	plain.Schema = nil
	return calls.PrintCall(c.App, t.FailedCall(args), result, calls.ExampleHint(err, &plain, "cassidy tool run "))
}
