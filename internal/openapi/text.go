package openapi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

// quote writes a string as a literal of a script. Characters that cannot be seen are escaped.
func quote(text string) string {
	quoted := strconv.Quote(strings.ToValidUTF8(text, "\ufffd"))
	if !strings.ContainsFunc(quoted, value.IsInvisible) {
		return quoted
	}
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r == ' ' || !value.IsInvisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// width is how long a line of a script is at most, where it can be broken.
const width = 100

// literal writes a value of JSON as a literal of a script, on one line if there is room for it.
func literal(v any, indent string) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return quote(v)
	case float64:
		return number(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = literal(item, indent+"    ")
		}
		return bracket("[", items, "]", indent)
	case map[string]any:
		var items []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, quote(key)+": "+literal(v[key], indent+"    "))
		}
		return bracket("{", items, "}", indent)
	}
	return literal(fmt.Sprint(v), indent) // JSON has no other values
}

// number writes a number, as an integer if it is one.
func number(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// bracket writes a list of items on one line, or on a line each.
func bracket(open string, items []string, end, indent string) string {
	line := open + strings.Join(items, ", ") + end
	if len(indent)+len(line) <= width && !strings.Contains(line, "\n") {
		return line
	}
	var b strings.Builder
	b.WriteString(open + "\n")
	for _, item := range items {
		b.WriteString(indent + "    " + item + ",\n")
	}
	return b.String() + indent + end
}

// oneLine returns a text on one line, without what cannot be seen, and with at most so many characters.
func oneLine(text string, most int) string {
	const enough = 4 // bytes of a character
	if len(text) > enough*most+1000 {
		text = text[:enough*most+1000]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case value.IsInvisible(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return text
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
			lines, line = append(lines, indent+line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	lines = append(lines, indent+line)
	for i, line := range lines {
		if head, ok := strings.CutSuffix(line, ":"); ok && !strings.Contains(strings.TrimSpace(head), " ") {
			lines[i] = head
		}
	}
	return lines
}

// identifier returns a name as words in lower case, joined by _: the name of a tool or a parameter.
func identifier(name string) string {
	var b strings.Builder
	runes := []rune(name[:min(len(name), 400)])
	gap := false
	for i, r := range runes {
		isWord := r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if !isWord {
			gap = true
			continue
		}
		startsWord := unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) || unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if (gap || startsWord) && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
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

// handler returns the name of the function of a tool.
func handler(name string) string { return scripts.Function(name) }

// reserved are the names that a parameter of a script must not have: keywords of Starlark, what the script uses, and the
// parameter that the host sets.
var reserved = strings.Fields(`and as assert async await break class continue def del elif else except finally for from global
	if import in is lambda load nonlocal not or pass raise return try while with yield
	http secret answer deep encoded given headers joined segment working_dir`)

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
