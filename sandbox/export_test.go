package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
)

// RaceDetector tells a test how it was built.
const RaceDetector = raceDetector

// The frames, for a worker that sends what it should not.
const (
	SendInit     = uint8(sendInit)
	SendLoad     = uint8(sendLoad)
	SendCall     = uint8(sendCall)
	AnswerReady  = uint8(answerReady)
	AnswerDone   = uint8(answerDone)
	AnswerFailed = uint8(answerFailed)
	AskEffect    = uint8(askEffect)
)

// NewWhere is New on a system that lacks what missing names.
func NewWhere(o *Options, missing error, modules ...tool.Module) (*Process, error) {
	return newProcess(o, missing, modules)
}

// WorkerEnds are the files of a worker.
var WorkerEnds = workerEnds

// Seal confines this process as the body of its first frame says.
func Seal(body []byte) error {
	m := readFields(body)
	_, _ = field[int64](&m), field[[]byte](&m) // the version, and what it must have
	return seal.Apply(field[int64](&m))
}

// MakeFrame makes a frame of any bytes.
func MakeFrame(kind uint8, call, seq uint32, body []byte) []byte {
	buf := append(appendFrame(nil, frameType(kind), call, seq), body...)
	if err := endFrame(buf); err != nil {
		panic(err)
	}
	return buf
}

// ReadFrame reads one frame.
func ReadFrame(from io.Reader) (kind uint8, call, seq uint32, body []byte, err error) {
	r := frameReader{from: from}
	f, err := r.next()
	return uint8(f.kind), f.call, f.seq, f.body, err
}

// LimitSupply sets how much each call of the workers to come may be sent.
func LimitSupply(p *Process, most int64) { p.pool.supply = most }

// AppendFields makes the body of a frame.
var AppendFields = appendFields

// ReadFields returns the fields of a body, or nil.
func ReadFields(body []byte) value.List {
	var list value.List
	m := readFields(body)
	for m.more() {
		list = append(list, m.value())
	}
	if m.bad {
		return nil
	}
	return list
}

// Reread reads a body as each message that it could be, and writes what it has
// read. It returns what is not the same when it is read again.
func Reread(body []byte) (unlike []string) {
	same := func(what string, written value.List, read func([]byte) (any, error), first any) {
		again, err := appendFields(nil, written)
		if err == nil {
			var second any
			if second, err = read(again); err == nil && reflect.DeepEqual(first, second) {
				return
			}
		}
		unlike = append(unlike, fmt.Sprintf("%s: %+v: %v", what, first, err))
	}
	if s, err := readScript(body); err == nil {
		same("script", scriptMessage(s), func(b []byte) (any, error) { return readScript(b) }, s)
	}
	if c, err := readCall(body); err == nil {
		same("call", callMessage(c), func(b []byte) (any, error) { return readCall(b) }, c)
	}
	readFailure := func(b []byte) (any, error) {
		m := readFields(b)
		e := readError(&m)
		return e, m.done()
	}
	if e, err := readFailure(body); err == nil {
		same("error", errorFields(e.(*value.Error)), readFailure, e)
	}
	_, _ = readRows(ReadFields(body)) // they come from the host; it is enough that nothing breaks
	return unlike
}

// A Talk is what a worker that a test plays is asked to do.
type Talk struct {
	Process  *os.Process // stands for the worker: it is killed in its place
	To, From *os.File
	Says     *os.File
	Script   tool.Script
	Call     tool.Call
	Do       tool.Effector
}

// Talk makes a call in a worker that the test plays, and says whether the pool
// has kept the worker and whether its process has been ended.
func (p *Process) Talk(ctx context.Context, t Talk) (kept, dead bool, err error) {
	c := &child{process: t.Process, to: t.To, from: t.From, stderr: t.Says, in: frameReader{from: t.From}, memory: tool.DefaultMemory, born: time.Now()}
	c.watch.child, c.in.seen = c, c.watch.arrived
	j := p.job(scriptKey(t.Script), tool.DefaultMemory, scriptKey(t.Script))
	c.domain = j.domain
	p.pool.mu.Lock()
	p.pool.turns.count(j.domain)
	p.pool.alive[c] = true
	p.pool.slots.hold(p.tenant)
	p.pool.mu.Unlock()
	r := &remote{process: p, ctx: ctx, script: t.Script, call: t.Call, do: t.Do}
	_, err = p.attempt(ctx, j, c, r.run)
	dead = errors.Is(t.Process.Signal(os.Kill), os.ErrProcessDone)
	if kept = p.pool.take(j) == c; kept {
		p.pool.end(c)
	}
	return kept, dead, err
}

// WaitForGuard waits until nothing is looked at any more.
func (p *Process) WaitForGuard() { p.pool.guard.done.Wait() }

// WaitForSpare waits until the spare worker that is being made is there.
func (p *Process) WaitForSpare() { p.pool.making.Wait() }

// Workers are the processes that have been started and not ended.
func (p *Process) Workers() []int {
	var pids []int
	for _, c := range p.pool.workers() {
		pids = append(pids, c.process.Pid)
	}
	return pids
}

// A PoolState is what a pool holds.
type PoolState struct {
	Running int // workers that compute
	Domains int // whose they are
	Waiting int // requests
	Idle    int // workers, the spare among them
	Alive   int
	Counted int // alive or being started
}

// State returns what the pool holds.
func (p *Process) State() PoolState {
	q := p.pool
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns.mu.Lock()
	s := PoolState{q.turns.total, len(q.turns.running), len(q.turns.waiting), len(q.idle), len(q.alive), q.slots.used}
	q.turns.mu.Unlock()
	if q.spare != nil {
		s.Idle++
	}
	return s
}

// SetMost sets how many workers there may be.
func (p *Process) SetMost(n int) {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	p.pool.opts.Max = n
}

// WorkerEnv is what a worker is told.
var WorkerEnv = seal.Environment

// Used are the processes of the pool that were given to a tenant.
func (p *Process) Used() []int {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	var pids []int
	for c := range p.pool.alive {
		if c.domain.tenant != noTenant {
			pids = append(pids, c.process.Pid)
		}
	}
	return pids
}
