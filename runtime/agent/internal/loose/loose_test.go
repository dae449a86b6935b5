package loose

import (
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestWhole(t *testing.T) {
	for _, c := range []struct{ text, want, fault string }{
		{`{"a": [1, 2.5, -3e2, true, null, "x"]}`, `{"a":[1,2.5,-300.0,true,null,"x"]}`, ""},
		{` "a" `, `"a"`, ""},
		{`{'a': 'it\'s', b_1: "\d"}`, `{"a":"it's","b_1":"\\d"}`, ""},
		{`{a: True, b: False, c: None,}`, `{"a":true,"b":false,"c":null}`, ""},
		{`["""a "quoted" word""", '''b''', “c”, <escape>d<escape>]`, `["a \"quoted\" word","b","c","d"]`, ""},
		{`{a-b.c:<|"|>C:\n "d", {e}<|"|>,f:[<|"|><|"|>,true,{g:<|"|>é<|"|>}]}`, `{"a-b.c":"C:\\n \"d\", {e}","f":["",true,{"g":"é"}]}`, ""},
		{"[<escape>\\<escape>, <escape>a\nb<escape>]", `["\\","a\nb"]`, ""},
		{`[<|"|>a]`, "", "an unclosed string"},
		{`{-a: 1}`, "", "expected a name in double quotes but got"},
		{"{\"a\": \"one\ntwo\ttabs\"}", `{"a":"one\ntwo\ttabs"}`, ""},
		{"[1, // one\n2, /* two */ 3 # three\n]", `[1,2,3]`, ""},
		{`(1, "a",)`, `[1,"a"]`, ""},
		{`9007199254740993`, `9007199254740993`, ""},
		{`"\u00e9\/"`, `"é/"`, ""},
		{`{"a": 1, "a": 2}`, "", `the name "a" is duplicated`},
		{`{"a": 1} {"b": 2}`, "", "expected the end of the JSON but got"},
		{`{"a": 1`, "", "expected a comma or } but the text ends"},
		{`{"a": []`, "", "expected a closing brace but the text ends"},
		{`{"a": "b`, "", "an unclosed string"},
		{`{"a": 'b"}`, "", "an unclosed string"},
		{`{a b: 1}`, "", "expected a colon but got"},
		{`{1: 2}`, "", "expected a name in double quotes but got"},
		{`[1 2]`, "", "expected a comma or ] but got"},
		{`[.5]`, "", "expected a value but got"},
		{`[1.]`, "", "a malformed number"},
		{`[0x10]`, "", "a malformed number"},
		{`[True1]`, "", "expected a value but got"},
		{`["\u12"]`, "", "a string with an incomplete escape"},
		{"[\"\xff\"]", "", "not valid UTF-8"},
		{`{"a": /* `, "", "expected a value but got"},
		{``, "", "expected a value but the text ends"},
	} {
		v, fault := Whole(c.text)
		switch {
		case c.fault != "" && (fault == nil || !strings.Contains(fault.in(c.text), c.fault)):
			t.Errorf("Whole(%q) = %v, %+v, want the fault %q", c.text, v, fault, c.fault)
		case c.fault == "" && (fault != nil || value.FormatJSON(v, "") != compact(t, c.want)):
			t.Errorf("Whole(%q) = %s, %+v, want %s", c.text, value.FormatJSON(v, ""), fault, c.want)
		}
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return value.FormatJSON(v, "")
}

// TestReader checks the end of a value within a text, the repairs, and what is missing at
// the end of the text.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		text  string
		rest  string
		cut   bool
		notes []string
	}{
		{`{"a": 1} and so on`, " and so on", false, nil},
		{`{a: 'b',} .`, " .", false, []string{fixedKeys, fixedQuotes, fixedCommas}},
		{`{"a": {"b": [1, "c"`, "", true, []string{fixedEnd}},
		{"{\"a\": [1]\n```", "```", true, []string{fixedEnd}},
		{`{"a": "b"</tool_call>`, "</tool_call>", true, []string{fixedEnd}},
	} {
		r := New(c.text, 0, NewFinder(c.text))
		if _, fault := r.Value(); fault != nil {
			t.Errorf("%q: %+v", c.text, fault)
		}
		if c.text[r.At:] != c.rest || r.Cut != c.cut || !slices.Equal(r.Notes, c.notes) {
			t.Errorf("%q: the rest is %q, cut %v, notes %q; want %q, %v, %q", c.text, c.text[r.At:], r.Cut, r.Notes, c.rest, c.cut, c.notes)
		}
	}
	for _, text := range []string{`{"a": 12`, `{"a": tru`, `{"a": true`, `{"a"`, `{"a":`, `[1,`} { // more may have followed
		if v, fault := New(text, 0, NewFinder(text)).Value(); fault == nil {
			t.Errorf("%q = %v, want a fault", text, v)
		}
	}
}

