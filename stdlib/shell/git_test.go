package shell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// runOpenly is a launcher that confines nothing: what it is asked to run must be
// harmless by its arguments and environment alone.
func runOpenly(ctx context.Context, p *tool.Process) (int, error) {
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.WaitDelay = time.Second
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Dir, p.Env, p.Stdout, p.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	} else if err != nil {
		return -1, err
	}
	return 0, nil
}

// A hostileRepo is a git repository that means to start programs.
type hostileRepo struct {
	t    *testing.T
	dir  string
	mark string // the file that a started program leaves

	touched int64 // how often dirty has changed the time of a file
}

// newHostileRepo makes a repository with a commit, and a change after it.
func newHostileRepo(t *testing.T) *hostileRepo {
	t.Helper()
	have(t, "git")
	base := t.TempDir()
	r := &hostileRepo{t: t, dir: filepath.Join(base, "repo"), mark: filepath.Join(base, "mark")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main", "--template=")
	for name, text := range map[string]string{"a.txt": "one\n", "b.txt": "two\n", "sub/c.txt": "three\n"} {
		rowtest.PutFile(t, r.dir, name, text)
	}
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	return r
}

// copied returns a copy of the repository, for another test.
func (r *hostileRepo) copied(t *testing.T) *hostileRepo {
	t.Helper()
	base := t.TempDir()
	c := &hostileRepo{t: t, dir: filepath.Join(base, "repo"), mark: filepath.Join(base, "mark")}
	rowtest.NoError(t, os.CopyFS(c.dir, os.DirFS(r.dir)))
	return c
}

// dirty changes a file, and makes git look at another that has not changed.
func (r *hostileRepo) dirty() {
	rowtest.PutFile(r.t, r.dir, "a.txt", "changed\n")
	rowtest.PutFile(r.t, r.dir, "b.txt", "TWO\n")
	rowtest.PutFile(r.t, r.dir, "new.txt", "new\n")
	r.touched++
	rowtest.NoError(r.t, os.Chtimes(filepath.Join(r.dir, "sub/c.txt"), time.Time{}, time.Unix(1_000_000_000+r.touched, 0)))
}

// git runs git as the attacker does: for real.
func (r *hostileRepo) git(args ...string) string {
	r.t.Helper()
	out, err := r.plain(r.dir, args...)
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (r *hostileRepo) plain(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.WaitDelay = time.Second
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_AUTHOR_DATE=2024-05-01T12:00:00Z", "GIT_COMMITTER_DATE=2024-05-01T12:00:00Z",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// program is a command line that leaves the mark.
func (r *hostileRepo) program() string { return "touch '" + r.mark + "'; cat" }

// script is a program that leaves the mark, as a file.
func (r *hostileRepo) script() string {
	return r.write(".git/evil.sh", "touch '"+r.mark+"'\ncat\n")
}

func (r *hostileRepo) marked() bool {
	_, err := os.Stat(r.mark)
	_ = os.Remove(r.mark)
	return err == nil
}

// ending is a program that leaves the mark and answers nothing.
func (r *hostileRepo) ending() string {
	return r.write(".git/ending.sh", "touch '"+r.mark+"'\n")
}

// signed makes a commit that claims to be signed.
func (r *hostileRepo) signed() {
	head := r.git("cat-file", "commit", "HEAD")
	top, message, _ := strings.Cut(head, "\n\n")
	rowtest.PutFile(r.t, r.dir, ".git/signed", top+"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"+message)
	id := strings.TrimSpace(r.git("hash-object", "-t", "commit", "-w", ".git/signed"))
	r.git("update-ref", "refs/heads/main", id)
}

// losing takes an object away that a promising remote would give again.
func (r *hostileRepo) losing() {
	id := strings.TrimSpace(r.git("rev-parse", "HEAD:b.txt"))
	if err := os.Remove(filepath.Join(r.dir, ".git/objects", id[:2], id[2:])); err != nil {
		r.t.Fatal(err)
	}
	r.git("config", "core.repositoryformatversion", "1")
	r.git("config", "extensions.partialClone", "origin")
	r.git("config", "remote.origin.promisor", "true")
	r.git("config", "remote.origin.partialclonefilter", "blob:none")
}

// TestS04HostileRepositories looks at repositories that name programs in every
// way known. What git itself would do there is tried as well, so that each case
// proves that it is one.
func TestS04HostileRepositories(t *testing.T) {
	t.Parallel()
	first := newHostileRepo(t)
	for i, tt := range []struct {
		name    string
		lay     func(r *hostileRepo)
		control []string // what starts the program in plain git; nil where only a terminal would
		in      string   // the folder to look from
	}{
		{"fsmonitor", func(r *hostileRepo) { r.git("config", "core.fsmonitor", r.script()) }, []string{"status"}, ""},
		{"fsmonitor, command line", func(r *hostileRepo) { r.git("config", "core.fsmonitor", "touch '"+r.mark+"'; echo") }, []string{"status"}, ""},
		{"hook", func(r *hostileRepo) { r.hook(".git/hooks/post-index-change") }, []string{"status"}, ""},
		{"hook elsewhere", func(r *hostileRepo) { r.git("config", "core.hooksPath", "h"); r.hook("h/post-index-change") }, []string{"status"}, ""},
		{"external diff", func(r *hostileRepo) { r.git("config", "diff.external", r.script()) }, []string{"diff"}, ""},
		{"diff driver", func(r *hostileRepo) { r.attribute("*.txt diff=evil"); r.git("config", "diff.evil.command", r.script()) }, []string{"diff"}, ""},
		{"textconv", func(r *hostileRepo) {
			r.attribute("*.txt diff=evil")
			r.git("config", "diff.evil.textconv", r.script())
		}, []string{"log", "-p"}, ""},
		{"textconv of blame", func(r *hostileRepo) {
			r.attribute("*.txt diff=evil")
			r.git("config", "diff.evil.textconv", r.script())
		}, []string{"blame", "b.txt"}, ""},
		{"clean", func(r *hostileRepo) {
			r.attribute("*.txt filter=evil")
			r.git("config", "filter.evil.clean", r.program())
		}, []string{"status"}, ""},
		{"clean, required", func(r *hostileRepo) {
			r.attribute("*.txt filter=evil")
			r.git("config", "filter.evil.clean", r.program())
			r.git("config", "filter.evil.required", "true")
		}, []string{"diff"}, ""},
		{"smudge", func(r *hostileRepo) {
			r.attribute("*.txt filter=evil")
			r.git("config", "filter.evil.smudge", r.program())
		}, []string{"cat-file", "--filters", "HEAD:b.txt"}, ""},
		{"process", func(r *hostileRepo) {
			r.attribute("*.txt filter=evil")
			r.git("config", "filter.evil.process", r.program())
		}, []string{"status"}, ""},
		{"attributes of the repository", func(r *hostileRepo) {
			rowtest.PutFile(r.t, r.dir, ".git/info/attributes", "*.txt filter=evil\n")
			r.git("config", "filter.evil.clean", r.program())
		}, []string{"status"}, ""},
		{"attributes by a setting", func(r *hostileRepo) {
			rowtest.PutFile(r.t, r.dir, "attr", "*.txt filter=evil\n")
			r.git("config", "core.attributesFile", filepath.Join(r.dir, "attr"))
			r.git("config", "filter.evil.clean", r.program())
		}, []string{"status"}, ""},
		{"odd names", func(r *hostileRepo) {
			r.attribute("*.txt filter=e=v.il")
			r.git("config", "filter.e=v.il.clean", r.program())
		}, []string{"status"}, ""},
		{"capital names", func(r *hostileRepo) {
			r.attribute("*.txt filter=EVIL.Required")
			r.git("config", "filter.EVIL.Required.CLEAN", r.program())
		}, []string{"status"}, ""},
		{"included settings", func(r *hostileRepo) {
			rowtest.PutFile(r.t, r.dir, "more", "[filter \"evil\"]\n\tclean = "+r.script()+"\n")
			r.attribute("*.txt filter=evil")
			r.git("config", "include.path", "../more")
		}, []string{"status"}, ""},
		{"settings included for a branch", func(r *hostileRepo) {
			rowtest.PutFile(r.t, r.dir, "more", "[filter \"evil\"]\n\tclean = "+r.script()+"\n")
			r.attribute("*.txt filter=evil")
			r.git("config", "includeIf.onbranch:main.path", "../more")
		}, []string{"status"}, ""},
		{"settings of the worktree", func(r *hostileRepo) {
			r.attribute("*.txt filter=evil")
			r.git("config", "extensions.worktreeConfig", "true")
			r.git("config", "--worktree", "filter.evil.clean", r.program())
		}, []string{"status"}, ""},
		{"signature", func(r *hostileRepo) {
			r.signed()
			r.git("config", "log.showSignature", "true")
			r.git("config", "gpg.program", r.script())
		}, []string{"log"}, ""},
		{"signature by a format", func(r *hostileRepo) {
			r.signed()
			r.git("config", "format.pretty", "%H %G?")
			r.git("config", "gpg.openpgp.program", r.script())
		}, []string{"log"}, ""},
		{"signature by a named format", func(r *hostileRepo) {
			r.signed()
			r.git("config", "pretty.oneline2", "%H %G?")
			r.git("config", "gpg.program", r.script())
		}, []string{"log", "--format=oneline2"}, ""},
		{"promise by ext", func(r *hostileRepo) {
			r.losing()
			r.git("config", "remote.origin.url", "ext::"+r.ending())
			r.git("config", "protocol.ext.allow", "always")
		}, []string{"log", "-p"}, ""},
		{"promise by a file", func(r *hostileRepo) {
			r.losing()
			r.git("config", "remote.origin.url", r.dir)
			r.git("config", "remote.origin.uploadpack", r.ending())
			r.git("config", "protocol.allow", "always")
			r.git("config", "protocol.file.allow", "always")
		}, []string{"log", "-p"}, ""},
		{"promise by ssh", func(r *hostileRepo) {
			r.losing()
			r.git("config", "remote.origin.url", "ssh://localhost/x")
			r.git("config", "core.sshCommand", r.ending())
		}, []string{"log", "-p"}, ""},
		{"promise by a proxy", func(r *hostileRepo) {
			r.losing()
			r.git("config", "remote.origin.url", "git://localhost/x")
			r.git("config", "core.gitProxy", r.ending())
		}, []string{"log", "-p"}, ""},
		{"promise by a helper", func(r *hostileRepo) {
			r.losing()
			r.git("config", "remote.origin.vcs", "ext")
			r.git("config", "remote.origin.url", r.ending())
			r.git("config", "protocol.ext.allow", "always")
		}, []string{"log", "-p"}, ""},
		{"submodule", func(r *hostileRepo) { r.submodule() }, []string{"status"}, ""},
		{"submodule, asked for", func(r *hostileRepo) {
			r.submodule()
			r.git("config", "diff.ignoreSubmodules", "none")
			r.git("config", "submodule.inner.ignore", "none")
			r.git("config", "status.submoduleSummary", "true")
			r.git("config", "diff.submodule", "diff")
			r.git("config", "submodule.recurse", "true")
		}, []string{"diff"}, ""},
		{"bare repository inside", func(r *hostileRepo) {
			r.git("init", "-q", "--bare", "bare")
			_, _ = r.plain(filepath.Join(r.dir, "bare"), "config", "core.bare", "false")
			_, _ = r.plain(filepath.Join(r.dir, "bare"), "config", "core.worktree", r.dir)
			_, _ = r.plain(filepath.Join(r.dir, "bare"), "config", "core.fsmonitor", r.script())
		}, []string{"status"}, "bare"},
		{"repository by a file", func(r *hostileRepo) {
			if err := os.Rename(filepath.Join(r.dir, ".git"), filepath.Join(r.dir, "kept")); err != nil {
				r.t.Fatal(err)
			}
			rowtest.PutFile(r.t, r.dir, ".git", "gitdir: kept\n")
			r.git("config", "core.fsmonitor", "touch '"+r.mark+"'; echo")
		}, []string{"status"}, ""},
		{"pager", func(r *hostileRepo) {
			r.git("config", "core.pager", r.script())
			r.git("config", "pager.log", r.script())
			r.git("config", "pager.status", "true")
		}, nil, ""},
		{"alias", func(r *hostileRepo) {
			r.git("config", "alias.st", "!"+r.script())
			r.git("config", "alias.status", "!"+r.script())
		}, []string{"st"}, ""},
		{"interactive", func(r *hostileRepo) {
			r.git("config", "interactive.diffFilter", r.script())
			r.git("config", "core.editor", r.script())
			r.git("config", "sequence.editor", r.script())
		}, nil, ""},
		{"credentials", func(r *hostileRepo) {
			r.git("config", "credential.helper", "!"+r.script())
			r.git("config", "core.askPass", r.script())
		}, nil, ""},
		{"hooks of later versions", func(r *hostileRepo) {
			r.git("config", "hook.x.command", r.script())
			r.git("config", "hook.x.event", "post-index-change")
			r.git("config", "diff.x.shinynewcommand", r.script())
		}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := first.copied(t)
			tt.lay(r)
			r.dirty()
			if tt.control != nil {
				out, _ := r.plain(filepath.Join(r.dir, tt.in), tt.control...)
				if !r.marked() {
					t.Errorf("plain git %q starts nothing, so this proves nothing: %s", tt.control, out)
				}
				r.dirty() // the control may have brought git's index up to date
			}
			d := projectAt(t, r.dir, &Options{Launch: runOpenly}, "shell:git")
			commands := []string{
				"status", "status --porcelain=v2 -z --branch", "status --short --ignored", "diff", "diff HEAD", "diff --cached", "diff --stat", "log", "log -p", "log --stat -n 1 --format=%H", "log --oneline --all", "log --format=oneline2",
				"show", "show HEAD:b.txt", "blame b.txt", "branch -vv", "tag -n", "remote -v", "describe --always --dirty", "shortlog -sn", "ls-files -m", "ls-files -o --exclude-standard", "grep o", "grep -n o HEAD", "rev-parse HEAD",
				"cat-file -p HEAD:b.txt", "ls-tree -r HEAD", "for-each-ref", "rev-list --objects --all", "reflog", "stash list", "check-ignore -v new.txt", "log -S two", "log -L 1,1:b.txt", "diff --submodule=x", "st",
			}
			if !testutil.Soak() { // what starts most of them, and what some others have
				commands = append([]string{"status", "diff", "log -p"}, commands[(i%16)*2+2:][:2]...)
				if own := strings.Join(tt.control, " "); !slices.Contains(commands, own) && own != "" {
					commands = append(commands, own)
				}
			}
			for _, text := range commands {
				in := tt.in
				if in == "" {
					in = "."
				}
				v, err := d.Call("shell.run", "argv", line("git "+text), "cwd", in)
				if r.marked() {
					t.Errorf("git %s starts a program: %v, %v", text, v, err)
				}
				if err != nil && value.KindOf(err) != value.Denied && value.KindOf(err) != value.Failed {
					t.Errorf("git %s: %v", text, err)
				}
			}
		})
	}
}

func (r *hostileRepo) hook(name string) {
	r.write(name, "touch '"+r.mark+"'\n")
}

// write writes a script for the shell, and returns its path.
func (r *hostileRepo) write(name, text string) string {
	path := filepath.Join(r.dir, name)
	rowtest.NoError(r.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), testutil.WriteProgram(path, []byte("#!/bin/sh\n"+text))))
	return path
}

