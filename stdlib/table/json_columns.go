package table

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A jsonMember is a member of the object in a file.
type jsonMember struct {
	name    string
	list    bool
	objects bool // all elements are objects, and there is at least one
	count   int
}

// surveyMembers consumes an object and returns its members.
func surveyMembers(s *jsonScanner) ([]jsonMember, error) {
	var members []jsonMember
	err := s.object(func(name string) error {
		if len(members) == maxJSONColumns {
			return row.Limit("%s: an object has more than %d members", s.name, maxJSONColumns)
		}
		m := jsonMember{name: name}
		c, err := s.peek()
		if err != nil {
			return err
		}
		if m.list = c == '['; m.list {
			objects := 0
			err = s.list(func() error {
				if s.at < len(s.buf) && s.buf[s.at] == '{' {
					objects++
				}
				m.count++
				return s.skip()
			})
			m.objects = m.count > 0 && objects == m.count
		} else {
			err = s.skip()
		}
		members = append(members, m)
		return err
	})
	return members, err
}

// skip skips an element, which must be valid JSON.
func (s *jsonScanner) skip() error {
	return s.take(func(raw []byte) error {
		_, err := s.parse(raw)
		return err
	})
}

// allColumns reports whether the members are the columns of a table: equally long lists.
// A single list of objects is a list of records instead.
func allColumns(members []jsonMember) bool {
	for _, m := range members {
		if !m.list || m.count != members[0].count {
			return false
		}
	}
	return len(members) > 1 || len(members) == 1 && !members[0].objects
}

// findRecords selects the one member that is a list of objects.
func (r *jsonReader) findRecords(members []jsonMember) error {
	lists, uneven, rest := 0, "", []string{}
	for _, m := range members {
		switch {
		case m.objects:
			lists++
			r.member, r.within = m.name, true
		case m.list && m.count != members[0].count && members[0].list:
			uneven = fmt.Sprintf(": %q is a list of %d, and %q a list of %d", cut(members[0].name), members[0].count, cut(m.name), m.count)
			fallthrough
		default:
			rest = append(rest, cut(m.name))
		}
	}
	if lists != 1 {
		return value.Errorf(value.Invalid, "%s: the object is not a table%s", r.in.name, uneven).WithHint("%s", shapesRead)
	}
	note := fmt.Sprintf("the records are in %q", cut(r.member))
	if len(rest) > 0 {
		note += "; skipped: " + someNames(rest)
	}
	r.notes = append(r.notes, note)
	return nil
}

// readColumns reads an object of lists. The columns are held in memory, because the
// first value of the last one follows all values of the others.
func (r *jsonReader) readColumns(ctx context.Context, g tool.Grant, members []jsonMember) (*Table, error) {
	columns := make([]kindSet, len(members))
	for _, m := range members {
		r.names = append(r.names, m.name)
	}
	err := r.eachCell(ctx, g, func(column, _, _ int, v value.Value) error {
		columns[column].add(v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	types, err := r.o.typesOfColumns(r.names, columns)
	if err != nil {
		return nil, err
	}
	r.notes = append(r.notes, notesOfKinds(r.names, types, columns, r.o.types)...)
	b, budget := newBatch(types), newBudget(g)
	b.Rows = members[0].count
	err = r.eachCell(ctx, g, func(column, n, line int, v value.Value) error {
		const most = 8 // bytes of a number
		taken := int64(most)
		if s, ok := v.(string); ok {
			taken += int64(len(s)) + most
		} else if types[column] == Any {
			taken = valueSize(v)
		}
		if err := budget.take(taken); err != nil {
			return err
		}
		if err := b.Columns[column].addRead(v, &r.numbers); err != nil {
			return r.misfit(record{n: n, line: line}, column, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newHeld(r.names, b, append(r.notes, r.o.numberTexts(r.names, b, false)...)...), nil
}

// eachCell calls f with each value of the columns.
func (r *jsonReader) eachCell(ctx context.Context, g tool.Grant, f func(column, n, line int, v value.Value) error) error {
	s, err := r.open(ctx, g)
	if err != nil {
		return err
	}
	column := -1
	return s.object(func(string) error {
		column++
		n := 0
		return s.list(func() error {
			n++
			if n%batchRows == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			return s.take(func(raw []byte) error {
				v, err := s.parse(raw)
				if err != nil {
					return err
				}
				return f(column, n, s.line+1, r.nonMissing(v))
			})
		})
	})
}
