//go:build linux

package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// These tests are attacks: tools with shell:sh and all of fs.write, which try to read and
// write outside of the project, or to leave behind what runs later. Each runs as the
// user of the tests, and again as an ordinary user if that is root.

// againEnv makes the tests those that TestEscapeAsOrdinaryUser runs.
const againEnv = "CASSIDY_TEST_AGAIN"

// repeats is how often a race is tried.
func repeats() int {
	if os.Getenv(againEnv) != "" {
		return testutil.Times(6, 250) // it has been tried as root
	}
	return testutil.Times(6, 1000)
}

// raceMain is the program of the races. It exchanges a folder with a link to elsewhere
// until it is ended, and keeps a decoy in the folder that has commands open what is beside
// it one by one.
func raceMain() bool {
	if len(os.Args) != 5 || os.Args[1] != "exchange" {
		return false
	}
	folder, link, decoy := os.Args[2], os.Args[3], os.Args[4]
	fmt.Println("ready")
	for {
		_ = os.Mkdir(decoy, 0o755)
		for range 20 {
			_ = unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
		}
	}
}

// A scene is a project and a folder outside that no command may reach.
type scene struct {
	*project
	outside string
	base    string // holds both
}

const hush = "hush: a secret"

// newScene makes a project with files, whose commands may write, and a folder outside.
func newScene(t *testing.T, files map[string]string) *scene {
	t.Helper()
	base := t.TempDir()
	s := &scene{outside: filepath.Join(base, "outside"), base: base}
	dir := filepath.Join(base, "project")
	rowtest.PutFile(t, s.outside, "d/secret", hush)
	rowtest.PutFile(t, s.outside, "d/f", hush)
	rowtest.PutFile(t, dir, ".git/config", "g")
	rowtest.PutFile(t, dir, ".git/hooks/old", "h")
	for name, content := range files {
		rowtest.PutFile(t, dir, name, content)
	}
	own, err := os.Executable()
	rowtest.NoError(t, err)
	d := confined(t, nil, nil)
	s.project = projectAt(t, dir, &Options{Launch: d.commands.launch, Rules: map[string]Rule{"race": {Path: own, Any: true}}}, "shell", "fs.write")
	return s
}

// do runs a command until it ends or ctx does.
func (s *scene) do(ctx context.Context, argv value.List, emit func(string), more ...value.Value) (string, error) {
	args, err := s.Func("shell.run").Bind(nil, value.NewDict(append([]value.Value{"argv", argv, "timeout", int64(600)}, more...)...))
	if err != nil {
		return "", err
	}
	g := tool.Grant{Check: s.Check, Emit: func(r tool.Report) {
		if emit != nil {
			emit(r.(tool.ToolOutput).Chunk)
		}
	}}
	out, err := s.commands.run(ctx, tool.Effect{Func: "shell.run", Args: args}, g)
	return value.FormatJSON(out.Value, ""), err
}

// start runs a command beside others, and returns when it has written something. The
// function ends it, and waits for its end.
func (s *scene) start(argv value.List) (end func() error) {
	s.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan bool, 1), make(chan error, 1)
	go func() {
		_, err := s.do(ctx, argv, func(string) {
			select {
			case ready <- true:
			default:
			}
		})
		ended <- err
	}()
	select {
	case <-ready:
	case err := <-ended:
		s.T.Fatalf("%v ended: %v", argv, err)
	}
	return func() error {
		cancel()
		return <-ended
	}
}

// unharmed checks that nothing outside has changed, and that no output has the secret.
func (s *scene) unharmed(what, output string) {
	s.T.Helper()
	if strings.Contains(output, hush) {
		s.T.Errorf("%s: a command read what is outside: %s", what, output)
	}
	want := map[string]string{"d/secret": hush, "d/f": hush}
	got := map[string]string{}
	rowtest.NoError(s.T, filepath.WalkDir(s.outside, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(s.outside, name)
			got[rel] = rowtest.GetFile(s.T, s.outside, rel)
		}
		return err
	}))
	if !maps.Equal(got, want) {
		s.T.Errorf("%s: outside is now %q", what, got)
	}
	if info, err := os.Stat(filepath.Join(s.outside, "d/f")); err != nil || info.Mode() != 0o644 {
		s.T.Errorf("%s: the mode of a file outside is now %v, %v", what, info.Mode(), err)
	}
}

