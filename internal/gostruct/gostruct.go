// Package gostruct lists the fields of Go structs by the rules of encoding/json.
package gostruct

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Field is a field of a Go struct by the rules of encoding/json.
type Field struct {
	Name      string // the key in an object
	Index     []int  // see reflect.Value.FieldByIndex
	Typ       reflect.Type
	Doc       string // of the tag jsonschema
	tagged    bool   // the name is from the tag
	OmitEmpty bool
	OmitZero  bool
	Quoted    bool // the string option: a scalar is written as text
}

// Optional reports whether the key of the field may be missing when it is written.
func (f *Field) Optional() bool { return f.OmitEmpty || f.OmitZero }

// Fields are the fields of one struct type in the order of encoding.
type Fields struct {
	List   []Field
	ByName map[string]*Field
}

// A Cache caches the fields of struct types while one value is converted.
type Cache map[reflect.Type]*Fields

// Fields returns the fields of a struct type.
func (s *Cache) Fields(t reflect.Type) *Fields {
	if f := (*s)[t]; f != nil {
		return f
	}
	if *s == nil {
		*s = Cache{}
	}
	f := &Fields{List: dominantFields(candidateFields(t))}
	f.ByName = make(map[string]*Field, len(f.List))
	for i := range f.List {
		f.ByName[f.List[i].Name] = &f.List[i]
	}
	(*s)[t] = f
	return f
}

// candidateFields returns the exported fields of a struct and of its embedded structs,
// including fields of the same name.
func candidateFields(t reflect.Type) []Field {
	type embedded struct {
		typ   reflect.Type
		index []int
	}
	var fields []Field
	seen := map[reflect.Type]bool{t: true}
	for level := []embedded{{typ: t}}; len(level) > 0; {
		var next []embedded
		queued := map[reflect.Type]int{}
		for _, s := range level {
			for i := range s.typ.NumField() {
				sf := s.typ.Field(i)
				f, flatten, ok := readField(sf)
				f.Index = append(slices.Clone(s.index), i)
				switch inner := DerefType(sf.Type); {
				case !ok:
				case !flatten:
					fields = append(fields, f)
				case !seen[inner] && queued[inner] < 2:
					// A type that is embedded twice at one level is listed twice, so
					// that its fields exclude each other.
					next = append(next, embedded{inner, f.Index})
					queued[inner]++
				}
			}
		}
		for inner := range queued {
			seen[inner] = true
		}
		level = next
	}
	return fields
}

// readField reads the tags of a field. flatten reports that its own fields replace it.
// ok is false for a field that is not encoded.
func readField(sf reflect.StructField) (f Field, flatten, ok bool) {
	inner := DerefType(sf.Type)
	tag := sf.Tag.Get("json")
	switch {
	case tag == "-":
		return Field{}, false, false
	case sf.Anonymous && !sf.IsExported() && inner.Kind() != reflect.Struct:
		return Field{}, false, false
	case !sf.Anonymous && !sf.IsExported():
		return Field{}, false, false
	}
	name, options, _ := strings.Cut(tag, ",")
	f = Field{Name: name, Typ: sf.Type, Doc: sf.Tag.Get("jsonschema"), tagged: validTagName(name)}
	if !f.tagged {
		f.Name = sf.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.OmitEmpty = true
		case "omitzero":
			f.OmitZero = true
		case "string":
			f.Quoted = isScalar(inner) && inner != reflect.TypeFor[time.Duration]() && inner != reflect.TypeFor[json.Number]() && !writesItself(inner)
		}
	}
	return f, sf.Anonymous && !f.tagged && inner.Kind() == reflect.Struct, true
}

// dominantFields keeps the one field of each name by the rules of Go and of
// encoding/json: the least nested one, then the tagged one. If two remain, the name is
// ambiguous and both are dropped.
func dominantFields(fields []Field) []Field {
	groups := map[string][]Field{}
	for _, f := range fields {
		groups[f.Name] = append(groups[f.Name], f)
	}
	var list []Field
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b Field) int {
			if order := cmp.Compare(len(a.Index), len(b.Index)); order != 0 || a.tagged == b.tagged {
				return order
			}
			if a.tagged {
				return -1
			}
			return 1
		})
		if len(group) > 1 && len(group[0].Index) == len(group[1].Index) && group[0].tagged == group[1].tagged {
			continue
		}
		list = append(list, group[0])
	}
	slices.SortFunc(list, func(a, b Field) int { return slices.Compare(a.Index, b.Index) })
	return list
}

// validTagName reports whether encoding/json accepts a name in a tag.
func validTagName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return false
}

// writesItself reports whether a type or a pointer to it encodes itself.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t) // has the methods of both
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// DerefType returns the element type of a pointer type, and any other type itself.
func DerefType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return t.Elem()
	}
	return t
}
