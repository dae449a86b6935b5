package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// anyValue makes values of every kind, nested so deep.
func anyValue(depth int) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		switch kind := rapid.IntRange(0, 6+4*min(depth, 1)).Draw(t, "kind"); kind {
		case 0:
			return rapid.SampledFrom([]value.Value{nil, true, false, int64(0), 1.0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e300}).Draw(t, "odd")
		case 1:
			return rapid.SampledFrom([]value.Value{"", "$int", "$", "\u2028\x00\x7f😀", "line\nline"}).Draw(t, "text")
		case 2:
			return rapid.StringN(0, 8, -1).Draw(t, "string")
		case 3:
			return rapid.Float64().Draw(t, "float")
		case 4:
			return rapid.Int64().Draw(t, "int")
		case 5:
			i := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "magnitude"))
			if rapid.Bool().Draw(t, "negative") {
				i.Neg(i)
			}
			return value.Integer(i)
		case 6:
			return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")...)
		case 7, 8:
			list := rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "items")
			if kind == 7 {
				return append(value.List{}, list...)
			}
			return append(value.Tuple{}, list...)
		default:
			d, set := &value.Dict{}, value.Set{}
			for range rapid.IntRange(0, 5).Draw(t, "entries") {
				key := anyValue(depth-1).Draw(t, "key")
				if before := d.Len(); d.Set(key, anyValue(depth-1).Draw(t, "value")) == nil && d.Len() > before {
					set = append(set, key)
				}
			}
			if kind == 9 {
				return set
			}
			return d
		}
	})
}

// TestFixtureKeepsValues checks that each value is read back as it was, and that
// the text is JSON.
func TestFixtureKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &fixture{id: "r", kind: "run", title: "t", entry: "main", args: value.NewDict("$x", int64(1)),
			options: value.NewDict("v", anyValue(2).Draw(t, "option")),
			script:  tool.Script{Name: "n", Path: "p.star", Source: "x\n", Libs: map[string]string{"b": "2", "a": "1", "$": "\u2028"}}}
		for i := range rapid.IntRange(0, 3).Draw(t, "steps") {
			s := fixtureStep{place: tool.Place{i + 1, 2}, fn: "a.b", args: value.NewDict("v", anyValue(3).Draw(t, "arg"))}
			if rapid.Bool().Draw(t, "settled") {
				s.end = &fixtureEnd{value: anyValue(3).Draw(t, "value")}
			}
			want.steps = append(want.steps, s)
		}
		want.end.value = anyValue(3).Draw(t, "result")
		data := want.write()
		if !json.Valid(data) {
			t.Fatalf("this is no JSON: %s", data)
		}
		got, err := readFixture(data)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if !identical(got.end.value, want.end.value) || len(got.steps) != len(want.steps) {
			t.Fatalf("the result %#v became %#v in %s", want.end.value, got.end.value, data)
		}
		for i := range want.steps {
			a, b := want.steps[i], got.steps[i]
			if a.fn != b.fn || a.place.String() != b.place.String() || !identical(a.args, b.args) || (a.end == nil) != (b.end == nil) ||
				a.end != nil && !identical(a.end.value, b.end.value) {
				t.Fatalf("step %d became %v in %s", i, b, data)
			}
		}
		if !identical(got.options, want.options) || !identical(got.args, want.args) || cmp.Diff(want.script, got.script) != "" {
			t.Fatalf("the rest became %v in %s", got, data)
		}
	})
}

