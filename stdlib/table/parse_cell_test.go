package table

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseInteger(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"7", 7, true}, {"-7", -7, true}, {"1234567890", 1234567890, true},
		{"999999999999999999", 999999999999999999, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false}, {"-9223372036854775809", 0, false}, {"99999999999999999999999", 0, false},
		{"", 0, false}, {"-", 0, false}, {"+1", 0, false}, {"-0", 0, false}, {"00", 0, false}, {"007", 0, false}, {"-07", 0, false},
		{"1.0", 0, false}, {"1e3", 0, false}, {" 1", 0, false}, {"1 ", 0, false}, {"--1", 0, false}, {"1_000", 0, false}, {"0x1", 0, false}, {"١", 0, false},
	} {
		if got, ok := parseInteger(test.in); got != test.want || ok != test.ok {
			t.Errorf("parseInteger(%q) = %v, %v, want %v, %v", test.in, got, ok, test.want, test.ok)
		}
	}
}

func TestParseFloat(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"0", "-0", "1", "-1", "0.1", "1.5", ".5", "-.5", "5.", "-5.", "5.e3", "1e3", "1E+3", "1e-3", "0.0", "-0.0",
		"123456789012345", "1234567890123456", "12345678901234567890", "0.1234567890123456789", "1e22", "1e23", "1e-22", "1e-23",
		"9007199254740993", "3.4e38", "1.7976931348623157e308", "5e-324", "1e-400", "0e999999999999", "0.000001", "1e-999999999999",
		"999999999999999e22", "999999999999999e-22", "100000000000000000.5", "123456789012345678.9", "12345678901234567.89"} {
		want, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := parseFloat(s); !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("parseFloat(%q) = %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "-", ".", "-.", "+1", "+.5", "01", "-01", "00.5", "1e", "1e+", "e3", ".e3", "1.5.2", "1,5", "1_0", "0x1p3", "inf", "Inf", "nan", "-NaN", "+NaN",
		"infinity", " 1", "1 ", "1e400", "-1e400", "1e999999999999", "1e5.", "--1", "1f"} {
		if got, ok := parseFloat(s); ok {
			t.Errorf("parseFloat(%q) = %v, want an error", s, got)
		}
	}
}