// writeLine writes, reads and changes the mode of what is at some paths.
func writeLine(paths ...string) value.List {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "cat %[1]s/secret; echo pwned >%[1]s/f; echo pwned >%[1]s/new; chmod 777 %[1]s/f; ", p)
	}
	return argvOf("sh", "-c", b.String()+":")
}

// TestEscapeByExchange has one call exchange a folder with a link to the outside while
// others start: where they start, and in what they may write.
func TestEscapeByExchange(t *testing.T) {
	t.Parallel()
	for _, cwd := range []string{".", "w/x/d"} {
		s := newScene(t, map[string]string{"w/x/d/f": "mine", "w/x/d/secret": "mine"})
		rowtest.NoError(t, os.Symlink("../../outside", filepath.Join(s.Dir, "w/y")))
		end := s.start(argvOf("race", "exchange", "w/x", "w/y", "w/x/.git"))
		for range repeats() {
			argv := writeLine("w/x/d", "w/y/d")
			if cwd != "." {
				argv = writeLine(".")
			}
			out, err := s.do(t.Context(), argv, nil, "cwd", cwd)
			if err != nil && value.KindOf(err) != value.Security && value.KindOf(err) != value.Failed {
				t.Fatalf("from %s: %v", cwd, err)
			}
			s.unharmed("from "+cwd, out)
			if t.Failed() {
				break
			}
		}
		_ = end()
		s.unharmed("at the end", "")
		s.clean("at the end")
	}
}

// TestEscapeIntoHooks does the same with a link to the project's own hooks.
func TestEscapeIntoHooks(t *testing.T) {
	t.Parallel()
	s := newScene(t, map[string]string{"w/x/hooks/f": "mine", "w/real/.git/config": "r"})
	rowtest.NoError(t, os.Symlink("../.git", filepath.Join(s.Dir, "w/y")))
	s.project = projectAt(t, s.Dir, &Options{Launch: s.commands.launch, Rules: s.commands.rules.Load().rules}, "shell", "fs.write")
	// w holds a repository, so its names cannot be exchanged: one folder deeper they can.
	rowtest.PutFile(t, s.Dir, "v/x/hooks/f", "mine")
	rowtest.NoError(t, os.Symlink("../.git", filepath.Join(s.Dir, "v/y")))
	end := s.start(argvOf("race", "exchange", "v/x", "v/y", "v/x/.git"))
	for range repeats() {
		_, _ = s.do(t.Context(), argvOf("sh", "-c", "for d in v/x v/y w/x w/y; do echo pwned >$d/hooks/pre-commit; echo pwned >$d/config; done; :"), nil)
		s.intact("while names are exchanged")
		if t.Failed() {
			break
		}
	}
	_ = end()
	s.intact("at the end")
	s.clean("at the end")
}

// intact checks that the repositories of the scene are as they were.
func (s *scene) intact(what string) {
	s.T.Helper()
	for name, want := range map[string]string{".git/config": "g", ".git/hooks/old": "h", "w/real/.git/config": "r"} {
		if got, err := os.ReadFile(filepath.Join(s.Dir, name)); string(got) != want && (err == nil || !strings.HasPrefix(name, "w/")) {
			s.T.Errorf("%s: %s is now %q, %v", what, name, got, err)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(s.Dir, ".git/hooks/*")); len(names) != 1 {
		s.T.Errorf("%s: the hooks are now %q", what, names)
	}
}

// clean checks that nothing is left in the project that decides what runs next, but for what
// was there.
func (s *scene) clean(what string, was ...string) {
	s.T.Helper()
	_ = filepath.WalkDir(s.Dir, func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.Dir, name)
		folded := strings.ToLower(filepath.Base(rel))
		if rel == ".git" || rel == "w/real/.git" || slices.Contains(was, rel) {
			return fs.SkipDir
		}
		if err != nil || strings.Contains(folded, ".git") || strings.Contains(folded, ".cassidy") || folded == "head" || folded == "commondir" {
			s.T.Errorf("%s: %s is left, %v", what, rel, err)
			return fs.SkipDir
		}
		return nil
	})
}

