package row

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxPattern is how long a pattern may be, and maxSteps how long with its
	// repetitions expanded: the time for each character of a text grows with it.
	// Patterns that people write stay below a hundredth of this.
	maxPattern = 10_000
	maxSteps   = 10_000
)

// Pattern compiles a regular expression of a script.
func Pattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, Limit("the pattern is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, patternError(err)
	}
	if patternSteps(tree) > maxSteps {
		return nil, Limit("the pattern has more than %d characters after repetitions are expanded", maxSteps)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, patternError(err)
	}
	return re, nil
}

// patternSteps estimates how many instructions a pattern compiles to.
func patternSteps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += patternSteps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min+1, re.Max)
	}
	return min(n, maxSteps+1) // no overflow, however deep repetitions are nested
}

// patternError returns the error of an invalid pattern. For the syntax of another engine, the hint is
// what to use instead.
func patternError(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return Invalid("invalid pattern: %w", err)
	}
	part := Short(strings.ToValidUTF8(e.Expr, "\ufffd"))
	begins := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(e.Expr, p) {
				return true
			}
		}
		return false
	}
	digit := len(e.Expr) == 2 && e.Expr[0] == '\\' && '1' <= e.Expr[1] && e.Expr[1] <= '9'
	switch out := Invalid("invalid pattern: %s: %s", e.Code, part); {
	case begins("(?=", "(?!", "(?<=", "(?<!"):
		return Invalid("invalid pattern: lookaround (%s) is not supported", part).
			WithHint("match the surrounding text too, and put the part that you need in a group")
	case digit, begins("(?P") && e.Code == syntax.ErrInvalidPerlOp, begins(`\k`, `\g`):
		return Invalid("invalid pattern: backreferences (%s) are not supported", part).
			WithHint("capture both parts in groups, and compare the groups in the script")
	case begins("(?>"), e.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(e.Expr, "+"):
		return Invalid("invalid pattern: atomic groups and possessive repetition (%s) are not supported", part).
			WithHint("write an ordinary group or repetition: RE2 never backtracks")
	case begins(`\Z`):
		return out.WithHint(`write the end of the text as \z`)
	case begins(`\u`, `\U`):
		return out.WithHint(`write the code of a character as \x{20AC}`)
	default:
		return out.WithHint("use the syntax of RE2; to match a special character, write a backslash before it")
	}
}
