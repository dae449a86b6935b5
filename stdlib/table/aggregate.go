package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An accumulator takes the values of a column for each of many groups, a batch at
// a time: ids are the groups of its rows, of which there are n by now. It returns
// how many more bytes it needs beside what each group takes.
type accumulator interface {
	add(n int, ids []int32, c *Column) int64
}

// An aggregate is one column that agg makes.
type aggregate struct {
	name   string
	from   int // the place of its column, or -1
	with   accumulator
	column func(n int) *Column // the result of n groups
}

// aggregates are those of one agg. Those that need the same share it.
type aggregates struct {
	list   []aggregate
	shared map[sharing]accumulator
	bytes  int64 // of one group
}

type sharing struct {
	from   int
	family string
}

// Which types a function of agg takes.
const (
	fitsAll   = "any column"
	fitsOrder = "columns of text, numbers, bools and dates"
	fitsSum   = "columns of numbers and bools"
	fitsReal  = "columns of numbers"
	fitsRank  = "columns of numbers and dates"
)

// aggFunctions are the names of the functions of agg, and what they fit.
func aggFunctions() [][2]string {
	return [][2]string{
		{"count", fitsAll}, {"missing", fitsAll}, {"distinct", fitsAll}, {"first", fitsAll}, {"last", fitsAll},
		{"min", fitsOrder}, {"max", fitsOrder},
		{"sum", fitsSum}, {"mean", fitsSum},
		{"stdev", fitsReal}, {"variance", fitsReal},
		{"median", fitsRank}, {"q1", fitsRank}, {"q3", fitsRank},
	}
}

func fits(what string, t Type) bool {
	switch what {
	case fitsOrder:
		return t != Any
	case fitsSum:
		return t.number() || t == Bool
	case fitsReal:
		return t.number()
	case fitsRank:
		return t.number() || t.time()
	}
	return true
}

// fraction returns the quantile that a function gives, if it does.
func fraction(function string) (float64, bool) {
	switch function {
	case "median":
		return 0.5, true
	case "q1":
		return 0.25, true
	case "q3":
		return 0.75, true
	}
	if len(function) != 3 || function[0] != 'p' {
		return 0, false
	}
	tens, ones := function[1]-'0', function[2]-'0'
	return float64(tens*10+ones) / 100, tens <= 9 && ones <= 9 && tens+ones > 0
}

// checkFit fails where there is no such function, or it does not fit the column.
func checkFit(t *Table, function string, from int) error {
	var names, good []string
	what := ""
	if _, ok := fraction(function); ok {
		what = fitsRank
	}
	for _, f := range aggFunctions() {
		names = append(names, f[0])
		if f[0] == function {
			what = f[1]
		}
		if from >= 0 && fits(f[1], t.types[from]) {
			good = append(good, f[0])
		}
	}
	switch {
	case what == "":
		return value.Errorf(value.Invalid, "there is no function %q%s", cut(function), meantFunction(function, names)).
			WithHint("the functions are %s and p01 to p99", strings.Join(names, ", "))
	case from < 0 && function != "count":
		return value.Errorf(value.Invalid, "%q needs a column", function).WithHint("write (\"column\", %q)", function)
	case from >= 0 && !fits(what, t.types[from]):
		return value.Errorf(value.Invalid, "%q takes %s, and %q is %s", function, what, cut(t.names[from]), t.types[from]).
			WithHint("what fits is %s", strings.Join(good, ", "))
	}
	return nil
}

