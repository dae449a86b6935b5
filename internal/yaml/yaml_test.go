package yaml_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestParseYAML(t *testing.T) {
	tests := []struct {
		in   string
		want value.Value
	}{
		{"", nil}, {"# nothing\n", nil}, {"---\n", nil}, {"--- a\n...\n", "a"}, {"~", nil}, {"null", nil}, {"Null", nil}, {"NULL", nil}, {"nULL", "nULL"},
		{"true", true}, {"True", true}, {"TRUE", true}, {"tRUE", "tRUE"}, {"false", false},
		{"yes", "yes"}, {"no", "no"}, {"on", "on"}, {"off", "off"}, {"y", "y"}, {"Yes", "Yes"}, {"ON", "ON"},
		{"0", int64(0)}, {"-12", int64(-12)}, {"+12", int64(12)}, {"0777", int64(777)}, {"0o17", int64(15)}, {"0o18", "0o18"}, {"0x1F", int64(31)}, {"0X1F", "0X1F"}, {"-0x1F", "-0x1F"},
		{"0b11", "0b11"}, {"1_000", "1_000"}, {"12:30:45", "12:30:45"}, {"0x", "0x"}, {"-", value.List{nil}}, {"+-1", "+-1"},
		{"9223372036854775808", valuetest.Big("9223372036854775808")}, {"0xFFFFFFFFFFFFFFFFFF", valuetest.Big("4722366482869645213695")},
		{"1.0", 1.0}, {"1.", 1.0}, {".5", 0.5}, {"+.5", 0.5}, {"-1.5e3", -1500.0}, {"1e3", 1000.0}, {"1E+3", 1000.0}, {"1e", "1e"}, {".", "."}, {"1.2.3", "1.2.3"}, {"1_0.5", "1_0.5"}, {"0x1p4", "0x1p4"},
		{".inf", math.Inf(1)}, {"+.Inf", math.Inf(1)}, {"-.INF", math.Inf(-1)}, {".nan", math.NaN()}, {"-.nan", "-.nan"}, {"inf", "inf"}, {"nan", "nan"}, {".iNF", ".iNF"},
		{"2026-01-31", "2026-01-31"}, {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"},
		{`"1"`, "1"}, {"'true'", "true"}, {"'it''s'", "it's"}, {`"a\n\u00e9"`, "a\né"}, {`""`, ""}, {"''", ""}, {"a b", "a b"}, {"a\n  b", "a b"},
		{"|\n  a\n  b\n", "a\nb\n"}, {"|-\n  a\n  b\n", "a\nb"}, {">\n  a\n  b\n", "a b\n"}, {"|\n  1\n", "1\n"}, {"|-\n  1", "1"},
		{"!!str 1", "1"}, {"!!str", ""}, {"!!int 1", int64(1)}, {`!!int "1"`, int64(1)}, {"!!float 1.5", 1.5}, {"!!null ''", nil}, {"!!bool true", true}, {"!!map {}", &value.Dict{}}, {"!!seq []", value.List{}},
		{"[a, 1, [b]]", value.List{"a", int64(1), value.List{"b"}}}, {"- a\n- - b\n", value.List{"a", value.List{"b"}}}, {"[]", value.List{}}, {"{}", &value.Dict{}},
		{"b: 1\na:\n  c: x\n", value.NewDict("b", int64(1), "a", value.NewDict("c", "x"))}, {"{a: 1, b}", value.NewDict("a", int64(1), "b", nil)}, {"a:", value.NewDict("a", nil)},
		{`{"a": [1, 2.5, "x", null, true]}`, value.NewDict("a", value.List{int64(1), 2.5, "x", nil, true})},
		{`"<<": 1`, value.NewDict("<<", int64(1))}, {"a: &x 1", value.NewDict("a", int64(1))}, {"a: '*b'", value.NewDict("a", "*b")},
		{"a: # comment\n  b # not a comment: c", value.NewDict("a", "b")}, {"\ufeffa: 1", value.NewDict("a", int64(1))},
		{strings.Repeat("[", value.MaxDepth) + strings.Repeat("]", value.MaxDepth), valuetest.Nested(value.MaxDepth)},
	}
	for _, tt := range tests {
		got, err := yaml.Parse(tt.in)
		if err != nil {
			t.Errorf("ParseYAML(%.60q): %v", tt.in, err)
			continue
		}
		if !value.Equal(got, tt.want) {
			t.Errorf("ParseYAML(%.60q) = %.60s (%T), want %.60s (%T)", tt.in, value.FormatJSON(got, ""), got, value.FormatJSON(tt.want, ""), tt.want)
		}
	}
}

func TestParseYAMLKeys(t *testing.T) {
	got, err := yaml.Parse("1: a\n1.5: b\ntrue: c\n~: d\nyes: e\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &value.Dict{}
	for _, e := range []value.Entry{{Key: int64(1), Value: "a"}, {Key: 1.5, Value: "b"}, {Key: true, Value: "c"}, {Key: nil, Value: "d"}, {Key: "yes", Value: "e"}} {
		if err := want.Set(e.Key, e.Value); err != nil {
			t.Fatal(err)
		}
	}
	if !value.Equal(got, want) {
		t.Errorf("got %s, want %s", value.FormatJSON(got, ""), value.FormatJSON(want, ""))
	}
}

func TestParseYAMLRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		line     int
		want     string
	}{
		{"alias", "a: &x [1]\nb: *x\n", 2, "aliases (*x) are not supported: repeat the value"},
		{"a bomb", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", 2, "aliases (*a) are not supported: repeat the value"},
		{"merge", "a: 1\n<<: {b: 2}\n", 2, "merge keys (<<) are not supported: repeat the fields"},
		{"merge of an alias", "base: &b {x: 1}\nc:\n  <<: *b\n", 3, "merge keys (<<) are not supported: repeat the fields"},
		{"key twice", "a: 1\nb: 2\na: 3\n", 3, "the key a is given twice, also 2 lines above"},
		{"key twice, in flow", "x: {a: 1, 'a': 2}\n", 1, "the key a is given twice"},
		{"key twice, as numbers", "1: a\n1.0: b\n", 2, "the key 1.0 is given twice"},
		{"list as a key", "? [a]\n: b\n", 1, "expected a string as a key but got array"},
		{"custom tag", "a: 1\nb: !thing 3\n", 2, "the tag !thing is not supported"},
		{"custom tag of a mapping", "a: !thing {b: 1}\n", 1, "the tag !thing is not supported"},
		{"custom tag of a sequence", "a: !!python/tuple [1]\n", 1, "the tag !!python/tuple is not supported"},
		{"binary", "a: !!binary aGk=\n", 1, "the tag !!binary is not supported"},
		{"set", "a: !!set {b}\n", 1, "the tag !!set is not supported"},
		{"timestamp", "a: !!timestamp 2026-01-31\n", 1, "the tag !!timestamp is not supported"},
		{"a tag that lies", "a: !!int x\n", 1, `the value "x" does not match its tag !!int`},
		{"a tag of 1.1", "\n\na: !!bool yes\n", 3, `the value "yes" does not match its tag !!bool`},
		{"second document", "a: 1\n---\nb: 2\n", 2, "the text has more than one YAML document"},
		{"a tab", "a:\n\tb: 1\n", 2, "unexpected character: put the text in quotes, and indent with spaces, not with tabs"},
		{"a tab in the first line", "\ta: 1\n", 1, "indent with spaces, not with tabs"},
		{"a tab after a value", "a: b\n\tc: 1\n", 2, "unexpected tab: indent with spaces"},
		{"a quote that is open to the end", "a: \"x\nb:\n  c: 1\n", 1, "the closing quote is missing"},
		{"an open quote below", "a: 'x'\nb: 'y\nc: 1\nd: 2\n", 2, "the closing quote is missing"},
		{"not closed", "a: [1, 2\n", 1, "a ',' or the closing ']' is missing"},
		{"an open list", "a: 1\nb: [\n", 2, "the closing ']' is missing"},
		{"an open mapping", "a: {", 1, "the closing '}' is missing"},
		{"an indentation", "a:\n  b: 1\n  c:\n    d: 1\n   e: 2\nf: 3\n", 5, "expected a line that is indented as those above it"},
		{"an element", "a:\n  - b\n  c: 1\n  - d\n", 3, "expected a line that is indented as those above it, and that begins with - as they do"},
		{"no value", "a: 1\nb: ]\nc: 2\n", 2, "expected a value"},
		{"an undefined alias", "a: *x\n", 0, "aliases (*x) are not supported: put a text that begins with * in quotes"},
		{"a colon in a text", "a: 1\nb: c: d\n", 2, "unexpected ':': put a text that contains ': ' in quotes"},
		{"no closing quote", "a: 1\nb: \"c\n", 2, "the closing quote is missing"},
		{"out of range", "a: 1e999\n", 1, "the number 1e999 is out of range"},
		{"not UTF-8", "a: \xff\n", 0, "invalid YAML: not UTF-8"},
		{"a control character", "a: \x01\n", 0, "control characters are not allowed"},
	}
	for _, tt := range tests {
		v, err := yaml.Parse(tt.in)
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: ParseYAML = %s, %v, want an *Error", tt.name, value.FormatJSON(v, ""), err)
			continue
		}
		if e.Kind != value.Invalid || e.Pos.Line != tt.line || !strings.Contains(e.Error(), tt.want) {
			t.Errorf("%s: got kind %d, line %d, %q, want kind %d, line %d, %q", tt.name, e.Kind, e.Pos.Line, e, value.Invalid, tt.line, tt.want)
		}
	}
}

