package shell

import (
	"errors"
	iofs "io/fs"
	"path"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/internal/beneath"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
)

// The bounds of a project in which a command may write: each folder and file of it is
// looked at before the command begins.
const (
	maxLooked = 200_000
	maxNested = 200 // folders in folders
)

// A survey is what a project holds that a command must not change: what decides what runs
// next, by path and identity, and files that have names elsewhere.
type survey struct {
	guarded map[string]beneath.Entry
	links   map[seen]bool            // the symbolic links outside of guarded folders
	parts   map[string]beneath.Entry // what is named as a part of a repository is, and is not one
	linked  map[beneath.ID]*linked   // the files with several names
	code    []*protect.Target        // the folders in which only files with some suffixes are guarded
}

// seen identifies a link as it is now: a later link can get the number of one that was
// removed, but not its time.
type seen struct {
	id      beneath.ID
	changed int64
}

// A linked file has several names.
type linked struct {
	links uint64
	at    []string // those in the project, outside of guarded folders
}

// elsewhere reports whether the file has a name outside the project, or in a guarded
// folder.
func (l *linked) elsewhere() bool { return l.links > uint64(len(l.at)) }

// A verdict is what a walk does with an entry.
type verdict uint8

const (
	pass  verdict = iota // nothing
	enter                // look into the folder
	take                 // hand it to walk.taken
)

// A walk looks at all that is in a project, without following links.
type walk struct {
	most     int       // how many entries it looks at
	deadline time.Time // none if zero
	looked   int

	judge func(at string, e beneath.Entry) verdict
	// taken gets the entries of a folder that judge takes, and the folders in it that
	// cannot be looked into.
	taken func(dir *beneath.Dir, in string, list []beneath.Entry) error
	// repository gets a folder that is a repository of git, with the entries that are named
	// as parts of one.
	repository func(dir *beneath.Dir, at string, parts []beneath.Entry) error
}

// errOverrun ends a walk that would take too long. at is where it ended.
type errOverrun struct{ at string }

// Error implements error.
func (e errOverrun) Error() string { return "the project has too many files and folders" }

// maxTaken bounds the entries of one folder that are remembered before they are handed to
// walk.taken.
const maxTaken = 20_000

// folder walks through one folder. The error is errOverrun or that of a function, or of
// reading the folder itself.
func (w *walk) folder(dir *beneath.Dir, at string, depth int) error {
	var list, parts []beneath.Entry
	for {
		entries, err := dir.Next(1000)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if w.looked++; w.looked > w.most || !w.deadline.IsZero() && w.looked%1000 == 0 && time.Now().After(w.deadline) {
				return errOverrun{at}
			}
			if isPart(e.Name) {
				parts = append(parts, e)
			}
			v := w.judge(path.Join(at, e.Name), e)
			if v == enter && e.Kind == beneath.Folder {
				if v, err = w.enter(dir, at, e, depth); err != nil {
					return err
				}
			}
			if v == take {
				list = append(list, e)
			}
		}
		if len(list) > 0 && (len(entries) == 0 || len(list) >= maxTaken) {
			if err := w.taken(dir, at, list); err != nil {
				return err
			}
			if list = list[:0]; len(entries) > 0 { // which was read while names were removed
				if err := dir.Rewind(); err != nil {
					return err
				}
			}
		}
		if len(entries) == 0 {
			break
		}
	}
	if isRepository(parts) {
		return w.repository(dir, at, parts)
	}
	return nil
}

// enter walks through a folder in a folder. It takes one that is too deep or cannot be
// read.
func (w *walk) enter(dir *beneath.Dir, at string, e beneath.Entry, depth int) (verdict, error) {
	if depth == maxNested {
		return take, nil
	}
	sub, err := dir.Sub(e.Name)
	if err == nil {
		err = w.folder(sub, path.Join(at, e.Name), depth+1)
		sub.Close()
	}
	var closed *iofs.PathError
	if !errors.As(err, &closed) {
		return pass, err
	}
	if now, err := dir.Stat(e.Name); err != nil || now.Kind != beneath.Folder {
		return pass, nil // it was removed or replaced while it was looked at
	}
	return take, nil
}

// isPart reports whether a name is that of something in a repository of git which decides
// whether it is one, or what git runs there.
func isPart(name string) bool {
	return slices.Contains([]string{"head", "objects", "refs", "commondir", "config", "config.worktree", "hooks"}, fs.Fold(name))
}

