package shell

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/beneath"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
)

// A reach is what one command may reach, with all of it open: what was checked is what the
// command gets, whatever has its name by then.
type reach struct {
	tool.Process
	of       *Commands
	root     *beneath.Dir
	files    []*os.File
	scratch  *scratch.Dir // its folder for temporary files, or nil
	before   *survey      // of Commands.begin, until Commands.end is called; or nil
	readOnly []string
}

// reach opens what a command may reach. The caller calls finish and close.
func (c *Commands) reach(plan *plan, g tool.Grant) (r *reach, err error) {
	if g.Narrowed != nil {
		// A command cannot be asked which files it will read.
		if rule := g.Narrowed("fs.read"); rule != "" {
			return nil, value.Errorf(value.Denied, "commands are not allowed: a command could read files that a rule restricts: %s", rule).
				WithHint("read files with fs.read, or change the rule")
		}
	}
	if file, hint := protect.SecretIn(c.folder.SecretFiles(), slices.Concat([]string{c.folder.Path()}, plan.rule.Read, plan.rule.Write)); file != "" {
		return nil, value.Errorf(value.Denied, "commands are not allowed: a command could read the file of a secret: %s", file).WithHint("%s", hint)
	}
	root, err := beneath.Open(c.folder.Root)
	if err != nil {
		return nil, value.Errorf(value.Failed, "open project: %w", err)
	}
	base := c.folder.Path()
	r = &reach{of: c, root: root, Process: tool.Process{
		Path: plan.path, Name: plan.name, Args: plan.args, Dir: filepath.Join(base, filepath.FromSlash(plan.dir)), Env: slices.Clip(plan.env),
		Read: []string{base}, Opened: map[string]uintptr{},
		Network: plan.rule.Network, Timeout: plan.timeout, Memory: maxMemory, Processes: maxProcesses,
	}}
	if err := r.open(plan, g); err != nil {
		_ = r.finish()
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *reach) open(plan *plan, g tool.Grant) error {
	whole, err := r.root.Handle(".")
	if err != nil {
		return value.Errorf(value.Failed, "open project: %w", err)
	}
	r.opened(r.Read[0], whole)
	// The folder to start in grants nothing, so it may be behind a link in the project.
	dir, err := r.of.folder.Root.Open(filepath.FromSlash(plan.dir))
	if err != nil {
		return value.Errorf(value.Failed, "the working directory %s does not exist or is not a folder", r.of.folder.Shown(plan.dir))
	}
	if r.Dir != r.Read[0] {
		r.opened(r.Dir, dir)
	} else {
		r.files = append(r.files, dir)
	}
	if plan.name == "ps" && !plan.free {
		// It exists to show other processes. Their environments and memory stay
		// closed to it all the same: those take the right to trace them.
		r.Read = append(r.Read, "/proc")
	}
	for _, name := range plan.rule.Read {
		r.Read = append(r.Read, name)
		if err := r.openRuled(name); err != nil {
			return err
		}
	}
	writes := plan.free && mayWrite(g)
	guarded := writes
	for _, name := range plan.rule.Write {
		r.Write = append(r.Write, name)
		if err := r.openRuled(name); err != nil {
			return err
		}
		_, inside := r.Opened[name]
		guarded = guarded || inside || isWithin(name, r.Read[0])
	}
	if guarded {
		if r.before, err = r.of.begin(r.root); err != nil {
			return err
		}
		if writes {
			if err := r.openWritable(r.before); err != nil {
				return err
			}
		}
	}
	return r.addScratch()
}

// mayWrite reports whether a call may write all of the project.
func mayWrite(g tool.Grant) bool {
	return g.Check != nil && (g.Narrowed == nil || g.Narrowed("fs.write") == "") && g.Check(tool.Capability{Name: "fs.write", Target: "."}) == nil
}

func (r *reach) opened(name string, f *os.File) {
	r.files = append(r.files, f)
	r.Opened[name] = f.Fd()
}

// openRuled opens a path of the user's rule that is in the project, whose folders an
// untrusted author may exchange. The launcher opens others.
func (r *reach) openRuled(name string) error {
	at, _, err := r.of.folder.Resolve(filepath.ToSlash(name))
	if err != nil {
		return nil
	}
	f, err := r.root.Handle(at)
	if err != nil {
		return value.Errorf(value.Unavailable, "open %s from the rule of the command: %w", r.of.folder.Shown(at), cause(err)).
			WithHint("create the file or folder, or change the rule; the path must not contain a link")
	}
	r.opened(name, f)
	return nil
}

// maxWritable bounds the folders and files that a command may write: each is an open
// descriptor, and a rule for the kernel.
const maxWritable = 2000

// openWritable opens what a command may write: the folders and files of the project, as
// far up as they hold nothing that decides what runs next, and no file that has a name
// elsewhere. Rules can only add, so the top itself is not among them, and no new name can
// be made there.
func (r *reach) openWritable(now *survey) error {
	foreign := now.foreign()
	holds := map[string]bool{".": true}
	above := func(name string) {
		for dir := path.Dir(name); !holds[dir]; dir = path.Dir(dir) {
			holds[dir] = true
		}
	}
	for name := range now.guarded {
		above(name)
	}
	for dir, names := range foreign {
		r.readOnly = append(r.readOnly, names...)
		above(dir)
	}
	if now.guards(".") {
		return nil
	}
	delete(foreign, ".")
	return r.openFolder(r.root, ".", func(at string, e beneath.Entry) verdict {
		_, linked := foreign[at]
		switch {
		case r.of.folder.Protect(at) != nil || now.guards(at) || linked:
			return pass
		case e.Kind == beneath.File && e.Links > 1 && (now.linked[e.ID] == nil || now.linked[e.ID].elsewhere()):
			return pass
		case e.Kind == beneath.Folder && (holds[at] || r.of.folder.HoldsKept(at)):
			return enter
		case e.Kind == beneath.Folder || e.Kind == beneath.File:
			return take
		}
		return pass
	})
}

func (r *reach) openFolder(dir *beneath.Dir, in string, judge func(at string, e beneath.Entry) verdict) error {
	if err := dir.Rewind(); err != nil {
		return value.Errorf(value.Failed, "list the project: %w", err)
	}
	for {
		entries, err := dir.Next(1000)
		if err != nil {
			return value.Errorf(value.Failed, "list the project: %w", err)
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			at := path.Join(in, e.Name)
			switch judge(at, e) {
			case enter:
				sub, err := dir.Sub(e.Name)
				if err != nil {
					continue // it is not the folder any more that was surveyed
				}
				err = r.openFolder(sub, at, judge)
				sub.Close()
				if err != nil {
					return err
				}
			case take:
				if err := r.openEntry(dir, at, e); err != nil {
					return err
				}
			}
		}
	}
}

// openEntry opens a folder or file that the command may write, if it still is the one that
// was looked at.
func (r *reach) openEntry(dir *beneath.Dir, at string, e beneath.Entry) error {
	f, err := dir.Handle(e.Name)
	if err != nil {
		return nil
	}
	if now, err := beneath.Identify(f); err != nil || now.ID != e.ID || now.Kind != e.Kind || e.Kind == beneath.File && now.Links != e.Links {
		return f.Close()
	}
	name := filepath.Join(r.Read[0], filepath.FromSlash(at))
	r.opened(name, f)
	if r.Write = append(r.Write, name); len(r.Write) > maxWritable {
		return tooLarge(maxWritable, "files and folders that need a separate permission")
	}
	return nil
}

// addScratch gives a command that may write a folder for what it needs while it runs, as
// compilers do, and names it in TMPDIR.
func (r *reach) addScratch() error {
	if len(r.Write) == 0 || slices.ContainsFunc(r.Env, func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") }) {
		return nil
	}
	const in = "/tmp" // not where the environment says, which is the caller's own
	if info, err := os.Stat(in); err != nil || !info.IsDir() {
		return nil
	}
	dir, err := scratch.Make(in, "command")
	if err != nil {
		return fs.CannotWrite(value.Errorf(value.Failed, "create a temporary folder for the command: %w", err), err)
	}
	r.scratch = dir
	f, err := os.Open(dir.Path)
	if err != nil {
		return value.Errorf(value.Failed, "create a temporary folder for the command: %w", err)
	}
	r.opened(dir.Path, f)
	r.Write = append(r.Write, dir.Path)
	r.Env = append(r.Env, "TMPDIR="+dir.Path)
	return nil
}

// finish removes what the command has left that must not stay, when it and all that it has
// started are gone. The error names it.
func (r *reach) finish() error {
	_ = r.scratch.Close()
	before := r.before
	if before == nil {
		return nil
	}
	r.before = nil
	return r.of.end(r.root, before)
}

func (r *reach) close() {
	for _, f := range r.files {
		f.Close()
	}
	r.root.Close()
}

// maxShownLinks bounds the names in the note on read-only files.
const maxShownLinks = 10

// note returns why a command that failed could not write some files, or "".
func (r *reach) note() string {
	if len(r.readOnly) == 0 {
		return ""
	}
	slices.Sort(r.readOnly)
	text := ""
	for i, name := range r.readOnly[:min(len(r.readOnly), maxShownLinks)] {
		if i > 0 {
			text += ", "
		}
		text += quoted(r.of.folder.Shown(name))
	}
	if more := len(r.readOnly) - maxShownLinks; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("cassidy: files with hard links outside the project, and their folders, are read-only for commands: %s\n", text)
}

func tooLarge(most int, what string) error {
	return value.Errorf(value.Limit, "commands cannot write to the project: it has more than %d %s", most, what).WithLimit(value.LimitEntries)
}
