package project

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/index"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxReviewed is how many files of one kind a review takes: far more than
// anybody reads.
const maxReviewed = 20_000

// maxReviewBytes is how much text a review takes, of all files.
const maxReviewBytes = 64 << 20

// Review reads the files of a project that count only when they are
// trusted, without running any.
func Review(ctx context.Context, root string, o *Options) (*trust.Review, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, value.Errorf(value.Failed, "the project's folder cannot be opened: %w", errors.Unwrap(err))
	}
	defer dir.Close()
	l := o.Ledger(root)
	v := &reviewing{Review: trust.Review{Root: root, Author: l.Author()}, ctx: ctx, root: dir, files: dir.FS(), ledger: l, opts: o}
	if !folder.Same(filepath.Join(root, folder.Name), o.Home) { // where the user's own folder lies, it is no project's
		v.tools()
		v.folder(folder.Name+"/policies", trust.KindPolicy, ".star")
		v.folder(folder.Name+"/workflows", trust.KindWorkflow, ".star")
		v.skills()
		v.file(folder.Name+"/mcp.json", trust.KindServers)
		v.folder(folder.Name+"/rules", trust.KindNotes, ".md")
	}
	for _, name := range noteNames {
		v.file(name, trust.KindNotes)
	}
	if ctx.Err() != nil {
		return nil, value.AsError(ctx.Err(), value.Canceled)
	}
	v.compare()
	return &v.Review, nil
}

// A reviewing is a review while it is made.
type reviewing struct {
	trust.Review
	ctx    context.Context
	root   *os.Root
	files  fs.FS
	ledger *trust.Ledger
	opts   *Options
	bytes  int // of all texts so far
}

func (v *reviewing) broken(name string, err error) {
	var inner *fs.PathError
	e := *value.ErrorOf(err, value.Invalid)
	if errors.As(err, &inner) {
		e.Err = inner.Err
	}
	e.Pos.File = name
	v.Broken = append(v.Broken, &e)
}

// tools takes the tools and what they load.
func (v *reviewing) tools() {
	f := &toolFolder{
		place: place{location: tool.Project, shown: folder.ToolsDir}, files: folder.ToolsIn(v.root), opts: v.opts, old: &index.Index{},
	}
	entries, more, err := folder.ReadDir(v.files, folder.ToolsDir, maxReviewed)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = f.readLibs()
	}
	if err != nil {
		v.broken(folder.ToolsDir, err)
		return
	}
	if more {
		v.broken(folder.ToolsDir, value.Errorf(value.Limit, "more than %d files: the rest is not reviewed", maxReviewed))
	}
	f.texts = sync.OnceValue(f.libTexts)
	var tools []trust.File
	loaded := map[string]bool{}
	for _, e := range f.toolFiles(entries) {
		if v.ctx.Err() != nil {
			return
		}
		x, ok := v.tool(f, e)
		if !ok {
			continue
		}
		for _, lib := range x.Tool.Loads {
			loaded[lib] = true
		}
		tools = append(tools, x)
	}
	for name, stamp := range f.libs {
		if loaded[name] { // what nothing loads does nothing
			name = folder.ToolsDir + "/" + name
			v.add(trust.File{Path: name, Kind: trust.KindLib, Text: f.texts()[strings.TrimPrefix(name, folder.ToolsDir+"/")], TextHash: stamp.Hash, Hash: stamp.Hash})
		}
	}
	slices.SortFunc(v.Files, func(a, b trust.File) int { return strings.Compare(a.Path, b.Path) })
	v.Files = append(v.Files, tools...)
}

// tool takes one tool, with its reason.
func (v *reviewing) tool(f *toolFolder, e fs.DirEntry) (trust.File, bool) {
	name := e.Name()
	switch _, err := f.stamp(name, e); {
	case errors.Is(err, errFolder), errors.Is(err, errGone):
		return trust.File{}, false
	case err != nil:
		v.Broken = append(v.Broken, f.fileError(name, err))
		return trust.File{}, false
	}
	text, err := f.read(name)
	if err != nil {
		v.Broken = append(v.Broken, f.fileError(name, err))
		return trust.File{}, false
	}
	if !v.room(f.shown(name), len(text)) {
		return trust.File{}, false
	}
	r := f.describeOne(v.ctx, name, text)
	if r.Err != nil {
		v.Broken = append(v.Broken, r.Err)
		return trust.File{}, false
	}
	x := trust.File{Path: f.shown(name), Kind: trust.KindTool, Text: text, TextHash: r.Stamp.Hash, Hash: r.Tool.Hash, Tool: r.Tool}
	_, x.Reason = v.ledger.Tool(r.Head, r.Stamp.Hash, f.libHash)
	return x, true
}

// add takes a file that is no tool.
func (v *reviewing) add(f trust.File) {
	f.Reason = v.ledger.File(f.Kind, f.Path, f.TextHash)
	v.Files = append(v.Files, f)
}

// file takes a file, if it is there.
func (v *reviewing) file(name string, kind trust.Kind) {
	data, cut, err := folder.ReadHead(v.files, name, folder.MaxSource)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		v.broken(name, err)
		return
	case cut:
		v.broken(name, value.Errorf(value.Limit, "the file is longer than %d KB", folder.MaxSource>>10))
		return
	case !utf8.Valid(data):
		v.broken(name, value.Errorf(value.Invalid, "the file is not UTF-8 text"))
		return
	}
	if !v.room(name, len(data)) {
		return
	}
	hash := tool.HashBytes(data)
	v.add(trust.File{Path: name, Kind: kind, Text: string(data), TextHash: hash, Hash: hash})
}

// room says whether a text of this length is still taken.
func (v *reviewing) room(name string, n int) bool {
	if v.bytes > maxReviewBytes {
		return false // said before
	}
	if v.bytes += n; v.bytes > maxReviewBytes {
		v.broken(name, value.Errorf(value.Limit, "more than %d MB: what follows is not reviewed", maxReviewBytes>>20))
		return false
	}
	return true
}

// folder takes the files with a suffix in a folder and those below it.
func (v *reviewing) folder(dir string, kind trust.Kind, suffix string) {
	err := fs.WalkDir(v.files, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == dir:
			return fs.SkipAll
		case err != nil:
			v.broken(name, err)
			return fs.SkipDir
		case d.IsDir() && strings.Count(name, "/")-strings.Count(dir, "/") > maxRuleDirs:
			return fs.SkipDir
		case len(v.Files) >= maxReviewed:
			return value.Errorf(value.Limit, "more than %d files: the rest is not reviewed", maxReviewed)
		case !d.IsDir() && path.Ext(name) == suffix:
			v.file(name, kind)
		}
		return nil
	})
	if err != nil {
		v.broken(dir, err)
	}
}

// skills takes the skills of the project, those that are broken too: their
// text is told to nobody, but they may be mended by a touch.
func (v *reviewing) skills() {
	dir := folder.Name + "/" + skill.Dir
	entries, _, err := folder.ReadDir(v.files, dir, skill.Max)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		v.broken(dir, err)
		return
	}
	for _, e := range entries {
		if skill.IsFile(e) {
			v.file(path.Join(dir, e.Name()), trust.KindSkill)
		}
	}
}

// compare adds to each file what was trusted of it before.
func (v *reviewing) compare() {
	for i := range v.Files {
		f := &v.Files[i]
		if r, ok := v.ledger.Record(f.Path); ok && !r.Revoked {
			f.Was = &r
			if f.Reason != "" {
				f.OldText, f.HasOld = v.opts.Trust.KeptText(v.Root, r.Text)
			}
		}
	}
}
