package history

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestOtherVersion reads a run that another version of cassidy recorded.
func TestOtherVersion(t *testing.T) { eachStore(t, testOtherVersion) }

func testOtherVersion(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	check(t, begin(t, j, "before").Close())
	for id, version := range map[string]value.Value{"later": int64(codecVersion + 1), "earlier": int64(1), "text": "3"} {
		rec := newRecorder(j.store, nil)
		rec.put(version, id, "run", "what comes then, nobody knows")
		first, err := rec.record(runBegun)
		check(t, err)
		frame := makeFrame(0, sum{}, [][]byte{first})
		h := head{frames: 1, last: sum(frame[:len(sum{})]), updated: now()}
		row := &journal.Row{ID: id, Kind: "run", Updated: h.updated}
		check(t, j.store.Commit(ctx, []*journal.Write{{New: row, Frames: []journal.Frame{{Body: frame}}, Head: h.bytes()}}))
	}
	check(t, begin(t, j, "after").Close())
	for id, want := range map[string]struct {
		kind value.Kind
		text string
	}{
		"later":   {value.Unavailable, "read run 'later': record format 8 is not supported: this version of cassidy reads format 7"},
		"earlier": {value.Unavailable, "format 1"},
		"text":    {value.Failed, "invalid record"},
	} {
		r, err := j.Run(ctx, id)
		check(t, err)
		for what, err := range map[string]error{
			"Damage":    r.Damage,
			"Resume":    second(j.Resume(ctx, id)),
			"Read":      second(j.Read(ctx, id)),
			"Entries":   second(readAll(j, id)),
			"Questions": second(j.Questions(ctx, id)),
			"Cancel":    second(j.Cancel(ctx, id)),
		} {
			fails(t, what+" of "+id, err, want.kind, want.text)
		}
		if j.Held(id) {
			t.Errorf("%s is held", id)
		}
	}
	list, err := runs(j, Filter{})
	check(t, err)
	ok := 0
	for _, r := range list {
		if r.Damage == nil {
			ok++
		}
	}
	if len(list) != 5 || ok != 2 {
		t.Errorf("%d runs are listed, %d of them without damage", len(list), ok)
	}
	if n, err := j.Prune(ctx, Keep{Most: 1, Open: true}); n != 1 || err != nil {
		t.Errorf("%d runs were removed, %v; want one of the two that can be read", n, err)
	}
}

// TestUnknownTag reads a value of a type that this version does not have.
func TestUnknownTag(t *testing.T) { eachStore(t, testUnknownTag) }

func testUnknownTag(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Read, "x")
	for at, raw := range map[string]string{"2": "\x63", "3": "\x08\x01\x63"} { // by itself, and in a list
		r := about(place(at), j.store, nil)
		r.put(nanos(now()))
		*r.buf = append(append(*r.buf, byte(len(raw)<<1)), raw...)
		check(t, l.add(ctx, addition{kind: placeNoted, place: place(at)}, r))
	}
	check(t, l.Close())
	n := 0
	for e, err := range j.Entries(ctx, "r") {
		if e.StepPath.String() == "1" {
			check(t, err)
			continue
		}
		fails(t, "step "+e.StepPath.String(), err, value.Failed, "unknown type tag 99")
		n++
	}
	if n != 2 {
		t.Errorf("%d steps are damaged", n)
	}
	l = resume(t, j, "r")
	for _, err := range l.Notes() {
		fails(t, "Notes", err, value.Failed, "unknown type tag 99")
	}
}
