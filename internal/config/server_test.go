package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestServer checks how the users of a server are read, and what is refused.
func TestServer(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("ab", 32)
	read := func(text string) (Config, error) {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Read("", &Options{Home: home})
	}
	c, err := read("server:\n  forbid_own: true\n  hosts: [tools.example]\n  users:\n    ann: {role: approve, token: \"sha256:" + hash + "\"}\n    Bob B.: {role: view, token: \"sha256:" + hash + "\"}\n")
	want := Server{ForbidOwn: true, Hosts: []string{"tools.example"}, Users: []ServerUser{{"Bob B.", "view", hash}, {"ann", "approve", hash}}}
	if diff := cmp.Diff(want, c.Server); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"server: 1":                  "'server' should be an object",
		"server: {user: {}}":         "user",
		"server: {users: [ann]}":     "'server.users' should be an object of users by their names",
		"server: {hosts: x}":         "'server.hosts' should be a list of names of hosts",
		"server: {hosts: [1]}":       "'server.hosts' should be a list of names of hosts",
		"server: {forbid_own: 'no'}": "'server.forbid_own' should be true or false",
		"server: {users: {ann: {role: boss, token: \"sha256:" + hash + "\"}}}":                 "'server.users.ann.role' should be one of",
		"server: {users: {ann: {role: run}}}":                                                  "'server.users.ann.token' should be sha256:",
		"server: {users: {ann: {role: run, token: secret}}}":                                   "'server.users.ann.token' should be sha256:",
		"server: {users: {ann: {role: run, token: \"sha256:abcd\"}}}":                          "'server.users.ann.token' should be sha256:",
		"server: {users: {\"a\\nb\": {role: run, token: \"sha256:" + hash + "\"}}}":            "invalid name",
		"server: {users: {ann: {role: run, token: \"sha256:" + strings.ToUpper(hash) + "\"}}}": "'server.users.ann.token' should be sha256:",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v, want %q", text, err, want)
		}
	}
}
