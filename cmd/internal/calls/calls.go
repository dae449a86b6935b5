// Package calls has what commands share that call tools: it reads arguments, shows events,
// and prints results.
package calls

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Run runs a call, shows its events on standard error, and prints its result. call is its text for
// --json, if it fails, or "".
func Run(a *app.App, ctx *cli.Context, h *host.Host, call string, do func(ctx context.Context, mode trace.Mode) (tool.Result, error)) (tool.Result, error) {
	t := NewTracer(a, ctx)
	show := Shower(a)
	stop := Follow(a, h, func(e tool.Event) {
		if !t.Show(e) {
			show(e)
		}
	})
	result, err := do(ctx.Context, t.Mode())
	stop()
	if err != nil {
		defer t.End(nil)
		return result, failedWith(a, app.Interrupted(ctx.Context, err), call, result.Usage, t)
	}
	if a.JSON {
		printResult(a, result, t.End)
		return result, a.SaveResult(&result)
	}
	err = a.PrintResult(&result)
	t.End(nil)
	return result, err
}

// PrintCall prints the result of a call that a server has made, or its error. call is its text for --json, if it failed, or "".
func PrintCall(a *app.App, call string, result tool.Result, err error) error {
	switch {
	case err != nil:
		return failedWith(a, value.ErrorOf(err, value.Failed), call, result.Usage, nil)
	case a.JSON:
		printResult(a, result, func(*value.Dict) {})
		return a.SaveResult(&result)
	}
	return a.PrintResult(&result)
}

// ResultFlags returns the flags of commands that print a result.
func ResultFlags(a *app.App) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "all", Usage: "on a terminal, show all rows of the result", Destination: &a.All},
		&cli.BoolFlag{Name: "wide", Usage: "on a terminal, show all columns of the result", Destination: &a.Wide},
		&cli.StringFlag{Name: "out", Usage: "write the result to `FILE`: an image or a text as it is, other values as JSON", Destination: &a.SaveTo},
	}
}

// Failed reports the error of a call, with --json as a result. call is its text, or "".
func Failed(a *app.App, call string, err error) error {
	return failedWith(a, value.ErrorOf(err, value.Failed), call, tool.Usage{}, nil)
}

func failedWith(a *app.App, e *value.Error, call string, u tool.Usage, t *Tracer) error {
	e = describe.ForUsers(e)
	a.Report(e)
	if a.JSON {
		printResult(a, tool.Fail(e, u), func(d *value.Dict) {
			if call != "" {
				d.Put("call", call)
			}
			ui.PutFrames(d, e)
			if t != nil {
				t.End(d)
			}
		})
	}
	return ui.Reported(e)
}

// printResult prints a result, and after its fields those that more puts into a dict.
func printResult(a *app.App, r tool.Result, more func(d *value.Dict)) {
	text, err := r.MarshalJSON()
	if err != nil { // the host has checked that the result has a JSON form
		text, err = tool.Fail(value.ErrorOf(err, value.Internal), r.Usage).MarshalJSON()
	}
	d := &value.Dict{}
	if more(d); err == nil && d.Len() > 0 {
		text = append(text[:len(text)-1], ',')
		var rest []byte
		rest, err = value.AppendJSON(nil, d)
		text = append(text, rest[1:]...)
	}
	if err != nil {
		a.Log("write the result: %v", err)
		return
	}
	a.Print(ui.JSONText(string(text)) + "\n")
}

// Untrusted returns the error of using a tool that is not trusted, and nil for others.
func Untrusted(t *toolset.Info) error {
	if t.State != toolset.Untrusted {
		return nil
	}
	return value.Errorf(value.Denied, "the tool '%s' is untrusted: %s", t.Name, t.Reason).
		WithHint("review it: cassidy trust; or trust it for this command only: --trust-once")
}

// ReportUntrusted reports how many tools need a review.
func ReportUntrusted(a *app.App, tools []toolset.Head) {
	n := 0
	for i := range tools {
		if tools[i].State == toolset.Untrusted {
			n++
		}
	}
	a.ReportUntrusted(n, "tool")
}

// ReportEnd reports the error of a run, and returns the error of the command.
func ReportEnd(a *app.App, err *value.Error, run string) error {
	a.Report(err)
	retry := err.Kind == value.Unavailable || err.Limit == value.LimitRate
	if retry && a.HasRun(run) && !strings.Contains(err.Hint, "runs resume") {
		a.Note("to try again: cassidy runs resume %s", run)
	}
	return ui.Reported(err)
}
