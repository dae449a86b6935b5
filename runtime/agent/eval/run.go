package eval

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options are what a suite needs of its caller. Model and Open are required. The functions are
// called concurrently if Parallel is above 1, except Done.
type Options struct {
	// Model opens the model with a name of the suite. native is whether it is asked for native
	// calls, which only models played by a script need to know.
	Model func(ctx context.Context, name string, native bool) (model.Model, error)
	// Open makes the folder of a case with the task's Folder and Files, and opens a host for it.
	Open func(ctx context.Context, c *Case) (*Bench, error)
	// Policies finds a policy by its name. Default: [agent.Builtin].
	Policies func(name string) (agent.Policy, error)
	// Filter selects cases: those whose name contains one of these texts. Nil selects all.
	Filter []string
	// Ready is called before the first case, with all that are selected. Its error ends the run. It
	// may be nil.
	Ready func(cases []*Case) error
	// Parallel is how many cases run in parallel. Default: 1.
	Parallel int
	// Done is called after each case, one at a time, with the report so far. It may be nil.
	Done func(so *Report, r *Result)
	// Idle is the idle timeout of the models; 0 means none.
	Idle time.Duration
}

// A Bench is where one case runs.
type Bench struct {
	Host  *host.Host // calls the tools of the model, in the folder of the case
	Files fs.FS      // the folder of the case, for the checks of files
	// Command runs the command line of a check in the folder. Nil fails such checks.
	Command func(ctx context.Context, line string) (Ran, error)
	// Close ends the host and removes the folder.
	Close func() error
}

// A Ran is what a command did that ended by itself.
type Ran struct {
	ExitCode       int
	Stdout, Stderr string
}

// Run runs the cases of a suite. A failure of a case is a part of the report, and not an error. The
// error is that of a model, a format, a policy, an agent or a tool with a name that cannot be used, or
// [Faults] with all such errors; then nothing was asked.
// If ctx ends, the error is of kind Canceled, and the report has the cases that ended before: its
// field Complete is then false. Once a model is unreachable, its other cases fail without a
// request.
func (s *Suite) Run(ctx context.Context, o *Options) (*Report, error) {
	r := &run{Suite: s.withDefaults(), Options: *o, models: map[string]model.Model{}, away: map[string]error{}}
	cases, err := r.cases(ctx)
	if err != nil {
		return nil, err
	}
	if r.Ready != nil {
		if err := r.Ready(cases); err != nil {
			return nil, err
		}
	}
	r.report = &Report{Filter: o.Filter, Version: reportVersion, Suite: s.Name, Cases: len(cases), Skipped: r.skipped, Results: []Result{}}
	r.results = make([]*Result, len(cases))
	r.all(ctx, cases)
	r.report.Complete = len(r.report.Results) == len(cases)
	if !r.report.Complete {
		return r.report, value.AsError(context.Cause(ctx), value.Canceled)
	}
	return r.report, nil
}

// A run is one run of a suite.
type run struct {
	*Suite
	Options
	models  map[string]model.Model // by name, and by name and " native"
	skipped []string
	judge   model.Model

	mu      sync.Mutex
	away    map[string]error // why a model is unreachable, by its key
	results []*Result        // by the index of the case
	report  *Report
}

// cases opens the models and lists the cases. The formats take turns, so that a temporary problem
// of a model affects all of them.
func (r *run) cases(ctx context.Context) ([]*Case, error) {
	var combined []Case
	names := &nameCheck{run: r}
	names.formats(r.Formats)
	for _, name := range r.Models {
		of, err := r.combine(ctx, name)
		if err != nil { // the tasks are checked, too
			names.add("", err)
			of = []Case{{Model: name}}
		}
		combined = append(combined, of...)
	}
	var all []*Case
	for repeat := range r.Repeat {
		for i := range r.Tasks {
			all = append(all, r.casesOf(&r.Tasks[i], combined, repeat+1)...)
		}
	}
	cases := slices.DeleteFunc(slices.Clone(all), func(c *Case) bool { return !r.selects(c.Name()) })
	if len(cases) == 0 && names.err() == nil {
		return nil, r.nothing(all)
	}
	names.cases(ctx, cases)
	names.add("", r.openJudge(ctx, cases))
	return cases, names.err()
}

// nothing returns the error of a run without cases.
func (r *run) nothing(all []*Case) error {
	if len(all) == 0 {
		return value.Errorf(value.Invalid, "there is no case to run: %s", strings.Join(r.skipped, "; "))
	}
	names := value.Map(all[:min(3, len(all))], (*Case).Name)
	return value.Errorf(value.Invalid, "the filter selects none of %d cases", len(all)).WithHint("the cases have names such as %s", strings.Join(names, ", "))
}

