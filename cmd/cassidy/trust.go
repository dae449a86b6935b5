package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func trustCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "trust",
		Usage:     "review what is in this project, and trust it",
		ArgsUsage: "[FILE …]",
		Description: "A project's tools, skills and notes may be a stranger's. They are not used before you\n" +
			"have seen what they may do; what changes is asked about again, with what has changed.\n" +
			"Without FILE, everything that is not trusted is shown.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "trust it all, without a question"},
			&cli.BoolFlag{Name: "author", Usage: "the project is your own: edits stay trusted while they need no more than before"},
			&cli.BoolFlag{Name: "list", Usage: "show what is trusted here, and since when"},
			&cli.BoolFlag{Name: "revoke", Usage: "take the trust back, of FILE or of everything here"},
			&cli.BoolFlag{Name: "full", Usage: "show long files to their end"},
		},
		Action: c.trust,
	}
}

func (c *command) trust(ctx *cli.Context) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	if err := onlyOne(ctx, "list", "revoke", "author"); err != nil {
		return err
	}
	switch {
	case c.state() == "":
		return value.Errorf(value.Invalid, "there is no place to remember what is trusted").WithHint("set CASSIDY_HOME to a folder")
	case ctx.Bool("author") && ctx.Args().Present():
		return value.Errorf(value.Invalid, "--author is about the whole project, not about %q", ctx.Args().First()).
			WithHint("leave the file away to review everything and take the project for your own")
	case ctx.Bool("list"):
		return c.listTrusted(ctx, root)
	case ctx.Bool("revoke"):
		return c.revokeTrust(root, ctx.Args().Slice())
	}
	return c.withHost(func(ctx *cli.Context, h *host.Host) error { return c.reviewTrust(ctx, h, root) })(ctx)
}

func onlyOne(ctx *cli.Context, flags ...string) error {
	first := ""
	for _, f := range flags {
		if !ctx.Bool(f) {
			continue
		}
		if first != "" {
			return value.Errorf(value.Invalid, "--%s and --%s are two things to do", first, f).WithHint("use one of them")
		}
		first = f
	}
	return nil
}

// root returns the folder of the project, or the one to work in where there is
// none.
func (c *command) root() (string, error) {
	dir, err := c.workDir()
	if err != nil {
		return "", err
	}
	if root, ok := project.Find(dir, c.home(), c.ceiling()); ok {
		return root, nil
	}
	return dir, nil
}

// review reads what in the project asks for trust.
func (c *command) review(ctx context.Context, h *host.Host, root string) (*trust.Review, error) {
	return project.Review(ctx, root, &project.Options{
		Describe: h.Describe, Scope: trust.Scope{Home: c.home(), Trust: trust.New(c.state())},
	})
}

// tellTrustedOnce says what --trust-once lets through that is not trusted.
func (c *command) tellTrustedOnce(h *host.Host) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	r, err := c.review(context.Background(), h, root)
	if err != nil {
		return err
	}
	for _, f := range r.Untrusted() {
		c.Log("trusted for this command only: %s (%s)", ui.VisibleLine(f.Path), inShort(&f))
	}
	return nil
}

// reviewTrust shows what is not trusted and asks about it.
func (c *command) reviewTrust(ctx *cli.Context, h *host.Host, root string) error {
	r, err := c.review(ctx.Context, h, root)
	if err != nil {
		return err
	}
	files, err := c.chosen(r, root, ctx.Args().Slice())
	if err != nil {
		return err
	}
	t := &trusting{command: c, review: r, files: files, author: ctx.Bool("author"), full: ctx.Bool("full")}
	c.ReportAll(r.Broken)
	yes := ctx.Bool("yes") || len(files) == 0
	if !yes && !c.JSON && c.person() {
		return t.ask(ctx.Context)
	}
	if !c.JSON {
		t.showAll()
	}
	if yes {
		err = t.record(files)
	}
	if err == nil && c.JSON {
		err = c.PrintJSON(reviewJSON(r, files, yes))
	}
	if yes || err != nil {
		return err
	}
	e := value.Errorf(value.Denied, "nothing was trusted: there is no terminal to ask on").
		WithHint("type cassidy trust in a terminal, or cassidy trust --yes when you have read the above")
	c.Report(e)
	return ui.Reported(e)
}

