package mcp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A tomlItem is a table or a field in a text of TOML.
type tomlItem struct {
	path    []string // from the root
	table   []string // of a field: the table that it is in
	isTable bool
	isArray bool // of a table: one of several
	// start and end are where the value of a field is, or the header of a table, and after is the end of its line.
	start, end, after int
	value             value.Value // a text or a list of texts; nil for others
}

// parseTOML returns the tables and fields of a text. It reads as much of the language as it takes to find them.
func parseTOML(text string) ([]tomlItem, error) {
	s := &tomlScanner{text: text}
	var items []tomlItem
	var table []string
	for s.skip(true); s.at < len(text); s.skip(true) {
		item, ok := s.item(table)
		s.skip(false)
		if !ok || s.at < len(text) && text[s.at] != '\n' {
			return nil, value.Errorf(value.Invalid, "it is not valid TOML: line %d", 1+strings.Count(text[:s.at], "\n"))
		}
		s.at = min(s.at+1, len(text))
		if item.after = s.at; item.isTable {
			table = item.path
		}
		items = append(items, item)
	}
	return items, nil
}

// A tomlScanner reads a text from a place on.
type tomlScanner struct {
	text string
	at   int
}

func (s *tomlScanner) rest() string { return s.text[s.at:] }

// take skips a word, if it is next.
func (s *tomlScanner) take(word string) bool {
	is := strings.HasPrefix(s.rest(), word)
	if is {
		s.at += len(word)
	}
	return is
}

// skip skips space and comments, and with lines also line ends.
func (s *tomlScanner) skip(lines bool) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ', c == '\t', c == '\r', c == '\n' && lines:
			s.at++
		case c == '#':
			comment, _, _ := strings.Cut(s.rest(), "\n")
			s.at += len(comment)
		default:
			return
		}
	}
}

// item reads a header or a field.
func (s *tomlScanner) item(table []string) (item tomlItem, ok bool) {
	item.start = s.at
	if item.isTable = s.take("["); item.isTable {
		item.isArray = s.take("[")
		item.path, ok = s.key()
		ok = ok && s.take("]") && (!item.isArray || s.take("]"))
		item.end = s.at
		return item, ok
	}
	key, ok := s.key()
	if !ok || !s.take("=") {
		return item, false
	}
	s.skip(false)
	item.table, item.path, item.start = table, slices.Concat(table, key), s.at
	item.value, ok = s.value()
	item.end = s.at
	return item, ok
}

// key reads a key, with the space around it.
func (s *tomlScanner) key() (path []string, ok bool) {
	for {
		s.skip(false)
		n := len(s.rest()) - len(strings.TrimLeft(s.rest(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"))
		part := s.rest()[:n]
		if s.at += n; n == 0 {
			v, ok := s.quoted()
			if part, _ = v.(string); !ok || v == nil {
				return nil, false
			}
		}
		path = append(path, part)
		s.skip(false)
		if !s.take(".") {
			return path, true
		}
	}
}

// tomlPlain matches a value without quotes: a date, a time, a number or a word.
var tomlPlain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d)?(\.\d+)?([Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d(:\d\d)?(\.\d+)?|true|false|` +
		`[+-]?(inf|nan|0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d[\d_]*)?))`)
})

// value reads a value. Of one that is neither a text nor a list of texts it returns nil.
func (s *tomlScanner) value() (v value.Value, ok bool) {
	switch {
	case s.take("["):
		return s.list()
	case s.take("{"):
		return nil, s.inlineTable()
	case strings.HasPrefix(s.rest(), `"`), strings.HasPrefix(s.rest(), "'"):
		return s.quoted()
	}
	n := len(tomlPlain().FindString(s.rest()))
	s.at += n
	return nil, n > 0
}

// list reads a list after its bracket.
func (s *tomlScanner) list() (v value.Value, ok bool) {
	list, texts := value.List{}, true
	for {
		if s.skip(true); s.take("]") {
			break
		}
		element, ok := s.value()
		if !ok {
			return nil, false
		}
		list, texts = append(list, element), texts && element != nil
		if s.skip(true); !s.take(",") && !strings.HasPrefix(s.rest(), "]") {
			return nil, false
		}
	}
	if !texts {
		return nil, true
	}
	return list, true
}

// inlineTable reads a table in braces after the first one.
func (s *tomlScanner) inlineTable() (ok bool) {
	for {
		if s.skip(true); s.take("}") {
			return true
		}
		if item, ok := s.item(nil); !ok || item.isTable {
			return false
		}
		if s.skip(true); !s.take(",") && !strings.HasPrefix(s.rest(), "}") {
			return false
		}
	}
}

// quoted reads a text in quotes. Of one with several lines, or with an escape that JSON does not have, it returns nil.
func (s *tomlScanner) quoted() (v value.Value, ok bool) {
	for _, quote := range []string{`"""`, "'''", `"`, "'"} {
		if !s.take(quote) {
			continue
		}
		begin := s.at
		for s.at < len(s.text) && !strings.HasPrefix(s.rest(), quote) {
			switch c := s.text[s.at]; {
			case c == '\n' && len(quote) == 1:
				return nil, false
			case c == '\\' && quote[0] == '"':
				s.at++
			}
			s.at++
		}
		if s.at = min(s.at, len(s.text)); !s.take(quote) {
			return nil, false
		}
		if len(quote) > 1 {
			for s.take(quote[:1]) { // quotes at the end of the text
			}
			return nil, true
		}
		text := s.text[begin : s.at-1]
		if quote == `"` && json.Unmarshal([]byte(s.text[begin-1:s.at]), &text) != nil {
			return nil, true
		}
		return text, true
	}
	return nil, false
}
