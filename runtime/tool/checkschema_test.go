package tool

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// What Check accepts is valid by the JSON Schema that the model was given, and
// what it refuses is not. The exceptions are those of the specification:
//
//   - null for an optional parameter or field is absence (C5),
//   - null for a required parameter is absence too, even of type any (C5),
//   - a lone string may stand for a character (C3),
//   - an integer beyond int64 is refused (C4),
//   - the aliases of a parameter are accepted without being in the schema (C23).
//
// The first three are undone before the schema is asked; the last two are left
// to the tables of check_test.go.
func TestCheckAgreesWithSchema(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tool := Tool{Name: "t", Description: "d", Params: genSensibleParams(2).Draw(t, "params")}
		if err := tool.Validate(); err != nil {
			t.Fatalf("Validate: %v", err)
		}
		args := genArgs(tool.Params).Draw(t, "args")
		_, err := tool.Check(args)
		want := fitsSchema(t, &tool, args)
		if got := err == nil; got != want {
			def, _ := tool.Definition(JSONSchema)
			t.Fatalf("Check(%s) = %v, but fitting the schema is %v\n%s", value.FormatJSON(args, ""), err, want, value.FormatJSON(def, "  "))
		}
		if want {
			accepted++
		} else {
			refused++
		}
	})
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused: the generator does not try both", accepted, refused)
	}
}

// fitsSchema asks the library about arguments, with the exceptions undone.
func fitsSchema(t *rapid.T, tool *Tool, args *value.Dict) bool {
	plainArgs := &value.Dict{}
	for k, v := range args.All() {
		p, ok := tool.Param(k.(string))
		if ok && v == nil && !p.Required {
			continue
		}
		if ok && v == nil && !p.Type.Nullable {
			return false
		}
		if ok {
			v = undo(p.Type, v)
		}
		plainArgs.Put(k.(string), v)
	}
	def, err := tool.Definition(JSONSchema)
	if err != nil {
		t.Fatal(err)
	}
	text, err := value.AppendJSON(nil, def)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var v any
	if err := json.Unmarshal([]byte(value.FormatJSON(plainArgs, "")), &v); err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(v) == nil
}

// undo takes the exceptions out of a value of a type.
func undo(t Type, v value.Value) value.Value {
	switch {
	case t.Name == TypeCharacter:
		if s, ok := v.(string); ok {
			return value.List{s}
		}
	case t.Name == TypeArray && t.Items != nil:
		items, ok := value.Elements(v)
		if !ok {
			return v
		}
		list := value.List{}
		for _, item := range items {
			list = append(list, undo(*t.Items, item))
		}
		return list
	case t.Name == TypeObject:
		d, ok := v.(*value.Dict)
		if !ok {
			return v
		}
		out := &value.Dict{}
		for k, item := range d.All() {
			field, known := findParam(t.Fields, k.(string))
			switch {
			case known && item == nil && !field.Required:
				continue
			case known:
				item = undo(field.Type, item)
			case t.Values != nil:
				item = undo(*t.Values, item)
			}
			out.Put(k.(string), item)
		}
		return out
	}
	return v
}

// genSensibleParams makes parameters that Validate accepts.
func genSensibleParams(depth int) *rapid.Generator[[]Param] {
	return rapid.Custom(func(t *rapid.T) []Param {
		var params []Param
		for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(0, 3).Draw(t, "n")] {
			params = append(params, Param{Name: name, Type: genSensibleType(depth).Draw(t, "type"), Required: rapid.Bool().Draw(t, "required")})
		}
		return params
	})
}

