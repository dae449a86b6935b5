package views

import (
	"context"
	"errors"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Replayed returns what came of a replay, and what differs from the record.
func Replayed(run string, v *describe.Replayed) (page.Note, []page.Point) {
	var points []page.Point
	short := func(text string) string { return value.Cut(describe.FirstLine(text), mostText) }
	for i := range v.Differences {
		d := &v.Differences[i]
		was, is := describe.OutcomeText(d.Was, d.WasFailed), describe.OutcomeText(d.Is, value.ErrorOf(d.IsFailed, value.Failed))
		points = append(points, page.Point{
			Status: page.Status{State: page.Failed, Word: "differs"}, Text: short(d.Call), Detail: "recorded: " + short(was) + "; now: " + short(is), Link: stepLink(run, d.StepPath),
		})
	}
	steps := num(v.Steps) + " steps"
	if v.Steps == 1 {
		steps = "1 step"
	}
	steps += " answered from the record."
	e := value.ErrorOf(v.Err, value.Failed)
	switch {
	case v.Exact && v.Partial():
		return page.Note{Tone: page.ToneOK, Strong: "The replay is exact up to the last recorded step:", Text: steps}, points
	case v.Exact:
		return page.Note{Tone: page.ToneOK, Strong: "The replay is exact:", Text: steps}, points
	case errors.Is(v.Err, context.DeadlineExceeded) || errors.Is(v.Err, context.Canceled):
		return page.Note{Tone: page.ToneBad, Strong: "The replay did not end in time.", Text: steps}, points
	case v.Ended:
		return page.Note{Tone: page.ToneBad, Strong: "The replay differs from the record, and ended there.", Text: steps, Quoted: short(describe.OutcomeText(nil, e))}, points
	}
	return page.Note{Tone: page.ToneBad, Strong: "The replay ends differently.", Text: steps, Quoted: short(describe.OutcomeText(v.Outcome.Value, e))}, points
}

func stepLink(run string, at tool.StepPath) page.Link {
	return page.Link{Text: "step " + at.String(), Href: RunURL(run) + "?step=" + page.URL(at.String())}
}
