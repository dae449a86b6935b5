package shell

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/beneath"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
)

// unchecked are the surveys of commands whose check has not reached its end. It is safe
// for concurrent use.
type unchecked struct {
	mu   sync.Mutex
	list []*survey
}

// begin surveys the project for a command that may write. Each call that succeeds is
// followed by one of end.
//
// A command that can make a name has the right to write in a folder above it, and had it
// from its beginning, when nothing in that folder was guarded. So what it makes is not in
// its survey, whatever other commands do meanwhile, and the last command that ends finds it.
func (c *Commands) begin(root *beneath.Dir) (*survey, error) {
	c.unchecked.mu.Lock()
	defer c.unchecked.mu.Unlock()
	for len(c.unchecked.list) > 0 {
		done, err := c.check(root, c.unchecked.list[0])
		if done {
			c.unchecked.list = c.unchecked.list[1:]
		}
		if err != nil { // what an earlier command has made is named, too
			e := *value.ErrorOf(err, value.Security)
			e.Err = fmt.Errorf("the command was not run, because of an earlier command: %w", e.Err)
			return nil, &e
		}
	}
	return c.survey(root)
}

// end checks what a command has left, when it and all that it has started are gone.
func (c *Commands) end(root *beneath.Dir, before *survey) error {
	done, err := c.check(root, before)
	if !done {
		c.unchecked.mu.Lock()
		defer c.unchecked.mu.Unlock()
		c.unchecked.list = append(c.unchecked.list, before)
	}
	return err
}

// maxCheck bounds the check of a project after a command, and the removal of what it
// finds.
const maxCheck = time.Minute

// findings are what a check finds.
type findings struct {
	removed []string
	kept    []string // what cannot be removed, with the reason
	changed []string // what was there before
}

// check removes what a command has made that decides what runs next: the kernel's rules
// cannot keep it from making new names in a folder that it may write. The error names
// what was found, and is of kind Security. done is false if not all was checked.
func (c *Commands) check(root *beneath.Dir, before *survey) (done bool, err error) {
	deadline := time.Now().Add(c.checkTime)
	f := &findings{}
	names := map[beneath.ID]*linked{}
	w := &walk{
		most: int(^uint(0) >> 1), deadline: deadline,
		judge: func(at string, e beneath.Entry) verdict {
			_, was := before.guarded[at]
			switch {
			case was, fs.IsTemporary(e.Name) && e.Kind == beneath.File:
				return pass // what was there is compared below
			case !fs.IsTemporary(e.Name) && c.folder.Protect(at) != nil:
				return take
			case e.Kind != beneath.Folder && before.isCode(at):
				return take
			case e.Kind == beneath.Link && !before.links[seen{e.ID, e.Changed}] && c.leadsIn(before, at):
				return take
			case e.Kind == beneath.File && e.Links > 1:
				if names[e.ID] == nil {
					names[e.ID] = &linked{}
				}
				names[e.ID].links = e.Links
				names[e.ID].at = append(names[e.ID].at, at)
			}
			return enter
		},
		taken: func(dir *beneath.Dir, in string, list []beneath.Entry) error {
			return f.remove(dir, in, list, deadline)
		},
		repository: func(dir *beneath.Dir, at string, parts []beneath.Entry) error {
			if _, was := before.guarded[at]; was {
				return nil
			}
			return f.remove(dir, at, slices.DeleteFunc(parts, func(e beneath.Entry) bool {
				was, ok := before.parts[path.Join(at, e.Name)]
				return ok && was.ID == e.ID
			}), deadline)
		},
	}
	if err = root.Rewind(); err == nil {
		err = w.folder(root, ".", 0)
	}
	if err == nil {
		err = c.checkNames(root, before, names, f, deadline)
	}
	f.compare(root, before)
	return err == nil, f.report(c.folder, err)
}

// leadsIn reports whether a link leads to what decides what runs next.
func (c *Commands) leadsIn(before *survey, link string) bool {
	at, _, inside := c.folder.Project().Resolve(link)
	return inside && (c.folder.Protect(at) != nil || before.guards(at))
}

// remove removes entries of a folder.
func (f *findings) remove(dir *beneath.Dir, in string, list []beneath.Entry, deadline time.Time) error {
	for _, e := range list {
		at := path.Join(in, e.Name)
		if time.Now().After(deadline) {
			return errOverrun{at}
		}
		if err := dir.Remove(e.Name, deadline); err != nil {
			f.kept = append(f.kept, fmt.Sprintf("%s (%v)", at, cause(err)))
			continue
		}
		f.removed = append(f.removed, at)
	}
	return nil
}

