package hooks

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The keys of what a function returns.
const (
	keyDeny   = "deny"   // refuses: the reason, for the model
	keyEdit   = "edit"   // replaces: a dict of arguments, or the summary
	keyNote   = "note"   // a text for the model
	keyResult = "result" // replaces the result
)

// maxText bounds a reason and a note, in bytes.
const maxText = 10_000

// A verdict is what a function returned. Its zero value changes nothing.
type verdict struct {
	deny, note string
	edit       *value.Dict
	result     value.Value
	replaces   bool // the result is set
}

// readVerdict reads what a function returned: None, or a dict with some of the keys. A key that is
// None is as one that is missing.
func readVerdict(v value.Value, f Function) (*verdict, error) {
	r := &verdict{}
	if v == nil {
		return r, nil
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "the function returned %s: expected %s", value.TypeOf(v), f.Expected())
	}
	for k, v := range d.All() {
		name, _ := k.(string)
		if err := r.set(name, v, f.Keys); err != nil {
			return nil, err
		}
	}
	if r.deny != "" && (r.edit != nil || r.note != "" || r.replaces) {
		return nil, value.Errorf(value.Invalid, `the function returned "deny" with another key: expected only "deny"`)
	}
	return r, nil
}

// set sets a key.
func (r *verdict) set(name string, v value.Value, keys []string) error {
	var err error
	switch {
	case !slices.Contains(keys, name):
		return value.Errorf(value.Invalid, "the function returned the unknown key %q%s: expected %s", value.Clean(name, 40), value.DidYouMean(name, keys), `"`+strings.Join(keys, `" or "`)+`"`)
	case name == keyResult:
		r.result, r.replaces = v, true
	case v == nil:
	case name == keyDeny:
		r.deny, err = readText(name, v)
	case name == keyNote:
		r.note, err = readText(name, v)
	case name == keyEdit:
		var ok bool
		if r.edit, ok = v.(*value.Dict); !ok {
			err = value.Errorf(value.Invalid, "the function returned %s as \"edit\": expected a dict", value.TypeOf(v))
		}
	}
	return err
}

// readText reads a reason or a note.
func readText(name string, v value.Value) (string, error) {
	text, ok := v.(string)
	switch {
	case !ok:
		return "", value.Errorf(value.Invalid, "the function returned %s as %q: expected a string", value.TypeOf(v), name)
	case strings.TrimSpace(text) == "":
		return "", value.Errorf(value.Invalid, "the function returned an empty string as %q", name)
	case len(text) > maxText:
		return "", value.Errorf(value.Invalid, "the function returned %d bytes as %q: limit %d", len(text), name, maxText)
	}
	return text, nil
}
