package agent

import (
	"context"
	"path"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxMedia is the limit of the images and documents of a message, in bytes. The vendors' limits
// for a request are between 20 and 50 MB.
const MaxMedia = 20 << 20

// attachments are images and documents of a message. They do not change.
type attachments struct{ media []model.Media }

// Attach adds images and documents to the next message that is sent. They are recorded with its
// turn. It fails with kind Limit if they are together longer than [MaxMedia], with kind Invalid if
// it is known that the model cannot read one, and with Busy during a turn; then nothing is added.
// A compaction drops them from the conversation.
func (s *Session) Attach(ctx context.Context, media ...model.Media) error {
	if !s.busy.TryLock() {
		return s.errBusy()
	}
	defer s.busy.Unlock()
	size := 0
	var all []model.Media
	if s.attached != nil {
		all = s.attached.media
	}
	all = slices.Concat(all, media)
	for _, m := range all {
		size += len(m.Data)
	}
	if size > MaxMedia {
		return value.Errorf(value.Limit, "the attachments are too long: %.1f MB, limit %d MB", float64(size)/(1<<20), MaxMedia>>20).
			WithHint("attach fewer or smaller files")
	}
	readable := s.agent.measure(ctx).Media
	for _, m := range media {
		if readable != nil && !slices.ContainsFunc(readable, func(pattern string) bool { ok, _ := path.Match(pattern, m.Type); return ok }) {
			return value.Errorf(value.Invalid, "the model %s cannot read %s (%s)", s.agent.opts.Model.Name(), m.Name, m.Type).
				WithHint("use another model, or convert the file to text")
		}
	}
	if len(all) > 0 {
		s.attached = &attachments{all}
	}
	return nil
}

// packMedia returns attachments for the record.
func packMedia(media []model.Media) (value.Value, error) {
	packed, err := dialog.Pack([]model.Message{{Role: model.User, Media: media}})
	if err != nil {
		return nil, err
	}
	return value.FromGo(packed)
}

// unpackMedia returns the attachments that packMedia wrote.
func unpackMedia(packed [][]byte) (*attachments, error) {
	messages, err := dialog.Unpack(packed)
	if err != nil || len(messages) == 0 || len(messages[0].Media) == 0 {
		return nil, err
	}
	return &attachments{messages[0].Media}, nil
}
