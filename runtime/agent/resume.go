package agent

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The names under which a session records with a run what it must know to go
// on with it.
const (
	taskOption         = "task"         // what the user said
	conversationOption = "conversation" // what was before
)

// maxConversation is how much text of a recorded conversation is read back, in
// bytes: many times what a model takes.
const maxConversation = 64 << 20

// Resume goes on with the recorded run that the session's ID names: with a task,
// or a turn of a chat, that was parked or broken off. recorded is the Options
// that the run was recorded with; the session must be new, of an agent that is
// made as the run's was. What the run has done is answered from its record and
// not done again; the result is that of the whole turn. After it, the
// conversation goes on with [Session.Turn].
//
// The error is of kind Invalid where the session has begun already; its Limit is
// "record" where the record cannot be followed; and else as with Turn.
func (s *Session) Resume(ctx context.Context, recorded *tool.Dict) (*Result, error) {
	if !s.busy.TryLock() {
		return nil, errBusy()
	}
	defer s.busy.Unlock()
	t, err := s.again(ctx, recorded)
	if err != nil {
		return nil, err
	}
	p := t.program()
	p.Resume = true
	return t.run(ctx, p)
}

// Replay runs the recorded run that the session's ID names again, from its
// record alone: no model is asked and no tool does anything. recorded is as for
// [Session.Resume]; o needs no Program. The session is of no use afterwards.
func (s *Session) Replay(ctx context.Context, recorded *tool.Dict, o runtime.Replay) (*runtime.Replayed, error) {
	if !s.busy.TryLock() {
		return nil, errBusy()
	}
	defer s.busy.Unlock()
	t, err := s.again(ctx, recorded)
	if err != nil {
		return nil, err
	}
	o.Program = t.program()
	defer s.agent.host.Events.Subscribe(tool.EffectDone, t.watchFiles)()
	return s.agent.host.Replay(context.WithValue(ctx, turnKey{}, t), o)
}

// again begins a recorded turn in a new session, as it began then.
func (s *Session) again(ctx context.Context, recorded *tool.Dict) (*turn, error) {
	if s.turns > 0 || len(s.messages) > 0 {
		return nil, tool.Errorf(tool.Invalid, "only a new session can go on with a recorded run").WithHint("make one with the run's ID: agent.NewSession(id)")
	}
	r := dictReader{dict: recorded}
	task, before := part[string](&r, taskOption), part[*tool.Dict](&r, conversationOption)
	if r.err == nil {
		r.err = s.restore(before)
	}
	if r.err != nil {
		return nil, unreadable("run '"+s.ID+"'", r.err)
	}
	return s.begin(ctx, task), nil
}

// options is what is recorded with a run, to resume it.
func (t *turn) options() *tool.Dict {
	if t.above != nil {
		return nil // it is a part of another run
	}
	d := t.agent.settings.Clone(1)
	d.Put(taskOption, t.result.Task)
	if t.turns > 0 || t.reoffered {
		d.Put(conversationOption, t.conversation())
	}
	return d
}

// conversation returns all that a turn depends on of those before it.
func (s *Session) conversation() *tool.Dict {
	made := tool.List{}
	for _, m := range s.made {
		made = append(made, tool.NewDict("id", m.id, "text", m.text, "success", m.success, "last", m.last))
	}
	heard := tool.List{}
	for _, text := range s.heard {
		heard = append(heard, text)
	}
	read, wrote := tool.List{}, tool.List{}
	files := s.Files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !files[path].Read.IsZero() {
			read = append(read, path)
		}
		if !files[path].Written.IsZero() {
			wrote = append(wrote, path)
		}
	}
	a := &s.account
	return tool.NewDict("first", s.first, "turns", int64(s.turns), "tools", (&turn{Session: s}).toolNames(), "iterations", int64(s.iterations),
		"question", s.question, "told", s.told, "thread", s.thread, "messages", messageList(s.messages), "made", made, "heard", heard,
		"read", read, "wrote", wrote,
		"reported", int64(a.reported), "guessed", int64(a.guessed), "beside", int64(a.beside), "chars", int64(a.chars))
}

