package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An xmlScanner reads the XML of a spreadsheet, one tag or text at a time: several
// times as fast as encoding/xml, and in bounded memory whatever the file holds. It
// knows no document types, so no entities but those of XML itself, and it reads
// UTF-8 only. Prefixes of names are left out.
type xmlScanner struct {
	r    *bufio.Reader
	part string // of the file, for errors

	token xmlToken
	name  string // of a tag
	attrs []xmlAttr
	text  []byte // like attrs, good until the next token

	tag    []byte // the tag at hand, in the buffer or in long
	long   []byte
	open   []string
	names  map[string]string // so that a name that comes often is one string
	closes bool              // <a/> ends at once
}

type xmlToken uint8

const (
	xmlStart xmlToken = iota + 1
	xmlEnd
	xmlText
)

// An xmlAttr is an attribute; its value still has entities.
type xmlAttr struct{ name, value []byte }

// The bounds of what a spreadsheet program writes, generously.
const (
	maxTag       = 64 << 10 // bytes of one tag
	maxCellText  = 1 << 20  // bytes of one text; a spreadsheet program allows 32,767 characters
	maxXMLDepth  = 64
	maxXMLNames  = 1024 // different ones that are kept
	xmlBuffering = 64 << 10
)

func newXMLScanner(part string, r io.Reader) *xmlScanner {
	s := &xmlScanner{r: bufio.NewReaderSize(r, xmlBuffering), part: part, names: map[string]string{}}
	if mark, _ := s.r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		s.r.Discard(3)
	}
	return s
}

func (s *xmlScanner) errorf(format string, args ...any) *value.Error {
	e := value.Errorf(value.Invalid, format, args...)
	return value.Errorf(value.Invalid, "%s in it is damaged: %s", s.part, e.Message())
}

func (s *xmlScanner) limit(format string, args ...any) error {
	return overMemory("%s in it has %s", s.part, fmt.Sprintf(format, args...))
}

// next reads the following token. It returns io.EOF after the last one.
func (s *xmlScanner) next() error {
	if s.closes {
		s.closes = false
		s.token, s.text = xmlEnd, s.text[:0]
		s.open = s.open[:len(s.open)-1]
		return nil
	}
	s.text = s.text[:0]
	for {
		end, err := s.readText()
		if err != nil {
			return err
		}
		if len(s.text) > 0 {
			s.token = xmlText
			return s.r.UnreadByte()
		}
		if end {
			return io.EOF
		}
		if tag, err := s.readTag(); tag || err != nil {
			return err
		}
		if len(s.text) > 0 { // of CDATA
			s.token = xmlText
			return nil
		}
	}
}

// readText reads up to the next tag, and passes over its <. Text outside of the
// root is left out.
func (s *xmlScanner) readText() (end bool, err error) {
	for {
		b, err := s.r.ReadSlice('<')
		whole := err == nil
		if whole {
			b = b[:len(b)-1]
		}
		if len(s.open) > 0 && len(b) > 0 {
			if len(s.text)+len(b) > maxCellText {
				return false, s.limit("a text of more than %d MB", maxCellText>>20)
			}
			s.text = append(s.text, b...)
		}
		switch {
		case whole:
			if len(s.text) == 0 {
				return false, nil
			}
			s.text, err = s.unescape(s.text)
			return false, err
		case err == io.EOF:
			if len(s.open) > 0 {
				return false, s.errorf("it ends within <%s>", cut(s.open[len(s.open)-1]))
			}
			s.text = s.text[:0]
			return true, nil
		case err != bufio.ErrBufferFull:
			return false, err
		}
	}
}

// readTag reads what follows a <. It reports false for what says nothing: a comment,
// an instruction, CDATA, which is kept as text.
func (s *xmlScanner) readTag() (bool, error) {
	if err := s.readShort(); err != nil {
		return false, err
	}
	switch t := s.tag; {
	case t[0] == '?':
		return false, s.readOn("?>")
	case bytes.HasPrefix(t, []byte("!--")):
		return false, s.readOn("-->")
	case bytes.HasPrefix(t, []byte("![CDATA[")):
		if err := s.readOn("]]>"); err != nil {
			return false, err
		}
		if len(s.open) > 0 {
			s.text = append(s.text, s.tag[len("![CDATA["):len(s.tag)-len("]]>")]...)
		}
		return false, nil
	case t[0] == '!':
		return false, s.errorf("it has a document type, which is not read")
	case t[0] == '/':
		return true, s.endTag(t[1 : len(t)-1])
	}
	return true, s.startTag()
}

// readShort reads up to the first >: mostly that is the tag, and stays where it is
// in the buffer.
func (s *xmlScanner) readShort() error {
	b, err := s.r.ReadSlice('>')
	if err == nil {
		s.tag = b
		return nil
	}
	if err == bufio.ErrBufferFull {
		return s.limit("a tag of more than %d KB", maxTag>>10)
	}
	if err == io.EOF {
		return s.errorf("it ends within a tag")
	}
	return err
}

// readTo reads up to a text and appends it to the tag.
func (s *xmlScanner) readTo(end string) error {
	s.long = append(s.long[:0], s.tag...)
	s.tag = s.long
	defer func() { s.long = s.tag }()
	for {
		b, err := s.r.ReadSlice(end[len(end)-1])
		if len(s.tag)+len(b) > maxTag {
			return s.limit("a tag of more than %d KB", maxTag>>10)
		}
		s.tag = append(s.tag, b...)
		switch {
		case err == io.EOF:
			return s.errorf("it ends within a tag")
		case err != nil && err != bufio.ErrBufferFull:
			return err
		case err == nil && bytes.HasSuffix(s.tag, []byte(end)):
			return nil
		}
	}
}

