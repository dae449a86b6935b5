package serve

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	dueEvery = time.Second      // how often a project is asked for runs that are due
	maxRetry = 60 * time.Second // how long a run that could not be continued waits for the next try
)

// Run executes the runs that are due until ctx ends or the server is shut down: immediately after a run
// begins or a question is answered here, and otherwise within about a second. Calls over the API do not wait for Run: they
// are made as they begin, unless Options.Jobs runs are executed already. The runs that it has
// begun to execute continue; [Server.Shutdown] waits for them. If a run fails, its record says so, and the
// Logger gets the kind of an error that left it due. Run returns nil after Shutdown, or else the error of ctx.
func (s *Server) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, p := range s.projects {
		all.Go(func() { s.keepRunning(ctx, p) })
	}
	all.Wait()
	if s.isDraining() {
		return nil
	}
	return value.AsError(context.Cause(ctx), value.Canceled)
}

// keepRunning executes the runs of a project.
func (s *Server) keepRunning(ctx context.Context, p *project) {
	tick := time.NewTicker(1 + rand.N(dueEvery)) // so that the projects of many tenants do not look at the same time
	defer tick.Stop()
	for look := true; ; look = p.look.Swap(false) {
		list := p.jobs.wants()
		if look {
			list = s.due(ctx, p)
		}
		for _, id := range list {
			select { // the projects that wait for a slot get one in turn
			case s.slots <- struct{}{}:
			case <-s.draining:
				return
			case <-ctx.Done():
				return
			}
			if s.isDraining() || !p.jobs.take(id) {
				<-s.slots
				continue
			}
			go s.execute(context.WithoutCancel(ctx), p, id, p.resume)
		}
		select {
		case <-tick.C:
			tick.Reset(dueEvery)
			p.look.Store(true)
		case <-p.wake:
		case <-s.draining:
			return
		case <-ctx.Done():
			return
		}
	}
}

// due returns the runs of a project that can be executed now, those first that somebody waits for, and then
// the oldest.
func (s *Server) due(ctx context.Context, p *project) []string {
	p.jobs.look()
	var list []string
	for r, err := range p.Host.Due(ctx) {
		if err != nil {
			s.opts.Logger.Info("a run that is due cannot be read", "project", p.Name, "run", r.ID, "kind", value.KindOf(err).String())
			continue
		}
		list = append(list, r.ID)
	}
	slices.Reverse(list)
	return p.jobs.ready(list, s.now())
}

// An executor executes a run, or what is left of it.
type executor func(ctx context.Context, id string) (tool.Result, error)

// execute executes a run, which has a slot. Nothing that happens in it ends the loop.
func (s *Server) execute(ctx context.Context, p *project, id string, do executor) {
	var result tool.Result
	err := value.Errorf(value.Internal, "the run panicked")
	defer func() {
		_ = recover() // the host reports the panics of tools; this is one of Project.Resume
		p.inbox.changed(id)
		if p.jobs.done(id, result, err, s.now()) {
			s.opts.Logger.Info("a due run was not completed", "project", p.Name, "run", id, "kind", err.Kind.String())
		}
		<-s.slots
		if err != nil { // it may have got an answer meanwhile
			p.lookSoon()
		}
	}()
	result, failed := do(ctx, id)
	p.writes.tried(failed)
	err = value.ErrorOf(failed, value.Failed)
}

// startCall records a call that begins, as the run of an ID, and returns a function that has it made without the loop. It
// returns nil if all slots are taken, or if there is such a run.
func (s *Server) startCall(ctx context.Context, p *project, id string, c tool.Call) (makeIt func() *execution, err error) {
	select {
	case s.slots <- struct{}{}:
	default:
		return nil, nil
	}
	if p.Within != nil {
		ctx = p.Within(ctx)
	}
	call, err := p.op.Start(ctx, id, strings.HasPrefix(id, keyPrefix), c)
	if err != nil {
		if <-s.slots; value.KindOf(err) == value.Conflict {
			err = nil
		}
		return nil, err
	}
	return func() *execution {
		x := p.jobs.next(id)
		p.jobs.take(id)
		go s.execute(ctx, p, id, func(ctx context.Context, _ string) (tool.Result, error) { return call(ctx) })
		return x
	}, nil
}