func (r *hostileRepo) attribute(line string) {
	rowtest.PutFile(r.t, r.dir, ".gitattributes", line+"\n")
}

// submodule adds a repository inside that starts a program when it is looked at.
func (r *hostileRepo) submodule() {
	inner := filepath.Join(r.dir, "inner")
	r.git("init", "-q", "-b", "main", "inner")
	for _, args := range [][]string{{"commit", "-q", "--allow-empty", "-m", "x"}, {"config", "core.fsmonitor", "touch '" + r.mark + "'; echo"}, {"config", "filter.evil.clean", r.program()}} {
		if out, err := r.plain(inner, args...); err != nil {
			r.t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	rowtest.PutFile(r.t, inner, ".gitattributes", "* filter=evil\n")
	rowtest.PutFile(r.t, inner, "x", "x\n")
	rowtest.PutFile(r.t, r.dir, ".gitmodules", "[submodule \"inner\"]\n\tpath = inner\n\turl = ./inner\n")
	r.git("add", "inner", ".gitmodules")
	r.git("commit", "-q", "-m", "inner")
	_ = os.Remove(r.mark)
}

// TestGit checks that what git may do, it does: confined, and in a repository
// of another user.
func TestGit(t *testing.T) {
	t.Parallel()
	have(t, "git")
	r := newHostileRepo(t)
	short := strings.TrimSpace(r.git("rev-parse", "--short=7", "HEAD"))
	r.git("tag", "v1")
	r.git("remote", "add", "origin", "https://example.com/x")
	r.dirty()
	d := confined(t, nil, nil)
	d = projectAt(t, r.dir, &Options{Launch: d.commands.launch}, "shell:git")
	check := func(who string) {
		t.Helper()
		for text, want := range map[string]string{
			"status --porcelain":              " M a.txt\n M b.txt\n?? new.txt\n",
			"diff --stat a.txt":               " a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n",
			"diff --name-only":                "a.txt\nb.txt\n",
			"diff --name-only -- b.txt":       "b.txt\n",
			"diff -U0 HEAD -- a.txt":          "diff --git a/a.txt b/a.txt\nindex 5626abf..5ea2ed4 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+changed\n",
			"log -1 --format=%s":              "first\n",
			"log --oneline -n 1 --no-color":   short + " first\n",
			"show HEAD:sub/c.txt":             "three\n",
			"show -s --format=%an":            "a\n",
			"branch":                          "* main\n",
			"branch --show-current":           "main\n",
			"branch --list m*":                "* main\n",
			"tag":                             "v1\n",
			"describe --tags":                 "v1\n",
			"describe --tags --dirty":         "v1-dirty\n",
			"rev-parse --abbrev-ref HEAD":     "main\n",
			"rev-parse --is-inside-work-tree": "true\n",
			"ls-files":                        "a.txt\nb.txt\nsub/c.txt\n",
			"ls-files -o --exclude-standard":  "new.txt\n",
			"grep -n T":                       "b.txt:1:TWO\n",
			"grep -c three -- sub":            "sub/c.txt:1\n",
			"grep -e two HEAD":                "HEAD:b.txt:two\n",
			"remote -v":                       "origin\thttps://example.com/x (fetch)\norigin\thttps://example.com/x (push)\n",
			"shortlog -sn":                    "     1\ta\n",
			"blame -s sub/c.txt":              "^" + short + " 1) three\n",
			"cat-file -t HEAD":                "commit\n",
			"ls-tree --name-only HEAD":        "a.txt\nb.txt\nsub\n",
			"rev-list --count HEAD":           "1\n",
			"stash list":                      "",
		} {
			few := strings.HasPrefix(text, "status") || strings.HasPrefix(text, "diff -U0") || strings.HasPrefix(text, "blame")
			if who != "own" && !few && !testutil.Soak() {
				continue
			}
			if got, stderr, exit := d.ran(line("git " + text)); got != want || exit != 0 {
				t.Errorf("%s: git %s: %q, %q, exit %d, want %q", who, text, got, stderr, exit, want)
			}
		}
	}
	before := rowtest.Snapshot(t, r.dir)
	check("own")
	if got, _, _ := d.ran(line("git ls-files"), "cwd", "sub"); got != "c.txt\n" {
		t.Errorf("git ls-files in sub = %q, want c.txt", got)
	}
	for name, was := range before {
		if now := rowtest.Snapshot(t, r.dir)[name]; now != was {
			t.Errorf("git has changed %s", name)
			break
		}
	}
	if os.Geteuid() == 0 {
		err := filepath.WalkDir(r.dir, func(name string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(name, 65534, 65534))
		})
		rowtest.NoError(t, err)
		check("another user's")
	}
}

// TestGitCreates checks that git creates a branch or a tag, or the call fails: it needs the rights of
// a command line, and a tool that has only those of git does not get them.
func TestGitCreates(t *testing.T) {
	t.Parallel()
	r := newHostileRepo(t)
	d := projectAt(t, r.dir, &Options{Launch: runOpenly}, "shell:git")
	for _, text := range []string{"git branch topic", "git branch -q topic main", "git tag v1", "git tag -i v1", "git reflog delete HEAD@{0}"} {
		d.Grant("shell:git")
		d.Fails(value.Denied, "shell:sh is not granted", "shell.run", "argv", line(text))
		if d.commands.readsOnly(value.NewDict("argv", line(text), "cwd", ".")) {
			t.Errorf("%s only reads", text)
		}
	}
	if refs := r.git("for-each-ref", "--format=%(refname:short)"); refs != "main\n" {
		t.Errorf("refs: %q", refs)
	}
	d.Grant("shell:git", "shell:sh")
	for _, text := range []string{"git branch topic", "git tag v1"} {
		if _, stderr, exit := d.ran(line(text)); exit != 0 {
			t.Errorf("%s: exit %d, %q", text, exit, stderr)
		}
	}
	if refs := r.git("for-each-ref", "--format=%(refname:short)"); refs != "main\ntopic\nv1\n" {
		t.Errorf("refs: %q", refs)
	}
}

// TestGitShowsSubmodules checks that a submodule at another commit is a change.
func TestGitShowsSubmodules(t *testing.T) {
	t.Parallel()
	r := newHostileRepo(t)
	r.submodule()
	if out, err := r.plain(filepath.Join(r.dir, "inner"), "-c", "core.fsmonitor=", "commit", "-q", "--allow-empty", "-m", "y"); err != nil {
		t.Fatal(out)
	}
	r.marked()
	d := projectAt(t, r.dir, &Options{Launch: runOpenly}, "shell:git")
	for text, want := range map[string]string{
		"git status --porcelain": " M inner\n", "git diff --name-only": "inner\n", "git show --name-only --format=": ".gitmodules\ninner\n", "git status --porcelain=v2": "SC",
	} {
		if got, stderr, _ := d.ran(line(text)); got != want && !(want == "SC" && strings.Contains(got, " SC.. ")) {
			t.Errorf("%s: %q, %q, want %q", text, got, stderr, want)
		}
	}
	if r.marked() {
		t.Error("git has started a program of the submodule")
	}
}

// TestGitTooOld checks that a git that would not be kept back is not run.
func TestGitTooOld(t *testing.T) {
	t.Parallel()
	have(t, "git")
	r := newHostileRepo(t)
	old := func(_ context.Context, p *tool.Process) (int, error) {
		_, err := p.Stdout.Write([]byte("core.bare\x00"))
		return 0, err
	}
	d := projectAt(t, r.dir, &Options{Launch: old}, "shell:git")
	d.Fails(value.Unavailable, "too old", "shell.run", "argv", line("git status"))
	many := func(_ context.Context, p *tool.Process) (int, error) {
		_, err := p.Stdout.Write(bytes.Repeat([]byte("x"), 2<<20))
		return 0, err
	}
	d = projectAt(t, r.dir, &Options{Launch: many}, "shell:git")
	d.Fails(value.Failed, "read the settings of the git repository: they are too long", "shell.run", "argv", line("git status"))
}
