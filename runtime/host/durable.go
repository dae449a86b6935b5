package host

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A CallOption changes how one call is made.
type CallOption func(*callOptions)

type callOptions struct {
	durable bool
	run     string
	narrow  []tool.Rule
}

// readOptions returns what options say, with rules that can be.
func readOptions(opts []CallOption) (callOptions, error) {
	if len(opts) == 0 {
		return callOptions{}, nil
	}
	var o callOptions
	for _, opt := range opts {
		opt(&o)
	}
	var err error
	o.narrow, err = checkNarrow(o.narrow)
	return o, err
}

// inside refuses options that a call which another one makes cannot have.
func (o *callOptions) inside() error {
	switch {
	case o.durable:
		return value.Errorf(value.Invalid, "a call that another call makes cannot be durable itself")
	case o.narrow != nil:
		return value.Errorf(value.Invalid, "a call that another call makes cannot be narrowed itself")
	}
	return nil
}

// Narrow adds rules for one call, with all that it calls: they deny or ask for what
// would be allowed otherwise. They are recorded with a durable call, and hold again
// when it is resumed. A rule that allows is an error of kind Invalid, and so is to
// narrow a call that another one makes.
func Narrow(rules ...tool.Rule) CallOption {
	return func(o *callOptions) { o.narrow = append(o.narrow, rules...) }
}

// Durable records a call as the run of an ID; "" makes one up. It survives the
// end of the process: [Host.Resume] continues it. What nobody answers parks it,
// with an error of kind [value.Parked]. A call of the same ID continues the run
// or returns its result, if it is the same call; another call is an error of
// kind Conflict. A call that another one makes is part of that one's run and
// cannot be durable itself.
//
// Nothing is recorded of a call of an unknown tool, of one whose arguments are wrong,
// or of one whose arguments are longer than 8 MB, which is an error of kind Limit. On a
// host with [Middleware], which may change a call, the first two end the run instead.
func Durable(runID string) CallOption {
	return func(o *callOptions) { o.durable, o.run = true, runID }
}

// callKind is the kind of the run of a durable call.
const callKind = "tool"

// callDurable makes a call as a run of its own, or continues it.
func (h *Host) callDurable(ctx context.Context, c tool.Call, o callOptions) (tool.Result, error) {
	j, err := h.journal()
	if err != nil {
		return failedResult(err)
	}
	if err := h.checkRecorded(ctx, j, c, o.run); err != nil {
		return failedResult(err)
	}
	begin := history.Run{ID: o.run, Project: h.opts.Project, Kind: callKind, Title: c.Tool + argsText(c.Args), Args: callArgs(c), Options: narrowed(o.narrow)}
	log, err := j.Begin(ctx, begin, tool.Script{})
	if o.run != "" && value.KindOf(err) == value.Conflict {
		return h.continueCall(ctx, j, &begin, err)
	}
	if err != nil {
		return failedResult(err)
	}
	return h.recordedCall(ctx, log, called{call: c}, false)
}

// maxRecorded is how long the arguments of a recorded call may be, in bytes: as much
// as one effect may carry.
const maxRecorded = 8 << 20

// checkRecorded refuses a call that cannot be made before anything is recorded of it:
// of a tool that is unknown, or with wrong arguments. A middleware may change both, so
// there the call itself finds out. One of a run that exists may have been right when
// the run began.
func (h *Host) checkRecorded(ctx context.Context, j *history.Journal, c tool.Call, runID string) error {
	data, err := value.Append(nil, dictOrEmpty(c.Args))
	if err != nil {
		return value.AsError(err, value.Invalid)
	}
	if len(data) > maxRecorded {
		e := value.Errorf(value.Limit, "the arguments of '%s' are %d KB long, and a recorded call keeps at most %d KB", value.Clean(c.Tool, longName), len(data)>>10, maxRecorded>>10).
			WithHint("put them into a file, and pass its path")
		e.Limit = value.LimitLength
		return e
	}
	if h.middleware != nil {
		return nil
	}
	t, _, err := h.tools(ctx).find(ctx, &c)
	if err == nil {
		args := c.Args
		if c.Texts {
			args, _ = t.Coerce(args)
		}
		_, err = t.Check(args)
	}
	if err == nil || runID == "" {
		return err
	}
	if _, missing := j.Run(ctx, runID); value.KindOf(missing) != value.NotFound {
		return nil // the record answers
	}
	return err
}

