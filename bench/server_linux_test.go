package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// The tools of each tenant: one waits for an effect in Go, and five return their
// arguments.
const (
	waitTool = "def wait() -> str:\n    \"Wait.\"\n    time.sleep(0.02)\n    return \"x\"\n\ntool(wait)\n"
	echoTool = "def %s(text: str) -> str:\n    \"Return the text.\"\n    return text\n\ntool(%[1]s)\n"
)

// A served is a process of examples/server with 60 tenants.
type served struct {
	url    string
	pid    int
	client *http.Client
}

const serverTenants = 60

func passwordOf(tenant int) string { return fmt.Sprintf("the-password-of-tenant-%d", tenant) }

// serve starts the server and ends it with the benchmark.
func serve(b *testing.B) *served {
	b.Helper()
	dir := b.TempDir()
	program, config, users := testutil.Build(b, "examples/server"), filepath.Join(dir, "config.json"), map[string]any{}
	for i := range serverTenants {
		name := fmt.Sprint("tenant-", i)
		users[name] = map[string]any{"tenant": name, "role": "run", "password": passwordOf(i)}
		project := filepath.Join(dir, "data", "tenants", name)
		writeTool(b, project, "wait.star", waitTool)
		for k := range 5 {
			tool := fmt.Sprint("echo", k)
			writeTool(b, project, tool+".star", fmt.Sprintf(echoTool, tool))
		}
	}
	text, err := json.Marshal(map[string]any{"addr": "127.0.0.1:0", "data": filepath.Join(dir, "data"), "users": users, "rate": 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		b.Fatal(err)
	}
	c := exec.Command(program, config)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			b.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		b.Fatalf("the server printed %q, %v", line, err)
	}
	s := &served{"http://" + addr, c.Process.Pid, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	b.Cleanup(s.client.CloseIdleConnections)
	return s
}

// call calls a tool of a tenant.
func (s *served) call(tenant int, tool, args string) error {
	r, err := http.NewRequest("POST", s.url+"/v1/tools/"+tool+"/call", strings.NewReader(`{"args": `+args+`}`))
	if err != nil {
		return err
	}
	r.SetBasicAuth(fmt.Sprint("tenant-", tenant), passwordOf(tenant))
	answer, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !bytes.Contains(text, []byte(`"result":"x"`)) {
		return fmt.Errorf("status %d, %w: %s", answer.StatusCode, err, text)
	}
	return nil
}

// workers counts the processes of the server, and their memory in MB: private memory,
// and their part of shared memory.
func (s *served) workers(b *testing.B) (number int, pss float64) {
	b.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) < 2 || f[1] != strconv.Itoa(s.pid) {
			continue
		}
		number++
		memory, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "smaps_rollup"))
		for line := range strings.Lines(string(memory)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
				kb, _ := strconv.ParseFloat(f[1], 64)
				pss += kb / 1024
			}
		}
	}
	return number, pss
}

// BenchmarkServerWaiting is 64 concurrent requests whose tools each wait 20 ms for an
// effect in Go. The upper bound is 3,200 per second. The client on the same machine
// takes a part of it.
func BenchmarkServerWaiting(b *testing.B) {
	const atOnce, wait = 64, 20 * time.Millisecond
	s := serve(b)
	calls := func(each int) {
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				for range each {
					if err := s.call(0, "wait", "{}"); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	calls(4) // warms the pool
	each := b.N/atOnce + 1
	b.ResetTimer()
	calls(each)
	b.StopTimer()
	b.ReportMetric(float64(each*atOnce)/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(100*float64(each)*wait.Seconds()/b.Elapsed().Seconds(), "%ideal")
	b.ReportMetric(b.Elapsed().Seconds()/(float64(each)*wait.Seconds()), "ratio")
	number, pss := s.workers(b)
	b.ReportMetric(float64(number), "workers")
	b.ReportMetric(pss, "MB")
}

// BenchmarkServerTenants is 60 tenants that each call five tools once, and what remains
// five seconds later: at most 24 workers with at most 120 MB.
func BenchmarkServerTenants(b *testing.B) {
	for b.Loop() {
		s := serve(b)
		start := time.Now()
		var all sync.WaitGroup
		atOnce := make(chan struct{}, 16)
		for i := range serverTenants {
			for k := range 5 {
				atOnce <- struct{}{}
				all.Go(func() {
					defer func() { <-atOnce }()
					if err := s.call(i, fmt.Sprint("echo", k), `{"text": "x"}`); err != nil {
						b.Error(err)
					}
				})
			}
		}
		all.Wait()
		b.ReportMetric(serverTenants*5/time.Since(start).Seconds(), "calls/s")
		number, _ := s.workers(b)
		b.ReportMetric(float64(number), "workers-at-once")
		time.Sleep(5 * time.Second)
		number, pss := s.workers(b)
		b.ReportMetric(float64(number), "workers-left")
		b.ReportMetric(pss, "MB-left")
	}
}

// BenchmarkServerBusyTenants compares the 99th percentile of the calls of one tenant alone with that of 30 tenants that
// are busy at the same time. Each calls three tools in turn, ten calls a second.
func BenchmarkServerBusyTenants(b *testing.B) {
	const pause, each = 100 * time.Millisecond, 40
	s := serve(b)
	p99 := func(tenants int) time.Duration {
		var mu sync.Mutex
		var took []time.Duration
		var all sync.WaitGroup
		for i := range tenants {
			all.Go(func() {
				time.Sleep(pause * time.Duration(i) / time.Duration(tenants)) // they do not call in step
				for k := range each {
					begun := time.Now()
					if err := s.call(i, fmt.Sprint("echo", k%3), `{"text": "x"}`); err != nil {
						b.Error(err)
						return
					}
					if k >= 3 { // the first call of a tool starts a worker
						mu.Lock()
						took = append(took, time.Since(begun))
						mu.Unlock()
					}
					time.Sleep(time.Until(begun.Add(pause)))
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	for b.Loop() {
		one, busy := p99(1), p99(30)
		b.ReportMetric(one.Seconds()*1000, "ms-one")
		b.ReportMetric(busy.Seconds()*1000, "ms-busy")
		b.ReportMetric(busy.Seconds()/one.Seconds(), "ratio")
	}
}