// TestEscapeByRoot renames the project and puts a link in its place.
func TestEscapeByRoot(t *testing.T) {
	t.Parallel()
	s := newScene(t, map[string]string{"d/f": "mine"})
	moved := filepath.Join(s.base, "moved")
	old := s.Dir
	for i := range 3 {
		rowtest.NoError(t, os.Rename(old, moved))
		rowtest.NoError(t, os.Symlink(s.outside, old))
		out, err := s.do(t.Context(), argvOf("sh", "-c", fmt.Sprintf("cat %[1]s/d/secret; echo pwned >%[1]s/d/f; chmod 777 %[1]s/d/f; pwd; echo inside%[2]d >d/f", old, i)), nil)
		if err != nil || !strings.Contains(out, moved) {
			t.Fatalf("%s, %v, want it to run in %s", out, err, moved)
		}
		if got := rowtest.GetFile(t, moved, "d/f"); got != fmt.Sprintf("inside%d\n", i) {
			t.Fatalf("it wrote %q", got)
		}
		if out, err := s.do(t.Context(), writeLine("."), nil, "cwd", "d"); err != nil || strings.Contains(out, hush) {
			t.Fatalf("%s, %v", out, err)
		}
		rowtest.NoError(t, os.Remove(filepath.Join(moved, "d/new")))
		s.unharmed("with a link in the project's place", out)
		// Also with a folder in its place, which is another.
		rowtest.NoError(t, os.Remove(old))
		rowtest.NoError(t, os.Rename(s.outside, old))
		out, err = s.do(t.Context(), argvOf("sh", "-c", fmt.Sprintf("cat %[1]s/d/secret; echo pwned >%[1]s/d/f; chmod 777 %[1]s/d/f; echo x >d/f", old)), nil)
		rowtest.NoError(t, err)
		rowtest.NoError(t, os.Rename(old, s.outside))
		s.unharmed("with a folder in the project's place", out)
		rowtest.NoError(t, os.Rename(moved, old))
		if t.Failed() {
			return
		}
	}
}

// repo is a shell function that makes a repository of git which starts a program with the
// next git status.
const repo = `repo() { mkdir -p "$1/objects" "$1/refs"; echo 'ref: refs/heads/main' >"$1/HEAD"; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = %s\n\tfsmonitor = touch MARK;false\n' "$2" >"$1/config"; }; `

