package shell

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// TestSchemasAreComplete checks the table itself: every kind is known, and no
// flag is there that is known to write, start or reach.
func TestSchemasAreComplete(t *testing.T) {
	t.Parallel()
	all := map[string]commandSchema{}
	for name, s := range commandTable() {
		all[name] = s
	}
	for name, s := range gitTable() {
		all["git "+name] = s
	}
	for name, s := range all {
		flags, _ := s.read()
		for flag, f := range flags {
			if _, known := argumentKinds[f.kind]; f.kind != "" && !known && f.kind != "path" && f.kind != "ref" {
				t.Errorf("%s %s: there is no kind %q", name, flag, f.kind)
			}
			if slices.Contains(forbiddenFlags(name), flag) {
				t.Errorf("%s: %s is in the table", name, flag)
			}
		}
		kinds := strings.Fields(s.args)
		for i, kind := range kinds {
			bare := strings.Trim(kind, "*?")
			if _, known := argumentKinds[bare]; !known && !strings.HasPrefix(bare, "=") {
				t.Errorf("%s: there is no kind %q", name, kind)
			}
			if strings.HasSuffix(kind, "*") && i < len(kinds)-1 {
				t.Errorf("%s: %s is not the last", name, kind)
			}
		}
	}
}

// forbiddenFlags lists flags of a program that must never be in the table: the
// test's own knowledge, taken from the programs' manuals.
func forbiddenFlags(name string) []string {
	own := forbiddenBy(name)
	if strings.HasPrefix(name, "git ") {
		return append(own, []string{
			"-O", "--output", "--open-files-in-pager", "--ext-diff", "--textconv", "--show-signature", "--recurse-submodules", "--submodule", "--exec", "--upload-pack", "--filters",
			"--batch", "--batch-command", "--stdin", "--paginate", "--work-tree", "--exec-path", "--config-env", "--pathspec-from-file", "--contents", "--edit", "--delete", "--move", "--force", "--sign", "--expire",
		}...)
	}
	return own
}

func forbiddenBy(name string) []string {
	return map[string][]string{
		"git branch": {"-d", "-D", "-m", "-M", "-c", "-C", "-f", "-u"}, "git tag": {"-d", "-a", "-s", "-u", "-m", "-F", "-v", "-f"}, "git grep": {"-O", "-f", "--no-index"}, "git diff": {"--no-index"}, "git status": {"-v"},
		"sort": {"-o", "--output", "-T", "--temporary-directory", "--compress-program", "--files0-from", "-S", "--buffer-size", "--random-source", "--parallel", "--batch-size"},
		"date": {"-s", "--set", "-f", "--file", "--debug"}, "file": {"-C", "-f", "-m", "-M", "-z", "-Z", "-s", "-p", "--compile", "--files-from", "--magic-file", "--uncompress"},
		"wc": {"--files0-from"}, "du": {"--files0-from", "-X", "--exclude-from"}, "diff": {"-l", "--paginate", "--to-file", "--from-file", "-S", "-X", "--exclude-from"},
		"tail": {"-f", "-F", "--follow", "--pid", "--retry"}, "grep": {"--binary-output"}, "ls": {"-Z"}, "cat": {"-o"},
	}[name]
}

// FuzzArgv gives command lines to the table. Whatever it accepts contains no
// flag outside of it, in whatever order, short form or joined; the arguments stay
// as they are, in their order; no argument that is to be a path leads out of the project.
func FuzzArgv(f *testing.F) {
	for _, seed := range []string{
		"ls -la --color=auto sub", "sort -k 2 -t , -rn a", "sort -ro x a", "sort --o=x a", "grep -rnA2 -e-x -- -f", "grep -f../x a", "head -n-5 -- a", "head -5 a", "tail -n +2 a",
		"git log -p -n5 --format=%H main..dev -- a", "git log --output=x", "git diff --stat -- ../x", "git grep -nOx y", "git grep -e x --or -e y", "git branch -D x", "git branch --show-current", "git -c a=b log", "git log -S--output=x",
		"git blame -L 1,2 -- a", "git shortlog -sn", "git tag -n5", "git stash list", "git stash pop", "date -I -u +%F", "date -s x", "cut -d, -f1 a", "cut -d -f1 a", "stat -c%n a", "ps -eo pid,args", "ps aux", "du -d1 -h .",
		"file -- -x", "cat -- -- -x", "cat a -", "ls -w80 -I*.o", "diff -U3 -x*.o a b", "diff --color a b", "tr -d a-z", "seq 1 2 3 4", "sleep 1", "uname -a", "wc -lwc a", "ls --time-style=+%F", "git log -1 --pretty --oneline", "git log -L:f:a", "ls -\xff", "ls -é", "ls --", "git", "git --", "git log -- --output=x",
	} {
		f.Add(seed)
	}
	files, err := fs.Open(&fs.Options{Root: f.TempDir()})
	rowtest.NoError(f, err)
	f.Cleanup(func() { files.Close() })
	commands, err := New(files.Folder, nil)
	rowtest.NoError(f, err)
	check := commands.checker("sub")
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, " ")
		name, args := argv[0], argv[1:]
		got, err := matchCommand(name, args, check)
		if err != nil {
			if value.ErrorOf(err, value.Internal).Kind == value.Internal {
				t.Errorf("%q: %v", argv, err)
			}
			return
		}
		schema, isGit := commandTable()[name], name == "git"
		if isGit {
			sub := strings.TrimPrefix(got[0], "--") // --version
			name, schema = "git "+sub, gitTable()[sub]
			got, args = got[1:], args[1:]
		}
		if schema.free {
			return
		}
		judgeArgv(t, name, schema, args, got)
	})
}

