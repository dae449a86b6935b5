package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// A table is some rows of a file, column by column.
type table struct {
	Names   []string `json:"names"`
	Types   []string `json:"types"`
	Rows    int64    `json:"rows"` // of the file
	First   int64    `json:"first"`
	Count   int64    `json:"count"`
	Notes   []string `json:"notes"`
	Columns [][]any  `json:"columns"`

	file   *parquet.File
	fields []parquet.Field
	size   int64 // of the values, about
}

// maxExact is how many decimal digits a float has at least.
const maxExact = 15

func newTable(f *parquet.File) *table {
	t := &table{file: f, fields: f.Schema().Fields(), Rows: f.NumRows(), Names: []string{}, Types: []string{}, Notes: []string{}, Columns: [][]any{}}
	for _, field := range t.fields {
		t.Names, t.Types, t.Columns = append(t.Names, field.Name()), append(t.Types, typeOf(field)), append(t.Columns, []any{})
		if d, ok := logical(field).(*format.DecimalType); ok && d.Precision > maxExact {
			t.Notes = append(t.Notes, fmt.Sprintf("column %q: decimals of %d digits are read as floats of about %d", field.Name(), d.Precision, maxExact))
		}
	}
	return t
}

// typeOf returns the type of a column.
func typeOf(n parquet.Node) string {
	if !n.Leaf() || n.Repeated() {
		return "any"
	}
	switch l := logical(n).(type) {
	case *format.DecimalType:
		return "float"
	case *format.DateType:
		return "date"
	case *format.TimestampType:
		return moments(l.IsAdjustedToUTC)
	case *format.TimeType, *format.UUIDType, *format.StringType, *format.EnumType, *format.JsonType:
		return "text"
	case *format.IntType:
		if l.BitWidth == 64 && !l.IsSigned {
			return "any" // a number above those of int64 is a text
		}
	}
	switch n.Type().Kind() {
	case parquet.Boolean:
		return "bool"
	case parquet.Int32, parquet.Int64:
		return "integer"
	case parquet.Int96:
		return "instant"
	case parquet.Float, parquet.Double:
		return "float"
	}
	return "text"
}

// logical returns what the values of a leaf mean, or nil for what their kind says.
func logical(n parquet.Node) any {
	if !n.Leaf() || n.Type().LogicalType() == nil {
		return nil
	}
	return n.Type().LogicalType().Value
}

// moments returns the type of points in time.
func moments(utc bool) string {
	if utc {
		return "instant"
	}
	return "datetime"
}

// read reads the rows from first on, until their values have about so many bytes.
func (t *table) read(first, bytes int64) error {
	r := parquet.NewGenericReader[any](t.file)
	defer r.Close()
	if t.First = min(first, t.Rows); t.First > 0 {
		if err := r.SeekToRow(t.First); err != nil {
			return err
		}
	}
	rows := make([]any, 64)
	for t.First+t.Count < t.Rows && (t.Count == 0 || t.size < bytes) {
		n, err := r.Read(rows[:min(int64(len(rows)), t.Rows-t.First-t.Count)]) // behind the last row, the library panics after SeekToRow
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("row %d: %w", t.First+t.Count, err)
		}
		if n == 0 {
			return fmt.Errorf("the file ends after %d of %d rows", t.First+t.Count, t.Rows)
		}
		for _, row := range rows[:n] {
			values, _ := row.(map[string]any)
			for i, field := range t.fields {
				v := t.value(field, values[field.Name()], t.Types[i] != "any")
				t.Columns[i] = append(t.Columns[i], v)
			}
			t.Count++
		}
	}
	return nil
}

// value returns a value as JSON. A time is a number if it is the value of a column, else a text.
func (t *table) value(n parquet.Node, v any, column bool) any {
	t.size += 8
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = t.value(itemOf(n), item, false)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, item := range v {
			t.size += int64(len(k))
			object[k] = t.value(memberOf(n, k), item, false)
		}
		return object
	}
	if n == nil || !n.Leaf() {
		return fmt.Sprint(v)
	}
	return t.leaf(logical(n), v, column)
}

// itemOf returns the type of the items of a list.
func itemOf(n parquet.Node) parquet.Node {
	if n == nil || n.Leaf() {
		return n
	}
	for range 2 { // a group with the only field list, which has the only field element
		fields := n.Fields()
		if len(fields) != 1 {
			return n
		}
		if n = fields[0]; n.Leaf() {
			return n
		}
	}
	return n
}

// memberOf returns the type of a field of an object, or of the values of a map.
func memberOf(n parquet.Node, name string) parquet.Node {
	if n == nil || n.Leaf() {
		return nil
	}
	fields := n.Fields()
	for _, f := range fields {
		if f.Name() == name {
			return f
		}
	}
	if len(fields) == 1 && len(fields[0].Fields()) == 2 { // a map has key_value, which has key and value
		return fields[0].Fields()[1]
	}
	return nil
}

func (t *table) leaf(meaning, v any, column bool) any {
	switch v := v.(type) {
	case bool:
		return v
	case float32:
		return number(float64(v))
	case float64:
		return number(v)
	case int32:
		return integer(meaning, int64(v), column)
	case int64:
		return integer(meaning, v, column)
	case uint32:
		return int64(v)
	case uint64:
		return integer(meaning, int64(v), column)
	case deprecated.Int96:
		const unix, day = 2440588, int64(24 * time.Hour / time.Microsecond) // the Julian day of 1970, and microseconds
		nanos := int64(uint64(v[0]) | uint64(v[1])<<32)
		return moment("instant", (int64(v[2])-unix)*day+nanos/1000, column)
	case string:
		return t.text(meaning, []byte(v))
	case []byte:
		return t.text(meaning, v)
	}
	return fmt.Sprint(v)
}

// number returns a float, or a text for one that JSON cannot represent.
func number(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return f
}

func integer(meaning any, n int64, column bool) any {
	switch l := meaning.(type) {
	case *format.IntType:
		if !l.IsSigned && n < 0 {
			return strconv.FormatUint(uint64(n), 10)
		}
	case *format.DateType:
		if !column {
			return time.Unix(n*24*60*60, 0).UTC().Format(time.DateOnly)
		}
	case *format.TimeType:
		return time.Unix(0, 0).UTC().Add(time.Duration(n) * unitOf(l.Unit)).Format("15:04:05.999999999")
	case *format.TimestampType:
		switch unitOf(l.Unit) {
		case time.Millisecond:
			n *= 1000
		case time.Nanosecond:
			n /= 1000
		}
		return moment(moments(l.IsAdjustedToUTC), n, column)
	}
	return n
}

func unitOf(u format.TimeUnit) time.Duration {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return time.Millisecond
	case *format.NanoSeconds:
		return time.Nanosecond
	}
	return time.Microsecond
}

// moment returns a point in time: microseconds in a column, else a text.
func moment(typ string, micros int64, column bool) any {
	switch {
	case column:
		return micros
	case typ == "instant":
		return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999999Z07:00")
	}
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999999")
}

// text returns a text, and other bytes in base64.
func (t *table) text(meaning any, b []byte) any {
	t.size += int64(len(b))
	if _, ok := meaning.(*format.UUIDType); ok && len(b) == len(uuid.UUID{}) {
		return uuid.UUID(b).String()
	}
	if !utf8.Valid(b) {
		return base64.StdEncoding.EncodeToString(b)
	}
	return string(b)
}
