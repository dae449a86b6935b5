// Package bench compares cassidy with what a user would have instead, both
// measured in one run: machines differ and are busy, ratios stay. Run it with
// make bench; each row prints its ratio.
package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const greet = `def greet(name: str, times: int = 1) -> dict[str, str]:
    """Greet somebody."""
    return {"text": "Hello " * times + name}

tool(greet)
`

const luaGreet = `return tool{
  description = "Greet somebody.",
  params = { name = param("string"), times = param("integer", "How often.", { default = 1 }) },
  handler = function(args) return { text = string.rep("Hello ", args.times) .. args.name } end,
}`

// toolHost opens a host over a folder with one trivial tool.
func toolHost(b *testing.B, mode cassidy.Mode, name, source string) *host.Host {
	b.Helper()
	dir := b.TempDir()
	writeTool(b, dir, name, source)
	return openHost(b, dir, mode)
}

func openHost(b testing.TB, dir string, mode cassidy.Mode) *host.Host {
	b.Helper()
	workers := cassidy.Workers{}
	if mode == cassidy.Process {
		workers.Program = testutil.Build(b, "cmd/cassidy-worker") // the test binary is several times as large
	}
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: mode, Workers: workers})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	h, err := r.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir, TrustSource: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	return h
}

func writeTool(b testing.TB, dir, name, source string) {
	b.Helper()
	file := filepath.Join(dir, ".cassidy", "tools", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	writeFile(b, file, source)
	old := time.Now().Add(-time.Hour) // older files have reliable times in the index
	if err := os.Chtimes(file, old, old); err != nil {
		b.Fatal(err)
	}
}

func writeFile(b testing.TB, file, text string) {
	b.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

var input = []byte(`{"name": "Ada", "times": 2}`)

// callJSON makes a call with JSON input and output, as programs do.
func callJSON(b testing.TB, h *host.Host, name string) {
	v, err := value.ParseJSON(input)
	if err != nil {
		b.Fatal(err)
	}
	args, _ := v.(*value.Dict)
	r, err := h.Call(context.Background(), tool.Call{Tool: name, Args: args})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := value.AppendJSON(nil, r.Value); err != nil {
		b.Fatal(err)
	}
}

// bareStarlark is what an embedder of go.starlark.net would write: a shared frozen
// module, a new thread for each call, JSON input and output.
func bareStarlark(b *testing.B) func() {
	b.Helper()
	source := "def greet(name, times = 1):\n    return {\"text\": \"Hello \" * times + name}\n"
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, &starlark.Thread{}, "greet.star", source, nil)
	if err != nil {
		b.Fatal(err)
	}
	globals.Freeze()
	return func() {
		if _, err := starlarkJSON(globals["greet"], input); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is a call of a trivial tool with all steps: lookup, check, gate, run,
// check of the result, deadline, on one processor.
func BenchmarkCall(b *testing.B) {
	oneProcessor(b)
	h := toolHost(b, cassidy.Inline, "greet.star", greet)
	compare(b, 1.3, func() { callJSON(b, h, "greet") }, bareStarlark(b))
}

// BenchmarkCallAllocs is the call alone, to be profiled.
func BenchmarkCallAllocs(b *testing.B) {
	h := toolHost(b, cassidy.Inline, "greet.star", greet)
	b.ReportAllocs()
	for b.Loop() {
		callJSON(b, h, "greet")
	}
}

// BenchmarkCallHooks is a call of the trivial tool in a worker with before_tool and after_tool,
// compared with the call without them. Each function is a request to the worker of the hooks.
func BenchmarkCallHooks(b *testing.B) {
	h := toolHost(b, cassidy.Process, "greet.star", greet)
	s, err := hooks.New(h, []hooks.File{{Path: "hooks.star", Source: "def before_tool(call):\n    return None\n\ndef after_tool(call, result):\n    return None\n"}})
	if err != nil {
		b.Fatal(err)
	}
	call := s.Middleware()(func(ctx context.Context, c *tool.Call) (tool.Result, error) { return h.Call(ctx, *c) })
	compare(b, 4, func() {
		if _, err := call(context.Background(), &tool.Call{Tool: "greet", Args: value.NewDict("name", "Ada")}); err != nil {
			b.Fatal(err)
		}
	}, func() { callJSON(b, h, "greet") })
}

// BenchmarkCallLua is the same tool in Lua, compared with bash, which folders of tools
// elsewhere use.
func BenchmarkCallLua(b *testing.B) {
	h := toolHost(b, cassidy.Inline, "greet.lua", luaGreet)
	compare(b, 0.1, func() { callJSON(b, h, "greet") }, func() {
		if err := exec.Command("bash", "-c", "echo Hello $0", "Ada").Run(); err != nil {
			b.Skip("no bash here:", err)
		}
	})
}

// BenchmarkFirstCall is the first call of a tool of 40 lines, which compiles it,
// compared with only parsing it.
func BenchmarkFirstCall(b *testing.B) {
	source := typicalTool("words")
	e := engine.New(nil)
	n := 0
	compare(b, 2, func() {
		n++
		s := tool.Script{Path: fmt.Sprintf("words%d.star", n), Source: source}
		if _, err := e.Run(context.Background(), s, tool.Call{Args: value.NewDict("text", "a b")}, nil); err != nil {
			b.Fatal(err)
		}
	}, func() { parseAlone(b, source) })
}

// BenchmarkList is the complete process `cassidy tool list`, cold (no index) and warm,
// compared with parsing every tool on one processor, which a start without an index
// does. All are medians. The goals are 1.5 for cold/parse, and 60 ms for 10,000 tools
// warm.
func BenchmarkList(b *testing.B) {
	binary := testutil.Build(b, "cmd/cassidy")
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir, sources := b.TempDir(), make([]string, n)
			for i := range n {
				name := fmt.Sprintf("tool_%d", i)
				sources[i] = typicalTool(name)
				writeTool(b, dir, name+".star", sources[i])
			}
			home := filepath.Join(dir, "home")
			list := func() {
				cmd := exec.Command(binary, "--dir", dir, "tool", "list")
				cmd.Env = []string{"CASSIDY_HOME=" + home}
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
			var cold, warm, parse []time.Duration
			for b.Loop() {
				if err := os.RemoveAll(home); err != nil {
					b.Fatal(err)
				}
				cold = append(cold, timed(list))
				warm = append(warm, timed(list))
				parse = append(parse, timed(func() {
					for _, source := range sources {
						parseAlone(b, source)
					}
				}))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(median(warm)), "warm-ms")
			b.ReportMetric(ms(median(cold)), "cold-ms")
			b.ReportMetric(ms(median(parse)), "parse-ms")
			b.ReportMetric(float64(median(warm))/float64(median(parse)), "warm/parse")
			b.ReportMetric(float64(median(cold))/float64(median(parse)), "cold/parse")
		})
	}
}

// BenchmarkVersion is the smallest complete process, compared with /bin/true.
func BenchmarkVersion(b *testing.B) {
	binary := testutil.Build(b, "cmd/cassidy")
	run := func(name string, args ...string) {
		if err := exec.Command(name, args...).Run(); err != nil {
			b.Fatal(err)
		}
	}
	compare(b, 9, func() { run(binary, "version") }, func() { run("true") })
}

// typicalTool is a tool of 40 lines.
func typicalTool(name string) string {
	return `"""Word statistics."""

LEAST = 1

def _clean(word):
    return word.strip().lower()

def _count(words, least):
    total = 0
    for word in words:
        if len(word) >= least:
            total += 1
    return total

def ` + name + `(text: str, min_length: int = 1, ignore: list[str] = []) -> dict[str, int]:
    """Count the words of a text.

    Use it to see how long a text is.

    Args:
      text: What to count in.
      min_length: Ignore shorter words.
      ignore: Words that do not count.

    Returns:
      words and distinct: how many in all, how many different.
    """
    words = [_clean(word) for word in text.split() if word not in ignore]
    return {"words": _count(words, min_length), "distinct": len(set(words))}

tool(
    ` + name + `,
    group = "text",
    hints = {"read_only": True, "idempotent": True},
    params = {"min_length": param(min = 1, max = 100)},
    examples = [example("Count two words", args = {"text": "one two"})],
    tags = ["text"],
)
`
}
