package protect

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// a project makes a folder: a text that begins with -> is a link, and a name that ends
// with / a folder.
func project(t *testing.T, files map[string]string) *Project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "project")
	for name, text := range files {
		text = strings.ReplaceAll(text, "ROOT", filepath.ToSlash(dir))
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(text, "->")
		switch {
		case link:
			err = os.Symlink(target, file)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(file, 0o777)
		default:
			err = os.WriteFile(file, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &Project{Root: root, Bases: []string{filepath.ToSlash(dir)}}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/config": "[core]\n\tbare = false\n", ".cassidy/tools/x.star": "x", "CASSIDY.md": "n"}, nil},
		{"a link", map[string]string{".cassidy": "->conf", "conf/tools/x.star": "x"}, []string{".cassidy", "conf"}},
		{"absolute", map[string]string{".cassidy": "->ROOT/conf", "conf/": ""}, []string{".cassidy", "conf"}},
		{"a chain", map[string]string{".cassidy": "->a", "a": "->b/c", "b": "->d", "d/c": "->../e/f", "e/f/": ""}, []string{".cassidy", "a", "b", "d/c", "e/f"}},
		{"dangling", map[string]string{".cassidy": "->not/yet"}, []string{".cassidy", "not/yet"}},
		{"dangling chain", map[string]string{".git": "->a", "a": "->nothing"}, []string{".git", "a", "nothing"}},
		{"outside", map[string]string{".cassidy": "->../elsewhere"}, []string{".cassidy"}},
		{"outside and back", map[string]string{".cassidy": "->../project/conf"}, []string{".cassidy", "conf"}},
		{"itself", map[string]string{".cassidy": "->."}, []string{".", ".cassidy"}},
		{"a loop", map[string]string{".cassidy": "->a", "a": "->b", "b": "->a"}, []string{".cassidy", "a", "b"}},
		{"links inside", map[string]string{".cassidy/tools/x.star": "->../../src/x.star", ".cassidy/skills": "->../docs", "docs/s.md": "->../more/s.md"},
			[]string{".cassidy/skills", ".cassidy/tools/x.star", "docs", "docs/s.md", "more/s.md", "src/x.star"}},
		{"notes", map[string]string{"CASSIDY.md": "->docs/notes.md", "cassidy.md": "->other.md"}, []string{"CASSIDY.md", "cassidy.md", "docs/notes.md", "other.md"}},
		{"separate", map[string]string{".git": "gitdir: meta\n", "meta/HEAD": "x"}, []string{"meta"}},
		{"separate, absolute", map[string]string{".git": "gitdir: ROOT/meta/x\n"}, []string{"meta/x"}},
		{"separate, outside", map[string]string{".git": "gitdir: ../meta\n"}, nil},
		{"separate, by a link", map[string]string{".git": "gitdir: a/meta\n", "a": "->b", "b/meta/HEAD": ""}, []string{"a", "b/meta"}},
		{"a work tree", map[string]string{".git": "gitdir: repo/worktrees/w\n", "repo/worktrees/w/commondir": "../..\n", "repo/config": "[core]\nhooksPath = hk\n"}, []string{"hk", "repo", "repo/worktrees/w"}},
		{"links of git", map[string]string{".git/hooks/pre-commit": "->../../ci/hook", ".git/config": "->../gitconfig", "gitconfig": "[include]\npath = ../more\n[core] fsmonitor = \"./watch\"\n"},
			[]string{".git/config", ".git/hooks/pre-commit", "ci/hook", "gitconfig", "more", "watch"}},
		{"settings as git reads them", map[string]string{".git/config": "[Include] # one\n\tpath = ../a # why\n[include]path=../b;why\n\t\tPath = \"../c\"\"d\" ; why\n\tpath = ../e\\\nf\n" +
			"[includeIf \"gitdir:/x]y\\\"/\"]\n\tpath = \"../g h#\"\n[core]hooksPath = hk\t # why\r\n# path = ../no\n"}, []string{"a", "b", "cd", "ef", "g h#", "hk"}},
		{"a command", map[string]string{".git/config": "[core]\n\tfsmonitor = ci/watch --to=out/x 2 main.sh dir \"; ./late\"\n", "main.sh": "", "dir/": ""},
			[]string{"ci/watch", "ci/watch --to=out/x 2 main.sh dir ; ./late", "late", "main.sh", "out/x"}},
		{"commands", map[string]string{".git/config": "[filter \"n b\"]\n\tclean = python3 tools/clean.py %f\n\tsmudge = cat\n[diff \"x\"]\n\ttextconv = ./conv\n[diff]\n\texternal = ci/diff\n" +
			"[merge \"m\"]\n\tdriver = ci/merge %O %A\n[core]\n\teditor = code --wait\n\tsshCommand = ssh -F ci/ssh\n\tfsmonitor = true\n[pager]\n\tlog = ci/page\n[hook \"h\"]\n\tcommand = sh late.sh\n" +
			"[interactive]\n\tdiffFilter = ci/show\n[alias]\n\tx = !ci/alias\n[user]\n\tname = a/b\n", "code/x": "", "late.sh": ""},
			[]string{"ci/alias", "ci/diff", "ci/merge", "ci/merge %O %A", "ci/page", "ci/show", "ci/ssh", "conv", "late.sh", "python3 tools/clean.py %f", "ssh -F ci/ssh", "tools/clean.py"}},
		{"more commands", map[string]string{".git/config": "[remote \"o\"]\n\tuploadpack = ci/up\n\treceivepack = ci/rp\n\turl = ext::ci/ext %S\n[submodule \"s\"]\n\tupdate = !ci/sub\n\tpath = docs/s\n[submodule \"t\"]\n\tupdate = rebase/x\n" +
			"[alias]\n\ta = status docs/x\n\tb = \"!sh ci/b.sh\"\n[init]\n\ttemplateDir = tpl\n[mergetool \"m\"]\n\tpath = ci/mt\n[credential \"x\"]\n\thelper = !ci/cred\n[gpg \"ssh\"]\n\tprogram = ci/gpg\n[browser \"b\"]\n\tpath = ci/br\n"},
			[]string{"ci/b.sh", "ci/br", "ci/cred", "ci/ext", "ci/ext %S", "ci/gpg", "ci/mt", "ci/rp", "ci/sub", "ci/up", "sh ci/b.sh", "tpl"}},
		{"what others obey", map[string]string{"AGENTS.md": "->docs/a.md", "docs/a.md": "", "CLAUDE.md": "x", ".vscode": "->conf/vs", ".husky/pre-commit": "->../ci/hook", "ci/hook": "", ".github/copilot-instructions.md": "->../docs/c.md", ".envrc": "->late.sh"},
			[]string{".envrc", ".github/copilot-instructions.md", ".husky/pre-commit", ".vscode", "AGENTS.md", "ci/hook", "conf/vs", "docs/a.md", "docs/c.md", "late.sh"}},
		{"data of git", map[string]string{".git/objects/x": "->../../file", ".git/refs/heads": "->../../file"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := project(t, tt.files)
			targets, err := p.Targets([]string{"."})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, target := range targets {
				got = append(got, target.Path)
				if _, err := p.Root.Lstat(target.Path); (err == nil) != (target.Info != nil) {
					t.Errorf("%s: Info = %v, but Lstat: %v", target.Path, target.Info, err)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("the targets are %q, want %q", got, tt.want)
			}
		})
	}
}

// TestServers checks what the command lines of servers name.
func TestServers(t *testing.T) {
	t.Setenv("SRV", "srv/s.py")
	files := map[string]string{"srv/s.py": "", "srv/lib.py": "", "x.sh": "", "real/main.py": "", "link.py": "->real/main.py", "dir": "->srv", "pkg/mod.py": "", "mods/__main__.py": "import json\n", "mods/sub/z.py": "from util import x\nfrom . import y\n", "mods/a.txt": "import a\n", "one.py": "", "docs/a.md": "", "bin/serve": "", "data.db": "",
		"root.py": "import os, a.b as c\nfrom pkg.mod import x\nif x:\n    import b\n# import d\n", "root.mjs": "import x from './lib/x.js'\nrequire(\"./y\"); import('os')\n"}
	// modules are what Python can load from the root: root.py imports pkg, which has no __init__.py.
	modules := []string{"*.py", "link.py", "one.py", "pkg/**.py", "pkg/mod.py", "real/main.py", "root.py"}
	for line, want := range map[string][]string{
		`"command": "npm", "args": ["run", "serve"]`:                                                   {".npmrc", "package.json"},
		`"command": "sh", "args": ["-c", "cd srv; make serve"]`:                                        {"GNUmakefile", "Makefile", "makefile", "srv/GNUmakefile", "srv/Makefile", "srv/makefile"},
		`"command": "/bin/just", "args": ["srv"], "cwd": "srv"`:                                        {"srv/.justfile", "srv/Justfile", "srv/justfile"},
		`"command": "python3", "args": ["-c", "import one"]`:                                           modules,
		`"command": "sh", "args": ["-c", "exec python3 -uc 'import one'"]`:                             modules,
		`"command": "python3", "args": ["-W", "ignore", "-m", "json.tool"]`:                            {"json", "json.py", "json.tool"},
		`"command": "python3", "args": ["-m", "json.tool"], "env": {"PYTHONSAFEPATH": ""}`:             append([]string{"json", "json.py", "json.tool"}, modules...),
		`"command": "python3", "args": ["-c", "import one"], "env": {"PYTHONSAFEPATH": "1"}`:           nil,
		`"command": "sh", "args": ["-c", "exec python3 -m json"]`:                                      append([]string{"json", "json.py"}, modules...),
		`"command": "python3", "args": ["-c", "import mods.a"], "cwd": "srv"`:                          {"srv", "srv/import mods.a", "srv/mods.a"},
		`"command": "python3", "args": ["srv/s.py", "-c", "x"]`:                                        {"srv", "srv/s.py"},
		`"command": "node", "args": ["-e", "require('./srv/x.js')"]`:                                   {"*.js", "require('./srv/x.js')", "root.mjs", "lib/x.js", "y", "y.json", "y.mjs", "srv", "srv/x.js"},
		`"command": "ruby", "args": ["-ne", "load x"]`:                                                 {"*.rb"},
		`"command": "perl", "args": ["-Isrv", "-e", "use X"]`:                                          {"*.pm", "srv"},
		`"command": "perl", "args": ["-I", "lib/perl", "bin/serve"]`:                                   {"bin/serve", "lib/perl"},
		`"command": "python3", "args": ["-I", "srv/s.py"]`:                                             {"srv", "srv/s.py"},
		`"command": "mcp-files", "env": {"PYTHONPATH": "lib:ROOT/srv:/usr/lib", "DATA_DIR": "docs"}`:   {"lib", "srv"},
		`"command": "mcp-files", "env": {"PYTHONPATH": "."}`:                                           modules,
		`"command": "mcp-files", "env": {"PYTHONPATH": ":/usr/lib"}`:                                   modules,
		`"command": "mcp-files", "env": {"RUBYLIB": "${NO:-lib}", "PERL5LIB": "", "PATH": "bin:/bin"}`: {"bin", "lib"},
		`"command": "mcp-files", "env": {"LUA_PATH": "lib/?.lua;;", "NODE_PATH": "mods"}`:              {"lib", "mods"},
		`"command": "mcp-files", "env": {"NODE_OPTIONS": "--require ./late.js", "LD_PRELOAD": "x.so"}`: {"late.js", "x.so"},
		`"command": "env", "args": ["PYTHONPATH=lib", "mcp-files"]`:                                    {"lib"},
		`"command": "sh", "args": ["-c", "PYTHONPATH='lib' NODE_PATH=srv exec mcp-files"]`:             {"lib", "srv"},
		`"command": "java", "args": ["-cp", "lib/a.jar:bin", "Main"]`:                                  {"bin", "lib/a.jar", "lib/a.jar:bin"},
		`"command": "python3", "args": ["srv/s.py"]`:                                                   {"srv", "srv/s.py"},
		`"command": "python3", "args": ["./srv/../srv/s.py", "--port", "1"]`:                           {"srv", "srv/s.py"},
		`"command": "python3", "args": ["../project/srv/s.py"]`:                                        {"srv", "srv/s.py"},
		`"command": "python3", "args": ["ROOT/srv/s.py"]`:                                              {"srv", "srv/s.py"},
		`"command": "python3", "args": ["s.py"], "cwd": "srv"`:                                         {"srv", "srv/s.py"},
		`"command": "python3", "args": ["s.py"], "cwd": "ROOT/srv"`:                                    {"srv", "srv/s.py"},
		`"command": "python3", "args": ["link.py"]`:                                                    {"link.py", "real", "real/main.py"},
		`"command": "python3", "args": ["dir/s.py"]`:                                                   {"dir", "srv", "srv/s.py"},
		`"command": "python3", "args": ["-m", "pkg.mod"]`:                                              append([]string{"pkg", "pkg.mod", "pkg.py"}, modules...),
		`"command": "python3", "args": ["-m", "mods.sub.z"]`:                                           append([]string{"mods", "mods.py", "mods.sub.z"}, modules...),
		`"command": "python3", "args": ["-u", "-mone"]`:                                                append([]string{"one"}, modules...),
		`"command": "uv", "args": ["--directory", "srv", "run", "s.py"]`:                               {"s.py", "srv", "srv/s.py"},
		`"command": "python3", "args": ["srv"]`:                                                        {"srv"},
		`"command": "python3.12", "args": ["."]`:                                                       append([]string{"__main__.py", "index.js", "package.json"}, modules...),
		`"command": "sh", "args": ["x.sh"]`:                                                            {"x.sh"},
		`"command": "sh", "args": ["-c", "exec python3 'srv/s.py' && sh -c \"x.sh\""]`:                 {"exec python3 'srv/s.py' && sh -c \"x.sh\"", "srv", "srv/s.py", "x.sh"},
		`"command": "node", "args": ["--require=./srv/lib.py", "late.js"]`:                             {"--require=./srv", "--require=./srv/lib.py", "late.js", "srv", "srv/lib.py"},
		`"command": "bin/serve"`:                                                                       {"bin/serve"},
		`"command": "./bin/serve", "args": ["${NO:-data.db}", "${SRV}"]`:                               {"bin/serve", "data.db", "srv", "srv/s.py"},
		`"command": "env", "args": ["A=1", "python3", "srv/s.py"]`:                                     {"srv", "srv/s.py"},
		`"command": "uv", "args": ["run", "root.py"]`:                                                  modules,
		`"command": "node", "args": ["root.mjs"]`:                                                      {"lib/x.js", "root.mjs", "y", "y.json", "y.mjs"},
		`"command": "npx", "args": ["-y", "./srv", "./docs"]`:                                          {"srv"},
		`"command": "npx", "args": ["-y", "server-files", "./docs"]`:                                   nil,
		`"command": "uvx", "args": ["--python", "3.12", "--from", "./srv", "serve", "docs"]`:           {"3.12", "srv"},
		`"command": "/bin/uvx", "args": ["--from=file:./srv", "serve"]`:                                {"--from=file:./srv", "file:./srv", "srv"},
		`"command": "uv", "args": ["run", "--project", "srv", "serve"]`:                                {"srv"},
		`"command": "mcp-files", "args": ["docs", "."]`:                                                nil,
		`"command": "/usr/bin/mcp", "args": ["/etc/hosts", "../other/x.py", "serve"]`:                  nil,
		`"url": "https://example.com/srv/s.py"`:                                                        nil,
	} {
		all := map[string]string{".cassidy/mcp.json": `{"mcpServers": {"wrong": {"command": 1}, "s": {` + line + "}}}"}
		for name, text := range files {
			all[name] = text
		}
		p := project(t, all)
		targets, err := p.Targets([]string{"."})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, target := range targets {
			name := target.Path
			if c := target.Code; c != nil {
				name = path.Join(name, map[bool]string{false: "*", true: "**"}[c.Deep]+c.Ends[0])
			}
			got = append(got, name)
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s: the targets are %q, want %q", line, got, want)
		}
	}
}

// TestModules checks which files an interpreter could load from the root of a project, and that a server with a folder of its
// own protects nothing else.
func TestModules(t *testing.T) {
	t.Parallel()
	files := map[string]string{"srv/s.py": "", "main.py": "import space.x\n", "pkg/__init__.py": "", "pkg/sub/a.py": "", "src/a.py": "", "space/x.py": "", "space/data.csv": "", "web/index.js": "", "index.mjs": "", "__pycache__/main.cpython-312.pyc": ""}
	for line, paths := range map[string]map[string]bool{
		`"command": "python3", "args": ["-m", "pkg"]`: {"re.py": true, "RE.PY": true, "json.so": true, "x.pyc": true, "json/__init__.py": true, "json/__init__.pyc": true, "main.py": true, "pkg/new.py": true, "pkg/sub/new.pyc": true, "__pycache__/re.cpython-312.pyc": true,
			"space/new.py": true, "space/new.csv": false, "src/a.py": false, "src/sub/__init__.py": false, "notes.md": false, "data/x.csv": false, "re.js": false, "web/new.js": false},
		`"command": "python3", "args": ["main.py"]`:    {"re.py": true, "json/__init__.py": true, "pkg/new.py": true, "src/a.py": false, "notes.md": false},
		`"command": "python3", "args": ["srv/s.py"]`:   {"srv/new.py": true, "re.py": false, "json/__init__.py": false, "src/a.py": false, "notes.md": false, "data/x.csv": false, "main.py": false, "pkg/sub/a.py": false},
		`"command": "node", "args": ["--eval", "x"]`:   {"new.mjs": true, "index.mjs": true, "web/index.js": true, "lib/index.ts": true, "web/new.js": false, "re.py": false, "package.md": false},
		`"command": "x", "env": {"PATH": ".:/bin"}`:    {"git": true, "x.sh": true, "notes.md": false, "bin/git": false},
		`"command": "x", "env": {"PYTHONPATH": "lib"}`: {"lib": true, "lib/json.py": true, "lib/a/b.txt": true, "json.py": false},
	} {
		all := map[string]string{".cassidy/mcp.json": `{"mcpServers": {"s": {` + line + "}}}"}
		for name, text := range files {
			all[name] = text
		}
		p := project(t, all)
		for at, want := range paths {
			hit, target, err := p.Find([]string{at}, func(a, b string) bool { return a == b })
			if err != nil || (hit != "") != want {
				t.Errorf("%s: %s: %q by %v, %v, want protected: %v", line, at, hit, target, err, want)
			}
		}
	}
}

// TestSafe checks which programs are kept from loading code from the folder in which they start.
func TestSafe(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"pkg/__init__.py": "", "one.py": "", "srv/own.py": ""})
	for _, tt := range []struct {
		of   Program
		want bool
	}{
		{Program{Command: "python3", Args: []string{"-m", "mcp_server_time"}}, true},
		{Program{Command: "/usr/bin/python3.12", Args: []string{"-u", "-mmcp_server_time", "--tz", "x"}}, true},
		{Program{Command: "python3", Args: []string{"-m", "own"}}, true},
		{Program{Command: "python3", Args: []string{"-m", "own"}, Dir: "srv"}, false},
		{Program{Command: "python3", Args: []string{"-m", "pkg.sub"}}, false},
		{Program{Command: "python3", Args: []string{"-mone"}}, false},
		{Program{Command: "python3", Args: []string{"-c", "import x"}}, false},
		{Program{Command: "python3", Args: []string{"one.py", "-m", "x"}}, false},
		{Program{Command: "sh", Args: []string{"-c", "python3 -m mcp_server_time"}}, false},
		{Program{Command: "node", Args: []string{"-m", "x"}}, false},
		{Program{Command: "python3", Args: []string{"-m", "x"}, Env: map[string]string{"PYTHONSAFEPATH": ""}}, false},
	} {
		if got := p.Safe(&tt.of) != ""; got != tt.want {
			t.Errorf("%v: %v, want %v", tt.of, got, tt.want)
		}
	}
}

