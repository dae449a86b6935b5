package tool

import (
	"strconv"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Estimates of what tools take of the context of a model, and a limit of it, in tokens.
const (
	BaseOverhead    = 500     // the instructions around the tools' definitions
	UnknownOverhead = 150     // a tool of which only the name is known
	TokenLimit      = 200_000 // the limit of a conversation with a model of unknown size
)

// EstimateTokens estimates the tokens of a text: a third of its characters, plus 15 %.
// The estimate is high for prose, and low for JSON and logs.
func EstimateTokens(text string) int {
	n := utf8.RuneCountInString(text)
	return (115*n + 299) / 300 // in integers, for the reason given below
}

// EstimateOverhead returns how many tokens of a model's context the tool's definition
// takes: the Overhead that its author declares, or an estimate from its description,
// parameters and first example.
func (t *Tool) EstimateOverhead() int {
	if t.Overhead > 0 {
		return t.Overhead
	}
	tokens := EstimateTokens(t.Description)
	for _, p := range t.Params {
		if !p.FromHost {
			tokens += EstimateTokens(p.Name + " (" + p.Type.String() + "): " + p.Description)
		}
	}
	if len(t.Examples) > 0 {
		tokens += EstimateTokens(t.CallText(t.Examples[0].Args))
	}
	// One tenth more for the form around the words; in integers, since
	// 1.1 × 100 is more than 110 in floating point.
	return (11*tokens + 9) / 10
}

// maxCallText is how much of a call an error shows, in characters.
const maxCallText = 200

// FailedCall writes a call for an error about it: without arguments that are null or empty, and
// shortened.
func (t *Tool) FailedCall(args *value.Dict) string {
	given := &value.Dict{}
	for k, v := range args.All() {
		items, isList := value.Elements(v)
		d, isDict := v.(*value.Dict)
		if v == nil || v == "" || isList && len(items) == 0 || isDict && d.Len() == 0 {
			continue
		}
		given.PutEntry(value.Entry{Key: k, Value: v})
	}
	text := t.CallText(given)
	if utf8.RuneCountInString(text) <= maxCallText {
		return text
	}
	return string([]rune(text)[:maxCallText]) + "…)"
}

// CallText writes a call as in slug(input="Hello World").
func (t *Tool) CallText(args *value.Dict) string {
	b := []byte(t.Name + "(")
	first := true
	for k, v := range args.All() {
		if !first {
			b = append(b, ", "...)
		}
		first = false
		name, ok := k.(string)
		if !ok {
			name = strconv.Quote(value.FormatJSON(k, ""))
		}
		b = append(append(append(b, name...), '='), value.FormatJSON(v, "")...)
	}
	return string(append(b, ')'))
}
