package sandbox

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A child is the host's end of one worker. One goroutine at a time uses it;
// only kill may be called from others.
type child struct {
	process   *os.Process
	link      *os.File // the socket, or what is written to where there is none
	answers   *os.File // what is read from where there is no socket, else nil
	says      *os.File // its standard error
	in        frameReader
	buf       []byte // of the frame that is being sent
	memory    int64  // its budget
	supply    int64  // how much a call may be sent
	born      time.Time
	idleSince time.Time // when it was last put back
	domain    domain    // what it is used for
	loaded    bool      // it has the domain's script
	waited    bool      // the process is gone

	call  uint32
	seq   uint32
	moved [2]int64 // bytes of the request, out and in
	over  bool     // it was told what ends its call
	fatal bool     // and that is the death of another worker
	watch watch

	mu    sync.Mutex
	cause *value.Error // why it was killed
	dead  bool         // killed, or seen to be gone
}

// startTime is how long a worker may take to be ready: hundreds of times what
// it takes.
const startTime = 10 * time.Second

// prepare sends the effects of a job to a new worker, and waits until it is ready and has sealed
// itself. Where it must be confined, prepare verifies that from outside.
func (c *child) prepare(j job, confined bool) error {
	c.memory = j.memory
	late := time.AfterFunc(startTime, func() { c.kill(errLate()) })
	a, err := c.request(sendInit, value.List{int64(protocol), j.pure, j.memory, confined, j.rows}, nil)
	switch {
	case !late.Stop() && err == nil:
		err = errLate() // it is about to be killed
	case err == nil && a.failed != nil && a.failed.Kind == value.Invalid:
		return a.failed // it is another program's worker
	case err == nil && a.failed != nil:
		err = a.failed
	case err == nil && confined:
		if err = verify(c.process.Pid); err != nil && c.hasEnded() {
			err = c.lost() // there was nothing left to verify
		}
	}
	if err == nil {
		return nil
	}
	e := value.Errorf(value.Unavailable, "a worker cannot be started: %w", err)
	if cause := value.ErrorOf(err, value.Internal); cause.Limit == value.LimitWorker {
		e.Limit, e.Hint = cause.Limit, cause.Hint
	}
	return e
}

func errLate() *value.Error {
	return value.Errorf(value.Unavailable, "the worker was not ready after %v", startTime)
}

// An answer is what a worker makes of a request: fields, or why it could not
// and after how many steps.
type answer struct {
	fields
	failed *value.Error
	steps  int64
}

// request sends a frame and waits for the answer. What the worker asks for
// meanwhile goes to serve. The error is one of the connection: the worker is
// not to be used again.
func (c *child) request(kind frameType, body value.List, serve func(name string, args *value.Dict) value.List) (answer, error) {
	c.call++
	c.seq, c.moved, c.over, c.fatal = 0, [2]int64{}, false, false
	defer func() {
		if cap(c.buf) > keepIdle {
			c.buf = nil
		}
	}()
	if err := c.send(kind, body); err != nil {
		return answer{}, err
	}
	for {
		f, err := c.next()
		if err != nil {
			return answer{}, err
		}
		m := readFields(f.body)
		c.in.release(keepIdle)
		switch {
		case f.kind == sayReady && kind == sendInit, f.kind == sayDone && kind != sendInit:
			return answer{fields: m}, nil
		case f.kind == sayFailed:
			failed, steps := readError(&m), field[int64](&m)
			if err := m.done(); err != nil {
				return answer{}, c.violation(err.Error())
			}
			if failed.Limit == value.LimitWorker && !c.fatal {
				failed.Limit = "" // only the host knows that a worker was killed
			}
			return answer{m, failed, steps}, nil
		case f.kind != askEffect || serve == nil || c.over:
			return answer{}, c.violation("a frame out of turn")
		}
		name := field[string](&m)
		args := m.args()
		if err := m.done(); err != nil {
			return answer{}, c.violation(err.Error())
		}
		if err := c.reply(serve(name, args)); err != nil {
			return answer{}, err
		}
	}
}

// reply tells the worker what came of an effect. What cannot be told is its
// failure; where that cannot be told either, the call has had its share.
func (c *child) reply(body value.List) error {
	err := c.send(sendReply, body)
	if err == nil {
		return nil
	}
	var unsent *notSent
	if errors.As(err, &unsent) {
		err = c.send(sendReply, c.failure(unsent.error))
	}
	if errors.As(err, &unsent) {
		c.kill(value.ErrorOf(unsent.error, value.Internal))
		return c.lost()
	}
	return err
}

// failure is the reply that an effect has failed.
func (c *child) failure(err error) value.List {
	e := value.ErrorOf(err, value.Internal)
	// What ends a script in the engine, whatever it does about it: an honest
	// worker asks for nothing more. A hostile one would keep us busy.
	c.over = c.over || !e.Catchable()
	c.fatal = c.fatal || e.Limit == value.LimitWorker
	return append(value.List{false}, errorFields(e)...)
}

// unless is a violation where a message could not be read to its end.
func (c *child) unless(m *fields) error {
	if err := m.done(); err != nil {
		return c.violation(err.Error())
	}
	return nil
}

