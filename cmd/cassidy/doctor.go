package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func doctorCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "say what cassidy finds here, and what is not right",
		Action: func(ctx *cli.Context) error {
			if _, err := exactly(ctx); err != nil {
				return err
			}
			return c.doctor()
		},
	}
}

// A finding is one line of the doctor's: what, how it is, and what to do about
// it if it is not right.
type finding struct {
	name, value string
	bad         bool
	hint        string
}

func (c *command) doctor() error {
	findings := []finding{
		{name: "cassidy", value: version()},
		{name: "system", value: goruntime.GOOS + "/" + goruntime.GOARCH + ", " + goruntime.Version()},
		c.checkSandbox(),
		c.checkProject(),
		c.checkHome(),
		c.checkCache(),
	}
	findings = append(findings, c.checkTools()...)
	return c.printFindings(findings)
}

// checkSandbox says where tools run and what keeps them in there. It tries it:
// a promise that nobody has seen kept is none.
func (c *command) checkSandbox() finding {
	const name = "sandbox"
	config, err := config.Read("", &config.Options{Home: c.home(), File: c.config})
	if err != nil {
		return finding{name: name, value: "not known: the config is broken", bad: true}
	}
	mode, err := cassidy.ParseMode(string(config.Sandbox.Mode))
	if err != nil {
		return finding{name: name, value: err.Error(), bad: true}
	}
	if mode == cassidy.Inline {
		return finding{name: name, value: "inline: tools run in this process, with steps and time bounded and files confined; " +
			"a tool can exhaust its memory or hang it, so run only tools that you trust", hint: "sandbox: process, in your config.yaml, confines them"}
	}
	layers, err := sandbox.Promise()
	f := finding{name: name, value: mode.String() + ": each tool has " + strings.Join(layers, "; ")}
	if err != nil {
		e := value.ErrorOf(err, value.Unavailable)
		f.value += "; " + e.Message()
		f.bad, f.hint = config.Sandbox.Confines(), e.Hint
		return f
	}
	box, err := sandbox.New(&sandbox.Options{Workers: sandbox.Workers{Program: c.worker()}}, stdlib.Pure()...)
	if err == nil {
		_, err = box.Describe(context.Background(), tool.Script{Path: "probe.star", Source: "def probe():\n    \"Probe.\"\n\ntool(probe)\n"})
		err = errors.Join(err, box.Close())
	}
	if err != nil {
		f.value, f.bad = mode.String()+": "+value.ErrorOf(err, value.Internal).Error(), true
		return f
	}
	f.value += ". Tried: a worker started, sealed itself, and was verified"
	return f
}

func (c *command) checkProject() finding {
	dir, err := c.workDir()
	if err != nil {
		return finding{name: "project", value: err.Error(), bad: true}
	}
	root, ok := project.Find(dir, c.home(), c.ceiling())
	if !ok {
		return finding{name: "project", value: "none at or above " + dir, hint: "cassidy init makes this folder one"}
	}
	return finding{name: "project", value: root}
}

func (c *command) checkHome() finding {
	home := c.home()
	if home == "" {
		return finding{name: "home", value: "none", hint: "set CASSIDY_HOME to keep personal tools"}
	}
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{name: "home", value: home + " (not made yet)"}
	case err != nil || !info.IsDir():
		return finding{name: "home", value: home + " is not a folder that can be read", bad: true, hint: "set CASSIDY_HOME to one"}
	}
	return finding{name: "home", value: home}
}

// checkCache tries to write where the index goes.
func (c *command) checkCache() finding {
	cache := c.cache()
	if cache == "" {
		return finding{name: "cache", value: "none: every start reads all tools"}
	}
	err := os.MkdirAll(cache, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(cache, ".doctor-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return finding{name: "cache", value: ui.FileError(err).Error(), bad: true, hint: "every start reads all tools; set CASSIDY_HOME to a folder that can be written"}
	}
	return finding{name: "cache", value: cache}
}

func (c *command) checkTools() []finding {
	h, done, err := c.open()
	if err != nil {
		e := value.ErrorOf(err, value.Internal)
		return []finding{{name: "tools", value: e.Error(), bad: true, hint: e.Hint}}
	}
	defer done()
	count := map[tool.Location]int{}
	findings := append(c.checkConfig(), c.checkTrust(h)...)
	for _, t := range h.Tools() {
		count[t.Location]++
		if t.State == tool.NotHere {
			findings = append(findings, finding{name: "tool " + t.Name, value: string(t.State) + ": " + t.Reason})
		}
	}
	counts := finding{name: "tools", value: plural(count[tool.Builtin], "built-in") + ", " +
		plural(count[tool.Project], "of the project") + ", " + plural(count[tool.Personal], "personal")}
	for _, e := range h.Broken() {
		findings = append(findings, finding{name: "file", value: e.Error(), bad: true, hint: e.Hint})
	}
	return append([]finding{counts}, findings...)
}

// checkConfig tells what the configs say that counts for nothing.
func (c *command) checkConfig() []finding {
	root, err := c.root()
	if err != nil {
		return nil // said already
	}
	config, err := config.Read(root, &config.Options{Home: c.home(), File: c.config})
	if err != nil {
		return nil // no host would have been opened
	}
	var findings []finding
	for _, w := range config.Warnings {
		findings = append(findings, finding{name: "config", value: w})
	}
	return findings
}

// checkTrust counts what waits for a review.
func (c *command) checkTrust(h *host.Host) []finding {
	root, err := c.root()
	if err != nil {
		return nil // said already
	}
	r, err := c.review(context.Background(), h, root)
	if err != nil {
		return []finding{{name: "trust", value: err.Error(), bad: true}}
	}
	if n := len(r.Untrusted()); n > 0 {
		return []finding{{name: "trust", value: ui.Count(n, "file") + " of the project untrusted, and not used", hint: "cassidy trust shows what they may do, and asks"}}
	}
	return nil
}

func plural(n int, what string) string { return value.FormatJSON(int64(n), "") + " " + what }

func (c *command) printFindings(findings []finding) error {
	bad := false
	list := value.List{}
	paint := c.Paint()
	var b strings.Builder
	for _, f := range findings {
		bad = bad || f.bad
		list = append(list, value.NewDict("name", f.name, "value", f.value, "ok", !f.bad, "suggestion", f.hint))
		mark := paint(ui.Green, "✓")
		if f.bad {
			mark = paint(ui.Red, "✗")
		}
		b.WriteString(mark + " " + strings.TrimPrefix(ui.Wrap(ui.Pad(f.name+":", 10)+ui.Printable(f.value), "  ", ui.PageWidth), "  "))
		if f.hint != "" {
			b.WriteString(ui.Wrap("→ "+ui.Printable(f.hint), "    ", ui.PageWidth))
		}
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("ok", !bad, "findings", list)); err != nil {
			return err
		}
	} else {
		c.Print(b.String())
	}
	if bad {
		return ui.ErrSilent
	}
	return nil
}

// clearCache removes the indexes.
func (c *command) clearCache() error {
	if c.cache() == "" {
		return nil
	}
	old, err := filepath.Glob(filepath.Join(c.cache(), "tools-*.idx"))
	if err != nil {
		return value.Errorf(value.Internal, "%w", err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ui.FileError(err)
		}
	}
	return nil
}
