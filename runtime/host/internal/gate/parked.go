package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	hints "github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Why a run is parked: the Limit of the error, and the reason in its record.
const (
	reasonQuestion       value.LimitName = "question"
	reasonApproval       value.LimitName = "approval"
	reasonSleep          value.LimitName = "sleep"
	reasonUnknownOutcome value.LimitName = "unknown_outcome"

	// The following are reasons only: the error keeps its own Limit, except that of an
	// interruption.
	reasonUnavailable value.LimitName = "unavailable"
	reasonRate        value.LimitName = value.LimitRate
	reasonLimit       value.LimitName = "limit"
	reasonCeiling     value.LimitName = "ceiling" // of what its requests to models use
	reasonDisk        value.LimitName = value.LimitDisk
	reasonReadOnly    value.LimitName = value.LimitReadOnly
	reasonRule        value.LimitName = value.LimitRule
	ReasonTool        value.LimitName = value.LimitTool
	reasonInterrupted value.LimitName = history.Interrupted
)

// Repairable returns why a run that fails with e is parked: its environment has failed, and
// the run can continue once that is repaired. It is "" for a failure that ends the run, such
// as one of its script, or a refusal by a person.
func Repairable(e *value.Error) value.LimitName {
	switch e.Limit {
	case value.LimitRecord, value.LimitWorker, value.LimitInterrupted:
		return "" // see [history.Interrupted]
	case value.LimitRate:
		return reasonRate
	case value.LimitUsage:
		return reasonCeiling
	case value.LimitDisk:
		return reasonDisk
	case value.LimitReadOnly, value.LimitRule, value.LimitTool:
		return e.Limit
	case value.LimitUnsent:
		return reasonUnavailable
	case value.LimitHTTP:
		if e.Kind == value.Timeout {
			return reasonUnavailable
		}
	case value.LimitSteps, value.LimitCPU, value.LimitMemory, value.LimitWall, value.LimitEffects, value.LimitCall:
		if e.Kind == value.Limit { // another attempt may stay below it
			return reasonLimit
		}
	}
	switch {
	case e.Limit.Secret() != "":
		return e.Limit
	case e.Kind == value.Unavailable:
		return reasonUnavailable
	}
	return ""
}

// isEnvironment reports whether a repairable failure is one of what a call depends on, such as a disk or a server,
// and not of its own: a rule, a tool that cannot be used, or a limit that it has reached.
func isEnvironment(e *value.Error) bool {
	switch Repairable(e) {
	case "", reasonLimit, reasonRule, ReasonTool:
		return false
	}
	return true
}

// filesChanged reports whether a call failed because a file was changed meanwhile, and did nothing: it
// can be repeated.
func filesChanged(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e != nil && e.Limit == value.LimitChanged
}

// ParkedBy returns the error of a run that the failure e has parked.
func ParkedBy(run string, why value.LimitName, e *value.Error) *value.Error {
	parked := *e
	parked.Err = &history.ParkedError{Run: run, Reason: string(why), Err: e.Err}
	switch repair := history.Repair(string(why)); {
	case why == reasonCeiling:
		parked.Hint = strings.Replace(parked.Hint, "--max-", "cassidy runs resume "+run+" --max-", 1)
		return &parked
	case parked.Hint == "":
		parked.Hint = repair
	case why == ReasonTool && !strings.Contains(parked.Hint, "cassidy trust") && !strings.Contains(parked.Hint, "cassidy mcp review"):
		parked.Hint = repair + "; " + parked.Hint
	}
	own, inGo, found := strings.Cut(parked.Hint, "; in Go, ") // the command shows what is before
	if parked.Hint = own + "; then: cassidy runs resume " + run; found {
		parked.Hint += "; in Go, " + inGo
	}
	return &parked
}

// interruption returns the error of a run that e has interrupted, with a hint how to resume
// it.
func interruption(run string, e *value.Error) *value.Error {
	e = e.WithHint("to continue: cassidy runs resume %s", run)
	if e.Kind == value.Canceled || e.Kind == value.Timeout {
		e.Limit = value.LimitInterrupted
	}
	return e
}

// resumeHint says what to type.
func resumeHint(e *history.ParkedError) string {
	switch n := len(e.Questions); {
	case n > 1:
		text := fmt.Sprintf("cassidy runs show %[1]s lists the questions; cassidy runs answer %[1]s STEP yes", e.Run)
		if slices.ContainsFunc(e.Questions, allowable) {
			text += fmt.Sprintf("; to allow one from now on: cassidy runs answer %s STEP --rule", e.Run)
		}
		return text
	case n == 0:
		return fmt.Sprintf("cassidy runs resume %s", e.Run)
	case e.Questions[0].Form != nil:
		return fmt.Sprintf("cassidy runs answer %s asks for each field; cassidy runs answer %s no declines", e.Run, e.Run)
	case e.Questions[0].Kind == tool.QuestionAsk:
		return fmt.Sprintf("cassidy runs answer %s --text \"…\"", e.Run)
	case slices.Contains(e.Questions[0].Capabilities, taint.Notes): // a yes without a look would keep a text that nobody has read
		return fmt.Sprintf("cassidy runs answer %s shows the note and asks you", e.Run)
	case allowable(e.Questions[0]):
		return fmt.Sprintf("cassidy runs answer %[1]s yes; to allow it from now on: cassidy runs answer %[1]s --rule", e.Run)
	}
	text := fmt.Sprintf("cassidy runs answer %s yes", e.Run)
	if sources := e.Questions[0].Sources; len(sources) > 0 {
		text += "; " + hints.Trust(sources)
	}
	return text
}

