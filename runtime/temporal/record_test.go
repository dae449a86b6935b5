package temporal

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// stream returns the stream of frames.
func stream(list ...string) (data []byte) {
	for _, f := range list {
		data = appendFrame(data, []byte(f))
	}
	return data
}

// TestApply checks that a record takes the commits of its newest owner in order, and nothing else.
func TestApply(t *testing.T) {
	r := &record{}
	r.Owner = owner{2, 1}
	if !r.apply(&commit{Owner: owner{2, 1}, Frames: 2}, stream("a", "b")) || r.Frames != 2 {
		t.Fatalf("the first commit left %+v", r)
	}
	for why, c := range map[string]commit{
		errForeign: {Run: "other", Owner: owner{2, 1}, From: 2, Frames: 1},
		errStale:   {Run: "x", Owner: owner{1, 9}, From: 2, Frames: 1},
		"":         {Run: "x", Owner: owner{2, 2}, From: 2, Frames: 1},
	} {
		if got := r.refuses("x", &c); got != why {
			t.Errorf("%+v was refused as %q, want %q", c, got, why)
		}
	}
	if r.apply(&commit{Owner: owner{2, 1}, From: 1, Frames: 1}, stream("again")) {
		t.Error("a frame was replaced")
	}
	r.apply(&commit{Owner: owner{3, 1}, From: 2, Frames: 1, Blob: segment{7, "blob"}, Set: &journal.Standing{State: journal.Done}}, nil)
	r.data = slices.Clone(r.data)
	if got := r.refuses("x", &commit{Run: "x", Owner: owner{3, 1}}); got != errStale {
		t.Errorf("a commit to a run that has ended was refused as %q", got)
	}
	if want := []segment{{4, ""}, {7, "blob"}}; !slices.Equal(r.Segments, want) || r.Frames != 3 {
		t.Errorf("the segments are %v of %d frames, want %v of 3", r.Segments, r.Frames, want)
	}
}

// TestLetters checks that letters are delivered once, and none after its kind and key were taken.
func TestLetters(t *testing.T) {
	r := &record{}
	send := func(id, key, body string) (int64, string) {
		l := letter{Run: "x", ID: id, Message: journal.Message{Kind: "answer", Key: key, Body: []byte(body)}}
		if why := r.refusesLetter("x", &l); why != "" {
			return 0, why
		}
		return r.deliver(&l), ""
	}
	for i, c := range []struct {
		id, key string
		seq     int64
		why     string
	}{{"1", "q", 1, ""}, {"1", "q", 1, ""}, {"2", "q", 2, ""}, {"3", "p", 3, ""}} {
		if seq, why := send(c.id, c.key, fmt.Sprint(i)); seq != c.seq || why != c.why {
			t.Errorf("letter %d got %d %q, want %d %q", i, seq, why, c.seq, c.why)
		}
	}
	for range 2 {
		if m := r.take(journal.Message{Kind: "answer", Key: "q"}); m == nil || string(m.Body) != "2" {
			t.Errorf("taken was %v", m)
		}
	}
	if m := r.take(journal.Message{Kind: "answer", Key: "none"}); m != nil {
		t.Errorf("taken was %v", m)
	}
	if _, why := send("4", "q", "late"); why != errTaken {
		t.Errorf("a letter after it was taken: %q", why)
	}
	if seq, why := send("2", "q", "repeated"); seq != 2 || why != "" {
		t.Errorf("a repeated letter after it was taken: %d %q", seq, why)
	}
	if why := r.refusesLetter("y", &letter{Run: "x", ID: "5"}); why != errForeign {
		t.Errorf("a letter for another run: %q", why)
	}
	r.Row.State = journal.Failed
	if _, why := send("6", "p", "too late"); why != errEnded {
		t.Errorf("a letter to a run that has ended: %q", why)
	}
}

// TestViews checks that every reader of a record gets its stream, from wherever it continues, before and after the data was
// moved to blobs.
func TestViews(t *testing.T) {
	s := &Store{blobs: Folder{Path: t.TempDir()}}
	r, whole := &record{}, []byte(nil)
	for i := range 300 {
		f := stream(string(bytes.Repeat([]byte{byte('a' + i%26)}, i*31)))
		c := commit{From: int64(i), Frames: 1}
		whole = append(whole, f...)
		if i%50 == 7 {
			var err error
			if c.Blob, err = s.putStream(f); err != nil {
				t.Fatal(err)
			}
			f = nil
		}
		if !r.apply(&c, f) {
			t.Fatal("a commit was refused")
		}
		if i == 150 {
			var blobs []segment
			for _, part := range r.chunks(100_000) {
				b, err := s.putStream(part)
				if err != nil {
					t.Fatal(err)
				}
				blobs = append(blobs, b)
			}
			r.stored(blobs)
		}
	}
	for _, from := range []int64{0, 1, 5000, 200_000, int64(len(whole)) - 1, int64(len(whole))} {
		s.stream, s.known = name{"", "r"}, slices.Clone(whole[:from])
		got, err := readAll(s, r)
		if err != nil || !bytes.Equal(got, whole) {
			t.Errorf("from %d, %d bytes were read, want %d: %v", from, len(got), len(whole), err)
		}
	}
	if got := len(frames(whole)); got != 300 {
		t.Errorf("the stream has %d frames", got)
	}
	for cut := range 50 {
		frames(whole[:len(whole)-cut]) // does not panic
	}
	if v := r.view(-1); v.Data != nil || !reflect.DeepEqual(v.Record.Segments, r.Segments) {
		t.Errorf("a view without data has %d bytes", len(v.Data))
	}
}

func readAll(s *Store, r *record) ([]byte, error) {
	_, got, err := s.assemble(context.Background(), name{"", "r"}, true, func(from int64) (view, error) { return r.view(from), nil })
	return got, err
}
