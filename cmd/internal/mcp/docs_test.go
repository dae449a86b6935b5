package mcp

import (
	"os"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
)

// TestDocs checks that docs/mcp.md shows the entry of each client as install prints it.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	c := &command{App: app.New(&app.World{Env: os.LookupEnv})}
	for _, client := range c.clients() {
		entry := client.form.entry("/home/you/go/bin/cassidy", []string{"--dir", "/home/you/project", "mcp", "serve"}, nil)
		language := map[format]string{jsonFile: "json", tomlFile: "toml", yamlFile: "yaml"}[client.form.format]
		snippet := client.form.snippet(serverName, entry)
		if !strings.Contains(string(text), "```"+language+"\n"+snippet+"```\n") {
			t.Errorf("docs/mcp.md does not show the entry of %s:\n%s", client.title, snippet)
		}
		if row := "| " + client.title + " | `" + client.name + "` |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/mcp.md has no row %q", row)
		}
	}
}
