package app

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Scope returns which files belong to a project and its user, and which are trusted.
func (a *App) Scope() *trust.Scope {
	return &trust.Scope{Home: a.Home(), UserDir: a.userHome(), Trust: trust.New(a.State()), TrustOnce: a.trustOnce, WorkDir: a.below(), Refuse: protect.Refuse(sync.OnceValue(func() []string {
		files, _ := a.SecretFiles() // of an invalid config, no host is opened
		return files
	}))}
}

// below returns the working folder from the root of the project, with slashes, or "".
func (a *App) below() string {
	dir, root, err := a.WorkProject()
	if err != nil {
		return ""
	}
	return trust.Below(root, dir)
}

// Review reads the files of the project that need a review.
func (a *App) Review(ctx context.Context, h *host.Host, root string) (*trust.Review, error) {
	return project.Review(ctx, root, &project.Options{
		Describe: h.Describe, Scope: trust.Scope{Home: a.Home(), Trust: trust.New(a.State()), WorkDir: a.below()},
	})
}

// NotesBelow returns the files with notes that are reviewed from folders below the working folder.
func (a *App) NotesBelow(ctx context.Context, root string) []string {
	return project.NotesBelow(ctx, root, &project.Options{
		Scope: trust.Scope{Home: a.Home(), Trust: trust.New(a.State()), WorkDir: a.below()},
	})
}

// CutNotes returns an error for each file with notes that models do not get in full.
func (a *App) CutNotes(root string) []*value.Error {
	return project.CutNotes(root, a.Scope())
}

// reportTrustedOnce reports how many untrusted files --trust-once allows, and with --verbose which.
// Each of them counts once, although a command can open several hosts.
func (a *App) reportTrustedOnce(h *host.Host, root string) error {
	r, err := a.Review(context.Background(), h, root)
	if err != nil {
		return err
	}
	n := 0
	for _, f := range r.Untrusted() {
		if _, again := a.reported.LoadOrStore(filepath.Join(root, filepath.FromSlash(f.Path)), true); again {
			continue
		}
		n++
		a.Debug("trusted for this command: %s (%s)", f.Path, InShort(&f))
	}
	switch {
	case n == 1:
		a.Warn("trusted for this command: 1 file (cassidy trust shows it)")
	case n > 1:
		a.Warn("trusted for this command: %d files (cassidy trust shows them)", n)
	}
	return nil
}

// CheckHome returns an error if the user's folder cannot be read or written. A command calls it before it creates a file
// that [App.RecordOwn] marks as the user's own, or that is in that folder.
func (a *App) CheckHome() error {
	if a.State() == "" {
		return nil // there is no folder for the record
	}
	if _, err := a.ReadConfig(""); err != nil {
		return err
	}
	return trust.New(a.State()).CheckWritable()
}

// RecordOwn marks a file of a project, which the user has just written, as trusted.
func (a *App) RecordOwn(ctx context.Context, h *host.Host, root, name string) error {
	if a.State() == "" {
		return nil // there is no folder for the record
	}
	r, err := a.Review(ctx, h, root)
	if err != nil {
		return err
	}
	for _, f := range r.Files {
		if f.Path == name {
			return trust.New(a.State()).Record(root, []trust.File{f}, true)
		}
	}
	return nil // it is invalid, which Review reports
}

// KindTexts describes the kinds of files.
var KindTexts = map[trust.Kind]string{
	trust.KindTool:     "tool",
	trust.KindLib:      "library: code that tools load",
	trust.KindPolicy:   "policy: code that controls a model",
	trust.KindWorkflow: "workflow: code that calls tools",
	trust.KindTest:     "test: code that tests tools, without effects",
	trust.KindSkill:    "skill: instructions for models",
	trust.KindHooks:    "hooks: code that refuses and changes what a model does",
	trust.KindAgent:    "agent: instructions, tools and limits of an agent",
	trust.KindNotes:    "notes: instructions for models",
	trust.KindMemory:   "memory: notes that models have written",
	trust.KindServers:  "servers: programs that are started, and addresses that calls are sent to",

	trust.KindProgram: "program: code that an MCP server of mcp.json runs, with what that is granted",

	trust.KindServerTools: "server tools: the tools that an MCP server offers",
}

// InShort describes on a line what a file may do. Show it with [ui.VisibleLine].
func InShort(f *trust.File) string {
	if f.Tool == nil {
		return KindTexts[f.Kind]
	}
	if len(f.Tool.Needs) == 0 {
		return "tool, only computes"
	}
	return "tool, needs " + ui.Join(ui.WorstFirst(f.Tool.Needs))
}

// ReportUntrusted reports how many tools or skills need a review.
func (a *App) ReportUntrusted(n int, what string) {
	switch {
	case n == 1:
		a.Warn("1 untrusted %s is not used; to review: cassidy trust", what)
	case n > 1:
		a.Warn("%d untrusted %ss are not used; to review: cassidy trust", n, what)
	}
}
