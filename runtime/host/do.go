package host

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Executor carries out an effect that was admitted, granted and recorded. It
// is the one hook there: the fakes of tests, spans of a trace and the execution
// of effects elsewhere wrap [Execute]. It is called concurrently, and its
// errors are those of the effect: one without a kind is of kind Failed.
type Executor func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error)

// Execute is the default [Executor]: it calls f.Do.
func Execute(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	return f.Do(ctx, e, g)
}

// intend records that the effect is about to be done. An intent that is staged
// need not be durable yet: a write is not done before its commit is.
func (s *step) intend(ctx context.Context, staged bool) error {
	if s.fn.Kind == tool.Notice {
		return nil
	}
	i := history.Intent{Place: s.effect.Place, Func: s.effect.Func, Args: s.effect.Args, Kind: s.fn.Kind, Staged: staged}
	if s.fn.Calls {
		i.Kind, i.Staged = tool.Recorded, false // it does nothing itself
	}
	if err := s.of.run.record.Intend(ctx, i); err != nil {
		return unrecorded(err)
	}
	return nil
}

// refuse records the error of an effect that was not begun: a refusal that the
// script catches must come out the same when the run is resumed.
func (s *step) refuse(ctx context.Context, err error) error {
	if s.fn == nil || s.fn.Kind == tool.Notice || s.of.run.leavesOpen(err) {
		return err
	}
	if failure := s.intend(ctx, true); failure != nil {
		return failure
	}
	return s.of.run.settle(ctx, s.effect.Place, tool.Outcome{}, err)
}

// do carries the effect out, and emits that it was.
func (s *step) do(ctx context.Context) (tool.Outcome, error) {
	start := time.Now()
	out, err := s.call(ctx)
	if s.fn.Kind != tool.Notice && subjectOf(s.of).wanted() {
		s.of.emit(effectDone(s.effect, s.takes, err, time.Since(start)))
	}
	if err != nil && s.effect.Func != toolsCall { // a call that was refused is audited itself
		err = s.failed(nil, err)
	}
	return out, err
}

// call has the executor carry the effect out. A panic is the effect's error, and an
// error without a kind is of kind Failed.
func (s *step) call(ctx context.Context) (out tool.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = s.of.run.host.panicked(s.effect.Func, s.effect.Func, v)
		}
	}()
	s.begun = true
	p := s.of
	ctx = p.doneFor(ctx, p.call.ID+"/"+strconv.Itoa(s.number), s.effect.Place)
	if slices.ContainsFunc(s.takes, func(c tool.Capability) bool { return c.Name == "model" }) {
		p.wall.Pause() // a model takes its time
		defer p.wall.Resume()
	}
	out, err = p.run.host.execute(ctx, s.fn, s.effect, s.granted(ctx))
	return out, value.AsError(err, value.Failed)
}

// granted is what the function of the effect gets for it.
func (s *step) granted(ctx context.Context) tool.Grant {
	p := s.of
	return tool.Grant{
		Call:      p.call,
		Check:     func(c tool.Capability) error { return s.check(ctx, c) },
		Narrowed:  p.rights().narrowed,
		Stage:     &p.stage,
		ReadsOnly: p.rights().readsOnly(),
		Key:       p.run.record.Key(s.effect.Place),
		Ask:       s.askPerson,
		Sleep:     s.sleep,
		Emit:      func(r tool.Report) { p.emit(r) },
	}
}

// settle records what came of the effect. What was unavailable, or at a rate limit,
// and may be repeated is left open until the script continues without it.
func (s *step) settle(ctx context.Context, out tool.Outcome, err error) error {
	if s.fn.Kind == tool.Notice {
		return err
	}
	p, at := s.of, s.effect.Place
	repeats := s.fn.Calls || s.fn.Kind == tool.Repeatable || s.fn.Kind == tool.Read
	if err != nil && repeats && p.run.record.Live() && !p.run.leavesOpen(err) && passes(err) {
		p.trail.pending = &pendingOutcome{at, out, err}
		return err
	}
	return p.run.settle(ctx, at, out, err)
}

// effectDone says that an effect was carried out.
func effectDone(e tool.Effect, takes []tool.Capability, err error, took time.Duration) tool.EffectDone {
	d := tool.EffectDone{Func: e.Func, Step: e.Place.String(), Capabilities: takes, Success: err == nil, Duration: took}
	if err != nil {
		d.Error = value.ErrorOf(err, value.Failed).Message()
	}
	return d
}
