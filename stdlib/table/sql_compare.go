package table

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SQL has no dates, times or bools, so data.sql makes those of a table compare as what they
// are, with each form in which files and SQLite write them: 2024-03-10 13:00:00 is
// 2024-03-10T13:00:00, a date is its midnight, and 'true' is 1. The texts in the tables are not
// changed for that, since people see them in results. A collation is inherited by aliases, joins
// and subqueries.

// timeCollation is the order of the columns of dates and times.
const timeCollation = "cassidy_time"

// compareTimes compares two texts as times if they are some, and otherwise as texts. A time
// without a zone is in UTC, as in SQLite.
func compareTimes(a, b string) int {
	if writtenAlike(a) && writtenAlike(b) && len(a) == len(b) {
		return strings.Compare(a, b)
	}
	m, isTime := microsOf(a)
	n, both := microsOf(b)
	if isTime && both {
		return cmp.Compare(m, n)
	}
	return strings.Compare(timeKey(a), timeKey(b))
}

// writtenAlike reports whether a text has the form of most cells: those of one length are
// in the order of time. It may be another text.
func writtenAlike(s string) bool {
	const seconds = len("2006-01-02T15:04:05")
	return (len(s) == dateLen || len(s) == seconds && s[dateLen] == 'T') && s[4] == '-' && s[7] == '-'
}

func microsOf(s string) (int64, bool) {
	if days, ok := parseDate(s); ok {
		return days * microsPerDay, true
	}
	n, _, ok := parseDateTime(s)
	return n, ok
}

// timeKey returns a text that sorts by time. A part of a time, as in 2024-03-10 13, is
// compared as the beginning of one.
func timeKey(s string) string {
	if n, ok := microsOf(s); ok {
		return formatTime(DateTime, n)
	}
	if len(s) > dateLen && s[dateLen] == ' ' {
		if _, ok := parseDate(s[:dateLen]); ok {
			return s[:dateLen] + "T" + s[dateLen+1:]
		}
	}
	return s
}

// withBools returns the query in which the words true and false, where something is
// compared with them, are 1 and 0 if that is an integer, as the bools of a table are. What
// is compared may have any name in the query, so its type is asked when the query runs.
func (s *sqlStatement) withBools(params []driver.NamedValue) string {
	w := &boolWords{sqlStatement: s, values: make([]string, len(s.tokens)), as: make([]string, len(s.tokens))}
	positional := 0
	for i, t := range s.tokens {
		w.values[i] = t.boolWord(params, &positional)
	}
	var cases [][2]int // the operands of CASE that are open
	for i, t := range s.tokens {
		switch {
		case strings.Contains("=<>!", t.text):
			if i == 0 || !strings.Contains("=<>!", s.tokens[i-1].text) {
				w.compared(i, i+1)
			}
		case isKeyword(t, "IS"):
			w.compared(i, i+1)
		case isKeyword(t, "IN"):
			w.listed(i)
		case isKeyword(t, "CASE"):
			from, to := i+1, w.after(i+1)
			if to < len(s.tokens) && !isKeyword(s.tokens[to], "WHEN") {
				to = from
			}
			cases = append(cases, [2]int{from, to})
		case isKeyword(t, "WHEN") && len(cases) > 0:
			if c := cases[len(cases)-1]; w.at(i+2, "THEN") {
				w.replace(i+1, c[0], c[1])
			}
		case isKeyword(t, "END") && len(cases) > 0:
			cases = cases[:len(cases)-1]
		}
	}
	return w.text()
}

// boolWord returns 1 or 0 if the token is, or stands for, the text true or false.
func (t sqlToken) boolWord(params []driver.NamedValue, positional *int) string {
	word := ""
	switch t.text[0] {
	case '\'':
		word = strings.TrimPrefix(strings.TrimSuffix(t.text, "'"), "'")
	case '?':
		n, err := strconv.Atoi(t.text[1:])
		if err != nil {
			*positional++
			n = *positional
		}
		if n >= 1 && n <= len(params) {
			word, _ = params[n-1].Value.(string)
		}
	case ':', '@', '$':
		i := slices.IndexFunc(params, func(p driver.NamedValue) bool { return p.Name != "" && p.Name == t.text[1:] })
		if i >= 0 {
			word, _ = params[i].Value.(string)
		}
	}
	switch strings.ToLower(word) {
	case "true":
		return "1"
	case "false":
		return "0"
	}
	return ""
}