// resume continues a run as the project does.
func (p *project) resume(ctx context.Context, id string) (result tool.Result, err error) {
	if p.Resume == nil {
		result, err = p.Host.Resume(ctx, id)
	} else {
		r, failed := p.Host.Recorded(ctx, id)
		if failed != nil {
			return result, failed
		}
		result, err = p.Resume(ctx, r)
	}
	if err == nil {
		return result, nil
	}
	if r, failed := p.Host.Recorded(ctx, id); failed == nil && r.ForkedFrom != "" { // a retry whose scripts do something else ends
		_ = p.op.EndFork(ctx, id, err)
	}
	return result, err
}

// want has the loop continue a run immediately, even if it waits.
func (p *project) want(id string) {
	p.jobs.want(id)
	p.wakeUp()
}

// lookSoon has the loop look for due runs immediately.
func (p *project) lookSoon() {
	p.look.Store(true)
	p.wakeUp()
}

func (p *project) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default: // it is about to look
	}
}

// jobs are the runs of a project that are executed, and those that wait for another try.
type jobs struct {
	mu      *sync.Mutex
	running map[string]bool
	wanted  map[string]bool // somebody asked to continue them
	ended   map[string]bool // since the loop began to look for due runs
	failed  map[string]failure
	ending  map[string]*execution // that somebody waits for
}

// An execution is the next one of a run in this process.
type execution struct {
	done   chan struct{} // closed when it has ended
	result tool.Result   // afterwards
	err    *value.Error  // of Host.Resume

	waiting int // how many wait for it
}

// A failure is that a run could not be continued, and stays due.
type failure struct {
	times int
	until time.Time // the next try
}

func newJobs() jobs {
	return jobs{&sync.Mutex{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]failure{}, map[string]*execution{}}
}

// look notes that the loop begins to look for due runs. One that ends meanwhile may be among them, and is due no longer.
func (j *jobs) look() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.ended)
}

func (j *jobs) want(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wanted[id] = true
	delete(j.failed, id)
}

// wants returns the runs that somebody asked to continue.
func (j *jobs) wants() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Keys(j.wanted))
}

// ready returns which runs are to be executed now, of those that are due and those that are wanted.
func (j *jobs) ready(due []string, now time.Time) (list []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	list = slices.AppendSeq(list, maps.Keys(j.wanted))
	waits := map[string]failure{}
	for _, id := range due {
		f, failed := j.failed[id]
		if failed {
			waits[id] = f
		}
		if !j.running[id] && !j.ended[id] && !j.wanted[id] && !now.Before(f.until) {
			list = append(list, id)
		}
	}
	j.failed = waits // others are due no longer
	return list
}

// take reports whether a run can be executed, and is from now on.
func (j *jobs) take(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running[id] {
		return false
	}
	j.running[id] = true
	delete(j.wanted, id)
	return true
}

// done ends the execution of a run, and reports whether its error is worth a message: a run that waits or
// was taken by another process has not failed.
func (j *jobs) done(id string, result tool.Result, e *value.Error, now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.running, id)
	j.ended[id] = true
	if x := j.ending[id]; x != nil {
		x.result, x.err = result, e
		close(x.done)
		delete(j.ending, id)
	}
	if e == nil { // nothing is left of it to continue
		delete(j.wanted, id)
	}
	if e == nil || e.Kind == value.Parked || e.Kind == value.Conflict && e.Limit == "" {
		delete(j.failed, id)
		return false
	}
	f := j.failed[id]
	f.times++
	f.until = now.Add(min(time.Second<<min(f.times, 10), maxRetry))
	j.failed[id] = f // until it turns out that the run has ended
	return true
}

// next returns the next execution of a run in this process. The caller calls leave when it no longer waits for it.
func (j *jobs) next(id string) *execution {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ending[id] == nil {
		j.ending[id] = &execution{done: make(chan struct{})}
	}
	j.ending[id].waiting++
	return j.ending[id]
}

// leave forgets an execution for which nobody else waits: another process may execute the run. It may be nil.
func (j *jobs) leave(id string, x *execution) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if x == nil {
		return
	}
	if x.waiting--; x.waiting == 0 && j.ending[id] == x {
		delete(j.ending, id)
	}
}

// count returns how many runs are executed.
func (j *jobs) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.running)
}
