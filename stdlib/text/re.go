package text

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Regexp returns the module re.
func Regexp() tool.Module {
	return tool.Module{
		Name: "re",
		Doc: "Regular expressions in the syntax of RE2, which takes time in proportion to the text whatever the " +
			"pattern: flags as (?i), (?s), (?m), groups as (?P<name>...), but no lookaround and no backreferences.",
		Funcs: append(reFinders(), reChangers()...),
	}
}

func rePattern() tool.Param {
	return tool.Required("pattern", tool.TypeString, `The regular expression, as in r"(\d+)-(\d+)"; (?i) before it ignores case.`)
}

// reMatchDoc says what a match is, once for every function that gives one.
const reMatchDoc = `{"text", "start", "end", "groups", "named"}: what matched, where it starts and ends, so that ` +
	`text[start:end] is it, the texts of its groups in a list, and those that have a name in a dict; a group that took no part is None`

func reFinders() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text to look in.")
	return []tool.Func{
		{
			Name:    "test",
			Doc:     "Says whether a pattern matches anywhere in a text.",
			Params:  []tool.Param{rePattern(), text},
			Returns: "True or False",
			Do:      row.Do(reTest),
		},
		{
			Name:    "match",
			Doc:     "Matches a pattern at the beginning of a text; see search for anywhere.",
			Params:  []tool.Param{rePattern(), text},
			Returns: "None, or a dict " + reMatchDoc,
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return reFirst(a, func(start int) bool { return start == 0 })
			}),
		},
		{
			Name:    "search",
			Doc:     "Finds the first place in a text where a pattern matches.",
			Params:  []tool.Param{rePattern(), text},
			Returns: "None, or a dict " + reMatchDoc,
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return reFirst(a, func(int) bool { return true })
			}),
		},
		{
			Name: "find_all",
			Doc:  "Finds every place in a text where a pattern matches, without overlaps.",
			Params: []tool.Param{
				rePattern(),
				text,
				tool.Optional("limit", tool.TypeInteger, int64(0), "Stop after this many; 0 means all."),
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
			Doc:  "Replaces what a pattern matches.",
			Params: []tool.Param{
				rePattern(),
				tool.Required("replacement", tool.TypeString, `What to put there: \1 or \g<1> stands for a group, \g<name> for a named one, \g<0> for the match, \\ for a backslash; $ is nothing special.`),
				text,
				tool.Optional("count", tool.TypeInteger, int64(0), "Replace only this many; 0 means all."),
			},
			Returns: "the text with the replacements",
			Do:      row.Do(reSub),
		},
		{
			Name: "split",
			Doc:  "Splits a text where a pattern matches. If the pattern has groups, what they matched is in the list too, between the parts.",
			Params: []tool.Param{
				rePattern(),
				text,
				tool.Optional("max", tool.TypeInteger, int64(0), "Split only this many times; 0 means always."),
			},
			Returns: "a list of texts; a group that took no part is None",
			Do:      row.Do(reSplit),
		},
		{
			Name:    "escape",
			Doc:     "Writes a text as a pattern that matches exactly it.",
			Params:  []tool.Param{text},
			Returns: "the pattern",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return regexp.QuoteMeta(a.Text("text")), nil }),
		},
	}
}

const (
	// reMaxPattern is how long a pattern may be, and reMaxSteps how long with
	// its repetitions written out: the time for each character of a text grows
	// with it. Patterns that people write stay under a hundredth of this.
	reMaxPattern = 10_000
	reMaxSteps   = 10_000
	// reMaxPieces is how many groups a replacement may name: each is looked at
	// for each match, though what it matched may be empty.
	reMaxPieces = 1000
	// reMaxSpans is how many matches and groups are looked at in one text.
	reMaxSpans = 1_000_000
	// reMatchValues is how much a match without groups counts toward
	// row.MaxValues: it is a dict with five entries, a list and another dict.
	reMatchValues = 8
)

