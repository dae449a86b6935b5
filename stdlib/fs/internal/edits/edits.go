// Package edits finds a text that is to be replaced, and shows what a replacement changes.
package edits

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bounds of the diff that an edit returns: it takes many times the memory of the file.
const (
	maxDiffedText  = 1 << 20
	maxDiffedEdits = 1000
	maxShownDiff   = 64 << 10
	maxShownLines  = 10 // how many line numbers an error shows
)

// An Edit replaces a text in a file.
//
// Who wrote the text has seen lines, not how they end, and a file may have both kinds of
// line ends. So a line break of the old text matches each kind, and the replaced lines
// decide how those of the new text end. Two callers mean the bytes: one whose old text has
// a CR and is in the file as it is, and one that changes nothing but line ends. In a text
// without LF, a line ends with CR.
type Edit struct {
	text, old, becomes string
	end                string // of a line, LF or CR
	convert            bool   // becomes is inserted as it is
	plain              string // of text, what is searched
	n, size            int    // the replacements, and the size of the new text
}

// Find returns the edit of a text. It fails if old does not occur, or, without all, occurs
// more than once.
func Find(shown, text, old, becomes string, all bool) (*Edit, error) {
	e := &Edit{text: text, old: old, becomes: becomes, end: "\n", plain: text}
	e.convert = plainBreaks(old) == plainBreaks(becomes)
	switch {
	case strings.Contains(text, "\r") && !strings.Contains(text, "\n"):
		e.end, e.convert = "\r", true
		e.old, e.becomes = strings.ReplaceAll(plainBreaks(old), "\n", "\r"), strings.ReplaceAll(plainBreaks(becomes), "\n", "\r")
	case strings.Contains(old, "\r") && strings.Contains(text, old):
	default:
		e.old = plainBreaks(old)
		if strings.Contains(e.old, "\n") {
			e.plain = plainBreaks(text)
		}
	}
	e.size = len(text)
	for r := range e.replacements() {
		e.n++
		e.size += len(r.New) - (r.End - r.Start)
	}
	switch {
	case e.n == 0:
		return nil, value.Errorf(value.Failed, "edit %s: the old text was not found", shown).WithHint("%s", almostMatch(strings.ReplaceAll(plainBreaks(text), e.end, "\n"), plainBreaks(old)))
	case e.n > 1 && !all:
		return nil, value.Errorf(value.Failed, "edit %s: the old text occurs %d times, at lines %s", shown, e.n, e.lines()).
			WithHint("include more of the surrounding text, or set replace_all to true")
	}
	return e, nil
}

// Count returns the number of replacements.
func (e *Edit) Count() int { return e.n }

// Size returns the size of the new text.
func (e *Edit) Size() int { return e.size }

// Apply returns the new text.
func (e *Edit) Apply() []byte {
	b := make([]byte, 0, e.size)
	end := 0
	for r := range e.replacements() {
		b = append(append(b, e.text[end:r.Start]...), r.New...)
		end = r.End
	}
	return append(b, e.text[end:]...)
}

