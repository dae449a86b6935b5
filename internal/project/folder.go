package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/index"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// openTools returns the files of a folder of tools. Links of a project, which may be
// untrusted, must not lead out of it; the user's own may.
func openTools(p trust.Place) (fs.FS, error) {
	if p.Files != nil {
		return folder.Refusing(p.Files, p.Refuse), nil
	}
	if p.Location == tool.Personal {
		return folder.Refusing(os.DirFS(p.Path()), p.Refuse), nil
	}
	root, err := os.OpenRoot(p.Base)
	if err != nil {
		return nil, err
	}
	return folder.Refusing(folder.OpenTools(root), p.Refuse), nil
}

// A toolFolder is the state of loading one place.
type toolFolder struct {
	place trust.Place
	files fs.FS
	opts  *Options
	old   *index.Index             // the result of the last load; never nil
	libs  map[string]index.Stamp   // the shared files
	over  []*value.Error           // of those that exceed their share
	texts func() map[string]string // their contents, read once and only if needed
}

// byContent reports whether files are identified only by content, since their times do
// not show changes.
func (f *toolFolder) byContent() bool {
	return f.place.Files != nil && f.place.Location != tool.Builtin
}

// key identifies the folder among those of a project.
func (f *toolFolder) key() string {
	if f.byContent() {
		return "files"
	}
	return string(f.place.Location) + " " + f.place.Path()
}

// load reads the tools of the folder, unchanged ones from the index and the others from
// their files, and appends them to found.
func (f *toolFolder) load(ctx context.Context, known *index.Known, found []Tool) ([]Tool, []*value.Error, error) {
	files, err := openTools(f.place)
	if err != nil {
		return found, nil, err
	}
	if closer, ok := files.(io.Closer); ok {
		defer closer.Close()
	}
	f.files = files
	began := time.Now().UnixNano() // later writes have a later time
	entries, err := fs.ReadDir(f.files, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil, nil
	}
	if err != nil {
		return found, nil, err
	}
	names := f.toolFiles(entries)
	file := f.indexFile(names)
	if f.old = f.opts.Known.Of(f.key()); f.old == nil {
		f.old = index.Read(file, f.opts.Reader)
	}
	if err := f.readLibs(); err != nil {
		return found, nil, err
	}
	findings, fresh, err := f.findings(ctx, names)
	if err != nil {
		return found, nil, err
	}
	for i := range findings { // before the findings are shared
		if r := &findings[i]; r.Head != nil && r.Kept == nil {
			r.Kept = &atomic.Pointer[tool.Script]{}
		}
	}
	if fresh || len(findings) != len(f.old.Findings) || len(f.libs) != len(f.old.Libs) {
		now := &index.Index{Reader: f.opts.Reader, Written: began, Findings: findings, Libs: f.libs}
		// Without a written index the files are read again.
		f.opts.later(func() { _ = index.Write(file, now) })
	}
	known.Take(f.key(), &index.Index{Written: began, Findings: findings, Libs: f.libs})
	found = slices.Grow(found, len(findings))
	broken := f.over
	for i := range findings {
		r := &findings[i]
		if r.Err != nil {
			broken = append(broken, r.Err)
			if r = r.Good; r == nil {
				continue
			}
		}
		found = append(found, f.found(r))
	}
	return found, broken, nil
}

// toolFiles lists the files that are expected to be tools. Hidden files, tests and
// READMEs are not.
func (f *toolFolder) toolFiles(entries []fs.DirEntry) []fs.DirEntry {
	suffixes := tool.ScriptSuffixes()
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		name := e.Name()
		suffix := path.Ext(name)
		return !slices.Contains(suffixes, suffix) ||
			strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
			IsTest(name) ||
			strings.EqualFold(name, "README.md")
	})
}

