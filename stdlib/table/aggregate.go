package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An accumulator aggregates the values of a column for many groups, one batch at a time.
// n is the number of groups so far, and ids has the group of each row. add returns the
// additional bytes that it needs beyond the fixed size of each group.
type accumulator interface {
	add(n int, ids []int32, c *Column) int64
}

// An aggregate is one column of the result of agg.
type aggregate struct {
	name   string
	from   int // the index of its column, or -1
	with   accumulator
	column func(n int) *Column // the result of n groups
}

// aggregates are the aggregates of one call of agg. Those over the same values share an
// accumulator.
type aggregates struct {
	list   []aggregate
	shared map[sharing]accumulator
	bytes  int64 // per group
}

type sharing struct {
	from   int
	family string
}

// The types that the functions of agg accept.
const (
	fitsAll   = "any column"
	fitsOrder = "columns of text, numbers, bools and dates"
	fitsSum   = "columns of numbers and bools"
	fitsReal  = "columns of numbers"
	fitsRank  = "columns of numbers and dates"
)

// aggFunctions returns the names of the functions of agg, and the types that they
// accept.
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

// fraction returns the quantile of a function. ok is false for other functions.
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

// checkFit returns an error if the function does not exist or does not accept the
// column.
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
		return value.Errorf(value.Invalid, "unknown function %q%s", cut(function), suggestFunction(function, names)).
			WithHint("the functions are %s and p01 to p99", strings.Join(names, ", "))
	case from < 0 && function != "count":
		return value.Errorf(value.Invalid, "function %q needs a column", function).WithHint("write (\"column\", %q)", function)
	case from >= 0 && !fits(what, t.types[from]):
		return value.Errorf(value.Invalid, "function %q needs %s, but column %q is %s", function, what, cut(t.names[from]), t.types[from]).
			WithHint("use another column, or one of the functions %s", strings.Join(good, ", "))
	}
	return nil
}

// suggestFunction suggests the function for a name in other libraries.
func suggestFunction(name string, names []string) string {
	usual := map[string]string{
		"avg": "mean", "average": "mean", "std": "stdev", "stddev": "stdev", "sd": "stdev", "var": "variance", "n": "count", "size": "count", "len": "count",
		"nunique": "distinct", "n_distinct": "distinct", "count_distinct": "distinct", "total": "sum", "minimum": "min", "maximum": "max",
	}
	if meant, ok := usual[strings.ToLower(name)]; ok {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return value.DidYouMean(name, names)
}

// share returns the accumulator of this family for the column. It is created once.
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

// put adds the aggregate of a function over a column, or over no column. The caller has
// called checkFit.
func (s *aggregates) put(name, function string, from int, t Type, copies bool) {
	a := aggregate{name: name, from: from}
	if f, ok := fraction(function); ok {
		q := share(s, from, "quantile", 96, newGroupQuantiles())
		a.with, a.column = q, func(n int) *Column { return q.result(n, f, t) }
		s.list = append(s.list, a)
		return
	}
	switch function {
	case "count", "missing":
		c := share(s, from, function, 8, &groupCount{missing: function == "missing"})
		a.with, a.column = c, c.result
	case "distinct":
		d := share(s, from, function, 56, &groupDistinct{perGroup: perGroup[distinctHashes]{put: func(h *distinctHashes, c *Column, i int) int64 { return h.add(c.hash(i)) }}})
		a.with, a.column = d, d.result
	case "first", "last", "min", "max":
		p := share(s, from, function, 24, &groupPick{how: function, copies: copies, best: newColumn(t, 0)})
		a.with, a.column = p, p.result
	case "sum", "mean":
		g := share(s, from, "sum", 40, &perGroup[total]{put: (*total).add})
		a.with, a.column = g, func(n int) *Column { return sums(g.all(n), t) }
		if function == "mean" {
			a.column = func(n int) *Column { return floatsOf(g.all(n), func(s *total) (float64, bool) { return s.mean(t) }) }
		}
	case "stdev", "variance":
		g := share(s, from, "spread", 24, &perGroup[variance]{put: (*variance).put})
		a.with, a.column = g, func(n int) *Column { return floatsOf(g.all(n), (*variance).value) }
		if function == "stdev" {
			a.column = func(n int) *Column { return floatsOf(g.all(n), (*variance).stdev) }
		}
	}
	s.list = append(s.list, a)
}

// A perGroup has a state for each group. put adds the i-th value of a column to a state,
// and returns the additional bytes that it needs.
type perGroup[S any] struct {
	states []S
	put    func(s *S, c *Column, i int) int64
}

func (g *perGroup[S]) add(n int, ids []int32, c *Column) (bytes int64) {
	states := g.all(n)
	for i, id := range ids {
		if !c.missing(i) {
			bytes += g.put(&states[id], c, i)
		}
	}
	return bytes
}

// all returns the states of n groups.
func (g *perGroup[S]) all(n int) []S {
	g.states = grown(g.states, n)
	return g.states
}

// floatsOf returns a column of floats, one for each state that has one.
func floatsOf[S any](states []S, value func(*S) (float64, bool)) *Column {
	c := newColumn(Float, len(states))
	for i := range states {
		if v, ok := value(&states[i]); ok {
			c.addFloat(v)
		} else {
			c.addMissing()
		}
	}
	return c
}

// sums returns a column of sums of a column of type t. Sums of integers and bools are
// integers, or floats if one does not fit.
func sums(totals []total, t Type) *Column {
	large := func(s total) bool { _, ok := s.whole.int64(); return !ok }
	if t == Float || slices.ContainsFunc(totals, large) {
		return floatsOf(totals, func(s *total) (float64, bool) {
			if t == Float {
				return s.sum.float(), s.n > 0
			}
			return s.whole.float(), s.n > 0
		})
	}
	c := newColumn(Integer, len(totals))
	for _, s := range totals {
		if s.n == 0 {
			c.addMissing()
			continue
		}
		v, _ := s.whole.int64()
		c.addInt(v)
	}
	return c
}

// grown returns the slice with n elements, the new ones zero.
func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	return append(s, make([]T, n-len(s))...)
}

