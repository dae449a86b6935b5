package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An sse is a client of a stream of events.
type sse struct {
	url, token string
	last       string
	ids        []uint64
	names      []string // of the events that have one
	pieces     int      // events without an ID
}

// read reads a stream until it ends, or after some recorded events if most is not 0. It returns the status.
func (c *sse) read(ctx context.Context, client *http.Client, most int) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "GET", c.url, nil)
	if err != nil {
		return 0, err
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	if c.last != "" {
		q.Header.Set("Last-Event-ID", c.last)
	}
	response, err := client.Do(q)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	id, name, n := "", "", 0
	for lines.Scan() {
		key, text, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			id = text
		case "event":
			name = text
		case "": // the end of an event
			if name != "" {
				c.names = append(c.names, name)
			} else if id == "" {
				c.pieces++
			}
			if id != "" {
				seq, err := strconv.ParseUint(id, 10, 64)
				if err != nil {
					return 0, err
				}
				c.ids, c.last = append(c.ids, seq), id
				if n++; n == most {
					return response.StatusCode, nil
				}
			}
			id, name = "", ""
		}
	}
	return response.StatusCode, nil
}

// recorded returns the numbers of the recorded events of a run of the bakery.
func (r *rig) recorded(id string) (seqs []uint64) {
	for e, err := range r.projects[0].Host.Events(r.t.Context(), id, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// TestEvents reads the events of a run over cut connections, and those of one that has ended.
func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	id := r.begin("rob", "sure", `{"n": 20}`)
	q := r.question(id)
	c := &sse{url: r.url + "/v1/runs/" + id + "/events", token: "vera"}
	if _, err := c.read(t.Context(), http.DefaultClient, 7); err != nil {
		t.Fatal(err)
	}
	r.post("ann", "/v1/runs/"+id+"/questions/"+q.Text("id")+"/answer", `{"yes": true}`, http.StatusOK)
	for status := 0; status != http.StatusNoContent; {
		var err error
		if status, err = c.read(t.Context(), http.DefaultClient, 5); err != nil {
			t.Fatal(err)
		}
	}
	want := r.recorded(id)
	if !slices.Equal(c.ids, want) || len(want) < 60 || c.names != nil {
		t.Errorf("the client got %d of %d events: %v, and %q", len(c.ids), len(want), c.ids, c.names)
	}
	for _, last := range []string{"999999", "x", "-1", "18446744073709551615"} {
		again := &sse{url: c.url, token: "vera", last: last}
		if _, err := again.read(t.Context(), http.DefaultClient, 0); err != nil || !slices.Equal(again.ids, want) || !slices.Equal(again.names, []string{"resync"}) {
			t.Errorf("after the unknown event %s there are %d events and %q, %v", last, len(again.ids), again.names, err)
		}
	}
	after := &sse{url: fmt.Sprintf("%s?after=%d", c.url, want[9]), token: "vera"}
	if _, err := after.read(t.Context(), http.DefaultClient, 0); err != nil || !slices.Equal(after.ids, want[10:]) {
		t.Errorf("after=%d gave %v, %v", want[9], after.ids, err)
	}
	r.get("vera", "/v1/runs/none/events", http.StatusNotFound)
}

// TestStaleEvents checks that pieces of text are not sent after a recorded event that came later, such as the end of the run.
func TestStaleEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	at := time.Now()
	event := func(seq uint64, after time.Duration) tool.Event {
		e := tool.Event{Seq: seq, Time: at.Add(after), Data: tool.Text{Text: "piece"}}
		if seq != 0 {
			e.Data = tool.RunEnd{}
		}
		return e
	}
	live := &follower{events: make(chan tool.Event, 9)}
	for _, e := range []tool.Event{event(0, 1), event(2, 2), event(0, 3), event(4, 4), event(0, 5), event(5, 6)} {
		live.events <- e
	}
	close(live.events)
	q := &request{Request: httptest.NewRequest(http.MethodGet, "/", nil), s: r.Server}
	record := &unread{last: event(2, 2), list: func(yield func(tool.Event, error) bool) { yield(event(4, 4), nil) }}
	var got []uint64
	err := q.follow(nil, r.projects[0], "run", live, record, func(e *tool.Event) error {
		got = append(got, e.Seq)
		return nil
	})
	if want := []uint64{4, 0, 5}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the client got %v, %v, want %v", got, err, want)
	}
}

// TestManyClients has many clients follow a run over forced reconnects: each gets every event once, in order.
func TestManyClients(t *testing.T) {
	t.Parallel()
	clients := 100
	if testutil.Soak() {
		clients = 1000
	}
	r := newRig(t, nil).start()
	id := r.begin("rob", "sure", `{"n": 25}`)
	q := r.question(id)
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	list := make([]*sse, clients)
	var all, begun sync.WaitGroup
	begun.Add(clients)
	failed := make(chan error, clients)
	for i := range list {
		c := &sse{url: r.url + "/v1/runs/" + id + "/events", token: "vera"}
		list[i] = c
		all.Go(func() {
			_, err := c.read(t.Context(), client, 1+rand.IntN(40))
			begun.Done()
			for status := 0; err == nil && status != http.StatusNoContent; {
				status, err = c.read(t.Context(), client, 1+rand.IntN(60))
			}
			if err != nil {
				failed <- err
			}
		})
	}
	begun.Wait()
	r.post("ann", "/v1/runs/"+id+"/questions/"+q.Text("id")+"/answer", `{"yes": true}`, http.StatusOK)
	all.Wait()
	close(failed)
	for err := range failed {
		t.Fatal(err)
	}
	want := r.recorded(id)
	for _, c := range list {
		if !slices.Equal(c.ids, want) {
			t.Fatalf("a client got %v, want %v", c.ids, want)
		}
	}
	r.feeds.mu.Lock()
	defer r.feeds.mu.Unlock()
	if n := len(r.feeds.open); n != 0 {
		t.Errorf("%d feeds are left", n)
	}
}

