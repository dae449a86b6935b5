package table

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func rendered(t fataler, u *Table, rows, width int) string {
	t.Helper()
	text, err := u.render(context.Background(), tool.Grant{}, rows, width)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	return text
}

func ofLines(s ...string) string { return strings.Join(s, "\n") }

func TestRender(t *testing.T) {
	t.Parallel()
	u := heldTable(
		"city", columnFrom(Text, "Utrecht", "東京", nil, "–", ""),
		"people", columnFrom(Integer, int64(367947), int64(13960000), nil, int64(-1), int64(0)),
		"area", columnFrom(Float, 99.21, 2194.0, 0.1+0.2, nil, 1e30),
		"since", columnFrom(Date, "1122-06-02", "1868-09-03", nil, nil, nil),
		"capital", columnFrom(Bool, false, true, nil, nil, nil),
		"tags", columnFrom(Any, value.List{"a", int64(1)}, "1", int64(1), nil, nil),
	)
	want := ofLines(
		`city       people      area  since       capital  tags`,
		`text      integer     float  date        bool     any`,
		`Utrecht    367947     99.21  1122-06-02  false    ["a",1]`,
		`東京     13960000   2194.0   1868-09-03  true     "1"`,
		`–               –      0.3   –           –        1`,
		`"–"            -1      –     –           –        –`,
		`""              0  1e+30     –           –        –`,
		`5 rows × 6 columns`)
	for form, v := range forms(u) {
		if got := rendered(t, v, 20, 160); got != want {
			t.Errorf("%s: render = \n%s\nwant\n%s", form, got, want)
		}
	}
}

func TestRenderLeavesRowsOut(t *testing.T) {
	t.Parallel()
	c := newColumn(Integer, 0)
	for i := range 200 {
		c.addInt(int64(i))
	}
	u := heldTable("n", c)
	want := ofLines("      n", "integer", "      0", "      1", "      2", "… 196 more rows", "    199", "200 rows × 1 column")
	if diff := cmp.Diff(want, rendered(t, u, 4, 160)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	head := ofLines("      n", "integer", "      0", "      1", "      2", "      3")
	if diff := cmp.Diff(head+"\n… 196 more rows\n200 rows × 1 column", rendered(t, streamed(u, 3, true), 4, 160)); diff != "" {
		t.Errorf("read, of known length (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(head+"\n… more rows\nmore than 4 rows × 1 column", rendered(t, streamed(u, 4, false), 4, 160)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	text, err := u.Text(context.Background(), tool.Grant{})
	if err != nil || strings.Count(text, "\n") != 2+20+1 || !strings.Contains(text, "\n… 180 more rows\n    195\n") {
		t.Errorf("Text = %s, %v", text, err)
	}
	for form, v := range forms(heldTable("n", columnFrom(Integer))) {
		if got, want := rendered(t, v, 20, 160), ofLines("      n", "integer", "0 rows × 1 column"); got != want {
			t.Errorf("%s: no rows: %s, want %s", form, got, want)
		}
	}
	if got, want := rendered(t, u, 0, 160), ofLines("      n", "integer", "… 200 more rows", "200 rows × 1 column"); got != want {
		t.Errorf("none shown: %s, want %s", got, want)
	}
	if got, want := rendered(t, newHeld(nil, &Batch{}), 20, 160), ofLines("", "", "0 rows × 0 columns"); got != want {
		t.Errorf("no columns: %q, want %q", got, want)
	}
}

func TestRenderReadsNoMoreThanItShows(t *testing.T) {
	t.Parallel()
	read := 0
	u := newStream([]string{"n"}, []Type{Integer}, -1, func(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
		for {
			read++
			if err := yield(&Batch{Rows: 100, Columns: []*Column{{Type: Integer, Ints: make([]int64, 100)}}}); err != nil {
				return err
			}
		}
	})
	rendered(t, u, 20, 160)
	if read != 1 {
		t.Errorf("%d batches are read, want 1", read)
	}
}

func TestRenderLeavesColumnsOut(t *testing.T) {
	t.Parallel()
	var pairs []any
	for i := range 30 {
		pairs = append(pairs, fmt.Sprintf("c%d", i), columnFrom(Integer, int64(i)))
	}
	want := ofLines(
		"     c0       c1  …      c28      c29",
		"integer  integer  …  integer  integer",
		"      0        1  …       28       29",
		"… 26 more columns: c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, …",
		"1 row × 30 columns")
	if diff := cmp.Diff(want, rendered(t, heldTable(pairs...), 20, 40)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := rendered(t, heldTable(pairs[:4]...), 20, 16); strings.Contains(got, "…") {
		t.Errorf("columns that fit exactly are omitted:\n%s", got)
	}
	if got := rendered(t, heldTable(pairs[:4]...), 20, 15); !strings.Contains(got, "… 1 more column: c1\n") {
		t.Errorf("one column does not fit:\n%s", got)
	}
	if got := rendered(t, heldTable(pairs...), 20, 0); !strings.HasPrefix(got, "…  …\n") {
		t.Errorf("no width:\n%s", got)
	}
}

func TestShownText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"a", "a"}, {"a b", "a b"}, {"", `""`}, {"–", `"–"`}, {" a", `" a"`}, {"a ", `"a "`}, {`"a"`, `"\"a\""`}, {`a"b`, `a"b`}, {`\n`, `\n`},
		{"a\nb", `"a\nb"`}, {"a\tb", `"a\tb"`}, {"a\r", `"a\r"`}, {"\x1b[31m", `"\u001b[31m"`}, {"a\x7f", `"a\u007f"`}, {"a\u202eb", `"a\u202eb"`}, {"a\u00a0b", `"a\u00a0b"`},
		{"\ufeffa", `"\ufeffa"`}, {"a\u2028b", `"a\u2028b"`}, {"a\U000e0001b", `"a\udb40\udc01b"`}, {"東　京", "東　京"}, {"👩\u200d👧", "👩\u200d👧"}, {"é", "é"}, {"-", "-"},
	} {
		if got := shownText(test.in); got != test.want {
			t.Errorf("shownText(%q) = %s, want %s", test.in, got, test.want)
		}
	}
}

func TestShownFloat(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -1.5: "-1.5", 0.1 + 0.2: "0.3", 1.0 / 3: "0.3333333333", 2.0 / 3: "0.6666666667", 200.0 / 3: "66.66666667", 12345678901.5: "12345678901.5", 1234567.123456: "1234567.1235",
		0.00012345678912345: "0.0001234567891", 0.000012: "1.2e-05", 1e15: "1e+15", 123456789012345: "123456789012345.0", 1.0 / 3e9: "3.333333333e-10", 9.9999999999: "10.0", 1e300: "1e+300",
		math.Inf(1): "+Inf", math.Inf(-1): "-Inf", 99.999999999999: "100.0",
	} {
		if got := shownFloat(f); got != want {
			t.Errorf("shownFloat(%v) = %s, want %s", f, got, want)
		}
	}
	if got := shownFloat(math.NaN()); got != "NaN" {
		t.Errorf("shownFloat(NaN) = %s", got)
	}
}

