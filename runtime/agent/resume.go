package agent

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The names under which a session records with a run what it must know to go
// on with it.
const (
	taskArg            = "task"         // what the user said, an argument of the policy
	conversationOption = "conversation" // what was before
	offeredOption      = "offered"      // the tools, where there is no conversation
)

// maxConversation is how much text of a recorded conversation is read back, in
// bytes: many times what a model takes.
const maxConversation = 64 << 20

// again begins a recorded turn in a new session, as it began then.
func (s *Session) again(ctx context.Context, r *host.Recorded) (*turn, error) {
	task, err := s.restore(r, true)
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, task), nil
}

// options is what is recorded with a run, to resume it.
func (t *turn) options() *value.Dict {
	if t.above != nil || !t.agent.host.HasStore() {
		return nil // it is a part of another run, or not recorded
	}
	return t.recorded()
}

func (t *turn) recorded() *value.Dict {
	if t.turns == 0 && !t.reoffered {
		return t.agent.settings // of many runs at a time
	}
	d := t.agent.settings.Clone(1)
	d.Put(conversationOption, t.conversation())
	return d
}

// conversation returns all that a turn depends on of those before it.
func (s *Session) conversation() *value.Dict {
	made := value.List{}
	for _, m := range s.made {
		made = append(made, value.NewDict("id", m.id, "text", m.text, "success", m.success, "last", m.last))
	}
	heard := value.List{}
	for _, text := range s.heard {
		heard = append(heard, text)
	}
	read, wrote := value.List{}, value.List{}
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
	return value.NewDict("turns", int64(s.turns), "tools", (&turn{Session: s}).toolNames(), "iterations", int64(s.iterations),
		"question", s.question, "told", s.told, "thread", s.thread, "messages", messageList(s.messages), "made", made, "heard", heard,
		"read", read, "wrote", wrote,
		"reported", int64(a.reported), "guessed", int64(a.guessed), "beside", int64(a.beside), "chars", int64(a.chars))
}

// restore puts a new session where it was before a recorded turn, and returns
// what the user sent then. With offer it is offered the tools of that turn;
// else it keeps those of its agent.
func (s *Session) restore(r *host.Recorded, offer bool) (task string, err error) {
	args, options := dictReader{dict: r.Args}, dictReader{dict: r.Options}
	task, before := part[string](&args, taskArg), part[*value.Dict](&options, conversationOption)
	if err = cmp.Or(args.err, options.err); err == nil {
		err = s.take(before, r.ID, offer)
	}
	if err != nil {
		return "", unreadable("run '"+r.ID+"'", err)
	}
	return task, nil
}

// take takes the conversation before a turn from what conversation returned of
// it; nil where there was none. What it is given may be anything.
func (s *Session) take(d *value.Dict, runID string, offer bool) error {
	r := dictReader{dict: d}
	turns, tools := r.count("turns"), r.texts("tools")
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
	case turnID(s.id, turns) != runID:
		return value.Errorf(value.Failed, "it has the conversation before '%s'", turnID(s.id, turns))
	}
	if d == nil {
		return nil
	}
	if offer {
		if err := s.offer(tools); err != nil {
			return err
		}
	}
	s.turns, s.runID = turns, runID
	s.question, s.told, s.thread, s.iterations = question, told, thread, iterations
	s.messages, s.made = messages, made
	for _, text := range heard {
		s.hear(text)
	}
	(&turn{Session: s}).leave(traces{files: left.files})
	s.account.reported, s.account.guessed, s.account.beside, s.account.chars = reported, guessed, beside, chars
	return nil
}

