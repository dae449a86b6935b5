package tool

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// readAll parses JSON that is part of a test.
func readAll(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// readArgs parses arguments that are part of a test; "" means no arguments.
func readArgs(t testing.TB, text string) *value.Dict {
	t.Helper()
	if text == "" {
		return nil
	}
	return readAll(t, text).(*value.Dict)
}

func size(n int) *int { return &n }

// typeOf reads a type that is part of a test.
func typeOf(t testing.TB, text string) Type {
	t.Helper()
	typ, err := ParseType(text)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func required(name string, typ Type) Param { return Param{Name: name, Type: typ, Required: true} }
func optional(name string, typ Type) Param { return Param{Name: name, Type: typ} }

// checkCase is one call of a tool named t: what the check gives back, or the
// problems that it reports.
type checkCase struct {
	name     string // begins with the row of the specification
	params   []Param
	args     string
	want     string   // the checked arguments
	problems []string // or what is wrong
}

func runCheck(t *testing.T, tt checkCase) {
	t.Helper()
	tool := Tool{Name: "t", Description: "d", Params: tt.params}
	got, err := tool.Check(readArgs(t, tt.args))
	if len(tt.problems) == 0 {
		if err != nil {
			t.Errorf("%s: Check(%s): %v", tt.name, tt.args, err)
		} else if text := value.FormatJSON(got, ""); text != tt.want {
			t.Errorf("%s: Check(%s) = %s, want %s", tt.name, tt.args, text, tt.want)
		}
		return
	}
	want := "Tool input validation failed for 't':\n  - " + strings.Join(tt.problems, "\n  - ")
	if err == nil {
		t.Errorf("%s: Check(%s) = %s, want\n%s", tt.name, tt.args, value.FormatJSON(got, ""), want)
	} else if err.Error() != want || value.KindOf(err) != value.Invalid {
		t.Errorf("%s: Check(%s)\n got %v (kind %d)\nwant %s (kind %d)", tt.name, tt.args, err, value.KindOf(err), want, value.Invalid)
	}
}

// TestCheckTypes goes through the rows of SPEC D and of "What holds".
func TestCheckTypes(t *testing.T) {
	one := func(typ string) []Param { return []Param{required("x", typeOf(t, typ))} }
	bad := func(text string) []string { return []string{"Parameter 'x' " + text} }
	tests := []checkCase{
		{"D38 string", one("string"), `{"x":"a"}`, `{"x":"a"}`, nil},
		{"D38 string, empty", one("string"), `{"x":""}`, `{"x":""}`, nil},
		{"D38 string is exactly one", one("string"), `{"x":["a"]}`, ``, bad("should be string but got array")},
		{"D38 string is no number", one("string"), `{"x":1}`, ``, bad("should be string but got number")},
		{"D39 C3 character", one("character"), `{"x":["a","b"]}`, `{"x":["a","b"]}`, nil},
		{"D39 C3 character, empty", one("character"), `{"x":[]}`, `{"x":[]}`, nil},
		{"D39 C3 character, lone string", one("character"), `{"x":"a"}`, `{"x":["a"]}`, nil},
		{"C3 character names the index", one("character"), `{"x":["a",2,null]}`, ``,
			[]string{"Parameter 'x'[1] should be string but got number", "Parameter 'x'[2] should be string but got null"}},
		{"C3 character is no number", one("character"), `{"x":3}`, ``, bad("should be character but got number (give a list of strings)")},
		{"C3 character is no object", one("character"), `{"x":{}}`, ``, bad("should be character but got object (give a list of strings)")},
		{"C3 alias array<string>", one("array<string>"), `{"x":["a"]}`, `{"x":["a"]}`, nil},
		{"C3 array<string> takes no lone string", one("array<string>"), `{"x":"a"}`, ``, bad("should be array of string but got string")},
		{"D40 number, integer", one("number"), `{"x":3}`, `{"x":3}`, nil},
		{"D40 number, double", one("number"), `{"x":3.5}`, `{"x":3.5}`, nil},
		{"D40 number, beyond int64", one("number"), `{"x":18446744073709551616}`, `{"x":18446744073709551616}`, nil},
		{"C4 number is scalar", one("number"), `{"x":[1]}`, ``, bad("should be number but got array")},
		{"C4 strings are not coerced", one("number"), `{"x":"3"}`, ``, bad("should be number but got string")},
		{"C4 booleans are never numbers", one("number"), `{"x":true}`, ``, bad("should be number but got boolean")},
		{"D41 integer", one("integer"), `{"x":3}`, `{"x":3}`, nil},
		{"C4 3.0 is an integer", one("integer"), `{"x":3.0}`, `{"x":3}`, nil},
		{"C4 -0.0 is an integer", one("integer"), `{"x":-0.0}`, `{"x":0}`, nil},
		{"C4 1e3 is an integer", one("integer"), `{"x":1e3}`, `{"x":1000}`, nil},
		{"C4 3.5 is not an integer", one("integer"), `{"x":3.5}`, ``, bad("should be integer but got number")},
		{"C4 booleans are never integers", one("integer"), `{"x":false}`, ``, bad("should be integer but got boolean")},
		{"C4 int64, greatest", one("integer"), `{"x":9223372036854775807}`, `{"x":9223372036854775807}`, nil},
		{"C4 int64, least", one("integer"), `{"x":-9223372036854775808}`, `{"x":-9223372036854775808}`, nil},
		{"C4 beyond int64", one("integer"), `{"x":9223372036854775808}`, ``, bad("must be <= 9223372036854775807 (got 9223372036854775808)")},
		{"C4 below int64", one("integer"), `{"x":-9223372036854775809}`, ``, bad("must be >= -9223372036854775808 (got -9223372036854775809)")},
		{"C4 1e20 is beyond int64", one("integer"), `{"x":1e20}`, ``, bad("must be <= 9223372036854775807 (got 100000000000000000000)")},
		{"D42 logical", one("logical"), `{"x":true}`, `{"x":true}`, nil},
		{"D42 boolean", one("boolean"), `{"x":false}`, `{"x":false}`, nil},
		{"C4 1 is not logical", one("logical"), `{"x":1}`, ``, bad("should be logical but got number")},
		{"C4 a string is not logical", one("boolean"), `{"x":"true"}`, ``, bad("should be boolean but got string")},
		{"D43 list, array", one("list"), `{"x":[1]}`, `{"x":[1]}`, nil},
		{"D43 list, object", one("list"), `{"x":{"a":1}}`, `{"x":{"a":1}}`, nil},
		{"D43 list is no string", one("list"), `{"x":"a"}`, ``, bad("should be list but got string")},
		{"D44 any", one("any"), `{"x":[{"a":null}]}`, `{"x":[{"a":null}]}`, nil},
		{"D44 unknown type passes", one("geometry"), `{"x":{"a":1}}`, `{"x":{"a":1}}`, nil},
		{"D45 array", one("array"), `{"x":[1,"a"]}`, `{"x":[1,"a"]}`, nil},
		{"D45 array is no object", one("array"), `{"x":{}}`, ``, bad("should be array but got object")},
		{"D45 object", one("object"), `{"x":{"a":1}}`, `{"x":{"a":1}}`, nil},
		{"D45 object is no array", one("object"), `{"x":[]}`, ``, bad("should be object but got array")},
		{"D45 items", one("list[int]"), `{"x":[1,2.0]}`, `{"x":[1,2]}`, nil},
		{"D45 items, each is reported", one("list[list[int]]"), `{"x":[[1],["a",true]]}`, ``,
			[]string{"Parameter 'x'[1][0] should be integer but got string", "Parameter 'x'[1][1] should be integer but got boolean"}},
		{"D45 values", one("dict[str, int]"), `{"x":{"a":1,"b":2.0}}`, `{"x":{"a":1,"b":2}}`, nil},
		{"D45 values, each is reported", one("dict[str, list[str]]"), `{"x":{"a":[1]}}`, ``, []string{"Parameter 'x'.a[0] should be string but got number"}},
		{"null in a list of any", one("list[any]"), `{"x":[null]}`, `{"x":[null]}`, nil},
		{"null in a list of strings", one("list[str]"), `{"x":[null]}`, ``, []string{"Parameter 'x'[0] should be string but got null"}},
		{"null in a list of nullable", one("list[str | None]"), `{"x":[null,"a"]}`, `{"x":[null,"a"]}`, nil},
		{"nullable says so", one("str | None"), `{"x":1}`, ``, bad("should be string or null but got number")},
	}
	for _, tt := range tests {
		runCheck(t, tt)
	}
}

func TestCheckFields(t *testing.T) {
	point := Type{Name: TypeObject, Fields: []Param{
		required("lat", typeOf(t, "float")),
		required("lon", typeOf(t, "float")),
		optional("name", typeOf(t, "str")),
		{Name: "zoom", Type: typeOf(t, "int"), Aliases: []string{"level"}},
	}}
	params := []Param{required("at", point)}
	path := []Param{required("path", Type{Name: TypeArray, Items: &point})}
	tests := []checkCase{
		{"D45 properties", params, `{"at":{"lat":1,"lon":2.5,"name":"a","zoom":3.0}}`, `{"at":{"lat":1,"lon":2.5,"name":"a","zoom":3}}`, nil},
		{"D45 others are let be", params, `{"at":{"lat":1,"lon":2,"extra":[1]}}`, `{"at":{"lat":1,"lon":2,"extra":[1]}}`, nil},
		{"D45 an alias", params, `{"at":{"lat":1,"lon":2,"level":3.0}}`, `{"at":{"lat":1,"lon":2,"zoom":3}}`, nil},
		{"D45 an alias as well", params, `{"at":{"lat":1,"lon":2,"level":3,"zoom":3}}`, ``, []string{"Parameter 'at'.level is a duplicate: 'zoom' is the same field"}},
		{"D45 null for an optional field", params, `{"at":{"lat":1,"lon":2,"name":null}}`, `{"at":{"lat":1,"lon":2}}`, nil},
		{"D45 null for a required field", params, `{"at":{"lat":1,"lon":null}}`, ``, []string{"Parameter 'at'.lon should be number but got null"}},
		{"D45 required fields", params, `{"at":{}}`, ``, []string{"Parameter 'at' lacks the required field 'lat'", "Parameter 'at' lacks the required field 'lon'"}},
		{"D45 all the way down", path, `{"path":[{"lat":1,"lon":2},{"lat":"x","name":1}]}`, ``,
			[]string{"Parameter 'path'[1].lat should be number but got string", "Parameter 'path'[1].name should be string but got number", "Parameter 'path'[1] lacks the required field 'lon'"}},
	}
	for _, tt := range tests {
		runCheck(t, tt)
	}
	tool := Tool{Name: "t", Params: params}
	odd := value.NewDict("lat", 1.0, "lon", 1.0)
	if err := odd.Set(int64(1), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Check(value.NewDict("at", odd)); err == nil || !strings.Contains(err.Error(), "Parameter 'at' has a key of type number") {
		t.Errorf("a key that is a number: got %v", err)
	}
}

// TestCheckInput goes through the rows of SPEC E and of "What holds".
func TestCheckInput(t *testing.T) {
	str, num, whole := typeOf(t, "str"), typeOf(t, "float"), typeOf(t, "int")
	with := func(typ Type, change func(*Type)) []Param {
		change(&typ)
		return []Param{required("x", typ)}
	}
	bad := func(text string) []string { return []string{"Parameter 'x' " + text} }
	minMax := with(num, func(t *Type) { t.Min, t.Max = int64(1), 2.5 })
	lengths := with(str, func(t *Type) { t.MinLength, t.MaxLength = size(2), size(3) })
	enum := with(str, func(t *Type) { t.Enum = []value.Value{"a", "b"} })
	numbers := with(num, func(t *Type) { t.Enum = []value.Value{int64(1), 2.5} })
	file := []Param{{Name: "filepath", Type: str, Required: true, Aliases: []string{"path", "file_path"}}}
	tests := []checkCase{
		{"E46 missing", []Param{required("x", num)}, `{}`, ``, []string{"Missing required parameter: x"}},
		{"E46 missing, no arguments at all", []Param{required("x", num)}, ``, ``, []string{"Missing required parameter: x"}},
		{"E46 no type check on it", []Param{required("x", num), required("y", num)}, `{"y":1}`, ``, []string{"Missing required parameter: x"}},
		{"E46 C5 null for required", []Param{required("x", num)}, `{"x":null}`, ``, []string{"Missing required parameter: x"}},
		{"E46 C5 null for required any", []Param{required("x", Type{})}, `{"x":null}`, ``, []string{"Missing required parameter: x"}},
		{"C5 null where null is a value", []Param{required("x", typeOf(t, "str | None"))}, `{"x":null}`, `{"x":null}`, nil},
		{"E46 such a one must still be given", []Param{required("x", typeOf(t, "str | None"))}, `{}`, ``, []string{"Missing required parameter: x"}},
		{"C5 E53 null for optional is absence", []Param{optional("x", num)}, `{"x":null}`, `{}`, nil},
		{"C5 null for optional means the default", []Param{{Name: "x", Type: num, Default: 2.0, HasDefault: true}}, `{"x":null}`, `{"x":2.0}`, nil},
		{"C5 also where null is a value", []Param{{Name: "x", Type: typeOf(t, "str | None"), Default: "d", HasDefault: true}}, `{"x":null}`, `{"x":"d"}`, nil},
		{"E53 optional absent", []Param{optional("x", num)}, `{}`, `{}`, nil},
		{"E53 a default of null is filled in", []Param{{Name: "x", Type: num, HasDefault: true}}, `{}`, `{"x":null}`, nil},
		{"C32 E53 default", []Param{{Name: "x", Type: num, Default: int64(5), HasDefault: true}}, `{}`, `{"x":5}`, nil},
		{"E47 mismatch", []Param{required("x", str)}, `{"x":{}}`, ``, bad("should be string but got object")},
		{"E48 least", minMax, `{"x":1}`, `{"x":1}`, nil},
		{"E48 greatest", minMax, `{"x":2.5}`, `{"x":2.5}`, nil},
		{"E48 min", minMax, `{"x":0}`, ``, bad("must be >= 1 (got 0)")},
		{"E48 min, a float", minMax, `{"x":0.5}`, ``, bad("must be >= 1 (got 0.5)")},
		{"E48 max", minMax, `{"x":3}`, ``, bad("must be <= 2.5 (got 3)")},
		{"E48 not on strings", with(str, func(t *Type) { t.Min, t.Max = int64(5), int64(6) }), `{"x":"0"}`, `{"x":"0"}`, nil},
		{"E48 not on booleans", with(typeOf(t, "bool"), func(t *Type) { t.Min = int64(5) }), `{"x":false}`, `{"x":false}`, nil},
		{"E48 on any that is a number", with(Type{}, func(t *Type) { t.Min = int64(5) }), `{"x":4}`, ``, bad("must be >= 5 (got 4)")},
		{"E48 big integers, exactly", with(num, func(t *Type) { t.Max = int64(math.MaxInt64) }), `{"x":9223372036854775808}`, ``, bad("must be <= 9223372036854775807 (got 9223372036854775808)")},
		{"E48 big bounds, exactly", with(num, func(t *Type) { t.Min = valuetest.Big("9223372036854775809") }), `{"x":9223372036854775808}`, ``, bad("must be >= 9223372036854775809 (got 9223372036854775808)")},
		{"E48 integers and floats, exactly", with(whole, func(t *Type) { t.Max = 9007199254740992.0 }), `{"x":9007199254740993}`, ``, bad("must be <= 9007199254740992.0 (got 9007199254740993)")},
		{"E49 pattern, unanchored", with(str, func(t *Type) { t.Pattern = "[0-9]+" }), `{"x":"a1b"}`, `{"x":"a1b"}`, nil},
		{"E49 pattern", with(str, func(t *Type) { t.Pattern = "^[a-z]+$" }), `{"x":"A"}`, ``, bad("must match pattern: ^[a-z]+$")},
		{"E49 pattern of each string", with(typeOf(t, "character"), func(t *Type) { t.Pattern = "^a" }), `{"x":["a","b"]}`, ``, []string{"Parameter 'x'[1] must match pattern: ^a"}},
		{"E49 pattern of a lone string", with(typeOf(t, "character"), func(t *Type) { t.Pattern = "^a" }), `{"x":"b"}`, ``, bad("must match pattern: ^a")},
		{"lengths", lengths, `{"x":"日本語"}`, `{"x":"日本語"}`, nil},
		{"min_length", lengths, `{"x":"a"}`, ``, bad("must have at least 2 characters (got 1)")},
		{"max_length", lengths, `{"x":"abcd"}`, ``, bad("must have at most 3 characters (got 4)")},
		{"lengths of a list", with(typeOf(t, "list[int]"), func(t *Type) { t.MinLength = size(1) }), `{"x":[]}`, ``, bad("must have at least 1 items (got 0)")},
		{"lengths of character", with(typeOf(t, "character"), func(t *Type) { t.MaxLength = size(1) }), `{"x":["a","b"]}`, ``, bad("must have at most 1 items (got 2)")},
		{"E50 enum", enum, `{"x":"b"}`, `{"x":"b"}`, nil},
		{"E50 enum, not", enum, `{"x":"c"}`, ``, bad("must be one of: a, b (got c)")},
		{"E50 enum of numbers", numbers, `{"x":1.0}`, `{"x":1.0}`, nil},
		{"E50 enum of numbers, not", numbers, `{"x":2}`, ``, bad("must be one of: 1, 2.5 (got 2)")},
		{"Defect 5 enum with a vector", enum, `{"x":["a","b"]}`, ``, bad("should be string but got array")},
		{"Defect 5 enum of each string", with(typeOf(t, "character"), func(t *Type) { t.Enum = []value.Value{"a", "b"} }), `{"x":["a","c","b"]}`, ``, []string{"Parameter 'x'[1] must be one of: a, b (got c)"}},
		{"Defect 5 enum of lists", with(typeOf(t, "list[int]"), func(t *Type) { t.Enum = []value.Value{value.List{int64(1), int64(2)}} }), `{"x":[1.0,2]}`, `{"x":[1,2]}`, nil},
		{"Defect 5 enum of lists, not", with(typeOf(t, "list[int]"), func(t *Type) { t.Enum = []value.Value{value.List{int64(1)}} }), `{"x":[1,2]}`, ``, bad("must be one of: [1] (got [1,2])")},
		{"Defect 5 enum of objects", with(typeOf(t, "object"), func(t *Type) { t.Enum = []value.Value{value.NewDict("a", int64(1), "b", nil)} }), `{"x":{"b":null,"a":1.0}}`, `{"x":{"b":null,"a":1.0}}`, nil},
		{"Defect 5 min with a vector", with(num, func(t *Type) { t.Min = int64(1) }), `{"x":[0,5]}`, ``, bad("should be number but got array")},
		{"Defect 5 min on a vector of any", with(Type{}, func(t *Type) { t.Min = int64(1) }), `{"x":[0,5]}`, `{"x":[0,5]}`, nil},
		{"E50 enum of any takes no null unasked", with(typeOf(t, "list[any]"), func(t *Type) { t.Items.Enum = []value.Value{"a"} }), `{"x":[null]}`, ``, []string{"Parameter 'x'[0] must be one of: a (got null)"}},
		{"E51 all at once", []Param{required("a", str), required("b", num), required("c", str), {Name: "d", Type: Type{Name: TypeString, Enum: []value.Value{"x"}}}},
			`{"b":"1","d":"y","e":1}`, ``, []string{
				"Unknown parameter: e (valid: a, b, c, d)", "Missing required parameter: a", "Parameter 'b' should be number but got string",
				"Missing required parameter: c", "Parameter 'd' must be one of: x (got y)"}},
		{"E52 no parameters", nil, `{}`, `{}`, nil},
		{"E52 no parameters and no arguments", nil, ``, `{}`, nil},
		{"E55 C6 no parameters but an argument", nil, `{"a":1}`, ``, []string{"Unknown parameter: a (there are no parameters)"}},
		{"E55 C6 unknown", []Param{optional("color", str), optional("size", num)}, `{"colour":"red"}`, ``, []string{`Unknown parameter: colour; did you mean "color"? (valid: color, size)`}},
		{"E55 C6 unknown and nothing near", []Param{optional("color", str)}, `{"zzz":1}`, ``, []string{"Unknown parameter: zzz (valid: color)"}},
		{"C23 alias", file, `{"path":"a"}`, `{"filepath":"a"}`, nil},
		{"C23 second alias", file, `{"file_path":"a"}`, `{"filepath":"a"}`, nil},
		{"C23 alias is checked by its parameter", file, `{"path":1}`, ``, []string{"Parameter 'filepath' should be string but got number"}},
		{"C23 alias and name", file, `{"path":"a","filepath":"b"}`, ``, []string{"Duplicate parameter 'filepath': 'path' is an alias of the same parameter"}},
		{"C23 two aliases", file, `{"file_path":"a","path":"b"}`, ``, []string{"Duplicate parameter 'filepath': 'file_path' is an alias of the same parameter"}},
		{"order of the parameters", []Param{optional("a", str), optional("b", str)}, `{"b":"2","a":"1"}`, `{"a":"1","b":"2"}`, nil},
		{"row 97: what a caller says of a host's parameter is dropped", []Param{{Name: "working_dir", Type: str, FromHost: true}, optional("a", str)}, `{"working_dir":"/"}`, `{}`, nil},
		{"a host's parameter is not missed", []Param{{Name: "working_dir", Type: str, FromHost: true, Required: true}}, `{}`, `{}`, nil},
	}
	for _, tt := range tests {
		runCheck(t, tt)
	}
}

func TestCheckNamesMustBeText(t *testing.T) {
	args := &value.Dict{}
	if err := args.Set(int64(1), "x"); err != nil {
		t.Fatal(err)
	}
	tool := Tool{Name: "t", AllowExtra: true}
	if _, err := tool.Check(args); err == nil || !strings.HasSuffix(err.Error(), "Parameter names must be strings, got number") {
		t.Errorf("got %v", err)
	}
}

// C6: extra arguments can be allowed, but are never passed on.
func TestCheckC6AllowExtra(t *testing.T) {
	tool := Tool{Name: "t", AllowExtra: true, Params: []Param{optional("a", Type{}), {Name: "dir", FromHost: true}}}
	got, err := tool.Check(readArgs(t, `{"b":1,"a":2,"c":[1]}`))
	if want := `{"a":2}`; err != nil || value.FormatJSON(got, "") != want {
		t.Errorf("got %s, %v, want %s", value.FormatJSON(got, ""), err, want)
	}
	if got, err := tool.Check(readArgs(t, `{"dir":"/"}`)); err != nil || got.Has("dir") {
		t.Errorf("a host's parameter was taken from a caller: %v, %v", got, err)
	}
}

// E56: what is missing is reported with an example.
func TestCheckE56Example(t *testing.T) {
	tests := []struct {
		name string
		tool Tool
		want string
	}{
		{"from the types", Tool{Name: "slug", Params: []Param{required("input", typeOf(t, "str")), required("n", Type{Name: TypeInteger, Min: int64(2)}),
			required("yes", typeOf(t, "bool")), required("tags", typeOf(t, "character")), required("list", typeOf(t, "list[int]")),
			required("map", typeOf(t, "dict")), required("mode", Type{Name: TypeString, Enum: []value.Value{"fast", "slow"}}), required("f", typeOf(t, "float")),
			optional("other", Type{}), {Name: "dir", Required: true, FromHost: true}}},
			`Example: slug(input="…", n=2, yes=true, tags=["…"], list=[], map={}, mode="fast", f=1)`},
		{"from the first example", Tool{Name: "slug", Params: []Param{required("input", typeOf(t, "str")), optional("sep", typeOf(t, "str")), optional("other", Type{})},
			Examples: []Example{{Args: value.NewDict("sep", "-", "input", "Hello World")}}},
			`Example: slug(input="Hello World", sep="-")`},
	}
	for _, tt := range tests {
		_, err := tt.tool.Check(nil)
		var e *value.Error
		if !errors.As(err, &e) || e.Hint != tt.want {
			t.Errorf("%s: got hint %q, want %q", tt.name, value.ErrorOf(err, value.Internal).Hint, tt.want)
		}
	}
	tool := Tool{Name: "t", Params: []Param{optional("a", typeOf(t, "str"))}}
	if _, err := tool.Check(value.NewDict("a", int64(1))); err == nil || value.ErrorOf(err, value.Internal).Hint != "" {
		t.Errorf("nothing is missing: got %v with hint %q, want none", err, value.ErrorOf(err, value.Internal).Hint)
	}
}

// E54: a failed check is an ordinary failure of the call.
func TestCheckE54IsAFailure(t *testing.T) {
	tool := Tool{Name: "t", Params: []Param{required("a", typeOf(t, "str"))}}
	_, err := tool.Check(nil)
	r := Fail(value.ErrorOf(err, value.Internal), Usage{})
	if r.Success || r.ErrorType != "validation_error" || r.Error != "Tool input validation failed for 't':\n  - Missing required parameter: a" || r.Suggestion != `Example: t(a="…")` {
		t.Errorf("got %+v", r)
	}
}

// NaN, which only a script can pass, satisfies no bound.
func TestCheckNaN(t *testing.T) {
	tool := Tool{Name: "t", Params: []Param{required("x", Type{Name: TypeNumber, Min: int64(0)})}}
	if _, err := tool.Check(value.NewDict("x", math.NaN())); err == nil || !strings.Contains(err.Error(), "must be >= 0 (got NaN)") {
		t.Errorf("Check(NaN) = %v, want that it must be >= 0", err)
	}
	if got, err := tool.Check(value.NewDict("x", math.Inf(1))); err != nil || got.Len() != 1 {
		t.Errorf("Check(+Inf) = %v, want no error", err)
	}
	whole := Tool{Name: "t", Params: []Param{required("x", Type{Name: TypeInteger})}}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := whole.Check(value.NewDict("x", f)); err == nil || !strings.Contains(err.Error(), "should be integer but got number") {
			t.Errorf("Check(%v) for an integer = %v", f, err)
		}
	}
}

// A list of very many wrong items must not become a message of megabytes.
func TestCheckTellsSoMany(t *testing.T) {
	list := make(value.List, 50_000)
	tool := Tool{Name: "t", Params: []Param{required("x", typeOf(t, "list[str]"))}}
	_, err := tool.Check(value.NewDict("x", list))
	if err == nil || !strings.HasSuffix(err.Error(), "\n  - … and 49950 more") {
		t.Errorf("got %.100v", err)
	}
	if got := strings.Count(err.Error(), "\n"); got != maxProblems+1 {
		t.Errorf("got %d lines, want %d", got, maxProblems+1)
	}
}

func TestCheckLeavesTheArguments(t *testing.T) {
	tool := Tool{Name: "t", Params: []Param{required("x", typeOf(t, "list[int]")), required("y", typeOf(t, "dict[str, int]"))}}
	args := readArgs(t, `{"x":[1.0],"y":{"a":2.0}}`)
	before := value.FormatJSON(args, "")
	if _, err := tool.Check(args); err != nil {
		t.Fatal(err)
	}
	if got := value.FormatJSON(args, ""); got != before {
		t.Errorf("Check changed its arguments: %s, want %s", got, before)
	}
}

func TestCheckKeepsContainers(t *testing.T) {
	tool := Tool{Name: "t", Params: []Param{required("x", typeOf(t, "list[int]"))}}
	for _, v := range []value.Value{value.List{1.0}, value.Tuple{1.0}, value.Set{1.0}} {
		got, err := tool.Check(value.NewDict("x", v))
		if err != nil {
			t.Errorf("Check(%T): %v", v, err)
			continue
		}
		x, _ := got.Get("x")
		if items, _ := value.Elements(x); value.TypeOf(x) != "array" || len(items) != 1 || items[0] != value.Value(int64(1)) || !sameKind(x, v) {
			t.Errorf("Check(%T) gave a %T of %v", v, x, x)
		}
	}
}

func sameKind(a, b value.Value) bool {
	x, errX := value.Append(nil, a)
	y, errY := value.Append(nil, b)
	return errX == nil && errY == nil && x[0] == y[0]
}

func TestCheckResult(t *testing.T) {
	whole, list := typeOf(t, "int"), typeOf(t, "list[int]")
	tests := []struct {
		name    string
		returns *Type
		in      value.Value
		want    string
		problem string
	}{
		{"anything", nil, value.NewDict("a", nil), `{"a":null}`, ""},
		{"in its one form", &whole, 3.0, `3`, ""},
		{"of any size", &whole, valuetest.Big("51090942171709440000"), `51090942171709440000`, ""},
		{"a whole float of any size", &whole, 1e20, `100000000000000000000`, ""},
		{"wrong", &whole, "3", "", "Result should be integer but got string"},
		{"nothing", &whole, nil, "", "Result should be integer but got null"},
		{"inside", &list, value.List{int64(1), "a"}, "", "Result[1] should be integer but got string"},
	}
	for _, tt := range tests {
		tool := Tool{Name: "t", Returns: tt.returns}
		got, err := tool.CheckResult(tt.in)
		if tt.problem == "" {
			if err != nil || value.FormatJSON(got, "") != tt.want {
				t.Errorf("%s: got %s, %v, want %s", tt.name, value.FormatJSON(got, ""), err, tt.want)
			}
			continue
		}
		want := "the result of 't' does not have its declared type:\n  - " + tt.problem
		if err == nil || err.Error() != want || value.KindOf(err) != value.Failed {
			t.Errorf("%s: got %v, want %s", tt.name, err, want)
		}
	}
}

// TestCheckNamesGoTypes checks that an argument that is not a value is reported with
// what to do, and not as "should be integer but got int".
func TestCheckNamesGoTypes(t *testing.T) {
	x := &Tool{Name: "t", Description: "T.", Params: []Param{Required("n", "integer", "A number.")}}
	args := &value.Dict{}
	args.Set("n", 3)
	if _, err := x.Check(args); err == nil || !strings.Contains(err.Error(), "got the unsupported Go type int (convert the value with cassidy.Encode)") {
		t.Errorf("the check gave %v", err)
	}
}

func TestCheckRawSchema(t *testing.T) {
	tool := Tool{Name: "t", Description: "d", Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`)}
	got, err := tool.Check(readArgs(t, `{"n":3,"extra":[null]}`))
	if want := `{"n":3,"extra":[null]}`; err != nil || value.FormatJSON(got, "") != want {
		t.Errorf("got %s, %v, want %s", value.FormatJSON(got, ""), err, want)
	}
	for _, args := range []string{"", "{}", `{"n":0}`, `{"n":"a"}`} {
		got, err := tool.Check(readArgs(t, args))
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Invalid || !strings.HasPrefix(e.Error(), "Tool input validation failed for 't':\n  - ") || e.Hint != "see the schema: cassidy tool schema t" {
			t.Errorf("Check(%s) = %s, %v, want a refusal", args, value.FormatJSON(got, ""), err)
		}
	}
	for _, tt := range []struct{ schema, args, want string }{
		{`{"properties":{"n":{"type":"integer"},"rows":{"type":"array","items":{"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"]}}},"required":["n"],"additionalProperties":false}`,
			`{"rows":[{},{"a":"z"}],"nn":1}`,
			"\n  - Missing required parameter: n\n  - Parameter 'rows'[0] lacks the required field 'a'" +
				"\n  - Parameter 'rows'[1].a must be one of: x, y (got z)\n  - Unknown parameter: nn; did you mean \"n\"? (valid: n, rows)"},
		{`{"properties":{"n":{"type":"integer"}},"patternProperties":{"^x":{}},"additionalProperties":false}`, `{"n":"a","x1":2}`,
			"\n  - Parameter 'n' should be integer but got string"},
		{`{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`, `{"n":"a"}`, "\n  - Parameter 'n' should be integer or boolean but got string"},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}},"minProperties":2}`, `{"a":{"b":1}}`,
			"\n  - The arguments: must have at least 2 properties (got 1)\n  - Parameter 'a'.b should be string but got number"},
		{`{"properties":{"n":{"type":"integer"}},"unevaluatedProperties":false}`, `{"x":1}`, "\n  - "},
		{`{"properties":{"n":false}}`, `{"n":1}`, "\n  - Parameter 'n' is not allowed"},
	} {
		raw := Tool{Name: "t", Schema: []byte(tt.schema)}
		if _, err := raw.Check(readArgs(t, tt.args)); err == nil || !strings.HasPrefix(err.Error(), "Tool input validation failed for 't':"+tt.want) {
			t.Errorf("Check(%s) = %v, want %s", tt.args, err, tt.want)
		}
	}
	if err := tool.Validate(); err != nil || tool.compiled == nil {
		t.Errorf("Validate() = %v, and left the schema unread", err)
	}
	tool.Schema = []byte(`{"maxProperties":0}`) // what was read counts no longer
	if _, err := tool.Check(readArgs(t, `{"n":3}`)); err == nil {
		t.Errorf("the old schema is still used")
	}
	if got, err := (&Tool{Name: "t", Schema: []byte(`{}`)}).Check(nil); err != nil || got == nil {
		t.Errorf("Check(nil) = %v, %v, want an empty dict", got, err)
	}
	if _, err := (&Tool{Name: "t", Schema: []byte(`{"type":`)}).Check(nil); err == nil {
		t.Errorf("a broken schema checks")
	}
}
