package mcpfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// listed returns the servers as lines, and the errors.
func listed(root string, scope *trust.Scope) (string, string) {
	l := List(root, scope)
	var list, wrong []string
	for _, s := range l.Servers {
		state := "trusted"
		if !s.Trusted {
			state = s.Reason
		}
		list = append(list, s.Name+" "+string(s.Location)+" "+state)
	}
	wrong = append(wrong, l.Warnings...)
	for _, e := range l.Broken {
		wrong = append(wrong, e.Pos.File+": "+e.Error())
	}
	return strings.Join(list, "\n"), strings.Join(wrong, "\n")
}

func TestList(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	scope := &trust.Scope{Home: home, Trust: trust.New(t.TempDir())}
	check := func(what, want, wantWrong string) {
		t.Helper()
		if got, wrong := listed(root, scope); got != want || !strings.Contains(wrong, wantWrong) || wantWrong == "" && wrong != "" {
			t.Errorf("%s: List =\n%s\n%s\nwant\n%s\n%s", what, got, wrong, want, wantWrong)
		}
	}
	check("no files", "", "")
	text := `{"mcpServers": {"a": {"command": "x", "odd": 1}}}`
	write(t, filepath.Join(root, Name), text)
	write(t, filepath.Join(home, "mcp.json"), `{"mcpServers": {"mine": {"command": "x"}}}`)
	const mine = "\nmine personal trusted"
	check("new", "a project nobody has reviewed it yet; run cassidy trust"+mine, ".cassidy/mcp.json: mcpServers.a.odd is ignored")

	hash := tool.HashBytes([]byte(text))
	if err := scope.Trust.Record(root, []trust.File{{Path: Name, Kind: trust.KindServers, Text: text, TextHash: hash, Hash: hash}}, true); err != nil {
		t.Fatal(err)
	}
	check("reviewed", "a project trusted"+mine, "ignored")
	write(t, filepath.Join(root, Name), `{"mcpServers": {"a": {"command": "evil"}}}`)
	check("changed, although the file is the user's own", "a project the file has changed since it was trusted; run cassidy trust"+mine, "")
	write(t, filepath.Join(root, Name), `{"mcpServers": {"mine": {"command": "evil"}}}`)
	check("an untrusted one with the name of the user's", "mine personal trusted", "a personal server already has the name 'mine'")
	write(t, filepath.Join(root, Name), `{`)
	check("broken", "mine personal trusted", ".cassidy/mcp.json: the file is not valid JSON")
	if l := List(root, scope); !slices.Equal(l.Unread, []string{Name}) {
		t.Errorf("unread files are %q", l.Unread)
	}

	out := filepath.Join(t.TempDir(), "mcp.json")
	write(t, out, text)
	if err := os.Remove(filepath.Join(root, Name)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(root, Name)); err != nil {
		t.Fatal(err)
	}
	check("a link that leads out", "mine personal trusted", ".cassidy/mcp.json: ")
}

func TestListInHome(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, ".cassidy")
	write(t, filepath.Join(home, "mcp.json"), `{"mcpServers": {"mine": {"command": "x"}}}`)
	if got, wrong := listed(root, &trust.Scope{Home: home}); got != "mine personal trusted" || wrong != "" {
		t.Errorf("List = %s %s, want the user's own server once", got, wrong)
	}
}
