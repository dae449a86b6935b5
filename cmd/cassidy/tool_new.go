package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

func newCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "write a new tool from a template",
		ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "template", Usage: "`TEMPLATE`: " + strings.Join(scripts.Templates(), ", "), Value: "basic"},
			&cli.StringFlag{Name: "lang", Usage: "`LANGUAGE`: star, lua or md", Value: "star"},
			&cli.StringFlag{Name: "location", Usage: "`WHERE`: project or personal", Value: "project"},
			&cli.BoolFlag{Name: "open", Usage: "open the file in $VISUAL or $EDITOR"},
		},
		Action: c.withHost(c.newTool),
	}
}

func (c *command) newTool(ctx *cli.Context, h *host.Host) error {
	args, err := exactly(ctx, "NAME")
	if err != nil {
		return err
	}
	name := args[0]
	if err := checkNewName(h, name); err != nil {
		return err
	}
	text, ok := scripts.Template(ctx.String("template"), ctx.String("lang"), name)
	if !ok {
		return noTemplate(ctx.String("template"), ctx.String("lang"))
	}
	dir, shown, err := c.toolsDir(ctx.String("location"))
	if err != nil {
		return err
	}
	if err := checkNoFile(dir, shown, name); err != nil {
		return err
	}
	base := name + "." + ctx.String("lang")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return ui.FileError(err)
	}
	file := filepath.Join(dir, base)
	written, err := writeNew(file, text)
	if err != nil {
		return err
	}
	if !written {
		return alreadyExists(shown + "/" + base)
	}
	if ctx.String("location") == string(tool.Project) {
		if err := c.recordOwn(ctx.Context, h, filepath.Dir(filepath.Dir(dir)), shown+"/"+base); err != nil {
			c.Report(value.ErrorOf(err, value.Failed)) // the file is there: it can be reviewed like any other
		}
	}
	if c.JSON {
		err = c.PrintJSON(value.NewDict("name", name, "path", file))
	} else {
		c.Note("created %s", shown+"/"+base)
		c.Note("next: edit it, then  cassidy tool validate %s", name)
		c.Note("      try it with    cassidy tool example %s", name)
	}
	if err == nil && ctx.Bool("open") {
		err = c.edit(file)
	}
	return err
}

func noTemplate(template, lang string) error {
	langs := []string{"star", "lua", "md"}
	if !slices.Contains(langs, lang) {
		return value.Errorf(value.Invalid, "there is no language %q%s", lang, value.DidYouMean(lang, langs)).
			WithHint("languages are %s", strings.Join(langs, ", "))
	}
	return value.Errorf(value.Invalid, "there is no template %q%s", template, value.DidYouMean(template, scripts.Templates())).
		WithHint("templates are %s", strings.Join(scripts.Templates(), ", "))
}

// checkNewName says whether a new tool may have a name.
func checkNewName(h *host.Host, name string) error {
	if err := tool.CheckName(name); err != nil {
		return err
	}
	t, err := h.Tool(name)
	if err == nil && t.Location == tool.Builtin {
		return value.Errorf(value.Invalid, "the built-in tool '%s' has this name", t.Name).WithHint("choose a different name")
	}
	if err == nil {
		return alreadyExists(t.Path)
	}
	return nil
}

// checkNoFile refuses a name that a file has already, in either spelling and
// any language, even one that is broken.
func checkNoFile(dir, shown, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is no such folder yet
	}
	for _, e := range entries {
		for _, suffix := range tool.ScriptSuffixes() {
			if stem, ok := strings.CutSuffix(e.Name(), suffix); ok && tool.Key(stem) == tool.Key(name) {
				return alreadyExists(shown + "/" + e.Name())
			}
		}
	}
	return nil
}

func alreadyExists(path string) error {
	return value.Errorf(value.Invalid, "Tool already exists: %s", path).WithHint("choose a different name, or edit that file")
}

// toolsDir returns the folder for new tools, and its name for messages.
func (c *command) toolsDir(location string) (dir, shown string, err error) {
	switch location {
	case string(tool.Personal):
		if c.home() == "" {
			return "", "", value.Errorf(value.Invalid, "there is no place for personal tools").WithHint("set CASSIDY_HOME to a folder")
		}
		dir = filepath.Join(c.home(), "tools")
		return dir, dir, nil
	case string(tool.Project):
		work, err := c.workDir()
		if err != nil {
			return "", "", err
		}
		root, ok := project.Find(work, c.home(), c.ceiling())
		if !ok {
			root = work
			if err := c.makeProject(work); err != nil {
				return "", "", err
			}
		}
		return filepath.Join(root, folder.Name, "tools"), folder.Name + "/tools", nil
	}
	return "", "", value.Errorf(value.Invalid, "there is no location %q", location).WithHint("locations are project and personal")
}

