package table

import (
	"context"
	"slices"
	"strconv"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A parquetPart is some rows of a Parquet file, as the effect fs.parquet returns them.
type parquetPart struct {
	names   []string
	types   []Type
	rows    int64 // of the file
	next    int64 // the row behind the last one
	notes   []string
	columns value.List
}

// readParquet reads a Parquet file, in parts.
func readParquet(g tool.Grant, in *input) (*Table, error) {
	if !in.file {
		return nil, value.Errorf(value.Invalid, "a Parquet file cannot be read from a text").WithHint("in a script, call data.read(path)")
	}
	first, err := in.parquet(g, 0)
	if err != nil {
		return nil, err
	}
	if name, again := repeated(first.names); again {
		return nil, value.Errorf(value.Failed, "%s: two columns are named %q", in.name, cut(name))
	}
	rows, err := first.batch(in)
	if err != nil {
		return nil, err
	}
	if first.next >= first.rows {
		return newHeld(first.names, rows, first.notes...), nil
	}
	return newStream(first.names, first.types, int(first.rows), func(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
		for at := int64(0); at < first.rows; {
			part, err := in.parquet(g, at)
			if err != nil {
				return err
			}
			b, err := part.batch(in)
			switch {
			case err != nil:
				return err
			case part.rows != first.rows || part.next <= at || !slices.Equal(part.types, first.types):
				return in.changedError()
			}
			if err := b.scan(ctx, g, yield); err != nil {
				return err
			}
			at = part.next
		}
		return nil
	}, first.notes...), nil
}

// parquet reads a part of the file from a row on.
func (in *input) parquet(g tool.Grant, first int64) (*parquetPart, error) {
	v, err := in.request(g, "fs.parquet", value.NewDict("path", in.name, "first", first))
	if err != nil {
		return nil, err
	}
	d, _ := v.(*value.Dict)
	columns, _ := d.Get("columns")
	p := &parquetPart{rows: d.Int("rows"), next: d.Int("first") + d.Int("count")}
	p.columns, _ = columns.(value.List)
	for _, n := range d.Elements("names") {
		name, _ := n.(string)
		p.names = append(p.names, name)
	}
	for _, n := range d.Elements("notes") {
		note, _ := n.(string)
		p.notes = append(p.notes, note)
	}
	for _, n := range d.Elements("types") {
		name, _ := n.(string)
		t, err := ParseType(name)
		if err != nil {
			return nil, err
		}
		p.types = append(p.types, t)
	}
	if len(p.names) != len(p.types) || len(p.columns) != len(p.types) {
		return nil, in.unfitting()
	}
	return p, nil
}

// unfitting returns the error of a result of fs.parquet that is no table.
func (in *input) unfitting() error {
	return value.Errorf(value.Failed, "%s: fs.parquet returned no table", in.name)
}

// batch returns the rows of a part.
func (p *parquetPart) batch(in *input) (*Batch, error) {
	b := &Batch{}
	for i, t := range p.types {
		list, _ := p.columns[i].(value.List)
		c := newColumn(t, len(list))
		for _, v := range list {
			if !c.addJSON(v) {
				return nil, in.unfitting()
			}
		}
		if b.Columns = append(b.Columns, c); i == 0 {
			b.Rows = c.Len()
		} else if c.Len() != b.Rows {
			return nil, in.unfitting()
		}
	}
	return b, nil
}

// addJSON appends a value as fs.parquet returns it, and reports whether it fits the column.
func (c *Column) addJSON(v value.Value) bool {
	if v == nil {
		c.addMissing()
		return true
	}
	switch c.Type {
	case Text:
		text, ok := v.(string)
		c.addText(text)
		return ok
	case Any:
		c.addAny(v)
		return true
	case Bool:
		yes, ok := v.(bool)
		n := int64(0)
		if yes {
			n = 1
		}
		c.addInt(n)
		return ok
	case Float:
		switch f := v.(type) {
		case float64:
			c.addFloat(f)
			return true
		case int64:
			c.addFloat(float64(f))
			return true
		case string: // NaN
			n, err := strconv.ParseFloat(f, 64)
			c.addFloat(n)
			return err == nil
		}
		return false
	}
	n, ok := v.(int64)
	c.addInt(n)
	return ok
}
