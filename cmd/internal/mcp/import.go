package mcp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func importCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "attach servers from the settings of other programs", ArgsUsage: "[FILE]",
		Description: "Without FILE, these files of the project are read: " + strings.Join(settingsFiles[:], ", ") + ".\n" +
			"The command shows the program or the URL of each entry, and asks you before it attaches the servers. Secrets are not copied.\nInstead of a secret, the new entry uses an environment variable, such as ${NAME}.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "attach all servers that are shown, without a question"},
			&cli.BoolFlag{Name: "user", Usage: "attach the servers for all your projects"},
		},
		Action: c.importServers,
	}
}

func (c *command) importServers(ctx *cli.Context) error {
	f, err := c.serverFile(ctx.Bool("user"))
	if err != nil {
		return err
	}
	found, err := c.foreignServers(f, ctx.Args().First())
	if err != nil {
		return err
	}
	if !c.JSON {
		c.printForeign(found)
	}
	usable := slices.DeleteFunc(slices.Clone(found), func(s foreign) bool { return s.problem != "" })
	switch {
	case len(usable) == 0:
	case ctx.Bool("yes"):
	case !c.JSON && ui.IsTerminal(c.In):
		if usable, err = c.chooseForeign(ctx.Context, usable); err != nil {
			return err
		}
	default:
		if c.JSON {
			if err := c.PrintJSON(value.NewDict("found", foreignList(found))); err != nil {
				return err
			}
		}
		e := value.Errorf(value.Denied, "no server was attached: no terminal is available to ask").WithHint("run cassidy mcp import on a terminal; or review the list above, then add --yes")
		c.Report(e)
		return ui.Reported(e)
	}
	return c.attach(f, found, usable)
}

// foreignServers reads the servers in the settings of other programs. Servers that the file has
// already are among them, with this problem.
func (c *command) foreignServers(f *serverFile, file string) ([]foreign, error) {
	root, err := c.Root()
	if err != nil {
		return nil, err
	}
	var found []foreign
	if file != "" {
		data, err := ui.ReadRegular(file, maxSettings)
		if err != nil {
			return nil, value.Errorf(value.Invalid, "read %s: %w", file, err)
		}
		if found, err = readForeign(string(data), filepath.ToSlash(file)); err != nil {
			return nil, folder.FileError(err, file)
		}
	} else {
		dir, err := os.OpenRoot(root)
		if err != nil {
			return nil, value.Errorf(value.Failed, "open %s: %w", root, folder.Cause(err))
		}
		defer dir.Close()
		for _, name := range settingsFiles {
			text, err := folder.ReadText(dir.FS(), name, maxSettings)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var list []foreign
			if err == nil {
				list, err = readForeign(text, name)
			}
			if err != nil {
				c.Report(folder.FileError(err, name))
			}
			found = append(found, list...)
		}
	}
	text, err := f.read()
	if err != nil {
		return nil, folder.FileError(err, f.shown)
	}
	seen := map[string]string{}
	for i := range found {
		s := &found[i]
		_, err := s.server()
		switch from := seen[s.name]; {
		case s.problem != "":
			continue
		case err != nil:
			s.problem = err.Error()
		case mcpfile.Entry(text, s.name) != nil:
			s.problem = "it is in " + f.shown + " already"
		case from != "":
			s.problem = "a server of this name is in " + from + " too"
		}
		seen[s.name] = s.from
	}
	return found, nil
}

// server returns an entry as our file would have it.
func (s *foreign) server() (*mcpfile.Server, error) {
	text, err := mcpfile.Put("", s.name, s.entry)
	if err != nil {
		return nil, err
	}
	list, _, err := mcpfile.Parse(text)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

func (c *command) printForeign(found []foreign) {
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	for i := range found {
		s := &found[i]
		if server, err := s.server(); err == nil && s.problem == "" {
			writeFacts(&p, server)
		} else {
			indent := ""
			if p.Width > 0 {
				indent = "  "
			}
			p.Line(indent + p.Paint(draw.Bold, ui.VisibleLine(s.name)))
		}
		writeFact(&p, draw.None, "from", ui.VisibleLine(s.from))
		for _, note := range s.notes {
			writeFact(&p, draw.None, "note", ui.VisibleLine(note))
		}
		if s.problem != "" {
			writeFact(&p, draw.Risk, "skipped", ui.VisibleLine(s.problem))
		}
	}
	c.Print(p.String())
}

// chooseForeign asks which servers are attached.
func (c *command) chooseForeign(ctx context.Context, usable []foreign) (chosen []foreign, err error) {
	in := c.Terminal(c.In)
	for _, s := range usable {
		screen := c.ScreenOf(c.Err)
		in.Print(screen.Mark(draw.Asks) + " Attach " + ui.VisibleLine(s.name) + "?  " + screen.Prompt("y yes", "N no"))
		line, err := in.ReadLine(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // the end of the input declines the rest
			in.Print("\n")
			break
		}
		if word := strings.ToLower(strings.TrimSpace(line)); word == "y" || word == "yes" {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// attach adds servers to the file.
func (c *command) attach(f *serverFile, found, chosen []foreign) error {
	if len(chosen) == 0 {
		if c.JSON {
			return c.PrintJSON(value.NewDict("found", foreignList(found)))
		}
		if len(found) == 0 {
			c.Note("no other program has servers here; name a file of settings with: cassidy mcp import FILE")
		} else {
			c.Note("no server was attached")
		}
		return nil
	}
	trusted, err := f.change(func(text string) (string, error) {
		for _, s := range chosen {
			var err error
			if mcpfile.Entry(text, s.name) != nil {
				return "", value.Errorf(value.Invalid, "the server %q already exists", s.name).WithHint("run the command again")
			}
			if text, err = mcpfile.Put(text, s.name, s.entry); err != nil {
				return "", err
			}
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	return c.added(f, ui.Map(chosen, func(s foreign) string { return s.name }), trusted, false)
}

// foreignList returns servers as --json prints them.
func foreignList(found []foreign) value.List {
	list := value.List{}
	for i := range found {
		s := &found[i]
		d := value.NewDict("name", s.name, "from", s.from, "entry", s.entry, "notes", ui.Texts(s.notes))
		if s.problem != "" {
			d.Put("skipped", s.problem)
		}
		list = append(list, d)
	}
	return list
}
