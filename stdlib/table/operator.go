package table

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// operators are the operators of filter.
var operators = []string{"==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "starts_with", "ends_with", "matches", "missing", "present"}

// A test reports whether a filter keeps a value of a column. It is not called for
// missing values.
type test func(c *Column, i int) bool

// A condition is a condition of filter on a column.
type condition struct {
	column string
	typ    Type
	op     string
	value  value.Value
}

// test returns the test of a condition.
func (n *condition) test() (test, error) {
	switch n.op {
	case "==", "!=", "<", "<=", ">", ">=":
		return n.orderTest()
	case "in", "not in":
		return n.listTest()
	case "contains":
		return n.textTest(strings.Contains)
	case "starts_with":
		return n.textTest(strings.HasPrefix)
	case "ends_with":
		return n.textTest(strings.HasSuffix)
	case "matches":
		return n.regexpTest()
	case "missing", "present":
		return func(*Column, int) bool { return n.op == "present" }, nil
	}
	return nil, oneOf("operator", n.op, operators)
}

// accepts reports whether an operator holds for an order. NaN has no order, and is
// unequal to everything.
func accepts(op string, order int) bool {
	switch op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order == -1
	case "<=":
		return order == -1 || order == 0
	case ">":
		return order == 1
	}
	return order == 1 || order == 0
}

// orderTest returns the test of == != < <= > >=.
func (n *condition) orderTest() (test, error) {
	compare, err := n.comparison()
	if err != nil {
		return nil, err
	}
	var holds [unordered + 2]bool
	for order := -1; order <= unordered; order++ {
		holds[order+1] = accepts(n.op, order)
	}
	return func(c *Column, i int) bool { return holds[compare(c, i)+1] }, nil
}

// comparison returns a function that compares the values of the column with the operand.
func (n *condition) comparison() (func(c *Column, i int) int, error) {
	switch v := n.value.(type) {
	case string:
		switch {
		case n.typ == Text:
			return func(c *Column, i int) int { return strings.Compare(c.Texts[i], v) }, nil
		case n.typ.time():
			at, ok := parseTime(n.typ, v)
			if !ok {
				return nil, n.misfit()
			}
			return func(c *Column, i int) int { return cmp.Compare(c.Ints[i], at) }, nil
		}
	case int64:
		switch n.typ {
		case Integer:
			return func(c *Column, i int) int { return cmp.Compare(c.Ints[i], v) }, nil
		case Float:
			return func(c *Column, i int) int { return reversed(compareIntFloat(v, c.Floats[i])) }, nil
		}
	case float64:
		switch n.typ {
		case Integer:
			return func(c *Column, i int) int { return compareIntFloat(c.Ints[i], v) }, nil
		case Float:
			return func(c *Column, i int) int { return compareFloats(c.Floats[i], v) }, nil
		}
	case bool:
		if n.typ == Bool {
			return func(c *Column, i int) int { return cmp.Compare(c.Ints[i], int64(bit(v))) }, nil
		}
	}
	if n.typ == Any || n.typ.number() && bigFloat(n.value) != nil {
		return n.anyComparison()
	}
	return nil, n.misfit()
}

// anyComparison compares values of several types. Values without an order relative to
// the operand are unequal to it.
func (n *condition) anyComparison() (func(c *Column, i int) int, error) {
	if err := checkPlain(n.value); err != nil || n.value == nil {
		return nil, n.misfit()
	}
	operand := appendValueKey(nil, n.value)
	return func(c *Column, i int) int {
		v := c.value(i)
		if order, ok := compareValues(v, n.value); ok {
			return order
		}
		if string(appendValueKey(nil, v)) == string(operand) {
			return 0
		}
		return unordered
	}, nil
}

