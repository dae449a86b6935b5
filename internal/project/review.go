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

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/index"
	"github.com/cassidy-run/cassidy/internal/memory"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxReviewed is how many files of one kind a review accepts: far more than anybody
// reads.
const maxReviewed = 20_000

// maxReviewBytes is the limit of all texts of a review, in bytes: those of the tools and of four other folders.
const maxReviewBytes = folder.ToolsShare + 4*folder.OtherShare

// Review reads the files of a project that need trust, without running them.
func Review(ctx context.Context, root string, o *Options) (*trust.Review, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, value.Errorf(value.Failed, "open the project's folder: %w", errors.Unwrap(err))
	}
	defer dir.Close()
	l := o.Ledger(root)
	v := &reviewing{Review: trust.Review{Root: root, Author: l.Author()}, ctx: ctx, root: dir, files: dir.FS(), ledger: l, opts: o}
	own := folder.Same(filepath.Join(root, folder.Name), o.Home) // the user's own folder does not belong to a project
	if !own {
		v.tools()
		v.folder(folder.Name+"/policies", trust.KindPolicy, ".star")
		v.folder(folder.Name+"/workflows", trust.KindWorkflow, ".star")
		v.skills()
		v.agents()
		v.file(folder.Name+"/"+hooksFile, trust.KindHooks)
		v.file(folder.Name+"/mcp.json", trust.KindServers)
		v.folder(folder.Name+"/rules", trust.KindNotes, ".md")
		v.file(memory.File, trust.KindMemory)
	}
	v.programs(own)
	for _, name := range slices.Concat(noteNames, otherNotes(v.files, o.WorkDir)) {
		v.file(name, trust.KindNotes)
	}
	if ctx.Err() != nil {
		return nil, value.AsError(ctx.Err(), value.Canceled)
	}
	v.compare()
	return &v.Review, nil
}

// NotesBelow returns the untrusted files with notes that other programs read too, in the folders below the one
// where a command works: models get them when they work there. It skips hidden and installed folders, and looks at
// a limited number of files.
func NotesBelow(ctx context.Context, root string, o *Options) (names []string) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	at := path.Clean(o.WorkDir)
	w := &walk{ctx: ctx, files: dir.FS(), left: maxWalked}
	if _, err := w.folder(at, 0); err != nil {
		return nil
	}
	l := o.NotesLedger(root)
	for _, f := range w.all {
		if path.Dir(f.path) == at || !slices.Contains(trust.OtherNotes(), path.Base(f.path)) {
			continue
		}
		if _, other := Find(filepath.Join(root, filepath.FromSlash(path.Dir(f.path))), o.Home, root); other {
			continue // of a project of its own
		}
		data, cut, err := folder.ReadHead(w.files, f.path, folder.MaxSource)
		if err == nil && (cut || !l.File(trust.KindNotes, f.path, tool.HashBytes(data)).Trusted) {
			names = append(names, f.path)
		}
	}
	slices.Sort(names)
	return names
}

// A reviewing is the state of a review.
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
	v.Broken = append(v.Broken, folder.FileError(err, name))
}

