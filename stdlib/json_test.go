package stdlib

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func pureBig(digits string) *big.Int {
	i, _ := new(big.Int).SetString(digits, 10)
	return i
}

func pureNaN() float64 { return math.NaN() }

func pureInf() float64 { return math.Inf(1) }

func TestJSON(t *testing.T) {
	val := value.NewDict("b", value.List{int64(1), 1.5, nil, true}, "a", value.NewDict(), "é", value.List{}, "q", `"{[,:\`)
	pureTable(t, true, []pureCase{
		{fn: "json.encode", args: []any{val}, want: `{"b":[1,1.5,null,true],"a":{},"é":[],"q":"\"{[,:\\"}`},
		{fn: "json.encode", args: []any{val, "  "}, want: `{
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
		{fn: "json.encode", args: []any{value.List{int64(1)}, int64(1)}, want: "[\n 1\n]"},
		{fn: "json.encode", args: []any{value.List{int64(1)}, 1.0}, want: "[\n 1\n]"},
		{fn: "json.encode", args: []any{value.List{int64(1)}, nil}, want: "[1]"},
		{fn: "json.encode", args: []any{nil}, want: "null"},
		{fn: "json.encode", args: []any{pureBig("12345678901234567890")}, want: "12345678901234567890"},
		{fn: "json.encode", args: []any{int64(1), "--"}, err: "spaces or tabs"},
		{fn: "json.encode", args: []any{int64(1), int64(-1)}, err: "spaces or tabs"},
		{fn: "json.encode", args: []any{int64(1), 1.5}, err: "spaces or tabs"},
		{fn: "json.encode", args: []any{pureNaN()}, err: "NaN"},
		{fn: "json.encode", args: []any{}, err: `missing argument "value"`},

		{fn: "json.decode", args: []any{` {"b": [1, 1.0, 1e2], "a": "\u00e9"} `},
			want: value.NewDict("b", value.List{int64(1), 1.0, 100.0}, "a", "é")},
		{fn: "json.decode", args: []any{"\ufeff[]"}, want: value.List{}},
		{fn: "json.decode", args: []any{"{\n  broken"}, err: "line 2, column 3"},
		{fn: "json.decode", args: []any{""}, err: "ends where a value"},
		{fn: "json.decode", args: []any{`{"a":1,"a":2}`}, err: "given twice"},
		{fn: "json.decode", args: []any{"[1] x"}, err: "invalid JSON"},
		{fn: "json.decode", args: []any{"broken", "otherwise"}, want: "otherwise"},
		{fn: "json.decode", args: []any{"broken", nil}, want: nil},
		{fn: "json.decode", args: []any{"broken", pureNamed{"default", nil}}, want: nil},
		{fn: "json.decode", args: []any{"[1]", nil}, want: value.List{int64(1)}},
		{fn: "json.decode", args: []any{strings.Repeat("[", 1000), "otherwise"}, err: "nested more than"},

		{fn: "json.indent", args: []any{`{"a":[1,{}],"b":[]}`}, want: "{\n\t\"a\": [\n\t\t1,\n\t\t{}\n\t],\n\t\"b\": []\n}"},
		{fn: "json.indent", args: []any{`[1]`, int64(2)}, want: "[\n  1\n]"},
		{fn: "json.indent", args: []any{`[1`}, err: "invalid JSON"},
	})
}

func FuzzJSONDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\n\u00e9",null,true]}`, "[[[[", `"\ud800"`, "1e999", `{"":{"":0}}`, "\ufeff-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		v, err := pureCall(t, "json.decode", text)
		if err != nil {
			return
		}
		for _, indent := range []value.Value{"", "\t", int64(3)} {
			encoded := pureMust(t, "json.encode", v, indent)
			if back := pureMust(t, "json.decode", encoded); !value.Equal(back, v) {
				t.Errorf("decode(encode(%s)) = %s", pureShow(v), pureShow(back))
			}
		}
	})
}
