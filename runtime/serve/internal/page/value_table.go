package page

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bounds of a table on a page.
const (
	pageRows   = 100
	mostColumn = 40
	cellText   = 200
	sampleRows = 1_000 // of which the columns are read, and whether they have numbers
)

// A TableView is a list of objects as a table.
type TableView struct {
	Columns []Column
	Rows    [][]Cell
	Total   int
	From    int // the number of the first row, from 1
	Sorted  string
	Left    int // columns that are not shown
	All     bool
	Next    URL
	Before  URL
	Chart   *ChartView
	Page    URL // of the form of the chart
	Keep    []Hidden
	Numbers []Option // columns that a chart can show
	Names   []Option
}

// To returns the number of the last row.
func (t *TableView) To() int { return t.From + len(t.Rows) - 1 }

// A Column is a column of a table.
type Column struct {
	Name    string
	Numbers bool
	Href    URL // sorts by it
	Sorted  Direction
}

// A Direction is how a column is sorted.
type Direction string

const (
	Unsorted   Direction = ""
	Ascending  Direction = "ascending"
	Descending Direction = "descending"
)

// A Cell is a value in a table.
type Cell struct {
	Text    string
	Missing bool
	Numbers bool
	Head    bool // it names its row
	Media   *MediaView
}

// isTable reports whether a list has objects only.
func isTable(list []value.Value) bool {
	for _, v := range list {
		if d, ok := v.(*value.Dict); !ok || d.Len() == 0 {
			return false
		}
	}
	return len(list) > 0
}

// columnsOf returns the columns of rows, in the order in which they first appear, and how many are left out.
func columnsOf(list []value.Value, most int) (columns []Column, left int) {
	at := map[string]int{}
	for i, row := range list {
		if i == sampleRows && most < 1<<20 {
			break
		}
		for k, v := range row.(*value.Dict).All() {
			name := value.Display(k)
			n, known := at[name]
			if !known {
				n = len(columns)
				at[name] = n
				columns = append(columns, Column{Name: name, Numbers: true})
			}
			columns[n].Numbers = columns[n].Numbers && (v == nil || value.Numeric(v))
		}
	}
	for i := range columns { // a column in which everything is missing has no numbers
		columns[i].Numbers = columns[i].Numbers && slices.ContainsFunc(list[:min(len(list), sampleRows)], func(row value.Value) bool { return cellOf(row, columns[i].Name) != nil })
	}
	if len(columns) > most {
		return columns[:most], len(columns) - most
	}
	return columns, 0
}

func cellOf(row value.Value, name string) value.Value {
	d, _ := row.(*value.Dict)
	return get(d, name)
}

func newTable(v value.Value, q *ValueQuery) *TableView {
	list, _ := value.Elements(v)
	t := &TableView{Total: len(list), Page: q.Page}
	t.Columns, t.Left = columnsOf(list, mostColumn)
	list = t.sort(list, q)
	from := min(q.From/pageRows*pageRows, max(0, (len(list)-1)/pageRows*pageRows))
	t.From = from + 1
	to := min(from+pageRows, len(list))
	t.All = len(list) <= pageRows
	for _, row := range list[from:to] {
		t.Rows = append(t.Rows, t.row(row, q))
	}
	t.align()
	if to < len(list) {
		t.Next = q.link("view", string(AsTable), "sort", q.Sort, "from", strconv.Itoa(to))
	}
	if from > 0 {
		t.Before = q.link("view", string(AsTable), "sort", q.Sort, "from", strconv.Itoa(from-pageRows))
	}
	t.chart(list, q)
	return t
}

func (t *TableView) row(row value.Value, q *ValueQuery) []Cell {
	cells := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		cell := &cells[i]
		cell.Numbers, cell.Head = c.Numbers, i == 0 && !c.Numbers
		switch v := cellOf(row, c.Name).(type) {
		case nil:
			cell.Missing = true
		case value.Media:
			cell.Text, cell.Media = v.String(), newMedia(v, q.Media)
		default:
			cell.Text = cut(value.Display(v), cellText)
		}
	}
	return cells
}

// align gives the numbers of each column the same number of decimals.
func (t *TableView) align() {
	for i, c := range t.Columns {
		var texts []*string
		for _, row := range t.Rows {
			if c.Numbers && row[i].Text != "" {
				texts = append(texts, &row[i].Text)
			}
		}
		align(texts)
	}
}

// align gives numbers the same number of decimals, unless one of them has very many.
func align(texts []*string) {
	most := 0
	plain := func(s string) bool { return !strings.ContainsAny(s, "eEaN") } // neither 1e30 nor NaN
	for _, s := range texts {
		if _, decimals, _ := strings.Cut(*s, "."); plain(*s) {
			most = max(most, len(decimals))
		}
	}
	for _, s := range texts {
		_, decimals, found := strings.Cut(*s, ".")
		if most == 0 || most > mostDecimals || !plain(*s) {
			continue
		}
		if !found {
			*s += "."
		}
		*s += strings.Repeat("0", most-len(decimals))
	}
}

// mostDecimals is how many decimals a column may have for all its numbers to have them.
const mostDecimals = 4

