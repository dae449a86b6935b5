package completion

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
)

// Man returns the command that prints the manual page.
func Man(a *app.App) *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page, for man",
		Description: "To install the page:  mkdir -p ~/.local/share/man/man1 && cassidy man > ~/.local/share/man/man1/cassidy.1",
		Action: func(ctx *cli.Context) error {
			var p page
			p.line(`.TH CASSIDY 1 "" "cassidy ` + app.Version() + `"`)
			p.line(".nh") // names are not hyphenated
			p.section("NAME", ctx.App.Name+" - "+ctx.App.Usage)
			p.section("SYNOPSIS", ctx.App.UsageText)
			p.section("DESCRIPTION", ctx.App.Description)
			p.line(".SH OPTIONS")
			p.flags(ctx.App.Flags)
			p.line(".SH COMMANDS")
			p.commands("cassidy", ctx.App.Commands)
			a.PrintData(p.String())
			return nil
		},
	}
}

// A page is a manual page in the language of man, https://man7.org/linux/man-pages/man7/man.7.html.
type page struct{ strings.Builder }

func (p *page) line(text string) { p.WriteString(text + "\n") }

// text writes text as it is. Lines that end in the middle of a sentence are filled.
func (p *page) text(text string) {
	for line := range strings.Lines(text) {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "", "…", "...", "·", "|").Replace(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		p.line(line)
		if !app.Continues(line) {
			p.line(".br")
		}
	}
}

func (p *page) section(title, text string) {
	p.line(".SH " + title)
	p.text(text)
}

func (p *page) flags(flags []cli.Flag) {
	for _, f := range flags {
		shown, ok := f.(cli.DocGenerationFlag)
		if !ok || len(f.Names()) == 0 {
			continue
		}
		name, usage := "--"+f.Names()[0], shown.GetUsage()
		if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 { // as in "work in `DIR`"
			name += " " + parts[1]
		}
		p.line(".TP")
		p.line(`\fB` + strings.ReplaceAll(name, "-", `\-`) + `\fR`)
		p.text(usage)
	}
}

func (p *page) commands(parent string, commands []*cli.Command) {
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		name := parent + " " + c.Name
		p.line(".SS")
		p.text(strings.TrimSpace(name + " " + c.ArgsUsage))
		p.line(".PP")
		p.text(c.Usage)
		if c.Description != "" {
			p.line(".PP")
			p.text(c.Description)
		}
		p.flags(c.Flags)
		p.commands(name, c.Subcommands)
	}
}
