package mcp

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestForeign translates the settings of other programs. The tokens are not real.
func TestForeign(t *testing.T) {
	for _, c := range []struct{ name, settings, want string }{
		{
			"the usual form", `{"mcpServers": {"files": {"type": "stdio", "command": "npx", "args": ["-y", "pkg", "${workspaceFolder}/docs"], "env": {}}}}`,
			`files {"command": "npx", "args": ["-y", "pkg", "./docs"]}`,
		},
		{
			"VS Code, with comments", "{// mine\n \"inputs\": [], \"servers\": {\"a\": {\"type\": \"http\", \"url\": \"https://a.example/mcp\", \"headers\": {\"X-Key\": \"${input:api key}\"}},}}",
			`a {"url": "https://a.example/mcp", "headers": {"X-Key": "${A_API_KEY}"}}
the input "api key" is now the environment variable A_API_KEY`,
		},
		{
			"Cursor", `{"mcpServers": {"a": {"command": "x", "env": {"T": "${env:MY_T}"}, "envFile": ".env"}}}`,
			`a {"command": "x", "env": {"T": "${MY_T}"}}
envFile was left out`,
		},
		{
			"Zed of today", `{"theme": "One", "context_servers": {"a": {"source": "custom", "command": "x", "args": ["y"], "env": {}}}}`,
			`a {"command": "x", "args": ["y"]}`,
		},
		{
			"an older Zed", `{"context_servers": {"a": {"command": {"path": "x", "args": ["y"], "env": {"MODE": "fast"}}, "settings": {}}}}`,
			`a {"command": "x", "args": ["y"], "env": {"MODE": "fast"}}
copied as it is: MODE=fast`,
		},
		{
			"opencode", `{"mcp": {"a": {"type": "local", "command": ["x", "y"], "environment": {"T": "{env:MY_T}"}, "enabled": true}, "b": {"type": "remote", "url": "https://b.example/", "enabled": false}}}`,
			`a {"command": "x", "args": ["y"], "env": {"T": "${MY_T}"}}
b {"url": "https://b.example/"}
skipped: the entry is disabled`,
		},
		{
			"Gemini", `{"mcpServers": {"a": {"httpUrl": "https://a.example/", "timeout": 5}, "b": {"command": "x", "env": {"T": "$MY_T"}}}}`,
			`a {"url": "https://a.example/"}
timeout was left out
b {"command": "x", "env": {"T": "${MY_T}"}}`,
		},
		{
			"secrets in variables", `{"mcpServers": {"a": {"command": "x", "env": {"GITHUB_TOKEN": "abc", "OTHER": "ghp_0123456789abcdef", "DB": "postgres://u:hunter2@db/x", "PORT": 80}}}}`,
			`a {"command": "x", "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "OTHER": "${OTHER}", "DB": "${DB}", "PORT": "80"}}
the value of GITHUB_TOKEN was not copied: put it into the environment variable GITHUB_TOKEN
the value of OTHER was not copied: put it into the environment variable OTHER
the value of DB was not copied: put it into the environment variable DB
copied as it is: PORT=80`,
		},
		{
			"secrets in headers", `{"mcpServers": {"a": {"url": "https://a.example", "headers": {"Authorization": "Bearer abcdef", "X-Trace": "on"}}}}`,
			`a {"url": "https://a.example", "headers": {"Authorization": "Bearer ${A_AUTHORIZATION}", "X-Trace": "on"}}
the value of Authorization was not copied: put it into the environment variable A_AUTHORIZATION
copied as it is: X-Trace=on`,
		},
		{
			"secrets in arguments", `{"mcpServers": {"a": {"command": "x", "args": ["--api-key", "abc", "--token=def", "--header", "Authorization: Bearer abcdefgh", "sk-0123456789", "PASSWORD=hunter2", "--verbose", "y"]}}}`,
			`a {"command": "x", "args": ["--api-key", "${A_API_KEY}", "--token=${A_TOKEN}", "--header", "${A_HEADER}", "${A_SECRET_6}", "PASSWORD=${PASSWORD}", "--verbose", "y"]}`,
		},
		{
			"secrets in a URL", `{"mcpServers": {"a": {"url": "https://a.example/s/NDk4YzQ0ZDAtMGE5Yy00/mcp?mode=x&api_key=abc"}}}`,
			`a {"url": "https://a.example/s/${A_PATH_2}/mcp?mode=x&api_key=${A_API_KEY}"}`,
		},
		{"a password in a URL", `{"mcpServers": {"a": {"url": "https://u:hunter2@a.example/"}}}`, `skipped: the url of the server a is not valid`},
		{"cassidy itself", `{"mcpServers": {"cassidy": {"command": "/go/bin/cassidy", "args": ["--dir", "/p", "mcp", "serve"]}}}`, `skipped: the server is cassidy itself`},
		{"an old transport", `{"mcpServers": {"a": {"type": "sse", "url": "https://a.example/sse"}}}`, `a {"url": "https://a.example/sse", "type": "sse"}`},
		{"some tools, of Gemini", `{"mcpServers": {"a": {"command": "x", "includeTools": ["read_*"], "excludeTools": ["b"]}}}`, `a {"command": "x", "cassidy": {"include": ["read_*"], "exclude": ["b"]}}`},
		{"some tools, of Codex", `{"mcpServers": {"a": {"command": "x", "enabled_tools": ["b"]}}}`, `a {"command": "x", "cassidy": {"include": ["b"]}}`},
		{"neither", `{"mcpServers": {"a": {}}}`, `skipped: the entry has neither a command nor a url`},
		{"an unknown variable", `{"mcpServers": {"a": {"command": "${config:x}"}}}`, `skipped: cassidy has no variable ${config:x}`},
		{"a name of another form", `{"mcpServers": {"My Server__2": {"command": "x"}, "7": {"command": "x"}}}`, `my-server-2 {"command": "x"}
the name was "My Server__2"
server-7`},
		{"other types", `{"mcpServers": {"a": "x", "b": 1}, "servers": [], "mcp": null}`, ``},
		{"a list", `[]`, ``},
	} {
		list, err := readForeign(c.settings, "f")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got strings.Builder
		for _, s := range list {
			got.WriteString(s.name + " " + value.FormatJSON(s.entry, "") + "\n" + strings.Join(append(s.notes, ""), "\n"))
			if s.problem != "" {
				got.WriteString("skipped: " + s.problem + "\n")
			}
		}
		plain := strings.NewReplacer(`":"`, `": "`, `":{`, `": {`, `":[`, `": [`, `,"`, `, "`).Replace(got.String())
		if !strings.Contains(plain, c.want) || c.want == "" && plain != "" {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, plain, c.want)
		}
		for _, secret := range []string{"hunter2", "abcdef\"", "sk-01", "ghp_", `"abc"`} {
			for _, s := range list {
				if strings.Contains(value.FormatJSON(s.entry, ""), secret) && s.problem == "" {
					t.Errorf("%s: the entry has the secret %s: %s", c.name, secret, value.FormatJSON(s.entry, ""))
				}
			}
		}
	}
	if _, err := readForeign(`{`, "f"); value.KindOf(err) != value.Invalid {
		t.Errorf("readForeign of a broken file: %v", err)
	}
}

