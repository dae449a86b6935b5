package table

import "testing"

func TestLookalike(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cells []string
		want  string
	}{
		{[]string{"1,5", "2,25"}, `decimal = ","`},
		{[]string{"1.203,50", "4,25"}, `decimal = ",", thousands = "."`},
		{[]string{"1,203.50", "4.25"}, `thousands = ","`},
		{[]string{"1,200", "3,400"}, `decimal = ",", or with thousands = ","`},
		{[]string{"1'203.50", "4.25"}, `thousands = "'"`},
		{[]string{"5%", "12.5%"}, "percent = True"},
		{[]string{"5%", "12,5%"}, `decimal = ",", percent = True`},
		{[]string{"1,5", "x"}, ""},
		{[]string{"Bern"}, ""},
		{[]string{"007"}, ""},
		{[]string{"12345678901234567890", "1"}, ""},
		{nil, ""},
	} {
		if got := lookalike(test.cells); got != test.want {
			t.Errorf("lookalike(%q) = %s, want %s", test.cells, got, test.want)
		}
	}
}

func TestLookalikeIsNoted(t *testing.T) {
	t.Parallel()
	const note = `column "price" is text, but its first values are numbers: pass decimal = ",", thousands = "."`
	for _, test := range []struct {
		text string
		o    *readOptions
		want bool
	}{
		{"ware;price\ntea;1.203,50\nx;NA\n", csvOptions(), true},
		{"ware;price\ntea;1.203,50\nx;none\n", csvOptions(), false},
		{"ware;price\ntea;1.203,50\n", &readOptions{quote: `"`, decimal: ","}, false}, // specified by the caller
		{"ware;price\ntea;1.203,50\n", &readOptions{quote: `"`, decimal: ".", types: map[string]Type{"price": Text}}, false},
	} {
		u, err := csvBytes([]byte(test.text), test.o)
		if err != nil {
			t.Fatal(err)
		}
		noted := false
		for _, n := range u.notes {
			noted = noted || n == note
		}
		if noted != test.want {
			t.Errorf("%q: the notes are %q, want %q among them: %v", test.text, u.notes, note, test.want)
		}
	}
}

func TestFloatsAreWrittenInFull(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{1108961.949: "1108961.949", 2e6: "2000000.0", 1e14: "100000000000000.0", 1e15: "1e+15", 0.1: "0.1", -1234567.25: "-1234567.25"} {
		if got := formatFloat(f); got != want {
			t.Errorf("formatFloat(%v) = %s, want %s", f, got, want)
		}
	}
	for f, want := range map[float64]string{123456789.12: "123456789.12", 105005269.77: "105005269.77", 1.0 / 3: "0.3333333333", 0.1 + 0.2: "0.3"} {
		if got := shownFloat(f); got != want {
			t.Errorf("shownFloat(%v) = %s, want %s", f, got, want)
		}
	}
}
