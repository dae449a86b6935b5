package bench

import (
	"fmt"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal"
)

// The counters in this file do not depend on the speed of the machine, so each test run checks them.

// TestCallAllocations counts what a call in process allocates, with its arguments and its result as JSON.
func TestCallAllocations(t *testing.T) {
	const most = 40
	for name, config := range map[string]string{"no config": "", "rules": "allow: [env]\nask: [http.post]\ndeny: [\"fs.write:private/**\"]\nuntrusted_sources: [\"fs.read:inbox/**\"]\n"} {
		h := userHost(t, config, nil)
		if got := testing.AllocsPerRun(500, func() { callJSON(t, h, "greet") }); got > most {
			t.Errorf("%s: a call makes %v allocations, want at most %d", name, got, most)
		}
	}
}

// peek is a tool that reads a file.
const peek = `def peek(name: str, times: int = 1) -> dict[str, str]:
    """Read a file."""
    return {"text": fs.read("a.txt") + name}

tool(peek, needs = ["fs.read"])
`

// userHost opens a host over a folder with the trivial tool and one that reads a file, for a user with a config.
func userHost(tb testing.TB, config string, wrap cassidy.Middleware) *cassidy.Host {
	tb.Helper()
	dir, home := tb.TempDir(), tb.TempDir()
	writeTool(tb, dir, "greet.star", greet)
	writeTool(tb, dir, "peek.star", peek)
	writeFile(tb, dir+"/a.txt", "x")
	if config != "" {
		writeFile(tb, home+"/config.yaml", config)
	}
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	o := &cassidy.Options{Dir: dir, Home: home, TrustSource: true}
	if wrap != nil {
		o.Middleware = []cassidy.Middleware{wrap}
	}
	h, err := r.Open(cassidy.Dir(dir), o)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// stepBytes returns how many bytes of record a step of a run takes: a recorded effect with a short outcome.
func stepBytes(tb testing.TB) float64 {
	tb.Helper()
	const steps = 200
	dir, store := tb.TempDir(), journal.Memory()
	writeTool(tb, dir, "clock.star", "def clock(n: int) -> str:\n    \"Ask for the time.\"\n    for _ in range(n):\n        now = time.now()\n    return now\n\ntool(clock)\n")
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	h, err := r.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir, TrustSource: true})
	if err != nil {
		tb.Fatal(err)
	}
	size := func(n int) (bytes int) {
		id := fmt.Sprintf("steps-%d", n)
		if _, err := h.Call(tb.Context(), cassidy.Call{Tool: "clock", Args: cassidy.NewDict("n", n)}, cassidy.Durable(id)); err != nil {
			tb.Fatal(err)
		}
		row, err := store.Find(tb.Context(), "", id)
		if err != nil {
			tb.Fatal(err)
		}
		run, err := store.Load(tb.Context(), row.Num)
		if err != nil {
			tb.Fatal(err)
		}
		for _, frame := range run.Frames {
			bytes += len(frame)
		}
		return bytes
	}
	return float64(size(1+steps)-size(1)) / steps
}

// TestStepBytes bounds the record of a step.
func TestStepBytes(t *testing.T) {
	const most = 230
	if got := stepBytes(t); got > most || got < 20 {
		t.Errorf("a step takes %.0f bytes of record, want at most %d", got, most)
	}
}
