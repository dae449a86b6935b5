package gate

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A preview is what a tool shows of its result to people, or why it does not. It is never recorded,
// and no model gets it.
type preview struct {
	text string // "" means the default preview
	why  string // why the tool's own preview failed, or ""
}

// maxNotes bounds the notes on a result, in bytes.
const maxNotes = 16 << 10

// said is what a call says about its result. Calls that a script makes in parallel add to it.
type said struct {
	mu      sync.Mutex
	notes   string // a line for each
	display *value.List
}

// displayResult adds a part to what a terminal shows of the result of the call.
func (p *Pass) displayResult(part value.Value) {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	if p.said.display == nil {
		p.said.display = &value.List{}
	}
	*p.said.display = append(*p.said.display, part)
}

// noteResult adds notes to the result of the call: of its own script, and of calls that the script
// makes, as nobody else reads those. A program has no result that a model reads: if a call runs it, such
// as one of execute_code, the notes are that call's.
func (p *Pass) noteResult(notes string) {
	for p != nil && p.program != nil {
		p = p.above
	}
	if p == nil || notes == "" {
		return
	}
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	const more = "\n(more notes are left out)"
	switch {
	case strings.HasSuffix(p.said.notes, more):
	case len(p.said.notes)+len(notes) > maxNotes:
		p.said.notes += more
	default:
		p.said.notes = strings.TrimPrefix(p.said.notes+"\n"+notes, "\n")
	}
}

// The limits of the function that previews a result.
const previewTime, previewSteps, previewSize = time.Second, 500_000, 16 << 10

// runPreview calls the function of a tool that previews its results. The function has no effects: it is
// not part of the call, and its failure does not matter to the call.
func (p *Pass) runPreview(ctx context.Context, run tool.Runner, v value.Value) preview {
	ctx, cancel := context.WithTimeoutCause(ctx, previewTime, value.Errorf(value.Timeout, "the preview took longer than %v", previewTime))
	defer cancel()
	c := tool.Call{ID: p.call.ID + "/preview", Tool: p.tool.Name, Entry: p.tool.Preview, Args: value.NewDict(NoteResult, v, NoteArgs, p.shown().Args)}
	c.Limits = tool.Limits{Steps: previewSteps, CPU: previewTime, Result: previewSize}.AtMost(p.now.Bounds.Of(p.call, p.tool.Tool))
	own := p.Run.gate.NewRun(c.ID, p.Run.tools, nil).newPass(p.tool, c, nil)
	out, err := own.run(ctx, run, func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		return tool.Outcome{}, value.Errorf(value.Denied, "%s is not allowed in a preview", e.Func)
	})
	if err == nil {
		err = c.Limits.CheckResult(out.Value)
	}
	if err == nil {
		out.Value, err = previewText(out.Value)
	}
	if err != nil {
		return preview{why: clip(err.Error())}
	}
	return preview{text: value.Clean(out.Value.(string), previewSize)}
}

// previewText returns the text of a preview, which is a string or a list of lines.
func previewText(v value.Value) (value.Value, error) {
	items, ok := value.Elements(v)
	if line, isText := v.(string); isText {
		items, ok = value.List{line}, true
	}
	lines := make([]string, len(items))
	for i, item := range items {
		line, isText := item.(string)
		lines[i], ok = line, ok && isText
	}
	if !ok {
		return nil, value.Errorf(value.Failed, "the preview should return a string or a list of strings, but returned %s", value.TypeOf(v))
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), nil
}
