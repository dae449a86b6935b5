package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// writeBombs writes n files of a size, whose names come before those of others. They need no space on the disk.
func writeBombs(t *testing.T, dir, suffix string, n int, size int64) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("a%03d%s", i, suffix))
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// refused counts the errors of files that exceed a share, and fails for others.
func refused(t *testing.T, broken []*value.Error) int {
	t.Helper()
	for _, e := range broken {
		if e.Kind != value.Limit || !strings.Contains(e.Message(), "more than") || e.Pos.File == "" || e.Hint == "" {
			t.Errorf("broken: %v", e)
		}
	}
	return len(broken)
}

// TestToolsHaveAShare checks that the bytes of tools that are described are bounded, by a load, by one with an index and by a review, and
// that the tools beside them are read. A refused file is read once there is room.
func TestToolsHaveAShare(t *testing.T) {
	t.Parallel()
	root, bytes := t.TempDir(), atomic.Int64{}
	writeTools(t, root, 50)
	dir := filepath.Join(root, ".cassidy", "tools")
	const size, n = folder.MaxSource / 4, 70
	writeBombs(t, dir, ".star", n, size)
	fit := int((folder.ToolsShare - 1) / size) // beside the small ones
	o := &Options{Cache: t.TempDir(), Reader: "r", Describe: func(_ context.Context, s tool.Script) (tool.Described, error) {
		bytes.Add(int64(len(s.Source)))
		return tool.Described{Tool: tool.Tool{Name: strings.TrimSuffix(filepath.Base(s.Path), ".star"), Description: "D."}}, nil
	}}
	load := func(what string, tools, over int) {
		t.Helper()
		p, err := Load(context.Background(), root, o)
		if err != nil || len(p.Tools) != tools || refused(t, p.Broken) != over {
			t.Fatalf("%s: %v, %d tools and %d refused, want %d and %d", what, err, len(p.Tools), len(p.Broken), tools, over)
		}
		if got := bytes.Swap(0); got > folder.ToolsShare {
			t.Errorf("%s: %d bytes described", what, got)
		}
	}
	load("load", 50+fit, n-fit)
	written := indexTimes(t, o)
	o.Describe = func(context.Context, tool.Script) (tool.Described, error) {
		t.Error("described again")
		return tool.Described{}, nil
	}
	load("from the index", 50+fit, n-fit)
	if now := indexTimes(t, o); now != written {
		t.Errorf("the index was written again: %s, then %s", written, now)
	}
	o.Describe = func(_ context.Context, s tool.Script) (tool.Described, error) {
		bytes.Add(int64(len(s.Source)))
		return tool.Described{Tool: tool.Tool{Name: "x", Description: "D."}}, nil
	}
	v, err := Review(context.Background(), root, o)
	if err != nil || len(v.Files) != 50+fit || refused(t, v.Broken) != n-fit || bytes.Swap(0) > folder.ToolsShare {
		t.Errorf("review: %v, %d files, broken %d", err, len(v.Files), len(v.Broken))
	}
	for i := range n - fit {
		if err := os.Remove(filepath.Join(dir, fmt.Sprintf("a%03d.star", i))); err != nil {
			t.Fatal(err)
		}
	}
	o.Describe = func(_ context.Context, s tool.Script) (tool.Described, error) {
		bytes.Add(int64(len(s.Source)))
		return tool.Described{Tool: tool.Tool{Name: strings.TrimSuffix(filepath.Base(s.Path), ".star"), Description: "D."}}, nil
	}
	load("with room", 50+fit, 0)
}

// indexTimes returns the names and times of the index.
func indexTimes(t *testing.T, o *Options) (all string) {
	t.Helper()
	for _, file := range indexFiles(t, o) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprint(filepath.Base(file), info.ModTime(), "\n")
	}
	return all
}

// TestLibsHaveAShare checks that shared files that exceed their share do not displace others, or the tools.
func TestLibsHaveAShare(t *testing.T) {
	t.Parallel()
	root, count := t.TempDir(), 0
	writeTools(t, root, 3)
	lib := filepath.Join(root, ".cassidy", "tools", "lib")
	writeBombs(t, lib, ".star", 20, folder.OtherShare/16)
	if err := os.WriteFile(filepath.Join(lib, "z.star"), []byte("X = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var libs atomic.Int64
	o := &Options{Describe: func(ctx context.Context, s tool.Script) (tool.Described, error) {
		if libs.Store(int64(len(s.Libs))); s.Libs["lib/z.star"] == "" {
			t.Error("the small file was displaced")
		}
		return describeNames(&count)(ctx, s)
	}}
	p, err := Load(context.Background(), root, o)
	if err != nil || len(p.Tools) != 3 || refused(t, p.Broken) != 5 || libs.Load() != 16 {
		t.Errorf("Load: %v, %d tools, %d refused, %d libs", err, len(p.Tools), len(p.Broken), libs.Load())
	}
}

// TestOtherFoldersHaveAShare checks the same for workflows, policies and agent files.
func TestOtherFoldersHaveAShare(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{workflowsDir, policiesDir, agentsDir} {
		suffix, text := ".star", "def main():\n    pass\n"
		if dir == agentsDir {
			suffix, text = ".md", "---\ndescription: D.\n---\nText.\n"
		}
		dir = filepath.Join(root, folder.Name, dir)
		writeBombs(t, dir, suffix, 20, folder.OtherShare/16)
		if err := os.WriteFile(filepath.Join(dir, "small"+suffix), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := &trust.Scope{TrustOnce: true}
	workflows, broken := Workflows(root, o)
	if len(workflows) != 16 || refused(t, broken) != 5 {
		t.Errorf("%d workflows, broken %d", len(workflows), len(broken))
	}
	policies, broken := Policies(root, o)
	if len(policies) != 16 || refused(t, broken) != 5 {
		t.Errorf("%d policies, broken %d", len(policies), len(broken))
	}
	agents, broken := Agents(root, o)
	over := 0
	for _, e := range broken {
		if strings.Contains(e.Message(), "smaller files are read first") {
			over++
		}
	}
	if len(agents) != 1 || over != 5 {
		t.Errorf("%d agents, %d refused", len(agents), over)
	}
}
