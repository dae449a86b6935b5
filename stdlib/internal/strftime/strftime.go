// Package strftime writes and reads times in formats with the directives of strftime.
package strftime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Directives are all directives. [Format.Parse] does not support u, w, V and G.
const Directives = "a A b B c d D e f F G h H I j m M n p R s S t T u V w x X y Y z :z Z %"

// A Format is a parsed format. It is immutable.
type Format struct {
	steps []step
	exact bool
}

// A step is a directive, or a text.
type step struct {
	directive string // "" for a text
	bare      bool   // the number is written without padding
	text      string
}

// maxSteps bounds the memory of a format: a directive of two letters can have a dozen steps.
const maxSteps = 10_000

// New parses a format with the given directives, some of [Directives]. An exact format
// reads only what it would write, except that a number may lack its padding: no more
// spaces than it has, a year of two digits, at most six digits of a fraction, and an
// offset with its minutes. It fails with kind Limit for a format of more than 10,000 directives and texts.
func New(format, directives string, exact bool) (*Format, error) {
	f := &Format{exact: exact}
	return f, f.add(format, directives)
}

// add appends the steps of a format.
func (f *Format) add(format, known string) error {
	for {
		if len(f.steps) > maxSteps {
			return row.Limit("the time format has more than %d directives and texts", maxSteps)
		}
		before, rest, found := strings.Cut(format, "%")
		if before != "" {
			f.steps = append(f.steps, step{text: before})
		}
		if !found {
			return nil
		}
		rest, bare := strings.CutPrefix(rest, "-")
		n := 0
		if strings.HasPrefix(rest, ":") && !bare {
			n = 1
		}
		_, size := utf8.DecodeRuneInString(rest[n:])
		directive := rest[:n+size]
		format = rest[n+size:]
		switch {
		case directive == "":
			return row.Invalid("invalid time format: it ends with a single %%").WithHint("write a percent sign as %%%%")
		case !isKnown(directive, known):
			return row.Invalid("invalid time format: unknown directive %%%s", directive).
				WithHint("the directives are %s; write each after a percent sign, as in %%Y, and a percent sign as %%%%", known)
		case directive == "%" || directive == "n" || directive == "t":
			f.steps = append(f.steps, step{text: map[string]string{"%": "%", "n": "\n", "t": "\t"}[directive]})
		default:
			if several := composite(directive); several != "" {
				if err := f.add(several, Directives); err != nil {
					return err
				}
				continue
			}
			f.steps = append(f.steps, step{directive: directive, bare: bare})
		}
	}
}

// isKnown reports whether a directive is one of these, without a list of them for each directive.
func isKnown(directive, known string) bool {
	for k := range strings.FieldsSeq(known) {
		if k == directive {
			return true
		}
	}
	return false
}

// composite returns what a directive is short for, or "".
func composite(directive string) string {
	switch directive {
	case "F":
		return "%Y-%m-%d"
	case "T", "X":
		return "%H:%M:%S"
	case "R":
		return "%H:%M"
	case "D", "x":
		return "%m/%d/%y"
	case "c":
		return "%a %b %e %H:%M:%S %Y"
	}
	return ""
}

// Has reports whether the format has one of these directives of one letter.
func (f *Format) Has(letters string) bool {
	for _, s := range f.steps {
		if s.directive != "" && strings.Contains(letters, s.directive) {
			return true
		}
	}
	return false
}

// Text writes a time.
func (f *Format) Text(t time.Time) (value.Value, error) {
	var b row.Builder
	for _, s := range f.steps {
		text := s.text
		if s.directive != "" {
			text = written(t, s.directive)
		}
		if s.bare {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || s.directive == "z" {
				return nil, row.Invalid("invalid time format: unknown directive %%-%s", s.directive).WithHint("use %%- only with a directive that gives a number, as in %%-d")
			}
			text = strconv.Itoa(n)
		}
		if b.Add(text); b.Full {
			break
		}
	}
	return b.Text()
}

// written writes one part of a time.
func written(t time.Time, directive string) string {
	switch directive {
	case "f":
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case "s":
		return strconv.FormatInt(t.Unix(), 10)
	case "u":
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	case "w":
		return strconv.Itoa(int(t.Weekday()))
	case "V":
		_, week := t.ISOWeek()
		return fmt.Sprintf("%02d", week)
	case "G":
		year, _ := t.ISOWeek()
		return fmt.Sprintf("%04d", year)
	case "Z":
		if name, _ := t.Zone(); name != "" {
			return name
		}
		directive = ":z"
	}
	return t.Format(layout(directive))
}

