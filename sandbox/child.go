package sandbox

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
)

// A child is the host's end of one worker. It is not safe for concurrent use, except for
// kill and gone.
type child struct {
	process   *os.Process
	to        *os.File // its standard input
	from      *os.File // its standard output
	stderr    *os.File
	in        frameReader
	buf       []byte     // the frame that is being sent
	buffers   *sync.Pool // of *[]byte, for frames that are larger than a worker keeps; or nil
	memory    int64      // its budget
	supply    int64      // bytes that may be sent to it in one call
	born      time.Time
	idleSince time.Time // when it became idle
	domain    domain    // what it is used for
	loaded    bool      // it has the script of its domain
	waited    bool      // the process has been waited for

	calls int    // so many requests were sent
	call  uint32 // the request: at random, so that what a worker sends while it is idle belongs to none
	seq   uint32
	moved [2]int64 // bytes of the request, out and in
	over  bool     // it has got an error that ends its call
	fatal bool     // and that error is the death of another worker
	watch watch

	answered func() // called when an effect has been answered, or nil

	mu    sync.Mutex
	cause *value.Error // why it was killed
	dead  bool         // killed, or found to have ended
}

// startTime is how long a worker may take to be ready: hundreds of times what it usually
// takes.
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
		if err = seal.Verify(c.process.Pid); err != nil && c.hasEnded() {
			err = c.lost() // there was nothing left to verify
		}
	}
	if err == nil {
		return nil
	}
	e := errStart(err)
	switch cause := value.ErrorOf(err, value.Internal); cause.Limit {
	case value.LimitWorker:
		e.Limit, e.Hint = cause.Limit, cause.Hint
	case value.LimitMemory: // no script has run yet
		return errStart(errors.New("out of memory")).WithHint(freeMemory)
	}
	return e
}

const freeMemory = "free memory, or end other processes"

func errStart(err error) *value.Error {
	e := value.Errorf(value.Unavailable, "start worker: %w", err)
	if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN) {
		return e.WithHint(freeMemory)
	}
	return e.WithHint("check the system with: cassidy doctor; in Go, check Workers.Program")
}

func errLate() *value.Error {
	return value.Errorf(value.Unavailable, "the worker was not ready after %v", startTime)
}

// An answer is the answer of a worker to a request: fields, or an error and the steps until
// then.
type answer struct {
	fields
	failed *value.Error
	steps  int64
	lines  []byte // of a call that failed, if they were counted
}

// request sends a frame and waits for the answer. Effects that the worker asks for meanwhile
// go to serve, whose error is that of an invalid message. The error of request is one of the connection: the worker must not be used again.
func (c *child) request(kind frameType, body value.List, serve func(ask *fields) (value.List, error)) (answer, error) {
	c.calls++
	c.call = rand.Uint32()
	c.seq, c.moved, c.over, c.fatal = 0, [2]int64{}, false, false
	defer c.shelve()
	if err := c.send(kind, body); err != nil {
		return answer{}, err
	}
	for {
		f, err := c.next()
		if err != nil {
			return answer{}, err
		}
		m := c.in.fieldsOf(f)
		switch {
		case f.refused != nil && f.kind == askEffect && serve != nil:
			if err := c.reply(c.failure(f.refused)); err != nil {
				return answer{}, err
			}
			continue
		case f.refused != nil:
			return answer{failed: value.ErrorOf(f.refused, value.Limit)}, nil
		case f.kind == answerReady && kind == sendInit, f.kind == answerDone && kind != sendInit:
			return answer{fields: m}, nil
		case f.kind == answerFailed:
			failed, steps := readError(&m), field[int64](&m)
			var lines []byte
			if kind == sendCall && m.more() {
				lines = field[[]byte](&m)
			}
			if err := m.done(); err != nil {
				return answer{}, c.violation(err.Error())
			}
			if failed.Limit == value.LimitWorker && !c.fatal {
				failed.Limit = "" // only the host knows that a worker was killed
			}
			return answer{m, failed, steps, lines}, nil
		case f.kind != askEffect || serve == nil:
			return answer{}, c.violation(errUnexpected.Error())
		}
		reply, err := serve(&m)
		if err != nil {
			return answer{}, c.violation(err.Error())
		}
		err = c.reply(reply)
		c.shelve()
		if err != nil {
			return answer{}, err
		}
		if c.answered != nil {
			c.answered()
		}
	}
}

// reply sends the worker the outcome of an effect. An outcome that cannot be sent is sent as
// an error. If that cannot be sent either, the call has used up what it may be sent, and the
// worker is killed.
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
	// An error that no script can catch ends the script: an honest worker asks for no
	// further effect, and a hostile one gets none.
	c.over = c.over || !e.Catchable()
	c.fatal = c.fatal || e.Limit == value.LimitWorker
	return append(value.List{false}, errorFields(e)...)
}

// unless returns a violation if a message was not read to its end.
func (c *child) unless(m *fields) error {
	if err := m.done(); err != nil {
		return c.violation(err.Error())
	}
	return nil
}

// shelve gives a large buffer to whichever worker of the pool is next sent a message.
func (c *child) shelve() {
	if cap(c.buf) <= keepIdle {
		return
	}
	if buf := c.buf; c.buffers != nil {
		c.buffers.Put(&buf)
	}
	c.buf = nil
}