// TestEscapeLater checks that what a command leaves behind is removed and named, all of
// it, if it decides what runs next.
func TestEscapeLater(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line string
		finds      []string // each is named
	}{
		{"a decoy", "mkdir -p w/a/.git; repo w/z/.git ..", []string{"w/a/.git", "w/z/.git"}},
		{"many", "for i in 1 2 3 4 5 6 7 8 9; do mkdir -p w/$i/.git; done; mkdir w/.cassidy; repo w/z/.git ..", []string{"w/1/.git", "w/9/.git", "w/.cassidy", "w/z/.git"}},
		{"a file", "repo w/meta ..; mkdir w/sub; echo gitdir: ../meta >w/sub/.git", []string{"w/sub/.git", "w/meta/HEAD"}},
		{"a file to the outside", "echo gitdir: /tmp/evil >w/.git", []string{"w/.git"}},
		{"a repository without .git", "repo w/src .", []string{"w/src/HEAD", "w/src/config", "w/src/objects", "w/src/refs"}},
		{"one with another name for it", "repo w/src .; mv w/src/HEAD w/src/head", []string{"w/src/head"}},
		{"a common folder", "repo w/common .; mkdir -p w/tree; cp w/common/HEAD w/tree/HEAD; echo ../common >w/tree/commondir; cp w/common/config w/tree/config", []string{"w/common/HEAD", "w/tree/HEAD", "w/tree/commondir"}},
		{"a worktree", "repo w/c .; mkdir -p w/c/worktrees/t w/t; echo ../.. >w/c/worktrees/t/commondir; cp w/c/HEAD w/c/worktrees/t/; echo gitdir: ../c/worktrees/t >w/t/.git", []string{"w/c/HEAD", "w/t/.git", "w/c/worktrees/t/HEAD"}},
		{"hooks", "repo w/src .; mkdir w/src/hooks; echo x >w/src/hooks/post-checkout", []string{"w/src/hooks"}},
		{"a link as .git", "repo w/meta ..; mkdir w/sub; ln -s ../meta w/sub/.git", []string{"w/sub/.git", "w/meta/HEAD"}},
		{"a link to .git", "ln -s ../.git w/plain", []string{"w/plain"}},
		{"a link to hooks", "ln -s ../.git/hooks w/plain", []string{"w/plain"}},
		{"a link by the outside", `ln -s "../../$(basename "$PWD")/.git/config" w/plain`, []string{"w/plain"}},
		{"an absolute link", `ln -s "$PWD/.git/config" w/plain`, []string{"w/plain"}},
		{"links to links", "ln -s ../.git w/b; ln -s b/hooks w/a; ln -s a w/c", []string{"w/a", "w/b", "w/c"}},
		{"a link to what is not there yet", "ln -s ../.cassidy/tools w/plain", []string{"w/plain"}},
		{"a link in the place of another", "rm w/old; ln -s ../.git w/old", []string{"w/old"}},
		{"cases", "mkdir w/.GIT w/.Git w/.CASSIDY w/.cAssidy 'w/git~1' 'w/.git. '", []string{"w/.GIT", "w/.Git", "w/.CASSIDY", "w/.cAssidy", "w/git~1", "w/.git. "}},
		{"invisible characters", "mkdir \"w/$(printf '.g\\342\\200\\214it')\"", []string{`w/.g\u200cit`}},
		{"a name with a line break", "mkdir -p \"w/$(printf 'a\\nb')\"; repo \"w/$(printf 'a\\nb')/.git\" ..", []string{`"w/a\nb/.git"`}},
		{"no right to look", "mkdir w/u w/v w/r; repo w/u/.git ..; repo w/v/.git ..; repo w/r/.git ..; chmod 0 w/u; chmod 111 w/v; chmod 444 w/r", []string{"w/u", "w/v", "w/r"}},
		{"no right to remove", "repo w/u/.git ..; chmod 555 w/u/.git w/u/.git/objects; chmod 555 w/u", []string{"w/u/.git"}},
		{"deep", "(cd w; i=0; while [ $i -lt 150 ]; do mkdir d; cd d; i=$((i+1)); done; mkdir .git)", []string{"w/" + strings.Repeat("d/", 150) + ".git"}},
		{"survivors", "(setsid sh -c 'while :; do mkdir -p w/late/.git; done' &) ; while [ ! -d w/late/.git ]; do :; done", []string{"w/late/.git"}},
		{"Mercurial", "mkdir -p w/.hg w/a/.jj; printf '[hooks]\\npre-status = sh -c id\\n' >w/.hg/hgrc; ln -s .hg w/h", []string{"w/.hg", "w/a/.jj"}},
		{"an exit code", "mkdir w/.git; exit 3", []string{"w/.git"}},
	} {
		s := newScene(t, map[string]string{"w/old/f": "x", "w/src/main.go": "package main", "w/real/.git/config": "r"})
		if strings.Contains(tt.line, "w/old") {
			rowtest.NoError(t, os.RemoveAll(filepath.Join(s.Dir, "w/old")))
			rowtest.NoError(t, os.Symlink("src", filepath.Join(s.Dir, "w/old")))
		}
		// What is tested is what a command makes, so nothing beside it may lie in w.
		rowtest.NoError(t, os.Rename(filepath.Join(s.Dir, "w/real"), filepath.Join(s.Dir, "real")))
		mark := filepath.Join(s.base, "mark")
		_, err := s.do(t.Context(), argvOf("sh", "-c", strings.ReplaceAll(repo+tt.line, "MARK", mark)), nil)
		text := ""
		if err != nil {
			text = value.ErrorOf(err, value.Internal).Message()
		}
		if err == nil || value.KindOf(err) != value.Security {
			t.Errorf("%s: %v, want a security error", tt.name, err)
		}
		for _, name := range tt.finds {
			if !strings.Contains(text, name) {
				t.Errorf("%s: %q does not name %s", tt.name, text, name)
			}
		}
		s.clean(tt.name, "real/.git")
		if got := rowtest.GetFile(t, s.Dir, "w/src/main.go"); got != "package main" {
			t.Errorf("%s: w/src/main.go is %q", tt.name, got)
		}
		if names, _ := filepath.Glob(filepath.Join(s.Dir, ".git/hooks/*")); len(names) != 1 {
			t.Errorf("%s: the hooks are %q", tt.name, names)
		}
		s.gitEverywhere(tt.name, mark)
	}
}

