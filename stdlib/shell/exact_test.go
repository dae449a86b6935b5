package shell

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestExact checks that commands which differ in a word, or in how words are divided, have different
// exact capabilities, and that others have none.
func TestExact(t *testing.T) {
	t.Parallel()
	d := projectAt(t, t.TempDir(), &Options{})
	c := d.commands
	list := func(words ...string) *value.Dict { return value.NewDict("argv", argvOf(words...), "cwd", ".") }
	seen := map[tool.Capability]bool{}
	for want, args := range map[string]*value.Dict{
		"shell:$ npm test":             list("npm", "test"),
		"shell:$ npm":                  list("npm"),
		"shell:$ npm 'a b'":            list("npm", "a b"),
		"shell:$ npm a b":              list("npm", "a", "b"),
		"shell:$ npm ''":               list("npm", ""),
		"shell:$ sh -c 'echo *; true'": list("sh", "-c", "echo *; true"),
		"shell:$ npm \"it's\"":         list("npm", "it's"),
		"shell:$ npm '$HOME'":          list("npm", "$HOME"),
	} {
		got, ok := c.exact(args)
		if !ok || got.String() != want || seen[got] {
			t.Errorf("%v: %q, %v, want %q", args, got, ok, want)
		}
		seen[got] = true
	}
	other := list("npm", "test")
	other.Put("cwd", "sub")
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'a'
	}
	for name, args := range map[string]*value.Dict{
		"another folder": other, "two lines": list("npm", "a\nb"), "an invisible letter": list("npm", "a\u200bb"), "a path": list("./npm"), "nothing": list(),
		"a long line": list("npm", string(long)), "bytes": list("npm", "\xff"),
	} {
		if got, ok := c.exact(args); ok {
			t.Errorf("%s: %q, want none", name, got)
		}
	}
}
