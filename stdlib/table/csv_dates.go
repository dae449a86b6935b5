package table

import (
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/strftime"
)

// A dateForm is a format of dates and times, in the notation of strftime.
type dateForm struct {
	*strftime.Format
	text string // as the caller wrote it
	typ  Type
}

// maxForms is the maximum number of formats for a file, because each is tried on each
// cell.
const maxForms = 16

// parseDateForms parses formats.
func parseDateForms(texts []string) ([]*dateForm, error) {
	if len(texts) > maxForms {
		return nil, value.Errorf(value.Invalid, "argument 'dates' has %d formats: the limit is %d", len(texts), maxForms)
	}
	forms := make([]*dateForm, len(texts))
	for i, text := range texts {
		f, err := strftime.New(text, "a A b B d e f F h H I m M p R S T y Y z D %", true)
		if err != nil {
			return nil, renamedError(err, "argument 'dates', %s: %s", quoteCut(text), value.ErrorOf(err, value.Invalid).Message())
		}
		forms[i] = &dateForm{Format: f, text: text, typ: Date}
		if err := forms[i].settle(); err != nil {
			return nil, err
		}
	}
	return forms, nil
}

// settle determines the type of the format.
func (f *dateForm) settle() error {
	switch {
	case !f.Has("Yy") || !f.Has("mbBh") || !f.Has("de"):
		return value.Errorf(value.Invalid, "argument 'dates': the format %s is not a complete date", quoteCut(f.text)).WithHint(`write a year, a month and a day, as in "%%d.%%m.%%Y"`)
	case f.Has("I") != f.Has("p"):
		return value.Errorf(value.Invalid, "argument 'dates': the format %s has only one of %%I and %%p", quoteCut(f.text)).WithHint("use %%I and %%p for hours from 1 to 12, or %%H for hours from 0 to 23")
	case f.Has("z"):
		f.typ = Instant
	case f.Has("HIMSf"):
		f.typ = DateTime
	}
	return nil
}

// parse parses a text in this format. It returns days or microseconds since 1970.
func (f *dateForm) parse(s string) (v int64, ok bool) {
	t, err := f.Parse(s, time.UTC)
	ok = err == nil && t.Year() > 0
	if f.typ == Date {
		return t.Unix() / secondsPerDay, ok
	}
	v = t.UnixMicro()
	return v, ok && v >= firstMicro && v <= lastMicro
}
