package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// body is a message's.
func body(values ...value.Value) []byte {
	b, err := sandbox.AppendFields(nil, values)
	if err != nil {
		panic(err)
	}
	return b
}

// FuzzFrames reads frames from a peer that sends any bytes, in pieces of any
// length. The memory that takes is in proportion to what has come, and what is
// taken for a frame is one.
func FuzzFrames(f *testing.F) {
	f.Add(sandbox.MakeFrame(sandbox.AnswerDone, 1, 2, body(int64(1), "x")), uint16(3))
	f.Add(sandbox.MakeFrame(sandbox.AskEffect, 1, 2, nil), uint16(0))
	f.Add([]byte{0, 0, 0x80, 0, 7, 1, 0, 0, 0, 1, 0, 0, 0}, uint16(1)) // announces 8 MB
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint16(0))
	f.Add(bytes.Repeat([]byte{9, 0, 0, 0}, 4000), uint16(5000))
	f.Fuzz(func(t *testing.T, data []byte, piece uint16) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		kind, call, seq, content, err := sandbox.ReadFrame(&pieces{data, int(piece)})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(4*len(data)+64<<10) {
			t.Errorf("reading %d bytes has allocated %d", len(data), took)
		}
		if err != nil {
			return
		}
		if again := sandbox.MakeFrame(kind, call, seq, content); !bytes.HasPrefix(data, again) {
			t.Errorf("frame %x was read from %x", again, data)
		}
		if n := 4 + int(binary.LittleEndian.Uint32(data)); piece == 0 && n != len(data) {
			t.Errorf("a frame was read with %d bytes after it", len(data)-n)
		}
	})
}

// pieces reads so many bytes at a time; 0 is all that there are.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := len(p.rest)
	if p.size > 0 {
		n = min(n, p.size)
	}
	n = copy(b, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzMessages reads any bytes as each message. What is read can be written,
// and means the same when it is read again.
func FuzzMessages(f *testing.F) {
	libs := value.NewDict("lib/a.star", []byte("x = 1"))
	f.Add(body("name", "f.star", []byte("text"), libs, "hash"))
	f.Add(body("tool", "", int64(5), int64(1e9), int64(0), "a", value.List{nil, 1.5}))
	f.Add(body(value.List{int64(3), int64(1), int64(2), value.List{"f.star:1:2: in f"}, "op", "text \x1b[31m\u202e", "hint", "memory", "f.star"}))
	f.Add(body(value.List{int64(12), int64(0), int64(0), value.List{}, "", "", "", "", ""}))
	f.Add(body(value.List{"world", []byte{3}}, value.List{"math", "pi", 3.14}))
	f.Add([]byte{8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		unlike := sandbox.Reread(data)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(2000*len(data)+256<<10) {
			t.Errorf("reading %d bytes has allocated %d", len(data), took)
		}
		if unlike != nil {
			t.Errorf("read again, it is not the same: %q", unlike)
		}
	})
}

// seven answers any effect, that which asks for a seed among them.
func seven(context.Context, tool.Effect) (tool.Outcome, error) {
	return tool.Outcome{Value: int64(7)}, nil
}

// FuzzScripts runs scripts that a grammar makes, in workers. Whatever they do,
// they end within their limits, no worker is taken for a hostile one, and the
// host does not notice.
func FuzzScripts(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed, seed%2 == 0)
	}
	box := newProcess(f, nil, world)
	nextCallIsRight(f, box)
	before := residentMB(f)
	call := tool.Call{Limits: tool.Limits{CPU: 100 * time.Millisecond}}
	// The time runs out for the top level of a file, which is no part of a call.
	ends := []value.Kind{value.Failed, value.Invalid, value.Limit, value.Internal, value.Denied, value.Timeout}
	f.Fuzz(func(t *testing.T, seed uint64, isLua bool) {
		g := newGenerator(seed)
		s := g.star
		if isLua {
			s = g.lua
		}
		one := s()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		_, err := box.Describe(ctx, one)
		if err == nil {
			_, err = box.Run(ctx, one, call, seven)
		}
		if ctx.Err() != nil {
			t.Errorf("it took two minutes:\n%s", one.Source)
		}
		if e := value.ErrorOf(err, value.Internal); e != nil {
			if !slices.Contains(ends, e.Kind) || strings.Contains(e.Error(), "interpreter") {
				t.Errorf("it gave %v of kind %s:\n%s", e, e.Kind, one.Source)
			}
			if e.Kind == value.Limit && e.Limit == "" {
				t.Errorf("%v does not name its limit:\n%s", e, one.Source)
			}
			tellsNothing(t, e)
		}
		if grown := residentMB(t) - before; grown > 128 {
			t.Errorf("the host has grown by %d MB:\n%s", grown, one.Source)
		}
		nextCallIsRight(t, box)
	})
}