// isRepository reports whether a folder with these parts is a repository of git.
func isRepository(parts []beneath.Entry) bool {
	return protect.Repository(func(name string) bool {
		return slices.ContainsFunc(parts, func(e beneath.Entry) bool { return fs.Fold(e.Name) == fs.Fold(name) })
	})
}

// survey looks at all that is in the project.
func (c *Commands) survey(root *beneath.Dir) (*survey, error) {
	s := &survey{guarded: map[string]beneath.Entry{}, links: map[seen]bool{}, parts: map[string]beneath.Entry{}, linked: map[beneath.ID]*linked{}}
	w := &walk{
		most:  maxLooked,
		judge: s.note(c.folder),
		taken: func(_ *beneath.Dir, in string, list []beneath.Entry) error {
			for _, e := range list {
				s.guarded[path.Join(in, e.Name)] = e
			}
			return nil
		},
		repository: func(_ *beneath.Dir, at string, parts []beneath.Entry) error {
			s.guarded[at] = beneath.Entry{Name: path.Base(at), Kind: beneath.Folder}
			for _, e := range parts {
				s.guarded[path.Join(at, e.Name)] = e
			}
			return nil
		},
	}
	if err := root.Rewind(); err != nil {
		return nil, err
	}
	err := w.folder(root, ".", 0)
	if errors.As(err, new(errOverrun)) {
		return nil, tooLarge(maxLooked, "files and folders")
	}
	if err != nil {
		return nil, value.Errorf(value.Failed, "list the project: %w", err)
	}
	return s, c.guardTargets(root, s)
}

// note returns the function that enters what a project holds in a survey.
func (s *survey) note(folder *fs.Folder) func(at string, e beneath.Entry) verdict {
	return func(at string, e beneath.Entry) verdict {
		switch {
		case fs.IsTemporary(e.Name) && e.Kind == beneath.File:
			return pass
		case !fs.IsTemporary(e.Name) && folder.Protect(at) != nil:
			return take
		case e.Kind == beneath.Link:
			s.links[seen{e.ID, e.Changed}] = true
		case e.Kind == beneath.File && e.Links > 1:
			s.another(at, e)
		}
		if isPart(e.Name) {
			s.parts[at] = e
		}
		return enter
	}
}

// another notes one of several names of a file.
func (s *survey) another(at string, e beneath.Entry) {
	l := s.linked[e.ID]
	if l == nil {
		l = &linked{}
		s.linked[e.ID] = l
	}
	l.links = e.Links
	l.at = append(l.at, at)
}

// guards reports whether a path is guarded, or is in a guarded folder.
func (s *survey) guards(at string) bool {
	for ; ; at = path.Dir(at) {
		if _, ok := s.guarded[at]; ok {
			return true
		}
		if at == "." {
			return false
		}
	}
}

// isCode reports whether a server would load a file with a path, because of its folder and its suffix.
func (s *survey) isCode(at string) bool {
	return slices.ContainsFunc(s.code, func(t *protect.Target) bool {
		return t.Covers(at, func(a, b string) bool { return a == b || fs.Fold(a) == fs.Fold(b) })
	})
}

// foreign returns the names in the project of files that also have names elsewhere, by
// their folders. Writing them would change what is elsewhere.
func (s *survey) foreign() map[string][]string {
	all := map[string][]string{}
	for _, l := range s.linked {
		if l.elsewhere() {
			for _, at := range l.at {
				all[path.Dir(at)] = append(all[path.Dir(at)], at)
			}
		}
	}
	return all
}

// guardTargets guards what protected names lead to, such as the target of a link .cassidy,
// the folder that a .git file names, and the files that git's settings name.
func (c *Commands) guardTargets(root *beneath.Dir, s *survey) error {
	dirs := []string{"."}
	for at := range s.guarded {
		if dir := path.Dir(at); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	targets, err := c.folder.Project().Targets(dirs)
	if err != nil {
		return value.Errorf(value.Limit, "find protected files: the folders .git and .cassidy contain too many files and folders").WithLimit(value.LimitEntries)
	}
	for i := range targets {
		t := &targets[i]
		if t.Code != nil {
			s.code = append(s.code, t)
		} else if !s.guards(t.Path) {
			s.guarded[t.Path] = statBelow(root, t.Path)
		}
	}
	return nil
}

// statBelow returns what is at a path, or an entry without identity if nothing is.
func statBelow(root *beneath.Dir, at string) beneath.Entry {
	dir, err := root.Sub(path.Dir(at))
	if err != nil {
		return beneath.Entry{}
	}
	defer dir.Close()
	e, err := dir.Stat(path.Base(at))
	if err != nil {
		return beneath.Entry{}
	}
	return e
}
