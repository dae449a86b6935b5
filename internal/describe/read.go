package describe

import (
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ReadRun reads a run as [ListedRun] or [WriteRun] has written it, whether it was undone, and what it waits for or nil.
// What a run has beyond that is zero, such as its arguments.
func ReadRun(d *value.Dict) (r history.Run, undone bool, w *Wait) {
	r = history.Run{
		ID: d.Text("id"), Project: d.Text("project"), Kind: d.Text("kind"), Title: d.Text("title"), ForkedFrom: d.Text("forked_from"),
		Version: d.Text("version"), Started: readTime(d, "started"), Ended: readTime(d, "ended"), State: readState(d.Text("state")),
		Reason: d.Text("reason"), Stuck: d.Text("stuck"), Err: readError(d), Options: value.NewDict(history.OptionBy, d.Text("by")),
	}
	r.Result, _ = d.Get("result")
	if text := d.Text("damage"); text != "" {
		r.Damage = value.Errorf(value.Failed, "%s", text)
	}
	if of := d.Dict("waits"); of != nil {
		w = readWait(r.ID, of)
	}
	return r, d.Bool("undone"), w
}

// ReadRecord reads a run with its steps as [WriteRun] has written it.
func ReadRecord(d *value.Dict) *Record {
	run, _, wait := ReadRun(d)
	damage := run.Damage
	entries, steps := []history.Entry{}, map[string]history.Took{}
	damaged := map[int]error{}
	for _, v := range d.Elements("steps") {
		s, _ := v.(*value.Dict)
		e := readStep(run.ID, s)
		if text := s.Text("damage"); text != "" {
			damaged[len(entries)] = value.Errorf(value.Failed, "%s", text)
		}
		if !e.Settled.IsZero() {
			steps[e.StepPath.String()] = readTook(s)
		}
		entries = append(entries, e)
	}
	return &Record{
		Run: &run, Live: run.State == history.Running && run.Reason != BrokenOff, Wait: wait, Times: history.TimesFrom(readTook(d), steps),
		Undos: func() []string { return nil },
		Each: func(do func(*history.Entry, error)) (error, error) {
			for i := range entries {
				do(&entries[i], damaged[i])
			}
			return damage, nil
		},
	}
}

// readStep reads a step as [StepDict] has written it.
func readStep(run string, d *value.Dict) history.Entry {
	at, _ := history.ParseStepPath(d.Text("place")) // of a server that is not ours: then it has none
	e := history.Entry{Intended: readTime(d, "started"), Settled: readTime(d, "ended"), Err: readError(d)}
	e.StepPath, e.Func, e.Args, e.Change = at, d.Text("func"), d.Dict("args"), d.Dict("change")
	e.Outcome.Value, _ = d.Get("value")
	if !e.Intended.IsZero() {
		e.Tries = 1
	}
	for _, v := range d.Elements("notes") {
		if n, ok := v.(*value.Dict); ok {
			e.Notes = append(e.Notes, n)
		}
	}
	e.Questions = readQuestions(run, d)
	return e
}

// readWait reads what [Wait.Dict] has written.
func readWait(run string, d *value.Dict) *Wait {
	w := &Wait{run: run, Questions: readQuestions(run, d), until: readTime(d, "until")}
	if text := d.Text("error"); text != "" {
		w.err = value.Errorf(value.Failed, "%s", text)
	}
	return w
}

func readQuestions(run string, d *value.Dict) (list []history.Asked) {
	for _, v := range d.Elements("questions") {
		if q, ok := v.(*value.Dict); ok {
			list = append(list, ReadQuestion(run, q))
		}
	}
	return list
}

// ReadQuestion reads a question of a run as [Question] has written it.
func ReadQuestion(run string, d *value.Dict) history.Asked {
	q := history.Asked{Data: &value.Dict{}}
	_, q.StepPath, q.N, _ = history.ParseQuestionID(d.Text("id")) // of a server that is not ours: then it has none
	data := d.Dict("data")
	q.Question = tool.Question{
		ID: d.Text("id"), Run: run, Step: d.Text("place"), Kind: tool.QuestionKind(d.Text("kind")), Text: d.Text("text"), Asked: readTime(d, "asked"),
		Tool: data.Text("tool"), Func: data.Text("func"), Why: data.Text("why"), Reasoning: data.Text("reasoning"), Args: data.Dict("args"),
		Form: d.Dict("form"),
	}
	for _, v := range data.Elements("capabilities") {
		text, _ := v.(string)
		if c, err := tool.ParseCapability(text); err == nil {
			q.Capabilities = append(q.Capabilities, c)
		}
	}
	for _, v := range data.Elements("files") {
		if file, ok := v.(*value.Dict); ok {
			sums := data.Dict("changes").Dict(file.Text("path"))
			q.Changes = append(q.Changes, tool.Change{Path: file.Text("path"), Before: readFile(sums, file, "before"), After: readFile(sums, file, "after"), Diff: file.Text("diff")})
		}
	}
	for k, v := range data.All() {
		if name, _ := k.(string); !slices.Contains([]string{"tool", "func", "why", "reasoning", "args", "capabilities", "changes", "files"}, name) {
			q.Data.Put(name, v)
		}
	}
	q.Answer = readAnswer(d, q.Kind)
	return q
}

// readAnswer reads the answer to a question, or returns nil if it has none.
func readAnswer(d *value.Dict, kind tool.QuestionKind) *history.Answered {
	if readTime(d, "answered").IsZero() {
		return nil
	}
	a := &history.Answered{At: readTime(d, "answered")}
	a.Why, a.By, a.Always, a.Args = d.Text("why"), d.Text("by"), d.Bool("always"), d.Dict("args")
	switch answer, _ := d.Get("answer"); {
	case kind == tool.QuestionAsk:
		a.Value = answer
	case answer == value.Value("done"):
		a.Done = true
		a.Value, _ = d.Get("result")
	default:
		a.Yes = d.Bool("answer")
	}
	return a
}

// readFile reads the state of a file in a question, before or after the change.
func readFile(sums, contents *value.Dict, when string) tool.FileState {
	sum := sums.Text(when)
	s := tool.FileState{Exists: sum != "", Dir: sum == "dir", Hash: sum}
	if text, isText := contents.Text(when), contents.Has(when); isText {
		s.Data, _ = base64.StdEncoding.DecodeString(text) // else it is not known
	}
	return s
}

// readTime reads a time, which is zero for null.
func readTime(d *value.Dict, name string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, d.Text(name))
	if err != nil {
		return time.Time{}
	}
	return t
}

