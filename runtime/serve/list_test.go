package serve

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestLists lists runs of two projects by page, and with each filter.
func TestLists(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	j := history.Open(journal.Memory(), &history.Options{Clock: func() time.Time { return now }}) // the projects share a store
	t.Cleanup(func() { _ = j.Close() })
	r := newRig(t, func(o *Options) {
		for i, name := range []string{"bakery", "other"} {
			o.Projects[i], _ = openProject(t, name, j)
		}
	})
	var ids []string // the newest first
	for i := range 23 {
		p := r.projects[i%3%2]
		id, err := p.Host.Begin(host.StartedBy(t.Context(), "rob"), "greet", value.NewDict("name", fmt.Sprintf("Guest-%02d", i)), host.Durable(fmt.Sprintf("r%02d", i)))
		if err != nil {
			t.Fatal(err)
		}
		if ids = slices.Insert(ids, 0, id); i%5 == 0 {
			if _, err := p.Host.Resume(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Hour)
	}
	list := func(query string) (got []string, next string) {
		t.Helper()
		d := r.get("vera", "/v1/runs?"+query, http.StatusOK)
		runs, _ := d.Get("runs")
		for _, v := range runs.(value.List) {
			got = append(got, v.(*value.Dict).Text("id"))
		}
		return got, d.Text("next")
	}
	pages := func(query string) (got []string) {
		t.Helper()
		for next := ""; ; {
			page, following := list(query + "&before=" + url.QueryEscape(next))
			if got = append(got, page...); following == "" {
				return got
			}
			next = following
		}
	}
	only := func(keep func(i int) bool) (want []string) {
		for k, id := range ids {
			if keep(22 - k) {
				want = append(want, id)
			}
		}
		return want
	}
	for query, want := range map[string][]string{
		"limit=4":                   ids,
		"limit=200":                 ids,
		"limit=3&project=other":     only(func(i int) bool { return i%3 == 1 }),
		"limit=2&state=done":        only(func(i int) bool { return i%5 == 0 }),
		"limit=2&state=done,parked": ids,
		"limit=2&state=failed":      nil,
		"limit=2&q=GUEST-1":         only(func(i int) bool { return i/10 == 1 }),
		"limit=2&q=guest-1&state=done&project=other": only(func(i int) bool { return i == 10 }),
		"kind=run&limit=50":                          ids,
		"kind=tool":                                  nil,
		"limit=5&since=2026-11-29":                   only(func(i int) bool { return i >= 12 }),
		"since=2026-11-29T08:00:00Z":                 only(func(i int) bool { return i >= 20 }),
	} {
		if got := pages(query); !slices.Equal(got, want) {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	if got, _ := list("before=r10&limit=3"); !slices.Equal(got, []string{"r09", "r08", "r07"}) {
		t.Errorf("before r10 are %q", got)
	}
	for query, want := range map[string]string{"state=gone": "unknown state", "limit=0": "limit", "limit=201": "limit", "limit=x": "limit", "since=yesterday": "since", "before=none": "before"} {
		if got := errorText(r.get("vera", "/v1/runs?"+query, http.StatusBadRequest)); !strings.Contains(got, want) {
			t.Errorf("%s gave %q, want %q", query, got, want)
		}
	}
	if got := errorText(r.get("vera", "/v1/runs?project=bakry", http.StatusNotFound)); !strings.Contains(got, "bakery") {
		t.Errorf("a misspelt project gave %q", got)
	}
}

// TestDescriptions reads what describes the projects.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.get("vera", "/v1/tools", http.StatusBadRequest)
	tools, _ := r.get("vera", "/v1/tools?project=bakery", http.StatusOK).Get("tools")
	flows, _ := r.get("vera", "/v1/workflows?project=bakery", http.StatusOK).Get("workflows")
	if len(tools.(value.List)) != len(testTools) || len(flows.(value.List)) != len(testFlows) {
		t.Errorf("there are the tools %v and the workflows %v", tools, flows)
	}
	if d := r.get("vera", "/v1/tools/echo?project=bakery", http.StatusOK); d.Dict("parameters").Dict("properties").Dict("text") == nil {
		t.Errorf("the tool is %v", d)
	}
	r.get("vera", "/v1/tools/none?project=bakery", http.StatusNotFound)
	r.get("una", "/v1/tools/echo", http.StatusOK) // who sees one project need not name it
	r.get("", "/healthz", http.StatusOK)
	text, _ := io.ReadAll(r.send(ask{token: "vera", method: "GET", path: "/metrics"}).Body)
	for _, want := range []string{`cassidy_runs{project="bakery",state="parked"} 0`, `cassidy_requests_total{route="GET /v1/tools",class="4xx"} 1`, "# TYPE cassidy_event_streams gauge\ncassidy_event_streams 0\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
	for path, status := range map[string]int{"/v1/none": http.StatusNotFound, "/": http.StatusSeeOther, "/v1/runs/..%2f..": http.StatusNotFound} {
		if got := r.send(ask{token: "vera", method: "GET", path: path}).StatusCode; got != status {
			t.Errorf("%s gave %d", path, got)
		}
	}
	if response := r.send(ask{token: "vera", method: "DELETE", path: "/v1/runs"}); response.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(response.Header.Get("Allow"), "POST") {
		t.Errorf("DELETE gave %d, %q", response.StatusCode, response.Header.Get("Allow"))
	}
}

// TestMarkup checks that names and texts with markup and control characters stay what they are.
func TestMarkup(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	const evil = "<script>alert(1)</script>\u202e\u200b"
	id := r.begin("rob", "greet", `{"name": "`+evil+`"}`)
	r.until(id, history.Done)
	response := r.send(ask{token: "vera", method: "GET", path: "/v1/runs/" + id})
	text, _ := io.ReadAll(response.Body)
	if response.Header.Get("Content-Type") != "application/json" || response.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the headers are %v", response.Header)
	}
	if v, err := value.ParseJSON(text); err != nil || v.(*value.Dict).Text("result") != "hello "+evil {
		t.Errorf("the run is %s, %v", text, err)
	}
	for _, path := range []string{"/v1/runs/" + url.PathEscape(evil), "/v1/runs/" + id + "/questions/" + url.PathEscape(evil) + "/answer", "/v1/tools/" + url.PathEscape(evil) + "?project=bakery"} {
		method, body := "GET", ""
		if strings.HasSuffix(path, "answer") {
			method, body = "POST", `{"yes": true}`
		}
		r.do(ask{token: "ann", method: method, path: path, body: body}, http.StatusNotFound)
	}
}

// TestLimits checks requests that are too long or too many.
func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t, func(o *Options) { o.Rate, o.Clock = 1, func() time.Time { return now } })
	long := `{"workflow": "` + strings.Repeat("x", maxBody) + `"}`
	if got := errorText(r.post("rob", "/v1/runs", long, http.StatusRequestEntityTooLarge)); !strings.Contains(got, "1024 KB") {
		t.Errorf("a long body gave %q", got)
	}
	// A gigabyte is refused before it is sent, and one without a length while it is.
	for _, length := range []string{"Content-Length: 1073741824", "Transfer-Encoding: chunked"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer rob\r\n%s\r\n\r\n", length)
		go func() {
			chunk := "100000\r\n" + strings.Repeat(" ", 1<<20) + "\r\n"
			for strings.HasPrefix(length, "Transfer") {
				if _, err := io.WriteString(conn, chunk); err != nil {
					return
				}
			}
		}()
		answer := make([]byte, 12)
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 413" {
			t.Errorf("%s gave %q, %v", length, answer, err)
		}
		_ = conn.Close()
	}
	var last *http.Response
	for range 12 {
		last = r.send(ask{token: "vera", method: "GET", path: "/v1/projects"})
	}
	if last.StatusCode != http.StatusTooManyRequests || last.Header.Get("Retry-After") != "1" {
		t.Errorf("the last of many requests gave %d, %v", last.StatusCode, last.Header)
	}
	r.get("ann", "/v1/projects", http.StatusOK)
	now = now.Add(time.Second)
	r.get("vera", "/v1/projects", http.StatusOK)
	r.streams.Store(maxStreams)
	id := r.begin("ann", "sure", "{}")
	r.get("ann", "/v1/runs/"+id+"/events", http.StatusServiceUnavailable)
	r.streams.Store(0)
	b := newBuckets(1, 1)
	for i := range 2 * maxKept {
		b.take(fmt.Sprint(i), now)
	}
	if len(b.by) > maxKept+1 {
		t.Errorf("%d are remembered", len(b.by))
	}
}

// TestNew checks the options of a server.
func TestNew(t *testing.T) {
	t.Parallel()
	p, _ := openProject(t, "bakery", nil)
	bare, err := host.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*Options{
		"no project": {},
		"no name":    {Projects: []*Project{{Host: p.Host}}},
		"no host":    {Projects: []*Project{{Name: "a"}}},
		"no store":   {Projects: []*Project{{Name: "a", Host: bare}}},
		"two":        {Projects: []*Project{p, p}},
		"jobs":       {Projects: []*Project{p}, Jobs: -1},
	} {
		if _, err := New(o); value.KindOf(err) != value.Invalid {
			t.Errorf("%s gave %v", name, err)
		}
	}
	for r := View; r <= Admin; r++ {
		if got, err := RoleNamed(r.String()); got != r || err != nil {
			t.Errorf("the role %s is read as %s, %v", r, got, err)
		}
	}
	if _, err := RoleNamed("none"); value.KindOf(err) != value.Invalid {
		t.Errorf("no role gave %v", err)
	}
}
