package journaltest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func message(kind, key, body string) journal.Message {
	return journal.Message{Seq: 99, Kind: kind, Key: key, Body: []byte(body)}
}

func send(t testing.TB, s journal.Store, num int64, m journal.Message) int64 {
	t.Helper()
	seq, err := s.Send(context.Background(), num, m)
	check(t, err)
	return seq
}

// bodies returns the bodies of messages.
func bodies(list []journal.Message) (got []string) {
	for _, m := range list {
		got = append(got, string(m.Body))
	}
	return got
}

func (s *suite) testInbox(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num, other := add(t, a, row("", "r")), add(t, a, row("", "other"))
	last := int64(0)
	for i := range 5 {
		st := []journal.Store{a, b}[i%2]
		seq := send(t, st, num, message("signal", "k", fmt.Sprint(i)))
		if seq <= last {
			t.Errorf("Send returned the sequence number %d after %d, want a higher one", seq, last)
		}
		last = seq
		send(t, st, other, message("signal", "k", "other"))
		if i == 2 { // what is taken stays in the inbox, and leaves no other mark in it
			_, ok, err := st.Take(ctx, num, "signal", "none")
			if ok || err != nil {
				t.Errorf("Take of another key = %v, %v, want false, nil", ok, err)
			}
			send(t, st, num, message("answer", "q", "yes"))
			_, ok, err = st.Take(ctx, num, "answer", "q")
			if !ok || err != nil {
				t.Errorf("Take = %v, %v, want true, nil", ok, err)
			}
		}
	}
	list, err := b.Inbox(ctx, num, 0)
	check(t, err)
	if got, want := bodies(list), []string{"0", "1", "2", "yes", "3", "4"}; !slices.Equal(got, want) {
		t.Errorf("Inbox = %q, want %q", got, want)
	}
	for i, m := range list {
		rest, err := a.Inbox(ctx, num, m.Seq)
		check(t, err)
		if want := bodies(list[i+1:]); !slices.Equal(bodies(rest), want) {
			t.Errorf("Inbox after %d = %q, want %q", m.Seq, bodies(rest), want)
		}
	}
	st, err := a.Load(ctx, num)
	check(t, err)
	if !slices.Equal(bodies(st.Inbox), bodies(list)) {
		t.Errorf("Load.Inbox = %q, want %q", bodies(st.Inbox), bodies(list))
	}
	for _, num := range []int64{0, -1, other + 1, 1 << 40} {
		_, err := a.Inbox(ctx, num, 0)
		wantKind(t, "Inbox of no run", err, value.NotFound)
		_, err = a.Send(ctx, num, message("k", "", ""))
		wantKind(t, "Send to no run", err, value.NotFound)
		_, _, err = a.Take(ctx, num, "k", "")
		wantKind(t, "Take of no run", err, value.NotFound)
	}
}

func (s *suite) testTake(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num := add(t, a, row("", "r"))
	if m, ok, err := a.Take(ctx, num, "answer", "q"); ok || err != nil {
		t.Fatalf("Take of nothing = %+v, %v, %v", m, ok, err)
	}
	send(t, b, num, message("answer", "q", "first")) // it is still open
	seq := send(t, a, num, message("answer", "q", "corrected"))
	send(t, a, num, message("answer", "other", "no"))
	send(t, a, num, message("signal", "q", "no"))
	for i := range 4 {
		st := []journal.Store{a, b}[i%2]
		m, ok, err := st.Take(ctx, num, "answer", "q")
		if err != nil || !ok || string(m.Body) != "corrected" || m.Seq != seq || m.Kind != "answer" || m.Key != "q" {
			t.Errorf("Take = %+v, %v, %v", m, ok, err)
		}
		_, err = st.Send(ctx, num, message("answer", "q", "late"))
		wantKind(t, "Send after Take", err, value.Conflict)
		send(t, st, num, message("answer", "other", "still open"))
		send(t, st, num, message("signal", "q", "still open"))
	}
	m, ok, err := b.Take(ctx, num, "answer", "other")
	if err != nil || !ok || string(m.Body) != "still open" {
		t.Errorf("Take = %+v, %v, %v", m, ok, err)
	}
	fresh := add(t, a, row("", "fresh"))
	send(t, a, fresh, message("answer", "q", "of another run"))
}

// testSendWhileTaken checks that a message that was accepted is never after the
// one that was taken.
func (s *suite) testSendWhileTaken(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num := add(t, a, row("", "r"))
	for round := range 20 {
		key := fmt.Sprint("q", round)
		var wg sync.WaitGroup
		var mu sync.Mutex
		newest, sent := int64(0), 0
		for i := range 4 {
			wg.Go(func() {
				for n := range 5 {
					seq, err := []journal.Store{a, b}[i%2].Send(ctx, num, message("answer", key, fmt.Sprint(i, n)))
					if err != nil {
						wantKind(t, "Send", err, value.Conflict)
						return
					}
					mu.Lock()
					newest, sent = max(newest, seq), sent+1
					mu.Unlock()
				}
			})
		}
		var taken []journal.Message
		for i := range 2 {
			wg.Go(func() {
				for {
					m, ok, err := []journal.Store{b, a}[i].Take(ctx, num, "answer", key)
					if err != nil {
						t.Error(err)
						return
					}
					if ok {
						mu.Lock()
						taken = append(taken, m)
						mu.Unlock()
						return
					}
				}
			})
		}
		wg.Wait()
		if len(taken) != 2 || taken[0].Seq != taken[1].Seq || taken[0].Seq != newest {
			t.Fatalf("taken %+v, but the last of %d messages is %d", taken, sent, newest)
		}
	}
}
