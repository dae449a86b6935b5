package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// describing is the domain of the workers that read what files declare.
const describing = "describe"

// describes reports whether the workers of the domain read what files declare.
func (d domain) describes() bool { return d.key == describing }

// Describe implements [Sandbox].
func (p *Process) Describe(ctx context.Context, s tool.Script) (tool.Tool, error) {
	if err := engine.CheckSize(s); err != nil {
		return tool.Tool{}, err
	}
	var t [1]tool.Tool
	var failed [1]error
	err := p.describe(ctx, p.job(describing, tool.DefaultMemory, scriptKey(s)), []tool.Script{s}, t[:], failed[:])
	if err == nil {
		err = failed[0]
	}
	if err != nil {
		return tool.Tool{}, inFile(err, s.Path)
	}
	return t[0], nil
}

// The most that is described by one request, which may use as much processor time as
// one script by itself.
const (
	maxBatch      = 64
	maxBatchBytes = 256 << 10
)

// DescribeAll reads what scripts declare: a tool or an error of each, as Describe
// gives them one after the other. Several are sent to a worker together, which saves
// most of what it takes to ask it. Where that fails, each is described by itself, so
// that a script which exhausts its worker does not fail another.
func (p *Process) DescribeAll(ctx context.Context, scripts []tool.Script) ([]tool.Tool, []error) {
	tools, errs := make([]tool.Tool, len(scripts)), make([]error, len(scripts))
	for start := 0; start < len(scripts); {
		end := start + batchLen(scripts[start:])
		batch, t, e := scripts[start:end], tools[start:end], errs[start:end]
		if len(batch) == 1 || p.describe(ctx, p.batchJob(batch), batch, t, e) != nil {
			for i, s := range batch {
				t[i], e[i] = p.Describe(ctx, s)
			}
		}
		start = end
	}
	return tools, errs
}

// batchLen returns how many of the scripts, at least one, are described by one
// request: they have the same shared files.
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

// batchJob is a job for scripts together. One for which a worker broke the rules is
// not tried again.
func (p *Process) batchJob(batch []tool.Script) job {
	all := sha256.New()
	var part []byte // of what is hashed
	for _, s := range batch {
		part = append(append(append(append(part[:0], s.Path...), '\n'), s.Source...), '\n')
		all.Write(part)
	}
	return p.job(describing, tool.DefaultMemory, scriptKey(tool.Script{Hash: hex.EncodeToString(all.Sum(nil))}))
}

// describe has a worker describe scripts. The error is one of the request.
func (p *Process) describe(ctx context.Context, j job, scripts []tool.Script, tools []tool.Tool, errs []error) error {
	_, err := p.ask(ctx, j, func(c *child) (a answer, err error) {
		c.watch.reset(describeCPU)
		if a, err = c.request(sendDescribe, scriptsMessage(scripts), nil); err != nil || a.failed != nil {
			return a, err
		}
		for i := range scripts {
			switch v := a.value().(type) {
			case []byte:
				errs[i] = nil
				if tools[i], err = tool.DecodeTool(string(v)); err != nil {
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

// readFailure reads why a script could not be described.
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
