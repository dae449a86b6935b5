package page

import (
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	voids   = regexp.MustCompile(`<(input|br|img|hr|col|meta|link)((?:\s[^>]*)?)>`)
	boolean = regexp.MustCompile(`\s(checked|selected|disabled|hidden|open|required|multiple|formnovalidate|autofocus|novalidate|data-[a-z-]+)([\s>])`)
)

// wellFormed checks HTML: each element ends, IDs are there once, what labels and descriptions refer to is
// there, each control has a name for those who do not see it, and nothing is inline that a policy would block.
func wellFormed(t *testing.T, name, html string) {
	t.Helper()
	if strings.Contains(html, "ZgotmplZ") {
		t.Errorf("%s: the escaper refused a value in\n%s", name, html)
	}
	for range 3 {
		html = boolean.ReplaceAllString(html, ` $1=""$2`)
	}
	html = voids.ReplaceAllString(html, "<$1$2/>")
	d := xml.NewDecoder(strings.NewReader("<root>" + html + "</root>"))
	d.Entity = xml.HTMLEntity
	ids, refs := map[string]int{}, map[string]string{}
	labels := map[string]bool{}
	var controls []map[string]string
	depth := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, html)
			return
		}
		switch e := token.(type) {
		case xml.StartElement:
			at := map[string]string{"": e.Name.Local}
			for _, a := range e.Attr {
				if a.Name.Space != "" {
					a.Name.Local = a.Name.Space + ":" + a.Name.Local
				}
				at[a.Name.Local] = a.Value
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%s: <%s> has the attribute %s", name, e.Name.Local, a.Name.Local)
				}
			}
			if e.Name.Local == "style" || e.Name.Local == "script" && at["src"] == "" {
				t.Errorf("%s: it has an inline <%s>", name, e.Name.Local)
			}
			if v, ok := at["id"]; ok {
				ids[v]++
			}
			for _, key := range []string{"for", "aria-describedby", "aria-labelledby"} {
				for v := range strings.FieldsSeq(at[key]) {
					refs[v] = key
				}
			}
			if at["for"] != "" {
				labels[at["for"]] = true
			}
			if e.Name.Local == "label" {
				depth++
			}
			if slices.Contains([]string{"input", "select", "textarea"}, e.Name.Local) && at["type"] != "hidden" && depth == 0 {
				controls = append(controls, at)
			}
		case xml.EndElement:
			if e.Name.Local == "label" {
				depth--
			}
		}
	}
	for v, n := range ids {
		if n > 1 {
			t.Errorf("%s: the ID %q is there %d times", name, v, n)
		}
	}
	for v, key := range refs {
		if ids[v] == 0 {
			t.Errorf("%s: %s refers to %q, which is not there, in\n%s", name, key, v, html)
		}
	}
	for _, at := range controls {
		if at["aria-label"] == "" && at["aria-labelledby"] == "" && !labels[at["id"]] {
			t.Errorf("%s: %v has no label", name, at)
		}
	}
}
