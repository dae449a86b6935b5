package sandbox

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The text of the lines in errors and profiles is that of the script that was read or run: its
// file may have changed since. A worker is not asked for it, since it could make it up.

// maxExcerpts is how many lines an error has: that where it occurred, and those of the innermost
// calls.
const maxExcerpts = 3

// sources are the files of a script as lines.
type sources struct {
	script *tool.Script
	lines  map[string][]string // of the files that were needed so far
}

// line returns a line of a file, or false if there is none.
func (s *sources) line(file string, n int) (text string, ok bool) {
	lines, split := s.lines[file]
	if !split {
		text, known := s.script.Libs[file]
		if file == s.script.Path {
			text, known = s.script.Source, true
		}
		if known {
			text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
			lines = strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
		}
		if s.lines == nil {
			s.lines = map[string][]string{}
		}
		s.lines[file] = lines
	}
	if n < 1 || n > len(lines) {
		return "", false
	}
	return strings.ToValidUTF8(lines[n-1], "\ufffd"), true
}

// WithExcerpts returns err with the lines of the script that it is about, in [value.Error].Excerpts: that
// of its position, and those of the innermost calls, which are last. An error that names no
// line of the script is returned as it is.
func WithExcerpts(err error, script *tool.Script) error {
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Internal)
	at := []value.Position{e.Pos}
	for _, line := range slices.Backward(e.Trace) {
		if p, ok := framePosition(line, script); ok && !slices.Contains(at, p) {
			at = append(at, p)
		}
	}
	s := &sources{script: script}
	e.Excerpts = nil
	for _, p := range at {
		if text, ok := s.line(p.File, p.Line); ok && len(e.Excerpts) < maxExcerpts {
			e.Excerpts = append(e.Excerpts, value.Excerpt{Pos: p, Text: text})
		}
	}
	if e.Excerpts == nil {
		return err
	}
	slices.Reverse(e.Excerpts)
	return &e
}

// withExcerpts returns the error of a call with the lines that it is about. If the worker returns
// the error of a tool that the script called, these are lines of that tool.
func (r *remote) withExcerpts(err error) error {
	if e := value.ErrorOf(err, value.Internal); e != nil && r.failed != nil && e.Pos == r.failed.Pos && e.Pos.File != r.script.Path {
		located := *e
		located.Excerpts = r.failed.Excerpts
		return &located
	}
	return WithExcerpts(err, &r.script)
}

// framePosition reads the position in a line of [value.Error].Trace.
func framePosition(line string, script *tool.Script) (value.Position, bool) {
	place, _, _ := strings.Cut(line, ": in ")
	for file := range files(script) {
		numbers, ok := strings.CutPrefix(place, file+":")
		if !ok {
			continue
		}
		row, column, _ := strings.Cut(numbers, ":")
		n, err := strconv.Atoi(row)
		col, _ := strconv.Atoi(column) // 0 without a column
		if err == nil {
			return value.Position{File: file, Line: n, Col: col}, true
		}
	}
	return value.Position{}, false
}

// files yields the names of the files of a script.
func files(s *tool.Script) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(s.Path) {
			return
		}
		for name := range s.Libs {
			if !yield(name) {
				return
			}
		}
	}
}

// withTexts sets the text of each line of an outcome.
func withTexts(lines []trace.Line, script *tool.Script) {
	s := &sources{script: script}
	for i := range lines {
		lines[i].Text, _ = s.line(lines[i].File, lines[i].Line)
	}
}
