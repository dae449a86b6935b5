package fs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// after commits what is staged and compares files on disk; "" stands for none.
func (d *project) after(want map[string]string) {
	d.T.Helper()
	d.commit()
	all := rowtest.Snapshot(d.T, d.Dir)
	for name, content := range want {
		got, ok := all[name]
		switch _, text, _ := strings.Cut(got, " "); {
		case content == "" && ok:
			d.T.Errorf("%s is %q, want it gone", name, got)
		case content == "/" && !strings.HasPrefix(got, "d"):
			d.T.Errorf("%s is %q, want a folder", name, got)
		case content != "" && content != "/" && text != content:
			d.T.Errorf("%s holds %q, want %q", name, text, content)
		}
	}
}

func TestWriteAndAppend(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a.txt": "old", "dir/": ""})
	for _, tt := range []struct {
		name, path string
		content    value.Value
		bytes      int64
		created    bool
	}{
		{"fs.write", "a.txt", "new", 3, false},
		{"fs.append", "a.txt", " more", 8, false},
		{"fs.write", "b/c/d.txt", []byte{0xff, 0}, 2, true},
		{"fs.append", "b/c/d.txt", []byte("x"), 3, false},
		{"fs.append", "log.txt", "line\n", 5, true},
		{"fs.write", "empty", "", 0, true},
		{"fs.write", "日本/é.txt", "ö", 2, true},
	} {
		want := value.NewDict("path", tt.path, "bytes", tt.bytes, "created", tt.created)
		if got := d.Must(tt.name, "path", tt.path, "content", tt.content); !value.Equal(got, want) {
			t.Errorf("%s(%q) = %s, want %s", tt.name, tt.path, value.FormatJSON(got, ""), value.FormatJSON(want, ""))
		}
	}
	d.Fails(value.Failed, "dir is a folder", "fs.write", "path", "dir", "content", "x")
	d.Fails(value.Failed, "a.txt is a file, not a folder", "fs.write", "path", "a.txt/b", "content", "x")
	d.Fails(value.Failed, "is a folder", "fs.write", "path", "b/c", "content", "x")
	d.Fails(value.Failed, "log.txt is a file, not a folder", "fs.write", "path", "log.txt/x/y", "content", "x")
	d.Fails(value.Failed, "is a folder", "fs.write", "path", ".", "content", "x")
	for _, v := range []value.Value{nil, int64(1), value.List{"a"}, value.NewDict()} {
		d.Fails(value.Invalid, "string or bytes", "fs.write", "path", "x", "content", v)
	}
	d.after(map[string]string{"a.txt": "new more", "b/c/d.txt": "\xff\x00x", "log.txt": "line\n", "日本/é.txt": "ö", "x": ""})
}

func TestWriteWithoutAStage(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "x"})
	d.Stage = nil
	d.Fails(value.Internal, "only a tool call can", "fs.write", "path", "a", "content", "x")
	d.Fails(value.Internal, "only a tool call can", "fs.move", "from", "a", "to", "b")
	d.Fails(value.Internal, "only a tool call can", "fs.remove", "path", "a")
	d.Fails(value.Internal, "the files or the stage are not set", "fs.commit")
	if got := d.Must("fs.read", "path", "a"); got != "x" {
		t.Errorf("fs.read without a stage = %q, want x", got)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a.go": "one\ntwo\nthree\ntwo\nfive\n", "crlf": "a\r\nb\r\n", "tabs": "if x:\n\treturn  1\n"})
	want := value.NewDict("path", "a.go", "replacements", int64(1), "diff",
		"--- a/a.go\n+++ b/a.go\n@@ -1,5 +1,5 @@\n one\n two\n-three\n+3\n two\n five\n")
	if got := d.Must("fs.edit", "path", "a.go", "old", "three", "new", "3"); !value.Equal(got, want) {
		t.Errorf("fs.edit = %s, want %s", value.FormatJSON(got, ""), value.FormatJSON(want, ""))
	}
	d.Fails(value.Failed, "edit a.go: the old text occurs 2 times, at lines 2, 4\ninclude more", "fs.edit", "path", "a.go", "old", "two", "new", "2")
	got := d.Must("fs.edit", "path", "a.go", "old", "two\n", "new", "", "replace_all", true).(*value.Dict)
	wantDiff := "--- a/a.go\n+++ b/a.go\n@@ -1,5 +1,3 @@\n one\n-two\n 3\n-two\n five\n"
	if diff := cmp.Diff(wantDiff, got.Text("diff")); diff != "" || got.Int("replacements") != 2 {
		t.Errorf("fs.edit of all: %d replacements, want 2; diff (-want +got):\n%s", got.Int("replacements"), diff)
	}
	d.Fails(value.Failed, "edit a.go: the old text was not found\nread the file", "fs.edit", "path", "a.go", "old", "zebra", "new", "x")
	d.Must("fs.edit", "path", "crlf", "old", "a\nb", "new", "x\ny")
	d.Fails(value.Failed, "line 1 has the text with different spaces", "fs.edit", "path", "tabs", "old", "if x:\n    return 1", "new", "x")
	d.Fails(value.Invalid, "'old' is empty", "fs.edit", "path", "a.go", "old", "", "new", "b")
	d.Fails(value.Invalid, "the same", "fs.edit", "path", "a.go", "old", "x", "new", "x")
	d.Fails(value.Failed, "File not found: b.go\ndid you mean a.go?", "fs.edit", "path", "b.go", "old", "x", "new", "y")
	d.after(map[string]string{"a.go": "one\n3\nfive\n", "crlf": "x\r\ny\r\n"})
}

