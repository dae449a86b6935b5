package value

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON reads one JSON value (RFC 8259) that spans all of data. Unlike
// encoding/json it keeps the order of objects and the exact value of any integer,
// distinguishes 1 from 1.0, rejects duplicate names, and reports line and column of an
// error. [MaxDepth] and [MaxNodes] bound the value.
func ParseJSON(data []byte) (Value, error) { return ParseJSONWithin(data, MaxDepth, MaxNodes) }

// ParseJSONWithin is [ParseJSON] for a value of at most depth levels and nodes parts.
func ParseJSONWithin(data []byte, depth, nodes int) (Value, error) {
	p := jsonParser{data: data, depth: depth, nodes: nodes, left: nodes}
	return p.all()
}

// ReadJSON is [ParseJSONWithin] for what another program has sent, which cannot be asked to send it again:
// a byte order mark is skipped; U+FFFD stands for invalid UTF-8 and for half of a surrogate pair; a string
// may have control characters; and of two values with one name the last counts.
func ReadJSON(data []byte, depth, nodes int) (Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	p := jsonParser{data: data, depth: depth, nodes: nodes, left: nodes, foreign: true}
	return p.all()
}

// all reads a value that spans all of the data.
func (p *jsonParser) all() (Value, error) {
	depth := p.depth
	p.space()
	v, err := p.value(depth)
	if err == nil {
		p.space()
		if p.at < len(p.data) {
			err = p.unexpected("the end of the JSON")
		}
	}
	if err != nil {
		return nil, p.locate(err)
	}
	return v, nil
}

type jsonParser struct {
	data         []byte
	at           int
	depth, nodes int  // the limits
	left         int  // of the nodes
	foreign      bool // see ReadJSON
}

