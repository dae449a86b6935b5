package describe

import (
	"slices"
	"strconv"
	"strings"
	"time"

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
	calls  []Step      // those of a reply
	// The same in parts, see [Step].
	name, about, brief string
}

// named returns words with the parts of a call.
func (w stepWords) named(name string, args *value.Dict) stepWords {
	w.name, w.about = name, brief(args)
	return w
}

// brief shows the arguments of a call: the first of them without its name, and then those that are short.
func brief(args *value.Dict) string {
	const short = 20
	var words []string
	for k, v := range args.All() {
		name, _ := k.(string)
		text, isText := v.(string)
		if !isText {
			text = value.FormatJSON(v, "")
		}
		switch {
		case len(words) == 0 && isText:
			words = append(words, FirstLine(text))
		case len(text) <= short && !strings.Contains(text, "\n"):
			words = append(words, name+"="+text)
		}
	}
	return strings.Join(words, " ")
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
		return outcomeWords(callWords(args, "name", "args"), e.Outcome.Value).named(args.Text("name"), args.Dict("args"))
	case e.Func == "tools.call_all":
		w := outcomeWords(callsWords(args), e.Outcome.Value)
		w.name, w.about, _ = strings.Cut(w.what, ": ")
		return w
	case e.Func == "fs.commit":
		result := commitWords(e)
		return stepWords{what: e.Func, result: result, name: e.Func, about: result}
	case module == "http":
		return httpWords(name, args, out)
	case e.Func == "shell.run":
		return shellWords(args, out)
	case module == "human":
		return humanWords(e, name)
	case e.Func == "time.sleep":
		return sleepWords(e)
	}
	return outcomeWords(e.Func+ArgsText(args), e.Outcome.Value).named(e.Func, args)
}

func outcomeWords(what string, result value.Value) stepWords {
	return stepWords{what: what, result: FirstLine(result), value: result}
}

// wordsOfNothing describes a place without an effect, at which something was asked or
// decided.
func wordsOfNothing(e *history.Entry) stepWords {
	if !isOpen(e) {
		return stepWords{what: "decision", name: "decision"}
	}
	text := e.Questions[len(e.Questions)-1].Text
	return stepWords{what: "question: " + text, asks: true, name: "question", about: text}
}

func agentWords(e *history.Entry, name string, out *value.Dict) stepWords {
	field := func(what, name string) stepWords {
		v, _ := out.Get(name)
		w := outcomeWords(what, v)
		w.name, w.about, _ = strings.Cut(what, ", ")
		return w
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
		w := field("skill "+e.Args.Text("name"), "text").named("skill", e.Args)
		w.failed = out.Has("success") && !out.Bool("success")
		return w
	case "compact":
		return field("compact the conversation", "summary")
	case "prompt":
		return outcomeWords("prompt", e.Outcome.Value).named("prompt", nil)
	case "finish":
		return field("end, "+e.Args.Text("reason"), "answer")
	}
	return outcomeWords(e.Func+ArgsText(e.Args), e.Outcome.Value).named(e.Func, e.Args)
}

// calledWords describes a call of a model by its decision and its outcome.
func calledWords(decision, out *value.Dict) stepWords {
	v, _ := out.Get("result")
	w := outcomeWords(callWords(decision, "action", "input"), v).named(decision.Text("action"), decision.Dict("input"))
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
		w.calls = append(w.calls, Step{Mark: mark, What: one.what, Result: one.result, Name: one.name, About: one.about, Figures: figures(size(one.value), "", Tokens{})})
	}
	w.name, w.about = count(len(decisions), "call"), strings.Join(names, ", ")
	w.what = w.name + ": " + w.about
	return w
}

// CallOf returns a call of a reply as a step of its own, or nil: the calls of a reply are recorded together.
func CallOf(e *history.Entry, at tool.StepPath) *history.Entry {
	n := len(e.StepPath)
	if e.Func != "agent.calls" || len(at) != n+1 || !slices.Equal(at[:n], e.StepPath) {
		return nil
	}
	get := func(list value.List) value.Value {
		if i := int(at[n]); i >= 1 && i <= len(list) {
			return list[i-1]
		}
		return nil
	}
	out, _ := e.Outcome.Value.(*value.Dict)
	one := *e
	one.StepPath, one.Func, one.Args = at, "agent.call", value.NewDict("decision", get(e.Args.Elements("decisions")))
	one.Outcome.Value, one.Outcome.Undo, one.Notes, one.Questions = get(out.Elements("outcomes")), nil, nil, nil
	if one.Outcome.Value == nil {
		return nil
	}
	return &one
}

// callWords shows a call that is recorded as a name and arguments.
func callWords(d *value.Dict, name, args string) string {
	return d.Text(name) + ArgsText(d.Dict(args))
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
	return count(len(list), "call") + ": " + strings.Join(names, ", ")
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
	w := stepWords{what: method + " " + args.Text("url"), name: method, about: args.Text("url")}
	if w.value, _ = out.Get("bytes"); w.value == nil {
		w.value, _ = out.Get("text")
	}
	if out.Has("status") {
		w.brief = strconv.FormatInt(out.Int("status"), 10)
		w.result = strings.TrimSpace(w.brief + " " + FirstLine(out.Text("text")))
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
	w := stepWords{what: "$ " + strings.Join(words, " "), name: "$", about: strings.Join(words, " ")}
	if out.Has("exit_code") {
		text := out.Text("stdout") + out.Text("stderr")
		w.value = text
		w.brief = "exit " + strconv.FormatInt(out.Int("exit_code"), 10)
		w.result = strings.TrimSpace(w.brief + " " + FirstLine(text))
	}
	return w
}

// humanWords are the question to a person, and the answer.
func humanWords(e *history.Entry, name string) stepWords {
	w := stepWords{what: e.Func + ArgsText(e.Args), value: e.Outcome.Value, asks: true}.named(e.Func, e.Args)
	for i := range e.Questions {
		if q := &e.Questions[i]; q.Kind != tool.QuestionApproval {
			w.what, w.name, w.about = name+": "+q.Text, name, q.Text
		}
	}
	if !e.Settled.IsZero() {
		w.result = FirstLine(valueText(e.Outcome.Value))
		w.brief = w.result
	}
	return w
}

func sleepWords(e *history.Entry) stepWords {
	w := stepWords{what: e.Func + ArgsText(e.Args), asks: true}.named(e.Func, e.Args)
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
	if what, found := strings.CutPrefix(w.what, "sleep "); found {
		w.name, w.about = "sleep", what
	}
	return w
}
