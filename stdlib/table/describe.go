package table

import (
	"context"
	"crypto/sha256"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// describeColumns is the maximum number of columns in a text, for readability.
const describeColumns = 100

// describeMethods returns the forms of describe.
func describeMethods() []string { return []string{"basic", "skim", "codebook"} }

const factsDoc = "The rows are read once, with a fixed amount of memory. Some results are therefore estimates, and are marked as estimates:\n\n" +
	"- the number of distinct values and the most frequent values, if a column has more than 10,000 distinct values; the error is at most 2 %\n" +
	"- quartiles, if a column has more than 10,000 distinct values and more than 100,000 values; they are accurate to half a percentile\n\n" +
	"If a table has many columns, these limits are lower. Quartiles are interpolated linearly between the two nearest values, as in R and numpy. " +
	"Between dates, the result is rounded down. " +
	"The standard deviation treats the values as a sample. NaN is a value. Means and deviations with NaN are NaN. Minimum, maximum and quartiles ignore NaN."

func describeRows() []member {
	return []member{
		{tool.Func{
			Name: "describe",
			Doc: "Describe the columns as text for people and models: values, missing values, ranges, the most frequent values. " +
				"It shows at most 100 columns. " + factsDoc,
			Params: []tool.Param{
				tool.Optional("method", tool.TypeString, "skim", "The form. basic: a line for each column. skim: tables for each kind of column, with small histograms. codebook: a paragraph for each column."),
				tool.Maybe("columns", tool.TypeCharacter, "The columns to describe. Default: the first 100."),
				tool.Optional("parts", tool.TypeBoolean, false, partsDoc),
			},
			Returns: "a text, or a dict with parts = True",
		}, describe},
		{tool.Func{
			Name: "summary",
			Doc: "Return a table with a row for each column. Its columns are column, type, count, missing, distinct, " +
				"min, q1, median, q3, max, mean, stdev, top, top_count and estimated. count is the number of values that are present. " +
				"top is the most frequent value as text, of at most 60 characters. estimated is True if distinct, top or a quartile is an estimate. " + factsDoc,
			Params:  []tool.Param{tool.Maybe("columns", tool.TypeCharacter, "The columns to describe. Default: all.")},
			Returns: "a table",
		}, summary},
	}
}

func describe(c *call) (value.Value, error) {
	t := c.table()
	d := &description{table: t, brief: c.args.Text("method") == "basic"}
	method, ok := map[string]func(*description){
		"basic": (*description).basic, "skim": (*description).skim, "codebook": (*description).codebook,
	}[c.args.Text("method")]
	if !ok {
		return nil, oneOf("method", c.args.Text("method"), describeMethods())
	}
	names := row.Strings(c.args, "columns")
	if c.value("columns") == nil {
		names = t.names
	}
	d.wanted = len(names)
	facts, rows, err := t.facts(c.ctx, c.grant, names[:min(len(names), describeColumns)])
	if err != nil {
		return nil, err
	}
	d.facts, d.rows = facts, rows
	d.head()
	method(d)
	if c.args.Bool("parts") {
		parts := value.List{}
		if c.args.Text("method") == "skim" {
			parts = d.parts()
		}
		return textAndParts(d.text.String(), parts), nil
	}
	return d.text.String(), nil
}

// facts are the statistics of a column, collected in one pass.
type facts struct {
	name      string
	typ       Type
	copies    bool // texts must be copied, because they are part of the text of a file
	most      int  // the maximum number of values to keep for quantiles
	missing   int64
	total     // of the values
	variance  variance
	q         quantiles
	ints      *tally[int64] // numbers (floats by their bits) and times
	texts     *tally[string]
	least     int64 // of integers and times
	greatest  int64
	first     string // in the order of texts
	last      string
	shortest  int // in characters
	longest   int
	examples  []string
	textBytes int64
}

// facts reads the rows and returns the facts of these columns, and the number of rows.
func (t *Table) facts(ctx context.Context, g tool.Grant, names []string) ([]*facts, int, error) {
	indexes, err := t.columns(names)
	if err != nil {
		return nil, 0, err
	}
	b := newBudget(g)
	all := make([]*facts, len(indexes))
	for i, at := range indexes {
		all[i] = newFacts(t.names[at], t.types[at], b.all/int64(max(len(indexes), 1)), t.held == nil)
	}
	taken, rows := int64(0), 0
	err = t.eachOf(ctx, g, indexes, func(batch *Batch) error {
		rows += batch.Rows
		addFacts(all, batch, indexes)
		now := int64(0)
		for _, f := range all {
			now += f.size()
		}
		if b.take(now-taken) != nil {
			return b.over("the statistics of " + counted(len(all), "column")).
				WithHint("set columns to fewer columns; in a script, declare limits = {\"memory\": …}")
		}
		taken = now
		return nil
	})
	for _, f := range all {
		f.settle()
	}
	return all, rows, err
}

// addFacts adds a batch, two columns in parallel.
func addFacts(all []*facts, batch *Batch, indexes []int) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
			all[i].add(batch.Columns[indexes[i]])
		}
	}
	var other sync.WaitGroup
	var broken any // a panic is passed to the caller, which may recover
	if len(all) > 1 && batch.Rows > batchRows/2 {
		other.Go(func() {
			defer func() { broken = recover() }()
			work()
		})
	}
	work()
	other.Wait()
	if broken != nil {
		panic(broken)
	}
}