func TestEditOfMuch(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		"many":  strings.Repeat("a\n", 20_000),
		"large": strings.Repeat("x\n", 1<<20) + "end\n",
		"dup":   strings.Repeat("dup\n", 50),
		"same":  strings.Repeat("a\n", 100_000),
	})
	many := d.Must("fs.edit", "path", "many", "old", "a", "new", "b", "replace_all", true).(*value.Dict)
	if got := many.Text("diff"); !strings.Contains(got, "20000 replacements") {
		t.Errorf("diff = %.100q, want a word that it is left out", got)
	}
	large := d.Must("fs.edit", "path", "large", "old", "end", "new", "END").(*value.Dict)
	if got := large.Text("diff"); len(got) > 200 {
		t.Errorf("diff of %d bytes, want it left out", len(got))
	}
	dup := d.Must("fs.edit", "path", "dup", "old", "dup", "new", strings.Repeat("y", 5000), "replace_all", true).(*value.Dict)
	if got := dup.Text("diff"); len(got) > 64<<10+100 || !strings.HasSuffix(got, "(diff truncated)\n") {
		t.Errorf("diff of %d bytes ending in %q, want it cut", len(got), got[len(got)-30:])
	}
	d.Fails(value.Failed, "50 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …", "fs.edit", "path", "dup", "old", strings.Repeat("y", 5000), "new", "x")
	d.Fails(value.Limit, "edit many: the edit adds more than the limit of 8 MB", "fs.edit", "path", "many", "old", "b", "new", strings.Repeat("z", 1000), "replace_all", true)
	rowtest.Within(t, "a guess at a text that is not there", func() {
		d.Fails(value.Failed, "edit same: the old text was not found", "fs.edit", "path", "same", "old", strings.Repeat("a\n", 50_000)+"b", "new", "x")
		d.Fails(value.Failed, "edit same: the old text was not found", "fs.edit", "path", "same", "old", strings.Repeat("a\n", 40)+"b", "new", "x")
	})
}

func TestRemove(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1", "empty/": "", "full/x": "2", "full/sub/y": "3"})
	for _, tt := range []struct {
		path      string
		recursive bool
		removed   int64
	}{
		{"a", false, 1}, {"empty", false, 1}, {"full", true, 4},
	} {
		if tt.recursive {
			d.Fails(value.Failed, "remove full: the folder is not empty\nto remove the folder with all contents, set recursive to true", "fs.remove", "path", tt.path)
		}
		want := value.NewDict("path", tt.path, "removed", tt.removed)
		if got := d.Must("fs.remove", "path", tt.path, "recursive", tt.recursive); !value.Equal(got, want) {
			t.Errorf("fs.remove(%q) = %s, want %s", tt.path, value.FormatJSON(got, ""), value.FormatJSON(want, ""))
		}
		d.Fails(value.Failed, "File not found", "fs.remove", "path", tt.path)
	}
	d.after(map[string]string{"a": "", "empty": "", "full": "", "full/sub/y": ""})
}

