package fs

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/grep"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// maxSearched is how many bytes of all files one search reads.
const maxSearched = 1 << 30

// The bounds of what a search returns: lines, and bytes of their texts.
const (
	maxFound     = 10_000
	maxFoundText = 4 << 20
)

// maxSkipped is how many of the things that were left out a search names.
const maxSkipped = 100

func (w *Files) searchFunc() tool.Func {
	limit := tool.Optional("limit", tool.TypeInteger, int64(1000), "the maximum number of matches")
	limit.Type.Min = int64(1)
	return w.readFunc(w.anyPath, searchFiles, tool.Func{
		Name: "search",
		Doc: "Find the matching lines of text files. Files can have any size, and any encoding that data.read detects. " +
			"Git's own files (.git) and files that the tool may not read are omitted. The end of the result lists everything else that was skipped.",
		Params: []tool.Param{
			tool.Required("pattern", tool.TypeString, "a regular expression (RE2), or plain text if regex is False"),
			tool.Optional("path", tool.TypeString, ".", "the folder to search, or one file"),
			tool.Optional("glob", tool.TypeString, "**", "the glob of the files to search, relative to path; a glob without a slash, such as *.py, matches the file name only"),
			tool.Optional("regex", tool.TypeBoolean, true, "whether the pattern is a regular expression"),
			tool.Optional("ignore_case", tool.TypeBoolean, false, "ignore the case of letters"),
			tool.Optional("hidden", tool.TypeBoolean, false, "also search files and folders whose names begin with a dot"),
			limit,
			around(tool.Optional("before", tool.TypeInteger, int64(0), "how many lines before each match to return")),
			around(tool.Optional("after", tool.TypeInteger, int64(0), "how many lines after each match to return")),
			tool.Optional("multiline", tool.TypeBoolean, false, "whether a match can have several lines; it always can if the pattern contains a line break. ^ and $ match at each line. Only files of up to 8 MB are searched"),
			ignoredParam(),
		},
		Returns: `a list of matches, at most limit, sorted by path: {"path", "line": the line number from 1, "text"}. ` +
			`The text of a match of several lines has line breaks. A line near a match also has "context", which is True. ` +
			`After the matches, the list has one item for each file, folder or line that was skipped: {"path", "line", "text", "skipped"}. "skipped" is the reason, and "text" is empty. "line" is 0 for a file or folder. ` +
			`Files and folders that cannot be read are skipped. The end of a line that is longer than 64 KB is skipped. After 1 GB, all other files are skipped. ` +
			`At most 100 skipped items are listed. If there are more, one more item follows, whose "skipped" is a text such as "5 more". ` +
			`Items without a path count what else was skipped, as in "2 binary files" and "3 files or folders that ignore files exclude"; if nothing was found, also hidden files and links. The skipped items do not count toward limit`,
	})
}

// maxAround is how many lines before or after a match a search returns.
const maxAround = 100

func around(p tool.Param) tool.Param {
	p.Type.Min, p.Type.Max = int64(0), int64(maxAround)
	return p
}

// A searcher is one search in progress.
type searcher struct {
	look    *look
	search  *grep.Search
	glob    string
	base    string // the folder that the glob is relative to
	limit   int
	matches int
	found   value.List // matches and the lines around them
	size    int        // of their texts
	skipped value.List // what was not searched: maxSkipped items at most
	more    int        // how many others
	binary  int        // binary files
	others  int        // links and special files
	read    int64      // bytes of all files so far
	told    time.Time  // when its progress was last reported; at first, when it began
}

// reportEvery is how long a search is quiet before it reports its progress.
const reportEvery = time.Second

// report reports the progress of the search at a file, now and then.
func (k *searcher) report(s *spot) {
	now := k.look.w.now()
	if k.look.emit == nil || now.Sub(k.told) < reportEvery {
		return
	}
	k.told = now
	k.look.emit(tool.Progress{Message: fmt.Sprintf("searching %s (%d MB read, %d found)", k.look.w.Shown(s.path), k.read>>20, k.matches)})
}

// A reporter reports the progress of a search while it reads a file.
type reporter struct {
	io.Reader
	k *searcher
	s *spot
}

func (r reporter) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.k.read += int64(n)
	r.k.report(r.s)
	return n, err
}

// skip notes that something was not searched.
func (k *searcher) skip(p string, line int64, why string) {
	if len(k.skipped) == maxSkipped {
		k.more++
		return
	}
	k.skipped = append(k.skipped, skippedItem(k.look.w.Shown(p), line, why))
}