// continueCall continues the run of an ID that exists, if it is the same call.
func (h *Host) continueCall(ctx context.Context, j *history.Journal, begin *history.Run, exists error) (tool.Result, error) {
	switch r, err := j.Run(ctx, begin.ID); {
	case value.KindOf(err) == value.NotFound: // somebody is just beginning it
		return failedResult(exists)
	case err != nil:
		return failedResult(err)
	case r.Kind != callKind || !callsSame(r.Args, begin.Args) || !value.Equal(dictOrEmpty(r.Options), dictOrEmpty(begin.Options)):
		return failedResult(value.Errorf(value.Conflict, "the run '%s' is another call: %s", r.ID, r.Title).WithHint("choose another ID"))
	}
	return h.Resume(ctx, begin.ID)
}

// callsSame reports whether two calls, as callArgs records them, are the same: of the
// same tool with the same arguments, for whatever reason.
func callsSame(a, b *value.Dict) bool {
	c, d := recordedCallOf(a), recordedCallOf(b)
	return tool.Key(c.Tool) == tool.Key(d.Tool) && c.Texts == d.Texts && value.Equal(c.Args, d.Args)
}

// recordedCall makes the call that a record is of. What its check refuses leaves the
// run as it was.
func (h *Host) recordedCall(ctx context.Context, log *history.Log, of called, resumed bool) (result tool.Result, err error) {
	r := h.newRun(ctx, log.Run().ID)
	narrow, err := narrowedTo(log.Run().Options)
	if err != nil {
		_ = log.Close() // the run is not executed
		return failedResult(err)
	}
	r.rules = slices.Concat(r.rules, narrow)
	r.parks = true
	if err := r.keep(ctx, log, resumed); err != nil {
		return failedResult(err)
	}
	var refused error
	if check := of.check; check != nil {
		of.check = func(ctx context.Context, name string) error {
			refused = check(ctx, name)
			return refused
		}
	}
	of.run, of.call.ID, of.call.Place = r, r.id, tool.Place{1}
	err = r.execute(ctx, func(ctx context.Context) error {
		if result, err = of.passed(ctx); err != nil && refused != nil {
			return refuse(ctx, r, refused)
		}
		return r.end(ctx, "", tool.Outcome{Value: result.Value, Usage: result.Usage}, err)
	})
	if err != nil {
		e := finish(err)
		return tool.Fail(e, result.Usage), e
	}
	return result, nil
}

func failedResult(err error) (tool.Result, error) {
	e := finish(err)
	return tool.Fail(e, tool.Usage{}), e
}

// callArgs is what is recorded of a durable call.
func callArgs(c tool.Call) *value.Dict {
	args := c.Args
	if args == nil {
		args = &value.Dict{}
	}
	d := value.NewDict("tool", c.Tool, "args", args, "texts", c.Texts, "caller", int64(c.Caller), "reasoning", strings.ToValidUTF8(c.Reasoning, "\ufffd"))
	if l := c.Limits; l != (tool.Limits{}) {
		d.Put("limits", value.NewDict("steps", l.Steps, "cpu_ns", int64(l.CPU), "memory", l.Memory, "result", int64(l.Result)))
	}
	return d
}

// recordedCallOf is the call that callArgs recorded.
func recordedCallOf(d *value.Dict) tool.Call {
	v, _ := d.Get("args")
	args, _ := v.(*value.Dict)
	c := tool.Call{Tool: d.Text("tool"), Args: args, Texts: d.Bool("texts"), Caller: tool.Caller(d.IntOr("caller", int64(tool.ByModel))), Reasoning: d.Text("reasoning")}
	if v, ok := d.Get("limits"); ok {
		l, _ := v.(*value.Dict)
		c.Limits = tool.Limits{Steps: l.Int("steps"), CPU: time.Duration(l.Int("cpu_ns")), Memory: l.Int("memory"), Result: int(l.Int("result"))}
	}
	return c
}

// argsText shows arguments in the title of a run, as they are typed on a command
// line.
func argsText(args *value.Dict) string {
	const most = 60
	var b strings.Builder
	for k, v := range args.All() {
		name, _ := k.(string)
		text := value.FormatJSON(v, "")
		if s, ok := v.(string); ok && !strings.ContainsAny(s, " \n\t\"") {
			text = s
		}
		b.WriteString(" " + name + "=" + value.Clean(text, most))
	}
	return b.String()
}

