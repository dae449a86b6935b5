package table

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A cellFormat is what the number format of a cell means for its value.
type cellFormat uint8

const (
	formatNumber  cellFormat = iota
	formatDate               // a point in time
	formatClock              // a time of day
	formatElapsed            // a duration in hours and minutes
)

// maxFormats limits the styles of a file; spreadsheet programs allow 65,490.
const maxFormats = 1 << 17

// readStyles determines which cell styles display dates.
func (f *xlsxFile) readStyles() error {
	if f.stylesPart == "" {
		return nil
	}
	custom := map[string]cellFormat{}
	return f.eachElement(f.stylesPart, func(r *xmlReader) error {
		list := r.name
		if list != "numFmts" && list != "cellXfs" {
			return nil
		}
		return r.children(func() error {
			if len(custom)+len(f.formats) > maxFormats {
				return r.limit("more than %d formats", maxFormats)
			}
			id := r.attr("numFmtId")
			switch {
			case list == "numFmts" && r.name == "numFmt":
				custom[id] = formatOfCode(r.attr("formatCode"))
			case list == "cellXfs" && r.name == "xf":
				format, ok := custom[id]
				if !ok {
					format = builtinFormat(id)
				}
				f.formats = append(f.formats, format)
			}
			return nil
		})
	})
}

// builtinFormat returns the format of a built-in id, which has no code in the file.
// Those from 27 to 36 and from 50 to 58 are dates in East Asia.
func builtinFormat(id string) cellFormat {
	switch n, err := strconv.Atoi(id); {
	case err != nil:
		return formatNumber
	case 14 <= n && n <= 17, n == 22, 27 <= n && n <= 31, n == 36, 50 <= n && n <= 54, n == 57, n == 58:
		return formatDate
	case 18 <= n && n <= 21, 32 <= n && n <= 35, n == 45, n == 47, n == 55, n == 56:
		return formatClock
	case n == 46:
		return formatElapsed
	}
	return formatNumber
}

// formatOfCode determines from its letters whether a format displays a date: y, m, d, h
// and s outside of quotes and brackets. [h], [mm] and similar ones are durations.
func formatOfCode(code string) cellFormat {
	letters, elapsed := plainLetters(strings.ToLower(code))
	switch {
	case strings.Contains(letters, "general"):
		return formatNumber
	case elapsed:
		return formatElapsed
	case strings.ContainsAny(letters, "yd"):
		return formatDate
	case strings.ContainsAny(letters, "hs"):
		return formatClock
	case strings.Contains(letters, "m"):
		return formatDate
	}
	return formatNumber
}

// plainLetters returns a format code without the literal text.
func plainLetters(code string) (letters string, elapsed bool) {
	var b strings.Builder
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"':
			n := strings.IndexByte(code[i+1:], '"')
			if n < 0 {
				return b.String(), elapsed
			}
			i += n + 1
		case '[':
			n := strings.IndexByte(code[i:], ']')
			if n < 0 {
				return b.String(), elapsed
			}
			inside := code[i+1 : i+n]
			if inside != "" && (strings.Trim(inside, "h") == "" || strings.Trim(inside, "m") == "" || strings.Trim(inside, "s") == "") {
				elapsed = true
			}
			i += n
		case '\\', '_', '*':
			i++
		default:
			b.WriteByte(code[i])
		}
	}
	return b.String(), elapsed
}

// timeOf converts a number of days to what its format displays: a foundTime, or a time
// of day as text. It returns nil if the number is out of range.
func (f *xlsxFile) timeOf(days float64, format cellFormat) any {
	const (
		milliPerDay = secondsPerDay * 1000
		last        = 2958466 // the day after 9999-12-31, counted from 1900
		epoch1900   = 25569   // 1970-01-01, in days after 1899-12-30
		epoch1904   = 24107   // the same in days after 1904-01-01
		noDay       = 60      // 29 February 1900, which did not exist
	)
	if !(days >= 0 && days < last) {
		return nil
	}
	millis := int64(math.Round(days * milliPerDay)) // the precision of a float
	if format == formatElapsed || millis < milliPerDay && !(f.from1904 && format == formatDate) {
		return clockText(millis)
	}
	day, rest := millis/milliPerDay, millis%milliPerDay
	switch {
	case f.from1904:
		day -= epoch1904
	case day == noDay:
		return nil
	case day < noDay:
		day++ // earlier days are counted from 1899-12-31
		fallthrough
	default:
		day -= epoch1900
	}
	const lastDay = 2932896 // 9999-12-31, in days since 1970
	if day > lastDay {
		return nil
	}
	if rest == 0 && format == formatDate {
		return foundTime{Date, day}
	}
	return foundTime{DateTime, day*microsPerDay + rest*1000}
}

// clockText formats a time of day, or a duration in hours, minutes and seconds.
func clockText(millis int64) string {
	d := time.Duration(millis) * time.Millisecond
	text := strconv.FormatInt(int64(d/time.Hour), 10)
	if len(text) < 2 {
		text = "0" + text
	}
	text += time.UnixMilli(millis).UTC().Format(":04:05.999")
	return text
}