func plainBreaks(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// replacements returns each replacement, in the order of the text.
func (e *Edit) replacements() iter.Seq[udiff.Edit] {
	return func(yield func(udiff.Edit) bool) {
		breaks := newBreaks(e.text, e.becomes)
		at, from := 0, 0 // the same position in text and in plain
		advance := func(to int) int {
			for len(e.plain) != len(e.text) {
				i := strings.IndexByte(e.plain[from:to], '\n')
				if i < 0 {
					break
				}
				at, from = at+i, from+i
				if e.text[at] == '\r' {
					at++
				}
				at, from = at+1, from+1
			}
			at, from = at+to-from, to
			return at
		}
		for {
			i := strings.Index(e.plain[from:], e.old)
			if i < 0 {
				return
			}
			r := udiff.Edit{Start: advance(from + i)}
			r.End = advance(from + len(e.old))
			r.New = e.becomes
			if !e.convert {
				r.New = breaks.insert(e.text[r.Start:r.End], r.End)
			}
			if !yield(r) {
				return
			}
		}
	}
}

// breaks gives an inserted text the line breaks of its place.
type breaks struct {
	text, as string
	lf, crlf string // as, with one kind of line breaks
	next     int    // the position of a line break, or len(text)
	last     int    // that of the last one, once next is len(text)
}

func newBreaks(text, as string) *breaks {
	b := &breaks{text: text, as: as, lf: plainBreaks(as), next: -1}
	b.crlf = strings.ReplaceAll(b.lf, "\n", "\r\n")
	return b
}

// insert returns the text that replaces old, which ends at a position. Lines that both have
// at the beginning and at the end keep their line breaks; the others get those of the lines
// that they replace. Without a line break in old, that of its line counts.
func (b *breaks) insert(old string, end int) string {
	switch n, cr := strings.Count(old, "\n"), strings.Count(old, "\r\n"); {
	case b.lf == b.crlf: // no line breaks
		return b.as
	case n == 0:
		return b.ofLine(end)
	case cr == 0:
		return b.lf
	case cr == n:
		return b.crlf
	}
	was, is := strings.SplitAfter(old, "\n"), strings.SplitAfter(b.lf, "\n")
	same := func(i, j int) bool { return plainBreaks(was[i]) == is[j] }
	head, tail := 0, 0
	for head < min(len(was), len(is)) && same(head, head) {
		head++
	}
	for tail < min(len(was), len(is))-head && same(len(was)-1-tail, len(is)-1-tail) {
		tail++
	}
	var to strings.Builder
	for i, line := range is {
		from := i // the line of old that decides
		if i >= len(is)-tail {
			from += len(was) - len(is)
		} else {
			from = max(min(i, len(was)-1-tail), 0)
		}
		line, broken := strings.CutSuffix(line, "\n")
		to.WriteString(line)
		switch {
		case !broken:
		case strings.HasSuffix(was[min(from, len(was)-2)], "\r\n"):
			to.WriteString("\r\n")
		default:
			to.WriteString("\n")
		}
	}
	return to.String()
}

// ofLine returns the text with the line breaks of the line at a position. The last line has
// those of the line before it.
func (b *breaks) ofLine(at int) string {
	if b.next < at {
		b.next = len(b.text)
		if i := strings.IndexByte(b.text[at:], '\n'); i >= 0 {
			b.next = at + i
		} else {
			b.last = strings.LastIndexByte(b.text, '\n')
		}
	}
	i := b.next
	if i == len(b.text) {
		i = b.last
	}
	switch {
	case i < 0:
		return b.as
	case i > 0 && b.text[i-1] == '\r':
		return b.crlf
	}
	return b.lf
}

// lines lists the lines at which the first replacements begin.
func (e *Edit) lines() string {
	var lines []string
	line, from := 1, 0
	for r := range e.replacements() {
		if len(lines) == maxShownLines {
			lines = append(lines, "…")
			break
		}
		line += strings.Count(e.text[from:r.Start], e.end)
		lines = append(lines, strconv.Itoa(line))
		from = r.Start
	}
	return strings.Join(lines, ", ")
}

// Diff returns the diff of an edit. The positions are known, so nothing is compared, and only the lines
// from the first replacement to the last one are looked at.
func (e *Edit) Diff(shown string) string {
	if e.n > maxDiffedEdits {
		return fmt.Sprintf("(%d replacements: too many for a diff)", e.n)
	}
	all := slices.Collect(e.replacements())
	start, end := all[0].Start, all[len(all)-1].End
	for range udiff.DefaultContextLines + 1 {
		start = max(0, strings.LastIndexByte(e.text[:start], '\n'))
		if n := strings.IndexByte(e.text[end:], '\n'); n >= 0 {
			end += n + 1
		} else {
			end = len(e.text)
		}
	}
	if start > 0 {
		start++
	}
	if end-start > maxDiffedText {
		return fmt.Sprintf("(%d replacements in %d bytes: too many for a diff)", e.n, end-start)
	}
	for i := range all {
		all[i].Start -= start
		all[i].End -= start
	}
	diff, err := udiff.ToUnified("a/"+shown, "b/"+shown, e.text[start:end], all, udiff.DefaultContextLines)
	if err != nil {
		return fmt.Sprintf("(no diff: %v)", err)
	}
	if len(diff) > maxShownDiff {
		diff = diff[:strings.LastIndexByte(diff[:maxShownDiff], '\n')+1] + "(diff truncated)\n"
	}
	return renumber(diff, strings.Count(e.text[:start], "\n"))
}

// hunk is the beginning of a hunk; every other line of a diff begins with another character.
var hunk = regexp.MustCompile(`(?m)^@@ -(\d+)(,\d+)? \+(\d+)`)

// renumber adds the lines before the text of a diff to its hunks.
func renumber(diff string, before int) string {
	if before == 0 {
		return diff
	}
	return hunk.ReplaceAllStringFunc(diff, func(head string) string {
		m := hunk.FindStringSubmatch(head)
		old, _ := strconv.Atoi(m[1])
		becomes, _ := strconv.Atoi(m[3])
		return fmt.Sprintf("@@ -%d%s +%d", old+before, m[2], becomes+before)
	})
}
