package scripttest

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// same reports whether two values are equal for a test: 3 equals 3.0, and a tuple a list of the
// same elements, as in the JSON that models get.
func same(a, b value.Value) bool { return value.Equal(a, b) || value.EqualJSON(a, b) }

// ExampleError returns the error of an example whose result is not the expected one, or nil.
func ExampleError(e *tool.Example, got value.Value) error {
	if !e.HasExpect || value.EqualJSON(got, e.Expect) {
		return nil
	}
	return value.Errorf(value.Failed, "the result differs from the example (-want +got):\n%s", Diff(e.Expect, got))
}

// Diff returns the lines in which a value differs from the expected one, with some lines around them.
// Lines that begin with - are expected. Texts of several lines are compared by line. Other values are
// written as in a script, an element on each line. A long difference is cut.
func Diff(want, got value.Value) string {
	a, isText := want.(string)
	b, areTexts := got.(string)
	texts := isText && areTexts && strings.Contains(a+b, "\n")
	if !texts {
		a, b = formatted(want), formatted(got)
	}
	if a == b { // they differ only in their types
		return fmt.Sprintf("  want %s %s\n  got  %s %s", value.TypeOf(want), brief(want), value.TypeOf(got), brief(got))
	}
	return lineDiff(strings.Split(a, "\n"), strings.Split(b, "\n"), texts)
}

// The limits of a difference.
const (
	maxCompared = 1000 // lines of each value
	maxLines    = 100  // of a difference
	maxLine     = 500  // bytes
	maxShort    = 40   // lines of both values, which are then shown completely
)

// lineDiff returns the difference between two lists of lines. If they are texts, it has the numbers of lines.
func lineDiff(want, got []string, texts bool) string {
	context := udiff.DefaultContextLines
	if len(want)+len(got) <= maxShort {
		context = maxShort
	}
	first := 0
	for first < min(len(want), len(got)) && want[first] == got[first] {
		first++
	}
	first = max(0, first-context)
	want, got = want[first:], got[first:]
	end := 0
	for end < min(len(want), len(got)) && want[len(want)-1-end] == got[len(got)-1-end] {
		end++
	}
	end = max(0, end-context)
	want, got = want[:len(want)-end], got[:len(got)-end]
	skipped := max(0, len(want)-maxCompared, len(got)-maxCompared)
	a, b := joined(want), joined(got)
	u, err := udiff.ToUnifiedDiff("want", "got", a, udiff.Lines(a, b), context)
	if err != nil { // cannot happen: the edits are its own
		return ""
	}
	var lines []string
	for i, h := range u.Hunks {
		switch {
		case i == 0 && first+h.FromLine <= 1:
		case texts:
			lines = append(lines, fmt.Sprintf("@@ line %d @@", first+h.FromLine))
		default:
			lines = append(lines, "  …")
		}
		for _, l := range h.Lines {
			mark := "  "
			switch l.Kind {
			case udiff.Delete:
				mark = "- "
			case udiff.Insert:
				mark = "+ "
			}
			lines = append(lines, mark+clipped(strings.TrimSuffix(l.Content, "\n")))
		}
	}
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("(%d more lines)", more+skipped))
	} else if skipped > 0 {
		lines = append(lines, fmt.Sprintf("(%d more lines were not compared)", skipped))
	}
	return strings.Join(lines, "\n")
}

// joined returns a text of lines, without those that are not compared.
func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines[:min(len(lines), maxCompared)], "\n") + "\n"
}

// clipped returns the beginning of a line.
func clipped(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxLine], "") + fmt.Sprintf("… (%d bytes)", len(line))
}

// formatted returns a value as a script writes it, with each element on a line. The keys of dicts are
// sorted, and integral floats are written as integers, since neither makes values differ.
func formatted(v value.Value) string {
	var b strings.Builder
	write(&b, v, "")
	return b.String()
}

func write(b *strings.Builder, v value.Value, indent string) {
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			b.WriteString(strconv.FormatInt(int64(v), 10))
			return
		}
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case *big.Int:
		b.WriteString(v.String())
	case string:
		writeText(b, v, indent)
	case []byte:
		b.WriteString("b" + strconv.Quote(string(v)))
	case value.Media:
		fmt.Fprint(b, v)
	case *value.Dict:
		writeDict(b, v, indent)
	default:
		items, ok := value.Elements(v)
		switch {
		case !ok:
			b.WriteString(value.FormatJSON(v, ""))
		case len(items) == 0:
			b.WriteString("[]")
		default:
			b.WriteString("[\n")
			for _, item := range items {
				b.WriteString(indent + "    ")
				write(b, item, indent+"    ")
				b.WriteString(",\n")
			}
			b.WriteString(indent + "]")
		}
	}
}

func writeDict(b *strings.Builder, d *value.Dict, indent string) {
	if d.OrEmpty().Len() == 0 {
		b.WriteString("{}")
		return
	}
	type entry struct {
		key string
		v   value.Value
	}
	var entries []entry
	for k, item := range d.All() {
		entries = append(entries, entry{value.FormatJSON(k, ""), item})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	b.WriteString("{\n")
	for _, e := range entries {
		b.WriteString(indent + "    " + e.key + ": ")
		write(b, e.v, indent+"    ")
		b.WriteString(",\n")
	}
	b.WriteString(indent + "}")
}

// writeText writes a text. Each of its lines is a text of its own, joined by +.
func writeText(b *strings.Builder, text, indent string) {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteString(" +\n" + indent + "    ")
		}
		b.WriteString(value.FormatJSON(line, ""))
	}
}
