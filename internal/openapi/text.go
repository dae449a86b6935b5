package openapi

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// quote writes a string as a literal of a script. Characters that cannot be seen are escaped.
func quote(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if quoted := strconv.Quote(text); !strings.ContainsFunc(quoted, value.IsInvisible) {
		return quoted
	}
	return strconv.QuoteToASCII(text)
}

// width is how long a line of a script is, where it can be broken.
const width = 92

// literal writes a value of JSON as a literal of a script.
func literal(v value.Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return quote(v)
	case value.List:
		return bracket("[", value.Map(v, literal), "]")
	case *value.Dict:
		var items []string
		for k, item := range v.All() {
			items = append(items, literal(k)+": "+literal(item))
		}
		return bracket("{", items, "}")
	}
	return value.Display(v)
}

// bracket writes a list of items on one line, or on a line each.
func bracket(open string, items []string, end string) string {
	line := open + strings.Join(items, ", ") + end
	if len(line) <= width && !strings.Contains(line, "\n") {
		return line
	}
	return open + "\n" + indented(strings.Join(items, ",\n")) + ",\n" + end
}

// indented indents all lines of a text.
func indented(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// oneLine returns a text on one line, without what cannot be seen, and with at most so many characters.
func oneLine(text string, most int) string {
	const enough = 4 // bytes of a character
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case value.IsInvisible(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text[:min(len(text), enough*most+1000)])
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return text
}

// firstLine returns the first line of a text.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// inDoc returns a text as a part of a docstring, on one line.
func inDoc(text string, most int) string {
	return strings.NewReplacer(`\`, `\\`, `"`, "'").Replace(oneLine(text, most))
}

// sentence returns a text with a full stop, unless it ends with a sign.
func sentence(text string) string {
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')' {
		text += "."
	}
	return text
}

// wrap breaks a text of a docstring into lines. None of them is the head of a section.
func wrap(text, indent string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(indent)+len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	lines = append(lines, line)
	for i, line := range lines {
		if head, ok := strings.CutSuffix(line, ":"); ok && !strings.Contains(head, " ") {
			line = head
		}
		lines[i] = indent + line
	}
	return lines
}

// wordStart matches the beginnings of words within a name, and gap what is between words.
var (
	wordStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`) })
	gap       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
)

// identifier returns a name as words in lower case, joined by _: the name of a tool or a parameter.
func identifier(name string) string {
	name = wordStart().ReplaceAllString(name[:min(len(name), 400)], "${1}${3}_${2}${4}")
	return strings.Trim(gap().ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// cutName returns a name of at most so many bytes.
func cutName(name string, most int) string {
	return strings.Trim(name[:min(len(name), most)], "_")
}

// uniqueName returns a name that is not taken, and takes it.
func uniqueName(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		suffix := "_" + strconv.Itoa(n)
		free = cutName(name, tool.MaxName-len(suffix)) + suffix
	}
	taken[free] = true
	return free
}

// toolName returns the name of the tool of an operation: its operationId, or else its method and path.
func toolName(prefix string, op *Operation) string {
	name := identifier(op.ID)
	if name == "" {
		name = identifier(op.Method + " " + op.Path)
	}
	if prefix = identifier(prefix); prefix != "" && !strings.HasPrefix(name, prefix+"_") {
		name = prefix + "_" + name
	}
	if name[0] < 'a' || name[0] > 'z' {
		name = "call_" + name
	}
	name = cutName(name, tool.MaxName)
	if strings.HasSuffix(name, "_test") { // the file would be one with tests
		name = cutName(name, tool.MaxName-len("_call")) + "_call"
	}
	return name
}

// reserved are the names that a parameter of a script must not have: keywords of Starlark, what the script uses, and the
// parameter that the host sets.
var reserved = strings.Fields(`and as assert async await break class continue def del elif else except finally for from global
	if import in is lambda load nonlocal not or pass raise return try while with yield
	http secret answer encoded flat given headers joined segment spread working_dir`)

// paramName returns the name of a parameter that is not taken, and takes it.
func paramName(wire string, taken map[string]bool) string {
	name := cutName(identifier(wire), tool.MaxName)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.TrimSuffix("p_"+name, "_")
	}
	if slices.Contains(reserved, name) {
		name += "_"
	}
	return uniqueName(name, taken)
}
