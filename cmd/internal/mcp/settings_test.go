package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// testForms are the forms of the three formats.
var testForms = map[string]form{
	"json": {path: []string{"mcpServers"}, entry: plainEntry},
	"toml": {format: tomlFile, path: []string{"mcp_servers"}, entry: plainEntry, more: value.NewDict("tool_timeout_sec", 120)},
	"yaml": {format: yamlFile, path: []string{"mcpServers"}, entry: plainEntry},
}

// TestUnusualSettings has files that cannot be changed, and says why in a line.
func TestUnusualSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format, text, want string
		unclear            bool
	}{
		{"json", `{"mcpServers": {`, "it is not valid JSON: line 1, column 17", false},
		{"json", `{"a" 1}`, "it is not valid JSON: line 1, column 6", false},
		{"json", `[]`, "it is not an object of JSON", false},
		{"json", `{"mcpServers": null}`, "its field mcpServers is not an object", true},
		{"json", `// nothing`, "it is not valid JSON", false},
		{"toml", "model = \n", "it is not valid TOML: line 1", false},
		{"toml", "a = 1\nmodel = \"x\nb = 2\n", "it is not valid TOML: line 2", false},
		{"toml", "a = [1, 2\n", "it is not valid TOML: line 2", false},
		{"toml", "a = 1 b = 2\n", "it is not valid TOML: line 1", false},
		{"toml", "[a\n", "it is not valid TOML: line 1", false},
		{"toml", "a = '''x", "it is not valid TOML: line 1", false},
		{"toml", "a = \"x\\", "it is not valid TOML: line 1", false},
		{"toml", "a = 1.2.3\n", "it is not valid TOML: line 1", false},
		{"toml", "mcp_servers = {}\n", "in another form", true},
		{"toml", "mcp_servers.cassidy.command = \"x\"\n", "in another form", true},
		{"toml", "[mcp_servers]\ncassidy = {command = \"x\"}\n", "in another form", true},
		{"toml", "[mcp_servers.cassidy.env]\nA = \"1\"\n", "in another form", true},
		{"toml", "[[mcp_servers]]\na = 1\n", "in another form", true},
		{"toml", "[mcp_servers.cassidy]\nurl = \"http://127.0.0.1\"\n", "has no command", true},
		{"toml", "[mcp_servers.cassidy]\ncommand = \"x\"\nenv = {A = \"1\"}\n", "mcp_servers.cassidy.env in another form", true},
		{"yaml", "a: [", "it is not valid YAML", false},
		{"yaml", "- a", "it is not a mapping of YAML", false},
		{"yaml", "mcpServers: {}", "its field mcpServers is not a list", true},
		{"yaml", "mcpServers:\n  - name: x # mine\n    command: y\n", "a comment in its field mcpServers would be lost", true},
	} {
		f := testForms[test.format]
		_, err := f.edited(test.text, serverName, f.entry("/bin/cassidy", []string{"mcp", "serve"}, value.NewDict("CASSIDY_HOME", "/x")))
		var unclear unclearError
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || errors.As(err, &unclear) != test.unclear {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
}

// TestTOML reads what the language has, and changes only the table of the server.
func TestTOML(t *testing.T) {
	t.Parallel()
	const before = `# first
"quoted key" = 'a literal' # comment
a.b . "c d" = """
several [lines]
with \""" = quotes""""
d = 2026-11-30 10:00:00Z
e = [ 1, [ "x", 'y' ], # a comment
  { f = 1, g = [ true ] }, ]
h = -1_000.5e+3

[mcp_servers . "cassidy"]
  command = '/old'
  args = [ 'mcp', "serve" ]
  note = """x"""
[[other]]
i = nan`
	f := testForms["toml"]
	for _, test := range []struct {
		command, want string
	}{
		{"/old", strings.Replace(before, "note = \"\"\"x\"\"\"\n", "note = \"\"\"x\"\"\"\ntool_timeout_sec = 120\n", 1)},
		{"/new", strings.Replace(strings.Replace(before, "'/old'", `"/new"`, 1), "note = \"\"\"x\"\"\"\n", "note = \"\"\"x\"\"\"\ntool_timeout_sec = 120\n", 1)},
	} {
		e, err := f.edited(before, serverName, f.entry(test.command, []string{"mcp", "serve"}, nil))
		if err != nil || e.text != test.want || !e.had || e.replaces != (test.command == "/new") {
			t.Errorf("%s: %+v, %v, want\n%s", test.command, e, err, test.want)
		}
	}
	e, err := f.edited(before, "more", f.entry("/x", nil, nil))
	if err != nil || e.text != before+"\n\n[mcp_servers.more]\ncommand = \"/x\"\nargs = []\ntool_timeout_sec = 120\n" || e.had {
		t.Errorf("another server: %+v, %v", e, err)
	}
}
