package skill_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// mine is the scope of a user with a home who trusts the project.
func mine(home string) *trust.Scope { return &trust.Scope{Home: home, TrustOnce: true} }

// create executes skill.create, as a host does.
func create(ctx context.Context, root, home string, named *value.Dict) (tool.Outcome, error) {
	f := skill.Module(root, func() *trust.Scope { return mine(home) }).Funcs[0]
	args, err := f.Bind(nil, named)
	if err != nil {
		return tool.Outcome{}, err
	}
	return f.Do(ctx, tool.Effect{Func: "skill.create", Args: args}, tool.Grant{})
}

// put writes a file.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
