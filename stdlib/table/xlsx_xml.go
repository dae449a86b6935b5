package table

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// An xmlReader reads the XML of a spreadsheet with memory that is bounded for every file.
// It does not support document types, so the only entities are those of XML itself, and
// it reads only UTF-8.
//
// An element has a meaning only in the namespace of the root, whichever of the standard's
// two that is, and at its place: extensions and other vocabularies reuse the names.
// Callers therefore walk from the root with children, and compare name.
type xmlReader struct {
	part   string // the part of the file, for errors
	bytes  *tokenBytes
	d      *xml.Decoder
	open   []xml.Name
	spaces []xmlSpace // of the open elements
	main   string     // the namespace of the root
	name   string     // of the last start tag; "" if it is not in main
	attrs  []xml.Attr
}

// An xmlSpace binds a prefix to a namespace within an element.
type xmlSpace struct {
	prefix, uri string
	depth       int // of the element
}

// markup is the namespace of alternatives for programs that know different extensions.
const markup = "http://schemas.openxmlformats.org/markup-compatibility/2006"

// relationKind returns the last word of the name of a relation that the standard defines,
// in its transitional or its strict form. It returns "" for the relations of extensions.
func relationKind(uri string) string {
	for _, space := range []string{
		"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
		"http://purl.oclc.org/ooxml/officeDocument/relationships",
	} {
		if kind, ok := strings.CutPrefix(uri, space+"/"); ok {
			return kind
		}
	}
	return ""
}

// Limits well above what a spreadsheet program writes.
const (
	maxTag      = 64 << 10 // bytes of one tag
	maxCellText = 1 << 20  // bytes of one text; a spreadsheet program allows 32,767 characters
	maxXMLDepth = 64
)

func newXMLReader(part string, r io.Reader) *xmlReader {
	const buffering = 64 << 10
	in := &tokenBytes{Reader: bufio.NewReaderSize(r, buffering), part: part}
	d := xml.NewDecoder(in)
	d.CharsetReader = func(_ string, utf8 io.Reader) (io.Reader, error) { return utf8, nil }
	return &xmlReader{part: part, bytes: in, d: d}
}

// A tokenBytes limits the bytes of each token, of which encoding/xml holds a copy.
type tokenBytes struct {
	*bufio.Reader
	part string
	left int  // how many the current token may still have
	last byte // the last byte that was read
}

// next starts a token. The decoder reads the < that ends a text before it starts the tag.
func (t *tokenBytes) next() {
	t.left = maxCellText
	if t.last == '<' {
		t.left = maxTag
	}
}

// ReadByte implements [io.ByteReader].
func (t *tokenBytes) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, row.Limit("%s has a tag longer than %d KB or a text longer than %d MB", t.part, maxTag>>10, maxCellText>>20)
	}
	c, err := t.Reader.ReadByte()
	if c == '<' {
		t.left = min(t.left, maxTag)
	}
	t.last = c
	return c, err
}

func (r *xmlReader) errorf(format string, args ...any) *value.Error {
	e := value.Errorf(value.Invalid, format, args...)
	return value.Errorf(value.Invalid, "%s is damaged: %s", r.part, e.Message())
}

func (r *xmlReader) limit(format string, args ...any) error {
	return row.Limit("%s has %s", r.part, fmt.Sprintf(format, args...))
}

// next returns the next token, which is valid until the one after it. It returns io.EOF
// after the last one.
func (r *xmlReader) next() (xml.Token, error) {
	r.bytes.next()
	token, err := r.d.RawToken() // Token would also hold the namespaces
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return nil, r.errorf("%s", cut(syntax.Msg))
	}
	last := len(r.open) - 1
	switch t := token.(type) {
	case nil:
		if err == io.EOF && last >= 0 {
			return nil, r.errorf("<%s> has no end tag", cut(r.open[last].Local))
		}
	case xml.StartElement:
		if len(r.open) == maxXMLDepth {
			return nil, r.limit("more than %d levels of nested tags", maxXMLDepth)
		}
		r.open = append(r.open, t.Name)
		r.attrs = t.Attr
		r.bind()
		space := r.space(t.Name.Space)
		if last < 0 {
			r.main = space
		}
		r.name = ""
		if space == r.main {
			r.name = t.Name.Local
		}
	case xml.EndElement:
		if last < 0 || r.open[last] != t.Name {
			return nil, r.errorf("</%s> has no start tag", cut(t.Name.Local))
		}
		r.open = r.open[:last]
		for n := len(r.spaces); n > 0 && r.spaces[n-1].depth > last; n-- {
			r.spaces = r.spaces[:n-1]
		}
	case xml.Directive:
		return nil, r.errorf("document types are not supported")
	}
	return token, err
}

// bind records the namespaces that the last start tag declares.
func (r *xmlReader) bind() {
	for _, a := range r.attrs {
		switch {
		case a.Name.Space == "xmlns":
			r.spaces = append(r.spaces, xmlSpace{a.Name.Local, a.Value, len(r.open)})
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			r.spaces = append(r.spaces, xmlSpace{"", a.Value, len(r.open)})
		}
	}
}

// space returns the namespace of a prefix. A prefix that is not declared is returned.
func (r *xmlReader) space(prefix string) string {
	for i := len(r.spaces) - 1; i >= 0; i-- {
		if r.spaces[i].prefix == prefix {
			return r.spaces[i].uri
		}
	}
	return prefix
}

// attr returns an attribute of the last start tag, or "".
func (r *xmlReader) attr(name string) string {
	for _, a := range r.attrs {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relation returns the attribute that names a relation, with any prefix.
func (r *xmlReader) relation() string {
	for _, a := range r.attrs {
		if a.Name.Space != "" && relationKind(r.space(a.Name.Space)+"/"+a.Name.Local) == "id" {
			return a.Value
		}
	}
	return ""
}

// children calls f at the start of each element in the current one. What f does not read
// of the element is skipped. Of alternatives it takes the fallback, which needs no
// extension.
func (r *xmlReader) children(f func() error) error {
	for depth := len(r.open); len(r.open) >= depth; {
		token, err := r.next()
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok || len(r.open) != depth+1 {
			continue
		}
		if r.name == "" && r.space(start.Name.Space) == markup {
			switch start.Name.Local {
			case "AlternateContent", "Fallback":
				err = r.children(f)
			}
		} else {
			err = f()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendText appends the text in the current element, and in those within it.
func (r *xmlReader) appendText(to []byte) ([]byte, error) {
	for depth := len(r.open); len(r.open) >= depth; {
		token, err := r.next()
		if err != nil {
			return nil, err
		}
		if text, ok := token.(xml.CharData); ok {
			if len(to)+len(text) > maxCellText {
				return nil, r.limit("a text is longer than %d MB", maxCellText>>20)
			}
			to = append(to, text...)
		}
	}
	return to, nil
}

// richText appends the texts of the current element and of its parts.
func (r *xmlReader) richText(to []byte) ([]byte, error) {
	err := r.children(func() (err error) {
		switch r.name {
		case "t":
			to, err = r.appendText(to)
		case "r":
			to, err = r.richText(to)
		}
		return err
	})
	return to, err
}