// locate adds line and column (in characters) to an error.
func (p *jsonParser) locate(err error) error {
	e := ErrorOf(err, Invalid)
	before := p.data[:min(p.at, len(p.data))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	col := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &Error{Kind: e.Kind, Limit: e.Limit, Hint: e.Hint,
		Err: fmt.Errorf("invalid JSON at line %d, column %d: %w", line, col, e.Err)}
}

func (p *jsonParser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *jsonParser) unexpected(want string) error {
	if p.at >= len(p.data) {
		return Errorf(Invalid, "expected %s but got the end of the text", want)
	}
	r, _ := utf8.DecodeRune(p.data[p.at:])
	return Errorf(Invalid, "expected %s but got %q", want, r)
}

func (p *jsonParser) value(depth int) (Value, error) {
	if p.left--; p.left < 0 {
		return nil, Limitf(LimitNodes, "the text has more than %d values", p.nodes)
	}
	if p.at >= len(p.data) {
		return nil, p.unexpected("a value")
	}
	switch c := p.data[p.at]; {
	case c == '"':
		return p.text()
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	switch {
	case p.word("null"):
		return nil, nil
	case p.word("true"):
		return true, nil
	case p.word("false"):
		return false, nil
	}
	return nil, p.unexpected("a value")
}

// word skips a word if it is next.
func (p *jsonParser) word(w string) bool {
	if len(p.data)-p.at < len(w) || string(p.data[p.at:p.at+len(w)]) != w {
		return false
	}
	p.at += len(w)
	return true
}

func (p *jsonParser) array(depth int) (Value, error) {
	if depth == 0 {
		return nil, Limitf(LimitDepth, "the JSON is nested more than %d levels deep", p.depth)
	}
	p.at++
	list := List{}
	for {
		p.space()
		if p.at < len(p.data) && p.data[p.at] == ']' && len(list) == 0 {
			p.at++
			return list, nil
		}
		v, err := p.value(depth - 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		p.space()
		switch p.next() {
		case ',':
		case ']':
			return list, nil
		default:
			p.at--
			return nil, p.unexpected("a comma or ]")
		}
	}
}

// next returns and skips the next byte, or returns 0 at the end. In both cases p.at--
// undoes it.
func (p *jsonParser) next() byte {
	p.at++
	if p.at > len(p.data) {
		return 0
	}
	return p.data[p.at-1]
}

func (p *jsonParser) object(depth int) (Value, error) {
	if depth == 0 {
		return nil, Limitf(LimitDepth, "the JSON is nested more than %d levels deep", p.depth)
	}
	p.at++
	p.space()
	if p.at < len(p.data) && p.data[p.at] == '}' {
		p.at++
		return &Dict{}, nil
	}
	d := MakeDict(smallDict)
	for {
		p.space()
		if p.at >= len(p.data) || p.data[p.at] != '"' {
			return nil, p.unexpected(`a name in double quotes`)
		}
		start := p.at
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		if d.Has(name) && !p.foreign {
			p.at = start
			return nil, Errorf(Invalid, "the name %q is given twice", name)
		}
		p.space()
		if p.next() != ':' {
			p.at--
			return nil, p.unexpected("a colon")
		}
		p.space()
		v, err := p.value(depth - 1)
		if err != nil {
			return nil, err
		}
		if p.foreign {
			d.Put(name, v)
		} else {
			var key any = name // boxed once
			d.add(key, key, v)
		}
		p.space()
		switch p.next() {
		case ',':
		case '}':
			return d, nil
		default:
			p.at--
			return nil, p.unexpected("a comma or }")
		}
	}
}

// MaxDigits bounds the numbers of JSON and YAML: converting digits to a number and back
// takes more than linear time.
const MaxDigits = 4096

// maxBits is how many bits an integer of MaxDigits digits can have, at log2(10) =
// 3.32193 bits per digit.
const maxBits = 1 + MaxDigits*332193/100000

func (p *jsonParser) number() (Value, error) {
	start := p.at
	digits := func() int {
		from := p.at
		for p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9' {
			p.at++
		}
		return p.at - from
	}
	if p.data[p.at] == '-' {
		p.at++
	}
	first := p.at
	if n := digits(); n == 0 || (n > 1 && p.data[first] == '0') {
		p.at = start
		return nil, Errorf(Invalid, "malformed number")
	}
	whole := true
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if whole = false; digits() == 0 {
			return nil, p.unexpected("a digit")
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if whole = false; digits() == 0 {
			return nil, p.unexpected("a digit")
		}
	}
	text := string(p.data[start:p.at])
	v, err := parseNumber(text, whole)
	if err != nil {
		p.at = start
	}
	return v, err
}

func parseNumber(text string, whole bool) (Value, error) {
	if len(text) > MaxDigits {
		return nil, Limitf(LimitDigits, "the number has more than %d digits", MaxDigits)
	}
	if !whole {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, Errorf(Invalid, "the number %s is out of range", text)
		}
		return f, nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, Errorf(Invalid, "malformed number")
	}
	return Integer(i), nil
}

func (p *jsonParser) text() (string, error) {
	start := p.at
	p.at++
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			raw := p.data[start+1 : p.at]
			p.at++
			return p.valid(raw, start)
		case c == '\\':
			return p.escapedText(start)
		case c < 0x20 && !p.foreign:
			return "", Errorf(Invalid, "control character in a string (write \\n or \\u%04x)", c)
		default:
			p.at++
		}
	}
	p.at = start
	return "", Errorf(Invalid, "the string has no closing quote")
}

// escapedText reads a string with an escape, from its opening quote.
func (p *jsonParser) escapedText(start int) (string, error) {
	p.at = start + 1
	var b []byte
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return p.valid(b, start)
		case c < 0x20 && !p.foreign:
			return "", Errorf(Invalid, "control character in a string (write \\n or \\u%04x)", c)
		case c != '\\':
			b = append(b, c)
			p.at++
		default:
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		}
	}
	p.at = start
	return "", Errorf(Invalid, "the string has no closing quote")
}

