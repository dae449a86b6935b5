package clock

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func timeFormat(a *value.Dict) (value.Value, error) {
	t, err := timeArg(a, "time")
	if err != nil {
		return nil, err
	}
	zone, err := timeLocation(a)
	if err != nil {
		return nil, err
	}
	t = t.In(zone)
	format, given := row.Arg(a, "format").(string)
	if !given {
		return timeText(t)
	}
	var b row.Builder
	for format != "" && !b.Full {
		before, rest, found := strings.Cut(format, "%")
		b.Add(before)
		if !found {
			break
		}
		directive, rest := timeTakeDirective(rest)
		text, ok := timeDirective(t, directive)
		if !ok {
			return nil, timeUnknown(directive)
		}
		b.Add(text)
		format = rest
	}
	return b.Text()
}

// timeTakeDirective takes what follows a percent sign off a format: a letter,
// maybe after a "-" or a ":".
func timeTakeDirective(format string) (directive, rest string) {
	n := 0
	if strings.HasPrefix(format, "-") || strings.HasPrefix(format, ":") {
		n = 1
	}
	_, size := utf8.DecodeRuneInString(format[n:])
	return format[:n+size], format[n+size:]
}

func timeUnknown(directive string) error {
	if directive == "" {
		return row.Invalid("the format ends in a lone %%").WithHint("write a percent sign as %%%%")
	}
	return row.Invalid("unknown directive %%%s in the format", directive).
		WithHint("see time.format for the directives; write a percent sign as %%%%")
}

