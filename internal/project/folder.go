package project

import (
	"bytes"
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
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/index"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// open returns the folder's files. A project's links must not lead out of it:
// it may be a stranger's. A user's own may.
func (p place) open() (fs.FS, error) {
	if p.files != nil {
		return p.files, nil
	}
	if p.location == tool.Personal {
		return os.DirFS(p.dir), nil
	}
	root, err := os.OpenRoot(filepath.Dir(filepath.Dir(p.dir)))
	if err != nil {
		return nil, err
	}
	return folder.OpenTools(root), nil
}

// A toolFolder is one place while it is loaded.
type toolFolder struct {
	place place
	files fs.FS
	opts  *Options
	old   *index.Index             // what the last load knew; never nil
	libs  map[string]index.Stamp   // the shared files
	texts func() map[string]string // their content, read once if at all
}

// load reads the folder, the index for what is unchanged and the rest from the
// files, and appends its tools to found.
func (f *toolFolder) load(ctx context.Context, known *index.Known, found []tool.Found) ([]tool.Found, []*value.Error, error) {
	began := time.Now().UnixNano() // whatever is written from now on has a later time
	entries, err := fs.ReadDir(f.files, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil, nil
	}
	if err != nil {
		return found, nil, err
	}
	names := f.toolFiles(entries)
	file := f.indexFile(names)
	if f.old = f.opts.Known.Of(f.place.key()); f.old == nil {
		f.old = index.Read(file, f.opts.Reader)
	}
	if err := f.readLibs(); err != nil {
		return found, nil, err
	}
	f.texts = sync.OnceValue(f.libTexts)
	findings, fresh, err := f.findings(ctx, names)
	if err != nil {
		return found, nil, err
	}
	for i := range findings { // before anybody else sees them
		if r := &findings[i]; r.Head != nil && r.Kept == nil {
			r.Kept = &atomic.Pointer[tool.Script]{}
		}
	}
	if fresh || len(findings) != len(f.old.Findings) || len(f.libs) != len(f.old.Libs) {
		now := &index.Index{Reader: f.opts.Reader, Written: began, Findings: findings, Libs: f.libs}
		// An index that cannot be written only means reading the files again.
		f.opts.later(func() { _ = index.Write(file, now) })
	}
	known.Take(f.place.key(), &index.Index{Written: began, Findings: findings, Libs: f.libs})
	found = slices.Grow(found, len(findings))
	var broken []*value.Error
	for i := range findings {
		r := &findings[i]
		if r.Err != nil {
			broken = append(broken, r.Err)
			if r = r.Good; r == nil {
				continue
			}
		}
		found = append(found, f.found(r))
		f.judge(&found[len(found)-1].Head, r)
	}
	return found, broken, nil
}

// toolFiles names the files that should be tools, if they are files. Hidden ones,
// tests beside a tool and a README should not.
func (f *toolFolder) toolFiles(entries []fs.DirEntry) []fs.DirEntry {
	suffixes := tool.ScriptSuffixes()
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		name := e.Name()
		suffix := path.Ext(name)
		return !slices.Contains(suffixes, suffix) ||
			strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
			strings.HasSuffix(strings.TrimSuffix(name, suffix), "_test") ||
			strings.EqualFold(name, "README.md")
	})
}

// indexFile is where the index lies of a folder with these files, or "". That of
// files without a folder is found by their names.
func (f *toolFolder) indexFile(entries []fs.DirEntry) string {
	if f.opts.Cache == "" {
		return ""
	}
	of := f.place.dir
	switch {
	case f.place.location == tool.Builtin:
		of = "builtin"
	case f.place.files != nil:
		of = "files"
		for _, e := range entries {
			of += "\n" + e.Name()
		}
	}
	return filepath.Join(f.opts.Cache, "tools-"+tool.HashBytes([]byte(of))[:16]+".idx")
}

// batchSize is how many files are described together.
const batchSize = 32

