package starlint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// literal checks a string: its prefix, a string next to it, and what is called on it.
func (h *Program) literal(i int) {
	t := &h.tokens[i]
	prefix, quote, body := unquoted(t.Text)
	switch raw := strings.Trim(prefix, "fF"); {
	case raw != prefix:
		h.add(t.At, "f-string; write %s", h.formatted(raw+quote, body, quote))
	case prefix == "u":
		h.add(t.At, "u before a string; leave the u out")
	}
	if h.followsString(i) && !h.followsString(i-1) {
		h.add(t.At, "two strings side by side; write + between them")
	}
	switch {
	case h.is(i+1, ".") && h.is(i+2, "format") && h.is(i+3, "("):
		h.checkFormat(h.tokens[i+2].At, body)
	case h.is(i+1, "%"):
		h.checkPercent(h.tokens[i+1].At, body)
	}
}

// followsString reports whether the string at i follows another one in the same
// expression.
func (h *Program) followsString(i int) bool {
	return i > 0 && h.tokens[i-1].Kind == scan.String && (!h.outer(i) || !h.tokens[i].NewLine)
}

// unquoted splits a string into its prefix, its quotes and its text.
func unquoted(literal string) (prefix, quote, body string) {
	n := strings.IndexAny(literal, `"'`)
	prefix, literal = literal[:n], literal[n:]
	quote = literal[:1]
	if triple := strings.Repeat(quote, 3); len(literal) >= 6 && strings.HasPrefix(literal, triple) {
		quote = triple
	}
	return prefix, quote, literal[len(quote) : len(literal)-len(quote)]
}

// A field is a replacement field of a format, as {name!r:>8}. text is all of that.
type field struct{ text, name, conversion, spec string }

// fieldsOf splits a format into its fields and the texts around them, one more than
// fields. It fails for a malformed format and for fields in fields.
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

// readField reads a field and returns the position of its closing brace, or -1.
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
				f.conversion, end = text[mark:end], mark
			}
			f.text, f.name = text[:i], strings.TrimSpace(text[:end])
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
func (h *Program) formatted(open, body, quote string) string {
	const otherwise = `"{}".format(value), with a {} for each value`
	texts, fields, ok := fieldsOf(body)
	if !ok || len(body) > longest || strings.Contains(body, "\n") && len(fields) == 0 {
		return otherwise
	}
	if len(fields) == 0 {
		return open + strings.NewReplacer("{{", "{", "}}", "}").Replace(body) + quote
	}
	format, args := texts[0], []string{}
	for n, f := range fields {
		arg, after, ok := h.argument(f)
		if !ok {
			return otherwise
		}
		if name, shows := strings.CutSuffix(arg, "="); shows && !strings.HasSuffix(name, "=") {
			format, arg = format+name+"=", strings.TrimSpace(name)
			f.conversion = "!r"
		}
		if strings.Contains(arg, ",") && !strings.ContainsAny(arg, "([{") {
			arg = "(" + arg + ")"
		}
		format += "{" + f.conversion + "}" + after + texts[n+1]
		args = append(args, arg)
	}
	if strings.Contains(body, "\n") {
		return fmt.Sprintf("the string without f, with {} for each value, and then .format(%s)", strings.Join(args, ", "))
	}
	return fmt.Sprintf("%s%s%s.format(%s)", open, format, quote, strings.Join(args, ", "))
}

// argument returns the argument of format for a field of an f-string, and the text to
// write after the field.
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
	case isNumber && h.Predeclared.Has("math") && (last == "f" || last == "g" || last == "" || last == "%"):
		if _, err := fmt.Sscanf(digits, "%d", &width); err != nil {
			return "", "", false
		}
		if last == "%" {
			return h.rounded("100 * ("+f.name+")", width), "%", true
		}
		return h.rounded(f.name, width), "", true
	case h.Predeclared.Has("text"):
		return padded(f.name, f.spec)
	}
	return "", "", false
}

// padded returns the call that pads a value as a format spec says.
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

// rounded returns the expression that rounds a number.
func (h *Program) rounded(name string, digits int) string {
	if h.Predeclared.Has("math") {
		return fmt.Sprintf("math.round(%s, %d)", name, digits)
	}
	return "the rounded value"
}

// prepared returns the argument of format for a field that format does not support.
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
	return "the formatted value"
}

// checkFormat adds a finding if a format has a field that format does not support.
func (h *Program) checkFormat(at scan.Position, body string) {
	_, fields, ok := fieldsOf(body)
	i := slices.IndexFunc(fields, func(f field) bool { return f.spec != "" || strings.ContainsAny(f.name, ".[") })
	if ok && i >= 0 {
		h.add(at, "format takes no {%s}; write {} and give %s", fields[i].text, h.prepared(fields[i]))
	}
}

// checkPercent adds a finding if a format for % has a width or a number of digits,
// which Starlark does not support.
func (h *Program) checkPercent(at scan.Position, body string) {
	if badPercent(body) {
		h.add(at, "%% takes no width and no digits; write %%s and give %s", h.rounded("value", 2))
	}
}

// badPercent reports whether a format for % has a width or a number of digits.
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
