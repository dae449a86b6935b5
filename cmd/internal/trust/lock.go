package trust

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/lockfile"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A lockCommand is one run of cassidy lock.
type lockCommand struct{ *app.App }

// LockCommand returns cassidy lock.
func LockCommand(a *app.App) *cli.Command {
	c := &lockCommand{a}
	return &cli.Command{
		Name: "lock", Usage: "record the tools of the project and their capabilities, or check that nothing has changed",
		Description: "The lock is the file " + lockfile.Name + ". It has the capabilities of each tool, and a hash of each file that needs a review.\n" +
			"Commit the lock with the tools.\n" +
			"With --check, the command writes nothing. It lists the changes since the lock was written. Changes of capabilities are\n" +
			"listed first. If there is a change, the exit code is 1. Use --check in CI, and before a code review.",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "check", Usage: "compare the files with the lock, and write nothing"}},
		Action: c.WithHost(c.lock),
	}
}

func (c *lockCommand) lock(ctx *cli.Context, h *host.Host) error {
	root, err := c.ProjectRoot()
	if err != nil {
		return err
	}
	review, err := c.Review(ctx.Context, h, root)
	if err != nil {
		return err
	}
	now, err := lockfile.Of(review)
	if err != nil {
		c.ReportAll(review.Broken[min(1, len(review.Broken)):]) // the first one is the error
		return err
	}
	before, err := lockfile.Read(root)
	now.Servers = c.serversOf(root, before)
	if ctx.Bool("check") {
		if err != nil {
			return err
		}
		return c.check(before.Compare(now))
	}
	var changes []lockfile.Change
	if err == nil {
		changes = before.Compare(now)
	}
	if err := lockfile.Write(root, now); err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("file", lockfile.Name, "lock", now.Value(), "changes", list(changes)))
	}
	c.show(changes)
	locked := ui.Count(len(now.Tools), "tool") + " and " + ui.Count(len(now.Files), "other file")
	if n := len(now.Servers); n > 0 {
		locked = ui.Count(len(now.Tools), "tool") + ", " + ui.Count(n, "server") + " and " + ui.Count(len(now.Files), "other file")
	}
	c.Did("locked %s in %s", locked, lockfile.Name)
	return nil
}

// serversOf describes the tools of the project's servers as they were reviewed. A server that was not
// reviewed on this machine is as in the lock before, or nil.
func (c *lockCommand) serversOf(root string, before *lockfile.Lock) (list []lockfile.Server) {
	servers := c.Servers(root)
	entries, _ := servers.Entries() // an error is one of the review, too
	for i := range entries {
		e := &entries[i]
		if e.Location != tool.Project {
			continue
		}
		if tools, ok := servers.Reviewed(e); ok {
			list = append(list, lockfile.Server{Name: e.Name, Digest: tools.Digest(), Tools: tools.Names()})
		} else if locked, ok := before.Server(e.Name); ok {
			list = append(list, locked)
			c.Warn("the tools of the server %s were not compared: you have not reviewed them; to review: cassidy mcp review %s", e.Name, e.Name)
		}
	}
	slices.SortFunc(list, func(a, b lockfile.Server) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// check reports the changes since the lock, and fails if there are any.
func (c *lockCommand) check(changes []lockfile.Change) error {
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("ok", len(changes) == 0, "changes", list(changes))); err != nil {
			return err
		}
	} else {
		c.show(changes)
	}
	if len(changes) > 0 {
		return value.Errorf(value.Failed, "the files differ from %s: %s", lockfile.Name, ui.Count(len(changes), "change")).
			WithHint("review the changes, and then write the lock with: cassidy lock")
	}
	if !c.JSON {
		c.Did("the files are as in %s", lockfile.Name)
	}
	return nil
}

func (c *lockCommand) show(changes []lockfile.Change) {
	s := c.ScreenOf(c.Out)
	for _, x := range changes {
		text := ui.Printable(x.Subject + ": " + x.Text)
		if s.Width > 0 {
			mark := draw.None
			if x.Capability {
				mark = draw.Risk
			}
			text = strings.Join(s.Quoted(mark, text), "\n")
		}
		c.Print(text + "\n")
	}
}

// list returns changes for --json.
func list(changes []lockfile.Change) value.List {
	return ui.Map(changes, func(x lockfile.Change) value.Value {
		return value.NewDict("subject", x.Subject, "change", x.Text, "capability", x.Capability)
	})
}