// newFacts returns empty facts, which may take about this many bytes but at least a
// useful minimum.
func newFacts(name string, t Type, bytes int64, copies bool) *facts {
	const least = 4 * columnSketch // less would save no memory compared with a sketch
	f := &facts{name: name, typ: t, copies: copies, most: int(min(max(bytes/2/16, least), exactQuantiles))}
	switch t {
	case Text, Any:
		f.texts = newTally(int(min(bytes*7/8/(entryBytes+longText), exactDistinct)), hashText, f.copied)
	case Bool:
	default:
		f.ints = newTally(int(min(bytes/2/entryBytes, exactDistinct)), hashInt, func(v int64) int64 { return v })
		f.ints.spill = f.spill
	}
	return f
}

// copied returns a text that can be kept, and counts its bytes.
func (f *facts) copied(s string) string {
	f.textBytes += int64(len(s))
	return f.held(s)
}

// size returns the approximate number of bytes that the facts take.
func (f *facts) size() int64 {
	n := 512 + f.textBytes + int64(8*cap(f.q.exact))
	if f.q.sketch != nil {
		n += 3 * columnSketch * 8
	}
	if f.ints != nil {
		n += f.ints.size()
	}
	if f.texts != nil {
		n += f.texts.size()
	}
	return n + int64(len(f.first)+len(f.last))
}

// add adds the values of a batch.
func (f *facts) add(c *Column) {
	for i := range c.Len() {
		if c.missing(i) {
			f.missing++
			continue
		}
		switch f.typ {
		case Text:
			f.addText(c.Texts[i])
			f.n++
		case Any:
			f.texts.add(textKey(identity(c.Values[i])))
			f.n++
		case Bool:
			f.total.add(c, i)
		case Float:
			f.total.add(c, i)
			f.variance.add(c.Floats[i])
			f.count(c.Floats[i], floatKey(c.Floats[i]))
		default:
			f.addInt(c, i)
		}
	}
	if f.textBytes > 0 && f.texts.distinct != nil {
		f.textBytes = 0
		for _, e := range f.texts.entries {
			f.textBytes += int64(len(e.key))
		}
	}
	f.addExamples(c)
}

// addInt adds an integer or a point in time.
func (f *facts) addInt(c *Column, i int) {
	v := c.Ints[i]
	if f.n == 0 {
		f.least, f.greatest = v, v
	}
	f.least, f.greatest = min(f.least, v), max(f.greatest, v)
	f.total.add(c, i)
	if f.typ == Integer {
		f.variance.add(float64(v))
	}
	f.count(float64(v), v)
}

func (f *facts) addText(s string) {
	if f.n == 0 || s < f.first {
		f.first = f.held(s)
	}
	if f.n == 0 || s > f.last {
		f.last = f.held(s)
	}
	n := utf8.RuneCountInString(s)
	if f.n == 0 || n < f.shortest {
		f.shortest = n
	}
	f.longest = max(f.longest, n)
	f.texts.add(textKey(s))
}

// addExamples keeps the first three distinct values.
func (f *facts) addExamples(c *Column) {
	const enough = 3
	for i := 0; i < c.Len() && len(f.examples) < enough; i++ {
		if c.missing(i) {
			continue
		}
		s := strings.Clone(cut(c.text(i)))
		if !slices.Contains(f.examples, s) {
			f.examples = append(f.examples, s)
		} else if f.hasFewer(len(f.examples)) {
			return
		}
	}
}

// hasFewer reports whether the column has at most n distinct values so far, so that no
// other value is needed.
func (f *facts) hasFewer(n int) bool {
	d, _ := f.distinct()
	return d <= int64(n)
}

// count counts a number for the quantiles and for the distinct values. As long as each
// distinct value has a count of its own, the counts suffice for the quantiles.
func (f *facts) count(v float64, key int64) {
	f.ints.add(key)
	if v != v {
		return
	}
	f.q.observe(v)
	if f.ints.distinct != nil {
		f.q.keep(v, f.most, columnSketch)
	}
}

// number returns the number of a key of count.
func (f *facts) number(key int64) float64 {
	if f.typ == Float {
		return math.Float64frombits(uint64(key))
	}
	return float64(key)
}

// spill adds the counted values to the quantiles.
func (f *facts) spill(key, count int64) {
	if v := f.number(key); v == v {
		for range count {
			f.q.keep(v, f.most, columnSketch)
		}
	}
}

// settle completes the facts after the pass.
func (f *facts) settle() {
	if f.ints == nil || f.ints.distinct != nil {
		return
	}
	f.q.counted = make([]weighted, 0, len(f.ints.entries))
	for _, e := range f.ints.entries {
		if v := f.number(e.key); v == v {
			f.q.counted = append(f.q.counted, weighted{v, e.count})
		}
	}
	slices.SortFunc(f.q.counted, byValue)
}

