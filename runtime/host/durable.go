package host

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// CallKind is the kind of the run of a durable call.
const CallKind = "tool"

// A durable is a call with a run of its own.
type durable struct {
	host    *Host
	journal *history.Journal
	run     string // its ID; "" for a new one
}

// make makes the call, or continues the run of its ID.
func (d durable) make(ctx context.Context, c tool.Call, narrow []tool.Rule) (tool.Result, error) {
	begin := d.begins(ctx, c, narrow)
	call, err := d.start(ctx, c, begin, false)
	if d.run != "" && value.KindOf(err) == value.Conflict {
		return d.host.continueRun(ctx, d.run, err, sameCall(&begin))
	}
	if err != nil {
		return gate.Failed(err)
	}
	return call(ctx)
}

// start records the call as a run that begins, and returns a function that makes it. soon says that nobody else can know
// the ID of the run: the record of a script need not be durable before the script does something that must be.
func (d durable) start(ctx context.Context, c tool.Call, begin history.Run, soon bool) (func(context.Context) (tool.Result, error), error) {
	now := d.host.tools(ctx)
	read, err := d.check(ctx, now, c)
	if err != nil {
		return nil, err
	}
	record := d.journal.Begin
	if soon && read != nil && read.Tool.Location != tool.Embedded { // a handler in Go may do anything
		record = d.journal.BeginSoon
	}
	log, err := record(ctx, begin, tool.Script{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (tool.Result, error) { return d.recorded(ctx, now, log, c, read, false, nil) }, nil
}

// begins returns the run of a call that is about to begin.
func (d durable) begins(ctx context.Context, c tool.Call, narrow []tool.Rule) history.Run {
	return history.Run{ID: d.run, Project: d.host.opts.Project, Kind: CallKind, Title: c.Tool + argsText(c.Args), Args: callArgs(c), Options: d.host.recordedOptions(ctx, rights.Narrowed(narrow))}
}

// sameCall returns a function that reports whether a recorded run is the same call with the same rules.
func sameCall(begin *history.Run) func(*history.Run) bool {
	return func(r *history.Run) bool {
		return r.Kind == CallKind && callsSame(r.Args, begin.Args) && rights.SameNarrow(r.Options, begin.Options)
	}
}

// maxRecorded is how long the arguments of a recorded call may be, in bytes. It is also the
// limit of one effect.
const maxRecorded = 8 << 20

// check refuses a call of an unknown tool or with wrong arguments, before anything is
// recorded of it, and returns the arguments as the tool reads them. A middleware may change both,
// so with middleware only the call itself checks them. A call of an existing run is not refused:
// it may have been valid when the run began.
func (d durable) check(ctx context.Context, now *catalog, c tool.Call) (*gate.Read, error) {
	data, err := value.Append(nil, c.Args.OrEmpty())
	if err != nil {
		return nil, value.AsError(err, value.Invalid)
	}
	if len(data) > maxRecorded {
		return nil, value.Errorf(value.Limit, "the arguments of '%s' are too long: %d KB, limit %d KB in a recorded call", value.Clean(c.Tool, longName), len(data)>>10, maxRecorded>>10).WithLimit(value.LimitLength).
			WithHint("write the arguments to a file, and pass the path of the file")
	}
	if d.host.gate.Middleware != nil {
		return nil, nil
	}
	read := &gate.Read{}
	if read.Tool, err = now.Lookup(ctx, c.Tool); err == nil {
		read.Args, read.Notes, err = read.Tool.ReadArgs(&c)
	}
	if err == nil || d.run == "" {
		return read, err
	}
	if _, missing := d.journal.Run(ctx, d.run); value.KindOf(missing) != value.NotFound {
		return nil, nil // the record answers
	}
	return nil, err
}

// continueRun resumes the run of an ID, if same reports that it is the same call. exists is
// the error that the run could not be begun.
func (h *Host) continueRun(ctx context.Context, runID string, exists error, same func(*history.Run) bool) (tool.Result, error) {
	if err := h.isSame(ctx, runID, exists, same); err != nil {
		return gate.Failed(err)
	}
	return h.Resume(ctx, runID)
}

// isSame fails if same reports that the run of an ID is another one, or with exists if the run is not there yet.
func (h *Host) isSame(ctx context.Context, runID string, exists error, same func(*history.Run) bool) error {
	r, err := h.Recorded(ctx, runID)
	switch {
	case value.KindOf(err) == value.NotFound: // another caller is just beginning it
		return exists
	case err != nil:
		return err
	case !same(&r.Run):
		return value.Errorf(value.Conflict, "the run '%s' already exists, for another call: %s", r.ID, r.Title).WithHint("use another run ID")
	}
	return nil
}

// callsSame reports whether two recorded calls are of the same tool with the same arguments.
// Their Reasoning may differ.
func callsSame(a, b *value.Dict) bool {
	c, d := recordedCallOf(a), recordedCallOf(b)
	return tool.Key(c.Tool) == tool.Key(d.Tool) && c.Texts == d.Texts && value.Equal(c.Args, d.Args)
}

// recorded makes the call whose record is log, with the tools that are there now. read has its arguments, if
// they are read already. If check, which may be nil, refuses the tool, the run stays as it was.
func (d durable) recorded(ctx context.Context, now *catalog, log *history.Log, c tool.Call, read *gate.Read, resumed bool, check func(ctx context.Context, tool string) error) (tool.Result, error) {
	narrow, err := rights.ReadNarrow(log.Run().Options)
	if err != nil {
		_ = log.Close() // the run is not executed
		return gate.Failed(gate.Unrecorded(err))
	}
	r := d.host.gate.NewRun(log.Run().ID, now, narrow).Within(ctx)
	r.Parks = true
	err = now.keep(ctx, r, log, resumed)
	if err == nil && !resumed {
		err = r.NoteSources(ctx)
	}
	if err != nil {
		return gate.Failed(err)
	}
	return r.Durable(ctx, c, read, check)
}

// callArgs returns what is recorded of a durable call.
func callArgs(c tool.Call) *value.Dict {
	d := value.NewDict("tool", c.Tool, "args", c.Args.OrEmpty(), "texts", c.Texts, "caller", int64(c.Caller), "reasoning", strings.ToValidUTF8(c.Reasoning, "\ufffd"))
	if l := c.Limits; l != (tool.Limits{}) {
		d.Put("limits", value.NewDict("steps", l.Steps, "cpu_ns", int64(l.CPU), "memory", l.Memory, "result", int64(l.Result), "requests", int64(l.Requests)))
	}
	return d
}

// recordedCallOf returns the call that callArgs has recorded.
func recordedCallOf(d *value.Dict) tool.Call {
	c := tool.Call{Tool: d.Text("tool"), Args: d.Dict("args"), Texts: d.Bool("texts"), Caller: tool.Caller(d.IntOr("caller", int64(tool.ByModel))), Reasoning: d.Text("reasoning")}
	if l := d.Dict("limits"); l != nil {
		c.Limits = tool.Limits{Steps: l.Int("steps"), CPU: time.Duration(l.Int("cpu_ns")), Memory: l.Int("memory"), Result: int(l.Int("result")), Requests: int(l.Int("requests"))}
	}
	return c
}

// argsText returns arguments for the title of a run, in the form of a command line.
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

// A Recorded is a recorded run with the script that it executes.
type Recorded struct {
	history.Run
	Script tool.Script
}

// Recorded returns a recorded run by its ID. It fails with kind NotFound for an unknown ID,
// and with Failed if the record is damaged: a run that has not ended is [history.Stuck] then.
func (h *Host) Recorded(ctx context.Context, runID string) (Recorded, error) {
	j, err := h.journal()
	if err != nil {
		return Recorded{}, err
	}
	log, err := j.Read(ctx, runID)
	if err != nil {
		h.stick(ctx, runID, err)
		return Recorded{}, err
	}
	return Recorded{log.Run(), log.Script()}, nil
}

// stick is [operate.Host.Stick].
func (h *Host) stick(ctx context.Context, runID string, why error) {
	if j, err := h.journal(); err == nil && !h.gate.InCall(ctx) {
		j.Stick(ctx, runID, why)
	}
}

func resumeCall(ctx context.Context, h *Host, r Recorded) (tool.Result, error) {
	j, err := h.journal()
	if err != nil {
		return tool.Result{}, err
	}
	c := recordedCallOf(r.Args)
	d := durable{h, j, r.ID}
	check := d.canResume
	if h.gate.Middleware == nil { // which may call another tool
		if err := check(ctx, c.Tool); err != nil {
			return tool.Result{}, waits(r.ID, err)
		}
		check = nil
	}
	if ctx, err = h.admit(ctx, r.ID); err != nil {
		return tool.Result{}, err
	}
	log, err := j.Resume(ctx, r.ID)
	if err != nil {
		return tool.Result{}, err
	}
	return d.recorded(ctx, d.host.tools(ctx), log, c, nil, true, check)
}

// canResume refuses to resume a call whose tool is unknown, untrusted or unavailable: the
// call would fail and end the run. A tool that the run has called before is called as it was
// then.
func (d durable) canResume(ctx context.Context, name string) error {
	now := d.host.tools(ctx)
	t, runner, err := now.Find(ctx, name, nil)
	if err == nil && t.Refusal == nil {
		return now.Usable(ctx, t, runner)
	}
	log, failure := d.journal.Read(ctx, d.run)
	if failure != nil {
		return failure
	}
	kept := pins{host: d.host, record: log, catalog: now}
	for n, failure := range log.Notes() {
		if failure != nil {
			return gate.Unrecorded(failure)
		}
		kept.take(n)
	}
	if pin := kept.tools[tool.Key(name)]; pin != nil {
		return kept.revokedTool(name, pin)
	}
	if err != nil {
		return err
	}
	return t.Refusal
}

// waits returns the error of a run that is not resumed as long as err is not repaired.
func waits(runID string, err error) error {
	e := value.ErrorOf(err, value.Failed)
	if why := gate.Repairable(e); why != "" {
		return gate.ParkedBy(runID, why, e)
	}
	return err
}

func resumeUndo(ctx context.Context, h *Host, r Recorded) (tool.Result, error) {
	to, err := history.ParseStepPath(r.Options.Text("to"))
	if err != nil {
		return tool.Result{}, err
	}
	out, err := h.undo(ctx, operate.Undo{Run: r.Options.Text("run"), To: to, Skip: r.Options.Bool("skip"), ID: r.ID, Parks: true, Resume: true})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Succeed(tool.Outcome{Value: undoneValue(out)}), nil
}

// Resume continues a recorded run. Effects that it has carried out are answered from its
// record. For a run that has ended, Resume returns the result. It fails with kind NotFound
// for an unknown run, with Conflict while another process executes it, with Invalid for a
// run of a kind that is not registered, and otherwise as the run does. A run whose record cannot be
// followed is [history.Stuck] afterwards; Resume tries such a run again.
//
// A call cannot resume another run, which may have more rights than the call. With the
// context of an effect or of a handler in Go, Resume fails with kind Invalid unless the run
// has ended.
func (h *Host) Resume(ctx context.Context, runID string) (tool.Result, error) {
	if err := h.valid(); err != nil {
		return gate.Failed(err)
	}
	if err := h.inflight.Enter(); err != nil {
		return gate.Failed(err)
	}
	defer h.inflight.Leave()
	r, err := h.Recorded(ctx, runID)
	switch {
	case err != nil:
		return gate.Failed(err)
	case r.State == history.Done:
		return h.resultOf(ctx, &r)
	case r.State.Ended():
		return tool.Fail(r.Err, r.Usage), r.Err
	}
	if h.gate.InCall(ctx) { // the run would not have the rights and rules of the call
		return gate.Failed(resumedByCall(runID))
	}
	if h.elsewhere(runID) {
		return h.resumeElsewhere(ctx, runID)
	}
	k, err := h.kinds.find(r.Kind)
	if err != nil {
		return gate.Failed(err)
	}
	result, err := k.Resume(ctx, h, r)
	if err != nil {
		e := gate.Presentable(err)
		if result.Error == "" {
			result = tool.Fail(e, result.Usage)
		}
		return result, e
	}
	return result, nil
}

// resultOf returns the result of a run that is done.
func (h *Host) resultOf(ctx context.Context, r *Recorded) (tool.Result, error) {
	result := tool.Succeed(tool.Outcome{Value: r.Result, Usage: r.Usage})
	notes, err := h.notes(ctx, r.ID)
	if err != nil {
		return gate.Failed(err)
	}
	for _, n := range notes {
		result.Notes = cmp.Or(n.Text(gate.NoteNotes), result.Notes)
	}
	return result, nil
}

// resumedByCall returns the error of a call that tries to resume a run.
func resumedByCall(runID string) error {
	return value.Errorf(value.Invalid, "the run '%s' cannot be resumed from within a call", runID).WithHint("use a context from outside the call")
}

// Runs yields the recorded runs that a filter selects, the newest first. It fails with kind
// Invalid if the host has no store.
func (h *Host) Runs(ctx context.Context, f history.Filter) iter.Seq2[history.Run, error] {
	return fromJournal(h, func(j *history.Journal) iter.Seq2[history.Run, error] { return j.Runs(ctx, f) })
}

// VerifyRun checks every part of the record of a run against its hash, and returns the head of
// the record: the hash that stands for all of it. kept is a head of the run that was stored
// elsewhere, or "": the record must contain it. It fails with kind NotFound for an unknown run, with
// Failed if a part was changed, and with Conflict without kept; see [history.Journal.Verify].
func (h *Host) VerifyRun(ctx context.Context, runID, kept string) (history.Verified, error) {
	j, err := h.journal()
	if err != nil {
		return history.Verified{}, err
	}
	return j.Verify(ctx, runID, kept)
}

// Waiting yields the open questions of the runs that have not ended and are not stuck, those of the newest run
// first. The loop may call [Host.Answer] and [Host.Resume]. A question with an answer is not
// yielded, though the answer can still be corrected by the ID of the question.
//
// For a damaged record, Waiting yields the error with a question that has only the Run, and
// continues with the next run. If ctx ends, it yields the error of ctx and ends.
func (h *Host) Waiting(ctx context.Context) iter.Seq2[tool.Question, error] {
	return func(yield func(tool.Question, error) bool) {
		j, err := h.journal()
		if err != nil {
			yield(tool.Question{}, err)
			return
		}
		var open []string // all of them first: the loop may change what is listed
		for r, err := range j.Runs(ctx, history.Filter{States: []history.State{history.Parked, history.Running}}) {
			if err == nil {
				open = append(open, r.ID)
			} else if !yield(tool.Question{}, err) || ctx.Err() != nil {
				return
			}
		}
		for _, id := range open {
			asked, err := j.Questions(ctx, id)
			switch {
			case ctx.Err() != nil:
				yield(tool.Question{}, value.AsError(context.Cause(ctx), value.Canceled))
				return
			case value.KindOf(err) == value.NotFound && err != nil: // it was deleted since
				continue
			case err != nil && !yield(tool.Question{Run: id}, err):
				return
			}
			for _, q := range asked {
				if ctx.Err() != nil {
					yield(tool.Question{}, value.AsError(context.Cause(ctx), value.Canceled))
					return
				}
				if q.Answer == nil && !yield(q.Question, nil) {
					return
				}
			}
		}
	}
}

// Answer records the answer to an open question, by the ID of the question. The run uses the
// answer when it is resumed; until then another answer replaces it. Answer fails with kind
// NotFound for an unknown question or one of another tenant, with Invalid for an answer of
// another kind than the question expects, and with Conflict if the run has used an answer
// already.
func (h *Host) Answer(ctx context.Context, questionID string, a tool.Answer) error {
	j, err := h.journal()
	if err != nil {
		return err
	}
	run, at, n, err := history.ParseQuestionID(questionID)
	if err != nil {
		return value.Errorf(value.NotFound, "invalid question ID %q", value.Clean(questionID, 120)).WithHint("write the ID of the question as RUN:STEP:N")
	}
	if err := j.Answer(ctx, run, at, n, a); err != nil {
		return err
	}
	h.wakeDue()
	return nil
}

// fromJournal yields what list yields from the journal of the host, or the error that there is
// no journal.
func fromJournal[T any](h *Host, list func(*history.Journal) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		j, err := h.journal()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		list(j)(yield)
	}
}

// journal opens the journal, the first time that it is needed.
func (h *Host) journal() (*history.Journal, error) {
	if err := h.valid(); err != nil {
		return nil, err
	}
	if h.opts.Journal == nil {
		return nil, value.Errorf(value.Invalid, "runs are not recorded: the host has no store").WithHint("set RuntimeOptions.Store")
	}
	if err := h.notClosed(); err != nil {
		return nil, err
	}
	return h.opts.Journal()
}
