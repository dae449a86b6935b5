package stdlib

import (
	"context"
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
)

// What one command may cost.
const (
	shellTimeout   = 30  // seconds, unless the call says otherwise
	shellLongest   = 600 // seconds
	shellOutput    = 1 << 20
	shellMemory    = 512 << 20
	shellProcesses = 64
)

// shellAnyLine is the command that runs any command line: sh -c LINE.
const shellAnyLine = "sh"

// A shellWorld is what commands run in.
type shellWorld struct {
	launch   tool.Launcher // nil: no commands
	commands map[string]CommandRule
	folders  []string // where programs are looked for
}

func newShellWorld(o *Options) shellWorld {
	return shellWorld{launch: o.Launch, commands: o.Commands, folders: shellFolders()}
}

// shellFolders lists where programs are: folders that only the system's
// administrator changes, whatever PATH says.
func shellFolders() []string {
	return []string{
		"/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin",
		"/run/current-system/sw/bin", "/opt/homebrew/bin",
		`C:\Windows\System32`, `C:\Program Files\Git\cmd`, `C:\Program Files\Git\usr\bin`,
	}
}

func (w *World) shellModule() tool.Module {
	argv := tool.Required("argv", tool.TypeArray, `the program's name and its arguments, as in ["git", "log", "-n", "5"]`)
	argv.Type.Items = &tool.Type{Name: tool.TypeString}
	timeout := tool.Optional("timeout", tool.TypeNumber, int64(shellTimeout), "after how many seconds it is ended, at most 600")
	timeout.Type.Min, timeout.Type.Max = 0.1, int64(shellLongest)
	return tool.Module{Name: "shell", Doc: "Other programs.", Funcs: []tool.Func{{
		Name: "run",
		Doc: "Run a program, and wait until it and all that it started has ended. It is given its arguments as they are: no shell reads them. " +
			"It can read the project and the system's programs, has no network and no input, and finds none of the user's environment. " +
			`Where the user lets a command take any arguments, and the tool may write the whole project (fs.write without a target, or "fs.write:**"), it may also change what is in the project's folders, but neither .git nor .cassidy, nor what a rule keeps from it, and make no new names at the top; TMPDIR names a folder of its own then. ` +
			`["sh", "-c", line] runs a command line, and takes shell:sh.`,
		Params: []tool.Param{
			argv,
			tool.Optional("cwd", tool.TypeString, ".", "the folder in which it starts"),
			tool.Optional("stream", tool.TypeBoolean, true, "whether the user sees what it says while it runs"),
			timeout,
		},
		Returns: "a dictionary: exit_code, stdout, stderr (text; what is no UTF-8 is replaced) and truncated. An exit code that is not 0 is no error. " +
			"A program that says more than 1 MB is ended: truncated is true then, and exit_code -1",
		Kind: tool.External,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			argv, err := shellArgv(args)
			if err != nil {
				return nil, err
			}
			return []tool.Capability{{Name: "shell", Target: argv[0]}}, nil
		},
		Do: w.shellRun,
	}}}
}

var shellName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

// shellArgv gives the program's name and its arguments.
func shellArgv(args *value.Dict) ([]string, error) {
	v, _ := args.Get("argv")
	list, _ := v.(value.List)
	if len(list) == 0 {
		return nil, value.Errorf(value.Invalid, "argv is empty").WithHint(`give the program and its arguments, as in ["git", "status"]`)
	}
	argv := make([]string, len(list))
	for i, item := range list {
		argv[i], _ = item.(string)
		if strings.ContainsRune(argv[i], 0) {
			return nil, value.Errorf(value.Invalid, "argv[%d] holds the character NUL", i)
		}
	}
	if !shellName.MatchString(argv[0]) {
		return nil, value.Errorf(value.Denied, "%q is not the plain name of a program", argv[0]).
			WithHint(`a program is named without its folder, and its arguments follow one by one, as in ["git", "status"]`)
	}
	return argv, nil
}

// A shellPlan is a command that may run, and how.
type shellPlan struct {
	name    string
	path    string
	args    []string
	dir     string // relative to the project
	rule    CommandRule
	free    bool // it may write where the tool may
	env     []string
	timeout time.Duration
	after   func() error // what is to be done when it has ended, or nil
}

