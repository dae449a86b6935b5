package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// A move is what the worker that a conversation plays does next, in its turn.
type move byte

const (
	doneLoad move = iota
	doneCall
	fails
	asksWell
	asksAmiss   // for what there is not
	otherCall   // from here on: what no honest worker does
	otherSeq    //
	otherKind   //
	twoAtOnce   //
	noValue     //
	noError     //
	raw         // any bytes
	ownBody     // any body, and any type
	halfAndGone // a part of a frame
	gone        //
	moves       // how many there are
)

// FuzzConversation talks to the host as a worker would that does anything at
// all, right and wrong. What no honest worker does is found out at once, and
// nothing is done for it from then on.
func FuzzConversation(f *testing.F) {
	skipWithoutWorkers(f)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		f.Skip("there is no sleep to stand for a worker")
	}
	f.Add([]byte{byte(doneLoad), byte(asksWell), byte(asksWell), byte(doneCall)})
	f.Add([]byte{byte(doneLoad), byte(asksAmiss), byte(fails)})
	f.Add([]byte{byte(fails)})
	f.Add([]byte{byte(doneLoad), byte(ownBody), sandbox.AnswerDone, 4, 0, 8, 1, 3, 2})
	f.Add([]byte{byte(doneLoad), byte(ownBody), sandbox.AskEffect, 3, 0, 8, 2, 6})
	f.Add([]byte{byte(raw), 9, 0, 0, 0, 7})
	for m := range moves {
		f.Add([]byte{byte(m)})
		f.Add([]byte{byte(doneLoad), byte(m), byte(doneCall)})
		f.Add([]byte{byte(doneLoad), byte(asksWell), byte(m), byte(asksWell)})
	}
	box := newProcess(f, nil, world)
	box.SetMost(0) // no worker but the one that is played
	f.Fuzz(func(t *testing.T, data []byte) {
		p := newPlayed(t, sleep, data)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		talk := p.talk
		talk.Do = func(context.Context, tool.Effect) (tool.Outcome, error) {
			p.served++
			if p.violated {
				t.Error("an effect was served after a violation")
			}
			return tool.Outcome{Value: "answer"}, nil
		}
		kept, dead, err := box.Talk(ctx, talk)
		if ctx.Err() != nil {
			t.Error("it took two minutes")
		}
		p.finish()
		if kept == dead {
			t.Errorf("the worker is kept %v and dead %v", kept, dead)
		}
		kind := value.KindOf(err)
		switch {
		case p.violated && (err == nil || kind != value.Security || kept):
			t.Errorf("after a violation the call gave %v, the worker is kept %v; want it ended, and a security error", err, kept)
		case err != nil && kind == value.Security && !p.violated && !p.unknown:
			t.Errorf("an honest worker was taken for another: %v", err)
		case p.asked != p.served && !p.unknown:
			t.Errorf("%d effects were served, want %d", p.served, p.asked)
		}
		if got, want := box.State(), (sandbox.PoolState{}); got != want {
			t.Errorf("the pool holds %+v, want nothing", got)
		}
	})
}

// A played worker is one that a test plays, move after move. It waits for its
// turn, as an honest one must; a process that does nothing stands for it.
type played struct {
	talk     sandbox.Talk
	in, out  *os.File
	over     chan struct{}
	data     []byte
	asked    int
	served   int
	violated bool // it did what no honest worker does
	unknown  bool // it may have
}

func newPlayed(t *testing.T, program string, data []byte) *played {
	t.Helper()
	in, to := pipe(t)
	from, out := pipe(t)
	says, words := pipe(t)
	cmd := exec.Command(program, "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	words.Close()
	p := &played{in: in, out: out, over: make(chan struct{}), data: data}
	// A script of its own each time: what breaks the rules is not run again.
	p.talk = sandbox.Talk{Process: cmd.Process, To: to, From: from, Says: says, Call: tool.Call{Args: value.NewDict("value", "x")},
		Script: tool.Script{Path: t.Name() + ".star", Source: string(data), Hash: "h" + time.Now().String()}}
	go p.play()
	return p
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// finish ends what stands for the worker and waits for the player.
func (p *played) finish() {
	_ = p.talk.Process.Kill() // it may have been
	_, _ = p.talk.Process.Wait()
	p.talk.To.Close()
	p.talk.From.Close()
	p.talk.Says.Close()
	<-p.over
}

// play makes a move for each frame of the host, until there are no more.
func (p *played) play() {
	defer close(p.over)
	defer p.in.Close()
	defer p.out.Close()
	for {
		_, call, seq, _, err := sandbox.ReadFrame(p.in)
		if err != nil || len(p.data) == 0 {
			return
		}
		m := move(p.data[0]) % moves
		p.data = p.data[1:]
		out, last := p.make(m, call, seq+1)
		if _, err := p.out.Write(out); err != nil || last {
			return
		}
	}
}

// make makes the bytes of a move, and notes what is to come of it.
func (p *played) make(m move, call, seq uint32) (out []byte, last bool) {
	loading := call == 1
	done := body(int64(1), "x")
	ask := body("world.ask", "what", "x")
	failed := body(int64(0), "", "it failed", "", "", "", int64(0), int64(0), value.List{}, int64(0))
	switch m {
	case doneLoad:
		p.violated = !loading
		return sandbox.MakeFrame(sandbox.AnswerDone, call, seq, body()), false
	case doneCall:
		p.violated = loading
		return sandbox.MakeFrame(sandbox.AnswerDone, call, seq, done), false
	case fails:
		return sandbox.MakeFrame(sandbox.AnswerFailed, call, seq, failed), false
	case asksWell:
		if loading {
			p.violated = true
		} else {
			p.asked++
		}
		return sandbox.MakeFrame(sandbox.AskEffect, call, seq, ask), false
	case asksAmiss:
		p.violated = p.violated || loading
		return sandbox.MakeFrame(sandbox.AskEffect, call, seq, body("fs.write", "path", "x")), false
	case raw:
		p.unknown = true
		out, p.data = p.data, nil
		return out, true
	case ownBody:
		p.unknown = true
		kind, content := byte(sandbox.AnswerDone), p.data
		if len(content) > 1 {
			kind, content = content[0], content[2:min(len(content), 2+int(content[1]))]
			p.data = p.data[2+len(content):]
		}
		return sandbox.MakeFrame(kind, call, seq, content), false
	case halfAndGone, gone:
		p.unknown = true
		half := sandbox.MakeFrame(sandbox.AnswerDone, call, seq, done)
		return half[:len(half)/2*int(gone-m)], true
	}
	p.violated = true
	switch m {
	case otherCall:
		call += 7
	case otherSeq:
		seq += 2
	case otherKind:
		return sandbox.MakeFrame(sandbox.SendCall, call, seq, done), false
	case twoAtOnce:
		one := sandbox.MakeFrame(sandbox.AnswerDone, call, seq, done)
		return append(one, sandbox.MakeFrame(sandbox.AskEffect, call, seq+1, ask)...), false
	case noValue:
		return sandbox.MakeFrame(sandbox.AskEffect, call, seq, []byte{0xff, 0xfe}), false
	case noError:
		return sandbox.MakeFrame(sandbox.AnswerFailed, call, seq, body(int64(99), "x")), false
	}
	return sandbox.MakeFrame(sandbox.AskEffect, call, seq, ask), false
}
