// Package value defines the values that scripts, hosts, processes and records exchange.
//
// [Append] and [Decode] encode them without loss, [AppendJSON] and [ParseJSON] as JSON,
// and [FromGo] and [ToGo] convert them from and to Go types. [Error] is the error type
// of cassidy; its kind is matched by errors.Is.
package value

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
)

// A Value is data that scripts, hosts, processes and records exchange. Its dynamic type
// is one of
//
//	nil, bool, int64, *big.Int, float64, string, []byte, List, Tuple, Set, *Dict, Media
//
// A *big.Int holds only integers outside the range of int64 (see [Integer]), so that
// each integer has one form. A string is valid UTF-8; other bytes are []byte. Inside a
// script's process, and only there, it may be [Opaque] as well.
type Value = any

// Opaque is an object of a script that is not a value: a function, or an object of a
// module. It never leaves the script's process.
type Opaque interface {
	// TypeName is the name of its type in messages, as "table".
	TypeName() string
}

// A List is an ordered sequence, mutable in scripts.
type List []Value

// A Tuple is an ordered sequence, immutable and hashable in scripts.
type Tuple []Value

// A Set is an ordered collection of distinct hashable values.
type Set []Value

// Integer returns the one form of an integer: an int64 if it fits, else i itself.
func Integer(i *big.Int) Value {
	if i.IsInt64() {
		return i.Int64()
	}
	return i
}

// A Dict maps hashable values to values and keeps the order of insertion.
// The zero value is an empty dict, ready to use; a nil *Dict reads as empty.
//
// Its JSON form is an object in the same order. JSON has no form for some values in
// it, however deep: bytes are written as base64 text, a [Media] as a data URL, and tuples
// and sets as arrays. Read back, these are strings and lists; [ToGo] decodes base64 text
// into a []byte, a data URL into a Media, and an array into a [Tuple] or [Set]. The binary form of [Append] keeps everything.
type Dict struct {
	entries []Entry
	index   map[any]int // by key, for dicts with more than linearEntries entries
}

// An Entry is one key of a [Dict] with its value.
type Entry struct {
	Key   Value
	Value Value
}

// linearEntries is the number of entries up to which comparing them one by one
// is faster than keeping a map; the arguments of a call rarely exceed it.
const linearEntries = 8

// MakeDict returns an empty dict with capacity for n entries.
func MakeDict(n int) *Dict {
	switch { // the arguments and results of most calls fit into dicts that are allocated with their entries
	case n <= 2:
		d := &struct {
			Dict
			entries [2]Entry
		}{}
		d.Dict.entries = d.entries[:0]
		return &d.Dict
	case n <= smallDict:
		d := &struct {
			Dict
			entries [smallDict]Entry
		}{}
		d.Dict.entries = d.entries[:0]
		return &d.Dict
	}
	return &Dict{entries: make([]Entry, 0, n)}
}

// smallDict is the capacity of a dict that grows.
const smallDict = 4

// NewDict returns a dict of string keys from alternating keys and values, as in
// NewDict("path", "a.txt", "limit", 3). The values are encoded as by [FromGo], but a
// [Dict] is used as it is. It panics if the number of arguments is odd, if a key is not
// a string, and if a value cannot be encoded: these are bugs in the calling code.
func NewDict(pairs ...any) *Dict {
	if len(pairs)%2 != 0 {
		panic("NewDict: a key without a value")
	}
	d := &Dict{entries: make([]Entry, 0, len(pairs)/2)}
	e := goEncoder{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			panic(fmt.Sprintf("NewDict: a key is not a string but %T", pairs[i]))
		}
		v, err := e.encode(pairs[i+1], shallowDepth)
		if err != nil {
			panic("NewDict: " + name + ": " + err.Error())
		}
		d.Put(name, v)
	}
	return d
}

// String returns the dict as JSON, for messages.
func (d *Dict) String() string {
	if d == nil {
		return "{}"
	}
	return FormatJSON(d, "")
}

// MarshalJSON writes the dict as an object, in order, as [AppendJSON] does: bytes as
// base64 text, media as data URLs, tuples and sets as arrays, and keys that are numbers, booleans or null
// as text. It fails for NaN, infinity and other keys.
func (d *Dict) MarshalJSON() ([]byte, error) { return AppendJSON(nil, d) }

// UnmarshalJSON replaces the dict's entries by those of an object, in order. Integers
// of any size are exact, a number with a point or an exponent is a float64, and the
// limits of [ParseJSON] apply. It reads back what MarshalJSON writes, except for what
// JSON cannot express: bytes and media become text, tuples and sets become lists, and all keys
// become strings. null leaves the dict unchanged. An error is of kind Invalid or Limit.
func (d *Dict) UnmarshalJSON(data []byte) error {
	v, err := ParseJSON(data)
	if err != nil || v == nil {
		return err
	}
	read, ok := v.(*Dict)
	if !ok {
		return expected("an object", v)
	}
	*d = *read
	return nil
}