// layout returns the layout of package time for a directive.
func layout(directive string) string {
	switch directive {
	case "Y":
		return "2006"
	case "y":
		return "06"
	case "m":
		return "01"
	case "b", "h":
		return "Jan"
	case "B":
		return "January"
	case "d":
		return "02"
	case "e":
		return "_2"
	case "j":
		return "002"
	case "a":
		return "Mon"
	case "A":
		return "Monday"
	case "H":
		return "15"
	case "I":
		return "03"
	case "p":
		return "PM"
	case "M":
		return "04"
	case "S":
		return "05"
	case "z":
		return "-0700"
	case ":z":
		return "-07:00"
	}
	return ""
}

// Parse reads a time. A text without an offset is in the zone; what the format does not
// have is that of 1900-01-01T00:00:00.
func (f *Format) Parse(text string, zone *time.Location) (time.Time, error) {
	s := scanner{rest: text, exact: f.exact, year: 1900, month: 1, day: 1, half: -1, zone: zone}
	for i := range f.steps {
		if err := s.step(&f.steps[i]); err != nil {
			return time.Time{}, err
		}
	}
	if s.rest != "" {
		return time.Time{}, row.Invalid("the text does not match the format: unexpected %q at the end", row.Short(s.rest))
	}
	return s.time()
}

// A scanner reads a text.
type scanner struct {
	rest                 string
	exact                bool
	year, month, day     int
	yearDay              int // 0: not given
	hour, minute, second int
	nano                 int
	half                 int // 0 is am, 1 is pm, -1 is not given
	unix                 *int64
	zone                 *time.Location
}

func (s *scanner) expected(what string) error {
	if s.rest == "" {
		return row.Invalid("the text does not match the format: expected %s but got the end of the text", what)
	}
	return row.Invalid("the text does not match the format: expected %s but got %q", what, row.Short(s.rest))
}

