package draw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   string
		width int
		want  Screen
	}{
		{"LANG=en_US.UTF-8", 80, Screen{Width: 80, Color: true}},
		{"", 80, Screen{Width: 80, Color: true}},
		{"", 0, Screen{}},
		{"LANG=C CASSIDY_PLAIN=1", 0, Screen{}},
		{"LANG=C", 80, Screen{Width: 80, Color: true, ASCII: true}},
		{"LANG=C CASSIDY_PLAIN=1 CASSIDY_ASCII=1", 0, Screen{}},
		{"LC_ALL=C LANG=en_US.UTF-8", 80, Screen{Width: 80, Color: true, ASCII: true}},
		{"LC_ALL=de_DE.utf8 LANG=C", 80, Screen{Width: 80, Color: true}},
		{"CASSIDY_ASCII=1", 80, Screen{Width: 80, Color: true, ASCII: true}},
		{"NO_COLOR=1", 80, Screen{Width: 80}},
		{"NO_COLOR=", 80, Screen{Width: 80, Color: true}},
		{"NO_COLOR=1 CLICOLOR_FORCE=1", 0, Screen{Color: true}},
		{"CASSIDY_PLAIN=1", 80, Screen{Width: 80, Color: true, ASCII: true, Plain: true}},
		{"TERM=dumb", 80, Screen{Width: 80, ASCII: true, Plain: true}},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, v, _ := strings.Cut(pair, "=")
			env[name] = v
		}
		if got := On(c.width, func(name string) (string, bool) { v, ok := env[name]; return v, ok }); got != c.want {
			t.Errorf("with %q on %d cells: %+v, want %+v", c.env, c.width, got, c.want)
		}
	}
}

