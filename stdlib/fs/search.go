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

// maxSkipped is how many of the things that were left out a search names.
const maxSkipped = 100

func (w *Files) searchFunc() tool.Func {
	limit := tool.Optional("limit", tool.TypeInteger, int64(1000), "the maximum number of lines")
	limit.Type.Min = int64(1)
	return w.readFunc(w.anyPath, searchFiles, tool.Func{
		Name: "search",
		Doc: "Find the matching lines of text files. Files can have any size. Binary files, " +
			"git's own files (.git) and files that the tool may not read are omitted. The end of the result lists everything else that was skipped.",
		Params: []tool.Param{
			tool.Required("pattern", tool.TypeString, "a regular expression (RE2), or plain text if regex is False"),
			tool.Optional("path", tool.TypeString, ".", "the folder to search, or one file"),
			tool.Optional("glob", tool.TypeString, "**", "the glob of the files to search, relative to path; a glob without a slash, such as *.py, matches the file name only"),
			tool.Optional("regex", tool.TypeBoolean, true, "whether the pattern is a regular expression"),
			tool.Optional("ignore_case", tool.TypeBoolean, false, "ignore the case of letters"),
			tool.Optional("hidden", tool.TypeBoolean, false, "also search files and folders whose names begin with a dot"),
			limit,
		},
		Returns: `a list of matches, at most limit, sorted by path: {"path", "line": the line number from 1, "text"}. ` +
			`After the matches, the list has one item for each file, folder or line that was skipped: {"path", "line", "text", "skipped"}. "skipped" is the reason, and "text" is empty. "line" is 0 for a file or folder. ` +
			`Files and folders that cannot be read are skipped. The end of a line that is longer than 64 KB is skipped. After 1 GB, all other files are skipped. ` +
			`At most 100 skipped items are listed. If there are more, one more item follows, whose "skipped" is a text such as "5 more". The skipped items do not count toward limit`,
	})
}

// A searcher is one search in progress.
type searcher struct {
	look    *look
	search  *grep.Search
	glob    string
	base    string // the folder that the glob is relative to
	limit   int
	found   value.List
	skipped value.List // what was not searched: maxSkipped items at most
	more    int        // how many others
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
	k.look.emit(tool.Progress{Message: fmt.Sprintf("searching %s (%d MB read, %d found)", k.look.w.Shown(s.path), k.read>>20, len(k.found))})
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
	k.skipped = append(k.skipped, value.NewDict("path", k.look.w.Shown(p), "line", line, "text", "", "skipped", why))
}

// result returns what was found, and then what was skipped.
func (k *searcher) result() value.List {
	list := append(k.found, k.skipped...)
	if k.more > 0 {
		list = append(list, value.NewDict("path", "", "line", int64(0), "text", "", "skipped", fmt.Sprintf("%d more", k.more)))
	}
	return list
}

func searchFiles(l *look, args *value.Dict) (value.Value, error) {
	search, err := grep.New(args.Text("pattern"), !args.Bool("regex"), args.Bool("ignore_case"), maxSearched)
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
	if s.kind() != kindFolder {
		err = k.file(s)
	} else {
		walk := walk{look: l, hidden: args.Bool("hidden") || globNamesHidden(glob), depth: maxDepth, visit: k.visit, skip: k.skip}
		err = walk.run(s, 0)
	}
	if err != nil && !errors.Is(err, errFsEnough) {
		return nil, err
	}
	return k.result(), nil
}

// visit searches one file of a walk, if it matches the glob.
func (k *searcher) visit(s *spot) error {
	if s.kind() != kindFile {
		return nil
	}
	k.report(s)
	if wanted, err := k.selects(s); err != nil || !wanted || k.look.allows(reads(s.path)) != nil {
		return err
	}
	err := k.file(s)
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

func (k *searcher) selects(s *spot) (bool, error) {
	if !strings.Contains(k.glob, "/") {
		return k.look.matches(k.glob, s.name)
	}
	return k.look.matches(k.glob, strings.TrimPrefix(s.path, k.base+"/"))
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
	err = k.search.File(k.look.ctx, reporter{in, k, s}, func(line int64, text string) bool {
		k.found = append(k.found, value.NewDict("path", k.look.w.Shown(s.path), "line", line, "text", text))
		return len(k.found) < k.limit
	}, func(line int64, why string) { k.skip(s.path, line, why) })
	if err != nil {
		return k.look.failed(reading, s.path, err)
	}
	if len(k.found) == k.limit {
		return errFsEnough
	}
	return nil
}