func TestMove(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1", "b": "2", "dir/x": "3", "dir/sub/y": "4", "dir/none/": ""})
	want := value.NewDict("from", "a", "to", "new/place/a", "moved", int64(1))
	if got := d.Must("fs.move", "from", "a", "to", "new/place/a"); !value.Equal(got, want) {
		t.Errorf("fs.move = %s, want %s", value.FormatJSON(got, ""), value.FormatJSON(want, ""))
	}
	d.Fails(value.Failed, "already exists\nto replace it, set overwrite to true", "fs.move", "from", "new/place/a", "to", "b")
	d.Must("fs.move", "from", "new/place/a", "to", "b", "overwrite", true)
	d.Fails(value.Failed, "the target dir is a folder\npass the complete new path, as in dir/b", "fs.move", "from", "b", "to", "dir")
	d.Fails(value.Failed, "the target c/ ends with a slash, but the source is a file", "fs.move", "from", "b", "to", "c/")
	d.Fails(value.Failed, "the target b is a file, but the source dir is a folder", "fs.move", "from", "dir", "to", "b", "overwrite", true)
	d.Fails(value.Invalid, "inside", "fs.move", "from", "dir", "to", "dir/sub/z")
	d.Fails(value.Invalid, "both the source and the target", "fs.move", "from", "b", "to", "./b")
	d.Fails(value.Failed, "File not found: nope", "fs.move", "from", "nope", "to", "c")
	d.Fails(value.Failed, "b is a file, not a folder", "fs.move", "from", "dir", "to", "b/c")
	if got := d.Must("fs.move", "from", "dir", "to", "far/away").(*value.Dict).Int("moved"); got != 5 {
		t.Errorf("fs.move of a folder moved %d, want 5", got)
	}
	d.after(map[string]string{"a": "", "new/place/a": "", "new/place": "/", "b": "1", "far/away/x": "3", "far/away/sub/y": "4", "far/away/none": "/", "dir": ""})
}

func TestMkdir(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"file": "x", "there/": ""})
	for path, created := range map[string]bool{"a/b/c": true, "there": false, ".": false, "slash/": true} {
		want := value.NewDict("path", strings.TrimSuffix(path, "/"), "created", created)
		if got := d.Must("fs.mkdir", "path", path); !value.Equal(got, want) {
			t.Errorf("fs.mkdir(%q) = %s, want %s", path, value.FormatJSON(got, ""), value.FormatJSON(want, ""))
		}
	}
	d.Fails(value.Failed, "file is not a folder", "fs.mkdir", "path", "file")
	d.Fails(value.Failed, "file is a file, not a folder", "fs.mkdir", "path", "file/x")
	d.after(map[string]string{"a/b/c": "/", "there": "/", "slash": "/"})
}

// One call may do and undo and do otherwise: what counts is how it ends.
func TestOneCallChangesItsMind(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"f": "file", "d/x": "x", "d/y": "y", "keep": "k"})
	d.Must("fs.remove", "path", "f")
	d.Must("fs.write", "path", "f/now/folder", "content", "1")
	d.Must("fs.remove", "path", "d", "recursive", true)
	d.Must("fs.write", "path", "d", "content", "now a file")
	d.Must("fs.write", "path", "temp", "content", "t")
	d.Must("fs.move", "from", "temp", "to", "temp2")
	d.Must("fs.remove", "path", "temp2")
	d.Must("fs.remove", "path", "keep")
	d.Must("fs.write", "path", "keep", "content", "k")
	if got := namesOf(d.Must("fs.list")); got != "d f/ keep" {
		t.Errorf("fs.list = %q, want %q", got, "d f/ keep")
	}
	d.after(map[string]string{"f/now/folder": "1", "d": "now a file", "temp": "", "temp2": "", "keep": "k"})

	d.Must("fs.remove", "path", "f", "recursive", true)
	d.Must("fs.write", "path", "f/again", "content", "2")
	d.Fails(value.Failed, "File not found: f/now", "fs.stat", "path", "f/now")
	d.after(map[string]string{"f/again": "2", "f/now": ""})
}

