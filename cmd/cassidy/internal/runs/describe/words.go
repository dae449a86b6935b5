package describe

import (
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// stepWords describes a step in words.
type stepWords struct {
	what   string      // the effect, with the arguments that matter
	result string      // its outcome, on a line
	value  value.Value // the part of the outcome that the caller wanted
	failed bool        // the outcome reports a failure
	asks   bool        // it asks somebody, or waits: what includes its question
	below  []string    // lines below it
}

// wordsOf describes a step. An effect without words of its own is shown as a call.
func wordsOf(e *history.Entry) stepWords {
	args := e.Args
	out, _ := e.Outcome.Value.(*value.Dict)
	module, name, _ := strings.Cut(e.Func, ".")
	switch {
	case e.Func == "":
		return wordsOfNothing(e)
	case module == "agent":
		return agentWords(e, name, out)
	case e.Func == "tools.call":
		return outcomeWords(callWords(args, "name", "args"), e.Outcome.Value)
	case e.Func == "tools.call_all":
		return outcomeWords(callsWords(args), e.Outcome.Value)
	case e.Func == "fs.commit":
		return stepWords{what: e.Func, result: commitWords(e)}
	case module == "http":
		return httpWords(name, args, out)
	case e.Func == "shell.run":
		return shellWords(args, out)
	case module == "human":
		return humanWords(e, name)
	case e.Func == "time.sleep":
		return sleepWords(e)
	}
	return outcomeWords(e.Func+calls.Args(args), e.Outcome.Value)
}

func outcomeWords(what string, result value.Value) stepWords {
	return stepWords{what: what, result: FirstLine(result), value: result}
}

// wordsOfNothing describes a place without an effect, at which something was asked or
// decided.
func wordsOfNothing(e *history.Entry) stepWords {
	if !isOpen(e) {
		return stepWords{what: "decision"}
	}
	return stepWords{what: "question: " + e.Questions[len(e.Questions)-1].Text, asks: true}
}

func agentWords(e *history.Entry, name string, out *value.Dict) stepWords {
	field := func(what, name string) stepWords {
		v, _ := out.Get(name)
		return outcomeWords(what, v)
	}
	switch name {
	case "ask":
		what := "model"
		if n := out.Int("iteration"); n > 0 {
			what += ", reply " + strconv.FormatInt(n, 10)
		}
		return field(what, "text")
	case "call":
		return calledWords(e.Args.Dict("decision"), out)
	case "calls":
		return repliedWords(e.Args.Elements("decisions"), out.Elements("outcomes"))
	case "skill":
		w := field("skill "+e.Args.Text("name"), "text")
		w.failed = out.Has("success") && !out.Bool("success")
		return w
	case "compact":
		return field("compact the conversation", "summary")
	case "prompt":
		return outcomeWords("prompt", e.Outcome.Value)
	case "finish":
		return field("end, "+e.Args.Text("reason"), "answer")
	}
	return outcomeWords(e.Func+calls.Args(e.Args), e.Outcome.Value)
}

// calledWords describes a call of a model by its decision and its outcome.
func calledWords(decision, out *value.Dict) stepWords {
	v, _ := out.Get("result")
	w := outcomeWords(callWords(decision, "action", "input"), v)
	if w.failed = out.Has("success") && !out.Bool("success"); w.failed {
		w.result = FirstLine(out.Text("error"))
	}
	return w
}

// repliedWords describes the calls of a reply. The lines below it have each of them.
func repliedWords(decisions, outcomes value.List) stepWords {
	w := stepWords{}
	names := make([]string, len(decisions))
	for i, v := range decisions {
		d, _ := v.(*value.Dict)
		names[i] = d.Text("action")
		if i >= len(outcomes) {
			continue
		}
		out, _ := outcomes[i].(*value.Dict)
		one := calledWords(d, out)
		mark := Done
		if one.failed {
			mark = Failed
		}
		w.below = append(w.below, strings.TrimSpace(string(mark)+" "+one.what+"  "+one.result))
	}
	w.what = ui.Count(len(decisions), "call") + ": " + strings.Join(names, ", ")
	return w
}

// callWords shows a call that is recorded as a name and arguments.
func callWords(d *value.Dict, name, args string) string {
	return d.Text(name) + calls.Args(d.Dict(args))
}

func callsWords(args *value.Dict) string {
	list := args.Elements("calls")
	names := make([]string, len(list))
	for i, item := range list {
		pair, _ := value.Elements(item)
		if len(pair) > 0 {
			names[i], _ = pair[0].(string)
		}
	}
	return ui.Count(len(list), "call") + ": " + strings.Join(names, ", ")
}

// commitWords lists the files that a commit changed: those that it reported, or else
// those that it was about to change.
func commitWords(e *history.Entry) string {
	var words []string
	list, _ := value.Elements(e.Outcome.Value)
	for _, item := range list {
		if d, ok := item.(*value.Dict); ok {
			text := d.Text("action") + " " + d.Text("path")
			if d.Text("action") != "removed" && d.Text("kind") == "file" {
				text += " (" + bytesText(int(d.Int("bytes"))) + ")"
			}
			words = append(words, text)
		}
	}
	if list == nil {
		for path, v := range e.Change.All() {
			d, _ := v.(*value.Dict)
			name, _ := path.(string)
			action := "change "
			switch {
			case d.Text("before") == "":
				action = "create "
			case d.Text("after") == "":
				action = "remove "
			}
			words = append(words, action+name)
		}
	}
	return strings.Join(words, ", ")
}

func httpWords(name string, args, out *value.Dict) stepWords {
	method := strings.ToUpper(name)
	if name == "request" {
		method = strings.ToUpper(args.Text("method"))
	}
	w := stepWords{what: method + " " + args.Text("url")}
	if w.value, _ = out.Get("bytes"); w.value == nil {
		w.value, _ = out.Get("text")
	}
	if out.Has("status") {
		w.result = strings.TrimSpace(strconv.FormatInt(out.Int("status"), 10) + " " + FirstLine(out.Text("text")))
	}
	return w
}

func shellWords(args, out *value.Dict) stepWords {
	list := args.Elements("argv")
	words := make([]string, len(list))
	for i, item := range list {
		if words[i], _ = item.(string); words[i] == "" || strings.ContainsAny(words[i], " \t\n\"'") {
			words[i] = value.FormatJSON(item, "")
		}
	}
	w := stepWords{what: "$ " + strings.Join(words, " ")}
	if out.Has("exit_code") {
		text := out.Text("stdout") + out.Text("stderr")
		w.value = text
		w.result = strings.TrimSpace("exit " + strconv.FormatInt(out.Int("exit_code"), 10) + " " + FirstLine(text))
	}
	return w
}

// humanWords are the question to a person, and the answer.
func humanWords(e *history.Entry, name string) stepWords {
	w := stepWords{what: e.Func + calls.Args(e.Args), value: e.Outcome.Value, asks: true}
	for i := range e.Questions {
		if q := &e.Questions[i]; q.Kind != tool.QuestionApproval {
			w.what = name + ": " + q.Text
		}
	}
	if !e.Settled.IsZero() {
		w.result = FirstLine(valueText(e.Outcome.Value))
	}
	return w
}

func sleepWords(e *history.Entry) stepWords {
	w := stepWords{what: e.Func + calls.Args(e.Args), asks: true}
	v, _ := e.Args.Get("seconds")
	switch n := v.(type) {
	case int64:
		w.what = "sleep " + Duration(time.Duration(n)*time.Second)
	case float64:
		w.what = "sleep " + Duration(time.Duration(n*float64(time.Second)))
	}
	for _, n := range e.Notes {
		if until, err := time.Parse(time.RFC3339Nano, n.Text("until")); err == nil && e.Settled.IsZero() {
			w.what += " until " + until.Local().Format(TimeLayout)
		}
	}
	return w
}
