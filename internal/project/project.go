// Package project reads a project: tools, skills, context, config, and which of them
// its user trusts.
//
// [Find] finds the folder of a project. [Load] reads the tools of a project, of a user
// and of cassidy itself, and reports invalid files. A function of the caller parses
// what a file declares, and an index caches it, so that the next load reads only
// changed files.
//
// A project may be untrusted. Files that can run, or that a model follows, are used
// only after its user has reviewed them: [Review] lists them, and a [trust.Store]
// records the reviews.
package project

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/index"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Find returns the root of the project that contains a directory: the nearest folder at
// or above it with a .cassidy folder. The user's own .cassidy folder, given as home,
// does not count. The search ends below the ceiling, the folder in which a user lives:
// the ceiling is a project only for dir itself. With "" only dir is searched.
func Find(dir, home, ceiling string) (root string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for start := dir; ; {
		if dir != start && folder.Same(dir, ceiling) && filepath.Dir(dir) != dir {
			return "", false
		}
		candidate := filepath.Join(dir, folder.Name)
		if info, err := os.Stat(candidate); err == nil && info.IsDir() && !folder.Same(candidate, home) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir || ceiling == "" {
			return "", false
		}
		dir = parent
	}
}

// A Describer reads what a script declares, a tool or a workflow, without running it.
type Describer func(context.Context, tool.Script) (tool.Described, error)

// Options locate a project's files and readers. The zero value finds nothing.
type Options struct {
	// Scope locates the files of the project and its user, and decides what is trusted.
	trust.Scope
	// Describe reads what a tool's file declares.
	Describe Describer
	// DescribeAll reads what several files declare. It returns a tool or an error for
	// each, as Describe would. It is called concurrently. Nil means that Describe is
	// called for each.
	DescribeAll func(context.Context, []tool.Script) ([]tool.Described, []error)
	// Background runs tasks that only have to end before the process does, such as
	// writing an index. Nil runs them directly.
	Background func(func())
	// DescribeBuiltin reads cassidy's own files. Nil means Describe.
	DescribeBuiltin Describer
	// Reader identifies the Describer: an index of another one is not used.
	Reader string
	// Builtin contains cassidy's own tools; nil means no tools.
	Builtin fs.FS
	// Known is the result of an earlier [Load], or nil.
	Known *index.Known
	// Keep reads the source of each tool now, and not when the tool is first called: so a
	// later [Load] has the last good version of each file, and no call reads a file that is
	// being changed.
	Keep bool
	// Config is a file that replaces the config.yaml in Home.
	Config string
	// Cache is a folder for the index; "" means no index.
	Cache string
}

// later runs a task in the background.
func (o *Options) later(task func()) {
	if o.Background == nil {
		task()
		return
	}
	o.Background(task)
}

// A Tool is a tool that was found. Head is what its author declares, the other fields
// belong to the project.
type Tool struct {
	Head     tool.Head
	Location tool.Location
	Path     string // the file that declares it, as in messages
	Hash     string // of the file and the files that it loads
	trust.Status
	Revoked bool // its user has revoked the trust
	Granted []tool.Capability
	// Declared returns the declared tool. It may be slow, and is called only if more
	// than Head is needed.
	Declared func() (tool.Described, error)
	Load     func() (tool.Script, error) // returns its source; reads it on the first call
}

// A Project is the result of [Load].
type Project struct {
	Root   string // "": no project
	Config config.Config
	Tools  []Tool
	Broken []*value.Error // errors of invalid files, by file
	Known  *index.Known   // for the next Load
}

// Load reads the tools of cassidy, of the project at root, and of the user, in that
// order. An empty root means no project. An untrusted tool of a project is included,
// with the reason. An invalid file or an unreadable folder is
// reported in Broken and does not affect others. The error is for a broken config.
func Load(ctx context.Context, root string, o *Options) (*Project, error) {
	p := &Project{Root: root, Known: &index.Known{}}
	var err error
	if p.Config, err = config.Read(root, &config.Options{Home: o.Home, File: o.Config}); err != nil {
		return nil, err
	}
	var found []Tool
	for _, place := range toolPlaces(root, o) {
		var broken []*value.Error
		var err error
		found, broken, err = (&toolFolder{place: place, opts: o}).load(ctx, p.Known, found)
		if ctx.Err() != nil {
			return nil, value.AsError(ctx.Err(), value.Canceled)
		}
		if err != nil { // tools of other places can be used nevertheless
			e := folder.FileError(err, place.Shown)
			if cause := folder.Cause(err); cause != err {
				e.Err = fmt.Errorf("read folder: %w", cause)
			}
			broken = append(broken, e)
		}
		p.Broken = append(p.Broken, broken...)
	}
	var conflicts []*value.Error
	p.Tools, conflicts = trust.Unique("tool", found, func(t *Tool) trust.Name {
		return trust.Name{Name: t.Head.Name, Path: t.Path, Location: t.Location, Status: t.Status}
	}, p.Config.ProjectOverridesPersonal)
	p.Broken = append(p.Broken, conflicts...)
	slices.SortStableFunc(p.Broken, func(a, b *value.Error) int { return strings.Compare(a.Pos.File, b.Pos.File) })
	return p, nil
}

// toolPlaces returns the folders of tools.
func toolPlaces(root string, o *Options) []trust.Place {
	places := o.Places(root, "tools")
	for i := range places {
		if p := &places[i]; p.Files != nil {
			p.Dir, p.Shown = ".", "" // tools are at the root
		}
	}
	if o.Builtin == nil {
		return places
	}
	return append([]trust.Place{{Location: tool.Builtin, Dir: ".", Shown: "builtin", Files: o.Builtin}}, places...)
}
