package prose

import (
	"slices"
	"strings"
)

// IsKeyword reports whether a name is a keyword or a reserved word of Starlark.
func IsKeyword(name string) bool {
	return slices.Contains(keywords, name)
}

// IsPredeclared reports whether a name is predeclared in every script.
func IsPredeclared(name string) bool {
	return slices.Contains(predeclared, name)
}

// Identifier returns the name of a tool or a parameter as a program writes it: other characters
// than letters and digits are _.
func Identifier(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 128 && IsWord(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		return "_" + name
	}
	return name
}

var (
	keywords = strings.Fields(`and as assert async await break class continue def del elif else except finally for from
		global if import in is lambda load nonlocal not or pass raise return try while with yield None True False`)
	predeclared = strings.Fields(`abs all any attempt bool bytes chr dict dir emit enumerate example fail float getattr hasattr
		hash int len list log max min ord param print progress range repr reversed set show sorted str tool tuple type uuid zip
		agent base64 csv data diff env fs html http human json math media model random re secret shell text time tools url yaml`)
)