// meantFunction says which function a name from elsewhere stands for.
func meantFunction(name string, names []string) string {
	usual := map[string]string{
		"avg": "mean", "average": "mean", "std": "stdev", "stddev": "stdev", "sd": "stdev", "var": "variance", "n": "count", "size": "count", "len": "count",
		"nunique": "distinct", "n_distinct": "distinct", "count_distinct": "distinct", "total": "sum", "minimum": "min", "maximum": "max",
	}
	if meant, ok := usual[strings.ToLower(name)]; ok {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return value.DidYouMean(name, names)
}

// share returns the accumulator of this family over the column, made once.
func share[A accumulator](s *aggregates, from int, family string, bytes int64, made A) A {
	key := sharing{from, family}
	if a, ok := s.shared[key]; ok {
		return a.(A)
	}
	if s.shared == nil {
		s.shared = map[sharing]accumulator{}
	}
	s.shared[key] = made
	s.bytes += bytes
	return made
}

// put adds the aggregate of a function over a column, or over no column, which
// checkFit has found to fit.
func (s *aggregates) put(name, function string, from int, t Type, copies bool) {
	a := aggregate{name: name, from: from}
	if f, ok := fraction(function); ok {
		q := share(s, from, "quantile", 96, &groupQuantiles{})
		a.with, a.column = q, func(n int) *Column { return q.result(n, f, t) }
		s.list = append(s.list, a)
		return
	}
	switch function {
	case "count", "missing":
		c := share(s, from, function, 8, &groupCount{missing: function == "missing"})
		a.with, a.column = c, c.result
	case "distinct":
		d := share(s, from, function, 56, &groupDistinct{})
		a.with, a.column = d, d.result
	case "first", "last", "min", "max":
		p := share(s, from, function, 24, &groupPick{how: function, copies: copies, best: newColumn(t, 0)})
		a.with, a.column = p, p.result
	case "sum", "mean":
		if t == Float {
			f := share(s, from, "sum", 24, &groupFloats{})
			a.with, a.column = f, map[string]func(int) *Column{"sum": f.sum, "mean": f.mean}[function]
			break
		}
		w := share(s, from, "sum", 24, &groupWhole{})
		a.with, a.column = w, map[string]func(int) *Column{"sum": w.sum, "mean": w.mean}[function]
	case "stdev", "variance":
		p := share(s, from, "spread", 24, &groupSpread{})
		a.with, a.column = p, func(n int) *Column { return p.result(n, function == "stdev") }
	}
	s.list = append(s.list, a)
}

// grown returns the slice with room for n groups, those added zero.
func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	return append(s, make([]T, n-len(s))...)
}

// A groupCount counts the rows of groups, or the values of a column that are
// there, or those that are missing.
type groupCount struct {
	missing bool
	n       []int64
}

func (g *groupCount) add(n int, ids []int32, c *Column) int64 {
	g.n = grown(g.n, n)
	if c == nil || c.Missing == nil {
		if !g.missing {
			for _, id := range ids {
				g.n[id]++
			}
		}
		return 0
	}
	for i, id := range ids {
		if c.Missing[i] == g.missing {
			g.n[id]++
		}
	}
	return 0
}

func (g *groupCount) result(n int) *Column { return &Column{Type: Integer, Ints: grown(g.n, n)} }

// groupWhole are the sums of integers and bools.
type groupWhole struct {
	sums []wholeSum
	n    []int64
}

func (g *groupWhole) add(n int, ids []int32, c *Column) int64 {
	g.sums, g.n = grown(g.sums, n), grown(g.n, n)
	for i, id := range ids {
		if c.Missing == nil || !c.Missing[i] {
			g.sums[id].add(c.Ints[i])
			g.n[id]++
		}
	}
	return 0
}

// sum is a column of integers, or of floats where one sum does not fit.
func (g *groupWhole) sum(n int) *Column {
	g.sums, g.n = grown(g.sums, n), grown(g.n, n)
	c := newColumn(Integer, n)
	for i := range g.sums {
		if _, ok := g.sums[i].int64(); !ok {
			return g.floats(func(i int) float64 { return g.sums[i].float() })
		}
	}
	for i := range g.sums {
		if g.n[i] == 0 {
			c.addMissing()
			continue
		}
		v, _ := g.sums[i].int64()
		c.addInt(v)
	}
	return c
}

func (g *groupWhole) mean(n int) *Column {
	g.sums, g.n = grown(g.sums, n), grown(g.n, n)
	return g.floats(func(i int) float64 { return g.sums[i].mean(g.n[i]) })
}

func (g *groupWhole) floats(f func(i int) float64) *Column { return floatsOf(g.n, f) }

