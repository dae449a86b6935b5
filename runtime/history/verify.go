package history

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Verified is a record whose frames [Journal.Verify] has checked.
type Verified struct {
	Run    Run
	Frames int64 // their number
	// Head is the hash of the last frame, in hexadecimal. It stands for all frames of the
	// run: no frame can be changed, removed or moved without another head.
	Head string
	// At is the number of frames up to the head that was kept elsewhere, or 0.
	At int64
}

// Verify reads the complete record of a run, with its events, its messages and its large
// values, and checks the hash of each part. It fails with kind NotFound if there is no such
// run, and with Failed if a part was changed, removed or moved. An answer becomes a part of
// the chain of frames when the run uses it.
//
// Whoever can write the store can also make another record with valid hashes. kept is a head
// that an earlier Verify of the run returned, or "". It must have been stored where they
// cannot change it. Then the record must contain this head; frames after it are those of a
// run that went on. If it does not, Verify fails with kind Conflict, and returns what the
// record has instead.
func (j *Journal) Verify(ctx context.Context, id, kept string) (Verified, error) {
	if _, err := hex.DecodeString(kept); err != nil || kept != "" && len(kept) != hex.EncodedLen(len(sum{})) {
		return Verified{}, value.Errorf(value.Invalid, "%q is not a head: a head has %d hexadecimal digits", value.Clean(kept, 80), hex.EncodedLen(len(sum{}))).
			WithHint("to see the head of a run: cassidy runs verify %s", value.Clean(id, 80))
	}
	h, err := j.history(ctx, id)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{Run: h.run, Frames: h.head.frames, Head: hex.EncodeToString(h.head.last[:])}
	if err := h.check(j); err != nil {
		return v, err
	}
	for i, f := range h.frames {
		if kept != "" && strings.EqualFold(hex.EncodeToString(f[:len(sum{})]), kept) {
			v.At = int64(i) + 1
		}
	}
	if kept != "" && v.At == 0 {
		return v, value.Errorf(value.Conflict, "the record of run '%s' does not contain the head %s: the record was made anew, or reset to an earlier state", id, kept).
			WithHint("do not rely on this record; restore the records from a backup")
	}
	return v, nil
}

// check reads every part of a record.
func (h *history) check(j *Journal) error {
	if h.damage != nil {
		return h.damage
	}
	if _, err := h.script(); err != nil {
		return damaged(h.run.ID, "its script", err)
	}
	for _, s := range h.steps {
		if _, err := s.entry(&h.run, j.store); err != nil {
			return err
		}
	}
	for _, r := range h.events {
		if _, err := h.event(r, j); err != nil {
			return damaged(h.run.ID, "an event", err)
		}
	}
	_, err := h.answers()
	return err
}