// judgeArgv looks at accepted arguments with eyes of its own: it knows the
// table as text alone.
func judgeArgv(t *testing.T, name string, schema commandSchema, args, got []string) {
	t.Helper()
	if own := withoutGuards(schema, got); !slices.Equal(own, args) {
		t.Errorf("%s %q becomes %q", name, args, got)
	}
	number := regexp.MustCompile(`^-[0-9]+$`)
	words := " " + schema.flags + " "
	has := func(flag string) bool {
		return strings.Contains(words, " "+flag+" ") || strings.Contains(words, " "+flag+"=") || strings.Contains(words, " "+flag+"?=")
	}
	for _, a := range got {
		if a == "--" {
			break
		}
		switch {
		case !strings.HasPrefix(a, "-") || slices.Contains(schema.guards, a):
			if strings.HasPrefix(a, "/") && a != "/dev/null" && strings.Trim(schema.args, "path *") == "" && !strings.Contains(words, "=t") && !strings.Contains(words, "=w") {
				t.Errorf("%s: %q leads out", name, a)
			}
		case number.MatchString(a): // a number of its own, or a negative value
		case strings.HasPrefix(a, "--"):
			long, _, _ := strings.Cut(a, "=")
			if !has(long) || slices.Contains(forbiddenFlags(name), long) {
				t.Errorf("%s accepts %q", name, a)
			}
		default:
			judgeShort(t, name, words, a, has)
		}
	}
}

// withoutGuards returns arguments without what a schema may add to them.
func withoutGuards(schema commandSchema, args []string) []string {
	args = args[len(schema.guards):]
	if i := slices.Index(args, schema.noInput); schema.noInput != "" && i >= 0 {
		return slices.Delete(slices.Clone(args), i, i+1)
	}
	return args
}