// A Kind says how runs of a kind are resumed. The kinds of calls, of workflows
// and of undoing are the host's own; who begins runs of another kind registers it.
type Kind struct {
	Name string
	// Resume continues a run that has not ended and returns its result. It is
	// called concurrently, for different runs.
	Resume func(ctx context.Context, h *Host, r Recorded) (tool.Result, error)
	// Data belongs to who registered the kind, see [Host.EnsureKind].
	Data any
}

// A Recorded run is what a journal has of it, with the script that it executes.
type Recorded struct {
	history.Run
	Script tool.Script
}

// Recorded returns a recorded run. It fails with kind NotFound if there is none
// of that ID, and with Failed if its record is damaged.
func (h *Host) Recorded(ctx context.Context, runID string) (Recorded, error) {
	j, err := h.journal()
	if err != nil {
		return Recorded{}, err
	}
	log, err := j.Read(ctx, runID)
	if err != nil {
		return Recorded{}, err
	}
	return Recorded{log.Run(), log.Script()}, nil
}

// RegisterKind has runs of a kind resumed by [Host.Resume]. It fails with kind
// Invalid where the kind is registered already.
func (h *Host) RegisterKind(k Kind) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.Name == "" || k.Resume == nil {
		return value.Errorf(value.Invalid, "a kind of runs needs a name and a Resume")
	}
	if _, exists := h.kinds[k.Name]; exists {
		return value.Errorf(value.Invalid, "the kind of runs %q is registered already", k.Name)
	}
	h.kinds[k.Name] = k
	return nil
}

// registerKinds registers the kinds that every host has.
func (h *Host) registerKinds() {
	h.kinds = map[string]Kind{
		callKind:     {Name: callKind, Resume: resumeCall},
		undoKind:     {Name: undoKind, Resume: resumeUndo},
		WorkflowKind: {Name: WorkflowKind, Resume: resumeWorkflow},
	}
}

func resumeCall(ctx context.Context, h *Host, r Recorded) (tool.Result, error) {
	j, err := h.journal()
	if err != nil {
		return tool.Result{}, err
	}
	of := called{call: recordedCallOf(r.Args)}
	check := func(ctx context.Context, name string) error { return h.canResume(ctx, j, r.ID, name) }
	if h.middleware != nil { // which may call another tool
		of.check = check
	} else if err := check(ctx, of.call.Tool); err != nil {
		return tool.Result{}, err
	}
	log, err := j.Resume(ctx, r.ID)
	if err != nil {
		return tool.Result{}, err
	}
	return h.recordedCall(ctx, log, of, true)
}

// canResume refuses to resume a call whose tool is not there, not trusted or not
// available, which would end its run: it can be resumed where and when it is. One
// that was there when the run called it is called as it was then.
func (h *Host) canResume(ctx context.Context, j *history.Journal, runID, name string) error {
	now := h.tools(ctx)
	t, runner, err := now.find(ctx, &tool.Call{Tool: name})
	if err == nil && t.State == tool.Ready {
		return h.usable(ctx, now, t, runner)
	}
	log, failure := j.Read(ctx, runID)
	if failure != nil {
		return failure
	}
	kept := pins{host: h, record: log, now: now}
	for n, failure := range log.Notes() {
		if failure != nil {
			return unrecorded(failure)
		}
		kept.take(n)
	}
	switch {
	case kept.tools[tool.Key(name)] != nil && (err != nil || !t.Revoked):
		return nil
	case err != nil:
		return err
	}
	return notReady(t)
}

func resumeUndo(ctx context.Context, h *Host, r Recorded) (tool.Result, error) {
	to, err := history.ParsePlace(r.Options.Text("to"))
	if err != nil {
		return tool.Result{}, err
	}
	out, err := h.UndoRun(ctx, Undo{Run: r.Options.Text("run"), To: to, ID: r.ID, Parks: true, Resume: true})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Succeed(tool.Outcome{Value: out.value()}), nil
}

// Resume continues a recorded run: what it has done is answered from its record.
// Of a run that has ended it returns the result. It fails with kind NotFound if
// there is no such run, Conflict while another process executes it, Invalid for
// a kind that nobody has registered, and else as the run does.
//
// A call cannot continue another run, which may do more than the call may: with the
// context of an effect, or of a handler in Go, Resume fails with kind Invalid unless the
// run has ended.
func (h *Host) Resume(ctx context.Context, runID string) (tool.Result, error) {
	if err := h.inflight.Enter(); err != nil {
		return failedResult(err)
	}
	defer h.inflight.Leave()
	r, err := h.Recorded(ctx, runID)
	switch {
	case err != nil:
		return failedResult(err)
	case r.State == history.Done:
		return tool.Succeed(tool.Outcome{Value: r.Result, Usage: r.Usage}), nil
	case r.State.Ended():
		return tool.Fail(r.Err, r.Usage), r.Err
	}
	if h.origin(ctx) != nil { // its rights and rules would not be those of the call
		return failedResult(resumedByCall(runID))
	}
	k, err := h.kind(r.Kind)
	if err != nil {
		return failedResult(err)
	}
	result, err := k.Resume(ctx, h, r)
	if err != nil {
		e := finish(err)
		if result.Error == "" {
			result = tool.Fail(e, result.Usage)
		}
		return result, e
	}
	return result, nil
}

