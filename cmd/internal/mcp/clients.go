package mcp

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/internal/yaml"
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
	// next returns what to do after the file is written, in lines. A line that begins with a tab is to be copied.
	next func(server string) []string
	// byUser returns the command of a client without user, which adds the server to the user's settings.
	byUser func(server string, entry *value.Dict) string
}

// A form is how the settings of a client name a server.
type form struct {
	format format
	path   []string // the keys to the servers
	// entry returns the fields of a server that say what is started; env is nil if nothing is to be set.
	entry func(command string, args []string, env *value.Dict) *value.Dict
	// more are further fields of a new entry. The user may have chosen other values since.
	more *value.Dict
}

// A format is the language of a file of settings.
type format uint8

const (
	jsonFile format = iota // which may have comments
	tomlFile               // servers are tables
	yamlFile               // servers are in a list, each with its name
)

// callTimeout is how long clients wait for a call by the entries that install writes, in seconds, if a client can be told. Their
// own limit is often a minute, which ends a call that waits for an approval.
const callTimeout = 120

// clients returns the clients that install knows. Their forms are those of their documentation,
// read in November 2026: code.claude.com/docs/mcp, modelcontextprotocol.io/docs/develop/connect-local-servers,
// cursor.com/docs/context/mcp, code.visualstudio.com/docs/copilot/chat/mcp-servers,
// zed.dev/docs/ai/mcp, developers.openai.com/codex/mcp, opencode.ai/docs/mcp-servers,
// github.com/google-gemini/gemini-cli, github.com/QwenLM/qwen-code, docs.cline.bot/mcp and docs.continue.dev/customize/deep-dives/mcp.
// make clients runs those that npm has.
func (c *command) clients() []mcpClient {
	plain := form{path: []string{"mcpServers"}, entry: plainEntry}
	typed := form{path: []string{"mcpServers"}, entry: typedEntry("type", "stdio")}
	return []mcpClient{
		{"claude-code", "Claude Code", ".mcp.json", "", typed, claudeNext, claudeAdd},
		{"claude-desktop", "Claude Desktop", "", c.configFile("Claude", "claude_desktop_config.json"), plain, lines("restart Claude Desktop"), nil},
		{"cursor", "Cursor", ".cursor/mcp.json", "~/.cursor/mcp.json", typed, lines("switch the server on in the settings of Cursor, under MCP"), nil},
		{"vscode", "VS Code", ".vscode/mcp.json", "", form{path: []string{"servers"}, entry: typedEntry("type", "stdio")}, lines("start the server in VS Code: MCP: List Servers"), codeAdd},
		{"zed", "Zed", ".zed/settings.json", "~/.config/zed/settings.json", form{path: []string{"context_servers"}, entry: typedEntry("source", "custom")}, lines("the server is in the settings of Zed's agent panel"), nil},
		{"codex", "Codex", "", "~/.codex/config.toml", form{format: tomlFile, path: []string{"mcp_servers"}, entry: plainEntry, more: value.NewDict("startup_timeout_sec", 10, "tool_timeout_sec", callTimeout)}, codexNext, nil},
		{"opencode", "opencode", "opencode.json", "~/.config/opencode/opencode.json", form{path: []string{"mcp"}, entry: opencodeEntry, more: value.NewDict("enabled", true, "timeout", callTimeout*1000)}, lines("restart opencode"), nil},
		{"gemini", "Gemini CLI", ".gemini/settings.json", "~/.gemini/settings.json", plain, geminiNext, nil},
		{"qwen", "Qwen Code", ".qwen/settings.json", "~/.qwen/settings.json", plain, qwenNext, nil},
		{"cline", "Cline", "", "~/.cline/data/settings/cline_mcp_settings.json", form{path: []string{"mcpServers"}, entry: clineEntry, more: value.NewDict("timeout", callTimeout)}, lines("restart Cline"), nil},
		{"continue", "Continue", ".continue/mcpServers/cassidy.yaml", "~/.continue/config.yaml", form{format: yamlFile, path: []string{"mcpServers"}, entry: typedEntry("type", "stdio")}, lines("restart Continue, and choose the mode Agent, since it has no tools in the others; the command line cn reads only the file with --user"), nil},
	}
}

