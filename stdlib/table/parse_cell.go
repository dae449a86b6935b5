package table

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Cells of text are parsed here: the reader of a file parses each cell, and some of them
// several times. Nothing around a value is skipped, not even a space. The text is checked
// before a library parses it, which accepts more and allocates its errors.

// digits parses the leading digits of s. It returns their value and their count. With
// more than 19 digits the value is unspecified.
func digits(s string) (n int64, count int) {
	for count < len(s) {
		d := s[count] - '0'
		if d > 9 {
			break
		}
		n = n*10 + int64(d)
		count++
	}
	return n, count
}

// parseInteger parses an integer as written in JSON if it fits 64 bits. It rejects -0,
// which only a float can represent.
func parseInteger(s string) (int64, bool) {
	rest := strings.TrimPrefix(s, "-")
	n, count := digits(rest)
	if count == 0 || count != len(rest) || rest[0] == '0' && s != "0" {
		return 0, false
	}
	const safe = 18 // digits that always fit
	if count > safe {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, false
		}
		return n, true
	}
	if rest != s {
		n = -n
	}
	return n, true
}

// exactPowers are powers of ten; a float represents numbers of so many digits exactly.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseFloat parses a number as written in JSON, or without digits on one side of the
// point (.5 and 5.), or as formatFloat writes what JSON cannot represent: NaN, +Inf and
// -Inf. It rejects a number that is too large for a float.
func parseFloat(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "+Inf":
		return math.Inf(1), true
	case "-Inf":
		return math.Inf(-1), true
	}
	rest := strings.TrimPrefix(s, "-")
	whole, before := digits(rest)
	if before > 1 && rest[0] == '0' || before == 0 && !strings.HasPrefix(rest, ".") {
		return 0, false
	}
	fraction, after := int64(0), 0
	if rest = rest[before:]; rest != "" && rest[0] == '.' {
		fraction, after = digits(rest[1:])
		rest = rest[1+after:]
	}
	if n := before + after; rest == "" && 0 < n && n < len(exactPowers) { // as in most numbers
		f := float64(whole*int64(exactPowers[after])+fraction) / exactPowers[after] // the only rounding
		if s[0] == '-' {
			f = -f
		}
		return f, true
	}
	if strings.ContainsAny(rest, "xX_") { // which strconv accepts
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// parseBool parses true, True, TRUE, false, False or FALSE.
func parseBool(s string) (value, ok bool) {
	switch s {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// twoDigits parses the two digits at an index of s, or returns a negative number if
// there are no digits. Both must be within s.
func twoDigits(s string, at int) int {
	a, b := s[at]-'0', s[at+1]-'0'
	if a > 9 || b > 9 {
		return -1
	}
	return int(a)*10 + int(b)
}

// dateLen is the length of a date: 2006-01-02.
const dateLen = 10

// parseDate parses a date of the years 1 to 9999, as 2006-01-02 or 2006/01/02. It
// returns days since 1970.
func parseDate(s string) (days int64, ok bool) {
	if len(s) != dateLen || s[4] != s[7] || s[4] != '-' && s[4] != '/' {
		return 0, false
	}
	century, year, month, day := twoDigits(s, 0), twoDigits(s, 2), twoDigits(s, 5), twoDigits(s, 8)
	if century < 0 || year < 0 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	year += century * 100
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if year == 0 || day > 28 && date.Day() != day { // in a shorter month, it is a day of the next
		return 0, false
	}
	return date.Unix() / secondsPerDay, true
}

// The first and the last microsecond of the years that a time may have, in UTC.
const (
	firstMicro = -719162 * microsPerDay
	lastMicro  = (2932896+1)*microsPerDay - 1
)

// parseDateTime parses a time of the years 1 to 9999 in ISO 8601: a date as in
// parseDate, T or one space, hours and minutes, optional seconds with an optional
// fraction of at most six digits, and an optional zone (Z, +01:00 or +0100). It returns
// microseconds since 1970. If zoned, they are in UTC.
func parseDateTime(s string) (micros int64, zoned, ok bool) {
	const shortest = len("2006-01-02T15:04")
	if len(s) < shortest || s[dateLen] != 'T' && s[dateLen] != ' ' || s[13] != ':' {
		return 0, false, false
	}
	days, ok := parseDate(s[:dateLen])
	hour, minute := twoDigits(s, 11), twoDigits(s, 14)
	if !ok || hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return 0, false, false
	}
	within, s, ok := parseSeconds(s[shortest:])
	if !ok {
		return 0, false, false
	}
	micros = days*microsPerDay + int64(hour*3600+minute*60)*microsecond + within
	if s == "" {
		return micros, false, true
	}
	offset, ok := parseZone(s)
	micros -= offset
	if !ok || micros < firstMicro || micros > lastMicro {
		return 0, false, false
	}
	return micros, true, true
}

// parseSeconds parses the seconds of a time, if there are any. It returns microseconds,
// and the rest of s.
func parseSeconds(s string) (micros int64, rest string, ok bool) {
	if len(s) == 0 || s[0] != ':' {
		return 0, s, true
	}
	if len(s) < 3 {
		return 0, s, false
	}
	second := twoDigits(s, 1)
	if second < 0 || second > 59 {
		return 0, s, false
	}
	micros, s = int64(second)*microsecond, s[3:]
	if len(s) == 0 || s[0] != '.' {
		return micros, s, true
	}
	fraction, count := digits(s[1:])
	if count == 0 || count > 6 {
		return 0, s, false
	}
	for i := count; i < 6; i++ {
		fraction *= 10
	}
	return micros + fraction, s[1+count:], true
}

// parseZone parses an offset from UTC. It returns microseconds.
func parseZone(s string) (int64, bool) {
	if s == "Z" {
		return 0, true
	}
	if s == "" || s[0] != '+' && s[0] != '-' || len(s) != 5 && (len(s) != 6 || s[3] != ':') {
		return 0, false
	}
	hours, minutes := twoDigits(s, 1), twoDigits(s, len(s)-2)
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	offset := int64(hours*3600+minutes*60) * microsecond
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true
}
