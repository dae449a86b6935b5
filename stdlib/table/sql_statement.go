package table

import (
	"database/sql/driver"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxSQLText is how long a query may be: what is written by hand or by a model is
// far shorter, and what is generated belongs into a table.
const maxSQLText = 100_000

// A sqlStatement is the text of one statement, and the parameters in it.
type sqlStatement struct {
	before  string // what comes before the query: comments, and EXPLAIN
	text    string // the query alone
	explain bool
	tokens  []sqlToken // of the query
	places  int        // how many values the places ? and ?1 need
	names   []string   // of :name, @name and $name, without their sign
}

// A sqlToken is a word, a sign or a quoted text of a statement.
type sqlToken struct {
	text string
	at   int // in all that was given
}

// readStatement takes the text apart as far as it must be known before SQLite
// sees it: the driver would run what comes behind a semicolon as well, and some
// statements act while they are only prepared.
func readStatement(text string) (*sqlStatement, error) {
	switch {
	case len(text) > maxSQLText:
		return nil, value.Errorf(value.Invalid, "the query has %d bytes, more than %d", len(text), maxSQLText).
			WithHint("put the values into a table and join it")
	case strings.IndexByte(text, 0) >= 0:
		return nil, value.Errorf(value.Invalid, "the query has a zero byte in it").WithHint("give such a value in params")
	}
	s := &sqlStatement{text: text, tokens: sqlTokens(text)}
	if i := slices.IndexFunc(s.tokens, func(t sqlToken) bool { return t.text == ";" }); i >= 0 {
		if slices.ContainsFunc(s.tokens[i:], func(t sqlToken) bool { return t.text != ";" }) {
			return nil, value.Errorf(value.Invalid, "there is more than one statement").WithHint("ask one query in each call of data.sql")
		}
		s.text, s.tokens = text[:s.tokens[i].at], s.tokens[:i]
	}
	if err := s.checkKind(); err != nil {
		return nil, err
	}
	s.readParams()
	return s, nil
}

// checkKind refuses what is no query. What begins as one and is none, as WITH …
// DELETE, SQLite refuses: see [sqlQuery.inspect].
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
		return value.Errorf(value.Invalid, "the query is empty").WithHint("ask as in `select * from t`")
	case isKeyword(first[0], "SELECT"), isKeyword(first[0], "WITH"), isKeyword(first[0], "VALUES"):
		s.before, s.text = s.text[:first[0].at], s.text[first[0].at:]
		s.tokens = first
		return nil
	}
	return errNoQuery(strings.ToUpper(cut(first[0].text)))
}

func errNoQuery(word string) error {
	return value.Errorf(value.Invalid, "%s is not a query: only SELECT, WITH, VALUES and EXPLAIN can be used", word).
		WithHint("tables are changed with their methods, as in t.filter(…)")
}

func isKeyword(t sqlToken, word string) bool { return strings.EqualFold(t.text, word) }

// readParams finds the places for values.
func (s *sqlStatement) readParams() {
	for _, t := range s.tokens {
		switch name := t.text[1:]; t.text[0] {
		case '?':
			if n, err := strconv.Atoi(name); err == nil {
				s.places = max(s.places, n)
			} else {
				s.places++
			}
		case ':', '@', '$':
			if name != "" && !slices.Contains(s.names, name) {
				s.names = append(s.names, name)
			}
		}
	}
}

// bind matches the values to their places.
func (s *sqlStatement) bind(v value.Value) ([]driver.NamedValue, error) {
	if s.places > 0 && len(s.names) > 0 {
		return nil, value.Errorf(value.Invalid, "the query has both ? and :%s", s.names[0]).WithHint("use one way for all parameters")
	}
	if d, ok := v.(*value.Dict); ok && (d.Len() > 0 || s.places == 0) {
		return s.bindNames(d)
	}
	items, ok := value.Elements(v)
	if _, empty := v.(*value.Dict); !ok && v != nil && !empty {
		return nil, value.Errorf(value.Invalid, "argument 'params' should be a list or a dict but got %s", value.TypeOf(v))
	}
	switch {
	case len(s.names) > 0:
		return nil, value.Errorf(value.Invalid, "the parameter %s of the query has no value", s.names[0]).
			WithHint("give params = {%q: …}", s.names[0])
	case len(items) < s.places:
		return nil, value.Errorf(value.Invalid, "parameter %d of the query has no value: it has %d, and params has %d", len(items)+1, s.places, len(items))
	case len(items) > s.places:
		return nil, value.Errorf(value.Invalid, "value %d of params has no place: the query has %s", s.places+1, counted(s.places, "parameter")).
			WithHint("write ? where a value goes, without quotes around it")
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
				WithHint("write :name where a value goes, without quotes around it")
		}
		x, err := sqlParam(v, name)
		if err != nil {
			return nil, err
		}
		params = append(params, driver.NamedValue{Ordinal: len(params) + 1, Name: name, Value: x})
	}
	for _, name := range s.names {
		if !d.Has(name) {
			return nil, value.Errorf(value.Invalid, "the parameter %s of the query has no value", cut(name)).WithHint("add it to params")
		}
	}
	if s.places > 0 {
		return nil, value.Errorf(value.Invalid, "parameter 1 of the query has no value").WithHint("give a list for ?, and a dict for :name")
	}
	return params, nil
}

// sqlParam is a value as SQLite takes it.
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
	return nil, value.Errorf(value.Invalid, "parameter %s cannot be %s: SQL has numbers, texts, bytes, bools and none", name, value.TypeOf(v)).
		WithHint("give each part as a parameter, or a text made by json.encode")
}

// sqlTokens splits as SQLite does; what it would refuse comes out as it comes.
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

// sqlTokenAt returns the length of the token that s begins with.
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

// through returns where what ends with end is over, or the length of s.
func through(s string, from int, end string) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

// quotedLength returns the length of a text in quotes, in which a quote is doubled.
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