// chosen returns the files that are not trusted: those that words name, or all.
func (c *command) chosen(r *trust.Review, root string, words []string) ([]trust.File, error) {
	files := r.Untrusted()
	if len(words) == 0 {
		return files, nil
	}
	wanted := map[string]bool{}
	for _, word := range words {
		name := c.inProject(root, word)
		found := false
		for _, f := range r.Files {
			found = found || f.Path == name
		}
		if !found {
			return nil, value.Errorf(value.Invalid, "%s is no file here that asks for trust", word).WithHint("cassidy trust shows those that do")
		}
		wanted[name] = true
	}
	for _, f := range r.Files { // a tool is trusted with what it loads, so that is shown too
		if f.Tool != nil && wanted[f.Path] {
			for _, lib := range f.Tool.Loads {
				wanted[folder.Name+"/tools/"+lib] = true
			}
		}
	}
	var some []trust.File
	for _, f := range files {
		if wanted[f.Path] {
			some = append(some, f)
		}
	}
	return some, nil
}

// inProject returns a file's path from the project's root, given that or the
// path from the folder to work in.
func (c *command) inProject(root, word string) string {
	name := filepath.Clean(word)
	if _, err := os.Lstat(filepath.Join(root, name)); err == nil && !filepath.IsAbs(name) {
		return filepath.ToSlash(name)
	}
	dir, err := c.workDir()
	if err != nil {
		return filepath.ToSlash(name)
	}
	abs := name
	if !filepath.IsAbs(name) {
		abs = filepath.Join(dir, name)
	}
	if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(name)
}

// person reports whether somebody can be asked: he types, and sees what is said.
func (c *command) person() bool {
	in, ok := c.in.(*os.File)
	return ok && ui.IsTerminal(in)
}

// A trusting is one review, with what came of it.
type trusting struct {
	*command
	review *trust.Review
	files  []trust.File
	author bool
	full   bool
}

func (t *trusting) nothing() string {
	if len(t.review.Files) == 0 {
		return "there is nothing here that asks for trust"
	}
	return "everything here is trusted (" + ui.Count(len(t.review.Files), "file") + ")"
}

func (t *trusting) showAll() {
	if len(t.files) == 0 {
		return
	}
	p := t.page()
	p.overview(t.review.Root, t.files)
	for i := range t.files {
		if !t.author { // his own code need not be shown to him
			p.file(&t.files[i], t.full)
		}
	}
	t.Print(p.String())
}

func (t *trusting) page() *reviewPage {
	return &reviewPage{ui.Page{Paint: t.Paint()}, ui.WidthOf(t.Out)}
}

// ask shows one file after another, and asks about each.
func (t *trusting) ask(ctx context.Context) error {
	in := bufio.NewReader(t.in)
	p := t.page()
	p.overview(t.review.Root, t.files)
	t.Print(p.String())
	if t.author {
		answer, err := t.answer(ctx, in, "are these your own, and do you trust them? [y/N] ")
		if err != nil || answer != "y" {
			return t.declined(err)
		}
		return t.record(t.files)
	}
	var trusted []trust.File
	refused := map[string]bool{}
	rest := false
	for i := range t.files {
		f := &t.files[i]
		if lib := loadsRefused(f, refused); lib != "" {
			t.Log("%s stays untrusted: it loads %s", ui.VisibleLine(f.Path), ui.VisibleLine(lib))
			continue
		}
		p := t.page()
		p.file(f, t.full)
		t.Print(p.String())
		answer := "y"
		if !rest {
			var err error
			if answer, err = t.answer(ctx, in, t.question(i)); err != nil {
				return errors.Join(t.record(trusted), t.declined(err))
			}
		}
		switch answer {
		case "a":
			rest = true
			fallthrough
		case "y":
			trusted = append(trusted, *f)
		case "q":
			return t.record(trusted)
		default:
			refused[f.Path] = true
		}
	}
	return t.record(trusted)
}

func (t *trusting) question(i int) string {
	what := ui.VisibleLine(t.files[i].Path)
	if left := len(t.files) - i - 1; left > 0 {
		return fmt.Sprintf("trust %s? [y]es, [N]o, [a]ll %d that are left, [q]uit: ", what, left+1)
	}
	return "trust " + what + "? [y/N] "
}

// loadsRefused names a file that a tool loads and that was refused, or "".
func loadsRefused(f *trust.File, refused map[string]bool) string {
	if f.Tool == nil {
		return ""
	}
	for _, lib := range f.Tool.Loads {
		if refused[folder.Name+"/tools/"+lib] {
			return lib
		}
	}
	return ""
}

