package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// isBullet reports whether an item of a list stands at a place.
func isBullet(text string, at int) bool {
	return at+1 < len(text) && strings.IndexByte("-*+", text[at]) >= 0 && (text[at+1] == ' ' || text[at+1] == '\t')
}

// readParameters reads lines "- key: value". A value goes on in lines that are
// indented further than its bullet, or is a fence under it; nested JSON stays
// the text that it is. Any other line is a fault, for it may be a part of a
// value, and a tool must not run with half of one.
func (b *block) readParameters(at int) {
	text := b.s.text
	for at < len(text) {
		i := skipBlank(text, at)
		if i >= len(text) || text[i] == '<' && b.endsAt(i) {
			break
		}
		if text[i] == '\n' {
			at = i + 1
			continue
		}
		if f, _ := fieldAt(text, i, true); f != noField || strings.HasPrefix(text[i:], "```") {
			break
		}
		if !isBullet(text, i) {
			if b.untagged {
				break
			}
			b.err = &fault{at: i, what: "a line that is no \"- key: value\"; indent the further lines of a value, or put it in a fence"}
			return
		}
		indent := column(text, i)
		key, value, ok := parameterAt(text, i)
		if !ok {
			b.err = &fault{at: i, what: "a parameter should be written as \"- key: value\""}
			return
		}
		if b.input.Has(key) {
			b.err = &fault{at: i, what: "the parameter \"" + key + "\" is given twice"}
			return
		}
		v, next := b.parameterValue(value, indent)
		if b.err != nil {
			return
		}
		b.input.Put(key, v)
		at = next
	}
	b.at = min(at, len(text))
	if rest := skipSpace(text, b.at); strings.HasPrefix(text[rest:], "```") {
		b.at = rest + 3
	}
}

// column returns how far into its line a place is, as far as an indent can be.
func column(text string, at int) int {
	from := max(0, at-200)
	return at - from - 1 - strings.LastIndexByte(text[from:at], '\n')
}

func (b *block) endsAt(at int) bool {
	_, opens := tagEnd(b.s.text, at, blockTag)
	_, closes := tagEnd(b.s.text, at, "/"+blockTag)
	return opens || closes
}

// parameterAt reads the key of a list's item, and where its value starts.
func parameterAt(text string, at int) (key string, value int, ok bool) {
	i := skipBlank(text, at+1)
	for i < len(text) && strings.IndexByte("*`\"", text[i]) >= 0 {
		i++
	}
	start := i
	for i < len(text) && isName(text[i]) {
		i++
	}
	key = text[start:i]
	for i < len(text) && strings.IndexByte("*`\" ", text[i]) >= 0 {
		i++
	}
	if key == "" || i >= len(text) || text[i] != ':' {
		return "", 0, false
	}
	i++
	for strings.HasPrefix(text[i:], "**") {
		i += 2
	}
	return key, i, true
}

// parameterValue reads a value, and returns where the next line starts.
func (b *block) parameterValue(at, indent int) (value.Value, int) {
	text := b.s.text
	end := b.lineEnd(at)
	value := strings.TrimSpace(text[at:end])
	next := min(end+1, len(text))
	if end < len(text) && text[end] != '\n' {
		return plainValue(value), end // the closing tag is in the line
	}
	if value == "" || value == "|" {
		i := skipSpace(text, next)
		if strings.HasPrefix(text[i:], "```") {
			return b.fencedValue(i)
		}
	}
	if strings.HasPrefix(value, "```") && end > at {
		return b.fencedValue(at + strings.Index(text[at:end], "```"))
	}
	var lines []string
	for next < len(text) {
		i := skipBlank(text, next)
		if i < len(text) && text[i] == '\n' { // an empty line belongs to it if an indented one follows
			lines = append(lines, "")
			next = i + 1
			continue
		}
		if i-next <= indent || i >= len(text) || text[i] == '<' && b.endsAt(i) {
			break
		}
		if f, _ := fieldAt(text, i, true); f != noField && i-next < indent+2 {
			break
		}
		end = b.lineEnd(next)
		lines = append(lines, strings.TrimRight(text[next:end], " \t\r"))
		if next = min(end+1, len(text)); end < len(text) && text[end] != '\n' {
			next = end
			break
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return plainValue(value), next
	}
	more := dedent(lines)
	if value == "" || value == "|" {
		return more, next
	}
	return value + "\n" + more, next
}

// plainValue takes the quotes or backticks off that some put around a value.
func plainValue(val string) string {
	if n := len(val); n >= 2 && val[0] == '`' && strings.IndexByte(val[1:], '`') == n-2 {
		return val[1 : n-1]
	}
	if n := len(val); n >= 2 && val[0] == '"' && val[n-1] == '"' {
		if v, err := value.ParseJSON([]byte(val)); err == nil {
			return v.(string)
		}
	}
	return val
}

// fencedValue reads a fence as a value: its lines without the indent that the
// fence itself has.
func (b *block) fencedValue(at int) (value.Value, int) {
	text := b.s.text
	start, indent := prose.LineEnd(text, at), column(text, at)
	if i := skipBlank(text, at-indent); i != at {
		indent = 0 // it stands behind the key
	}
	var lines []string
	for i := start + 1; i < len(text); {
		end := prose.LineEnd(text, i)
		line := strings.TrimRight(text[i:end], "\r")
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "```") {
			return strings.Join(lines, "\n"), min(end+1, len(text))
		}
		blank := 0
		for blank < min(indent, len(line)) && (line[blank] == ' ' || line[blank] == '\t') {
			blank++
		}
		lines = append(lines, line[blank:])
		i = end + 1
	}
	b.err = &fault{at: at, what: "a fence that is not closed"}
	return nil, len(text)
}

// dedent joins lines without the indent that all of them have.
func dedent(lines []string) string {
	indent := -1
	for _, line := range lines {
		if rest := strings.TrimLeft(line, " \t"); rest != "" && (indent < 0 || len(line)-len(rest) < indent) {
			indent = len(line) - len(rest)
		}
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if indent > 0 && len(line) >= indent {
			line = line[indent:]
		}
		b.WriteString(line)
	}
	return b.String()
}
