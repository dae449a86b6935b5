package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestResultJSON(t *testing.T) {
	usage := Usage{Steps: 12, Effects: 2, Wall: 1500 * time.Microsecond}
	tests := []struct {
		name string
		r    Result
		want string
	}{
		{"success", Succeed(Outcome{Value: value.NewDict("words", int64(3)), Usage: usage}),
			`{"success":true,"error":"","error_type":"","suggestion":"","result":{"words":3},"preview":"{\"words\": 3}","usage":{"steps":12,"effects":2,"wall_ms":1.5}}`},
		{"nothing", Succeed(Outcome{}),
			`{"success":true,"error":"","error_type":"","suggestion":"","result":null,"preview":"","usage":{"steps":0,"effects":0,"wall_ms":0.0}}`},
		{"text", Succeed(Outcome{Value: "a\nb\nc\nd"}),
			`{"success":true,"error":"","error_type":"","suggestion":"","result":"a\nb\nc\nd","preview":"a\nb\nc\n… 1 more line","usage":{"steps":0,"effects":0,"wall_ms":0.0}}`},
		{"failure", Fail(value.Errorf(value.Denied, "no").WithHint("ask"), usage),
			`{"success":false,"error":"no","error_type":"permission_error","suggestion":"ask","result":null,"preview":"no","usage":{"steps":12,"effects":2,"wall_ms":1.5}}`},
		{"an error without a text", Fail(&value.Error{Err: errors.New("")}, Usage{}),
			`{"success":false,"error":"unknown error","error_type":"user_error","suggestion":"","result":null,"preview":"unknown error","usage":{"steps":0,"effects":0,"wall_ms":0.0}}`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.r)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var compact bytes.Buffer // encoding/json escapes more than it must
		if err := json.Compact(&compact, []byte(tt.want)); err != nil {
			t.Fatal(err)
		}
		if string(got) != compact.String() {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, compact.String())
		}
		if tt.r.Success != (tt.r.Error == "") {
			t.Errorf("C33 %s: success is %v and the error %q", tt.name, tt.r.Success, tt.r.Error)
		}
	}
}

func TestPreview(t *testing.T) {
	wide := strings.Repeat("x", previewWidth)
	tests := []struct {
		name, in string
		lines    int
		want     string
	}{
		{"nothing", "", 3, ""},
		{"few lines", "a\nb\n", 3, "a\nb"},
		{"as many", "a\nb\nc\n\n", 3, "a\nb\nc"},
		{"one more", "a\nb\nc\nd\n", 3, "a\nb\nc\n… 1 more line"},
		{"many more", "a" + strings.Repeat("\nb", 100), 1, "a\n… 100 more lines"},
		{"a full line", wide, 3, wide},
		{"a long line", wide + "y", 3, wide + "…"},
		{"of characters", strings.Repeat("é", previewWidth), 3, strings.Repeat("é", previewWidth)},
		{"of many characters", strings.Repeat("😀", 10*previewWidth), 3, strings.Repeat("😀", previewWidth) + "…"},
	}
	for _, tt := range tests {
		if got := Preview(tt.in, tt.lines); got != tt.want {
			t.Errorf("%s: Preview = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestScriptSum(t *testing.T) {
	base := Script{Name: "t", Path: "a.star", Source: "x", Libs: map[string]string{"lib/a.star": "1", "lib/b.star": "2"}}
	sum := base.Sum()
	if len(sum) != 64 || sum != base.Sum() {
		t.Errorf("Sum() = %q", sum)
	}
	renamed := base
	renamed.Name, renamed.Path, renamed.Hash = "u", "b.star", "old"
	if renamed.Sum() != sum {
		t.Errorf("another name gives another sum")
	}
	others := []Script{
		{Source: "y", Libs: base.Libs},
		{Source: "x"},
		{Source: "x", Libs: map[string]string{"lib/a.star": "1", "lib/b.star": "3"}},
		{Source: "x", Libs: map[string]string{"lib/a.star": "1", "lib/c.star": "2"}},
		{Source: "x", Libs: map[string]string{"lib/a.star1": "", "lib/b.star": "2"}},
		{Source: "x10:lib/a.star1:110:lib/b.star1:2"},
	}
	for i, s := range others {
		if s.Sum() == sum {
			t.Errorf("script %d has the same sum", i)
		}
	}
}

// TestScriptValue checks that a script is read back as it was kept, and that
// nothing else is one.
func TestScriptValue(t *testing.T) {
	for _, want := range []Script{
		{Name: "t", Path: "a.star", Source: "x", Libs: map[string]string{"lib/b.star": "2", "lib/a.star": "1"}},
		{},
	} {
		got, ok := ReadScript(want.Value())
		want.Hash = want.Sum()
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("ReadScript = %+v, %v, want %+v", got, ok, want)
		}
	}
	for _, v := range []value.Value{
		nil, "x", value.Tuple{"t", "a", "x"}, value.List{"t", "a", "x", &value.Dict{}}, value.Tuple{"t", "a", "x", nil}, value.Tuple{int64(1), "a", "x", &value.Dict{}},
		value.Tuple{"t", "a", []byte("x"), &value.Dict{}}, value.Tuple{"t", "a", "x", value.NewDict("lib", int64(1))},
	} {
		if s, ok := ReadScript(v); ok {
			t.Errorf("%v is read as the script %+v", v, s)
		}
	}
}