func TestTextWidth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		want int
	}{
		{"", 0}, {"abc", 3}, {"é", 1}, {"e\u0301", 1}, {"東京", 4}, {"Ａ", 2}, {"ｱ", 1}, {"한국", 4}, {"😀", 2}, {"👩\u200d👩\u200d👧", 2}, {"❤\ufe0f", 2}, {"👍🏽", 2}, {"🇳🇱", 2}, {"–", 1}, {"…", 1}, {"ß", 1}, {"ก\u0e33", 2},
	} {
		if got := textWidth(test.in); got != test.want {
			t.Errorf("textWidth(%q) = %d, want %d", test.in, got, test.want)
		}
	}
}

func TestCutToWidth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"東京都", 6, "東京都"}, {"東京都", 5, "東京…"}, {"東京都", 4, "東…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, {"ab", 1, "…"}, {"", 1, ""},
	} {
		if got := cutToWidth(test.in, test.most); got != test.want {
			t.Errorf("cutToWidth(%q, %d) = %q, want %q", test.in, test.most, got, test.want)
		}
	}
	if got := cutToWidth("a"+strings.Repeat("\u0301", 1<<20), 40); len(got) > 400 {
		t.Errorf("a letter with a million accents takes %d bytes", len(got))
	}
}

// FuzzRender checks that no line is too long, and that the number of lines is right.
func FuzzRender(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\x00", "東京", "e\u0301", "👩\u200d👩\u200d👧", "\u202e", strings.Repeat("x", 100)} {
		f.Add(s, s, 40)
	}
	f.Fuzz(func(t *testing.T, name, cell string, width int) {
		if width < 0 || width > 1000 {
			t.Skip()
		}
		name, cell = strings.ToValidUTF8(name, ""), strings.ToValidUTF8(cell, "")
		u := heldTable(name, columnFrom(Text, cell, nil), name+"2", columnFrom(Any, cell, value.List{cell}))
		text := rendered(t, u, 20, width)
		got := strings.Split(text, "\n")
		if len(got) != 5 && len(got) != 6 {
			t.Errorf("%d lines of a table of 2 rows:\n%s", len(got), text)
		}
		for _, line := range got[:4] {
			if textWidth(line) > max(width, 4) {
				t.Errorf("a line has %d columns of %d:\n%s", textWidth(line), width, text)
			}
		}
	})
}