func (w *World) shellRun(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	argv, err := shellArgv(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	if w.shell.launch == nil {
		return tool.Outcome{}, value.Errorf(value.Unavailable, "commands cannot be run here: nothing can confine them").
			WithHint("cassidy doctor says what this machine can confine")
	}
	plan, err := w.shellPlan(argv, e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	if plan.name == "git" && !plan.free {
		if err := w.gitTame(ctx, plan); err != nil {
			return tool.Outcome{}, err
		}
	}
	p, err := w.shellProcess(plan, g)
	if err != nil {
		return tool.Outcome{}, err
	}
	away, err := shellScratch(p)
	if err != nil {
		return tool.Outcome{}, err
	}
	defer away()
	said := &shellSaid{limit: shellOutput}
	if e.Args.Bool("stream") {
		said.emit = g.Emit
	}
	p.Stdout, p.Stderr = said.out(), said.err()
	exit, err := w.shell.launch(ctx, p)
	said.flush()
	if plan.after != nil {
		if wrong := plan.after(); wrong != nil {
			return tool.Outcome{}, wrong
		}
	}
	if err = said.failure(plan.name, err); err != nil {
		return tool.Outcome{}, err
	}
	return tool.Outcome{Value: said.result(exit)}, nil
}

// shellPlan says whether and how a command may run, by the user's rules or by
// the table of those that only read.
func (w *World) shellPlan(argv []string, args *value.Dict) (*shellPlan, error) {
	dir, err := w.shellDir(args.Text("cwd"))
	if err != nil {
		return nil, err
	}
	plan := &shellPlan{name: argv[0], args: argv[1:], dir: dir, timeout: shellSeconds(args)}
	rule, ruled := w.shell.commands[plan.name]
	plan.rule = rule
	plan.env = shellEnv(rule.Env)
	switch {
	case plan.name == shellAnyLine && !rule.Any && len(rule.Args) == 0:
		if len(plan.args) < 2 || plan.args[0] != "-c" {
			return nil, value.Errorf(value.Denied, "sh runs a command line and nothing else").WithHint(`as in ["sh", "-c", "ls | wc -l"]`)
		}
		plan.free = true
	case rule.Any:
		plan.free = true
	case ruled && len(rule.Args) > 0:
		if err := rule.check(plan.name, plan.args); err != nil {
			return nil, err
		}
		plan.free = true
	default:
		if plan.args, err = shellMatch(plan.name, plan.args, w.shellChecker(dir)); err != nil {
			return nil, err
		}
	}
	if plan.path, err = w.shellFind(plan.name, rule.Path); err != nil {
		return nil, err
	}
	return plan, nil
}

func shellSeconds(args *value.Dict) time.Duration {
	v, _ := args.Get("timeout")
	switch v := v.(type) {
	case int64:
		return time.Duration(v) * time.Second
	case float64:
		return time.Duration(v * float64(time.Second))
	}
	return shellTimeout * time.Second
}

// shellDir resolves the folder to start in, which must be one of the project.
func (w *World) shellDir(raw string) (string, error) {
	dir, _, err := w.files.Resolve(raw)
	if err != nil {
		return "", err
	}
	info, err := w.files.Root.Stat(filepath.FromSlash(dir))
	if err != nil || !info.IsDir() {
		return "", value.Errorf(value.Failed, "there is no folder %s to start in", w.files.Shown(dir))
	}
	return dir, nil
}

// shellBase is the project's folder with all links followed: what the kernel
// will hold a command to.
func (w *World) shellBase() string { return filepath.FromSlash(w.files.Bases[len(w.files.Bases)-1]) }

// shellFind gives the path of a program: where the user's rule says, or in the
// system's folders. Never one that a project could have brought along.
func (w *World) shellFind(name, path string) (string, error) {
	candidates := []string{path}
	if path == "" {
		candidates = candidates[:0]
		for _, folder := range w.shell.folders {
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
		if shellWithin(w.shellBase(), real) {
			return "", value.Errorf(value.Security, "the program %s is inside the project, whose files anybody may have written", name)
		}
		return p, nil // as it is called: some programs are many, and go by their name
	}
	return "", value.Errorf(value.Unavailable, "there is no program %s on this machine", name).
		WithHint("programs are looked for in the system's folders; the user's config can name another: commands: {%s: {path: /opt/bin/%s, exec: any}}", name, name)
}

func shellWithin(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// shellEnv is all that a command is told.
func shellEnv(more map[string]string) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "TERM=dumb"}
	for _, name := range sortedKeys(more) {
		env = append(env, name+"="+more[name])
	}
	return env
}

// shellProcess says what a command may reach.
func (w *World) shellProcess(plan *shellPlan, g tool.Grant) (*tool.Process, error) {
	base := w.shellBase()
	p := &tool.Process{
		Path: plan.path, Args: plan.args, Dir: filepath.Join(base, filepath.FromSlash(plan.dir)), Env: plan.env,
		Read:    append([]string{base}, plan.rule.Read...),
		Write:   append([]string{}, plan.rule.Write...),
		Network: plan.rule.Network, Timeout: plan.timeout, Memory: shellMemory, Processes: shellProcesses,
	}
	if plan.name == "ps" {
		// It exists to show other processes. Their environments and memory stay
		// closed to it all the same: those take the right to trace them.
		p.Read = append(p.Read, "/proc")
	}
	if g.Narrowed != nil {
		// A command cannot be asked which files it will read.
		if rule := g.Narrowed("fs.read"); rule != "" {
			return nil, value.Errorf(value.Denied, "a command could read what a rule keeps from it: %s", rule).
				WithHint("read files with fs.read, or change the rule")
		}
	}
	if !plan.free || g.Check == nil || g.Narrowed != nil && g.Narrowed("fs.write") != "" || g.Check(fs.Writes(".")) != nil {
		return p, nil
	}
	protected, err := w.shellProtected()
	if err != nil {
		return nil, err
	}
	entries, err := w.shellWritable(protected)
	p.Write = append(p.Write, entries...)
	if len(entries) > 0 {
		plan.after = func() error { return w.shellTakeAway(protected) }
	}
	return p, err
}

// shellScratch gives a command that may write a folder for what it needs while
// it runs, as compilers do, and tells it by TMPDIR. What it returns takes it
// away.
func shellScratch(p *tool.Process) (away func(), err error) {
	if len(p.Write) == 0 || slices.ContainsFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") }) {
		return func() {}, nil
	}
	const in = "/tmp" // not where the environment says, which is the caller's own
	if info, err := os.Stat(in); err != nil || !info.IsDir() {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp(in, "cassidy-command-")
	if err != nil {
		return nil, value.Errorf(value.Failed, "make a folder for the command: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	p.Write = append(p.Write, dir)
	p.Env = append(p.Env, "TMPDIR="+dir)
	return func() { _ = os.RemoveAll(dir) }, nil
}

// The bounds of what a command may write. Each folder or file that it is lent is
// a rule for the kernel, and all are looked at for what must not be.
const (
	shellEntries = 2000
	shellLooked  = 200_000
)

// shellWritable lists what a command may write: the folders and files of the
// project, as far up as they hold nothing that decides what runs next. Rules can
// only add, so the top itself is not among them, and no new name can be made
// there.
func (w *World) shellWritable(protected []string) ([]string, error) {
	holds := map[string]bool{".": true}
	for _, name := range protected {
		for dir := path.Dir(name); !holds[dir]; dir = path.Dir(dir) {
			holds[dir] = true
		}
	}
	var list []string
	files := w.files.Root.FS()
	for dirs := []string{"."}; len(dirs) > 0; dirs = dirs[1:] {
		entries, err := iofs.ReadDir(files, dirs[0])
		if err != nil {
			return nil, value.Errorf(value.Failed, "list the project: %w", err)
		}
		for _, entry := range entries {
			name := path.Join(dirs[0], entry.Name())
			switch {
			case w.files.Protect(name) != nil || !entry.IsDir() && !entry.Type().IsRegular():
			case holds[name] || w.files.HoldsKept(name):
				dirs = append(dirs, name)
			default:
				list = append(list, filepath.Join(w.shellBase(), filepath.FromSlash(name)))
			}
		}
		if len(list) > shellEntries {
			return nil, shellTooLarge(shellEntries, "places that a command may write")
		}
	}
	return list, nil
}

// shellProtected lists what there is of protected names, however deep, and the
// folders that cannot be looked into.
func (w *World) shellProtected() ([]string, error) {
	var names []string
	looked := 0
	err := iofs.WalkDir(w.files.Root.FS(), ".", func(name string, d iofs.DirEntry, err error) error {
		if looked++; looked > shellLooked {
			return shellTooLarge(shellLooked, "files and folders")
		}
		if err == nil && w.files.Protect(name) == nil {
			return nil
		}
		names = append(names, name)
		if err != nil || d.IsDir() {
			return iofs.SkipDir
		}
		return nil
	})
	return names, err
}

// shellTakeAway removes what a command has made of protected names: the kernel's
// rules cannot keep it from making new ones in a folder that it may write.
func (w *World) shellTakeAway(before []string) error {
	now, err := w.shellProtected()
	if err != nil {
		return err
	}
	for _, name := range now {
		if slices.Contains(before, name) {
			continue
		}
		if err := w.files.Root.RemoveAll(name); err != nil {
			return value.Errorf(value.Security, "the command has made %s, which decides what runs next, and it cannot be removed: %w", w.files.Shown(name), err)
		}
		return value.Errorf(value.Security, "the command has made %s, which decides what runs next; it was removed", w.files.Shown(name)).
			WithHint("let a person do that")
	}
	return nil
}

func shellTooLarge(most int, what string) error {
	e := value.Errorf(value.Limit, "the project has more than %d %s: too many to let a command write there", most, what)
	e.Limit = value.LimitEntries
	return e
}
