package servers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestProgram checks that the program of a server gets its name as the entry has it.
func TestProgram(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		".venv/bin/python": filepath.Join(root, "sub/.venv/bin/python"), "/usr/bin/python3": "/usr/bin/python3", "sh": "/bin/sh",
	} {
		o := &Options{Root: root, Scope: &trust.Scope{}, Env: func(name string) (string, bool) { return "/bin", name == "PATH" }}
		var got *tool.Process
		o.Launch = func(_ context.Context, p *tool.Process) (int, error) {
			got = p
			return 0, nil
		}
		e := &Entry{Found: mcpfile.Found{Server: mcpfile.Server{Name: "s", Command: command, Dir: "sub"}}}
		if _, err := o.launch(t.Context(), e, &tool.Process{}); err != nil || got.Path != want || got.Name != command {
			t.Errorf("%s: %v, %+v, want the path %s", command, err, got, want)
		}
	}
}

// TestExplain checks which folder a server is said to need, by what it has written.
func TestExplain(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"node/bin/server", "node/lib/node_modules/sdk/mcp.js", "scripts/s.py", "home/.ssh/id", "home/bin/own", "project/x.js"} {
		path := filepath.Join(base, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in := func(text string) string { return strings.ReplaceAll(text, "BASE", base) }
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"PATH": in("BASE/node/bin"), "HOME": in("BASE/home"), "KEY": "k"}[name]
		return v, ok
	}
	o := &Options{Root: in("BASE/project"), Scope: &trust.Scope{Home: in("BASE/home/.cassidy")}, Env: env}
	const nodeHint = "the server could not read BASE/node: to allow this, type: cassidy mcp add s --replace --read BASE/node -- server '--key=a b'"
	node := mcpfile.Server{Command: "server", Args: []string{"--key=a b"}}
	for _, test := range []struct {
		name   string
		server mcpfile.Server
		output string
		want   string
	}{
		{"an ancestor", node, "Error: EACCES: permission denied, lstat 'BASE'\n    at realpath\nNode.js v24", nodeHint},
		{"a module", node, "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'BASE/node/lib/node_modules/sdk/mcp.js' imported from x", nodeHint},
		{"no path", node, "env: 'node': Permission denied", nodeHint},
		{"flags", mcpfile.Server{Command: "server", Env: []mcpfile.Pair{{Name: "KEY", Value: "${KEY}"}}, Read: []string{"../scripts"}, Network: true}, "env: 'node': Permission denied",
			"the server could not read BASE/node: to allow this, type: cassidy mcp add s --replace --env KEY --read ../scripts --read BASE/node --network -- server"},
		{"an entry that no command writes", mcpfile.Server{Command: "server", TrustAnnotations: true}, "env: 'node': Permission denied",
			"the server could not read BASE/node: add this folder to read in its entry in mcp.json"},
		{"an argument", mcpfile.Server{Command: "server", Args: []string{"BASE/scripts/s.py"}}, "can't open file 'BASE/scripts/s.py': [Errno 13] Permission denied",
			"the server could not read BASE/scripts: to allow this, type: cassidy mcp add s --replace --read BASE/scripts -- server BASE/scripts/s.py"},
		{"a file of the user", node, "EACCES: permission denied, open 'BASE/home/.ssh/id'", ""},
		{"a program in the home folder", mcpfile.Server{Command: "BASE/home/bin/own"}, "own: Permission denied", ""},
		{"what it may read", mcpfile.Server{Command: "server", Read: []string{"../node"}}, "EACCES 'BASE/node/lib'", ""},
		{"another error", node, "TypeError: BASE/node is wrong", ""},
	} {
		s := test.server
		s.Name, s.Command = "s", in(s.Command)
		s.Args = nil
		for _, arg := range test.server.Args {
			s.Args = append(s.Args, in(arg))
		}
		e := &Entry{Found: mcpfile.Found{Server: s}, base: o.Root}
		if got := o.explain(e, in(test.output)); got != in(test.want) {
			t.Errorf("%s: %s\nwant %s", test.name, got, in(test.want))
		}
	}
}
