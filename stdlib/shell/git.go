package shell

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// gitPrefix goes before git's subcommand, whatever it is: no program that the
// repository names, no hook, no network, no pager, and no lock that would need
// to write.
func gitPrefix() []string {
	return []string{
		"-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=", "-c", "protocol.allow=never",
		"-c", "safe.directory=*", "-c", "safe.bareRepository=explicit",
		"--no-pager", "--no-optional-locks",
	}
}

// gitSettings are further settings that a repository cannot override: what
// could start a program while git only reads.
func gitSettings() map[string]string {
	const none = "/nonexistent"
	return map[string]string{
		gitProbe:                    "1",
		"core.pager":                "cat",
		"core.editor":               "false",
		"core.askpass":              "",
		"core.sshcommand":           none,
		"core.gitproxy":             none,
		"core.alternaterefscommand": "",
		"log.showsignature":         "false",
		"gpg.program":               none,
		"gpg.openpgp.program":       none,
		"gpg.x509.program":          none,
		"gpg.ssh.program":           none,
		"credential.helper":         "",
		"diff.ignoresubmodules":     "dirty",
		"diff.submodule":            "short",
		"status.submodulesummary":   "false",
		"submodule.recurse":         "false",
		"maintenance.auto":          "false",
		"gc.auto":                   "0",
	}
}

// gitProbe is a setting that git does not know. Where git lists it, it has read
// the settings that it was given by its environment, which versions before 2.31
// do not.
const gitProbe = "cassidy.probe"

// gitDangers are the settings of a repository that name programs, with what is
// put in their place. The names of filters, drivers and hooks are the
// repository's own, so they are read first, by [Commands.tameGit].
var gitDangers = []struct {
	key   func() *regexp.Regexp
	value string
}{
	{compiled(`^filter\..*\.required$`), "false"},
	{compiled(`^hook\..*\.enabled$`), "false"},
	{compiled(`^protocol\..*\.allow$`), "never"},
	{compiled(`^pager\.`), "false"},
	{compiled(`^submodule\..*\.update$`), "none"},
	{compiled(`^remote\..*\.promisor$`), "false"},
	{compiled(`^gpg\..*(program|command)$`), "/nonexistent"},
	{compiled(`^remote\..*\.(uploadpack|receivepack)$`), "/nonexistent"},
	// Whatever else sounds like a program, in this version of git or a later one.
	{compiled(`\.[a-z]*(clean|smudge|process|textconv|command|cmd|driver|program|helper|hook|editor|proxy|vcs|daemon|exec|script)$`), ""},
}

// gitEnv is the environment of git, beside that of every command.
func gitEnv(settings map[string]string, ceiling string) []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1",
		"GIT_CEILING_DIRECTORIES=" + ceiling,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)),
	}
	for i, key := range sortedKeys(settings) {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, settings[key]))
	}
	return env
}

// gitSettingsMost bounds the settings that are overridden: an honest
// repository has a handful.
const gitSettingsMost = 500

// tameGit completes the plan of a git command so that the repository it looks
// at cannot have it start anything: it lists the repository's settings, which
// starts nothing, and overrides those that name programs.
func (c *Commands) tameGit(ctx context.Context, plan *plan) error {
	settings := gitSettings()
	ceiling := filepath.Dir(c.folder.Path())
	captured := &output{ctx: ctx, limit: maxOutput}
	look := *plan
	look.args = append(gitPrefix(), "config", "--list", "-z", "--name-only", "--includes")
	look.env = append(environment(plan.rule.Env), gitEnv(settings, ceiling)...)
	look.timeout = min(plan.timeout, 10*time.Second)
	look.rule.Write = nil
	r, err := c.reach(&look, tool.Grant{})
	if err != nil {
		return err
	}
	defer r.close()
	r.Stdout, r.Stderr = captured.stdout(), captured.stderr()
	exit, err := c.launch(ctx, &r.Process)
	if err = captured.failure("git config", err); err != nil {
		return err
	}
	keys := bytes.Split(captured.streams[0].text, []byte{0})
	switch {
	case captured.full:
		return value.Errorf(value.Failed, "read the settings of the git repository: they are too long").WithHint("remove some settings; to list them, run git config --list --local")
	case exit != 0:
		return value.Errorf(value.Failed, "read the settings of the git repository: git config ended with exit code %d%s", exit, captured.shown())
	case !bytes.Contains(captured.streams[0].text, []byte(gitProbe+"\x00")):
		return value.Errorf(value.Unavailable, "git is too old for the sandbox: it runs programs from the settings of a repository").WithHint("install git 2.31 or later")
	}
	for _, key := range keys {
		if value, dangerous := gitDanger(string(key)); dangerous {
			settings[string(key)] = value
		}
	}
	if len(settings) > gitSettingsMost {
		return value.Errorf(value.Denied, "the settings of the git repository contain more than %d programs", gitSettingsMost).WithHint("remove some settings; to list them, run git config --list --local")
	}
	plan.args = append(gitPrefix(), plan.args...)
	plan.env = append(environment(plan.rule.Env), gitEnv(settings, ceiling)...)
	return nil
}