// send sends one frame; from then on it is the worker's turn.
func (c *child) send(kind frameType, body value.List) error {
	buf, err := appendFields(appendFrame(c.buf[:0], kind, c.call, c.seq), body)
	if err == nil {
		err = endFrame(buf)
	}
	if err == nil && c.moved[0]+int64(len(buf)) > c.supply {
		err = tooLong(errTraffic(c.supply))
	}
	if err != nil {
		return &notSent{err}
	}
	c.moved[0] += int64(len(buf))
	c.seq++
	if cap(buf) <= keepCalling {
		c.buf = buf
	}
	c.watch.begin()
	if _, err := c.link.Write(buf); err != nil {
		return c.lost()
	}
	return nil
}

// next reads the worker's frame; then it is the host's turn.
func (c *child) next() (frame, error) {
	f, err := c.in.next()
	c.watch.end()
	switch {
	case err == errFrame:
		return f, c.violation("no frame")
	case err != nil, c.gone():
		return f, c.lost() // what it said before it was killed does not count
	case f.call != c.call || f.seq != c.seq:
		return f, c.violation("a frame of another call")
	}
	c.seq++
	if c.moved[1] += int64(len(f.body)); c.moved[1] > maxTraffic+maxFrame {
		return f, c.violation("too much for one call")
	}
	return f, nil
}

// violation kills a worker that broke the protocol, which no honest one can.
func (c *child) violation(what string) error {
	err := value.Errorf(value.Security, "the tool's worker broke the protocol (%s)", what)
	c.kill(err)
	return &broken{err}
}

// A broken worker has done what no script can make an honest one do.
type broken struct{ error }

func (b *broken) Unwrap() error { return b.error }

// kill ends the worker; cause is what its user is told.
func (c *child) kill(cause *value.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	c.dead, c.cause = true, cause
	_ = c.process.Kill() // it may have ended by itself
}

// hasEnded reports whether a worker whose turn it is not has ended.
func (c *child) hasEnded() bool {
	if err := c.link.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		return false
	}
	_, err := c.link.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// cpu and rss are what the worker uses, where this system tells.
func (c *child) cpu() (time.Duration, bool) { return cpuTime(c.process.Pid) }
func (c *child) rss() (int64, bool)         { return rss(c.process.Pid) }

// gone reports whether the worker was killed, or seen to be gone.
func (c *child) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// closeTime is how long a worker that has closed its connection may take to end.
const closeTime = time.Second

// lost finds out why the connection to the worker ended. A worker that still
// runs is killed a little later, so that a signal of the host is not mistaken
// for one from outside.
func (c *child) lost() error {
	c.watch.end()
	late := time.AfterFunc(closeTime, func() {
		c.kill(value.Errorf(value.Unavailable, "the tool's worker closed its connection").WithHint("call the tool again"))
	})
	state, waitErr := c.process.Wait()
	late.Stop()
	c.waited = true
	c.kill(nil) // it has ended: this only keeps the cause as it is
	if c.cause != nil {
		return c.cause
	}
	if waitErr != nil {
		state = nil // somebody else has waited for it: how it ended is not known
	}
	err := c.epitaph(state, c.lastWords())
	if c.moved[1] == 0 && value.KindOf(err) == value.Unavailable {
		return &diedIdle{err}
	}
	return err
}

// maxWords is how much of a worker's standard error is read.
const maxWords = 16 << 10

// lastWords returns what the worker wrote to its standard error. It must have
// ended.
func (c *child) lastWords() string {
	words, err := io.ReadAll(io.LimitReader(c.says, maxWords))
	if err != nil {
		return ""
	}
	return string(words)
}

// epitaph says why a worker ended of which nobody asked it. The state is nil
// where it is not known.
func (c *child) epitaph(state *os.ProcessState, words string) error {
	switch {
	case state != nil && forbiddenCall(state):
		return &broken{value.Errorf(value.Security, "the tool's worker made a system call that is forbidden to it")}
	case strings.Contains(words, "out of memory"), strings.Contains(words, "cannot allocate memory"),
		// More than there are addresses for is a panic and not an error.
		strings.HasPrefix(words, "panic: runtime error: makeslice: "), strings.HasPrefix(words, "panic: runtime error: growslice: "):
		return memoryError(c.memory)
	case strings.Contains(words, "stack exceeds"):
		e := value.Errorf(value.Limit, "the script nests deeper than the memory that it may use allows")
		e.Limit = value.LimitMemory
		return e
	}
	if state != nil && killedFromOutside(state) {
		if state.UserTime()+state.SystemTime() >= maxWorkerCPU { // the kernel did it
			return cpuError(maxWorkerCPU)
		}
		e := value.Errorf(value.Unavailable, "the process that ran the script was killed from outside (%v)", state).
			WithHint("call the tool again; if it is killed again, look for what kills it, such as the kernel when memory runs out")
		e.Limit = value.LimitWorker
		return e
	}
	line, _, _ := strings.Cut(value.Clean(words, 200), "\n")
	if line != "" {
		line = ": " + line
	}
	if strings.HasPrefix(words, "panic: ") {
		return value.Errorf(value.Internal, "the script made its interpreter crash%s", line) // and would again
	}
	return value.Errorf(value.Unavailable, "the tool's worker ended unexpectedly (%v)%s", state, line).WithHint("call the tool again")
}

func memoryError(budget int64) *value.Error {
	e := value.Errorf(value.Limit, "the script used more than %d MB of memory", budget>>20)
	e.Limit = value.LimitMemory
	return e.WithHint("keep less at a time, or declare limits = {\"memory\": …}")
}

// close ends the worker and gives back what it held.
func (c *child) close() {
	c.watch.end()
	c.kill(nil)
	if !c.waited {
		_, _ = c.process.Wait() // it has been killed
		c.waited = true
	}
	closeAll(c.link, c.answers, c.says)
}
