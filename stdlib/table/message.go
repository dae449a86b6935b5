package table

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// cut shortens a text for a message to 60 characters including an ellipsis. A cell may
// have 8 MB.
func cut(s string) string {
	const most = 60
	return cutTo(s, most)
}

// cutTo shortens a text to a maximum number of characters.
func cutTo(s string, most int) string {
	const longest = 4                                  // bytes of a character
	runes := []rune(s[:min(len(s), longest*(most+1))]) // more than enough of a longer text
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}

// quoteCut returns a shortened text in quotes.
func quoteCut(s string) string { return strconv.Quote(cut(s)) }

// valueShown formats a value for a message: on one line, shortened.
func valueShown(v value.Value) string {
	switch v := v.(type) {
	case foundTime:
		return formatTime(v.typ, v.n)
	case string:
		return quoteCut(v)
	case float64:
		return formatFloat(v)
	}
	if checkPlain(v) != nil { // a function has no text form
		return "a " + value.TypeOf(v)
	}
	return cut(value.FormatJSON(v, ""))
}

// counted formats a count with its noun: 1 row, 1,000 rows.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(int64(n)) + " " + noun
}

// extent formats the size of a table.
func extent(rows, columns int) string {
	return counted(rows, "row") + " × " + counted(columns, "column")
}

// thousands formats a number as 1,234,567.
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

// noSuchColumn returns the error for a column name that does not exist.
func noSuchColumn(name string, names []string) *value.Error {
	return value.Errorf(value.Invalid, "no column %s%s", quoteCut(name), value.DidYouMean(name, names)).
		WithHint("the columns are %s", someNames(names))
}

// namedTwice returns the error for a column that is named twice where once is allowed.
func namedTwice(name string) *value.Error {
	return value.Errorf(value.Invalid, "column %s is repeated", quoteCut(name))
}

// oneOf returns the error for an unknown name. what is the kind of name, as in
// "operator".
func oneOf(what, name string, names []string) error {
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	return value.Errorf(value.Invalid, "unknown %s %s%s", what, quoteCut(name), value.DidYouMean(name, names)).
		WithHint("the %ss are %s", what, strings.Join(names, ", "))
}

// inCell adds the position of the cell to an error.
func inCell(err error, row int, column string) error {
	return renamedError(err, "row %d, column %s: %s", row, quoteCut(column), value.ErrorOf(err, value.Failed).Message())
}

// renamedError returns an error with another message and the same kind, limit and hint.
func renamedError(err error, format string, args ...any) *value.Error {
	e := value.ErrorOf(err, value.Failed)
	made := value.Errorf(e.Kind, format, args...)
	made.Limit, made.Hint = e.Limit, e.Hint
	return made
}
