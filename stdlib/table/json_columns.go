package table

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A jsonMember is a member of the object that a file is.
type jsonMember struct {
	name    string
	list    bool
	objects bool // all elements are objects, and there are some
	count   int
}

// surveyMembers passes over an object, and notes what is in it.
func surveyMembers(s *jsonScanner) ([]jsonMember, error) {
	var members []jsonMember
	err := s.object(func(name string) error {
		if len(members) == maxJSONColumns {
			return overMemory("%s: an object of more than %d members", s.name, maxJSONColumns)
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
				return s.pass()
			})
			m.objects = m.count > 0 && objects == m.count
		} else {
			err = s.pass()
		}
		members = append(members, m)
		return err
	})
	return members, err
}

// pass passes over an element, which must be JSON.
func (s *jsonScanner) pass() error {
	raw, _, err := s.value()
	if err == nil {
		s.step(len(raw))
	}
	return err
}

// allColumns reports whether the members are the columns of a table: equally long
// lists. One list of objects alone is rather a list of records.
func allColumns(members []jsonMember) bool {
	for _, m := range members {
		if !m.list || m.count != members[0].count {
			return false
		}
	}
	return len(members) > 1 || len(members) == 1 && !members[0].objects
}

// findRecords takes the one member that is a list of objects.
func (r *jsonReader) findRecords(members []jsonMember) error {
	lists, uneven, rest := 0, "", []string{}
	for _, m := range members {
		switch {
		case m.objects:
			lists++
			r.member, r.within = m.name, true
		case m.list && m.count != members[0].count && members[0].list:
			uneven = fmt.Sprintf(": %q is a list of %d, %q one of %d", cut(members[0].name), members[0].count, cut(m.name), m.count)
			fallthrough
		default:
			rest = append(rest, cut(m.name))
		}
	}
	if lists != 1 {
		return value.Errorf(value.Invalid, "%s: the object is no table%s", r.in.name, uneven).WithHint("%s", shapesRead)
	}
	note := fmt.Sprintf("the records are those of %q", cut(r.member))
	if len(rest) > 0 {
		note += "; passed over: " + someNames(rest)
	}
	r.notes = append(r.notes, note)
	return nil
}

// readColumns reads an object of lists. The columns are held, since the first value
// of the last one stands after all others.
func (r *jsonReader) readColumns(ctx context.Context, g tool.Grant, members []jsonMember) (*Table, error) {
	names, columns := make([]string, len(members)), make([]kindSet, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	err := r.eachCell(ctx, g, func(column, _, _ int, v value.Value) error {
		columns[column].add(v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	types, err := r.o.typesOfColumns(names, columns)
	if err != nil {
		return nil, err
	}
	b, budget := newBatch(types), newBudget(g)
	b.Rows = members[0].count
	err = r.eachCell(ctx, g, func(column, n, line int, v value.Value) error {
		const most = 8 // bytes that a number takes
		taken := int64(most)
		if s, ok := v.(string); ok {
			taken += int64(len(s)) + most
		} else if types[column] == Any {
			taken = valueSize(v)
		}
		if err := budget.take(taken); err != nil {
			return err
		}
		if err := b.Columns[column].addRead(v); err != nil {
			return value.Errorf(value.Invalid, "%s, column %q: %s", r.at(record{n: n, line: line}), cut(names[column]), value.ErrorOf(err, value.Invalid).Message())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newHeld(names, b, r.notes...), nil
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
			raw, v, err := s.value()
			if err != nil {
				return err
			}
			if err := f(column, n, s.line+1, r.present(v)); err != nil {
				return err
			}
			s.step(len(raw))
			return nil
		})
	})
}
