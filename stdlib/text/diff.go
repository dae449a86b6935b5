package text

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Diff returns the module diff: unified diffs of texts, and how much differs.
func Diff() tool.Module {
	old := tool.Required("old", tool.TypeString, "The text before.")
	new := tool.Required("new", tool.TypeString, "The text after.")
	return row.Pure(tool.Module{
		Name: "diff",
		Doc:  "Compare texts line by line. A text may have at most 200,000 lines.",
		Funcs: []tool.Func{
			{
				Name: "unified",
				Doc:  "Return the changes as a unified diff, like diff -u and git.",
				Params: []tool.Param{
					old, new,
					tool.Optional("from_name", tool.TypeString, "a", "The name of the old text, in the header of the diff."),
					tool.Optional("to_name", tool.TypeString, "b", "The name of the new text, in the header of the diff."),
					tool.Optional("context", tool.TypeInteger, int64(3), "The number of unchanged lines around each change."),
				},
				Returns: "the diff, or an empty text if the texts are equal",
				Do:      row.Do(diffUnified),
			},
			{
				Name:    "stats",
				Doc:     "Count the added and removed lines. A changed line counts as one removed and one added line.",
				Params:  []tool.Param{old, new},
				Returns: `a dict {"added", "removed"}`,
				Do:      row.Do(diffStats),
			},
		},
	})
}

// diffMaxLines is how many lines a text may have: each takes about 100 bytes
// while a diff is made.
const diffMaxLines = 200_000

func diffLines(a *value.Dict) (lines int, err error) {
	for _, name := range []string{"old", "new"} {
		n := strings.Count(a.Text(name), "\n") + 1
		if n > diffMaxLines {
			return 0, row.Limit("argument '%s' has more than %d lines", name, diffMaxLines)
		}
		lines = max(lines, n)
	}
	return lines, nil
}

func diffUnified(a *value.Dict) (value.Value, error) {
	lines, err := diffLines(a)
	if err != nil {
		return nil, err
	}
	context, err := row.Size(a, "context", row.MaxText)
	if err != nil {
		return nil, err
	}
	from, to := a.Text("from_name"), a.Text("to_name")
	if strings.ContainsAny(from+to, "\r\n") {
		return nil, row.Invalid("arguments 'from_name' and 'to_name' must not contain line breaks")
	}
	old := a.Text("old")
	edits := udiff.Lines(old, a.Text("new"))
	text, err := udiff.ToUnified(from, to, old, edits, min(context, lines))
	if err != nil {
		return nil, value.Errorf(value.Internal, "compare the texts: %w", err)
	}
	return text, nil
}

func diffStats(a *value.Dict) (value.Value, error) {
	if _, err := diffLines(a); err != nil {
		return nil, err
	}
	old := a.Text("old")
	added, removed := 0, 0
	for _, e := range udiff.Lines(old, a.Text("new")) {
		removed += diffCount(old[e.Start:e.End])
		added += diffCount(e.New)
	}
	return value.NewDict("added", int64(added), "removed", int64(removed)), nil
}

// diffCount counts lines, the last one also without a line break.
func diffCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
