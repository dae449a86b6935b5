package tool

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestParseType(t *testing.T) {
	arrayOf := func(t Type) Type { return Type{Name: TypeArray, Items: &t} }
	objectOf := func(t Type) Type { return Type{Name: TypeObject, Values: &t} }
	str := Type{Name: TypeString}
	tests := []struct {
		in         string
		want       Type
		annotation bool // whether it may stand in a signature
	}{
		{"str", str, true}, {"int", Type{Name: TypeInteger}, true}, {"float", Type{Name: TypeNumber}, true}, {"bool", Type{Name: TypeBoolean}, true},
		{"any", Type{Name: TypeAny}, true}, {"Any", Type{Name: TypeAny}, true}, {"dict", Type{Name: TypeObject}, true}, {"tuple", Type{Name: TypeArray}, true}, {"set", Type{Name: TypeArray}, true},
		{"string", str, true}, {"character", Type{Name: TypeCharacter}, true}, {"number", Type{Name: TypeNumber}, true}, {"integer", Type{Name: TypeInteger}, true},
		{"logical", Type{Name: TypeLogical}, true}, {"boolean", Type{Name: TypeBoolean}, true}, {"array", Type{Name: TypeArray}, true}, {"object", Type{Name: TypeObject}, true},
		{"list", Type{Name: TypeList}, false}, // D43 in a declaration; an array in a signature
		{"list[str]", arrayOf(str), true}, {"array<string>", arrayOf(str), true}, {"list[list[int]]", arrayOf(arrayOf(Type{Name: TypeInteger})), true},
		{"tuple[int]", arrayOf(Type{Name: TypeInteger}), true}, {" list [ str ] ", arrayOf(str), true}, {"list[\n  str\n]", arrayOf(str), true},
		{"dict[str, int]", objectOf(Type{Name: TypeInteger}), true}, {"dict[str, dict[str, any]]", objectOf(objectOf(Type{Name: TypeAny})), true},
		{"str | None", Type{Name: TypeString, Nullable: true}, true}, {"None | str", Type{Name: TypeString, Nullable: true}, true}, {"str|null", Type{Name: TypeString, Nullable: true}, true},
		{"str | None | None", Type{Name: TypeString, Nullable: true}, true}, {"list[str | None] | None", Type{Name: TypeArray, Nullable: true, Items: &Type{Name: TypeString, Nullable: true}}, true},
		{"geometry", Type{Name: "geometry"}, false},
	}
	for _, tt := range tests {
		if got, err := ParseType(tt.in); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ParseType(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
		got, err := ParseAnnotation(tt.in)
		switch {
		case tt.annotation && (err != nil || !reflect.DeepEqual(got, tt.want)):
			t.Errorf("ParseAnnotation(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		case tt.in == "list" && (err != nil || got.Name != TypeArray):
			t.Errorf("ParseAnnotation(list) = %+v, %v, want an array", got, err)
		case tt.in == "geometry" && err == nil:
			t.Errorf("ParseAnnotation(geometry) = %+v, want an error", got)
		}
	}
}

func TestParseAnnotationRefuses(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", `type "": expected a type, as in list[str]`},
		{"  ", `type "": expected a type, as in list[str]`},
		{"strr", `unknown type "strr"; did you mean "str"?`},
		{"strng", `unknown type "strng"; did you mean "str"?`}, {"interger", `unknown type "interger"; did you mean "int"?`}, {"tupel", `unknown type "tupel"; did you mean "tuple"?`},
		{"Str", `unknown type "Str"; did you mean "str"?`},
		{"None", `type "None": None alone is not a type`},
		{"str | int", `type "str | int": the only supported union is T | None; write any instead`},
		{"str |", `type "str |": expected a type, as in list[str]`},
		{"list[str", `type "list[str": expected a comma or ] but got the end of the type`},
		{"list[str>", `type "list[str>": expected a comma or ] but got ">"`},
		{"list[]", `type "list[]": unknown type "]"`},
		{"list[str, int]", `type "list[str, int]": unexpected number of types in the brackets of list: 2`},
		{"str[int]", `type "str[int]": unexpected number of types in the brackets of str: 1`},
		{"dict[int, str]", `type "dict[int, str]": the keys of a dict must be str, as in dict[str, int]`},
		{"dict[str]", `type "dict[str]": unexpected number of types in the brackets of dict: 1`},
		{"str]", `type "str]": unexpected "]"`},
		{"str str", `type "str str": unexpected "str"`},
		{"é", `unknown type "é"`},
		{"str = 3", `type "str = 3": unexpected "="`},
		{strings.Repeat("list[", 20), "the type is nested more than 16 levels deep"},
	}
	for _, tt := range tests {
		got, err := ParseAnnotation(tt.in)
		if err == nil {
			t.Errorf("ParseAnnotation(%q) = %+v, want an error", tt.in, got)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) || value.KindOf(err) != value.Invalid || !strings.HasPrefix(value.ErrorOf(err, value.Internal).Hint, "use str, int") {
			t.Errorf("ParseAnnotation(%q)\n got %v (hint %q)\nwant %s", tt.in, err, value.ErrorOf(err, value.Internal).Hint, tt.want)
		}
	}
}

func TestTypeString(t *testing.T) {
	for in, want := range map[string]string{
		"str": "string", "list[str]": "array of string", "dict[str, int]": "object of integer", "str | None": "string or null", "list[str | None] | None": "array of (string or null) or null",
		"character": "character", "list": "list", "dict": "object", "any": "any", "geometry": "geometry",
	} {
		if got := typeOf(t, in).String(); got != want {
			t.Errorf("%s: String() = %q, want %q", in, got, want)
		}
	}
	if got := (Type{}).String(); got != "any" {
		t.Errorf("Type{}.String() = %q, want any", got)
	}
}

func TestTypeKnown(t *testing.T) {
	for _, name := range append(TypeNames(), "") {
		if !(Type{Name: name}).Known() {
			t.Errorf("%q is not known", name)
		}
	}
	if (Type{Name: "geometry"}).Known() {
		t.Errorf("geometry is known")
	}
}

func FuzzParseType(f *testing.F) {
	for _, s := range []string{"str", "list[str]", "dict[str, list[int | None]] | None", "array<string>", "a|b", "list[", "é", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		annotated, errA := ParseAnnotation(text)
		typ, errT := ParseType(text)
		if errA == nil && errT != nil {
			t.Fatalf("ParseAnnotation(%q) = %v, but ParseType: %v", text, annotated, errT)
		}
		if errT != nil {
			return
		}
		if _, err := value.AppendJSON(nil, typ.JSONSchema()); err != nil {
			t.Fatalf("the schema of %q: %v", text, err)
		}
	})
}