// valid returns the string that begins at start.
func (p *jsonParser) valid(text []byte, start int) (string, error) {
	switch {
	case utf8.Valid(text):
		return string(text), nil
	case p.foreign:
		return string(bytes.ToValidUTF8(text, []byte("\ufffd"))), nil
	}
	p.at = start
	return "", Errorf(Invalid, "the string is not UTF-8")
}

const jsonEscapes = `""\\//b` + "\b" + "f\f" + "n\n" + "r\r" + "t\t"

func (p *jsonParser) escape() (rune, error) {
	p.at++
	if p.at >= len(p.data) {
		return 0, p.unexpected("an escape")
	}
	c := p.data[p.at]
	if c == 'u' {
		r, err := p.hex4()
		if err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
		half := p.at
		if p.at+1 < len(p.data) && p.data[p.at] == '\\' && p.data[p.at+1] == 'u' {
			p.at++
			low, err := p.hex4()
			if err != nil {
				return 0, err
			}
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, nil
			}
		}
		if p.foreign {
			p.at = half
			return utf8.RuneError, nil
		}
		return 0, Errorf(Invalid, "incomplete surrogate pair in an escape")
	}
	for i := 0; i < len(jsonEscapes); i += 2 {
		if jsonEscapes[i] == c {
			p.at++
			return rune(jsonEscapes[i+1]), nil
		}
	}
	r, _ := utf8.DecodeRune(p.data[p.at:])
	return 0, Errorf(Invalid, `unknown escape \%c (write a backslash as \\)`, r)
}

func (p *jsonParser) hex4() (rune, error) {
	if p.at+5 > len(p.data) {
		return 0, Errorf(Invalid, "incomplete escape in a string")
	}
	u, err := strconv.ParseUint(string(p.data[p.at+1:p.at+5]), 16, 16)
	if err != nil {
		return 0, Errorf(Invalid, "expected four hexadecimal digits after \\u")
	}
	p.at += 5
	return rune(u), nil
}

// AppendJSON appends a value as JSON. Tuples and sets are arrays, bytes are base64
// text, a [Media] is a data URL, and keys that are numbers, booleans or null are text, as Python writes them. It
// fails for values that JSON cannot express: NaN, infinity, any other key, and two keys
// that would be written the same. [MaxDepth] and [MaxNodes] bound the value, and
// [MaxDigits] its numbers.
func AppendJSON(dst []byte, v Value) ([]byte, error) {
	if dst == nil {
		dst = make([]byte, 0, 128) // most values are short: one allocation is enough
	}
	w := jsonWriter{buf: dst, nodes: MaxNodes}
	err := w.value(v, MaxDepth)
	return w.buf, err
}

// FormatJSON returns a value as JSON for people. With an indent, lists and objects that
// do not fit on a line are spread over several lines. A part that has no JSON form is
// written as text, and a [Media] as its type and size.
func FormatJSON(v Value, indent string) string {
	w := jsonWriter{lenient: true, nodes: MaxNodes}
	if err := w.value(v, MaxDepth); err != nil {
		return "(" + err.Error() + ")"
	}
	if indent == "" {
		return string(w.buf)
	}
	return layOut(w.buf, indent)
}

type jsonWriter struct {
	buf     []byte
	lenient bool
	nodes   int
}

func (w *jsonWriter) value(v Value, depth int) error {
	if w.nodes--; w.nodes < 0 {
		return Limitf(LimitNodes, "the value has more than %d elements in total", MaxNodes)
	}
	switch v := v.(type) {
	case nil:
		w.buf = append(w.buf, "null"...)
	case bool:
		w.buf = strconv.AppendBool(w.buf, v)
	case int64:
		w.buf = strconv.AppendInt(w.buf, v, 10)
	case *big.Int:
		return w.bigInt(v)
	case float64:
		return w.float(v)
	case string:
		w.text(v)
	case []byte:
		w.text(base64.StdEncoding.EncodeToString(v))
	case Media:
		return w.media(v)
	case *Dict:
		return w.object(v, depth)
	default:
		items, ok := Elements(v)
		if !ok {
			return Errorf(Failed, "unsupported type %T", v)
		}
		return w.array(items, depth)
	}
	return nil
}

