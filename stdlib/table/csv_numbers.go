package table

import (
	"math"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// numbers is the format of the numbers of a file.
type numbers struct {
	usual     bool   // as in JSON, without other options
	thousands string // separator of groups of three digits, or ""
	decimal   string // decimal separator
	percent   bool   // "12.5%" is 0.125
	percents  bool   // so it is in a column of such numbers
}

func newNumbers(thousands, decimal string, percent bool) (numbers, error) {
	if decimal == "" {
		decimal = "."
	}
	n := numbers{usual: thousands == "" && decimal == "." && !percent, thousands: thousands, decimal: decimal, percent: percent}
	switch {
	case decimal != "." && decimal != ",":
		return n, value.Errorf(value.Invalid, `argument 'decimal' should be "." or ","`)
	case thousands == "":
		return n, nil
	case len(thousands) != 1 || !strings.Contains(",.'_ ", thousands):
		return n, value.Errorf(value.Invalid, "argument 'thousands' should be one of , . ' _ or a space")
	case thousands == decimal:
		return n, value.Errorf(value.Invalid, "arguments 'thousands' and 'decimal' are both %q", decimal).WithHint(`for example, set thousands to "." and decimal to ","`)
	}
	return n, nil
}

// normal converts a number to the notation of JSON. percent reports whether it ends in a
// percent sign.
func (n *numbers) normal(s string) (text string, percent, ok bool) {
	if n.percent && strings.HasSuffix(s, "%") {
		s, percent = strings.TrimSuffix(s[:len(s)-1], " "), true
	}
	whole, fraction, point := strings.Cut(s, n.decimal)
	if n.decimal == "," && strings.Contains(s, ".") && n.thousands != "." {
		return "", false, false // otherwise 1.5 would be a number too
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

// ungrouped removes the separators from the digits before the point. Separators are
// optional, but the groups after the first one must have three digits.
func (n *numbers) ungrouped(s string) (string, bool) {
	if n.thousands == " " {
		s = strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(s) // nonbreaking spaces
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

// integer parses an integer, also one that is written for people.
func (n *numbers) integer(s string) (int64, bool) {
	v, ok := n.bareInteger(s)
	if !ok {
		if plain, d, dressed := undress(s); dressed && !d.percent {
			return n.bareInteger(plain)
		}
	}
	return v, ok
}

func (n *numbers) bareInteger(s string) (int64, bool) {
	if n.usual {
		return parseInteger(s)
	}
	text, percent, ok := n.normal(s)
	if !ok || percent {
		return 0, false
	}
	return parseInteger(text)
}

// float parses a number, also one that is written for people.
func (n *numbers) float(s string) (float64, bool) {
	v, ok := n.bareFloat(s)
	if !ok {
		plain, d, dressed := undress(s)
		if !dressed || d.percent && !n.percents {
			return 0, false
		}
		if v, ok = n.bareFloat(plain); d.percent {
			v /= 100
		}
	}
	return v, ok
}

// bareFloat accepts NaN, and nan as written by Python.
func (n *numbers) bareFloat(s string) (float64, bool) {
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

// isFloat reports whether s is a number in the notation of a float: it has a point or an
// exponent, or is -0, NaN or an infinity. An integer that is too large is text, so no
// digits are lost.
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
	_, ok := parseFloat(s)
	return s == "nan" || s == "-0" || ok && strings.ContainsAny(s, ".eENI")
}

// kindOf returns the kind of a cell, which is not empty and has no spaces around it.
func (n *numbers) kindOf(s string) kindSet {
	c := s[0]
	if c-'0' > 9 && c != '-' && c != '.' {
		switch c {
		case 't', 'T', 'f', 'F':
			if _, ok := parseBool(s); ok {
				return hasBool
			}
			return hasText
		case 'N', 'n', '+':
			if n.isFloat(s) {
				return hasFloat
			}
			return n.dressedKind(s)
		}
		if n.usual || n.decimal != "," || c != ',' {
			return n.dressedKind(s)
		}
	}
	if v, ok := n.bareInteger(s); ok {
		return kindOfInteger(v)
	}
	if _, ok := parseDate(s); ok {
		return hasDate
	}
	if n.isFloat(s) {
		return n.kindOfFloat(s)
	}
	if _, zoned, ok := parseDateTime(s); ok {
		if zoned {
			return hasInstant
		}
		return hasDateTime
	}
	return n.dressedKind(s)
}

// kindOfInteger returns the kind of an integer. It is large if a float would round it.
func kindOfInteger(v int64) kindSet {
	if back, ok := exactInt(float64(v)); !ok || back != v {
		return hasInteger | hasLarge
	}
	return hasInteger
}

// kindOfFloat returns the kind of a number that is a float. It is large if it has digits
// before the point that a float does not keep.
func (n *numbers) kindOfFloat(s string) kindSet {
	const exponent = "eENI" // also of NaN and infinities
	f, ok := n.bareFloat(s)
	if !ok || math.Abs(f) < 1<<53 || strings.ContainsAny(s, exponent) {
		return hasFloat
	}
	if !n.usual {
		s, _, _ = n.normal(s)
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if strings.Trim(fraction, "0") == "" && (whole == strconv.FormatFloat(f, 'f', -1, 64) || whole == strconv.FormatFloat(f, 'f', 0, 64)) {
		return hasFloat
	}
	return hasFloat | hasLarge
}
