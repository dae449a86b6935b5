package edits

import (
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
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
		{"CR alone", "a\rb\rc", "a\nb", "1\n2\n3", "1\r2\r3\rc"},
		{"CR alone, as it is", "a\rb\rc", "a\rb", "1\n2", "1\r2\rc"},
		{"CR CR LF", "a\r\r\nb\r\n", "\nb", "\nc\nd", "a\r\r\nc\r\nd\r\n"},
	} {
		e, err := Find("f", test.text, test.old, test.becomes, false)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := string(e.Apply()); got != test.want || e.Size() != len(got) {
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
		} else if got := string(e.Apply()); got != test.want {
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
		if got := string(e.Apply()); plainBreaks(got) != want || len(got) != e.Size() {
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
		{"ＡＢＣ ok", "ABC", `line 1 has the text with fullwidth or other compatibility characters: pass it as "\uff21\uff22\uff23"`},
		{"ﬁnd m²", "find m2", `line 1 has the text with fullwidth or other compatibility characters: pass it as "\ufb01nd m\u00b2"`},
		{"a − b", "a - b", `line 1 has the text with long dashes: pass it as "a \u2212 b"`},
		{"a\ufeffb", "ab", `line 1 has the text with invisible characters: pass it as "a\ufeffb"`},
		{"x  \ny", "x\ny", `line 1 has the text with different spaces: it differs at line 1, "x  ": before character 4, the file has "x  " and the old text "x"`},
		{"x\n\ty", "x\n    y", "line 1 has the text with different spaces: copy the text from the file exactly"},
		{"x\n\ty(\"z\")", `x\n\ty(\"z\")`, `line 1 has the text with line breaks, tabs and quotes in place of \n, \t and \": escape them once less`},
		{"x\na < b && c", "a &lt; b &amp;&amp; c", "line 2 has the text without the escapes of HTML: pass < for &lt; and & for &amp;"},
		{"wait…", "wait...", `line 1 has the text with an ellipsis: pass it as "wait\u2026"`},
		{"a\u200bb", "ab", `line 1 has the text with invisible characters: pass it as "a\u200bb"`},
		{"x\ta\u2003b", "a b", `line 1 has the text with special spaces: pass it as "a\u2003b"`},
		{"l’é  t\u00a0é", "l'e\u0301 t é", `line 1 has the text with no-break spaces and with curly quotes and without decomposed accents and with different spaces: pass it as "l\u2019é  t\u00a0é"`},
		{"alpha\nbeta\n", "     1\talpha", "line 1 has the text without the line numbers: leave them out"},
		{"alpha\r\nbeta\r\n\r\n", "     1\talpha\n     2\tbeta\n", "line 1 has the text without the line numbers: leave them out"},
		{"x\nalpha\n", "a.txt:2:alpha", "line 2 has the text without the line numbers: leave them out"},
		{"x\nalpha\nbeta\n", "a.txt:2:alpha\na.txt-3-beta", "line 2 has the text without the line numbers: leave them out"},
		{"x\n\tl’image\n", "2\tl'image", `line 2 has the text without the line numbers and with curly quotes: pass it as "l\u2019image"`},
		{"if x:\n\treturn  1\n", "if x:\n    return 1", "line 1 has the text with different spaces: copy the text from the file exactly"},
		{"def f(x):\n\treturn x\n", "def f(x):\n    return x", `line 1 has the text with different spaces: it differs at line 2, "\treturn x": from character 1 on, the file has "\treturn x" and the old text "    return x"`},
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

func TestNearest(t *testing.T) {
	t.Parallel()
	const text = "import os\n\ndef total(xs):\n\treturn sum(xs)\n\ndef mean(xs):\n\treturn total(xs) / len(xs)\n"
	for _, test := range []struct{ name, text, old, want string }{
		{"a word", text, "def total(ys):", `line 3, "def total(xs):": from character 11 on, the file has "xs):" and the old text "ys):"`},
		{"in the last line", text, "def mean(xs):\n\treturn total(xs) / len(ys)\n", `line 7, "\treturn total(xs) / len(xs)": from character 25 on, the file has "xs)" and the old text "ys)"`},
		{"in the first line", text, "def sum(xs):\n\treturn sum(xs)\n", `line 3, "def total(xs):": before character 10, the file has "def total" and the old text "def sum"`},
		{"a line more", text, "\treturn sum(xs)\n\tpass\n", `line 5, "": from character 1 on, the file has a line break and the old text "\tpass"`},
		{"a line less", text, "import os\ndef total(xs):", `line 2, "": before character 1, the file has a line break and the old text "import os"`},
		{"at both ends", text, "def f(a):\n\treturn total(xs) / len(xs)\ndef g(a):", `line 8, "": from character 1 on, the file has its end and the old text "def g(a):"`},
		{"a line in the middle", text, "xx\n\treturn total(xs) / len(xs)\nyyy", `line 8, "": from character 1 on, the file has its end and the old text "yyy"`},
		{"before the beginning", text, "#!/bin/sh\nimport os\n", `line 1, "import os": before character 1, the file has its beginning and the old text a line break`},
		{"an accent", "le café crème", "le café creme", `line 1, "le café crème": from character 11 on, the file has "ème" and the old text "eme"`},
		{"a character of which a byte is the same", "naïveté!", "naïvetè!", `line 1, "naïveté!": from character 7 on, the file has "é!" and the old text "è!"`},
		{"a long line", strings.Repeat("x", 1000) + "needle1" + strings.Repeat("y", 1000), "xxxneedle2", `line 1, "` + strings.Repeat("x", 94) + "needle1" + strings.Repeat("y", 99) + `": from character 1007 on, the file has "1` + strings.Repeat("y", 39) + `" and the old text "2"`},
		{"a long text", strings.Repeat("a line\n", 20_000) + "end", strings.Repeat("a line\n", 20_000) + "END", `line 20001, "end": from character 1 on, the file has "end" and the old text "END"`},
		{"nothing alike", text, "class Zebra:", ""},
		{"too little alike", text, "(zs)", ""},
		{"an empty file", "", "anything", ""},
	} {
		want := test.want
		if want != "" {
			want = "differs at " + want
		}
		if got := nearest(test.text, test.old); got != want {
			t.Errorf("%s: %s\nwant %s", test.name, got, want)
		}
	}
}

// The longest common beginning and end are those that a search for each length finds.
func TestOverlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.StringMatching(`[ab]{0,12}`)
		text, old := of.Draw(t, "text"), of.Draw(t, "old")
		for _, backwards := range []bool{false, true} {
			n, at := overlap(text, old, backwards)
			part := func(n int) string {
				if backwards {
					return old[len(old)-n:]
				}
				return old[:n]
			}
			if text[at:at+n] != part(n) || n < len(old) && strings.Contains(text, part(n+1)) {
				t.Fatalf("%d at %d, backwards %t", n, at, backwards)
			}
		}
	})
}

// TestDiff compares the diff of some lines with that of the complete text.
func TestDiff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "\n", "c\n", "d\r\n"}), 1, 40).Draw(t, "text"), "")
		e, err := Find("f", text, rapid.SampledFrom([]string{"a", "b", "c\n", "\n"}).Draw(t, "old"), "x\n", true)
		if err != nil {
			return
		}
		want, err := udiff.ToUnified("a/f", "b/f", text, slices.Collect(e.replacements()), udiff.DefaultContextLines)
		if got := e.Diff("f"); err != nil || got != want {
			t.Fatalf("%s\nwant %s, %v", got, want, err)
		}
	})
	text := strings.Repeat("line\n", 2<<20) + "last"
	e, err := Find("f", text, "last", "end", false)
	if want := "@@ -2097150,4 +2097150,4 @@\n line\n line\n line\n-last\n"; err != nil || !strings.Contains(e.Diff("f"), want) {
		t.Errorf("a change at the end of 10 MB: %v, %s", err, e.Diff("f"))
	}
}
