package source

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// luaKeywords are the keywords of Lua.
var luaKeywords = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true, "function": true,
	"if": true, "in": true, "local": true, "nil": true, "not": true, "or": true, "repeat": true, "return": true, "then": true,
	"true": true, "until": true, "while": true,
}

// luaTokens returns the tokens of a text in Lua. What is not a token, such as a string without an
// end, lasts until the end of its line.
func luaTokens(text string) (list []scan.Token, complete bool) {
	lines := lineStarts(text)
	first := 0 // the line at which the scanner began
	complete = true
	for repairs := 0; first < len(lines); repairs++ {
		base := lines[first]
		s := parse.NewScanner(strings.NewReader(text[base:]), "")
		lexer := &parse.Lexer{}
		last := 0 // of the line with the token before
		for {
			t, err := s.Scan(lexer)
			if t.Pos.Line == parse.EOF || t.Type == parse.EOF {
				return list, complete
			}
			line := first + t.Pos.Line - 1
			start := lines[line] + t.Pos.Column - 1
			token := scan.Token{Kind: scan.Operator, Start: start, At: scan.Position{Line: line + 1, Col: t.Pos.Column}, NewLine: line > last || len(list) == 0}
			last = line
			if err != nil {
				complete = false
				if repairs == maxRepairs {
					return list, false
				}
				stop := lineEnd(text, start)
				if quote := text[start]; quote == '"' || quote == '\'' || quote == '[' {
					token.Kind, token.Text = scan.String, text[start:stop]
					list = append(list, token)
				}
				first = line + 1
				break
			}
			stop := len(text)
			if s.Pos.Line != parse.EOF {
				stop = lines[first+s.Pos.Line-1] + s.Pos.Column
			}
			token.Text = text[start:stop]
			token.Kind = luaKind(t, token.Text)
			list = append(list, token)
		}
	}
	return list, complete
}

// luaKind returns the kind of a token.
func luaKind(t ast.Token, text string) rune {
	switch {
	case t.Type == parse.TString:
		return scan.String
	case t.Type == parse.TIdent || t.Type == parse.TNumber || luaKeywords[t.Str]:
		return scan.Word
	case len(text) == 1:
		return rune(text[0])
	}
	return scan.Operator
}

// lineStarts returns where the lines of a text begin. Lines end as they do for Lua.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			continue
		}
		if i+1 < len(text) && (text[i+1] == '\n' || text[i+1] == '\r') && text[i+1] != text[i] {
			i++
		}
		starts = append(starts, i+1)
	}
	return starts
}

// lineEnd returns the end of the line with an offset.
func lineEnd(text string, offset int) int {
	if n := strings.IndexAny(text[offset:], "\r\n"); n >= 0 {
		return offset + n
	}
	return len(text)
}

// linkLua sets what encloses the tokens: a bracket, or the keyword that begins a block. A keyword
// that cannot be inside of brackets ends them.
func linkLua(list []scan.Token) {
	around := -1
	isBlock := func(i int) bool { return list[i].Kind == scan.Word }
	closeBrackets := func() {
		for around >= 0 && !isBlock(around) {
			around = list[around].Around
		}
	}
	for i := range list {
		t := &list[i]
		t.Around, t.Match = around, -1
		opens, closes := t.Nesting() == 1, false
		if t.Kind == scan.Word {
			switch t.Text {
			case "local", "return", "for", "while", "break", "then", "else", "elseif":
				closeBrackets()
				t.Around = around
			case "if", "do", "repeat":
				closeBrackets()
				t.Around, opens = around, true
			case "function":
				opens = true
			case "end", "until":
				closeBrackets()
				closes = true
			}
		}
		if t.Nesting() == -1 {
			open := around
			for open >= 0 && list[open].Kind != opening(t.Kind) {
				open = list[open].Around
			}
			if closes = open >= 0; closes {
				around = open
			}
		}
		switch {
		case opens:
			around = i
		case closes && around >= 0:
			t.Match, t.Around = around, list[around].Around
			list[around].Match, around = i, t.Around
		}
	}
}

// opening returns the opening bracket of a closing one.
func opening(closing rune) rune {
	switch closing {
	case ')':
		return '('
	case ']':
		return '['
	}
	return '{'
}
