package agents

import (
	"context"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Ended prints the result of a run, and returns the error of the command.
func Ended(ctx context.Context, a *app.App, r *agent.Reply, err error) error {
	e := app.Interrupted(ctx, err)
	if a.JSON && r.Reason != "" { // else no turn has begun
		printRunEnd(a, r, e)
	}
	if !a.JSON {
		defer calls.ReportUsed(a, r.Run, r.Usage.String())
	}
	if e != nil {
		return calls.ReportEnd(a, e, r.Run)
	}
	if !a.JSON {
		calls.Gap(a)
		PrintAnswer(a, r)
	}
	return Exit(r)
}

func printRunEnd(a *app.App, r *agent.Reply, err *value.Error) {
	text, jsonErr := r.MarshalJSON()
	if jsonErr != nil {
		a.Log("write the result: %v", jsonErr)
		return
	}
	v, _ := value.ParseJSON(text)
	d, _ := v.(*value.Dict)
	if err != nil {
		describe.PutError(d, err)
	}
	calls.PutEnd(a, d)
	_ = a.PrintLine(d) // it was read from JSON
}

// PrintAnswer prints the answer, and reports why a run has none.
func PrintAnswer(a *app.App, r *agent.Reply) {
	if r.Value == nil {
		a.PrintMarkdown(r.Text)
	} else { // for programs
		a.PrintText(r.Text)
	}
	switch r.Reason {
	case agent.ReasonFinal:
		printSources(a, r)
	case agent.ReasonMaxIterations:
		a.Alert("incomplete: the model was asked %s and did not complete the task", ui.Times(r.Iterations))
		a.Hint("allow more requests: --max-iterations N")
	case agent.ReasonNoDecision:
		a.Alert("the last replies of the model have neither a valid call nor an answer, even after reminders")
		a.Hint("find a better --format: cassidy format-test")
	case agent.ReasonLoop:
		a.Alert("the run was stopped: the model repeated the same call")
	case agent.ReasonDenied:
		what := "calls"
		if r.Text != "" {
			what = "answers"
		}
		a.Alert("the run was stopped: too many %s of the model were refused", what)
		for _, hint := range calls.WhyRefused(a) {
			a.Hint("%s", hint)
		}
	default:
		a.Alert("the run ended: %s", r.Reason)
	}
}

// printSources prints the sources of an answer as footnotes: models refer to them as [1] or [[1]].
func printSources(a *app.App, r *agent.Reply) {
	if len(r.References) == 0 || r.Value != nil { // a value is for programs
		return
	}
	a.Print("\n")
	for i, line := range r.References {
		number := "[" + strconv.Itoa(i+1) + "] "
		if strings.HasPrefix(line, "…") { // that there are more
			number = ""
		}
		a.Print(ui.VisibleLine(number+strings.TrimPrefix(line, number)) + "\n")
	}
}

// Exit returns the error of the command for the reason with which a run ended.
func Exit(r *agent.Reply) error {
	kind, ok := map[agent.Reason]value.Kind{
		agent.ReasonNoDecision: value.Failed, agent.ReasonMaxIterations: value.Limit, agent.ReasonLoop: value.Failed,
		agent.ReasonDenied: value.Denied, agent.ReasonLimit: value.Limit, agent.ReasonError: value.Failed,
	}[r.Reason]
	if !ok {
		return nil
	}
	return ui.Reported(value.Errorf(kind, "%s", r.Reason))
}