// adapt has the agent of the session continue a conversation whose last turn may
// have been led by another one.
func (s *Session) adapt(r *host.Recorded) error {
	was, err := ReadSettings(r.Options)
	options := dictReader{dict: r.Options}
	tools := options.texts(offeredOption)
	if before := part[*value.Dict](&options, conversationOption); before != nil {
		one := dictReader{dict: before}
		tools = one.texts("tools")
		options.fail(one.err)
	}
	if err = cmp.Or(err, options.err); err != nil {
		return unreadable("run '"+r.ID+"'", err)
	}
	is, sameModel := s.agent.recorded, true
	if is.Model != was.Model { // what a model's API has signed or kept is not for another's
		s.thread, sameModel = "", false
		s.messages = slices.Clone(s.messages)
		for i := range s.messages {
			s.messages[i].Opaque = nil
		}
	}
	same := slices.EqualFunc(s.agent.tools, tools, func(t tool.Tool, name string) bool { return t.Name == name })
	if same && sameModel && is.Format == was.Format {
		return nil
	}
	if len(s.agent.tools) > 0 {
		s.told = false
	}
	s.recount()
	return nil
}

// wellFormed says whether a conversation is one that an API takes, when the last
// calls of its model have their results.
func wellFormed(messages []model.Message) error {
	size := 0
	open := map[string]bool{}
	for i, m := range messages {
		if size += len(m.Text); size > maxConversation {
			return value.Errorf(value.Limit, "the conversation has more than %d MB", maxConversation>>20)
		}
		switch {
		case m.Role == model.ToolRole && open[m.CallID]:
			delete(open, m.CallID)
		case m.Role == model.ToolRole:
			return value.Errorf(value.Failed, "message %d answers no call", i+1)
		case m.Role != model.User && m.Role != model.Assistant:
			return value.Errorf(value.Failed, "message %d is by %.20q", i+1, string(m.Role))
		case len(open) > 0:
			return value.Errorf(value.Failed, "message %d comes before the results of calls", i+1)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	return nil
}

// messageList is a conversation as a value.
func messageList(messages []model.Message) value.List {
	list := make(value.List, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		d := value.NewDict("role", string(m.Role), "text", m.Text)
		if len(m.Calls) > 0 {
			calls := value.List{}
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
func packedCall(c model.Call) *value.Dict {
	d := value.NewDict("id", c.ID, "tool", c.Tool, "raw", c.Raw)
	if c.Args == nil {
		return d
	}
	if packed, err := value.Append(nil, c.Args); err == nil {
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
	dict *value.Dict
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
		r.fail(value.Errorf(value.Failed, "%q is %s", name, value.TypeOf(given)))
	}
	return v
}

// count reads a number that counts something.
func (r *dictReader) count(name string) int {
	n := part[int64](r, name)
	if n < 0 || n > math.MaxInt32 {
		r.fail(value.Errorf(value.Failed, "%q is %d", name, n))
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
	all, ok := value.Elements(given)
	if !ok && given != nil {
		r.fail(value.Errorf(value.Failed, "%q is %s", name, value.TypeOf(given)))
	}
	for i, given := range all {
		v, ok := given.(T)
		if !ok {
			r.fail(value.Errorf(value.Failed, "element %d of %q is %s", i+1, name, value.TypeOf(given)))
			return nil
		}
		list = append(list, v)
	}
	return list
}

func (r *dictReader) texts(name string) []string      { return partsOf[string](r, name) }
func (r *dictReader) dicts(name string) []*value.Dict { return partsOf[*value.Dict](r, name) }

// nativeCalls reads the calls of a reply, packed or not.
func (r *dictReader) nativeCalls(name string) (calls []model.Call) {
	for _, d := range r.dicts(name) {
		one := dictReader{dict: d}
		c := model.Call{ID: part[string](&one, "id"), Tool: part[string](&one, "tool"), Args: part[*value.Dict](&one, "args"), Raw: part[string](&one, "raw")}
		if packed := part[[]byte](&one, "packed"); packed != nil {
			v, err := value.Decode(packed)
			one.fail(err)
			if c.Args, _ = v.(*value.Dict); c.Args == nil && err == nil {
				one.fail(value.Errorf(value.Failed, "the arguments of a call are %s", value.TypeOf(v)))
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
	if d := part[*value.Dict](r, "agents"); d != nil {
		agents := dictReader{dict: d}
		left.agents, left.spent = agents.count("count"), agents.tokens()
		r.fail(agents.err)
	}
	return left
}
