package human

import (
	"context"
	"math"
	"math/big"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Notices returns the functions emit, progress, log and show, with which a call reports to its
// user. They take no capability, and do nothing where nobody listens.
func Notices() tool.Module {
	number := func(name, doc string) tool.Param {
		p := tool.Optional(name, tool.TypeNumber, nil, doc)
		p.Type.Nullable = true
		return p
	}
	return tool.Module{Doc: "Functions that report to the user while the call runs.", Funcs: []tool.Func{
		noticeFunc(func(args *value.Dict) tool.Report { return tool.ToolOutput{Chunk: notice(args, "chunk")} }, tool.Func{
			Name:   "emit",
			Doc:    "Show a piece of output to the user while the tool runs. The output is not part of the result of the tool.",
			Params: []tool.Param{tool.Required("chunk", tool.TypeString, "the output to show")},
		}),
		noticeFunc(readProgress, tool.Func{
			Name: "progress",
			Doc:  "Report the progress of the call to the user.",
			Params: []tool.Param{
				tool.Required("message", tool.TypeString, "the current activity, as text"),
				number("done", "the completed amount"),
				number("total", "the total amount"),
			},
		}),
		noticeFunc(func(args *value.Dict) tool.Report {
			return tool.Log{Message: notice(args, "message"), Note: args.Bool("note")}
		}, tool.Func{
			Name: "log",
			Doc:  "Add a line to the log of the call.",
			Params: []tool.Param{
				tool.Required("message", tool.TypeAny, "a text; any other value is shown as JSON"),
				tool.Optional("note", tool.TypeBoolean, false, "also give the line to the caller of the tool, such as a model, as a note on the result. Use this for what the result itself cannot say, such as a guess in a result that is CSV"),
			},
		}),
		noticeFunc(readDisplay, tool.Func{
			Name: "show",
			Doc: "Show a part of the result on a terminal in place of the text of the result. The result itself does not change: models, programs and pipes get it. " +
				"Further calls add parts below.",
			Params: []tool.Param{tool.Required("part", tool.TypeAny, "a text; a table or a list of dicts, which is drawn as a table; or a dict, which is drawn as names with values")},
		}),
	}}
}

// noticeFunc completes a row whose arguments become a report.
func noticeFunc(read func(args *value.Dict) tool.Report, f tool.Func) tool.Func {
	f.Kind = tool.Notice
	f.Returns = "nothing"
	f.Do = func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if g.Emit != nil {
			g.Emit(read(e.Args))
		}
		return tool.Outcome{}, nil
	}
	return f
}

func readDisplay(args *value.Dict) tool.Report {
	part, _ := args.Get("part")
	return tool.Display{Part: part}
}

func readProgress(args *value.Dict) tool.Report {
	return tool.Progress{Message: notice(args, "message"), Done: noticeNumber(args, "done"), Total: noticeNumber(args, "total")}
}

func notice(args *value.Dict, name string) string {
	v, _ := args.Get(name)
	return noticeText(v)
}

// noticeNumber returns a number as it is reported, or 0.
func noticeNumber(args *value.Dict, name string) float64 {
	v, _ := args.Get(name)
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case *big.Int:
		f, _ := new(big.Float).SetInt(n).Float64()
		return f
	}
	return 0
}

// noticeText gives a value as text that is safe to show: events go to
// terminals, where a control character could redraw what a person has approved.
func noticeText(v value.Value) string {
	text, ok := v.(string)
	if !ok {
		text = value.FormatJSON(v, "")
	}
	return value.Clean(text, math.MaxInt)
}
