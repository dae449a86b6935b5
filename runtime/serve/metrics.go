package serve

import (
	_ "embed"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// openAPIText describes the API.
//
//go:embed openapi.json
var openAPIText []byte

// openAPI answers with the description of the API.
func (r *request) openAPI() error {
	r.w.Header().Set("Content-Type", "application/json")
	_, _ = r.w.Write(openAPIText) // it fails when the client has left
	return nil
}

// health answers whether the server takes requests.
func (r *request) health() error {
	status, text := http.StatusOK, "ok"
	if r.s.isDraining() {
		status, text = http.StatusServiceUnavailable, "draining"
	}
	return r.reply(status, value.NewDict("status", text))
}

// counts are numbers that only grow, by the names of Prometheus with their labels.
type counts struct {
	mu sync.Mutex
	of map[string]int64
}

func (c *counts) add(name string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int64{}
	}
	c.of[name] += n
}

// metrics answers with numbers in the text form of Prometheus: those of the projects that the user sees.
func (r *request) metrics() error {
	var b strings.Builder
	write := func(name, kind, help string, rows map[string]int64) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, labels := range slices.Sorted(maps.Keys(rows)) {
			fmt.Fprintf(&b, "%s%s %d\n", name, labels, rows[labels])
		}
	}
	runs, executing := map[string]int64{}, map[string]int64{}
	for _, p := range r.projects() {
		n, err := p.Host.CountRuns(r.Context(), history.Filter{Project: p.op.Project()})
		if err != nil {
			return err
		}
		for s := history.Running; s <= history.Stuck; s++ {
			runs[fmt.Sprintf("{project=%s,state=%q}", label(p.Name), s.String())] = int64(n[s])
		}
		executing["{project="+label(p.Name)+"}"] = int64(p.jobs.count())
	}
	write("cassidy_build_info", "gauge", "The version of the server.", map[string]int64{"{version=" + label(r.s.opts.Version) + "}": 1})
	write("cassidy_runs", "gauge", "Recorded runs by state.", runs)
	write("cassidy_executing_runs", "gauge", "Runs that this process executes.", executing)
	write("cassidy_event_streams", "gauge", "Open streams of events.", map[string]int64{"": r.s.streams.Load()})
	write("cassidy_requests_total", "counter", "Answered requests.", r.s.counts.named("cassidy_requests_total"))
	write("cassidy_failed_sign_ins_total", "counter", "Attempts to sign in that failed.", r.s.counts.named("cassidy_failed_sign_ins_total"))
	r.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = r.w.Write([]byte(b.String())) // it fails when the client has left
	return nil
}

// named returns the counts with a name, by their labels.
func (c *counts) named(name string) map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := map[string]int64{}
	for full, n := range c.of {
		if labels, ok := strings.CutPrefix(full, name); ok {
			rows[labels] = n
		}
	}
	return rows
}

// label quotes the value of a label.
func label(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