// A look at what the call has removed must not pass for a look at the disk.
func TestLooksAtWhatTheCallHasRemoved(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"d/e/a": "1", "d/e/empty": "", "d/none/": ""})
	d.Must("fs.remove", "path", "d", "recursive", true)
	for _, p := range []string{"d", "d/e", "d/none", "d/e/a", "d/e/empty", "d/e/new"} {
		if got := d.Must("fs.exists", "path", p); got != false {
			t.Errorf("fs.exists(%q) = %v, want false", p, got)
		}
		d.Fails(value.Failed, "File not found", "fs.remove", "path", p)
	}
	d.Must("fs.write", "path", "d/e/new", "content", "2")
	d.Must("fs.mkdir", "path", "d/none")
	d.after(map[string]string{"d/e/a": "", "d/e/empty": "", "d/e/new": "2", "d/none": "/"})
}

func TestF08WhatIsNotGranted(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"in/a": "a", "in/deep/b": "b", "out/c": "c", "top": "t"})
	before := rowtest.Snapshot(t, d.Dir)
	d.Grant("fs.read")
	d.Fails(value.Denied, "fs.write:in/a", "fs.write", "path", "in/a", "content", "x")
	d.Fails(value.Denied, "fs.write:in/a", "fs.edit", "path", "in/a", "old", "a", "new", "x")
	d.Fails(value.Denied, "fs.write:in/a", "fs.remove", "path", "in/a")
	d.Fails(value.Denied, "fs.write:in/a", "fs.move", "from", "in/a", "to", "in/z")
	d.Fails(value.Denied, "fs.write:new", "fs.mkdir", "path", "new")
	d.Grant("fs.read", "fs.write")
	for _, p := range []string{".", "in/..", d.Dir, "./"} {
		d.Fails(value.Denied, "the root folder of the project", "fs.remove", "path", p, "recursive", true)
		d.Fails(value.Denied, "the root folder of the project", "fs.move", "from", p, "to", "elsewhere")
	}
	d.Grant("fs.read:in/**", "fs.write:in/**")
	d.Fails(value.Denied, "fs.write:out/d", "fs.move", "from", "in/a", "to", "out/d")
	d.Fails(value.Denied, "fs.read:out/c", "fs.move", "from", "out/c", "to", "in/c")
	d.Fails(value.Denied, "fs.write:in-evil", "fs.write", "path", "in-evil", "content", "")
	d.Grant("fs.read", "fs.write:out/**")
	d.Fails(value.Denied, "fs.write:in/a", "fs.move", "from", "in/a", "to", "out/a")
	d.Grant("fs.read", "fs.write:in", "fs.write:in/a", "fs.write:out/**")
	d.Fails(value.Denied, "fs.write:in/deep", "fs.remove", "path", "in", "recursive", true)
	d.Fails(value.Denied, "fs.write:in/deep", "fs.move", "from", "in", "to", "out/in")
	d.Grant("fs.write")
	d.Fails(value.Denied, "fs.read:top", "fs.move", "from", "top", "to", "out/top")
	d.commit()
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("something was written (-want +got):\n%s", diff)
	}
}

func TestF02APrefixIsNoFolder(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"in/f": "in", "in-evil/f": "evil"})
	in := openProject(t, &Options{Root: d.Dir, WorkDir: "in"}, "fs.read:in/**", "fs.write:in/**")
	in.Fails(value.Denied, "fs.read:in-evil/f", "fs.read", "path", "../in-evil/f")
	in.Fails(value.Denied, "fs.write:in-evil/f", "fs.write", "path", "../in-evil/f", "content", "x")
	root := openProject(t, &Options{Root: d.Dir + "/in"})
	_, err := root.Call("fs.read", "path", d.Dir+"/in-evil/f")
	rowtest.Wrong(t, err, value.Security, "leads out", "fs.read of a whole path beside the root")
	root.Fails(value.Security, "leads out", "fs.read", "path", "../in-evil/f")
	if got := root.Must("fs.read", "path", d.Dir+"/in/f"); got != "in" {
		t.Errorf("fs.read by its whole path = %q, want it", got)
	}
}

