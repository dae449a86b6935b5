package servers

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestProgramChanged checks that a program that was changed after its server was attached is not started, that
// another review starts it, and that a server is removed when the trust of its program is revoked.
func TestProgramChanged(t *testing.T) {
	t.Parallel()
	s := newStage(t, entries("a", "srv/a.sh"))
	tools, err := attached.ParseSet("[" + definition + "]")
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		file := filepath.Join(s.opts.Root, "srv", "a.sh")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	review := func(text string) {
		hash := tool.HashBytes([]byte(text))
		if err := s.opts.Scope.Trust.Record(s.opts.Root, []trust.File{{Path: "srv/a.sh", Kind: trust.KindProgram, Text: text, TextHash: hash, Hash: hash}}, false); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	if _, err := s.opts.Find("a"); !errors.Is(err, value.ErrDenied) {
		t.Errorf("before the review: %v, want that it is untrusted", err)
	}
	review("one")
	e, err := s.opts.Find("a")
	if err == nil {
		err = s.opts.Accept(e, tools)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.update(0)
	put("two")
	if _, err := s.call("a"); !errors.Is(err, value.ErrDenied) || !strings.Contains(err.Error(), "srv/a.sh is untrusted: the file has changed") || s.started("srv/a.sh") != 0 {
		t.Errorf("after a change: %v, and it was started %d times", err, s.started("srv/a.sh"))
	}
	s.update(1)
	review("two")
	s.update(0)
	s.attached.Close()
	s.attached = s.opts.Attach(s.host)
	if err := s.opts.Scope.Trust.Revoke(s.opts.Root, "srv/a.sh"); err != nil {
		t.Fatal(err)
	}
	s.attached.Update()
	if len(s.attached.now) != 0 {
		t.Error("a server whose program was revoked is attached")
	}
}

// TestPythonOfElsewhere checks that a server that is a module which is not in the project loads nothing from there.
func TestPythonOfElsewhere(t *testing.T) {
	t.Parallel()
	s := newStage(t, entries("a", "srv/a.sh"))
	if err := os.WriteFile(filepath.Join(s.opts.Root, "here.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "python3")
	for _, tt := range []struct {
		server mcpfile.Server
		want   []string
	}{
		{mcpfile.Server{Command: bin, Args: []string{"-m", "elsewhere"}}, []string{"PYTHONSAFEPATH=1"}},
		{mcpfile.Server{Command: bin, Args: []string{"-m", "elsewhere"}, Env: []mcpfile.Pair{{Name: "PYTHONSAFEPATH", Value: ""}}}, []string{"PYTHONSAFEPATH="}},
		{mcpfile.Server{Command: bin, Args: []string{"-m", "here"}}, nil},
	} {
		var p tool.Process
		if err := s.opts.complete(&tt.server, t.TempDir(), &p); err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(p.Env, func(v string) bool { return !strings.HasPrefix(v, "PYTHON") })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.server.Args, got, tt.want)
		}
	}
}