// identical reports whether two values are the same in kind, order and sign.
func identical(a, b value.Value) bool {
	x, err1 := value.Append(nil, a)
	y, err2 := value.Append(nil, b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// TestFixtureKeepsErrors checks the same of what failed, and of values that are
// deeper than any JSON of ours.
func TestFixtureKeepsErrors(t *testing.T) {
	deep := value.Value(int64(1))
	for range value.MaxDepth - 1 {
		deep = value.NewDict("$", value.Value(deep))
	}
	want := &fixture{id: "r", kind: "task", end: fixtureEnd{err: &value.Error{Kind: value.Parked, Op: "a", Err: errors.New("b"), Hint: "c", Limit: "d",
		Pos: value.Position{File: "f", Line: 2, Col: 3}, Trace: []string{"x", "y"}}},
		steps: []fixtureStep{{place: tool.Place{1}, fn: "f", end: &fixtureEnd{value: deep}}, {place: tool.Place{2}, fn: "g", end: &fixtureEnd{err: value.Errorf(value.Failed, "no")}}}}
	got, err := readFixture(want.write())
	if err != nil {
		t.Fatal(err)
	}
	e := got.end.err
	if e == nil || e.Error() != want.end.err.Error() || e.Kind != value.Parked || e.Op != "a" || e.Hint != "c" || e.Limit != "d" || strings.Join(e.Trace, " ") != "x y" {
		t.Errorf("the error became %#v", e)
	}
	if !identical(got.steps[0].end.value, deep) || got.steps[0].args != nil || got.steps[1].end.err.Message() != "no" || got.steps[1].end.err.Trace != nil {
		t.Errorf("the steps became %v", got.steps)
	}
}

func TestReadFixtureRefuses(t *testing.T) {
	whole := string((&fixture{id: "r"}).write())
	if _, err := readFixture([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{whole, "", "this is no fixture: EOF"},
		{whole, "[]", "no fixture of version 1"},
		{`"version":1`, `"version":2`, "no fixture of version 1"},
		{`"version":1`, `"version":1,"version":1`, `"version" is given twice`},
		{"\n],\n", "\n]", "invalid character"},
		{`"result":null}`, `"result":null} 1`, "something follows its end"},
		{`,` + "\n" + `"result":null`, "", "neither a result nor an error"},
		{`"result":null`, `"error":{"kind":"odd"}`, `no kind of error "odd"`},
		{`"result":null`, `"result":{"$int":"x"}`, "is no integer"},
		{`"result":null`, `"result":{"$int":1}`, "$int stands for nothing here"},
		{`"result":null`, `"result":{"$odd":[]}`, "$odd stands for nothing here"},
		{`"result":null`, `"result":{"$set":[],"a":1}`, "$set is not alone"},
		{`"result":null`, `"result":{"$dict":[[1]]}`, "an entry of a dict is no pair"},
		{`"result":null`, `"result":{"$dict":[[[],1]]}`, "this is no fixture"},
		{`"result":null`, `"result":{"$bytes":"*"}`, "illegal base64"},
		{`"steps":[`, `"steps":[{"place":"x"}`, "step 1 has no place"},
		{`"steps":[` + "\n]", `"steps":3`, "it has no steps"},
		{`"libs":{}`, `"libs":{"a":1}`, "a file of its script is no text"},
	} {
		text := strings.Replace(whole, tt.old, tt.new, 1)
		if _, err := readFixture([]byte(text)); value.KindOf(err) != value.Invalid || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s gave %v, want %q", text, err, tt.want)
		}
	}
}

func TestRunsExport(t *testing.T) {
	h := newPromoteHome(t)
	ctx := context.Background()
	l, err := h.j.Begin(ctx, history.Run{ID: "w", Kind: "run", Title: "copy", Args: value.NewDict("n", int64(3)), Options: value.NewDict("model", "")},
		tool.Script{Name: "copy", Path: "copy.star", Source: "def main(n):\n    pass\n", Libs: map[string]string{"lib/a.star": "x = 1"}})
	h.check(err)
	h.did(l, "1", "fs.read", value.NewDict("path", "a"), []byte{0xff}, nil)
	h.did(l, "2.1", "http.get", value.NewDict("url", "https://example.com"), nil, value.Errorf(value.Unavailable, "away").WithHint("later"))
	h.check(l.Note(ctx, h.place("3"), value.NewDict("approval", "call", "yes", false)))
	h.intend(l, "4", "fs.list", nil)
	h.check(l.End(ctx, "", tool.Outcome{Value: value.Tuple{int64(1) << 60, "x"}}, nil))
	h.ended("task")
	h.parked("parked", history.Asked{Place: h.place("2"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})

	want := `{"version":1,
"run":{"id":"w","kind":"run","title":"copy","options":{"model":""}},
"script":{"name":"copy","path":"copy.star","source":"def main(n):\n    pass\n","libs":{"lib/a.star":"x = 1"}},
"entry":"main",
"args":{"n":3},
"steps":[
{"place":"1","func":"fs.read","args":{"path":"a"},"value":{"$bytes":"/w=="}},
{"place":"2.1","func":"http.get","args":{"url":"https://example.com"},"error":{"kind":"unavailable","message":"away","op":"","hint":"later","limit":"","file":"","line":0,"column":0,"trace":[]}},
{"place":"4","func":"fs.list","args":null}
],
"result":{"$tuple":[{"$int":"1152921504606846976"},"x"]}}
`
	stdout, stderr, code := h.in("runs", "export", "w", "-o", "-")
	if diff := cmp.Diff(want, stdout); diff != "" || code != 0 || stderr != "" {
		t.Errorf("exit %d, %s (-want +got):\n%s", code, stderr, diff)
	}
	for _, tt := range []struct {
		args string
		code int
		want string // of the output
		file string // that is written
	}{
		{"w", 0, ".cassidy/tests/w.json\ncassidy: it holds 3 steps", ".cassidy/tests/w.json"},
		{"w", 2, "there is a file already", ""},
		{"w --output some/where.json", 0, "some/where.json\n", "some/where.json"},
		{"--json task", 0, `"steps":0}`, ".cassidy/tests/task.json"},
		{"parked", 1, "the run 'parked' has not ended by itself: it is parked", ""},
		{"tusk", 2, `did you mean "task"?`, ""},
	} {
		stdout, stderr, code := h.in(append([]string{"runs", "export"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("export %s: exit %d, %q, %q, want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
		if tt.file == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(h.project, filepath.FromSlash(tt.file)))
		h.check(err)
		if f, err := readFixture(data); err != nil || !strings.Contains(tt.args, f.id) {
			t.Errorf("%s: %v", tt.file, err)
		}
	}
}

func TestFixtureKinds(t *testing.T) {
	for k := value.Failed; k <= value.LastKind; k++ {
		if got, ok := kindNamed(k.String()); !ok || got != k {
			t.Errorf("kindNamed(%q) = %v, %v", k, got, ok)
		}
	}
}
