package clock

import (
	"math"
	"strconv"
	"strings"
	"time"

	// The zones come with the program: the worker cannot read those of the
	// machine, and a script should not see other rules on another one.
	_ "time/tzdata"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/strftime"
)

// Pure returns the functions of the module time that compute with given times. They
// read no clock.
func Pure() tool.Module {
	return row.Pure(tool.Module{
		Name: "time",
		Doc: `Parse, format and compute with times. A time is text in RFC 3339, such as "2026-11-21T10:00:00Z". ` +
			"The functions also accept all forms that time.parse reads without a format.",
		Funcs: append(timeTexts(), timeSums()...),
	})
}

func timeNeed(name string) tool.Param {
	return tool.Required(name, tool.TypeString, "The time.")
}

func timeZone(doc string) tool.Param {
	return tool.Optional("zone", tool.TypeString, "UTC", doc+`: a name such as "Europe/Berlin", "UTC", or an offset such as "+02:00".`)
}

func timeTexts() []tool.Func {
	return []tool.Func{
		{
			Name: "format",
			Doc: "Format a time. The directives are those of strftime: %Y %m %d %H %M %S %y %b %B %a %A %j " +
				"%p %I %z %:z %Z %f %e %F %T %D %R %s %u %w %V %G %c %x %X %%. A minus sign after the percent sign omits leading zeros and spaces, as in %-d.",
			Params: []tool.Param{
				timeNeed("time"),
				tool.Maybe("format", tool.TypeString, `The format, such as "%d %B %Y". Default: RFC 3339.`),
				timeZone("The time zone of the result"),
			},
			Returns: "the text",
			Do:      row.Do(timeFormat),
		},
		{
			Name: "parse",
			Doc:  "Parse a time. Without a format, the text has one of these forms: RFC 3339; 2026-11-21; 2026-11-21 10:00; 2026-11-21 10:00:30; RFC 1123, which mail and HTTP use.",
			Params: []tool.Param{
				tool.Required("text", tool.TypeString, "The text."),
				tool.Maybe("format", tool.TypeString, `The format of the text, with the directives of time.format, such as "%d.%m.%Y".`),
				timeZone("The time zone, if the text has none"),
			},
			Returns: `the time in RFC 3339, with the offset of the text`,
			Do:      row.Do(timeParse),
		},
		{
			Name: "parts",
			Doc:  "Split a time into its parts.",
			Params: []tool.Param{
				timeNeed("time"),
				timeZone("The time zone of the result"),
			},
			Returns: `a dict {"year", "month", "day", "hour", "minute", "second", "weekday" (1 is Monday, 7 Sunday), "yearday", ` +
				`"week" and "iso_year" (ISO 8601), "offset" (seconds east of UTC)}; second is a float if the time has a fraction`,
			Do: row.Do(timeParts),
		},
		{
			Name:    "unix",
			Doc:     "Convert a time to the number of seconds since 1970-01-01T00:00:00Z.",
			Params:  []tool.Param{timeNeed("time")},
			Returns: "a number, an integer if the time has no fraction",
			Do:      row.Do(timeUnix),
		},
		{
			Name: "from_unix",
			Doc:  "Convert a number of seconds since 1970-01-01T00:00:00Z to a time.",
			Params: []tool.Param{
				tool.Required("seconds", tool.TypeNumber, "The seconds. A fraction is exact to the microsecond."),
				timeZone("The time zone of the result"),
			},
			Returns: "the time in RFC 3339",
			Do:      row.Do(timeFromUnix),
		},
	}
}