// floatsOf is a column of floats, missing where a group has no values.
func floatsOf(n []int64, f func(i int) float64) *Column {
	c := newColumn(Float, len(n))
	for i := range n {
		if n[i] == 0 {
			c.addMissing()
			continue
		}
		c.addFloat(f(i))
	}
	return c
}

// groupFloats are the sums of floats.
type groupFloats struct {
	sums []floatSum
	n    []int64
}

func (g *groupFloats) add(n int, ids []int32, c *Column) int64 {
	g.sums, g.n = grown(g.sums, n), grown(g.n, n)
	for i, id := range ids {
		if c.Missing == nil || !c.Missing[i] {
			g.sums[id].add(c.Floats[i])
			g.n[id]++
		}
	}
	return 0
}

func (g *groupFloats) sum(n int) *Column {
	g.sums, g.n = grown(g.sums, n), grown(g.n, n)
	return floatsOf(g.n, func(i int) float64 { return g.sums[i].float() })
}

func (g *groupFloats) mean(n int) *Column {
	g.sums, g.n = grown(g.sums, n), grown(g.n, n)
	return floatsOf(g.n, func(i int) float64 { return g.sums[i].float() / float64(g.n[i]) })
}

// groupSpread are the variances of groups.
type groupSpread struct{ s []spread }

func (g *groupSpread) add(n int, ids []int32, c *Column) int64 {
	g.s = grown(g.s, n)
	for i, id := range ids {
		if !c.missing(i) {
			g.s[id].add(c.float(i))
		}
	}
	return 0
}

func (g *groupSpread) result(n int, root bool) *Column {
	c := newColumn(Float, n)
	for _, s := range grown(g.s, n) {
		v, ok := s.variance()
		switch {
		case !ok:
			c.addMissing()
		case root:
			c.addFloat(math.Sqrt(v))
		default:
			c.addFloat(v)
		}
	}
	return c
}

// float returns the i-th value of a column of numbers, bools or times.
func (c *Column) float(i int) float64 {
	if c.Type == Float {
		return c.Floats[i]
	}
	return float64(c.Ints[i])
}

// groupDistinct are the numbers of distinct values of groups.
type groupDistinct struct {
	hashes    []distinctHashes
	estimated bool
}

func (g *groupDistinct) add(n int, ids []int32, c *Column) int64 {
	g.hashes = grown(g.hashes, n)
	bytes := int64(0)
	for i, id := range ids {
		if !c.missing(i) {
			bytes += g.hashes[id].add(c.hash(i))
		}
	}
	return bytes
}

func (g *groupDistinct) result(n int) *Column {
	c := newColumn(Integer, n)
	for _, h := range grown(g.hashes, n) {
		count, estimated := h.count()
		g.estimated = g.estimated || estimated
		c.addInt(count)
	}
	return c
}

// hash spreads the i-th value over 64 bits. 0 and -0 are one value, and so are all
// that are NaN.
func (c *Column) hash(i int) uint64 {
	switch c.Type {
	case Text:
		return hashText(c.Texts[i])
	case Float:
		return hashInt(floatKey(c.Floats[i]))
	case Any:
		return hashText(value.FormatJSON(c.Values[i], ""))
	}
	return hashInt(c.Ints[i])
}

// floatKey is the same for floats that are the same value.
func floatKey(f float64) int64 {
	if f != f {
		f = math.NaN()
	}
	return int64(math.Float64bits(f + 0)) // -0 + 0 is 0
}

// groupPick is one of the values of each group: the first, last, least or
// greatest that is not missing.
type groupPick struct {
	how    string
	copies bool // texts must be copied, since they are part of a file's
	best   *Column
	set    []bool
}

func (g *groupPick) add(n int, ids []int32, c *Column) int64 {
	g.set = grown(g.set, n)
	switch c.Type {
	case Text:
		g.best.Texts = grown(g.best.Texts, n)
		return g.addTexts(ids, c)
	case Float:
		g.best.Floats = grown(g.best.Floats, n)
		pick(g.how, g.set, g.best.Floats, ids, c.Floats, c.Missing)
	case Any:
		g.best.Values = grown(g.best.Values, n)
		return g.addValues(ids, c)
	default:
		g.best.Ints = grown(g.best.Ints, n)
		pick(g.how, g.set, g.best.Ints, ids, c.Ints, c.Missing)
	}
	return 0
}

