package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// A mark is a tag without attributes, in any brackets.
type mark struct {
	Name string // its letters and slashes, in lower case
	End  int
}

// markAt reads a tag of at most 60 bytes: <name>, </x:name>, <|name|>, <｜name｜> or [NAME].
func markAt(text string, at int) (m mark, ok bool) {
	if at+1 >= len(text) || text[at] != '<' && text[at] != '[' || strings.IndexByte("<>[] \n={\"'(", text[at+1]) >= 0 {
		return m, false
	}
	i := strings.IndexAny(text[at+1:min(len(text), at+60)], "<>[] \n={\"'(")
	if i < 1 || strings.IndexByte(">]", text[at+1+i]) < 0 || text[at] == '[' && strings.ContainsAny(text[at+1:at+1+i], "abcdefghijklmnopqrstuvwxyz") {
		return m, false
	}
	inner := text[at+1 : at+1+i]
	if j := strings.IndexByte(inner, ':'); j > 0 && inner[0] != '/' {
		inner = inner[j+1:]
	}
	letters := func(r rune) rune {
		if r < 0x80 && (prose.IsWord(byte(r)) || r == '/') && r != '_' {
			return r
		}
		return -1
	}
	return mark{strings.ToLower(strings.Map(letters, inner)), at + i + 2}, true
}

// An element is a pair of tags and the text between them.
type element struct {
	Tag, Name string // <tag=name> or <tag name="name">
	Text      string
	At        int
}

// elements reads consecutive elements, and returns their end. It fails for an element that is not
// closed. The finder must be for the text.
func elements(text string, at int, ends *loose.Finder) (list []element, end int, err *loose.Fault) {
	for {
		i := prose.SkipSpace(text, at)
		end := strings.IndexByte(text[min(i, len(text)):min(len(text), i+160)], '>')
		if end < 2 || text[i] != '<' || !prose.IsWord(text[i+1]) || strings.IndexByte(text[i+1:i+end], '<') >= 0 {
			return list, at, nil
		}
		full, name := headOf(text[i+1 : i+end])
		e := element{Tag: full[strings.IndexByte(full, ':')+1:], Name: name, At: i}
		closer := "</" + full + ">"
		stop := ends.Find(closer, i+end+1)
		if stop < 0 {
			return list, i, &loose.Fault{At: i, What: "the parameter " + e.Tag + " " + name + " is not closed"}
		}
		raw := strings.ReplaceAll(text[i+end+1:stop], "\r\n", "\n")
		if name != "" && strings.Contains(raw, "<"+full+"=") {
			return list, i, &loose.Fault{At: i, What: "the parameter " + name + " is not closed"}
		}
		e.Text = strings.TrimSuffix(strings.TrimPrefix(raw, "\n"), "\n")
		list = append(list, e)
		at = stop + len(closer)
	}
}

// headOf splits the inside of a tag: tag=NAME, or tag name="NAME".
func headOf(head string) (tag, name string) {
	i := strings.IndexAny(head, "= ")
	if i < 0 {
		return head, ""
	}
	name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(head[i:], " "), "name"), "=")
	name, _, _ = strings.Cut(strings.Trim(name, `"'`), `" `)
	return head[:i], name
}
