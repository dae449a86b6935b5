package cassidy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
)

// lookInterval is how long after a change of the user's config, by another process, calls that begin may not
// have it yet.
const lookInterval = 100 * time.Millisecond

// changeFile writes a file as another process, and waits until each call that begins must have the change.
func changeFile(t *testing.T, file, text string) {
	t.Helper()
	putFile(t, file, text)
	time.Sleep(lookInterval)
}

// TestRulesOfTheConfigNow checks that a host has the rules of the user's config as they are now, without a
// refresh: added ones, removed ones, and those before a mistake in the file. The exception is a config which
// tools could write.
func TestRulesOfTheConfigNow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, tt := range []struct {
		name, home string
		live       bool
	}{{"a home of its own", "", true}, {"a home in the project", "settings", false}, {"a home in a protected folder", ".cassidy/user", true}} {
		t.Run(tt.name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			if tt.home != "" {
				home = filepath.Join(dir, filepath.FromSlash(tt.home))
			}
			putFile(t, filepath.Join(dir, ".cassidy", "tools", "put.star"), "def put(path: str, text: str):\n    \"Write.\"\n    fs.write(path, text)\n\ntool(put, needs = [\"fs.write\"])\n")
			file := filepath.Join(home, "config.yaml")
			putFile(t, file, "{}\n")
			h := openIn(t, newRuntime(t, nil), cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, TrustSource: true, NoBuiltins: true})
			n := 0
			put := func(when, path string, want bool) {
				t.Helper()
				n++
				_, err := h.Call(ctx, cassidy.Call{Tool: "put", Args: cassidy.NewDict("path", path, "text", string(rune('a'+n)))})
				if (err == nil) != want || err != nil && !errors.Is(err, cassidy.ErrDenied) {
					t.Errorf("%s: %v, want that it is allowed: %v", when, err, want)
				}
			}
			put("without a rule", "a.txt", false)
			changeFile(t, file, "allow:\n  - {tool: put, capability: \"fs.write:a.txt\"}\n")
			put("with a rule", "a.txt", tt.live)
			put("another file", "b.txt", false)
			if !tt.live {
				return
			}
			changeFile(t, file, "allow: 1\n")
			put("with a mistake in the file", "a.txt", true)
			changeFile(t, file, "allow:\n  - {tool: put, capability: \"fs.write:a.txt\"}\ndeny: [\"fs.write:a.txt\"]\n")
			put("with a rule that denies", "a.txt", false)
			changeFile(t, file, "allow:\n  - {tool: put, capability: \"fs.write:a.txt\"}\n") // as half of the file before
			put("with half of the file", "a.txt", false)
			changeFile(t, file, "")
			put("with an empty file", "a.txt", false)
			changeFile(t, file, "allow:\n  - {tool: put, capability: \"fs.write:a.txt\"}\n")
			settled := func() bool {
				n++
				_, err := h.Call(ctx, cassidy.Call{Tool: "put", Args: cassidy.NewDict("path", "a.txt", "text", string(rune('a'+n%20)))})
				return err == nil
			}
			for late := time.Now().Add(2 * time.Minute); !settled(); {
				if time.Now().After(late) {
					t.Fatal("a removed rule still denies")
				}
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lookInterval)
			put("without the file", "a.txt", false)
		})
	}
}

// TestSourcesOfTheConfigNow checks that a host has the sources of the user's config as they are now: a model
// that reads a listed file is asked before it sends something.
func TestSourcesOfTheConfigNow(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{true, false} {
		dir, home := t.TempDir(), t.TempDir()
		if !live { // tools could write it
			home = filepath.Join(dir, "settings")
		}
		tools := filepath.Join(dir, ".cassidy", "tools")
		putFile(t, filepath.Join(tools, "look.star"), "def look(path: str):\n    \"Read.\"\n    return fs.read(path)\n\ntool(look, needs = [\"fs.read\"])\n")
		putFile(t, filepath.Join(tools, "send.star"), "def send():\n    \"Send.\"\n    return memory.add(\"n\")\n\ntool(send, needs = [\"memory.add\"])\n")
		putFile(t, filepath.Join(dir, ".cassidy", "config.yaml"), "untrusted_sources: [\"fs.read:theirs/**\"]\n")
		for _, name := range []string{"inbox/a.txt", "theirs/a.txt", "own.txt"} {
			putFile(t, filepath.Join(dir, name), "a")
		}
		file := filepath.Join(home, "config.yaml")
		changeFile(t, file, "{}\n")
		asked := 0
		h := openIn(t, newRuntime(t, nil), cassidy.Dir(dir), &cassidy.Options{
			Dir: dir, Home: home, State: t.TempDir(), TrustSource: true, NoBuiltins: true, UntrustedSources: []string{"fs.read:own.txt"},
			Rules: []cassidy.Rule{{Verdict: cassidy.Allow, Capability: cassidy.Capability{Name: "memory.add"}}},
			Approver: cassidy.ApproverFunc(func(context.Context, cassidy.Question) (cassidy.Answer, error) {
				asked++
				return cassidy.Answer{}, nil
			}),
		})
		asks := func(when, path string, want bool) {
			t.Helper()
			ctx, before := h.Conversation(context.Background()), asked
			if _, err := h.Call(ctx, cassidy.Call{Tool: "look", Args: cassidy.NewDict("path", path)}); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Call(ctx, cassidy.Call{Tool: "send"}); (err != nil) != want || want && !errors.Is(err, cassidy.ErrDenied) {
				t.Errorf("%s, after %s: %v", when, path, err)
			}
			if got := asked > before; got != want {
				t.Errorf("%s, after %s: asked: %v, want %v", when, path, got, want)
			}
		}
		asks("at first", "inbox/a.txt", false)
		asks("at first", "theirs/a.txt", true)
		asks("at first", "own.txt", true)
		changeFile(t, file, "untrusted_sources: [\"fs.read:inbox/**\"]\n")
		asks("listed", "inbox/a.txt", live)
		changeFile(t, file, "untrusted_sources: [\"fs.read:inbox/**\"]\ntrusted_sources: [\"fs.read:own.txt\"]\n")
		asks("trusted", "inbox/a.txt", live)
		asks("trusted", "own.txt", !live)
		changeFile(t, file, "untrusted_sources: 1\n")
		asks("with a mistake", "inbox/a.txt", live)
		changeFile(t, file, "{}\n")
		asks("removed just now", "inbox/a.txt", live) // the file may be half-written
		removed := func() bool {
			before := asked
			ctx := h.Conversation(context.Background())
			_, _ = h.Call(ctx, cassidy.Call{Tool: "look", Args: cassidy.NewDict("path", "inbox/a.txt")})
			_, err := h.Call(ctx, cassidy.Call{Tool: "send"})
			return err == nil && asked == before
		}
		for late := time.Now().Add(2 * time.Minute); !removed(); {
			if time.Now().After(late) {
				t.Fatal("a removed source is still untrusted")
			}
		}
		asks("removed", "inbox/a.txt", false)
		asks("removed", "theirs/a.txt", true)
		asks("removed", "own.txt", true)
	}
}