// restore puts a new session where conversation was made of another. What it is
// given may be anything.
func (s *Session) restore(d *tool.Dict) error {
	if d == nil {
		return nil
	}
	r := dictReader{dict: d}
	first, turns, tools := part[string](&r, "first"), r.count("turns"), r.texts("tools")
	question, told, thread, iterations := part[string](&r, "question"), part[bool](&r, "told"), part[string](&r, "thread"), r.count("iterations")
	messages, heard, left := r.messages("messages"), r.texts("heard"), r.traces()
	var made []madeCall
	for _, one := range r.dicts("made") {
		m := dictReader{dict: one}
		made = append(made, madeCall{callResult: callResult{part[string](&m, "id"), part[string](&m, "text")}, success: part[bool](&m, "success"), last: part[bool](&m, "last")})
		r.fail(m.err)
	}
	reported, guessed, beside, chars := r.count("reported"), r.count("guessed"), r.count("beside"), r.count("chars")
	r.fail(wellFormed(messages))
	switch {
	case r.err != nil:
		return r.err
	case turnID(first, turns) != s.ID:
		return tool.Errorf(tool.Failed, "it has the conversation before '%s'", turnID(first, turns))
	}
	if err := s.Offer(tools...); err != nil {
		return err
	}
	s.first, s.turns = first, turns
	s.question, s.told, s.thread, s.iterations = question, told, thread, iterations
	s.messages, s.made = messages, made
	for _, text := range heard {
		s.hear(text)
	}
	(&turn{Session: s}).leave(traces{files: left.files})
	s.account.reported, s.account.guessed, s.account.beside, s.account.chars = reported, guessed, beside, chars
	return nil
}

