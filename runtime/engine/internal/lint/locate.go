package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Meant returns the name that a misspelled one certainly stands for, or "": the only nearest one, if that has about
// the same length or is the only one that begins with it.
func Meant(name string, names []string) string {
	similar := value.Similar(name, names)
	if len(similar) == 1 && isSimilar(name, similar[0]) {
		return similar[0]
	}
	var longer []string
	for _, n := range names {
		if strings.HasPrefix(n, name) {
			longer = append(longer, n)
		}
	}
	if len(similar) > 0 && len(name) >= 4 && len(longer) == 1 {
		return longer[0]
	}
	return ""
}

// isSimilar reports whether two names have about the same length.
func isSimilar(name, meant string) bool {
	return max(len(meant)-len(name), len(name)-len(meant)) <= 2
}

var (
	suggestion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`['"]([^'"]+)['"][^'"]*; did you mean "([^"]+)"\?`)
	})
	quotedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'([^']+)'`) })
)

// locate moves a diagnostic of a declaration to the name in its line that its message quotes, if only the line
// is known. If the message suggests another name, the fix is to write that.
func (r *Report) locate(d *diagnostic.Diagnostic, onlyLine bool) {
	if m := suggestion().FindStringSubmatch(d.Message); m != nil {
		got, meant := m[1], m[2]
		if !strings.Contains(meant, ":") {
			got, _, _ = strings.Cut(got, ":") // the target of a capability
		}
		if span, ok := r.find(d.Span.Start, got); ok {
			r.move(d, span)
			if isSimilar(got, meant) {
				r.meant[meant] = true
				d.Fix = &diagnostic.Fix{Title: fmt.Sprintf("write %s", meant), Edits: []diagnostic.Edit{{Span: span, Text: meant}}}
			}
		}
		return
	}
	if !onlyLine {
		return
	}
	for _, m := range slices.Backward(quotedName().FindAllStringSubmatch(d.Message, -1)) {
		if span, ok := r.find(d.Span.Start, m[1]); ok {
			r.move(d, span)
			return
		}
	}
}

func (r *Report) move(d *diagnostic.Diagnostic, span diagnostic.Span) {
	at := r.At(span, d.Severity, d.Code, d.Message)
	d.Pos, d.Span = at.Pos, at.Span
}

// find returns where the line of an offset has a word: at the offset, inside the quotes that begin there, or
// at the only other place.
func (r *Report) find(offset int, word string) (span diagnostic.Span, ok bool) {
	n := r.LineOf(offset)
	line, start := r.Line(n), r.Offset(n, 1)
	places := 0
	for i := 0; i+len(word) <= len(line); i++ {
		if line[i:i+len(word)] != word || i > 0 && isNameRune(rune(line[i-1])) || i+len(word) < len(line) && isNameRune(rune(line[i+len(word)])) {
			continue
		}
		at := diagnostic.Span{Start: start + i, End: start + i + len(word)}
		if at.Start == offset || at.Start == offset+1 && strings.ContainsRune(`"'`, rune(line[i-1])) {
			return at, true
		}
		span = at
		places++
	}
	return span, places == 1
}
