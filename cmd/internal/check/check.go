// Package check has the commands that find faults in scripts, and format them.
package check

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy check or cassidy fmt.
type command struct{ *app.App }

// Command returns cassidy check.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "check", Usage: "find faults in scripts without running them", ArgsUsage: "[FILE|FOLDER|NAME …]",
		Description: "The command checks tools, workflows, policies, hooks, libraries and tests. NAME is the name of a tool, a workflow or a policy.\n" +
			"Without arguments, it checks the scripts of the project and your personal scripts.\n" +
			"If there are errors, the exit code is 1. Each fault has a code, such as unknown-name. docs/checking.md explains these codes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "fix the faults that have a fix, and list what was fixed"},
			&cli.BoolFlag{Name: "strict", Usage: "exit with code 1 if there are warnings, too"},
			&cli.BoolFlag{Name: "sarif", Usage: "print the faults in SARIF 2.1.0, for CI"},
		},
		Action: func(ctx *cli.Context) error {
			if fault := c.configFault(); fault != nil {
				return c.check(ctx, nil, fault)
			}
			return c.WithHost(func(ctx *cli.Context, h *host.Host) error { return c.check(ctx, h, nil) })(ctx)
		},
	}
}

// configFault returns the fault of an invalid config, or nil. Without a valid config, there is no host, and the checker
// does not know the tools.
func (c *command) configFault() *fileDiagnostics {
	dir, root, err := c.WorkProject()
	if err != nil {
		return nil
	}
	if _, err = c.ReadConfig(cmp.Or(root, dir)); err == nil {
		return nil
	}
	e := value.ErrorOf(err, value.Invalid)
	if e.Pos.File == "" {
		return nil
	}
	d := invalid(shown(e.Pos.File), e)
	d.Pos.Line, d.Pos.Col = max(e.Pos.Line, 1), max(e.Pos.Col, 1)
	d.Hint = strings.TrimPrefix(d.Hint+"; correct the config first: until then, check does not know the tools that scripts call", "; ")
	return &fileDiagnostics{Name: d.Pos.File, Found: []diagnostic.Diagnostic{d}}
}

// check checks files. The host is nil if the config has a fault.
func (c *command) check(ctx *cli.Context, h *host.Host, config *fileDiagnostics) error {
	if h != nil {
		agents.RegisterForHelp(h)
	}
	dir, err := c.Root()
	if err != nil {
		return err
	}
	checker, err := app.NewChecker(h, dir)
	if err != nil {
		return err
	}
	t, err := c.targets(h, ctx.Args().Slice())
	if err != nil {
		return err
	}
	r := &run{command: c, checker: checker, root: t.root, fix: ctx.Bool("fix"), conflicts: c.conflicts(h, t.root)}
	if config != nil {
		r.files = append(r.files, *config)
	}
	over := check.Over(t.files)
	for i, file := range t.files {
		switch {
		case ctx.Context.Err() != nil:
			return value.AsError(ctx.Context.Err(), value.Canceled)
		case over[i]:
			name := shown(file)
			e := value.Limitf(value.LimitSource, "the file is not checked: there are more than %d MB of scripts, and smaller ones are checked first", check.MaxScripts>>20).
				WithHint("delete scripts that are not needed, or check this one alone: cassidy check FILE")
			r.files = append(r.files, fileDiagnostics{Name: name, Found: []diagnostic.Diagnostic{invalid(name, e)}})
		default:
			r.file(file)
		}
	}
	return r.report(ctx.Bool("sarif"), ctx.Bool("strict"))
}

// A run checks files, one after the other.
type run struct {
	*command
	checker   *check.Checker
	root      string
	fix       bool
	conflicts map[string]*value.Error // of the names of tools, by the absolute paths of their files
	files     []fileDiagnostics
	fixed     []diagnostic.Diagnostic
}

// shown returns the name of a file in messages: relative to the current folder, if it is below it.
func shown(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, abs); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(file)
}

// file checks one file. That it cannot be read is a fault of it.
func (r *run) file(file string) {
	name := shown(file)
	text, err := check.Read(r.root, file)
	if err != nil {
		r.files = append(r.files, fileDiagnostics{Name: name, Found: []diagnostic.Diagnostic{invalid(name, err)}})
		return
	}
	found := r.checker.File(name, text)
	if r.fix {
		next, done, left := r.checker.Fix(name, text)
		if len(done) > 0 {
			if err := check.Replace(r.root, file, text, next); err != nil {
				left = append(found, invalid(name, err))
				done, next = nil, text
			}
		}
		r.fixed, found, text = append(r.fixed, done...), left, next
	}
	if abs, err := filepath.Abs(file); err == nil && r.conflicts[abs] != nil {
		e := r.conflicts[abs]
		found = append(found, diagnostic.Diagnostic{Pos: value.Position{File: name, Line: 1, Col: 1}, Severity: diagnostic.Error, Code: diagnostic.DuplicateName, Message: e.Message(), Hint: e.Hint})
		diagnostic.Sort(found)
	}
	r.files = append(r.files, fileDiagnostics{Name: name, Text: text, Found: found})
}

