package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestParseJSON(t *testing.T) {
	tests := []struct {
		in   string
		want value.Value
	}{
		{`null`, nil}, {`true`, true}, {` false `, false}, {"\t\r\n1\n", int64(1)},
		{`0`, int64(0)}, {`-0`, int64(0)}, {`1.0`, 1.0}, {`1e0`, 1.0}, {`-0.0`, math.Copysign(0, -1)}, {`1E+2`, 100.0}, {`5e-324`, 5e-324}, {`1e-999`, 0.0},
		{`9223372036854775807`, int64(math.MaxInt64)}, {`9223372036854775808`, valuetest.Big("9223372036854775808")},
		{`-9223372036854775808`, int64(math.MinInt64)}, {`-9223372036854775809`, valuetest.Big("-9223372036854775809")},
		{`""`, ""}, {`"é日😀"`, "é日😀"}, {`"\u00e9\uD83D\uDE00"`, "é😀"}, {`"\"\\\/\b\f\n\r\t\u0000"`, "\"\\/\b\f\n\r\t\x00"},
		{"\"\x7f\u2028\"", "\x7f\u2028"}, {`"\ud7ff\ue000"`, "\ud7ff\ue000"},
		{`[]`, value.List{}}, {`[ ]`, value.List{}}, {`[1, [2]]`, value.List{int64(1), value.List{int64(2)}}},
		{`{}`, &value.Dict{}}, {`{ }`, &value.Dict{}}, {`{"b": 1, "a": {"": null}}`, value.NewDict("b", int64(1), "a", value.NewDict("", nil))},
		{strings.Repeat("[", value.MaxDepth) + strings.Repeat("]", value.MaxDepth), valuetest.Nested(value.MaxDepth)},
		{strings.Repeat("9", value.MaxDigits), valuetest.Big(strings.Repeat("9", value.MaxDigits))},
	}
	for _, tt := range tests {
		got, err := value.ParseJSON([]byte(tt.in))
		if err != nil {
			t.Errorf("ParseJSON(%.40q): %v", tt.in, err)
			continue
		}
		if !value.Equal(got, tt.want) {
			t.Errorf("ParseJSON(%.40q) = %.60s, want %.60s", tt.in, value.FormatJSON(got, ""), value.FormatJSON(tt.want, ""))
		}
	}
}

