package gate

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// prepare prepares the effect, see [tool.Func]. A replay carries out nothing.
func (s *step) prepare(ctx context.Context) (err error) {
	if s.fn.Prepare == nil || !s.of.Run.record.Live() {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = s.of.Run.gate.panicked(s.effect.Func, s.effect.Func, v)
		}
	}()
	return s.fn.Prepare(s.of.contextFor(ctx, s.of.call.ID+"/"+strconv.Itoa(s.number), s.effect.StepPath), s.effect)
}

// intend records that the effect is about to be carried out. A staged intent need not be
// durable yet, since a write is not carried out before its commit is.
func (s *step) intend(ctx context.Context, staged bool) error {
	if s.fn.Kind == tool.Notice {
		return nil
	}
	i := history.Intent{StepPath: s.effect.StepPath, Func: s.effect.Func, Args: s.effect.Args, Kind: s.fn.Kind, Staged: staged, Sync: s.fn.Resumes, Costly: s.asksModel()}
	if s.fn.MakesCalls() {
		i.Kind, i.Staged = tool.Recorded, false // only the calls that it makes act
	}
	if err := s.of.Run.record.Intend(ctx, i); err != nil {
		return Unrecorded(err)
	}
	s.tries++
	return nil
}

// refuse records the error of an effect that was not begun, so that the script gets the
// same refusal when the run is resumed.
func (s *step) refuse(ctx context.Context, err error) error {
	if s.fn == nil || s.fn.Kind == tool.Notice || s.of.Run.leavesOpen(err) {
		return err
	}
	return s.conclude(ctx, tool.Outcome{}, err, true)
}

// do carries out the effect, and emits its EffectDone.
func (s *step) do(ctx context.Context) (tool.Outcome, error) {
	start, before := time.Now(), s.of.waited.sum()
	out, err := s.call(ctx)
	if s.fn.Kind != tool.Notice && s.of.subject().hasReaders() {
		waited := s.of.waited.sum() - before
		s.of.emit(effectDone(s.effect, s.takes, err, time.Since(start), waited))
	}
	if err != nil && s.effect.Func != callToolEffect { // the refused call itself is audited
		err = s.failed(nil, err)
	}
	return out, err
}

// call has the executor carry out the effect. A panic becomes the error of the effect, and
// an error without a kind gets the kind Failed.
func (s *step) call(ctx context.Context) (out tool.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = s.of.Run.gate.panicked(s.effect.Func, s.effect.Func, v)
		}
	}()
	s.begun = true
	p := s.of
	ctx = p.contextFor(ctx, p.call.ID+"/"+strconv.Itoa(s.number), s.effect.StepPath)
	if s.asksModel() {
		p.wall.Pause() // waiting for a model does not count
		defer p.wall.Resume()
	}
	out, err = p.Run.gate.Execute(ctx, s.fn, s.effect, s.granted(ctx))
	return out, value.AsError(err, value.Failed)
}

// asksModel reports whether the effect is a request to a model.
func (s *step) asksModel() bool { return slices.ContainsFunc(s.takes, isModel) }

func isModel(c tool.Capability) bool { return c.Name == "model" }

// granted returns what the function of the effect may use while it runs.
func (s *step) granted(ctx context.Context) tool.Grant {
	p := s.of
	grant := tool.Grant{
		Call:      p.call,
		Check:     func(c tool.Capability) error { return s.check(ctx, c) },
		Narrowed:  p.rights.Narrowed,
		Stage:     &p.stage,
		ReadsOnly: p.rights.ReadsOnly(),
		Key:       p.Run.record.Key(s.effect.StepPath),
		Ask:       s.askPerson,
		Form:      s.forms(ctx),
		Sleep:     s.sleep,
		Emit:      func(r tool.Report) { s.emit(r) },
		Note: func(d *value.Dict) error {
			return p.Run.note(context.WithoutCancel(ctx), s.effect.StepPath, d)
		},
	}
	switch s.fn.Kind {
	case tool.Write:
		grant.Hold = func(n int64) error { return p.staged.Set(ctx, n) }
	case tool.Repeatable, tool.External:
		grant.Request = p.request
	}
	return grant
}

// emit sends what the function of an effect reports about its call.
func (s *step) emit(r tool.Report) {
	if d, ok := r.(tool.Display); ok {
		s.of.displayResult(d.Part)
		return
	}
	if log, ok := r.(tool.Log); ok {
		log.At = s.effect.Pos.String()
		if r = log; log.Note {
			s.of.noteResult(log.Message)
		}
	}
	s.of.emit(r)
}

// settle records the outcome of the effect, unless that stays pending.
func (s *step) settle(ctx context.Context, out tool.Outcome, err error) error {
	if s.fn.Kind == tool.Notice {
		return err
	}
	return s.conclude(ctx, out, err, false)
}

// effectDone returns the event of an effect that was carried out.
func effectDone(e tool.Effect, takes []tool.Capability, err error, took, waited time.Duration) tool.EffectDone {
	d := tool.EffectDone{Func: e.Func, Step: e.StepPath.String(), Capabilities: takes, Success: err == nil, Duration: took - waited, Waited: waited, At: e.Pos.String()}
	if err != nil {
		d.Error = value.ErrorOf(err, value.Failed).Message()
	}
	return d
}
