package page

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff/lcs"

	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A File is a changed file.
type File struct {
	Word    FileWord
	Path    []visible.Span
	Notes   []string // what a diff does not show: the mode, a binary content
	Lines   []DiffLine
	Added   int
	Removed int
	Left    int // lines that are not shown
}

// A FileWord is what is done to a file: "new", "changes", "deletes", "moves", "mkdir" or "rmdir".
type FileWord string

// Text returns it as a title has it, "" for what everybody expects.
func (w FileWord) Text() string {
	return map[FileWord]string{"deletes": "deleted", "moves": "moved", "mkdir": "new folder", "rmdir": "folder deleted"}[w]
}

// Name returns the path of a file as text.
func (f *File) Name() string { return joinSpans(f.Path) }

// A DiffLine is a line of a diff.
type DiffLine struct {
	Sign     review.Sign
	Old, New int // 0 is none
	Hunk     string
	Words    []Word
	Size     int
}

// A Word is a part of a line.
type Word struct {
	Spans   []visible.Span
	Changed bool
}

// Class returns the class of the line's row.
func (l *DiffLine) Class() string {
	return map[review.Sign]string{review.Added: "add", review.Removed: "del", review.Hunk: "hunk", review.Note: "hunk"}[l.Sign]
}

// Number writes the number of a line, or nothing.
func (l *DiffLine) Number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Files returns the changes of files, as a diff shows them.
func Files(changes []tool.Change) []File {
	var r review.Review
	r.Changes(changes)
	return filesOf(r.Parts)
}

// filesOf returns the files of a review.
func filesOf(parts []review.Part) []File {
	var files []File
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Kind == review.File:
			files = append(files, fileOf(p))
		case p.Kind == review.Diff && len(files) > 0:
			f := &files[len(files)-1]
			f.setLines(p.Lines)
		}
	}
	return files
}

// fileOf returns the head of a file. The sums behind its path are counted from the lines.
func fileOf(p *review.Part) File {
	f := File{Word: FileWord(p.Label)}
	for _, s := range p.Lines[0].Spans {
		if s.Size > 0 || s.Mark != "" || s.Text == " → " {
			f.Path = append(f.Path, s)
		}
	}
	for _, l := range p.Lines[1:] {
		f.Notes = append(f.Notes, joinSpans(l.Spans))
	}
	return f
}

func joinSpans(list []visible.Span) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.Text)
	}
	return b.String()
}

func (f *File) setLines(list []review.Line) {
	for i := range list {
		l := &list[i]
		d := DiffLine{Sign: l.Sign, Old: l.Old, New: l.New, Size: l.Size, Words: []Word{{Spans: l.Spans}}}
		switch l.Sign {
		case review.Hunk:
			d.Hunk = f.hunk(list[i+1:], l)
		case review.Note:
			d.Hunk = joinSpans(l.Spans)
		case review.Added:
			f.Added++
		case review.Removed:
			f.Removed++
		}
		f.Lines = append(f.Lines, d)
	}
	markWords(f.Lines)
}

// hunk says where in a file the lines of a hunk are.
func (f *File) hunk(list []review.Line, head *review.Line) string {
	first, last := 0, 0
	for i := range list {
		if list[i].Sign == review.Hunk {
			break
		}
		n := list[i].New
		if f.Word == "deletes" {
			n = list[i].Old
		}
		if n == 0 {
			continue
		}
		if first == 0 {
			first = n
		}
		last = n
	}
	switch {
	case f.Word == "new" && last > 0:
		return "new file, " + count(last, "line")
	case f.Word == "deletes" && last > 0:
		return "all " + count(last, "line") + " of it"
	case first == 0:
		return joinSpans(head.Spans)
	case first == last:
		return "line " + num(first)
	}
	return fmt.Sprintf("lines %s to %s", num(first), num(last))
}

// markWords marks what differs within the lines that replace each other.
func markWords(list []DiffLine) {
	for i := 0; i < len(list); {
		from := i
		for i < len(list) && list[i].Sign == review.Removed {
			i++
		}
		to := i
		for i < len(list) && list[i].Sign == review.Added {
			i++
		}
		for n := range min(to-from, i-to) {
			markPair(&list[from+n], &list[to+n])
		}
		if i == from {
			i++
		}
	}
}

// mostTokens is how long a line may be whose words are compared.
const mostTokens = 400

// markPair marks the words in which two lines differ, if they have enough in common.
func markPair(old, new *DiffLine) {
	a, b := tokens(old.Words[0].Spans), tokens(new.Words[0].Spans)
	if len(a) > mostTokens || len(b) > mostTokens {
		return
	}
	texts := func(list []visible.Span) []string {
		var texts []string
		for _, s := range list {
			texts = append(texts, s.Text)
		}
		return texts
	}
	changedA, changedB := make([]bool, len(a)), make([]bool, len(b))
	for _, d := range lcs.DiffLines(texts(a), texts(b)) {
		for i := d.Start; i < d.End; i++ {
			changedA[i] = true
		}
		for i := d.ReplStart; i < d.ReplEnd; i++ {
			changedB[i] = true
		}
	}
	if same, all := letters(a, changedA), max(letters(a, nil), letters(b, nil)); 3*same < all {
		return
	}
	old.Words, new.Words = words(a, changedA), words(b, changedB)
}

// letters counts the bytes of what is not white space and not changed.
func letters(list []visible.Span, changed []bool) (n int) {
	for i, s := range list {
		if (changed == nil || !changed[i]) && strings.TrimSpace(s.Text) != "" {
			n += s.Size
		}
	}
	return n
}

// words puts tokens together that are all changed, or all the same.
func words(list []visible.Span, changed []bool) []Word {
	var words []Word
	for i, s := range list {
		if n := len(words); n == 0 || words[n-1].Changed != changed[i] {
			words = append(words, Word{Changed: changed[i]})
		}
		w := &words[len(words)-1]
		if n := len(w.Spans); n > 0 && s.Mark == "" && w.Spans[n-1].Mark == "" {
			w.Spans[n-1].Text += s.Text
			w.Spans[n-1].Size += s.Size
			continue
		}
		w.Spans = append(w.Spans, s)
	}
	return words
}

// tokens cuts a line into words, runs of white space and single signs. A mark is one token.
func tokens(list []visible.Span) []visible.Span {
	var all []visible.Span
	for _, s := range list {
		if s.Mark != "" {
			all = append(all, s)
			continue
		}
		start, before := 0, 0
		for i, r := range s.Text {
			kind := 3 + i // a sign is alone
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
				kind = 1
			case r == ' ':
				kind = 2
			}
			if i > start && kind != before {
				all = append(all, visible.Span{Text: s.Text[start:i], Size: i - start})
				start = i
			}
			before = kind
		}
		all = append(all, visible.Span{Text: s.Text[start:], Size: len(s.Text) - start})
	}
	return all
}
