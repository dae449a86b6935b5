package clock

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

const timeNoon = "2026-11-21T09:05:07.25Z"

func TestTimeTexts(t *testing.T) {
	berlin := rowtest.Named("zone", "Europe/Berlin")
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "time.format", Args: []any{timeNoon}, Want: timeNoon},
		{Fn: "time.format", Args: []any{timeNoon, berlin}, Want: "2026-11-21T10:05:07.25+01:00"},
		{Fn: "time.format", Args: []any{timeNoon, "%Y-%m-%d %H:%M:%S.%f %y %b %B %a %A %j"},
			Want: "2026-11-21 09:05:07.250000 26 Nov November Sat Saturday 325"},
		{Fn: "time.format", Args: []any{timeNoon, "%I %p %-H %-d %e %% %F %T %D %R %u %w %V %G %h %-j%n%t|"},
			Want: "09 AM 9 21 21 % 2026-11-21 09:05:07 11/21/26 09:05 6 6 47 2026 Nov 325\n\t|"},
		{Fn: "time.format", Args: []any{timeNoon, "%c|%x|%X|%s"}, Want: "Sat Nov 21 09:05:07 2026|11/21/26|09:05:07|1795251907"},
		{Fn: "time.format", Args: []any{timeNoon, "%z %:z %Z", berlin}, Want: "+0100 +01:00 CET"},
		{Fn: "time.format", Args: []any{timeNoon, "%z %Z %H", "-03:30"}, Want: "-0330 -03:30 05"},
		{Fn: "time.format", Args: []any{"2026-01-01", "%-d.%-m. é %e"}, Want: "1.1. é  1"},
		{Fn: "time.format", Args: []any{timeNoon, ""}, Want: ""},
		{Fn: "time.format", Args: []any{timeNoon, "%Q"}, Err: "unknown directive %Q"},
		{Fn: "time.format", Args: []any{timeNoon, "%-b"}, Err: "unknown directive %-b"},
		{Fn: "time.format", Args: []any{timeNoon, "%é"}, Err: "unknown directive %é"},
		{Fn: "time.format", Args: []any{timeNoon, "100%"}, Err: "ends with a single %"},
		{Fn: "time.format", Args: []any{"yesterday"}, Err: `invalid time "yesterday"`},
		{Fn: "time.format", Args: []any{timeNoon, rowtest.Named("zone", "Mars/Olympus")}, Err: "unknown time zone"},
		{Fn: "time.format", Args: []any{timeNoon, rowtest.Named("zone", "Local")}, Err: "unknown time zone"},
		{Fn: "time.format", Args: []any{timeNoon, rowtest.Named("zone", "../etc/passwd")}, Err: "unknown time zone"},
		{Fn: "time.format", Args: []any{timeNoon, rowtest.Named("zone", "+25:00")}, Err: "unknown time zone"},

		{Fn: "time.parse", Args: []any{"2026-11-21T10:00:00+02:00"}, Want: "2026-11-21T10:00:00+02:00"},
		{Fn: "time.parse", Args: []any{" 2026-11-21 10:00:00Z "}, Want: "2026-11-21T10:00:00Z"},
		{Fn: "time.parse", Args: []any{"2026-11-21"}, Want: "2026-11-21T00:00:00Z"},
		{Fn: "time.parse", Args: []any{"2026-11-21 10:30", berlin}, Want: "2026-11-21T10:30:00+01:00"},
		{Fn: "time.parse", Args: []any{"2026-07-21 10:30:15.5", berlin}, Want: "2026-07-21T10:30:15.5+02:00"},
		{Fn: "time.parse", Args: []any{"Sat, 21 Nov 2026 10:00:00 GMT", berlin}, Want: "2026-11-21T10:00:00Z"},
		{Fn: "time.parse", Args: []any{"Sat, 21 Nov 2026 10:00:00 +0200"}, Want: "2026-11-21T10:00:00+02:00"},
		{Fn: "time.parse", Args: []any{"Sat, 21 Nov 2026 10:00:00 EST"}, Err: "invalid time"},
		{Fn: "time.parse", Args: []any{"2026-02-30"}, Err: "invalid time"},
		{Fn: "time.parse", Args: []any{""}, Err: "invalid time"},

		{Fn: "time.parse", Args: []any{"21.11.2026", "%d.%m.%Y"}, Want: "2026-11-21T00:00:00Z"},
		{Fn: "time.parse", Args: []any{"3 NOVEMBER 26, 9:05 pm", "%d %B %y, %I:%M %p", berlin}, Want: "2026-11-03T21:05:00+01:00"},
		{Fn: "time.parse", Args: []any{"12 am", "%I %p"}, Want: "1900-01-01T00:00:00Z"},
		{Fn: "time.parse", Args: []any{"12 PM 70", "%I %p %y"}, Want: "1970-01-01T12:00:00Z"},
		{Fn: "time.parse", Args: []any{"2026325 10", "%Y%j %H"}, Want: "2026-11-21T10:00:00Z"},
		{Fn: "time.parse", Args: []any{"20261121T100000.5-0330", "%Y%m%dT%H%M%S.%f%z"}, Want: "2026-11-21T10:00:00.5-03:30"},
		{Fn: "time.parse", Args: []any{"1795251907", "%s"}, Want: "2026-11-21T09:05:07Z"},
		{Fn: "time.parse", Args: []any{"-1 100%", "%s 100%%"}, Want: "1969-12-31T23:59:59Z"},
		{Fn: "time.parse", Args: []any{"Sat Nov 21 09:05:07 2026 UTC", "%c %Z"}, Want: "2026-11-21T09:05:07Z"},
		{Fn: "time.parse", Args: []any{"2026-11-21  09:05", "%F\n%R"}, Want: "2026-11-21T09:05:00Z"},
		{Fn: "time.parse", Args: []any{"29.2.2023", "%d.%m.%Y"}, Err: "does not exist: 2023-02-29"},
		{Fn: "time.parse", Args: []any{"2023 366", "%Y %j"}, Err: "does not exist"},
		{Fn: "time.parse", Args: []any{"21.13.2026", "%d.%m.%Y"}, Err: `expected a month but got "13.2026"`},
		{Fn: "time.parse", Args: []any{"21", "%d.%m"}, Err: `expected "." but got the end of the text`},
		{Fn: "time.parse", Args: []any{"21 x", "%d"}, Err: `unexpected " x" at the end`},
		{Fn: "time.parse", Args: []any{"26", "%Y"}, Err: "a year of four digits"},
		{Fn: "time.parse", Args: []any{"Foo", "%b"}, Err: "a month"},
		{Fn: "time.parse", Args: []any{"EST", "%Z"}, Err: "an offset"},
		{Fn: "time.parse", Args: []any{"1", "%Q"}, Err: "unknown directive %Q"},
	})
}

