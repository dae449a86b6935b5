package table

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"modernc.org/sqlite"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// maxLikePattern is how many characters a pattern of LIKE may have.
const maxLikePattern = 100

// registerFunctions adds the functions that SQLite lacks, and those that it has for ASCII only.
func (d *sqlDriver) registerFunctions() error {
	texts := func(args int32, do func(texts []string) (driver.Value, error)) *sqlite.FunctionImpl {
		return &sqlite.FunctionImpl{NArgs: args, Deterministic: true, VolatileArgs: true, Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			var few [3]string
			for i, v := range args {
				if v == nil {
					return nil, nil
				}
				few[i] = sqlText(v)
			}
			v, err := do(few[:len(args)])
			if err != nil && d.query.err == nil {
				d.query.err = err
			}
			return v, err
		}}
	}
	aggregate := func(args int32, made func(*sqlAggregate) sqlite.AggregateFunction) *sqlite.FunctionImpl {
		return &sqlite.FunctionImpl{NArgs: args, Deterministic: true, VolatileArgs: true, MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) {
			return made(&sqlAggregate{query: d.query, budget: d.query.result.budget}), nil
		}}
	}
	spread := func(name string, result func(*variance) (float64, bool)) *sqlite.FunctionImpl {
		return aggregate(1, func(a *sqlAggregate) sqlite.AggregateFunction {
			a.name = name
			return &sqlSpread{sqlAggregate: a, result: result}
		})
	}
	quantile := func(name string, args int32) *sqlite.FunctionImpl {
		return aggregate(args, func(a *sqlAggregate) sqlite.AggregateFunction {
			a.name = name
			return &sqlQuantile{sqlAggregate: a, percent: 50}
		})
	}
	var all []error
	for name, f := range map[string]*sqlite.FunctionImpl{
		"upper":  texts(1, func(t []string) (driver.Value, error) { return strings.ToUpper(t[0]), nil }),
		"lower":  texts(1, func(t []string) (driver.Value, error) { return strings.ToLower(t[0]), nil }),
		"regexp": texts(2, func(t []string) (driver.Value, error) { return d.query.matches(t[0], t[1]) }),
		// A driver has one function for each name, but SQLite ignores the case of it.
		"like":       texts(2, func(t []string) (driver.Value, error) { return d.query.like(t[0], t[1], "") }),
		"LIKE":       texts(3, func(t []string) (driver.Value, error) { return d.query.like(t[0], t[1], t[2]) }),
		"median":     quantile("median", 1),
		"percentile": quantile("percentile", 2),
		"variance":   spread("variance", (*variance).value),
		"stddev":     spread("stddev", (*variance).stdev),
		"stdev":      spread("stdev", (*variance).stdev), // as in agg
	} {
		all = append(all, d.RegisterFunction(name, f))
	}
	return errors.Join(all...)
}

// functionNames are functions to suggest for another name.
func functionNames() []string {
	return []string{"median", "percentile", "stddev", "variance", "regexp", "upper", "lower", "count", "sum", "avg", "min", "max", "round", "abs", "length",
		"substr", "replace", "trim", "coalesce", "group_concat", "date", "datetime", "strftime", "printf", "instr"}
}

// sqlText returns a value as SQLite casts it to text.
func sqlText(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return sqlFloat(v)
	}
	return ""
}

// sqlFloat writes 15 digits if these are the number, and otherwise 17, of which SQLite rounds
// the last in its own way.
func sqlFloat(f float64) string {
	if math.IsInf(f, 0) {
		return strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+")
	}
	digits := 15
	if g, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'e', digits-1, 64), 64); g != f {
		digits = 17
	}
	s, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', digits-1, 64), "e")
	if n, _ := strconv.Atoi(exponent); n >= -4 && n < 17 {
		s, exponent = strconv.FormatFloat(f, 'f', max(digits-1-n, 1), 64), ""
	} else {
		exponent = "e" + exponent
	}
	if s = strings.TrimRight(s, "0"); strings.HasSuffix(s, ".") {
		s += "0"
	}
	return s + exponent
}

// matches reports whether a pattern occurs in a text.
func (q *sqlQuery) matches(pattern, text string) (driver.Value, error) {
	re := q.patterns[pattern]
	if re == nil {
		var err error
		if re, err = row.Pattern(pattern); err != nil {
			e := value.ErrorOf(err, value.Invalid)
			return nil, renamedError(e, "SQL: regexp: %s", e.Message())
		}
		const most = 32 // patterns, which may be those of a column
		if q.patterns == nil || len(q.patterns) >= most {
			q.patterns = map[string]*regexp.Regexp{}
		}
		q.patterns[strings.Clone(pattern)] = re // SQLite owns the text
	}
	const long = 1 << 16
	if len(text) < long {
		return re.MatchString(text), nil
	}
	found := re.MatchReader(&endingReader{Reader: strings.NewReader(text), ctx: q.ctx})
	return found, q.ctx.Err()
}

