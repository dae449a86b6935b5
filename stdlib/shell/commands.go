package shell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// What one command may cost.
const (
	defaultTimeout = 30  // seconds, unless the call says otherwise
	maxTimeout     = 600 // seconds
	maxOutput      = 1 << 20
	maxMemory      = 512 << 20
	maxProcesses   = 64
)

// commandLine is the command that runs any command line: sh -c LINE.
const commandLine = "sh"

// Options say which commands run, and how. The zero value runs none.
type Options struct {
	// Launch runs other programs, confined. Nil means that none are run.
	Launch tool.Launcher
	// Rules are the rules for commands, by their names; see [ParseRules]. A command
	// without one may run in the ways in which it only reads, or not at all.
	Rules map[string]Rule
}

// Commands runs other programs in the folder of a project. It is safe for concurrent
// use; make one with [New].
type Commands struct {
	folder  *fs.Folder
	launch  tool.Launcher // nil: no commands
	rules   atomic.Pointer[ruleSet]
	folders []string // where programs are looked for

	unchecked unchecked
	checkTime time.Duration // bounds the check after a command
}

// New returns the commands of a project. Its error is of kind Invalid for a rule that
// cannot hold, as one whose path is not absolute. Nil options are the zero value.
func New(folder *fs.Folder, o *Options) (*Commands, error) {
	if o == nil {
		o = &Options{}
	}
	if err := CheckRules(o.Rules); err != nil {
		return nil, err
	}
	c := &Commands{folder: folder, launch: o.Launch, folders: programFolders(), checkTime: maxCheck}
	c.rules.Store(&ruleSet{rules: o.Rules})
	return c, nil
}

// programFolders lists where programs are: folders that only the system's
// administrator changes, whatever PATH is.
func programFolders() []string {
	return []string{
		"/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin",
		"/run/current-system/sw/bin", "/opt/homebrew/bin",
		`C:\Windows\System32`, `C:\Program Files\Git\cmd`, `C:\Program Files\Git\usr\bin`,
	}
}

// Module returns the function shell.run. A command that exits with a code other than 0
// is a result; one that cannot be confined is an error of kind Unavailable.
func (c *Commands) Module() tool.Module {
	argv := tool.Required("argv", tool.TypeArray, `the program's name and its arguments, as in ["git", "log", "-n", "5"]`)
	argv.Type.Items = &tool.Type{Name: tool.TypeString}
	timeout := tool.Optional("timeout", tool.TypeNumber, int64(defaultTimeout), "the timeout in seconds, at most 600")
	timeout.Type.Min, timeout.Type.Max = 0.1, int64(maxTimeout)
	return tool.Module{Name: "shell", Doc: "Commands: programs that are installed on the system.", Funcs: []tool.Func{{
		Name: "run",
		Doc: "Run a program, and wait until the program and all child processes have ended. Arguments are passed unchanged, without a shell. " +
			"The program has no input and none of the user's environment variables.\n\n" +
			"A tool must declare these capabilities:\n\n" +
			"- shell:NAME, with the name of the program, such as shell:git\n" +
			"- shell:sh as well, if the command can do more than read. git log, for example, can only read. shell:sh is not needed if the user has a rule for the command\n" +
			"- fs.write or \"fs.write:**\", for a command that changes files of the project\n\n" +
			`To run a command line, such as a line with a pipe, pass ["sh", "-c", line]. For a command line, declare shell:sh instead of shell:NAME. If the command line changes files of the project, declare fs.write, too.` + "\n\n" +
			"A program can read the project and the programs of the system. It has no network, unless the user's rule for the command allows it. " +
			"No command can create files or folders in the root folder of the project, or change .git, .hg, .jj, .cassidy, git repositories, or files with hard links outside the project. " +
			"If a command creates a forbidden file or folder, the call fails, and the file or folder is removed. " +
			"A command that can change files gets a temporary folder. The environment variable TMPDIR has its path.",
		Params: []tool.Param{
			argv,
			tool.Optional("cwd", tool.TypeString, ".", "the working directory of the program"),
			tool.Optional("stream", tool.TypeBoolean, true, "whether to show the output to the user while the program runs"),
			timeout,
			tool.Optional("check", tool.TypeBoolean, false, "whether an exit code other than 0, or more than 1 MB of output, is an error; the error contains the end of the output"),
		},
		Returns: `a dict {"exit_code", "stdout", "stderr", "truncated"}. Bytes that are not UTF-8 are replaced. ` +
			"A program that writes more than 1 MB is killed. Then truncated is True, and exit_code is -1",
		Result:    row.Fields("exit_code", "stdout", "stderr", "truncated"),
		Kind:      tool.External,
		Target:    c.target,
		Exact:     c.exact,
		ReadsOnly: c.readsOnly,
		Untrusted: c.reachesNetwork,
		Do:        c.run,
	}}}
}