// allowable reports whether rules can answer a question, now or at each effect of the call.
func allowable(q tool.Question) bool { return len(q.Rules) > 0 || q.Each }

// waits collect what a run waits for: questions, times and repairs. The zero value is ready to
// use, and safe for concurrent use.
type waits struct {
	mu     sync.Mutex
	error  *history.ParkedError // nil while it waits for nothing
	failed []parkFailure

	Recorded bool // set by its owner at the end of the run, if the run is recorded as parked
}

// A parkFailure is the outcome of an effect that failed because of its environment, such as a full
// disk, see [Repairable]. It is recorded when the script continues. If the run ends with it
// instead, the run is parked, and the effect is tried again on resume.
type parkFailure struct {
	StepPath tool.StepPath
	Err      error
	Record   func(ctx context.Context) error
	until    time.Time // before which the server that failed does not want to be asked again, or zero
}

// Fail adds a failure that is not recorded yet.
func (w *waits) Fail(f parkFailure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := value.ErrorOf(f.Err, value.Failed); e != nil && e.After > 0 {
		f.until = time.Now().Add(e.After)
	}
	w.failed = append(w.failed, f)
}

// Failed returns the first failure that is not recorded yet, if there is one.
func (w *waits) Failed() (f parkFailure, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.failed) == 0 {
		return f, false
	}
	return w.failed[0], true
}

// Settle records the failures at a step path and below it, the effects of a call before the
// one that has made the call. The script that could catch them continues.
func (w *waits) Settle(ctx context.Context, at tool.StepPath) error {
	w.mu.Lock()
	var settled []parkFailure
	w.failed = slices.DeleteFunc(w.failed, func(f parkFailure) bool {
		below := len(f.StepPath) >= len(at) && slices.Equal(f.StepPath[:len(at)], at)
		if below {
			settled = append(settled, f)
		}
		return below
	})
	w.mu.Unlock()
	for _, f := range settled {
		if err := f.Record(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Add adds a question, or a time if q is nil, and returns the error for the effect that waits.
func (w *waits) Add(run string, why value.LimitName, q *tool.Question, until time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &history.ParkedError{Run: run, Reason: string(why), Until: until}
	if q != nil {
		one.Questions = []tool.Question{*q}
	}
	if w.error == nil {
		w.error = &history.ParkedError{Run: run}
	}
	all := w.error
	if all.Reason == "" || all.Reason == string(reasonSleep) {
		all.Reason = one.Reason // a question is more useful: somebody can answer it
	}
	all.Questions = append(all.Questions, one.Questions...)
	if !until.IsZero() && (all.Until.IsZero() || until.Before(all.Until)) {
		all.Until = until
	}
	return Waits(one)
}

// Repair adds a failure of the environment, see [Repairable], with which no script can go on. It
// returns the error for the effect, or nil if err is no such failure.
func (w *waits) Repair(run string, err error) error {
	failure := value.ErrorOf(err, value.Failed)
	if failure == nil || Repairable(failure) == "" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &history.ParkedError{Run: run, Reason: string(Repairable(failure)), Err: failure}
	if w.error == nil || w.error.Reason == string(reasonSleep) {
		w.error = one
	}
	return Waits(one)
}

// Waits returns the error of a run that waits, with what to do.
func Waits(e *history.ParkedError) *value.Error {
	return &value.Error{Kind: value.Parked, Err: e, Limit: value.LimitName(e.Reason), Hint: resumeHint(e)}
}

// Parked returns the error of everything that the run waits for, or nil.
func (w *waits) Parked() *value.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.error == nil {
		return nil
	}
	all := *w.error
	if failure, ok := all.Err.(*value.Error); ok && len(all.Questions) == 0 {
		e := ParkedBy(all.Run, value.LimitName(all.Reason), failure)
		e.Limit = value.LimitName(all.Reason)
		return e
	}
	return Waits(&all)
}

// Wake returns when the run continues by itself; zero means never, or after the usual time for a
// failure.
func (w *waits) Wake() (at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.error != nil {
		return w.error.Until
	}
	for _, f := range w.failed {
		if f.until.After(at) {
			at = f.until
		}
	}
	return at
}
