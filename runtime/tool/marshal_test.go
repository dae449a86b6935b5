package tool

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMarshalRoundTrip checks that encoding/json reads back dicts, lists and results
// as they were.
func TestMarshalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type all struct {
			Dict *Dict
			List List
			Set  Set
		}
		d := &Dict{}
		d.Put("v", genJSON().Draw(t, "value"))
		d.Put("w", genJSON().Draw(t, "other value"))
		in := all{d, List{d}, Set{"a", int64(1), 1.5}}
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out := all{Dict: NewDict("old", 1)}
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		if !Equal(out.Dict, in.Dict) || !Equal(out.List, in.List) || !Equal(out.Set, in.Set) {
			t.Fatalf("read %s back as %+v", text, out)
		}
		r := Result{
			Success: rapid.Bool().Draw(t, "success"), Error: "no", ErrorType: "user_error", Suggestion: "try", Value: d,
			Usage: Usage{Steps: rapid.Int64().Draw(t, "steps"), Effects: rapid.Int().Draw(t, "effects"), Wall: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "wall")) * time.Microsecond},
		}
		if text, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		read := Result{Value: "old"}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if !Equal(read.Value, r.Value) {
			t.Fatalf("read the result %s back as %v", text, read.Value)
		}
		if read.Value, r.Value = nil, nil; read != r {
			t.Fatalf("read %s back as %+v, want %+v", text, read, r)
		}
	})
}

// TestWhatJSONCannotExpress checks how values come back that JSON has no form for.
func TestWhatJSONCannotExpress(t *testing.T) {
	d := NewDict("bytes", []byte("hi"), "tuple", Tuple{int64(1)}, "set", Set{"a"})
	if err := d.Set(int64(1), true); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var read Dict
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if want := NewDict("bytes", "aGk=", "tuple", List{int64(1)}, "set", List{"a"}, "1", true); !Equal(&read, want) {
		t.Errorf("read %s back as %s, want %s", text, &read, want)
	}
	if text, err := json.Marshal(NewDict("nan", math.NaN())); err == nil {
		t.Errorf("NaN was written as %s", text)
	}
}

func TestUnmarshalErrors(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, c := range []struct {
		dst        json.Unmarshaler
		text, want string
		kind       Kind
	}{
		{&Dict{}, `[]`, "expected an object but got array", Invalid},
		{&Dict{}, `{"a":1,"a":2}`, `the name "a" is given twice`, Invalid},
		{&Dict{}, `{`, "invalid JSON", Invalid},
		{&Dict{}, `{"a":` + deep + `}`, "nested more than", Limit},
		{&List{}, `{}`, "expected an array but got object", Invalid},
		{&Set{}, `[{}]`, "unhashable", Invalid},
		{&Result{}, `[]`, "expected an object but got array", Invalid},
		{&Result{}, `{"success":"yes"}`, "success: expected a boolean but got string", Invalid},
		{&Result{}, `{"usage":{"steps":1.5}}`, "usage.steps: expected an integer but got 1.5", Invalid},
		{&Result{}, `{"usage":{"wall_ms":1e300}}`, "usage.wall_ms: 1e+300 is out of range", Invalid},
	} {
		err := c.dst.UnmarshalJSON([]byte(c.text))
		if KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("unmarshal %s = %v of kind %v, want %s with %q", c.text, err, KindOf(err), c.kind, c.want)
		}
	}
	d := NewDict("a", 1)
	if err := json.Unmarshal([]byte("null"), d); err != nil || d.Len() != 1 {
		t.Errorf("null made the dict %s, %v, want that it stays", d, err)
	}
	var r Result
	if err := json.Unmarshal([]byte(`{"result":null,"other":1}`), &r); err != nil || r != (Result{}) {
		t.Errorf("a result of no fields = %+v, %v", r, err)
	}
}

// TestJSONFormsInADict checks how a dict is written that holds what JSON has no form
// for, and that Go types get it back.
func TestJSONFormsInADict(t *testing.T) {
	d := NewDict("raw", []byte{0xff, 0}, "pair", Tuple{int64(1), []byte("a")}, "set", Set{"x", "y"}, "whole", 1.0, "nested", NewDict("raw", List{[]byte{}}))
	_, _ = d.Set(int64(7), true), d.Set(nil, nil)
	const want = `{"raw":"/wA=","pair":[1,"YQ=="],"set":["x","y"],"whole":1.0,"nested":{"raw":[""]},"7":true,"null":null}`
	text, err := json.Marshal(d)
	if err != nil || string(text) != want {
		t.Fatalf("the dict is written as %s, %v, want %s", text, err, want)
	}
	var read Dict
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	back := NewDict("raw", "/wA=", "pair", List{int64(1), "YQ=="}, "set", List{"x", "y"}, "whole", 1.0, "nested", NewDict("raw", List{""}), "7", true, "null", nil)
	if !Equal(&read, back) {
		t.Errorf("it is read back as %s, want %s", &read, back)
	}
	got, err := ToGo[struct {
		Raw  []byte
		Pair Tuple
		Set  Set
	}](&read)
	if err != nil || !bytes.Equal(got.Raw, []byte{0xff, 0}) || len(got.Pair) != 2 || len(got.Set) != 2 {
		t.Errorf("as a struct it is %+v, %v", got, err)
	}
	keyed := &Dict{}
	if err := keyed.Set(Tuple{int64(1)}, nil); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]Value{"NaN": math.NaN(), "a tuple as key": keyed} {
		if text, err := json.Marshal(NewDict("v", v)); err == nil {
			t.Errorf("%s is written as %s", name, text)
		}
	}
}
