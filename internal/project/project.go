// Package project reads what a folder holds: tools, skills, context, config,
// and what of it its user trusts.
//
// [Find] finds the folder that a project begins at. [Load] reads the tools of
// a project, of a user and of cassidy itself, and reports each file that is
// not right beside those that are. What a file declares is read by parsing,
// by a function that the caller provides, and remembered in an index, so that
// the next load reads only the files that changed.
//
// A project may be untrusted. What of it can run, or is obeyed by a model,
// counts only when its user has reviewed it: [Review] shows it to them,
// and a [trust.Store] remembers it.
package project

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Find returns the root of the project that a directory belongs to: the
// nearest one at or above it that holds a .cassidy folder. The user's own, given
// as home, makes no project of the folder it lies in. The search goes up and ends
// below the ceiling, the folder in which a user lives: work below it does not
// reach all of it. With "" the search does not go up at all.
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
type Describer func(context.Context, tool.Script) (tool.Tool, error)

// Options say where to look and how to read. The zero value finds nothing.
type Options struct {
	// Scope says which files belong to the project and its user, and what is trusted.
	trust.Scope
	// Describe reads what a tool's file declares.
	Describe Describer
	// DescribeAll reads what several files declare, a tool or an error of each, as
	// Describe would one after the other. It is called concurrently. Nil: Describe
	// does.
	DescribeAll func(context.Context, []tool.Script) ([]tool.Tool, []error)
	// Background runs what nobody need wait for before the process ends, such as
	// writing an index. Nil runs it in place.
	Background func(func())
	// DescribeBuiltin reads cassidy's own files; nil: Describe does.
	DescribeBuiltin Describer
	// Reader names who Describe is: what another one noted is not believed.
	Reader string
	// Builtin holds cassidy's own tools; nil means none.
	Builtin fs.FS
	// Known is what an earlier [Load] has read; nil is nothing.
	Known *index.Known
	// Config is a file to read in place of the config.yaml in Home.
	Config string
	// Cache is a folder for the index; "" means that none is kept.
	Cache string
}

// later runs what nobody need wait for.
func (o *Options) later(task func()) {
	if o.Background == nil {
		task()
		return
	}
	o.Background(task)
}

// A Project is what [Load] found.
type Project struct {
	Root   string // "" where there is no project
	Config config.Config
	Tools  []tool.Found
	Broken []*value.Error // files that are not right, by file
	Known  *index.Known   // for the next Load
}

// Load reads the tools of cassidy, of the project at root, and of the user, in
// that order. An empty root means no project. A project's tool that the user does
// not trust is found like any other, with the state Untrusted and the reason. A file that is not right is
// reported in Broken and hides no other, and so is a folder that cannot be
// read. The error is for a broken config.
func Load(ctx context.Context, root string, o *Options) (*Project, error) {
	p := &Project{Root: root, Known: &index.Known{}}
	var err error
	if p.Config, err = config.Read(root, &config.Options{Home: o.Home, File: o.Config}); err != nil {
		return nil, err
	}
	var found []tool.Found
	ledger := o.Ledger(root)
	for _, place := range places(root, o) {
		place.ledger = ledger
		var broken []*value.Error
		var err error
		found, broken, err = place.load(ctx, o, p.Known, found)
		if ctx.Err() != nil {
			return nil, value.AsError(ctx.Err(), value.Canceled)
		}
		if err != nil { // the other places have their tools all the same
			e := *value.ErrorOf(err, value.Invalid)
			var path *fs.PathError
			if errors.As(err, &path) {
				e.Err = fmt.Errorf("the folder cannot be read: %w", path.Err)
			}
			e.Pos = value.Position{File: place.shown}
			broken = append(broken, &e)
		}
		p.Broken = append(p.Broken, broken...)
	}
	p.Tools = p.withoutConflicts(found)
	slices.SortStableFunc(p.Broken, func(a, b *value.Error) int { return strings.Compare(a.Pos.File, b.Pos.File) })
	return p, nil
}

// A place is a folder in which tools lie.
type place struct {
	location tool.Location
	dir      string        // of the tools, on disk; "" where there are files
	shown    string        // how messages name the folder; "" names none
	files    fs.FS         // that are in no folder; else nil
	ledger   *trust.Ledger // what is trusted of a project
}

// byContent reports whether files are known by their content alone, having no
// times that tell whether they have changed.
func (p place) byContent() bool { return p.files != nil && p.location != tool.Builtin }

