package stdlib

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func reMatched(text string, start, end int64, groups value.List, named *value.Dict) *value.Dict {
	return value.NewDict("text", text, "start", start, "end", end, "groups", groups, "named", named)
}

func TestRe(t *testing.T) {
	none := value.NewDict()
	pureTable(t, false, []pureCase{
		{fn: "re.test", args: []any{`(?i)WORLD`, "hello world"}, want: true},
		{fn: "re.test", args: []any{`^world`, "hello world"}, want: false},

		{fn: "re.match", args: []any{`h(é)(x)?`, "hého"}, want: reMatched("hé", 0, 3, value.List{"é", nil}, none)},
		{fn: "re.match", args: []any{`é`, "hého"}, want: nil},
		{fn: "re.match", args: []any{`b|ab`, "ab"}, want: reMatched("ab", 0, 2, value.List{}, none)},
		{fn: "re.match", args: []any{`a|ab`, "ab"}, want: reMatched("a", 0, 1, value.List{}, none)},
		{fn: "re.match", args: []any{`\Qa.b`, "a.b"}, want: reMatched("a.b", 0, 3, value.List{}, none)},
		{fn: "re.match", args: []any{``, ""}, want: reMatched("", 0, 0, value.List{}, none)},

		{fn: "re.search", args: []any{`(?P<year>\d+)-(\d+)?(?P<rest>z)?`, "日本 2026-"},
			want: reMatched("2026-", 7, 12, value.List{"2026", nil, nil}, value.NewDict("year", "2026", "rest", nil))},
		{fn: "re.search", args: []any{`x`, ""}, want: nil},

		{fn: "re.find_all", args: []any{`é.`, "éa éb éc"}, want: value.List{
			reMatched("éa", 0, 3, value.List{}, none), reMatched("éb", 4, 7, value.List{}, none), reMatched("éc", 8, 11, value.List{}, none)}},
		{fn: "re.find_all", args: []any{`\w`, "abc", int64(1)}, want: value.List{reMatched("a", 0, 1, value.List{}, none)}},
		{fn: "re.find_all", args: []any{`z`, "abc"}, want: value.List{}},
		{fn: "re.find_all", args: []any{`z`, "abc", int64(-1)}, err: "negative"},

		{fn: "re.sub", args: []any{`(\w+) (?P<b>\w+)`, `\2 \1 \g<b> \g<1> \g<0> $1 \\ \n`, "one two!"}, want: "two one two one one two $1 \\ \n!"},
		{fn: "re.sub", args: []any{`a(x)?`, `[\1]`, "aax", int64(0)}, want: "[][x]"},
		{fn: "re.sub", args: []any{`a`, `b`, "aaa", int64(2)}, want: "bba"},
		{fn: "re.sub", args: []any{``, `-`, "aé"}, want: "-a-é-"},
		{fn: "re.sub", args: []any{`z`, `-`, "aé"}, want: "aé"},
		{fn: "re.sub", args: []any{`a`, `\1`, "a"}, err: "names group 1, but the pattern has 0"},
		{fn: "re.sub", args: []any{`a`, `\g<x>`, "a"}, err: `names the group "x"`},
		{fn: "re.sub", args: []any{`a`, `\q`, "a"}, err: `unknown escape \q`},
		{fn: "re.sub", args: []any{`a`, `\é`, "a"}, err: `unknown escape \é`},
		{fn: "re.sub", args: []any{`a`, `\g<`, "a"}, err: `unknown escape \g`},
		{fn: "re.sub", args: []any{`a`, `x\`, "a"}, err: `unknown escape \`},

		{fn: "re.split", args: []any{`\s*,\s*`, "a , b,c"}, want: value.List{"a", "b", "c"}},
		{fn: "re.split", args: []any{`(,)|(;)`, "a,b;c"}, want: value.List{"a", ",", nil, "b", nil, ";", "c"}},
		{fn: "re.split", args: []any{`,`, "a,b,c", int64(1)}, want: value.List{"a", "b,c"}},
		{fn: "re.split", args: []any{`,`, ""}, want: value.List{""}},

		{fn: "re.escape", args: []any{"a.b*[c]é"}, want: `a\.b\*\[c\]é`},
	})
}

func TestRePatternErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct{ pattern, err, hint string }{
		{`a(?=b)`, "lookaround ((?=) is not in RE2", "group"},
		{`(?<!a)b`, "lookaround", "group"},
		{`(?<=a)b`, "lookaround", "group"},
		{`(a)\1`, `backreferences (\1) are not in RE2`, "compare them in the script"},
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
			_, err := pureCall(t, fn, c.pattern, "text")
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
		found, err := pureCall(t, "re.find_all", pattern, text)
		if err != nil {
			return
		}
		for _, v := range found.(value.List) {
			m := v.(*value.Dict)
			if part := text[m.IntOr("start", -1):m.IntOr("end", -1)]; part != m.Text("text") {
				t.Errorf("find_all(%q, %q): text[start:end] = %q, want %q", pattern, text, part, m.Text("text"))
			}
		}
		pureCall(t, "re.match", pattern, text)
		pureCall(t, "re.sub", pattern, strings.ToValidUTF8(replacement, ""), text)
		same := pureMust(t, "re.sub", pattern, `\g<0>`, text)
		if same != text {
			t.Errorf(`sub(%q, "\g<0>", %q) = %q, want the same`, pattern, text, same)
		}
		pureCall(t, "re.split", pattern, text)
		escaped := pureMust(t, "re.escape", text).(string)
		if got := pureMust(t, "re.sub", escaped, "", text); len(escaped) < reMaxPattern && got != "" {
			t.Errorf("escape(%q) = %q, which does not match it", text, escaped)
		}
	})
}

func TestReMatchIsAnchored(t *testing.T) {
	for _, pattern := range []string{"b|ab", "a*?b", "(?m)^b", "^", "b", "(|a)+", "(?s).*b"} {
		for _, text := range []string{"", "ab", "b", "aab\nb", "ba"} {
			got := pureMust(t, "re.match", pattern, text)
			want := regexp.MustCompile(`\A(?:` + pattern + `)`).FindStringIndex(text)
			switch m, ok := got.(*value.Dict); {
			case ok != (want != nil):
				t.Errorf("match(%q, %q) = %s, want %v", pattern, text, pureShow(got), want)
			case ok && int(m.IntOr("end", -1)) != want[1]:
				t.Errorf("match(%q, %q) ends at %d, want %d", pattern, text, m.IntOr("end", -1), want[1])
			}
		}
	}
}