// edit opens a file in the user's editor.
func (c *command) edit(file string) error {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if editor, ok := c.Env(name); ok && strings.TrimSpace(editor) != "" {
			words := append(strings.Fields(editor), file)
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				return value.Errorf(value.Failed, "%s: %w", editor, err)
			}
			return nil
		}
	}
	c.Note("set EDITOR to have --open open the file: %s", file)
	return nil
}

func fileStem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func validateCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "check tools, by name or by file; without any, all custom ones",
		ArgsUsage: "[NAME|FILE …]",
		Action:    c.withHost(c.validateTools),
	}
}

// validateTools checks each tool and tells what it found; the exit code is 1
// if any is not right.
func (c *command) validateTools(ctx *cli.Context, h *host.Host) error {
	words := ctx.Args().Slice()
	var reports value.List
	ok := true
	check := func(name string, t tool.Tool, err error) {
		reports = append(reports, c.report(name, t, err))
		ok = ok && err == nil
	}
	for _, word := range words {
		t, err := c.subject(ctx, h, word)
		check(word, t, err)
	}
	if len(words) == 0 {
		for _, t := range h.Tools() {
			if t.Location != tool.Builtin {
				check(t.Name, t, nil)
			}
		}
		for _, e := range h.Broken() {
			check(fileStem(e.Pos.File), tool.Tool{}, e)
		}
		if len(reports) == 0 {
			c.Note("No custom tools found")
		}
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("valid", ok, "tools", append(value.List{}, reports...))); err != nil {
			return err
		}
	}
	if !ok {
		return ui.ErrSilent
	}
	return nil
}

// subject returns the tool that a word names: a file if it looks like one.
func (c *command) subject(ctx *cli.Context, h *host.Host, word string) (tool.Tool, error) {
	if !strings.ContainsAny(word, `/\`) && filepath.Ext(word) == "" {
		return c.find(h, word)
	}
	info, err := os.Stat(word)
	if err != nil {
		return tool.Tool{}, value.Errorf(value.Failed, "File not found: %s", word)
	}
	if !info.Mode().IsRegular() {
		return tool.Tool{}, value.Errorf(value.Failed, "%s is not a file", word)
	}
	return project.DescribeFile(ctx.Context, word, &project.Options{Describe: h.Describe})
}

// report tells of one tool that was checked, part by part.
func (c *command) report(name string, t tool.Tool, err error) value.Value {
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		if !c.JSON {
			c.Report(e)
		}
		return value.NewDict("name", name, "valid", false, "file", e.Pos.File, "line", int64(e.Pos.Line),
			"column", int64(e.Pos.Col), "reason", e.Message(), "suggestion", e.Hint)
	}
	warnings := value.List{}
	for _, w := range t.Warnings {
		warnings = append(warnings, w)
	}
	if !c.JSON {
		c.Print(validPage(&t, c.Paint()))
	}
	return value.NewDict("name", t.Name, "valid", true, "state", string(t.State), "warnings", warnings)
}

func validPage(t *tool.Tool, paint func(code, text string) string) string {
	var b strings.Builder
	tick := func(format string, args ...any) {
		fmt.Fprintf(&b, "%s %s\n", paint(ui.Green, "✓"), ui.Printable(fmt.Sprintf(format, args...)))
	}
	tick("Tool name: %s", t.Name)
	tick("Description: %s", ui.Clip(t.Summary(), ui.PageWidth-16))
	tick("Group: %s", t.DisplayGroup())
	tick("Risky: %v", t.NeedsApproval())
	tick("Parameters (%d)", len(t.Params))
	for _, p := range t.Params {
		need := "optional"
		if p.Required {
			need = "required"
		}
		if p.FromHost {
			need = "filled in by the host"
		}
		fmt.Fprintf(&b, "    %s (%s, %s)\n", ui.Printable(p.Name), p.Type, need)
	}
	if len(t.Examples) > 0 {
		tick("Examples (%d), each with arguments that pass the check", len(t.Examples))
	}
	tick("Handler function is valid")
	for _, w := range t.Warnings {
		fmt.Fprintf(&b, "%s %s\n", paint(ui.Yellow, "!"), ui.Printable(w))
	}
	ready := "ready to use"
	if t.State == tool.Untrusted {
		ready = "untrusted: " + ui.Printable(t.Reason)
	}
	fmt.Fprintf(&b, "%s is valid and %s\n", t.Name, ready)
	return b.String()
}
