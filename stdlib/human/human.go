// Package human lets scripts ask the person for whom they run, and report to them: the
// module human, and the functions emit, progress, log and show.
//
// Who answers is not part of the package: the host provides it with the call
// ([tool.Grant.Ask]), as it does for reports ([tool.Grant.Emit]).
package human

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// The bounds of what is asked and answered.
const (
	maxQuestion = 4 << 10  // bytes: what a person reads before they answer
	maxAnswer   = 64 << 10 // bytes: what a person pastes
)

// Module returns the module human: questions to a person. They take the capability human.
// A question whose answer was lost is asked again. Its error is of kind Denied where nobody
// can answer, and parks a run that can wait.
func Module() tool.Module {
	question := tool.Required("question", tool.TypeString, "the question, at most 4 KB")
	otherwise := tool.Optional("default", tool.TypeString, nil, "the result for an empty answer, and after the timeout; the default is shown with the question")
	otherwise.Type.Nullable = true
	timeout := tool.Optional("timeout", tool.TypeNumber, nil, "the number of seconds to wait for the answer, also while the run is parked; default: the limit of the host")
	timeout.Type.Nullable = true
	return tool.Module{
		Name: "human",
		Doc: "Questions to the user. The time until the answer does not count toward the timeout of the call. A recorded run can be parked: it then waits on disk until there is an answer. " +
			"If no user can answer and the run cannot be parked, the call fails. No flag, such as --yes, and no rule in the config answers a question.",
		Funcs: []tool.Func{
			newFunc("ask", "Ask the user for a line of text. After the timeout, the result is the default. If there is no default, the call fails.", "the answer as a string", ask, question, otherwise, timeout),
			newFunc("confirm", "Ask the user a yes-or-no question. After the timeout, the call fails.", "True for yes, False for no", confirm, question, timeout),
		},
	}
}

func newFunc(name, doc, returns string, do func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error), params ...tool.Param) tool.Func {
	return tool.Func{
		Name: name, Doc: doc, Params: params, Returns: returns, Kind: tool.Repeatable,
		Target: func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "human"}}, nil },
		Do:     do,
	}
}

func ask(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	question := e.Args.Text("question")
	otherwise, _ := e.Args.Get("default")
	if text, _ := otherwise.(string); text != "" {
		question += "\n(default: " + text + ")"
	}
	v, err := put(ctx, e, question, false, g)
	if otherwise != nil && value.KindOf(err) == value.Timeout && ctx.Err() == nil {
		return tool.Outcome{Value: otherwise}, nil
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	answer, ok := v.(string)
	switch {
	case !ok:
		return tool.Outcome{}, value.Errorf(value.Internal, "invalid answer: expected a string but got %s", value.TypeOf(v))
	case len(answer) > maxAnswer:
		return tool.Outcome{}, limit("invalid answer: longer than %d KB", maxAnswer>>10)
	case !utf8.ValidString(answer):
		return tool.Outcome{}, value.Errorf(value.Failed, "invalid answer: not UTF-8 text")
	case answer == "" && otherwise != nil:
		return tool.Outcome{Value: otherwise}, nil
	}
	return tool.Outcome{Value: answer}, nil
}

func confirm(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	v, err := put(ctx, e, e.Args.Text("question"), true, g)
	if err != nil {
		return tool.Outcome{}, err
	}
	if _, ok := v.(bool); !ok {
		return tool.Outcome{}, value.Errorf(value.Internal, "invalid answer: expected yes or no but got %s", value.TypeOf(v))
	}
	return tool.Outcome{Value: v}, nil
}

// put asks the question of an effect, without the characters that could redraw the terminal
// of the person.
func put(ctx context.Context, e tool.Effect, question string, confirm bool, g tool.Grant) (value.Value, error) {
	if err := row.Stopped(ctx); err != nil {
		return nil, err
	}
	if len(question) > maxQuestion {
		return nil, limit("the question is longer than %d KB", maxQuestion>>10)
	}
	timeout, err := timeoutOf(e.Args)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(value.Clean(question, maxQuestion))
	if text == "" {
		return nil, value.Errorf(value.Invalid, "the question is empty")
	}
	if g.Ask == nil {
		return nil, value.Errorf(value.Denied, "ask the user: no user can answer questions in this run").
			WithHint("run cassidy on a terminal, or pass the answer as an argument of the tool")
	}
	return g.Ask(ctx, text, confirm, timeout)
}

// timeoutOf returns the timeout in the arguments, or 0.
func timeoutOf(args *value.Dict) (time.Duration, error) {
	given, _ := args.Get("timeout")
	if given == nil {
		return 0, nil
	}
	const most = 10 * 365 * 24 * 3600
	seconds, ok := given.(float64)
	if i, isInt := given.(int64); isInt {
		seconds, ok = float64(i), true
	}
	if !ok || !(seconds > 0 && seconds <= most) {
		return 0, value.Errorf(value.Invalid, "argument 'timeout' should be more than 0 seconds and at most 10 years but got %s", value.FormatJSON(given, ""))
	}
	return max(time.Duration(seconds*float64(time.Second)), time.Millisecond), nil
}

func limit(format string, args ...any) *value.Error {
	return value.Errorf(value.Limit, format, args...).WithLimit(value.LimitHuman)
}
