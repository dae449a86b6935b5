package promote

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// What promoting a program needs to know of its text: its tokens, and where
// its statements begin. The program has run, so its text is right as it is,
// and what becomes of it is read by the engine before it is written anywhere.

// A lexeme is one token of a program.
type lexeme struct {
	kind       lexemeKind
	text       string
	start, end int
	line       int  // counted from 1
	depth      int  // the brackets around it; a bracket has the depth outside of it
	match      int  // of a bracket, the other one; else -1
	first      bool // it begins a statement
	breaks     bool // a line begins with it
}

type lexemeKind uint8

const (
	lexWord lexemeKind = iota
	lexNumber
	lexString
	lexSign
)

// scanProgram takes a program apart. Its lines end in \n.
func scanProgram(text string) []lexeme {
	var list []lexeme
	var open []int
	line, breaks := 1, true
	for at := 0; at < len(text); {
		c := text[at]
		switch {
		case c == '\n':
			line, at, breaks = line+1, at+1, true
			continue
		case c == ' ' || c == '\t' || c == '\r':
			at++
			continue
		case c == '\\' && strings.HasPrefix(text[at:], "\\\n"):
			line, at = line+1, at+2
			continue
		case c == '#':
			at = prose.LineEnd(text, at)
			continue
		}
		l := lexeme{start: at, line: line, depth: len(open), match: -1, breaks: breaks}
		l.kind, l.end = lexemeAt(text, at)
		l.text = text[at:l.end]
		l.first = len(open) == 0 && (breaks || len(list) > 0 && list[len(list)-1].text == ";")
		if l.kind == lexSign {
			switch {
			case strings.Contains("([{", l.text):
				open = append(open, len(list))
			case strings.Contains(")]}", l.text) && len(open) > 0:
				l.match, open = open[len(open)-1], open[:len(open)-1]
				l.depth = len(open)
				list[l.match].match = len(list)
			}
		}
		list = append(list, l)
		line += strings.Count(l.text, "\n")
		at, breaks = l.end, false
	}
	return list
}

// signs are those of more than one character, the longest first.
var signs = strings.Fields("**= //= <<= >>= == != <= >= += -= *= /= %= &= |= ^= ** // << >> ->")

func lexemeAt(text string, at int) (kind lexemeKind, end int) {
	c := text[at]
	quote := at
	for quote < len(text) && quote < at+2 && (text[quote] == 'r' || text[quote] == 'b') {
		quote++
	}
	switch {
	case quote < len(text) && (text[quote] == '"' || text[quote] == '\''):
		return lexString, stringEnd(text, quote, strings.Contains(text[at:quote], "r"))
	case '0' <= c && c <= '9' || c == '.' && at+1 < len(text) && '0' <= text[at+1] && text[at+1] <= '9':
		for end = at + 1; end < len(text); end++ {
			exponent := (text[end-1] == 'e' || text[end-1] == 'E') && !strings.HasPrefix(text[at:], "0x")
			if !prose.IsWord(text[end]) && text[end] != '.' && !(exponent && (text[end] == '+' || text[end] == '-')) {
				break
			}
		}
		return lexNumber, end
	case inName(c):
		for end = at + 1; end < len(text) && inName(text[end]); end++ {
		}
		return lexWord, end
	}
	for _, s := range signs {
		if strings.HasPrefix(text[at:], s) {
			return lexSign, at + len(s)
		}
	}
	return lexSign, at + 1
}

// inName reports whether a byte can be of a name.
func inName(c byte) bool { return c == '_' || prose.IsWord(c) || c >= 0x80 }

func stringEnd(text string, at int, raw bool) int {
	closing := text[at : at+1]
	if triple := strings.Repeat(closing, 3); strings.HasPrefix(text[at:], triple) {
		closing = triple
	}
	for at += len(closing); at < len(text); at++ {
		switch {
		case strings.HasPrefix(text[at:], closing):
			return at + len(closing)
		case text[at] == '\\':
			at++ // in a raw string too it keeps a quote from ending it
		}
	}
	return len(text)
}

