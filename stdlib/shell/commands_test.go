package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/launch"
	"github.com/cassidy-run/cassidy/stdlib/fs"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// A project is a folder with files, and what runs commands in it.
type project struct {
	*rowtest.Caller
	commands *Commands
}

// confined makes a project with files, whose commands run confined.
func confined(t *testing.T, files map[string]string, rules map[string]Rule) *project {
	t.Helper()
	if !launch.Confined() {
		t.Skip("THIS MACHINE CANNOT CONFINE COMMANDS")
	}
	dir := t.TempDir()
	for name, content := range files {
		rowtest.PutFile(t, dir, name, content)
	}
	return projectAt(t, dir, &Options{Launch: launch.Run, Rules: rules}, "shell")
}

func projectAt(t *testing.T, dir string, o *Options, needs ...string) *project {
	t.Helper()
	files, err := fs.Open(&fs.Options{Root: dir})
	rowtest.NoError(t, err)
	t.Cleanup(func() { rowtest.NoError(t, files.Close()) })
	commands, err := New(files.Folder, o)
	rowtest.NoError(t, err)
	d := &project{&rowtest.Caller{T: t, Modules: []tool.Module{commands.Module()}, Dir: dir, Stage: &tool.Stage{}}, commands}
	d.Grant(needs...)
	return d
}

func line(text string) value.List { return argvOf(strings.Fields(text)...) }

// ran runs a command that must come to a result.
func (d *project) ran(argv value.List, more ...value.Value) (stdout, stderr string, exit int64) {
	d.T.Helper()
	r := d.Must("shell.run", append([]value.Value{"argv", argv}, more...)...).(*value.Dict)
	code, _ := r.Get("exit_code")
	return r.Text("stdout"), r.Text("stderr"), code.(int64)
}

// have skips where a program is not installed, which a person sees.
func have(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("THIS MACHINE HAS NO %s", name)
	}
}

func TestShellRun(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"a.txt": "one\ntwo\n", "sub/b.txt": "x", "odd name": "o"}, nil)
	for _, tt := range []struct {
		argv   value.List
		more   []value.Value
		stdout string
		exit   int64
	}{
		{line("cat a.txt"), nil, "one\ntwo\n", 0},
		{line("wc -l a.txt"), nil, "2 a.txt\n", 0},
		{line("head -1 a.txt"), nil, "one\n", 0},
		{line("tail -n +2 a.txt"), nil, "two\n", 0},
		{line("grep -c o a.txt"), nil, "2\n", 0},
		{line("grep nothing a.txt"), nil, "", 1},
		{line("ls"), nil, "a.txt\nodd name\nsub\n", 0},
		{line("ls"), []value.Value{"cwd", "sub"}, "b.txt\n", 0},
		{line("cat ../a.txt"), []value.Value{"cwd", "sub"}, "one\ntwo\n", 0},
		{argvOf("cat", "odd name"), nil, "o", 0},
		{argvOf("cat", "--", "a.txt"), nil, "one\ntwo\n", 0},
		{argvOf("cat", filepath.Join(d.Dir, "a.txt")), nil, "one\ntwo\n", 0},
		{line("sort -r a.txt"), nil, "two\none\n", 0},
		{line("cut -c 1-2 a.txt"), nil, "on\ntw\n", 0},
		{argvOf("echo", "-n", "a  b", "$HOME", "*"), nil, "a  b $HOME *", 0},
		{argvOf("printf", "%s|", "a", "-x", "--", ""), nil, "a|-x|--||", 0},
		{line("seq 2 4"), nil, "2\n3\n4\n", 0},
		{line("basename -s .txt x/a.txt"), nil, "a\n", 0},
		{line("true"), nil, "", 0},
		{line("false"), nil, "", 1},
		{line("cmp -s a.txt sub/b.txt"), nil, "", 1},
		{line("date -u -d @0 +%F"), nil, "1970-01-01\n", 0},
		{argvOf("sh", "-c", "cat a.txt | wc -l; exit 7"), nil, "2\n", 7},
		{argvOf("sh", "-c", "cat"), nil, "", 0},
	} {
		stdout, stderr, exit := d.ran(tt.argv, tt.more...)
		if stdout != tt.stdout || exit != tt.exit {
			t.Errorf("%v: %q, %q, exit %d, want %q, %d", tt.argv, stdout, stderr, exit, tt.stdout, tt.exit)
		}
	}
	if out, _, exit := d.ran(line("pwd")); exit != 0 || strings.TrimSpace(out) != d.commands.folder.Path() {
		t.Errorf("pwd = %q, want %q", out, d.commands.folder.Path())
	}
}

// A notebook is a launcher that only notes what it is to run.
type notebook struct{ processes []*tool.Process }

func (n *notebook) launch(_ context.Context, p *tool.Process) (int, error) {
	n.processes = append(n.processes, p)
	return 0, nil
}