// cause returns what went wrong, without the name: the finding has it.
func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// checkNames removes new names of files that are in guarded folders. names are the files
// with several names that are outside of these.
func (c *Commands) checkNames(root *beneath.Dir, before *survey, names map[beneath.ID]*linked, f *findings, deadline time.Time) error {
	maps.DeleteFunc(names, func(id beneath.ID, l *linked) bool {
		was := before.linked[id]
		return !l.elsewhere() || was != nil && was.elsewhere()
	})
	if len(names) == 0 {
		return nil
	}
	inside := map[beneath.ID]bool{}
	note := func(e beneath.Entry) {
		if names[e.ID] != nil {
			inside[e.ID] = true
		}
	}
	w := &walk{
		most: int(^uint(0) >> 1), deadline: deadline,
		judge:      func(_ string, e beneath.Entry) verdict { note(e); return enter },
		taken:      func(*beneath.Dir, string, []beneath.Entry) error { return nil },
		repository: func(*beneath.Dir, string, []beneath.Entry) error { return nil },
	}
	for at, e := range before.guarded {
		note(e)
		dir, err := root.Sub(at)
		if err != nil {
			continue // not a folder
		}
		err = w.folder(dir, at, 0)
		dir.Close()
		if errors.As(err, new(errOverrun)) {
			return err
		}
	}
	for id := range inside {
		for _, at := range names[id].at {
			dir, err := root.Sub(path.Dir(at))
			if err != nil {
				continue
			}
			if now, err := dir.Stat(path.Base(at)); err == nil && now.ID == id {
				err = f.remove(dir, path.Dir(at), []beneath.Entry{now}, deadline)
				if err != nil {
					dir.Close()
					return err
				}
			}
			dir.Close()
		}
	}
	return nil
}

// compare notes what was there before and is not any more.
func (f *findings) compare(root *beneath.Dir, before *survey) {
	for at, was := range before.guarded {
		own := fs.Fold(was.Name) == ".git" || fs.Fold(was.Name) == ".cassidy"
		if was.ID == (beneath.ID{}) || was.Kind == beneath.File && !own {
			continue // without an identity, or a file that its user edits
		}
		if statBelow(root, at).ID != was.ID {
			f.changed = append(f.changed, at)
		}
	}
}

// maxNamed bounds the text that names findings, in bytes: an error has 4 KB.
const maxNamed = 2500

// report returns an error of kind Security that names the findings, or nil if there are
// none. err is why the check did not reach its end, or nil.
func (f *findings) report(folder *fs.Folder, err error) error {
	var over errOverrun
	named := func(list []string) string {
		slices.Sort(list)
		text := ""
		for i, name := range list {
			if name = quoted(folder.Shown(name)); len(text)+len(name) > maxNamed {
				return fmt.Sprintf("%s and %d more", text, len(list)-i)
			}
			if i > 0 {
				text += ", "
			}
			text += name
		}
		return text
	}
	var parts []string
	if n := len(f.removed); n == 1 {
		parts = append(parts, fmt.Sprintf("the command has created %s, a file or folder that can run programs later; it was removed", named(f.removed)))
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("the command has created %d files or folders that can run programs later: %s; they were removed", n, named(f.removed)))
	}
	if len(f.kept) > 0 {
		parts = append(parts, "the command has created files or folders that can run programs later; removing them failed: "+named(f.kept))
	}
	if len(f.changed) > 0 {
		parts = append(parts, "files or folders that can run programs later were removed or replaced during the command: "+named(f.changed))
	}
	hint := "ask the user to make this change outside the tool"
	switch {
	case errors.As(err, &over):
		parts = append(parts, fmt.Sprintf("the check of the files after the command is incomplete: stopped after one minute at %s", quoted(folder.Shown(over.at))))
		hint = "before you run git, find .git and .cassidy in that folder, and remove files that the command created"
	case err != nil:
		parts = append(parts, fmt.Sprintf("the check of the files after the command failed: %v", err))
	}
	if len(parts) == 0 {
		return nil
	}
	return value.Errorf(value.Security, "%s", strings.Join(parts, "; ")).WithHint("%s", hint)
}

// quoted returns a name as it is, or quoted if it is not plain text.
func quoted(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