// timeComposite gives what a directive stands for that is short for several.
func timeComposite(directive string) string {
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

// timeDirective writes one part of a time.
func timeDirective(t time.Time, directive string) (string, bool) {
	if letter, ok := strings.CutPrefix(directive, "-"); ok {
		text, ok := timeDirective(t, letter)
		if n, err := strconv.Atoi(strings.TrimSpace(text)); ok && err == nil && letter != "z" && letter != "Z" {
			return strconv.Itoa(n), true
		}
		return "", false
	}
	if layout, ok := timeLayout(directive); ok {
		return t.Format(layout), true
	}
	isoYear, week := t.ISOWeek()
	switch directive {
	case "%":
		return "%", true
	case "n":
		return "\n", true
	case "t":
		return "\t", true
	case "Y":
		return fmt.Sprintf("%04d", t.Year()), true
	case "j":
		return fmt.Sprintf("%03d", t.YearDay()), true
	case "f":
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case "s":
		return strconv.FormatInt(t.Unix(), 10), true
	case "u":
		return strconv.Itoa(timeWeekday(t)), true
	case "w":
		return strconv.Itoa(int(t.Weekday())), true
	case "V":
		return fmt.Sprintf("%02d", week), true
	case "G":
		return fmt.Sprintf("%04d", isoYear), true
	case "Z":
		if name, _ := t.Zone(); name != "" {
			return name, true
		}
		return t.Format("-07:00"), true
	}
	return "", false
}

// timeLayout gives the layout of the time package that a directive stands for.
func timeLayout(directive string) (string, bool) {
	switch directive {
	case "m":
		return "01", true
	case "d":
		return "02", true
	case "e":
		return "_2", true
	case "H":
		return "15", true
	case "I":
		return "03", true
	case "M":
		return "04", true
	case "S":
		return "05", true
	case "y":
		return "06", true
	case "p":
		return "PM", true
	case "b", "h":
		return "Jan", true
	case "B":
		return "January", true
	case "a":
		return "Mon", true
	case "A":
		return "Monday", true
	case "z":
		return "-0700", true
	case ":z":
		return "-07:00", true
	case "F":
		return "2006-01-02", true
	case "T", "X":
		return "15:04:05", true
	case "R":
		return "15:04", true
	case "D", "x":
		return "01/02/06", true
	case "c":
		return "Mon Jan _2 15:04:05 2006", true
	}
	return "", false
}

func timeParse(a *value.Dict) (value.Value, error) {
	zone, err := timeLocation(a)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(a.Text("text"))
	format, given := row.Arg(a, "format").(string)
	if !given {
		t, err := timeRead(text, zone)
		if err != nil {
			return nil, value.ErrorOf(err, value.Invalid).
				WithHint("without a format, times are as 2026-11-21T10:00:00Z, 2026-11-21 or 2026-11-21 10:00; else give a format, as %%d.%%m.%%Y")
		}
		return timeText(t)
	}
	s := timeScanner{rest: text, year: 1900, month: 1, day: 1, half: -1, zone: zone}
	if err := s.scan(strings.TrimSpace(format)); err != nil {
		return nil, err
	}
	if s.rest != "" {
		return nil, row.Invalid("%q is left over after the format", row.Short(s.rest))
	}
	t, err := s.time()
	if err != nil {
		return nil, err
	}
	return timeText(t)
}

// A timeScanner reads a text by a format.
type timeScanner struct {
	rest                 string
	year, month, day     int // 1900, 1, 1 unless they are read, as in Python
	yearDay              int // 0: not given
	hour, minute, second int
	nano                 int
	half                 int // 0 is am, 1 is pm, -1 is not given
	unix                 int64
	isUnix               bool
	zone                 *time.Location
}

// scan reads along a format; white space in it stands for any, or none.
func (s *timeScanner) scan(format string) error {
	for format != "" {
		r, size := utf8.DecodeRuneInString(format)
		literal := format[:size]
		format = format[size:]
		switch {
		case r == '%':
			var directive string
			directive, format = timeTakeDirective(format)
			if err := s.directive(strings.TrimPrefix(directive, "-")); err != nil {
				return err
			}
		case strings.TrimSpace(literal) == "":
			s.rest = strings.TrimLeft(s.rest, " \t\r\n")
		default:
			rest, ok := strings.CutPrefix(s.rest, literal)
			if !ok {
				return s.expected(fmt.Sprintf("%q", literal))
			}
			s.rest = rest
		}
	}
	return nil
}

func (s *timeScanner) expected(what string) error {
	if s.rest == "" {
		return row.Invalid("the text ends where %s should follow", what)
	}
	return row.Invalid("%q where %s should follow", row.Short(s.rest), what)
}

// directive reads one part of a time.
func (s *timeScanner) directive(d string) error {
	if several := timeComposite(d); several != "" {
		return s.scan(several)
	}
	for _, f := range s.fields() {
		if f.directive == d {
			return s.number(f)
		}
	}
	switch d {
	case "y":
		if err := s.number(timeField{"y", &s.year, 0, 99, 2, "a year of two digits"}); err != nil {
			return err
		}
		// As POSIX has it: 69 to 99 are of the last century.
		if s.year += 1900; s.year < 1969 {
			s.year += 100
		}
		return nil
	case "b", "B", "h":
		return s.name(&s.month, "a month", timeMonthNames)
	case "a", "A":
		var ignored int
		return s.name(&ignored, "a weekday", timeDayNames)
	case "p":
		return s.name(&s.half, "AM or PM", []string{"AM", "PM"})
	case "f":
		return s.fraction()
	case "s":
		return s.epoch()
	case "z", ":z", "Z":
		return s.offset()
	case "%":
		return s.literal("%")
	case "n", "t":
		return s.scan(" ")
	}
	return timeUnknown(d)
}

var (
	timeMonthNames = []string{"", "January", "February", "March", "April", "May", "June", "July", "August", "September",
		"October", "November", "December"}
	timeDayNames = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
)

func (s *timeScanner) literal(text string) error {
	rest, ok := strings.CutPrefix(s.rest, text)
	if !ok {
		return s.expected(fmt.Sprintf("%q", text))
	}
	s.rest = rest
	return nil
}

// A timeField is a part of a time that is written as a number.
type timeField struct {
	directive   string
	into        *int
	least, most int
	digits      int // at most
	what        string
}

func (s *timeScanner) fields() []timeField {
	return []timeField{
		{"Y", &s.year, 0, 9999, 4, "a year of four digits"},
		{"m", &s.month, 1, 12, 2, "a month"},
		{"d", &s.day, 1, 31, 2, "a day"},
		{"e", &s.day, 1, 31, 2, "a day"},
		{"H", &s.hour, 0, 23, 2, "an hour"},
		{"I", &s.hour, 1, 12, 2, "an hour from 1 to 12"},
		{"M", &s.minute, 0, 59, 2, "a minute"},
		{"S", &s.second, 0, 59, 2, "a second"},
		{"j", &s.yearDay, 1, 366, 3, "a day of the year"},
	}
}

func (s *timeScanner) number(f timeField) error {
	s.rest = strings.TrimLeft(s.rest, " ")
	shortest := 1
	if f.digits == 4 {
		shortest = 4 // 26 is no year that anybody means by %Y
	}
	n, rest, ok := timeDigits(s.rest, shortest, f.digits)
	if !ok || n < f.least || f.most < n {
		return s.expected(f.what)
	}
	*f.into, s.rest = n, rest
	return nil
}

// timeDigits takes a number of so many digits off a text.
func timeDigits(text string, least, most int) (n int, rest string, ok bool) {
	i := 0
	for i < min(most, len(text)) && '0' <= text[i] && text[i] <= '9' {
		n = 10*n + int(text[i]-'0')
		i++
	}
	return n, text[i:], i >= least
}

// name reads one of several names, in full or by three letters, and gives its
// place among them.
func (s *timeScanner) name(into *int, what string, names []string) error {
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

func (s *timeScanner) fraction() error {
	n, rest, ok := timeDigits(s.rest, 1, 9)
	if !ok {
		return s.expected("a fraction of a second")
	}
	for range 9 - (len(s.rest) - len(rest)) {
		n *= 10
	}
	s.nano, s.rest = n, rest
	return nil
}

func (s *timeScanner) epoch() error {
	digits, negative := strings.CutPrefix(s.rest, "-")
	n, rest, ok := timeDigits(digits, 1, 12)
	if !ok {
		return s.expected("seconds since 1970")
	}
	if s.unix = int64(n); negative {
		s.unix = -s.unix
	}
	s.isUnix, s.rest = true, rest
	return nil
}

func (s *timeScanner) offset() error {
	for _, utc := range []string{"UTC", "GMT", "Z"} {
		if rest, ok := strings.CutPrefix(s.rest, utc); ok {
			s.zone, s.rest = time.UTC, rest
			return nil
		}
	}
	seconds, rest, ok := timeReadOffset(s.rest)
	if !ok {
		return s.expected("an offset as +02:00, or UTC")
	}
	s.zone, s.rest = timeOffset(seconds), rest
	return nil
}

// time puts together what was read.
func (s *timeScanner) time() (time.Time, error) {
	if s.isUnix {
		return time.Unix(s.unix, int64(s.nano)).In(s.zone), nil
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
		return t, row.Invalid("there is no such day: %04d-%02d-%02d", s.year, int(month), day)
	}
	return t, nil
}
