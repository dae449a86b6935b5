package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// scriptKinds are the tools of [BenchmarkScriptTests]: the suffix and the source of a tool whose name is
// in place of NAME, the setup of its tests, and one test with the number of the test in place of N.
var scriptKinds = []struct{ suffix, tool, setup, test string }{
	{".star", `"""Count the words of a file, and keep a list."""

def NAME(filepath: str, least: int = 0) -> dict[str, int]:
    """Count the words of a file.

    Args:
      filepath: The file.
      least: Words that are shorter do not count.
    """
    words = [w for w in fs.read(filepath).split() if len(w) >= least]
    fs.append("counts.csv", "%s,%d\n" % (filepath, len(words)))
    return {"words": len(words), "distinct": len(set(words))}

tool(NAME, needs = ["fs.read", "fs.write:counts.csv"], params = {"least": param(min = 0)})
`, `    t.fs({"a.txt": "one two three " * 20})
`, `    t.eq(t.call("NAME", filepath = "a.txt", least = N), {"words": 60 if N < 4 else 20 if N < 6 else 0, "distinct": 3 if N < 4 else 1 if N < 6 else 0})
    t.eq(t.read("counts.csv").startswith("a.txt,"), True)
`},
	{".star", `"""Prices of an item."""

def NAME(item: str) -> dict[str, any]:
    """Get the price of an item.

    Args:
      item: The name of the item.
    """
    r = http.get("https://shop.example.com/prices", params = {"q": item}, headers = {"Authorization": "Bearer " + secret("SHOP_KEY")})
    if r["status"] != 200:
        fail("no price of " + item)
    return {"item": item, "price": r["json"]["price"] * 2}

tool(NAME, needs = ["http.get:shop.example.com", "secret:SHOP_KEY@shop.example.com"])
`, `    t.secret({"SHOP_KEY": "a-key-for-tests"})
    t.http({"https://shop.example.com/prices?q=none": {"status": 404}, "GET https://shop.example.com/prices": {"json": {"price": 21}}})
`, `    t.eq(t.call("NAME", item = "item N"), {"item": "item N", "price": 42})
    t.fails("NAME", item = "none", match = "no price of none")
`},
	{".star", `"""The state of a repository."""

def NAME(limit: int) -> list[str]:
    """List the last commits.

    Args:
      limit: How many to list.
    """
    out = shell.run(["git", "log", "--oneline", "-n", str(limit)], check = True)["stdout"]
    return [line.split(" ", 1)[1] for line in out.splitlines()]

tool(NAME, needs = ["shell:git"])
`, `    t.shell({"git log *": lambda c: "".join(["abc%d change %d\n" % (i, i) for i in range(int(c["argv"][-1]))])})
`, `    t.eq(len(t.call("NAME", limit = N)), N)
    t.eq(len(t.effects("shell")), 1)
`},
	{".star", `"""Names in URLs."""

def NAME(text: str, separator: str = "-") -> str:
    """Turn a text into a name.

    Args:
      text: The text.
      separator: What is between words.
    """
    words = "".join([c if c.isalnum() else " " for c in text.lower().elems()]).split()
    return separator.join(words)

tool(NAME, params = {"text": param(min_length = 1)}, examples = [example("two words", args = {"text": "Hello World"}, expect = "hello-world")])
`, "    pass\n", `    t.table([{"text": "A b", "want": "a-b"}, {"text": "N, and N!", "want": "N-and-N"}], lambda c: t.eq(t.call("NAME", text = c["text"]), c["want"]))
`},
	{".lua", `local function count(args)
  local n = 0
  for line in fs.read(args.filepath):gmatch("[^\n]+") do
    if line:find(args.word, 1, true) then n = n + 1 end
  end
  return n
end

return tool{
  description = "Count the lines with a word.", needs = { "fs.read" }, handler = count, returns = "integer",
  params = { filepath = param("string", "The file."), word = param("string", "The word.") },
}
`, `    t.fs({"log.txt": "".join(["line %d\n" % i for i in range(50)])})
`, `    t.eq(t.call("NAME", filepath = "log.txt", word = "line N"), 11 if N in [1, 2, 3, 4] else 1)
    t.fails("NAME", filepath = "missing.txt", word = "x")
`},
}

// writeScriptTests writes a project with tools of all kinds, and with 10 tests for each tool.
func writeScriptTests(b *testing.B, dir string, tools int) {
	b.Helper()
	for i := range tools {
		kind := scriptKinds[i%len(scriptKinds)]
		name := fmt.Sprintf("tool_%d", i)
		named := func(text string) string { return strings.ReplaceAll(text, "NAME", name) }
		writeTool(b, dir, name+kind.suffix, named(kind.tool))
		var tests strings.Builder
		tests.WriteString("def setup(t):\n" + kind.setup)
		for n := range 10 {
			fmt.Fprintf(&tests, "\ndef test_%d(t):\n%s", n, strings.ReplaceAll(named(kind.test), "N", fmt.Sprint(n)))
		}
		writeTool(b, dir, name+"_test.star", tests.String())
	}
}

// BenchmarkScriptTests runs cassidy test in a project with 1,000 tests: files, servers with a secret,
// commands and pure functions in Starlark, and files in Lua. Each fifth tool has an example, too.
func BenchmarkScriptTests(b *testing.B) {
	command := testutil.Build(b, "cmd/cassidy")
	dir := b.TempDir()
	writeScriptTests(b, dir, 100)
	home := b.TempDir()
	for b.Loop() {
		cmd := exec.Command(command, "--trust-once", "test")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CASSIDY_HOME="+home)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			b.Fatalf("cassidy test: %v\n%s", err, out.Bytes()[max(0, out.Len()-5000):])
		}
		if !strings.Contains(out.String(), "\n1020 tests passed") {
			b.Fatalf("not all tests have run:\n%s", out.Bytes()[max(0, out.Len()-500):])
		}
	}
	b.ReportMetric(1020*float64(b.N)/b.Elapsed().Seconds(), "tests/s")
}