// A groupCount counts the rows of groups, or the present or the missing values of a
// column.
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

// float returns the i-th value of a column of numbers, bools or times.
func (c *Column) float(i int) float64 {
	if c.Type == Float {
		return c.Floats[i]
	}
	return float64(c.Ints[i])
}

// groupDistinct counts the distinct values of groups.
type groupDistinct struct {
	perGroup[distinctHashes]
	estimated bool
}

func (g *groupDistinct) result(n int) *Column {
	c := newColumn(Integer, n)
	for _, h := range g.all(n) {
		count, estimated := h.count()
		g.estimated = g.estimated || estimated
		c.addInt(count)
	}
	return c
}

// hash returns a 64-bit hash of the i-th value. 0 and -0 are equal, and all NaNs are
// equal.
func (c *Column) hash(i int) uint64 {
	switch c.Type {
	case Text:
		return hashText(c.Texts[i])
	case Float:
		return hashInt(floatKey(c.Floats[i]))
	case Any:
		return hashText(identity(c.Values[i]))
	}
	return hashInt(c.Ints[i])
}

// floatKey returns the same key for equal floats, and one for all NaNs.
func floatKey(f float64) int64 {
	if f != f {
		f = math.NaN()
	}
	return int64(math.Float64bits(f + 0)) // -0 + 0 is 0
}

// groupPick selects one value of each group: the first, last, least or greatest that is
// not missing.
type groupPick struct {
	how    string
	copies bool // texts must be copied, because they are part of the text of a file
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

// pick processes the values of a batch. NaN is neither least nor greatest.
func pick[T cmp.Ordered](how string, set []bool, best []T, ids []int32, values []T, missing []bool) {
	for i, id := range ids {
		if v := values[i]; (missing == nil || !missing[i]) && better(how, set[id], v, best[id]) {
			best[id], set[id] = v, true
		}
	}
}

// better reports whether v replaces the selected value of a group.
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

// groupQuantiles computes the quantiles of groups. They are exact up to manyValues in
// all groups together; beyond that, groups with more than fewValues use sketches.
type groupQuantiles struct {
	perGroup[quantiles]
	kept int // values in groups without a sketch
	many bool
}

const (
	manyValues = 1_000_000 // 8 MB
	fewValues  = 2 * groupSketch
)

func newGroupQuantiles() *groupQuantiles {
	g := &groupQuantiles{}
	g.put = func(q *quantiles, c *Column, i int) (bytes int64) {
		most := exactQuantiles
		if g.many {
			most = fewValues
		}
		before := len(q.exact)
		q.add(c.float(i), most, groupSketch)
		switch {
		case len(q.exact) > before:
			bytes += 8
			g.kept++
		case len(q.exact) < before:
			bytes += g.compressed(before)
		}
		if g.kept > manyValues && !g.many {
			g.many = true
			for i := range g.states {
				if before := len(g.states[i].exact); before > fewValues {
					g.states[i].compress(groupSketch)
					bytes += g.compressed(before)
				}
			}
		}
		return bytes
	}
	return g
}

// compressed returns the additional bytes of a sketch that replaced n values.
func (g *groupQuantiles) compressed(n int) int64 {
	g.kept -= n
	return int64(3*groupSketch-n) * 8
}

func (g *groupQuantiles) estimated() bool {
	return slices.ContainsFunc(g.states, func(q quantiles) bool { return q.estimated() })
}

// result returns a column of floats, or for points in time a column of their type.
func (g *groupQuantiles) result(n int, fraction float64, t Type) *Column {
	floats := floatsOf(g.all(n), func(q *quantiles) (float64, bool) {
		if q.n == 0 {
			return 0, false
		}
		return q.at(fraction)[0], true
	})
	if !t.time() {
		return floats
	}
	times := &Column{Type: t, Ints: make([]int64, n), Missing: floats.Missing}
	for i, v := range floats.Floats {
		times.Ints[i] = int64(math.Floor(v))
	}
	return times
}
