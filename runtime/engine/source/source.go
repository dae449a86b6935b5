// Package source reads scripts for editors: which functions a script has, and what is at a
// position of its text. It works on tokens, so a script does not have to parse. It runs nothing.
package source

import (
	"sort"
	"strings"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// A Language is the language of a script.
type Language string

// The languages.
const (
	Starlark Language = "starlark"
	Lua      Language = "lua"
)

// A Span is a part of a text, in bytes. End is exclusive.
type Span struct{ Start, End int }

// Has reports whether an offset is in the span or directly behind it.
func (s Span) Has(offset int) bool { return s.Start <= offset && offset <= s.End }

// A File is the text of a script, and its tokens. It is safe for concurrent use.
type File struct {
	Language Language
	Text     string
	Complete bool // whether no string of the text is unterminated

	tokens    []scan.Token
	functions []Function
	loads     []Load
}

// Read reads a text. It does not fail: what is not a token is skipped.
func Read(language Language, text string) *File {
	if strings.HasPrefix(text, "\ufeff") {
		text = "   " + text[len("\ufeff"):] // all offsets stay
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", " \n"), "\r", "\n")
	f := &File{Language: language, Text: text}
	if language == Lua {
		f.tokens, f.Complete = luaTokens(text)
		linkLua(f.tokens)
		f.readLuaFunctions()
		f.markInner()
		return f
	}
	f.tokens, f.Complete = starTokens(text)
	linkStarlark(f.tokens)
	f.readStarFunctions()
	f.markInner()
	f.readLoads()
	return f
}

// maxRepairs is how many unterminated strings of a text are ended at the ends of their lines.
const maxRepairs = 8

// starTokens returns the tokens of a text in Starlark. A string without an end lasts until the
// end of its line, or of the text if it has three quotes.
func starTokens(text string) (list []scan.Token, complete bool) {
	from, line := 0, 0
	for repairs := 0; ; repairs++ {
		s := scan.New(text[from:])
		t := s.Next()
		for ; t.Kind != scan.EndOfText; t = s.Next() {
			list = append(list, moved(t, from, line))
		}
		if t.Text == "" {
			return list, repairs == 0
		}
		t = moved(t, from, line)
		t.Kind = scan.String
		end := strings.IndexByte(text[t.Start:], '\n')
		if end < 0 || repairs == maxRepairs || strings.HasPrefix(strings.TrimLeft(t.Text, "rRbB"), t.Text[:1]+t.Text[:1]+t.Text[:1]) {
			return append(list, t), false
		}
		t.Text = text[t.Start : t.Start+end]
		list = append(list, t)
		from, line = t.Start+end, t.At.Line-1
	}
}

// moved returns a token of a part of a text as a token of the text.
func moved(t scan.Token, offset, lines int) scan.Token {
	t.Start += offset
	t.At.Line += lines
	return t
}

// linkStarlark sets which brackets enclose the tokens. A statement that cannot be inside of
// brackets ends them, so an unclosed bracket does not enclose the rest of the text.
func linkStarlark(list []scan.Token) {
	around := -1
	for i := range list {
		t := &list[i]
		if around >= 0 && t.NewLine && beginsStatement(list, i) {
			around = -1
		}
		t.Around, t.Match = around, -1
		switch t.Nesting() {
		case 1:
			around = i
		case -1:
			if around >= 0 {
				t.Match, t.Around = around, list[around].Around
				list[around].Match, around = i, t.Around
			}
		}
	}
}

// beginsStatement reports whether a token at the begin of a line can only be the first one of a
// statement.
func beginsStatement(list []scan.Token, i int) bool {
	t := list[i]
	if t.Kind != scan.Word {
		return false
	}
	switch t.Text {
	case "def", "return", "pass", "break", "continue", "elif", "while":
		return true
	case "tool", "workflow", "load":
		return t.At.Col == 1 && i+1 < len(list) && list[i+1].Kind == '('
	}
	return false
}

// end returns the end of a token.
func end(t scan.Token) int { return t.Start + len(t.Text) }

// span returns the place of a token.
func span(t scan.Token) Span { return Span{t.Start, end(t)} }

// before returns the index of the last token that begins before an offset, or -1.
func (f *File) before(offset int) int {
	return sort.Search(len(f.tokens), func(i int) bool { return f.tokens[i].Start >= offset }) - 1
}

// at returns a token, or one that is nothing if there is none.
func (f *File) at(i int) scan.Token {
	if i < 0 || i >= len(f.tokens) {
		return scan.Token{Kind: scan.EndOfText, Around: -1, Match: -1, Start: len(f.Text)}
	}
	return f.tokens[i]
}

// isWord reports whether a token is a name that is not a keyword.
func (f *File) isWord(i int) bool {
	t := f.at(i)
	return t.Kind == scan.Word && (t.Text[0] < '0' || t.Text[0] > '9') && !f.isKeyword(t.Text)
}

// isKeyword reports whether a word is a keyword of the language.
func (f *File) isKeyword(word string) bool {
	if f.Language == Lua {
		return luaKeywords[word]
	}
	switch word {
	case "and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass", "return", "while":
		return word != "load"
	}
	return false
}
