package text

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Regexp returns the module re: regular expressions in the syntax of RE2, with the names
// that Python uses.
func Regexp() tool.Module {
	return row.Pure(tool.Module{
		Name: "re",
		Doc: "Regular expressions in the syntax of RE2. Flags such as (?i), (?s) and (?m) and named groups such as `(?P<name>...)` are supported. " +
			"Lookaround and backreferences are not supported. The time of a match is linear in the length of the text.",
		Funcs: append(reFinders(), reChangers()...),
	})
}

func rePattern() tool.Param {
	return tool.Required("pattern", tool.TypeString, `The regular expression, such as r"(\d+)-(\d+)". To ignore case, begin with (?i).`)
}

// reMatchDoc describes a match, for every function that returns one.
const reMatchDoc = `{"text": the matched text, "start" and "end": positions in characters, ` +
	`"groups": a list of the texts of the groups, "named": a dict of the named groups}. A group that did not match is None`

func reFinders() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text to search.")
	return []tool.Func{
		{
			Name:    "test",
			Doc:     "Report whether a pattern matches anywhere in a text.",
			Params:  []tool.Param{rePattern(), text},
			Returns: "True or False",
			Do:      row.Do(reTest),
		},
		{
			Name:    "match",
			Doc:     "Match a pattern at the beginning of a text. To match anywhere, use re.search.",
			Params:  []tool.Param{rePattern(), text},
			Returns: "None, or a dict " + reMatchDoc,
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return reFirst(a, func(start int) bool { return start == 0 })
			}),
		},
		{
			Name:    "search",
			Doc:     "Find the first match of a pattern in a text.",
			Params:  []tool.Param{rePattern(), text},
			Returns: "None, or a dict " + reMatchDoc,
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return reFirst(a, func(int) bool { return true })
			}),
		},
		{
			Name: "find_all",
			Doc:  "Find all matches of a pattern in a text. Matches do not overlap.",
			Params: []tool.Param{
				rePattern(),
				text,
				tool.Optional("limit", tool.TypeInteger, int64(0), "The maximum number of matches; 0 means all."),
			},
			Returns: "a list of dicts " + reMatchDoc,
			Do:      row.Do(reFindAll),
		},
	}
}

func reChangers() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text.")
	return []tool.Func{
		{
			Name: "sub",
			Doc:  "Replace the matches of a pattern.",
			Params: []tool.Param{
				rePattern(),
				tool.Required("replacement", tool.TypeString, "The replacement. `\\1` and `\\g<1>` stand for a group, `\\g<name>` stands for a named group, `\\g<0>` stands for the match, and `\\\\` stands for a backslash. `$` is an ordinary character."),
				text,
				tool.Optional("count", tool.TypeInteger, int64(0), "The maximum number of replacements; 0 means all."),
			},
			Returns: "the text with the replacements",
			Do:      row.Do(reSub),
		},
		{
			Name: "split",
			Doc:  "Split a text at the matches of a pattern. The texts of groups in the pattern are in the list too, between the parts.",
			Params: []tool.Param{
				rePattern(),
				text,
				tool.Optional("max", tool.TypeInteger, int64(0), "The maximum number of splits; 0 means all."),
			},
			Returns: "a list of texts; a group that did not match is None",
			Do:      row.Do(reSplit),
		},
		{
			Name:    "escape",
			Doc:     "Escape a text: return a pattern that matches exactly this text.",
			Params:  []tool.Param{text},
			Returns: "the pattern",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return regexp.QuoteMeta(a.Text("text")), nil }),
		},
	}
}

const (
	// reMaxPieces is how many groups a replacement may name: each takes time for each
	// match, even if it is empty.
	reMaxPieces = 1000
	// reMaxSpans is how many matches and groups are read in one text.
	reMaxSpans = 1_000_000
	// reMatchValues is how much a match without groups counts toward
	// row.MaxValues: it is a dict with five entries, a list and another dict.
	reMatchValues = 8
)

func reTest(a *value.Dict) (value.Value, error) {
	re, err := row.Pattern(a.Text("pattern"))
	if err != nil {
		return nil, err
	}
	return re.MatchString(a.Text("text")), nil
}

// reFirst returns the first match, if may accepts its start. If any match starts at 0, the
// leftmost one does, so re.match needs no anchor in the pattern.
func reFirst(a *value.Dict, may func(start int) bool) (value.Value, error) {
	re, err := row.Pattern(a.Text("pattern"))
	if err != nil {
		return nil, err
	}
	spans := re.FindStringSubmatchIndex(a.Text("text"))
	if spans == nil || !may(spans[0]) {
		return nil, nil
	}
	m := reMatcher{names: re.SubexpNames(), text: a.Text("text")}
	return m.match(spans), nil
}

func reFindAll(a *value.Dict) (value.Value, error) {
	re, err := row.Pattern(a.Text("pattern"))
	if err != nil {
		return nil, err
	}
	most := row.MaxValues / (reMatchValues + 2*re.NumSubexp())
	all, err := reAll(re, a, "limit", most)
	if err != nil {
		return nil, err
	}
	m := reMatcher{names: re.SubexpNames(), text: a.Text("text")}
	list := make(value.List, len(all))
	for i, spans := range all {
		list[i] = m.match(spans)
	}
	return list, nil
}

