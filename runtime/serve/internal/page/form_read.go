package page

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Input is what a browser sends of a form, or what a form is filled with. The names of its values are
// JSON pointers, such as /period/from. The items of a list are /cities/0, /cities/1, and so on; the pairs
// of a dict are /rename/0/key and /rename/0/value; the fields of the third variant are below /shape/2.
// The names of other values begin with "_".
type Input struct {
	Values url.Values
	Files  map[string]Upload // by their names; one that was not chosen is missing
}

// An Upload is a file of a form.
type Upload struct {
	Name string
	Data []byte
	// TooLarge says that the file is larger than [value.MaxMedia], so Data is not all of it.
	TooLarge bool
}

// The names of values that are no arguments.
const (
	keyName   = "_key"   // the idempotency key
	actName   = "_act"   // what a button does; without it, the form runs
	addName   = "_add"   // the pointer of a list that gets another row
	delName   = "_del"   // the pointer of a row that is removed
	rowName   = "_row"   // the pointer of each row
	nullName  = "_null"  // the pointers of what is null
	emptyName = "_empty" // the pointers of what is an empty text
	codeName  = "_code"  // the pointers of what is written as JSON
	jsonName  = "_json"  // all arguments, as JSON
)

// The bounds of an input: how many values it has, and how many fields are read or shown, with those of
// all rows.
const (
	maxInput = 10_000
	maxShown = 3_000
)

// An index finds what an input has for a pointer.
type index struct {
	Input
	marks map[string]map[string]bool // by name, such as _null
	rows  map[string][]int           // the numbers of the rows of a list, in their order
}

func newIndex(in Input) *index {
	x := &index{Input: in, marks: map[string]map[string]bool{}, rows: map[string][]int{}}
	for _, name := range []string{nullName, emptyName, codeName, rowName} {
		x.marks[name] = map[string]bool{}
		for _, at := range in.Values[name] {
			x.marks[name][at] = true
		}
	}
	for _, at := range in.Values[rowName] {
		x.addRow(at)
	}
	if len(x.rows) > 0 {
		return x
	}
	for _, name := range slices.Sorted(maps.Keys(in.Values)) { // of a program that does not send the hidden rows
		for i := range name {
			if name[i] == '/' && i > 0 {
				x.addRow(name[:i])
			}
		}
		x.addRow(name)
	}
	for _, list := range x.rows {
		slices.Sort(list)
	}
	return x
}

// addRow adds a row to its list, if the pointer is that of one.
func (x *index) addRow(at string) {
	i := strings.LastIndexByte(at, '/')
	if i < 0 {
		return
	}
	n, err := strconv.Atoi(at[i+1:])
	list := at[:i]
	if err != nil || n < 0 || strconv.Itoa(n) != at[i+1:] || len(x.rows[list]) >= maxRows || slices.Contains(x.rows[list], n) {
		return
	}
	x.rows[list] = append(x.rows[list], n)
}

func (x *index) has(name, at string) bool { return x.marks[name][at] }

// text returns a text as it was typed. Browsers send line ends as in DOS.
func (x *index) text(at string) string {
	return strings.ReplaceAll(x.Values.Get(at), "\r\n", "\n")
}