// MarshalJSON writes the list as an array, as [AppendJSON] does.
func (l List) MarshalJSON() ([]byte, error) { return AppendJSON(nil, l) }

// MarshalJSON writes the tuple as an array, as [AppendJSON] does.
func (t Tuple) MarshalJSON() ([]byte, error) { return AppendJSON(nil, t) }

// MarshalJSON writes the set as an array, as [AppendJSON] does.
func (s Set) MarshalJSON() ([]byte, error) { return AppendJSON(nil, s) }

// UnmarshalJSON reads an array as [Dict.UnmarshalJSON] reads an object.
func (l *List) UnmarshalJSON(data []byte) error { return readArray(l, data) }

// UnmarshalJSON reads an array as [Dict.UnmarshalJSON] reads an object.
func (t *Tuple) UnmarshalJSON(data []byte) error { return readArray(t, data) }

// UnmarshalJSON reads an array as [Dict.UnmarshalJSON] reads an object. The set drops
// duplicates.
func (s *Set) UnmarshalJSON(data []byte) error { return readArray(s, data) }

func readArray[T List | Tuple | Set](dst *T, data []byte) error {
	v, err := ParseJSON(data)
	if err != nil || v == nil {
		return err
	}
	read, err := ToGo[T](v)
	if err == nil {
		*dst = read
	}
	return err
}

// OrEmpty returns d, or an empty dict for nil.
func (d *Dict) OrEmpty() *Dict {
	if d == nil {
		return &Dict{}
	}
	return d
}

// Len returns the number of entries.
func (d *Dict) Len() int {
	if d == nil {
		return 0
	}
	return len(d.entries)
}