// lines returns the next steps of a client for which the name of the server does not matter.
func lines(list ...string) func(string) []string { return func(string) []string { return list } }

func claudeNext(server string) []string {
	return []string{"start claude in this folder, and approve the server; claude -p can call its tools only with:", "\t--allowedTools mcp__" + server}
}

func codexNext(server string) []string {
	return []string{"restart Codex; codex exec can call the tools only if the table [mcp_servers." + server + "] of the file has the following line, and cassidy still asks:", "\tdefault_tools_approval_mode = \"approve\""}
}

func geminiNext(string) []string {
	return []string{"start gemini, and trust this folder: elsewhere it ignores MCP servers. gemini -p can call the tools only if the entry has the following line too, and cassidy still asks:", "\t\"trust\": true"}
}

func qwenNext(string) []string {
	return []string{"restart qwen; qwen -p can call the tools only if the entry has the following line too, and cassidy still asks:", "\t\"trust\": true"}
}

// claudeAdd returns the command of Claude Code that adds a server.
func claudeAdd(server string, entry *value.Dict) string {
	words := []string{"claude", "mcp", "add", "--scope", "user", server} // --env takes all words up to the next option
	for name, v := range entry.Dict("env").OrEmpty().All() {
		words = append(words, "--env", hint.ShellQuote(fmt.Sprintf("%v=%v", name, v)))
	}
	words = append(words, "--", hint.ShellQuote(entry.Text("command")))
	for _, arg := range entry.Elements("args") {
		words = append(words, hint.ShellQuote(arg.(string)))
	}
	return strings.Join(words, " ")
}

// codeAdd returns the command of VS Code that adds a server.
func codeAdd(server string, entry *value.Dict) string {
	return "code --add-mcp " + hint.ShellQuote(value.FormatJSON(named(server, entry), ""))
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

func plainEntry(command string, args []string, env *value.Dict) *value.Dict {
	return withEnv(value.NewDict("command", command, "args", texts(args)), "env", env)
}

// typedEntry returns the form of an entry with a field that says how the server is reached.
func typedEntry(field, kind string) func(string, []string, *value.Dict) *value.Dict {
	return func(command string, args []string, env *value.Dict) *value.Dict {
		return withEnv(value.NewDict(field, kind, "command", command, "args", texts(args)), "env", env)
	}
}

func opencodeEntry(command string, args []string, env *value.Dict) *value.Dict {
	return withEnv(value.NewDict("type", "local", "command", texts(append([]string{command}, args...))), "environment", env)
}

func clineEntry(command string, args []string, env *value.Dict) *value.Dict {
	return value.NewDict("transport", typedEntry("type", "stdio")(command, args, env))
}

func withEnv(entry *value.Dict, field string, env *value.Dict) *value.Dict {
	if env.Len() > 0 {
		entry.Put(field, env)
	}
	return entry
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
	entry = f.complete(entry)
	switch f.format {
	case tomlFile:
		return tomlTable(f.path[0]+"."+server, entry)
	case yamlFile:
		text, _ := yaml.Format(f.around(value.List{named(server, entry)})) // texts and numbers can be written
		return text
	}
	return value.FormatJSON(f.around(value.NewDict(server, entry)), "  ") + "\n"
}

// complete returns an entry with the fields of a new one.
func (f *form) complete(entry *value.Dict) *value.Dict {
	all := &value.Dict{}
	for _, d := range []*value.Dict{entry, f.more} {
		for k, v := range d.OrEmpty().All() {
			all.Put(k.(string), v)
		}
	}
	return all
}

// around returns the settings with servers and nothing else.
func (f *form) around(servers value.Value) *value.Dict {
	for _, key := range slices.Backward(f.path) {
		servers = value.NewDict(key, servers)
	}
	return servers.(*value.Dict)
}

// named returns an entry of a list, which begins with its name.
func named(server string, entry *value.Dict) *value.Dict {
	d := value.NewDict("name", server)
	for k, v := range entry.All() {
		d.Put(k.(string), v)
	}
	return d
}
