package script

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseDocstring(t *testing.T) {
	tests := []struct {
		name, in string
		want     docstring
	}{
		{"empty", "", docstring{}},
		{"one line", "  Says.  ", docstring{text: "Says."}},
		{"only sections", "Args:\n  a: One.\nReturns:\n  Two.", docstring{args: map[string]string{"a": "One."}, returns: "Two."}},
		{"tabs", "Says.\n\n\tMore.\n\n\tArgs:\n\t\ta: One.\n\t\t\tTwo.\n", docstring{text: "Says.\n\nMore.", args: map[string]string{"a": "One. Two."}}},
		{"CRLF", "Says.\r\n\r\n    Args:\r\n      a: One.\r\n    ", docstring{text: "Says.", args: map[string]string{"a": "One."}}},
		{"names of sections in the text", "Says Args: here.\n\n  The Returns: of it.", docstring{text: "Says Args: here.\n\nThe Returns: of it."}},
		{"indented section is text", "Says.\n\n  More.\n    Args:\n      a: One.", docstring{text: "Says.\n\nMore.\n  Args:\n    a: One."}},
		{"text behind a section", "Says.\n\n  Returns:\n    One.\n\n  Note:\n    Two.\n\n  Args:\n    a: Three.", docstring{text: "Says.", args: map[string]string{"a": "Three."}, returns: "One."}},
		{"no colon", "Args:\n  a\n  b: One.", docstring{args: map[string]string{"b": "One."}}},
		{"colon in words", "Args:\n  a: One.\n  see also: two", docstring{args: map[string]string{"a": "One. see also: two"}}},
		{"twice", "Args:\n  a: One.\n  a: Two.", docstring{args: map[string]string{"a": "Two."}}},
		{"typed", "Args:\n  a (list[str], optional): One.\n  **b: Two.", docstring{args: map[string]string{"a": "One.", "b": "Two."}, types: map[string]string{"a": "list[str], optional"}}},
		{"on the next line", "Args:\n  a:\n    One\n    two.", docstring{args: map[string]string{"a": "One two."}}},
	}
	for _, test := range tests {
		if test.want.args == nil {
			test.want.args = map[string]string{}
		}
		if diff := cmp.Diff(test.want, ParseDocstring(test.in), cmp.AllowUnexported(docstring{})); diff != "" {
			t.Errorf("%s: parseDocstring(%q): (-want +got)\n%s", test.name, test.in, diff)
		}
	}
}

func FuzzDocstring(f *testing.F) {
	f.Add("Says.\n\n  Args:\n    a: One.\n      Two.\n    *b (str): Three.\n\n  Returns:\n    x: é.\n  Raises:\n    z: y")
	f.Add("\r\n\tArgs:\r\n:\n()\n*:\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := ParseDocstring(text)
		if utf8.ValidString(text) && !utf8.ValidString(d.text+d.returns) {
			t.Fatalf("parseDocstring(%q) = %q, want UTF-8", text, d)
		}
		if len(d.text) > len(text) || len(d.returns) > len(text) || d.text != strings.TrimSpace(d.text) {
			t.Fatalf("parseDocstring(%q) = %q, longer than it was", text, d)
		}
		for name, says := range d.args {
			if name == "" || strings.ContainsAny(name, " \t\n(:") || strings.ContainsAny(says, "\n\t") {
				t.Fatalf("parseDocstring(%q) has the parameter %q: %q", text, name, says)
			}
		}
	})
}