// All yields the entries in order.
func (d *Dict) All() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		if d == nil {
			return
		}
		for _, e := range d.entries {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Get returns the value of a string key.
func (d *Dict) Get(name string) (Value, bool) {
	e, ok := d.Lookup(name)
	return e.Value, ok
}

// Lookup returns the entry of a string key.
func (d *Dict) Lookup(name string) (Entry, bool) {
	if d == nil {
		return Entry{}, false
	}
	if d.index == nil {
		for i := range d.entries {
			if s, ok := d.entries[i].Key.(string); ok && s == name {
				return d.entries[i], true
			}
		}
		return Entry{}, false
	}
	i, ok := d.index[name]
	if !ok {
		return Entry{}, false
	}
	return d.entries[i], true
}

// Has reports whether the dict holds a string key.
func (d *Dict) Has(name string) bool {
	_, ok := d.Get(name)
	return ok
}

// Text returns the string stored under name, or "" if there is no string.
func (d *Dict) Text(name string) string {
	v, _ := d.Get(name)
	s, _ := v.(string)
	return s
}

// Int returns the integer stored under name, or 0 if there is no integer that fits
// int64.
func (d *Dict) Int(name string) int64 { return d.IntOr(name, 0) }

// IntOr returns the integer stored under name, or otherwise if there is no integer that
// fits int64.
func (d *Dict) IntOr(name string, otherwise int64) int64 {
	v, _ := d.Get(name)
	if i, ok := v.(int64); ok {
		return i
	}
	return otherwise
}

// Bool returns the bool stored under name, or false if there is no bool.
func (d *Dict) Bool(name string) bool {
	v, _ := d.Get(name)
	b, _ := v.(bool)
	return b
}

// Dict returns the dict stored under name, or nil if there is no dict.
func (d *Dict) Dict(name string) *Dict {
	v, _ := d.Get(name)
	inner, _ := v.(*Dict)
	return inner
}

// Elements returns the items of the list, tuple or set stored under name, or nil for
// anything else.
func (d *Dict) Elements(name string) []Value {
	v, _ := d.Get(name)
	list, _ := Elements(v)
	return list
}

// Clone returns a dict with the same entries and capacity for more of them. It shares
// the keys and values.
func (d *Dict) Clone(more int) *Dict {
	c := &Dict{entries: make([]Entry, 0, d.Len()+more)}
	if d != nil {
		c.entries, c.index = append(c.entries, d.entries...), maps.Clone(d.index)
	}
	return c
}

// Put sets the value of a string key. A new key is appended.
func (d *Dict) Put(name string, v Value) {
	var key any = name // boxed once, as the key and as its own hash
	d.put(key, key, v)
}

// Set sets the value of any hashable key. A new key is appended. It fails for an
// unhashable key: a list, a set or a dict, or a tuple that holds one.
func (d *Dict) Set(key, v Value) error {
	k, err := hashable(key)
	if err != nil {
		return err
	}
	d.put(k, key, v)
	return nil
}

// PutEntry is [Dict.Put] with an entry of another dict, whose key is a string. It saves
// the allocation for the key.
func (d *Dict) PutEntry(e Entry) { d.put(e.Key, e.Key, e.Value) }

func (d *Dict) put(hash any, key, v Value) {
	if i, ok := d.find(hash); ok {
		d.entries[i].Value = v
		return
	}
	d.add(hash, key, v)
}

// add appends a key that is not in the dict yet.
func (d *Dict) add(hash any, key, v Value) {
	if d.entries == nil {
		d.entries = make([]Entry, 0, smallDict)
	}
	d.entries = append(d.entries, Entry{key, v})
	switch {
	case d.index != nil:
		d.index[hash] = len(d.entries) - 1
	case len(d.entries) > linearEntries:
		d.index = make(map[any]int, 2*len(d.entries))
		for i, e := range d.entries {
			h, _ := hashable(e.Key) // it was hashable when it was added
			d.index[h] = i
		}
	}
}

func (d *Dict) find(hash any) (int, bool) {
	if d.index != nil {
		i, ok := d.index[hash]
		return i, ok
	}
	name, isText := hash.(string)
	for i := range d.entries {
		if isText { // nearly all keys are text
			if s, ok := d.entries[i].Key.(string); ok && s == name {
				return i, true
			}
			continue
		}
		if h, _ := hashable(d.entries[i].Key); h == hash {
			return i, true
		}
	}
	return 0, false
}

// encodedKey is the hash of a key that Go cannot compare.
type encodedKey string

// hashable returns a comparable form of a key. Numbers that are equal in a script (1
// and 1.0) are one key, as in scripts.
func hashable(key Value) (any, error) {
	form, err := keyForm(key, MaxDepth)
	if err != nil {
		return nil, err
	}
	switch k := form.(type) {
	case float64:
		return math.Float64bits(k), nil
	case *big.Int, []byte, Tuple, Media:
		b, err := Append(nil, k)
		return encodedKey(b), err
	}
	return form, nil
}

// keyForm returns the form that all equal keys share: a whole number is an integer, and
// all NaN are one.
func keyForm(key Value, depth int) (Value, error) {
	switch k := key.(type) {
	case nil, bool, int64, string, []byte, Media:
		return k, nil
	case *big.Int:
		return Integer(k), nil
	case float64:
		if i, ok := wholeFloat(k); ok {
			return i, nil
		}
		if math.IsNaN(k) {
			return math.NaN(), nil
		}
		return k, nil
	case Tuple:
		if depth == 0 {
			return nil, Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
		}
		form := make(Tuple, len(k))
		for i, v := range k {
			f, err := keyForm(v, depth-1)
			if err != nil {
				return nil, err
			}
			form[i] = f
		}
		return form, nil
	}
	return nil, fmt.Errorf("unhashable type: %s", TypeOf(key))
}

// wholeNumber returns f as an int64 if it is one exactly.
func wholeNumber(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < -(1<<63) || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// Equal reports whether two values have the same type, content and order, so that a
// record may hold either. Unlike a script's == it distinguishes 1 from 1.0 and compares
// the order of dicts.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case nil, bool, int64, string: // the common types, without encoding them
		return a == b
	}
	x, errX := Append(nil, a)
	y, errY := Append(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// EqualJSON reports whether two values are equal as JSON: 1 equals 1.0, a tuple equals
// a list, and the order of a dict is ignored.
func EqualJSON(a, b Value) bool {
	if order, comparable := CompareNumbers(a, b); comparable {
		return order == 0
	}
	if x, ok := Elements(a); ok {
		y, ok := Elements(b)
		return ok && slices.EqualFunc(x, y, EqualJSON)
	}
	x, ok := a.(*Dict)
	if !ok {
		return Equal(a, b)
	}
	y, ok := b.(*Dict)
	if !ok || x.Len() != y.Len() {
		return false
	}
	for k, v := range x.All() {
		hash, err := hashable(k)
		if err != nil {
			return false
		}
		i, ok := y.find(hash)
		if !ok || !EqualJSON(v, y.entries[i].Value) {
			return false
		}
	}
	return true
}

// TypeOf returns the name of a value's type as all messages to users and models use it:
// null, boolean, integer, number, string, bytes, media, array or object.
func TypeOf(v Value) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64, *big.Int:
		return "integer"
	case float64:
		return "number"
	case string:
		return "string"
	case []byte:
		return "bytes"
	case Media:
		return "media"
	case List, Tuple, Set:
		return "array"
	case *Dict:
		return "object"
	case Opaque:
		return v.TypeName()
	}
	return fmt.Sprintf("%T", v)
}

// Elements returns the items of a list, tuple or set.
func Elements(v Value) ([]Value, bool) {
	switch v := v.(type) {
	case List:
		return v, true
	case Tuple:
		return v, true
	case Set:
		return v, true
	}
	return nil, false
}

// Map returns the result of f for each item of a list. It is never nil.
func Map[T, U any](list []T, f func(T) U) []U {
	mapped := make([]U, len(list))
	for i, item := range list {
		mapped[i] = f(item)
	}
	return mapped
}
