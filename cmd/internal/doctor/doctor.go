// Package doctor has the command that checks what cassidy finds on this machine.
package doctor

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy"
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A command is one run of cassidy doctor.
type command struct{ *app.App }

// Command returns cassidy doctor.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "doctor", Usage: "check the sandbox, the folders and the tools",
		Description: "The command prints a line for each check. It changes nothing. The exit code is 1 if a check fails.",
		Action:      func(*cli.Context) error { return c.doctor() },
	}
}

// A finding is the result of a check.
type finding struct {
	name, value string
	bad         bool
	hint        string
}

func (c *command) doctor() error {
	findings := []finding{
		{name: "cassidy", value: app.Version()},
		{name: "system", value: goruntime.GOOS + "/" + goruntime.GOARCH + ", " + goruntime.Version()},
		c.checkSandbox(),
		c.checkProject(),
		c.checkHome(),
		c.checkCache(),
	}
	findings = append(findings, c.checkTools()...)
	return c.printFindings(findings)
}

// checkSandbox describes how tools are confined, and starts a worker to check it.
func (c *command) checkSandbox() finding {
	const name = "sandbox"
	config, err := c.ReadConfig("")
	if err != nil {
		return finding{name: name, value: "unknown: the config is invalid", bad: true}
	}
	mode, err := cassidy.ParseMode(string(config.Sandbox.Mode))
	if err != nil {
		return finding{name: name, value: err.Error(), bad: true}
	}
	if mode == cassidy.Inline {
		return finding{name: name, value: "inline: tools run in this process, with limits on steps, time and files. " +
			"A tool can exhaust the memory of this process or block it. Run only tools that you trust", hint: "to confine tools, add sandbox: process to your config.yaml"}
	}
	layers, err := sandbox.Confinement()
	f := finding{name: name, value: mode.String() + ". Layers around each tool: " + strings.Join(layers, "; ")}
	if err != nil {
		e := describe.ForUsers(value.ErrorOf(err, value.Unavailable))
		f.value += "; " + e.Message()
		f.bad, f.hint = config.Sandbox.Confines(), e.Hint
		return f
	}
	box, err := sandbox.New(&sandbox.Options{Workers: sandbox.Workers{Program: c.Worker()}}, stdlib.Pure()...)
	if err == nil {
		_, err = box.Describe(context.Background(), tool.Script{Path: "probe.star", Source: "def probe():\n    \"Probe.\"\n\ntool(probe)\n"})
		err = errors.Join(err, box.Close())
	}
	if err != nil {
		f.value, f.bad = mode.String()+": "+describe.ForUsers(value.ErrorOf(err, value.Internal)).Error(), true
		return f
	}
	f.value += ". Tested: a worker started, confined itself, and was verified"
	return f
}

func (c *command) checkProject() finding {
	dir, root, err := c.WorkProject()
	if err != nil {
		return finding{name: "project", value: err.Error(), bad: true}
	}
	if root == "" {
		return finding{name: "project", value: "none in or above " + dir, hint: "to create a project in this folder: cassidy init"}
	}
	return finding{name: "project", value: root}
}

func (c *command) checkHome() finding {
	home := c.Home()
	if home == "" {
		return finding{name: "home", value: "none", hint: "to use personal tools, set CASSIDY_HOME to a folder"}
	}
	if err := folder.CheckWritable(c.State()); err != nil {
		e := folder.HomeError("write to", c.State(), err)
		return finding{name: "home", value: "cannot " + e.Message(), bad: true, hint: e.Hint}
	}
	return finding{name: "home", value: home}
}

// checkCache writes a file to the folder of the indexes.
func (c *command) checkCache() finding {
	cache := c.Cache()
	if cache == "" {
		return finding{name: "cache", value: "none: every command reads all tools"}
	}
	if c.checkHome().bad {
		return finding{name: "cache", value: "none, without a home: every command reads all tools"}
	}
	if err := folder.CheckWritable(cache); err != nil {
		e := folder.HomeError("write to", cache, err)
		return finding{name: "cache", value: "cannot " + e.Message() + ", so every command reads all tools", bad: true, hint: e.Hint}
	}
	return finding{name: "cache", value: cache}
}

func (c *command) checkTools() []finding {
	h, done, err := c.Open()
	if err != nil {
		findings := broken("tools", err)
		if h, done, err = c.OpenBare(); err == nil { // the project's config was the reason
			defer done()
			findings = append(append(findings, c.checkTrust(h)...), c.checkFiles(h, nil)...)
		}
		return findings
	}
	defer done()
	count := map[tool.Location]int{}
	findings := append(c.checkConfig(h), c.checkTrust(h)...)
	for _, t := range h.Tools() {
		count[t.Location]++
		if t.State == toolset.NotHere {
			findings = append(findings, finding{name: "tool " + t.Name, value: string(t.State) + ": " + t.Reason})
		}
	}
	counts := finding{name: "tools", value: fmt.Sprintf("%d built-in, %d of the project, %d personal",
		count[tool.Builtin], count[tool.Project], count[tool.Personal])}
	return append(append([]finding{counts}, findings...), c.checkFiles(h, h.Broken())...)
}