// TestShown checks that marks and line ends fit lines with ASCII only, too.
func TestShown(t *testing.T) {
	t.Parallel()
	ascii := Screen{Width: 20, ASCII: true}
	const text = "a⟨U+200B ×40⟩b↵c⇥   ⟨↵ U+21B5⟩ü"
	if got, want := ascii.Shown(text), `a<U+200B x40>b\nc>   <U+21B5>ü`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Screen{Width: 20}).Shown(text); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
	ends := strings.Repeat("↵", 30)
	table := &Table{Columns: []Column{{Name: "name"}}, Rows: [][]string{{ends}}}
	for _, lines := range [][]string{
		ascii.Message(Done, ends), ascii.Quoted(Failed, ends), ascii.Fact(None, "a", ends), ascii.Table(table, ""), ascii.Value(strings.Repeat("\n", 3)+"a", Folds{}),
		{ascii.Cut(ends, 19)}, {ascii.CutPath("a/"+ends, 19)},
	} {
		for _, line := range lines {
			if line = ascii.Shown(line); Cells(line) > 19 {
				t.Errorf("%q has %d cells", line, Cells(line))
			}
		}
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	family := "👨\u200d👩\u200d👧"
	for text, want := range map[string]int{
		"": 0, "abc": 3, "日本語": 6, "e\u0301": 1, family: 2, "❤\ufe0f": 2, "\x1b[31mab\x1b[0m": 2, "½": 1, "ｗ": 2,
	} {
		if got := Cells(text); got != want {
			t.Errorf("Cells(%q) = %d, want %d", text, got, want)
		}
	}
	s := Screen{Width: 80}
	for _, c := range []struct{ got, want string }{
		{s.Cut("日本語", 5), "日本…"}, {s.Cut("日本語", 4), "日…"}, {s.Cut("日本語", 6), "日本語"}, {s.Cut(family+family, 3), family + "…"},
		{s.Cut("a b", 2), "a…"}, {s.Cut("ab⟨U+200B⟩cd", 7), "ab…"}, {s.Cut("ab⟨U+200B⟩cd", 11), "ab⟨U+200B⟩…"}, {s.Cut("abc", 0), "…"}, {Screen{ASCII: true}.Cut("abcdef", 5), "ab..."},
		{s.CutPath("src/main/java/greet.py", 18), "src/…/greet.py"}, {s.CutPath("/usr/lib/python/x.py", 12), "…/x.py"}, {s.CutPath("long.name", 5), "long…"}, {s.CutPath("https://a.example/b/c/d", 20), "https://a.example/b…"},
		{Pad("日", 4, false) + "|", "日  |"}, {Pad("7", 3, true), "  7"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if diff := cmp.Diff([]string{"- one two", "  three", "  aaaaaaaaaa", "  aaaaa b"}, Wrap("- ", "one two three aaaaaaaaaaaaaaa b", 12)); diff != "" {
		t.Errorf("wrapped (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	list := [][2]string{{"a", "one two three"}, {"--long NAME", "four five six seven eight nine ten"}, {"--a-flag-that-is-long VALUE …", "one"}, {"bare", ""}}
	for _, c := range []struct {
		screen Screen
		want   string
	}{
		{Screen{Width: 40}, `
  a            one two three
  --long NAME  four five six seven
               eight nine ten
  --a-flag-that-is-long VALUE …
               one
  bare
`},
		{Screen{Width: 24}, `
  a
      one two three
  --long NAME
      four five six
      seven eight nine
      ten
  --a-flag-that-is-long
  VALUE …
      one
  bare
`},
		{Screen{Width: 40, ASCII: true, Plain: true}, `
  a: one two three
  --long NAME: four five six seven
  eight nine ten
  --a-flag-that-is-long VALUE …: one
  bare:
`},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), strings.Join(c.screen.Names("  ", list, 0), "\n")+"\n"); diff != "" {
			t.Errorf("on %+v (-want +got):\n%s", c.screen, diff)
		}
	}
	for s, want := range map[Screen]string{{}: "a … b · c — d", {ASCII: true}: "a ... b, c - d"} {
		if got := s.Own("a … b · c — d"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestCommandsAreNotBroken checks that a command at the end of a message can be copied.
func TestCommandsAreNotBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"list them: cassidy runs list", "✓ list them: cassidy runs list"},
		{"to list all of them: cassidy runs list", "✓ to list all of them:\n  cassidy runs list"},
		{"it is done; to list: cassidy runs", "✓ it is done; to list:\n  cassidy runs"},
		{"again: cassidy trust --rule '{tool: a, capability: \"fs.read\"}'", "✓ again:\n    cassidy trust --rule '{tool: a, capability: \"fs.read\"}'"},
		{"cassidy runs show 20261130-1200-aaaaaaaa", "✓\n    cassidy runs show 20261130-1200-aaaaaaaa"},
		{"try: cassidy runs; then answer yes, please", "✓ try: cassidy runs; then answer\n  yes, please"},
	} {
		if got := strings.Join(Screen{Width: 33}.Message(Done, c.text), "\n"); got != c.want {
			t.Errorf("%q is drawn as:\n%s\nwant:\n%s", c.text, got, c.want)
		}
	}
}

// parse returns a value of JSON.
func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValues(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat(`{"n": 1, "text": "x"},`, 29) + `{"n": 30, "text": "last"}]`
	for _, c := range []struct {
		name, json string
		screen     Screen
		want       string
	}{
		{"an object", `{"a": 1, "name": "x y", "none": null, "empty": "", "yes": true, "list": [1, "b"], "levels": {"INFO": 185, "WARN": 20}}`, Screen{Width: 80}, `
a       1
name    x y
none    –
empty   ""
yes     yes
list    1, b
levels  INFO 185 · WARN 20
`},
		{"a table", `{"rows": [{"hour": "11:00", "n": 2, "percent": 10.5}, {"hour": "14:00", "n": 16, "percent": 7}]}`, Screen{Width: 80}, `
rows
  hour    n  percent
  11:00   2     10.5
  14:00  16      7
`},
		{"long texts", `[{"where": "notes/a/very/long/path.md:27", "n": 1234567890, "what": "Write the page about all recipes that we have."}]`, Screen{Width: 50}, `
where                         n  what
notes/…/path.md…  1,234,567,890  Write the page…
`},
		{"too narrow", `[{"where": "a long enough text for this", "n": 12345678901234567890, "m": 12345678901234567890}]`, Screen{Width: 24}, `
where
a long enough text for…
▸ 2 columns (--wide):…
`},
		{"many rows", many, Screen{Width: 80, ASCII: true}, "\n n  text\n" + strings.Repeat(" 1  x\n", 15) + "> 13 rows (--all)\n 1  x\n30  last\n"},
		{"a long text", `{"text": "` + strings.Repeat("abcdefgh ", 100) + `"}`, Screen{Width: 24}, "\ntext  abcdefgh abcdefgh" + strings.Repeat("\n      abcdefgh abcdefgh", 14) + "\n▸ 36 lines (--all)\n"},
		{"many lines", `{"text": "` + strings.Repeat(`a\n`, 100) + `"}`, Screen{Width: 24}, "\ntext" + strings.Repeat("\n  a", 15) + "\n  ▸ 85 lines (--all)\n"},
		{"a text of lines", `{"text": "a\nb\n", "n": 1}`, Screen{Width: 80}, "\ntext\n  a\n  b\nn  1\n"},
		{"deep", `{"a": {"b": {"c": {"d": {"e": [1, [2]]}}}}}`, Screen{Width: 80}, "\na\n  b\n    c\n      {\"d\":{\"e\":[1,[2]]}}\n"},
		{"a list of lists", `[[1, 2], {"a": [{"b": 1}]}]`, Screen{Width: 80}, "\n• 1\n  2\n• a\n    b\n    1\n"},
		{"bars", `[{"decade": 1950, "ppm": 316, "n": 1}, {"decade": 1960, "ppm": 320.3, "n": 10}, {"decade": 2020, "ppm": 419, "n": 5}]`, Screen{Width: 80}, `
decade    ppm   n
1950    316     1  ██████████████████████▋
1960    320.3  10  ██████████████████████▉
2020    419     5  ██████████████████████████████
`},
		{"bars on both sides", `[{"city": "Bern", "change": -5}, {"city": "Chur", "change": 10}, {"city": "Genf", "change": 0.1}, {"city": "Zug", "change": null}]`, Screen{Width: 36}, `
city  change
Bern    -5    ███████│
Chur    10           │█████████████
Genf     0.1         │▏
Zug      –           │
`},
		{"bars in ASCII", `[{"city": "Bern", "n": 5}, {"city": "Chur", "n": 20000}]`, Screen{Width: 40, ASCII: true}, `
city       n
Bern       5  #
Chur  20,000  #########################
`},
		{"numbers that tell things apart", `[{"name": "a", "user_id": 12345, "size": 12345}, {"name": "b", "user_id": 12346, "size": 999}]`, Screen{Width: 80}, `
name  user_id    size
a       12345  12,345
b       12346     999
`},
		{"distributions", `[{"name": "a", "distribution": [8, 1, 0, 4]}, {"name": "b", "distribution": []}, {"name": "c", "distribution": null}]`, Screen{Width: 80}, `
name  distribution
a     █▁ ▄
b     constant
c     –
`},
		{"distributions in ASCII", `[{"name": "a", "distribution": [8, 1, 0, 4]}]`, Screen{Width: 80, ASCII: true}, "\nname  distribution\na     9105\n"},
		{"a series", `{"ppm": [316, 317, 318, 319, 320, null, 322, 400, 410, 415, 419]}`, Screen{Width: 80}, "\nppm  316 ▁▁▁▁▁ ▁▇▇██ 419 (11 numbers)\n"},
		{"large numbers", `[1234567.8, 12345.678, -20000, 9999, 0.000123456789]`, Screen{Width: 80}, "\n1,234,568\n12,345.7\n-20,000\n9999\n0.000123457\n"},
		{"a long text", `"A note that is longer than a line.\nAnother  one."`, Screen{Width: 20}, "\nA note that is\nlonger than a line.\nAnother  one.\n"},
		{"nothing", `{"a": [], "b": {}}`, Screen{Width: 80}, "\na  []\nb  {}\n"},
		{"for a screen reader", `{"a": 1, "rows": [{"x": 1, "y": "b"}, {"x": 2, "y": "c"}]}`, Screen{Width: 80, ASCII: true, Plain: true}, "\na: 1\nrows\n  x: 1\n  y: b\n\n  x: 2\n  y: c\n"},
		{"characters that cannot be seen", `{"a\u200b": "x\ny\u001b[31m"}`, Screen{Width: 80}, "\na⟨U+200B⟩\n  x\n  y⟨U+001B⟩[31m\n"},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), strings.Join(c.screen.Value(parse(t, c.json), Folds{Rows: "--all", Columns: "--wide"}), "\n")+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestNothingIsWider draws any value on any screen: no line is wider, unless a number is, and nothing that cannot be seen is
// left.
func TestNothingIsWider(t *testing.T) {
	t.Parallel()
	text := rapid.Custom(func(r *rapid.T) string {
		return rapid.SampledFrom([]string{"", "日本語", "e\u0301", "👨\u200d👩\u200d👧", "\x1b[31m", "\u202e", "a/b/c/d.txt", "two words", strings.Repeat("long", 30)}).Draw(r, "piece") + rapid.String().Draw(r, "text")
	})
	scalar := func(r *rapid.T) value.Value {
		switch rapid.IntRange(0, 4).Draw(r, "kind") {
		case 0:
			return rapid.Int64Range(-1e6, 1e6).Draw(r, "n")
		case 1:
			return rapid.Float64Range(-1e3, 1e3).Draw(r, "f")
		case 2:
			return nil
		}
		return text.Draw(r, "s")
	}
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfN(text, 1, 8).Draw(r, "names")
		rows := value.List{}
		for range rapid.IntRange(0, 30).Draw(r, "rows") {
			row := &value.Dict{}
			for _, name := range names {
				row.Put(name, scalar(r))
			}
			rows = append(rows, row)
		}
		s := Screen{
			Width: rapid.SampledFrom([]int{20, 40, 80, 200}).Draw(r, "width"),
			ASCII: rapid.Bool().Draw(r, "ascii"), Plain: rapid.Bool().Draw(r, "plain"),
		}
		v := rapid.SampledFrom([]value.Value{rows, value.NewDict(names[0], rows, "x", scalar(r)), value.List{value.List{rows}}}).Draw(r, "value")
		for _, line := range s.Value(v, Folds{Rows: "--all", Columns: "--wide"}) {
			if Cells(line) >= s.Width || strings.ContainsAny(line, "\x1b\u202e\n") {
				t.Fatalf("a line of %d cells on a screen of %d: %q", Cells(line), s.Width, line)
			}
		}
	})
}

// TestQuotes draws lines of a script and of a diff.
func TestQuotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"an excerpt", Screen{Width: 40}.Excerpt("  9", "    text = fs.raed(path)", 15, 4), "  9 │ text = fs.raed(path)\n    │           ^^^^"},
		{"a long line", Screen{Width: 40}.Excerpt("  9", "x = "+strings.Repeat("a", 90)+"!", 95, 1), "  9 │ …" + strings.Repeat("a", 15) + "!\n    │" + strings.Repeat(" ", 17) + "^"},
		{"a long line in ASCII", Screen{Width: 40, ASCII: true}.Excerpt("  9", "x = "+strings.Repeat("a", 90)+"!", 95, 1), "  9 | ..." + strings.Repeat("a", 13) + "!\n    |" + strings.Repeat(" ", 17) + "^"},
		{"plain", Screen{Width: 40, ASCII: true, Plain: true}.Excerpt("  9", "a b", 3, 1), "  9 | a b"},
		{"changes", Screen{Width: 12, Color: true}.Changes("", "- a\n+ 0123456789\n  b"),
			"\x1b[2m│\x1b[0m \x1b[31m-\x1b[0m a\n\x1b[2m│\x1b[0m \x1b[32m+\x1b[0m 0123456\n\x1b[2m┊\x1b[0m 789\n\x1b[2m│\x1b[0m   b"},
		{"a hint", Screen{Width: 20}.Hint("  ", "cassidy tool run list_files"), "  try\n    cassidy tool run list_files"},
		{"a plain hint", Screen{Width: 40, Plain: true}.Hint("  ", "cassidy"), "  try: cassidy"},
	} {
		if diff := cmp.Diff(c.want, strings.Join(c.lines, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestShortTexts joins, groups and cuts.
func TestShortTexts(t *testing.T) {
	t.Parallel()
	s, ascii := Screen{Width: 80}, Screen{Width: 80, ASCII: true}
	for got, want := range map[string]string{
		Join(", ", "", "a", "", "b"):              "a, b",
		Commas("1234567"):                         "1,234,567",
		Commas("12"):                              "12",
		s.CutText("folder/inside/file.txt", 17):   "folder/…/file.txt",
		s.CutText("say folder/inside/file", 10):   "say folde…",
		ascii.Own("+1 −2 · • a – b → c"):          "+1 -2, - a - b -> c",
		strings.Repeat("x", s.Inside(78).Width+1): "xxx",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
