package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A description builds the text of describe.
type description struct {
	brief  bool // quartiles are not shown
	table  *Table
	rows   int
	wanted int // number of columns; may exceed the number of facts
	facts  []*facts
	text   strings.Builder
}

func (d *description) line(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

// head describes the entire table.
func (d *description) head() {
	d.line("%s", extent(d.rows, len(d.table.names)))
	for _, note := range d.table.notes {
		d.line("%s", escaped(note))
	}
	if d.wanted > len(d.facts) {
		d.line("%d of %s columns; for others use describe(columns = [\"%s\"])",
			len(d.facts), thousands(int64(d.wanted)), escaped(cut(d.table.names[len(d.table.names)-1])))
	}
	var quartiles []string
	counts := false
	for _, f := range d.facts {
		_, estimated := f.distinct()
		counts = counts || estimated
		if f.q.estimated() {
			quartiles = append(quartiles, f.title())
		}
	}
	if counts {
		d.line("~ marks an estimate, within 2 %%")
	}
	if len(quartiles) > 0 && !d.brief {
		d.line("quartiles are estimates, accurate to half a percentile: %s", someNames(quartiles))
	}
}

// basic writes a line for each column.
func (d *description) basic() {
	t := newLayout("name", "type", ">missing", "summary")
	for _, f := range d.facts {
		t.add(f.title(), f.typ.String(), thousands(f.missing), f.brief())
	}
	d.section("", t)
}

// brief describes a column in a few words.
func (f *facts) brief() string {
	least, greatest := f.limits()
	switch {
	case f.n == 0:
		return "no values"
	case f.typ.number() && least != nil:
		mean, _ := f.mean()
		return fmt.Sprintf("min %s, mean %s, max %s", shownValue(least), short(mean), shownValue(greatest))
	case f.typ.time():
		return fmt.Sprintf("%s to %s", least, greatest)
	case f.typ == Bool:
		return f.frequents(2)
	}
	s := f.distinctText() + " distinct"
	if top := f.frequents(3); top != "" {
		s += ": " + top
	}
	return s
}

// skim writes a table for each kind of column.
func (d *description) skim() {
	numbers := newLayout("name", "type", ">n", ">missing", ">mean", ">sd", ">p0", ">p25", ">p50", ">p75", ">p100", "histogram")
	dates := newLayout("name", "type", ">n", ">missing", ">distinct", "min", "median", "max")
	texts := newLayout("name", ">n", ">missing", ">distinct", ">shortest", ">longest", "top")
	bools := newLayout("name", ">n", ">missing", ">true", ">false", ">mean")
	others := newLayout("name", ">n", ">missing", ">distinct", "top")
	for _, f := range d.facts {
		n, missing, distinct := thousands(f.n), thousands(f.missing), f.distinctText()
		least, greatest := f.limits()
		q := f.quartiles()
		mean, hasMean := f.mean()
		stdev, hasStdev := f.variance.stdev()
		switch {
		case f.typ.number():
			numbers.add(f.title(), f.typ.String(), n, missing, shownValue(known(mean, hasMean)), shownValue(known(stdev, hasStdev)),
				shownValue(least), shownValue(q[0]), shownValue(q[1]), shownValue(q[2]), shownValue(greatest), f.histogram())
		case f.typ.time():
			dates.add(f.title(), f.typ.String(), n, missing, distinct, shownValue(least), shownValue(q[1]), shownValue(greatest))
		case f.typ == Text:
			texts.add(f.title(), n, missing, distinct, thousands(int64(f.shortest)), thousands(int64(f.longest)), f.frequents(3))
		case f.typ == Bool:
			trues, _ := f.whole.int64()
			bools.add(f.title(), n, missing, thousands(trues), thousands(f.n-trues), shownValue(known(mean, hasMean)))
		default:
			others.add(f.title(), n, missing, distinct, f.frequents(3))
		}
	}
	d.section("numbers", numbers)
	d.section("text", texts)
	d.section("bools", bools)
	d.section("dates and times", dates)
	d.section("lists, objects and several types", others)
}

func (d *description) section(title string, t *layout) {
	if t.rows == 0 {
		return
	}
	d.text.WriteByte('\n')
	if title != "" {
		d.line("%s", title)
	}
	t.write(&d.text)
}

// codebook writes a paragraph for each column.
func (d *description) codebook() {
	for _, f := range d.facts {
		d.line("\n%s (%s)", f.title(), f.typ)
		rows := f.n + f.missing
		d.line("  values: %s of %s%s; missing: %s%s; distinct: %s", thousands(f.n), thousands(rows), percent(f.n, rows),
			thousands(f.missing), percent(f.missing, rows), f.distinctText())
		if f.n == 0 {
			continue
		}
		f.ranges(d)
		const few = 20 // values can be listed completely
		switch n, _ := f.distinct(); {
		case n <= few:
			d.line("  all values: %s", f.frequents(few))
			continue
		default:
			if top := f.frequents(5); top != "" {
				d.line("  most frequent: %s", top)
			}
		}
		shown := make([]string, len(f.examples))
		for i, s := range f.examples {
			shown[i] = f.quoted(s)
		}
		d.line("  examples: %s", strings.Join(shown, ", "))
	}
}

// ranges describes the range of the values of a column.
func (f *facts) ranges(d *description) {
	least, greatest := f.limits()
	switch {
	case f.typ == Text:
		d.line("  length: %s to %s", thousands(int64(f.shortest)), counted(f.longest, "character"))
	case f.typ == Bool || least == nil:
	default:
		d.line("  range: %s to %s", valueText(least), valueText(greatest))
		q := f.quartiles()
		d.line("  quartiles: %s, %s, %s", shownValue(q[0]), shownValue(q[1]), shownValue(q[2]))
	}
	if mean, ok := f.mean(); ok && f.typ.number() {
		stdev, ok := f.variance.stdev()
		d.line("  mean: %s; standard deviation: %s", short(mean), shownValue(known(stdev, ok)))
	}
}

func (f *facts) title() string { return shownText(cut(f.name)) }

// distinctText returns the number of distinct values, marked if it is an estimate.
func (f *facts) distinctText() string {
	n, estimated := f.distinct()
	if estimated {
		return "~" + thousands(n)
	}
	return thousands(n)
}

// frequents lists the most frequent values with their counts. If there are many values
// and none of them is repeated, the list is empty.
func (f *facts) frequents(n int) string {
	top := f.top(n)
	distinct, estimated := f.distinct()
	if len(top) == 0 || top[0].count == 1 && distinct > int64(n) {
		return ""
	}
	mark := ""
	if estimated {
		mark = "~"
	}
	list := make([]string, len(top))
	for i, v := range top {
		list[i] = fmt.Sprintf("%s (%s%s)", f.quoted(v.text), mark, thousands(v.count))
	}
	return strings.Join(list, ", ")
}

// quoted formats a value in a list, in which texts must be distinct.
func (f *facts) quoted(s string) string {
	switch {
	case f.typ != Text:
		return escaped(s)
	case strings.ContainsAny(s, `,()"`):
		return quoted(s)
	}
	return shownText(s)
}

// histogram shows the distribution of the values from the least to the greatest.
func (f *facts) histogram() string {
	levels := []rune("▁▂▃▅▇")
	counts := f.q.bars(8)
	most := int64(0)
	for _, n := range counts {
		most = max(most, n)
	}
	bars := make([]rune, len(counts))
	for i, n := range counts {
		bars[i] = levels[(n*int64(len(levels)-1)+most/2)/most]
	}
	return string(bars)
}

// short formats a number with about six digits: an integer in full, and a large number
// rounded. From 1e15 on it has an exponent.
func short(f float64) string {
	const large, full = 1e6, 1e15
	switch size := math.Abs(f); {
	case size < full && (f == math.Trunc(f) || size >= large):
		return strconv.FormatFloat(f+0, 'f', 0, 64) // -0 is 0
	default:
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
}

// shownValue formats a statistic in a table; "-" if there is none.
func shownValue(v value.Value) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return short(v)
	case int64:
		return short(float64(v))
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// percent formats the share of n in all, in parentheses.
func percent(n, all int64) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f %%)", 100*float64(n)/float64(all))
}

// A layout has lines of aligned cells.
type layout struct {
	columns []*shownColumn
	rows    int
}

// newLayout returns a layout with these columns; ">" before a name aligns it on the
// right.
func newLayout(columns ...string) *layout {
	t := &layout{}
	for _, c := range columns {
		name, right := strings.CutPrefix(c, ">")
		t.columns = append(t.columns, &shownColumn{lines: []string{name}, width: textWidth(name), right: right})
	}
	return t
}

func (t *layout) add(cells ...string) {
	t.rows++
	for i, s := range cells {
		c := t.columns[i]
		c.lines, c.width = append(c.lines, s), max(c.width, textWidth(s))
	}
}

func (t *layout) write(b *strings.Builder) {
	for line := range 1 + t.rows {
		writeLine(b, t.columns, line)
	}
}
