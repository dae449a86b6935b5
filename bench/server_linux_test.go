package bench

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

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

// bare serves a handler that waits and inserts a row into SQLite, and returns a function that calls it.
func (s *served) bare(b *testing.B, wait time.Duration) func() error {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1) // the others would wait for it anyway
	if _, err := db.Exec("CREATE TABLE calls (num INTEGER PRIMARY KEY, body BLOB)"); err != nil {
		b.Fatal(err)
	}
	row := make([]byte, 1000)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(wait)
		if _, err := db.Exec("INSERT INTO calls (body) VALUES (?)", row); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	b.Cleanup(func() { web.Close(); _ = db.Close() })
	return func() error {
		answer, err := s.client.Post(web.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d: %s", answer.StatusCode, text)
		}
		return nil
	}
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
// effect in Go, and whose calls are recorded. Without any work, there would be 3,200 per second.
// The client on the same machine takes a part of it. They are also compared with a handler in Go
// that waits as long and inserts one row into SQLite, which is on the disk before it answers.
func BenchmarkServerWaiting(b *testing.B) {
	const atOnce, wait = 64, 20 * time.Millisecond
	s := serve(b)
	calls := func(each int, call func() error) time.Duration {
		begun := time.Now()
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				for range each {
					if err := call(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		return time.Since(begun)
	}
	ours, bare := func() error { return s.call(0, "wait", "{}") }, s.bare(b, wait)
	calls(4, ours) // warms the pool
	calls(4, bare)
	each := b.N/atOnce + 1
	b.ResetTimer()
	took := calls(each, ours)
	b.StopTimer()
	b.ReportMetric(float64(each*atOnce)/took.Seconds(), "calls/s")
	b.ReportMetric(100*float64(each)*wait.Seconds()/took.Seconds(), "%ideal")
	b.ReportMetric(took.Seconds()/(float64(each)*wait.Seconds()), "ratio")
	b.ReportMetric(took.Seconds()/calls(each, bare).Seconds(), "ours/bare")
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
// are busy at the same time. Each calls three tools in turn, ten calls a second, and all calls are recorded in one store.
func BenchmarkServerBusyTenants(b *testing.B) {
	const pause = 100 * time.Millisecond
	s := serve(b)
	p99 := func(tenants, each int) time.Duration {
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
		one, busy := p99(1, 120), p99(30, 40) // at least a hundred calls each
		b.ReportMetric(one.Seconds()*1000, "ms-one")
		b.ReportMetric(busy.Seconds()*1000, "ms-busy")
		b.ReportMetric(busy.Seconds()/one.Seconds(), "ratio")
	}
}