func (w *jsonWriter) media(m Media) error {
	if w.lenient {
		w.text(m.String())
		return nil
	}
	if err := m.Check(); err != nil {
		return err
	}
	w.buf = append(m.appendURL(append(w.buf, '"')), '"')
	return nil
}

func (w *jsonWriter) bigInt(i *big.Int) error {
	start := len(w.buf)
	if i.BitLen() <= maxBits {
		w.buf = i.Append(w.buf, 10)
		if len(w.buf)-start <= MaxDigits {
			return nil
		}
		w.buf = w.buf[:start]
	}
	err := Limitf(LimitDigits, "the integer has more than %d digits", MaxDigits)
	if !w.lenient {
		return err
	}
	w.text("(" + err.Message() + ")")
	return nil
}

// hintNumber is the hint for a float without a JSON form.
const hintNumber = "use None or a string instead of infinity or NaN"

func (w *jsonWriter) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		if !w.lenient {
			return Errorf(Failed, "unsupported number %v", f).WithHint(hintNumber)
		}
		w.text(strconv.FormatFloat(f, 'g', -1, 64))
		return nil
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	start := len(w.buf)
	w.buf = strconv.AppendFloat(w.buf, f, format, -1, 64)
	if format == 'f' && bytes.IndexByte(w.buf[start:], '.') < 0 {
		w.buf = append(w.buf, ".0"...) // parsed as a float again
	}
	return nil
}

const hexDigits = "0123456789abcdef"

func (w *jsonWriter) text(s string) {
	w.buf = append(w.buf, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			w.buf = utf8.AppendRune(w.buf, r)
			i += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			w.buf = append(w.buf, '\\', c)
		case c == '\n':
			w.buf = append(w.buf, `\n`...)
		case c == '\t':
			w.buf = append(w.buf, `\t`...)
		case c == '\r':
			w.buf = append(w.buf, `\r`...)
		case c < 0x20 || c == 0x7f:
			w.buf = append(w.buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			w.buf = append(w.buf, c)
		}
	}
	w.buf = append(w.buf, '"')
}

func (w *jsonWriter) array(items []Value, depth int) error {
	if depth == 0 {
		return Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
	}
	w.buf = append(w.buf, '[')
	for i, v := range items {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if err := w.value(v, depth-1); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, ']')
	return nil
}

func (w *jsonWriter) object(d *Dict, depth int) error {
	if depth == 0 {
		return Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
	}
	w.buf = append(w.buf, '{')
	first := true
	for k, v := range d.All() {
		if !first {
			w.buf = append(w.buf, ',')
		}
		first = false
		name, ok := k.(string)
		if !ok {
			var err error
			if name, err = w.key(k, d); err != nil {
				return err
			}
		}
		w.text(name)
		w.buf = append(w.buf, ':')
		if err := w.value(v, depth-1); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, '}')
	return nil
}

// keyType returns the type of a key. A tuple is an array in JSON, but only a tuple can be a key.
func keyType(k Value) string {
	if _, ok := k.(Tuple); ok {
		return "tuple"
	}
	return TypeOf(k)
}

// key returns the name under which a key of d that is not a string is written.
func (w *jsonWriter) key(k Value, d *Dict) (string, error) {
	name := Display(k)
	if w.lenient {
		return name, nil
	}
	switch k := k.(type) {
	case nil, bool, int64, *big.Int:
	case float64:
		if math.IsNaN(k) || math.IsInf(k, 0) {
			return "", Errorf(Failed, "unsupported key %v", k).WithHint("use a string as the key")
		}
	default:
		return "", Errorf(Failed, "unsupported type of a key: %s", keyType(k)).WithHint("use a string as the key")
	}
	if d.Has(name) {
		return "", Errorf(Failed, "two keys have the text %q", name)
	}
	return name, nil
}
