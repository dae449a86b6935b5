package host

import (
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// What runs because its user has reviewed it runs only as long as that trust is not revoked. The
// host checks this whenever a program starts and a run is resumed, whoever asks for it: the
// script with the files that it loads, the texts in the options of the run, which are hooks,
// agent files and their policies, and the files in its notes, which are skills that a model has
// loaded: in this run, or in earlier turns of its conversation. Tools are checked at each call, see [pins]. An edit of a file
// does not matter to a run that has begun, since it has the text that was trusted.

// recordedTexts are the files in the options of a run, see agent.Settings.
type recordedTexts struct {
	As     *tool.Agent  `json:"as"`
	Agents []tool.Agent `json:"agents"`
	Hooks  []struct {
		Path string `json:"path"`
	} `json:"hooks"`
	Reviewed []string `json:"reviewed"`
}

// mayStart fails if the trust of something that a program runs was revoked. The agents that it may
// call are checked when they start.
func (h *Host) mayStart(p *Program) error {
	if file := h.revokedFile(&p.Script, p.Options, "as", "hooks", ReviewedOption); file != "" {
		return h.untrusted("start '"+p.Name+"'", file)
	}
	return nil
}

// ReviewedOption is the key in [Recording].Options for a list of files that their user has reviewed, such as skills, and
// whose texts a model got in earlier turns of the conversation. The run is not resumed after the trust of one of them was
// revoked. Notes of [ReviewedNote] have the same key.
const ReviewedOption = "reviewed"

// ReviewedNote returns a note for [tool.Grant].Note, of an effect that gives a model the texts of files
// that their user has reviewed. The run is not resumed after the trust of one of them was revoked.
func ReviewedNote(files []string) *value.Dict {
	return value.NewDict(ReviewedOption, value.List(value.Map(files, func(f string) value.Value { return f })))
}

// ReviewedFiles returns the files in a note of [ReviewedNote], and nil for any other note.
func ReviewedFiles(note *value.Dict) (files []string) {
	for _, v := range note.Elements(ReviewedOption) {
		if file, ok := v.(string); ok {
			files = append(files, file)
		}
	}
	return files
}

// mayResume fails if the trust of something that a recorded run executes, or gives to its models,
// was revoked.
func (h *Host) mayResume(record history.Record, s *tool.Script) error {
	if h.opts.Revoked == nil {
		return nil
	}
	run := record.Run()
	file := h.revokedFile(s, run.Options, "as", "agents", "hooks", ReviewedOption)
	for n, err := range record.Notes() {
		if err != nil {
			return gate.Unrecorded(err)
		}
		for _, path := range ReviewedFiles(n) {
			if h.revoked(&tool.Script{Path: path}) {
				file = path
			}
		}
	}
	if file != "" {
		return waits(run.ID, h.untrusted("resume run '"+run.ID+"'", file))
	}
	return nil
}

// revokedFile returns a file whose trust was revoked, or "": the script, or one in some of the
// options.
func (h *Host) revokedFile(s *tool.Script, options *value.Dict, names ...string) string {
	if h.opts.Revoked == nil {
		return ""
	}
	given := &value.Dict{}
	for _, name := range names {
		if v, ok := options.Get(name); ok {
			given.Put(name, v)
		}
	}
	texts, err := value.ToGo[recordedTexts](given)
	if err != nil {
		texts = recordedTexts{} // another kind of runs has other options with these names
	}
	scripts := []*tool.Script{s}
	for i := range texts.Hooks {
		scripts = append(scripts, &tool.Script{Path: texts.Hooks[i].Path})
	}
	for _, file := range texts.Reviewed {
		scripts = append(scripts, &tool.Script{Path: file})
	}
	agents := texts.Agents
	if texts.As != nil {
		agents = append(agents, *texts.As)
	}
	for i := range agents {
		if scripts = append(scripts, &tool.Script{Path: agents[i].Path}); agents[i].Script != nil {
			scripts = append(scripts, agents[i].Script)
		}
	}
	for _, s := range scripts {
		if h.revoked(s) {
			return s.Path
		}
	}
	return ""
}

// revoked reports whether the trust of a script, or of a file that it loads, was revoked.
func (h *Host) revoked(s *tool.Script) bool {
	return s.Path != "" && h.opts.Revoked != nil && h.opts.Revoked(h.registry.source(), s)
}

func (h *Host) untrusted(op, file string) error {
	return value.Errorf(value.Denied, "%s: %s is untrusted", op, file).WithHint(rights.ReviewHint).WithLimit(value.LimitTool)
}

// revokedTool returns the error of a tool whose trust was revoked since the run has called it, or
// nil. There may be no such tool now, or a broken one.
func (p *pins) revokedTool(name string, pin *pinned) error {
	if o, err := p.lookup(name); err == nil && o.tool.Revoked {
		return o.callee.Refusal
	}
	if s, ok := reviewed(pin.kept); ok && p.host.revoked(&s) {
		return p.host.untrusted("call the tool '"+name+"'", s.Path)
	}
	return nil
}
