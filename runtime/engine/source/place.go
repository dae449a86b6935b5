package source

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// A Place is what is at an offset of a script.
type Place struct {
	Comment bool
	Word    Span     // the name at the offset; it is empty if there is none
	Owner   []string // the names before the dots that precede the name, as in OWNER.name
	Unowned bool     // the name follows a dot whose left side is not a name, as in f().name
	String  *Span    // the content of the string at the offset, without its quotes
	Call    *Call    // the innermost call whose arguments contain the offset
	Begins  bool     // the word is the first token of an argument or of an element
}

// A Call is a call, and the argument in which an offset is.
type Call struct {
	Function string   // its name, such as "fs.read", or "" if it is computed
	Name     Span     // of the function
	Index    int      // how many arguments are before the one with the offset
	Argument string   // the name of the argument with the offset, or ""
	Key      string   // the key of the dict or table, inside the argument, whose value has the offset
	Depth    int      // how many brackets, inside the argument, enclose the offset
	Given    []string // the names of the other arguments
	Outer    *Call    // the call whose arguments contain this one
}

// The limits of what is described around an offset. A script is not written with more.
const (
	maxOuter  = 8   // calls
	maxLevels = 100 // brackets
)

// At returns what is at an offset.
func (f *File) At(offset int) Place {
	offset = min(max(offset, 0), len(f.Text))
	i := f.before(offset)
	p := Place{Word: Span{offset, offset}}
	first := i + 1 // the token at which the word begins, if there is one
	switch t := f.at(i); {
	case i >= 0 && offset <= end(t) && t.Kind == scan.Word:
		p.Word, first = span(t), i
	case i >= 0 && t.Kind == scan.String && (offset < end(t) || offset == end(t) && !closed(t.Text)):
		content := stringContent(t)
		p.String, first = &content, i
	case i+1 < len(f.tokens) && f.tokens[i+1].Start == offset && f.tokens[i+1].Kind == scan.Word:
		p.Word = span(f.tokens[i+1])
	default:
		p.Comment = f.isComment(i, offset)
	}
	if p.Comment {
		return p
	}
	if p.String == nil {
		p.Owner, p.Unowned = f.owner(first - 1)
	}
	around := -1
	if i >= 0 {
		around = f.around(i, offset)
	}
	p.Begins = around >= 0 && first-1 == around || f.at(first-1).Kind == ',' || f.at(first-1).Kind == ';'
	levels := maxLevels
	p.Call = f.call(around, first, maxOuter, &levels)
	return p
}

// around returns the bracket that encloses an offset behind or in a token.
func (f *File) around(i, offset int) int {
	t := f.at(i)
	opens := t.Match > i || t.Nesting() == 1 || f.Language == Lua && isOpener(t)
	if opens && offset >= end(t) {
		return i
	}
	return t.Around
}

// isOpener reports whether a word opens a block of Lua.
func isOpener(t scan.Token) bool {
	return t.Kind == scan.Word && (t.Text == "function" || t.Text == "do" || t.Text == "if" || t.Text == "repeat")
}

// isComment reports whether an offset behind a token is in a comment.
func (f *File) isComment(i, offset int) bool {
	from := 0
	if i >= 0 {
		from = min(end(f.tokens[i]), offset)
	}
	gap := f.Text[from:offset]
	if f.Language == Lua {
		if open := strings.LastIndex(gap, "--["); open >= 0 && !strings.Contains(gap[open:], "]]") && strings.HasPrefix(strings.TrimLeft(gap[open+3:], "="), "[") {
			return true
		}
		return strings.Contains(gap[strings.LastIndexByte(gap, '\n')+1:], "--")
	}
	return strings.Contains(gap[strings.LastIndexByte(gap, '\n')+1:], "#")
}

// owner returns the names before the dot at a token, as in a.b.
func (f *File) owner(i int) (names []string, unowned bool) {
	for f.isDot(i) {
		if !f.isWord(i - 1) {
			return nil, true
		}
		names = append(names, f.tokens[i-1].Text)
		i -= 2
	}
	slices.Reverse(names)
	return names, false
}

// isDot reports whether a token is a dot between names. A colon of Lua calls a method.
func (f *File) isDot(i int) bool {
	t := f.at(i)
	return t.Kind == '.' || f.Language == Lua && t.Kind == ':'
}

// call describes the innermost call around a token, inside a bracket. at is the token, outer is how
// many calls are described, and levels is how many brackets are searched.
func (f *File) call(bracket, at, outer int, levels *int) *Call {
	if outer == 0 {
		return nil
	}
	depth, key := 0, ""
	for ; bracket >= 0 && *levels > 0; *levels-- {
		if f.Language == Lua && f.tokens[bracket].Kind == scan.Word {
			return nil // a block is not an argument
		}
		from := bracket
		merged := f.isArguments(bracket)
		if merged {
			bracket = f.tokens[bracket].Around
		}
		if c := f.callee(bracket); c != nil {
			c.Depth, c.Key = depth, key
			f.arguments(c, from, at)
			if from != bracket {
				c.Index = 0
				before := &Call{}
				f.arguments(before, bracket, from)
				c.Index = before.Index
			}
			c.Outer = f.call(f.tokens[bracket].Around, bracket, outer-1, levels)
			return c
		}
		inside := &Call{}
		f.arguments(inside, bracket, at)
		key = inside.Argument
		depth++
		at, bracket = bracket, f.tokens[bracket].Around
	}
	return nil
}

