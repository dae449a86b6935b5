package stdlib

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const timeNoon = "2026-11-21T09:05:07.25Z"

func TestTimeTexts(t *testing.T) {
	berlin := pureNamed{"zone", "Europe/Berlin"}
	pureTable(t, false, []pureCase{
		{fn: "time.format", args: []any{timeNoon}, want: timeNoon},
		{fn: "time.format", args: []any{timeNoon, berlin}, want: "2026-11-21T10:05:07.25+01:00"},
		{fn: "time.format", args: []any{timeNoon, "%Y-%m-%d %H:%M:%S.%f %y %b %B %a %A %j"},
			want: "2026-11-21 09:05:07.250000 26 Nov November Sat Saturday 325"},
		{fn: "time.format", args: []any{timeNoon, "%I %p %-H %-d %e %% %F %T %D %R %u %w %V %G %h %-j%n%t|"},
			want: "09 AM 9 21 21 % 2026-11-21 09:05:07 11/21/26 09:05 6 6 47 2026 Nov 325\n\t|"},
		{fn: "time.format", args: []any{timeNoon, "%c|%x|%X|%s"}, want: "Sat Nov 21 09:05:07 2026|11/21/26|09:05:07|1795251907"},
		{fn: "time.format", args: []any{timeNoon, "%z %:z %Z", berlin}, want: "+0100 +01:00 CET"},
		{fn: "time.format", args: []any{timeNoon, "%z %Z %H", "-03:30"}, want: "-0330 -03:30 05"},
		{fn: "time.format", args: []any{"2026-01-01", "%-d.%-m. é %e"}, want: "1.1. é  1"},
		{fn: "time.format", args: []any{timeNoon, ""}, want: ""},
		{fn: "time.format", args: []any{timeNoon, "%Q"}, err: "unknown directive %Q"},
		{fn: "time.format", args: []any{timeNoon, "%-b"}, err: "unknown directive %-b"},
		{fn: "time.format", args: []any{timeNoon, "%é"}, err: "unknown directive %é"},
		{fn: "time.format", args: []any{timeNoon, "100%"}, err: "lone %"},
		{fn: "time.format", args: []any{"yesterday"}, err: `"yesterday" is not a time`},
		{fn: "time.format", args: []any{timeNoon, pureNamed{"zone", "Mars/Olympus"}}, err: "not a time zone"},
		{fn: "time.format", args: []any{timeNoon, pureNamed{"zone", "Local"}}, err: "not a time zone"},
		{fn: "time.format", args: []any{timeNoon, pureNamed{"zone", "../etc/passwd"}}, err: "not a time zone"},
		{fn: "time.format", args: []any{timeNoon, pureNamed{"zone", "+25:00"}}, err: "not a time zone"},

		{fn: "time.parse", args: []any{"2026-11-21T10:00:00+02:00"}, want: "2026-11-21T10:00:00+02:00"},
		{fn: "time.parse", args: []any{" 2026-11-21 10:00:00Z "}, want: "2026-11-21T10:00:00Z"},
		{fn: "time.parse", args: []any{"2026-11-21"}, want: "2026-11-21T00:00:00Z"},
		{fn: "time.parse", args: []any{"2026-11-21 10:30", berlin}, want: "2026-11-21T10:30:00+01:00"},
		{fn: "time.parse", args: []any{"2026-07-21 10:30:15.5", berlin}, want: "2026-07-21T10:30:15.5+02:00"},
		{fn: "time.parse", args: []any{"Sat, 21 Nov 2026 10:00:00 GMT", berlin}, want: "2026-11-21T10:00:00Z"},
		{fn: "time.parse", args: []any{"Sat, 21 Nov 2026 10:00:00 +0200"}, want: "2026-11-21T10:00:00+02:00"},
		{fn: "time.parse", args: []any{"Sat, 21 Nov 2026 10:00:00 EST"}, err: "not a time"},
		{fn: "time.parse", args: []any{"2026-02-30"}, err: "not a time"},
		{fn: "time.parse", args: []any{""}, err: "not a time"},

		{fn: "time.parse", args: []any{"21.11.2026", "%d.%m.%Y"}, want: "2026-11-21T00:00:00Z"},
		{fn: "time.parse", args: []any{"3 NOVEMBER 26, 9:05 pm", "%d %B %y, %I:%M %p", berlin}, want: "2026-11-03T21:05:00+01:00"},
		{fn: "time.parse", args: []any{"12 am", "%I %p"}, want: "1900-01-01T00:00:00Z"},
		{fn: "time.parse", args: []any{"12 PM 70", "%I %p %y"}, want: "1970-01-01T12:00:00Z"},
		{fn: "time.parse", args: []any{"2026325 10", "%Y%j %H"}, want: "2026-11-21T10:00:00Z"},
		{fn: "time.parse", args: []any{"20261121T100000.5-0330", "%Y%m%dT%H%M%S.%f%z"}, want: "2026-11-21T10:00:00.5-03:30"},
		{fn: "time.parse", args: []any{"1795251907", "%s"}, want: "2026-11-21T09:05:07Z"},
		{fn: "time.parse", args: []any{"-1 100%", "%s 100%%"}, want: "1969-12-31T23:59:59Z"},
		{fn: "time.parse", args: []any{"Sat Nov 21 09:05:07 2026 UTC", "%c %Z"}, want: "2026-11-21T09:05:07Z"},
		{fn: "time.parse", args: []any{"2026-11-21  09:05", "%F\n%R"}, want: "2026-11-21T09:05:00Z"},
		{fn: "time.parse", args: []any{"29.2.2023", "%d.%m.%Y"}, err: "no such day: 2023-02-29"},
		{fn: "time.parse", args: []any{"2023 366", "%Y %j"}, err: "no such day"},
		{fn: "time.parse", args: []any{"21.13.2026", "%d.%m.%Y"}, err: `"13.2026" where a month should follow`},
		{fn: "time.parse", args: []any{"21", "%d.%m"}, err: `ends where "." should follow`},
		{fn: "time.parse", args: []any{"21 x", "%d"}, err: `" x" is left over`},
		{fn: "time.parse", args: []any{"26", "%Y"}, err: "a year of four digits"},
		{fn: "time.parse", args: []any{"Foo", "%b"}, err: "a month"},
		{fn: "time.parse", args: []any{"EST", "%Z"}, err: "an offset"},
		{fn: "time.parse", args: []any{"1", "%Q"}, err: "unknown directive %Q"},
	})
}

