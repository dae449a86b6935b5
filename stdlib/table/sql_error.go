package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// explain returns the error of SQLite with the position and a hint.
func (q *sqlQuery) explain(err error) error {
	if q.vfs.askedForTime() {
		return errSQLTime()
	}
	if err == nil {
		return nil
	}
	var known *value.Error
	var e *sqlite.Error
	switch {
	case q.ctx.Err() != nil:
		return context.Cause(q.ctx)
	case q.err != nil:
		return q.err
	case q.result != nil && q.result.err != nil:
		return q.result.err
	case errors.As(err, &known):
		return known
	case !errors.As(err, &e):
		return value.Errorf(value.Invalid, "SQL: %w", err)
	}
	text := sqlMessage(err.Error(), e.Code())
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL:
		return errSQLMemory(text)
	case sqlite3.SQLITE_TOOBIG:
		known = errSQLMemory(text).WithHint("use smaller values: the limit is %d MB for a value and %d bytes for a query", maxSQLValue>>20, maxSQLText)
		return known
	case sqlite3.SQLITE_ERROR:
		return q.explainText(text)
	}
	return value.Errorf(value.Failed, "SQL: %s", text)
}

// sqlMessage returns the message without the text that the driver adds.
func sqlMessage(s string, code int) string {
	s = strings.TrimSuffix(s, fmt.Sprintf(" (%d)", code))
	return strings.TrimPrefix(s, "SQL logic error: ")
}

func errSQLMemory(text string) *value.Error {
	return row.Limit("the query needs more memory than the limit: %s", text).
		WithHint("select fewer rows with WHERE, or use fewer columns; in a script, replace GROUP BY with t.group_by(…)")
}

func (q *sqlQuery) explainText(text string) error {
	if name, ok := strings.CutPrefix(text, "no such column: "); ok {
		columns := q.columnNames()
		name, _, _ = strings.Cut(name, " - should this be")
		name = strings.Trim(name[strings.LastIndexByte(name, '.')+1:], `"`)
		return value.Errorf(value.Invalid, "SQL: %s%s%s", cutTo(text, 200), q.position(name), value.DidYouMean(name, columns)).
			WithHint("the columns are %s; put a string in 'single quotes'", someNames(columns))
	}
	if name, ok := strings.CutPrefix(text, "no such table: "); ok {
		var names []string
		for _, s := range q.sources {
			names = append(names, s.name)
		}
		name = strings.TrimPrefix(name, "main.")
		hint := fmt.Sprintf("the tables are %s", someNames(names))
		if len(names) == 0 {
			hint = `pass the table, as in tables = {"people": t}`
		}
		return value.Errorf(value.Invalid, "SQL: %s%s%s", cutTo(text, 200), q.position(name), value.DidYouMean(name, names)).WithHint("%s", hint)
	}
	if name, ok := strings.CutPrefix(text, "no such function: "); ok {
		return value.Errorf(value.Invalid, "SQL: %s%s%s", cutTo(text, 200), q.position(name), value.DidYouMean(strings.ToLower(name), functionNames())).
			WithHint("use the functions of SQLite, or median(x), percentile(x, 90), stddev(x), variance(x) and x REGEXP 'pattern'")
	}
	if text == "wrong number of arguments to function percentile()" {
		return value.Errorf(value.Invalid, "SQL: %s", text).WithHint("write percentile(x, 90): a column and a percentage")
	}
	if text == sqlRandomText {
		return errSQLRandom()
	}
	if word, ok := strings.CutPrefix(text, `near "`); ok {
		return value.Errorf(value.Invalid, "SQL: %s%s", cutTo(text, 200), q.position(strings.TrimSuffix(word, `": syntax error`)))
	}
	return value.Errorf(value.Invalid, "SQL: %s", cutTo(text, 200))
}

// columnNames returns the columns of the tables that the query names.
func (q *sqlQuery) columnNames() []string {
	var names []string
	for _, s := range q.sources {
		in := func(t sqlToken) bool {
			return asciiLower(strings.Trim(t.text, "\"`[]")) == asciiLower(s.name)
		}
		if slices.ContainsFunc(q.statement.tokens, in) {
			names = append(names, s.names...)
		}
	}
	return names
}

// position returns the position of a word that occurs once, because the driver does not
// report it.
func (q *sqlQuery) position(word string) string {
	at, n := 0, 0
	for _, t := range q.statement.tokens {
		if strings.EqualFold(strings.Trim(t.text, "\"`[]"), strings.Trim(word, "\"`[]")) {
			at, n = t.at, n+1
		}
	}
	if n != 1 {
		return ""
	}
	before := (q.statement.before + q.statement.text)[:at]
	line := strings.Count(before, "\n") + 1
	col := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	return fmt.Sprintf(" (line %d, column %d)", line, col)
}
