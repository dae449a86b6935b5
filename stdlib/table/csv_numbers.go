package table

import (
	"math"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// numbers is how the numbers of a file are written.
type numbers struct {
	usual     bool   // as JSON has them, and nothing else was said
	thousands string // between groups of three digits, or ""
	decimal   string // before the fraction
	percent   bool   // "12.5%" is 0.125
}

func newNumbers(thousands, decimal string, percent bool) (numbers, error) {
	if decimal == "" {
		decimal = "."
	}
	n := numbers{thousands == "" && decimal == "." && !percent, thousands, decimal, percent}
	switch {
	case decimal != "." && decimal != ",":
		return n, value.Errorf(value.Invalid, `argument 'decimal' should be "." or ","`)
	case thousands == "":
		return n, nil
	case len(thousands) != 1 || !strings.Contains(",.'_ ", thousands):
		return n, value.Errorf(value.Invalid, "argument 'thousands' should be one of , . ' _ or a space")
	case thousands == decimal:
		return n, value.Errorf(value.Invalid, "arguments 'thousands' and 'decimal' are both %q", decimal).WithHint(`as in thousands = ".", decimal = ","`)
	}
	return n, nil
}

// normal writes a number as JSON has it. percent says that it is in hundredths.
func (n *numbers) normal(s string) (text string, percent, ok bool) {
	if n.percent && strings.HasSuffix(s, "%") {
		s, percent = strings.TrimSuffix(s[:len(s)-1], " "), true
	}
	whole, fraction, point := strings.Cut(s, n.decimal)
	if n.decimal == "," && strings.Contains(s, ".") && n.thousands != "." {
		return "", false, false // else 1.5 would be a number, too
	}
	if n.thousands != "" {
		if whole, ok = n.ungrouped(whole); !ok {
			return "", false, false
		}
	}
	if point {
		whole += "." + fraction
	}
	return whole, percent, true
}

// ungrouped takes the separators out of the digits before the point; there may be
// none, but where there is one, each group behind it has three digits.
func (n *numbers) ungrouped(s string) (string, bool) {
	if n.thousands == " " {
		s = strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(s) // which keep a number in one line
	}
	groups := strings.Split(s, n.thousands)
	for i, g := range groups {
		if i == 0 {
			g = strings.TrimPrefix(g, "-")
		}
		_, count := digits(g)
		if len(groups) > 1 && (count != len(g) || count == 0 || count > 3 || i > 0 && count != 3) {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

// integer reads an integer.
func (n *numbers) integer(s string) (int64, bool) {
	if n.usual {
		return parseInteger(s)
	}
	text, percent, ok := n.normal(s)
	if !ok || percent {
		return 0, false
	}
	return parseInteger(text)
}

// float reads a number. It reads nan, as Python writes it, beside NaN.
func (n *numbers) float(s string) (float64, bool) {
	if s == "nan" {
		return math.NaN(), true
	}
	if n.usual {
		return parseFloat(s)
	}
	text, percent, ok := n.normal(s)
	if !ok {
		return 0, false
	}
	f, ok := parseFloat(text)
	if percent {
		f /= 100
	}
	return f, ok
}

// isFloat reports whether s is a number that is no integer by its form: it has a
// point or an exponent, or is -0 or none of the numbers. So the digits of an
// integer that is too large are text, which loses none of them.
func (n *numbers) isFloat(s string) bool {
	if !n.usual {
		text, percent, ok := n.normal(s)
		if _, isInteger := parseInteger(text); ok && percent && isInteger {
			return true
		}
		if !ok {
			return false
		}
		s = text
	}
	rest := s
	if s != "" && s[0] == '-' {
		rest = s[1:]
	}
	before := countDigits(rest)
	switch {
	case before == len(rest):
		return s == "-0"
	case before > 1 && rest[0] == '0':
		return false
	case rest[before] != '.':
		return s == "nan" || isNumber(s)
	}
	const most = 300 // digits, which fit every float
	after := countDigits(rest[before+1:])
	if before+1+after == len(rest) && before < most {
		return before+after > 0
	}
	return isNumber(s)
}

func isNumber(s string) bool {
	_, ok := parseFloat(s)
	return ok
}

func countDigits(s string) int {
	i := 0
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}

// What was seen in the cells of a column, of which some are no value.
type seen uint16

const (
	seenInteger seen = 1 << iota
	seenFloat
	seenBool
	seenDate
	seenDateTime
	seenInstant
	seenText
	seenWord // NA and the like, which may be a missing value
	seenFree // a cell in quotes that it does not need
)

// kindOf tells what a cell reads as. It has something in it, and no spaces around
// that.
func (n *numbers) kindOf(s string) seen {
	c := s[0]
	if c-'0' > 9 && c != '-' && c != '.' {
		switch c {
		case 't', 'T', 'f', 'F':
			if _, ok := parseBool(s); ok {
				return seenBool
			}
			return seenText
		case 'N', 'n', '+':
			if n.isFloat(s) {
				return seenFloat
			}
			return seenText
		}
		if n.usual || n.decimal != "," || c != ',' {
			return seenText
		}
	}
	if _, ok := n.integer(s); ok {
		return seenInteger
	}
	if _, ok := parseDate(s); ok {
		return seenDate
	}
	if n.isFloat(s) {
		return seenFloat
	}
	if _, zoned, ok := parseDateTime(s); ok {
		if zoned {
			return seenInstant
		}
		return seenDateTime
	}
	return seenText
}