// gitEverywhere runs git in each folder, as a person would, and checks that it starts
// nothing.
func (s *scene) gitEverywhere(what, mark string) {
	s.T.Helper()
	_ = filepath.WalkDir(s.Dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil
		}
		if rel, _ := filepath.Rel(s.Dir, name); strings.Count(rel, string(filepath.Separator)) > 5 && !testutil.Soak() {
			return fs.SkipDir // as before it, all the way down
		}
		cmd := exec.Command("git", "status", "--short")
		cmd.Dir, cmd.Env = name, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.base, "GIT_CEILING_DIRECTORIES=" + s.base}
		_, _ = cmd.CombinedOutput()
		return nil
	})
	if _, err := os.Stat(mark); err == nil {
		s.T.Errorf("%s: git has run the command's program", what)
	}
}

// TestEscapeMarks checks that the repositories of TestEscapeLater would run something.
func TestEscapeMarks(t *testing.T) {
	t.Parallel()
	have(t, "git")
	for _, line := range []string{"mkdir w; repo w/.git ..", "repo w .", "repo c ../w; mkdir w; echo gitdir: ../c >w/.git"} {
		base := t.TempDir()
		mark := filepath.Join(base, "mark")
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(repo+line+"; cd w && git status", "MARK", mark))
		cmd.Dir, cmd.Env = base, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base}
		out, _ := cmd.CombinedOutput()
		if _, err := os.Stat(mark); err != nil {
			t.Errorf("%s: git ran nothing, so the test cannot fail: %s", line, out)
		}
	}
}

// TestEscapeDecoys has a command leave more than can be named, wide and deep.
func TestEscapeDecoys(t *testing.T) {
	t.Parallel()
	wide, deep := testutil.Times(300, 100_000), testutil.Times(500, 20_000)
	have(t, "perl")
	s := newScene(t, map[string]string{"w/f": "x"})
	s.commands.checkTime = time.Hour // TestEscapeOverrun has one that is too short
	_, err := s.do(t.Context(), argvOf("perl", "-e", fmt.Sprintf(
		`for my $i (1..%d) { mkdir "w/$i"; mkdir "w/$i/.git" } chdir "w"; for (1..%d) { mkdir "d"; chdir "d" } mkdir ".git"`, wide, deep)), nil)
	if err == nil || value.KindOf(err) != value.Security || !strings.Contains(err.Error(), fmt.Sprintf("created %d files or folders", wide+1)) {
		t.Errorf("%v, want a security error for %d files or folders", err, wide+1)
	}
	s.clean("decoys")
}

// TestEscapeOverrun checks that a check which cannot be completed is an error, and is
// completed before another command begins.
func TestEscapeOverrun(t *testing.T) {
	t.Parallel()
	s := newScene(t, map[string]string{"w/f": "x"})
	s.commands.checkTime = -1
	_, err := s.do(t.Context(), argvOf("sh", "-c", "mkdir w/.git"), nil)
	if err == nil || value.KindOf(err) != value.Security || !strings.Contains(err.Error(), "is incomplete: stopped after one minute") {
		t.Errorf("%v, want a security error", err)
	}
	if _, err = s.do(t.Context(), argvOf("sh", "-c", "echo ran >w/f"), nil); err == nil || rowtest.GetFile(t, s.Dir, "w/f") != "x" {
		t.Errorf("the next command ran: %v", err)
	}
	s.commands.checkTime = maxCheck
	_, err = s.do(t.Context(), argvOf("sh", "-c", "echo ran >w/f"), nil)
	if value.KindOf(err) != value.Security || !strings.Contains(err.Error(), "earlier command: the command has created w/.git") || rowtest.GetFile(t, s.Dir, "w/f") != "x" {
		t.Errorf("the command after the one that was not checked: %v, want an error that names what was found", err)
	}
	if _, err = s.do(t.Context(), argvOf("sh", "-c", "echo ran >w/f"), nil); err != nil || rowtest.GetFile(t, s.Dir, "w/f") != "ran\n" {
		t.Errorf("after a complete check: %v", err)
	}
	s.clean("after all")
}