// sort sorts by a column. What is missing is last.
func (t *TableView) sort(list []value.Value, q *ValueQuery) []value.Value {
	name, down := bare(q.Sort)
	for i := range t.Columns {
		c := &t.Columns[i]
		sort := c.Name
		switch {
		case q.Sort != "" && c.Name == name && !down:
			c.Sorted, sort, t.Sorted = Ascending, "-"+c.Name, "sorted by "+name+", smallest first"
		case q.Sort != "" && c.Name == name:
			c.Sorted, t.Sorted = Descending, "sorted by "+name+", largest first"
		case c.Numbers:
			sort = "-" + c.Name
		}
		c.Href = q.link("view", string(AsTable), "sort", sort, "y", q.Y, "x", q.X)
	}
	if t.Sorted == "" {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b value.Value) int {
		x, y := cellOf(a, name), cellOf(b, name)
		if x == nil || y == nil {
			return cmp.Compare(missing(x), missing(y))
		}
		order := compare(x, y)
		if down {
			return -order
		}
		return order
	})
	return list
}

func missing(v value.Value) int {
	if v == nil {
		return 1
	}
	return 0
}

func compare(x, y value.Value) int {
	if order, ok := value.CompareNumbers(x, y); ok && value.Numeric(x) && value.Numeric(y) {
		return order
	}
	if value.Numeric(x) != value.Numeric(y) {
		return cmp.Compare(boolInt(!value.Numeric(x)), boolInt(!value.Numeric(y)))
	}
	return cmp.Compare(strings.ToLower(value.Display(x)), strings.ToLower(value.Display(y)))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The bounds of a chart: up to chartBars it has bars, and otherwise a line.
const (
	chartBars   = 30
	chartPoints = 1_000
)

// A ChartView is a chart of the numbers of one column.
type ChartView struct {
	Y, X        string
	Bars        []BarView
	Points      Literal // of a line, in a box of 600 by 160
	Zero        float64 // the height of 0 in it, or -1
	Low, High   string
	First, Last string
	Text        string // for those who do not see it
	Left        int    // rows that are not shown
}

// A BarView is a bar, in a box of the width 100.
type BarView struct {
	Name, Text string
	From, Size float64
	Missing    bool
}

// chart offers a chart, and draws it if the query asks for one.
func (t *TableView) chart(list []value.Value, q *ValueQuery) {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	x, y := q.X, ""
	if !slices.Contains(names, x) {
		x = names[0]
	}
	for _, c := range t.Columns {
		if c.Numbers {
			t.Numbers = append(t.Numbers, Option{Value: c.Name, Name: c.Name, Selected: c.Name == q.Y})
		}
		if c.Numbers && c.Name == q.Y {
			y = c.Name
		}
		t.Names = append(t.Names, Option{Value: c.Name, Name: c.Name, Selected: c.Name == x})
	}
	for _, name := range slices.Sorted(maps.Keys(q.Keep)) {
		t.Keep = append(t.Keep, Hidden{name, q.Keep.Get(name)})
	}
	t.Keep = append(t.Keep, Hidden{"view", string(AsTable)})
	if q.Sort != "" {
		t.Keep = append(t.Keep, Hidden{"sort", q.Sort})
	}
	if y != "" {
		t.Chart = newChart(list, y, x)
	}
}

func newChart(list []value.Value, y, x string) *ChartView {
	c := &ChartView{Y: y, X: x, Zero: -1}
	if len(list) > chartPoints {
		c.Left, list = len(list)-chartPoints, list[:chartPoints]
	}
	numbers := make([]float64, len(list))
	least, most := -1, -1
	for i, row := range list {
		if cellOf(row, y) == nil {
			continue
		}
		numbers[i] = float(cellOf(row, y))
		if least < 0 || numbers[i] < numbers[least] {
			least = i
		}
		if most < 0 || numbers[i] > numbers[most] {
			most = i
		}
	}
	if most < 0 {
		return c
	}
	low, high := min(0, numbers[least]), max(0, numbers[most])
	if high == low {
		high = low + 1
	}
	name := func(i int) string { return cut(value.Display(cellOf(list[i], x)), 60) }
	kind := "Bar chart"
	if len(list) > chartBars {
		kind = "Line"
		c.line(list, numbers, low, high)
		c.Low, c.High, c.First, c.Last = number(low), number(high), name(0), name(len(list)-1)
	} else {
		c.bars(list, numbers, low, high, name)
	}
	text := func(i int) string { return value.Display(cellOf(list[i], y)) }
	c.Text = fmt.Sprintf("%s of %s by %s: %s (%s) is the largest, %s (%s) the smallest.", kind, y, x, name(most), text(most), name(least), text(least))
	return c
}

// bars places bars, on both sides of 0.
func (c *ChartView) bars(list []value.Value, numbers []float64, low, high float64, name func(int) string) {
	for i, n := range numbers {
		c.Bars = append(c.Bars, BarView{
			Name: name(i), Text: value.Display(cellOf(list[i], c.Y)), Missing: cellOf(list[i], c.Y) == nil,
			From: 100 * (min(n, 0) - low) / (high - low), Size: 100 * max(n, -n) / (high - low),
		})
	}
	var texts []*string
	for i := range c.Bars {
		if !c.Bars[i].Missing {
			texts = append(texts, &c.Bars[i].Text)
		}
	}
	align(texts)
}

// line places the points of a line. Where a number is missing, the line goes on.
func (c *ChartView) line(list []value.Value, numbers []float64, low, high float64) {
	var b strings.Builder
	for i, n := range numbers {
		if cellOf(list[i], c.Y) == nil {
			continue
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", 600*float64(i)/float64(len(numbers)-1), 158-156*(n-low)/(high-low))
	}
	c.Points = Literal(strings.TrimSpace(b.String()))
	c.Zero = 158 - 156*(0-low)/(high-low)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// float returns a number, and 0 for other values.
func float(v value.Value) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		if n == n && n-n == 0 { // neither NaN nor infinite
			return n
		}
	case *big.Int:
		f, _ := new(big.Float).SetInt(n).Float64()
		return f
	}
	return 0
}
