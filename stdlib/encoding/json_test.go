package encoding

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestJSON(t *testing.T) {
	val := value.NewDict("b", value.List{int64(1), 1.5, nil, true}, "a", value.NewDict(), "é", value.List{}, "q", `"{[,:\`)
	rowtest.Table(t, modules(), true, []rowtest.Case{
		{Fn: "json.encode", Args: []any{val}, Want: `{"b":[1,1.5,null,true],"a":{},"é":[],"q":"\"{[,:\\"}`},
		{Fn: "json.encode", Args: []any{val, "  "}, Want: `{
  "b": [
    1,
    1.5,
    null,
    true
  ],
  "a": {},
  "é": [],
  "q": "\"{[,:\\"
}`},
		{Fn: "json.encode", Args: []any{value.List{int64(1)}, int64(1)}, Want: "[\n 1\n]"},
		{Fn: "json.encode", Args: []any{value.List{int64(1)}, 1.0}, Want: "[\n 1\n]"},
		{Fn: "json.encode", Args: []any{value.List{int64(1)}, nil}, Want: "[1]"},
		{Fn: "json.encode", Args: []any{nil}, Want: "null"},
		{Fn: "json.encode", Args: []any{rowtest.Big("12345678901234567890")}, Want: "12345678901234567890"},
		{Fn: "json.encode", Args: []any{int64(1), "--"}, Err: "spaces or tabs"},
		{Fn: "json.encode", Args: []any{int64(1), int64(-1)}, Err: "spaces or tabs"},
		{Fn: "json.encode", Args: []any{int64(1), 1.5}, Err: "spaces or tabs"},
		{Fn: "json.encode", Args: []any{rowtest.NaN()}, Err: "NaN"},
		{Fn: "json.encode", Args: []any{}, Err: `missing argument "value"`},

		{Fn: "json.decode", Args: []any{` {"b": [1, 1.0, 1e2], "a": "\u00e9"} `},
			Want: value.NewDict("b", value.List{int64(1), 1.0, 100.0}, "a", "é")},
		{Fn: "json.decode", Args: []any{"\ufeff[]"}, Want: value.List{}},
		{Fn: "json.decode", Args: []any{"{\n  broken"}, Err: "line 2, column 3"},
		{Fn: "json.decode", Args: []any{""}, Err: "expected a value but got the end of the text"},
		{Fn: "json.decode", Args: []any{`{"a":1,"a":2}`}, Err: "given twice"},
		{Fn: "json.decode", Args: []any{"[1] x"}, Err: "invalid JSON"},
		{Fn: "json.decode", Args: []any{"broken", "otherwise"}, Want: "otherwise"},
		{Fn: "json.decode", Args: []any{"broken", nil}, Want: nil},
		{Fn: "json.decode", Args: []any{"broken", rowtest.Named("default", nil)}, Want: nil},
		{Fn: "json.decode", Args: []any{"[1]", nil}, Want: value.List{int64(1)}},
		{Fn: "json.decode", Args: []any{strings.Repeat("[", 1000), "otherwise"}, Err: "nested more than"},

		{Fn: "json.indent", Args: []any{`{"a":[1,{}],"b":[]}`}, Want: "{\n\t\"a\": [\n\t\t1,\n\t\t{}\n\t],\n\t\"b\": []\n}"},
		{Fn: "json.indent", Args: []any{`[1]`, int64(2)}, Want: "[\n  1\n]"},
		{Fn: "json.indent", Args: []any{`[1`}, Err: "invalid JSON"},
	})
}

func FuzzJSONDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\n\u00e9",null,true]}`, "[[[[", `"\ud800"`, "1e999", `{"":{"":0}}`, "\ufeff-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		v, err := rowtest.Call(t, modules(), "json.decode", text)
		if err != nil {
			return
		}
		for _, indent := range []value.Value{"", "\t", int64(3)} {
			encoded := rowtest.Must(t, modules(), "json.encode", v, indent)
			if back := rowtest.Must(t, modules(), "json.decode", encoded); !value.Equal(back, v) {
				t.Errorf("decode(encode(%s)) = %s", rowtest.Show(v), rowtest.Show(back))
			}
		}
	})
}