var programName = compiled(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

// readArgv gives the program's name and its arguments.
func readArgv(args *value.Dict) ([]string, error) {
	list := args.Elements("argv")
	if len(list) == 0 {
		return nil, value.Errorf(value.Invalid, "argument 'argv' is empty").WithHint(`pass the program and its arguments, as in ["git", "status"]`)
	}
	argv := make([]string, len(list))
	for i, item := range list {
		argv[i], _ = item.(string)
		if strings.ContainsRune(argv[i], 0) {
			return nil, value.Errorf(value.Invalid, "argv[%d] contains a NUL character", i)
		}
	}
	if !programName().MatchString(argv[0]) {
		return nil, value.Errorf(value.Denied, "invalid program %q: expected a name, without a path and without arguments", argv[0]).
			WithHint(`pass the name and each argument as separate items, as in ["git", "status"]`)
	}
	return argv, nil
}

// A plan is a command that may run, and how.
type plan struct {
	name    string
	path    string
	args    []string
	dir     string // relative to the project
	rule    Rule
	free    bool // it may write where the tool may
	env     []string
	timeout time.Duration
}

func (c *Commands) run(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	argv, err := readArgv(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	if c.launch == nil {
		return tool.Outcome{}, value.Errorf(value.Unavailable, "commands are unavailable: the sandbox does not work on this machine").
			WithHint("to check the sandbox, run cassidy doctor")
	}
	plan, err := c.plan(argv, e.Args, g)
	if err != nil {
		return tool.Outcome{}, err
	}
	if plan.name == "git" && !plan.free {
		if err := c.tameGit(ctx, plan); err != nil {
			return tool.Outcome{}, err
		}
	}
	r, err := c.reach(plan, g)
	if err != nil {
		return tool.Outcome{}, err
	}
	defer r.close()
	captured := &output{ctx: ctx, limit: maxOutput}
	if e.Args.Bool("stream") {
		captured.emit = g.Emit
	}
	r.Stdout, r.Stderr = captured.stdout(), captured.stderr()
	exit, err := c.launch(ctx, &r.Process)
	if wrong := r.finish(); wrong != nil {
		return tool.Outcome{}, wrong
	}
	if err == nil && exit != 0 {
		_, _ = captured.stderr().Write([]byte(r.note()))
	}
	captured.flush()
	killed := errors.Is(err, errFull)
	if err = captured.failure(plan.name, err); err != nil {
		return tool.Outcome{}, err
	}
	if exit != 0 && e.Args.Bool("check") {
		return tool.Outcome{}, captured.exitError(plan.name, exit, killed)
	}
	return tool.Outcome{Value: captured.result(exit)}, nil
}

// A way is how a command may run.
type way struct {
	args []string
	rule Rule
	free bool // it may write where the tool may
	line bool // it can do what any command line can
}

// wayOf returns how a command may run: by the user's rule for it; in the ways in which it
// only reads, as the table has them; or else as a command line does, with the rights of
// one and by its rule.
func (c *Commands) wayOf(argv []string, dir string) (way, error) {
	return c.wayBy(c.rules.Load().rules, argv, dir)
}

// wayBy is wayOf with rules.
func (c *Commands) wayBy(rules map[string]Rule, argv []string, dir string) (way, error) {
	name, args := argv[0], argv[1:]
	rule, ruled := rules[name]
	switch {
	case rule.Any || len(rule.Args) > 0 && rule.fits(args):
		return way{args: args, rule: rule, free: true, line: name == commandLine}, nil
	case name == commandLine:
	case !ruled || len(rule.Args) == 0:
		matched, err := matchCommand(name, args, c.checker(dir))
		if err == nil {
			return way{args: matched, rule: rule}, nil
		}
		if value.KindOf(err) == value.Security {
			return way{}, err
		}
	}
	sh := rules[commandLine]
	if len(sh.Args) > 0 && !sh.Any {
		return way{}, value.Errorf(value.Denied, "run %s: the user's rule does not allow these arguments", name).
			WithHint("the user's config allows these command lines: %s", strings.Join(sh.Args, "; "))
	}
	return way{args: args, rule: sh, free: true, line: true}, nil
}

// target returns the capabilities that a command takes: shell:NAME, and shell:sh for one
// that can do what any command line can.
func (c *Commands) target(args *value.Dict) ([]tool.Capability, error) {
	argv, err := readArgv(args)
	if err != nil {
		return nil, err
	}
	needs := []tool.Capability{{Name: "shell", Target: argv[0]}}
	dir, _, err := c.folder.Resolve(args.Text("cwd"))
	if err != nil {
		dir = "." // the call itself fails then; of a recorded one only argv may be known
	}
	way, err := c.wayOf(argv, dir)
	if err != nil {
		return nil, err
	}
	if way.line && argv[0] != commandLine {
		needs = append(needs, tool.Capability{Name: "shell", Target: commandLine})
	}
	return needs, nil
}

// exact returns the capability for one command line in the folder of the project, quoted as for sh. ok is
// false for other folders, and for words that cannot be quoted on one line.
func (c *Commands) exact(args *value.Dict) (_ tool.Capability, ok bool) {
	argv, err := readArgv(args)
	if err != nil {
		return tool.Capability{}, false
	}
	if dir, _, err := c.folder.Resolve(args.Text("cwd")); err != nil || dir != "." {
		return tool.Capability{}, false
	}
	words := make([]string, len(argv))
	for i, word := range argv {
		if words[i], err = syntax.Quote(word, syntax.LangPOSIX); err != nil {
			return tool.Capability{}, false
		}
	}
	line, err := tool.Allow.ParseCapability("shell:$ " + strings.Join(words, " "))
	return line, err == nil
}

// readsOnly reports whether a command can only read.
func (c *Commands) readsOnly(args *value.Dict) bool {
	way, err := c.wayOfArgs(args)
	return err == nil && !way.free && !way.rule.Network && len(way.rule.Write) == 0
}

// reachesNetwork reports whether a command can read what others have written.
func (c *Commands) reachesNetwork(args *value.Dict) bool {
	way, err := c.wayOfArgs(args)
	return err == nil && way.rule.Network
}

// wayOfArgs returns how the command in the arguments of a function is run.
func (c *Commands) wayOfArgs(args *value.Dict) (way, error) {
	argv, err := readArgv(args)
	if err != nil {
		return way{}, err
	}
	dir, _, err := c.folder.Resolve(args.Text("cwd"))
	if err != nil {
		return way{}, err
	}
	return c.wayOf(argv, dir)
}

// plan returns how a command runs.
func (c *Commands) plan(argv []string, args *value.Dict, g tool.Grant) (*plan, error) {
	dir, err := c.folderOf(args.Text("cwd"))
	if err != nil {
		return nil, err
	}
	set := c.rules.Load()
	way, err := c.wayBy(set.rules, argv, dir)
	if err != nil {
		return nil, err
	}
	if way.line && argv[0] != commandLine && c.wasLess(set, argv, dir) {
		if err := check(g, tool.Capability{Name: "shell", Target: commandLine}); err != nil {
			return nil, err
		}
	}
	plan := &plan{name: argv[0], args: way.args, dir: dir, rule: way.rule, free: way.free, timeout: timeoutOf(args), env: environment(way.rule.Env)}
	if plan.path, err = c.find(plan.name, set.rules[plan.name].Path); err != nil {
		return nil, err
	}
	return plan, nil
}

func timeoutOf(args *value.Dict) time.Duration {
	v, _ := args.Get("timeout")
	switch v := v.(type) {
	case int64:
		return time.Duration(v) * time.Second
	case float64:
		return time.Duration(v * float64(time.Second))
	}
	return defaultTimeout * time.Second
}

// folderOf resolves the folder to start in, which must be one of the project.
func (c *Commands) folderOf(raw string) (string, error) {
	dir, _, err := c.folder.Resolve(raw)
	if err != nil {
		return "", err
	}
	info, err := c.folder.Root.Stat(filepath.FromSlash(dir))
	if err != nil || !info.IsDir() {
		return "", value.Errorf(value.Failed, "the working directory %s does not exist or is not a folder", c.folder.Shown(dir))
	}
	return dir, nil
}

// find returns the path of a program: that of the user's rule, or in the
// system's folders. Never one that a project could have brought along.
func (c *Commands) find(name, path string) (string, error) {
	candidates := []string{path}
	if path == "" {
		candidates = candidates[:0]
		for _, folder := range c.folders {
			candidates = append(candidates, filepath.Join(folder, name), filepath.Join(folder, name+".exe"))
		}
	}
	for _, p := range candidates {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if c.contains(real) {
			return "", value.Errorf(value.Security, "the program %s is untrusted, because the file is inside the project", name).WithHint("use a program that is installed outside the project")
		}
		return p, nil // as it is called: some programs are many, and go by their name
	}
	return "", value.Errorf(value.Unavailable, "program %s not found", name).
		WithHint("install the program in /usr/bin, or set the path in the user's config: commands: {%s: {path: /opt/bin/%s, exec: any}}", name, name)
}

// contains reports whether a file is in the project, by the identity of the folders that it
// is in: the project may have been renamed.
func (c *Commands) contains(name string) bool {
	root, err := c.folder.Root.Stat(".")
	if err != nil {
		return true // better no program than an untrusted one
	}
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, root) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func isWithin(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// environment returns the environment of a command.
func environment(more map[string]string) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "TERM=dumb"}
	for _, name := range sortedKeys(more) {
		env = append(env, name+"="+more[name])
	}
	return env
}
