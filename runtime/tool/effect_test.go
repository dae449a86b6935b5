package tool

import (
	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

import "testing"

func TestStepPath(t *testing.T) {
	tests := []struct {
		p    StepPath
		want string
	}{{nil, ""}, {StepPath{3}, "3"}, {StepPath{3, 1, 12}, "3.1.12"}}
	for _, tt := range tests {
		if got := tt.p.String(); got != tt.want {
			t.Errorf("StepPath%v.String() = %q, want %q", []int(tt.p), got, tt.want)
		}
	}
	parent := append(make(StepPath, 0, 8), 3)
	a, b := parent.Child(1), parent.Child(2)
	if a.String() != "3.1" || b.String() != "3.2" || parent.String() != "3" {
		t.Errorf("children of 3 are %s and %s, and it is %s now, want 3.1, 3.2 and 3", a, b, parent)
	}
}

func TestBind(t *testing.T) {
	f := Func{Name: "read", Params: []Param{
		required("path", Type{Name: TypeString}),
		{Name: "limit", Type: Type{Name: TypeInteger, Min: int64(1)}, Default: int64(10), HasDefault: true, Aliases: []string{"max"}},
		optional("encoding", Type{Name: TypeString}),
	}}
	tests := []struct {
		name       string
		positional []value.Value
		named      *value.Dict
		want       string
		err        string
	}{
		{"positional", value.List{"a", int64(3)}, nil, `{"path":"a","limit":3}`, ""},
		{"named, in the order of the parameters", nil, value.NewDict("limit", 3.0, "path", "a"), `{"path":"a","limit":3}`, ""},
		{"both", value.List{"a"}, value.NewDict("encoding", "utf-8"), `{"path":"a","limit":10,"encoding":"utf-8"}`, ""},
		{"an alias", value.List{"a"}, value.NewDict("max", int64(3)), `{"path":"a","limit":3}`, ""},
		{"defaults", value.List{"a"}, nil, `{"path":"a","limit":10}`, ""},
		{"null for an optional one", value.List{"a", nil, nil}, nil, `{"path":"a","limit":10,"encoding":null}`, ""},
		{"missing", nil, nil, "", `missing argument "path"`},
		{"null for a required one", value.List{nil}, nil, "", "argument 'path' should be string but got null"},
		{"too many", value.List{"a", int64(1), "b", "c"}, nil, "", "too many arguments: expected at most 3 but got 4"},
		{"unknown", value.List{"a"}, value.NewDict("limt", int64(1)), "", `unexpected argument "limt"; did you mean "limit"?`},
		{"twice", value.List{"a"}, value.NewDict("path", "b"), "", `argument "path" is given twice`},
		{"twice, by an alias", value.List{"a", int64(1)}, value.NewDict("max", int64(2)), "", `argument "limit" is given twice`},
		{"of a wrong type", value.List{int64(1)}, nil, "", "argument 'path' should be string but got number"},
		{"out of bounds", value.List{"a", int64(0)}, nil, "", "argument 'limit' must be >= 1 (got 0)"},
		{"beyond int64", value.List{"a", valuetest.Big("9223372036854775808")}, nil, "", "argument 'limit' must be <= 9223372036854775807 (got 9223372036854775808)"},
	}
	for _, tt := range tests {
		got, err := f.Bind(tt.positional, tt.named)
		switch {
		case tt.err != "":
			if err == nil || err.Error() != tt.err || value.KindOf(err) != value.Invalid {
				t.Errorf("%s: got %s, %v, want the error %s", tt.name, value.FormatJSON(got, ""), err, tt.err)
			}
		case err != nil || value.FormatJSON(got, "") != tt.want:
			t.Errorf("%s: got %s, %v, want %s", tt.name, value.FormatJSON(got, ""), err, tt.want)
		}
	}
}

// TestBindRest checks that a function that takes any named arguments gets them
// together, whatever they are called.
func TestBindRest(t *testing.T) {
	f := Func{Name: "call", Params: []Param{required("name", Type{Name: TypeString})}, Rest: "args"}
	tests := []struct {
		name       string
		positional []value.Value
		named      *value.Dict
		want       string
		err        string
	}{
		{"none", value.List{"a"}, nil, `{"name":"a","args":{}}`, ""},
		{"any", value.List{"a"}, value.NewDict("x", int64(1), "y", nil), `{"name":"a","args":{"x":1,"y":null}}`, ""},
		{"one with the name of a parameter", value.List{"a"}, value.NewDict("name", "b"), `{"name":"a","args":{"name":"b"}}`, ""},
		{"one with the name of them all", value.List{"a"}, value.NewDict("args", "b"), `{"name":"a","args":{"args":"b"}}`, ""},
		{"the parameter by its name", nil, value.NewDict("x", int64(1), "name", "a"), `{"name":"a","args":{"x":1}}`, ""},
		{"missing", nil, value.NewDict("x", int64(1)), "", `missing argument "name"`},
		{"too many by place", value.List{"a", "b"}, nil, "", "too many arguments: expected at most 1 but got 2"},
	}
	for _, tt := range tests {
		got, err := f.Bind(tt.positional, tt.named)
		switch {
		case tt.err != "":
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: got %s, %v, want the error %s", tt.name, value.FormatJSON(got, ""), err, tt.err)
			}
		case err != nil || value.FormatJSON(got, "") != tt.want:
			t.Errorf("%s: got %s, %v, want %s", tt.name, value.FormatJSON(got, ""), err, tt.want)
		}
	}
}

func TestBindVariadic(t *testing.T) {
	f := Func{Name: "sort", Params: []Param{Required("by", TypeCharacter, ""), Optional("descending", TypeBoolean, false, "")}, Mode: ModeVariadic}
	for _, tt := range []struct {
		given []value.Value
		named *value.Dict
		want  string
	}{
		{[]value.Value{"a"}, nil, `{"by":["a"],"descending":false}`},
		{[]value.Value{"a", "b"}, nil, `{"by":["a","b"],"descending":false}`},
		{[]value.Value{value.List{"a", "b"}}, value.NewDict("descending", true), `{"by":["a","b"],"descending":true}`},
		{[]value.Value{value.Tuple{"a"}}, nil, `{"by":["a"],"descending":false}`},
		{nil, value.NewDict("by", "a"), `{"by":["a"],"descending":false}`},
	} {
		args, err := f.Bind(tt.given, tt.named)
		if err != nil || value.FormatJSON(args, "") != tt.want {
			t.Errorf("Bind(%v, %v) = %v, %v, want %s", tt.given, tt.named, args, err, tt.want)
		}
	}
	for _, given := range [][]value.Value{nil, {"a", true}, {value.List{"a"}, "b"}} {
		if args, err := f.Bind(given, nil); err == nil {
			t.Errorf("Bind(%v) = %v, want an error", given, args)
		}
	}
}

func TestEffectKind(t *testing.T) {
	want := []string{"invalid", "pure", "recorded", "read", "write", "external", "repeatable", "notice", "invalid"}
	for i, name := range want {
		k := EffectKind(i)
		if k.String() != name || k.Valid() != (name != "invalid") {
			t.Errorf("kind %d is %q, valid %v, want %q", i, k, k.Valid(), name)
		}
	}
	if int(LastEffectKind) != len(want)-2 {
		t.Errorf("LastEffectKind is %d, want %d", LastEffectKind, len(want)-2)
	}
}
