package dialog

import (
	"path"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxMedia is the limit of the images and documents of a conversation, in bytes. The vendors'
// limits for a request are between 20 and 50 MB.
const MaxMedia = 20 << 20

// Readable reports whether a model can read a type. types are the patterns of [model.Info]; nil
// means that they are not known, and then it may.
func Readable(types []string, kind string) bool {
	return types == nil || slices.ContainsFunc(types, func(pattern string) bool { ok, _ := path.Match(pattern, kind); return ok })
}

// CheckAttached returns an error if a model cannot read one of the attachments, or if they have
// more than limit bytes together.
func CheckAttached(media []model.Media, name string, readable []string, limit int) error {
	if size := Size(media); size > limit {
		return value.Errorf(value.Limit, "the attachments are too large: %.1f MB, but a conversation can have only %.1f MB more (%d MB in total)",
			float64(size)/(1<<20), float64(max(0, limit))/(1<<20), MaxMedia>>20).WithHint("attach fewer or smaller files, or begin a new conversation")
	}
	for _, m := range media {
		if !Readable(readable, m.Type) {
			return value.Errorf(value.Invalid, "the model %s cannot read %s (%s)", name, m.Name, m.Type).
				WithHint("use another model, or convert the file to text")
		}
	}
	return nil
}

// Size returns the size of images and documents, in bytes.
func Size(media []model.Media) (bytes int) {
	for _, m := range media {
		bytes += len(m.Data)
	}
	return bytes
}

// Media returns the images and documents of a conversation.
func Media(messages []model.Message) (all []model.Media) {
	for _, m := range messages {
		all = append(all, m.Media...)
	}
	return all
}

// PackMedia encodes attachments, for the record.
func PackMedia(media []model.Media) (value.Value, error) {
	packed, err := Pack([]model.Message{{Role: model.User, Media: media}})
	if err != nil {
		return nil, err
	}
	return value.FromGo(packed)
}

// UnpackMedia returns the attachments that PackMedia wrote.
func UnpackMedia(packed [][]byte) ([]model.Media, error) {
	messages, err := Unpack(packed)
	return Media(messages), err
}
