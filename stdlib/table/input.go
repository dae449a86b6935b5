package table

import (
	"context"
	"io"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An input is the source of the bytes of a table: memory, or a file of the project that
// is read in parts through the gate, on demand.
type input struct {
	name     string // for errors: the path, or "text"
	held     []byte // the full input if it is in memory
	file     bool   // it is a file, at the path name
	size     int64
	modified string // the modification time that fs.stat reported
	looked   bool   // fs.stat was just called, so the first pass does not call it again
}

const (
	// maxHeld is the size of the largest file that is kept in memory. A larger file is
	// read again for each operation. It is the most that one effect may carry.
	maxHeld = 8 << 20
	// partSize is the size of the part of a file that one effect reads.
	partSize = 4 << 20
	// maxFile is the size of the largest file. An operation on its rows reads it two or
	// three times, and a call may have about 1,000 effects, one for each part.
	maxFile = 2 << 30
)

// openFile checks a file, and reads it if it is small.
func openFile(g tool.Grant, path string) (*input, error) {
	in := &input{name: path, file: true}
	stat, err := in.request(g, "fs.stat", value.NewDict("path", path))
	if err != nil {
		return nil, err
	}
	d, _ := stat.(*value.Dict)
	in.size, in.modified = d.Int("size"), d.Text("modified")
	switch isFile := d.Text("kind") != "dir"; {
	case isFile && in.size > maxFile:
		return nil, value.Errorf(value.Limit, "%s is larger than the limit of %d GB", path, maxFile>>30).
			WithHint("split the file and read the parts, or load the file into a database")
	case isFile && in.size > maxHeld:
		in.looked = true
		return in, nil
	}
	in.held, err = in.bytes(g, value.NewDict("path", path)) // which returns the error if this is not a file
	in.size = int64(len(in.held))
	return in, err
}

// request requests an effect as the script would.
func (in *input) request(g tool.Grant, name string, args *value.Dict) (value.Value, error) {
	if g.Do == nil {
		return nil, value.Errorf(value.Denied, "files are unavailable: no project folder is open").
			WithHint("run cassidy --dir DIR; in Go, set Options.Dir")
	}
	out, err := g.Do(name, args)
	return out.Value, err
}

func (in *input) bytes(g tool.Grant, args *value.Dict) ([]byte, error) {
	v, err := in.request(g, "fs.read_bytes", args)
	if err != nil {
		return nil, err
	}
	b, ok := v.([]byte)
	if !ok {
		return nil, value.Errorf(value.Internal, "fs.read_bytes: expected bytes but got %s", value.TypeOf(v))
	}
	return b, nil
}

// checkUnchanged returns an error if the file was changed since it was opened, because
// what was detected then may no longer apply.
func (in *input) checkUnchanged(g tool.Grant) error {
	if in.held != nil || !in.file {
		return nil
	}
	stat, err := in.request(g, "fs.stat", value.NewDict("path", in.name))
	if err != nil {
		return err
	}
	if d, _ := stat.(*value.Dict); d.Int("size") != in.size || d.Text("modified") != in.modified {
		return in.changedError()
	}
	return nil
}

func (in *input) changedError() error {
	return value.Errorf(value.Failed, "read %s: the file was changed by another process", in.name).WithHint("read the file again with data.read")
}

// A parts reads an input at any offset, one part at a time. It keeps the last part.
type parts struct {
	in    *input
	ctx   context.Context
	grant tool.Grant
	start int64 // the offset of the current part
	part  []byte
	at    int64 // the offset of the next Read
}

// open starts to read the input. The first call must follow openFile directly.
func (in *input) open(ctx context.Context, g tool.Grant) (*parts, error) {
	if in.looked {
		in.looked = false
	} else if err := in.checkUnchanged(g); err != nil {
		return nil, err
	}
	return &parts{in: in, ctx: ctx, grant: g}, nil
}

// Next returns the next part, which the caller may keep, or io.EOF at the end.
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

// end returns io.EOF, or an error if the file was changed in the meantime.
func (p *parts) end() error {
	if err := p.in.checkUnchanged(p.grant); err != nil {
		return err
	}
	return io.EOF
}

// load makes the part that contains an offset the current one.
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
		return p.in.changedError()
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