func timeSums() []tool.Func {
	amount := func(unit string) tool.Param {
		return row.Between(tool.Optional(unit, tool.TypeInteger, int64(0), "How many "+unit+" to add. A negative number subtracts."), -timeMaxAmount, timeMaxAmount)
	}
	return []tool.Func{
		{
			Name: "add",
			Doc: "Add to a time. Years and months are added first. The day of the month stays the same. If the new month is too short, " +
				"its last day is used: January 31 plus one month is February 28 or 29. A day has 24 hours.",
			Params: []tool.Param{
				timeNeed("time"), amount("years"), amount("months"), amount("weeks"), amount("days"), amount("hours"), amount("minutes"),
				tool.Optional("seconds", tool.TypeNumber, int64(0), "How many seconds to add. A negative number subtracts. Fractions are allowed."),
			},
			Returns: "the time in RFC 3339, with the offset of the given time",
			Do:      row.Do(timeAdd),
		},
		{
			Name: "diff",
			Doc:  "Return the number of seconds from b to a.",
			Params: []tool.Param{
				tool.Required("a", tool.TypeString, "The later time; if it is earlier than b, the result is negative."),
				tool.Required("b", tool.TypeString, "The earlier time."),
			},
			Returns: "a number, negative if a is before b",
			Do:      row.Do(timeDiff),
		},
		{
			Name: "truncate",
			Doc:  "Round a time down to the start of a unit, such as the day. A week starts on Monday.",
			Params: []tool.Param{
				timeNeed("time"),
				timeUnits(tool.Required("unit", tool.TypeString, "The unit: second, minute, hour, day, week, month, quarter or year.")),
				tool.Maybe("zone", tool.TypeString, "The time zone of the result. Units start in this zone. Default: the offset of the time."),
			},
			Returns: "the time in RFC 3339",
			Do:      row.Do(timeTruncate),
		},
		{
			Name:    "duration",
			Doc:     "Format seconds as a duration.",
			Params:  []tool.Param{tool.Required("seconds", tool.TypeNumber, "The seconds.")},
			Returns: `text such as "1h30m0s"`,
			Do:      row.Do(timeDuration),
		},
		{
			Name: "seconds",
			Doc:  "Parse a duration.",
			Params: []tool.Param{
				tool.Required("duration", tool.TypeString, `Numbers with units, such as "1h30m", "2d" or "-1.5s". The units are w d h m s ms us ns.`),
			},
			Returns: "the seconds, as an integer if they have no fraction",
			Do:      row.Do(timeSeconds),
		},
	}
}

func timeUnits(p tool.Param) tool.Param {
	for _, unit := range []string{"second", "minute", "hour", "day", "week", "month", "quarter", "year"} {
		p.Type.Enum = append(p.Type.Enum, unit)
	}
	return p
}

// timeMaxAmount bounds what can be added of one unit: more than all seconds
// between the years 0 and 9999, and few enough that weeks in seconds fit.
const timeMaxAmount = 1_000_000_000_000

// timeText writes a time as RFC 3339, which knows the years 0 to 9999 and
// offsets of whole minutes: those of the time before zones had seconds.
func timeText(t time.Time) (value.Value, error) {
	if _, offset := t.Zone(); offset%60 != 0 {
		t = t.UTC()
	}
	if t.Year() < 0 || t.Year() > 9999 {
		return nil, row.Invalid("the time is outside the years 0 to 9999")
	}
	return t.Format(time.RFC3339Nano), nil
}

// timeArg reads an argument that is a time.
func timeArg(a *value.Dict, name string) (time.Time, error) {
	t, err := timeRead(a.Text(name), time.UTC)
	if err != nil {
		return time.Time{}, row.Invalid("argument '%s': %w", name, err).
			WithHint(`write it as "2026-11-21T10:00:00Z", or read another format with time.parse`)
	}
	return t, nil
}

// timeRead reads a time in one of the forms that need no format.
func timeRead(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", time.DateOnly, time.DateTime, "2006-01-02 15:04",
		"2006-01-02T15:04:05", "2006-01-02T15:04", time.RFC1123Z,
	} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	// An abbreviation such as EST says nothing certain; only these two do.
	if strings.HasSuffix(text, " GMT") || strings.HasSuffix(text, " UTC") {
		if t, err := time.ParseInLocation(time.RFC1123, text, time.UTC); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, row.Invalid("invalid time %q", row.Short(text))
}