// An endingReader ends with its context.
type endingReader struct {
	*strings.Reader
	ctx context.Context
	n   int
}

// ReadRune implements [io.RuneReader].
func (r *endingReader) ReadRune() (rune, int, error) {
	if r.n++; r.n%4096 == 0 && r.ctx.Err() != nil {
		return 0, 0, r.ctx.Err()
	}
	return r.Reader.ReadRune()
}

// like is LIKE of SQLite, with the case of all letters ignored and not only that of ASCII.
func (q *sqlQuery) like(pattern, text, escape string) (driver.Value, error) {
	esc := utf8.RuneError
	if escape != "" {
		esc, _ = utf8.DecodeRuneInString(escape)
	}
	switch {
	case len(pattern) > maxLikePattern && utf8.RuneCountInString(pattern) > maxLikePattern:
		return nil, value.Errorf(value.Invalid, "SQL: LIKE: the pattern has more than %d characters", maxLikePattern).WithHint("write a shorter pattern, or use regexp")
	case escape != "" && utf8.RuneCountInString(escape) != 1:
		return nil, value.Errorf(value.Invalid, "SQL: LIKE: ESCAPE needs one character but got %q", cut(escape)).WithHint(`write one character, as in LIKE '10\%%' ESCAPE '\'`)
	}
	return q.likeAt(pattern, text, esc)
}

func (q *sqlQuery) likeAt(pattern, text string, esc rune) (bool, error) {
	p, at, steps := 0, 0, 0
	afterAny, from := -1, 0 // where to go on after the last %, and with which character
	for at < len(text) {
		if steps++; steps%(1<<16) == 0 && q.ctx.Err() != nil {
			return false, q.ctx.Err()
		}
		r, width := utf8.DecodeRuneInString(text[at:])
		if p < len(pattern) {
			c, n := utf8.DecodeRuneInString(pattern[p:])
			escaped := c == esc && esc != utf8.RuneError
			if escaped {
				var more int
				c, more = utf8.DecodeRuneInString(pattern[p+n:])
				if more == 0 {
					return false, nil
				}
				n += more
			}
			switch {
			case c == '%' && !escaped:
				p += n
				afterAny, from = p, at
				continue
			case c == '_' && !escaped || folded(c) == folded(r):
				p += n
				at += width
				continue
			}
		}
		if afterAny < 0 {
			return false, nil
		}
		_, width = utf8.DecodeRuneInString(text[from:])
		from += width
		p, at = afterAny, from
	}
	return (esc == '%' && p == len(pattern)) || esc != '%' && strings.Trim(pattern[p:], "%") == "", nil
}

