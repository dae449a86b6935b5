package tool

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

// A goField is a field of a Go struct as encoding/json sees it.
type goField struct {
	name      string // the key in an object
	index     []int  // see reflect.Value.FieldByIndex
	typ       reflect.Type
	doc       string // of the tag jsonschema
	tagged    bool   // the name is from the tag
	omitEmpty bool
	omitZero  bool
	quoted    bool // the option string: a scalar is written as text
}

// optional reports whether the key of the field may be missing when it is written.
func (f *goField) optional() bool { return f.omitEmpty || f.omitZero }

// goFields are the fields of one struct type in the order in which they are written.
type goFields struct {
	list   []goField
	byName map[string]*goField
}

// A goStructs caches the fields of struct types while one value is converted.
type goStructs map[reflect.Type]*goFields

func (s *goStructs) fields(t reflect.Type) *goFields {
	if f := (*s)[t]; f != nil {
		return f
	}
	if *s == nil {
		*s = goStructs{}
	}
	f := &goFields{list: dominantFields(candidateFields(t))}
	f.byName = make(map[string]*goField, len(f.list))
	for i := range f.list {
		f.byName[f.list[i].name] = &f.list[i]
	}
	(*s)[t] = f
	return f
}

// candidateFields returns the exported fields of a struct and of the structs that
// are embedded in it, those of one name included.
func candidateFields(t reflect.Type) []goField {
	type embedded struct {
		typ   reflect.Type
		index []int
	}
	var fields []goField
	seen := map[reflect.Type]bool{t: true}
	for level := []embedded{{typ: t}}; len(level) > 0; {
		var next []embedded
		queued := map[reflect.Type]int{}
		for _, s := range level {
			for i := range s.typ.NumField() {
				sf := s.typ.Field(i)
				f, flatten, ok := readField(sf)
				f.index = append(slices.Clone(s.index), i)
				switch inner := derefType(sf.Type); {
				case !ok:
				case !flatten:
					fields = append(fields, f)
				case !seen[inner] && queued[inner] < 2:
					// A type that is embedded twice at one level is listed twice, so that its
					// fields exclude each other.
					next = append(next, embedded{inner, f.index})
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

// readField reads the tags of a field. flatten reports that its own fields are
// written in its place. ok is false for a field that is not written.
func readField(sf reflect.StructField) (f goField, flatten, ok bool) {
	inner := derefType(sf.Type)
	tag := sf.Tag.Get("json")
	switch {
	case tag == "-":
		return goField{}, false, false
	case sf.Anonymous && !sf.IsExported() && inner.Kind() != reflect.Struct:
		return goField{}, false, false
	case !sf.Anonymous && !sf.IsExported():
		return goField{}, false, false
	}
	name, options, _ := strings.Cut(tag, ",")
	f = goField{name: name, typ: sf.Type, doc: sf.Tag.Get("jsonschema"), tagged: validTagName(name)}
	if !f.tagged {
		f.name = sf.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "string":
			f.quoted = isScalar(inner) && inner != reflect.TypeFor[time.Duration]() && inner != reflect.TypeFor[json.Number]() && !writesItself(inner)
		}
	}
	return f, sf.Anonymous && !f.tagged && inner.Kind() == reflect.Struct, true
}

// dominantFields keeps the one field that each name means by the rules of Go and of
// encoding/json: the least nested one, then the tagged one. Where two remain, the
// name means none.
func dominantFields(fields []goField) []goField {
	groups := map[string][]goField{}
	for _, f := range fields {
		groups[f.name] = append(groups[f.name], f)
	}
	var list []goField
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b goField) int {
			if order := cmp.Compare(len(a.index), len(b.index)); order != 0 || a.tagged == b.tagged {
				return order
			}
			if a.tagged {
				return -1
			}
			return 1
		})
		if len(group) > 1 && len(group[0].index) == len(group[1].index) && group[0].tagged == group[1].tagged {
			continue
		}
		list = append(list, group[0])
	}
	slices.SortFunc(list, func(a, b goField) int { return slices.Compare(a.index, b.index) })
	return list
}

// validTagName reports whether encoding/json takes a name from a tag.
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

func derefType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return t.Elem()
	}
	return t
}
