package agents

import (
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxUnused is how many invalid files of a kind are reported before a run.
const maxUnused = 3

// reportUnused reports which files of tools and agents a run does not use, because they are invalid or
// untrusted: a line for each, with the command that shows more.
func reportUnused(a *app.App, h *host.Host) {
	calls.ReportUntrusted(a, h.List())
	reportInvalid(a, h.Broken(), "tool", "cassidy tool validate")
	root, err := a.Root()
	if err != nil {
		return
	}
	files, broken := project.Agents(root, a.Scope())
	untrusted := 0
	for i := range files {
		switch f := &files[i]; {
		case !f.Trusted:
			untrusted++
		case f.Usable() == nil:
			broken = append(broken, Faults(a, h, f)...)
		}
	}
	a.ReportUntrusted(untrusted, "agent")
	reportInvalid(a, broken, "agent", "cassidy agents")
}

// reportInvalid reports errors in files of a kind. command shows more of them.
func reportInvalid(a *app.App, errors []*value.Error, kind, command string) {
	for i, e := range errors {
		if i == maxUnused {
			a.Note("%s; to show them: %s", ui.Count(len(errors)-i, "more error")+" in "+kind+" files", command)
			return
		}
		a.Warn("invalid %s file: %s (%s shows more)", kind, e.Error(), command)
	}
}
