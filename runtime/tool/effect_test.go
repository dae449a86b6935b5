package tool

import "testing"

func TestPlace(t *testing.T) {
	tests := []struct {
		p    Place
		want string
	}{{nil, ""}, {Place{3}, "3"}, {Place{3, 1, 12}, "3.1.12"}}
	for _, tt := range tests {
		if got := tt.p.String(); got != tt.want {
			t.Errorf("Place%v.String() = %q, want %q", []int(tt.p), got, tt.want)
		}
	}
	parent := append(make(Place, 0, 8), 3)
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
		positional []Value
		named      *Dict
		want       string
		err        string
	}{
		{"positional", List{"a", int64(3)}, nil, `{"path":"a","limit":3}`, ""},
		{"named, in the order of the parameters", nil, NewDict("limit", 3.0, "path", "a"), `{"path":"a","limit":3}`, ""},
		{"both", List{"a"}, NewDict("encoding", "utf-8"), `{"path":"a","limit":10,"encoding":"utf-8"}`, ""},
		{"an alias", List{"a"}, NewDict("max", int64(3)), `{"path":"a","limit":3}`, ""},
		{"defaults", List{"a"}, nil, `{"path":"a","limit":10}`, ""},
		{"null for an optional one", List{"a", nil, nil}, nil, `{"path":"a","limit":10,"encoding":null}`, ""},
		{"missing", nil, nil, "", `missing argument "path"`},
		{"null for a required one", List{nil}, nil, "", "argument 'path' should be string but got null"},
		{"too many", List{"a", int64(1), "b", "c"}, nil, "", "takes at most 3 arguments, got 4"},
		{"unknown", List{"a"}, NewDict("limt", int64(1)), "", `unexpected argument "limt"; did you mean "limit"?`},
		{"twice", List{"a"}, NewDict("path", "b"), "", `argument "path" is given twice`},
		{"twice, by an alias", List{"a", int64(1)}, NewDict("max", int64(2)), "", `argument "limit" is given twice`},
		{"of a wrong type", List{int64(1)}, nil, "", "argument 'path' should be string but got number"},
		{"out of bounds", List{"a", int64(0)}, nil, "", "argument 'limit' must be >= 1 (got 0)"},
		{"beyond int64", List{"a", bigOf("9223372036854775808")}, nil, "", "argument 'limit' must be <= 9223372036854775807 (got 9223372036854775808)"},
	}
	for _, tt := range tests {
		got, err := f.Bind(tt.positional, tt.named)
		switch {
		case tt.err != "":
			if err == nil || err.Error() != tt.err || KindOf(err) != Invalid {
				t.Errorf("%s: got %s, %v, want the error %s", tt.name, FormatJSON(got, ""), err, tt.err)
			}
		case err != nil || FormatJSON(got, "") != tt.want:
			t.Errorf("%s: got %s, %v, want %s", tt.name, FormatJSON(got, ""), err, tt.want)
		}
	}
}

// TestBindRest checks that a function that takes any named arguments gets them
// together, whatever they are called.
func TestBindRest(t *testing.T) {
	f := Func{Name: "call", Params: []Param{required("name", Type{Name: TypeString})}, Rest: "args"}
	tests := []struct {
		name       string
		positional []Value
		named      *Dict
		want       string
		err        string
	}{
		{"none", List{"a"}, nil, `{"name":"a","args":{}}`, ""},
		{"any", List{"a"}, NewDict("x", int64(1), "y", nil), `{"name":"a","args":{"x":1,"y":null}}`, ""},
		{"one with the name of a parameter", List{"a"}, NewDict("name", "b"), `{"name":"a","args":{"name":"b"}}`, ""},
		{"one with the name of them all", List{"a"}, NewDict("args", "b"), `{"name":"a","args":{"args":"b"}}`, ""},
		{"the parameter by its name", nil, NewDict("x", int64(1), "name", "a"), `{"name":"a","args":{"x":1}}`, ""},
		{"missing", nil, NewDict("x", int64(1)), "", `missing argument "name"`},
		{"too many by place", List{"a", "b"}, nil, "", "takes at most 1 arguments, got 2"},
	}
	for _, tt := range tests {
		got, err := f.Bind(tt.positional, tt.named)
		switch {
		case tt.err != "":
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: got %s, %v, want the error %s", tt.name, FormatJSON(got, ""), err, tt.err)
			}
		case err != nil || FormatJSON(got, "") != tt.want:
			t.Errorf("%s: got %s, %v, want %s", tt.name, FormatJSON(got, ""), err, tt.want)
		}
	}
}

func TestBindVariadic(t *testing.T) {
	f := Func{Name: "sort", Params: []Param{Required("by", TypeCharacter, ""), Optional("descending", TypeBoolean, false, "")}, Variadic: true}
	for _, tt := range []struct {
		given []Value
		named *Dict
		want  string
	}{
		{[]Value{"a"}, nil, `{"by":["a"],"descending":false}`},
		{[]Value{"a", "b"}, nil, `{"by":["a","b"],"descending":false}`},
		{[]Value{List{"a", "b"}}, NewDict("descending", true), `{"by":["a","b"],"descending":true}`},
		{[]Value{Tuple{"a"}}, nil, `{"by":["a"],"descending":false}`},
		{nil, NewDict("by", "a"), `{"by":["a"],"descending":false}`},
	} {
		args, err := f.Bind(tt.given, tt.named)
		if err != nil || FormatJSON(args, "") != tt.want {
			t.Errorf("Bind(%v, %v) = %v, %v, want %s", tt.given, tt.named, args, err, tt.want)
		}
	}
	for _, given := range [][]Value{nil, {"a", true}, {List{"a"}, "b"}} {
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
