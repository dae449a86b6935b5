package mcpfile

import (
	"strings"
	"testing"
)

func TestUnpinned(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"npx -y @scope/server":                           "@scope/server",
		"npx -y @scope/server@latest .":                  "@scope/server@latest",
		"npx -y @scope/server@^1.2.3":                    "@scope/server@^1.2.3",
		"npx -y server@1":                                "server@1",
		"npx -y @scope/server@1.2.3 . --x":               "",
		"/usr/bin/npx server@1.2.3-beta.1":               "",
		"npx -p server -p other@1.0.0 run":               "server",
		"npx --package=server@1.0.0 -- run":              "",
		"npx ./server":                                   "",
		"npm exec -y server":                             "server",
		"pnpm dlx server":                                "server",
		"bunx server":                                    "server",
		"uvx mcp-server-git":                             "mcp-server-git",
		"uvx mcp-server-git@latest":                      "mcp-server-git@latest",
		"uvx mcp-server-git>=1.0":                        "mcp-server-git>=1.0",
		"uvx mcp-server-git==2025.1 --repo .":            "",
		"uvx mcp-server-git@0.6.2":                       "",
		"uvx --python 3.12 --from git+https://x/y serve": "git+https://x/y",
		"uvx --from git+https://x/y@0123456789abcdef0123456789abcdef01234567 serve": "",
		"uvx --with lib --from server==1.0 serve":                                   "lib",
		"uv tool run server": "server",
		"uv run server":      "",
		"pipx run server":    "server",
		"python3 srv/s.py":   "",
		"npx":                "",
	} {
		words := strings.Fields(line)
		s := Server{Command: words[0], Args: words[1:]}
		if got := strings.Join(s.Unpinned(), " "); got != want {
			t.Errorf("%s: %q is not pinned, want %q", line, got, want)
		}
	}
}