// TestEditKeepsTheEncoding edits files that are not UTF-8.
func TestEditKeepsTheEncoding(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		"latin": "caf\xe9\r\nth\xe9\r\n", "wide": "\xff\xfea\x00\n\x00b\x00\n\x00", "bad": "Zürich\nÉtude\nx\xe9\n", "mac": "one\rtwo\r", "bin": "\xe9\xe8\x00a", "many": strings.Repeat("\xe9", 5<<20),
	})
	for _, tt := range []struct{ path, old, becomes, diff, want string }{
		{"latin", "café\nthé", "café “noir”", "+café “noir”", "caf\xe9 \x93noir\x94\r\n"},
		{"wide", "a\nb", "é\nb", "+é", "\xff\xfe\xe9\x00\n\x00b\x00\n\x00"},
		{"bad", "Étude", "→", "+→\n xé\n", "Zürich\n→\nx\xe9\n"},
		{"mac", "one\ntwo", "1\n2", "", "1\r2\r"},
	} {
		got := d.Must("fs.edit", "path", tt.path, "old", tt.old, "new", tt.becomes).(*value.Dict)
		if content := d.Must("fs.read_bytes", "path", tt.path); !value.Equal(content, []byte(tt.want)) || !strings.Contains(got.Text("diff"), tt.diff) {
			t.Errorf("fs.edit of %s: %q, want %q; %s", tt.path, content, tt.want, got.Text("diff"))
		}
	}
	d.Fails(value.Invalid, "a character that windows-1252, the encoding of the file, does not have", "fs.edit", "path", "latin", "old", "noir", "new", "→")
	d.Fails(value.Failed, `the nearest text differs at line 1, "café “noir”": from character 7 on`, "fs.edit", "path", "latin", "old", "café “vert”", "new", "x")
	d.Fails(value.Failed, "bin is not UTF-8 text", "fs.edit", "path", "bin", "old", "a", "new", "b")
	for name, want := range map[string]string{"latin": "café “noir”\r\n", "wide": "é\nb\n", "bad": "Zürich\n→\nxé\n", "mac": "1\n2\n"} {
		if got := d.Must("fs.read", "path", name, "encoding", "auto"); got != want {
			t.Errorf("fs.read of %s is %q, want %q", name, got, want)
		}
		if got := d.Must("fs.read", "path", name, "encoding", "auto", "offset", int64(1), "limit", int64(9)); got != want {
			t.Errorf("fs.read of the lines of %s is %q, want %q", name, got, want)
		}
	}
	d.Fails(value.Failed, "bin is a binary file (4 bytes): only text can be read", "fs.read", "path", "bin", "encoding", "auto")
	d.Fails(value.Failed, "bin is a binary file (4 bytes): only text can be read", "fs.read", "path", "bin", "encoding", "auto", "offset", int64(2))
	d.Fails(value.Limit, "after decoding", "fs.read", "path", "many", "encoding", "auto")
}

// TestEditOfALargeFile changes a file that no script can hold, commits that and undoes it.
func TestEditOfALargeFile(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("line of text\r\n", 1<<20) + "UNIQUE here\r\n"
	d := newProject(t, map[string]string{"big": before, "over": strings.Repeat("x\n", 16<<20+1)})
	got := d.Must("fs.edit", "path", "big", "old", "text\nUNIQUE here", "new", "text\nx\ny").(*value.Dict)
	if want := "@@ -1048573,5 +1048573,6 @@"; !strings.Contains(got.Text("diff"), want) {
		t.Errorf("the diff is %s", got.Text("diff"))
	}
	undo := d.commit()
	if after := rowtest.GetFile(t, d.Dir, "big"); after != strings.Replace(before, "UNIQUE here", "x\r\ny", 1) {
		t.Errorf("the file ends with %q", after[len(after)-40:])
	}
	if _, err := d.restore(undo); err != nil || rowtest.GetFile(t, d.Dir, "big") != before {
		t.Errorf("the edit is not undone: %v", err)
	}
	d.Fails(value.Failed, `differs at line 1048577, "UNIQUE here": from character 8 on, the file has "here" and the old text "there"`, "fs.edit", "path", "big", "old", "UNIQUE there", "new", "x")
	d.Fails(value.Limit, "over is larger than the limit of 32 MB", "fs.edit", "path", "over", "old", "y", "new", "x")
	d.Must("fs.move", "from", "big", "to", "moved")
}

