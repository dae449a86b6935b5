package conversation

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Next is what a policy sends next.
type Next struct {
	Text     string
	Results  []model.Message // of calls
	Attached bool            // the message has the attachments of the turn
	Unread   bool            // the provider refused the images and documents of results
}

// Next returns the next messages: the answers to native calls, with the policy's text if it has
// one, and a message of the user with everything else, if there is anything.
func (s *State) Next(n Next) []model.Message {
	more := s.Answers()
	for k := range more {
		if i := slices.IndexFunc(n.Results, func(r model.Message) bool { return r.CallID == more[k].CallID }); i >= 0 {
			more[k].Text = n.Results[i].Text
			n.Results = append(n.Results[:i:i], n.Results[i+1:]...)
		}
	}
	parts := append(s.leftOver(), value.Map(n.Results, func(r model.Message) string { return r.Text })...)
	media, note := s.addMedia(more, n.Unread)
	text := prompt.Paragraphs(append(parts, note, n.Text)...)
	if text == "" && !n.Attached && len(media) == 0 {
		return more
	}
	m := model.Message{Role: model.User, Text: text, Media: media}
	if n.Attached {
		m.Media = slices.Concat(s.Attached, media)
	}
	return append(more, m)
}

// Answers returns a message for each native call of the last reply, since APIs require one:
// the result of the call, or that it was not made.
func (s *State) Answers() []model.Message {
	var more []model.Message
	for _, c := range dialog.Open(s.Messages) {
		m := NotMade(c)
		if i := slices.IndexFunc(s.Made, func(made Call) bool { return made.ID == c.ID }); i >= 0 {
			m.Text, m.Failed = s.Made[i].Text, !s.Made[i].Success
		}
		more = append(more, m)
	}
	return more
}

// leftOver returns the results of calls of earlier turns that were not sent to the model,
// except those that Answers returns.
func (s *State) leftOver() []string {
	var parts []string
	open := dialog.Open(s.Messages)
	for _, made := range s.Made {
		answered := slices.ContainsFunc(open, func(c model.Call) bool { return made.ID == c.ID })
		if !made.now && !answered && !made.Last {
			parts = append(parts, made.Text)
		}
	}
	return parts
}

// addMedia adds the images and documents of results to the answers of native calls. It returns
// those of the other results, and a note on them.
func (s *State) addMedia(answers []model.Message, unread bool) (media []model.Media, note string) {
	for _, made := range s.Made {
		if len(made.Media) == 0 {
			continue
		}
		shown, names := made.Media, ""
		if unread {
			shown, names = nil, prompt.Unread(prompt.MediaNames(made.Media))
		}
		i := slices.IndexFunc(answers, func(m model.Message) bool { return m.CallID == made.ID })
		if i < 0 {
			media, note = append(media, shown...), prompt.Paragraphs(note, names)
			continue
		}
		answers[i].Media, answers[i].Text = shown, prompt.Paragraphs(answers[i].Text, names)
	}
	return media, note
}

// Overfull reports whether old results lose their images and documents, so that more messages can
// be sent.
func (s *State) Overfull(more []model.Message) bool {
	return dialog.Size(dialog.Media(s.Messages))+dialog.Size(dialog.Media(more)) > dialog.MaxMedia
}

// AttachLimit returns how many bytes the attachments of the next message may have together.
func (s *State) AttachLimit() int { return dialog.MaxMedia - dialog.Size(prompt.Attached(s.Messages)) }

// ResultLimit returns how many bytes the images and documents of the next result may have together.
func (s *State) ResultLimit() int {
	left := s.AttachLimit()
	for _, made := range s.Made {
		left -= dialog.Size(made.Media)
	}
	return left
}

// HasMedia reports whether a result that the model does not have has images or documents.
func (s *State) HasMedia() bool {
	return slices.ContainsFunc(s.Made, func(made Call) bool { return len(made.Media) > 0 })
}