// run runs all that was noted, one after the other, and returns what each has written to its
// standard error. One shell starts them, which is faster than this program is.
func (n *notebook) run(t *testing.T) []string {
	t.Helper()
	const next = "---- the next one ----\n"
	var script strings.Builder
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	for _, p := range n.processes {
		fmt.Fprintf(&script, "printf %%s %s >&2; cd %s && %s", quote(next), quote(p.Dir), quote(p.Path))
		for _, arg := range p.Args {
			script.WriteString(" " + quote(arg))
		}
		script.WriteString(" </dev/null >/dev/null\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, "/bin/sh")
	cmd.Stdin, cmd.Stderr, cmd.Env = strings.NewReader(script.String()), &stderr, n.processes[0].Env
	_ = cmd.Run() // the last one may fail
	all := strings.Split(stderr.String(), next)[1:]
	if len(all) != len(n.processes) {
		t.Fatalf("%d processes of %d ran: %s", len(all), len(n.processes), stderr.String())
	}
	return all
}

// TestShellTable runs each command of the table with each flag that takes
// nothing: a flag that the program does not know would be a mistake here. In a soak
// they run confined.
func TestShellTable(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"a": "one\n", "b": "one\n", ".git/HEAD": ""}, nil)
	noted := &notebook{}
	if !testutil.Soak() {
		d = projectAt(t, d.Dir, &Options{Launch: noted.launch}, "shell")
	}
	var lines []value.List
	check := func(argv value.List, stderr string) {
		for _, wrong := range []string{"unrecognized option", "invalid option", "unknown option", "requires an argument", "unsupported", "unknown gnu long", "unsupported SysV"} {
			if strings.Contains(stderr, wrong) {
				t.Errorf("%v: %s", argv, stderr)
			}
		}
	}
	others := map[string]string{
		"basename": "a", "cat": "a", "cmp": "a b", "cut": "a", "diff": "a b", "dirname": "a", "file": "a", "grep": "one a", "head": "a", "ls": "a",
		"md5sum": "a", "sha1sum": "a", "sha256sum": "a", "sha512sum": "a", "seq": "1", "sort": "a", "stat": "a", "tail": "a", "tr": "a b", "wc": "a", "which": "ls",
		"du": "a", "df": ".", "sleep": "0",
	}
	for _, name := range sortedKeys(commandTable()) {
		if _, err := d.commands.find(name, ""); err != nil {
			t.Logf("THIS MACHINE HAS NO %s", name)
			continue
		}
		schema := commandTable()[name]
		flags, _ := schema.read()
		for flag, f := range flags {
			if f.kind != "" && !f.optional {
				continue
			}
			argv := append([]string{name, flag}, strings.Fields(others[name])...)
			if name == "cut" {
				argv = []string{name, "-b1", flag, "a"}
			}
			_, stderr, _ := d.ran(argvOf(argv...))
			check(argvOf(argv...), stderr)
			lines = append(lines, argvOf(argv...))
		}
	}
	if testutil.Soak() {
		return
	}
	for i, stderr := range noted.run(t) {
		check(lines[i], stderr)
	}
}

// TestS01Git and TestS02Table: what starts, writes or reaches by an argument is
// refused, however it is written, before anything runs.
func TestS01GitArguments(t *testing.T) {
	t.Parallel()
	have(t, "git")
	d := confined(t, map[string]string{"a": "x"}, nil)
	for _, text := range []string{
		"git log --output=x", "git log --outpu=x", "git log --output x", "git show --output=x HEAD", "git diff --output=x", "git diff --outp=x",
		"git -c alias.x=!touch x", "git -c core.fsmonitor=touch status", "git -ccore.pager=touch log", "git --config-env=a=b status", "git --exec-path=/tmp status",
		"git -C .. status", "git -C/tmp status", "git --git-dir=x status", "git --git-dir x status", "git --work-tree=/ status", "git -p log", "git --paginate log", "git --namespace=x log",
		"git grep -O x", "git grep -Otouch x", "git grep --open-files-in-pager=touch x", "git grep --open x", "git grep -nO x", "git grep -f /etc/passwd x", "git grep --no-index x",
		"git grep --recurse-submodules x", "git grep --textconv x", "git grep --textc x",
		"git diff --ext-diff", "git diff --ext", "git log -p --ext-diff", "git show --textconv", "git blame --textconv a", "git cat-file --textconv HEAD:a", "git cat-file --filters HEAD:a", "git cat-file --batch",
		"git diff --no-index /etc/passwd a", "git diff --no-ind a b", "git diff -Oorder", "git log -O order", "git diff --submodule=log", "git status -v", "git status --ignore-submodules=none",
		"git log --show-signature", "git log --show-sig", "git log --format=%GG", "git log --pretty=format:%G?", "git show --pretty=%GS", "git for-each-ref --format=%(signature)",
		"git log --stdin", "git rev-list --disk-usage", "git status --pathspec-from-file=/etc/passwd",
		"git clone ext::sh", "git fetch ext::sh", "git fetch --upload-pack=touch", "git pull", "git push", "git ls-remote ext::sh", "git remote add x ext::sh", "git remote update", "git remote show x",
		"git archive --exec=touch HEAD", "git archive HEAD", "git checkout .", "git reset --hard", "git clean -fdx", "git commit -m x", "git add a", "git rm a", "git mv a b", "git stash", "git stash pop", "git stash drop",
		"git rebase -x touch", "git bisect run touch", "git submodule foreach touch", "git filter-branch", "git difftool", "git mergetool", "git config --list", "git config alias.x y", "git help -a", "git help log",
		"git gc", "git maintenance run", "git daemon", "git upload-pack .", "git shell", "git instaweb", "git web--browse x", "git credential fill", "git send-email", "git hook run x", "git am", "git apply a",
		"git notes add", "git replace a b", "git update-ref x y", "git update-index --refresh", "git worktree add x", "git init", "git fast-import", "git bundle create x HEAD", "git var GIT_EDITOR", "git st", "git LOG", "git ./x", "git ../x",
		"git branch -D main", "git branch -m x", "git branch --edit-description", "git branch -c a b", "git branch --set-upstream-to=x", "git branch -f x", "git branch -u x",
		"git tag -d x", "git tag -s x", "git tag -a x", "git tag -m x x", "git tag -F a x", "git tag -v x", "git tag --edit", "git tag -u key x",
		"git reflog expire --expire=now --all", "git rev-parse --parseopt", "git rev-parse --sq-quote x", "git shortlog --exec", "git ls-files -X /etc/passwd", "git ls-files --exclude-from=a", "git ls-files --recurse-submodules",
		"git describe --dirty=x --broken", "git version --exec-path", "git --html-path", "git --man-path", "git --exec-path", "git --help", "git -h",
		"git blame --contents /etc/passwd a", "git blame ../../etc/passwd", "git show HEAD -- ../../x", "git log -- /etc/passwd", "git log -- ../x", "git diff /etc/passwd a",
	} {
		d.grantProgram(text)
		v, err := d.Call("shell.run", "argv", line(text))
		if err == nil || value.KindOf(err) != value.Denied && value.KindOf(err) != value.Security {
			t.Errorf("%s: %v, %v, want a denial", text, v, err)
		}
	}
	if names, _ := os.ReadDir(d.Dir); len(names) != 1 {
		t.Errorf("there are %d files, want 1", len(names))
	}
}

