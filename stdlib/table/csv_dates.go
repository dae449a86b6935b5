package table

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A dateForm is a way in which dates and times are written, as strftime has it.
type dateForm struct {
	text  string // as it was given
	steps []dateStep
	typ   Type
}

// A dateStep is a directive, or text that must stand as it is.
type dateStep struct {
	directive byte // 0 for text
	text      string
}

// maxForms is how many forms a file may have: each is tried on each cell.
const maxForms = 16

// knownDirectives are those that a form may have.
const knownDirectives = "a A b B d e f F h H I m M p R S T y Y z D %"

// parseDateForms reads forms, and says what is wrong with one.
func parseDateForms(texts []string) ([]*dateForm, error) {
	if len(texts) > maxForms {
		return nil, value.Errorf(value.Invalid, "argument 'dates' has %d forms, more than %d", len(texts), maxForms)
	}
	forms := make([]*dateForm, len(texts))
	for i, text := range texts {
		f := &dateForm{text: text}
		if err := f.compile(text); err != nil {
			return nil, err
		}
		if err := f.settle(); err != nil {
			return nil, err
		}
		forms[i] = f
	}
	return forms, nil
}

// compile appends the steps of a form, or of a directive that is short for one.
func (f *dateForm) compile(text string) error {
	for text != "" {
		before, rest, found := strings.Cut(text, "%")
		if before != "" {
			f.steps = append(f.steps, dateStep{text: before})
		}
		if !found {
			return nil
		}
		rest = strings.TrimPrefix(rest, "-") // %-d is %d: both read one digit or two
		if rest == "" {
			return value.Errorf(value.Invalid, "argument 'dates': %s ends in a lone %%", quoteCut(f.text)).WithHint("write a percent sign as %%%%")
		}
		long := map[byte]string{'F': "%Y-%m-%d", 'T': "%H:%M:%S", 'R': "%H:%M", 'D': "%m/%d/%y"}[rest[0]]
		switch {
		case long != "":
			if err := f.compile(long); err != nil {
				return err
			}
		case rest[0] == '%':
			f.steps = append(f.steps, dateStep{text: "%"})
		case rest[0] != ' ' && strings.IndexByte(knownDirectives, rest[0]) >= 0:
			f.steps = append(f.steps, dateStep{directive: rest[0]})
		default:
			return value.Errorf(value.Invalid, "argument 'dates': there is no directive %%%s in %s", string([]rune(rest)[:1]), quoteCut(f.text)).
				WithHint("the directives are %s, each after a percent sign", knownDirectives)
		}
		text = rest[1:]
	}
	return nil
}

// settle finds the type of the form.
func (f *dateForm) settle() error {
	has := func(directives string) bool {
		for _, s := range f.steps {
			if s.directive != 0 && strings.IndexByte(directives, s.directive) >= 0 {
				return true
			}
		}
		return false
	}
	if !has("Yy") || !has("mbBh") || !has("de") {
		return value.Errorf(value.Invalid, "argument 'dates': %s has no full date", quoteCut(f.text)).WithHint(`a form has a year, a month and a day, as in "%%d.%%m.%%Y"`)
	}
	if has("I") != has("p") {
		return value.Errorf(value.Invalid, "argument 'dates': %s has only one of %%I and %%p", quoteCut(f.text)).WithHint("%%I is an hour of 12, and needs %%p; one of 24 is %%H")
	}
	switch {
	case has("z"):
		f.typ = Instant
	case has("HIMSf"):
		f.typ = DateTime
	}
	if f.typ == Text {
		f.typ = Date
	}
	return nil
}

// A clockTime is what the parts of a date and a time say.
type clockTime struct {
	year, month, day, hour, minute, second int
	micros, offset                         int64
	afternoon                              int // -1 where there is no %p
}

// parse reads a text of this form: days or microseconds since 1970.
func (f *dateForm) parse(s string) (v int64, ok bool) {
	t := clockTime{afternoon: -1}
	for _, step := range f.steps {
		if step.directive == 0 {
			if s, ok = strings.CutPrefix(s, step.text); !ok {
				return 0, false
			}
			continue
		}
		if s, ok = t.take(step.directive, s); !ok {
			return 0, false
		}
	}
	if s != "" {
		return 0, false
	}
	return t.value(f.typ)
}