func genSensibleType(depth int) *rapid.Generator[Type] {
	return rapid.Custom(func(t *rapid.T) Type {
		names := []string{TypeString, TypeCharacter, TypeNumber, TypeInteger, TypeLogical, TypeBoolean, TypeAny, "", "later", TypeList}
		if depth > 0 {
			names = append(names, TypeArray, TypeArray, TypeObject, TypeObject)
		}
		typ := Type{Name: rapid.SampledFrom(names).Draw(t, "name"), Nullable: rapid.Bool().Draw(t, "nullable")}
		if rapid.Bool().Draw(t, "bounds") {
			typ.Min, typ.Max = rapid.SampledFrom([]value.Value{int64(0), 0.5}).Draw(t, "min"), int64(2)
		}
		if rapid.Bool().Draw(t, "lengths") {
			typ.MinLength, typ.MaxLength = size(1), size(2)
		}
		if rapid.Bool().Draw(t, "pattern") {
			typ.Pattern = "^a|é"
		}
		switch typ.Name {
		case TypeArray:
			if rapid.Bool().Draw(t, "has items") {
				items := genSensibleType(depth-1).Draw(t, "items")
				typ.Items = &items
			}
		case TypeObject:
			if rapid.Bool().Draw(t, "has values") {
				values := genSensibleType(depth-1).Draw(t, "values")
				typ.Values = &values
			}
			typ.Fields = genSensibleParams(depth-1).Draw(t, "fields")
		}
		if rapid.Bool().Draw(t, "has enum") {
			typ.Enum = sensibleEnum(t, typ)
		}
		return typ
	})
}

// sensibleEnum draws enum values that are of the type.
func sensibleEnum(t *rapid.T, typ Type) (enum []value.Value) {
	for range 3 {
		v := undo(typ, genArg(typ).Draw(t, "enum value"))
		if _, problems := checkValue(&typ, v); v != nil && len(problems) == 0 && typ.Name != TypeCharacter {
			enum = append(enum, v)
		}
	}
	return enum
}

// genArgs makes arguments that mostly, but not always, fit.
func genArgs(params []Param) *rapid.Generator[*value.Dict] {
	return rapid.Custom(func(t *rapid.T) *value.Dict {
		d := &value.Dict{}
		for _, p := range params {
			if p.Required && rapid.IntRange(0, 9).Draw(t, "give") > 0 || rapid.Bool().Draw(t, "give") {
				d.Put(p.Name, genArg(p.Type).Draw(t, "value"))
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "extra") == 0 {
			d.Put("extra", nil)
		}
		return d
	})
}

func genArg(typ Type) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SampledFrom([]value.Value{nil, true, int64(1), 1.5, "a", value.List{}, &value.Dict{}}).Draw(t, "any")
		}
		if len(typ.Enum) > 0 && rapid.Bool().Draw(t, "of enum") {
			return rapid.SampledFrom(typ.Enum).Draw(t, "enum")
		}
		text := rapid.SampledFrom([]value.Value{"", "a", "b", "ab", "abc", "é", "éé"})
		number := rapid.SampledFrom([]value.Value{int64(0), int64(1), int64(2), int64(3), 1.0, 0.5, 1.5, -1.5})
		switch typ.Name {
		case TypeString:
			return text.Draw(t, "text")
		case TypeNumber, TypeInteger:
			return number.Draw(t, "number")
		case TypeBoolean, TypeLogical:
			return rapid.Bool().Draw(t, "bool")
		case TypeCharacter:
			if rapid.Bool().Draw(t, "lone") {
				return text.Draw(t, "text")
			}
			return value.List(rapid.SliceOfN(text, 0, 3).Draw(t, "texts"))
		case TypeArray:
			items := Type{}
			if typ.Items != nil {
				items = *typ.Items
			}
			return value.List(rapid.SliceOfN(genArg(items), 0, 3).Draw(t, "items"))
		case TypeObject:
			d := genArgs(typ.Fields).Draw(t, "fields")
			if typ.Values != nil && rapid.Bool().Draw(t, "more") {
				d.Put("other", genArg(*typ.Values).Draw(t, "value"))
			}
			return d
		}
		return valuetest.JSONOf(1).Filter(func(v value.Value) bool { return !holdsHuge(v) }).Draw(t, "any")
	})
}

// holdsHuge finds the numbers that the library, which reads all of them as
// floats, cannot compare exactly.
func holdsHuge(v value.Value) bool {
	switch v := v.(type) {
	case int64:
		return v > 1<<53 || v < -1<<53
	case *value.Dict:
		for _, item := range v.All() {
			if holdsHuge(item) {
				return true
			}
		}
		return false
	}
	if items, ok := value.Elements(v); ok {
		for _, item := range items {
			if holdsHuge(item) {
				return true
			}
		}
		return false
	}
	return value.TypeOf(v) == TypeInteger
}
