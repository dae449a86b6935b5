package table

import (
	"database/sql/driver"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxSQLText is the maximum length of a query. Queries by people and models are far
// shorter; generated data belongs in a table.
const maxSQLText = 100_000

// A sqlStatement is the text of one statement, and the parameters in it.
type sqlStatement struct {
	before     string // the text before the query: comments, and EXPLAIN
	text       string // the query
	explain    bool
	tokens     []sqlToken // of the query
	positional int        // the number of values for ? and ?1
	names      []string   // the names in :name, @name and $name
}

// A sqlToken is a word, a symbol or a quoted text of a statement.
type sqlToken struct {
	text string
	at   int // the offset in before + text
}

// parseStatement parses a statement as far as necessary before SQLite reads it: the
// driver would also run what follows a semicolon, and some statements have effects when
// they are prepared.
func parseStatement(text string) (*sqlStatement, error) {
	switch {
	case len(text) > maxSQLText:
		return nil, value.Errorf(value.Invalid, "the query has %d bytes: the limit is %d", len(text), maxSQLText).
			WithHint("put the values in a table, and join the table")
	case strings.IndexByte(text, 0) >= 0:
		return nil, value.Errorf(value.Invalid, "the query contains a zero byte").WithHint("in a script, pass the value in params")
	}
	s := &sqlStatement{text: text, tokens: sqlTokens(text)}
	if i := slices.IndexFunc(s.tokens, func(t sqlToken) bool { return t.text == ";" }); i >= 0 {
		if slices.ContainsFunc(s.tokens[i:], func(t sqlToken) bool { return t.text != ";" }) {
			return nil, value.Errorf(value.Invalid, "the query has more than one statement").WithHint("use one query for each call of data.sql")
		}
		s.text, s.tokens = text[:s.tokens[i].at], s.tokens[:i]
	}
	if err := s.checkKind(); err != nil {
		return nil, err
	}
	s.readParams()
	return s, nil
}

// checkKind rejects statements that do not begin as a query. SQLite rejects those that
// begin as one but are not, as WITH … DELETE: see [sqlQuery.inspect].
func (s *sqlStatement) checkKind() error {
	first := s.tokens
	if len(first) > 0 && isKeyword(first[0], "EXPLAIN") {
		n := 1
		if len(first) > 2 && isKeyword(first[1], "QUERY") && isKeyword(first[2], "PLAN") {
			n = 3
		}
		s.explain, first = true, first[n:]
	}
	switch {
	case len(first) == 0:
		return value.Errorf(value.Invalid, "the query is empty").WithHint("write a query, as in `select * from t`")
	case isKeyword(first[0], "SELECT"), isKeyword(first[0], "WITH"), isKeyword(first[0], "VALUES"):
		s.before, s.text = s.text[:first[0].at], s.text[first[0].at:]
		s.tokens = first
		return nil
	}
	return errNoQuery(strings.ToUpper(cut(first[0].text)))
}

func errNoQuery(word string) error {
	return value.Errorf(value.Invalid, "%s is not allowed: a query begins with SELECT, WITH, VALUES or EXPLAIN", word).
		WithHint("use SELECT; in a script, tables are changed with their methods, as in t.filter(…)")
}

func isKeyword(t sqlToken, word string) bool { return strings.EqualFold(t.text, word) }

// readParams collects the parameters.
func (s *sqlStatement) readParams() {
	for _, t := range s.tokens {
		switch name := t.text[1:]; t.text[0] {
		case '?':
			if n, err := strconv.Atoi(name); err == nil {
				s.positional = max(s.positional, n)
			} else {
				s.positional++
			}
		case ':', '@', '$':
			if name != "" && !slices.Contains(s.names, name) {
				s.names = append(s.names, name)
			}
		}
	}
}

// bind assigns the values to the parameters.
func (s *sqlStatement) bind(v value.Value) ([]driver.NamedValue, error) {
	if s.positional > 0 && len(s.names) > 0 {
		return nil, value.Errorf(value.Invalid, "the query has both ? and the named parameter %s", s.names[0]).WithHint("use one form for all parameters")
	}
	if d, ok := v.(*value.Dict); ok && (d.Len() > 0 || s.positional == 0) {
		return s.bindNames(d)
	}
	items, ok := value.Elements(v)
	if _, empty := v.(*value.Dict); !ok && v != nil && !empty {
		return nil, value.Errorf(value.Invalid, "argument 'params' should be a list or a dict but got %s", value.TypeOf(v))
	}
	switch {
	case len(s.names) > 0:
		return nil, value.Errorf(value.Invalid, "no value for the parameter %s of the query", s.names[0]).
			WithHint("write the value into the query; in a script, pass it, as in params = {%q: …}", s.names[0])
	case len(items) < s.positional:
		return nil, value.Errorf(value.Invalid, "no value for parameter %d of the query: the query has %s, and params has %s", len(items)+1, counted(s.positional, "parameter"), counted(len(items), "value"))
	case len(items) > s.positional:
		return nil, value.Errorf(value.Invalid, "value %d of params is unused: the query has %s", s.positional+1, counted(s.positional, "parameter")).
			WithHint("write ? for a value, without quotes")
	}
	params := make([]driver.NamedValue, len(items))
	for i, item := range items {
		x, err := sqlParam(item, strconv.Itoa(i+1))
		if err != nil {
			return nil, err
		}
		params[i] = driver.NamedValue{Ordinal: i + 1, Value: x}
	}
	return params, nil
}

func (s *sqlStatement) bindNames(d *value.Dict) ([]driver.NamedValue, error) {
	var params []driver.NamedValue
	for k, v := range d.All() {
		name, _ := k.(string)
		if !slices.Contains(s.names, name) {
			return nil, value.Errorf(value.Invalid, "the query has no parameter %q%s", cut(name), value.DidYouMean(name, s.names)).
				WithHint("write :name for a value, without quotes")
		}
		x, err := sqlParam(v, name)
		if err != nil {
			return nil, err
		}
		params = append(params, driver.NamedValue{Ordinal: len(params) + 1, Name: name, Value: x})
	}
	for _, name := range s.names {
		if !d.Has(name) {
			return nil, value.Errorf(value.Invalid, "no value for the parameter %s of the query", cut(name)).WithHint("add the value to params")
		}
	}
	if s.positional > 0 {
		return nil, value.Errorf(value.Invalid, "no value for parameter 1 of the query").WithHint("use a list for ?, and a dict for :name")
	}
	return params, nil
}

// sqlParam converts a value for SQLite.
func sqlParam(v value.Value, name string) (driver.Value, error) {
	switch v := v.(type) {
	case nil, int64, string, []byte, bool:
		return v, nil
	case float64:
		if math.IsNaN(v) {
			return nil, nil
		}
		return v, nil
	}
	return nil, value.Errorf(value.Invalid, "parameter %s: unsupported type %s: expected a number, string, bytes, bool or None", name, value.TypeOf(v)).
		WithHint("in a script, pass each item as a parameter, or pass json.encode(value)")
}

// sqlTokens splits as SQLite does. Invalid text is split in an unspecified way.
func sqlTokens(text string) []sqlToken {
	var tokens []sqlToken
	for i := 0; i < len(text); {
		n, blank := sqlTokenAt(text[i:])
		if !blank {
			tokens = append(tokens, sqlToken{text[i : i+n], i})
		}
		i += n
	}
	return tokens
}

// sqlTokenAt returns the length of the first token of s.
func sqlTokenAt(s string) (n int, blank bool) {
	switch c := s[0]; {
	case strings.IndexByte(" \t\n\f\r", c) >= 0:
		return 1, true
	case strings.HasPrefix(s, "\ufeff"):
		return len("\ufeff"), true
	case strings.HasPrefix(s, "--"):
		return through(s, 2, "\n"), true
	case strings.HasPrefix(s, "/*"):
		return through(s, 2, "*/"), true
	case c == '\'', c == '"', c == '`':
		return quotedLength(s), false
	case c == '[':
		return through(s, 1, "]"), false
	case c == '?' || c == ':' || c == '@' || c == '$' || c == '#' || nameByte(c):
		n := 1
		for n < len(s) && nameByte(s[n]) {
			n++
		}
		return n, false
	}
	return 1, false
}

func nameByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// through returns the index after the next end, or the length of s.
func through(s string, from int, end string) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

// quotedLength returns the length of a quoted text in which quotes are doubled.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] != s[0] {
			continue
		}
		if i+1 < len(s) && s[i+1] == s[0] {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}