// TestSlowClient has a client that does not read: it delays nobody, and is not written to forever.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	id := r.begin("rob", "sure", `{"n": 400}`)
	q := r.question(id)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET /v1/runs/%s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer vera\r\n\r\n", id)
	for r.streams.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	r.post("ann", "/v1/runs/"+id+"/questions/"+q.Text("id")+"/answer", `{"yes": true}`, http.StatusOK)
	r.until(id, history.Done)
	c := &sse{url: r.url + "/v1/runs/" + id + "/events", token: "vera"}
	if _, err := c.read(t.Context(), http.DefaultClient, 0); err != nil || !slices.Equal(c.ids, r.recorded(id)) {
		t.Errorf("who reads got %d events, %v", len(c.ids), err)
	}
}

// TestDrain checks what a server does that is shut down: streams end, nothing begins, and what is executed ends or is waited
// for. Afterwards the next server continues the runs.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	release, running := make(chan struct{}), make(chan struct{})
	if err := r.projects[0].Host.Register(tool.Tool{Name: "hold", Description: "Hold."}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		close(running)
		<-release
		return "held", nil
	}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- r.Run(context.Background()) }()
	id := r.post("rob", "/v1/tools/hold/call?wait=0", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	<-running
	c := &sse{url: r.url + "/v1/runs/" + id + "/events", token: "vera"}
	streamed := make(chan error)
	go func() {
		_, err := c.read(t.Context(), http.DefaultClient, 0)
		streamed <- err
	}()
	for r.streams.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Shutdown(now); value.KindOf(err) != value.Canceled {
		t.Errorf("Shutdown while a run is executed gave %v", err)
	}
	if err := <-streamed; err != nil || !slices.Contains(c.names, "draining") {
		t.Errorf("the stream had %q, %v", c.names, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run gave %v", err)
	}
	r.post("rob", "/v1/runs", `{"workflow": "greet", "args": {"name": "x"}, "project": "bakery"}`, http.StatusServiceUnavailable)
	r.get("vera", "/v1/runs/"+id+"/events", http.StatusServiceUnavailable)
	r.get("", "/healthz", http.StatusServiceUnavailable)
	r.get("vera", "/v1/runs/"+id, http.StatusOK)
	close(release)
	if err := r.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown gave %v", err)
	}
	r.until(id, history.Done)
	later, err := r.projects[0].Host.Begin(t.Context(), "greet", value.NewDict("name", "x"))
	if err != nil {
		t.Fatal(err)
	}
	next, err := New(&r.opts)
	if err != nil {
		t.Fatal(err)
	}
	(&rig{Server: next, t: t}).start()
	r.until(later, history.Done)
}

// TestCallsBeyondJobs checks that a call is queued while as many runs are executed as may be, and made afterwards.
func TestCallsBeyondJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Jobs, o.Projects = 1, o.Projects[:1] })
	release := make(chan struct{})
	err := r.projects[0].Host.Register(tool.Tool{Name: "hold", Description: "Hold."}, func(context.Context, *value.Dict) (value.Value, error) {
		<-release
		return "held", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	held := r.post("rob", "/v1/tools/hold/call?wait=0", "", http.StatusAccepted).Text("id")
	queued := r.post("rob", "/v1/tools/echo/call?wait=0", `{"args": {"text": "later"}}`, http.StatusAccepted)
	if queued.Text("reason") != history.Queued {
		t.Errorf("the second call is %v", queued)
	}
	close(release)
	r.until(held, history.Done)
	if run := r.until(queued.Text("id"), history.Done); run.Result != value.Value("later") {
		t.Errorf("the queued call became %v", run.Result)
	}
}

// TestLoop checks that runs which fail, panic or cannot be continued do not end the loop, and that a run is executed once.
func TestLoop(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	executed := map[string]int{}
	r := newRig(t, func(o *Options) {
		h := o.Projects[0].Host
		o.Jobs = 2
		o.Projects[0].Resume = func(ctx context.Context, rec host.Recorded) (tool.Result, error) {
			mu.Lock()
			executed[rec.ID]++
			n := executed[rec.ID]
			mu.Unlock()
			if strings.HasPrefix(rec.Title, "sure") && n == 1 {
				panic("of the program")
			}
			return h.Resume(ctx, rec.ID)
		}
	}).start()
	stuck := r.begin("rob", "sure", "{}")
	var ids []string
	for i := range 20 {
		ids = append(ids, r.begin("rob", []string{"greet", "bad"}[i%2], []string{`{"name": "x"}`, "{}"}[i%2]))
	}
	for i, id := range ids {
		r.until(id, []history.State{history.Done, history.Failed}[i%2])
	}
	mu.Lock()
	for _, id := range ids {
		if executed[id] != 1 {
			t.Errorf("the run %s was executed %d times", id, executed[id])
		}
	}
	mu.Unlock()
	r.post("rob", "/v1/runs/"+stuck+"/resume", "", http.StatusAccepted)
	r.question(stuck)
}

// A gone writer is that of a client that has left.
type gone struct{ *httptest.ResponseRecorder }

func (gone) FlushError() error { return errors.New("broken pipe") }

// TestSendToNobody checks that a client that leaves is no fault of the server, of which operators are told.
func TestSendToNobody(t *testing.T) {
	t.Parallel()
	w := gone{httptest.NewRecorder()}
	s := &stream{w, http.NewResponseController(w)}
	if err := s.send("ping", "", "{}"); value.KindOf(err) != value.Canceled {
		t.Errorf("it gave %v", err)
	}
}