// wellFormed says whether a conversation is one that an API takes, when the last
// calls of its model have their results.
func wellFormed(messages []model.Message) error {
	size := 0
	open := map[string]bool{}
	for i, m := range messages {
		if size += len(m.Text); size > maxConversation {
			return tool.Errorf(tool.Limit, "the conversation has more than %d MB", maxConversation>>20)
		}
		switch {
		case m.Role == model.ToolRole && open[m.CallID]:
			delete(open, m.CallID)
		case m.Role == model.ToolRole:
			return tool.Errorf(tool.Failed, "message %d answers no call", i+1)
		case m.Role != model.User && m.Role != model.Assistant:
			return tool.Errorf(tool.Failed, "message %d is by %.20q", i+1, string(m.Role))
		case len(open) > 0:
			return tool.Errorf(tool.Failed, "message %d comes before the results of calls", i+1)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	return nil
}

// messageList is a conversation as a value.
func messageList(messages []model.Message) tool.List {
	list := make(tool.List, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		d := tool.NewDict("role", string(m.Role), "text", m.Text)
		if len(m.Calls) > 0 {
			calls := tool.List{}
			for _, c := range m.Calls {
				calls = append(calls, packedCall(c))
			}
			d.Put("calls", calls)
		}
		if m.Role == model.ToolRole {
			d.Put("call_id", m.CallID)
			d.Put("tool", m.Tool)
			d.Put("failed", m.Failed)
		}
		if m.Opaque != nil {
			d.Put("opaque", m.Opaque)
		}
		list = append(list, d)
	}
	return list
}

// packedCall is nativeDict with its arguments in their binary form: so a long
// conversation has no more parts than a value may have.
func packedCall(c model.Call) *tool.Dict {
	d := tool.NewDict("id", c.ID, "tool", c.Tool, "raw", c.Raw)
	if c.Args == nil {
		return d
	}
	if packed, err := tool.Append(nil, c.Args); err == nil {
		d.Put("packed", packed)
	} else {
		d.Put("raw", c.Args.String())
	}
	return d
}

// A dictReader reads a dict of a record, of which nothing is certain: what is absent
// or null has the zero value, and what is of another type is an error. The first
// one stays.
type dictReader struct {
	dict *tool.Dict
	err  error
}

func (r *dictReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// part reads a value of a type.
func part[T any](r *dictReader, name string) (v T) {
	given, _ := r.dict.Get(name)
	if given == nil {
		return v
	}
	v, ok := given.(T)
	if !ok {
		r.fail(tool.Errorf(tool.Failed, "%q is %s", name, tool.TypeOf(given)))
	}
	return v
}

// count reads a number that counts something.
func (r *dictReader) count(name string) int {
	n := part[int64](r, name)
	if n < 0 || n > math.MaxInt32 {
		r.fail(tool.Errorf(tool.Failed, "%q is %d", name, n))
		return 0
	}
	return int(n)
}

func (r *dictReader) tokens() Usage {
	return Usage{InputTokens: r.count("input_tokens"), OutputTokens: r.count("output_tokens"), CachedTokens: r.count("cached_tokens")}
}

// partsOf reads a list whose elements are of a type.
func partsOf[T any](r *dictReader, name string) (list []T) {
	given, _ := r.dict.Get(name)
	all, ok := tool.Elements(given)
	if !ok && given != nil {
		r.fail(tool.Errorf(tool.Failed, "%q is %s", name, tool.TypeOf(given)))
	}
	for i, given := range all {
		v, ok := given.(T)
		if !ok {
			r.fail(tool.Errorf(tool.Failed, "element %d of %q is %s", i+1, name, tool.TypeOf(given)))
			return nil
		}
		list = append(list, v)
	}
	return list
}

func (r *dictReader) texts(name string) []string     { return partsOf[string](r, name) }
func (r *dictReader) dicts(name string) []*tool.Dict { return partsOf[*tool.Dict](r, name) }

// nativeCalls reads the calls of a reply, packed or not.
func (r *dictReader) nativeCalls(name string) (calls []model.Call) {
	for _, d := range r.dicts(name) {
		one := dictReader{dict: d}
		c := model.Call{ID: part[string](&one, "id"), Tool: part[string](&one, "tool"), Args: part[*tool.Dict](&one, "args"), Raw: part[string](&one, "raw")}
		if packed := part[[]byte](&one, "packed"); packed != nil {
			v, err := tool.Decode(packed)
			one.fail(err)
			if c.Args, _ = v.(*tool.Dict); c.Args == nil && err == nil {
				one.fail(tool.Errorf(tool.Failed, "the arguments of a call are %s", tool.TypeOf(v)))
			}
		}
		calls = append(calls, c)
		r.fail(one.err)
	}
	return calls
}

// messages reads what messageList gave.
func (r *dictReader) messages(name string) (list []model.Message) {
	for _, d := range r.dicts(name) {
		m := dictReader{dict: d}
		list = append(list, model.Message{
			Role: model.Role(part[string](&m, "role")), Text: part[string](&m, "text"), Calls: m.nativeCalls("calls"),
			CallID: part[string](&m, "call_id"), Tool: part[string](&m, "tool"), Failed: part[bool](&m, "failed"), Opaque: part[[]byte](&m, "opaque"),
		})
		r.fail(m.err)
	}
	return list
}

// traces reads what describe has put there.
func (r *dictReader) traces() traces {
	left := traces{files: map[string]trace{}}
	for _, path := range r.texts("changed") {
		left.files[path] = trace{changed: true}
	}
	for _, path := range r.texts("read") {
		did := left.files[path]
		did.read = true
		left.files[path] = did
	}
	for _, path := range r.texts("wrote") {
		did := left.files[path]
		did.wrote = true
		left.files[path] = did
	}
	if d := part[*tool.Dict](r, "agents"); d != nil {
		agents := dictReader{dict: d}
		left.agents, left.spent = agents.count("count"), agents.tokens()
		r.fail(agents.err)
	}
	return left
}
