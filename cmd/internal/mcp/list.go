package mcp

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/mcp/oauth"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func listCommand(c *command) *cli.Command {
	return &cli.Command{Name: "list", Usage: "list the attached servers, and the errors in their files", Action: c.list}
}

// list lists the attached servers. It starts none of them.
func (c *command) list(*cli.Context) error {
	root, err := c.Root()
	if err != nil {
		return err
	}
	l := mcpfile.List(root, c.Scope())
	servers, warnings, broken := l.Servers, l.Warnings, l.Broken
	states := c.states(root)
	if c.JSON {
		list := ui.Map(servers, func(f mcpfile.Found) value.Value { return foundDict(&f, states[f.Name]) })
		return c.PrintJSON(value.NewDict("servers", value.List(list), "warnings", ui.Texts(warnings), "errors", describe.ErrorList(broken)))
	}
	c.printServers(servers, states)
	for _, text := range warnings {
		c.Note("%s", text)
	}
	c.ReportAll(broken)
	if len(servers)+len(broken) == 0 {
		c.Note("no server is attached; to attach one: cassidy mcp add --help, or cassidy mcp import")
	}
	for i := range servers {
		if !servers[i].Trusted {
			c.Warn("no tool of an untrusted server is used; to review: cassidy trust %s", mcpfile.Name)
			break
		}
	}
	for i := range servers {
		if f := &servers[i]; f.Trusted && !states[f.Name].reviewed {
			c.Warn("the tools of %s are not used yet; to review: cassidy mcp review %s", f.Name, f.Name)
		} else if changed := states[f.Name].changed; f.Trusted && changed != "" {
			c.Warn("the calls of %s were refused, because its tools have changed: %s; to review: cassidy mcp review %s", f.Name, changed, f.Name)
		}
	}
	return nil
}

// A reviewState is what the user has reviewed of a server.
type reviewState struct {
	reviewed bool
	tools    int    // that were accepted
	changed  string // how the server differed from the review when it was last started, or ""
	signedIn bool
}

// states returns what the user has reviewed of each server.
func (c *command) states(root string) map[string]reviewState {
	o := c.Servers(root)
	entries, _ := o.Entries()
	states := map[string]reviewState{}
	for i := range entries {
		tools, ok := o.Reviewed(&entries[i])
		s, err := entries[i].Expand(c.Env)
		states[entries[i].Name] = reviewState{ok, tools.Len(), o.Changed(&entries[i], tools), err == nil && s.URL != "" && oauth.SignedIn(o.Tokens, s.URL)}
	}
	return states
}

func foundDict(f *mcpfile.Found, state reviewState) *value.Dict {
	d := serverDict(&f.Server)
	d.Put("location", string(f.Location))
	d.Put("path", f.Path)
	d.Put("state", string(stateOf(f)))
	d.Put("reviewed", state.reviewed)
	d.Put("tools", int64(state.tools))
	if state.changed != "" {
		d.Put("changed", state.changed)
	}
	if f.URL != "" {
		d.Put("signed_in", state.signedIn)
	}
	if !f.Trusted {
		d.Put("reason", f.Reason)
	}
	return d
}

func stateOf(f *mcpfile.Found) toolset.State {
	if !f.Trusted {
		return toolset.Untrusted
	}
	return toolset.Ready
}

func (c *command) printServers(servers []mcpfile.Found, states map[string]reviewState) {
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	var entries []draw.Entry
	for i := range servers {
		f := &servers[i]
		marks := []string{kindOf(&f.Server), string(f.Location), string(stateOf(f))}
		if f.Location == tool.Project && !f.Trusted {
			marks[2] += ": " + c.Reason(f.Reason)
		}
		if states[f.Name].signedIn {
			marks = append(marks, "signed in")
		}
		switch state := states[f.Name]; {
		case f.Trusted && state.changed != "":
			marks[2] = "changed since the review"
		case f.Trusted && state.reviewed:
			marks = append(marks, ui.Count(state.tools, "tool"))
		case f.Trusted:
			marks[2] = "unreviewed"
		}
		mark := draw.Asks // for a review
		if f.Trusted && states[f.Name].reviewed && states[f.Name].changed == "" {
			mark = draw.None
		}
		entries = append(entries, draw.Entry{
			Mark: mark, Name: ui.VisibleLine(f.Name), Text: ui.VisibleLine(strings.TrimPrefix(f.Facts()[0].Value, "starts ")), Whole: true,
			Remarks: ui.Map(marks, ui.VisibleLine),
		})
	}
	p.List("", draw.NameWidth(ui.Map(servers, func(f mcpfile.Found) string { return f.Name })), entries)
	c.Print(p.String())
}
