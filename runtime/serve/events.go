package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
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
	var live *follower
	if !run.State.Ended() { // else the record has all
		feed, f := r.s.feeds.join(p, run.ID)
		defer r.s.feeds.leave(feed, f)
		live = f
	}
	u := r.unread(p, run.ID, cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")))
	defer u.stop()
	if u.known && live == nil && !u.more {
		return r.reply(http.StatusNoContent, nil)
	}
	out, err := r.openStream()
	if err != nil {
		return err
	}
	defer r.s.streams.Add(-1)
	if !u.known {
		_ = out.send("resync", "", "{}") // the next write fails too
	}
	return r.follow(out, p, run.ID, live, &u, func(e *tool.Event) error {
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

// An unread is the recorded events of a run that a client does not have yet.
type unread struct {
	last  tool.Event // that the client has, or zero
	known bool       // whether the record has it; else the client begins again
	more  bool       // whether there are any
	list  iter.Seq2[tool.Event, error]
	stop  func() // to be called afterwards
}

// unread reads the recorded events of a run after the one whose ID a client has.
func (r *request) unread(p *project, run, last string) (u unread) {
	after, err := strconv.ParseUint(cmp.Or(last, "0"), 10, 63)
	next, stop := iter.Pull2(p.Host.Events(r.Context(), run, max(after, 1)-1))
	e, failed, more := next()
	switch u.known = err == nil && (after == 0 || more && failed == nil && e.Seq == after); {
	case !u.known && after > 1:
		stop()
		next, stop = iter.Pull2(p.Host.Events(r.Context(), run, 0))
		e, failed, more = next()
	case u.known && after > 0:
		u.last = e
		e, failed, more = next()
	}
	u.more, u.stop = more, stop
	u.list = func(yield func(tool.Event, error) bool) {
		for ; more && yield(e, failed); e, failed, more = next() {
		}
	}
	return u
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

// follow calls do with the recorded events that a client has not read, and then with those that a follower gets, in order
// and once, until the run has ended. A nil follower gets none. It keeps the stream alive, and ends it when the server is
// drained, when the user may no longer see it, or with the error of do.
func (r *request) follow(out *stream, p *project, run string, live *follower, u *unread, do func(e *tool.Event) error) error {
	last := u.last
	next := func(e *tool.Event) error {
		switch {
		case e.Seq == 0 && e.Time.Before(last.Time), e.Seq != 0 && e.Seq <= last.Seq: // the record has overtaken it
			return nil
		case e.Seq != 0:
			last = *e
		}
		return do(e)
	}
	all := func(list iter.Seq2[tool.Event, error]) error {
		for e, err := range list {
			if err == nil {
				err = next(&e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := all(u.list); err != nil || live == nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case e, open := <-live.events:
			if live.missed.Swap(false) {
				err = all(p.Host.Events(r.Context(), run, last.Seq))
			}
			if !open {
				return err
			}
			if err == nil {
				err = next(&e)
			}
		case <-ping.C:
			if user, _ := r.s.identify(r.Request); user == nil || user.Role < r.route.role {
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
	cut  map[feedKey]string // what models had said of the replies in which runs ended
}

// mostCut is how many replies are kept that did not arrive.
const mostCut = 64

// said returns what a model has said of a reply that arrives, or that was cut off by the end of the run. It is in memory.
func (f *feeds) said(p *project, run string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := feedKey{p, run}
	if d := f.open[key]; d != nil && d.said != "" {
		return d.said
	}
	return f.cut[key]
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

// hear keeps what a model says in the run itself.
func (f *feeds) hear(d *feed, e *tool.Event) {
	if e.Call != d.key.run {
		return
	}
	switch data := e.Data.(type) {
	case tool.Text:
		if len(d.said) < maxSaid {
			d.said += data.Text
		}
	case tool.ModelAsk, tool.ModelReply, tool.ModelRetry:
		d.said = ""
		delete(f.cut, d.key)
	case tool.RunEnd:
		if len(f.cut) >= mostCut {
			clear(f.cut)
		}
		if d.said != "" {
			f.cut[d.key] = d.said
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
		f.hear(d, &e)
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