// readTook reads what [PutTimes] has put.
func readTook(d *value.Dict) history.Took {
	ms := func(name string) time.Duration {
		v, _ := d.Get(name)
		f, _ := v.(float64)
		if n, ok := v.(int64); ok {
			f = float64(n)
		}
		return time.Duration(math.Round(f*1000)) * time.Microsecond // as it was written
	}
	return history.Took{Worked: ms("duration_ms"), Waited: ms("waited_ms")}
}

// readError reads what [PutError] has put, or returns nil.
func readError(d *value.Dict) *value.Error {
	text := d.Text("error")
	if text == "" {
		return nil
	}
	return &value.Error{Kind: value.KindOfType(d.Text("error_type")), Err: errors.New(text), Hint: d.Text("suggestion")}
}

// readState returns the state of a name.
func readState(name string) history.State {
	for s := history.Running; s <= history.Stuck; s++ {
		if s.String() == name {
			return s
		}
	}
	return history.Running
}

// ReadTool reads a tool as [Tool] or [FullTool] has written it. Its parameters are a schema.
func ReadTool(d *value.Dict) toolset.Info {
	t := toolset.Info{Standing: toolset.Standing{Location: tool.Location(d.Text("location")), Path: d.Text("path"), State: toolset.State(d.Text("state")), Reason: d.Text("reason")}}
	t.Tool = tool.Tool{
		Name: d.Text("name"), Title: d.Text("title"), Description: d.Text("description"), Group: d.Text("group"), Risky: d.Bool("risky"),
		Version: d.Text("version"), Overhead: int(d.Int("token_overhead")), ReturnsDoc: d.Text("returns_description"), Hints: readHints(d.Dict("hints")),
		Schema: []byte(JSON(OrNil(d.Dict("parameters")))),
	}
	for _, v := range d.Elements("needs") {
		text, _ := v.(string)
		if c, err := tool.ParseCapability(text); err == nil {
			t.Needs = append(t.Needs, c)
		}
	}
	for _, v := range d.Elements("tags") {
		text, _ := v.(string)
		t.Tags = append(t.Tags, text)
	}
	if of := d.Dict("deprecated"); of != nil {
		t.Deprecated = &tool.Deprecation{Since: of.Text("since"), Replacement: of.Text("replacement"), Message: of.Text("message")}
	}
	if schema := d.Dict("returns"); schema != nil {
		if p, err := tool.ParamsFromSchema(value.NewDict("type", "object", "properties", value.NewDict("result", schema))); err == nil && len(p) == 1 {
			t.Returns = &p[0].Type
		}
	}
	for _, v := range d.Elements("examples") {
		x, _ := v.(*value.Dict)
		e := tool.Example{Description: x.Text("description"), Args: x.Dict("args"), HasExpect: x.Has("expect")}
		e.Expect, _ = x.Get("expect")
		t.Examples = append(t.Examples, e)
	}
	switch seconds, _ := d.Get("timeout"); n := seconds.(type) {
	case int64:
		t.Timeout = time.Duration(n) * time.Second
	case float64:
		t.Timeout = time.Duration(n * float64(time.Second))
	}
	return t
}

func readHints(d *value.Dict) (h tool.Hints) {
	h = tool.Hints{ReadOnly: d.Bool("read_only"), Idempotent: d.Bool("idempotent"), OpenWorld: d.Bool("open_world"), UntrustedOutput: d.Bool("untrusted_output"), Other: map[string]bool{}}
	for k, v := range d.All() {
		if name, _ := k.(string); !slices.Contains([]string{"read_only", "idempotent", "open_world", "untrusted_output"}, name) {
			h.Other[name], _ = v.(bool)
		}
	}
	return h
}
