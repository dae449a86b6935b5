// Package trust has the command that reviews what is in a project: what its files may do,
// and whether the user trusts them. It has the command that locks what was reviewed, too.
package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy trust.
type command struct{ *app.App }

// Command returns cassidy trust.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "trust", Usage: "review the files of this project, and trust them", ArgsUsage: "[FILE … | RULE …]",
		Description: "The scripts, skills, agent files and notes of a project may come from an untrusted author. cassidy uses a file only after you have\n" +
			"reviewed it. If the file changes later, it is not used until you review it again. The new review shows the changes.\n" +
			"Without FILE, you review all untrusted files.\n" +
			"The rules of your config decide what tools may do without a question. The error of a refused call shows the command\n" +
			`with the narrowest rule that allows it, such as: cassidy trust --rule '{tool: deploy, capability: "shell:git"}'`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "trust the files, or add or remove the rules, without asking"},
			&cli.BoolFlag{Name: "author", Usage: "mark the project as yours: its new and changed files are trusted, except files that need more capabilities than before"},
			&cli.BoolFlag{Name: "list", Usage: "list the reviewed files, and when they were reviewed"},
			&cli.BoolFlag{Name: "revoke", Usage: "revoke the trust in FILE, or, if FILE is not given, in all files"},
			&cli.BoolFlag{Name: "full", Usage: "show long files in full"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules that are in force here: what they allow, where they are, and how to remove them"},
			&cli.BoolFlag{Name: "rule", Usage: "add each RULE to your config, for this project only; you see the change before it is written"},
			&cli.BoolFlag{Name: "remove-rule", Usage: "remove each RULE from your config; the flag removes only rules that allow something"},
		},
		Action: c.trust,
	}
}

