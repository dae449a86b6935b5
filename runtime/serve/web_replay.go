package serve

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	replayTime  = time.Minute // how long a replay may take
	mostReplays = 64          // that are kept
)

// replays are the last replays of runs, for their pages. They are in memory.
type replays struct {
	mu   sync.Mutex
	kept map[feedKey]*replayed
}

// A replayed is how a replay ended. err is why it could not begin, or that the record was changed.
type replayed struct {
	*describe.Replayed
	err error
}

func (l *replays) put(key feedKey, v *replayed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil || len(l.kept) >= mostReplays {
		l.kept = map[feedKey]*replayed{}
	}
	l.kept[key] = v
}

func (l *replays) get(key feedKey) *replayed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[key]
}

// mayReplay reports whether a run has a script that can run again from its record.
func mayReplay(r *history.Run) bool { return r.Kind != host.CallKind && r.Kind != host.UndoKind }

// replayPage replays a run.
func (r *request) replayPage() error {
	p, run, err := r.pageRun()
	if err != nil {
		return err
	}
	if _, _, err := r.own(); err != nil {
		return err
	}
	if !mayReplay(run) {
		return value.Errorf(value.Invalid, "the run '%s' has no script that can run again", run.ID)
	}
	select {
	case r.s.slots <- struct{}{}:
		defer func() { <-r.s.slots }()
	default:
		return value.Errorf(value.Busy, "the server executes %d runs already", r.s.opts.Jobs).WithHint("try again later")
	}
	ctx, cancel := context.WithTimeout(r.Context(), replayTime)
	defer cancel()
	v := &replayed{}
	if _, v.err = p.Host.VerifyRun(ctx, run.ID, ""); v.err == nil || value.KindOf(v.err) == value.Conflict {
		v.Replayed, v.err = p.replay(ctx, run.ID)
	}
	r.s.replays.put(feedKey{p, run.ID}, v)
	return r.seeOther(string(views.RunURL(run.ID)) + "/replay")
}

// replay runs a recorded run again from its record.
func (p *project) replay(ctx context.Context, id string) (*describe.Replayed, error) {
	r, err := p.Host.Recorded(ctx, id)
	if err != nil {
		return nil, err
	}
	var out *host.Replayed
	if r.Kind == host.WorkflowKind {
		o := host.Replay{}
		if o.Program, err = host.ResumedWorkflow(&r.Run); err == nil {
			out, err = p.Host.Replay(ctx, o)
		}
	} else {
		out, err = agent.Replay(ctx, p.Host, r, host.Replay{})
	}
	if err != nil {
		return nil, err
	}
	return describe.ReplayOf(&r.Run, out, false), nil
}

// replayedPage shows the last replay of a run, or the page before it.
func (r *request) replayedPage() error {
	p, run, err := r.pageRun()
	if err != nil {
		return err
	}
	t, err := r.s.trails.read(r.Context(), p, run.ID, time.Now().Add(-runPolls))
	if err != nil {
		return err
	}
	head := t.Head(r.zone())
	v, c := r.s.replays.get(feedKey{p, run.ID}), head.Replay(agent.NewID())
	switch {
	case v != nil && v.err != nil:
		c = head.Replayed(page.NoteNotReplayed(problemText(r.refusalOf(v.err))), nil)
	case v != nil:
		note, points := views.Replayed(run.ID, v.Replayed)
		c = head.Replayed(note, points)
	case !mayReplay(run):
		c.NoWay = "This run has no script that can run again: its steps are on its page."
	case !mayAct(r.user, run):
		c.NoWay = r.why("To replay a run of somebody else, the role approve is needed.")
	}
	f, err := r.frame(c.Heading, page.SectionRuns)
	if err != nil {
		return err
	}
	return r.pageAs(http.StatusOK, "confirm", f, c)
}
