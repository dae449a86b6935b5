// Package names knows the names that a program in Starlark cannot give to what is its own.
package names

import (
	"slices"
	"strings"
)

// IsKeyword reports whether a name is a word of Starlark, or one that it keeps for
// itself.
func IsKeyword(name string) bool {
	return slices.Contains(keywords, name)
}

// IsPredeclared reports whether every script has something by a name, beside its tools.
func IsPredeclared(name string) bool {
	return slices.Contains(predeclared, name)
}

var (
	keywords = strings.Fields(`and as assert async await break class continue def del elif else except finally for from
		global if import in is lambda load nonlocal not or pass raise return try while with yield None True False`)
	predeclared = strings.Fields(`abs all any attempt bool bytes chr dict dir emit enumerate example fail float getattr hasattr
		hash int len list log max min ord param print progress range repr reversed set sorted str tool tuple type uuid zip
		agent base64 csv data diff env fs html http human json math model random re secret shell text time tools url yaml`)
)