// indexFile returns the path of the folder's index, or "". The index of files without a
// folder is identified by their names.
func (f *toolFolder) indexFile(entries []fs.DirEntry) string {
	of := f.place.Path()
	switch {
	case f.place.Location == tool.Builtin:
		of = "builtin"
	case f.place.Files != nil:
		of = "files"
		for _, e := range entries {
			of += "\n" + e.Name()
		}
	}
	return f.opts.indexFile(of)
}

// indexFile returns the path of the index of some files, or "".
func (o *Options) indexFile(of string) string {
	if o.Cache == "" {
		return ""
	}
	return filepath.Join(o.Cache, "tools-"+tool.HashBytes([]byte(of))[:16]+".idx")
}

// batchSize is how many files are described together.
const batchSize = 32

// findings reads the files, in parallel. fresh reports whether any file was not in the
// index.
func (f *toolFolder) findings(ctx context.Context, entries []fs.DirEntry) (list []index.Finding, fresh bool, err error) {
	stamped := f.stamps(ctx, entries)
	list = make([]index.Finding, len(entries))
	var changed atomic.Bool
	inBatches(ctx, len(entries), func(start, end int) {
		if !f.batch(ctx, stamped[start:end], list[start:end]) {
			changed.Store(true)
		}
	})
	list = slices.DeleteFunc(list, func(r index.Finding) bool { return r.Name == "" })
	return list, changed.Load(), ctx.Err()
}

// inBatches calls do, in parallel, for parts of n things, until ctx ends.
func inBatches(ctx context.Context, n int, do func(start, end int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 1+n/(2*batchSize)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				end := int(next.Add(batchSize))
				start := end - batchSize
				if start >= n {
					return
				}
				do(start, min(end, n))
			}
		})
	}
	wait.Wait()
}

// A stampedFile is a file whose stamp is known, without its hash, or why it is not.
type stampedFile struct {
	name  string
	stamp index.Stamp
	err   error
}

// stamps returns the stamps of files. Those that exceed the share of the tools have an error.
func (f *toolFolder) stamps(ctx context.Context, entries []fs.DirEntry) []stampedFile {
	list, sizes := make([]stampedFile, len(entries)), make([]int64, len(entries))
	inBatches(ctx, len(entries), func(start, end int) {
		for i, e := range entries[start:end] {
			x := stampedFile{name: e.Name()}
			if x.stamp, x.err = f.stamp(x.name, e); x.err == nil {
				sizes[start+i] = x.stamp.Size
			}
			list[start+i] = x
		}
	})
	share := int64(folder.ToolsShare)
	if f.place.Location == tool.Builtin {
		return list
	}
	for i, over := range folder.Over(sizes, share) {
		if over {
			list[i].err = folder.OverShare(share)
		}
	}
	return list
}

// batch reads some files into list; entries that are not files stay empty. It reports
// whether all were in the index.
func (f *toolFolder) batch(ctx context.Context, entries []stampedFile, list []index.Finding) (known bool) {
	known = true
	var files []unread
	for i := range entries {
		var text string
		var state lookupState
		switch list[i], text, state = f.lookUp(&entries[i]); state {
		case changed:
			known = false
		case undescribed:
			known = false
			files = append(files, unread{&list[i], text})
		}
	}
	f.describe(ctx, files)
	return known
}

// A lookupState is the result of looking a file up in the index.
type lookupState uint8

const (
	unchanged   lookupState = iota // the finding of the index is valid
	changed                        // a different finding
	undescribed                    // only the text is known
)

