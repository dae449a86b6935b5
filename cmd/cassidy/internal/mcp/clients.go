package mcp

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/calls"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A mcpClient is a program that starts MCP servers, and the form of its settings.
type mcpClient struct {
	name  string // as the user types it
	title string
	// project and user are the file of its settings in a project and in the user's home; ""
	// means that it has none.
	project, user string
	form          form
	then          string // what to do after the file is written
	// byUser returns the command of a client without user, which adds the server to the user's settings.
	byUser func(server string, entry *value.Dict) string
}

// A form is how the settings of a client name a server.
type form struct {
	path  []string // the keys to the object of servers
	toml  bool
	env   string // the key of the environment
	entry func(command string, args []string) *value.Dict
}

// clients returns the clients that install knows. Their forms are those of their documentation,
// read in November 2026: code.claude.com/docs/mcp, modelcontextprotocol.io/docs/develop/connect-local-servers,
// cursor.com/docs/context/mcp, code.visualstudio.com/docs/copilot/chat/mcp-servers,
// zed.dev/docs/ai/mcp, developers.openai.com/codex/mcp, opencode.ai/docs/mcp-servers and
// github.com/google-gemini/gemini-cli.
func (c *command) clients() []mcpClient {
	plain := form{path: []string{"mcpServers"}, env: "env", entry: plainEntry}
	typed := form{path: []string{"mcpServers"}, env: "env", entry: typedEntry}
	return []mcpClient{
		{"claude-code", "Claude Code", ".mcp.json", "", typed, "start claude in this folder, and approve the server", claudeAdd},
		{"claude-desktop", "Claude Desktop", "", c.configFile("Claude", "claude_desktop_config.json"), plain, "restart Claude Desktop", nil},
		{"cursor", "Cursor", ".cursor/mcp.json", "~/.cursor/mcp.json", typed, "switch the server on in the settings of Cursor, under MCP", nil},
		{"vscode", "VS Code", ".vscode/mcp.json", "", form{path: []string{"servers"}, env: "env", entry: typedEntry}, "start the server in VS Code: MCP: List Servers", codeAdd},
		{"zed", "Zed", ".zed/settings.json", "~/.config/zed/settings.json", form{path: []string{"context_servers"}, env: "env", entry: zedEntry}, "the server is in the settings of Zed's agent panel", nil},
		{"codex", "Codex", "", "~/.codex/config.toml", form{path: []string{"mcp_servers"}, toml: true, env: "env", entry: codexEntry}, "restart Codex", nil},
		{"opencode", "opencode", "opencode.json", "~/.config/opencode/opencode.json", form{path: []string{"mcp"}, env: "environment", entry: opencodeEntry}, "restart opencode", nil},
		{"gemini", "Gemini CLI", ".gemini/settings.json", "~/.gemini/settings.json", plain, "restart gemini", nil},
	}
}

// claudeAdd returns the command of Claude Code that adds a server.
func claudeAdd(server string, entry *value.Dict) string {
	words := []string{"claude", "mcp", "add", "--scope", "user"}
	for name, v := range entry.Dict("env").OrEmpty().All() {
		words = append(words, "--env", calls.ShellQuote(fmt.Sprintf("%v=%v", name, v)))
	}
	words = append(words, server, "--", calls.ShellQuote(entry.Text("command")))
	for _, arg := range entry.Elements("args") {
		words = append(words, calls.ShellQuote(arg.(string)))
	}
	return strings.Join(words, " ")
}

// codeAdd returns the command of VS Code that adds a server.
func codeAdd(server string, entry *value.Dict) string {
	d := value.NewDict("name", server)
	for k, v := range entry.All() {
		d.Put(k.(string), v)
	}
	return "code --add-mcp " + calls.ShellQuote(value.FormatJSON(d, ""))
}

// configFile returns a file in the folder where desktop programs keep their settings.
func (c *command) configFile(names ...string) string {
	dir := "~/.config"
	switch runtime.GOOS {
	case "darwin":
		dir = "~/Library/Application Support"
	case "windows":
		dir, _ = c.Env("APPDATA")
	}
	return filepath.Join(append([]string{dir}, names...)...)
}

func plainEntry(command string, args []string) *value.Dict {
	return value.NewDict("command", command, "args", texts(args))
}

func typedEntry(command string, args []string) *value.Dict {
	return value.NewDict("type", "stdio", "command", command, "args", texts(args))
}

func zedEntry(command string, args []string) *value.Dict {
	return value.NewDict("source", "custom", "command", command, "args", texts(args))
}

// codexEntry has the timeouts of Codex, whose defaults end a call that waits for an approval.
func codexEntry(command string, args []string) *value.Dict {
	return value.NewDict("command", command, "args", texts(args), "startup_timeout_sec", 10, "tool_timeout_sec", 120)
}

func opencodeEntry(command string, args []string) *value.Dict {
	return value.NewDict("type", "local", "command", texts(append([]string{command}, args...)), "enabled", true)
}

func texts(list []string) value.List {
	out := make(value.List, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// snippet returns the part of the settings that names the server.
func (f *form) snippet(server string, entry *value.Dict) string {
	if f.toml {
		return tomlTable(f.path[0]+"."+server, entry)
	}
	d := value.NewDict(server, entry)
	for i := len(f.path) - 1; i >= 0; i-- {
		d = value.NewDict(f.path[i], d)
	}
	return value.FormatJSON(d, "  ") + "\n"
}

// tomlTable returns a table of TOML, and after it the tables in it. Texts and lists of texts are
// written as JSON has them, which is valid TOML.
func tomlTable(name string, d *value.Dict) string {
	var b, inner strings.Builder
	b.WriteString("[" + name + "]\n")
	for k, v := range d.All() {
		if table, ok := v.(*value.Dict); ok {
			inner.WriteString("\n" + tomlTable(name+"."+k.(string), table))
			continue
		}
		b.WriteString(k.(string) + " = " + value.FormatJSON(v, "") + "\n")
	}
	return b.String() + inner.String()
}
