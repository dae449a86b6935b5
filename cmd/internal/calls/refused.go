package calls

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// keepRefusal keeps an event of a run that refuses a call or an answer of the model in a.Refused. The
// end of a call that was not refused removes the events before it.
func keepRefusal(a *app.App, e tool.Event) {
	switch d := e.Data.(type) {
	case tool.Hooked:
		if d.Action == "denied" || d.Action == "failed" {
			a.Refused = append(a.Refused, e)
		}
	case tool.ToolCallEnd:
		switch {
		case d.Waits:
		case d.Err == nil || d.Err.Kind != value.Denied:
			a.Refused = nil
		case !refusedByHook(a.Refused):
			a.Refused = append(a.Refused, e)
		}
	}
}

// refusedByHook reports whether the last of the events is that of a hook: the end of the call that it
// has refused follows it.
func refusedByHook(events []tool.Event) bool {
	if len(events) == 0 {
		return false
	}
	_, hooked := events[len(events)-1].Data.(tool.Hooked)
	return hooked
}

// maxRefusals is how many causes of refusals are shown: more would hide the first.
const maxRefusals = 5

// WhyRefused returns what refused the last calls and answers of a run, with what to do about it, each
// cause once. Show them with [ui.VisibleLine].
func WhyRefused(a *app.App) []string {
	var causes, hints []string
	for _, e := range slices.Backward(a.Refused) {
		cause, hint := whyRefused(e)
		if !slices.Contains(causes, cause) && len(causes) < maxRefusals {
			causes, hints = append(causes, cause), append(hints, hint)
		}
	}
	return hints
}

// whyRefused returns what refused a call or an answer, which is the same for all refusals by it, and
// what to do about it.
func whyRefused(e tool.Event) (cause, hint string) {
	switch d := e.Data.(type) {
	case tool.Hooked:
		did := "refused"
		if d.Action == "failed" {
			did = "failed"
		}
		cause = "the hook " + d.Hook + " in " + d.Path + " " + did
		return cause, cause + ": " + ui.CutShown(strings.TrimSpace(d.Text), 2*draw.MaxText) + "; change the hook, or run without hooks: --no-hooks"
	case tool.ToolCallEnd:
		if d.Err != nil && d.Err.Limit == value.LimitRule {
			hint = describe.ForUsers(d.Err).Hint
			return hint, hint
		}
	}
	hint = "approve calls in this run with --yes, or permanently with allow: in your config.yaml"
	return hint, hint
}