func TestReaderFirst(t *testing.T) {
	text := `{"a": {"b": "x"}, "c": 1}`
	r := New(text, 0, NewFinder(text))
	var got []string
	r.First = func(key string, v value.Value) { got = append(got, key+" "+value.FormatJSON(v, "")) }
	if _, fault := r.Value(); fault != nil || !slices.Equal(got, []string{"a null", "b null", `b "x"`}) {
		t.Errorf("First was called with %q, %+v", got, fault)
	}
}

func TestDictOf(t *testing.T) {
	for _, c := range []struct {
		v          value.Value
		want       string
		nested, ok bool
	}{
		{nil, "{}", false, true},
		{value.List{}, "{}", false, true},
		{value.NewDict("a", 1), `{"a":1}`, false, true},
		{`{"a": 1}`, `{"a":1}`, true, true},
		{`"{\"a\": 1}"`, `{"a":1}`, true, true},
		{value.List{int64(1)}, "", false, false},
		{int64(1), "", false, false},
		{`[1]`, "", true, false},
		{`not JSON`, "", true, false},
		{`{"a": 1} and more`, "", true, false},
	} {
		d, nested, ok := DictOf(c.v)
		if ok != c.ok || nested != c.nested || ok && d.String() != c.want {
			t.Errorf("DictOf(%v) = %s, %v, %v, want %s, %v, %v", c.v, d, nested, ok, c.want, c.nested, c.ok)
		}
	}
}

func TestReport(t *testing.T) {
	text := "Well:\n{\"a\": é}"
	_, fault := New(text, 6, NewFinder(text)).Value()
	want := `line 2, column 7 of your reply: the call: expected a value but got "é" (near: Well: {"a": é}).`
	if got := fault.Of("the call").Report(text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = `line 2, column 8 of your reply: no (near: Well: {"a": é}).`
	if got := (&Fault{At: len("Well:\n{\"a\": é"), What: "no"}).Report(text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestReadIsLinear reads hostile texts to their end: at each opening bracket, from each fault
// on. A reader that reads any part of them again and again takes minutes.
func TestReadIsLinear(t *testing.T) {
	for _, unit := range []string{"{", "[", "(", `{"a":`, `{"a`, `"`, "'", `"""`, "“", "<escape>", `<|"|>`, `{a:<|"|>`, "/*", "//", "#", `\`, "{a:", "1", "-", "{/*", `["""`, "[“", "[1,", "True", "{'a':'b',"} {
		text := "{[" + strings.Repeat(unit, 300_000/len(unit))
		ends := NewFinder(text)
		for at := 0; at < len(text); {
			if strings.IndexByte("{[(", text[at]) < 0 {
				at++
				continue
			}
			r := New(text, at, ends)
			_, fault := r.Value()
			at = max(at+1, r.At)
			if fault != nil {
				at = max(at, fault.At)
			}
		}
	}
}

func TestDeepValues(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{strings.Repeat("[", value.MaxDepth-1) + strings.Repeat("]", value.MaxDepth-1), true},
		{strings.Repeat("[", value.MaxDepth+1) + strings.Repeat("]", value.MaxDepth+1), false},
		{"[" + strings.Repeat("1,", value.MaxNodes-2) + "]", true},
		{"[" + strings.Repeat("1,", value.MaxNodes+1) + "]", false},
	} {
		if _, fault := Whole(c.text); (fault == nil) != c.ok {
			t.Errorf("%.20s… of %d bytes: %+v", c.text, len(c.text), fault)
		}
	}
}

func TestFinder(t *testing.T) {
	f := NewFinder("a.b.c")
	for _, c := range []struct {
		what       string
		from, want int
	}{{".", 0, 1}, {".", 1, 1}, {".", 2, 3}, {".", 0, 1}, {".", 4, -1}, {".", 5, -1}, {".", 9, -1}, {"x", 0, -1}, {"x", 3, -1}} {
		if got := f.Find(c.what, c.from); got != c.want {
			t.Errorf("Find(%q, %d) = %d, want %d", c.what, c.from, got, c.want)
		}
	}
}