// A statement is the tokens from one up to another. That of a block is its
// head, and what stands behind its colon on the same line.
type statement struct {
	from, to int
	indent   int
	top      bool // it is one of the program's own, and in no block
	inDef    bool // it is in a function of the program
}

// blockWords begin statements that have others in them.
var blockWords = []string{"def", "if", "elif", "else", "for", "while"}

// statementsOf says where the statements are.
func statementsOf(text string, tokens []lexeme) []statement {
	var list []statement
	indent, block := 0, false // of the line: how far in, and whether a block begins there
	var defs []int            // how far in the functions stand that are open
	for i := range tokens {
		t := &tokens[i]
		if !t.first {
			continue
		}
		if len(list) > 0 {
			list[len(list)-1].to = i
		}
		if t.breaks {
			indent = t.start - (strings.LastIndexByte(text[:t.start], '\n') + 1)
			block = slices.Contains(blockWords, t.text)
			for len(defs) > 0 && indent <= defs[len(defs)-1] {
				defs = defs[:len(defs)-1]
			}
		}
		list = append(list, statement{from: i, to: len(tokens), indent: indent,
			top: indent == 0 && (t.breaks || !block), inDef: len(defs) > 0})
		if t.breaks && t.text == "def" {
			defs = append(defs, indent)
		}
	}
	return list
}

// assigned returns the token of a statement that gives its left side a value,
// as = and +=, or -1.
func assigned(tokens []lexeme, s *statement) int {
	depth := 0
	if slices.Contains(blockWords, tokens[s.from].text) {
		return -1
	}
	for i := s.from; i < s.to; i++ {
		t := &tokens[i]
		if t.kind == lexWord && t.text == "lambda" {
			return -1 // a name for one is given before the word
		}
		if t.kind == lexSign && t.depth == depth && strings.HasSuffix(t.text, "=") &&
			!slices.Contains([]string{"==", "!=", "<=", ">="}, t.text) {
			return i
		}
	}
	return -1
}

// boundNames counts how often a program gives each name a value, wherever it
// does. What it changes of a value counts too, as in list.append and dict[key] =.
func boundNames(tokens []lexeme, list []statement) map[string]int {
	bound := map[string]int{}
	words := func(from, to int) {
		for i := from; i < to; i++ {
			if tokens[i].kind == lexWord && (i == 0 || tokens[i-1].text != ".") {
				bound[tokens[i].text]++
			}
		}
	}
	for i := range list {
		s := &list[i]
		from := s.from
		for j := s.from; j < s.to; j++ { // for and if may have a statement on their line
			if tokens[j].text == ":" && tokens[j].depth == 0 && slices.Contains(blockWords, tokens[s.from].text) {
				from = j + 1
			}
		}
		if from < s.to {
			if eq := assigned(tokens, &statement{from: from, to: s.to}); eq >= 0 {
				words(from, eq)
			}
		}
	}
	for i := range tokens {
		switch t := &tokens[i]; {
		case t.kind != lexWord:
		case t.text == "for":
			words(i+1, nextWord(tokens, i+1, "in"))
		case t.text == "lambda":
			end := i + 1
			for end < len(tokens) && !(tokens[end].text == ":" && tokens[end].depth == t.depth) {
				end++
			}
			words(i+1, end)
		case t.text == "def" && i+2 < len(tokens):
			bound[tokens[i+1].text]++
			if close := tokens[i+2].match; close > 0 {
				words(i+3, close)
			}
		case i+2 < len(tokens) && tokens[i+1].text == "." && slices.Contains(changing, tokens[i+2].text):
			bound[t.text]++
		}
	}
	return bound
}

// changing are the methods that change a list, a dict or a set.
var changing = strings.Fields("add append clear discard extend insert pop popitem remove setdefault update")

func nextWord(tokens []lexeme, from int, word string) int {
	for from < len(tokens) && !(tokens[from].kind == lexWord && tokens[from].text == word) {
		from++
	}
	return from
}
