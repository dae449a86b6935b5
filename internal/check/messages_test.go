package check_test

import (
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/scripttest"
)

// TestMessages checks what some faults say.
func TestMessages(t *testing.T) {
	c := check.New(check.Options{Modules: modules(t), Tools: knownTools, Test: scripttest.Module().Funcs})
	for name, test := range map[string]struct{ file, text, want string }{
		"the tool of a result": {"count.star", "def count() -> str:\n    \"\"\"Count.\"\"\"\n    return 3\n\ntool(count)\n",
			"the result of 'count' does not have its declared type: - Result should be string but got number"},
		"an unknown type once": {"count.star", "def count(n: strng) -> str:\n    \"\"\"Count.\"\"\"\n    return n\n\ntool(count)\n",
			`unknown type "strng"; did you mean "str"?`},
		"a similar host": {"page.star", "def page() -> str:\n    \"\"\"Get a page.\"\"\"\n    return http.get(\"https://api.exmaple.com/v1\")[\"body\"]\n\ntool(page, needs = [\"http.get:api.example.com\"])\n",
			`http.get needs the capability "http.get:api.exmaple.com", which is not in needs; did you mean "http.get:api.example.com"?`},
		"a similar handler": {"page.lua", "local function get_page(args)\n  return args.a\nend\n\nreturn tool{\n  description = \"Get a page.\",\n  params = { a = param(\"string\") },\n  handler = get_pgae,\n}\n",
			`handler must be a function, but "get_pgae" is not defined; did you mean "get_page"?`},
	} {
		found := c.File(filepath.Join(t.TempDir(), "tools", test.file), test.text)
		if len(found) == 0 || found[0].Message != test.want {
			t.Errorf("%s: got\n%s\nwant %s", name, explained(found), test.want)
		}
	}
}
