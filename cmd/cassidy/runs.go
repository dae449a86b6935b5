package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func runsCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "runs",
		Usage: "show what was done, answer, go on with and take back runs",
		Description: "Tasks, workflows, the turns of chats, and calls of tools that do more than read are recorded in your own folder.\n" +
			"An ID may be shortened while one run alone begins so; last is the newest.",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the runs, the newest first",
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "limit", Value: 20, Usage: "show at most `N`; 0 shows all"},
					&cli.StringFlag{Name: "kind", Usage: "show those of a `KIND`: task, chat, run, tool or undo"},
					&cli.StringFlag{Name: "state", Usage: "show those in a `STATE`: " + strings.Join(stateNames(), ", ")},
				},
				Action: c.withRuns(c.listRuns),
			}, {
				Name: "show", Usage: "show what happened in a run, step by step", ArgsUsage: "ID",
				Description: "Steps that only keep the books are left out where they went well; --verbose shows them too.",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "step", Usage: "show all of the step at a `PLACE`, as 3.1"},
				},
				Action: c.withRuns(c.showRecorded),
			},
			c.answerCommand(c.resumeRun), c.resumeCommand(), c.replayCommand(), c.undoCommand(),
			c.exportCommand(), c.promoteCommand(),
			{
				Name: "cancel", Usage: "cancel a run: it cannot be resumed any more", ArgsUsage: "ID",
				Action: c.withRuns(c.cancelRun),
			}, {
				Name: "prune", Usage: "forget old runs", Description: "Without flags, what your config.yaml says under runs holds.",
				Flags: []cli.Flag{
					&cli.DurationFlag{Name: "older-than", Usage: "forget what ended longer ago than a `TIME` as 720h"},
					&cli.IntFlag{Name: "keep", Usage: "keep the newest `N` only"},
				},
				Action: c.withRuns(c.pruneRuns),
			},
		},
		Action: func(ctx *cli.Context) error { return noCommand(ctx, "cassidy runs") },
	}
}

// withRuns is a command on the record of runs.
func (c *command) withRuns(do func(*cli.Context, *history.Journal) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		c.records = true
		dir := c.journal()
		if dir == "" {
			return value.Errorf(value.Invalid, "no runs are recorded: you have no folder of your own").WithHint("set CASSIDY_HOME")
		}
		j, done, err := openRuns(dir)
		if err != nil {
			return err
		}
		defer done()
		return do(ctx, j)
	}
}

// openRuns opens the record of runs in a folder, until done is called.
func openRuns(dir string) (j *history.Journal, done func(), err error) {
	store, err := sqlite.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	j = history.Open(store, nil)
	return j, func() {
		_ = j.Close() // everything that was reported is written
		_ = store.Close()
	}, nil
}