// misfit returns the error for an operand that cannot be compared with the values of the
// column.
func (n *condition) misfit() error {
	if n.value == nil {
		return value.Errorf(value.Invalid, "filter(%q, %q): the value is missing", cut(n.column), n.op).
			WithHint(`to find rows without a value, use filter(%q, "missing"); for the other rows, use "present"`, cut(n.column))
	}
	e := value.Errorf(value.Invalid, "column %q has type %s and cannot be compared with %s", cut(n.column), n.typ, valueShown(n.value))
	switch n.typ {
	case Date:
		return e.WithHint("write a date as 2024-02-29")
	case DateTime:
		return e.WithHint("write a time as 2024-02-29T12:30:00, without a zone")
	case Instant:
		return e.WithHint("write a time as 2024-02-29T12:30:00Z")
	}
	return e.WithHint(`in a script, pass a value of the column's type, or convert the column: with_types({%q: "…"})`, cut(n.column))
}

// listTest returns the test of in and not in.
func (n *condition) listTest() (test, error) {
	items, ok := value.Elements(n.value)
	if !ok {
		return nil, value.Errorf(value.Invalid, "operator %q needs a list of values but got %s", n.op, value.TypeOf(n.value))
	}
	set := make(map[string]bool, len(items))
	for _, item := range items {
		one := &condition{n.column, n.typ, "==", item}
		if _, err := one.comparison(); err != nil { // check that it can be compared
			return nil, err
		}
		if f, ok := item.(float64); ok && f != f {
			continue // NaN is equal to nothing
		}
		if n.typ.time() {
			at, _ := parseTime(n.typ, item.(string))
			set[string(appendIntKey(nil, keyTime, at))] = true
			continue
		}
		set[string(appendValueKey(nil, item))] = true
	}
	want := n.op == "in"
	key := make([]byte, 0, 64)
	return func(c *Column, i int) bool {
		key = c.appendKey(key[:0], i)
		return set[string(key)] == want
	}, nil
}

// textTest returns the test of an operator on texts. In a column of type any it applies
// to the texts, and contains to lists too.
func (n *condition) textTest(holds func(s, part string) bool) (test, error) {
	if n.typ == Any && n.op == "contains" {
		return n.containsTest(holds)
	}
	if n.typ != Text && n.typ != Any {
		return nil, value.Errorf(value.Invalid, "column %q has type %s, but operator %q needs text", cut(n.column), n.typ, n.op).
			WithHint(`convert the column first: with_types({%q: "text"})`, cut(n.column))
	}
	part, ok := n.value.(string)
	if !ok {
		return nil, value.Errorf(value.Invalid, "operator %q needs a string but got %s", n.op, value.TypeOf(n.value))
	}
	if n.typ == Text {
		return func(c *Column, i int) bool { return holds(c.Texts[i], part) }, nil
	}
	return func(c *Column, i int) bool {
		s, ok := c.Values[i].(string)
		return ok && holds(s, part)
	}, nil
}

// containsTest returns the test of contains in a column of type any.
func (n *condition) containsTest(holds func(s, part string) bool) (test, error) {
	if n.value == nil || checkPlain(n.value) != nil {
		return nil, value.Errorf(value.Invalid, "operator %q needs a value but got %s", n.op, value.TypeOf(n.value))
	}
	part, isText := n.value.(string)
	key := string(appendValueKey(nil, n.value))
	return func(c *Column, i int) bool {
		if s, ok := c.Values[i].(string); ok {
			return isText && holds(s, part)
		}
		items, _ := value.Elements(c.Values[i])
		return slices.ContainsFunc(items, func(v value.Value) bool { return string(appendValueKey(nil, v)) == key })
	}, nil
}

// regexpTest returns the test of a regular expression.
func (n *condition) regexpTest() (test, error) {
	pattern, ok := n.value.(string)
	if !ok {
		return nil, value.Errorf(value.Invalid, "operator %q needs a regular expression but got %s", n.op, value.TypeOf(n.value))
	}
	re, err := row.Pattern(pattern)
	if err != nil {
		return nil, err
	}
	return n.textTest(func(s, _ string) bool { return re.MatchString(s) })
}
