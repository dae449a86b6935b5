package habits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// literal looks at a string: how it is marked, what stands beside it, and what
// is made of it.
func (h *Program) literal(i int) {
	from := i // where the string begins, with what marks it
	if mark := i - 1; mark >= 0 && h.tokens[mark].kind == scan.Word && !h.tokens[i].gap {
		from = mark
		switch strings.ToLower(h.said(mark)) {
		case "f", "fr", "rf":
			h.add(mark, "f-string; write %s", h.formatted(strings.Trim(h.said(mark), "fF"), h.said(i)))
		case "u":
			h.add(mark, "u before a string; leave the u out")
		case "r", "b", "rb", "br":
		default:
			from = i
		}
	}
	if h.beside(from) && !h.beside(h.marked(from-1)) {
		h.add(i, "two strings side by side; write + between them")
	}
	_, body := unquoted(h.said(i))
	switch {
	case h.is(i+1, ".") && h.is(i+2, "format") && h.is(i+3, "("):
		if field, bad := badField(body); bad {
			h.add(i+2, "format takes no {%s}; write {} and give %s", field.shown(), h.prepared(field))
		}
	case h.is(i+1, "%") && badPercent(body):
		h.add(i+1, "%% takes no width and no digits; write %%s and give %s", h.rounded("value", 2))
	}
}

// marked returns where the string begins that is the token i.
func (h *Program) marked(i int) int {
	if i > 0 && h.tokens[i-1].kind == scan.Word && !h.tokens[i].gap && len(h.said(i-1)) < 3 {
		return i - 1
	}
	return i
}

// beside reports whether the string that begins at i follows another, in one
// expression.
func (h *Program) beside(i int) bool {
	if i <= 0 || h.tokens[i-1].kind != scan.String {
		return false
	}
	t := h.tokens[i]
	return t.up >= 0 || !t.newLine
}

// A field is what stands in braces in a format, as in {name!r:>8}.
type field struct{ name, conversion, spec string }

// shown is the field as it is written.
func (f field) shown() string {
	text := f.name
	if f.conversion != "" {
		text += "!" + f.conversion
	}
	if f.spec != "" {
		text += ":" + f.spec
	}
	return text
}

// fieldsOf takes a format apart: the texts around its fields, one more than
// there are fields. It fails where the format is not well formed, or holds
// fields in fields.
func fieldsOf(body string) (texts []string, fields []field, ok bool) {
	from := 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c != '{' && c != '}':
		case strings.HasPrefix(body[i+1:], string(c)):
			i++
		case c == '}':
			return nil, nil, false
		default:
			f, n := readField(body[i+1:])
			if n < 0 {
				return nil, nil, false
			}
			texts, fields = append(texts, body[from:i]), append(fields, f)
			i += 1 + n
			from = i + 1
		}
	}
	return append(texts, body[from:]), fields, true
}

// readField reads a field up to its closing brace and returns where that is,
// or -1.
func readField(text string) (field, int) {
	var f field
	depth, quote, colon, mark := 0, byte(0), -1, -1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n' || c == '\\':
			return f, -1
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case colon >= 0 && c == '{':
			return f, -1
		case (c == '"' || c == '\'') && colon < 0:
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == '}' && depth == 0:
			end := i
			if colon >= 0 {
				f.spec, end = text[colon+1:i], colon
			}
			if mark >= 0 {
				f.conversion, end = text[mark+1:end], mark
			}
			f.name = strings.TrimSpace(text[:end])
			return f, i
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ':' && depth == 0 && colon < 0:
			colon = i
		case c == '!' && depth == 0 && colon < 0 && !strings.HasPrefix(text[i+1:], "="):
			mark = i
		}
	}
	return f, -1
}