// join returns the pointer of a part.
func join(at, name string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// maxRows is how many rows a list has in a form.
const maxRows = 200

// A FieldError is what is wrong with a field of a form.
type FieldError struct {
	At   string // its pointer; "" is the form
	Name string // as the reader knows it
	Text string
}

// given says how much of a value was entered.
type given uint8

const (
	absent given = iota // nothing, so that it is left out
	soft                // nothing, but it has a value if the object around it has one
	full
)

// A formReader reads the arguments of an input.
type formReader struct {
	*index
	left   int // fields that may still be read
	zone   *time.Location
	now    time.Time
	errors []FieldError
	places []spot            // of what was read, for the errors of the tool
	rowsOf map[string]string // the names of rows, by their pointers
}

// A spot is where a part of the arguments stands in the form.
type spot struct {
	at, name string
	label    string // as the tool names it
	key      string // of a property
}

func (r *formReader) fail(at, name, format string, args ...any) {
	r.errors = append(r.errors, FieldError{at, name, fmt.Sprintf(format, args...)})
}

// field reads the value at a pointer. label is how the tool names it.
func (r *formReader) field(f *field, at, label string) (value.Value, given) {
	if r.left--; r.left < 0 {
		return nil, absent
	}
	r.places = append(r.places, spot{at, r.nameOf(f, at), label, f.name})
	switch {
	case r.has(nullName, at) && f.nullable:
		return nil, full
	case r.has(codeName, at) || f.kind == JSONControl:
		return r.json(f, at)
	}
	switch f.kind {
	case ObjectControl:
		return r.object(f, at, label)
	case ListControl:
		return r.list(f, at, label)
	case DictControl:
		return r.dict(f, at, label)
	case VariantControl:
		return r.variant(f, at, label)
	case FileControl:
		return r.file(f, at)
	case ConstControl:
		if f.required {
			return f.constant, soft
		}
	}
	return r.simple(f, at)
}

// nameOf returns the name of a field, for people.
func (r *formReader) nameOf(f *field, at string) string {
	if name, ok := r.rowsOf[at]; ok {
		return name
	}
	return f.shownName(at)
}

// nameRow names the value of a row.
func (r *formReader) nameRow(at, list string, number int) {
	if r.rowsOf == nil {
		r.rowsOf = map[string]string{}
	}
	r.rowsOf[at] = fmt.Sprintf("%s, item %d", list, number)
}

// shownName returns the last part of a pointer, for people.
func (f *field) shownName(at string) string {
	if f.name != "" {
		return f.name
	}
	return strings.TrimPrefix(at, "/")
}

// simple reads a value that is one text.
func (r *formReader) simple(f *field, at string) (value.Value, given) {
	text := r.text(at)
	if text == "" {
		switch {
		case f.kind != TextControl && f.kind != AreaControl && f.kind != PasswordControl:
		case r.has(emptyName, at):
			return "", full
		case f.required:
			return "", soft
		}
		return nil, absent
	}
	switch f.kind {
	case NumberControl:
		return r.number(f, at, text)
	case CheckControl, ConstControl:
		if f.kind == ConstControl {
			return f.constant, full
		}
		return true, full
	case RadioControl, SelectControl:
		for _, o := range f.options {
			if o.sent == text {
				return o.value, full
			}
		}
		r.fail(at, r.nameOf(f, at), "must be one of the choices (you gave %s)", value.Clean(text, 60))
		return text, full
	case MomentControl, TimeControl:
		return r.moment(f, at, text)
	}
	return text, full
}

func (r *formReader) number(f *field, at, text string) (value.Value, given) {
	text = strings.TrimSpace(text)
	json := text
	if strings.HasPrefix(strings.TrimPrefix(text, "-"), ".") { // which HTML allows
		json = strings.Replace(text, ".", "0.", 1)
	}
	v, err := value.ParseJSON([]byte(json))
	if err != nil || !value.Numeric(v) {
		r.fail(at, r.nameOf(f, at), "must be a number (you gave “%s”)", value.Clean(text, 60))
		return text, full
	}
	return v, full
}

// moment reads a time without a zone, which is in the zone of the reader.
func (r *formReader) moment(f *field, at, text string) (value.Value, given) {
	forms, out := []string{"2006-01-02T15:04:05", "2006-01-02T15:04"}, time.RFC3339
	if f.kind == TimeControl {
		forms, out = []string{"15:04:05", "15:04"}, "15:04:05Z07:00"
	}
	for _, form := range forms {
		if t, err := time.ParseInLocation(form, text, r.zone); err == nil {
			if f.kind == TimeControl { // the offset is that of today
				n := r.now.In(r.zone)
				t = time.Date(n.Year(), n.Month(), n.Day(), t.Hour(), t.Minute(), t.Second(), 0, r.zone)
			}
			return t.Format(out), full
		}
	}
	return text, full // the tool knows whether it takes it
}

func (r *formReader) json(f *field, at string) (value.Value, given) {
	text := strings.TrimSpace(r.text(at))
	if text == "" {
		return nil, absent
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		r.fail(at, r.nameOf(f, at), "is not JSON: %s%s", value.ErrorOf(err, value.Invalid).Message(), jsonHint(text))
		return text, full
	}
	return v, full
}

// jsonHint returns what to write instead of a text that is not JSON.
func jsonHint(text string) string {
	if strings.ContainsAny(text[:1], `{["`) {
		return ""
	}
	return ". Write a text in quotes: " + value.Cut(value.FormatJSON(value.Cut(text, 40), ""), 60)
}

func (r *formReader) file(f *field, at string) (value.Value, given) {
	file, ok := r.Files[at]
	if !ok {
		return nil, absent
	}
	if file.TooLarge {
		r.fail(at, r.nameOf(f, at), "is larger than %d MB", value.MaxMedia>>20)
		return nil, full
	}
	m, err := value.NewMedia(file.Data)
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		r.fail(at, r.nameOf(f, at), "%s", strings.TrimSuffix(e.Message()+". "+e.Hint, ". "))
		return nil, full
	}
	return m, full
}