// allRuns returns the runs that a filter selects, and an error besides where
// some cannot be read.
func allRuns(ctx context.Context, j *history.Journal, f history.Filter) (runs []history.Run, err error) {
	for r, err := range j.Runs(ctx, f) {
		if err != nil {
			return runs, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func (c *command) listRuns(ctx *cli.Context, j *history.Journal) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	filter := history.Filter{Kind: ctx.String("kind"), Limit: max(0, ctx.Int("limit"))}
	if name := ctx.String("state"); name != "" {
		s, err := stateNamed(name)
		if err != nil {
			return err
		}
		filter.States = []history.State{s}
	}
	runs, err := allRuns(ctx.Context, j, filter)
	if err != nil && len(runs) == 0 {
		return err
	}
	for i := range runs {
		tellBroken(j, &runs[i])
	}
	if c.JSON {
		list := value.List{}
		for i := range runs {
			d := runs[i].Dict()
			if w := waitOf(ctx.Context, j, &runs[i]); w != nil {
				d.Put("waits", w.dict())
			}
			list = append(list, d)
		}
		if e := c.PrintJSON(value.NewDict("runs", list)); e != nil {
			return e
		}
		return c.toldDamage(err)
	}
	if len(runs) == 0 {
		c.Print("No runs found\n")
		if filter.Kind == "" && filter.States == nil {
			c.Note(`cassidy task "…" makes one`)
		}
		return nil
	}
	c.printRuns(runs, func(r *history.Run) *wait { return waitOf(ctx.Context, j, r) })
	return c.toldDamage(err)
}

// stateNames are the states of runs, in their order.
func stateNames() []string {
	var names []string
	for s := history.Running; s <= history.Cancelled; s++ {
		names = append(names, s.String())
	}
	return names
}

func stateNamed(name string) (history.State, error) {
	for s := history.Running; s <= history.Cancelled; s++ {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, value.Errorf(value.Invalid, "there is no state %q%s", name, value.DidYouMean(name, stateNames())).
		WithHint("the states are %s", strings.Join(stateNames(), ", "))
}

// printRuns shows runs, a line each, and below it what one that is parked waits
// for.
func (c *command) printRuns(runs []history.Run, waits func(*history.Run) *wait) {
	const columns, least = 5, 20 // before the title, and of it however narrow the terminal
	rows := make([][columns]string, len(runs))
	var widths [columns]int
	for i := range runs {
		r := &runs[i]
		rows[i] = [columns]string{r.ID, r.Kind, r.State.String(), r.Reason, age(time.Since(r.Started))}
		if r.Damage != nil {
			rows[i][2] = "damaged"
		}
		if r.Started.IsZero() {
			rows[i][4] = ""
		}
		for k := range rows[i] {
			rows[i][k] = ui.Clip(ui.VisibleLine(ui.OneLine(rows[i][k])), ui.LineWidth/2)
			widths[k] = max(widths[k], utf8.RuneCountInString(rows[i][k]))
		}
	}
	paint, room := c.Paint(), c.LineWidth()
	for i := range runs {
		line := ""
		for k, text := range rows[i] {
			line += ui.Pad(text, widths[k]) + "  "
		}
		title := ui.Clip(ui.VisibleLine(ui.OneLine(runs[i].Title)), max(least, room-utf8.RuneCountInString(line)))
		c.Print(strings.TrimRight(line+title, " ") + "\n")
		if w := waits(&runs[i]); w != nil {
			c.Print("  " + paint(ui.Yellow, ui.Clip("… "+ui.VisibleLine(w.text()), room-2)) + "\n")
		}
	}
}

// age says how long ago something was, in its largest unit.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(0, int(d/time.Second)))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/day)
}

// stamp writes a time, and nothing for none.
func stamp(t time.Time) value.Value {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// brokenOff is the reason of a run that nobody has in hand, and that has neither
// parked nor ended: its process died.
const brokenOff = "broken off"

func tellBroken(j *history.Journal, r *history.Run) {
	if r.State == history.Running && r.Damage == nil && !j.Held(r.ID) {
		r.Reason = brokenOff
	}
}

// lastRun is the word for the newest run, in place of its ID.
const lastRun = "last"

// findRun finds a run by its ID, by the beginning of it that no other has, or as
// the last one.
func findRun(ctx context.Context, j *history.Journal, id string) (*history.Run, error) {
	runs, err := allRuns(ctx, j, history.Filter{})
	if err != nil && len(runs) == 0 {
		return nil, err
	}
	var known []string
	var begins []*history.Run
	for i := range runs {
		if runs[i].ID == id || id == lastRun && i == 0 {
			return &runs[i], nil
		}
		if known = append(known, runs[i].ID); strings.HasPrefix(runs[i].ID, id) {
			begins = append(begins, &runs[i])
		}
	}
	if len(begins) == 1 && id != "" {
		return begins[0], nil
	}
	return nil, value.Errorf(value.Invalid, "there is no run %q%s", id, value.DidYouMean(id, known)).WithHint("cassidy runs list")
}

// eachStep calls do with each step that can be read, or of which only the place
// can. It returns what is damaged of the run, and apart from that an error only
// where nothing can be said.
func eachStep(ctx context.Context, j *history.Journal, r *history.Run, do func(e *history.Entry, damage error)) (damage, err error) {
	for e, err := range j.Entries(ctx, r.ID) {
		if err != nil && value.KindOf(err) != value.Failed {
			return nil, err
		}
		breaksOff := err != nil && len(e.Place) == 0
		if breaksOff || err != nil && damage == nil {
			damage = err
		}
		if !breaksOff {
			do(&e, err)
		}
	}
	if damage == nil {
		damage = r.Damage // which says less of where it is
	}
	return damage, nil
}

// A tokenCount is what models were sent and sent back.
type tokenCount struct{ in, out int64 }

// count adds what a step cost.
func (n *tokenCount) count(e *history.Entry) (of tokenCount) {
	d, _ := e.Outcome.Value.(*value.Dict)
	of = tokenCount{d.Int("input_tokens"), d.Int("output_tokens")}
	n.in, n.out = n.in+of.in, n.out+of.out
	return of
}

func (n tokenCount) String() string {
	if n == (tokenCount{}) {
		return ""
	}
	return fmt.Sprintf("%d in, %d out", n.in, n.out)
}

// showRunJSON prints a run as one value, step by step: the steps of a long run
// are more than one value of ours may hold.
func (c *command) showRunJSON(ctx context.Context, j *history.Journal, r *history.Run) error {
	var tokens tokenCount
	began := false
	begin := func() {
		if !began {
			began = true
			head := *r
			head.Damage = nil // it comes last, with what the steps tell of it
			c.Print(strings.TrimSuffix(jsonText(head.Dict()), "}") + `,"steps":[`)
		}
	}
	comma := ""
	damage, err := eachStep(ctx, j, r, func(e *history.Entry, damage error) {
		begin()
		d := stepDict(e)
		if damage != nil {
			d = value.NewDict("place", e.Place.String(), "damage", damage.Error())
		} else {
			tokens.count(e)
		}
		c.Print(comma + jsonText(d))
		comma = ","
	})
	if err != nil && !began {
		return err
	}
	begin()
	end := value.NewDict("input_tokens", tokens.in, "output_tokens", tokens.out, "waits", nil)
	if w := waitOf(ctx, j, r); w != nil {
		end.Put("waits", w.dict())
	}
	if damage == nil {
		damage = err
	}
	if damage != nil {
		end.Put("damage", damage.Error())
	}
	c.Print("]," + strings.TrimPrefix(jsonText(end), "{") + "\n")
	return c.toldDamage(damage)
}

// jsonText writes a value as JSON on a line. What a script made and JSON has no
// form for, as infinity, becomes a text.
func jsonText(v value.Value) string {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return value.FormatJSON(v, "")
	}
	return string(text)
}

// stepDict is a step as programs get it.
func stepDict(e *history.Entry) *value.Dict {
	w := wordsOf(e)
	d := value.NewDict("place", e.Place.String(), "func", e.Func, "args", stepArgs(e), "started", stamp(e.Intended), "ended", stamp(e.Settled),
		"success", e.Err == nil && !e.Settled.IsZero(), "value", e.Outcome.Value, "size", int64(size(w.result)))
	if e.Err != nil {
		d.Put("error", e.Err.Message())
	}
	if e.Change != nil {
		d.Put("change", e.Change)
	}
	var tokens tokenCount
	if tokens.count(e) != (tokenCount{}) {
		d.Put("input_tokens", tokens.in)
		d.Put("output_tokens", tokens.out)
	}
	if len(e.Notes) > 0 {
		notes := make(value.List, len(e.Notes))
		for i, n := range e.Notes {
			notes[i] = shownNote(n)
		}
		d.Put("notes", notes)
	}
	if len(e.Questions) > 0 {
		list := make(value.List, len(e.Questions))
		for i := range e.Questions {
			list[i] = questionDict(&e.Questions[i])
		}
		d.Put("questions", list)
	}
	return d
}

func orNothing(d *value.Dict) value.Value {
	if d == nil {
		return nil
	}
	return d
}

// size is how many bytes a value takes as people see it.
func size(v value.Value) int {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return len(jsonText(v))
}

// bytesText writes a number of bytes.
func bytesText(n int) string {
	const kb = 1024
	switch {
	case n < kb:
		return strconv.Itoa(n) + " B"
	case n < kb*kb:
		return fmt.Sprintf("%.1f KB", float64(n)/kb)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(kb*kb))
}

// duration writes how long something took, as finely as people care.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return d.String()
}

// firstLine returns the first line of a text that says anything, or a value on
// one line.
func firstLine(v value.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		for line := range strings.Lines(v) {
			if line = ui.OneLine(line); line != "" {
				return line
			}
		}
		return ""
	}
	return ui.OneLine(value.FormatJSON(v, ""))
}

