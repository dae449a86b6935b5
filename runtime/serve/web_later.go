package serve

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxLater is how many messages of a talk may wait for the end of a turn.
const maxLater = 5

// later are messages that are sent when the turn before them has ended, and the forms of talks that came. They are in
// memory: what waits is lost if the server ends.
type later struct {
	mu     sync.Mutex
	of     map[laterKey][]laterMessage
	forms  map[string]time.Time // by their keys
	sender map[laterKey]bool    // talks whose messages somebody sends
}

type laterKey struct {
	project *project
	session string
}

// A laterMessage is a message that waits.
type laterMessage struct{ by, agent, text string }

func (l *later) begin() {
	l.of, l.forms, l.sender = map[laterKey][]laterMessage{}, map[string]time.Time{}, map[laterKey]bool{}
}

// isNew remembers a form, and reports whether it is new.
func (l *later) isNew(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.forms[key]; known {
		return false
	}
	makeRoom(l.forms, func(t time.Time) time.Time { return t })
	l.forms[key] = now
	return true
}

// add has a message wait, and reports whether there was room.
func (l *later) add(t *talk, m laterMessage) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := laterKey{t.project, t.id}
	if len(l.of[key]) >= maxLater || len(l.of) >= maxKept {
		return false
	}
	l.of[key] = append(l.of[key], m)
	return true
}

// texts returns the messages of a talk that wait.
func (l *later) texts(t *talk) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return value.Map(l.of[laterKey{t.project, t.id}], func(m laterMessage) string { return m.text })
}

// take makes the caller the one who sends the messages of a talk, if there is nobody yet.
func (l *later) take(key laterKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sender[key] {
		return false
	}
	l.sender[key] = true
	return true
}

// next returns the next message to send, or none: then the caller no longer sends.
func (l *later) next(key laterKey) (laterMessage, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.of[key]
	if len(list) == 0 {
		delete(l.of, key)
		delete(l.sender, key)
		return laterMessage{}, false
	}
	return list[0], true
}

// sent removes the message that was next.
func (l *later) sent(key laterKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of[key]) > 0 {
		l.of[key] = l.of[key][1:]
	}
}

// forget drops the messages of a talk.
func (l *later) forget(key laterKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, key)
	delete(l.sender, key)
}

// sendLater sends the messages of a talk that wait, each after the turn before it.
func (s *Server) sendLater(p *project, session string) {
	key := laterKey{p, session}
	if !s.later.take(key) {
		return
	}
	for {
		m, ok := s.later.next(key)
		if !ok {
			return
		}
		if !s.afterTurn(p, session) {
			s.later.forget(key)
			return
		}
		s.later.sent(key)
		id, err := p.begin(host.StartedBy(context.Background(), m.by), session, m.agent, m.text)
		if err != nil {
			s.opts.Logger.Error("a message that waited was not sent", "project", p.Name, "kind", value.KindOf(err).String())
			continue
		}
		s.feeds.hold(p, id)
		s.audited(Decision{Time: s.now(), User: m.by, Action: "begin", Project: p.Name, Run: id})
		p.want(id)
	}
}

// afterTurn waits until the last turn of a talk has ended. It reports false if the server ends before.
func (s *Server) afterTurn(p *project, session string) bool {
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for {
		last, err := p.op.LastTurn(context.Background(), session)
		if value.KindOf(err) == value.NotFound || err == nil && last.State.Ended() {
			return err == nil
		}
		next := p.jobs.next(last.ID) // if it ended just now, the tick tells
		select {
		case <-next.done:
		case <-tick.C:
		case <-s.draining:
		}
		if p.jobs.leave(last.ID, next); s.isDraining() {
			return false
		}
	}
}