func (r *formReader) object(f *field, at, label string) (value.Value, given) {
	d := &value.Dict{}
	is := absent
	if f.required {
		is = soft
	}
	for _, child := range f.fields {
		to := label + "." + child.name
		if label == "" {
			to = "Parameter '" + child.name + "'"
		}
		v, how := r.field(child, join(at, child.name), to)
		if how == absent {
			continue
		}
		d.Put(child.name, v)
		is = max(is, how)
		if how == soft && !f.required && is == soft {
			is = absent // nothing of an optional object was entered
		}
	}
	if is == absent {
		return nil, absent
	}
	return d, is
}

func (r *formReader) list(f *field, at, label string) (value.Value, given) {
	list := value.List{}
	for i, n := range r.rows[at] {
		row := at + "/" + strconv.Itoa(n)
		r.nameRow(row, r.nameOf(f, at), i+1)
		v, how := r.field(f.item, row, label+"["+strconv.Itoa(len(list))+"]")
		if how == full {
			list = append(list, v)
		}
	}
	switch {
	case len(list) > 0:
		return list, full
	case f.required:
		return list, soft
	}
	return nil, absent
}

func (r *formReader) dict(f *field, at, label string) (value.Value, given) {
	d := &value.Dict{}
	for i, n := range r.rows[at] {
		row := at + "/" + strconv.Itoa(n)
		r.nameRow(row+"/value", r.nameOf(f, at), i+1)
		key := r.text(row + "/key")
		r.places = append(r.places, spot{at: row + "/key"})
		v, how := r.field(f.item, row+"/value", label+"."+key)
		switch {
		case key == "" && how != full:
			continue
		case key == "":
			r.fail(row+"/key", r.nameOf(f, at), "a name is missing")
		case d.Has(key):
			r.fail(row+"/key", r.nameOf(f, at), "the name “%s” is there twice", value.Clean(key, 60))
		case how == absent:
			r.fail(row+"/value", r.nameOf(f, at), "the value of “%s” is missing", value.Clean(key, 60))
		}
		d.Put(key, v)
	}
	switch {
	case d.Len() > 0:
		return d, full
	case f.required:
		return d, soft
	}
	return nil, absent
}

// variant reads the value of the variant that was chosen.
func (r *formReader) variant(f *field, at, label string) (value.Value, given) {
	n, err := strconv.Atoi(r.text(at))
	if err != nil || n < 0 || n >= len(f.variants) {
		return nil, absent
	}
	v, how := r.field(f.variants[n], at+"/"+strconv.Itoa(n), label)
	if how == absent { // it was chosen
		r.fail(at+"/"+strconv.Itoa(n), r.nameOf(f, at), "is empty")
		return nil, full
	}
	return v, full
}