// take reads what a directive stands for off the beginning of s.
func (t *clockTime) take(directive byte, s string) (rest string, ok bool) {
	switch directive {
	case 'Y':
		t.year, rest, ok = takeNumber(s, 4, 4)
	case 'y':
		t.year, rest, ok = takeNumber(s, 2, 2)
		const turn = 69 // by POSIX, 69 to 99 are of the last century
		if t.year += 2000; t.year >= 2000+turn {
			t.year -= 100
		}
	case 'm':
		t.month, rest, ok = takeNumber(s, 1, 2)
	case 'd', 'e':
		if directive == 'e' {
			s = strings.TrimPrefix(s, " ")
		}
		t.day, rest, ok = takeNumber(s, 1, 2)
	case 'H', 'I':
		t.hour, rest, ok = takeNumber(s, 1, 2)
		ok = ok && (directive == 'H' || t.hour >= 1 && t.hour <= 12)
	case 'M':
		t.minute, rest, ok = takeNumber(s, 1, 2)
	case 'S':
		t.second, rest, ok = takeNumber(s, 1, 2)
	case 'f':
		return t.takeFraction(s)
	case 'b', 'B', 'h':
		t.month, rest, ok = takeName(s, monthNames[:])
	case 'a', 'A':
		_, rest, ok = takeName(s, dayNames[:])
	case 'p':
		t.afternoon, rest, ok = takeName(s, halfNames[:])
		t.afternoon--
	case 'z':
		return t.takeZone(s)
	}
	return rest, ok
}

var (
	monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	dayNames   = [...]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	halfNames  = [...]string{"am", "pm"}
)

// takeName reads a name, or the first three letters of it; n is its number from 1.
func takeName(s string, names []string) (n int, rest string, ok bool) {
	const short = 3
	for i, name := range names {
		for _, length := range []int{len(name), min(short, len(name))} {
			if len(s) >= length && strings.EqualFold(s[:length], name[:length]) {
				return i + 1, s[length:], true
			}
		}
	}
	return 0, s, false
}

// takeNumber reads at least least and at most most digits.
func takeNumber(s string, least, most int) (n int, rest string, ok bool) {
	count := 0
	for count < len(s) && count < most && s[count]-'0' <= 9 {
		n = n*10 + int(s[count]-'0')
		count++
	}
	return n, s[count:], count >= least
}

// takeFraction reads one to six digits of a second.
func (t *clockTime) takeFraction(s string) (rest string, ok bool) {
	const most = 6
	n, rest, ok := takeNumber(s, 1, most)
	for range most - (len(s) - len(rest)) {
		n *= 10
	}
	t.micros = int64(n)
	return rest, ok
}

// takeZone reads what a time is ahead of UTC: Z, +01:00 or +0100.
func (t *clockTime) takeZone(s string) (rest string, ok bool) {
	for _, length := range []int{len("Z"), len("+01:00"), len("+0100")} {
		if len(s) < length {
			continue
		}
		if t.offset, ok = parseZone(s[:length]); ok {
			return s[length:], true
		}
	}
	return s, false
}

// value returns the point in time, if there is one.
func (t *clockTime) value(typ Type) (int64, bool) {
	const most = 59
	if t.year < 1 || t.month < 1 || t.month > 12 || t.day < 1 || t.day > daysIn(t.year, t.month) {
		return 0, false
	}
	switch {
	case t.afternoon == 0 && t.hour == 12:
		t.hour = 0
	case t.afternoon == 1 && t.hour < 12:
		t.hour += 12
	}
	if t.hour > 23 || t.minute > most || t.second > most {
		return 0, false
	}
	days := daysSince1970(t.year, t.month, t.day)
	if typ == Date {
		return days, true
	}
	v := (days*secondsPerDay+int64(t.hour*3600+t.minute*60+t.second))*microsecond + t.micros - t.offset
	return v, v >= firstMicro && v <= lastMicro
}
