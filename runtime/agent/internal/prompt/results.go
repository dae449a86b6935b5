package prompt

import (
	"slices"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A CallResult is the text that reports the result of a call to the model.
type CallResult struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ReadResults reads the results among the arguments of agent.ask.
func ReadResults(args *value.Dict) (list []CallResult, err error) {
	given, err := value.ToGo[struct {
		Results []struct {
			ID   string  `json:"id"`
			Text *string `json:"text"`
		} `json:"results"`
	}](args)
	for _, r := range given.Results {
		if r.Text == nil {
			err = value.Errorf(value.Invalid, "agent.ask: a result has no text")
			break
		}
		list = append(list, CallResult{r.ID, *r.Text})
	}
	if err != nil {
		return nil, value.Errorf(value.Invalid, `agent.ask: expected results as [{"id": …, "text": …}]`)
	}
	return list, nil
}

// FitResults cuts results that are together too long for a message of so many characters, all to
// the same length.
func FitResults(results []CallResult, most int) []CallResult {
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