// Line and column count from 1 and in characters, and point at what is wrong.
func TestParseJSONErrors(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, `line 1, column 1: expected a value but got the end of the text`},
		{" \n ", `line 2, column 2: expected a value but got the end of the text`},
		{`nul`, `line 1, column 1: expected a value but got 'n'`},
		{`nullx`, `line 1, column 5: expected the end of the JSON but got 'x'`},
		{`True`, `line 1, column 1: expected a value but got 'T'`},
		{`1 2`, `line 1, column 3: expected the end of the JSON but got '2'`},
		{`[1,]`, `line 1, column 4: expected a value but got ']'`},
		{`[1 2]`, `line 1, column 4: expected a comma or ] but got '2'`},
		{`[,1]`, `line 1, column 2: expected a value but got ','`},
		{`[1`, `line 1, column 3: expected a comma or ] but got the end of the text`},
		{`["é" 1]`, `line 1, column 6: expected a comma or ] but got '1'`},
		{`["日本", 😀]`, `line 1, column 8: expected a value but got '😀'`},
		{"{\n  \"é\": 1,\n  \"é\": 2}", `line 3, column 3: the name "é" is given twice`},
		{`{"a":1,"\u0061":2}`, `line 1, column 8: the name "a" is given twice`},
		{`{"a" 1}`, `line 1, column 6: expected a colon but got '1'`},
		{`{"a":}`, `line 1, column 6: expected a value but got '}'`},
		{`{"a":1,}`, `line 1, column 8: expected a name in double quotes but got '}'`},
		{`{'a':1}`, `line 1, column 2: expected a name in double quotes but got '\''`},
		{`{a:1}`, `line 1, column 2: expected a name in double quotes but got 'a'`},
		{`{"a":1`, `line 1, column 7: expected a comma or } but got the end of the text`},
		{`{1:2}`, `line 1, column 2: expected a name in double quotes but got '1'`},
		{`01`, `line 1, column 1: malformed number`},
		{`[-]`, `line 1, column 2: malformed number`},
		{`1.`, `line 1, column 3: expected a digit but got the end of the text`},
		{`1.e1`, `line 1, column 3: expected a digit but got 'e'`},
		{`1e`, `line 1, column 3: expected a digit but got the end of the text`},
		{`1e+`, `line 1, column 4: expected a digit but got the end of the text`},
		{`.5`, `line 1, column 1: expected a value but got '.'`},
		{`+1`, `line 1, column 1: expected a value but got '+'`},
		{`NaN`, `line 1, column 1: expected a value but got 'N'`},
		{`[1e999]`, `line 1, column 2: the number 1e999 is out of range`},
		{`"abc`, `line 1, column 1: the string has no closing quote`},
		{`"\"`, `line 1, column 1: the string has no closing quote`},
		{`"\`, `line 1, column 3: expected an escape but got the end of the text`},
		{"[\"a\nb\"]", `line 1, column 4: control character in a string (write \n or \u000a)`},
		{"\"\\n\x01\"", `line 1, column 4: control character in a string (write \n or \u0001)`},
		{`"\x"`, `line 1, column 3: unknown escape \x (write a backslash as \\)`},
		{`"\é"`, `line 1, column 3: unknown escape \é (write a backslash as \\)`},
		{`"C:\dir"`, `line 1, column 5: unknown escape \d (write a backslash as \\)`},
		{`"\u12"`, `line 1, column 3: incomplete escape in a string`},
		{`"\u12g4"`, `line 1, column 3: expected four hexadecimal digits after \u`},
		{`"\u+123"`, `line 1, column 3: expected four hexadecimal digits after \u`},
		{`"\ud800"`, `line 1, column 8: incomplete surrogate pair in an escape`},
		{`"\ud800\u0041"`, `line 1, column 14: incomplete surrogate pair in an escape`},
		{`"\udc00\ud800"`, `line 1, column 14: incomplete surrogate pair in an escape`},
		{"[\"a\xff\"]", `line 1, column 2: the string is not UTF-8`},
		{"[\"\\n\xff\"]", `line 1, column 2: the string is not UTF-8`},
		{"\xef\xbb\xbf1", `line 1, column 1: expected a value but got '\ufeff'`},
		{"// no\n1", `line 1, column 1: expected a value but got '/'`},
	}
	for _, tt := range tests {
		v, err := value.ParseJSON([]byte(tt.in))
		if err == nil {
			t.Errorf("ParseJSON(%q) = %s, want an error", tt.in, value.FormatJSON(v, ""))
			continue
		}
		if got, want := err.Error(), "invalid JSON at "+tt.want; got != want {
			t.Errorf("ParseJSON(%q)\n got %s\nwant %s", tt.in, got, want)
		}
		if got := value.KindOf(err); got != value.Invalid {
			t.Errorf("ParseJSON(%q): kind %d, want Invalid", tt.in, got)
		}
	}
}

func TestParseJSONLimits(t *testing.T) {
	tests := []struct {
		name, in string
		limit    value.LimitName
	}{
		{"depth of lists", strings.Repeat("[", value.MaxDepth+1), "depth"},
		{"depth of objects", strings.Repeat(`{"a":`, value.MaxDepth+1), "depth"},
		{"nodes", "[" + strings.Repeat("1,", value.MaxNodes) + "1]", "nodes"},
		{"digits", strings.Repeat("9", value.MaxDigits+1), "digits"},
		{"digits of a fraction", "0." + strings.Repeat("9", value.MaxDigits), "digits"},
	}
	for _, tt := range tests {
		_, err := value.ParseJSON([]byte(tt.in))
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Limit || e.Limit != tt.limit {
			t.Errorf("%s: got %v, want the limit of %s", tt.name, err, tt.limit)
		}
	}
}

// agrees compares ParseJSON with encoding/json, which is less strict: errors of
// ParseJSON alone must be documented ones.
func agrees(t *testing.T, data []byte) {
	t.Helper()
	if read, err := value.ReadJSON(data, value.MaxDepth, value.MaxNodes); json.Valid(data) {
		if err != nil && !strings.Contains(err.Error(), "out of range") && !strings.Contains(err.Error(), "more than") {
			t.Errorf("ReadJSON(%.80q) = %v, want no error as from encoding/json", data, err)
		}
		if strict, err := value.ParseJSON(data); err == nil && !value.EqualJSON(read, strict) {
			t.Errorf("ReadJSON(%.80q) = %.80s, want %.80s as from ParseJSON", data, value.FormatJSON(read, ""), value.FormatJSON(strict, ""))
		}
	}
	got, err := value.ParseJSON(data)
	if !json.Valid(data) {
		if err == nil {
			t.Errorf("ParseJSON(%.80q) = %.80s, want an error as from encoding/json", data, value.FormatJSON(got, ""))
		}
		return
	}
	if err != nil {
		text := err.Error()
		for _, refusal := range []string{"is given twice", "not UTF-8", "incomplete surrogate pair in an escape", "is out of range", "nested more than", "more than"} {
			if strings.Contains(text, refusal) {
				return
			}
		}
		t.Errorf("ParseJSON(%.80q) = %v, want no error as from encoding/json", data, err)
		return
	}
	var want any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&want); err != nil {
		t.Fatalf("encoding/json: %v", err)
	}
	if !sameAsGo(got, want) {
		t.Errorf("ParseJSON(%.80q) = %.80s, want %v", data, value.FormatJSON(got, ""), want)
	}
}

// sameAsGo compares a value with what encoding/json made of the same text.
func sameAsGo(v value.Value, g any) bool {
	switch g := g.(type) {
	case json.Number:
		if strings.ContainsAny(g.String(), ".eE") {
			f, err := g.Float64()
			return err == nil && value.Equal(v, f)
		}
		return value.Equal(v, valuetest.Big(g.String()))
	case []any:
		list, ok := v.(value.List)
		if !ok || len(list) != len(g) {
			return false
		}
		for i := range g {
			if !sameAsGo(list[i], g[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		d, ok := v.(*value.Dict)
		if !ok || d.Len() != len(g) {
			return false
		}
		for name, item := range g {
			if got, ok := d.Get(name); !ok || !sameAsGo(got, item) {
				return false
			}
		}
		return true
	}
	return v == g
}

var jsonSeeds = []string{
	`{"a": [1, 2.5, -3e10, "x\u00e9\n", null, true, false], "b": {"c": {}}}`, `"\ud83d\ude00"`, `"\ud83d"`, `[1e400]`, `{"a":1,"a":2}`,
	`[[[[]]]]`, `123456789012345678901234567890`, `-0`, `-0.0`, `0.1e-5`, "\"\xff\"", `[1,]`, `{"a":1,}`, `nul`, `"\u0000"`, " \t\r\n1 ",
	`{"tool_decision": {"action": "read_file", "input": {"filepath": "a.txt"}}}`, "\ufeff1", `'a'`, `//`, `[1 2]`, `"` + "\t" + `"`,
}

func TestParseJSONAgreesWithGo(t *testing.T) {
	for _, s := range jsonSeeds {
		agrees(t, []byte(s))
		for i := range s { // and cut off anywhere
			agrees(t, []byte(s[:i]))
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.JSON().Draw(t, "v")
		text, err := value.AppendJSON(nil, v)
		if err != nil {
			t.Fatalf("AppendJSON: %v", err)
		}
		if !json.Valid(text) {
			t.Fatalf("AppendJSON wrote %q, which is not JSON", text)
		}
		got, err := value.ParseJSON(text)
		if err != nil {
			t.Fatalf("ParseJSON(%q): %v", text, err)
		}
		if !value.Equal(got, v) {
			t.Fatalf("%q was read back as %s", text, value.FormatJSON(got, ""))
		}
		if got, err := value.ParseJSON([]byte(value.FormatJSON(v, "  "))); err != nil || !value.Equal(got, v) {
			t.Fatalf("FormatJSON wrote %q, which is read back as %s, %v", value.FormatJSON(v, "  "), value.FormatJSON(got, ""), err)
		}
	})
}

// FormatJSON writes valid JSON for any value.
func TestFormatJSONIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Any().Draw(t, "v")
		if text := value.FormatJSON(v, "\t"); !json.Valid([]byte(text)) {
			t.Fatalf("FormatJSON wrote %q, which is not JSON", text)
		}
	})
}

