package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A guess that can change a result is a note.
func TestCSVGuesses(t *testing.T) {
	t.Parallel()
	text := func(fit string, odd, all int, first string, line int) string {
		return fmt.Sprintf(`column "n" is text: its values are %s, except %d of %d, the first %q on line %d: `, fit, odd, all, first, line)
	}
	missing := func(s string) string { return fmt.Sprintf("to read it as missing, pass missing = [%q]", s) }
	for _, test := range []struct{ in, want, notes string }{
		// the cases of nearly numbers
		{"99|100|-|20", "n:integer | 99 | 100 | - | 20", `column "n": "-" is read as missing; to keep the texts, pass types = {"n": "text"}`},
		{"(500)|1000", "n:integer | -500 | 1000", `column "n": "(500)" is read as a negative number; to keep the texts, pass types = {"n": "text"}`},
		{"$99.50|$100.25|$20.00", "n:float | 99.5 | 100.25 | 20.0", `column "n": "$99.50" is read as a number; to keep the texts, pass types = {"n": "text"}`},
		{"99|100|n.a.|20", "n:text | '99' | '100' | 'n.a.' | '20'", text("numbers", 1, 4, "n.a.", 4) + missing("n.a.")},
		{"99|100|#N/A|20", "n:integer | 99 | 100 | - | 20", `column "n": "#N/A" is read as missing; to keep the texts, pass types = {"n": "text"}`},
		{"100|+5|20", "n:integer | 100 | 5 | 20", `column "n": "+5" is read as a number; to keep the texts, pass types = {"n": "text"}`},
		{"99|100|20|inf", "n:text | '99' | '100' | '20' | 'inf'", text("numbers", 1, 4, "inf", 5) + missing("inf")},
		{"99|9223372036854775808|20", "n:text | '99' | '9223372036854775808' | '20'", text("numbers", 1, 3, "9223372036854775808", 3) + `to read numbers, pass types = {"n": "float"}`},
		{`"99"|"100"|20`, "n:text | '99' | '100' | '20'", `column "n" is text, because some values are in quotes: if they are of type integer, pass types = {"n": "integer"}`},
		// others
		{"n.a.|-5.5|7", "n:text | 'n.a.' | '-5.5' | '7'", text("numbers", 1, 3, "n.a.", 2) + missing("n.a.")},
		{"1|x|y|2|3", "n:text | '1' | 'x' | 'y' | '2' | '3'", text("numbers", 2, 5, "x", 3) + missing("x")},
		{"1|-|x|2", "n:text | '1' | '-' | 'x' | '2'", text("numbers", 1, 3, "x", 4) + `to read it as missing, pass missing = ["-", "x"]`},
		{"x|y|1", "n:text | 'x' | 'y' | '1'", ""},
		{"–|1.5|—", "n:float | - | 1.5 | -", `column "n": "—" is read as missing; to keep the texts, pass types = {"n": "text"}`},
		{"-|-", "n:text | '-' | '-'", ""},
		{"-|x", "n:text | '-' | 'x'", ""},
		{"NA|-", "n:text | 'NA' | '-'", ""},
		{"2024-01-01|-|2024-01-02", "n:date | 2024-01-01 | - | 2024-01-02", `column "n": "-" is read as missing; to keep the texts, pass types = {"n": "text"}`},
		{"2024-01-01|soon|2024-01-02", "n:text | '2024-01-01' | 'soon' | '2024-01-02'", text("dates or times", 1, 3, "soon", 3) + missing("soon")},
		{"true|false|maybe", "n:text | 'true' | 'false' | 'maybe'", text("bools", 1, 3, "maybe", 4) + missing("maybe")},
		{"true|1", "n:text | 'true' | '1'", `column "n" is text: its values are numbers and bools`},
		{"8001|08001|9", "n:text | '8001' | '08001' | '9'", text("numbers", 1, 3, "08001", 3) + "zeros at the beginning are kept"},
		{"-$5|$-6|($7.50)|$ 8|$(9)|10", "n:float | -5.0 | -6.0 | -7.5 | 8.0 | -9.0 | 10.0", `column "n": "-$5" is read as a number, "($7.50)" is read as a negative number; to keep the texts, pass types = {"n": "text"}`},
		{"100 €|1\u00a0€|−3 €", "n:integer | 100 | 1 | -3", `column "n": "100 €" is read as a number; to keep the texts, pass types = {"n": "text"}`},
		{"£5|¥6", "n:text | '£5' | '¥6'", `column "n" is text, because its numbers have several currencies`},
		{"USD 5|USD 6.5", "n:text | 'USD 5' | 'USD 6.5'", `column "n" is text: its first values are numbers with USD, which is not read`},
		{`5 EUR|"7,50 EUR"`, "n:text | '5 EUR' | '7,50 EUR'", ""},
		{"5 EUR|7 EUR", "n:text | '5 EUR' | '7 EUR'", `column "n" is text: its first values are numbers with EUR, which is not read`},
		{"USD 5|EUR 5", "n:text | 'USD 5' | 'EUR 5'", ""},
		{"MAY 5th|ABC", "n:text | 'MAY 5th' | 'ABC'", ""},
		{"(1)|(2)", "n:text | '(1)' | '(2)'", `column "n" is text, because all its numbers are in parentheses, as in "(1)"`},
		{"+4930123456|+4930123457", "n:text | '+4930123456' | '+4930123457'", ""},
		{"+Inf|1", "n:float | +Inf | 1.0", ""},
		{"+-5|--5|((5))|5)|$|+|()|€€5|5€€|$x|+$", "n:text | '+-5' | '--5' | '((5))' | '5)' | '$' | '+' | '()' | '€€5' | '5€€' | '$x' | '+$'", ""},
		{"12.5%|3 %|-5%|(1%)", "n:float | 0.125 | 0.03 | -0.05 | -0.01", `column "n": "12.5%" is read as a fraction of 1; to keep the texts, pass types = {"n": "text"}`},
		{"5%|0|+7 %", "n:float | 0.05 | 0.0 | 0.07", `column "n": "5%" is read as a fraction of 1; to keep the texts, pass types = {"n": "text"}`},
		{"5%|7", "n:text | '5%' | '7'", `column "n" is text, because only some of its numbers have a percent sign, as "5%": to read it as a fraction of 1, pass percent = True`},
		{"5%%|%|%5|5 % 3", "n:text | '5%%' | '%' | '%5' | '5 % 3'", ""},
		{"−5|7", "n:integer | -5 | 7", `column "n": "−5" is read as a number; to keep the texts, pass types = {"n": "text"}`},
		{"1 234 567|-1 000.5|12", "n:float | 1234567.0 | -1000.5 | 12.0", "column \"n\": \"1\\u00a0234\\u00a0567\" is read as a number; to keep the texts, pass types = {\"n\": \"text\"}"},
		{"1 23|12 3456| ", "n:text | '1 23' | '12 3456' | ' '", ""},
		{"9007199254740993|1.5", "n:text | '9007199254740993' | '1.5'", `column "n" is text, because 9007199254740993 has more digits than a float keeps: to round it, pass types = {"n": "float"}`},
		{"1|2|1.5|9007199254740993", "n:text | '1' | '2' | '1.5' | '9007199254740993'", `column "n" is text, because 9007199254740993 has more digits than a float keeps: to round it, pass types = {"n": "float"}`},
		{"1.5|12345678901234567.89", "n:text | '1.5' | '12345678901234567.89'", `column "n" is text, because 12345678901234567.89 has more digits than a float keeps: to round it, pass types = {"n": "float"}`},
		{"9007199254740993|9007199254740995", "n:integer | 9007199254740993 | 9007199254740995", ""},
		{"9007199254740994|1.5|10000000000000000|12345678901234567000.0|1e300", "n:float | 9.007199254740994e+15 | 1.5 | 1e+16 | 1.2345678901234567e+19 | 1e+300", ""},
		{"18446744073709551615|18446744073709551614", "n:text | '18446744073709551615' | '18446744073709551614'", `column "n" is text, because 18446744073709551614 has more than 64 bits: to round it, pass types = {"n": "float"}`},
		{`"$1,200.50"|"$7.00"`, "n:text | '$1,200.50' | '$7.00'", `column "n" is text, but its first values are numbers: pass thousands = ","`},
	} {
		in := "n\n" + strings.ReplaceAll(test.in, "|", "\n") + "\n"
		for kind, read := range map[string]func([]byte, *readOptions) (*Table, error){"held": csvBytes, "stream": csvStream} {
			got, err := read([]byte(in), csvOptions())
			if err != nil {
				t.Errorf("%s (%s): %v", test.in, kind, err)
				continue
			}
			if s := csvShow(got, csvGrant([]byte(in))); s != test.want {
				t.Errorf("%s (%s): %s\nwant %s", test.in, kind, s, test.want)
			}
			if notes := strings.Join(got.notes, "; "); notes != test.notes {
				t.Errorf("%s (%s): notes = %s\nwant %s", test.in, kind, notes, test.notes)
			}
		}
	}
}

