package serve

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A glance is that a run may have changed.
type glance struct {
	run   string     // its ID
	event tool.Event // that happened in it, or zero
	said  string     // of the first glance: what a model has said of the reply that arrives
	last  bool       // no more follow: the run has ended
}

// glanceEvery is how often a run is looked at of which nothing is heard: another process may execute it.
const glanceEvery = 2 * time.Second

// watch calls do with a run as it is now, and again after each of its events, when this process has executed it, and from
// time to time, until it has ended. Then the page stays live for the count. There are many pieces of text, and a run that
// is nil with them: it is as it was.
func (l *live) watch(p *project, id string, do func(run *history.Run, e tool.Event) error) error {
	ctx, stop := context.WithCancel(l.r.Context())
	defer stop()
	glances := make(chan glance)
	go l.r.s.glance(ctx, p, id, glances)
	return each(l, glances, func(g glance) error {
		if _, is := g.event.Data.(tool.Text); is {
			return do(nil, g.event)
		}
		_, run, err := l.r.run(id)
		if err != nil {
			return err
		}
		return do(run, g.event)
	})
}

// glance sends when to look at a run.
func (s *Server) glance(ctx context.Context, p *project, id string, to chan<- glance) {
	defer close(to)
	feed, live := s.feeds.join(p, id)
	defer s.feeds.leave(feed, live)
	tick := time.NewTicker(glanceEvery)
	defer tick.Stop()
	next := p.jobs.next(id)
	defer func() { p.jobs.leave(id, next) }()
	g := glance{run: id, said: live.said}
	for {
		select {
		case to <- g:
		case <-ctx.Done():
			return
		}
		if g.last {
			return
		}
		g = glance{run: id}
		select {
		case e, open := <-live.events:
			if g.event = e; !open {
				g.last = true
			}
		case <-next.done:
			next = p.jobs.next(id)
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