// pick goes through the values of a batch. NaN is neither least nor greatest.
func pick[T cmp.Ordered](how string, set []bool, best []T, ids []int32, values []T, missing []bool) {
	for i, id := range ids {
		if v := values[i]; (missing == nil || !missing[i]) && better(how, set[id], v, best[id]) {
			best[id], set[id] = v, true
		}
	}
}

// better reports whether v takes the place of what a group has by now.
func better[T cmp.Ordered](how string, has bool, v, best T) bool {
	switch how {
	case "first":
		return !has
	case "min":
		return v == v && (!has || v < best)
	case "max":
		return v == v && (!has || v > best)
	}
	return true
}

func (g *groupPick) addTexts(ids []int32, c *Column) int64 {
	bytes := int64(0)
	for i, id := range ids {
		if v := c.Texts[i]; !c.missing(i) && better(g.how, g.set[id], v, g.best.Texts[id]) {
			bytes += int64(len(v) - len(g.best.Texts[id]))
			if g.copies {
				v = strings.Clone(v)
			}
			g.best.Texts[id], g.set[id] = v, true
		}
	}
	return bytes
}

func (g *groupPick) addValues(ids []int32, c *Column) int64 {
	bytes := int64(0)
	for i, id := range ids {
		if c.missing(i) || g.how == "first" && g.set[id] {
			continue
		}
		bytes += valueSize(c.Values[i]) - valueSize(g.best.Values[id])
		g.best.Values[id], g.set[id] = c.Values[i], true
	}
	return bytes
}

func (g *groupPick) result(n int) *Column {
	c := newColumn(g.best.Type, n)
	for i, set := range grown(g.set, n) {
		if set {
			c.addFrom(g.best, i)
		} else {
			c.addMissing()
		}
	}
	return c
}

// groupQuantiles are the quantiles of groups. They are exact while there are at
// most manyValues in all groups together; then those groups that have more than
// fewValues go over to sketches.
type groupQuantiles struct {
	q    []quantiles
	kept int // values in groups without a sketch
	many bool
}

const (
	manyValues = 1_000_000 // 8 MB
	fewValues  = 2 * groupSketch
)

func (g *groupQuantiles) add(n int, ids []int32, c *Column) int64 {
	g.q = grown(g.q, n)
	bytes := int64(0)
	for i, id := range ids {
		if c.missing(i) {
			continue
		}
		most := exactQuantiles
		if g.many {
			most = fewValues
		}
		q := &g.q[id]
		before := len(q.exact)
		q.add(c.float(i), most, groupSketch)
		switch {
		case len(q.exact) > before:
			bytes += 8
			g.kept++
		case len(q.exact) < before:
			bytes += int64(3*groupSketch-before) * 8
			g.kept -= before
		}
		if g.kept > manyValues && !g.many {
			bytes += g.compress()
		}
	}
	return bytes
}

func (g *groupQuantiles) compress() int64 {
	g.many = true
	bytes := int64(0)
	for i := range g.q {
		if before := len(g.q[i].exact); before > fewValues {
			g.q[i].compress(groupSketch)
			bytes += int64(3*groupSketch-before) * 8
			g.kept -= before
		}
	}
	return bytes
}

func (g *groupQuantiles) estimated() bool {
	return slices.ContainsFunc(g.q, func(q quantiles) bool { return q.estimated() })
}

// result is a column of floats, or for points in time one of their type.
func (g *groupQuantiles) result(n int, fraction float64, t Type) *Column {
	if !t.time() {
		t = Float
	}
	c := newColumn(t, n)
	g.q = grown(g.q, n)
	for i := range g.q {
		switch q := &g.q[i]; {
		case q.n == 0:
			c.addMissing()
		case t.time():
			c.addInt(int64(math.Floor(q.at(fraction)[0])))
		default:
			c.addFloat(q.at(fraction)[0])
		}
	}
	return c
}
