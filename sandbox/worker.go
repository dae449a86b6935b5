package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// workerName is what a worker finds as its own name. It is no secret: who
// starts a program under it gets a process that reads frames and can do nothing.
const workerName = "cassidy-worker"

// ready says that Main has run, and so that this program can be its own worker.
var ready atomic.Bool

// Main makes a program able to be a worker of its own: it must be the first
// thing that its main does. In a worker it runs scripts until the host goes,
// and does not return; else it returns at once. The modules are the pure
// functions that scripts have, stdlib.Pure() and whatever a program lends
// beside them.
//
// A program that does not call it cannot use [New]: its workers would be
// copies of the whole program, and start workers of their own.
func Main(modules ...tool.Module) {
	if launchMain() {
		os.Exit(0)
	}
	if os.Args[0] != workerName {
		ready.Store(true)
		return
	}
	in, out, err := workerEnds()
	if err == nil {
		err = work(in, out, modules)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A worker is the end of the socket at which scripts run.
type worker struct {
	in     frameReader
	out    io.Writer
	buf    []byte // of the frame that is being sent
	call   uint32 // the one that is being answered
	seq    uint32
	engine *engine.Engine
	memory int64 // its budget
	meter  meter
	script tool.Script
	sent   int // bytes of the call, out
	broken error
}

// work answers frames until there are no more. The first makes the worker what
// it is, and seals it.
func work(in io.Reader, out io.Writer, pure []tool.Module) error {
	w := &worker{in: frameReader{from: in}, out: out}
	engine.Confine()
	warmUp()
	for {
		f, err := w.in.next()
		switch {
		case err == io.EOF:
			return nil // the host has gone, or has no more use for it
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

// init makes the engine and gives up every power.
func (w *worker) init(f frame, pure []tool.Module) error {
	m := readFields(f.body)
	version, wanted := field[int64](&m), field[[]byte](&m)
	memory, confined, rows := field[int64](&m), field[bool](&m), field[value.List](&m)
	w.memory = memory
	w.begin(f.call)
	switch n := lacking(wanted, pure); {
	case version != protocol:
		return w.send(sayFailed, append(errorFields(errMismatch("the worker speaks version %d of the protocol, and not %d", protocol, version)), int64(0)))
	case n > 0:
		return w.send(sayFailed, append(errorFields(errMismatch("the worker lacks %d of the functions that scripts have, or has others of their names", n)), int64(0)))
	}
	if err := m.done(); err != nil {
		return err
	}
	effects, err := readRows(rows)
	if err != nil {
		return err
	}
	w.engine = engine.New(&engine.Options{Modules: append(pure[:len(pure):len(pure)], effects...)})
	seal := harden
	if !confined {
		seal = hardenAsFar
	}
	if err := seal(memory); err != nil {
		return err
	}
	return w.send(sayReady, value.List{})
}

// warmUp does what is done once, so that the first call need not wait for it. A spare
// does it before anybody needs it. It collects no garbage: that would take as long as
// all the rest of a start, and the collector's own memory is as much as it gives back.
func warmUp() {
	e := engine.New(nil)
	const star, lua = "def f():\n    \"F.\"\n    return 1\n\ntool(f, name = \"f\")\n", "return tool{description = \"F.\", handler = function() return 1 end}\n"
	for path, text := range map[string]string{"f.star": star, "f.lua": lua} {
		s := tool.Script{Path: path, Source: text}
		_, _ = e.Describe(s) // what is wrong here is wrong for every script, and said there
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
		return tooLong(fmt.Errorf("the call sends more than %d MB", maxTraffic>>20))
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
	e := value.Errorf(value.Limit, "%w", err)
	e.Limit = value.LimitTraffic
	return e
}

// answer answers one request of the host. The error is one of the connection.
func (w *worker) answer(f frame) error {
	w.begin(f.call)
	body, err := w.do(f)
	if w.broken != nil {
		return w.broken
	}
	if err == nil {
		if err = w.send(sayDone, body); err == nil || w.broken != nil {
			return w.broken
		}
	}
	return w.send(sayFailed, append(errorFields(value.ErrorOf(err, value.Internal)), lastSteps(body)))
}

// lastSteps is what an answer that failed says of its steps.
func lastSteps(body value.List) value.Value {
	if len(body) > 0 {
		if n, ok := body[0].(int64); ok {
			return n
		}
	}
	return int64(0)
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
		w.script, w.meter = s, meter{} // no call is charged for what comes now
		return value.List{}, w.engine.Compile(s)
	case sendCall:
		return w.run(f.body)
	default:
		return nil, errFrame
	}
}

// describe reads what scripts declare: the answer has the form of a tool or an error
// for each.
func (w *worker) describe(body []byte) (value.List, error) {
	scripts, err := readScripts(body)
	if err != nil {
		return nil, err
	}
	if len(scripts) > 1 {
		// What is left of one file is small, and this worker reads files and no more.
		debug.SetGCPercent(400)
	}
	list := make(value.List, len(scripts))
	for i, s := range scripts {
		var form []byte
		t, err := w.engine.Describe(s)
		if err == nil {
			form, err = tool.AppendTool(nil, &t)
		}
		if list[i] = form; err != nil {
			list[i] = errorFields(value.ErrorOf(err, value.Internal))
		}
	}
	return list, nil
}

// run makes a call of the script. The first field of the answer is how many
// steps it took, whatever came of it.
func (w *worker) run(body []byte) (value.List, error) {
	c, err := readCall(body)
	if err != nil {
		return nil, err
	}
	c.Limits.Memory = w.memory
	ctx := w.meter.budget(c.Limits.CPU)
	out, err := w.engine.Run(ctx, w.script, c, w.effect)
	now := time.Now()
	w.meter.unread += now.Sub(ctx.start)
	answer := value.List{out.Usage.Steps, out.Value}
	if ctx.look(now); err == nil && ctx.over != nil {
		err = ctx.over // a result that comes too late is none
	}
	return answer, err
}

// A budget is the context of a call that ends when the process has used so
// much processor time: what the host does meanwhile does not count. It has no
// timer, which would cost more than most calls do; the engine asks it often.
type budget struct {
	context.Context
	start   time.Time
	cpu     time.Duration
	ends    time.Duration // on the clock of the process
	enough  time.Time     // before then the time cannot be used up
	threads time.Duration // how many can compute at one time
	over    *value.Error
}

// A meter is the clock of the process, which takes a system call to look at. Many short
// calls share one look: each may be charged for what those before it have computed,
// which is a hundredth of its budget at most for each thread, and never for less than
// it has computed itself.
type meter struct {
	looked time.Duration // what the clock has shown
	unread time.Duration // how long the calls since then took
}

// maxUnread is how long calls may take together between two looks at the clock.
const maxUnread = time.Millisecond

// budget begins a call. No processor time is no limit.
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

// look ends the call where its time is used up. It looks at the clock of the process
// only where that may show something: the other clock takes no system call.
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
	e := value.Errorf(value.Limit, "the script computed for longer than %v", budget).
		WithHint("do less in one call, use a builtin for the hot loop, or declare limits = {\"cpu\": …}")
	e.Limit = value.LimitCPU
	return e
}

// effect asks the host for one effect and waits for what comes of it.
func (w *worker) effect(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	if w.broken != nil {
		return tool.Outcome{}, w.broken
	}
	if err := w.send(askEffect, withArgs(e.Args, e.Func)); err != nil {
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
	m := readFields(f.body)
	w.in.release(keepCalling) // the script needs the room
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

// fail ends the connection. The script is told what no script can catch.
func (w *worker) fail(err error) error {
	w.broken = err
	if errors.Is(err, io.EOF) {
		w.broken = io.ErrUnexpectedEOF
	}
	return value.Errorf(value.Canceled, "the host has gone")
}
