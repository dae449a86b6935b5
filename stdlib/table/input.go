package table

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"

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
	packed   *input // the gzip file of which this is the content, or nil
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
func openFile(ctx context.Context, g tool.Grant, path string) (*input, error) {
	in, err := lookAt(g, path)
	if err == nil && (in.held != nil || strings.HasSuffix(strings.ToLower(path), ".gz")) {
		in, err = in.unpack(ctx, g)
	}
	return in, err
}

func lookAt(g tool.Grant, path string) (*input, error) {
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
	if in.packed != nil {
		return in.packed.checkUnchanged(g)
	}
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

	zip      *gzip.Reader // of a gzip file, or nil before its first part
	unzipped int64        // how much of it was read
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

// unpack returns the content of a gzip file, or the input if it is none. The content is
// read once here, to find out how large it is and that it is complete.
func (in *input) unpack(ctx context.Context, g tool.Grant) (*input, error) {
	const magic = "\x1f\x8b"
	p := &parts{in: in, ctx: ctx, grant: g}
	head := make([]byte, len(magic))
	if n, err := p.ReadAt(head, 0); err != nil && err != io.EOF || string(head[:n]) != magic {
		if err == io.EOF {
			err = nil
		}
		return in, err
	}
	out := &input{name: in.name, file: in.file, packed: in}
	r, err := gzip.NewReader(p)
	if err != nil {
		return nil, in.gzipError(err)
	}
	most := int64(maxHeld)
	if in.file {
		most = maxFile
	}
	if out.held, err = io.ReadAll(io.LimitReader(r, maxHeld+1)); err != nil {
		return nil, in.gzipError(err)
	}
	if out.size = int64(len(out.held)); out.size > maxHeld {
		out.held = nil
		rest, err := io.Copy(io.Discard, io.LimitReader(r, most-out.size+1))
		if err != nil {
			return nil, in.gzipError(err)
		}
		out.size += rest
	}
	if out.size > most {
		return nil, value.Errorf(value.Limit, "%s is larger than the limit of %d MB after decompression", in.name, most>>20).
			WithHint("unpack the file, and read a part of it")
	}
	return out, nil
}

func (in *input) gzipError(err error) error {
	if _, ok := errors.AsType[*value.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return value.Errorf(value.Failed, "%s is not a complete gzip file: %s", in.name, strings.TrimPrefix(err.Error(), "gzip: ")).WithHint("download or copy the file again")
}

// unpacked returns a part of the content of a gzip file, which is read again from its
// beginning for an earlier part.
func (p *parts) unpacked(start, want int64) ([]byte, error) {
	if p.zip == nil || start < p.unzipped {
		r, err := gzip.NewReader(&parts{in: p.in.packed, ctx: p.ctx, grant: p.grant})
		if err != nil {
			return nil, p.in.gzipError(err)
		}
		p.zip, p.unzipped = r, 0
	}
	if _, err := io.CopyN(io.Discard, p.zip, start-p.unzipped); err != nil {
		return nil, p.in.gzipError(err)
	}
	part := make([]byte, want)
	if _, err := io.ReadFull(p.zip, part); err != nil {
		return nil, p.in.gzipError(err)
	}
	p.unzipped = start + want
	return part, nil
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
	if p.in.packed != nil {
		part, err := p.unpacked(start, want)
		if err == nil {
			p.start, p.part = start, part
		}
		return err
	}
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
	if err := p.ctx.Err(); err != nil { // a small gzip file may be large
		return 0, err
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