// grantProgram grants the program of a command line, and no command lines: these take
// shell:sh.
func (d *project) grantProgram(text string) {
	if name := strings.Fields(text)[0]; name != commandLine {
		d.Grant("shell:" + name)
	} else {
		d.Grant("shell:cat")
	}
}

func TestS02OtherArguments(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"a": "x"}, nil)
	for _, text := range []string{
		"find . -exec touch x ;", "find . -fprintf x %p", "find . -delete", "find .", "tar --checkpoint-action=exec=x", "tar -I touch -cf x a", "tar --to-command=x -xf a",
		"sed e a", "sed -n w/x a", "sed -i s/a/b/ a", "awk BEGIN{system(\"x\")}", "gawk x", "xargs touch", "env touch x", "nice touch x", "timeout 1 touch x", "nohup touch x", "setsid touch x",
		"sort -o x a", "sort -ox a", "sort -rox a", "sort --output=x a", "sort --outp=x a", "sort --o=x a", "sort --output x a", "sort --compress-program=touch a", "sort --compress touch a", "sort -T /tmp a",
		"sort --files0-from=a", "sort --temporary-directory=x a", "sort -S 1G a", "sort --batch-size=2 a", "sort --random-source=/etc/passwd a",
		"uniq a x", "tee x", "dd if=a of=x", "cp a x", "mv a x", "rm a", "ln a x", "touch x", "mkdir x", "chmod 777 a", "install a x", "truncate -s 0 a", "split a", "csplit a 1",
		"curl file:///etc/passwd -o x", "wget x", "ssh -oProxyCommand=touch x", "scp a x", "rsync -e touch a x", "nc x 1", "telnet x", "ftp x", "zip -TT touch x a", "unzip x", "gzip a", "xz a", "7z a x",
		"perl -e 1", "python3 -c 1", "python x", "ruby x", "node x", "lua x", "php x", "make", "make -f a", "go run a", "npm i", "cargo run", "gcc a", "ld a", "gdb a", "strace a", "man -P touch ls", "less a", "more a", "vi a", "ed a", "emacs a",
		"bash -c x", "dash -c x", "zsh -c x", "busybox sh", "sh", "sh x", "sh -i", "sh -x -c y", "sh -s", "sh -l -c x", "sh -ec x", "sudo x", "su", "doas x", "crontab a", "at now", "systemctl x", "docker ps", "kill 1", "pkill x",
		"date -s now", "date --set=now", "date --se=now", "date 0101010101", "date -f /etc/passwd", "date --file=a", "file -f a", "file -C -m a", "file -m /etc/passwd a", "file -z a", "file --files-from a", "wc --files0-from=a", "du --files0-from=a",
		"du -X a", "diff --to-file=a b", "diff -l a a", "diff --paginate a a", "diff --pag a a", "tail -f a", "tail --follow a", "tail -F a", "tail --pid=1 a", "tail --retry a", "df --sync", "ls -Z", "which --all x", "ps --context",
		"cat", "cat -", "grep x -", "head -", "cat a -", "wc -", "diff - a", "tr a b c", "cut -f1", "sleep", "sleep x", "sleep -1", "seq x", "uname x", "pwd x", "true x", "hostname x", "git", "expr2", "[", "test x",
	} {
		d.grantProgram(text)
		v, err := d.Call("shell.run", "argv", line(text))
		if err == nil || value.KindOf(err) != value.Denied && value.KindOf(err) != value.Security && value.KindOf(err) != value.Invalid {
			t.Errorf("%s: %v, %v, want a denial", text, v, err)
		}
	}
	if names, _ := os.ReadDir(d.Dir); len(names) != 1 {
		t.Errorf("there are %d files, want 1", len(names))
	}
	for _, argv := range []value.List{{}, argvOf(""), argvOf("/bin/ls"), argvOf("./a"), argvOf("../a"), argvOf("sub/ls"), argvOf("ls a"), argvOf("-ls"), argvOf("ls\n"), argvOf("LD_PRELOAD=x"), argvOf("ls", "a\x00b"), argvOf(`C:\x`)} {
		if v, err := d.Call("shell.run", "argv", argv); err == nil || value.KindOf(err) != value.Denied && value.KindOf(err) != value.Invalid {
			t.Errorf("%q: %v, %v, want a denial", argv, v, err)
		}
	}
	// They take what a command line takes.
	for _, text := range []string{"make test", "sort -o x a"} {
		d.grantProgram(text)
		d.Fails(value.Denied, "shell:sh is not granted", "shell.run", "argv", line(text))
	}
}

