package source

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/markdown"
)

// A Markdown is a tool in Markdown.
type Markdown struct {
	Meta Span  // the front matter, without the lines ---; empty if there is none
	Code *File // its text is the code; what is around it is blank, so that all offsets stay. Nil if there is none
}

// words are the languages of code blocks.
var words = map[string]Language{"starlark": Starlark, "star": Starlark, "python": Starlark, "lua": Lua}

// ReadMarkdown reads a tool in Markdown. It does not fail.
func ReadMarkdown(text string) Markdown {
	plain := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", " \n"), "\r", "\n")
	if strings.HasPrefix(plain, "\ufeff") {
		plain = "   " + plain[len("\ufeff"):]
	}
	var known []string
	for word := range words {
		known = append(known, word)
	}
	p := markdown.PartsOf(strings.TrimLeft(plain, " "), known...)
	starts := append(lineStarts(plain), len(plain)+1)
	var m Markdown
	if p.MetaTo > p.MetaFrom {
		m.Meta = Span{starts[p.MetaFrom], max(starts[p.MetaFrom], starts[p.MetaTo]-1)}
	}
	if p.CodeTo > p.CodeFrom {
		from, to := starts[p.CodeFrom], min(starts[p.CodeTo], len(plain))
		m.Code = Read(words[p.Word], blank(plain[:from])+plain[from:to])
	}
	return m
}

// blank replaces all characters but line breaks with spaces.
func blank(text string) string {
	b := []byte(text)
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}

// A MetaPlace is what is at an offset of the front matter of a tool, or of another YAML text.
type MetaPlace struct {
	Path  []string // the keys around the offset, outermost first; items of lists have none
	Key   string   // the key whose value has the offset; "" at a key, or at an item of a list
	Item  bool     // the offset is at an item of a list that is not an object
	Word  Span     // the word at the offset
	Given []string // the other keys of the same object, as far as they are above or on the same line
}

// MetaAt returns what is at an offset of a YAML text. Only the styles are recognized that people
// write by hand: block style, and flow style on one line.
func MetaAt(text string, offset int) MetaPlace {
	offset = min(max(offset, 0), len(text))
	lines := strings.Split(text, "\n")
	n := strings.Count(text[:offset], "\n")
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	line, head := lines[n], text[start:offset]
	f := MetaPlace{Word: wordAt(text, offset)}
	own := yamlLine(line)
	inner := head
	if len(inner) >= own.content {
		inner = inner[own.content:]
	} else {
		inner = ""
	}
	flow, key, item := flowAt(inner)
	f.Path = yamlPath(lines[:n], own, &f.Given)
	switch {
	case flow != nil:
		f.Path = append(f.Path, flow.path...)
		f.Key, f.Item, f.Given = key, item, flow.given
	case own.key != "" && len(inner) > len(own.key):
		f.Key = own.key
	case own.dash >= 0 && own.key == "":
		f.Item = true
	}
	return f
}

// A yamlRow is a line in block style.
type yamlRow struct {
	dash    int // the column of the dash of an item, or -1
	content int // the column of what follows
	key     string
	blank   bool
}

func yamlLine(line string) yamlRow {
	trimmed := strings.TrimLeft(line, " ")
	r := yamlRow{dash: -1, content: len(line) - len(trimmed)}
	for trimmed == "-" || strings.HasPrefix(trimmed, "- ") {
		if r.dash < 0 {
			r.dash = r.content
		}
		rest := strings.TrimLeft(trimmed[1:], " ")
		r.content = len(line) - len(rest)
		trimmed = rest
	}
	trimmed = strings.TrimRight(trimmed, " \r")
	r.blank = trimmed == "" && r.dash < 0 || strings.HasPrefix(trimmed, "#")
	if i := strings.Index(trimmed+" ", ": "); i > 0 && !strings.ContainsAny(trimmed[:1], "{[\"'") {
		r.key = trimmed[:i]
	}
	return r
}

// yamlPath returns the keys around a line, from those above it, and adds the other keys of its object.
func yamlPath(above []string, row yamlRow, given *[]string) []string {
	column, dash := row.content, row.dash
	first := true
	var path []string
	for i := len(above) - 1; i >= 0; i-- {
		r := yamlLine(above[i])
		if r.blank {
			continue
		}
		switch {
		case dash >= 0 && r.content <= dash && r.key != "" && r.dash < 0, dash >= 0 && r.dash >= 0 && r.content <= dash && r.dash < dash && r.key != "":
			path = append([]string{r.key}, path...)
			column, dash, first = r.content, r.dash, false
		case dash < 0 && r.content == column && r.key != "":
			if first {
				*given = append(*given, r.key)
			}
			if r.dash >= 0 {
				dash, first = r.dash, false
			}
		case dash < 0 && r.content < column && r.key != "":
			path = append([]string{r.key}, path...)
			column, dash, first = r.content, r.dash, false
		}
	}
	return path
}

// A flowObject is the object or list in flow style that contains an offset.
type flowObject struct{ path, given []string }

// flowAt reads the part of a line before an offset that is in flow style. It returns nil if no
// bracket is open there.
func flowAt(head string) (flow *flowObject, key string, item bool) {
	type level struct {
		bracket byte
		key     string // of the entry that is being read
		word    int    // where the entry begins
		given   []string
	}
	stack := []level{{bracket: ' '}}
	for i := 0; i < len(head); i++ {
		top := &stack[len(stack)-1]
		switch c := head[i]; c {
		case '"', '\'':
			if n := strings.IndexByte(head[i+1:], c); n >= 0 {
				i += n + 1
			} else {
				i = len(head)
			}
		case '{', '[':
			stack = append(stack, level{bracket: c, word: i + 1})
		case '}', ']':
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		case ':':
			if top.key == "" && (i+1 == len(head) || head[i+1] == ' ') {
				top.key = strings.Trim(head[top.word:i], " \"'")
			}
		case ',':
			if top.key != "" {
				top.given = append(top.given, top.key)
			}
			top.key, top.word = "", i+1
		}
	}
	if len(stack) == 1 {
		return nil, "", false
	}
	last := stack[len(stack)-1]
	flow = &flowObject{given: last.given}
	for _, l := range stack[:len(stack)-1] {
		if l.key != "" {
			flow.path = append(flow.path, l.key)
		}
	}
	return flow, last.key, last.bracket == '['
}

// wordAt returns the word around an offset, with the characters of keys and capabilities.
func wordAt(text string, offset int) Span {
	in := func(c byte) bool { return !strings.ContainsRune(" \t\r\n,:{}[]\"'#", rune(c)) }
	s := Span{offset, offset}
	for s.Start > 0 && in(text[s.Start-1]) {
		s.Start--
	}
	for s.End < len(text) && in(text[s.End]) {
		s.End++
	}
	return s
}
