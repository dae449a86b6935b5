// Package edits finds a text that is to be replaced, and shows what a replacement changes.
package edits

import (
	"fmt"
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
	maxGuessed     = 50 // how many lines of a missing text are searched for with other spaces
)

// Count counts the occurrences of old. It fails if old does not occur, or, without all, occurs more than once.
func Count(shown, text, old string, all bool) (int, error) {
	n := strings.Count(text, old)
	switch {
	case n == 0:
		return 0, value.Errorf(value.Failed, "edit %s: the old text was not found", shown).WithHint("%s", almostMatch(text, old))
	case n > 1 && !all:
		return 0, value.Errorf(value.Failed, "edit %s: the old text occurs %d times, at lines %s", shown, n, matchLines(text, old)).
			WithHint("include more of the surrounding text, or pass replace_all=True")
	}
	return n, nil
}

// matchLines lists the lines at which the first matches begin.
func matchLines(text, old string) string {
	var lines []string
	line, from := 1, 0
	for {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		if len(lines) == maxShownLines {
			return strings.Join(lines, ", ") + ", …"
		}
		line += strings.Count(text[from:from+i], "\n")
		lines = append(lines, strconv.Itoa(line))
		line += strings.Count(old, "\n")
		from += i + len(old)
	}
}

// almostMatch returns a hint for a text that is not there: most often its spaces or line ends
// differ.
func almostMatch(text, old string) string {
	if strings.Contains(text, strings.ReplaceAll(old, "\n", "\r\n")) {
		return `write each line break as "\r\n", as in the file`
	}
	want := trimmedLines(old)
	have := trimmedLines(text)
	if len(want) > maxGuessed {
		have = nil
	}
	for i := 0; i+len(want) <= len(have); i++ {
		if linesMatch(have[i:], want) {
			return fmt.Sprintf("line %d has the text with different spaces: copy the text from the file exactly", i+1)
		}
	}
	return "read the file, and copy the text from it exactly"
}

func trimmedLines(text string) []string {
	if len(text) > maxDiffedText {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return lines
}

func linesMatch(have, want []string) bool {
	blank := true
	for i, line := range want {
		if have[i] != line {
			return false
		}
		blank = blank && line == ""
	}
	return !blank
}

// Diff returns the diff of an edit. The positions are known, so nothing is compared.
func Diff(shown, text, old, becomes string, n int) string {
	if len(text) > maxDiffedText || n > maxDiffedEdits {
		return fmt.Sprintf("(%d replacements in %d bytes: too many for a diff)", n, len(text))
	}
	edits := make([]udiff.Edit, 0, n)
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		start := from + i
		from = start + len(old)
		edits = append(edits, udiff.Edit{Start: start, End: from, New: becomes})
	}
	diff, err := udiff.ToUnified("a/"+shown, "b/"+shown, text, edits, udiff.DefaultContextLines)
	if err != nil {
		return fmt.Sprintf("(no diff: %v)", err)
	}
	if len(diff) > maxShownDiff {
		diff = diff[:strings.LastIndexByte(diff[:maxShownDiff], '\n')+1] + "(diff truncated)\n"
	}
	return diff
}
