package edits

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLineBreaks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, old, becomes, want string }{
		{"CRLF in a file of both", "head\na\r\nb\r\nc\n", "a\nb\n", "a\nX\nb\n", "head\na\r\nX\r\nb\r\nc\n"},
		{"LF in a file of both", "head\r\na\nb\nc\r\n", "a\nb\n", "a\nX\nb\n", "head\r\na\nX\nb\nc\r\n"},
		{"over both", "a\r\nb\nc\r\nd\n", "a\nb\nc", "A\nB\nC", "A\r\nB\nC\r\nd\n"},
		{"over both, with more lines", "a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nb\nx\ny\nc\n", "a\r\nb\nx\ny\nc\r\nd\n"},
		{"over both, at the end", "a\nb\r\nc", "a\nb\nc", "1\n2\n3\n4", "1\n2\r\n3\r\n4"},
		{"over both, with fewer lines", "a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nd", "a\r\nd\n"},
		{"within a line", "a\nb\r\nc\n", "b", "1\n2", "a\n1\r\n2\r\nc\n"},
		{"within another line", "a\nb\r\nc\n", "c", "1\n2", "a\nb\r\n1\n2\n"},
		{"in a last line without an end", "a\r\nb", "b", "1\n2", "a\r\n1\r\n2"},
		{"a file of one line", "b", "b", "1\n2", "1\n2"},
		{"the end of a line", "a\r\nb\n", "a\n", "c", "cb\n"},
		{"the line break before", "x\r\ny\nz", "\ny", "\n1\n2", "x\r\n1\r\n2\nz"},
		{"CR in the new text only", "a\nb\n", "a", "1\r\n2", "1\n2\nb\n"},
		{"CR in the old text only", "a\nb\n", "a\r\nb", "1\n2", "1\n2\n"},
		{"as it is", "a\nb\na\r\nb\r\n", "a\r\nb", "c", "a\nb\nc\r\n"},
		{"a CR alone", "a\rb\r\n", "a\rb", "c\nd", "c\r\nd\r\n"},
		{"CR CR LF", "a\r\r\nb\r\n", "\nb", "\nc\nd", "a\r\r\nc\r\nd\r\n"},
	} {
		e, err := Find("f", test.text, test.old, test.becomes, false)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := e.Apply(); got != test.want || e.Size() != len(got) {
			t.Errorf("%s: %q of size %d, want %q", test.name, got, e.Size(), test.want)
		}
	}
	for _, test := range []struct{ text, old, becomes, want string }{
		{"a\r\nb\nc\r\n", "\r\n", "\n", "a\nb\nc\n"},
		{"a\r\nb\nc\n", "\n", "\r\n", "a\r\nb\r\nc\r\n"},
		{"a\r\na\na", "a", "x\ny", "x\r\ny\r\nx\ny\nx\ny"},
	} {
		e, err := Find("f", test.text, test.old, test.becomes, true)
		if err != nil {
			t.Errorf("all %q: %v", test.old, err)
		} else if got := e.Apply(); got != test.want {
			t.Errorf("all %q: %q, want %q", test.old, got, test.want)
		}
	}
	_, err := Find("f", "x\r\na\nb\n\na\r\nb\n", "a\nb", "c", false)
	if want := "edit f: the old text occurs 2 times, at lines 2, 5"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// But for the line breaks, an edit is a replacement in the text with LF, and what is not
// replaced stays as it is.
func TestLineBreaksRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := func(label string, pieces ...string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, label), "")
		}
		text, old, becomes := of("text", "a", "b", "\n", "\r\n"), "a"+of("old", "a", "\n"), of("new", "a", "c", "\n", "\r\n")
		e, err := Find("f", text, old, becomes, true)
		want := strings.ReplaceAll(plainBreaks(text), old, plainBreaks(becomes))
		if err != nil {
			if strings.Contains(plainBreaks(text), old) {
				t.Fatal(err)
			}
			return
		}
		if got := e.Apply(); plainBreaks(got) != want || len(got) != e.Size() {
			t.Fatalf("%q, want %q", got, want)
		}
		for r := range e.replacements() {
			if plainBreaks(text[r.Start:r.End]) != old {
				t.Fatalf("%q is replaced", text[r.Start:r.End])
			}
			if was := text[r.Start:r.End]; strings.Count(was, "\n") > 0 && !strings.Contains(was, "\r") && strings.Contains(r.New, "\r") && plainBreaks(becomes) != old {
				t.Fatalf("%q becomes %q", was, r.New)
			}
		}
	})
}

func TestAlmostMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, old, want string }{
		{"the\u00a0list in\u00a0current use\n", "list in current", `line 1 has the text with no-break spaces: pass it as "list in\u00a0current"`},
		{"a b", "a\u00a0b", `line 1 has the text without no-break spaces: pass it as "a b"`},
		{"\nTourner l’image", "l'image", `line 2 has the text with curly quotes: pass it as "l\u2019image"`},
		{"say “hi” and ‘ho’", `"hi" and 'ho'`, `line 1 has the text with curly quotes: pass it as "\u201chi\u201d and \u2018ho\u2019"`},
		{`say "hi"`, "“hi”", `line 1 has the text without curly quotes: pass it as "\"hi\""`},
		{"cafe\u0301 ok", "café", `line 1 has the text with decomposed accents: pass it as "cafe\u0301"`},
		{"café ok", "cafe\u0301", `line 1 has the text without decomposed accents: pass it as "café"`},
		{"a – b", "a - b", `line 1 has the text with long dashes: pass it as "a \u2013 b"`},
		{"wait…", "wait...", `line 1 has the text with an ellipsis: pass it as "wait\u2026"`},
		{"a\u200bb", "ab", `line 1 has the text with invisible characters: pass it as "a\u200bb"`},
		{"x\ta\u2003b", "a b", `line 1 has the text with special spaces: pass it as "a\u2003b"`},
		{"l’é  t\u00a0é", "l'e\u0301 t é", `line 1 has the text with no-break spaces and with curly quotes and without decomposed accents and with different spaces: pass it as "l\u2019é  t\u00a0é"`},
		{"alpha\nbeta\n", "     1\talpha", "line 1 has the text without the line numbers: leave them out"},
		{"alpha\r\nbeta\r\n\r\n", "     1\talpha\n     2\tbeta\n", "line 1 has the text without the line numbers: leave them out"},
		{"x\nalpha\n", "a.txt:2:alpha", "line 2 has the text without the line numbers: leave them out"},
		{"x\n\tl’image\n", "2\tl'image", `line 2 has the text without the line numbers and with curly quotes: pass it as "l\u2019image"`},
		{"if x:\n\treturn  1\n", "if x:\n    return 1", "line 1 has the text with different spaces: copy the text from the file exactly"},
		{strings.Repeat("‘x", 100), strings.Repeat("'x", 100), "line 1 has the text with curly quotes: copy the text from the file exactly"},
		{"alpha", "beta", "read the file, and copy the text from it exactly"},
		{"alpha", "  \n ", "read the file, and copy the text from it exactly"},
		{"alpha", "\u200b", "read the file, and copy the text from it exactly"},
		{"alpha", "1\t", "read the file, and copy the text from it exactly"},
	} {
		if got := almostMatch(test.text, test.old); got != test.want {
			t.Errorf("%q in %q: %s\nwant %s", test.old, test.text, got, test.want)
		}
	}
}
