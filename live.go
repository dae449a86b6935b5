package cassidy

import (
	"io/fs"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
)

// A live has the snapshot that is in force, and replaces it after the user's config has changed. A call
// reads the snapshot once, when it begins. The first call after lookInterval looks at the file before it
// begins, so a change holds for all calls that begin lookInterval after it was written. Nobody looks
// between calls.
type live struct {
	now    atomic.Pointer[snapshot]
	mu     sync.Mutex   // is held to replace the snapshot
	began  time.Time    // when the host was opened
	looked atomic.Int64 // when somebody last looked at the file, in ns after began
}

const (
	// lookInterval is how long a snapshot is used without a look at the file.
	lookInterval = 100 * time.Millisecond
	// settleTime is how long what the file restricted before is kept after a change: the file may be
	// half-written. A file that is younger when it is read may change again within the resolution of
	// its time, and is read again.
	settleTime = 100 * time.Millisecond
)

// A snapshot is what is in force of the options of the program, the user's config and the project's
// config. It does not change.
type snapshot struct {
	toolset.Settings           // the parts below together, for the host
	*settings                  // of the program and both configs, at the last search
	user             lists     // of the user's config
	project          lists     // what the project's config restricts, at the last search
	held             lists     // what the user's config restricted before its last change
	until            time.Time // when held ends

	root string      // the folder of the project for which the user's config was read
	file fs.FileInfo // of the user's config before it was read; nil: there was none
	read time.Time   // when it was read; zero: it has to be read again
}

// lists are rules, and sources whose text is trusted or not.
type lists struct {
	rules              []Rule
	trusted, untrusted []string
}

// restrictions returns the part that only restricts.
func (l *lists) restrictions() lists {
	rules := slices.DeleteFunc(slices.Clone(l.rules), func(r Rule) bool { return r.Verdict == Allow })
	return lists{rules: rules, untrusted: l.untrusted}
}

// plus returns the lists with others.
func (l *lists) plus(m *lists) lists {
	return lists{slices.Concat(l.rules, m.rules), slices.Concat(l.trusted, m.trusted), slices.Concat(l.untrusted, m.untrusted)}
}

// userLists returns what comes from the user's config.
func userLists(c *config.Config) lists {
	rules := slices.DeleteFunc(slices.Clone(c.Rules), func(r Rule) bool { return r.Source == config.ProjectSource })
	return lists{rules, c.TrustedSources, c.UntrustedSources[:len(c.UntrustedSources)-len(c.ProjectUntrusted)]}
}

// projectLists returns what comes from the project's config.
func projectLists(c *config.Config) lists {
	rules := slices.DeleteFunc(slices.Clone(c.Rules), func(r Rule) bool { return r.Source != config.ProjectSource })
	return lists{rules: rules, untrusted: c.ProjectUntrusted}
}

// begin puts what was read when the host was opened in force.
func (f *finder) begin(c *config.Config, s *settings) {
	f.live.began, f.opened = time.Now(), c.Sandbox
	f.put(&snapshot{settings: s, user: userLists(c), project: projectLists(c)})
}

// accept puts the result of a search in force: rules, and unless tools could write the config everything
// else. The next call looks at the user's config, as it may have changed since it was read.
func (f *finder) accept(c *config.Config, s *settings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found.Store(s)
	next := *f.now.Load()
	next.project = projectLists(c)
	if f.fixed {
		next.user.rules = userLists(c).rules
	} else {
		next.settings = s
		f.world.Replace(s.commands, s.private, s.unprotected)
	}
	f.put(&next)
	f.looked.Store(int64(-lookInterval))
}

// put completes a snapshot and puts it in force.
func (f *finder) put(s *snapshot) {
	all := s.user.plus(&s.held)
	all = all.plus(&s.project)
	all = (&lists{f.own.Rules, f.own.TrustedSources, f.own.UntrustedSources}).plus(&all)
	s.Settings = toolset.Settings{Rules: all.rules, TrustedSources: all.trusted, UntrustedSources: all.untrusted, Maxima: s.maxima}
	f.now.Store(s)
}

// current returns the settings for a call that begins.
func (f *finder) current() *toolset.Settings {
	if !f.fixed && f.file != "" && f.isDue() {
		f.look()
	}
	return &f.now.Load().Settings
}

func (f *finder) isDue() bool {
	return int64(time.Since(f.began))-f.looked.Load() >= int64(lookInterval)
}

// look replaces the snapshot if the user's config has changed, or if what was held has to end. Calls that
// begin meanwhile wait for it.
func (f *finder) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isDue() {
		return
	}
	begin := int64(time.Since(f.began))
	next := *f.now.Load()
	changed := f.readUser(&next)
	if now := time.Now(); !next.until.IsZero() && now.After(next.until) {
		next.held, next.until, changed = lists{}, time.Time{}, true
	}
	if changed {
		f.put(&next)
	}
	f.looked.Store(begin)
}

// readUser reads the user's config into a snapshot if it may have changed, and reports whether it has. If the config is invalid, or asks for more confinement than the runtime gives, what it
// had before stays in force.
func (f *finder) readUser(s *snapshot) (changed bool) {
	root, now := f.root(*f.src.Load()), time.Now()
	info, _ := os.Stat(f.file) // Read reports what is wrong with it
	if s.root == root && s.isOf(info) {
		return false
	}
	c, err := config.Read(root, &config.Options{Home: f.opts.Home, File: f.opts.Config, UserOnly: true})
	if err != nil || f.gives(c.Sandbox) != nil {
		return false
	}
	sameRoot, user := s.read.IsZero() || s.root == root, userLists(&c)
	s.root, s.file, s.read = root, info, now
	if sameRoot && !reflect.DeepEqual(user, s.user) {
		before := s.user.plus(&s.held)
		s.held, s.until = before.restrictions(), now.Add(settleTime)
	}
	s.user = user
	return true
}

// isOf reports whether the snapshot has what the user's config has now.
func (s *snapshot) isOf(now fs.FileInfo) bool {
	switch {
	case s.read.IsZero():
		return false
	case s.file == nil || now == nil:
		return s.file == now
	}
	settled := s.read.Sub(s.file.ModTime()) > settleTime
	return settled && os.SameFile(s.file, now) && s.file.ModTime().Equal(now.ModTime()) && s.file.Size() == now.Size()
}
