// Package watch calls a function after files of some folders have changed.
//
// The system reports the changes, see [fsnotify]. It reports them for one folder at a time, and
// not below it, so a watcher follows all folders of the trees, those that are created later, and
// the folders in which a missing tree would be created.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// quiet is how long nothing must change before Changed is called: editors and version
	// control write several files, and one file in several steps.
	quiet = 50 * time.Millisecond
	// longest is how long Changed waits while files keep changing.
	longest = time.Second
	// interval is how often a watcher looks at the files if the system does not report
	// changes.
	interval = 2 * time.Second
)

// Options configure a watcher.
type Options struct {
	// Paths are the files and folders to watch, with everything in the folders. They need not
	// exist, and may be links.
	Paths []string
	// Changed is called after each change, not concurrently. Several changes within 50 ms are
	// one, and while files keep changing it is called once a second. Its context ends when the
	// watcher is stopped.
	Changed func(context.Context)
	// Failed is called once, if the system cannot report changes: its limit of watched folders
	// may be reached. The watcher then looks at the files every two seconds. It may be nil.
	Failed func(error)
}

// Start starts a watcher. A change after Start has returned is noticed. Call stop to end the
// watcher; it returns when Changed has returned, so Changed must not call it.
func Start(o *Options) (stop func()) {
	ticks := time.NewTicker(interval)
	end := start(o, fsnotify.NewWatcher, ticks.C)
	return func() {
		end()
		ticks.Stop()
	}
}

// start is Start with another system, and with other times for looks.
func start(o *Options, open func() (*fsnotify.Watcher, error), ticks <-chan time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{opts: *o, ticks: ticks, ended: make(chan struct{})}
	w.opts.Paths = absolute(o.Paths)
	if w.opts.Failed == nil {
		w.opts.Failed = func(error) {}
	}
	var err error
	if w.system, err = open(); err == nil {
		err = w.follow()
	}
	if err != nil {
		w.fallBack(err)
	}
	go w.run(ctx)
	return func() {
		cancel()
		<-w.ended
	}
}

// absolute returns paths that do not depend on the working directory.
func absolute(paths []string) []string {
	var list []string
	for _, path := range paths {
		if abs, err := filepath.Abs(path); err == nil {
			list = append(list, abs)
		}
	}
	return list
}

// A watcher is the state of a goroutine that watches.
type watcher struct {
	opts   Options
	system *fsnotify.Watcher // nil after fallBack
	tree   *tree             // what is watched
	seen   *tree             // after fallBack: what the last look found
	ticks  <-chan time.Time  // when to look, after fallBack
	ended  chan struct{}
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	defer close(w.ended)
	defer func() { w.closeSystem() }()
	calm := time.NewTimer(0)
	<-calm.C
	var since time.Time // of the first change that Changed was not called for
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.events():
			if !w.tree.concerns(e) {
				continue
			}
			if since.IsZero() {
				since = time.Now()
			}
			calm.Reset(max(0, min(quiet, longest-time.Since(since))))
		case err := <-w.errors():
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.fallBack(err)
			}
			since = time.Now() // something may have changed
			calm.Reset(quiet)
		case <-calm.C:
			since = time.Time{}
			w.changed(ctx)
		case <-w.ticks:
			if w.system == nil && w.look() {
				w.opts.Changed(ctx)
			}
		}
	}
}

// changed follows the folders that are new, and calls Changed. What is created in a new folder
// before it is followed exists when Changed is called.
func (w *watcher) changed(ctx context.Context) {
	if w.system != nil {
		if err := w.follow(); err != nil {
			w.fallBack(err)
		}
	}
	w.opts.Changed(ctx)
}

// events returns what the system reports, or nil after fallBack.
func (w *watcher) events() <-chan fsnotify.Event {
	if w.system == nil {
		return nil
	}
	return w.system.Events
}

func (w *watcher) errors() <-chan error {
	if w.system == nil {
		return nil
	}
	return w.system.Errors
}

// follow has the system report the changes of all folders of the trees. It looks at them again
// afterwards: a folder may have been created in a new one before that was followed.
func (w *watcher) follow() error {
	w.tree = survey(w.opts.Paths, false)
	for range maxDepth {
		for dir := range w.tree.dirs {
			if err := w.system.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return err
			}
		}
		before := w.tree
		if w.tree = survey(w.opts.Paths, false); maps.Equal(before.dirs, w.tree.dirs) {
			break
		}
	}
	for _, dir := range w.system.WatchList() {
		if _, wanted := w.tree.dirs[dir]; !wanted {
			_ = w.system.Remove(dir) // it may not exist any more
		}
	}
	return nil
}

// fallBack looks at the files from now on, as the system does not report changes.
func (w *watcher) fallBack(cause error) {
	w.closeSystem()
	w.look()
	w.opts.Failed(value.Errorf(value.Limit, "the system does not report changes of files (%w): the files are checked every %v", cause, interval).
		WithHint("raise the limits fs.inotify.max_user_watches and fs.inotify.max_user_instances of the system"))
}

func (w *watcher) closeSystem() {
	if w.system != nil {
		_ = w.system.Close() // its events are no longer read
		w.system = nil
	}
}

// look reports whether the files have changed since the last look. A file that was young then
// may have changed: a file system may give two writes the same time.
func (w *watcher) look() bool {
	before := w.seen
	w.seen = survey(w.opts.Paths, true)
	return before != nil && (before.young || !before.same(w.seen))
}