// lookUp returns the finding of a file, or its text if it must be described.
func (f *toolFolder) lookUp(file *stampedFile) (result index.Finding, text string, state lookupState) {
	name, stamp, err := file.name, file.stamp, file.err
	old, ok := f.old.Find(name)
	switch {
	case errors.Is(err, errFolder), errors.Is(err, errGone):
		return index.Finding{}, "", unchanged
	case err != nil:
		r := index.Finding{Name: name, Stamp: unmatched(), Err: f.fileError(name, err), Good: old.LastGood()}
		if old.Err != nil && old.Stamp == r.Stamp && old.Err.Error() == r.Err.Error() {
			return r, "", unchanged
		}
		return r, "", changed
	}
	same := ok && old.Libs == f.libsHash(&old)
	trusted := same && f.trusts(old.Stamp, stamp)
	if trusted && f.isKept(&old) {
		return old, "", unchanged
	}
	if text, err = folder.ReadText(f.files, name, folder.MaxSource); err != nil {
		return index.Finding{Name: name, Stamp: stamp, Err: f.fileError(name, err), Good: old.LastGood()}, "", changed
	}
	stamp.Hash = tool.HashBytes([]byte(text))
	if same && old.Stamp.Hash == stamp.Hash {
		old.Stamp = stamp // touched, or too young to rely on its stamp, but unchanged
		f.keep(&old, text)
		if trusted || f.byContent() {
			return old, "", unchanged
		}
		return old, "", changed
	}
	return index.Finding{Name: name, Stamp: stamp, Good: old.LastGood()}, text, undescribed
}

// isKept reports whether the source of a finding needs no reading.
func (f *toolFolder) isKept(r *index.Finding) bool {
	return !f.opts.Keep || f.place.Location == tool.Builtin || r.Err != nil || r.Kept != nil && r.Kept.Load() != nil
}

// keep keeps the text of a finding, unless a file that it loads has changed meanwhile.
func (f *toolFolder) keep(r *index.Finding, text string) {
	if f.isKept(r) {
		return
	}
	for _, lib := range r.Head.Loads {
		if _, ok := f.texts()[lib]; !ok {
			return
		}
	}
	r.Kept = &atomic.Pointer[tool.Script]{}
	r.Kept.Store(f.scriptOf(r, text))
}

// trusts reports whether a file with the stamp now is unchanged since the stamp old.
func (f *toolFolder) trusts(old, now index.Stamp) bool {
	return !f.byContent() && f.old.Matches(old, now)
}

// stamp returns the stamp of a file without reading it.
func (f *toolFolder) stamp(name string, entry fs.DirEntry) (index.Stamp, error) {
	info, err := entry.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return index.Stamp{}, errGone
	case err == nil && info.IsDir():
		return index.Stamp{}, errFolder
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = fs.Stat(f.files, name)
	}
	if err != nil {
		return index.Stamp{}, err
	}
	if !info.Mode().IsRegular() {
		return index.Stamp{}, folder.ErrNotRegular
	}
	return index.Stamp{Size: info.Size(), Mtime: info.ModTime().UnixNano()}, nil
}

var (
	errFolder = errors.New("not a file, but a folder")
	errGone   = errors.New("the file was removed during the scan")
)

// An unread file has a text and an incomplete finding, with its name, its stamp
// and its last good version.
type unread struct {
	finding *index.Finding
	text    string
}

// describe reads what files declare, and completes their findings.
func (f *toolFolder) describe(ctx context.Context, files []unread) {
	if len(files) == 0 {
		return
	}
	scripts := make([]tool.Script, len(files))
	for i, u := range files {
		scripts[i] = tool.Script{Path: f.shown(u.finding.Name), Source: u.text, Libs: f.texts()}
	}
	tools, errs := f.opts.describeAll(ctx, f.place.Location == tool.Builtin, scripts)
	for i, u := range files {
		r := u.finding
		if errs[i] != nil {
			r.Err = f.fileError(r.Name, errs[i])
			r.Libs = f.libsHash(r)
			if Transient(r.Err) {
				r.Stamp = unmatched()
			}
			continue
		}
		t := &tools[i]
		h := t.Head()
		r.Tool, r.Head, r.Good = t, &h, nil
		r.Libs = f.libsHash(r)
		r.Hash = tool.HashBytes([]byte(r.Stamp.Hash + r.Libs))
		r.Kept = &atomic.Pointer[tool.Script]{}
		r.Kept.Store(f.scriptOf(r, u.text))
	}
}