// step reads what one step of a format has written.
func (s *scanner) step(at *step) error {
	switch at.directive {
	case "":
		return s.text(at.text)
	case "Y":
		return s.number(&s.year, 0, 9999, 4, 4, "a year of four digits")
	case "y":
		least := 1
		if s.exact {
			least = 2
		}
		err := s.number(&s.year, 0, 99, least, 2, "a year of two digits")
		if s.year += 1900; s.year < 1969 { // in POSIX, 69 to 99 are in the last century
			s.year += 100
		}
		return err
	case "m":
		return s.number(&s.month, 1, 12, 1, 2, "a month")
	case "e":
		s.rest = strings.TrimPrefix(s.rest, " ")
		fallthrough
	case "d":
		return s.number(&s.day, 1, 31, 1, 2, "a day")
	case "j":
		return s.number(&s.yearDay, 1, 366, 1, 3, "a day of the year")
	case "H":
		return s.number(&s.hour, 0, 23, 1, 2, "an hour")
	case "I":
		return s.number(&s.hour, 1, 12, 1, 2, "an hour from 1 to 12")
	case "M":
		return s.number(&s.minute, 0, 59, 1, 2, "a minute")
	case "S":
		return s.number(&s.second, 0, 59, 1, 2, "a second")
	case "b", "B", "h":
		return s.name(&s.month, "a month", "", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
	case "a", "A":
		return s.name(new(int), "a weekday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
	case "p":
		return s.name(&s.half, "AM or PM", "AM", "PM")
	case "f":
		return s.fraction()
	case "s":
		return s.epoch()
	case "z", ":z", "Z":
		return s.offset()
	}
	return row.Invalid("invalid time format: the directive %%%s is for time.format only, not for parsing", at.directive)
}

// text reads a text of the format. Unless the format is exact, white space in it stands
// for any amount of white space, or none.
func (s *scanner) text(text string) error {
	for text != "" {
		_, size := utf8.DecodeRuneInString(text)
		if s.exact {
			size = len(text)
		}
		literal := text[:size]
		text = text[size:]
		if !s.exact && strings.TrimSpace(literal) == "" {
			s.rest = strings.TrimLeft(s.rest, " \t\r\n")
			continue
		}
		rest, ok := strings.CutPrefix(s.rest, literal)
		if !ok {
			return s.expected(strconv.Quote(literal))
		}
		s.rest = rest
	}
	return nil
}

// number reads a number of so many digits.
func (s *scanner) number(into *int, from, to, least, most int, what string) error {
	if !s.exact {
		s.rest = strings.TrimLeft(s.rest, " ")
	}
	n, rest, ok := digits(s.rest, least, most)
	if !ok || n < from || to < n {
		return s.expected(what)
	}
	*into, s.rest = n, rest
	return nil
}

// digits takes a number of so many digits off a text.
func digits(text string, least, most int) (n int, rest string, ok bool) {
	i := 0
	for i < min(most, len(text)) && '0' <= text[i] && text[i] <= '9' {
		n = 10*n + int(text[i]-'0')
		i++
	}
	return n, text[i:], i >= least
}

// name reads one of several names, in full or by three letters, and sets its index.
func (s *scanner) name(into *int, what string, names ...string) error {
	for i, full := range names {
		for _, name := range []string{full, full[:min(3, len(full))]} {
			if name != "" && len(s.rest) >= len(name) && strings.EqualFold(s.rest[:len(name)], name) {
				*into, s.rest = i, s.rest[len(name):]
				return nil
			}
		}
	}
	return s.expected(what)
}

func (s *scanner) fraction() error {
	most := 9
	if s.exact {
		most = 6
	}
	n, rest, ok := digits(s.rest, 1, most)
	if !ok {
		return s.expected("a fraction of a second")
	}
	for range 9 - (len(s.rest) - len(rest)) {
		n *= 10
	}
	s.nano, s.rest = n, rest
	return nil
}

func (s *scanner) epoch() error {
	text, negative := strings.CutPrefix(s.rest, "-")
	n, rest, ok := digits(text, 1, 12)
	if !ok {
		return s.expected("seconds since 1970")
	}
	unix := int64(n)
	if negative {
		unix = -unix
	}
	s.unix, s.rest = &unix, rest
	return nil
}

func (s *scanner) offset() error {
	for _, utc := range []string{"UTC", "GMT", "Z"} {
		if rest, ok := strings.CutPrefix(s.rest, utc); ok && (utc == "Z" || !s.exact) {
			s.zone, s.rest = time.UTC, rest
			return nil
		}
	}
	zone, rest, ok := Offset(s.rest)
	const hours = len("+02")
	if !ok || s.exact && len(s.rest)-len(rest) == hours {
		return s.expected("an offset such as +02:00, or UTC")
	}
	s.zone, s.rest = zone, rest
	return nil
}

// Offset takes an offset as +02:00, +0200 or +02 off a text.
func Offset(text string) (zone *time.Location, rest string, ok bool) {
	if text == "" || (text[0] != '+' && text[0] != '-') {
		return nil, text, false
	}
	hours, rest, ok := digits(text[1:], 2, 2)
	if !ok {
		return nil, text, false
	}
	minutes := 0
	if m, after, ok := digits(strings.TrimPrefix(rest, ":"), 2, 2); ok {
		minutes, rest = m, after
	}
	if hours > 23 || minutes > 59 {
		return nil, text, false
	}
	seconds := hours*3600 + minutes*60
	if text[0] == '-' {
		seconds = -seconds
	}
	if seconds == 0 {
		return time.UTC, rest, true
	}
	return time.FixedZone("", seconds), rest, true
}

// time returns the time of the parts that were read.
func (s *scanner) time() (time.Time, error) {
	if s.unix != nil {
		return time.Unix(*s.unix, int64(s.nano)).In(s.zone), nil
	}
	hour := s.hour
	if s.half >= 0 {
		hour = hour%12 + 12*s.half
	}
	month, day := time.Month(s.month), s.day
	if s.yearDay > 0 {
		month, day = 1, s.yearDay
	}
	t := time.Date(s.year, month, day, hour, s.minute, s.second, s.nano, s.zone)
	if (s.yearDay > 0 && t.YearDay() != s.yearDay) || (s.yearDay == 0 && t.Day() != day) {
		return t, row.Invalid("the date does not exist: %04d-%02d-%02d", s.year, int(month), day)
	}
	return t, nil
}