// reAll returns the matches of a call, at most as many as the named argument allows; 0 means all.
// It fails with kind Limit for more than most matches.
func reAll(re *regexp.Regexp, a *value.Dict, argument string, most int) ([][]int, error) {
	n, err := row.Size(a, argument, 1<<30)
	if err != nil {
		return nil, err
	}
	if n == 0 || n > most {
		n = most + 1
	}
	all := re.FindAllStringSubmatchIndex(a.Text("text"), n)
	if len(all) > most {
		return nil, row.Limit("the pattern has more than %d matches", most).
			WithHint("pass %s to limit the number, or process the text in parts", argument)
	}
	return all, nil
}

// A reMatcher turns the spans of matches into values. Positions are bytes, as in the strings of
// Starlark and Lua.
type reMatcher struct {
	names []string
	text  string
}

func (m reMatcher) match(spans []int) value.Value {
	groups := make(value.List, 0, len(spans)/2-1)
	named := &value.Dict{}
	for i := 1; i < len(spans)/2; i++ {
		v := reGroup(m.text, spans, i)
		groups = append(groups, v)
		if m.names[i] != "" {
			named.Put(m.names[i], v)
		}
	}
	return value.NewDict("text", m.text[spans[0]:spans[1]], "start", int64(spans[0]), "end", int64(spans[1]),
		"groups", groups, "named", named)
}

// reGroup returns what a group matched, or nil if it did not match.
func reGroup(text string, spans []int, i int) value.Value {
	if spans[2*i] < 0 {
		return nil
	}
	return text[spans[2*i]:spans[2*i+1]]
}

func reSplit(a *value.Dict) (value.Value, error) {
	re, err := row.Pattern(a.Text("pattern"))
	if err != nil {
		return nil, err
	}
	all, err := reAll(re, a, "max", row.MaxValues/(1+re.NumSubexp()))
	if err != nil {
		return nil, err
	}
	text := a.Text("text")
	list := make(value.List, 0, len(all)*(1+re.NumSubexp())+1)
	at := 0
	for _, spans := range all {
		list = append(list, text[at:spans[0]])
		for i := 1; i < len(spans)/2; i++ {
			list = append(list, reGroup(text, spans, i))
		}
		at = spans[1]
	}
	return append(list, text[at:]), nil
}

func reSub(a *value.Dict) (value.Value, error) {
	re, err := row.Pattern(a.Text("pattern"))
	if err != nil {
		return nil, err
	}
	pieces, err := reTemplate(re, a.Text("replacement"))
	if err != nil {
		return nil, err
	}
	all, err := reAll(re, a, "count", reMaxSpans/(1+re.NumSubexp()))
	if err != nil {
		return nil, err
	}
	text := a.Text("text")
	var b row.Builder
	at := 0
	for _, spans := range all {
		b.Add(text[at:spans[0]])
		for _, p := range pieces {
			b.Add(p.literal)
			if p.group >= 0 && spans[2*p.group] >= 0 {
				b.Add(text[spans[2*p.group]:spans[2*p.group+1]])
			}
		}
		if at = spans[1]; b.Full {
			break
		}
	}
	b.Add(text[at:])
	return b.Text()
}

// A rePiece is a part of a replacement: a text, then a group unless it is -1.
type rePiece struct {
	literal string
	group   int
}

// reTemplate reads a replacement as Python does.
func reTemplate(re *regexp.Regexp, template string) ([]rePiece, error) {
	var pieces []rePiece
	var literal strings.Builder
	for {
		before, rest, ok := strings.Cut(template, `\`)
		literal.WriteString(before)
		if !ok {
			return append(pieces, rePiece{literal.String(), -1}), nil
		}
		if i := strings.IndexByte(`\ntr`, reFirstByte(rest)); i >= 0 {
			literal.WriteByte("\\\n\t\r"[i])
			template = rest[1:]
			continue
		}
		name, after, err := reReference(rest)
		if err != nil {
			return nil, err
		}
		group, err := reGroupNumber(re, name)
		if err != nil {
			return nil, err
		}
		if len(pieces) == reMaxPieces {
			return nil, row.Limit("the replacement uses more than %d groups", reMaxPieces)
		}
		pieces = append(pieces, rePiece{literal.String(), group})
		literal.Reset()
		template = after
	}
}

// reFirstByte returns the first byte of a text, or 0, which is no escape.
func reFirstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// reReference reads the name of a group after a backslash.
func reReference(rest string) (name, after string, err error) {
	if inner, ok := strings.CutPrefix(rest, "g<"); ok {
		if name, after, ok = strings.Cut(inner, ">"); ok {
			return name, after, nil
		}
	}
	n := 0
	for n < min(2, len(rest)) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	if n == 0 || rest[0] == '0' {
		_, size := utf8.DecodeRuneInString(rest)
		return "", "", row.Invalid(`invalid replacement: unknown escape \%s`, rest[:size]).
			WithHint(`write a group as \1 or \g<name>, a backslash as \\`)
	}
	return rest[:n], rest[n:], nil
}

func reGroupNumber(re *regexp.Regexp, name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if 0 <= n && n <= re.NumSubexp() {
			return n, nil
		}
		return 0, row.Invalid("invalid replacement: group %d does not exist: the pattern has %d groups", n, re.NumSubexp())
	}
	if n := re.SubexpIndex(name); n >= 0 {
		return n, nil
	}
	return 0, row.Invalid("invalid replacement: the pattern has no group %q", name)
}
