package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// describing is the domain of the workers that read what files declare.
const describing = "describe"

// describes reports whether the workers of the domain read what files declare.
func (d domain) describes() bool { return d.key == describing }

// Describe implements [Sandbox]. Beside its errors there are those of [Process.Run].
func (p *Process) Describe(ctx context.Context, s tool.Script) (tool.Described, error) {
	if err := engine.CheckSize(s); err != nil {
		return tool.Described{}, err
	}
	var t [1]tool.Described
	var failed [1]error
	err := p.describe(ctx, p.job(describing, tool.DefaultMemory, scriptKey(s)), []tool.Script{s}, t[:], failed[:])
	if err == nil {
		err = failed[0]
	}
	if err != nil {
		return tool.Described{}, WithExcerpts(inFile(err, s.Path), &s)
	}
	return t[0], nil
}

// The most that one request describes. It may use as much processor time as a single script.
const (
	maxBatch      = 64
	maxBatchBytes = 256 << 10
)

// DescribeAll reads what scripts declare. It returns a tool or an error of each, in their
// order, as [Process.Describe] does. Up to 64 scripts that have the same shared files are
// sent to a worker in one request, which is faster. Where a request fails, each script of it
// is described by itself, so that one which exhausts its worker does not fail another.
func (p *Process) DescribeAll(ctx context.Context, scripts []tool.Script) ([]tool.Described, []error) {
	tools, errs := make([]tool.Described, len(scripts)), make([]error, len(scripts))
	for start := 0; start < len(scripts); {
		end := start + batchLen(scripts[start:])
		batch, t, e := scripts[start:end], tools[start:end], errs[start:end]
		if len(batch) == 1 || p.describe(ctx, p.batchJob(batch), batch, t, e) != nil {
			for i, s := range batch {
				t[i], e[i] = p.Describe(ctx, s)
			}
		}
		for i := range e {
			e[i] = WithExcerpts(e[i], &batch[i])
		}
		start = end
	}
	return tools, errs
}

// batchLen returns how many of the scripts, at least one, one request describes: they have
// the same shared files.
func batchLen(scripts []tool.Script) int {
	size := 0
	for i, s := range scripts {
		size += len(s.Source)
		if i > 0 && (i == maxBatch || size > maxBatchBytes || !maps.Equal(s.Libs, scripts[0].Libs)) {
			return i
		}
	}
	return len(scripts)
}

// batchJob returns the job of scripts together. A batch for which a worker broke the
// protocol is not tried again.
func (p *Process) batchJob(batch []tool.Script) job {
	all := sha256.New()
	var part []byte // of what is hashed
	for _, s := range batch {
		part = append(append(append(append(part[:0], s.Path...), '\n'), s.Source...), '\n')
		all.Write(part)
	}
	return p.job(describing, tool.DefaultMemory, scriptKey(tool.Script{Hash: hex.EncodeToString(all.Sum(nil))}))
}

// describe has a worker describe scripts. The error is one of the request; those of the
// scripts are in errs.
func (p *Process) describe(ctx context.Context, j job, scripts []tool.Script, tools []tool.Described, errs []error) error {
	_, err := p.ask(ctx, j, func(c *child) (a answer, err error) {
		c.watch.reset(describeCPU)
		if a, err = c.request(sendDescribe, scriptsMessage(scripts), nil); err != nil || a.failed != nil {
			return a, err
		}
		for i := range scripts {
			switch v := a.value().(type) {
			case []byte:
				errs[i] = nil
				if err = pack.Decode(string(v), &tools[i]); err != nil {
					return a, c.violation(err.Error())
				}
			case value.List:
				if errs[i], err = c.readFailure(v); err != nil {
					return a, err
				}
			default:
				return a, c.violation(errMessage.Error())
			}
		}
		return a, c.unless(&a.fields)
	})
	return err
}

// readFailure reads the error of one script in the answer to a describe request.
func (c *child) readFailure(list value.List) (failure, err error) {
	m := &fields{list: list}
	failed := readError(m)
	if err := m.done(); err != nil {
		return nil, c.violation(err.Error())
	}
	if failed.Limit == value.LimitWorker {
		failed.Limit = "" // only the host knows that a worker was killed
	}
	return failed, nil
}
