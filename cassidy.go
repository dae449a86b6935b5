// Package cassidy opens a host with the usual parts, for programs that embed
// it.
//
//	host, err := cassidy.Open(".", nil)
//	…
//	defer host.Close()
//	result, err := host.Call(ctx, tool.Call{
//		Tool: "word_count",
//		Args: tool.NewDict("filepath", "README.md"),
//	})
//
// [Open] finds the tools of a folder: files that end in .star, .lua or .md in
// its .cassidy/tools. Beside them stand the built-in tools and those that the
// program registers itself with [runtime.Host.Register]. See package
// [runtime] for what a host does with a call, and package tool for the words.
package cassidy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/project"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
	"github.com/cassidy-run/cassidy/tools"
)

// Options are what a program may choose. The zero value offers the built-in
// tools and those of the folder, and nothing of the user's: no personal tools,
// no environment, no cache.
type Options struct {
	// Home is the user's folder, with tools/, skills/ and config.yaml. ""
	// means none.
	Home string
	// Ceiling says how far above dir to look for the project that it belongs to:
	// up to this folder, which is none itself, as the one in which the user
	// lives. "" means that dir itself is the project.
	Ceiling string
	// Config is a file to read in place of the config.yaml in Home.
	Config string
	// Cache is a folder in which to remember what tools' files declare, so
	// that the next Open reads only those that changed. "" means none.
	Cache string
	// Env looks up an environment variable for scripts that declare that they
	// need it. Nil means that none is set.
	Env func(name string) (string, bool)
	// Modules are further effects for scripts; see [runtime.Options].Modules.
	Modules []tool.Module
	// Timeout is the wall time of a call; 0 means 30 seconds.
	Timeout time.Duration
	// Approve decides on calls of risky tools that no person made. Nil denies
	// them; see [runtime.ApproveAll].
	Approve runtime.Approve
	// NoBuiltins leaves out the built-in tools.
	NoBuiltins bool
}

// Open opens a host over a folder. The project is dir itself, or with
// Options.Ceiling the nearest folder at or above it that holds .cassidy; a script
// can reach files below it, and relative paths begin at dir. A tool's file that is not right
// is no error of Open: see [runtime.Host.Broken]. Options may be nil.
//
// Close the host when done.
func Open(dir string, o *Options) (*runtime.Host, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "open %s: %w", dir, err)
	}
	root, inProject := project.Find(dir, opts.Home, opts.Ceiling)
	if !inProject {
		root = dir
	}
	world, err := stdlib.Open(&stdlib.Options{Root: root, WorkDir: dir, Env: opts.Env})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Errorf(tool.Invalid, "there is no folder %s", dir)
	}
	if err != nil {
		return nil, err
	}
	if err := noneOfOurs(opts.Modules); err != nil {
		return nil, errors.Join(err, world.Close())
	}
	effects := append(world.Modules(), project.Modules(root, opts.Home)...)
	effects = append(effects, opts.Modules...)
	box := sandbox.NewInline(append(stdlib.Pure(), effects...)...)
	find := &project.Options{
		Describe: box.Describe, Reader: readerID(), Builtin: tools.FS(),
		Home: opts.Home, Config: opts.Config, Cache: opts.Cache,
	}
	if opts.NoBuiltins {
		find.Builtin = nil
	}
	host, err := runtime.New(&runtime.Options{
		Sandbox: box, Modules: effects, WorkDir: dir, Timeout: opts.Timeout, Approve: opts.Approve,
		Presets: tools.Presets(),
		Discover: func(ctx context.Context) ([]tool.Found, []*tool.Error, error) {
			if !inProject {
				return discover(ctx, "", find)
			}
			return discover(ctx, root, find)
		},
		Close: world.Close,
	})
	if err != nil {
		return nil, errors.Join(err, world.Close())
	}
	return host, nil
}

// noneOfOurs refuses a lent function that has the name of a pure one of ours:
// the host, which does not know those, could not.
func noneOfOurs(lent []tool.Module) error {
	ours := map[string]bool{}
	for _, m := range stdlib.Pure() {
		for _, f := range m.Funcs {
			ours[m.Name+"."+f.Name] = true
		}
	}
	for _, m := range lent {
		for _, f := range m.Funcs {
			if name := m.Name + "." + f.Name; ours[name] {
				return tool.Errorf(tool.Invalid, "Options.Modules has %s, which scripts have already", name)
			}
		}
	}
	return nil
}

// readerID names the build of the program: another one may read the same file
// as another tool.
func readerID() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(exe)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

func discover(ctx context.Context, root string, o *project.Options) ([]tool.Found, []*tool.Error, error) {
	p, err := project.Load(ctx, root, o)
	if err != nil {
		return nil, nil, err
	}
	return p.Tools, p.Broken, nil
}
