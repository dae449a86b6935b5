package table

import (
	"math"
	"strconv"
)

// What a cell of text says is read here, by hand: the reader of a file asks it
// of each cell, some of them several times. Nothing is allocated, and nothing
// around a value is passed over, not even a space.

// digits reads the digits that s begins with. It returns their value, and how many
// there are; past 19 of them the value is of no account.
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

// parseInteger reads an integer as JSON writes it, if it fits 64 bits. -0 is none:
// only a float can hold it.
func parseInteger(s string) (int64, bool) {
	rest := s
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		rest = s[1:]
	}
	if len(rest) == 0 || rest[0] == '0' && (len(rest) > 1 || negative) {
		return 0, false
	}
	n, count := digits(rest)
	if count != len(rest) {
		return 0, false
	}
	const most = 19 // digits of an integer of 64 bits; 18 always fit
	if count > most || count == most && !fitsInteger(rest, negative) {
		return 0, false
	}
	if negative {
		return -n, true
	}
	return n, true
}

// fitsInteger reports whether 19 digits make an integer of 64 bits.
func fitsInteger(s string, negative bool) bool {
	if negative {
		return s <= "9223372036854775808"
	}
	return s <= "9223372036854775807"
}

// exactPowers are the powers of ten that a float holds exactly.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseFloat reads a number as JSON writes it, or without one of the digits around
// the point (.5 and 5.), or as formatFloat writes what JSON has not: NaN, +Inf and
// -Inf. A number that is too large for a float is none.
func parseFloat(s string) (float64, bool) {
	rest := s
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		rest = s[1:]
	}
	whole, before := digits(rest)
	if before > 1 && rest[0] == '0' {
		return 0, false
	}
	mantissa, after := whole, 0
	rest = rest[before:]
	if len(rest) > 0 && rest[0] == '.' {
		const safe = 18 // digits, past which the sum below would overflow
		var fraction int64
		fraction, after = digits(rest[1:])
		if before+after <= safe {
			mantissa = whole*int64(exactPowers[after]) + fraction
		}
		rest = rest[1+after:]
	}
	if before+after == 0 {
		return parseSpecial(s)
	}
	exponent, ok := parseExponent(rest)
	if !ok {
		return 0, false
	}
	exponent -= after
	const exact = 15 // digits, which a float holds exactly
	if before+after > exact || exponent > 22 || exponent < -22 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0, false
		}
		return f, true
	}
	// Both are exact, so that the one rounding is the right one.
	f := float64(mantissa)
	if exponent < 0 {
		f /= exactPowers[-exponent]
	} else {
		f *= exactPowers[exponent]
	}
	if negative {
		f = -f
	}
	return f, true
}

// parseSpecial reads what formatFloat writes for numbers that are none.
func parseSpecial(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "+Inf":
		return math.Inf(1), true
	case "-Inf":
		return math.Inf(-1), true
	}
	return 0, false
}

// parseExponent reads what may stand after the digits of a number: nothing, or e
// and a whole number.
func parseExponent(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s = s[1:]
	sign := 1
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	n, count := digits(s)
	if count == 0 || count != len(s) {
		return 0, false
	}
	const most = 9 // digits; with more, a number is 0 or too large, and strconv knows which
	if count > most {
		n = 999_999_999
	}
	return sign * int(n), true
}

// parseBool reads true, True, TRUE, false, False or FALSE.
func parseBool(s string) (value, ok bool) {
	switch s {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// twoDigits reads the two digits at a place of s; a negative number says that there
// are none. The place must be inside s.
func twoDigits(s string, at int) int {
	a, b := s[at]-'0', s[at+1]-'0'
	if a > 9 || b > 9 {
		return -1
	}
	return int(a)*10 + int(b)
}

// dateLen is the length of a date: 2006-01-02.
const dateLen = 10

// parseDate reads a date of the years 1 to 9999, as 2006-01-02 or 2006/01/02, in
// days since 1970.
func parseDate(s string) (days int64, ok bool) {
	if len(s) != dateLen || s[4] != s[7] || s[4] != '-' && s[4] != '/' {
		return 0, false
	}
	century, year, month, day := twoDigits(s, 0), twoDigits(s, 2), twoDigits(s, 5), twoDigits(s, 8)
	if century < 0 || year < 0 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	year += century * 100
	if year == 0 || day > daysIn(year, month) {
		return 0, false
	}
	return daysSince1970(year, month, day), true
}

// daysIn is how many days a month has.
func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSince1970 counts the days of the Gregorian calendar. The year is taken to
// begin in March, so that the leap day is its last one.
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	const march1970 = 719468 // days from the 1st of March of the year 0 to 1970
	return int64(365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - march1970)
}

// The first and the last microsecond of the years that a time may have, in UTC.
const (
	firstMicro = -719162 * microsPerDay
	lastMicro  = (2932896+1)*microsPerDay - 1
)

// parseDateTime reads a time of the years 1 to 9999 by ISO 8601, in microseconds
// since 1970: a date as parseDate reads it, T or one space, hours and minutes,
// then, if need be, seconds with a fraction of at most six digits, and a zone (Z,
// +01:00 or +0100). zoned says that there is one; the time is then one in UTC.
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

// parseSeconds reads the seconds of a time, if there are any. It returns them in
// microseconds, and what follows them.
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

// parseZone reads what a time is ahead of UTC, in microseconds.
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