// isArguments reports whether a bracket is a table of Lua with the named arguments of a call.
func (f *File) isArguments(bracket int) bool {
	t := f.at(bracket)
	if f.Language != Lua || t.Kind != '{' || t.Around < 0 || f.tokens[t.Around].Kind != '(' {
		return false
	}
	before := f.at(bracket - 1)
	return bracket-1 == t.Around || before.Kind == ','
}

// callee returns the call whose arguments a bracket opens, or nil.
func (f *File) callee(bracket int) *Call {
	t := f.at(bracket)
	if t.Kind != '(' && (f.Language != Lua || t.Kind != '{') {
		return nil
	}
	last := f.at(bracket - 1)
	if !f.isWord(bracket - 1) {
		if last.Kind == ')' || last.Kind == ']' {
			return &Call{}
		}
		return nil
	}
	if word := f.at(bracket - 2); word.Kind == scan.Word && (word.Text == "def" || f.Language == Lua && word.Text == "function") {
		return nil // the parameters of a function
	}
	names, unowned := f.owner(bracket - 2)
	c := &Call{Name: span(last)}
	if !unowned {
		c.Function = strings.Join(append(names, last.Text), ".")
		c.Name.Start -= len(c.Function) - len(last.Text)
	}
	return c
}

// arguments reads the arguments in a bracket up to a token, and the names of those behind it.
func (f *File) arguments(c *Call, bracket, at int) {
	current := bracket + 1 // where the argument begins
	for i := bracket + 1; i < len(f.tokens); i++ {
		t := f.tokens[i]
		if t.Around < bracket || i == f.tokens[bracket].Match {
			break
		}
		if t.Around != bracket {
			if inner := f.tokens[t.Around].Match; inner > i {
				i = inner - 1 // skip what is inside of other brackets
			}
			continue
		}
		if t.Kind == ',' || f.Language == Lua && t.Kind == ';' {
			if i < at {
				c.Index++
				current = i + 1
			}
			continue
		}
		if name, ok := f.argumentName(i); ok && i != current {
			c.Given = append(c.Given, name)
		} else if ok && i < at {
			c.Given = append(c.Given, name)
		}
	}
	if name, ok := f.argumentName(current); ok && current < at {
		c.Argument = name
		c.Given = slices.DeleteFunc(c.Given, func(s string) bool { return s == name })
	}
}

// argumentName returns the name of the argument, or the key of the entry, that begins with a token.
func (f *File) argumentName(i int) (name string, ok bool) {
	t, next := f.at(i), f.at(i+1)
	before := f.at(i - 1)
	if before.Nesting() != 1 && before.Kind != ',' && before.Kind != ';' {
		return "", false
	}
	switch {
	case f.isWord(i) && next.Kind == '=':
		return t.Text, true
	case t.Kind == scan.String && next.Kind == ':' && f.Language == Starlark:
		return Unquote(t.Text), true
	}
	return "", false
}

// closed reports whether a string has its closing quotes.
func closed(text string) bool {
	content := stringContent(scan.Token{Text: text})
	return content.End < len(text)
}

// stringContent returns the part of a string between its quotes.
func stringContent(t scan.Token) Span {
	text := strings.TrimLeft(t.Text, "bBfFrRuU")
	start := len(t.Text) - len(text)
	open, closing := text[:min(1, len(text))], ""
	switch {
	case strings.HasPrefix(text, "["):
		second := strings.IndexByte(text[1:], '[')
		if second < 0 { // it is not complete
			return Span{t.Start + len(t.Text), t.Start + len(t.Text)}
		}
		open = text[:second+2]
		closing = "]" + open[1:len(open)-1] + "]"
	case len(text) >= 3 && strings.Count(text[:3], open) == 3:
		open, closing = text[:3], text[:3]
	default:
		closing = open
	}
	start += len(open)
	stop := len(t.Text)
	if len(t.Text) >= start+len(closing) && strings.HasSuffix(t.Text, closing) && !escaped(t.Text[start:len(t.Text)-len(closing)]) {
		stop -= len(closing)
	}
	return Span{t.Start + start, t.Start + stop}
}

// escaped reports whether a text ends in a backslash that escapes what follows.
func escaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// Unquote returns the value of a string as it is written. If it has escapes that Go does not have,
// they are unchanged.
func Unquote(text string) string {
	s := stringContent(scan.Token{Text: text})
	if v, err := strconv.Unquote(`"` + text[s.Start:s.End] + `"`); err == nil {
		return v
	}
	return text[s.Start:s.End]
}
