package value_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestMarshalRoundTrip checks that encoding/json reads back dicts, lists and results
// as they were.
func TestMarshalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type all struct {
			Dict *value.Dict
			List value.List
			Set  value.Set
		}
		d := &value.Dict{}
		d.Put("v", valuetest.JSON().Draw(t, "value"))
		d.Put("w", valuetest.JSON().Draw(t, "other value"))
		in := all{d, value.List{d}, value.Set{"a", int64(1), 1.5}}
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out := all{Dict: value.NewDict("old", 1)}
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		if !value.Equal(out.Dict, in.Dict) || !value.Equal(out.List, in.List) || !value.Equal(out.Set, in.Set) {
			t.Fatalf("read %s back as %+v", text, out)
		}
		r := tool.Result{
			Success: rapid.Bool().Draw(t, "success"), Error: "no", ErrorType: "user_error", Suggestion: "try", Value: d,
			Usage: tool.Usage{Steps: rapid.Int64().Draw(t, "steps"), Effects: rapid.Int().Draw(t, "effects"), Wall: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "wall")) * time.Microsecond},
		}
		if text, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		read := tool.Result{Value: "old"}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if !value.Equal(read.Value, r.Value) {
			t.Fatalf("read the result %s back as %v", text, read.Value)
		}
		if read.Value, r.Value = nil, nil; read != r {
			t.Fatalf("read %s back as %+v, want %+v", text, read, r)
		}
	})
}

// TestWhatJSONCannotExpress checks how values are read back that have no JSON form.
func TestWhatJSONCannotExpress(t *testing.T) {
	d := value.NewDict("bytes", []byte("hi"), "tuple", value.Tuple{int64(1)}, "set", value.Set{"a"})
	if err := d.Set(int64(1), true); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var read value.Dict
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if want := value.NewDict("bytes", "aGk=", "tuple", value.List{int64(1)}, "set", value.List{"a"}, "1", true); !value.Equal(&read, want) {
		t.Errorf("read %s back as %s, want %s", text, &read, want)
	}
	if text, err := json.Marshal(value.NewDict("nan", math.NaN())); err == nil {
		t.Errorf("NaN was written as %s", text)
	}
}

func TestUnmarshalErrors(t *testing.T) {
	deep := strings.Repeat("[", value.MaxDepth+1) + strings.Repeat("]", value.MaxDepth+1)
	for _, c := range []struct {
		dst        json.Unmarshaler
		text, want string
		kind       value.Kind
	}{
		{&value.Dict{}, `[]`, "expected an object but got array", value.Invalid},
		{&value.Dict{}, `{"a":1,"a":2}`, `the name "a" is given twice`, value.Invalid},
		{&value.Dict{}, `{`, "invalid JSON", value.Invalid},
		{&value.Dict{}, `{"a":` + deep + `}`, "nested more than", value.Limit},
		{&value.List{}, `{}`, "expected an array but got object", value.Invalid},
		{&value.Set{}, `[{}]`, "unhashable", value.Invalid},
		{&tool.Result{}, `[]`, "expected an object but got array", value.Invalid},
		{&tool.Result{}, `{"success":"yes"}`, "success: expected a boolean but got string", value.Invalid},
		{&tool.Result{}, `{"usage":{"steps":1.5}}`, "usage.steps: expected an integer but got 1.5", value.Invalid},
		{&tool.Result{}, `{"usage":{"wall_ms":1e300}}`, "usage.wall_ms: 1e+300 is out of range", value.Invalid},
	} {
		err := c.dst.UnmarshalJSON([]byte(c.text))
		if value.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("unmarshal %s = %v of kind %v, want %s with %q", c.text, err, value.KindOf(err), c.kind, c.want)
		}
	}
	d := value.NewDict("a", 1)
	if err := json.Unmarshal([]byte("null"), d); err != nil || d.Len() != 1 {
		t.Errorf("null made the dict %s, %v, want that it stays", d, err)
	}
	var r tool.Result
	if err := json.Unmarshal([]byte(`{"result":null,"other":1}`), &r); err != nil || r != (tool.Result{}) {
		t.Errorf("a result of no fields = %+v, %v", r, err)
	}
}

// TestJSONFormsInADict checks how a dict with values that have no JSON form is written,
// and that Go types restore them.
func TestJSONFormsInADict(t *testing.T) {
	d := value.NewDict("raw", []byte{0xff, 0}, "pair", value.Tuple{int64(1), []byte("a")}, "set", value.Set{"x", "y"}, "whole", 1.0, "nested", value.NewDict("raw", value.List{[]byte{}}))
	_, _ = d.Set(int64(7), true), d.Set(nil, nil)
	const want = `{"raw":"/wA=","pair":[1,"YQ=="],"set":["x","y"],"whole":1.0,"nested":{"raw":[""]},"7":true,"null":null}`
	text, err := json.Marshal(d)
	if err != nil || string(text) != want {
		t.Fatalf("the dict is written as %s, %v, want %s", text, err, want)
	}
	var read value.Dict
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	back := value.NewDict("raw", "/wA=", "pair", value.List{int64(1), "YQ=="}, "set", value.List{"x", "y"}, "whole", 1.0, "nested", value.NewDict("raw", value.List{""}), "7", true, "null", nil)
	if !value.Equal(&read, back) {
		t.Errorf("it is read back as %s, want %s", &read, back)
	}
	got, err := value.ToGo[struct {
		Raw  []byte
		Pair value.Tuple
		Set  value.Set
	}](&read)
	if err != nil || !bytes.Equal(got.Raw, []byte{0xff, 0}) || len(got.Pair) != 2 || len(got.Set) != 2 {
		t.Errorf("as a struct it is %+v, %v", got, err)
	}
	keyed := &value.Dict{}
	if err := keyed.Set(value.Tuple{int64(1)}, nil); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]value.Value{"NaN": math.NaN(), "a tuple as key": keyed} {
		if text, err := json.Marshal(value.NewDict("v", v)); err == nil {
			t.Errorf("%s is written as %s", name, text)
		}
	}
}