// folded returns the same character for the upper and the lower case of a letter.
func folded(r rune) rune {
	if r >= utf8.RuneSelf {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		r = least
	}
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// compareFolded is the collation NOCASE.
func compareFolded(a, b string) int {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r, s = folded(r), folded(s); r != s {
			return int(r) - int(s)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

// A sqlAggregate is one call of an aggregate in a query, for one group.
type sqlAggregate struct {
	query  *sqlQuery
	budget *budget
	name   string
	n      int64
	bytes  int64
	kind   Type // of the values so far
}

// aggregateBytes is the approximate size of an aggregate without values.
const aggregateBytes = 400

// fail makes an error that of the query, which has a hint then.
func (a *sqlAggregate) fail(e *value.Error) error {
	a.query.err = e
	return e
}

// number returns a value of a column of numbers or, if times may be, of times.
func (a *sqlAggregate) number(v driver.Value, times bool) (float64, error) {
	t, f := Float, 0.0
	switch v := v.(type) {
	case int64:
		f = float64(v)
	case float64:
		f = v
	case string:
		var n int64
		ok := false
		for _, t = range []Type{Date, DateTime, Instant} {
			if n, ok = parseTime(t, v); ok {
				break
			}
		}
		if !times || !ok {
			return 0, a.fail(value.Errorf(value.Invalid, "SQL: %s needs numbers%s but got the text %s", a.name, either(times, " or dates", ""), valueShown(strings.Clone(v))).
				WithHint("to use a text as a number, write %s(cast(… as real)%s); leave out other texts with WHERE", a.name, either(a.name == "percentile", ", 90", "")))
		}
		f = float64(n)
	default:
		return 0, a.fail(value.Errorf(value.Invalid, "SQL: %s needs numbers but got bytes", a.name))
	}
	if a.n > 0 && t != a.kind {
		return 0, a.fail(value.Errorf(value.Invalid, "SQL: %s got both %s and %s", a.name, a.kind, t).WithHint("write values of one type, as in %s(date(…))", a.name))
	}
	a.kind = t
	a.n++
	return f, nil
}

func either(is bool, a, b string) string {
	if is {
		return a
	}
	return b
}

// hold takes memory until it has n bytes.
func (a *sqlAggregate) hold(n int64) error {
	if err := a.budget.take(n - a.bytes); err != nil {
		return a.fail(a.budget.over("the values of "+a.name).WithHint("use fewer calls of %s in the query, or compute with GROUP BY", a.name))
	}
	a.bytes = n
	return nil
}

// Final implements [sqlite.AggregateFunction].
func (a *sqlAggregate) Final(*sqlite.FunctionContext) {
	a.budget.left += a.bytes
	a.bytes = 0
}

// WindowInverse implements [sqlite.AggregateFunction].
func (a *sqlAggregate) WindowInverse(*sqlite.FunctionContext, []driver.Value) error {
	return a.fail(value.Errorf(value.Invalid, "SQL: %s cannot be used over a window whose start moves", a.name).
		WithHint("begin the window with UNBOUNDED PRECEDING, or join the rows of each window and use GROUP BY"))
}

// A sqlSpread computes a variance or standard deviation of a sample.
type sqlSpread struct {
	*sqlAggregate
	variance
	result func(*variance) (float64, bool)
}

// Step implements [sqlite.AggregateFunction].
func (s *sqlSpread) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if args[0] == nil {
		return nil
	}
	f, err := s.number(args[0], false)
	if err != nil {
		return err
	}
	s.add(f)
	return s.hold(aggregateBytes)
}

// WindowValue implements [sqlite.AggregateFunction].
func (s *sqlSpread) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if f, ok := s.result(&s.variance); ok {
		return f, nil
	}
	return nil, nil
}

// A sqlQuantile computes a quantile as agg does.
type sqlQuantile struct {
	*sqlAggregate
	quantiles
	percent float64
	given   bool // percent is that of the query
}

// Step implements [sqlite.AggregateFunction].
func (s *sqlQuantile) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if len(args) > 1 {
		if err := s.setPercent(args[1]); err != nil {
			return err
		}
	}
	if args[0] == nil {
		return nil
	}
	f, err := s.number(args[0], true)
	if err != nil {
		return err
	}
	most, before := exactQuantiles, len(s.exact)
	if s.query.kept > manyValues {
		most = fewValues
	}
	s.quantiles.add(f, most, groupSketch)
	s.query.kept += len(s.exact) - before
	if s.sketch != nil {
		return s.hold(aggregateBytes + 3*groupSketch*8)
	}
	return s.hold(aggregateBytes + int64(len(s.exact))*8)
}

func (s *sqlQuantile) setPercent(v driver.Value) error {
	p := math.NaN()
	switch v := v.(type) {
	case int64:
		p = float64(v)
	case float64:
		p = v
	}
	switch {
	case !(p >= 0 && p <= 100) || p > 0 && p < 1: // which is meant as a fraction
		return s.fail(value.Errorf(value.Invalid, "SQL: percentile: the percentage is %s: expected 0, or 1 to 100", valueShown(value.Value(v))).
			WithHint("write percentile(x, 50) for the median, and percentile(x, 90) for what 90 %% of the values do not exceed"))
	case s.given && p != s.percent:
		return s.fail(value.Errorf(value.Invalid, "SQL: percentile: the percentage changes from %g to %g within a group", s.percent, p).
			WithHint("write the same number for all rows, as in percentile(x, 90)"))
	}
	s.percent, s.given = p, true
	return nil
}

// WindowValue implements [sqlite.AggregateFunction].
func (s *sqlQuantile) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if s.quantiles.n == 0 {
		return nil, nil
	}
	if s.estimated() {
		note := s.name + " is an estimate, accurate to half a percentile, for groups with many values"
		if !slices.Contains(s.query.notes, note) {
			s.query.notes = append(s.query.notes, note)
		}
	}
	f := s.at(s.percent / 100)[0]
	if s.kind.time() {
		return formatTime(s.kind, int64(math.Floor(f))), nil
	}
	return f, nil
}

// Final implements [sqlite.AggregateFunction].
func (s *sqlQuantile) Final(c *sqlite.FunctionContext) {
	s.query.kept -= len(s.exact)
	s.exact = nil
	s.sqlAggregate.Final(c)
}