// key names a place among those of a project.
func (p place) key() string {
	if p.location == tool.Project && p.files != nil {
		return "files"
	}
	return string(p.location) + " " + p.dir
}

func places(root string, o *Options) []place {
	var list []place
	if o.Builtin != nil {
		list = append(list, place{location: tool.Builtin, shown: "builtin", files: o.Builtin})
	}
	switch {
	case o.Files != nil:
		list = append(list, place{location: tool.Project, files: o.Files})
	case root != "":
		list = append(list, place{location: tool.Project, dir: filepath.Join(root, folder.Name, "tools"), shown: folder.Name + "/tools"})
	}
	if o.Home != "" {
		dir := filepath.Join(o.Home, "tools")
		list = append(list, place{location: tool.Personal, dir: dir, shown: filepath.ToSlash(dir)})
	}
	return list
}

// load appends the tools of the place to found.
func (p place) load(ctx context.Context, o *Options, known *index.Known, found []tool.Found) ([]tool.Found, []*value.Error, error) {
	files, err := p.open()
	if err != nil {
		return found, nil, err
	}
	if closer, ok := files.(io.Closer); ok {
		defer closer.Close()
	}
	f := &toolFolder{place: p, files: files, opts: o}
	return f.load(ctx, known, found)
}

// withoutConflicts leaves out the tools whose name another one has: a custom
// tool never stands for a built-in one, and of two custom ones neither is
// right, unless the user's config lets the project's win.
func (p *Project) withoutConflicts(found []tool.Found) []tool.Found {
	first := make(map[string]int, len(found))
	var twice map[string][]int
	for i := range found {
		key := tool.Key(found[i].Head.Name)
		if at, taken := first[key]; !taken {
			first[key] = i
		} else {
			if twice == nil {
				twice = map[string][]int{}
			}
			if twice[key] == nil {
				twice[key] = []int{at}
			}
			twice[key] = append(twice[key], i)
		}
	}
	if twice == nil {
		return found
	}
	drop := map[int]bool{}
	for _, same := range twice {
		for i, why := range p.conflict(found, same) {
			drop[i] = true
			if why != nil {
				p.Broken = append(p.Broken, why)
			}
		}
	}
	kept := found[:0]
	for i, f := range found {
		if !drop[i] {
			kept = append(kept, f)
		}
	}
	return kept
}

// conflict says which of the tools of one name to leave out, and why.
func (p *Project) conflict(found []tool.Found, same []int) map[int]*value.Error {
	lost := map[int]*value.Error{}
	count := map[tool.Location]int{}
	for _, i := range same {
		count[found[i].Head.Location]++
	}
	strangers := count[tool.Personal] > 0 // where a stranger's tool must not take the user's away
	for _, i := range same {
		if strangers && found[i].Head.State == tool.Untrusted {
			count[tool.Project]--
		}
	}
	for _, i := range same {
		t := &found[i].Head
		switch {
		case t.Location == tool.Builtin:
			continue
		case count[tool.Builtin] > 0:
			lost[i] = value.Errorf(value.Invalid, "the built-in tool '%s' has this name", t.Name).WithHint("Rename your custom tool")
		case strangers && t.State == tool.Untrusted:
			lost[i] = value.Errorf(value.Invalid, "a personal tool has the name '%s', and nobody has reviewed this one", t.Name).
				WithHint("rename one of them, and run cassidy trust")
		case count[tool.Project] == 0 && count[tool.Personal] == 1:
			continue
		case p.Config.ProjectOverridesPersonal && count[tool.Project] == 1 && t.Location == tool.Project:
			continue
		case p.Config.ProjectOverridesPersonal && count[tool.Project] == 1 && count[tool.Personal] == 1:
			lost[i] = nil // it is overridden, as its user wants
		default:
			lost[i] = value.Errorf(value.Invalid, "two tools have the name '%s': %s", t.Name, otherPaths(found, same, i)).
				WithHint("Each custom tool must have a unique name; - and _ are the same%s", remedy(count))
		}
		if lost[i] != nil {
			lost[i].Pos = value.Position{File: t.Path, Line: 1}
		}
	}
	return lost
}

func remedy(count map[tool.Location]int) string {
	if count[tool.Project] == 1 && count[tool.Personal] == 1 {
		return ". Rename one, or set project_overrides_personal: true in your own config.yaml"
	}
	return ". Rename one"
}

func otherPaths(found []tool.Found, same []int, self int) string {
	var paths []string
	for _, i := range same {
		if i != self {
			paths = append(paths, found[i].Head.Path)
		}
	}
	return "also " + strings.Join(paths, ", ")
}