// toldDamage tells that a record is damaged, if it is, and ends the command with
// the code that this has: what could be read has been shown.
func (c *command) toldDamage(err error) error {
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Failed)
	if e.Kind == value.Failed {
		e.Hint = "" // to look at what can be read, which is what was done
	}
	c.Report(&e)
	return ui.Reported(&e)
}

// cancelRun cancels a run, or has the process that executes it do so.
func (c *command) cancelRun(ctx *cli.Context, j *history.Journal) error {
	words, err := exactly(ctx, "ID")
	if err != nil {
		return err
	}
	r, err := findRun(ctx.Context, j, words[0])
	if err != nil {
		return err
	}
	ended, err := j.Cancel(ctx.Context, r.ID)
	if err != nil {
		return err
	}
	if !ended {
		if c.JSON {
			return c.PrintJSON(value.NewDict("id", r.ID, "state", r.State.String(), "cancel_requested", true))
		}
		c.Print(r.ID + ": the process that executes it was asked to cancel it\n")
		return nil
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("id", r.ID, "state", history.Cancelled.String()))
	}
	c.Print(r.ID + " cancelled\n")
	return nil
}

func (c *command) pruneRuns(ctx *cli.Context, j *history.Journal) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	keep := history.Keep{For: ctx.Duration("older-than"), Most: ctx.Int("keep")}
	if !ctx.IsSet("older-than") && !ctx.IsSet("keep") {
		var err error
		if keep, err = c.keptRuns(); err != nil {
			return err
		}
	}
	if keep.For <= 0 && keep.Most <= 0 {
		return value.Errorf(value.Invalid, "say what to forget").
			WithHint("cassidy runs prune --older-than 720h, or --keep 100; or runs: {keep_for: 720h} in your config.yaml")
	}
	n, err := j.Prune(ctx.Context, keep)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("removed", int64(n)))
	}
	c.Print(fmt.Sprintf("%d removed from %s\n", n, filepath.ToSlash(c.journal())))
	return nil
}