// findings reads the files, on all processors. fresh reports whether any was not
// known from the index.
func (f *toolFolder) findings(ctx context.Context, entries []fs.DirEntry) (list []index.Finding, fresh bool, err error) {
	list = make([]index.Finding, len(entries))
	var next atomic.Int64
	var changed atomic.Bool
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 1+len(entries)/(2*batchSize)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				end := int(next.Add(batchSize))
				start := end - batchSize
				if start >= len(entries) {
					return
				}
				end = min(end, len(entries))
				if !f.batch(ctx, entries[start:end], list[start:end]) {
					changed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	list = slices.DeleteFunc(list, func(r index.Finding) bool { return r.Name == "" })
	return list, changed.Load(), ctx.Err()
}

// batch fills the list with what is found of some entries: nothing of those that are
// not files. It reports whether all was known from the index.
func (f *toolFolder) batch(ctx context.Context, entries []fs.DirEntry, list []index.Finding) (known bool) {
	known = true
	var unread []undescribed
	for i, entry := range entries {
		var text string
		var state recollection
		switch list[i], text, state = f.recall(entry); state {
		case changed:
			known = false
		case toDescribe:
			known = false
			unread = append(unread, undescribed{&list[i], text})
		}
	}
	f.describe(ctx, unread)
	return known
}

// A recollection is what is known of a file before it is described.
type recollection uint8

const (
	unchanged  recollection = iota // all that there is to find
	changed                        // so too, but not as the index has it
	toDescribe                     // its text
)

// recall returns what is known of a file, or its text, which is to be described.
func (f *toolFolder) recall(entry fs.DirEntry) (result index.Finding, text string, state recollection) {
	name := entry.Name()
	stamp, err := f.stamp(name, entry)
	switch {
	case errors.Is(err, errFolder), errors.Is(err, errGone):
		return index.Finding{}, "", unchanged
	case err != nil:
		return index.Finding{Name: name, Err: f.fileError(name, err)}, "", changed
	}
	old, ok := f.old.Find(name)
	same := ok && old.Libs == f.libsHash(&old)
	if same && f.trusts(old.Stamp, stamp) {
		return old, "", unchanged
	}
	if text, err = f.read(name); err != nil {
		return index.Finding{Name: name, Stamp: stamp, Err: f.fileError(name, err), Good: old.LastGood()}, "", changed
	}
	stamp.Hash = tool.HashBytes([]byte(text))
	if same && old.Stamp.Hash == stamp.Hash {
		old.Stamp = stamp // touched, or too young to be believed, but the same
		if f.place.byContent() {
			return old, "", unchanged
		}
		return old, "", changed
	}
	return index.Finding{Name: name, Stamp: stamp, Good: old.LastGood()}, text, toDescribe
}

// trusts reports whether a file with this stamp is still the one that was noted
// with the old one.
func (f *toolFolder) trusts(old, now index.Stamp) bool {
	return !f.place.byContent() && f.old.Matches(old, now)
}

// stamp says what is to be known of a file without reading it.
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
	errFolder = errors.New("a folder")
	errGone   = errors.New("a file that was removed meanwhile")
)