// broken returns the finding of an error.
func broken(name string, err error) []finding {
	e := describe.ForUsers(value.ErrorOf(err, value.Internal))
	return []finding{{name: name, value: e.Error(), bad: true, hint: e.Hint}}
}

// checkFiles reads the workflows, policies, skills and agent files, and returns the errors in their files
// and in those of tools.
func (c *command) checkFiles(h *host.Host, tools []*value.Error) []finding {
	root, err := c.ProjectRoot()
	if err != nil {
		return nil // checkProject reports it
	}
	workflows, failed := project.DescribedWorkflows(context.Background(), root, c.Scope(), h.Describe)
	policies, errs := project.Policies(root, c.Scope())
	failed = append(failed, errs...)
	for i := range policies {
		p := &policies[i]
		s, err := p.Script(agent.PolicyLibs())
		if err == nil {
			err = h.Check(context.Background(), &host.Program{Name: "policy " + p.Name, Script: s})
		}
		if err != nil && p.Trusted {
			failed = append(failed, value.ErrorOf(err, value.Invalid))
		}
	}
	skills, errs := skill.List(root, c.Scope())
	failed = append(failed, errs...)
	defined, errs := project.Agents(root, c.Scope())
	for i := range defined {
		errs = append(errs, agents.Faults(c.App, h, &defined[i])...)
	}
	findings := []finding{{name: "files", value: fmt.Sprintf("%d workflows, %d policies, %d skills, %d agents", len(workflows), len(policies), len(skills), len(defined))}}
	for _, e := range c.CutNotes(root) {
		findings = append(findings, finding{name: "notes", value: e.Error(), hint: e.Hint})
	}
	seen := map[string]bool{}
	for _, e := range slices.Concat(tools, failed, errs) {
		if !seen[e.Error()] { // a workflow can be a tool
			findings = append(findings, broken("file", e)...)
		}
		seen[e.Error()] = true
	}
	return findings
}

// checkConfig returns the warnings about the configs, and what is wrong with their sources.
func (c *command) checkConfig(h *host.Host) []finding {
	root, err := c.Root()
	if err != nil {
		return nil // checkProject reports it
	}
	config, err := c.ReadConfig(root)
	if err != nil {
		return nil // opening the host has failed, too
	}
	warnings := ui.Map(config.Warnings, func(w string) finding { return finding{name: "config", value: w} })
	return append(warnings, checkSources(&config, h)...)
}

// checkTrust counts the files that need review.
func (c *command) checkTrust(h *host.Host) []finding {
	root, err := c.Root()
	if err != nil {
		return nil // checkProject reports it
	}
	r, err := c.Review(context.Background(), h, root)
	if err != nil {
		return []finding{{name: "trust", value: err.Error(), bad: true}}
	}
	if n := len(r.Untrusted()); n > 0 {
		return []finding{{name: "trust", value: ui.Count(n, "file") + " of the project untrusted and not used", hint: "to review: cassidy trust"}}
	}
	return nil
}

func (c *command) printFindings(findings []finding) error {
	bad := false
	list := value.List{}
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	for _, f := range findings {
		bad = bad || f.bad
		list = append(list, value.NewDict("name", f.name, "value", f.value, "ok", !f.bad, "suggestion", f.hint))
		writeFinding(&p, &f)
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("ok", !bad, "findings", list)); err != nil {
			return err
		}
	} else {
		c.Print(p.String())
	}
	if bad {
		return ui.ErrSilent
	}
	return nil
}

// writeFinding writes a finding, and what to do about it below.
func writeFinding(p *draw.Page, f *finding) {
	mark := draw.Done
	if f.bad {
		mark = draw.Failed
	}
	text, hint := ui.VisibleLine(f.value), ui.VisibleLine(f.hint)
	if p.Width > 0 {
		p.Lines(p.Screen.Fact(mark, draw.Pad(f.name, 8, false), text))
		if hint != "" {
			p.Lines(p.Hint("  ", hint))
		}
		return
	}
	lines := draw.Page{Screen: p.Screen}
	lines.Text("  ", f.name+": "+text)
	p.Line(p.Mark(mark) + strings.TrimSuffix(strings.TrimPrefix(lines.String(), " "), "\n"))
	if hint != "" {
		p.Text("    ", "→ "+hint)
	}
}