// tools adds the tools and the files that they load.
func (v *reviewing) tools() {
	f := &toolFolder{
		place: trust.Place{Location: tool.Project, Shown: folder.ToolsDir}, files: folder.ToolsIn(v.root), opts: v.opts, old: &index.Index{},
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
	v.Broken = append(v.Broken, f.over...)
	if more {
		v.broken(folder.ToolsDir, value.Errorf(value.Limit, "the folder has more than %d entries: the remaining entries are not reviewed", maxReviewed))
	}
	v.tests(entries)
	var tools []trust.File
	loaded := map[string]bool{}
	var unread []*index.Finding
	texts := map[string]string{}
	for _, x := range f.stamps(v.ctx, f.toolFiles(entries)) {
		if text, ok := v.tool(f, &x); ok {
			texts[x.name] = text
			unread = append(unread, &index.Finding{Name: x.name, Stamp: index.Stamp{Hash: tool.HashBytes([]byte(text))}})
		}
	}
	f.describeAlone(v.ctx, unread, texts)
	for _, r := range unread {
		if v.ctx.Err() != nil {
			return
		}
		if r.Err != nil {
			v.Broken = append(v.Broken, r.Err)
			continue
		}
		for _, lib := range r.Tool.Loads {
			loaded[lib] = true
		}
		x := trust.File{Path: f.shown(r.Name), Kind: trust.KindTool, Text: texts[r.Name], TextHash: r.Stamp.Hash, Hash: r.Hash, Tool: r.Tool}
		_, x.Status = v.ledger.Tool(x.Path, r.Head, r.Hash, r.Stamp.Hash, f.libHash)
		tools = append(tools, x)
	}
	for name, stamp := range f.libs {
		if loaded[name] || v.testsLoad(name) { // a file that is not loaded has no effect
			name = folder.ToolsDir + "/" + name
			v.add(trust.File{Path: name, Kind: trust.KindLib, Text: f.texts()[strings.TrimPrefix(name, folder.ToolsDir+"/")], TextHash: stamp.Hash, Hash: stamp.Hash})
		}
	}
	slices.SortFunc(v.Files, func(a, b trust.File) int { return strings.Compare(a.Path, b.Path) })
	v.Files = append(v.Files, tools...)
}

// tests adds the test files among the entries of the folder of tools.
func (v *reviewing) tests(entries []fs.DirEntry) {
	for _, e := range entries {
		if name := e.Name(); path.Ext(name) == ".star" && !e.IsDir() && IsTest(name) {
			v.file(path.Join(folder.ToolsDir, name), trust.KindTest)
		}
	}
}

// testsLoad reports whether a test file may load a shared file. Its loads are not parsed: the name
// of the shared file in its text is enough.
func (v *reviewing) testsLoad(lib string) bool {
	return slices.ContainsFunc(v.Files, func(f trust.File) bool {
		return f.Kind == trust.KindTest && strings.Contains(f.Text, lib)
	})
}

// tool returns the text of one tool.
func (v *reviewing) tool(f *toolFolder, x *stampedFile) (text string, ok bool) {
	err := x.err
	if err == nil && x.name != "" {
		text, err = folder.ReadText(f.files, x.name, folder.MaxSource)
	}
	switch {
	case x.name == "" || errors.Is(err, errFolder) || errors.Is(err, errGone): // without a name, the review has ended
		return "", false
	case err != nil:
		v.Broken = append(v.Broken, f.fileError(x.name, err))
		return "", false
	}
	return text, v.fits(f.shown(x.name), len(text))
}

// add adds a file that is not a tool.
func (v *reviewing) add(f trust.File) {
	if f.Status = v.ledger.File(f.Kind, f.Path, f.TextHash); f.Kind == trust.KindMemory {
		f.Status = memory.Status(v.ledger, f.TextHash)
	}
	v.Files = append(v.Files, f)
}

// file adds a file, if it exists.
func (v *reviewing) file(name string, kind trust.Kind) {
	text, err := folder.ReadText(v.files, name, folder.MaxSource)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		v.broken(name, err)
	default:
		v.text(name, text, kind)
	}
}

// text adds a file with a text.
func (v *reviewing) text(name, text string, kind trust.Kind) {
	if v.fits(name, len(text)) {
		hash := tool.HashBytes([]byte(text))
		v.add(trust.File{Path: name, Kind: kind, Text: text, TextHash: hash, Hash: hash})
	}
}

// fits counts a text, and reports whether the limit of all texts allows it.
func (v *reviewing) fits(name string, n int) bool {
	if v.bytes > maxReviewBytes {
		return false // already reported
	}
	if v.bytes += n; v.bytes > maxReviewBytes {
		v.broken(name, value.Errorf(value.Limit, "the files to review are larger than %d MB in total: the remaining files are not reviewed", maxReviewBytes>>20))
		return false
	}
	return true
}

// folder adds the files with a suffix in a folder and its subfolders.
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
			return value.Errorf(value.Limit, "the review has more than %d files: the remaining files are not reviewed", maxReviewed)
		case d.IsDir() || path.Ext(name) != suffix:
		case kind == trust.KindWorkflow && IsTest(name):
			v.file(name, trust.KindTest)
		default:
			v.file(name, kind)
		}
		return nil
	})
	if err != nil {
		v.broken(dir, err)
	}
}

// skills adds the skills of the project, also invalid ones: their text is used nowhere,
// but a small edit could make them valid.
func (v *reviewing) skills() {
	for _, place := range (&trust.Scope{}).Places(v.Root, skill.Dir) {
		v.Broken = append(v.Broken, skill.Read(place, func(files fs.FS, name string) error {
			name = path.Join(place.Dir, name)
			text, err := skill.ReviewedText(files, name)
			switch {
			case errors.Is(err, fs.ErrNotExist): // cassidy skill list reports it
				return nil
			case err == nil:
				v.text(name, text, trust.KindSkill)
			}
			return err
		})...)
	}
}

// agents adds the agent files of the project.
func (v *reviewing) agents() {
	for _, place := range (&trust.Scope{}).Places(v.Root, agentsDir) {
		v.Broken = append(v.Broken, place.ReadFiles(maxAgents, isAgentFile, func(_ fs.FS, name string) error {
			v.file(path.Join(place.Dir, name), trust.KindAgent)
			return nil
		})...)
	}
}

// compare adds the earlier record to each file.
func (v *reviewing) compare() {
	for i := range v.Files {
		f := &v.Files[i]
		if r, ok := v.ledger.Record(f.Path); ok && !r.Revoked {
			f.Was = &r
			if !f.Trusted {
				f.OldText, f.HasOld = v.opts.Trust.KeptText(v.Root, r.Text)
			}
		}
	}
}
