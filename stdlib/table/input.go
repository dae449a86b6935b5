package table

import (
	"context"
	"io"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An input is where the bytes of a table are: in memory, or in a file of the
// project that is read in parts, through the gate, whenever they are wanted.
type input struct {
	name     string // as errors show it: the path, or "text"
	held     []byte // all of it, where it is in memory
	file     bool   // it is a file, at the path name
	size     int64
	modified string // when the file was, as fs.stat tells it
	looked   bool   // fs.stat was asked just now, and need not be for the first reading
}

const (
	// maxHeld is how large a file may be that is kept in memory; a larger one is
	// read again whenever it is looked at. It is what one effect may carry.
	maxHeld = 8 << 20
	// partSize is how much of a file one effect brings.
	partSize = 4 << 20
	// maxFile is how large a file may be. What asks for its rows reads it twice or
	// thrice, and a call may have 1,000 effects or so, each of a part.
	maxFile = 2 << 30
)

// openFile looks at a file, and reads it where it is small.
func openFile(g tool.Grant, path string) (*input, error) {
	in := &input{name: path, file: true}
	stat, err := in.ask(g, "fs.stat", value.NewDict("path", path))
	if err != nil {
		return nil, err
	}
	d, _ := stat.(*value.Dict)
	in.size, in.modified = d.Int("size"), d.Text("modified")
	switch isFile := d.Text("kind") != "dir"; {
	case isFile && in.size > maxFile:
		return nil, value.Errorf(value.Limit, "%s is larger than %d GB", path, maxFile>>30).
			WithHint("split it and read the parts, or load it into a database")
	case isFile && in.size > maxHeld:
		in.looked = true
		return in, nil
	}
	in.held, err = in.bytes(g, value.NewDict("path", path)) // which says it where this is no file
	in.size = int64(len(in.held))
	return in, err
}

// ask asks for an effect as the script would.
func (in *input) ask(g tool.Grant, name string, args *value.Dict) (value.Value, error) {
	if g.Do == nil {
		return nil, value.Errorf(value.Denied, "files are not available here")
	}
	out, err := g.Do(name, args)
	return out.Value, err
}

func (in *input) bytes(g tool.Grant, args *value.Dict) ([]byte, error) {
	v, err := in.ask(g, "fs.read_bytes", args)
	if err != nil {
		return nil, err
	}
	b, ok := v.([]byte)
	if !ok {
		return nil, value.Errorf(value.Internal, "fs.read_bytes gave %s", value.TypeOf(v))
	}
	return b, nil
}

// unchanged fails where the file is no longer the one that was opened: what was
// found out about it does not hold for another.
func (in *input) unchanged(g tool.Grant) error {
	if in.held != nil || !in.file {
		return nil
	}
	stat, err := in.ask(g, "fs.stat", value.NewDict("path", in.name))
	if err != nil {
		return err
	}
	if d, _ := stat.(*value.Dict); d.Int("size") != in.size || d.Text("modified") != in.modified {
		return in.changed()
	}
	return nil
}

func (in *input) changed() error {
	return value.Errorf(value.Failed, "%s was changed while it was read", in.name).WithHint("read it again, with data.read")
}

// A parts reads an input at any place, a part at a time; it keeps the last one.
type parts struct {
	in    *input
	ctx   context.Context
	grant tool.Grant
	start int64 // where the part at hand begins
	part  []byte
	at    int64 // where Read goes on
}

// open begins to read the input, from its start. The first time is right after the
// file was looked at.
func (in *input) open(ctx context.Context, g tool.Grant) (*parts, error) {
	if in.looked {
		in.looked = false
	} else if err := in.unchanged(g); err != nil {
		return nil, err
	}
	return &parts{in: in, ctx: ctx, grant: g}, nil
}

// Next returns the following part, which the reader may keep, and io.EOF at the
// end.
func (p *parts) Next() ([]byte, error) {
	if p.at >= p.in.size {
		return nil, p.end()
	}
	if err := p.load(p.at); err != nil {
		return nil, err
	}
	part := p.part[p.at-p.start:]
	p.at = p.start + int64(len(p.part))
	return part, nil
}

// end returns io.EOF, or that the file was changed meanwhile.
func (p *parts) end() error {
	if err := p.in.unchanged(p.grant); err != nil {
		return err
	}
	return io.EOF
}

// load makes the part that holds a place the one at hand.
func (p *parts) load(at int64) error {
	if p.start <= at && at < p.start+int64(len(p.part)) {
		return nil
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if p.in.held != nil {
		p.start, p.part = 0, p.in.held
		return nil
	}
	start := at / partSize * partSize
	want := min(partSize, p.in.size-start)
	part, err := p.in.bytes(p.grant, value.NewDict("path", p.in.name, "offset", start, "length", want))
	if err != nil {
		return err
	}
	if int64(len(part)) != want {
		return p.in.changed()
	}
	p.start, p.part = start, part
	return nil
}

// Read implements [io.Reader].
func (p *parts) Read(b []byte) (int, error) {
	if p.at >= p.in.size {
		return 0, p.end()
	}
	n, err := p.ReadAt(b[:min(int64(len(b)), p.in.size-p.at)], p.at)
	p.at += int64(n)
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (p *parts) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	for n < len(b) {
		if at < 0 || at >= p.in.size {
			return n, io.EOF
		}
		if err := p.load(at); err != nil {
			return n, err
		}
		k := copy(b[n:], p.part[at-p.start:])
		n, at = n+k, at+int64(k)
	}
	return n, nil
}
