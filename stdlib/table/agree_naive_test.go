package table

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// This file parses the files of testdata and aggregates them a second time, in the
// simplest way and without code in common with the code under test.

// An agreeCell is a cell of a file.
type agreeCell struct {
	text   string
	quoted bool
	absent bool
}

// An agreeColumn has Go values: string, int64, float64, bool, or nil for a missing
// value. A point in time is its number.
type agreeColumn struct {
	name   string
	typ    Type
	values []any
}

// load parses the file with the types of the test.
func (f *agreeFile) load(t *testing.T, content []byte) []agreeColumn {
	t.Helper()
	var rows [][]agreeCell
	switch {
	case strings.HasSuffix(f.name, ".json"):
		var list []map[string]any
		d := json.NewDecoder(bytes.NewReader(content))
		d.UseNumber()
		if err := d.Decode(&list); err != nil {
			t.Fatal(err)
		}
		rows = f.records(list)
	case strings.HasSuffix(f.name, ".jsonl"):
		var list []map[string]any
		d := json.NewDecoder(bytes.NewReader(content))
		d.UseNumber()
		for d.More() {
			var one map[string]any
			if err := d.Decode(&one); err != nil {
				t.Fatal(err)
			}
			list = append(list, one)
		}
		rows = f.records(list)
	case strings.HasSuffix(f.name, ".xlsx"):
		rows = agreeSheet(t, content)[1:]
	default:
		rows = agreeSplit(agreeText(f.encoding, content), f.delimiter)[1:]
	}
	columns := make([]agreeColumn, len(f.columns))
	for i, c := range f.columns {
		columns[i] = agreeColumn{name: c.name, typ: c.typ}
		for _, row := range rows {
			cell := agreeCell{absent: true}
			if i < len(row) {
				cell = row[i]
			}
			columns[i].values = append(columns[i].values, f.value(t, c.typ, cell))
		}
	}
	return columns
}

// agreeText decodes a file.
func agreeText(encoding string, b []byte) string {
	switch encoding {
	case "utf-16le":
		var units []uint16
		for i := 2; i < len(b); i += 2 {
			units = append(units, uint16(b[i])|uint16(b[i+1])<<8)
		}
		return string(utf16.Decode(units))
	case "windows-1252":
		var s strings.Builder
		for _, c := range b {
			r, ok := map[byte]rune{0x80: '€', 0x93: '“', 0x94: '”'}[c]
			if !ok {
				r = rune(c)
			}
			s.WriteRune(r)
		}
		return s.String()
	}
	return strings.TrimPrefix(string(b), "\ufeff")
}

// agreeSplit splits a text into rows.
func agreeSplit(s string, delimiter byte) [][]agreeCell {
	var rows [][]agreeCell
	var row []agreeCell
	for i := 0; i < len(s); {
		cell := agreeCell{quoted: s[i] == '"'}
		if cell.quoted {
			for i++; ; i++ {
				if s[i] == '"' {
					if i+1 == len(s) || s[i+1] != '"' {
						break
					}
					i++
				}
				cell.text += s[i : i+1]
			}
			i++
		} else {
			end := i + strings.IndexAny(s[i:]+"\n", string(delimiter)+"\n")
			cell.text = strings.TrimSuffix(s[i:end], "\r")
			i = end
		}
		row = append(row, cell)
		if i < len(s) && s[i] == delimiter {
			i++
			if i == len(s) || s[i] == '\n' || s[i] == '\r' { // the last cell is empty
				row = append(row, agreeCell{})
			} else {
				continue
			}
		}
		rows, row = append(rows, row), nil
		i += len(s[i:]) - len(strings.TrimPrefix(strings.TrimPrefix(s[i:], "\r"), "\n"))
	}
	return rows
}