func (f *facts) held(s string) string {
	if f.copies {
		return strings.Clone(s)
	}
	return s
}

// textKey returns the key for counting a text. For a long text, it is the beginning,
// which is all that is shown, and a hash.
func textKey(s string) string {
	if len(s) <= longText {
		return s
	}
	hash := sha256.Sum256([]byte(s))
	return s[:longText-len(hash)] + string(hash[:])
}

// longText is more bytes than a shown text can have: 60 characters.
const longText = 288

// distinct returns the number of distinct values, and whether it is an estimate.
func (f *facts) distinct() (int64, bool) {
	switch {
	case f.ints != nil:
		return f.ints.count()
	case f.texts != nil:
		return f.texts.count()
	}
	n := int64(0)
	trues, _ := f.whole.int64()
	if trues > 0 {
		n++
	}
	if trues < f.n {
		n++
	}
	return n, false
}

// A frequent is a value of a column as text, and its count.
type frequent struct {
	text  string
	count int64
}

// top returns the n most frequent values.
func (f *facts) top(n int) []frequent {
	var list []frequent
	switch {
	case f.ints != nil:
		for _, e := range f.ints.top(n) {
			list = append(list, frequent{f.intText(e.key), e.count})
		}
	case f.texts != nil:
		for _, e := range f.texts.top(n) {
			list = append(list, frequent{cut(e.key), e.count})
		}
	case f.n > 0:
		trues, _ := f.whole.int64()
		list = []frequent{{"true", trues}, {"false", f.n - trues}}
		if trues < f.n-trues {
			list[0], list[1] = list[1], list[0]
		}
		if list[1].count == 0 {
			list = list[:1]
		}
		list = list[:min(n, len(list))]
	}
	return list
}

// intText formats a key of ints.
func (f *facts) intText(key int64) string {
	if f.typ == Float {
		return formatFloat(math.Float64frombits(uint64(key)))
	}
	return (&Column{Type: f.typ, Ints: []int64{key}}).text(0)
}

// mean returns the mean of numbers and bools, if there are any.
func (f *facts) mean() (float64, bool) {
	if !f.typ.number() && f.typ != Bool {
		return 0, false
	}
	return f.total.mean(f.typ)
}

// limits returns the least and the greatest value as scripts see them, or nil.
func (f *facts) limits() (least, greatest value.Value) {
	switch {
	case f.n == 0 || f.typ == Any:
		return nil, nil
	case f.typ == Text:
		return f.first, f.last
	case f.typ == Bool:
		trues, _ := f.whole.int64()
		return trues == f.n, trues > 0
	case f.typ == Float:
		if f.q.n == 0 { // all values are NaN
			return nil, nil
		}
		return f.q.min, f.q.max
	}
	c := &Column{Type: f.typ, Ints: []int64{f.least, f.greatest}}
	return c.value(0), c.value(1)
}

// quartiles returns the three quartiles of numbers and points in time as scripts see
// them, or nil.
func (f *facts) quartiles() [3]value.Value {
	var found [3]value.Value
	if f.q.n == 0 {
		return found
	}
	for i, v := range f.q.at(0.25, 0.5, 0.75) {
		if f.typ.time() {
			found[i] = formatTime(f.typ, int64(math.Floor(v)))
		} else {
			found[i] = v
		}
	}
	return found
}

func summary(c *call) (value.Value, error) {
	t := c.table()
	names := t.names
	if c.value("columns") != nil {
		names = row.Strings(c.args, "columns")
	}
	all, _, err := t.facts(c.ctx, c.grant, names)
	if err != nil {
		return nil, err
	}
	columns := []string{"column", "type", "count", "missing", "distinct", "min", "q1", "median", "q3", "max", "mean", "stdev", "top", "top_count", "estimated"}
	made := newBatch([]Type{Text, Text, Integer, Integer, Integer, Any, Any, Any, Any, Any, Float, Float, Text, Integer, Bool})
	for _, f := range all {
		f.summarize(made)
	}
	return newHeld(columns, made), nil
}

// summarize appends the row of a column.
func (f *facts) summarize(made *Batch) {
	distinct, estimated := f.distinct()
	least, greatest := f.limits()
	q := f.quartiles()
	row := []value.Value{f.name, f.typ.String(), f.n, f.missing, distinct, least, q[0], q[1], q[2], greatest}
	mean, ok := f.mean()
	row = append(row, known(mean, ok && f.typ != Bool))
	stdev, ok := f.variance.stdev()
	row = append(row, known(stdev, ok), nil, nil, estimated || f.q.estimated())
	if top := f.top(1); len(top) > 0 {
		row[12], row[13] = top[0].text, top[0].count
	}
	for i, v := range row {
		made.Columns[i].add(v)
	}
	made.Rows++
}

func known(v float64, ok bool) value.Value {
	if !ok {
		return nil
	}
	return v
}