// TestEscapeByTwoCalls has a command hide what it has made until its own check is over, and
// another one, which began meanwhile, show it again.
func TestEscapeByTwoCalls(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{false, true} { // whether it is seen when the second begins
		s := newScene(t, map[string]string{"w/f": "x", "v/f": "x"})
		first := s.start(argvOf("sh", "-c", repo+"repo w/p/.git ..; echo ready; until [ -e v/hide ]; do sleep 0.01; done; mv w/p/.git v/plain; mv v/plain/HEAD v/plain/h; echo x >v/hidden; sleep 60"))
		hide := func() {
			rowtest.PutFile(t, s.Dir, "v/hide", "")
			s.wait("v/hidden")
		}
		if !early {
			hide()
		}
		second := s.start(argvOf("sh", "-c", "echo ready; until [ -e v/show ]; do sleep 0.01; done; mv v/plain/h v/plain/HEAD; mv v/plain w/p/.git; echo x >v/shown; sleep 60"))
		if early {
			hide()
		}
		_ = first()
		rowtest.PutFile(t, s.Dir, "v/show", "")
		s.wait("v/shown")
		if err := second(); value.KindOf(err) != value.Security {
			t.Errorf("%v, want a security error", err)
		}
		s.clean("after two calls")
	}
}

// wait waits until a file of the project exists.
func (s *scene) wait(name string) {
	s.T.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if _, err := os.Stat(filepath.Join(s.Dir, name)); err == nil {
			return
		}
	}
	s.T.Fatalf("%s does not appear", name)
}

// TestEscapeByRule exchanges a folder on the way to a path that the user's rule names.
func TestEscapeByRule(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for ran := 0; ran < repeats(); {
		if ran += escapeByRule(t, repeats()-ran); t.Failed() {
			return
		}
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("%d commands ran, so the test proves little", ran)
		}
	}
}

// escapeByRule runs at most so many commands in a scene, and returns how many ran. None runs while the
// path leads through a link, or after the guard of the racing command has removed that link.
func escapeByRule(t *testing.T, most int) (ran int) {
	s := newScene(t, map[string]string{"w/x/d/f": "mine", "w/x/d/secret": "mine"})
	s.commands.rules.Load().rules["sh"] = Rule{Write: []string{filepath.Join(s.Dir, "w/x/d")}, Read: []string{filepath.Join(s.Dir, "w/x/d")}}
	out, err := s.do(t.Context(), argvOf("sh", "-c", "echo ours >w/x/d/f"), nil)
	if got := rowtest.GetFile(t, s.Dir, "w/x/d/f"); err != nil || got != "ours\n" {
		t.Fatalf("%s, %v, and the file is %q", out, err, got)
	}
	s.Grant("shell", "fs.write")
	rowtest.NoError(t, os.Symlink("../../outside", filepath.Join(s.Dir, "w/y")))
	end := s.start(argvOf("race", "exchange", "w/x", "w/y", "w/x/.git"))
	for tried := 0; ran < most && tried < 300; tried++ {
		out, err := s.do(t.Context(), writeLine("w/x/d", "w/y/d"), nil)
		if err != nil && value.KindOf(err) != value.Security && value.KindOf(err) != value.Unavailable {
			t.Fatal(err)
		}
		if err == nil || value.KindOf(err) == value.Security {
			ran++
		}
		if s.unharmed("by a rule", out); t.Failed() {
			break
		}
	}
	_ = end()
	s.clean("at the end")
	return ran
}

