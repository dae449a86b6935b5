// Package lsp has the command that serves editors.
package lsp

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/servers"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/assist"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/lsp"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy lsp.
type command struct{ *app.App }

// Command returns cassidy lsp.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "lsp", Usage: "run the language server for editors: diagnostics, completion and documentation of scripts",
		Description: "The command is a server of the Language Server Protocol on standard input and output. An editor starts it.\n" +
			"docs/editors.md shows how to set up Neovim, VS Code, Zed and Helix.\n" +
			"The server reads scripts and runs none.\n" +
			"With --luacats, the command writes " + luaFile + " with the definitions of all modules and tools, for lua-language-server.\n" +
			"FOLDER is the folder in which " + luaFile + " is written (default: the folder .cassidy of the project).",
		ArgsUsage: "[FOLDER]",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "luacats", Usage: "write the definitions for lua-language-server, and do not serve"}},
		Action:    c.run,
	}
}

// luaFile is the file of definitions.
const luaFile = "cassidy.lua"

func (c *command) run(ctx *cli.Context) error {
	switch dir := ctx.Args().First(); {
	case ctx.Bool("luacats"):
		return c.writeLua(ctx.Context, dir)
	case dir != "":
		return value.Errorf(value.Invalid, "FOLDER is only valid with --luacats").WithHint("to serve the project in a folder: cassidy --dir FOLDER lsp")
	}
	return c.serve(ctx)
}

// writeLua writes the definitions of all modules and tools.
func (c *command) writeLua(ctx context.Context, dir string) error {
	root, err := c.ProjectRoot()
	if err != nil {
		return err
	}
	to := cmp.Or(dir, filepath.Join(root, folder.Name))
	switch info, err := os.Stat(to); {
	case dir == "" && root == "":
		return value.Errorf(value.Invalid, "write %s: there is no project in or above the working folder", luaFile).
			WithHint("name a folder: cassidy lsp --luacats FOLDER; or create a project: cassidy init")
	case err != nil:
		return value.Errorf(value.NotFound, "write %s: %w", luaFile, ui.FileError(err)).WithHint("create the folder, or name another one: cassidy lsp --luacats FOLDER")
	case !info.IsDir():
		return value.Errorf(value.Invalid, "write %s: %s is not a folder", luaFile, to).WithHint("name a folder: cassidy lsp --luacats FOLDER")
	}
	p, err := c.open(ctx, "")
	if err != nil {
		return err
	}
	defer p.Close()
	file := filepath.Join(to, luaFile)
	if err := os.WriteFile(file, []byte(p.World().LuaCATS()), 0o644); err != nil {
		return ui.FileError(err)
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("file", file))
	}
	c.Did("wrote %s", file)
	return nil
}

func (c *command) serve(ctx *cli.Context) error {
	err := lsp.Serve(ctx.Context, c.In, output{c.Out}, &lsp.Options{Version: app.Version(), Open: c.open})
	if err != nil {
		return value.Errorf(value.Failed, "serve the editor: %w", err)
	}
	return nil
}

// An output is the standard output, which is not closed.
type output struct{ io.Writer }

func (output) Close() error { return nil }

// open opens the project of the folder that the editor names, or else of the working folder.
func (c *command) open(_ context.Context, dir string) (*lsp.Project, error) {
	if dir != "" {
		c.Dir = dir
	}
	root, err := c.Root()
	if err != nil {
		return nil, err
	}
	h, done, err := c.Open()
	if err != nil {
		return nil, err
	}
	checker, err := app.NewChecker(h, root)
	if err != nil {
		done()
		return nil, err
	}
	modules, err := app.ScriptModules(root)
	if err != nil {
		done()
		return nil, err
	}
	p := &opened{host: h, servers: c.Attached(), root: root, home: c.Home(), modules: modules}
	return &lsp.Project{World: p.current, Check: checker.File, Format: checker.Format, Refresh: p.refresh, Close: done}, nil
}

// An opened is a project in use.
type opened struct {
	host       *host.Host
	servers    *servers.Attached
	root, home string
	modules    []tool.Module

	refreshing sync.Mutex
	world      atomic.Pointer[assist.World]
}

// current returns what is known besides a script, as it was read last.
func (p *opened) current() *assist.World {
	if w := p.world.Load(); w != nil {
		return w
	}
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	if w := p.world.Load(); w != nil {
		return w
	}
	return p.read()
}

// refresh reads the project again.
func (p *opened) refresh(ctx context.Context) {
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	_ = p.host.Refresh(ctx) // if it fails, the tools are those that were read before
	p.servers.Update()      // an editor does not show what is wrong with them
	p.read()
}

func (p *opened) read() *assist.World {
	w := &assist.World{Modules: p.modules, Libs: map[string]assist.Lib{}}
	for _, t := range host.Operate(p.host).Declared() {
		w.Tools = append(w.Tools, assist.Tool{Tool: t.Tool, Path: p.file(t.Path, t.Location)})
	}
	for _, dir := range []string{filepath.Join(p.home, "tools"), filepath.Join(p.root, ".cassidy", "tools")} {
		libs, err := project.Libraries(dir)
		if err != nil {
			continue // a check reports it
		}
		for name, text := range libs {
			w.Libs[name] = assist.Lib{Path: filepath.Join(dir, filepath.FromSlash(name)), Text: text}
		}
	}
	p.world.Store(w)
	return w
}

// file returns the path of the file of a tool, or "" if it has none.
func (p *opened) file(path string, location tool.Location) string {
	switch {
	case path == "" || location == tool.Builtin || location == tool.Embedded:
		return ""
	case filepath.IsAbs(path):
		return path
	}
	return filepath.Join(p.root, filepath.FromSlash(path))
}
