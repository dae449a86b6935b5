package page

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The budgets of a page, in bytes.
const (
	mostHTML = 40_000
	mostJS   = 25_000
	mostCSS  = 30_000
)

func render(t testing.TB, p *Pages, s sample) string {
	t.Helper()
	var b strings.Builder
	if err := p.Render(&b, s.page, s.frame, s.view); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPages checks the HTML of every page in every state.
func TestPages(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			text := render(t, p, s)
			if len(text) > mostHTML && !s.large {
				t.Errorf("the page has %d bytes, want at most %d", len(text), mostHTML)
			}
			if strings.Contains(text, "ZgotmplZ") {
				t.Error("the escaper has refused a value")
			}
			checkNesting(t, text)
			root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, root)
		})
	}
}

// void are the elements without an end.
var void = []string{"meta", "link", "input", "br", "hr", "img", "col"}

// checkNesting checks that every element ends where it should, and that a browser does not put
// it elsewhere.
func checkNesting(t *testing.T, text string) {
	t.Helper()
	text = strings.NewReplacer("<noscript>", "<div>", "</noscript>", "</div>").Replace(text) // which only browsers with scripts skip
	var open, written []string
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				t.Fatal(z.Err())
			}
			if len(open) > 0 {
				t.Errorf("not ended: %v", open)
			}
			checkOrder(t, text, written)
			return
		case html.StartTagToken:
			name, _ := z.TagName()
			written = append(written, string(name))
			if !slices.Contains(void, string(name)) {
				open = append(open, string(name))
			}
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			written = append(written, string(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			if n := len(open); n == 0 || open[n-1] != string(name) {
				t.Fatalf("</%s> ends %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// checkOrder compares the elements that are written with those that a browser makes of them.
func checkOrder(t *testing.T, text string, written []string) {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	var parsed []string
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			parsed = append(parsed, strings.ToLower(n.Data))
		}
	}
	for i := range min(len(written), len(parsed)) {
		if written[i] != parsed[i] {
			t.Fatalf("element %d is written as <%s> after %v, but parsed as <%s>", i, written[i], written[max(0, i-5):i], parsed[i])
		}
	}
	if len(written) != len(parsed) {
		t.Errorf("%d elements are written, and %d parsed", len(written), len(parsed))
	}
}

func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// checkTree checks what every page must have: one first heading, a name for every control, IDs that are
// unique and exist, and nothing inline.
func checkTree(t *testing.T, root *html.Node) {
	t.Helper()
	ids, labels, headings, level := map[string]bool{}, map[string]bool{}, 0, 0
	for n := range root.Descendants() {
		if id, ok := attr(n, "id"); ok {
			if ids[id] {
				t.Errorf("the ID %s is there twice", id)
			}
			ids[id] = true
		}
		if of, ok := attr(n, "for"); ok && textOf(n) != "" {
			labels[of] = true
		}
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s> has the attribute %s", n.Data, a.Key)
			case slices.Contains([]string{"for", "aria-labelledby", "aria-describedby", "aria-controls", "list"}, a.Key):
				for _, id := range strings.Fields(a.Val) {
					if !ids[id] {
						t.Errorf("<%s %s=%q> names an element that is not there", n.Data, a.Key, id)
					}
				}
			case slices.Contains([]string{"src", "href", "action"}, a.Key) && !isForeign(n) && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") && a.Val != "":
				t.Errorf("<%s %s=%q> leads elsewhere", n.Data, a.Key, a.Val)
			case a.Key == "href" && strings.HasPrefix(a.Val, "#") && !ids[a.Val[1:]]:
				t.Errorf("the link %s leads nowhere", a.Val)
			}
		}
		switch n.DataAtom {
		case atom.H1:
			headings++
			level = 1
		case atom.H2, atom.H3:
			if next := int(n.Data[1] - '0'); next > level+1 && level > 0 {
				t.Errorf("the heading %q is h%d after h%d", textOf(n), next, level)
			} else if ancestor(n, "main") {
				level = next
			}
		case atom.Style:
			t.Error("there is a style element")
		case atom.Script:
			if _, ok := attr(n, "src"); !ok {
				t.Error("there is an inline script")
			}
		case atom.Button, atom.A, atom.Summary:
			if label, ok := attr(n, "aria-label"); textOf(n) == "" && (!ok || label == "") {
				t.Errorf("a <%s> has no text: %v", n.Data, n.Attr)
			}
		case atom.Input, atom.Select, atom.Textarea:
			checkLabel(t, n, labels)
		case atom.Form:
			if method, _ := attr(n, "method"); method == "" {
				t.Errorf("a form has no method: %v", n.Attr)
			}
		}
	}
	if headings != 1 {
		t.Errorf("there are %d first headings, want 1", headings)
	}
}