// unmatched returns the stamp of a finding that does not depend only on the file: it matches no file, so that the
// file is read again.
func unmatched() index.Stamp { return index.Stamp{Size: -1} }

// Transient reports whether an error does not depend on the file: no worker was free,
// or the worker was killed from outside.
func Transient(e *value.Error) bool {
	return e.Kind == value.Busy || e.Kind == value.Canceled || e.Kind == value.Closed || e.Limit == value.LimitWorker
}

// describeOne reads what one file declares.
func (f *toolFolder) describeOne(ctx context.Context, name, text string) index.Finding {
	r := index.Finding{Name: name, Stamp: index.Stamp{Hash: tool.HashBytes([]byte(text))}}
	f.describe(ctx, []unread{{&r, text}})
	return r
}

// describeAlone reads what files declare, one by one and in parallel, and completes their findings.
func (f *toolFolder) describeAlone(ctx context.Context, findings []*index.Finding, texts map[string]string) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(findings)) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(findings)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f.describe(ctx, []unread{{findings[i], texts[findings[i].Name]}})
			}
		})
	}
	wait.Wait()
}

// describeAll reads what files declare. It returns a tool or an error for each.
func (o *Options) describeAll(ctx context.Context, builtin bool, scripts []tool.Script) ([]tool.Described, []error) {
	one := o.Describe
	switch {
	case builtin && o.DescribeBuiltin != nil:
		one = o.DescribeBuiltin
	case o.DescribeAll != nil:
		return o.DescribeAll(ctx, scripts)
	}
	tools, errs := make([]tool.Described, len(scripts)), make([]error, len(scripts))
	for i, s := range scripts {
		tools[i], errs[i] = one(ctx, s)
	}
	return tools, errs
}

// scriptOf returns the script of a described tool: its text and the files that it loads.
func (f *toolFolder) scriptOf(r *index.Finding, text string) *tool.Script {
	s := &tool.Script{Name: stem(r.Name), Path: f.shown(r.Name), Source: text, Libs: map[string]string{}, Hash: r.Hash}
	for _, lib := range r.Head.Loads {
		s.Libs[lib] = f.texts()[lib]
	}
	return s
}

// stem returns the key of a file's tool.
func stem(name string) string { return tool.Key(strings.TrimSuffix(name, path.Ext(name))) }

// fileError converts an error to one of a file.
func (f *toolFolder) fileError(name string, err error) *value.Error {
	e := folder.FileError(err, f.shown(name))
	if strings.Contains(e.Message(), "escapes from parent") {
		e.Op, e.Err = "", errors.New("the link points outside the project")
	}
	if e.Pos.File != f.shown(name) { // a shared file that this one loads
		e.Op, e.Err = "", fmt.Errorf("error in the loaded file %s: %s", e.Pos, e.Message())
		e.Pos = value.Position{File: f.shown(name)}
	}
	if strings.ContainsFunc(e.Pos.File, func(r rune) bool { return !unicode.IsPrint(r) }) {
		e.Pos.File = strconv.Quote(e.Pos.File) // a name may contain line breaks
	}
	return e
}

// shown returns the name of a file in messages.
func (f *toolFolder) shown(name string) string { return path.Join(f.place.Shown, name) }

// judge sets whether a tool may be used, and its grants. Personal and built-in tools
// get what they need, a project's tools what was trusted.
func (f *toolFolder) judge(t *Tool, r *index.Finding) {
	t.Granted, t.Trusted = t.Head.Needs, true
	if f.place.Location != tool.Project {
		return
	}
	t.Granted, t.Status = f.place.Ledger.Tool(t.Path, &t.Head, t.Hash, r.Stamp.Hash, f.libsOf(r))
	t.Revoked = !t.Trusted && f.place.Ledger.RevokedAny(t.Path, t.Head.Loads)
}