// gitDanger returns what to put in the place of a setting, if it may name a
// program. Those of gitSettings are overridden already.
func gitDanger(key string) (value string, dangerous bool) {
	if _, ok := gitSettings()[key]; ok {
		return "", false
	}
	for _, d := range gitDangers {
		// Section and variable come in small letters; what stands between them
		// may be anything, a line break included.
		if d.key().MatchString(strings.ReplaceAll(key, "\n", " ")) {
			return d.value, true
		}
	}
	return "", false
}

// gitMatch checks a git command line: a subcommand that only reads, and its
// flags. It returns the line with the guards of the subcommand.
func gitMatch(args []string, check checkFunc) ([]string, error) {
	if len(args) == 0 {
		return nil, value.Errorf(value.Invalid, "git: the subcommand is missing").WithHint("add a subcommand, as in git status")
	}
	sub := args[0]
	if sub == "--version" {
		sub = "version"
	}
	schema, ok := gitTable()[sub]
	if !ok {
		what := "git " + sub
		if strings.HasPrefix(sub, "-") {
			what = "git with " + sub + " before its subcommand"
		}
		return nil, value.Errorf(value.Denied, "%s is not a read-only command", what)
	}
	rest, err := schema.gitMatch("git "+sub, args[1:], check)
	if err != nil {
		return nil, err
	}
	return append([]string{args[0]}, rest...), nil
}

// gitMatch is match for git's subcommands, for which -- stands between commits
// and paths.
func (s commandSchema) gitMatch(name string, args []string, check checkFunc) ([]string, error) {
	before, after := args, []string(nil)
	for i, arg := range args {
		if arg == "--" {
			before, after = args[:i], args[i:]
			break
		}
	}
	if len(after) > 1 && !strings.Contains(s.args, "path") && !strings.Contains(s.args, "ref*") {
		return nil, value.Errorf(value.Denied, "%s does not accept paths", name)
	}
	for _, p := range after[min(1, len(after)):] {
		if err := check("path", strings.TrimPrefix(p, ":/")); err != nil {
			return nil, err
		}
	}
	s.bare = true
	m, err := s.match(name, before, check)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(s.guards, before)
	if s.noInput != "" && len(m.others) == 0 && !m.has(s.withInput) {
		all = append(all, s.noInput)
	}
	return append(all, after...), nil
}

// The flags that git's subcommands share.
const (
	gitDiffFlags = " -# -abBCDMRpPsuwz -U=int -G=text -S=text -X?=word -l=int --patch --no-patch --unified=int --raw --stat?=word --numstat --shortstat --dirstat?=word " +
		"--summary --name-only --name-status --compact-summary --patch-with-stat --patch-with-raw --minimal --patience --histogram --anchored=text --diff-algorithm=word " +
		"--color?=word --no-color --word-diff?=word --word-diff-regex=text --color-words?=text --color-moved?=word --no-renames --find-renames?=word --find-copies?=word " +
		"--find-copies-harder --break-rewrites?=word --irreversible-delete --diff-filter=word --pickaxe-all --pickaxe-regex --relative?=path --no-relative --text --ignore-cr-at-eol " +
		"--ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=text --inter-hunk-context=int --function-context " +
		"--full-index --binary --abbrev?=int --src-prefix=text --dst-prefix=text --no-prefix --check --exit-code --quiet"
	gitRevFlags = " -n=int -i --max-count=int --skip=int --since=text --after=text --until=text --before=text --author=text --committer=text --grep=text --all-match --invert-grep " +
		"--regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --min-parents=int --max-parents=int --first-parent --not --all " +
		"--branches?=text --tags?=text --remotes?=text --glob=text --exclude=text --left-right --cherry-pick --cherry-mark --cherry --boundary --simplify-by-decoration --dense --sparse " +
		"--simplify-merges --full-history --ancestry-path?=ref --date-order --author-date-order --topo-order --reverse --no-walk?=word --parents --children"
	gitLogFlags = " -L=text -c -m --cc --pretty?=format --format=format --oneline --abbrev-commit --no-abbrev-commit --graph --decorate?=word --no-decorate --decorate-refs=text " +
		"--decorate-refs-exclude=text --source --follow --date=text --relative-date --encoding=word --expand-tabs?=int --no-expand-tabs --notes?=ref --no-notes --log-size " +
		"--full-diff --walk-reflogs -g --grep-reflog=text --remove-empty --use-mailmap --no-mailmap --combined-all-paths --diff-merges=word --no-diff-merges --show-linear-break?=text"
	gitRefFlags  = " --sort=word --format=format --contains?=ref --no-contains?=ref --merged?=ref --no-merged?=ref --points-at=ref --color?=word --no-color --ignore-case -i --column?=word --no-column"
	gitListFlags = "-l --list --contains --no-contains --merged --no-merged --points-at"
)