// records returns rows of objects.
func (f *agreeFile) records(list []map[string]any) [][]agreeCell {
	var rows [][]agreeCell
	for _, one := range list {
		var row []agreeCell
		for _, c := range f.columns {
			switch v := one[c.name].(type) {
			case nil:
				row = append(row, agreeCell{absent: true})
			case bool:
				row = append(row, agreeCell{text: strconv.FormatBool(v)})
			case json.Number:
				row = append(row, agreeCell{text: v.String()})
			case string:
				row = append(row, agreeCell{text: v, quoted: true})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// agreeSheet reads the one sheet of the spreadsheet; style 1 is a date.
func agreeSheet(t *testing.T, content []byte) [][]agreeCell {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	decode := func(name string, into any) {
		f, err := z.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	var shared struct {
		Items []string `xml:"si>t"`
	}
	var sheet struct {
		Rows []struct {
			Cells []struct {
				Ref    string `xml:"r,attr"`
				Type   string `xml:"t,attr"`
				Style  string `xml:"s,attr"`
				Value  string `xml:"v"`
				Inline string `xml:"is>t"`
			} `xml:"c"`
		} `xml:"sheetData>row"`
	}
	decode("xl/sharedStrings.xml", &shared)
	decode("xl/worksheets/sheet1.xml", &sheet)
	var rows [][]agreeCell
	for _, r := range sheet.Rows {
		row := make([]agreeCell, 7)
		for i := range row {
			row[i].absent = true
		}
		for _, c := range r.Cells {
			cell := agreeCell{text: c.Value}
			n, _ := strconv.Atoi(c.Value)
			switch {
			case c.Type == "s":
				cell = agreeCell{text: shared.Items[n], quoted: true}
			case c.Type == "inlineStr":
				cell = agreeCell{text: c.Inline, quoted: true}
			case c.Type == "b":
				cell.text = strconv.FormatBool(n == 1)
			case c.Style == "1":
				cell.text = time.Date(1899, 12, 30+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			}
			row[c.Ref[0]-'A'] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// value parses a cell of a column of that type.
func (f *agreeFile) value(t *testing.T, typ Type, c agreeCell) any {
	t.Helper()
	s := c.text
	if c.absent || s == "" && !c.quoted || typ != Text && slices.Contains([]string{"NA", "N/A", "NaN", "null", "NULL"}, s) {
		return nil
	}
	var v any
	var err error
	switch typ {
	case Text:
		return s
	case Bool:
		v, err = strconv.ParseBool(strings.ToLower(s))
	case Integer:
		v, err = strconv.ParseInt(f.plainNumber(s), 10, 64)
	case Float:
		number, percent := strings.CutSuffix(f.plainNumber(s), "%")
		var x float64
		x, err = strconv.ParseFloat(number, 64)
		if percent {
			x /= 100
		}
		v = x
	case Date:
		var at time.Time
		at, err = time.Parse(cmp.Or(f.layout, time.DateOnly), s)
		v = at.Unix() / (24 * 60 * 60)
	default:
		var at time.Time
		for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700"} {
			if at, err = time.Parse(layout, s); err == nil {
				break
			}
		}
		v = at.UnixMicro()
	}
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	return v
}

// plainNumber rewrites a number in the notation of Go.
func (f *agreeFile) plainNumber(s string) string {
	if f.thousands != "" {
		s = strings.ReplaceAll(s, f.thousands, "")
	}
	return strings.Replace(s, cmp.Or(f.decimal, "."), ".", 1)
}

// agreeStats are the aggregates of a column, or of one group in it.
type agreeStats map[string]any

// agreeFits returns the functions for a type besides those for all types.
func agreeFits(t Type) []string {
	list := []string{"count", "missing", "distinct", "first", "last", "min", "max"}
	quantiles := []string{"q1", "median", "q3", "p01", "p10", "p90", "p99"}
	switch t {
	case Integer, Float:
		return append(append(list, "sum", "mean", "stdev", "variance"), quantiles...)
	case Bool:
		return append(list, "sum", "mean")
	case Text:
		return list
	}
	return append(list, quantiles...)
}

// agreeFraction returns the fraction of a quantile.
func agreeFraction(name string) (float64, bool) {
	f, ok := map[string]float64{"q1": .25, "median": .5, "q3": .75, "p01": .01, "p10": .1, "p90": .9, "p99": .99}[name]
	return f, ok
}

// stats computes all functions for the type. Without values there is no key.
func (c agreeColumn) stats() agreeStats {
	s := agreeStats{}
	var there []any
	distinct := map[any]int{}
	var order []any // distinct values, in the order of their first occurrence
	for _, v := range c.values {
		if v == nil {
			continue
		}
		there = append(there, v)
		if v == 0.0 {
			v = 0.0 // not -0
		}
		if distinct[v]++; distinct[v] == 1 {
			order = append(order, v)
		}
	}
	s["count"], s["missing"], s["distinct"] = int64(len(there)), int64(len(c.values)-len(there)), int64(len(distinct))
	if len(there) == 0 {
		return s
	}
	s["first"], s["last"] = c.shown(there[0]), c.shown(there[len(there)-1])
	top := slices.MaxFunc(order, func(a, b any) int { return distinct[a] - distinct[b] })
	s["top"], s["top_count"] = c.written(top), int64(distinct[top])
	sorted := slices.Clone(there)
	slices.SortStableFunc(sorted, agreeCompare)
	s["min"], s["max"] = c.shown(sorted[0]), c.shown(sorted[len(sorted)-1])
	if c.typ == Integer || c.typ == Float || c.typ == Bool {
		c.sums(s, there)
	}
	for _, name := range agreeFits(c.typ) {
		if f, ok := agreeFraction(name); ok {
			s[name] = c.quantile(sorted, f)
		}
	}
	return s
}

func agreeCompare(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	}
	return cmp.Compare(agreeNumber(a), agreeNumber(b))
}

func agreeNumber(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

// agreePrecision holds the square of the difference of any two floats exactly.
const agreePrecision = 8192

func agreeBig(v any) *big.Float {
	f := new(big.Float).SetPrec(agreePrecision)
	if n, ok := v.(int64); ok {
		return f.SetInt64(n)
	}
	return f.SetFloat64(agreeNumber(v))
}

// sums computes exact values, except that a deviation is the root of the variance as a
// float.
func (c agreeColumn) sums(s agreeStats, there []any) {
	sum := agreeBig(int64(0))
	for _, v := range there {
		sum.Add(sum, agreeBig(v))
	}
	n := agreeBig(int64(len(there)))
	mean := agreeBig(int64(0)).Quo(sum, n)
	whole, exact := sum.Int64()
	switch float, _ := sum.Float64(); {
	case c.typ == Float || exact != big.Exact:
		s["sum"] = float
	default:
		s["sum"] = whole
	}
	s["mean"], _ = mean.Float64()
	if c.typ == Bool || len(there) < 2 {
		return
	}
	squares := agreeBig(int64(0))
	for _, v := range there {
		d := agreeBig(int64(0)).Sub(agreeBig(v), mean)
		squares.Add(squares, d.Mul(d, d))
	}
	variance, _ := squares.Quo(squares, agreeBig(int64(len(there)-1))).Float64()
	s["variance"], s["stdev"] = variance, math.Sqrt(variance)
}

// quantile returns the quantile of type 7 of Hyndman and Fan.
func (c agreeColumn) quantile(sorted []any, fraction float64) any {
	rank := fraction * float64(len(sorted)-1)
	low, high := sorted[int(math.Floor(rank))], sorted[int(math.Ceil(rank))]
	part := agreeBig(rank - math.Floor(rank))
	v := agreeBig(int64(0)).Sub(agreeBig(high), agreeBig(low))
	v.Mul(v, part).Add(v, agreeBig(low))
	f, _ := v.Float64()
	if c.typ == Integer || c.typ == Float {
		return f
	}
	return c.shown(int64(math.Floor(f)))
}

// shown returns a value as scripts see it.
func (c agreeColumn) shown(v any) any {
	n, _ := v.(int64)
	switch c.typ {
	case Date:
		return time.Unix(n*24*60*60, 0).UTC().Format(time.DateOnly)
	case DateTime:
		return time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.999999")
	case Instant:
		return time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.999999") + "Z"
	}
	return v
}

// written formats a value: a float has a point or an exponent.
func (c agreeColumn) written(v any) string {
	switch v := c.shown(v).(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		form := byte('g')
		if math.Abs(v) >= 1 && math.Abs(v) < 1e15 {
			form = 'f'
		}
		s := strconv.FormatFloat(v, form, -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case bool:
		return strconv.FormatBool(v)
	default:
		return v.(string)
	}
}

// An agreeGroup has the rows with one key.
type agreeGroup struct {
	key     []any // as scripts see it
	columns []agreeColumn
}

// agreeGroups groups rows in the order of their first row.
func agreeGroups(columns []agreeColumn, by []string) []agreeGroup {
	var groups []agreeGroup
	var keys []int
	for i, c := range columns {
		if slices.Contains(by, c.name) {
			keys = append(keys, i)
		}
	}
	for row := range columns[0].values {
		var key []any
		for _, k := range keys {
			key = append(key, columns[k].shown(columns[k].values[row]))
		}
		at := slices.IndexFunc(groups, func(g agreeGroup) bool { return slices.Equal(g.key, key) })
		if at < 0 {
			at = len(groups)
			g := agreeGroup{key: key}
			for _, c := range columns {
				g.columns = append(g.columns, agreeColumn{name: c.name, typ: c.typ})
			}
			groups = append(groups, g)
		}
		for i, c := range columns {
			groups[at].columns[i].values = append(groups[at].columns[i].values, c.values[row])
		}
	}
	return groups
}
