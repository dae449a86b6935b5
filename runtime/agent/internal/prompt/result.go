package prompt

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// DefaultResultText is how much of one result a model is given, in characters:
// about 12,000 tokens, so that ten such results do not fill a conversation.
const DefaultResultText = 30_000

// minResultText is the least that a result is cut to, so that the note has
// something to stand between.
const minResultText = 500

// ResultText tells a model what came of a call. What is longer than limit
// characters loses its middle, with a note that says how to get the rest: from
// whole, the file in which all of it is kept, or where that is "" by asking for
// less. A limit of 0 means defaultResultText.
//
// The text is the result's own, character for character, but for a line that
// would begin a section or another result: that is shown as a quotation.
func ResultText(name string, r tool.Result, limit int, whole string) string {
	if limit <= 0 {
		limit = DefaultResultText
	}
	note := func(left int) string { return leftOutNote(left, whole) }
	text := quoteSections(CutMiddle(r.Text(), max(limit, minResultText), note))
	if r.Success {
		if text == "" {
			text = "(the result is empty)"
		}
		return "RESULT (" + prose.OneLine(name) + "):\n" + text
	}
	why := quoteSections(CutMiddle(r.Error, max(limit, minResultText), note))
	if r.Suggestion != "" {
		why += "\nHint: " + prose.OneLine(r.Suggestion)
	}
	if text != "" {
		why += "\n\n" + text
	}
	return "ERROR (" + prose.OneLine(name) + "):\n" + why + "\n\nTry different approach."
}

func leftOutNote(left int, whole string) string {
	if whole != "" {
		return fmt.Sprintf("[… %d characters are left out here. All of it is in %s: read the part that you need.]", left, prose.OneLine(whole))
	}
	return fmt.Sprintf("[… %d characters are left out here. To see them, ask for less at a time: a narrower search, a range of lines, or a limit.]", left)
}

// isTurn reports whether a message of the user's side is a policy's and not a
// question.
func isTurn(text string) bool {
	for _, mark := range []string{"RESULT (", "ERROR (", "ERROR: ", "DENIED: ", "SKILL LOADED: ", "NOTE: "} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}