// readOn reads on to the end of what began as a tag.
func (s *xmlScanner) readOn(end string) error {
	if bytes.HasSuffix(s.tag, []byte(end)) && len(s.tag) >= 2*len(end)-1 {
		return nil
	}
	return s.readTo(end)
}

func (s *xmlScanner) endTag(name []byte) error {
	for len(name) > 0 && xmlSpace(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	name = localName(name)
	if len(s.open) == 0 || s.open[len(s.open)-1] != string(name) {
		return s.errorf("</%s> closes nothing", cut(string(name)))
	}
	s.token, s.name = xmlEnd, s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	return nil
}

// startTag reads the name and the attributes of the tag at hand.
func (s *xmlScanner) startTag() error {
	for insideQuotes(s.tag) { // a > may be in a value
		if err := s.readTo(">"); err != nil {
			return err
		}
	}
	t := s.tag[:len(s.tag)-1]
	if len(t) > 0 && t[len(t)-1] == '/' {
		s.closes = true
		t = t[:len(t)-1]
	}
	n := 0
	for n < len(t) && !xmlSpace(t[n]) {
		n++
	}
	name := localName(t[:n])
	if len(name) == 0 || !utf8.Valid(name) {
		return s.errorf("a tag without a name")
	}
	if len(s.open) == maxXMLDepth {
		return s.limit("tags nested more than %d deep", maxXMLDepth)
	}
	s.token, s.name = xmlStart, s.intern(name)
	s.open = append(s.open, s.name)
	s.attrs = s.attrs[:0]
	for t = trimXML(t[n:]); len(t) > 0; t = trimXML(t) {
		n := bytes.IndexByte(t, '=')
		if n < 0 {
			return s.errorf("an attribute of <%s> without a value", cut(s.name))
		}
		name, rest := bytes.TrimRight(t[:n], " \t\r\n"), trimXML(t[n+1:])
		if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
			return s.errorf("an attribute of <%s> without a value", cut(s.name))
		}
		if n = bytes.IndexByte(rest[1:], rest[0]); n < 0 {
			return s.errorf("an attribute of <%s> that does not end", cut(s.name))
		}
		s.attrs = append(s.attrs, xmlAttr{name, rest[1 : n+1]})
		t = rest[n+2:]
	}
	return nil
}

func xmlSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// trimXML passes over white space.
func trimXML(b []byte) []byte {
	for len(b) > 0 && xmlSpace(b[0]) {
		b = b[1:]
	}
	return b
}

func insideQuotes(tag []byte) bool {
	quote := byte(0)
	for _, c := range tag {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote != 0
}

func localName(name []byte) []byte { return name[bytes.IndexByte(name, ':')+1:] }

func (s *xmlScanner) intern(name []byte) string {
	if n, ok := s.names[string(name)]; ok {
		return n
	}
	n := string(name)
	if len(s.names) < maxXMLNames {
		s.names[n] = n
	}
	return n
}

// rawAttr returns an attribute of the tag at hand as it is written, or nil.
func (s *xmlScanner) rawAttr(name string) []byte {
	for _, a := range s.attrs {
		if string(a.name) == name {
			return a.value
		}
	}
	return nil
}

// attr returns an attribute of the tag at hand.
func (s *xmlScanner) attr(name string) (string, error) {
	b, err := s.unescape(bytes.Clone(s.rawAttr(name)))
	return string(b), err
}

// relation returns the attribute id of the tag that has a prefix, whichever.
func (s *xmlScanner) relation() (string, error) {
	for _, a := range s.attrs {
		if bytes.HasSuffix(a.name, []byte(":id")) {
			return s.attr(string(a.name))
		}
	}
	return "", nil
}

// skip passes over the rest of the element whose start is at hand.
func (s *xmlScanner) skip() error {
	depth := len(s.open) - 1
	for len(s.open) > depth || s.closes {
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

// unescape replaces entities and line ends in place: nothing becomes longer.
func (s *xmlScanner) unescape(b []byte) ([]byte, error) {
	if !utf8.Valid(b) {
		return nil, s.errorf("a text that is not UTF-8")
	}
	if bytes.IndexByte(b, '&') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return b, nil
	}
	to := b[:0]
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\r':
			if i+1 == len(b) || b[i+1] != '\n' {
				to = append(to, '\n')
			}
		case '&':
			const longest = 12 // bytes of an entity: &#x0010FFFF;
			n := bytes.IndexByte(b[i:min(len(b), i+longest)], ';')
			r, ok := rune(0), n > 0
			if ok {
				r, ok = entity(b[i+1 : i+n])
			}
			if !ok {
				return nil, s.errorf("an & that begins no entity of XML")
			}
			to = utf8.AppendRune(to, r)
			i += n
		default:
			to = append(to, b[i])
		}
	}
	return to, nil
}

func entity(name []byte) (rune, bool) {
	switch string(name) {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, base := string(name[1:]), 10
	if digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || !utf8.ValidRune(rune(n)) {
		return 0, false
	}
	return rune(n), true
}
