package fs

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Bounds of one search: of the expression, since every byte may be tried in
// each of its states; of a line, of which the part beyond is not looked at; of
// what is shown of a line; of all that is read, which is the text of a large
// project; of the beginning of a file that tells whether it is text; and of
// what is tried before the context is looked at again, which with the worst
// expression takes some 50 ms.
const (
	fsMaxExpression = 1000
	fsMaxLine       = 64 << 10
	fsShownLine     = 500
	fsMaxSearched   = 64 << 20
	fsSniffed       = 8000
	fsUnchecked     = 4 << 10
)

func (w *Files) searchFunc() tool.Func {
	limit := tool.Optional("limit", tool.TypeInteger, int64(1000), "how many lines to give at most")
	limit.Type.Min = int64(1)
	return w.fsReadFunc(w.anyPath, (*look).search, tool.Func{
		Name: "search",
		Doc: "Find the lines of text files that match. Binary files, files too large to read, " +
			"what git keeps and what the tool may not read are left out.",
		Params: []tool.Param{
			tool.Required("pattern", tool.TypeString, "a regular expression (RE2), or a text where regex is false"),
			tool.Optional("path", tool.TypeString, ".", "the folder to look in, or one file"),
			tool.Optional("glob", tool.TypeString, "**", "which files, relative to path; one without a slash is for the name alone, as in *.py"),
			tool.Optional("regex", tool.TypeBoolean, true, "whether the pattern is a regular expression"),
			tool.Optional("ignore_case", tool.TypeBoolean, false, "take capital and small letters as the same"),
			tool.Optional("hidden", tool.TypeBoolean, false, "also files and folders whose names begin with a dot"),
			limit,
		},
		Returns: `a list of {"path", "line": its number from 1, "text"} in the order of the paths, the first ones where there are more than the limit`,
	})
}

// An fsSearch is one search under way.
type fsSearch struct {
	look  *look
	re    *regexp.Regexp
	glob  string
	base  string // the folder that the glob is relative to
	limit int
	left  int64 // bytes that may still be read
	found value.List
}

func (l *look) search(args *value.Dict) (value.Value, error) {
	re, err := fsExpression(args)
	if err != nil {
		return nil, err
	}
	glob := args.Text("glob")
	if err := fsCheckPattern(glob); err != nil {
		return nil, err
	}
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	k := &fsSearch{look: l, re: re, glob: fsBelow(glob), base: s.path, left: fsMaxSearched, found: value.List{}}
	k.limit = l.limit(args)
	if s.kind() != fsFolder {
		err = k.file(s)
	} else {
		walk := walk{look: l, hidden: args.Bool("hidden") || fsNamesHidden(glob), depth: fsMaxDepth, visit: k.visit}
		err = walk.run(s, 0)
	}
	if err != nil && !errors.Is(err, errFsEnough) {
		return nil, err
	}
	return k.found, nil
}

func fsExpression(args *value.Dict) (*regexp.Regexp, error) {
	pattern := args.Text("pattern")
	if pattern == "" || len(pattern) > fsMaxExpression {
		return nil, value.Errorf(value.Invalid, "a pattern has 1 to %d bytes, this one %d", fsMaxExpression, len(pattern))
	}
	if !args.Bool("regex") {
		pattern = regexp.QuoteMeta(pattern)
	}
	if args.Bool("ignore_case") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "%q is not a regular expression: %w", args.Text("pattern"), err).
			WithHint("regex=False looks for the text as it is")
	}
	return re, nil
}

// visit searches one file of a walk, if it is among those that were asked for.
func (k *fsSearch) visit(s *spot) error {
	if s.kind() != fsFile || !k.wanted(s) || k.look.allows(reads(s.path)) != nil {
		return nil
	}
	err := k.file(s)
	switch {
	case err == nil, errors.Is(err, errFsEnough):
		return err
	case value.KindOf(err) == value.Limit && value.ErrorOf(err, value.Internal).Limit == value.LimitRead:
		return nil // larger than what can be read
	case value.KindOf(err) == value.Failed, value.KindOf(err) == value.Conflict:
		return nil // not readable, or gone
	}
	return err
}

func (k *fsSearch) wanted(s *spot) bool {
	if !strings.Contains(k.glob, "/") {
		return doublestar.MatchUnvalidated(k.glob, s.name)
	}
	return doublestar.MatchUnvalidated(k.glob, strings.TrimPrefix(s.path, k.base+"/"))
}

func (k *fsSearch) file(s *spot) error {
	if err := row.Stopped(k.look.ctx); err != nil {
		return err
	}
	buf := k.look.w.buffer()
	defer k.look.w.buffers.Put(buf)
	data, err := s.read(k.look.w.limits.Read, *buf)
	if err != nil {
		return err
	}
	if k.left -= int64(len(data)); k.left < 0 {
		return fsLimit(value.LimitSearch, "more than %s to search", fsSize(fsMaxSearched)).WithHint("name a folder further down, or a glob")
	}
	if bytes.IndexByte(data[:min(len(data), fsSniffed)], 0) >= 0 {
		return nil
	}
	return k.lines(s, data)
}

func (k *fsSearch) lines(s *spot, data []byte) error {
	unchecked := 0
	for number := int64(1); len(data) > 0; number++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > fsMaxLine {
			line = line[:fsMaxLine]
		}
		if unchecked += len(line) + 1; unchecked > fsUnchecked {
			unchecked = 0
			if err := row.Stopped(k.look.ctx); err != nil {
				return err
			}
		}
		at := k.re.FindIndex(line)
		if at == nil {
			continue
		}
		k.found = append(k.found, value.NewDict("path", k.look.w.Shown(s.path), "line", number, "text", fsCutLine(line, at[0])))
		if len(k.found) == k.limit {
			return errFsEnough
		}
	}
	return nil
}

// fsCutLine gives a line as text, of a long one the part around a match.
func fsCutLine(line []byte, at int) string {
	if len(line) <= fsShownLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	start := 0
	if at > fsShownLine/2 {
		start = at - fsShownLine/4
	}
	for start > 0 && start < len(line) && !utf8.RuneStart(line[start]) {
		start--
	}
	end := min(start+fsShownLine, len(line))
	for end < len(line) && end > start && !utf8.RuneStart(line[end]) {
		end--
	}
	text := strings.ToValidUTF8(string(line[start:end]), "\uFFFD")
	if start > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}