// resumedByCall is the error of a run that a call wants to resume.
func resumedByCall(runID string) error {
	return value.Errorf(value.Invalid, "the run '%s' cannot be resumed by a call", runID).WithHint("use a context that is not the call's")
}

// kind returns how runs of a kind are resumed.
func (h *Host) kind(name string) (Kind, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k, known := h.kinds[name]
	if !known {
		return k, value.Errorf(value.Invalid, "runs of the kind %q cannot be resumed here", name).
			WithHint("the kinds that can are %s; Host.RegisterKind adds one", strings.Join(slices.Sorted(maps.Keys(h.kinds)), ", "))
	}
	return k, nil
}

// Runs yields the recorded runs that a filter selects, the newest first.
func (h *Host) Runs(ctx context.Context, f history.Filter) iter.Seq2[history.Run, error] {
	return func(yield func(history.Run, error) bool) {
		j, err := h.journal()
		if err != nil {
			yield(history.Run{}, err)
			return
		}
		for r, err := range j.Runs(ctx, f) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// Waiting yields the questions that wait for an answer, of the runs that have not
// ended, those of the newest run first. The loop may call [Host.Answer] and
// [Host.Resume], also for the question that it just got. A question that has an
// answer is not yielded again, though the answer can be corrected by its ID.
//
// Where the record of a run is damaged, Waiting yields the error with a question
// that has no more than the Run, and continues with what can be read. It ends
// with the error of ctx where that ends.
func (h *Host) Waiting(ctx context.Context) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		j, err := h.journal()
		if err != nil {
			yield(Question{}, err)
			return
		}
		var open []string // all of them first: the loop may change what is listed
		for r, err := range j.Runs(ctx, history.Filter{States: []history.State{history.Parked, history.Running}}) {
			if err == nil {
				open = append(open, r.ID)
			} else if !yield(Question{}, err) || ctx.Err() != nil {
				return
			}
		}
		for _, id := range open {
			asked, err := j.Questions(ctx, id)
			switch {
			case ctx.Err() != nil:
				yield(Question{}, value.AsError(context.Cause(ctx), value.Canceled))
				return
			case value.KindOf(err) == value.NotFound && err != nil: // it was deleted since
				continue
			case err != nil && !yield(Question{Run: id}, err):
				return
			}
			for _, q := range asked {
				if ctx.Err() != nil {
					yield(Question{}, value.AsError(context.Cause(ctx), value.Canceled))
					return
				}
				if q.Answer == nil && !yield(q.Question, nil) {
					return
				}
			}
		}
	}
}

// Answer answers an open question by its ID. It records the answer; the run uses
// it when it is resumed, and until then it can be corrected by another. Answer
// fails with kind NotFound if there is no such question, or it is another
// tenant's, with Invalid for an answer of another kind than the question expects,
// and with Conflict if the run has used an answer already.
func (h *Host) Answer(ctx context.Context, questionID string, a Answer) error {
	j, err := h.journal()
	if err != nil {
		return err
	}
	run, at, n, err := history.ParseQuestionID(questionID)
	if err != nil {
		return value.Errorf(value.NotFound, "there is no question %q", value.Clean(questionID, 120)).WithHint("the ID of a question reads RUN:STEP:N")
	}
	if err := j.Answer(ctx, run, at, n, a); err != nil {
		return err
	}
	h.wakeDue()
	return nil
}

func noJournal() error {
	return value.Errorf(value.Invalid, "the host records no runs: it has no journal").WithHint("give its runtime a Store")
}

// journal opens the journal, the first time that it is needed.
func (h *Host) journal() (*history.Journal, error) {
	if h.opts.Journal == nil {
		return nil, noJournal()
	}
	if err := h.notClosed(); err != nil {
		return nil, err
	}
	return h.opts.Journal()
}
