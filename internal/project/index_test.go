package project

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// describeNames is a Describe that counts how many files it is given.
func describeNames(count *int) func(context.Context, tool.Script) (tool.Described, error) {
	return func(_ context.Context, s tool.Script) (tool.Described, error) {
		*count++
		if strings.Contains(s.Source, "broken") {
			return tool.Described{}, value.Errorf(value.Invalid, "broken")
		}
		return tool.Described{Tool: tool.Tool{Name: strings.TrimSuffix(filepath.Base(s.Path), ".star"), Description: s.Source}}, nil
	}
}

func writeTools(t testing.TB, root string, n int) {
	t.Helper()
	dir := filepath.Join(root, ".cassidy", "tools")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("t%d.star", i))
		if err := os.WriteFile(file, fmt.Appendf(nil, "tool %d", i), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

func loadTools(t testing.TB, root string, o *Options) []Tool {
	t.Helper()
	p, err := Load(context.Background(), root, o)
	if err != nil || len(p.Broken) > 0 {
		t.Fatalf("Load = %v, broken %v", err, p.Broken)
	}
	return p.Tools
}

func indexFiles(t testing.TB, o *Options) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(o.Cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestIndexInTheBackground checks that Options.Background writes the index, and that a
// load before that, or without an index, is complete.
func TestIndexInTheBackground(t *testing.T) {
	t.Parallel()
	root, described := t.TempDir(), 0
	writeTools(t, root, 200)
	var tasks []func()
	o := &Options{Cache: t.TempDir(), Reader: "r", Background: func(task func()) { tasks = append(tasks, task) }}
	o.DescribeAll = func(ctx context.Context, scripts []tool.Script) ([]tool.Described, []error) {
		tools, errs := make([]tool.Described, len(scripts)), make([]error, len(scripts))
		for i, s := range scripts {
			tools[i].Name = strings.TrimSuffix(filepath.Base(s.Path), ".star")
		}
		return tools, errs
	}
	if got := loadTools(t, root, o); len(got) != 200 || len(tasks) != 1 || len(indexFiles(t, o)) != 0 {
		t.Fatalf("the first load gave %d tools, %d tasks and the files %v, want 200, 1 and none", len(got), len(tasks), indexFiles(t, o))
	}
	if got := loadTools(t, root, o); len(got) != 200 || len(tasks) != 2 {
		t.Errorf("a load without an index gave %d tools and %d tasks, want 200 and 2", len(got), len(tasks))
	}
	for _, task := range tasks {
		task()
	}
	if files := indexFiles(t, o); len(files) != 1 || strings.HasPrefix(filepath.Base(files[0]), ".") {
		t.Errorf("the cache holds %v, want one index", files)
	}
	o.DescribeAll, o.Describe = nil, describeNames(&described)
	if got := loadTools(t, root, o); len(got) != 200 || described != 0 || len(tasks) != 2 {
		t.Errorf("a load with an index gave %d tools, read %d files and wrote %d indexes, want 200, 0 and 0", len(got), described, len(tasks)-2)
	}
}

// sealed sets the checksum of an index, which follows the version.
func sealed(index []byte) []byte {
	const version = len("cassidy tools 2\n")
	binary.LittleEndian.PutUint32(index[version:], crc32.ChecksumIEEE(index[version+4:]))
	return index
}

// TestAToolThatCannotBeDecoded checks that the file of an invalid tool in the index is
// read, though the checksum is valid.
func TestAToolThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	root, described := t.TempDir(), 0
	writeTools(t, root, 3)
	o := &Options{Cache: t.TempDir(), Reader: "r", Describe: describeNames(&described)}
	loadTools(t, root, o)
	file := indexFiles(t, o)[0]
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("\x02t1\x06tool 1")) // the head: the tool's name and its description
	if at < 0 {
		t.Fatal("the index does not hold the tool t1")
	}
	data[at] = 0x7f // the length of the name
	if err := os.WriteFile(file, sealed(data), 0o600); err != nil {
		t.Fatal(err)
	}
	described = 0
	if got := loadTools(t, root, o); len(got) != 3 || described != 1 || got[1].Head.Description != "tool 1" {
		t.Errorf("Load gave %+v and read %d files, want three tools and one file read", got, described)
	}
}

// TestDamagedToolInIndex checks that a tool with only a readable head is listed, but
// cannot be loaded.
func TestDamagedToolInIndex(t *testing.T) {
	t.Parallel()
	root, described := t.TempDir(), 0
	writeTools(t, root, 1)
	o := &Options{Cache: t.TempDir(), Reader: "r", Scope: trust.Scope{Trust: trust.New(""), TrustOnce: true}, Describe: describeNames(&described)}
	loadTools(t, root, o)
	file := indexFiles(t, o)[0]
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-3] = 0xff // how many warnings follow; no error and no excerpt follow these
	if err := os.WriteFile(file, sealed(data), 0o600); err != nil {
		t.Fatal(err)
	}
	found := loadTools(t, root, o)
	if len(found) != 1 || found[0].Head.Description != "tool 0" || described != 1 {
		t.Fatalf("Load gave %+v and read %d files, want the head of t0", found, described)
	}
	if x, err := found[0].Declared(); value.KindOf(err) != value.Failed || x.Name != "" || value.ErrorOf(err, value.Failed).Pos.File != found[0].Path {
		t.Errorf("Declared() = %+v, %v, want an error of the file", x, err)
	}
}

// TestTransientErrors checks that errors which do not depend on a file, such as that no
// worker was free, are not cached.
func TestTransientErrors(t *testing.T) {
	t.Parallel()
	root, described := t.TempDir(), 0
	writeTools(t, root, 2)
	for _, transient := range []*value.Error{
		value.Errorf(value.Busy, "too many wait"), value.Errorf(value.Canceled, "closed"), {Kind: value.Unavailable, Limit: value.LimitWorker, Err: context.Canceled},
	} {
		for _, cache := range []string{"", t.TempDir()} {
			o := &Options{Cache: cache, Reader: "r", Scope: trust.Scope{Trust: trust.New(""), TrustOnce: true}, Describe: func(context.Context, tool.Script) (tool.Described, error) {
				return tool.Described{}, transient
			}}
			p, err := Load(context.Background(), root, o)
			if err != nil || len(p.Broken) != 2 || p.Broken[0].Kind != transient.Kind {
				t.Errorf("Load = %v, broken %v, want %v of two files", err, p.Broken, transient)
			}
			o.Describe, o.Known, described = describeNames(&described), p.Known, 0
			if cache != "" {
				o.Known = nil
			}
			if found := loadTools(t, root, o); len(found) != 2 || described != 2 {
				t.Errorf("after %v there are %d tools, and %d files were described", transient, len(found), described)
			}
		}
	}
}