func TestTimeSums(t *testing.T) {
	add := func(unit string, n value.Value) pureNamed { return pureNamed{unit, n} }
	pureTable(t, false, []pureCase{
		{fn: "time.parts", args: []any{timeNoon}, want: value.NewDict("year", int64(2026), "month", int64(11), "day", int64(21),
			"hour", int64(9), "minute", int64(5), "second", 7.25, "weekday", int64(6), "yearday", int64(325),
			"week", int64(47), "iso_year", int64(2026), "offset", int64(0))},
		{fn: "time.parts", args: []any{"2027-01-03T23:30:00Z", "Asia/Kolkata"}, want: value.NewDict("year", int64(2027), "month", int64(1), "day", int64(4),
			"hour", int64(5), "minute", int64(0), "second", int64(0), "weekday", int64(1), "yearday", int64(4),
			"week", int64(1), "iso_year", int64(2027), "offset", int64(19800))},

		{fn: "time.unix", args: []any{"1970-01-01T00:01:00Z"}, want: int64(60)},
		{fn: "time.unix", args: []any{"1969-12-31T23:59:58.5Z"}, want: -1.5},
		{fn: "time.from_unix", args: []any{int64(60)}, want: "1970-01-01T00:01:00Z"},
		{fn: "time.from_unix", args: []any{-1.5}, want: "1969-12-31T23:59:58.5Z"},
		{fn: "time.from_unix", args: []any{1795251907.1234}, want: "2026-11-21T09:05:07.1234Z"},
		{fn: "time.from_unix", args: []any{int64(0), "America/New_York"}, want: "1969-12-31T19:00:00-05:00"},
		{fn: "time.from_unix", args: []any{int64(-5000000000), "Europe/Berlin"}, want: "1811-07-23T15:06:40Z"},
		{fn: "time.from_unix", args: []any{int64(1 << 62)}, err: "years 0 to 9999"},
		{fn: "time.from_unix", args: []any{-1e300}, err: "years 0 to 9999"},
		{fn: "time.from_unix", args: []any{pureNaN()}, err: "NaN"},

		{fn: "time.add", args: []any{timeNoon}, want: timeNoon},
		{fn: "time.add", args: []any{"2026-01-31", add("months", int64(1))}, want: "2026-02-28T00:00:00Z"},
		{fn: "time.add", args: []any{"2024-02-29", add("years", int64(1))}, want: "2025-02-28T00:00:00Z"},
		{fn: "time.add", args: []any{"2026-03-31", add("months", int64(-13))}, want: "2025-02-28T00:00:00Z"},
		{fn: "time.add", args: []any{"2026-01-31", add("months", int64(1)), add("days", int64(1))}, want: "2026-03-01T00:00:00Z"},
		{fn: "time.add", args: []any{"2026-11-21T23:00:00+02:00", add("weeks", int64(1)), add("hours", int64(2)), add("minutes", int64(-30))},
			want: "2026-11-29T00:30:00+02:00"},
		{fn: "time.add", args: []any{timeNoon, add("seconds", 0.75)}, want: "2026-11-21T09:05:08Z"},
		{fn: "time.add", args: []any{timeNoon, add("seconds", -0.5)}, want: "2026-11-21T09:05:06.75Z"},
		{fn: "time.add", args: []any{timeNoon, add("years", int64(8000))}, err: "years 0 to 9999"},
		{fn: "time.add", args: []any{timeNoon, add("days", int64(-10000000))}, err: "years 0 to 9999"},
		{fn: "time.add", args: []any{timeNoon, add("months", int64(1<<62))}, err: "must be <="},
		{fn: "time.add", args: []any{timeNoon, add("weeks", int64(timeMaxAmount)), add("days", int64(timeMaxAmount))}, err: "years 0 to 9999"},
		{fn: "time.add", args: []any{timeNoon, add("days", 1.5)}, err: "should be integer"},

		{fn: "time.diff", args: []any{"2026-11-21T10:00:00+02:00", "2026-11-21T07:59:59Z"}, want: int64(1)},
		{fn: "time.diff", args: []any{"2026-11-21", timeNoon}, want: -32707.25},
		{fn: "time.diff", args: []any{"9999-12-31", "0000-01-01"}, want: int64(315569433600)},
		{fn: "time.diff", args: []any{"2026-11-21", "x"}, err: "argument 'b'"},

		{fn: "time.truncate", args: []any{timeNoon, "second"}, want: "2026-11-21T09:05:07Z"},
		{fn: "time.truncate", args: []any{timeNoon, "minute"}, want: "2026-11-21T09:05:00Z"},
		{fn: "time.truncate", args: []any{timeNoon, "hour"}, want: "2026-11-21T09:00:00Z"},
		{fn: "time.truncate", args: []any{timeNoon, "day", "Asia/Tokyo"}, want: "2026-11-21T00:00:00+09:00"},
		{fn: "time.truncate", args: []any{"2026-11-22T01:00:00+02:00", "week"}, want: "2026-11-16T00:00:00+02:00"},
		{fn: "time.truncate", args: []any{timeNoon, "month"}, want: "2026-11-01T00:00:00Z"},
		{fn: "time.truncate", args: []any{timeNoon, "quarter"}, want: "2026-10-01T00:00:00Z"},
		{fn: "time.truncate", args: []any{timeNoon, "year"}, want: "2026-01-01T00:00:00Z"},
		{fn: "time.truncate", args: []any{timeNoon, "decade"}, err: "must be one of: second, minute"},

		{fn: "time.duration", args: []any{int64(5400)}, want: "1h30m0s"},
		{fn: "time.duration", args: []any{-1.5}, want: "-1.5s"},
		{fn: "time.duration", args: []any{int64(0)}, want: "0s"},
		{fn: "time.duration", args: []any{1e10}, err: "9,000,000,000"},
		{fn: "time.seconds", args: []any{"1h30m"}, want: int64(5400)},
		{fn: "time.seconds", args: []any{"1h30m0s"}, want: int64(5400)},
		{fn: "time.seconds", args: []any{" -1w 2d 0.5s "}, want: -777600.5},
		{fn: "time.seconds", args: []any{"1500ms"}, want: 1.5},
		{fn: "time.seconds", args: []any{"3µs"}, want: 3e-6},
		{fn: "time.seconds", args: []any{"0.1s0.2s"}, want: 0.3},
		{fn: "time.seconds", args: []any{"90"}, err: "not a duration"},
		{fn: "time.seconds", args: []any{"1y"}, err: "not a duration"},
		{fn: "time.seconds", args: []any{"-"}, err: "not a duration"},
		{fn: "time.seconds", args: []any{"1.2.3s"}, err: "not a duration"},
		{fn: "time.seconds", args: []any{strings.Repeat("9", 400) + "s"}, err: "not a duration"},
	})
}

