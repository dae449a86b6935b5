package table

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// ours and theirs list the tags, attributes and texts of a document.
func ours(doc string, slowly bool) (out string, err error) {
	var r io.Reader = strings.NewReader(doc)
	if slowly {
		r = iotest.OneByteReader(r)
	}
	s := newXMLScanner("x", r)
	text := ""
	for {
		if err := s.next(); err != nil {
			if err == io.EOF {
				err = nil
			}
			return out + text, err
		}
		if s.token == xmlText {
			text += string(s.text)
			continue
		}
		out += text
		text = ""
		if s.token == xmlEnd {
			out += "</" + s.name + ">"
			continue
		}
		out += "<" + s.name
		for _, a := range s.attrs {
			v, err := s.attr(string(a.name))
			if err != nil {
				return out, err
			}
			out += fmt.Sprintf(" %s=%q", localName(a.name), v)
		}
		out += ">"
	}
}

func theirs(doc string) (out string, err error) {
	d := xml.NewDecoder(strings.NewReader(doc))
	depth := 0
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			out += "<" + t.Name.Local
			for _, a := range t.Attr {
				out += fmt.Sprintf(" %s=%q", a.Name.Local, a.Value)
			}
			out += ">"
		case xml.EndElement:
			depth--
			out += "</" + t.Name.Local + ">"
		case xml.CharData:
			if depth > 0 {
				out += string(t)
			}
		}
	}
}

// The scanner finds in a document what encoding/xml does.
func TestXMLScannerAgainstEncodingXML(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", " b ", "&lt;&#65;&#x1F600;", "é", "<![CDATA[<&>]]>", "<!-- > - -->", "<?pi x > ?>", "c\r\nd\re"})
	attr := rapid.SampledFrom([]string{"", ` a="1"`, ` a = '">'`, ` x:b="&quot;é&#10;" c="/>"`, "\n\tr=\"A1\" s=\"\""})
	var element func(depth int) *rapid.Generator[string]
	element = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			name := rapid.SampledFrom([]string{"c", "x:v", "row", "ä"}).Draw(t, "name")
			a := attr.Draw(t, "attr")
			if depth == 0 || rapid.Bool().Draw(t, "empty") {
				return "<" + name + a + "/>"
			}
			inner := text.Draw(t, "text")
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				inner += element(depth-1).Draw(t, "element") + text.Draw(t, "text")
			}
			return "<" + name + a + ">" + inner + "</" + name + " >"
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		doc := `<?xml version="1.0"?>` + "\n" + element(4).Draw(t, "document") + "\n"
		want, err := theirs(doc)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours(doc, rapid.Bool().Draw(t, "slowly"))
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", doc, got, err, want)
		}
	})
}

// What the scanner reads at all, and encoding/xml too, they read alike.
func FuzzXMLScanner(f *testing.F) {
	for _, s := range []string{"<a/>", "<a b='c'>d</a>", "<a><![CDATA[x]]></a>", "<a>&#x41;</a>", "<!-- --><a/>", "<a", "<a b>", "</a>", "<a><b></a>", "<?x ?><a/>", "<a>&b;</a>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		got, err := ours(doc, false)
		slow, slowErr := ours(doc, true)
		if got != slow || (err == nil) != (slowErr == nil) {
			t.Errorf("%q: %q, %v; byte by byte %q, %v", doc, got, err, slow, slowErr)
		}
	})
}