func TestAppendJSON(t *testing.T) {
	keys := func(list ...value.Value) *value.Dict {
		d := &value.Dict{}
		for _, k := range list {
			if err := d.Set(k, int64(0)); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	tests := []struct {
		in   value.Value
		want string
	}{
		{nil, `null`}, {true, `true`}, {int64(-3), `-3`}, {valuetest.Big("18446744073709551616"), `18446744073709551616`},
		{1.0, `1.0`}, {-0.5, `-0.5`}, {math.Copysign(0, -1), `-0.0`}, {0.1, `0.1`}, {1e20, `100000000000000000000.0`}, {1e21, `1e+21`},
		{1e-6, `0.000001`}, {1e-7, `1e-07`}, {math.MaxFloat64, `1.7976931348623157e+308`}, {5e-324, `5e-324`},
		{"", `""`}, {"é日😀\u2028", `"é日😀` + "\u2028" + `"`}, {"\"\\/\n\t\r\b\f\x00\x1f\x7f", `"\"\\/\n\t\r\u0008\u000c\u0000\u001f\u007f"`}, {"<&>", `"<&>"`},
		{[]byte("hi\xff"), `"aGn/"`}, {value.List{}, `[]`}, {value.Tuple{int64(1), "a"}, `[1,"a"]`}, {value.Set{"b", "a"}, `["b","a"]`},
		{&value.Dict{}, `{}`}, {(*value.Dict)(nil), `{}`}, {value.NewDict("b", nil, "a", value.List{}), `{"b":null,"a":[]}`},
		{keys(nil, true, false, int64(7), 1.5, valuetest.Big("9223372036854775808"), ""), `{"null":0,"true":0,"false":0,"7":0,"1.5":0,"9223372036854775808":0,"":0}`},
	}
	for _, tt := range tests {
		got, err := value.AppendJSON([]byte("> "), tt.in)
		if err != nil || string(got) != "> "+tt.want {
			t.Errorf("AppendJSON(%v) = %s, %v, want > %s", tt.in, got, err, tt.want)
		}
	}
	cycle := make(value.List, 2)
	cycle[0], cycle[1] = cycle, cycle
	refused := []struct {
		name    string
		in      value.Value
		lenient string
	}{
		{"NaN", math.NaN(), `"NaN"`},
		{"infinity", value.List{math.Inf(-1)}, `["-Inf"]`},
		{"a NaN key", keys(math.NaN()), `{"NaN":0}`},
		{"a bytes key", keys([]byte("a")), `{"\"YQ==\"":0}`},
		{"a tuple key", keys(value.Tuple{int64(1)}), `{"[1]":0}`},
		{"two keys of one name", keys(int64(1), "1"), `{"1":0,"1":0}`},
		{"a Go value", 3, ``},
		{"an integer of many digits", valuetest.Big("1" + strings.Repeat("0", value.MaxDigits)), `"(the integer has more than 4096 digits)"`},
		{"an integer of a million digits", new(big.Int).Lsh(big.NewInt(1), 3_322_000), `"(the integer has more than 4096 digits)"`},
		{"a cycle", cycle, ``},
		{"depth", valuetest.Nested(value.MaxDepth + 1), `(the value is nested more than 64 levels deep)`},
		{"nodes", make(value.List, value.MaxNodes), `(the value has more than 100000 elements in total)`},
	}
	for _, tt := range refused {
		if got, err := value.AppendJSON(nil, tt.in); err == nil {
			t.Errorf("%s: AppendJSON = %.60s, want an error", tt.name, got)
		}
		if got := value.FormatJSON(tt.in, ""); tt.lenient != "" && got != tt.lenient {
			t.Errorf("%s: FormatJSON = %.60s, want %s", tt.name, got, tt.lenient)
		}
	}
}

// Hostile texts of 200,000 characters give at most one error. With quadratic time this
// would take minutes.
func TestParseJSONHostile(t *testing.T) {
	const n = 200_000
	tests := []struct{ name, in string }{
		{"[", strings.Repeat("[", n)},
		{"{", strings.Repeat("{", n)},
		{"quote", strings.Repeat(`"`, n)},
		{"escaped quotes", `"` + strings.Repeat(`\"`, n/2)},
		{"backslashes", `"` + strings.Repeat(`\`, n)},
		{"digits", strings.Repeat("9", n)},
		{"spaces", strings.Repeat(" ", n)},
		{"lines", strings.Repeat("\n", n) + "x"},
		{"names", manyNames(n / 10)},
		{"zeros", "[" + strings.Repeat("0,", value.MaxNodes-2) + "0]"},
	}
	for _, tt := range tests {
		_, err := value.ParseJSON([]byte(tt.in))
		if right := tt.name == "names" || tt.name == "zeros"; right != (err == nil) {
			t.Errorf("%s: error %v, want one: %v", tt.name, err, !right)
		}
		if kind := value.KindOf(err); err != nil && kind != value.Invalid && kind != value.Limit {
			t.Errorf("%s: error %v of kind %s, want invalid or limit", tt.name, err, kind)
		}
	}
}

func manyNames(n int) string {
	d := &value.Dict{}
	for i := range n {
		d.Put(value.FormatJSON(int64(i), ""), nil)
	}
	return value.FormatJSON(d, "")
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agrees(t, data)
		v, err := value.ParseJSON(data)
		if err != nil {
			return
		}
		text, err := value.AppendJSON(nil, v)
		if err != nil {
			t.Fatalf("AppendJSON(ParseJSON(%q)): %v", data, err)
		}
		if again, err := value.ParseJSON(text); err != nil || !value.Equal(again, v) {
			t.Fatalf("%q was written as %q and read back as %s, %v", data, text, value.FormatJSON(again, ""), err)
		}
	})
}

// TestReadJSON reads what other programs send, although it is not quite JSON.
func TestReadJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\ufeff {\"a\": 1}", `{"a":1}`},
		{`"half \ud99c end"`, "\"half \ufffd end\""},
		{`"\udc00\ud800"`, "\"\ufffd\ufffd\""},
		{`"\ud83d\ude00"`, "\"\U0001f600\""},
		{`"\ud83d\ud83d\ude00\ud83dx"`, "\"\ufffd\U0001f600\ufffdx\""},
		{`{"\ud800": "\ud800\u0041"}`, "{\"\ufffd\":\"\ufffdA\"}"},
		{"[\"a\xff\", \"\\n\xe6\x97\"]", "[\"a\ufffd\",\"\\n\ufffd\"]"},
		{"\"a\tb\nc\\\\\x01\"", `"a\tb\nc\\\u0001"`},
		{`{"a": 1, "b": 2, "a": [3]}`, `{"a":[3],"b":2}`},
	} {
		if got, err := value.ReadJSON([]byte(c.in), 5, 20); err != nil || value.FormatJSON(got, "") != c.want {
			t.Errorf("ReadJSON(%q) = %s, %v, want %s", c.in, value.FormatJSON(got, ""), err, c.want)
		}
		if _, err := value.ParseJSON([]byte(c.in)); err == nil && c.in != `"\ud83d\ude00"` {
			t.Errorf("ParseJSON(%q) has no error", c.in)
		}
	}
	for _, in := range []string{"", "\ufeff", `{"a": 1`, `"\ud99`, `"\ud99c`, `"\ud99c\u12"`, "NaN", "{'a': 1}", "[1,]", "[[[[[[1]]]]]]", "\ufeff\ufeff1", "1 2", `"\x"`} {
		if got, err := value.ReadJSON([]byte(in), 5, 20); err == nil {
			t.Errorf("ReadJSON(%q) = %s, want an error", in, value.FormatJSON(got, ""))
		}
	}
}
