package page

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A formFiller writes arguments as the values of an input.
type formFiller struct {
	values url.Values
	zone   *time.Location
	now    time.Time
}

// fill fills a form with arguments. What its controls cannot hold becomes JSON: each argument is read
// back and compared. Unless defaults are kept, what is as if it were left out is not filled in.
func (f *Form) fill(args *value.Dict, defaults bool) url.Values {
	all := url.Values{}
	for _, child := range f.root.fields {
		v, ok := args.Get(child.name)
		if ok {
			v, ok = child.strip(v, defaults)
		}
		if !ok {
			continue
		}
		at := join("", child.name)
		w := formFiller{url.Values{}, f.zone, f.now}
		fits := w.field(child, at, v)
		r := f.reader(newIndex(Input{Values: w.values}))
		if back, how := r.field(child, at, ""); !fits || how == absent || len(r.errors) > 0 || !value.EqualJSON(back, v) {
			w.values = url.Values{at: {value.FormatJSON(v, "  ")}, codeName: {at}}
		}
		for name, list := range w.values {
			all[name] = append(all[name], list...)
		}
	}
	return all
}

// strip removes what a form does not show again, which are passwords and files, and, unless defaults are kept,
// what is as if it were left out. It reports false if nothing is left.
func (f *field) strip(v value.Value, defaults bool) (value.Value, bool) {
	_, isText := v.(string)
	if v != nil && f.kind == FileControl || isText && f.takesPassword() {
		return nil, false
	}
	if f.hasDefault && !f.required && f.def != nil && (!defaults || f.kind == CheckControl) && value.EqualJSON(f.def, v) {
		return nil, false
	}
	switch part := v.(type) {
	case *value.Dict:
		return f.stripDict(part, defaults), true
	case value.List:
		if f.item != nil {
			list := value.List{}
			for _, one := range part {
				if one, ok := f.item.strip(one, defaults); ok {
					list = append(list, one)
				}
			}
			return list, true
		}
	}
	return v, true
}

func (f *field) stripDict(d *value.Dict, defaults bool) *value.Dict {
	if f.kind == VariantControl { // of which it may be any
		for _, variant := range f.variants {
			d = variant.stripDict(d, defaults)
		}
		return d
	}
	out := value.MakeDict(d.Len())
	for k, v := range d.All() {
		ok := true
		if child := f.part(k); child != nil {
			v, ok = child.strip(v, defaults)
		}
		if ok {
			_ = out.Set(k, v) // it was a key before
		}
	}
	return out
}

func (w *formFiller) mark(name, at string) { w.values.Add(name, at) }

// field reports false if the control cannot hold the value.
func (w *formFiller) field(f *field, at string, v value.Value) bool {
	if v == nil && f.nullable {
		w.mark(nullName, at)
		return true
	}
	switch f.kind {
	case ObjectControl:
		return w.object(f, at, v)
	case ListControl:
		list, ok := value.Elements(v)
		if !ok || len(list) > maxRows {
			return false
		}
		for i, one := range list {
			row := at + "/" + strconv.Itoa(i)
			w.mark(rowName, row)
			if !w.field(f.item, row, one) {
				return false
			}
		}
		return true
	case DictControl:
		return w.dict(f, at, v)
	case VariantControl:
		return w.variant(f, at, v)
	case RadioControl, SelectControl:
		i := slices.IndexFunc(f.options, func(o option) bool { return value.EqualJSON(o.value, v) })
		if i >= 0 {
			w.values.Set(at, f.options[i].sent)
		}
		return i >= 0
	case CheckControl:
		if v == true {
			w.values.Set(at, "true")
		}
		return true // false is its default
	case ConstControl:
		w.values.Set(at, "true")
		return value.EqualJSON(f.constant, v)
	case JSONControl:
		w.values.Set(at, value.FormatJSON(v, "  "))
		return true
	case NumberControl:
		w.values.Set(at, value.FormatJSON(v, ""))
		return value.Numeric(v)
	}
	return w.text(f, at, v)
}

func (w *formFiller) text(f *field, at string, v value.Value) bool {
	text, ok := v.(string)
	if ok && text == "" && !f.required && f.name != "" {
		w.mark(emptyName, at)
	}
	if f.kind == MomentControl {
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.In(w.zone).Format(time.RFC3339) == text {
			text = t.In(w.zone).Format("2006-01-02T15:04:05")
		}
	}
	if f.kind == TimeControl {
		now := w.now.In(w.zone)
		if t, err := time.Parse("15:04:05Z07:00", text); err == nil && strings.HasSuffix(text, now.Format("Z07:00")) {
			text = t.Format("15:04:05")
		}
	}
	w.values.Set(at, text)
	return ok
}

func (w *formFiller) object(f *field, at string, v value.Value) bool {
	d, ok := v.(*value.Dict)
	if !ok {
		return false
	}
	for k, v := range d.All() {
		i := slices.IndexFunc(f.fields, func(c *field) bool { return value.Value(c.name) == k })
		if i < 0 || !w.field(f.fields[i], join(at, f.fields[i].name), v) {
			return false
		}
	}
	return true
}

func (w *formFiller) dict(f *field, at string, v value.Value) bool {
	d, ok := v.(*value.Dict)
	if !ok || d.Len() > maxRows {
		return false
	}
	i := 0
	for k, v := range d.All() {
		row := at + "/" + strconv.Itoa(i)
		name, isText := k.(string)
		w.mark(rowName, row)
		w.values.Set(row+"/key", name)
		if !isText || !w.field(f.item, row+"/value", v) {
			return false
		}
		i++
	}
	return true
}

// variant chooses the first variant that holds the value.
func (w *formFiller) variant(f *field, at string, v value.Value) bool {
	for i, variant := range f.variants {
		try := formFiller{url.Values{}, w.zone, w.now}
		to := at + "/" + strconv.Itoa(i)
		if !try.field(variant, to, v) {
			continue
		}
		try.values.Set(at, strconv.Itoa(i))
		r := formReader{index: newIndex(Input{Values: try.values}), zone: w.zone, now: w.now, left: maxShown}
		if back, how := r.field(variant, to, ""); how == absent || len(r.errors) > 0 || !value.EqualJSON(back, v) {
			continue
		}
		for name, list := range try.values {
			w.values[name] = append(w.values[name], list...)
		}
		return true
	}
	return false
}
