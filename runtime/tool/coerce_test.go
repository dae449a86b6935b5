package tool

import (
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestCoerce(t *testing.T) {
	tests := []struct{ typ, in, want string }{
		{"int", "3", `3`}, {"int", " -3 ", `-3`}, {"int", "+3", `3`}, {"int", "3.0", `3.0`}, {"int", "1e3", `1000.0`}, {"int", "18446744073709551616", `18446744073709551616`},
		{"int", "007", `7`}, {"int", "three", `"three"`}, {"int", "", `""`}, {"int", "0x10", `"0x10"`}, {"int", "1_000", `"1_000"`}, {"int", "true", `"true"`}, {"int", "nan", `"nan"`}, {"int", "+-3", `"+-3"`},
		{"float", "3", `3`}, {"float", "3.5", `3.5`}, {"float", ".5", `0.5`}, {"float", "1e-3", `0.001`}, {"float", "18446744073709551617", `18446744073709551617`},
		{"float", "NaN", `"NaN"`}, {"float", "inf", `"inf"`}, {"float", ".inf", `".inf"`}, {"float", "Infinity", `"Infinity"`}, {"float", "0x1p4", `"0x1p4"`}, {"float", "1e999", `"1e999"`},
		{"bool", "true", `true`}, {"bool", "Yes", `true`}, {"bool", "on", `true`}, {"bool", "1", `true`}, {"logical", "FALSE", `false`}, {"bool", "off", `false`}, {"bool", "maybe", `"maybe"`}, {"bool", "", `""`},
		{"str", "3", `"3"`}, {"str", "null", `"null"`}, {"str", " a ", `" a "`}, {"str", "", `""`}, {"str | None", "null", `"null"`},
		{"int | None", "null", `null`}, {"int | None", "None", `null`}, {"int | None", "3", `3`},
		{"character", "a", `["a"]`}, {"character", "a, b", `["a","b"]`}, {"character", `["a,b"]`, `["a,b"]`}, {"character", "", `[]`},
		{"list[int]", "1,2", `[1,2]`}, {"list[int]", "1,x", `[1,"x"]`}, {"list[int]", "[1, 2]", `[1,2]`}, {"list[int]", "[1,", `"[1,"`}, {"list", "a,b", `["a","b"]`}, {"list", `{"a":1}`, `{"a":1}`},
		{"dict", `{"a": 1}`, `{"a":1}`}, {"dict", "a", `"a"`}, {"dict", `{"a":`, `"{\"a\":"`},
		{"any", "3", `3`}, {"any", "true", `true`}, {"any", "null", `null`}, {"any", `[1]`, `[1]`}, {"any", `"a"`, `"\"a\""`}, {"any", "text", `"text"`},
		{"geometry", "3", `"3"`},
	}
	for _, tt := range tests {
		tool := Tool{Name: "t", Params: []Param{required("x", typeOf(t, tt.typ))}}
		got, notes := tool.Coerce(value.NewDict("x", tt.in))
		v, _ := got.Get("x")
		if text := value.FormatJSON(v, ""); text != tt.want {
			t.Errorf("%s: %q was read as %s, want %s", tt.typ, tt.in, text, tt.want)
		}
		if changed := tt.want != value.FormatJSON(tt.in, ""); changed != (len(notes) == 1) {
			t.Errorf("%s: %q gave the notes %q", tt.typ, tt.in, notes)
		}
	}
}

func TestCoerceNotes(t *testing.T) {
	tool := Tool{Name: "t", Params: []Param{
		{Name: "n", Type: Type{Name: TypeInteger}, Aliases: []string{"count"}}, optional("s", Type{Name: TypeString}), optional("d", Type{Name: TypeObject}),
	}}
	long := `{"a": "` + strings.Repeat("x", 1000) + `"}`
	got, notes := tool.Coerce(value.NewDict("count", "3", "s", "4", "other", "5", "typed", int64(6), "d", long))
	if want := `{"count":3,"s":"4","other":"5","typed":6`; !strings.HasPrefix(value.FormatJSON(got, ""), want) {
		t.Errorf("got %.80s, want %s…", value.FormatJSON(got, ""), want)
	}
	want := []string{`count: read "3" as integer`, `d: read "{\"a\": \"` + strings.Repeat("x", 53) + `…" as object`}
	if !slices.Equal(notes, want) {
		t.Errorf("notes %q\nwant  %q", notes, want)
	}
	if got, notes := tool.Coerce(nil); got.Len() != 0 || notes != nil {
		t.Errorf("nothing was read as %s with %q", value.FormatJSON(got, ""), notes)
	}
}

// TestCoerceSchema checks that the types of a raw schema count, too.
func TestCoerceSchema(t *testing.T) {
	x := Tool{Name: "x", Description: "x", Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}}}`)}
	got, _ := x.Coerce(value.NewDict("n", "3", "s", "3", "other", "3"))
	if text := value.FormatJSON(got, ""); text != `{"n": 3, "s": "3", "other": "3"}` && text != `{"n":3,"s":"3","other":"3"}` {
		t.Errorf("Coerce = %s", text)
	}
}
