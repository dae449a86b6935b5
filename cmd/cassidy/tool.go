package main

import (
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func toolCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "tool",
		Usage: "list, explain, run, write and check tools",
		Subcommands: []*cli.Command{
			listCommand(c), groupsCommand(c), infoCommand(c), helpCommand(c), schemaCommand(c),
			runCommand(c), exampleCommand(c), newCommand(c), validateCommand(c), overheadCommand(c),
			refreshCommand(c),
		},
		HideHelpCommand: true,
		Action:          func(ctx *cli.Context) error { return noCommand(ctx, "cassidy tool") },
	}
}

// describe returns what --json tells of a tool in a list.
func describe(t *tool.Tool) *value.Dict {
	needs := value.List{}
	for _, n := range t.Needs {
		needs = append(needs, n.String())
	}
	tags := value.List{}
	for _, tag := range t.Tags {
		tags = append(tags, tag)
	}
	d := value.NewDict(
		"name", t.Name,
		"title", t.DisplayTitle(),
		"description", t.Description,
		"group", t.DisplayGroup(),
		"location", string(t.Location),
		"risky", t.NeedsApproval(),
		"hints", hintDict(t.Hints),
		"needs", needs,
		"tags", tags,
		"state", string(t.State),
	)
	if t.Reason != "" {
		d.Put("reason", t.Reason)
	}
	if t.Path != "" {
		d.Put("path", t.Path)
	}
	if t.Version != "" {
		d.Put("version", t.Version)
	}
	if t.Deprecated != nil {
		d.Put("deprecated", value.NewDict("since", t.Deprecated.Since, "replacement", t.Deprecated.Replacement, "message", t.Deprecated.Message))
	}
	if schema, err := t.ArgsSchema(); err == nil {
		d.Put("parameters", schema)
	}
	d.Put("token_overhead", int64(t.EstimateOverhead()))
	return d
}

func hintDict(h tool.Hints) *value.Dict {
	d := value.NewDict("read_only", h.ReadOnly, "idempotent", h.Idempotent, "open_world", h.OpenWorld)
	for _, name := range slices.Sorted(maps.Keys(h.Other)) {
		d.Put(name, h.Other[name])
	}
	return d
}