func TestIsSecret(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"TOKEN", "x", true}, {"TOKEN", "${TOKEN}", false}, {"TOKEN", "", false}, {"Authorization", "Bearer ${T}", false},
		{"Authorization", "Bearer x", true}, {"TOKEN", "${T:-real}", true}, {"MODE", "fast", false}, {"KEYBOARD", "de", false},
		{"API_KEY", "x", true}, {"apiKey", "x", true}, {"PATH", "/usr/bin:/bin", false}, {"HOME_DIR", "/home/me/projects/cassidy", false},
		{"URL", "https://a.example/path", false}, {"URL", "https://u:p@a.example", true}, {"X", "a1b2c3d4e5f6a7b8c9d0", true},
		{"PACKAGE", "@modelcontextprotocol/server-filesystem", false}, {"LOG", "info", false}, {"PATTERN", "x", false},
	} {
		if got := isSecret(c.name, c.text); got != c.want {
			t.Errorf("isSecret(%q, %q) = %v, want %v", c.name, c.text, got, c.want)
		}
	}
}

// FuzzForeign reads any settings: a server that can be used is valid in our file.
func FuzzForeign(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": ["x", 1], "args": "y", "env": {"A": null}, "url": "https://b/?q=%zz"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := readForeign(text, "f")
		if err != nil {
			return
		}
		for _, s := range list {
			if err := mcpfile.CheckName(s.name); err != nil {
				t.Errorf("the name %q: %v", s.name, err)
			}
			_, _ = s.server() // attaching it fails
		}
	})
}
