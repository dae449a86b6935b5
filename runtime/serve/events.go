package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	writeTime = 20 * time.Second // for a client to take what is written
	pingEvery = 15 * time.Second
	feedSize  = 256 // events that wait for a client
)

// events streams the events of a run as server-sent events until it has ended. Each recorded event has its Seq as ID.
// Status 204 stops a browser from asking again.
func (r *request) events() error {
	p, run, err := r.run(r.PathValue("id"))
	if err != nil {
		return err
	}
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	after, known := r.lastEvent(p, run.ID, text)
	if known && run.State.Ended() && !r.hasEvents(p, run.ID, after) {
		return r.reply(http.StatusNoContent, nil)
	}
	out, err := r.openStream()
	if err != nil {
		return err
	}
	defer r.s.streams.Add(-1)
	if !known {
		_ = out.send("resync", "", "{}") // the next write fails too
	}
	return r.follow(out, p, run.ID, after, func(e *tool.Event) error {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		id := ""
		if e.Seq != 0 {
			id = strconv.FormatUint(e.Seq, 10)
		}
		return out.send("", id, string(data))
	})
}

// lastEvent reads the ID of the last event that a client has. It is not known if the record has no such event:
// then the client begins again.
func (r *request) lastEvent(p *project, run, text string) (after uint64, known bool) {
	if text == "" || text == "0" {
		return 0, true
	}
	after, err := strconv.ParseUint(text, 10, 63)
	if err != nil || after == 0 {
		return 0, false
	}
	for e, err := range p.Host.Events(r.Context(), run, after-1) {
		if err == nil && e.Seq == after {
			return after, true
		}
		break
	}
	return 0, false
}

// hasEvents reports whether a run has recorded events after one.
func (r *request) hasEvents(p *project, run string, after uint64) bool {
	for range p.Host.Events(r.Context(), run, after) {
		return true
	}
	return false
}

// A stream sends server-sent events.
type stream struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

// openStream begins a stream, which counts until the caller has called streams.Add(-1).
func (r *request) openStream() (*stream, error) {
	if r.s.isDraining() {
		return nil, value.Errorf(value.Unavailable, "the server is restarting").WithHint("try again later")
	}
	if r.s.streams.Add(1) > maxStreams {
		r.s.streams.Add(-1)
		r.w.Header().Set("Retry-After", "5")
		return nil, value.Errorf(value.Busy, "the server has %d streams of events already", maxStreams).WithHint("close some, or try again later")
	}
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.Header().Set("X-Accel-Buffering", "no")
	out := &stream{r.w, http.NewResponseController(r.w)}
	r.w.WriteHeader(http.StatusOK)
	_ = out.out.Flush() // the next event may be days away
	return out, nil
}

// dataLines writes the lines of an event's data.
var dataLines = strings.NewReplacer("\r\n", "\ndata: ", "\n", "\ndata: ", "\r", "\ndata: ")

// send sends an event. It fails with kind Canceled if the client has left, or does not read.
func (o *stream) send(name, id, data string) error {
	_ = o.out.SetWriteDeadline(time.Now().Add(writeTime))
	if name != "" {
		fmt.Fprintf(o.w, "event: %s\n", name)
	}
	if id != "" {
		fmt.Fprintf(o.w, "id: %s\n", id)
	}
	fmt.Fprintf(o.w, "data: %s\n\n", dataLines.Replace(data))
	if err := o.out.Flush(); err != nil {
		return value.Errorf(value.Canceled, "send an event: %w", err)
	}
	return nil
}