func (c *command) trust(ctx *cli.Context) error {
	root, err := c.Root()
	if err != nil {
		return err
	}
	if err := onlyOne(ctx, "list", "revoke", "author", "rules", "rule", "remove-rule"); err != nil {
		return err
	}
	if ctx.Bool("rules") || ctx.Bool("rule") || ctx.Bool("remove-rule") {
		return c.rules(ctx, root)
	}
	switch {
	case c.State() == "":
		return value.Errorf(value.Invalid, "open the record of trusted files: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	case ctx.Bool("author") && ctx.Args().Present():
		return value.Errorf(value.Invalid, "--author and the file %q are mutually exclusive", ctx.Args().First()).
			WithHint("omit FILE to review everything and mark the project as yours")
	case ctx.Bool("list") && ctx.Args().Present():
		return value.Errorf(value.Invalid, "--list and FILE are mutually exclusive").WithHint("cassidy trust --list")
	case ctx.Bool("revoke"):
		return c.revokeTrust(root, ctx.Args().Slice())
	}
	h, done, err := c.OpenBare()
	if err != nil {
		return err
	}
	defer done()
	if ctx.Bool("list") {
		return c.listTrusted(ctx, h, root)
	}
	return c.reviewTrust(ctx, h, root)
}

func onlyOne(ctx *cli.Context, flags ...string) error {
	first := ""
	for _, f := range flags {
		if !ctx.Bool(f) {
			continue
		}
		if first != "" {
			return value.Errorf(value.Invalid, "--%s and --%s are mutually exclusive", first, f).WithHint("use only one of --%s and --%s", first, f)
		}
		first = f
	}
	return nil
}

// reviewTrust shows the untrusted files, and asks about them.
func (c *command) reviewTrust(ctx *cli.Context, h *host.Host, root string) error {
	r, err := c.Review(ctx.Context, h, root)
	if err != nil {
		return err
	}
	files, err := c.chosen(r, root, ctx.Args().Slice())
	if err != nil {
		return err
	}
	t := &Session{App: c.App, Review: r, Files: files, Author: ctx.Bool("author"), Full: ctx.Bool("full")}
	c.ReportAll(r.Broken)
	var below []string
	if !ctx.Args().Present() {
		below = c.NotesBelow(ctx.Context, root)
	}
	if !c.JSON {
		c.noteBelow(below)
	}
	t.unasked = !ctx.Bool("yes") && !c.Asks(c.In)
	yes := ctx.Bool("yes") || len(files) == 0 && !(t.unasked && t.Author)
	if !yes && c.Asks(c.In) {
		return t.Ask(ctx.Context)
	}
	if !c.JSON {
		t.ShowAll()
	}
	if yes {
		err = t.Record(files)
	}
	if err == nil && c.JSON {
		d := reviewJSON(r, files, yes)
		d.Put("notes_below", ui.Texts(below))
		err = c.PrintJSON(d)
	}
	if yes || err != nil {
		return err
	}
	e := value.Errorf(value.Denied, "nothing was trusted: no terminal is available to ask").
		WithHint("run cassidy trust on a terminal; or review the list above, then run cassidy trust --yes")
	if c.JSON {
		e = value.Errorf(value.Denied, "nothing was trusted: cassidy trust --json does not ask").WithHint("review the list above, then run cassidy trust --yes")
	}
	c.Report(e)
	return ui.Reported(e)
}

// noteBelow says which notes are reviewed from a folder below.
func (c *command) noteBelow(names []string) {
	if len(names) == 0 {
		return
	}
	const shown = 3
	list := strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	c.Note("not reviewed here, as models get them only in their folders: %s; to review them, run cassidy trust there", list)
}

// chosen returns the untrusted files: those that words name, or all.
func (c *command) chosen(r *trust.Review, root string, words []string) ([]trust.File, error) {
	files := r.Untrusted()
	if len(words) == 0 {
		return files, nil
	}
	wanted := map[string]bool{}
	for _, word := range words {
		name := c.inProject(root, word)
		if i := slices.IndexFunc(r.Broken, func(e *value.Error) bool { return e.Pos.File == name }); i >= 0 {
			return nil, r.Broken[i]
		}
		if !slices.ContainsFunc(r.Files, func(f trust.File) bool { return f.Path == name }) {
			return nil, value.Errorf(value.Invalid, "%s is not a file that needs review", word).WithHint("list the files that need review: cassidy trust")
		}
		wanted[name] = true
	}
	for _, f := range r.Files { // a tool is reviewed with the files that it loads
		if f.Tool != nil && wanted[f.Path] {
			for _, lib := range f.Tool.Loads {
				wanted[folder.Name+"/tools/"+lib] = true
			}
		}
	}
	return slices.DeleteFunc(files, func(f trust.File) bool { return !wanted[f.Path] }), nil
}

// inProject returns a file's path in the project, given that path or the one in the
// working folder.
func (c *command) inProject(root, word string) string {
	name := filepath.Clean(word)
	if _, err := os.Lstat(filepath.Join(root, name)); err == nil && !filepath.IsAbs(name) {
		return filepath.ToSlash(name)
	}
	abs := name
	if dir, err := c.WorkDir(); err == nil && !filepath.IsAbs(name) {
		abs = filepath.Join(dir, name)
	}
	if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return filepath.ToSlash(name)
}

// A Session is one review.
type Session struct {
	*app.App
	Review *trust.Review
	Files  []trust.File // the untrusted files to decide on
	Author bool         // the project is the user's own
	Full   bool         // long files are shown in full

	risky   map[string]bool // the paths of files that are asked about by themselves
	unasked bool            // nobody has agreed to anything: nothing is granted
}

// ShowAll shows all files.
func (t *Session) ShowAll() {
	if len(t.Files) == 0 {
		return
	}
	t.Files, t.risky = mostAbleFirst(t.Files), risks(t.Files)
	p := t.page()
	p.overview(t.Review.Root, t.Files)
	for i := range t.Files {
		if !t.Author { // authors know their own files
			p.file(&t.Files[i], t.Full)
		}
	}
	t.Print(p.String())
}

func (t *Session) declined(err error) error {
	if err == nil {
		t.Note("nothing was trusted")
	}
	return err
}

// Record records files as trusted.
func (t *Session) Record(files []trust.File) error {
	trust := trust.New(t.State())
	if err := trust.Record(t.Review.Root, files, t.Author); err != nil {
		return err
	}
	if t.Author {
		if err := trust.MarkAuthor(t.Review.Root); err != nil {
			return err
		}
		t.Did("this project is marked as yours: your changes stay trusted unless a file needs more capabilities")
	}
	if left := len(t.Review.Untrusted()) - len(files); left == 0 && !t.unasked {
		if err := trust.MarkReviewed(t.Review.Root); err != nil {
			return err
		}
	}
	t.reportCut()
	switch broken := len(t.Review.Broken); {
	case broken > 0 && len(t.Review.Files) == 0:
		t.Note("no other file needs review; what cannot be used is listed above")
	case broken > 0 && len(t.Files) == 0:
		t.Did("every other file here is trusted (%s); what cannot be used is listed above", ui.Count(len(t.Review.Files), "file"))
	case len(t.Review.Files) == 0 && t.unasked:
		t.Note("no file needs review; to let models see the names of the files and of the git branch: cassidy trust --yes")
	case len(t.Review.Files) == 0:
		t.Did("no file needs review; models may now see the names of the files and of the git branch")
	case len(t.Files) == 0:
		t.Did("everything here is trusted (%s)", ui.Count(len(t.Review.Files), "file"))
	case len(files) == 0:
		t.Note("nothing was trusted")
	default:
		t.Did("trusted %s", ui.Count(len(files), "file"))
		if left := len(t.Files) - len(files); left > 0 && !t.unasked {
			t.Note("%s left untrusted", ui.Count(left, "file"))
		}
	}
	return nil
}

// reportCut reports trusted notes that models do not get in full, unless the review has reported the file.
func (t *Session) reportCut() {
	for _, e := range t.CutNotes(t.Review.Root) {
		if !slices.ContainsFunc(t.Review.Broken, func(b *value.Error) bool { return b.Pos.File == e.Pos.File }) {
			t.Report(e)
		}
	}
}

// listTrusted lists the reviewed files, and those that are trusted because the project is
// the user's own.
func (c *command) listTrusted(ctx *cli.Context, h *host.Host, root string) error {
	records, author, err := trust.New(c.State()).List(root)
	if err != nil {
		return err
	}
	if author {
		review, err := c.Review(ctx.Context, h, root)
		if err != nil {
			return err
		}
		for _, f := range review.Files {
			if f.Reason == "" && !slices.ContainsFunc(records, func(r trust.Record) bool { return r.Path == f.Path }) {
				own := trust.Record{Path: f.Path, Kind: f.Kind, Hash: f.Hash, Own: true}
				if f.Tool != nil {
					own.Needs = f.Tool.Needs
				}
				records = append(records, own)
			}
		}
		slices.SortFunc(records, func(a, b trust.Record) int { return strings.Compare(a.Path, b.Path) })
	}
	list := value.List{}
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	t := &draw.Table{Columns: []draw.Column{{Name: "FILE"}, {Name: "NEEDS", Rank: 1}, {Name: "STATE", Rank: 2}, {Name: "SINCE", Rank: 3, Dim: true}}, AllRows: true}
	for _, r := range records {
		state := "trusted"
		if r.Revoked {
			state = "revoked"
		}
		facts, since, when := []string{"own"}, "", "" // not reviewed
		if !r.When.IsZero() {
			since, when = r.When.Local().Format("2006-01-02 15:04"), r.When.UTC().Format(time.RFC3339)
			facts = []string{state, since}
		}
		list = append(list, value.NewDict("path", r.Path, "kind", string(r.Kind), "state", state, "hash", r.Hash,
			"needs", ui.Texts(r.Needs), "own", r.Own, "when", when))
		if len(r.Needs) > 0 {
			facts = append(facts, ui.Join(r.Needs))
		}
		mark := draw.Done
		if r.Revoked {
			mark = draw.Failed
		}
		t.Marks = append(t.Marks, mark)
		t.Rows = append(t.Rows, []string{ui.VisibleLine(r.Path), ui.VisibleLine(ui.Join(r.Needs)), facts[0], since})
		p.Line(ui.VisibleLine(r.Path) + "  " + p.Paint(draw.Dim, "["+ui.VisibleLine(strings.Join(facts, " · "))+"]"))
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("project", root, "author", author, "files", list))
	}
	if author {
		c.Note("%s is marked as yours: your changes stay trusted unless a file needs more capabilities", root)
	}
	if len(records) == 0 {
		c.Note("no file of this project has been reviewed")
	}
	if ui.IsTerminal(c.Out) {
		c.PrintTable(t)
		return nil
	}
	c.Print(p.String())
	return nil
}

// revokeTrust revokes the trust of files, or of the project.
func (c *command) revokeTrust(root string, words []string) error {
	var names []string
	for _, word := range words {
		names = append(names, c.inProject(root, word))
	}
	store := trust.New(c.State())
	_, author, _ := store.List(root) // a damaged record is replaced
	if err := store.Revoke(root, names...); err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("project", root, "revoked", ui.Texts(names), "all", len(names) == 0))
	}
	if len(names) == 0 {
		c.Did("revoked the trust in all files of %s", root)
		if author {
			c.Note("the project is no longer marked as yours; to mark it again: cassidy trust --author")
		}
	}
	for _, name := range names {
		c.Did("revoked the trust in %s", name)
	}
	return nil
}
