package bench

import (
	"testing"

	"github.com/cassidy-run/cassidy"
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

// userHost opens a host over a folder with the trivial tool, for a user with a config.
func userHost(tb testing.TB, config string, wrap cassidy.Middleware) *cassidy.Host {
	tb.Helper()
	dir, home := tb.TempDir(), tb.TempDir()
	writeTool(tb, dir, "greet.star", greet)
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
