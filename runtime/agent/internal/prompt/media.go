package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Shown decides which images and documents of a result a model gets with it: those of a type that
// it can read, while they have at most room bytes together. shown are their numbers in found. The
// note names the others for the model, or is "".
func Shown(found []value.Media, readable []string, room int) (shown value.List, note string) {
	var unread, large []string
	var notes []string
	for i, m := range found {
		switch {
		case !dialog.Readable(readable, m.Type):
			unread = append(unread, m.String())
		case len(m.Data) > room:
			large = append(large, m.String())
		default:
			room -= len(m.Data)
			shown = append(shown, int64(i))
		}
	}
	if len(unread) > 0 {
		notes = append(notes, Unread(unread))
	}
	if len(large) > 0 {
		notes = append(notes, say("turn/media_large", "media", list(large), "limit", fmt.Sprintf("%d MB", dialog.MaxMedia>>20)))
	}
	return shown, Paragraphs(notes...)
}

// Fingerprint returns a text that differs for different images and documents, and is "" for none.
func Fingerprint(found []value.Media) string {
	if len(found) == 0 {
		return ""
	}
	h := sha256.New()
	for _, m := range found {
		one := sha256.Sum256(m.Data)
		h.Write(one[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// ShownMedia returns the images and documents of the result of a tool with these numbers.
func ShownMedia(name string, result value.Value, shown []int64) (media []model.Media) {
	if len(shown) == 0 {
		return nil
	}
	found := value.MediaIn(result)
	for _, i := range shown {
		if i >= 0 && i < int64(len(found)) { // the record may be damaged
			m := found[i]
			media = append(media, model.Media{Type: m.Type, Name: name + "." + path.Base(m.Type), Data: m.Data})
		}
	}
	return media
}

// Unread returns the note that a model cannot read images or documents.
func Unread(names []string) string { return say("turn/media_unread", "media", list(names)) }

// Paragraphs joins the texts that are not empty.
func Paragraphs(texts ...string) string { return strings.Join(nonEmpty(texts...), "\n\n") }

// maxMediaNames is how many images and documents a note names.
const maxMediaNames = 10

func list(names []string) string {
	if len(names) > maxMediaNames {
		names = append(slices.Clone(names[:maxMediaNames]), fmt.Sprintf("and %d more", len(names)-maxMediaNames))
	}
	return strings.Join(names, ", ")
}

// MediaNames returns the names of images and documents for a model, as in the text of a result.
func MediaNames(media []model.Media) []string {
	return value.Map(media, func(m model.Media) string { return value.Media{Type: m.Type, Data: m.Data}.String() })
}

// attached reports whether the images and documents of a message are attachments of the user, and
// not those of results.
func attached(m *model.Message) bool { return m.Role == model.User && !isTurn(m.Text) }

// Attached returns the attachments of the user in a conversation.
func Attached(messages []model.Message) (all []model.Media) {
	for i := range messages {
		if attached(&messages[i]) {
			all = append(all, messages[i].Media...)
		}
	}
	return all
}

// Legible returns a conversation without the images and documents that a model is known not to
// read, such as those of a turn with another model. Notes name them.
func Legible(messages []model.Message, readable []string) []model.Message {
	legible := messages
	for i := range messages {
		m := messages[i]
		unread := func(x model.Media) bool { return !dialog.Readable(readable, x.Type) }
		if !slices.ContainsFunc(m.Media, unread) {
			continue
		}
		if &legible[0] == &messages[0] {
			legible = slices.Clone(messages)
		}
		var names []model.Media
		for _, x := range m.Media {
			if unread(x) {
				names = append(names, x)
			}
		}
		legible[i].Media = slices.DeleteFunc(slices.Clone(m.Media), unread)
		legible[i].Text = Paragraphs(m.Text, Unread(MediaNames(names)))
	}
	return legible
}

// WithoutMedia returns a copy of a conversation without the images and documents of results. The
// text of each of these messages says what it no longer shows.
func WithoutMedia(messages []model.Message) []model.Message {
	left := slices.Clone(messages)
	for i := range left {
		if m := &left[i]; len(m.Media) > 0 && !attached(m) {
			m.Text += "\n\n" + say("turn/media_dropped", "media", list(MediaNames(m.Media)))
			m.Media = nil
		}
	}
	return left
}