// answer asks a question and returns the first letter of the answer. What is no
// answer is no.
func (t *trusting) answer(ctx context.Context, in *bufio.Reader, question string) (string, error) {
	fmt.Fprintf(t.Err, "%s", question)
	line := make(chan string, 1)
	go func() { // a terminal is read to the end of the line, whatever happens meanwhile
		text, _ := in.ReadString('\n')
		line <- text
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case text := <-line:
		if !strings.HasSuffix(text, "\n") {
			fmt.Fprintln(t.Err)
			return "q", nil // the end of the input
		}
		switch word := strings.ToLower(strings.TrimSpace(text)); word {
		case "y", "yes":
			return "y", nil
		case "a", "all":
			return "a", nil
		case "q", "quit":
			return "q", nil
		}
		return "n", nil
	}
}

func (t *trusting) declined(err error) error {
	if err == nil {
		t.Note("nothing was trusted")
	}
	return err
}

// record remembers what was trusted.
func (t *trusting) record(files []trust.File) error {
	trust := trust.New(t.state())
	if err := trust.Record(t.review.Root, files, t.author); err != nil {
		return err
	}
	if t.author {
		if err := trust.MarkAuthor(t.review.Root); err != nil {
			return err
		}
		t.Note("this project is yours now: edits stay trusted while they need no more than before")
	}
	switch {
	case len(t.files) == 0:
		t.Note("%s", t.nothing())
	case len(files) == 0:
		t.Note("nothing was trusted")
	default:
		t.Note("trusted %s", ui.Count(len(files), "file"))
	}
	return nil
}

// listTrusted shows what is trusted here.
func (c *command) listTrusted(ctx *cli.Context, root string) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	records, author, err := trust.New(c.state()).List(root)
	if err != nil {
		return err
	}
	list := value.List{}
	p := ui.Page{Paint: c.Paint()}
	for _, r := range records {
		state := "trusted"
		if r.Revoked {
			state = "revoked"
		}
		list = append(list, value.NewDict("path", r.Path, "kind", string(r.Kind), "state", state, "hash", r.Hash,
			"needs", capabilityList(r.Needs), "own", r.Own, "when", r.When.UTC().Format(time.RFC3339)))
		facts := []string{state, r.When.Local().Format("2006-01-02 15:04")}
		if len(r.Needs) > 0 {
			facts = append(facts, strings.Join(capabilityTexts(r.Needs), ", "))
		}
		p.Line("%s  %s", ui.VisibleLine(r.Path), p.Paint(ui.Dim, "["+ui.VisibleLine(strings.Join(facts, " · "))+"]"))
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("project", root, "author", author, "files", list))
	}
	if author {
		c.Note("%s is your own: edits stay trusted while they need no more than before", root)
	}
	if len(records) == 0 {
		c.Note("nothing here has been reviewed")
	}
	c.Print(p.String())
	return nil
}

// revokeTrust takes back the trust of files, or of the project.
func (c *command) revokeTrust(root string, words []string) error {
	var names []string
	for _, word := range words {
		names = append(names, c.inProject(root, word))
	}
	if err := trust.New(c.state()).Revoke(root, names...); err != nil {
		return err
	}
	if c.JSON {
		list := value.List{}
		for _, name := range names {
			list = append(list, name)
		}
		return c.PrintJSON(value.NewDict("project", root, "revoked", list, "all", len(names) == 0))
	}
	if len(names) == 0 {
		c.Note("nothing in %s is trusted any more", root)
	}
	for _, name := range names {
		c.Note("%s is not trusted any more", name)
	}
	return nil
}

// recordOwn remembers that the user has just written a file of a project.
func (c *command) recordOwn(ctx context.Context, h *host.Host, root, name string) error {
	if c.state() == "" {
		return nil // there is no place to remember it
	}
	r, err := c.review(ctx, h, root)
	if err != nil {
		return err
	}
	for _, f := range r.Files {
		if f.Path == name {
			return trust.New(c.state()).Record(root, []trust.File{f}, true)
		}
	}
	return nil // it is not right, and reported as such
}

// untrusted is the error of using a tool that is not trusted; nil for others.
func untrusted(t *tool.Tool) error {
	if t.State != tool.Untrusted {
		return nil
	}
	return value.Errorf(value.Denied, "the tool '%s' is untrusted: %s", t.Name, t.Reason).
		WithHint("cassidy trust shows what it may do, and asks; --trust-once lets this command through without remembering")
}