// A text far from the beginning is found too, and counted.
func TestCSVGuessInALaterBatch(t *testing.T) {
	t.Parallel()
	const rows = 3 * batchRows
	in := []byte("n\n" + strings.Repeat("5\n", rows) + "none\n" + strings.Repeat("7\n", rows) + "none\n")
	got, err := csvStream(in, csvOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`column "n" is text: its values are numbers, except 2 of %d, the first "none" on line %d: to read it as missing, pass missing = ["none"]`, 2*rows+2, rows+2)
	if notes := strings.Join(got.notes, "; "); notes != want {
		t.Errorf("notes = %s\nwant %s", notes, want)
	}
}

func TestBadBytes(t *testing.T) {
	t.Parallel()
	const pass = `; if the encoding is another, pass it, as in encoding = "windows-1252"`
	for _, test := range []struct{ in, want, notes string }{
		{"c\nZürich\nZürich\nZ\xfcrich\n", "c:text | 'Zürich' | 'Zürich' | 'Z\ufffdrich'", "1 byte is not UTF-8, the first 0xfc on line 4: read as \ufffd" + pass},
		{"c\nZürich\nB\xe4r\n", "c:text | 'Zürich' | 'B\ufffdr'", "1 byte is not UTF-8, the first 0xe4 on line 3: read as \ufffd" + pass},
		{"c\nü€\n\xff\n日本\n\xe6\x97", "c:text | 'ü€' | '\ufffd' | '日本' | '\ufffd'", "3 bytes are not UTF-8, the first 0xff on line 3: read as \ufffd" + pass},
		{"c\nZ\xfcrich\nB\xe4r\n", "c:text | 'Zürich' | 'Bär'", `encoding windows-1252 (guessed): if it is another, pass it, as in encoding = "windows-1251"`},
		{"c\n\ufffd\nx\n", "c:text | '\ufffd' | 'x'", ""},
	} {
		for kind, read := range map[string]func([]byte, *readOptions) (*Table, error){"held": csvBytes, "stream": csvStream} {
			got, err := read([]byte(test.in), csvOptions())
			if err != nil {
				t.Errorf("%q (%s): %v", test.in, kind, err)
				continue
			}
			for range 2 { // a stream is read again
				if s := csvShow(got, csvGrant([]byte(test.in))); s != test.want {
					t.Errorf("%q (%s): %s\nwant %s", test.in, kind, s, test.want)
				}
			}
			if notes := strings.Join(got.notes, "; "); notes != test.notes {
				t.Errorf("%q (%s): notes = %s\nwant %s", test.in, kind, notes, test.notes)
			}
		}
	}
}

// Texts that would now be numbers or missing are written so that they are texts again.
func TestCSVWritesGuesses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"+5", "(5)", "$5", "5 €", "-", "5%", "−5", "1\u00a0234"} {
		u := newHeld([]string{"a", "n"}, &Batch{Rows: 2, Columns: []*Column{texts(s, s), ints(1, 2)}})
		text, err := writeCSV(t.Context(), tool.Grant{}, u, ",", true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseAs("csv", text.(string), *csvOptions())
		if err != nil || got.types[0] != Text || show(t, got) != show(t, newHeld(u.names, u.held, got.notes...)) {
			t.Errorf("%q became %q, %v", text, show(t, got), err)
		}
	}
}
