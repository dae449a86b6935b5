package table

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// cut returns a text as a message shows it: whole, or of a long one the beginning,
// 60 characters with the ellipsis. A cell may have 8 MB.
func cut(s string) string {
	const most = 60
	return cutTo(s, most)
}

// cutTo returns at most so many characters of a text.
func cutTo(s string, most int) string {
	const longest = 4                                  // bytes of a character
	runes := []rune(s[:min(len(s), longest*(most+1))]) // of a longer text more than fit
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}

// quoteCut is a text in quotes, cut.
func quoteCut(s string) string { return strconv.Quote(cut(s)) }

// valueShown is a value as messages show it, on one line and cut.
func valueShown(v value.Value) string {
	switch v := v.(type) {
	case foundTime:
		return formatTime(v.typ, v.n)
	case string:
		return quoteCut(v)
	case float64:
		return formatFloat(v)
	}
	if checkPlain(v) != nil { // a function has no text
		return "a " + value.TypeOf(v)
	}
	return cut(value.FormatJSON(v, ""))
}

// counted is a number of things: 1 row, 1,000 rows.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(int64(n)) + " " + noun
}

// extent is how large a table is.
func extent(rows, columns int) string {
	return counted(rows, "row") + " × " + counted(columns, "column")
}

// thousands writes a count as 1,234,567.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// someNames lists names, at most twenty of them.
func someNames(names []string) string {
	const most = 20
	shown := make([]string, 0, most+1)
	for i, name := range names {
		if i == most {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, cut(name))
	}
	return strings.Join(shown, ", ")
}

// noSuchColumn is the error of a name that no column has.
func noSuchColumn(name string, names []string) *value.Error {
	return value.Errorf(value.Invalid, "there is no column %s%s", quoteCut(name), value.DidYouMean(name, names)).
		WithHint("the columns are %s", someNames(names))
}

// namedTwice is the error of a column that is given twice where once makes sense.
func namedTwice(name string) *value.Error {
	return value.Errorf(value.Invalid, "column %s is named twice", quoteCut(name))
}

// oneOf fails where a name is none of those that an argument can be: what says
// what it would be, as in "operator".
func oneOf(what, name string, names []string) error {
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	return value.Errorf(value.Invalid, "there is no %s %s%s", what, quoteCut(name), value.DidYouMean(name, names)).
		WithHint("the %ss are %s", what, strings.Join(names, ", "))
}

// overMemory is the error of what takes more memory than it may.
func overMemory(format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = value.LimitMemory
	return e
}

// inCell says in an error where the cell is.
func inCell(err error, row int, column string) error {
	return renamedError(err, "row %d, column %s: %s", row, quoteCut(column), value.ErrorOf(err, value.Failed).Message())
}

// renamedError is an error with another message, and with the kind, the limit and
// the hint that it has.
func renamedError(err error, format string, args ...any) *value.Error {
	e := value.ErrorOf(err, value.Failed)
	made := value.Errorf(e.Kind, format, args...)
	made.Limit, made.Hint = e.Limit, e.Hint
	return made
}
