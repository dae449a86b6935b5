package dialog

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Unsigned returns the messages without what only the model that wrote them can read.
func Unsigned(messages []model.Message) []model.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Opaque = nil
	}
	return messages
}

// Text returns the text of messages, without anything between them.
func Text(messages []model.Message) string {
	var all strings.Builder
	for i := range messages {
		all.WriteString(messages[i].Text)
	}
	return all.String()
}

// NoRoom reports whether messages were not sent because the conversation is too long.
func NoRoom(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e != nil && e.Kind == value.Limit && (e.Limit == value.LimitConversation || e.Limit == value.LimitContext)
}
