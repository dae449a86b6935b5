package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
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
	if strings.HasSuffix(inner, "|") && inner[0] != '|' { // <name|>, which closes <|name>
		inner = "/" + inner
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
	Typed     string // the attribute string of DeepSeek: "true" for a text, "false" for JSON
	At        int
}

// elements reads consecutive elements, and returns their end. It fails for an element that is not
// closed. The finder must be for the text.
func elements(text string, at int, ends *loose.Finder) (list []element, end int, err *loose.Fault) {
	for {
		i := prose.SkipSpace(text, at)
		end := strings.IndexByte(text[min(i, len(text)):min(len(text), i+160)], '>')
		if end < 2 || text[i] != '<' || !beginsTag(text, i) || text[i+end-1] == '|' || strings.IndexByte(text[i+1:i+end], '<') >= 0 {
			return list, at, nil
		}
		head := text[i+1 : i+end]
		full, name := headOf(head)
		e := element{Tag: localName(full), Name: name, At: i}
		if _, typed, ok := strings.Cut(head, ` string="`); ok {
			e.Typed = strings.TrimSuffix(typed, `"`)
		}
		closer := "</" + full + ">"
		stop := ends.Find(closer, i+end+1)
		if stop < 0 {
			return list, i, &loose.Fault{At: i, What: "the parameter " + e.Tag + " " + name + " is not closed"}
		}
		e.Text = text[i+end+1 : stop]
		if name != "" && strings.Contains(e.Text, "<"+full+"=") || e.Typed != "" && strings.Contains(e.Text, "<"+full+" ") {
			return list, i, &loose.Fault{At: i, What: "the parameter " + name + " is not closed"}
		}
		if e.Typed == "" {
			e.Text = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(e.Text, "\r\n", "\n"), "\n"), "\n")
		}
		list = append(list, e)
		at = stop + len(closer)
	}
}

// beginsTag reports whether the name of an element follows a "<", possibly after a prefix.
func beginsTag(text string, at int) bool {
	name := text[at+1 : min(len(text), at+maxPrefix)]
	if prefixed, ok := strings.CutPrefix(name, bar); ok {
		prefix := strings.IndexFunc(prefixed, func(r rune) bool { return r >= 0x80 || !prose.IsWord(byte(r)) })
		if name, ok = strings.CutPrefix(prefixed[max(prefix, 0):], bar); !ok {
			return false
		}
	}
	return name != "" && prose.IsWord(name[0])
}

const (
	// bar is around the prefix of DeepSeek's tags.
	bar = "｜"
	// maxPrefix is the limit of the length of a prefix with its bars.
	maxPrefix = 32
)

// localName returns the name of a tag without a prefix, as in x:name or ｜x｜name.
func localName(full string) string {
	if i := strings.LastIndex(full, bar); i >= 0 {
		return full[i+len(bar):]
	}
	return full[strings.IndexByte(full, ':')+1:]
}

// value returns what an element with a type holds.
func (e *element) value() (value.Value, *loose.Fault) {
	switch e.Typed {
	case "", "true":
		return e.Text, nil
	case "false":
		if v, err := value.ParseJSON([]byte(e.Text)); err == nil {
			return v, nil
		}
		return nil, &loose.Fault{At: e.At, What: "the parameter " + e.Name + " is not valid JSON, though it has string=\"false\""}
	}
	return nil, &loose.Fault{At: e.At, What: "the parameter " + e.Name + " must have string=\"true\" or string=\"false\""}
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