// What is formatted with a form that names everything is parsed back.
func TestTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		unix := rapid.Int64Range(-62135596800, 253402300799).Draw(r, "unix")
		zone := rapid.SampledFrom([]string{"UTC", "America/St_Johns", "Pacific/Apia", "+05:45"}).Draw(r, "zone")
		text, err := pureCall(t, "time.from_unix", unix, zone)
		if err != nil {
			return // the zone leads out of the years 0 to 9999
		}
		if got := pureMust(t, "time.unix", text); got != unix {
			r.Fatalf("unix(from_unix(%d)) = %v by way of %s", unix, got, text)
		}
		for _, form := range []string{"%Y-%m-%dT%H:%M:%S%:z", "%d %b %Y %I:%M:%S %p %z", "%j/%Y %T.%f %z", "%s", "%c %z"} {
			if zone != "UTC" && unix < 0 {
				return // an offset then may have had seconds, which %z does not show
			}
			shown := pureMust(t, "time.format", text, form, zone)
			back := pureMust(t, "time.parse", shown, form)
			if got := pureMust(t, "time.unix", back); got != unix {
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
		pureCall(t, "time.format", timeNoon, format)
		for _, args := range [][]any{{text}, {text, format}} {
			v, err := pureCall(t, "time.parse", args...)
			if err != nil {
				continue
			}
			if again := pureMust(t, "time.parse", v); again != v {
				t.Errorf("parse%q = %v, which is parsed as %v", args, v, again)
			}
		}
		pureCall(t, "time.seconds", text)
		pureCall(t, "time.format", timeNoon, pureNamed{"zone", text})
	})
}