// follow calls do with each event of a run after one, in order and once, until the run has ended. It keeps the stream
// alive, and ends it when the server is drained, when the user may no longer see it, or with the error of do.
func (r *request) follow(out *stream, p *project, run string, after uint64, do func(e *tool.Event) error) error {
	feed, live := r.s.feeds.join(p, run)
	defer r.s.feeds.leave(feed, live)
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	next := func(e *tool.Event) error {
		if e.Seq != 0 && e.Seq <= after {
			return nil
		}
		after = max(after, e.Seq)
		return do(e)
	}
	recorded := func() (err error) {
		for e, failed := range p.Host.Events(r.Context(), run, after) {
			if err = cmp.Or(failed, err); err == nil {
				err = next(&e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := recorded(); err != nil {
		return err
	}
	for {
		var err error
		select {
		case e, open := <-live.events:
			if !open {
				return recorded() // what was missed at the end
			}
			if live.missed.Swap(false) {
				err = recorded()
			}
			if err == nil {
				err = next(&e)
			}
		case <-ping.C:
			if u, _ := r.s.identify(r.Request); u == nil || u.Role < r.route.role {
				return nil
			}
			err = out.send("ping", "", "{}")
		case <-r.s.draining:
			return out.send("draining", "", "{}")
		case <-r.Context().Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// feeds follow runs, each once for all clients that watch it.
type feeds struct {
	mu   sync.Mutex
	open map[feedKey]*feed
}

type feedKey struct {
	project *project
	run     string
}

// A feed follows a run.
type feed struct {
	key     feedKey
	stop    context.CancelFunc
	clients map[*follower]bool
	said    string // by a model, in the reply that arrives now
}

// maxSaid is how much of a reply that arrives is kept, in bytes.
const maxSaid = 100_000

// hears keeps what a model says in the run itself.
func (d *feed) hears(e *tool.Event) {
	switch data := e.Data.(type) {
	case tool.Text:
		if e.Call == d.key.run && len(d.said) < maxSaid {
			d.said += data.Text
		}
	case tool.ModelAsk, tool.ModelReply, tool.ModelRetry:
		if e.Call == d.key.run {
			d.said = ""
		}
	}
}

// A follower gets the events of a feed. Those that it is too slow for are missed, and read from the record.
type follower struct {
	events chan tool.Event // closed when the run has ended or the host is closed
	missed atomic.Bool
	said   string // when it joined: what a model had said of the reply that arrives
}

// join adds a follower. What was recorded before it returns is in the record, and the follower gets all later events.
func (f *feeds) join(p *project, run string) (*feed, *follower) {
	key, c := feedKey{p, run}, &follower{events: make(chan tool.Event, feedSize)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[key] == nil {
		f.mu.Unlock()
		last := lastSeq(p, run)
		f.mu.Lock()
		if f.open[key] == nil {
			ctx, stop := context.WithCancel(context.Background())
			f.open[key] = &feed{key: key, stop: stop, clients: map[*follower]bool{}}
			go f.run(ctx, f.open[key], last)
		}
	}
	d := f.open[key]
	d.clients[c], c.said = true, d.said
	return d, c
}

// lastSeq returns the number of the last recorded event of a run.
func lastSeq(p *project, run string) (last uint64) {
	for e, err := range p.Host.Events(context.Background(), run, 0) {
		if err == nil {
			last = e.Seq
		}
	}
	return last
}

// leave removes a follower. A feed ends with its last one.
func (f *feeds) leave(d *feed, c *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(d.clients, c); len(d.clients) == 0 {
		d.stop()
		if f.open[d.key] == d {
			delete(f.open, d.key)
		}
	}
}

// heldFor is how long a feed is held for a page that is about to be opened.
const heldFor = 10 * time.Minute

// hold follows a run that is about to be executed, for some time: a model streams its reply only if somebody listens when it
// is asked, and the page is not open yet.
func (f *feeds) hold(p *project, run string) {
	ctx, stop := context.WithTimeout(context.Background(), heldFor)
	listens := p.Host.Subscribe(ctx, host.EventFilter{Run: run, Buffer: 1})
	feed, c := f.join(p, run)
	go func() {
		defer stop()
		defer f.leave(feed, c)
		for {
			select {
			case e, open := <-c.events:
				if _, ends := e.Data.(tool.RunEnd); !open || ends && e.Call == run {
					return
				}
			case _, open := <-listens:
				if !open { // the host is closed, or it was long enough
					return
				}
			}
		}
	}()
}

// run passes on the events of a run after one, until it has ended.
func (f *feeds) run(ctx context.Context, d *feed, after uint64) {
	defer d.stop()
	for e, err := range d.key.project.Host.Follow(ctx, d.key.run, after) {
		if err != nil {
			break
		}
		f.mu.Lock()
		d.hears(&e)
		for c := range d.clients {
			select {
			case c.events <- e:
			default:
				c.missed.Store(true)
			}
		}
		f.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[d.key] == d {
		delete(f.open, d.key)
	}
	for c := range d.clients {
		close(c.events)
	}
	clear(d.clients)
}