// TestParseNumberGrammar checks the parsers against a second definition of the grammar
// of numbers.
func TestParseNumberGrammar(t *testing.T) {
	t.Parallel()
	integer := regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	float := regexp.MustCompile(`^(-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]Inf)$`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[-+]?[0-9]{0,21}(\.[0-9]{0,18})?([eE][-+]?[0-9]{0,3})?[-. 0x]?`).Draw(t, "s")
		wantInt, err := strconv.ParseInt(s, 10, 64)
		isInt := err == nil && integer.MatchString(s)
		if got, ok := parseInteger(s); ok != isInt || ok && got != wantInt {
			t.Errorf("parseInteger(%q) = %v, %v, want %v, %v", s, got, ok, wantInt, isInt)
		}
		want, err := strconv.ParseFloat(s, 64)
		isFloat := err == nil && float.MatchString(s)
		if got, ok := parseFloat(s); ok != isFloat || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("parseFloat(%q) = %v, %v, want %v, %v", s, got, ok, want, isFloat)
		}
	})
}

func TestParseFloatReadsFormatFloat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Uint64(), math.Float64frombits), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0})).Draw(t, "f")
		s := formatFloat(f)
		if got, ok := parseFloat(s); !ok || got != f && !(math.IsNaN(f) && math.IsNaN(got)) {
			t.Errorf("parseFloat(%q) = %v, %v, want %v", s, got, ok, f)
		}
		if _, ok := parseInteger(s); ok {
			t.Errorf("parseInteger(%q) accepts a formatted float", s)
		}
	})
}

func TestParseBool(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false} {
		if got, ok := parseBool(s); !ok || got != want {
			t.Errorf("parseBool(%q) = %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "t", "tRUE", "yes", "1", "0", " true", "true ", "falsE"} {
		if got, ok := parseBool(s); ok {
			t.Errorf("parseBool(%q) = %v, want an error", s, got)
		}
	}
}

func TestParseDate(t *testing.T) {
	t.Parallel()
	// All days of the years 1 to 9999 would be about 3.6 million: every day of some
	// years, then steps.
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := 0; day.Year() <= 9999; n++ {
		want := day.Unix() / secondsPerDay
		for _, form := range []string{"2006-01-02", "2006/01/02"} {
			if got, ok := parseDate(day.Format(form)); !ok || got != want {
				t.Fatalf("parseDate(%q) = %v, %v, want %v", day.Format(form), got, ok, want)
			}
		}
		if got := formatTime(Date, want); got != day.Format(time.DateOnly) {
			t.Fatalf("formatTime(%d) = %q", want, got)
		}
		step := 1
		if n > 3000 {
			step = 29
		}
		day = day.AddDate(0, 0, step)
	}
	for _, s := range []string{"", "2024-02-30", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01", "2024-01-00", "2024-04-31", "2024-01-32", "0000-01-01",
		"2024-1-1", "24-01-01", "2024-01/01", "2024/01-01", "20240101", "2024.01.01", " 2024-01-01", "2024-01-01 ", "-024-01-01", "2024-0a-01", "10000-01-01", "２024-01-01", "2024-01-01T00:00"} {
		if got, ok := parseDate(s); ok {
			t.Errorf("parseDate(%q) = %v, want an error", s, got)
		}
	}
}

func TestParseDateTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in    string
		want  string // in RFC 3339, in UTC
		zoned bool
	}{
		{"2024-02-29T12:34", "2024-02-29T12:34:00Z", false},
		{"2024-02-29 12:34:56", "2024-02-29T12:34:56Z", false},
		{"2024/02/29 12:34:56", "2024-02-29T12:34:56Z", false},
		{"2024-02-29T12:34:56.5", "2024-02-29T12:34:56.5Z", false},
		{"2024-02-29T12:34:56.000001", "2024-02-29T12:34:56.000001Z", false},
		{"2024-02-29T12:34:56.123456Z", "2024-02-29T12:34:56.123456Z", true},
		{"2024-02-29T12:34Z", "2024-02-29T12:34:00Z", true},
		{"2024-02-29T00:30:00+01:00", "2024-02-28T23:30:00Z", true},
		{"2024-02-29 23:30:00-0130", "2024-03-01T01:00:00Z", true},
		{"1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999Z", false},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", true},
		{"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", true},
		{"0001-01-01T00:30:00-00:30", "0001-01-01T01:00:00Z", true},
	} {
		at, err := time.Parse(time.RFC3339Nano, test.want)
		if err != nil {
			t.Fatal(err)
		}
		if got, zoned, ok := parseDateTime(test.in); !ok || got != at.UnixMicro() || zoned != test.zoned {
			t.Errorf("parseDateTime(%q) = %v, %v, %v, want %v, %v", test.in, got, zoned, ok, at.UnixMicro(), test.zoned)
		}
	}
	for _, s := range []string{"", "2024-02-29", "2024-02-29T", "2024-02-29T12", "2024-02-29T12:3", "2024-02-29T12:34:", "2024-02-29T12:34:5", "2024-02-29T12:34:56.",
		"2024-02-29T12:34:56.1234567", "2024-02-29T24:00", "2024-02-29T12:60", "2024-02-29T12:34:60", "2024-02-30T12:34", "2024-02-29t12:34", "2024-02-29  12:34",
		"2024-02-29T12:34z", "2024-02-29T12:34 Z", "2024-02-29T12:34+1:00", "2024-02-29T12:34+24:00", "2024-02-29T12:34+01:60", "2024-02-29T12:34+01", "2024-02-29T12:34+01.00",
		"2024-02-29T12.34", "2024-02-29T12:34:56,5", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2024-02-29T12:34:56Zx", "2024-02-29T12:34:56+", "2024-02-29T12:34:56.Z"} {
		if got, _, ok := parseDateTime(s); ok {
			t.Errorf("parseDateTime(%q) = %v, want an error", s, got)
		}
	}
}

func TestParseDateTimeReadsFormatTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(firstMicro, lastMicro).Draw(t, "n")
		if got, zoned, ok := parseDateTime(formatTime(DateTime, n)); got != n || zoned || !ok {
			t.Errorf("parseDateTime(%q) = %v, %v, %v, want %v", formatTime(DateTime, n), got, zoned, ok, n)
		}
		if got, zoned, ok := parseDateTime(formatTime(Instant, n)); got != n || !zoned || !ok {
			t.Errorf("parseDateTime(%q) = %v, %v, %v, want %v", formatTime(Instant, n), got, zoned, ok, n)
		}
	})
}

func FuzzParseCell(f *testing.F) {
	for _, s := range []string{"", "-", "1", "1.5e3", "2024-02-29", "2024-02-29T12:34:56.5+01:00", "2024-02-29T12:34:", "true", "1e", "é", "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := parseInteger(s); ok && strconv.FormatInt(n, 10) != s {
			t.Errorf("parseInteger(%q) = %v", s, n)
		}
		if _, ok := parseInteger(s); ok {
			if _, ok := parseFloat(s); !ok {
				t.Errorf("parseFloat(%q) rejects an integer", s)
			}
		}
		if got, ok := parseFloat(s); ok {
			if want, err := strconv.ParseFloat(s, 64); err != nil || got != want && got == got {
				t.Errorf("parseFloat(%q) = %v, want %v, %v", s, got, want, err)
			}
		}
		if days, ok := parseDate(s); ok && formatTime(Date, days) != strings.ReplaceAll(s, "/", "-") {
			t.Errorf("parseDate(%q) = %v", s, days)
		}
		if n, zoned, ok := parseDateTime(s); ok {
			typ := DateTime
			if zoned {
				typ = Instant
			}
			if again, z, ok := parseDateTime(formatTime(typ, n)); again != n || z != zoned || !ok {
				t.Errorf("parseDateTime(%q) = %v, which is formatted and parsed as %v, %v, %v", s, n, again, z, ok)
			}
		}
	})
}

func BenchmarkParseCell(b *testing.B) {
	run := func(name string, f func() bool) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if !f() {
					b.Fatal("refused")
				}
			}
		})
	}
	run("integer", func() bool { _, ok := parseInteger("1234567"); return ok })
	run("float", func() bool { _, ok := parseFloat("1234.5678"); return ok })
	run("float_17_digits", func() bool { _, ok := parseFloat("0.12345678901234567"); return ok })
	run("bool", func() bool { _, ok := parseBool("false"); return ok })
	run("date", func() bool { _, ok := parseDate("2024-02-29"); return ok })
	run("datetime", func() bool { _, _, ok := parseDateTime("2024-02-29T12:34:56.123456Z"); return ok })
	run("text", func() bool {
		_, a := parseInteger("Amsterdam")
		_, b := parseFloat("Amsterdam")
		_, c := parseBool("Amsterdam")
		_, d := parseDate("Amsterdam")
		_, _, e := parseDateTime("Amsterdam")
		return !(a || b || c || d || e)
	})
}