// formatted writes an f-string as a call of format.
func (h *Program) formatted(mark, literal string) string {
	const otherwise = `"{}".format(value), with a {} for each value`
	quote, body := unquoted(literal)
	texts, fields, ok := fieldsOf(body)
	if !ok || len(body) > longest || strings.Contains(body, "\n") && len(fields) == 0 {
		return otherwise
	}
	if len(fields) == 0 {
		return mark + quote + strings.NewReplacer("{{", "{", "}}", "}").Replace(body) + quote
	}
	format, args := texts[0], []string{}
	for n, f := range fields {
		arg, after, ok := h.argument(f)
		if !ok {
			return otherwise
		}
		if name, shows := strings.CutSuffix(arg, "="); shows && !strings.HasSuffix(name, "=") {
			format, arg = format+name+"=", strings.TrimSpace(name)
			f.conversion = "r"
		}
		if f.conversion != "" {
			f.conversion = "!" + f.conversion
		}
		if strings.Contains(arg, ",") && !strings.ContainsAny(arg, "([{") {
			arg = "(" + arg + ")"
		}
		format += "{" + f.conversion + "}" + after + texts[n+1]
		args = append(args, arg)
	}
	if strings.Contains(body, "\n") {
		return fmt.Sprintf("it without the f, with {} in place of each value, and .format(%s) behind it", strings.Join(args, ", "))
	}
	return fmt.Sprintf("%s%s%s%s.format(%s)", mark, quote, format, quote, strings.Join(args, ", "))
}

// argument is what to give to format for a field of an f-string, and what to
// write behind the field.
func (h *Program) argument(f field) (arg, after string, ok bool) {
	number := strings.TrimLeft(f.spec, ",+ ")
	last := strings.TrimLeft(number, ".0123456789")
	digits, isNumber := strings.CutPrefix(strings.TrimSuffix(number, last), ".")
	var width int
	switch {
	case f.name == "":
		return "", "", false
	case number == "" || number == "d" || number == "s":
		return f.name, "", true
	case isNumber && h.Given.Has("math") && (last == "f" || last == "g" || last == "" || last == "%"):
		if _, err := fmt.Sscanf(digits, "%d", &width); err != nil {
			return "", "", false
		}
		if last == "%" {
			return h.rounded("100 * ("+f.name+")", width), "%", true
		}
		return h.rounded(f.name, width), "", true
	case h.Given.Has("text"):
		return padded(f.name, f.spec)
	}
	return "", "", false
}

// padded is the call that pads a value as the spec of a format says.
func padded(name, spec string) (arg, after string, ok bool) {
	fill, align, width := "", "", spec
	switch {
	case len(spec) > 2 && strings.Contains("<>^", spec[1:2]):
		fill, align, width = spec[:1], spec[1:2], spec[2:]
	case strings.Contains("<>^", spec[:1]):
		align, width = spec[:1], spec[1:]
	case spec[0] == '0':
		fill = "0"
	}
	width = strings.TrimLeft(strings.TrimRight(width, "sd"), "0")
	if width == "" || strings.Trim(width, "0123456789") != "" {
		return "", "", false
	}
	function := map[string]string{"<": "text.pad_right", "^": "text.center"}[align]
	if function == "" {
		function = "text.pad_left"
	}
	if fill != "" {
		return fmt.Sprintf("%s(str(%s), %s, %q)", function, name, width, fill), "", true
	}
	return fmt.Sprintf("%s(str(%s), %s)", function, name, width), "", true
}

// rounded is how to round a number.
func (h *Program) rounded(name string, digits int) string {
	if h.Given.Has("math") {
		return fmt.Sprintf("math.round(%s, %d)", name, digits)
	}
	return "the value rounded"
}

// prepared is what to give to format for a field that it does not take.
func (h *Program) prepared(f field) string {
	if f.spec == "" && f.name != "" {
		return f.name + " as an argument"
	}
	if f.name == "" || strings.Trim(f.name, "0123456789") == "" {
		f.name = "value"
	}
	if arg, _, ok := h.argument(f); ok {
		return arg
	}
	return "the value as it is to be shown"
}

// badField returns the first field of a format that format does not take.
func badField(body string) (field, bool) {
	_, fields, ok := fieldsOf(body)
	i := slices.IndexFunc(fields, func(f field) bool { return f.spec != "" || strings.ContainsAny(f.name, ".[") })
	if !ok || i < 0 {
		return field{}, false
	}
	return fields[i], true
}

// badPercent reports whether a format for % holds what % does not take: a
// width, or a number of digits.
func badPercent(body string) bool {
	for {
		_, rest, ok := strings.Cut(body, "%")
		if strings.HasPrefix(rest, "(") {
			_, rest, ok = strings.Cut(rest, ")")
		}
		if !ok || rest == "" {
			return false
		}
		if strings.IndexByte("-+#.*0123456789", rest[0]) >= 0 {
			return true
		}
		body = rest[1:]
	}
}