// casesOf returns the cases of a task.
func (r *run) casesOf(t *Task, combined []Case, repeat int) (cases []*Case) {
	policies := r.Suite.Policies
	if t.Policy != "" {
		policies = []string{t.Policy}
	}
	agents := r.Agents
	if t.Agent != "" {
		agents = []string{t.Agent}
	}
	for _, c := range combined {
		for _, policy := range policies {
			for _, agent := range agents {
				own := c
				own.Task, own.Policy, own.Agent, own.Repeat = t, policy, agent, repeat
				cases = append(cases, &own)
			}
		}
	}
	return cases
}

// selects reports whether the filter selects a name.
func (r *run) selects(name string) bool {
	return len(r.Filter) == 0 || slices.ContainsFunc(r.Filter, func(part string) bool { return strings.Contains(name, part) })
}

// combine returns a case without a task for each format of a model.
func (r *run) combine(ctx context.Context, name string) (cases []Case, err error) {
	m, err := r.open(ctx, name, false)
	if err != nil {
		return nil, err
	}
	formats := r.Formats
	switch {
	case len(formats) == 0:
		formats = []decision.Format{Formats(m)[0]}
	case slices.Contains(formats, AllFormats):
		more := slices.DeleteFunc(slices.Clone(formats), func(f decision.Format) bool { return f == AllFormats || slices.Contains(Formats(m), f) })
		formats = append(Formats(m), more...)
	}
	for _, f := range formats {
		of := m
		if f == decision.Native && !m.Native() {
			if of, err = r.open(ctx, name, true); err != nil {
				return nil, err
			}
			if !of.Native() {
				r.skipped = append(r.skipped, fmt.Sprintf("the model %s does not support the format native", name))
				continue
			}
		}
		cases = append(cases, Case{Model: cmp.Or(name, m.Name()), Format: f, model: of, key: m.Name()})
	}
	return cases, nil
}

// open opens a model, once.
func (r *run) open(ctx context.Context, name string, native bool) (model.Model, error) {
	key := name
	if native {
		key += " native"
	}
	if m := r.models[key]; m != nil {
		return m, nil
	}
	m, err := r.Model(ctx, name, native)
	if err != nil {
		return nil, err
	}
	if r.Idle > 0 {
		m = model.WithIdleTimeout(m, r.Idle)
	}
	r.models[key] = m
	return m, nil
}

// openJudge opens the model that answers questions about answers, if there are any.
func (r *run) openJudge(ctx context.Context, cases []*Case) (err error) {
	if !needJudge(cases) {
		return nil
	}
	if r.Judge == "" {
		return value.Errorf(value.Invalid, "a check has a question for a judge, but no judge is set").WithHint(`add "judge: MODEL" to the file, or use --judge MODEL`)
	}
	r.judge, err = r.open(ctx, r.Judge, false)
	return err
}

// all runs the cases, some in parallel, until ctx ends.
func (r *run) all(ctx context.Context, cases []*Case) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, r.Parallel) {
		wg.Go(func() {
			for i := range next {
				if result := r.try(ctx, cases[i]); ctx.Err() == nil {
					r.add(i, result)
				}
			}
		})
	}
	for i := range cases {
		select {
		case next <- i:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(next)
	wg.Wait()
}

// add adds the result of the i-th case to the report, in the order of the cases.
func (r *run) add(i int, result *Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[i] = result
	r.report.Results = r.report.Results[:0:0]
	for _, done := range r.results {
		if done != nil {
			r.report.Results = append(r.report.Results, *done)
		}
	}
	r.report.sum()
	if r.Done != nil {
		r.Done(r.report, result)
	}
}

// unreachable returns why the model of a case is unreachable, or nil.
func (r *run) unreachable(c *Case) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away[c.key]
}

func (r *run) setUnreachable(c *Case, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away[c.key] = err
}

// try runs a case. A failure is a part of its result.
func (r *run) try(ctx context.Context, c *Case) *Result {
	result := &Result{Task: c.Task.Name, Model: c.Model, Format: c.Format, Policy: c.Policy, Agent: c.Agent, Repeat: c.Repeat, Checks: []CheckResult{}, Calls: []Call{}}
	err := r.unreachable(c)
	if err == nil {
		err = r.attempt(ctx, c, result)
		if result.Unreachable != nil {
			r.setUnreachable(c, err)
		}
	} else {
		result.Unreachable = err
	}
	if err != nil {
		e := value.ErrorOf(err, value.Failed)
		result.Why, result.ErrorType, result.Success = e.Message(), e.Kind.Type(), false
	}
	return result
}