func TestParseYAMLLimits(t *testing.T) {
	tests := []struct {
		name, in string
		limit    value.LimitName
	}{
		{"size", strings.Repeat("#", yaml.MaxSize+1), "source"},
		{"depth", strings.Repeat("[", value.MaxDepth+1) + strings.Repeat("]", value.MaxDepth+1), "depth"},
		{"depth of mappings", strings.Repeat("{a: ", value.MaxDepth+1) + strings.Repeat("}", value.MaxDepth+1), "depth"},
		{"digits", strings.Repeat("9", value.MaxDigits+1), "digits"},
	}
	for _, tt := range tests {
		_, err := yaml.Parse(tt.in)
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Limit || e.Limit != tt.limit {
			t.Errorf("%s: got %v, want the limit of %s", tt.name, err, tt.limit)
		}
	}
}

// No text of the maximum size may keep the parser busy, or give an error of the wrong
// kind.
func TestParseYAMLHostile(t *testing.T) {
	for _, unit := range []string{"[", "{", "- ", "? ", "a: ", "#\n", "\n", "&a ", "|\n", "'", `"`, "[a,", "{a,", "a\n", "a: b\n", "- a\n", "!!str ", "%", "---\n", " ", "é", "*a ", "\t", "&a [", "- - #\n", "x: |\n \n"} {
		text := strings.Repeat(unit, yaml.MaxSize/len(unit))
		_, err := yaml.Parse(text)
		var e *value.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%q again and again: %v is no *Error", unit, err)
		}
	}
}

func TestYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.JSON().Draw(t, "v")
		text, err := yaml.Format(v)
		if err != nil {
			t.Fatalf("FormatYAML: %v", err)
		}
		got, err := yaml.Parse(text)
		if err != nil {
			t.Fatalf("ParseYAML(%q): %v", text, err)
		}
		if !value.Equal(got, v) {
			t.Fatalf("%q was read back as %s, want %s", text, value.FormatJSON(got, ""), value.FormatJSON(v, ""))
		}
	})
}

func TestFormatYAML(t *testing.T) {
	odd := &value.Dict{}
	for _, e := range []value.Entry{{Key: int64(1), Value: value.Tuple{int64(1)}}, {Key: true, Value: value.Set{"a"}}, {Key: nil, Value: []byte("hi")}, {Key: "float", Value: 2.0}} {
		if err := odd.Set(e.Key, e.Value); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		in   value.Value
		want string
	}{
		{nil, "null\n"}, {"yes", "\"yes\"\n"}, {"1", "\"1\"\n"}, {"1_000", "\"1_000\"\n"}, {"a b", "a b\n"}, {"", "\"\"\n"}, {int64(3), "3\n"}, {1e21, "1e+21\n"}, {math.Inf(1), "+.inf\n"}, {math.NaN(), ".nan\n"},
		{value.NewDict("b", int64(1), "a", value.List{"x", value.NewDict("c", nil)}), "b: 1\na:\n  - x\n  - c: null\n"},
		{value.NewDict("text", "line 1\nline 2\n"), "text: |\n  line 1\n  line 2\n"},
		{value.NewDict("list", value.List{}, "dict", &value.Dict{}), "list: []\ndict: {}\n"},
		{odd, "1:\n  - 1\ntrue:\n  - a\nnull: aGk=\nfloat: 2.0\n"},
	}
	for _, tt := range tests {
		got, err := yaml.Format(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("FormatYAML(%s) = %q, %v, want %q", value.FormatJSON(tt.in, ""), got, err, tt.want)
		}
	}
	cycle := make(value.List, 2)
	cycle[0], cycle[1] = cycle, cycle
	for name, v := range map[string]value.Value{"cycle": cycle, "Go value": 3, "depth": valuetest.Nested(value.MaxDepth + 1), "digits": valuetest.Big(strings.Repeat("9", value.MaxDigits+1))} {
		if got, err := yaml.Format(v); err == nil {
			t.Errorf("%s: FormatYAML = %.60q, want an error", name, got)
		}
	}
}