func TestTimeSums(t *testing.T) {
	add := func(unit string, n value.Value) any { return rowtest.Named(unit, n) }
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "time.parts", Args: []any{timeNoon}, Want: value.NewDict("year", int64(2026), "month", int64(11), "day", int64(21),
			"hour", int64(9), "minute", int64(5), "second", 7.25, "weekday", int64(6), "yearday", int64(325),
			"week", int64(47), "iso_year", int64(2026), "offset", int64(0))},
		{Fn: "time.parts", Args: []any{"2027-01-03T23:30:00Z", "Asia/Kolkata"}, Want: value.NewDict("year", int64(2027), "month", int64(1), "day", int64(4),
			"hour", int64(5), "minute", int64(0), "second", int64(0), "weekday", int64(1), "yearday", int64(4),
			"week", int64(1), "iso_year", int64(2027), "offset", int64(19800))},

		{Fn: "time.unix", Args: []any{"1970-01-01T00:01:00Z"}, Want: int64(60)},
		{Fn: "time.unix", Args: []any{"1969-12-31T23:59:58.5Z"}, Want: -1.5},
		{Fn: "time.from_unix", Args: []any{int64(60)}, Want: "1970-01-01T00:01:00Z"},
		{Fn: "time.from_unix", Args: []any{-1.5}, Want: "1969-12-31T23:59:58.5Z"},
		{Fn: "time.from_unix", Args: []any{1795251907.1234}, Want: "2026-11-21T09:05:07.1234Z"},
		{Fn: "time.from_unix", Args: []any{int64(0), "America/New_York"}, Want: "1969-12-31T19:00:00-05:00"},
		{Fn: "time.from_unix", Args: []any{int64(-5000000000), "Europe/Berlin"}, Want: "1811-07-23T15:06:40Z"},
		{Fn: "time.from_unix", Args: []any{int64(1 << 62)}, Err: "years 0 to 9999"},
		{Fn: "time.from_unix", Args: []any{-1e300}, Err: "years 0 to 9999"},
		{Fn: "time.from_unix", Args: []any{rowtest.NaN()}, Err: "NaN"},

		{Fn: "time.add", Args: []any{timeNoon}, Want: timeNoon},
		{Fn: "time.add", Args: []any{"2026-01-31", add("months", int64(1))}, Want: "2026-02-28T00:00:00Z"},
		{Fn: "time.add", Args: []any{"2024-02-29", add("years", int64(1))}, Want: "2025-02-28T00:00:00Z"},
		{Fn: "time.add", Args: []any{"2026-03-31", add("months", int64(-13))}, Want: "2025-02-28T00:00:00Z"},
		{Fn: "time.add", Args: []any{"2026-01-31", add("months", int64(1)), add("days", int64(1))}, Want: "2026-03-01T00:00:00Z"},
		{Fn: "time.add", Args: []any{"2026-11-21T23:00:00+02:00", add("weeks", int64(1)), add("hours", int64(2)), add("minutes", int64(-30))},
			Want: "2026-11-29T00:30:00+02:00"},
		{Fn: "time.add", Args: []any{timeNoon, add("seconds", 0.75)}, Want: "2026-11-21T09:05:08Z"},
		{Fn: "time.add", Args: []any{timeNoon, add("seconds", -0.5)}, Want: "2026-11-21T09:05:06.75Z"},
		{Fn: "time.add", Args: []any{timeNoon, add("years", int64(8000))}, Err: "years 0 to 9999"},
		{Fn: "time.add", Args: []any{timeNoon, add("days", int64(-10000000))}, Err: "years 0 to 9999"},
		{Fn: "time.add", Args: []any{timeNoon, add("months", int64(1<<62))}, Err: "must be <="},
		{Fn: "time.add", Args: []any{timeNoon, add("weeks", int64(timeMaxAmount)), add("days", int64(timeMaxAmount))}, Err: "years 0 to 9999"},
		{Fn: "time.add", Args: []any{timeNoon, add("days", 1.5)}, Err: "should be integer"},

		{Fn: "time.diff", Args: []any{"2026-11-21T10:00:00+02:00", "2026-11-21T07:59:59Z"}, Want: int64(1)},
		{Fn: "time.diff", Args: []any{"2026-11-21", timeNoon}, Want: -32707.25},
		{Fn: "time.diff", Args: []any{"9999-12-31", "0000-01-01"}, Want: int64(315569433600)},
		{Fn: "time.diff", Args: []any{"2026-11-21", "x"}, Err: "argument 'b'"},

		{Fn: "time.truncate", Args: []any{timeNoon, "second"}, Want: "2026-11-21T09:05:07Z"},
		{Fn: "time.truncate", Args: []any{timeNoon, "minute"}, Want: "2026-11-21T09:05:00Z"},
		{Fn: "time.truncate", Args: []any{timeNoon, "hour"}, Want: "2026-11-21T09:00:00Z"},
		{Fn: "time.truncate", Args: []any{timeNoon, "day", "Asia/Tokyo"}, Want: "2026-11-21T00:00:00+09:00"},
		{Fn: "time.truncate", Args: []any{"2026-11-22T01:00:00+02:00", "week"}, Want: "2026-11-16T00:00:00+02:00"},
		{Fn: "time.truncate", Args: []any{timeNoon, "month"}, Want: "2026-11-01T00:00:00Z"},
		{Fn: "time.truncate", Args: []any{timeNoon, "quarter"}, Want: "2026-10-01T00:00:00Z"},
		{Fn: "time.truncate", Args: []any{timeNoon, "year"}, Want: "2026-01-01T00:00:00Z"},
		{Fn: "time.truncate", Args: []any{timeNoon, "decade"}, Err: "must be one of: second, minute"},

		{Fn: "time.duration", Args: []any{int64(5400)}, Want: "1h30m0s"},
		{Fn: "time.duration", Args: []any{-1.5}, Want: "-1.5s"},
		{Fn: "time.duration", Args: []any{int64(0)}, Want: "0s"},
		{Fn: "time.duration", Args: []any{1e10}, Err: "9,000,000,000"},
		{Fn: "time.seconds", Args: []any{"1h30m"}, Want: int64(5400)},
		{Fn: "time.seconds", Args: []any{"1h30m0s"}, Want: int64(5400)},
		{Fn: "time.seconds", Args: []any{" -1w 2d 0.5s "}, Want: -777600.5},
		{Fn: "time.seconds", Args: []any{"1500ms"}, Want: 1.5},
		{Fn: "time.seconds", Args: []any{"3µs"}, Want: 3e-6},
		{Fn: "time.seconds", Args: []any{"0.1s0.2s"}, Want: 0.3},
		{Fn: "time.seconds", Args: []any{"90"}, Err: "invalid duration"},
		{Fn: "time.seconds", Args: []any{"1y"}, Err: "invalid duration"},
		{Fn: "time.seconds", Args: []any{"-"}, Err: "invalid duration"},
		{Fn: "time.seconds", Args: []any{"1.2.3s"}, Err: "invalid duration"},
		{Fn: "time.seconds", Args: []any{strings.Repeat("9", 400) + "s"}, Err: "invalid duration"},
	})
}