// TestServersOfTheUser checks that the user's own list of servers protects what it starts.
func TestServersOfTheUser(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"../home/mcp.json": `{"mcpServers": {"s": {"command": "python3", "args": ["-m", "pkg"]}, "t": {"command": "srv/t"}}}`, "srv/t": "", "pkg/__init__.py": ""})
	for _, servers := range []string{"", path.Join(p.Bases[0], "../home/mcp.json"), path.Join(p.Bases[0], "../home/none.json")} {
		p.Servers = servers
		for _, at := range []string{"re.py", "srv/t"} {
			hit, _, err := p.Find([]string{at}, func(a, b string) bool { return a == b })
			if want := strings.HasSuffix(servers, "mcp.json"); err != nil || (hit != "") != want {
				t.Errorf("with the list %q, %s: %q, %v", servers, at, hit, err)
			}
		}
	}
}

// TestTargetsFromAbove has the project in a repository that leads into it. A name that
// begins with ../ is of a file beside the project.
func TestTargetsFromAbove(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", map[string]string{"f": "", "../.git/HEAD": "ref: x", "../.git/config": "[core]\n\tbare = false\n", "../.git/hooks/pre-commit": "x"}, nil},
		{"settings", map[string]string{"../.git/config": "[core]\n\thooksPath = project/hk\n\tfsmonitor = ./project/ci/watch 2\n[include]\n\tpath = ../project/more.cfg\n[include]\n\tpath = other\n",
			"more.cfg": "[core]\nhooksPath = project/other\n[include]\npath = less.cfg\n", "../.git/other": "[core]\nhooksPath = ROOT/abs\n"}, []string{"abs", "ci/watch", "ci/watch 2", "hk", "less.cfg", "more.cfg", "other"}},
		{"a link", map[string]string{"../.git": "->project/meta", "meta/config": "[core]\nhooksPath = project/hk\n"}, []string{"hk", "meta", "meta/config"}},
		{"a file", map[string]string{"../.git": "gitdir: project/meta\n", "meta/commondir": "../common", "common/config": "[core]\nhooksPath = project/hk\n"},
			[]string{"common", "common/config", "common/config.worktree", "common/hooks", "hk", "meta", "meta/config", "meta/config.worktree", "meta/hooks"}},
		{"links to hooks", map[string]string{"../.git/hooks/pre-commit": "->../../project/ci/hook", "ci/hook": "x", "../.git/hooks/post-commit": "->../../project/late"}, []string{"ci/hook", "late"}},
		{"a linked folder of hooks", map[string]string{"../.git/config": "[core]\nhooksPath = hk\n", "../hk": "->project/a", "a": "->b", "b/": ""}, []string{"b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			targets, err := project(t, tt.files).Targets([]string{"."})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, target := range targets {
				got = append(got, target.Path)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("the targets are %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTargetsOfUser has settings of the user and of the system, which name files of the project.
func TestTargetsOfUser(t *testing.T) {
	t.Parallel()
	home, xdg := map[string]string{"HOME": "ROOT/../home"}, map[string]string{"HOME": "ROOT/../home", "XDG_CONFIG_HOME": "ROOT/../xdg"}
	for _, tt := range []struct {
		name  string
		env   map[string]string
		files map[string]string
		want  []string
	}{
		{"nothing", home, map[string]string{"../home/.gitconfig": "[user]\nname = a/b\n", "f": ""}, nil},
		{"the user's", home, map[string]string{"../home/.gitconfig": "[core]\nhooksPath = .githooks\n", "f": ""}, []string{".githooks"}},
		{"the other place", home, map[string]string{"../home/.config/git/config": "[core]\nfsmonitor = ci/watch\n", "f": ""}, []string{"ci/watch"}},
		{"XDG", xdg, map[string]string{"../xdg/git/config": "[core]\nhooksPath = ROOT/hk\n", "f": ""}, []string{"hk"}},
		{"the system's", map[string]string{"GIT_CONFIG_SYSTEM": "ROOT/../etc", "HOME": "ROOT/../home"}, map[string]string{"../etc": "[alias]\nx = !ci/x\n", "f": ""}, []string{"ci/x"}},
		{"another one", map[string]string{"GIT_CONFIG_GLOBAL": "ROOT/../g", "HOME": "ROOT/../home"}, map[string]string{"../g": "[core]\nhooksPath = a\n", "../home/.gitconfig": "[core]\nhooksPath = b\n", "f": ""}, []string{"a"}},
		{"included", home, map[string]string{"../home/.gitconfig": "[include]\npath = more\n[includeIf \"gitdir:~/x/\"]\npath = ~/less\n", "../home/more": "[core]\nhooksPath = a\n[include]\npath = ../project/in.cfg\n", "../home/less": "[core]\neditor = ./b\n", "in.cfg": "[core]\nhooksPath = c\n"}, []string{"a", "b", "c", "in.cfg"}},
		{"included by the repository", home, map[string]string{".git/config": "[include]\npath = ~/more\n", "../home/more": "[core]\nhooksPath = a\n"}, []string{"a"}},
		{"the home folder", home, map[string]string{"../home/.gitconfig": "[core]\nhooksPath = ~/../project/hk\nfsmonitor = ~/../project/fs --x\n", "f": ""}, []string{"fs", "fs --x", "hk"}},
		{"the project is the home folder", map[string]string{"HOME": "ROOT"}, map[string]string{".gitconfig": "[core]\nhooksPath = hk\n"}, []string{".config/git/config", ".gitconfig", "hk"}},
		{"a link", home, map[string]string{"../home/.gitconfig": "->../project/dot/git", "dot/git": "[core]\nhooksPath = hk\n"}, []string{"dot/git", "hk"}},
		{"a repository below", home, map[string]string{"../home/.gitconfig": "[core]\nhooksPath = hk\n", "sub/.git/HEAD": "", "sub/f": ""}, []string{"hk", "sub/hk"}},
		{"a repository above", home, map[string]string{"../home/.gitconfig": "[core]\nhooksPath = project/hk\n", "../.git/HEAD": "", "f": ""}, []string{"hk", "project/hk"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := project(t, tt.files)
			p.Env = func(name string) string {
				if v := strings.ReplaceAll(tt.env[name], "ROOT", p.Bases[0]); v != "" || name != "GIT_CONFIG_SYSTEM" {
					return v
				}
				return "/nothing" // not that of this machine
			}
			targets, err := p.Targets([]string{".", "sub"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, target := range targets {
				got = append(got, target.Path)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("the targets are %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTargetsOfFree leaves out what the user's config lists.
func TestTargetsOfFree(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"AGENTS.md": "->docs/a.md", "CLAUDE.md": "->docs/c.md"})
	p.Free = []string{"AGENTS.md"}
	targets, err := p.Targets([]string{"."})
	if err != nil || len(targets) != 2 || targets[0].Path != "CLAUDE.md" || targets[1].Path != "docs/c.md" {
		t.Errorf("the targets are %v, %v, want those of CLAUDE.md", targets, err)
	}
}

func TestTargetsOfFolders(t *testing.T) {
	p := project(t, map[string]string{"sub/.cassidy": "->conf", "sub/CASSIDY.md": "->n.md", "other/CASSIDY.md": "->n.md", "other/.git": "gitdir: ../meta"})
	targets, err := p.Targets([]string{"sub", "other", "missing", "."})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range targets {
		got = append(got, target.Of+" > "+target.Path)
	}
	if want := []string{"sub/.cassidy > sub/.cassidy", "sub/.cassidy > sub/conf", "sub/CASSIDY.md > sub/CASSIDY.md", "sub/CASSIDY.md > sub/n.md", "other/.git > meta"}; !slices.Equal(got, want) {
		t.Errorf("the targets are %q, want %q", got, want)
	}
}

func TestCovers(t *testing.T) {
	same := func(a, b string) bool { return strings.EqualFold(a, b) }
	for _, tt := range []struct {
		target, path string
		want         bool
	}{
		{"conf", "conf", true}, {"conf", "conf/tools/x", true}, {"conf", "CONF/x", true}, {"conf", "config", false}, {"conf", "a/conf", false}, {"a/b", "a", false}, {".", "x", true},
	} {
		if got := (&Target{Path: tt.target}).Covers(tt.path, same); got != tt.want {
			t.Errorf("%s covers %s = %v, want %v", tt.target, tt.path, got, tt.want)
		}
	}
}

func TestRepository(t *testing.T) {
	for _, tt := range []struct {
		names string
		want  bool
	}{
		{"HEAD objects refs", true}, {"HEAD commondir", true}, {"HEAD objects", false}, {"objects refs config", false}, {"", false},
	} {
		if got := Repository(func(name string) bool { return slices.Contains(strings.Fields(tt.names), name) }); got != tt.want {
			t.Errorf("a folder with %s is a repository: %v, want %v", tt.names, got, tt.want)
		}
	}
}

// TestNames checks which other names a path has by links, and by identity.
func TestNames(t *testing.T) {
	files := map[string]string{
		"priv/k": "x", "priv/deep/k": "x", "lnk": "->priv", "two": "->lnk", "sub/in": "->../priv/deep", "outer": "->sub",
		"round": "->.", "gone": "->nothing", "out": "->../elsewhere", "KEY": "x", ".git/x": "->../priv",
	}
	for _, tt := range []struct {
		pattern, at string
		want        []string
		fold        bool
	}{
		{"lnk/**", "priv/k", []string{"lnk/k"}, false},
		{"two", "priv/k", []string{"two/k"}, false},
		{"sub/in/k", "priv/deep/k", []string{"sub/in/k"}, false},
		{"outer/in/*", "priv/deep/k", []string{"outer/in/k"}, false},
		{"outer/*/k", "priv/deep/k", []string{"outer/in/k", "sub/in/k"}, false},
		{"sub/*/k", "priv/deep/k", []string{"sub/in/k"}, false},
		{"gone/x", "nothing/x", []string{"gone/x"}, true},
		{"gone/x", "NOTHING/X", []string{"gone/X", "gone/x"}, true},
		{"key", "KEY", []string{"key"}, true}, // a hard link, which is what a system that ignores case has
		{"out/x", "priv/k", nil, false},
		{"priv/**", "priv/k", nil, false},
		{".git/**", "priv/k", nil, false},
	} {
		p := project(t, files)
		if err := p.Root.Link("KEY", "key"); err != nil {
			t.Fatal(err)
		}
		names, fold := p.Names().Of(tt.pattern, tt.at, false)
		for _, want := range tt.want {
			if !slices.Contains(names, want) {
				t.Errorf("the names of %s for %s: %q, want %q among them", tt.at, tt.pattern, names, want)
			}
		}
		if names = slices.DeleteFunc(names, func(n string) bool { return n == tt.at }); tt.want == nil && len(names) > 0 || fold() != tt.fold {
			t.Errorf("the names of %s for %s: %q, fold %v, want %q, %v", tt.at, tt.pattern, names, fold(), tt.want, tt.fold)
		}
	}
	if names, _ := project(t, files).Names().Of("**/round/**", "priv/k", false); len(names) < 2 || len(names) >= maxNames {
		t.Errorf("links in a circle: %d names", len(names))
	}
}

// TestNamesOfOpened checks which other names a path has that was opened with links in it.
func TestNamesOfOpened(t *testing.T) {
	p := project(t, map[string]string{
		"inbox/mail.txt": "x", "inbox/deep/b.txt": "x", "notes/a.txt": "x", "link.txt": "->inbox/mail.txt", "box": "->inbox", "two": "->box",
		"gone": "->inbox/nothing", "abs": "->ROOT/inbox", "out": "->../elsewhere", "round": "->round",
	})
	for to, from := range map[string]string{"hard.txt": "inbox/mail.txt", "notes/deep.txt": "inbox/deep/b.txt"} {
		if err := p.Root.Link(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		pattern, at string
		want        []string // the first one, and others
	}{
		{"inbox/**", "link.txt", []string{"inbox/mail.txt"}},
		{"inbox/**", "box/mail.txt", []string{"inbox/mail.txt"}},
		{"inbox/**", "two/deep/b.txt", []string{"inbox/deep/b.txt"}},
		{"inbox/**", "abs/mail.txt", []string{"inbox/mail.txt"}},
		{"inbox/**", p.Bases[0] + "/box/mail.txt", []string{"inbox/mail.txt"}},
		{"inbox/**", "box", []string{"inbox"}},
		{"inbox/**", "gone", []string{"inbox/nothing"}},
		{"inbox/**", "hard.txt", []string{"hard.txt", "inbox/mail.txt"}},
		{"inbox/*/*.txt", "notes/deep.txt", []string{"notes/deep.txt", "inbox/deep/b.txt"}},
		{"inbox/mail.txt", "hard.txt", []string{"hard.txt", "inbox/mail.txt"}},
		{"**/*.txt", "hard.txt", []string{"hard.txt", "inbox/mail.txt"}},
		{"box/**", "inbox/mail.txt", []string{"inbox/mail.txt", "box/mail.txt"}},
		{"box/**", "hard.txt", []string{"hard.txt", "inbox/mail.txt", "box/mail.txt"}},
		{"inbox/**", "notes/a.txt", []string{"notes/a.txt"}},
		{"inbox/**", ".", []string{"."}},
		{"inbox/**", "out", nil},
		{"inbox/**", "round", nil},
	} {
		names, _ := p.Names().Of(tt.pattern, tt.at, true)
		for i, want := range tt.want {
			if at := slices.Index(names, want); at < 0 || i == 0 && at > 0 {
				t.Errorf("the names of %s for %s: %q, want %q among them, and the first one first", tt.at, tt.pattern, names, tt.want)
			}
		}
		if tt.want == nil && names != nil {
			t.Errorf("the names of %s for %s: %q, want none", tt.at, tt.pattern, names)
		}
	}
}