// gitQuiet keeps a subcommand that shows differences from starting what the
// repository's attributes name.
func gitQuiet() []string { return []string{"--no-ext-diff", "--no-textconv"} }

// gitTable is what git may do: the subcommands that only read, with the flags
// that start no program (-O, --ext-diff, --textconv, --show-signature), write no
// file (--output) and reach no other repository (--no-index, --recurse-submodules).
var gitTable = sync.OnceValue(func() map[string]commandSchema {
	return map[string]commandSchema{
		"blame": {flags: "-bcefhlMnpstwC -L=text -S=path --root --show-stats --porcelain --line-porcelain --incremental --show-name --show-number --show-email --date=text " +
			"--since=text --abbrev?=int --color-by-age --color-lines --ignore-rev=ref --ignore-revs-file=path --first-parent --reverse", args: "ref*", guards: []string{"--no-textconv"}},
		"branch":        {flags: "-alrvq --list --all --remotes --verbose --show-current --abbrev?=int --no-abbrev" + gitRefFlags, args: "text*", lists: gitListFlags},
		"cat-file":      {flags: "-epst", args: "ref ref?"},
		"check-ignore":  {flags: "-qvnz --quiet --verbose --non-matching --no-index", args: "path*"},
		"count-objects": {flags: "-vH --verbose --human-readable"},
		"describe":      {flags: "--dirty?=text --all --tags --contains --abbrev?=int --candidates=int --exact-match --long --match=text --exclude=text --always --first-parent", args: "ref*"},
		"diff":          {flags: "--cached --staged --merge-base --base --ours --theirs" + gitDiffFlags, args: "ref*", guards: append(gitQuiet(), "--ignore-submodules=dirty")},
		"for-each-ref":  {flags: "--count=int --shell --python --tcl" + gitRefFlags, args: "text*"},
		"grep": {flags: "-aIivwhHEGPFnlLzocpWq -A=int -B=int -C=int -m=int -e=text -# --cached --untracked --exclude-standard --no-exclude-standard --text --ignore-case --invert-match --word-regexp --full-name " +
			"--extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count " +
			"--color?=word --no-color --break --heading --show-function --context=int --after-context=int --before-context=int --function-context --max-depth=int --max-count=int --threads=int " +
			"--and --or --not --all-match --quiet", args: "text ref*", instead: "-e", guards: []string{"--no-textconv", "--no-recurse-submodules"}},
		"log":        {flags: gitLogFlags + gitRevFlags + gitDiffFlags, args: "ref*", guards: gitQuiet()},
		"ls-files":   {flags: "-cdmoiskutvfz -x=text --cached --deleted --modified --others --ignored --stage --directory --no-empty-directory --unmerged --killed --resolve-undo --eol --deduplicate --exclude=text --exclude-standard --error-unmatch --full-name --abbrev?=int --debug --sparse --format=format", args: "path*"},
		"ls-tree":    {flags: "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev?=int --format=format", args: "ref path*"},
		"merge-base": {flags: "-a --all --octopus --independent --is-ancestor --fork-point", args: "ref ref*"},
		"name-rev":   {flags: "--tags --refs=text --exclude=text --name-only --no-undefined --always", args: "ref ref*"},
		"reflog":     {flags: "-n=int --max-count=int --date=text --format=format --oneline --all", args: "reflog*"},
		"remote":     {flags: "-v --verbose"},
		"rev-list":   {flags: "--count --objects --header --timestamp --pretty?=format --format=format --oneline --abbrev-commit" + gitRevFlags, args: "ref*"},
		"rev-parse": {flags: "--abbrev-ref?=word --short?=int --verify --quiet -q --symbolic --symbolic-full-name --all --branches?=text --tags?=text --remotes?=text --show-toplevel --show-prefix --show-cdup " +
			"--git-dir --git-common-dir --absolute-git-dir --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-object-format?=word --revs-only --no-revs", args: "ref*"},
		"shortlog":    {flags: gitRevFlags + " -cens -w?=word --numbered --summary --email --format=format --committer --group=text", args: "ref*", noInput: "HEAD", withInput: "--all --branches --tags --remotes --glob --not"},
		"show":        {flags: gitLogFlags + gitRevFlags + gitDiffFlags, args: "ref*", guards: gitQuiet()},
		"show-ref":    {flags: "-dsq --head --heads --branches --tags --dereference --hash?=int --verify --abbrev?=int --quiet", args: "text*"},
		"stash":       {args: "=list"},
		"status":      {flags: "-bsz -u?=word --short --branch --show-stash --porcelain?=word --long --untracked-files?=word --ignored?=word --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?=word --column?=word --no-column", args: "path*", guards: []string{"--ignore-submodules=dirty"}},
		"tag":         {flags: "-il -n?=int --list" + gitRefFlags, args: "text*", lists: gitListFlags + " -n"},
		"version":     {flags: "--build-options"},
		"whatchanged": {flags: gitLogFlags + gitRevFlags + gitDiffFlags, args: "ref*", guards: gitQuiet()},
	}
})