func reCompile(a *value.Dict) (*regexp.Regexp, error) {
	pattern := a.Text("pattern")
	if len(pattern) > reMaxPattern {
		return nil, row.Limit("a pattern of more than %d bytes", reMaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, reError(err)
	}
	if reSteps(tree) > reMaxSteps {
		return nil, row.Limit("a pattern of more than %d characters with its repetitions written out", reMaxSteps)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, reError(err)
	}
	return re, nil
}

// reSteps says about how many instructions a pattern compiles to.
func reSteps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += reSteps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min+1, re.Max)
	}
	return min(n, reMaxSteps+1) // no overflow, however deep repetitions are nested
}

// reError says what is wrong with a pattern, and where the fault is only that
// another engine is meant, what to do with this one.
func reError(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return row.Invalid("invalid pattern: %w", err)
	}
	part := row.Short(strings.ToValidUTF8(e.Expr, "\ufffd"))
	begins := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(e.Expr, p) {
				return true
			}
		}
		return false
	}
	digit := len(e.Expr) == 2 && e.Expr[0] == '\\' && '1' <= e.Expr[1] && e.Expr[1] <= '9'
	switch out := row.Invalid("invalid pattern: %s: %s", e.Code, part); {
	case begins("(?=", "(?!", "(?<=", "(?<!"):
		return row.Invalid("lookaround (%s) is not in RE2", part).
			WithHint("match what surrounds it too, and put what you want in a group")
	case digit, begins("(?P") && e.Code == syntax.ErrInvalidPerlOp, begins(`\k`, `\g`):
		return row.Invalid("backreferences (%s) are not in RE2", part).
			WithHint("capture both parts in groups and compare them in the script")
	case begins("(?>"), e.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(e.Expr, "+"):
		return row.Invalid("atomic groups and possessive repetition (%s) are not in RE2", part).
			WithHint("leave them out: RE2 never backtracks, so they save nothing")
	case begins(`\Z`):
		return out.WithHint(`the end of the text is \z`)
	case begins(`\u`, `\U`):
		return out.WithHint(`a character by its code is \x{20AC}`)
	default:
		return out
	}
}

func reTest(a *value.Dict) (value.Value, error) {
	re, err := reCompile(a)
	if err != nil {
		return nil, err
	}
	return re.MatchString(a.Text("text")), nil
}

// reFirst gives the first match if it starts where it may. The leftmost match
// starts at 0 exactly if there is one that does, so match needs no anchor in
// the pattern.
func reFirst(a *value.Dict, may func(start int) bool) (value.Value, error) {
	re, err := reCompile(a)
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
	re, err := reCompile(a)
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

// reAll finds the matches of a call, at most as many as its argument of that
// name says, and fails where there are more than could be held.
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
		return nil, row.Limit("the pattern matches more than %d times", most).
			WithHint("pass %s for the first ones, or go through the text in parts", argument)
	}
	return all, nil
}

// A reMatcher turns the spans of matches into values. Places are bytes, as they
// are in the strings of Starlark and Lua.
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

// reGroup returns what a group matched, or nil if it took no part.
func reGroup(text string, spans []int, i int) value.Value {
	if spans[2*i] < 0 {
		return nil
	}
	return text[spans[2*i]:spans[2*i+1]]
}

func reSplit(a *value.Dict) (value.Value, error) {
	re, err := reCompile(a)
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
	re, err := reCompile(a)
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
			return nil, row.Limit("a replacement with more than %d groups", reMaxPieces)
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

// reReference takes the name of a group from what follows a backslash.
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
		return "", "", row.Invalid(`unknown escape \%s in the replacement`, rest[:size]).
			WithHint(`a group is \1 or \g<name>, a backslash is \\`)
	}
	return rest[:n], rest[n:], nil
}

func reGroupNumber(re *regexp.Regexp, name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if 0 <= n && n <= re.NumSubexp() {
			return n, nil
		}
		return 0, row.Invalid("the replacement names group %d, but the pattern has %d", n, re.NumSubexp())
	}
	if n := re.SubexpIndex(name); n >= 0 {
		return n, nil
	}
	return 0, row.Invalid("the replacement names the group %q, which the pattern does not have", name)
}