// What is formatted with a form that names everything is parsed back.
func TestTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		unix := rapid.Int64Range(-62135596800, 253402300799).Draw(r, "unix")
		zone := rapid.SampledFrom([]string{"UTC", "America/St_Johns", "Pacific/Apia", "+05:45"}).Draw(r, "zone")
		text, err := rowtest.Call(t, modules(), "time.from_unix", unix, zone)
		if err != nil {
			return // the zone leads out of the years 0 to 9999
		}
		if got := rowtest.Must(t, modules(), "time.unix", text); got != unix {
			r.Fatalf("unix(from_unix(%d)) = %v by way of %s", unix, got, text)
		}
		for _, form := range []string{"%Y-%m-%dT%H:%M:%S%:z", "%d %b %Y %I:%M:%S %p %z", "%j/%Y %T.%f %z", "%s", "%c %z"} {
			if zone != "UTC" && unix < 0 {
				return // an offset then may have had seconds, which %z does not show
			}
			shown := rowtest.Must(t, modules(), "time.format", text, form, zone)
			back := rowtest.Must(t, modules(), "time.parse", shown, form)
			if got := rowtest.Must(t, modules(), "time.unix", back); got != unix {
				r.Fatalf("parse(%q, %q) = %v, want %s", shown, form, back, text)
			}
		}
	})
}

func FuzzTimeFormat(f *testing.F) {
	for _, s := range []string{"%Y-%m-%dT%H:%M:%S%:z", "%-", "%:", "%:x", "%-%", "%é", "%%%", "%c%s%f"} {
		f.Add(s, "2026-11-21T10:00:00Z")
	}
	f.Add("%d %B %Y", "21 November 2026")
	f.Add("%I%p%j%y", "12am32526")
	f.Fuzz(func(t *testing.T, format, text string) {
		format, text = strings.ToValidUTF8(format, ""), strings.ToValidUTF8(text, "")
		rowtest.Call(t, modules(), "time.format", timeNoon, format)
		for _, args := range [][]any{{text}, {text, format}} {
			v, err := rowtest.Call(t, modules(), "time.parse", args...)
			if err != nil {
				continue
			}
			if again := rowtest.Must(t, modules(), "time.parse", v); again != v {
				t.Errorf("parse%q = %v, which is parsed as %v", args, v, again)
			}
		}
		rowtest.Call(t, modules(), "time.seconds", text)
		rowtest.Call(t, modules(), "time.format", timeNoon, rowtest.Named("zone", text))
	})
}
