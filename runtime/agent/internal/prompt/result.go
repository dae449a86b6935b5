package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// DefaultResultText is the default limit of a result, in characters: about 12,000 tokens, so
// that ten such results do not fill a conversation.
const DefaultResultText = 30_000

// minResultText is the shortest length to which a result is cut, in characters.
const minResultText = 500

// ResultText returns the text that reports the result of a call to a model. If the result has
// more than limit characters, its middle is replaced by a note: it names whole, the file with
// the full result, or advises to ask for less if whole is "". A limit of 0 means
// [DefaultResultText].
//
// The result is not changed otherwise, except that lines that look like the beginning of a
// section or of another result are quoted.
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
		if r.Notes != "" {
			text += "\n\n" + quoteSections(CutMiddle(r.Notes, max(limit, minResultText), note))
		}
		return "RESULT (" + prose.OneLine(name) + "):\n" + text
	}
	why := quoteSections(CutMiddle(hint.Message(r.Error, hint.Models), max(limit, minResultText), note))
	if advice := hint.For(r.Suggestion, hint.Models); advice != "" {
		why += "\nHint: " + prose.OneLine(advice)
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

// isTurn reports whether a message with the role of the user is from the policy, and not a
// question of the user.
func isTurn(text string) bool {
	marks := []string{"RESULT (", "ERROR (", "ERROR: ", "DENIED: ", "SKILL LOADED: ", "SKILL FILE: ", "NOTE: "}
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(text, mark) })
}

// Redundant returns the text for a call whose result the model already has, that of the call with
// a number.
func Redundant(name string, number int) string {
	return fmt.Sprintf("RESULT (%s):\nThis call is the same as your call %d. None of your calls has changed anything since then. The result of that call is still valid.", name, number)
}
