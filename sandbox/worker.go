package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
	"github.com/cassidy-run/cassidy/sandbox/internal/self"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// workerName is the name under which a worker is started. It need not be secret: whoever
// starts a program under it gets a process that reads frames and can do nothing.
const workerName = "cassidy-worker"

// Main makes a program able to be its own worker, and to supervise the commands that
// package sandbox/launch runs. It must be the first call of main. In a process that was
// started as a worker or for a command it does not return; otherwise it returns
// immediately. The modules hold the pure functions that scripts have: stdlib.Pure() and
// those of the program.
//
// In a program that does not call Main, [New] fails unless Workers.Program names another
// one: its workers would be copies of the complete program, and start workers of their own.
func Main(modules ...tool.Module) {
	launch.Main()
	if os.Args[0] != workerName {
		self.SetReady()
		return
	}
	in, out := workerEnds()
	if err := work(in, out, modules); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// workerEnds returns the files by which a worker is connected to its host. What this process prints
// from now on goes to standard error, so that nothing gets between the frames.
func workerEnds() (in, out *os.File) {
	in, out, os.Stdout = os.Stdin, os.Stdout, os.Stderr
	return in, out
}

// A worker is the worker's end of the connection, where scripts run. One goroutine uses it.
type worker struct {
	in     frameReader
	out    io.Writer
	buf    []byte // the frame that is being sent
	call   uint32 // the number of the call that is being answered
	seq    uint32
	engine *engine.Engine
	memory int64 // its budget
	meter  meter
	budget *budget // of the call
	script tool.Script
	trace  trace.Mode // of the call
	sent   int        // bytes that the call has sent
	broken error
}

// work answers frames until the host closes the connection. The first frame initializes the
// worker and seals it.
func work(in io.Reader, out io.Writer, pure []tool.Module) error {
	w := &worker{in: frameReader{from: in}, out: out}
	engine.Confine()
	warmUp()
	for {
		f, err := w.in.next()
		switch {
		case err == io.EOF:
			return nil // the host has ended, or needs the worker no longer
		case err != nil:
			return err
		case f.seq != 0:
			return errFrame
		case f.kind == sendInit && w.engine == nil:
			err = w.init(f, pure)
		case f.kind == sendInit || w.engine == nil:
			return errFrame
		default:
			err = w.answer(f)
			w.in.release(keepIdle)
		}
		if err != nil {
			return err
		}
	}
}

// init makes the engine and confines this process.
func (w *worker) init(f frame, pure []tool.Module) error {
	m := readFields(f.body)
	version, wanted := field[int64](&m), field[[]byte](&m)
	memory, confined, rows := field[int64](&m), field[bool](&m), field[value.List](&m)
	w.memory = memory
	w.begin(f.call)
	switch n := lacking(wanted, pure); {
	case version != protocol:
		return w.send(answerFailed, append(errorFields(errMismatch("the worker uses version %d of the protocol, expected version %d", protocol, version)), int64(0)))
	case n > 0:
		return w.send(answerFailed, append(errorFields(errMismatch("the worker does not have %d of the functions for scripts, or has different versions", n)), int64(0)))
	}
	if err := m.done(); err != nil {
		return err
	}
	effects, err := readRows(rows)
	if err != nil {
		return err
	}
	w.engine = engine.New(&engine.Options{Modules: append(pure[:len(pure):len(pure)], effects...)})
	confine := seal.Apply
	if !confined {
		confine = seal.ApplyAvailable
	}
	if err := confine(memory); err != nil {
		return err
	}
	return w.send(answerReady, value.List{})
}

// warmUp does what is done once, so that the first call need not wait for it. A spare does it
// before it is needed. It collects no garbage: that would take as long as the rest of a
// start, and the collector's own memory is as much as it frees.
func warmUp() {
	e := engine.New(nil)
	const star, lua = "def f():\n    \"F.\"\n    return 1\n\ntool(f, name = \"f\")\n", "return tool{description = \"F.\", handler = function() return 1 end}\n"
	for path, text := range map[string]string{"f.star": star, "f.lua": lua} {
		s := tool.Script{Path: path, Source: text}
		_, _ = e.Describe(s) // an error here occurs in every script, and is reported there
		_, _ = e.Run(context.Background(), s, tool.Call{Args: &value.Dict{}}, nil)
	}
}

// begin starts the answer to a frame of the host.
func (w *worker) begin(call uint32) { w.call, w.seq, w.sent, w.broken = call, 0, 0, nil }

// send sends a frame of the call.
func (w *worker) send(kind frameType, body value.List) error {
	w.seq++
	buf, err := appendFields(appendFrame(w.buf[:0], kind, w.call, w.seq), body)
	if err != nil {
		w.seq--
		return err
	}
	if err := endFrame(buf); err != nil {
		w.seq--
		return tooLong(err)
	}
	if w.sent += len(buf); kind == askEffect && w.sent > maxTraffic {
		w.seq--
		return tooLong(fmt.Errorf("the data sent by the call is larger than %d MB", maxTraffic>>20))
	}
	if cap(buf) <= keepIdle {
		w.buf = buf
	}
	_, err = w.out.Write(buf)
	if err != nil {
		w.broken = err
	}
	return err
}

func tooLong(err error) error {
	return value.Errorf(value.Limit, "%w", err).WithLimit(value.LimitTraffic)
}

// answer answers one request of the host. The error is one of the connection.
func (w *worker) answer(f frame) error {
	w.begin(f.call)
	body, err := w.do(f)
	if w.broken != nil {
		return w.broken
	}
	if err == nil {
		if err = w.send(answerDone, body); err == nil || w.broken != nil {
			return w.broken
		}
	}
	return w.send(answerFailed, append(errorFields(value.ErrorOf(err, value.Internal)), used(body)...))
}

// used returns what the call of an answer that failed used: its steps and its lines, if they were
// counted.
func used(body value.List) value.List {
	if len(body) == 0 {
		return value.List{int64(0)}
	}
	steps, ok := body[0].(int64)
	if !ok {
		return value.List{int64(0)}
	}
	if len(body) < 3 {
		return value.List{steps}
	}
	return value.List{steps, body[2]}
}

func (w *worker) do(f frame) (value.List, error) {
	switch f.kind {
	case sendDescribe:
		return w.describe(f.body)
	case sendLoad:
		s, err := readScript(f.body)
		if err != nil {
			return nil, err
		}
		w.script, w.meter = s, meter{} // no call is charged for compiling
		return value.List{}, w.engine.Compile(s)
	case sendCall:
		return w.run(f.body)
	default:
		return nil, errFrame
	}
}

// describe reads what scripts declare. The answer has an encoded tool or an error for each.
func (w *worker) describe(body []byte) (value.List, error) {
	scripts, err := readScripts(body)
	if err != nil {
		return nil, err
	}
	if len(scripts) > 1 {
		// The garbage of one file is small, and this worker runs nothing.
		debug.SetGCPercent(400)
	}
	list := make(value.List, len(scripts))
	for i, s := range scripts {
		var form []byte
		t, err := w.engine.Describe(s)
		if err == nil {
			form, err = pack.Append(nil, &t)
		}
		if list[i] = form; err != nil {
			list[i] = errorFields(value.ErrorOf(err, value.Internal))
		}
	}
	return list, nil
}

// run makes a call of the script. The first field of the answer is how many steps it took, and
// the third one has its lines if they are counted, also if it failed.
func (w *worker) run(body []byte) (value.List, error) {
	c, err := readCall(body)
	if err != nil {
		return nil, err
	}
	c.Limits.Memory, w.trace = w.memory, c.Trace
	ctx := w.meter.budget(c.Limits.CPU)
	w.budget = ctx
	out, err := w.engine.Run(w.reporting(ctx), w.script, c, w.effect)
	now := time.Now()
	w.meter.unread += now.Sub(ctx.start)
	answer := value.List{out.Usage.Steps, out.Value}
	if c.Trace.Has(trace.Lines) {
		lines, failure := linesField(out.Lines)
		if failure != nil {
			return nil, failure
		}
		answer = append(answer, lines)
	}
	if ctx.look(now); err == nil && ctx.over != nil {
		err = ctx.over // a result that comes too late does not count
	}
	return answer, err
}

// A budget is the context of a call. It ends when the process has used so much processor
// time; the time of the host does not count. It has no timer, which would cost more than
// most calls do: the engine calls Err often.
type budget struct {
	context.Context
	start   time.Time
	cpu     time.Duration
	ends    time.Duration // on the clock of the process; 0: never
	enough  time.Time     // when the time can be used up at the earliest
	threads time.Duration // how many can compute in parallel
	over    *value.Error
}

// A meter reads the clock of the process, which takes a system call. Several short calls
// share one reading: a call may be charged for what the calls before it have computed, at
// most a hundredth of its budget for each thread, and is never charged too little.
type meter struct {
	looked time.Duration // the last reading
	unread time.Duration // how long the calls since then have taken
}

// maxUnread is how long calls may take together between two readings.
const maxUnread = time.Millisecond

// budget begins a call with so much processor time; 0 is no limit.
func (m *meter) budget(cpu time.Duration) *budget {
	b := &budget{Context: context.Background(), start: time.Now(), cpu: cpu}
	if cpu > 0 {
		if m.looked == 0 || m.unread > min(maxUnread, cpu/100) {
			m.looked, m.unread = processTime(), 0
		}
		b.ends = m.looked + cpu
		b.threads = time.Duration(runtime.GOMAXPROCS(0))
		b.enough = b.start.Add(cpu / b.threads)
	}
	return b
}

// Err reports whether the time is used up.
func (b *budget) Err() error {
	b.look(time.Now())
	if b.over == nil {
		return nil
	}
	return b.over
}

// look ends the call if its time is used up. It reads the clock of the process only if the
// time can be used up: the wall clock takes no system call.
func (b *budget) look(now time.Time) {
	if b.over != nil || b.ends == 0 || now.Before(b.enough) {
		return
	}
	left := b.ends - processTime()
	b.enough = now.Add(left / b.threads)
	if left < 0 {
		b.over = cpuError(b.cpu)
	}
}

func cpuError(budget time.Duration) *value.Error {
	return value.Errorf(value.Limit, "the script used more than %v of CPU time", budget).WithLimit(value.LimitCPU).
		WithHint("do less in one call, replace long loops with builtin functions, or declare limits = {\"cpu\": …}")
}

// effect asks the host for one effect and waits for its outcome.
func (w *worker) effect(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	if w.broken != nil {
		return tool.Outcome{}, w.broken
	}
	head := value.List{e.Func}
	if w.trace.Has(trace.Calls) {
		head = append(head, positionFields(e.Pos)...)
	}
	if err := w.send(askEffect, withArgs(e.Args, head...)); err != nil {
		return tool.Outcome{}, err
	}
	f, err := w.in.next()
	if err != nil {
		return tool.Outcome{}, w.fail(err)
	}
	w.seq++
	if f.kind != sendReply || f.call != w.call || f.seq != w.seq {
		return tool.Outcome{}, w.fail(errFrame)
	}
	if e.Func == nextInput {
		w.sent, w.meter = 0, meter{}
		*w.budget = *w.meter.budget(w.budget.cpu)
	}
	m := readFields(f.body)
	w.in.release(keepCalling) // the script needs the memory
	if field[bool](&m) {
		v := m.value()
		if err := m.done(); err != nil {
			return tool.Outcome{}, w.fail(err)
		}
		return tool.Outcome{Value: v}, nil
	}
	failure := readError(&m)
	if err := m.done(); err != nil {
		return tool.Outcome{}, w.fail(err)
	}
	return tool.Outcome{}, failure
}

// fail ends the connection, and returns an error that no script can catch.
func (w *worker) fail(err error) error {
	w.broken = err
	if errors.Is(err, io.EOF) {
		w.broken = io.ErrUnexpectedEOF
	}
	return value.Errorf(value.Canceled, "the host process has exited")
}