// libsOf returns the hashes of the shared files of a finding. For the last good version
// of a file they may differ from the current ones.
func (f *toolFolder) libsOf(r *index.Finding) func(lib string) string {
	if r.Libs == f.libsHash(r) || r.Kept == nil || r.Kept.Load() == nil {
		return f.libHash
	}
	return func(lib string) string {
		text, ok := r.Kept.Load().Libs[lib]
		if !ok {
			return ""
		}
		return tool.HashBytes([]byte(text))
	}
}

// libHash returns the current hash of a shared file, or "".
func (f *toolFolder) libHash(lib string) string { return f.libs[lib].Hash }

// found returns the tool of a finding, with a function that loads its source.
func (f *toolFolder) found(r *index.Finding) Tool {
	l := &loader{&f.place, f.opts, r}
	t := Tool{Head: *r.Head, Location: f.place.Location, Path: f.shown(r.Name), Hash: r.Hash, Declared: l.declared, Load: l.load}
	f.judge(&t, r)
	return t
}

// A loader loads the source of a tool, once.
type loader struct {
	place   *trust.Place
	opts    *Options
	finding *index.Finding
}

func (l *loader) declared() (tool.Described, error) {
	t, err := l.finding.Declared()
	if err != nil {
		f := &toolFolder{place: *l.place}
		err = f.fileError(l.finding.Name, err)
	}
	return t, err
}

func (l *loader) load() (tool.Script, error) {
	r := l.finding
	if s := r.Kept.Load(); s != nil {
		return *s, nil
	}
	files, err := openTools(*l.place)
	if err != nil {
		return tool.Script{}, err
	}
	if closer, ok := files.(io.Closer); ok {
		defer closer.Close()
	}
	f := &toolFolder{place: *l.place, files: files, opts: l.opts}
	s, err := f.script(r.Name, r.Head.Loads, r.Hash)
	if err == nil {
		r.Kept.Store(&s)
	}
	return s, err
}

// script reads a tool's source and the files that it loads. They must be unchanged
// since the tool was described, because calls are checked against its declaration.
func (f *toolFolder) script(name string, loads []string, want string) (tool.Script, error) {
	text, err := folder.ReadText(f.files, name, folder.MaxSource)
	if err != nil {
		return tool.Script{}, f.fileError(name, err).WithLimit(value.LimitTool)
	}
	s := tool.Script{Name: stem(name), Path: f.shown(name), Source: text, Libs: map[string]string{}}
	f.libs = map[string]index.Stamp{}
	for _, lib := range loads {
		if s.Libs[lib], err = folder.ReadText(f.files, lib, folder.MaxSource); err != nil {
			return tool.Script{}, f.fileError(lib, err).WithLimit(value.LimitTool)
		}
		f.libs[lib] = index.Stamp{Hash: tool.HashBytes([]byte(s.Libs[lib]))}
	}
	s.Hash = tool.HashBytes([]byte(tool.HashBytes([]byte(text)) + f.libsHash(&index.Finding{Head: &tool.Head{Loads: loads}})))
	if s.Hash != want {
		e := value.Errorf(value.Conflict, "the file has changed since its tool was listed").WithHint("restore the file, or run: cassidy tool refresh, then cassidy trust").WithLimit(value.LimitTool)
		e.Pos.File = s.Path
		return tool.Script{}, e
	}
	return s, nil
}

// maxLibs is how many shared files a folder may have: thirty times as many as one tool may load. The folder may be
// untrusted, and is read before any review.
const maxLibs = 1000

