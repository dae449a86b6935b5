package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// WithRuns returns an action that opens the record of runs.
func (a *App) WithRuns(do func(*cli.Context, *history.Journal) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		a.Records = true
		if err := a.takeOver(); err != nil {
			return err
		}
		dir := a.Journal()
		if dir == "" {
			return value.Errorf(value.Invalid, "open the record of runs: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
		}
		j, done, err := a.OpenRuns(dir)
		if err != nil {
			return err
		}
		defer done()
		return do(ctx, j)
	}
}

// OpenRuns opens the record of runs of the engine, or else in a folder. Call done to close it.
func (a *App) OpenRuns(dir string) (j *history.Journal, done func(), err error) {
	store, closeStore, err := a.openStore(dir)
	if err != nil {
		return nil, nil, err
	}
	j = history.Open(store, &history.Options{Version: Version()})
	return j, func() {
		_ = j.Close() // all records are written already
		_ = closeStore()
	}, nil
}

// HasRun reports whether a run is recorded. A run whose record could not be written is not.
func (a *App) HasRun(id string) bool {
	if id == "" || a.Journal() == "" {
		return false
	}
	j, done, err := a.OpenRuns(a.Journal())
	if err != nil {
		return false
	}
	defer done()
	_, err = j.Run(context.Background(), id)
	return err == nil
}

// openStore opens the store of runs in a folder.
func openStore(dir string) (*sqlite.Store, error) {
	store, err := sqlite.Open(dir)
	if e := value.ErrorOf(err, value.Failed); e != nil && e.Hint == "" {
		return nil, e.WithHint(folder.HomeHint)
	}
	return store, err
}

// KeptRuns returns the rules of the user's config for old runs.
func (a *App) KeptRuns() (history.Keep, error) {
	config, err := a.ReadConfig("")
	return history.Keep{For: config.Runs.For, Most: config.Runs.Most}, err
}

// ForgetEvery is the time between two automatic prunings, each of which reads all runs.
const ForgetEvery = 24 * time.Hour

// ForgetRuns deletes the runs that the user's config does not keep, once in
// [ForgetEvery]. It is called at the beginning of a command that records its runs, and
// reports no error: the command will find it, too. The age of a run is counted from the
// newest one: a clock that is a year ahead does not delete all others.
func (a *App) ForgetRuns(ctx context.Context) {
	dir := a.Journal()
	keep, err := a.KeptRuns()
	if e, _ := a.engine(); dir == "" || err != nil || keep == (history.Keep{}) || e.Kind != "" { // an engine forgets runs itself
		return
	}
	// The file's time is that of the last pruning. It is written first, so that not
	// every command repeats a failure.
	done := filepath.Join(a.State(), "runs-pruned")
	if info, err := os.Stat(done); err == nil && time.Since(info.ModTime()).Abs() < ForgetEvery {
		return
	}
	if os.MkdirAll(a.State(), 0o700) != nil || os.WriteFile(done, []byte("\n"), 0o600) != nil {
		return
	}
	j, closeRuns, err := a.OpenRuns(dir)
	if err != nil {
		return
	}
	defer closeRuns()
	keep.Steady = true
	if n, err := j.Prune(ctx, keep); err != nil {
		a.Debug("delete old runs: %v", err)
	} else if n > 0 {
		a.Debug("deleted %s, as configured under runs in your config.yaml", ui.Count(n, "old run"))
	}
}