// attempt opens the bench of a case, and runs the case there.
func (r *run) attempt(ctx context.Context, c *Case, result *Result) (err error) {
	b, err := r.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := b.Close(); err == nil {
			err = closeErr
		}
	}()
	w := &watched{Model: c.model, format: c.Format}
	reply, err := r.send(ctx, c, b, w, result)
	w.fill(result)
	if err != nil && w.unreachable != nil {
		result.Unreachable = err
	}
	result.use(&reply)
	if err != nil {
		return err
	}
	k := &checker{run: r, ctx: ctx, c: c, b: b, reply: &reply}
	result.Checks = k.all()
	result.JudgeUsage = k.used.dict()
	result.Why = missing(result)
	result.Success = result.Why == ""
	return nil
}

// missing returns why a case is not a success, or "": the first check that failed, or the reason
// with which the run ended.
func missing(r *Result) string {
	failed := func(c CheckResult) bool { return !c.Success && !c.NotRun }
	if i := slices.IndexFunc(r.Checks, failed); i >= 0 {
		return r.Checks[i].Why
	}
	if r.Reason != agent.ReasonFinal {
		return "the run ended with the reason " + string(r.Reason)
	}
	return ""
}

// place is the working directory in the prompt. The path of the real one would be another each
// time, and so would its tokens.
const place = "the folder of the task"

// send has the model of a case do its task.
func (r *run) send(ctx context.Context, c *Case, b *Bench, w *watched, result *Result) (agent.Reply, error) {
	limit := cmp.Or(c.Limits.Timeout, defaultTimeout)
	timed, cancel := context.WithTimeoutCause(ctx, limit, value.Errorf(value.Timeout, "the case took longer than %s", limit))
	defer cancel()
	o := &agent.Options{
		Model: w, Place: place, Format: c.Format, Policy: c.Policy, Policies: r.policies(), Tools: c.Tools,
		Iterations: c.Limits.Iterations, Ceilings: c.Limits.Ceilings, NoParking: true,
		Models: func(ctx context.Context, name string) (model.Model, error) { return r.Model(ctx, name, false) },
	}
	if err := actAs(o, b.Host, c); err != nil {
		return agent.Reply{}, err
	}
	register(b.Host, o)
	a, err := agent.New(b.Host, o)
	if err != nil {
		return agent.Reply{}, err
	}
	result.ToolsHash, result.PolicyHash = hashOf(a.Tools()), shortHash(a.Policy().Script.Hash)
	s, err := a.Session(timed, agent.NewID())
	if err != nil {
		return agent.Reply{}, err
	}
	counted := result.count(timed, b.Host, s.ID())
	start := time.Now()
	reply, err := s.Send(timed, c.Prompt)
	result.Seconds = time.Since(start).Seconds()
	counted()
	if err != nil && timed.Err() != nil {
		err = context.Cause(timed)
	}
	return reply, err
}

// actAs makes the agent of a case the one of an agent file, with the model of the case. The policy
// of the file replaces the default one.
func actAs(o *agent.Options, h *host.Host, c *Case) error {
	if c.Agent == "" {
		return nil
	}
	known := h.Agents()
	for i := range known {
		if known[i].Name == c.Agent && !known[i].Disabled {
			o.As = &known[i]
			if c.Policy == defaultPolicy {
				o.Policy = ""
			}
			return nil
		}
	}
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].Name
	}
	return value.Errorf(value.Invalid, "there is no agent %q%s", c.Agent, value.DidYouMean(c.Agent, names)).
		WithHint("write the file .cassidy/agents/%s.md; if it exists, review it with: cassidy trust", c.Agent)
}

// register registers the tools that start agents and that run programs, as the command has them. A
// host that has tools of these names keeps its own.
func register(h *host.Host, o *agent.Options) {
	_ = agent.Register(h, func() (*agent.Options, error) { own := *o; return &own, nil })
	_ = agent.RegisterCode(h)
}

func (r *run) policies() func(string) (agent.Policy, error) {
	if r.Options.Policies == nil {
		return agent.Builtin
	}
	return r.Options.Policies
}

// count starts to count the calls that are read in a session. The returned function
// ends that and waits until the last one is counted.
func (r *Result) count(ctx context.Context, h *host.Host, session string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	events, done := h.Subscribe(ctx, host.EventFilter{Session: session, Buffer: 4096}), make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			if d, ok := e.Data.(tool.Decided); ok && d.Kind == string(decision.ToolCall) {
				r.CallsRead++
				if d.Format == string(r.Format) {
					r.AsAsked++
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}
