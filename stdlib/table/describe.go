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
)

// describeColumns is how many columns a text shows: more is nothing to read.
const describeColumns = 100

// describeMethods are the forms of describe.
func describeMethods() []string { return []string{"basic", "skim", "codebook"} }

const factsDoc = "It reads the rows once, in memory that does not grow with them. What cannot be exact in that is an estimate and marked so: " +
	"the number of distinct values and the most frequent ones beyond 10,000 distinct values (within 2 %), and quartiles of a column with more than 10,000 distinct values and more than 100,000 values (within 0.5 % of the rank); " +
	"both sooner where there are many columns. Quartiles lie by linear interpolation between the two nearest values (as in R and numpy; between dates rounded down). " +
	"The standard deviation is that of a sample. NaN is a value: it makes a mean and a deviation NaN, and is passed over by minimum, maximum and quartiles."

func describeRows() []row {
	return []row{
		{tool.Func{
			Name: "describe",
			Doc: "Tells what is in the columns, as a text for people and models: values, missing ones, ranges, the most frequent values. " +
				"It shows at most 100 columns. " + factsDoc,
			Params: []tool.Param{
				tool.Optional("method", tool.TypeString, "skim", "basic: a line for each column. skim: tables by kind of column, with small histograms. codebook: a paragraph for each column."),
				tool.Maybe("columns", tool.TypeCharacter, "The columns to tell of; without any, the first 100."),
			},
			Returns: "a text",
		}, describe},
		{tool.Func{
			Name: "summary",
			Doc: "Makes a table with a row for each column that tells what is in it: column, type, count (of the values that are there), missing, distinct, " +
				"min, q1, median, q3, max, mean, stdev, top (the most frequent value, as text and cut to 60 characters where it is long), top_count, and estimated, " +
				"which says whether distinct, top or a quartile is an estimate. " + factsDoc,
			Params:  []tool.Param{tool.Maybe("columns", tool.TypeCharacter, "The columns to tell of; without any, all.")},
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
	names := c.names("columns")
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
	return d.text.String(), nil
}

// facts are what is known of a column. All of it comes from one pass.
type facts struct {
	name      string
	typ       Type
	copies    bool // texts must be copied, since they are part of a file's
	most      int  // values that are kept for quantiles
	missing   int64
	n         int64 // values
	whole     wholeSum
	sum       floatSum
	spread    spread
	q         quantiles
	ints      *tally[int64] // numbers, by their bits where they are floats, and times
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

// facts reads the rows and tells what is in these columns, and how many rows there
// are.
func (t *Table) facts(ctx context.Context, g tool.Grant, names []string) ([]*facts, int, error) {
	places, err := t.columns(names)
	if err != nil {
		return nil, 0, err
	}
	b := newBudget(g)
	all := make([]*facts, len(places))
	for i, at := range places {
		all[i] = newFacts(t.names[at], t.types[at], b.all/int64(max(len(places), 1)), t.held == nil)
	}
	taken, rows := int64(0), 0
	err = t.eachOf(ctx, g, places, func(batch *Batch) error {
		rows += batch.Rows
		addFacts(all, batch, places)
		now := int64(0)
		for _, f := range all {
			now += f.size()
		}
		if b.take(now-taken) != nil {
			return b.over("the facts of " + counted(len(all), "column")).
				WithHint("ask for fewer with columns = […], or declare limits = {\"memory\": …}")
		}
		taken = now
		return nil
	})
	for _, f := range all {
		f.settle()
	}
	return all, rows, err
}

// addFacts takes a batch, two columns at a time: each column is looked at by
// itself.
func addFacts(all []*facts, batch *Batch, places []int) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
			all[i].add(batch.Columns[places[i]])
		}
	}
	var other sync.WaitGroup
	var broken any // a panic is the caller's, who may survive it
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

// newFacts returns those of no values. They may take about this many bytes, though
// never too few to be of use.
func newFacts(name string, t Type, bytes int64, copies bool) *facts {
	const least = 4 * columnSketch // less would save nothing against a sketch
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

// copied is a text that can be held, and counts its bytes.
func (f *facts) copied(s string) string {
	f.textBytes += int64(len(s))
	return f.held(s)
}

// size is about how many bytes the facts take.
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

// add takes the values of a batch.
func (f *facts) add(c *Column) {
	before := f.missing
	switch f.typ {
	case Text:
		f.addTexts(c)
	case Any:
		f.addValues(c)
	case Float:
		f.addFloats(c)
	case Integer:
		f.addWhole(c, true)
	case Bool:
		f.addBools(c)
	default:
		f.addWhole(c, false)
	}
	f.n += int64(c.Len()) - (f.missing - before)
	if f.textBytes > 0 && f.texts.distinct != nil {
		f.textBytes = 0
		for _, e := range f.texts.entries {
			f.textBytes += int64(len(e.key))
		}
	}
	f.addExamples(c)
}

// addExamples notes the first three distinct values.
func (f *facts) addExamples(c *Column) {
	const enough = 3
	for i := 0; i < c.Len() && len(f.examples) < enough; i++ {
		if c.missing(i) {
			continue
		}
		s := strings.Clone(cut(c.text(i)))
		if !slices.Contains(f.examples, s) {
			f.examples = append(f.examples, s)
		} else if f.tells(len(f.examples)) {
			return
		}
	}
}

// tells reports whether the column has no more than n distinct values by now, so
// that no other need be looked for.
func (f *facts) tells(n int) bool {
	d, _ := f.distinct()
	return d <= int64(n)
}

func (f *facts) addWhole(c *Column, number bool) {
	for i, v := range c.Ints {
		if c.missing(i) {
			f.missing++
			continue
		}
		if f.q.n == 0 {
			f.least, f.greatest = v, v
		}
		f.least, f.greatest = min(f.least, v), max(f.greatest, v)
		if number {
			f.whole.add(v)
			f.spread.add(float64(v))
		}
		f.count(float64(v), v)
	}
}

// count takes a number for the quantiles and for what is distinct. While each
// value is counted by itself, the counts are all that quantiles need.
func (f *facts) count(v float64, key int64) {
	f.ints.add(key)
	if v != v {
		return
	}
	f.q.see(v)
	if f.ints.distinct != nil {
		f.q.keep(v, f.most, columnSketch)
	}
}

// number is the value of a key of count.
func (f *facts) number(key int64) float64 {
	if f.typ == Float {
		return math.Float64frombits(uint64(key))
	}
	return float64(key)
}

// spill gives the quantiles the values that were counted.
func (f *facts) spill(key, count int64) {
	if v := f.number(key); v == v {
		for range count {
			f.q.keep(v, f.most, columnSketch)
		}
	}
}

// settle ends the pass.
func (f *facts) settle() {
	if f.ints == nil || f.ints.distinct != nil {
		return
	}
	f.q.counted = make([]weighed, 0, len(f.ints.entries))
	for _, e := range f.ints.entries {
		if v := f.number(e.key); v == v {
			f.q.counted = append(f.q.counted, weighed{v, e.count})
		}
	}
	slices.SortFunc(f.q.counted, byValue)
}

func (f *facts) addBools(c *Column) {
	for i, v := range c.Ints {
		if c.missing(i) {
			f.missing++
			continue
		}
		f.whole.add(v)
	}
}

func (f *facts) addFloats(c *Column) {
	for i, v := range c.Floats {
		if c.missing(i) {
			f.missing++
			continue
		}
		f.sum.add(v)
		f.spread.add(v)
		f.count(v, floatKey(v))
	}
}

func (f *facts) addTexts(c *Column) {
	for i, s := range c.Texts {
		if c.missing(i) {
			f.missing++
			continue
		}
		none := len(f.texts.entries) == 0 && f.texts.distinct == nil
		if none || s < f.first {
			f.first = f.held(s)
		}
		if none || s > f.last {
			f.last = f.held(s)
		}
		n := utf8.RuneCountInString(s)
		if none || n < f.shortest {
			f.shortest = n
		}
		f.longest = max(f.longest, n)
		f.texts.add(textKey(s))
	}
}

func (f *facts) held(s string) string {
	if f.copies {
		return strings.Clone(s)
	}
	return s
}

func (f *facts) addValues(c *Column) {
	for i, v := range c.Values {
		if c.missing(i) {
			f.missing++
			continue
		}
		f.texts.add(textKey(value.FormatJSON(v, "")))
	}
}

// textKey stands for a text where it is counted: long ones take their beginning,
// which is all that is shown, and a hash.
func textKey(s string) string {
	if len(s) <= longText {
		return s
	}
	hash := sha256.Sum256([]byte(s))
	return s[:longText-len(hash)] + string(hash[:])
}

// longText is more bytes than what is shown of a text can have: 60 characters.
const longText = 288

// distinct returns how many distinct values there are, and whether that is an
// estimate.
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

// A frequent is a value of a column, as text, and how often it is there.
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

// intText is the text of a key of ints.
func (f *facts) intText(key int64) string {
	if f.typ == Float {
		return formatFloat(math.Float64frombits(uint64(key)))
	}
	return (&Column{Type: f.typ, Ints: []int64{key}}).text(0)
}

// mean is known of numbers and bools, where there is one.
func (f *facts) mean() (float64, bool) {
	switch {
	case f.n == 0:
		return 0, false
	case f.typ == Float:
		return f.sum.float() / float64(f.n), true
	case f.typ == Integer || f.typ == Bool:
		return f.whole.mean(f.n), true
	}
	return 0, false
}

func (f *facts) stdev() (float64, bool) {
	v, ok := f.spread.variance()
	return math.Sqrt(v), ok
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
		if f.q.n == 0 { // only NaN
			return nil, nil
		}
		return f.q.min, f.q.max
	}
	c := &Column{Type: f.typ, Ints: []int64{f.least, f.greatest}}
	return c.value(0), c.value(1)
}

// quartiles returns the three quartiles of numbers and points in time as scripts
// see them, or nil.
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
		names = c.names("columns")
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
	stdev, ok := f.stdev()
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