// timeLocation returns the zone that an argument names.
func timeLocation(a *value.Dict) (*time.Location, error) {
	name := a.Text("zone")
	if name == "" || name == "UTC" || name == "Z" {
		return time.UTC, nil
	}
	if name[0] == '+' || name[0] == '-' {
		if zone, rest, ok := strftime.Offset(name); ok && rest == "" {
			return zone, nil
		}
	} else if name != "Local" { // which is wherever the machine stands
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, row.Invalid("unknown time zone %q", row.Short(name)).
		WithHint(`use a name such as "Europe/Berlin", "UTC", or an offset such as "+02:00"`)
}

// timeInZone returns the argument time in the zone that the argument zone names.
func timeInZone(a *value.Dict) (time.Time, error) {
	t, err := timeArg(a, "time")
	if err != nil {
		return t, err
	}
	zone, err := timeLocation(a)
	if err != nil {
		return t, err
	}
	return t.In(zone), nil
}

func timeFormat(a *value.Dict) (value.Value, error) {
	t, err := timeInZone(a)
	if err != nil {
		return nil, err
	}
	format, given := row.Arg(a, "format").(string)
	if !given {
		return timeText(t)
	}
	f, err := strftime.New(format, strftime.Directives, false)
	if err != nil {
		return nil, err
	}
	return f.Text(t)
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
				WithHint("write it as 2026-11-21T10:00:00Z, 2026-11-21 or 2026-11-21 10:00, or pass a format such as %%d.%%m.%%Y")
		}
		return timeText(t)
	}
	f, err := strftime.New(strings.TrimSpace(format), strftime.Directives, false)
	if err != nil {
		return nil, err
	}
	t, err := f.Parse(text, zone)
	if err != nil {
		return nil, err
	}
	return timeText(t)
}

func timeParts(a *value.Dict) (value.Value, error) {
	t, err := timeInZone(a)
	if err != nil {
		return nil, err
	}
	year, week := t.ISOWeek()
	_, offset := t.Zone()
	return value.NewDict(
		"year", int64(t.Year()), "month", int64(t.Month()), "day", int64(t.Day()),
		"hour", int64(t.Hour()), "minute", int64(t.Minute()), "second", row.Number(float64(t.Second())+float64(t.Nanosecond())/1e9),
		"weekday", int64(timeWeekday(t)), "yearday", int64(t.YearDay()),
		"week", int64(week), "iso_year", int64(year), "offset", int64(offset),
	), nil
}