// TestEscapeTargets checks that what .git and .cassidy lead to is kept from commands.
func TestEscapeTargets(t *testing.T) {
	t.Parallel()
	s := newScene(t, map[string]string{
		"conf/mcp.json": `{"mcpServers": {"s": {"command": "python3", "args": ["srv/s.py", "-m", "pkg.mod"]}}}`, "srv/s.py": "s", "srv/x": "x", "pkg/mod.py": "m",
		"conf/tools/t.star": "t", "meta/HEAD": "ref: refs/heads/main", "meta/objects/": "", "meta/refs/": "", "meta/config": "m", "sub/.git": "gitdir: ../meta2\n", "meta2/config": "m",
		".husky/pre-commit": "h", "tools/more.cfg": "c", "tools/watch": "w", "bare/HEAD": "ref: x", "bare/objects/": "", "bare/refs/": "", "bare/config": "b", "w/f": "x",
		".git/config": "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../tools/more.cfg\n[CORE]\n\tfsmonitor = \"tools/watch\"\n",
	})
	rowtest.NoError(t, os.Symlink("conf", filepath.Join(s.Dir, ".cassidy")))
	before := rowtest.Snapshot(t, s.Dir)
	for _, l := range []string{
		"echo x >conf/tools/t.star", "echo x >conf/tools/new", "mv conf c", "echo x >meta/config", "echo x >meta/hooks", "echo x >meta2/config", "echo x >sub/.git", "rm sub/.git",
		"echo x >.husky/pre-commit", "echo x >.husky/post-commit", "echo x >tools/more.cfg", "echo x >tools/watch", "mv tools/watch tools/w; false", "echo x >bare/config", "mkdir bare/hooks",
		"echo x >srv/s.py", "mv srv s2", "cp srv/x srv/y && mv srv/y srv/s.py", "echo x >pkg/mod.py", "echo x >pkg/new.py",
	} {
		if out, err := s.do(t.Context(), argvOf("sh", "-c", l), nil); err != nil || strings.Contains(out, `"exit_code":0`) {
			t.Errorf("%s: %s, %v, want a refusal", l, out, err)
		}
	}
	if after := rowtest.Snapshot(t, s.Dir); !maps.Equal(after, before) {
		t.Errorf("the project is now %v, want %v", after, before)
	}
	if out, err := s.do(t.Context(), argvOf("sh", "-c", "echo y >w/f"), nil); err != nil || !strings.Contains(out, `"exit_code":0`) {
		t.Errorf("writing elsewhere: %s, %v", out, err)
	}
}

// TestEscapeModules checks that a command leaves no module that a server in the root of the project would load.
func TestEscapeModules(t *testing.T) {
	t.Parallel()
	s := newScene(t, map[string]string{".cassidy/mcp.json": `{"mcpServers": {"s": {"command": "python3", "args": ["-m", "pkg"]}}}`, "pkg/__init__.py": "m", "main.py": "m", "json/f": "x"})
	before := rowtest.Snapshot(t, s.Dir)
	for _, l := range []string{"echo x >re.py", "echo x >main.py", "mv main.py m; false", "echo x >pkg/new.py", "echo x >json/__init__.py", "echo x >json/f2 && mv json/f2 json/__init__.py", "ln -s f json/__init__.py", "mkdir x && echo x >x/__init__.py"} {
		out, err := s.do(t.Context(), argvOf("sh", "-c", l), nil)
		if err == nil && strings.Contains(out, `"exit_code":0`) || err != nil && value.KindOf(err) != value.Security {
			t.Errorf("%s: %s, %v, want a refusal or a finding", l, out, err)
		}
		if after := rowtest.Snapshot(t, s.Dir); !maps.Equal(after, before) {
			t.Errorf("%s: the project is now %v, want %v", l, after, before)
			before = after
		}
	}
	if out, err := s.do(t.Context(), argvOf("sh", "-c", "echo y >json/f && echo y >json/a.py"), nil); err != nil || !strings.Contains(out, `"exit_code":0`) {
		t.Errorf("writing other files: %s, %v", out, err)
	}
}