// TestArgumentsAreUnchanged checks that a command of the table gets exactly the arguments of the
// caller, or is not one that only reads.
func TestArgumentsAreUnchanged(t *testing.T) {
	t.Parallel()
	check := projectAt(t, t.TempDir(), &Options{}).commands.checker(".")
	for line, want := range map[string]string{
		"git branch":                           "branch",
		"git branch -vv --sort=-committerdate": "branch -vv --sort=-committerdate",
		"git branch -a --list m* t*":           "branch -a --list m* t*",
		"git branch t* --list":                 "branch t* --list",
		"git branch --contains HEAD":           "branch --contains HEAD",
		"git branch --merged main":             "branch --merged main",
		"git branch --show-current":            "branch --show-current",
		"git tag":                              "tag",
		"git tag -l v1*":                       "tag -l v1*",
		"git tag -n5 v1*":                      "tag -n5 v1*",
		"git tag --points-at HEAD":             "tag --points-at HEAD",
		"git --version":                        "--version",
		"git rev-list HEAD --not v1":           "rev-list HEAD --not v1",
		"git rev-parse HEAD --abbrev-ref HEAD": "rev-parse HEAD --abbrev-ref HEAD",
		"git log main --not --all":             "log --no-ext-diff --no-textconv main --not --all",
		"git diff a --stat -- b":               "diff --no-ext-diff --no-textconv --ignore-submodules=dirty a --stat -- b",
		"git reflog show HEAD":                 "reflog show HEAD",
		"git shortlog -sn":                     "shortlog -sn HEAD",
		"git shortlog -sn -- a":                "shortlog -sn HEAD -- a",
		"git shortlog --branches=topic":        "shortlog --branches=topic",
		"git shortlog v1":                      "shortlog v1",
		"cat a -n":                             "a -n",
		"grep x a -e y -n":                     "x a -e y -n",
		"cat -n -- -x a":                       "-n -- -x a",
		"tr a -d":                              "a -d",
		"basename a -s .x":                     "a -s .x",
		"ps aux":                               "aux",
		"grep --include=/../../x y a":          "--include=/../../x y a",
		"sort -k2 a -r":                        "-k2 a -r",
		// Not by the table: these create, or reach what they do not show.
		"git branch topic":                "",
		"git branch topic main":           "",
		"git branch -q topic":             "",
		"git branch -v topic":             "",
		"git branch -a topic":             "",
		"git branch --sort=refname topic": "",
		"git branch --show-current topic": "",
		"git branch --color topic":        "",
		"git tag v1":                      "",
		"git tag v1 HEAD":                 "",
		"git tag -i v1":                   "",
		"git tag --sort refname v1":       "",
		"git reflog delete HEAD@{1}":      "",
		"git reflog -n 3 expire":          "",
		"git reflog expire":               "",
		"git stash":                       "",
		"git remote origin":               "",
		"grep y a --include=/../../x":     "",
		"grep y a -e /etc/passwd":         "",
	} {
		argv := strings.Split(line, " ")
		got, err := matchCommand(argv[0], argv[1:], check)
		if want == "" {
			if value.KindOf(err) != value.Denied {
				t.Errorf("%s: %q, %v, want a denial", line, got, err)
			}
		} else if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
}

// judgeShort looks at joined short flags, up to the first that takes a value.
func judgeShort(t *testing.T, name, words, a string, has func(string) bool) {
	t.Helper()
	for _, letter := range a[1:] {
		flag := "-" + string(letter)
		if slices.Contains(forbiddenFlags(name), flag) {
			t.Errorf("%s accepts %s in %q", name, flag, a)
			return
		}
		if strings.Contains(words, " "+flag+"=") || strings.Contains(words, " "+flag+"?=") {
			return
		}
		cluster := false
		for word := range strings.FieldsSeq(words) {
			cluster = cluster || !strings.HasPrefix(word, "--") && !strings.Contains(word, "=") && strings.ContainsRune(word[1:], letter)
		}
		if !cluster && !has(flag) {
			t.Errorf("%s accepts %s in %q", name, flag, a)
			return
		}
	}
}

func TestParseCommands(t *testing.T) {
	t.Parallel()
	parse := func(text string) (map[string]Rule, error) {
		v, err := yaml.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return ParseRules(v)
	}
	got, err := parse("make: {exec: any}\nmytool: {path: /opt/bin/mytool, exec: any, network: true}\ngo:\n  args: [vet ./..., test **]\n  env: {A: b}\n  read: [/x]\n  write: [/y/z]\ngit: {path: /opt/git}\nsh: {network: true}\n")
	rowtest.NoError(t, err)
	if r := got["make"]; !r.Any || r.Network || len(got) != 5 {
		t.Errorf("make is %+v of %d", r, len(got))
	}
	if r := got["mytool"]; r.Path != "/opt/bin/mytool" || !r.Any || !r.Network {
		t.Errorf("mytool is %+v", r)
	}
	if r := got["go"]; r.Any || strings.Join(r.Args, "|") != "vet ./...|test **" || r.Env["A"] != "b" || r.Read[0] != "/x" || r.Write[0] != "/y/z" {
		t.Errorf("go is %+v", r)
	}
	if none, err := ParseRules(nil); none != nil || err != nil {
		t.Errorf("nothing is %v, %v", none, err)
	}
	for text, says := range map[string]string{
		"[make]":                         "'commands' should be an object with a rule for each command but got array",
		"make":                           "'commands' should be an object with a rule for each command",
		"make: any":                      "make: expected an object with exec or args but got string",
		"make: {}":                       "make: the rule has neither exec nor args",
		"make: {path: /usr/bin/make}":    "make: the rule has neither exec nor args",
		"make: {exec: all}":              `make: exec should be "any" but got "all"`,
		"make: {exec: true}":             `make: exec should be "any" but got true`,
		"make: {exek: any}":              `make: unknown field "exek"`,
		"make: {exec: any, path: make}":  `make: path should be an absolute path but got "make"`,
		"make: {args: test}":             "make: args: expected a list",
		"make: {args: [1]}":              "make: args: expected a list of strings, but an item is 1",
		"make: {exec: any, read: [x]}":   `make: read: "x" is not an absolute path`,
		"make: {exec: any, env: [A=1]}":  `make: env: expected an object with environment variables, as in {GOFLAGS: "-race"}, but got array`,
		"make: {exec: any, env: {A: 1}}": `make: env: the variable "A" should be a string in quotes but got 1`,
		"make: {exec: any, network: 1}":  "make: network should be true or false",
		"/usr/bin/make: {exec: any}":     `invalid name "/usr/bin/make": expected the name of a command without a path`,
		"a b: {exec: any}":               `invalid name "a b": expected the name of a command`,
	} {
		_, err := parse(text)
		rowtest.Wrong(t, err, value.Invalid, says, text)
	}
}

func TestMissingArgument(t *testing.T) {
	t.Parallel()
	m := &commandMatch{name: "git cat-file", schema: commandSchema{args: "ref ref?"}}
	err := value.ErrorOf(m.positionals(), value.Internal)
	if err.Error() != "git cat-file: missing argument: ref" || err.Hint != "usage: git cat-file REF [REF]" {
		t.Errorf("got %v, hint %q", err, err.Hint)
	}
	m = &commandMatch{name: "grep", schema: commandSchema{args: "text path*"}}
	if err := value.ErrorOf(m.positionals(), value.Internal); err.Hint != "usage: grep TEXT [PATH…]" {
		t.Errorf("got hint %q", err.Hint)
	}
}
