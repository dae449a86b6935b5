package secret

import (
	"regexp"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// How each placeholder begins, in a text and in the query of a URL or a form.
const (
	Mark        = "{{secret:"
	MarkInQuery = "%7B%7Bsecret%3A"
)

const nameExpression = `([A-Za-z0-9_][A-Za-z0-9_.-]{0,99})`

var (
	expression        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{secret:` + nameExpression + `\}\}`) })
	expressionInQuery = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(MarkInQuery + nameExpression + `%7D%7D`) })
)

// Placeholder returns what a script holds in place of a secret.
func Placeholder(name string) string { return Mark + name + "}}" }

// CheckName returns an error of kind Invalid for what is not the name of a secret.
func CheckName(name string) error {
	if p := Placeholder(name); expression().FindString(p) != p {
		return value.Errorf(value.Invalid, "invalid name of a secret: %q", row.Short(name))
	}
	return nil
}

// Names returns the names of the secrets whose placeholders are in a text.
func Names(text string) (names []string) {
	if !strings.Contains(text, Mark) {
		return nil
	}
	for _, found := range expression().FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

// Replace replaces each placeholder in a text by what a function returns for its name.
func Replace(text string, by func(name string) string) string {
	return replace(expression(), text, by)
}

// ReplaceInQuery is Replace for the query of a URL, in which placeholders are escaped.
// What the function returns is put there as it is.
func ReplaceInQuery(query string, by func(name string) string) string {
	return replace(expressionInQuery(), query, by)
}

func replace(e *regexp.Regexp, text string, by func(name string) string) string {
	return e.ReplaceAllStringFunc(text, func(placeholder string) string { return by(e.FindStringSubmatch(placeholder)[1]) })
}