func TestF12Quotas(t *testing.T) {
	t.Parallel()
	d := newProject(t, nil)
	for i := range 256 {
		d.Must("fs.write", "path", fmt.Sprintf("many/%03d", i), "content", "x")
	}
	d.Fails(value.Limit, "more than 256 files", "fs.write", "path", "many/256", "content", "x")
	d.Must("fs.write", "path", "many/255", "content", "again")
	d.Must("fs.remove", "path", "many/000")
	d.Must("fs.write", "path", "many/256", "content", "x")
	if got := rowtest.Snapshot(t, d.Dir); len(got) != 1 {
		t.Errorf("%d paths on disk before the commit, want only the root", len(got))
	}
	d.Stage = &tool.Stage{}

	eight := strings.Repeat("x", 8<<20)
	d.Fails(value.Limit, "write one: the new content is larger than the limit of 8 MB", "fs.write", "path", "one", "content", eight+"x")
	for i := range 4 {
		d.Must("fs.write", "path", fmt.Sprintf("f%d", i), "content", eight)
	}
	d.Fails(value.Limit, "more than 32 MB", "fs.write", "path", "f4", "content", "x")
	d.Fails(value.Limit, "write f0: the new content is larger", "fs.append", "path", "f0", "content", "x")
	for i, limit := range []string{"writes", "files"} {
		small := openProject(t, &Options{Root: d.Dir, Limits: Limits{Total: 10, Files: 1}})
		_, err := small.Call("fs.write", "path", "a", "content", "123456789")
		if err == nil {
			_, err = small.Call("fs.write", "path", "b", "content", []string{"12", ""}[i])
		}
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Limit {
			t.Errorf("over the limit of %s: %v, want an error of kind Limit", limit, err)
		}
	}
	d.Stage = &tool.Stage{}
	if got := rowtest.Snapshot(t, d.Dir); len(got) != 1 {
		t.Errorf("%d paths on disk after the stage was dropped, want only the root", len(got))
	}
}

func TestF12FoldersAndRemovalsCountToo(t *testing.T) {
	t.Parallel()
	d := newProject(t, nil)
	for i := range 256 {
		d.Must("fs.mkdir", "path", fmt.Sprintf("d%03d", i))
	}
	d.Fails(value.Limit, "more than 256 files", "fs.mkdir", "path", "one-more")
	d.Stage = &tool.Stage{}
	for i := range 300 {
		rowtest.PutFile(t, d.Dir, fmt.Sprintf("tree/%03d", i), "x")
	}
	d.Fails(value.Limit, "more than 256 files", "fs.remove", "path", "tree", "recursive", true)
	d.Fails(value.Limit, "more than 256 files", "fs.move", "from", "tree", "to", "wood")
	if !d.Stage.Empty() {
		t.Errorf("%d changes are staged, want none: a plan is staged whole or not at all", len(d.Stage.Changes()))
	}
	for i := range 5 {
		rowtest.PutFile(t, d.Dir, fmt.Sprintf("big/%d", i), strings.Repeat("x", 7<<20))
	}
	d.Fails(value.Limit, "more than 32 MB", "fs.remove", "path", "big", "recursive", true)
	if got := len(rowtest.Snapshot(t, d.Dir)); got != 308 {
		t.Errorf("%d paths on disk, want all 308", got)
	}
}

func TestWriteRowsStopWhenTheCallIs(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "x"})
	d.Must("fs.write", "path", "b", "content", "new")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := d.Run(ctx, "fs.commit")
	rowtest.Wrong(t, err, value.Canceled, "the call was cancelled", "fs.commit")
	if got := rowtest.Snapshot(t, d.Dir); got["b"] != "" || d.Stage.Empty() {
		t.Errorf("after a commit that was stopped: b = %q, stage empty = %v, want nothing done", got["b"], d.Stage.Empty())
	}
}

// TestReadOnlyFilesStay checks that a file whose owner took away the right to
// write it is not replaced, though its folder would allow it.
func TestReadOnlyFilesStay(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a.txt": "old"})
	if err := os.Chmod(filepath.Join(d.Dir, "a.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]value.Value{
		{"fs.write", "path", "a.txt", "content", "new"},
		{"fs.append", "path", "a.txt", "content", "new"},
		{"fs.edit", "path", "a.txt", "old", "old", "new", "new"},
	} {
		d.Fails(value.Denied, "a.txt is read-only", args[0].(string), args[1:]...)
	}
}
