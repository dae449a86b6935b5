package serve

import (
	"encoding/json"
	"strconv"
	"time"
)

// A live is the stream of a page.
type live struct {
	*stream
	r     *request
	count int // of open questions, as the page has it
}

// live opens the stream of a page, and has serve send what changes until it returns. An error of serve ends the
// stream, and the browser opens it again.
func (r *request) live(serve func(l *live) error) error {
	out, err := r.openStream()
	if err != nil {
		return err
	}
	defer r.s.streams.Add(-1)
	l := &live{stream: out, r: r, count: -1}
	if l.counted() == nil {
		_ = serve(l) // there is nobody to tell
	}
	return nil
}

// part sends a part of the page: the template that shows it, with its view. The id is the number in the record up to
// which the page is then complete, or "".
func (l *live) part(name string, view any, id string) error {
	html, err := l.r.s.pages.RenderPart(name, view)
	if err != nil {
		return err
	}
	return l.send("part", id, html)
}

// text adds text to the element that streams it.
func (l *live) text(to, add, id string) error {
	data, err := json.Marshal(map[string]string{"to": to, "add": add})
	if err != nil {
		return err
	}
	return l.send("text", id, string(data))
}

// say has a screen reader say something.
func (l *live) say(text string) error { return l.send("say", "", text) }

// resync has the page fetched again, and merged.
func (l *live) resync(id string) error { return l.send("resync", id, "{}") }

// counted sends how many questions are open, if that has changed.
func (l *live) counted() error {
	n := 0
	for _, p := range l.r.projects() {
		open, err := p.inbox.count(l.r.Context(), p)
		if err != nil {
			return err
		}
		n += open
	}
	if n == l.count {
		return nil
	}
	l.count = n
	return l.send("count", "", strconv.Itoa(n))
}

// countEvery is how often a stream looks at how many questions are open.
const countEvery = time.Second

// each calls do with what comes from a channel until that is closed, and keeps the stream alive. It ends the stream when
// the server is drained, when the user may no longer see it, when the client has left, or with the error of do.
func each[T any](l *live, from <-chan T, do func(T) error) error {
	ping, count := time.NewTicker(pingEvery), time.NewTicker(countEvery)
	defer ping.Stop()
	defer count.Stop()
	for {
		var err error
		select {
		case v, open := <-from:
			if !open {
				from = nil // the page stays live for the count
				continue
			}
			err = do(v)
		case <-count.C:
			err = l.counted()
		case <-ping.C:
			if u, _ := l.r.s.identify(l.r.Request); u == nil || u.Role < l.r.route.role {
				return nil
			}
			err = l.send("ping", "", "{}")
		case <-l.r.s.draining:
			return l.send("draining", "", "{}")
		case <-l.r.Context().Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}
