package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// How much context.read tells.
const (
	levelMinimal       = "minimal"
	levelStandard      = "standard"
	levelComprehensive = "comprehensive"
)

// Bounds of what context.read reads and tells.
const (
	maxContext  = 8000     // characters in all; a model reads them at the start of every task
	maxNote     = 4000     // characters of one note, so that it leaves room for the rest
	maxNotes    = 100      // files of notes; rules are few and short
	maxNoteRead = 64 << 10 // bytes of one file that are looked at
	maxRuleDirs = 8        // folders deep below rules
	maxLogRead  = 64 << 10 // bytes of git's log, from its end
)

// A briefing is the text about a project while it is written.
type briefing struct {
	strings.Builder
	root   fs.FS // the project's files, or nil
	home   fs.FS // the user's own, or nil
	ledger *trust.Ledger
	left   int // how many files are left out, since they are untrusted
}

// Context tells what a model should know of a project, in Markdown of at most
// 8,000 characters: at level minimal its notes and skills, at standard its files
// and git branch too, at comprehensive also commits. An empty root means that
// there is no project.
func Context(ctx context.Context, root string, o *trust.Scope, level string) (string, error) {
	if levels := []string{levelMinimal, levelStandard, levelComprehensive}; !slices.Contains(levels, level) {
		return "", value.Errorf(value.Invalid, "there is no level %q%s", level, value.DidYouMean(level, levels)).WithHint("the levels are %s", strings.Join(levels, ", "))
	}
	b := &briefing{ledger: o.NotesLedger(root)}
	name := "none"
	if root != "" {
		dir, err := os.OpenRoot(root)
		if err != nil {
			return "", value.Errorf(value.Failed, "the project's folder cannot be opened: %w", errors.Unwrap(err))
		}
		defer dir.Close()
		b.root, name = dir.FS(), folderName(root)
	}
	if o.Home != "" {
		b.home = os.DirFS(o.Home)
	}
	b.project(name)
	if level != levelMinimal {
		b.git(level == levelComprehensive)
	}
	b.notes()
	b.skills(skill.List(root, o))
	b.leftOut()
	if level != levelMinimal {
		if err := b.files(ctx, level == levelComprehensive); err != nil {
			return "", err
		}
	}
	return cutContext(b.String()), nil
}

// cutContext keeps a text to what a model should have to read.
func cutContext(text string) string {
	text = strings.TrimRight(text, "\n") + "\n"
	if utf8.RuneCountInString(text) <= maxContext {
		return text
	}
	return string([]rune(text)[:maxContext]) + "\n[Context truncated...]\n"
}

func (b *briefing) line(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// manifests is where projects of several kinds say their name.
var manifests = []struct {
	file string
	name func(text string) string
}{
	{"go.mod", firstMatch(`(?m)^module\s+"?([^\s"]+)`)},
	{"package.json", func(text string) string {
		v, _ := value.ParseJSON([]byte(text)) // one that is broken has no name
		fields, _ := v.(*value.Dict)
		return fields.Text("name")
	}},
	{"Cargo.toml", firstMatch(`(?m)^name\s*=\s*"([^"]+)"`)},
	{"pyproject.toml", firstMatch(`(?m)^name\s*=\s*"([^"]+)"`)},
	{"DESCRIPTION", firstMatch(`(?m)^Package:\s*(\S+)`)},
}

// firstMatch returns a function that gives what the group of a pattern matches
// first in a text.
func firstMatch(pattern string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(text string) string {
		if found := re.FindStringSubmatch(text); found != nil {
			return found[1]
		}
		return ""
	}
}

// project tells the project's name. The path of its folder is the user's own
// affair: only its last part is told.
func (b *briefing) project(dir string) {
	name := dir
	for _, m := range manifests {
		if b.root == nil {
			break
		}
		text, _, err := folder.ReadHead(b.root, m.file, maxNoteRead)
		if err != nil {
			continue
		}
		if found := folder.OneLine(m.name(string(text))); found != "" {
			name = found
			break
		}
	}
	b.line("# Project: %s\n\nFolder: %s", name, dir)
}

func folderName(root string) string {
	abs, err := filepath.Abs(root)
	if err != nil {
		abs = root
	}
	return folder.OneLine(filepath.Base(abs))
}

// git tells the branch and the last commits, from git's own files: no command
// is run, and no hook or setting of the project can have a say.
func (b *briefing) git(commits bool) {
	if b.root == nil {
		return
	}
	head, _, err := folder.ReadHead(b.root, ".git/HEAD", maxNoteRead)
	if err != nil {
		return
	}
	ref := folder.OneLine(string(head))
	branch, onBranch := strings.CutPrefix(ref, "ref: refs/heads/")
	switch {
	case onBranch && branch != "":
	case commitID.MatchString(ref):
		branch = "none (detached at " + ref[:7] + ")"
	default:
		return // not git's
	}
	b.line("Git branch: %s", branch)
	if !commits {
		return
	}
	list := b.commits()
	if len(list) == 0 {
		return
	}
	b.line("\n## Recent Commits\n")
	for _, c := range list {
		b.line("- %s", c)
	}
}

// shownCommits is how many commits are told.
const shownCommits = 5

// commitID matches the name of a commit.
var commitID = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// commitAction matches what git's log says of a step that made a commit.
var commitAction = regexp.MustCompile(`^(commit( \([a-z]+\))?|cherry-pick|revert|rebase \(pick\)|am): `)

// commits returns the last commits, the latest first, as far as git's log of
// HEAD knows them: lines "old new Name <mail> seconds zone\taction: subject".
func (b *briefing) commits() []string {
	text, err := folder.ReadTail(b.root, ".git/logs/HEAD", maxLogRead)
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		who, what, _ := strings.Cut(line, "\t")
		action := commitAction.FindString(what)
		words := strings.Fields(who)
		if action == "" || len(words) < 4 {
			continue
		}
		commit := words[1][:min(len(words[1]), 7)]
		if seconds, err := strconv.ParseInt(words[len(words)-2], 10, 64); err == nil {
			commit += " " + time.Unix(seconds, 0).UTC().Format(time.DateOnly)
		}
		commit = folder.OneLine(commit + " " + what[len(action):])
		if strings.HasPrefix(action, "commit (amend)") && len(list) > 0 {
			list = list[:len(list)-1] // it stands for the one before
		}
		list = append(list, commit)
	}
	slices.Reverse(list)
	return list[:min(len(list), shownCommits)]
}