// TestLine checks which line a path leads to.
func TestLine(t *testing.T) {
	const text = "# config\na: 1\nb:\n  c: {d: 2}\n  e:\n    f: 3\nlist: [1]\n"
	for path, want := range map[string]int{"a": 2, "b": 3, "b c": 4, "b c d": 4, "b e f": 6, "b e x": 5, "a x": 2, "list x": 7, "x": 0, "": 0} {
		if got := yaml.Line(text, strings.Fields(path)...); got != want {
			t.Errorf("Line(%q) = %d, want %d", path, got, want)
		}
	}
	for _, text := range []string{"", "[a", "- 1"} {
		if got := yaml.Line(text, "a"); got != 0 {
			t.Errorf("the line in %q is %d, want 0", text, got)
		}
	}
}

func FuzzParseYAML(f *testing.F) {
	for _, s := range []string{
		"name: word_count\nparameters:\n  - name: a\n    type: string\n    required: true\n", "a: &x [1]\nb: *x", "<<: {a: 1}", "|\n a\n", ">-\n a\n b", "? a\n: b",
		"[a, {b: c}]", "!!int 3", "%YAML 1.2\n---\na", "a: 'x''y'", `"\x41\u00e9"`, "- - - a", "#\n - a\n-", "a:\n\tb", "\ufeff", "{a,b,}", "1: 2\n1.0: 3",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := yaml.Parse(text)
		if err != nil {
			return
		}
		if _, err := value.Append(nil, v); err != nil {
			t.Fatalf("ParseYAML(%q) gave what is no value: %v", text, err)
		}
		written, err := yaml.Format(v)
		if err != nil {
			t.Fatalf("FormatYAML(ParseYAML(%q)): %v", text, err)
		}
		if len(written) > yaml.MaxSize {
			return
		}
		if again, err := yaml.Parse(written); err != nil || !value.Equal(again, v) {
			t.Fatalf("%q was written as %q and read back as %s, %v", text, written, value.FormatJSON(again, ""), err)
		}
	})
}