// TestS03Positionals checks that an argument is never taken for a flag.
func TestS03Positionals(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"-n": "dash\n", "--help": "help\n", "a": "x\n", "sub/-rf": "sub\n"}, nil)
	for _, text := range []string{"cat -Z", "cat a --output=x", "grep -x -Y a", "head -n -x a", "head -n --help a", "sort -k --output=x a", "sort -t -o a", "ls --color -Z", "cut -d -x a", "grep -e -O a"} {
		d.grantProgram(text)
		if v, err := d.Call("shell.run", "argv", line(text)); err == nil || value.KindOf(err) != value.Denied {
			t.Errorf("%s: %v, %v, want a denial", text, v, err)
		}
	}
	d.Grant("shell")
	for text, want := range map[string]string{
		"cat -- -n": "dash\n", "cat a -- --help": "x\nhelp\n", "cat ./-n": "dash\n", "head -1 -- --help -n": "==> --help <==\nhelp\n\n==> -n <==\ndash\n", "grep -e-f -- -n a": "", "cat sub/-rf": "sub\n", "sort a -r": "x\n",
	} {
		if got, stderr, _ := d.ran(line(text)); got != want {
			t.Errorf("%s: %q, %q, want %q", text, got, stderr, want)
		}
	}
}

// TestS05Metacharacters checks that no shell reads an argument.
func TestS05Metacharacters(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"a": "x"}, nil)
	texts := []string{
		"; touch x", "| touch x", "$(touch x)", "`touch x`", "a\ntouch x", "a && touch x", "a || touch x", "> x", "< /etc/passwd", "$HOME", "${IFS}x", "~", "~root", "*", "?", "[a]", "{a,b}", "'a'", `"a"`, `\`, "a\r\nb", "\t", "", " ", "!x", "#x", "%s", "\x1b[2J", "é日本", "&",
	}
	all, _, _ := d.ran(argvOf(append([]string{"printf", "%s|"}, texts...)...))
	if want := strings.Join(texts, "|") + "|"; all != want {
		t.Errorf("printf of all = %q, want %q", all, want)
	}
	for _, text := range testutil.Sample(texts, 6) {
		if got, _, _ := d.ran(argvOf("printf", "%s", text)); got != text {
			t.Errorf("printf %%s %q = %q, want it as it is", text, got)
		}
		if got, _, _ := d.ran(argvOf("echo", "x"+text)); got != "x"+text+"\n" && !strings.Contains(text, `\`) {
			t.Errorf("echo %q = %q, want it as it is", text, got)
		}
		_, _ = d.Call("shell.run", "argv", argvOf("cat", text))
		_, _ = d.Call("shell.run", "argv", argvOf("git", "log", text))
		_, _ = d.Call("shell.run", "argv", argvOf("grep", text, "a"))
	}
	if names, _ := os.ReadDir(d.Dir); len(names) != 1 {
		t.Errorf("there are %d files, want 1", len(names))
	}
}

// TestS06Environment checks that a command gets what is listed and nothing of
// the host's own environment.
func TestS06Environment(t *testing.T) {
	evil := t.TempDir()
	for _, name := range []string{"ls", "env", "git", "sh"} {
		rowtest.PutFile(t, evil, name, "#!/bin/sh\necho evil\n")
		if err := os.Chmod(filepath.Join(evil, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"PATH": evil + ":" + os.Getenv("PATH"), "LD_PRELOAD": "/nonexistent.so", "LD_LIBRARY_PATH": evil, "LD_AUDIT": "x", "GIT_DIR": evil, "GIT_EXTERNAL_DIFF": "touch x", "GIT_SSH_COMMAND": "x", "GIT_CONFIG_PARAMETERS": "'alias.x=y'",
		"GIT_PAGER": "touch x", "PAGER": "touch x", "EDITOR": "x", "BASH_ENV": evil + "/sh", "ENV": evil + "/sh", "IFS": "x", "HOME": evil, "SECRET_TOKEN": "t", "PYTHONPATH": evil, "PERL5OPT": "-Mx", "NODE_OPTIONS": "x", "GREP_OPTIONS": "-x", "LESSOPEN": "x", "GCONV_PATH": evil,
		"SSH_AUTH_SOCK": "/x", "GOMAXPROCS": "1",
	} {
		t.Setenv(name, value)
	}
	d := confined(t, map[string]string{"a": "x"}, nil)
	out, _, _ := d.ran(argvOf("sh", "-c", "env"))
	for l := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), "=")
		want, ok := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "TERM": "dumb", "PWD": d.commands.folder.Path(), "_": "/usr/bin/env", "SHLVL": value, "OLDPWD": ""}[name]
		if !ok || value != want {
			t.Errorf("a command gets %q", l)
		}
	}
	for _, argv := range []value.List{line("ls"), line("which ls"), line("git --version"), argvOf("sh", "-c", "ls")} {
		if out, stderr, _ := d.ran(argv); strings.Contains(out+stderr, "evil") || strings.Contains(out+stderr, evil) || strings.Contains(stderr, "preload") {
			t.Errorf("%v: %q, %q", argv, out, stderr)
		}
	}
	if out, _, _ := d.ran(argvOf("sh", "-c", "echo $0")); out != "sh\n" {
		t.Errorf("the name of sh is %q", out)
	}
	other := confined(t, nil, map[string]Rule{"tool": {Path: "/bin/sh", Any: true}})
	if out, _, _ := other.ran(argvOf("tool", "-c", "echo $0")); out != "/bin/sh\n" {
		t.Errorf("the name of a program that PATH does not find is %q, want its path", out)
	}
	with := confined(t, nil, map[string]Rule{"sh": {Env: map[string]string{"GOCACHE": "/x y"}}})
	if out, _, _ := with.ran(argvOf("sh", "-c", "echo $GOCACHE")); out != "/x y\n" {
		t.Errorf("the config's variable is %q, want /x y", out)
	}
}

// TestS08Shell checks the confinement where it is asked for: what a command
// line reaches beyond the project is refused to it.
func TestS08Shell(t *testing.T) {
	outside := t.TempDir()
	rowtest.PutFile(t, outside, "secret", "secret")
	d := confined(t, map[string]string{"a": "x", "sub/b": "y", ".git/config": "g", ".cassidy/tools/t.star": "t"}, map[string]Rule{"touch": {Any: true}})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(d.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "secret")
	attempts := []string{
		"cat " + secret, "cat link", "cat /etc/shadow", "echo x >" + secret, "echo x >/tmp/cassidy-test-x", "ls " + outside, "ls /root /home", "cat /proc/1/environ",
		"rm " + secret, "chmod 777 " + secret, "touch " + secret, "ln " + secret + " here", "cp " + secret + " .", "mv " + secret + " .", "exec 3<>/dev/tcp/127.0.0.1/80", "cat < link",
		"rm .git/config", "echo x >.git/config", "echo x >.cassidy/tools/t.star", "mv .git git", "mkdir .git/hooks", "echo x >.cassidy/new", "ln .git/config sub/config && echo x >sub/config",
	}
	if _, err := exec.LookPath("curl"); err == nil {
		attempts = append(attempts, "curl -s http://127.0.0.1:1/", "curl -s file://"+secret)
	}
	if _, err := exec.LookPath("python3"); err == nil {
		attempts = append(attempts, "/usr/bin/python3 -c 'import socket; socket.socket()'", fmt.Sprintf("/usr/bin/python3 -c 'import os; os.kill(%d, 0)'", os.Getpid()))
	}
	for _, needs := range [][]string{{"shell"}, {"shell:sh", "fs.write"}} {
		d.Grant(needs...)
		some := attempts
		if len(needs) == 1 { // then nothing can be written at all
			some = testutil.Sample(attempts, 8)
		}
		for _, l := range some {
			before := rowtest.Snapshot(t, outside)["secret"]
			out, stderr, exit := d.ran(argvOf("sh", "-c", l))
			if exit == 0 || strings.Contains(out, "secret") || stderr == "" && !strings.Contains(l, "curl") {
				t.Errorf("%v: %s: %q, %q, exit %d, want a refusal", needs, l, out, stderr, exit)
			}
			if after := rowtest.Snapshot(t, outside)["secret"]; after != before {
				t.Errorf("%s changed the file to %q", l, after)
			}
		}
	}
	for name, want := range map[string]string{".git/config": "g", ".cassidy/tools/t.star": "t", "a": "x"} {
		if text, err := os.ReadFile(filepath.Join(d.Dir, name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v, want %q", name, text, err, want)
		}
	}
}

// TestShellWrites checks which tools' commands may write, and where.
func TestShellWrites(t *testing.T) {
	t.Parallel()
	rules := map[string]Rule{"cp": {Any: true}, "touch": {Args: []string{"sub/new"}}}
	for _, tt := range []struct {
		needs  string
		argv   value.List
		writes bool
	}{
		{"shell", argvOf("sh", "-c", "echo new >sub/new"), false},
		{"shell fs.read fs.write:sub/**", argvOf("sh", "-c", "echo new >sub/new"), false},
		{"shell fs.write", argvOf("sh", "-c", "echo new >sub/new"), true},
		{"shell fs.write:**", argvOf("sh", "-c", "echo new >sub/new"), true},
		{"shell fs.write", line("cp a sub/new"), true},
		{"shell", line("cp a sub/new"), false},
		{"shell fs.write", line("touch sub/new"), true},
		{"shell fs.write", argvOf("sh", "-c", "echo new >sub/new"), true},
		{"shell fs.write", line("cp a new"), false}, // no new names at the top
	} {
		d := confined(t, map[string]string{"a": "x", "sub/b": "y"}, rules)
		d.Grant(strings.Fields(tt.needs)...)
		_, stderr, exit := d.ran(tt.argv)
		files := rowtest.Snapshot(t, d.Dir)
		_, at := files["sub/new"]
		if _, top := files["new"]; top || at != tt.writes || tt.writes != (exit == 0) {
			t.Errorf("%s: %v: exit %d, %q, wrote %v, want %v", tt.needs, tt.argv, exit, stderr, at, tt.writes)
		}
	}
	d := confined(t, map[string]string{"a": "x"}, map[string]Rule{"ls": {Args: []string{"a *", "-l **", "--"}}})
	for text, want := range map[string]bool{
		"ls a x": true, "ls -l": true, "ls -l a b -Z": true, "ls --": true, "ls": false, "ls a": false, "ls a x y": false, "ls a -x": false, "ls b x": false, "ls -- a": false, "ls -la": false,
	} {
		d.Grant("shell:ls")
		_, err := d.Call("shell.run", "argv", line(text))
		if allowed := err == nil; allowed != want || !allowed && value.KindOf(err) != value.Denied {
			t.Errorf("%s: %v, want allowed: %v", text, err, want)
		}
	}
}

// TestShellScratch checks that a command that may write has a folder of its own
// for a while, and one that may not has none.
func TestShellScratch(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"a": "x"}, nil)
	d.Grant("shell", "fs.write")
	out, stderr, exit := d.ran(argvOf("sh", "-c", `cd "$TMPDIR" && echo x >y && mkdir -m 0 z && pwd`))
	dir := strings.TrimSpace(out)
	if exit != 0 || !strings.HasPrefix(filepath.Base(dir), "cassidy-command-") {
		t.Fatalf("TMPDIR: %q, %q, exit %d", out, stderr, exit)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	left, err := os.MkdirTemp("/tmp", "cassidy-command-*.held") // as of a process that was killed
	if err != nil {
		t.Fatal(err)
	}
	d.ran(argvOf("sh", "-c", "exit"))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(left)
		t.Errorf("the folder of a killed process is still there: %v", err)
	}
	d.Grant("shell")
	if out, _, _ := d.ran(argvOf("sh", "-c", `echo "$TMPDIR"; echo x >/tmp/x || echo no`)); out != "\nno\n" {
		t.Errorf("without fs.write: %q, want no folder", out)
	}
}

// TestShellOutput checks what is kept and what is reported of a command's output.
func TestShellOutput(t *testing.T) {
	t.Parallel()
	d := confined(t, nil, nil)
	d.Grant("shell")
	out, stderr, exit := d.ran(argvOf("sh", "-c", `printf 'a\377b\303'; printf 'e\314' >&2`))
	if out != "a�b�" || stderr != "e�" || exit != 0 {
		t.Errorf("said %q and %q, exit %d, want what is no text replaced", out, stderr, exit)
	}
	for _, l := range []string{"yes", "yes >&2", "yes & yes >&2 & wait", "head -c 3000000 /dev/zero", "trap '' PIPE TERM; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"} {
		r := d.Must("shell.run", "argv", argvOf("sh", "-c", l)).(*value.Dict)
		code, _ := r.Get("exit_code")
		cut, _ := r.Get("truncated")
		if n := len(r.Text("stdout")) + len(r.Text("stderr")); n != 1<<20 || cut != true || code != int64(-1) {
			t.Errorf("%s: %d bytes, truncated %v, exit %v, want 1 MB, true, -1", l, n, cut, code)
		}
	}
	for l, want := range map[string]string{
		"yes":                               "killed: more than 1048576 bytes of output\nstdout:\ny\ny\n",
		"head -c 1048576 /dev/zero; exit 3": "exit code 3", // the output just fits
	} {
		if _, err := d.Call("shell.run", "argv", argvOf("sh", "-c", l), "check", true); value.KindOf(err) != value.Command || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: with check: %.200v, want an error with %q", l, err, want)
		}
	}
	r := d.Must("shell.run", "argv", argvOf("sh", "-c", "head -c 1048576 /dev/zero")).(*value.Dict)
	if cut, _ := r.Get("truncated"); cut != false || len(r.Text("stdout")) != 1<<20 {
		t.Errorf("exactly 1 MB: %d bytes, truncated %v", len(r.Text("stdout")), cut)
	}
}

func TestShellChunks(t *testing.T) {
	t.Parallel()
	var chunks []string
	captured := &output{limit: 100, emit: func(r tool.Report) { chunks = append(chunks, r.(tool.ToolOutput).Chunk) }}
	for _, piece := range []string{"a", "\xc3", "\xa9", "\xe6\x97", "\xa5x\xf0\x9f", "\xff", "b\xe6"} {
		if _, err := captured.stdout().Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = captured.stderr().Write([]byte("e"))
	captured.flush()
	got := strings.Join(chunks, "|")
	want := "a|é|日x|�|b|e|�"
	if got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if n, err := captured.stdout().Write([]byte(strings.Repeat("x", 200))); !errors.Is(err, errFull) || n >= 200 {
		t.Errorf("a write past the limit: %d, %v", n, err)
	}
}

// TestShellEmits checks that what a command writes is reported while it runs.
func TestShellEmits(t *testing.T) {
	t.Parallel()
	d := confined(t, nil, nil)
	told := make(chan string, 10)
	f := d.Func("shell.run")
	args, err := f.Bind(nil, value.NewDict("argv", argvOf("sh", "-c", "echo first; sleep 300"), "timeout", int64(300)))
	rowtest.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		told <- <-told // the first chunk ends it
		cancel()
	}()
	_, err = f.Do(ctx, tool.Effect{Func: "shell.run", Args: args}, tool.Grant{Check: d.Check, Emit: func(r tool.Report) { told <- r.(tool.ToolOutput).Chunk }})
	if value.KindOf(err) != value.Canceled {
		t.Errorf("%v, want canceled at once", err)
	}
	if got := <-told; got != "first\n" {
		t.Errorf("told %q, want first", got)
	}
}

func TestS07ShellEnds(t *testing.T) {
	t.Parallel()
	d := confined(t, nil, nil)
	d.Fails(value.Timeout, "took longer than 500ms; output:\nstdout:\nso far", "shell.run", "argv", argvOf("sh", "-c", "echo so far; setsid sleep 60 & sleep 60"), "timeout", 0.5)
	d.Fails(value.Command, "signal 11", "shell.run", "argv", argvOf("sh", "-c", "echo oh >&2; kill -SEGV $$"))
	most := testutil.Times(16, maxProcesses)
	few := projectAt(t, d.Dir, &Options{Launch: func(ctx context.Context, p *tool.Process) (int, error) {
		if p.Processes != maxProcesses {
			t.Errorf("a command may have %d processes, want %d", p.Processes, maxProcesses)
		}
		less := *p
		less.Processes = most
		return launch.Run(ctx, &less)
	}}, "shell")
	few.Fails(value.Limit, fmt.Sprintf("%d processes", most), "shell.run", "argv", argvOf("sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 60 & i=$((i+1)); done; wait", testutil.Times(48, 300))))
	d.Fails(value.Invalid, "timeout", "shell.run", "argv", line("true"), "timeout", int64(0))
	d.Fails(value.Invalid, "timeout", "shell.run", "argv", line("true"), "timeout", int64(601))
}

func TestShellRefusals(t *testing.T) {
	t.Parallel()
	d := projectAt(t, t.TempDir(), nil, "shell")
	d.Fails(value.Unavailable, "the sandbox does not work on this machine", "shell.run", "argv", line("ls"))
	d = confined(t, map[string]string{"a": "x", "tool": "#!/bin/sh\n"}, map[string]Rule{"none": {Any: true}, "gone": {Path: "/opt/no/such/program", Any: true}})
	if err := os.Chmod(filepath.Join(d.Dir, "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.commands.rules.Load().rules["mine"] = Rule{Path: filepath.Join(d.Dir, "tool"), Any: true}
	d.Fails(value.Unavailable, "program none not found", "shell.run", "argv", line("none"))
	d.Fails(value.Unavailable, "program gone not found", "shell.run", "argv", line("gone"))
	d.Fails(value.Security, "inside the project", "shell.run", "argv", line("mine"))
	d.Fails(value.Security, "leads out", "shell.run", "argv", line("ls"), "cwd", "..")
	d.Fails(value.Security, "leads out", "shell.run", "argv", line("ls"), "cwd", "/")
	d.Fails(value.Failed, "does not exist", "shell.run", "argv", line("ls"), "cwd", "a")
	d.Fails(value.Failed, "does not exist", "shell.run", "argv", line("ls"), "cwd", "none")
	if err := os.Symlink("/", filepath.Join(d.Dir, "out")); err != nil {
		t.Fatal(err)
	}
	d.Fails(value.Failed, "does not exist", "shell.run", "argv", line("ls"), "cwd", "out")
	for _, text := range []string{"cat ../x", "cat /etc/passwd", "cat a ../../etc/shadow", "ls /", "grep -f ../x y", "grep --file=/etc/passwd y", "date -r /etc/passwd", "head -n1 ../x", "stat /root", "cat sub/../../x"} {
		d.Fails(value.Security, "leads out", "shell.run", "argv", line(text))
	}
	d.Grant("shell:git", "shell:ls")
	d.Fails(value.Denied, "shell:cat is not granted", "shell.run", "argv", line("cat a"))
	d.Fails(value.Denied, "shell:sh is not granted", "shell.run", "argv", argvOf("sh", "-c", "ls"))
	if out, _, _ := d.ran(line("ls a")); out != "a\n" {
		t.Errorf("ls a = %q", out)
	}
}

// TestPsSeesNoSecrets checks that the one command that may read /proc reads no
// environment there.
func TestPsSeesNoSecrets(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NO /proc HERE")
	}
	have(t, "ps")
	d := confined(t, nil, nil)
	sleeper := exec.Command("sleep", "61.5")
	sleeper.Env = []string{"SECRET_OF_MINE=hush"}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	for _, text := range []string{"ps -ef", "ps aux", "ps eaux", "ps auxeww", "ps -eo pid,args", "ps eww", "ps -ewwo pid,environ", "ps axe"} {
		v, err := d.Call("shell.run", "argv", line(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		all := value.FormatJSON(v, "")
		if strings.Contains(all, "hush") || strings.Contains(text, "-ef") && !strings.Contains(all, "sleep 61.5") {
			t.Errorf("%s shows %s", text, all)
		}
	}
	if out, _, _ := d.ran(argvOf("sh", "-c", "cat /proc/[0-9]*/cmdline | wc -c")); strings.TrimSpace(out) != "0" {
		t.Errorf("another command reads %s bytes of command lines", out)
	}
}

// TestS08NestedNames checks that what decides what runs next is kept from
// commands however deep it lies, and that what they make of it does not stay.
func TestS08NestedNames(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"sub/dep/.git/config": "g", "sub/dep/code": "x", "sub/other/code": "x", "vendor/.cassidy/tools/t.star": "t"}, nil)
	d.Grant("shell:sh", "fs.write")
	for _, l := range []string{"echo evil >sub/dep/.git/config", "echo evil >vendor/.cassidy/tools/t.star", "mv sub/dep sub/gone", "rm -r vendor/.cassidy", "mkdir sub/dep/.git/hooks"} {
		if out, stderr, exit := d.ran(argvOf("sh", "-c", l)); exit == 0 || stderr == "" {
			t.Errorf("%s: %q, %q, exit %d, want a refusal", l, out, stderr, exit)
		}
	}
	if _, stderr, exit := d.ran(argvOf("sh", "-c", "echo new >sub/dep/code && echo new >sub/other/code && mkdir sub/other/more")); exit != 0 {
		t.Errorf("writing what is not protected: %q, exit %d, want 0", stderr, exit)
	}
	for _, l := range []string{"mkdir -p sub/other/evil/.git && echo x >sub/other/evil/.git/config", "echo gitdir: /tmp/x >sub/other/.git", "mkdir sub/other/.CASSIDY"} {
		d.Fails(value.Security, "it was removed", "shell.run", "argv", argvOf("sh", "-c", l))
	}
	got := rowtest.Snapshot(t, d.Dir)
	for name, text := range got {
		folded := strings.ToLower(name)
		if strings.HasPrefix(folded, "sub/other/") && (strings.Contains(folded, ".git") || strings.Contains(folded, ".cassidy")) {
			t.Errorf("%s is there still: %q", name, text)
		}
	}
	for name, want := range map[string]string{"sub/dep/.git/config": "g", "vendor/.cassidy/tools/t.star": "t", "sub/dep/code": "new\n"} {
		if !strings.HasSuffix(got[name], " "+want) {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
}

// TestRulesBindCommands checks that a command is refused where a rule keeps some
// files from the tool, and writes nothing where one keeps it from writing some.
func TestRulesBindCommands(t *testing.T) {
	t.Parallel()
	d := confined(t, map[string]string{"sub/a": "x"}, nil)
	d.Grant("shell:sh", "shell:cat", "fs.write")
	run := func(narrowed string, argv value.List) error {
		f := d.Func("shell.run")
		args, err := f.Bind(nil, value.NewDict("argv", argv))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Do(context.Background(), tool.Effect{Func: "shell.run", Args: args}, tool.Grant{Check: d.Check, Stage: d.Stage,
			Narrowed: func(name string) string {
				if name == narrowed {
					return "deny " + name + ":sub/**"
				}
				return ""
			}})
		return err
	}
	if err := run("fs.read", line("cat sub/a")); err == nil || value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "deny fs.read:sub/**") {
		t.Errorf("reading, which a rule narrows: %v, want it denied by the rule", err)
	}
	if err := run("fs.write", argvOf("sh", "-c", "echo y >sub/a")); err != nil {
		t.Fatal(err)
	}
	if got := rowtest.GetFile(t, d.Dir, "sub/a"); got != "x" {
		t.Errorf("where a rule narrows writing a command wrote %q", got)
	}
	if err := run("", argvOf("sh", "-c", "echo y >sub/a")); err != nil || rowtest.GetFile(t, d.Dir, "sub/a") != "y\n" {
		t.Errorf("without a rule: %v, and %q, want it written", err, rowtest.GetFile(t, d.Dir, "sub/a"))
	}
}