// send sends one frame; from then on it is the worker's turn.
func (c *child) send(kind frameType, body value.List) error {
	if c.buf == nil && c.buffers != nil {
		if shelved, ok := c.buffers.Get().(*[]byte); ok {
			c.buf = *shelved
		}
	}
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
	if _, err := c.to.Write(buf); err != nil {
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
		return f, c.violation("invalid message frame")
	case err != nil, c.gone():
		return f, c.lost() // what it sent before it was killed does not count
	case f.call != c.call || f.seq != c.seq:
		return f, c.violation("the message belongs to another call")
	}
	c.seq++
	if c.moved[1] += int64(f.size); c.moved[1] > maxTraffic+maxFrame {
		return f, c.violation("the messages of one call are too large")
	}
	return f, nil
}

// violation kills a worker that broke the protocol, which no honest one can.
func (c *child) violation(what string) error {
	err := value.Errorf(value.Security, "the tool's worker violated the protocol: %s", what)
	c.kill(err)
	return &broken{err}
}

// A broken worker has done what no script can make an honest one do.
type broken struct{ error }

func (b *broken) Unwrap() error { return b.error }

// kill ends the worker. cause is the error of its call.
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
	if err := c.from.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		return false
	}
	_, err := c.from.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// cpu and rss are what the worker uses, and whether that is known.
func (c *child) cpu() (time.Duration, bool) { return seal.CPUTime(c.process.Pid) }
func (c *child) rss() (int64, bool)         { return seal.Memory(c.process.Pid) }

// gone reports whether the worker was killed, or has been found to have ended.
func (c *child) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// closeTime is how long a worker that has closed its connection may take to end.
const closeTime = time.Second

// lost returns why the connection to the worker ended. A worker that still runs is killed
// after closeTime, so that a signal of the host is not mistaken for one from outside. It may be about to end by itself, and
// have written why.
func (c *child) lost() error {
	c.watch.end()
	closed := value.Errorf(value.Unavailable, "the tool's worker closed its connection").WithHint("call the tool again")
	late := time.AfterFunc(closeTime, func() { c.kill(closed) })
	state, waitErr := c.process.Wait()
	late.Stop()
	c.waited = true
	c.kill(nil) // it has ended: this only marks it as dead
	if c.cause != nil && c.cause != closed {
		return c.cause
	}
	if waitErr != nil {
		state = nil // another caller has waited for it: how it ended is unknown
	}
	err := c.exitError(state, c.readStderr())
	if c.cause == closed && value.KindOf(err) == value.Unavailable {
		return closed
	}
	if c.moved[1] == 0 && value.KindOf(err) == value.Unavailable {
		return &diedIdle{err}
	}
	return err
}

// maxStderr is how much of a worker's standard error is read, in bytes.
const maxStderr = 16 << 10

// readStderr returns what the worker has written to its standard error. It must have
// ended.
func (c *child) readStderr() string {
	text, err := io.ReadAll(io.LimitReader(c.stderr, maxStderr))
	if err != nil {
		return ""
	}
	return string(text)
}

// exitError returns why a worker ended that was not killed by its host. The state is nil if
// it is unknown.
func (c *child) exitError(state *os.ProcessState, stderr string) error {
	switch {
	case state != nil && forbiddenCall(state):
		return &broken{value.Errorf(value.Security, "the tool's worker made a forbidden system call")}
	case strings.Contains(stderr, "out of memory"), strings.Contains(stderr, "cannot allocate memory"),
		strings.Contains(stderr, "mustMalloc"), // of libc, in a program that links SQLite
		// To ask for more than there are addresses is a panic and not an error.
		strings.HasPrefix(stderr, "panic: runtime error: makeslice: "), strings.HasPrefix(stderr, "panic: runtime error: growslice: "):
		return memoryError(c.memory)
	case strings.Contains(stderr, "stack exceeds"):
		return value.Errorf(value.Limit, "the script's calls are nested too deeply: stack limit exceeded").WithLimit(value.LimitMemory)
	}
	if state != nil && killedFromOutside(state) {
		if state.UserTime()+state.SystemTime() >= seal.MaxCPU { // the kernel did it
			return cpuError(seal.MaxCPU)
		}
		return value.Errorf(value.Unavailable, "the script's worker process was killed by another process or the kernel: %v", state).WithLimit(value.LimitWorker).
			WithHint("call the tool again; if the worker is killed again, check the kernel log for an out-of-memory kill")
	}
	line, _, _ := strings.Cut(value.Clean(stderr, 200), "\n")
	if line != "" {
		line = ": " + line
	}
	if strings.HasPrefix(stderr, "panic: ") {
		return value.Errorf(value.Internal, "the script crashed the interpreter%s", line). // and would again
													WithHint("change the script, and report this error: no script should crash the interpreter")
	}
	return value.Errorf(value.Unavailable, "the tool's worker exited unexpectedly: %v%s", state, line).
		WithHint("call the tool again; if the worker exits again, free memory on this machine")
}

func memoryError(budget int64) *value.Error {
	return value.Errorf(value.Limit, "the script used more than %d MB of memory", budget>>20).WithLimit(value.LimitMemory).
		WithHint("process less data at a time, or declare limits = {\"memory\": …}")
}

// close ends the worker and releases its files.
func (c *child) close() {
	c.watch.end()
	c.kill(nil)
	if !c.waited {
		_, _ = c.process.Wait() // it has been killed
		c.waited = true
	}
	closeAll(c.to, c.from, c.stderr)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // nothing is buffered that could be lost
		}
	}
}
