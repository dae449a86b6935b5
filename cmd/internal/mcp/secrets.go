package mcp

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

var (
	// secretName matches names of variables, headers, flags and query parameters whose values are
	// usually secret.
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)auth|token|secret|passw|passphrase|credential|cookie|(^|[_-])(pat|pwd|pin|key|dsn|cert)([_-]|$)|api-?_?key|apikey|private|session|signature|connection_?string`)
	})
	// secretForm matches the tokens of well-known services, and JSON web tokens.
	secretForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(sk|pk|rk)[-_][A-Za-z0-9_-]{8,}|\bgh[pousr]_[A-Za-z0-9]{8,}|github_pat_|glpat-|xox[abeprs]-|\bAKIA[A-Z0-9]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\bey[A-Za-z0-9_-]{8,}\.ey[A-Za-z0-9_-]{8,}|-----BEGIN |(?i)\b(bearer|basic) +[A-Za-z0-9+/=._~-]{8,}|://[^/@\s]+:[^/@\s]+@`)
	})
	// opaque matches a word of random characters.
	opaque = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9+/=_~-]{20,}$`) })
)

// isSecret reports whether a literal value of a variable, a header or a flag looks like a secret. A
// value that takes a variable from the environment is not one, apart from the rest of its text.
func isSecret(name, text string) bool {
	rest := strings.TrimSpace(variableUse().ReplaceAllString(text, ""))
	switch word := strings.ToLower(rest); {
	case rest == "", word == "bearer", word == "basic", word == "token", word == "true", word == "false":
		return false
	}
	return secretName().MatchString(name) || looksSecret(rest)
}

// variableUse matches ${VAR} without a default, which would be a literal value.
var variableUse = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*(:-)?\}`)
})

// looksSecret reports whether a text has the form of a secret, whatever its name is.
func looksSecret(text string) bool {
	if secretForm().MatchString(text) {
		return true
	}
	return opaque().MatchString(text) && strings.ContainsFunc(text, unicode.IsDigit) && strings.ContainsFunc(text, unicode.IsLetter) &&
		strings.Count(text, "/")+strings.Count(text, "-") < 5
}