// boolWords are the words true and false of a statement, and what replaces them.
type boolWords struct {
	*sqlStatement
	values, as []string // by token; "" for other tokens
}

// at reports whether the i-th token is a keyword or a symbol.
func (w *boolWords) at(i int, word string) bool {
	return i >= 0 && i < len(w.tokens) && isKeyword(w.tokens[i], word)
}

// compared handles the comparison whose operator begins at from.
func (w *boolWords) compared(from, to int) {
	for to < len(w.tokens) && (strings.Contains("=<>!", w.tokens[to].text) || w.at(to, "NOT")) {
		to++
	}
	switch {
	case to < len(w.tokens) && w.values[to] != "":
		w.replace(to, w.before(from), from)
	case from > 0 && w.values[from-1] != "":
		w.replace(from-1, to, w.after(to))
	}
}

// listed handles the list after IN.
func (w *boolWords) listed(in int) {
	end := in
	if w.at(in-1, "NOT") {
		end--
	}
	if !w.at(in+1, "(") {
		return
	}
	from := w.before(end)
	for i := in + 2; i < w.closing(in+1); i++ {
		if (w.at(i-1, "(") || w.at(i-1, ",")) && (w.at(i+1, ")") || w.at(i+1, ",")) {
			w.replace(i, from, end)
		}
	}
}

// replace makes the i-th token depend on the type of the tokens from from to to.
func (w *boolWords) replace(i, from, to int) {
	if from >= to || from < 0 || to > len(w.tokens) || w.values[i] == "" || w.as[i] != "" {
		return
	}
	for _, t := range w.tokens[from:to] {
		if t.text[0] == '?' { // which would be another parameter
			return
		}
	}
	last := w.tokens[to-1]
	start := len(w.sqlStatement.before)
	operand := w.sqlStatement.text[w.tokens[from].at-start : last.at+len(last.text)-start]
	w.as[i] = fmt.Sprintf("ifnull(iif(typeof(%s) = 'integer', %s, null), %s)", operand, w.values[i], w.tokens[i].text)
}

func (w *boolWords) text() string {
	var b strings.Builder
	start, end := len(w.sqlStatement.before), 0
	for i, t := range w.tokens {
		if w.as[i] != "" {
			b.WriteString(w.sqlStatement.text[end:t.at-start] + w.as[i])
			end = t.at - start + len(t.text)
		}
	}
	return b.String() + w.sqlStatement.text[end:]
}

// isName reports whether the i-th token can name a column or a function.
func (w *boolWords) isName(i int) bool {
	if i < 0 || i >= len(w.tokens) {
		return false
	}
	t := w.tokens[i]
	switch strings.ToUpper(t.text) {
	case "AND", "OR", "NOT", "IS", "IN", "WHERE", "ON", "HAVING", "WHEN", "THEN", "ELSE", "CASE", "END", "SELECT", "DISTINCT", "BY", "BETWEEN", "LIKE", "ESCAPE", "AS", "EXISTS", "FROM", "NULL":
		return false
	}
	return t.text[0] == '"' || t.text[0] == '`' || t.text[0] == '[' || nameByte(t.text[0])
}

// before returns where the name, the call or the parentheses begin that end before a token.
func (w *boolWords) before(end int) int {
	at := end - 1
	if w.at(at, ")") {
		for depth := 0; at >= 0; at-- {
			if w.at(at, ")") {
				depth++
			} else if w.at(at, "(") {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if w.isName(at - 1) {
			at--
		}
	} else if !w.isName(at) {
		return end
	}
	for w.at(at-1, ".") && w.isName(at-2) {
		at -= 2
	}
	return at
}

// after returns where the name, the call or the parentheses end that begin at a token.
func (w *boolWords) after(at int) int {
	from := at
	for w.isName(at) {
		at++
		if !w.at(at, ".") {
			break
		}
		at++
	}
	if w.at(at, "(") {
		return w.closing(at) + 1
	}
	return max(at, from)
}

// closing returns the index of the parenthesis that closes another, or the end.
func (w *boolWords) closing(open int) int {
	depth := 0
	for i := open; i < len(w.tokens); i++ {
		if w.at(i, "(") {
			depth++
		} else if w.at(i, ")") {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(w.tokens)
}