// timeWeekday counts from Monday, which is 1, as ISO 8601 does.
func timeWeekday(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

func timeUnix(a *value.Dict) (value.Value, error) {
	t, err := timeArg(a, "time")
	if err != nil {
		return nil, err
	}
	return timeNumber(t.Unix(), t.Nanosecond()), nil
}

// timeNumber gives seconds and nanoseconds as one number.
func timeNumber(seconds int64, nano int) value.Value {
	if nano == 0 {
		return seconds
	}
	return float64(seconds) + float64(nano)/1e9
}

func timeFromUnix(a *value.Dict) (value.Value, error) {
	zone, err := timeLocation(a)
	if err != nil {
		return nil, err
	}
	t, err := timeLater(a, time.Unix(0, 0), 0)
	if err != nil {
		return nil, err
	}
	return timeText(t.In(zone))
}

// timeLater adds whole seconds and the argument seconds, which may have a
// fraction, to a time. A time.Duration would overflow after 292 years.
func timeLater(a *value.Dict, t time.Time, whole int64) (time.Time, error) {
	fraction := 0.0
	switch s := row.Arg(a, "seconds").(type) {
	case int64:
		if s < -timeMaxAmount || timeMaxAmount < s {
			return t, row.Invalid("the time is outside the years 0 to 9999")
		}
		whole += s
	default:
		f, err := row.Finite(s, "argument 'seconds'")
		if err != nil {
			return t, err
		}
		if math.Abs(f) > timeMaxAmount {
			return t, row.Invalid("the time is outside the years 0 to 9999")
		}
		whole += int64(math.Floor(f))
		fraction = f - math.Floor(f)
	}
	micros := int64(math.Round(fraction * 1e6))
	return time.Unix(t.Unix()+whole, int64(t.Nanosecond())+micros*1000).In(t.Location()), nil
}

func timeAdd(a *value.Dict) (value.Value, error) {
	t, err := timeArg(a, "time")
	if err != nil {
		return nil, err
	}
	months := 12*a.Int("years") + a.Int("months")
	if months < -12*20_000 || 12*20_000 < months {
		return nil, row.Invalid("the time is outside the years 0 to 9999")
	}
	t = timeMonths(t, int(months))
	seconds := a.Int("weeks")*7*86400 + a.Int("days")*86400 + a.Int("hours")*3600 + a.Int("minutes")*60
	if t, err = timeLater(a, t, seconds); err != nil {
		return nil, err
	}
	return timeText(t)
}

// timeMonths adds months and keeps within the month that this leads to.
func timeMonths(t time.Time, months int) time.Time {
	if months == 0 {
		return t
	}
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

func timeDiff(args *value.Dict) (value.Value, error) {
	a, err := timeArg(args, "a")
	if err != nil {
		return nil, err
	}
	b, err := timeArg(args, "b")
	if err != nil {
		return nil, err
	}
	return timeNumber(a.Unix()-b.Unix(), a.Nanosecond()-b.Nanosecond()), nil
}

func timeTruncate(a *value.Dict) (value.Value, error) {
	t, err := timeArg(a, "time")
	if err != nil {
		return nil, err
	}
	if a.Text("zone") != "" {
		zone, err := timeLocation(a)
		if err != nil {
			return nil, err
		}
		t = t.In(zone)
	}
	year, month, day := t.Date()
	switch a.Text("unit") {
	case "second":
		return timeText(t.Add(-time.Duration(t.Nanosecond())))
	case "minute":
		return timeText(t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond())))
	case "hour":
		return timeText(t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond())))
	case "week":
		day -= timeWeekday(t) - 1
	case "month":
		day = 1
	case "quarter":
		month, day = (month-1)/3*3+1, 1
	case "year":
		month, day = 1, 1
	}
	return timeText(time.Date(year, month, day, 0, 0, 0, 0, t.Location()))
}

func timeDuration(a *value.Dict) (value.Value, error) {
	s, err := row.Float(a, "seconds")
	if err != nil {
		return nil, err
	}
	if math.Abs(s) > 9e9 {
		return nil, row.Invalid("argument 'seconds' should be from -9,000,000,000 to 9,000,000,000 (285 years)")
	}
	return time.Duration(math.Round(s * 1e9)).String(), nil
}

func timeSeconds(a *value.Dict) (value.Value, error) {
	text := a.Text("duration")
	wrong := row.Invalid("invalid duration %q", row.Short(text)).WithHint(`write numbers with units, such as "1h30m", "2d" or "0.5s"`)
	rest, negative := strings.CutPrefix(strings.TrimSpace(text), "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	if rest == "" {
		return nil, wrong
	}
	total := 0.0
	for rest != "" {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		value, err := strconv.ParseFloat(rest[:n], 64)
		rest = rest[n:]
		n = len(rest) - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzµμ"))
		unit, known := map[string]float64{"w": 7 * 86400, "d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}[rest[:n]]
		if err != nil || !known {
			return nil, wrong
		}
		rest = strings.TrimLeft(rest[n:], " ")
		total += value * unit
	}
	if negative {
		total = -total
	}
	if math.Abs(total) < 1e6 { // where a float can tell nanoseconds apart
		total = math.Round(total*1e9) / 1e9
	}
	if math.IsInf(total, 0) {
		return nil, wrong
	}
	return row.Number(total), nil
}
