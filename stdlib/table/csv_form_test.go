package table

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The format of numbers is guessed only if nothing but one format makes sense, and the notes say so.
func TestGuessedNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want, note string }{
		{"a;b\n1,5;x\n2,25;y\n", "a:float b:text |1.5 'x'|2.25 'y'", `numbers are read with decimal = ",", as "1,5" of column "a"`},
		{"a;b\n1.234,5;1\n7,0;2\n", "a:float b:integer |1234.5 1|7.0 2", `decimal = ",", thousands = "."`},
		{"a\n1.234.567\n5\n", "a:integer |1234567|5", `thousands = "."`},
		{"a,b\n\"1,234,567\",x\n5,y\n", "a:integer b:text |1234567 'x'|5 'y'", `thousands = ","`},
		{"a,b\n\"$1,200.00\",x\n($3.50),y\n$7,z\n", "a:float b:text |1200.0 'x'|-3.5 'y'|7.0 'z'", `thousands = ","`},
		{"a;b\n1\u202f234,5 €;2\n12,0 €;3\n", "a:float b:integer |1234.5 2|12.0 3", `decimal = ","`},
		{"a;b\n12,5 %;1\n3 %;2\n", "a:float b:integer |0.125 1|0.03 2", `decimal = ","`},
		{"a;b\n0,125;1\n", "a:float b:integer |0.125 1", `decimal = ","`},
		// Nothing is decided, or the columns disagree.
		{"a;b\n1,234;x\n", "a:text b:text |'1,234' 'x'", ""},
		{"a;b\n1.234;x\n", "a:float b:text |1.234 'x'", ""},
		{"a;b\n1,5;2.5\n", "a:text b:float |'1,5' 2.5", ""},
		{"a;b\n1,5;1.234,5\n", "a:float b:float |1.5 1234.5", `decimal = ",", thousands = "."`},
		{"a;b\n1,5;1,234.5\n", "a:text b:text |'1,5' '1,234.5'", ""},
		{"a;b\n1,5;1.2.3\n", "a:float b:text |1.5 '1.2.3'", `decimal = ","`},
		{"a;b\n1,5;01.02.2024\n", "a:float b:text |1.5 '01.02.2024'", `decimal = ","`},
		{"a;b\n1,5;x\nabout 2;y\n", "a:text b:text |'1,5' 'x'|'about 2' 'y'", ""},
	}
	for _, test := range tests {
		o := csvOptions()
		o.decimal = ""
		got, err := csvBytes([]byte(test.in), o)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		checkGuess(t, test.in, got, test.want, test.note, "numbers are read")
		o = csvOptions() // as it was: decimal is specified
		if got, err := csvBytes([]byte(test.in), o); err != nil || strings.Contains(strings.Join(got.notes, "\n"), "numbers are read") {
			t.Errorf("%q with decimal = \".\": %v", test.in, err)
		}
	}
}

// Lines above a table are left out if nothing else makes sense.
func TestGuessedTitles(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want, note string }{
		{"Title; of 2023\n\nid;name;n\n1;a;5\n2;b;6\n", "id:integer name:text n:integer |1 'a' 5|2 'b' 6", "line 1 is skipped as a title"},
		{"# made by x\n# unit: mm\nid,n\n1,5\n# end\n2,6\n", "id:integer n:integer |1 5|2 6", "lines that begin with # are skipped"},
		{"#id,n\n1,5\n2,6\n", "#id:integer n:integer |1 5|2 6", ""},
		// A header is no title, even if it is shorter than the rows.
		{"id,name\na,x,\nb,y,\nc,5,\n", "id:text name:text |'a' 'x'|'b' 'y'|'c' '5'", ""},
	}
	for _, test := range tests {
		got, err := csvBytes([]byte(test.in), csvOptions())
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		checkGuess(t, test.in, got, test.want, test.note, "skipped")
	}
	for in, want := range map[string]string{
		"a,b\n1,2\n1,2,3\n4,5\n":              "the row has 3 cells, but the header has 2",
		"id;n\n1;a;5\n2;b;6\n3;c;7\n4;d;8\n":  "the row has 3 cells, but the header has 2", // the next line has digits
		"T;\nid;name;\n1;a;5\n2;b;6\n3;c;7\n": "the row has 3 cells, but the header has 2", // and this one no name
	} {
		if _, err := csvBytes([]byte(in), csvOptions()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// checkGuess compares a table with the wanted one, and its notes with the wanted one; without a wanted note, none has the
// given word.
func checkGuess(t *testing.T, in string, got *Table, want, note, word string) {
	t.Helper()
	want = strings.ReplaceAll(strings.ReplaceAll(want, " |", "|"), "|", " | ") // as csvShow writes it
	if shown := csvShow(got, tool.Grant{}); shown != want {
		t.Errorf("%q = %s, want %s", in, shown, want)
	}
	if notes := strings.Join(got.notes, "\n"); !strings.Contains(notes, note) || note == "" && strings.Contains(notes, word) {
		t.Errorf("%q: notes %q, want %q", in, notes, note)
	}
}