// noteNames is where a folder's notes for a model are, in order.
var noteNames = []string{
	"CASSIDY.md", "CASSIDY.local.md", folder.Name + "/CASSIDY.md", folder.Name + "/CASSIDY.local.md", "cassidy.md", ".cassidy.md",
}

// notes tells what people have written down for models: the user's own first,
// then the project's.
func (b *briefing) notes() {
	var told []fs.FileInfo
	tell := func(files fs.FS, name, whose string) {
		if len(told) == maxNotes {
			return
		}
		info, err := fs.Stat(files, name)
		if err != nil || slices.ContainsFunc(told, func(old fs.FileInfo) bool { return os.SameFile(old, info) }) {
			return // not there, or the same file by another name
		}
		data, cut, err := folder.ReadHead(files, name, folder.MaxSource)
		text := strings.TrimSpace(folder.Plain(string(data[:min(len(data), maxNoteRead)])))
		if err != nil || text == "" {
			return
		}
		if whose == "" && (cut || b.ledger.File(trust.KindNotes, name, tool.HashBytes(data)) != "") {
			told = append(told, info)
			b.left++
			return
		}
		if len(told) == b.left {
			b.line("\n## Project Memory")
		}
		told = append(told, info)
		b.line("\n### From %s%s:\n\n%s", folder.OneLine(name), whose, cutNote(text))
	}
	if b.home != nil {
		for _, name := range append([]string{"CASSIDY.md"}, ruleFiles(b.home, "rules", 0)...) {
			tell(b.home, name, " (personal)")
		}
	}
	if b.root != nil {
		for _, name := range append(slices.Clone(noteNames), ruleFiles(b.root, folder.Name+"/rules", 0)...) {
			tell(b.root, name, "")
		}
	}
}

// cutNote keeps one note to its share.
func cutNote(text string) string {
	if n := utf8.RuneCountInString(text); n > maxNote {
		return string([]rune(text)[:maxNote]) + fmt.Sprintf("\n[… the first %d characters]", maxNote)
	}
	return text
}

// ruleFiles names the Markdown files in a folder and those below it.
func ruleFiles(files fs.FS, dir string, depth int) []string {
	entries, _, err := folder.ReadDir(files, dir, maxNotes)
	if err != nil || depth > maxRuleDirs {
		return nil
	}
	var names []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			names = append(names, ruleFiles(files, name, depth+1)...)
		case path.Ext(name) == ".md":
			names = append(names, name)
		}
		if len(names) >= maxNotes {
			break
		}
	}
	return names
}

// skills tells which skills there are, and which files would be some.
func (b *briefing) skills(skills []skill.Skill, broken []*value.Error) {
	skills = slices.DeleteFunc(skills, func(s skill.Skill) bool {
		if s.State == tool.Untrusted {
			b.left++
		}
		return s.State == tool.Untrusted
	})
	if !b.ledger.OwnProject() { // what is wrong with a stranger's file may say what he wants
		before := len(broken)
		broken = slices.DeleteFunc(broken, func(e *value.Error) bool { return strings.HasPrefix(e.Pos.File, folder.Name+"/") })
		b.left += before - len(broken)
	}
	if len(skills) == 0 && len(broken) == 0 {
		return
	}
	b.line("\n## Available Skills\n")
	for _, s := range skills {
		how, requires := "manual", ""
		if s.Auto {
			how = "auto"
		}
		if len(s.Requires) > 0 {
			requires = " (requires: " + strings.Join(s.Requires, ", ") + ")"
		}
		b.line("- **%s** [%s] [%s]: %s%s", s.Name, how, s.Location, s.Description, requires)
	}
	for _, e := range broken {
		b.line("- not usable: %s: %s", folder.OneLine(path.Base(e.Pos.File)), folder.OneLine(e.Message()))
	}
}

// leftOut tells that there is more, and nothing of what it says.
func (b *briefing) leftOut() {
	if b.left > 0 {
		b.line("\nNotes and skills of the project are left out, since nobody has reviewed them (%s): cassidy trust shows them, and asks.",
			countOf(b.left, "file"))
	}
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
