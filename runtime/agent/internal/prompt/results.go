package prompt

import (
	"slices"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ReadResults reads the results among the arguments of agent.ask, as messages with their text and,
// if they have one, the ID of the call.
// It decodes them by itself: the decoder of package value takes much stack, and the stack of an agent that waits
// is most of its memory.
func ReadResults(args *value.Dict) (list []model.Message, err error) {
	for _, v := range args.Elements("results") {
		r, _ := v.(*value.Dict)
		text, isText := valueOf(r, "text").(string)
		id, isID := valueOf(r, "id").(string)
		if !isText || !isID && r.Has("id") {
			return nil, value.Errorf(value.Invalid, `agent.ask: argument 'results' should be a list such as [{"text": …}] or [{"id": …, "text": …}]`)
		}
		list = append(list, model.Message{Role: model.ToolRole, CallID: id, Text: text})
	}
	return list, nil
}

func valueOf(d *value.Dict, name string) value.Value {
	v, _ := d.Get(name)
	return v
}

// FitResults cuts results that are together too long for a message of so many characters, all to
// the same length.
func FitResults(results []model.Message, most int) []model.Message {
	const share = 5 // a fifth of the message is reserved for other text
	room, total := most*(share-1)/share, 0
	for _, r := range results {
		total += utf8.RuneCountInString(r.Text)
	}
	if total <= room {
		return results
	}
	fit := slices.Clone(results)
	for i := range fit {
		fit[i].Text = CutMiddle(fit[i].Text, room/len(fit), ShortNote)
	}
	return fit
}