// isForeign reports whether a link says that it leads elsewhere.
func isForeign(n *html.Node) bool {
	rel, _ := attr(n, "rel")
	address, _ := attr(n, "href")
	return rel == "noreferrer noopener nofollow" && strings.HasPrefix(address, "https://")
}

func ancestor(n *html.Node, name string) bool {
	for a := range n.Ancestors() {
		if a.Data == name {
			return true
		}
	}
	return false
}

func checkLabel(t *testing.T, n *html.Node, labels map[string]bool) {
	t.Helper()
	if kind, _ := attr(n, "type"); kind == "hidden" || kind == "submit" {
		return
	}
	id, _ := attr(n, "id")
	label, _ := attr(n, "aria-label")
	_, by := attr(n, "aria-labelledby")
	if !labels[id] && label == "" && !by && !ancestor(n, "label") {
		t.Errorf("<%s> has no label: %v", n.Data, n.Attr)
	}
}

// TestAssets checks the sizes and the names of the files.
func TestAssets(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for name, most := range map[string]int{"style.css": mostCSS, "app.js": mostJS} {
		a := p.Asset(strings.TrimPrefix(string(p.names[name]), "/assets/"))
		if a == nil {
			t.Fatalf("there is no %s", name)
		}
		t.Logf("%s has %d bytes", name, len(a.Data))
		if len(a.Data) > most {
			t.Errorf("%s has %d bytes, want at most %d", name, len(a.Data), most)
		}
		if a.Type == "" {
			t.Errorf("%s has no type", name)
		}
	}
}

// hostile is text that must never reach a page as it is.
const hostile = "<img src=x onerror=alert(1)>\u202e\u200b\"'&{{.}}"

// TestUntrusted puts hostile text into every string of every view. Nothing of it may become HTML, and what
// is invisible must be marked.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, s := range samples() {
		if s.large {
			continue
		}
		t.Run(s.name, func(t *testing.T) { // one after the other: samples share parts
			v := reflect.ValueOf(s.view)
			if v.Kind() != reflect.Pointer {
				t.Skip("the frame is its view")
			}
			poison(v, map[uintptr]bool{})
			f := *s.frame
			f.Title, f.Project, f.User, f.Projects = hostile, hostile, hostile, []string{hostile, "other"}
			s.frame = &f
			text := render(t, p, s)
			root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
			if err != nil {
				t.Fatal(err)
			}
			for n := range root.Descendants() {
				if src, _ := attr(n, "src"); n.Type == html.ElementNode && n.Data == "img" && src == "x" {
					t.Fatalf("text has become an element: %v", n.Attr)
				}
				if n.Type == html.TextNode && strings.ContainsAny(n.Data, "\u202e\u200b") && n.Parent.Data != "textarea" {
					t.Errorf("<%s> in %s shows invisible characters: %q", n.Parent.Data, where(n.Parent), n.Data)
				}
				for _, a := range n.Attr {
					if strings.ContainsAny(a.Val, "\u202e\u200b") && !slices.Contains([]string{"value", "name", "id", "data-into", "data-keep", "data-text", "data-draft"}, a.Key) {
						t.Errorf("<%s %s=%q> has invisible characters", n.Data, a.Key, a.Val)
					}
				}
			}
		})
	}
}

func where(n *html.Node) string {
	var list []string
	for a := range n.Ancestors() {
		class, _ := attr(a, "class")
		list = append(list, fmt.Sprintf("%s.%s", a.Data, class))
	}
	return strings.Join(list[:min(4, len(list))], " < ")
}

// poison sets all strings of a view. Strings with a name of their own are our words.
func poison(v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		poison(v.Elem(), seen)
	case reflect.Interface:
		if !v.IsNil() && v.Elem().Kind() == reflect.Pointer {
			poison(v.Elem(), seen)
		} else if !v.IsNil() && v.Elem().Kind() == reflect.String && v.CanSet() {
			v.Set(reflect.ValueOf(hostile))
		}
	case reflect.Struct:
		if strings.HasSuffix(v.Type().PkgPath(), "/visible") || v.Type().PkgPath() == "time" {
			return // a span is marked already
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i), seen)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), seen)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.CanSet() && v.String() != "" {
			v.SetString(hostile)
		}
	}
}