func (f *toolFolder) read(name string) (string, error) {
	file, size, err := folder.OpenRegular(f.files, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text := bytes.NewBuffer(make([]byte, 0, min(size, folder.MaxSource)+bytes.MinRead)) // which is not copied, if the file is as it was
	_, err = text.ReadFrom(io.LimitReader(file, folder.MaxSource+1))
	switch {
	case err != nil:
		return "", err
	case text.Len() > folder.MaxSource:
		return "", fmt.Errorf("the file is longer than %d KB", folder.MaxSource>>10)
	case !utf8.Valid(text.Bytes()):
		return "", errors.New("the file is not UTF-8 text")
	}
	return text.String(), nil
}

// An undescribed file is one whose text was read: its finding has a name, a stamp
// and what is left of it if it is broken.
type undescribed struct {
	finding *index.Finding
	text    string
}

// describe reads what files declare, and completes their findings.
func (f *toolFolder) describe(ctx context.Context, files []undescribed) {
	if len(files) == 0 {
		return
	}
	scripts := make([]tool.Script, len(files))
	for i, u := range files {
		scripts[i] = tool.Script{Path: f.shown(u.finding.Name), Source: u.text, Libs: f.texts()}
	}
	tools, errs := f.opts.describeAll(ctx, f.place.location == tool.Builtin, scripts)
	for i, u := range files {
		r := u.finding
		if errs[i] != nil {
			r.Err = f.fileError(r.Name, errs[i])
			r.Libs = f.libsHash(r)
			if Transient(r.Err) {
				r.Stamp = index.Stamp{Size: -1} // of no file: it is read again
			}
			continue
		}
		t := &tools[i]
		t.Path, t.Location = f.shown(r.Name), f.place.location
		h := t.Head()
		r.Tool, r.Head, r.Good = t, &h, nil
		r.Libs = f.libsHash(r)
		t.Hash = tool.HashBytes([]byte(r.Stamp.Hash + r.Libs))
		h.Hash = t.Hash
		r.Kept = &atomic.Pointer[tool.Script]{}
		r.Kept.Store(f.whole(r.Name, u.text, t))
	}
}

// Transient reports whether an error of a file says nothing about the file: no worker
// was free to read it, or the one that did was killed from outside.
func Transient(e *value.Error) bool {
	return e.Kind == value.Busy || e.Kind == value.Canceled || e.Kind == value.Closed || e.Limit == value.LimitWorker
}

// describeOne reads what one file declares.
func (f *toolFolder) describeOne(ctx context.Context, name, text string) index.Finding {
	r := index.Finding{Name: name, Stamp: index.Stamp{Hash: tool.HashBytes([]byte(text))}}
	f.describe(ctx, []undescribed{{&r, text}})
	return r
}

// describeAll reads what files declare: a tool or an error of each.
func (o *Options) describeAll(ctx context.Context, builtin bool, scripts []tool.Script) ([]tool.Tool, []error) {
	one := o.Describe
	switch {
	case builtin && o.DescribeBuiltin != nil:
		one = o.DescribeBuiltin
	case o.DescribeAll != nil:
		return o.DescribeAll(ctx, scripts)
	}
	tools, errs := make([]tool.Tool, len(scripts)), make([]error, len(scripts))
	for i, s := range scripts {
		tools[i], errs[i] = one(ctx, s)
	}
	return tools, errs
}

// whole returns the script of a tool that was described: its text with what it
// loads.
func (f *toolFolder) whole(name, text string, t *tool.Tool) *tool.Script {
	s := &tool.Script{Name: stem(name), Path: f.shown(name), Source: text, Libs: map[string]string{}, Hash: t.Hash}
	for _, lib := range t.Loads {
		s.Libs[lib] = f.texts()[lib]
	}
	return s
}

// stem is the key of the tool that a file holds.
func stem(name string) string { return tool.Key(strings.TrimSuffix(name, path.Ext(name))) }

// fileError makes any error one about a file.
func (f *toolFolder) fileError(name string, err error) *value.Error {
	e := *value.ErrorOf(err, value.Invalid)
	var path *fs.PathError
	if errors.As(err, &path) {
		e.Err = path.Err
	}
	if strings.Contains(e.Message(), "escapes from parent") {
		e.Op, e.Err = "", errors.New("a link that leads out of the project")
	}
	if e.Pos.File != "" && e.Pos.File != f.shown(name) { // a shared file that this one loads
		e.Op, e.Err = "", fmt.Errorf("it loads %s, where %s", e.Pos, e.Message())
		e.Pos = value.Position{}
	}
	if e.Pos.File == "" {
		e.Pos.File = f.shown(name)
	}
	if strings.ContainsFunc(e.Pos.File, func(r rune) bool { return !unicode.IsPrint(r) }) {
		e.Pos.File = strconv.Quote(e.Pos.File) // a name can hold lines of its own
	}
	return &e
}

// shown is how messages name a file of the folder.
func (f *toolFolder) shown(name string) string { return path.Join(f.place.shown, name) }

// judge says whether a tool may be used, and what it is granted: a user's own
// and cassidy's what they need, a project's what was trusted.
func (f *toolFolder) judge(t *tool.Head, r *index.Finding) {
	t.State, t.Granted = tool.Ready, t.Needs
	if f.place.location != tool.Project {
		return
	}
	granted, reason := f.place.ledger.Tool(t, r.Stamp.Hash, f.libsOf(r))
	t.Revoked = reason != "" && f.place.ledger.RevokedAny(t.Path, t.Loads)
	if t.Granted = granted; reason != "" {
		t.State, t.Reason = tool.Untrusted, reason
	}
}

// libsOf returns the hashes of the shared files that a finding was read with: of the last good
// version of a file they may be others than there are now.
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

// libHash returns the hash of a shared file as it is now, or "".
func (f *toolFolder) libHash(lib string) string { return f.libs[lib].Hash }

// found gives a tool the way to its source.
func (f *toolFolder) found(r *index.Finding) tool.Found {
	w := &way{&f.place, f.opts, r}
	return tool.Found{Head: *r.Head, Declared: r.Declared, Load: w.load}
}

// A way leads to the source of a tool, which is read once.
type way struct {
	place   *place
	opts    *Options
	finding *index.Finding
}

func (w *way) load() (tool.Script, error) {
	r := w.finding
	if s := r.Kept.Load(); s != nil {
		return *s, nil
	}
	files, err := w.place.open()
	if err != nil {
		return tool.Script{}, err
	}
	if closer, ok := files.(io.Closer); ok {
		defer closer.Close()
	}
	f := &toolFolder{place: *w.place, files: files, opts: w.opts}
	s, err := f.script(r.Name, r.Head.Loads, r.Head.Hash)
	if err == nil {
		r.Kept.Store(&s)
	}
	return s, err
}

// script reads a tool's source with what it loads. It must still be what was
// described: a call is checked against that.
func (f *toolFolder) script(name string, loads []string, want string) (tool.Script, error) {
	text, err := f.read(name)
	if err != nil {
		return tool.Script{}, f.fileError(name, err)
	}
	s := tool.Script{Name: stem(name), Path: f.shown(name), Source: text, Libs: map[string]string{}}
	f.libs = map[string]index.Stamp{}
	for _, lib := range loads {
		if s.Libs[lib], err = f.read(lib); err != nil {
			return tool.Script{}, f.fileError(lib, err)
		}
		f.libs[lib] = index.Stamp{Hash: tool.HashBytes([]byte(s.Libs[lib]))}
	}
	s.Hash = tool.HashBytes([]byte(tool.HashBytes([]byte(text)) + f.libsHash(&index.Finding{Head: &tool.Head{Loads: loads}})))
	if s.Hash != want {
		e := value.Errorf(value.Conflict, "the file has changed since its tool was listed").WithHint("refresh the tools")
		e.Pos.File = s.Path
		return tool.Script{}, e
	}
	return s, nil
}

// The bounds of all shared files of a folder: thirty times what one tool may
// load. A stranger's folder is read before anybody has looked at it.
const (
	maxLibs     = 1000
	maxLibBytes = 32 << 20
)

// readLibs looks at the shared files, all of them: they are few, and a tool is
// described anew when one that it loads has changed.
func (f *toolFolder) readLibs() error {
	f.libs = map[string]index.Stamp{}
	bytes := int64(0)
	return fs.WalkDir(f.files, "lib", func(name string, d fs.DirEntry, err error) error {
		if name == "lib" && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() || path.Ext(name) != ".star" {
			return err
		}
		stamp, err := f.stamp(name, d)
		if err != nil {
			return nil // loading it will say so
		}
		if bytes += stamp.Size; bytes > maxLibBytes || len(f.libs) >= maxLibs {
			return value.Errorf(value.Limit, "the shared files are more than %d, or %d MB", maxLibs, maxLibBytes>>20)
		}
		old, ok := f.old.Libs[name]
		if ok && f.trusts(old, stamp) {
			f.libs[name] = old
			return nil
		}
		if stamp.Text, err = f.read(name); err != nil {
			return nil // loading it will say so
		}
		stamp.Hash = tool.HashBytes([]byte(stamp.Text))
		f.libs[name] = stamp
		return nil
	})
}

// libTexts returns the content of all shared files.
func (f *toolFolder) libTexts() map[string]string {
	texts := make(map[string]string, len(f.libs))
	for name, stamp := range f.libs {
		text := stamp.Text
		if text == "" && stamp.Size > 0 {
			var err error
			if text, err = f.read(name); err != nil || tool.HashBytes([]byte(text)) != stamp.Hash {
				continue // loading it will say so
			}
		}
		texts[name] = text
	}
	return texts
}

// libsHash names the state of the shared files that a finding depends on. A
// broken file may depend on any of them.
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

// DescribeFile reads what one file declares, wherever it lies; what it loads
// is looked for in the folder lib beside it.
func DescribeFile(ctx context.Context, file string, o *Options) (tool.Tool, error) {
	dir, name := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	if !slices.Contains(tool.ScriptSuffixes(), path.Ext(name)) {
		e := value.Errorf(value.Invalid, "not a tool's file").WithHint("tools end in %s", strings.Join(tool.ScriptSuffixes(), ", "))
		e.Pos.File = file
		return tool.Tool{}, e
	}
	shown := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(dir)), "/")
	f := &toolFolder{place: place{shown: shown}, files: os.DirFS(dir), opts: o, old: &index.Index{}}
	if err := f.readLibs(); err != nil {
		return tool.Tool{}, err
	}
	f.texts = sync.OnceValue(f.libTexts)
	text, err := f.read(name)
	if err != nil {
		return tool.Tool{}, f.fileError(name, err)
	}
	r := f.describeOne(ctx, name, text)
	if r.Err != nil {
		return tool.Tool{}, r.Err
	}
	return *r.Tool, nil
}