// conflicts returns the tools that are not used because another tool has the same name.
func (c *command) conflicts(h *host.Host, root string) map[string]*value.Error {
	found := map[string]*value.Error{}
	if h == nil {
		return found
	}
	for _, e := range h.Broken() {
		if message := e.Message(); !strings.Contains(message, " is also in ") && !strings.Contains(message, " already has the name ") {
			continue
		}
		if abs, err := filepath.Abs(c.inPlace(root, e.Pos.File)); err == nil {
			found[abs] = e
		}
	}
	return found
}

// invalid returns the fault of a file that cannot be read or written.
func invalid(name string, err error) diagnostic.Diagnostic {
	e := folder.FileError(err, name)
	return diagnostic.Diagnostic{Pos: value.Position{File: name, Line: 1, Col: 1}, Severity: diagnostic.Error, Code: diagnostic.InvalidFile, Message: e.Message(), Hint: e.Hint}
}

// report prints the faults. It fails silently if there are errors.
func (r *run) report(sarif, strict bool) error {
	var found []diagnostic.Diagnostic
	list := value.List{}
	fixable := 0
	for _, f := range r.files {
		for i := range f.Found {
			found = append(found, f.Found[i])
			list = append(list, check.JSON(&f.Found[i], f.Text))
			if fix := f.Found[i].Fix; fix != nil && !fix.Choice {
				fixable++
			}
		}
	}
	errs, warnings := check.Count(found)
	bad := errs > 0 || strict && warnings > 0
	switch {
	case sarif:
		if err := r.PrintJSON(sarifOf(r.files, app.Version())); err != nil {
			return err
		}
	case r.JSON:
		fixed := value.List{}
		for i := range r.fixed {
			d := &r.fixed[i]
			fixed = append(fixed, value.NewDict("file", d.Pos.File, "line", int64(d.Pos.Line), "code", d.Code, "title", d.Fix.Title))
		}
		if err := r.PrintJSON(value.NewDict("valid", !bad, "files", int64(len(r.files)), "errors", int64(errs), "warnings", int64(warnings), "diagnostics", list, "fixed", fixed)); err != nil {
			return err
		}
	case ui.IsTerminal(r.Out):
		r.draw(errs, warnings, fixable)
	default:
		r.print(found)
		r.summary(errs, warnings, fixable)
	}
	if bad {
		return ui.ErrSilent
	}
	return nil
}

func (r *run) print(found []diagnostic.Diagnostic) {
	paint := r.ScreenOf(r.Out).Paint
	for _, d := range r.fixed {
		r.Print(ui.Sprintf("%s:%d: fixed: %s\n", d.Pos.File, d.Pos.Line, d.Fix.Title))
	}
	for i := range found {
		r.Print(diagnosticText(&found[i], paint))
	}
}

// draw draws the faults on a terminal, and what fixes them.
func (r *run) draw(errs, warnings, fixable int) {
	s := r.ScreenOf(r.Out)
	for i := range r.files {
		f := &r.files[i]
		fixed := slices.DeleteFunc(slices.Clone(r.fixed), func(d diagnostic.Diagnostic) bool { return d.Pos.File != f.Name })
		if len(f.Found)+len(fixed) > 0 {
			r.PrintLines(append(drawFile(s, f, fixed, r.Verbose), ""))
		}
	}
	text, mark := ui.Count(errs, "error")+", "+ui.Count(warnings, "warning"), draw.Failed
	switch {
	case len(r.files) == 0:
		text, mark = "no scripts found", draw.None
	case errs+warnings == 0:
		text, mark = "no faults in "+ui.Count(len(r.files), "file"), draw.Done
	case errs == 0:
		mark = draw.Risk
	}
	if fixable > 0 && !r.fix {
		text += fmt.Sprintf("%sfix %d:  ", s.Between(), fixable) + s.Paint(draw.Bold, "cassidy check --fix")
	}
	if !r.Quiet {
		r.PrintLines(s.Message(mark, text))
	}
}

func (r *run) summary(errs, warnings, fixable int) {
	files := ui.Count(len(r.files), "file")
	switch {
	case len(r.files) == 0:
		r.Note("no scripts found")
	case errs+warnings == 0:
		r.Did("no faults in %s", files)
	default:
		r.Note("%s and %s in %s", ui.Count(errs, "error"), ui.Count(warnings, "warning"), files)
	}
	if fixable > 0 && !r.fix {
		r.Note("to fix %d of them: cassidy check --fix", fixable)
	}
}

// names returns the names of all tools.
func names(h *host.Host) []string {
	var list []string
	for _, t := range h.List() {
		list = append(list, t.Name)
	}
	return list
}