// readLibs reads the stamps of all shared files, and the contents of changed ones.
// There are few, and a tool is described again when a file that it loads has changed.
func (f *toolFolder) readLibs() error {
	f.libs, f.texts = map[string]index.Stamp{}, sync.OnceValue(f.libTexts)
	var names []string
	var stamps []index.Stamp
	var sizes []int64
	err := fs.WalkDir(f.files, "lib", func(name string, d fs.DirEntry, err error) error {
		if name == "lib" && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() || path.Ext(name) != ".star" {
			return err
		}
		stamp, err := f.stamp(name, d)
		if err != nil {
			return nil // loading it reports the error
		}
		if len(names) >= maxLibs {
			return value.Errorf(value.Limit, "the folder lib has too many scripts: at most %d are allowed", maxLibs)
		}
		names, stamps, sizes = append(names, name), append(stamps, stamp), append(sizes, stamp.Size)
		return nil
	})
	for i, over := range folder.Over(sizes, folder.OtherShare) {
		if over {
			f.over = append(f.over, f.fileError(names[i], folder.OverShare(folder.OtherShare)))
		} else {
			f.readLib(names[i], stamps[i])
		}
	}
	return err
}

// readLib takes a shared file from the index, or reads it. Loading it reports that it cannot be read.
func (f *toolFolder) readLib(name string, stamp index.Stamp) {
	old, ok := f.old.Libs[name]
	if ok && f.trusts(old, stamp) {
		f.libs[name] = old
		return
	}
	var err error
	if stamp.Text, err = folder.ReadText(f.files, name, folder.MaxSource); err != nil {
		return
	}
	stamp.Hash = tool.HashBytes([]byte(stamp.Text))
	f.libs[name] = stamp
}

// libTexts returns the contents of all shared files.
func (f *toolFolder) libTexts() map[string]string {
	texts := make(map[string]string, len(f.libs))
	for name, stamp := range f.libs {
		text := stamp.Text
		if text == "" && stamp.Size > 0 {
			var err error
			if text, err = folder.ReadText(f.files, name, folder.MaxSource); err != nil || tool.HashBytes([]byte(text)) != stamp.Hash {
				continue // loading it reports the error
			}
		}
		texts[name] = text
	}
	return texts
}

// libsHash returns a hash of the shared files that a finding depends on. A broken file
// may depend on any of them.
func (f *toolFolder) libsHash(r *index.Finding) string {
	var names []string
	if r.Head != nil {
		names = r.Head.Loads
	} else {
		for name := range f.libs {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name + " " + f.libs[name].Hash + "\n")
	}
	return tool.HashBytes([]byte(b.String()))
}

// DescribeFile reads what one file declares, in any folder. The files that it loads
// must be in the folder lib beside it.
func DescribeFile(ctx context.Context, file string, o *Options) (tool.Described, error) {
	dir, name := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	if !slices.Contains(tool.ScriptSuffixes(), path.Ext(name)) {
		e := value.Errorf(value.Invalid, "not the file of a tool").WithHint("use a file whose name ends in one of these: \"%s\"", strings.Join(tool.ScriptSuffixes(), `", "`))
		e.Pos.File = file
		return tool.Described{}, e
	}
	f, err := plainFolder(dir, o)
	if err != nil {
		return tool.Described{}, err
	}
	text, err := folder.ReadText(f.files, name, folder.MaxSource)
	if err != nil {
		return tool.Described{}, f.fileError(name, err)
	}
	r := f.describeOne(ctx, name, text)
	if r.Err != nil {
		return tool.Described{}, r.Err
	}
	return *r.Tool, nil
}

// Libraries returns the files that scripts in a folder can load: those in its folder lib.
func Libraries(dir string) (map[string]string, error) {
	f, err := plainFolder(dir, &Options{})
	if err != nil {
		return nil, err
	}
	return f.texts(), nil
}

// plainFolder reads the shared files of any folder.
func plainFolder(dir string, o *Options) (*toolFolder, error) {
	shown := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(dir)), "/")
	f := &toolFolder{place: trust.Place{Shown: shown}, files: os.DirFS(dir), opts: o, old: &index.Index{}}
	return f, f.readLibs()
}