func skippedItem(p string, line int64, why string) *value.Dict {
	return value.NewDict("path", p, "line", line, "text", "", "skipped", why)
}

// result returns what was found, and then what was skipped.
func (k *searcher) result(w *walk) value.List {
	list := append(k.found, k.skipped...)
	count := func(n int, one, many string) {
		if n > 0 {
			list = append(list, skippedItem("", 0, counts(n, one, many)))
		}
	}
	count(k.more, "more", "more")
	count(k.binary, "binary file", "binary files")
	count(w.ignored, "file or folder that ignore files exclude", "files or folders that ignore files exclude")
	if k.matches == 0 {
		count(w.dotted, "file or folder whose name begins with a dot", "files or folders whose names begin with a dot")
		count(k.others, "link or special file", "links or special files")
	}
	return list
}

func counts(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func searchFiles(l *look, args *value.Dict) (value.Value, error) {
	search, err := grep.New(grep.Options{
		Pattern: args.Text("pattern"), Literal: !args.Bool("regex"), IgnoreCase: args.Bool("ignore_case"), Multiline: args.Bool("multiline"),
		Before: int(args.Int("before")), After: int(args.Int("after")), Most: maxSearched,
	})
	if err != nil {
		return nil, err
	}
	glob := args.Text("glob")
	if err := checkGlob(glob); err != nil {
		return nil, err
	}
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	k := &searcher{look: l, search: search, glob: globInside(glob), base: s.path, found: value.List{}, told: l.w.now()}
	k.limit = l.limit(args)
	walk := walk{look: l, args: args, hidden: args.Bool("hidden") || globNamesHidden(glob), depth: maxDepth, wants: k.wants, visit: k.visit, skip: k.skip}
	if s.kind() != kindFolder {
		if err = k.file(s); errors.Is(err, grep.ErrBinary) {
			k.skip(s.path, 0, err.Error())
			err = nil
		}
	} else {
		err = walk.run(s)
	}
	if err != nil && !errors.Is(err, errFsEnough) {
		return nil, err
	}
	return k.result(&walk), nil
}

// visit searches one file of a walk.
func (k *searcher) visit(s *spot) error {
	if s.kind() != kindFile {
		k.others++
		return nil
	}
	k.report(s)
	err := k.file(s)
	if errors.Is(err, grep.ErrBinary) {
		k.binary++
		return nil
	}
	switch value.KindOf(err) {
	case value.Denied:
		return nil // perhaps kept from the call by a rule
	case value.Failed, value.Conflict: // not readable, or gone
		if !errors.Is(err, errFsEnough) {
			k.skip(s.path, 0, value.ErrorOf(err, value.Failed).Message())
			return nil
		}
	}
	return err
}

// wants reports whether a file matches the glob and may be read.
func (k *searcher) wants(s *spot) (bool, error) {
	name := s.name
	if strings.Contains(k.glob, "/") {
		name = strings.TrimPrefix(s.path, k.base+"/")
	}
	matches, err := k.look.matches(k.glob, name)
	return matches && k.look.allows(reads(s.path)) == nil, err
}

// full reports whether the search has found all that it returns.
func (k *searcher) full() bool {
	return k.matches == k.limit || len(k.found) == maxFound || k.size > maxFoundText
}

func (k *searcher) file(s *spot) error {
	if err := row.Stopped(k.look.ctx); err != nil {
		return err
	}
	in, done, err := s.stream()
	if err != nil {
		return err
	}
	defer done()
	err = k.search.File(k.look.ctx, reporter{in, k, s}, func(at grep.Line) bool {
		item := value.NewDict("path", k.look.w.Shown(s.path), "line", at.Number, "text", at.Text)
		if at.Context {
			item.Put("context", true)
		} else {
			k.matches++
		}
		k.found = append(k.found, item)
		k.size += len(at.Text)
		return !k.full()
	}, func(line int64, why string) { k.skip(s.path, line, why) })
	switch {
	case errors.Is(err, grep.ErrBinary):
		return err
	case err != nil:
		return k.look.failed(reading, s.path, err)
	case k.matches == k.limit:
		return errFsEnough
	case k.full():
		k.skipped = append(k.skipped, skippedItem("", 0, "everything after the first lines, which fill the result"))
		return errFsEnough
	}
	return nil
}
