package text

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func reMatched(text string, start, end int64, groups value.List, named *value.Dict) *value.Dict {
	return value.NewDict("text", text, "start", start, "end", end, "groups", groups, "named", named)
}

func TestRe(t *testing.T) {
	none := value.NewDict()
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "re.test", Args: []any{`(?i)WORLD`, "hello world"}, Want: true},
		{Fn: "re.test", Args: []any{`^world`, "hello world"}, Want: false},

		{Fn: "re.match", Args: []any{`h(é)(x)?`, "hého"}, Want: reMatched("hé", 0, 3, value.List{"é", nil}, none)},
		{Fn: "re.match", Args: []any{`é`, "hého"}, Want: nil},
		{Fn: "re.match", Args: []any{`b|ab`, "ab"}, Want: reMatched("ab", 0, 2, value.List{}, none)},
		{Fn: "re.match", Args: []any{`a|ab`, "ab"}, Want: reMatched("a", 0, 1, value.List{}, none)},
		{Fn: "re.match", Args: []any{`\Qa.b`, "a.b"}, Want: reMatched("a.b", 0, 3, value.List{}, none)},
		{Fn: "re.match", Args: []any{``, ""}, Want: reMatched("", 0, 0, value.List{}, none)},

		{Fn: "re.search", Args: []any{`(?P<year>\d+)-(\d+)?(?P<rest>z)?`, "日本 2026-"},
			Want: reMatched("2026-", 7, 12, value.List{"2026", nil, nil}, value.NewDict("year", "2026", "rest", nil))},
		{Fn: "re.search", Args: []any{`x`, ""}, Want: nil},

		{Fn: "re.find_all", Args: []any{`é.`, "éa éb éc"}, Want: value.List{
			reMatched("éa", 0, 3, value.List{}, none), reMatched("éb", 4, 7, value.List{}, none), reMatched("éc", 8, 11, value.List{}, none)}},
		{Fn: "re.find_all", Args: []any{`\w`, "abc", int64(1)}, Want: value.List{reMatched("a", 0, 1, value.List{}, none)}},
		{Fn: "re.find_all", Args: []any{`z`, "abc"}, Want: value.List{}},
		{Fn: "re.find_all", Args: []any{`z`, "abc", int64(-1)}, Err: "negative"},

		{Fn: "re.sub", Args: []any{`(\w+) (?P<b>\w+)`, `\2 \1 \g<b> \g<1> \g<0> $1 \\ \n`, "one two!"}, Want: "two one two one one two $1 \\ \n!"},
		{Fn: "re.sub", Args: []any{`a(x)?`, `[\1]`, "aax", int64(0)}, Want: "[][x]"},
		{Fn: "re.sub", Args: []any{`a`, `b`, "aaa", int64(2)}, Want: "bba"},
		{Fn: "re.sub", Args: []any{``, `-`, "aé"}, Want: "-a-é-"},
		{Fn: "re.sub", Args: []any{`z`, `-`, "aé"}, Want: "aé"},
		{Fn: "re.sub", Args: []any{`a`, `\1`, "a"}, Err: "group 1 does not exist: the pattern has 0 groups"},
		{Fn: "re.sub", Args: []any{`a`, `\g<x>`, "a"}, Err: `the pattern has no group "x"`},
		{Fn: "re.sub", Args: []any{`a`, `\q`, "a"}, Err: `unknown escape \q`},
		{Fn: "re.sub", Args: []any{`a`, `\é`, "a"}, Err: `unknown escape \é`},
		{Fn: "re.sub", Args: []any{`a`, `\g<`, "a"}, Err: `unknown escape \g`},
		{Fn: "re.sub", Args: []any{`a`, `x\`, "a"}, Err: `unknown escape \`},

		{Fn: "re.split", Args: []any{`\s*,\s*`, "a , b,c"}, Want: value.List{"a", "b", "c"}},
		{Fn: "re.split", Args: []any{`(,)|(;)`, "a,b;c"}, Want: value.List{"a", ",", nil, "b", nil, ";", "c"}},
		{Fn: "re.split", Args: []any{`,`, "a,b,c", int64(1)}, Want: value.List{"a", "b,c"}},
		{Fn: "re.split", Args: []any{`,`, ""}, Want: value.List{""}},

		{Fn: "re.escape", Args: []any{"a.b*[c]é"}, Want: `a\.b\*\[c\]é`},
	})
}

func TestRePatternErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct{ pattern, err, hint string }{
		{`a(?=b)`, "invalid pattern: lookaround ((?=) is not supported", "group"},
		{`(?<!a)b`, "lookaround", "group"},
		{`(?<=a)b`, "lookaround", "group"},
		{`(a)\1`, `invalid pattern: backreferences (\1) are not supported`, "compare the groups in the script"},
		{`(?P<n>a)(?P=n)`, "backreferences", "compare"},
		{`a++`, "possessive", "never backtracks"},
		{`(?>a)`, "atomic", "never backtracks"},
		{`a\Z`, `invalid escape sequence: \Z`, `\z`},
		{`\u00e9`, `invalid escape sequence: \u`, `\x{20AC}`},
		{`a(`, "missing closing )", ""},
		{`[z-a]`, "invalid character class range: z-a", ""},
		{strings.Repeat("(", 2000), "invalid pattern", ""},
	} {
		for _, fn := range []string{"re.test", "re.match", "re.search", "re.find_all", "re.split"} {
			_, err := rowtest.Call(t, modules(), fn, c.pattern, "text")
			e := value.ErrorOf(err, value.Failed)
			if e == nil || e.Kind != value.Invalid || !strings.Contains(e.Error(), c.err) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%s(%q) fails with %v, want one of kind Invalid with %q and a hint with %q", fn, c.pattern, err, c.err, c.hint)
			}
		}
	}
}

func FuzzRe(f *testing.F) {
	f.Add(`(a)(?P<x>b)?|\b`, "aé b", `\1\g<x>`)
	f.Add(`\Qa(`, "a(a(", `\\`)
	f.Add(`(?i)[^k]{2,3}?$`, "Kelvin \u212a\n", "")
	f.Fuzz(func(t *testing.T, pattern, text, replacement string) {
		pattern, text = strings.ToValidUTF8(pattern, ""), strings.ToValidUTF8(text, "")
		found, err := rowtest.Call(t, modules(), "re.find_all", pattern, text)
		if err != nil {
			return
		}
		for _, v := range found.(value.List) {
			m := v.(*value.Dict)
			if part := text[m.IntOr("start", -1):m.IntOr("end", -1)]; part != m.Text("text") {
				t.Errorf("find_all(%q, %q): text[start:end] = %q, want %q", pattern, text, part, m.Text("text"))
			}
		}
		rowtest.Call(t, modules(), "re.match", pattern, text)
		rowtest.Call(t, modules(), "re.sub", pattern, strings.ToValidUTF8(replacement, ""), text)
		same := rowtest.Must(t, modules(), "re.sub", pattern, `\g<0>`, text)
		if same != text {
			t.Errorf(`sub(%q, "\g<0>", %q) = %q, want the same`, pattern, text, same)
		}
		rowtest.Call(t, modules(), "re.split", pattern, text)
		escaped := rowtest.Must(t, modules(), "re.escape", text).(string)
		if got := rowtest.Must(t, modules(), "re.sub", escaped, "", text); len(escaped) < 10_000 && got != "" {
			t.Errorf("escape(%q) = %q, which does not match it", text, escaped)
		}
	})
}

func TestReMatchIsAnchored(t *testing.T) {
	for _, pattern := range []string{"b|ab", "a*?b", "(?m)^b", "^", "b", "(|a)+", "(?s).*b"} {
		for _, text := range []string{"", "ab", "b", "aab\nb", "ba"} {
			got := rowtest.Must(t, modules(), "re.match", pattern, text)
			want := regexp.MustCompile(`\A(?:` + pattern + `)`).FindStringIndex(text)
			switch m, ok := got.(*value.Dict); {
			case ok != (want != nil):
				t.Errorf("match(%q, %q) = %s, want %v", pattern, text, rowtest.Show(got), want)
			case ok && int(m.IntOr("end", -1)) != want[1]:
				t.Errorf("match(%q, %q) ends at %d, want %d", pattern, text, m.IntOr("end", -1), want[1])
			}
		}
	}
}