// TestEscapeByHardLink checks that commands do not write what has a name elsewhere.
func TestEscapeByHardLink(t *testing.T) {
	t.Parallel()
	s := newScene(t, map[string]string{"w/plain": "x", "v/f": "x", "own/a": "x", "deep/a/b/c": "x", "deep/z/f": "x"})
	link := func(from, to string) {
		t.Helper()
		rowtest.NoError(t, os.Link(from, filepath.Join(s.Dir, to)))
	}
	out := filepath.Join(s.outside, "d/f")
	link(out, "top")
	link(out, "w/other")
	link(out, "deep/a/b/other")
	link(filepath.Join(s.Dir, ".git/config"), "v/settings")
	link(filepath.Join(s.Dir, "own/a"), "own/b")
	for _, l := range []string{
		"echo pwned >top", "echo pwned >>w/other", "truncate -s 0 w/other", "chmod 777 w/other", "touch -d 2001-01-01 w/other", "echo pwned >deep/a/b/other", "echo pwned | dd of=w/other conv=notrunc",
		"mv w v/w2; echo pwned >v/w2/other", "ln w/other own/other && echo pwned >own/other", "cp --remove-destination own/a w/other; echo pwned >w/other", "echo pwned >v/settings", "ln top own/t && echo pwned >own/t",
		fmt.Sprintf("ln %s own/t && echo pwned >own/t", out), "ln .git/config own/t && echo pwned >own/t",
	} {
		said, err := s.do(t.Context(), argvOf("sh", "-c", l), nil)
		if err != nil || strings.Contains(said, `"exit_code":0`) || !strings.Contains(said, "hard links") || !strings.Contains(said, "w/other") {
			t.Errorf("%s: %s, %v, want a refusal that names the files", l, said, err)
		}
		s.unharmed(l, "")
		s.intact(l)
	}
	if said, err := s.do(t.Context(), argvOf("sh", "-c", "echo y >own/a && cat own/b && echo z >deep/z/new"), nil); err != nil || !strings.Contains(said, `"stdout":"y\n"`) || !strings.Contains(said, `"exit_code":0`) {
		t.Errorf("two names in the project: %s, %v", said, err)
	}
	// A rule that keeps a file from a tool keeps all of its names from commands.
	_, err := s.commands.run(t.Context(), s.effect(argvOf("sh", "-c", "cat top")), tool.Grant{Check: s.Check, Narrowed: func(name string) string {
		if name == "fs.read" {
			return "deny fs.read:.git/**"
		}
		return ""
	}})
	if value.KindOf(err) != value.Denied {
		t.Errorf("reading beside a rule: %v, want a denial", err)
	}
}

func (s *scene) effect(argv value.List) tool.Effect {
	args, err := s.Func("shell.run").Bind(nil, value.NewDict("argv", argv))
	rowtest.NoError(s.T, err)
	return tool.Effect{Func: "shell.run", Args: args}
}

// TestEscapeAsOrdinaryUser runs these attacks again as one who is not root: in a soak all of them.
func TestEscapeAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // they have just run as one
	}
	if raceBuild {
		t.Skip("the stages of a race build take minutes to start as an ordinary user")
	}
	dir, err := os.MkdirTemp("", "cassidy-test-*") // one that others can enter
	rowtest.NoError(t, err)
	defer os.RemoveAll(dir)
	own, err := os.Executable()
	rowtest.NoError(t, err)
	program, err := os.ReadFile(own)
	rowtest.NoError(t, err)
	bin, tmp := filepath.Join(dir, "shell.test"), filepath.Join(dir, "tmp")
	rowtest.NoError(t, errors.Join(os.Chmod(dir, 0o755), testutil.WriteProgram(bin, program), os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o777)))
	tests := "-test.run=^TestEscape(ByExchange|ByRoot|Overrun|ByTwoCalls)$"
	if testutil.Soak() {
		tests = "-test.run=^TestEscape"
	}
	cmd := exec.CommandContext(t.Context(), bin, tests, "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + tmp, "PATH=" + os.Getenv("PATH"), "CASSIDY_SOAK=" + os.Getenv("CASSIDY_SOAK"), againEnv + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestEscapeByExchange") || strings.Contains(string(out), "SKIP") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}