// keptRuns says which runs the user's config keeps.
func (c *command) keptRuns() (history.Keep, error) {
	config, err := config.Read("", &config.Options{Home: c.home(), File: c.config})
	return history.Keep{For: config.Runs.For, Most: config.Runs.Most}, err
}

// forgetEvery is how often runs are forgotten unasked: each time looks at all
// of them.
const forgetEvery = 24 * time.Hour

// forgetRuns forgets the runs that the user's config does not keep, if that was
// not done within a day. It is for the beginning of a command that records its
// runs, and fails none: what is wrong with the record comes up there anyway.
func (c *command) forgetRuns(ctx context.Context) {
	dir := c.journal()
	keep, err := c.keptRuns()
	if dir == "" || err != nil || keep == (history.Keep{}) {
		return
	}
	// The file tells by its time when it was done. It is written first: what
	// fails is not tried again by each command.
	done := filepath.Join(c.state(), "runs-pruned")
	if info, err := os.Stat(done); err == nil && time.Since(info.ModTime()).Abs() < forgetEvery {
		return
	}
	if os.MkdirAll(c.state(), 0o700) != nil || os.WriteFile(done, []byte("\n"), 0o600) != nil {
		return
	}
	j, closeRuns, err := openRuns(dir)
	if err != nil {
		return
	}
	defer closeRuns()
	if n, err := j.Prune(ctx, keep); err != nil {
		c.Debug("old runs were not forgotten: %v", err)
	} else if n > 0 {
		c.Debug("forgot %s, as runs in your config.yaml says", ui.Count(n, "old run"))
	}
}
