package fs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		"a.txt": "hello\n", "empty": "", "日本.txt": "é", "bom": "\uFEFFx", "crlf": "a\r\nb", "bin": "\xff\x00", "dir/x": "1",
	})
	for _, tt := range []struct{ path, want string }{
		{"a.txt", "hello\n"},
		{"./dir/../a.txt", "hello\n"},
		{d.Dir + "/a.txt", "hello\n"},
		{"empty", ""},
		{"日本.txt", "é"},
		{"bom", "\uFEFFx"},
		{"crlf", "a\r\nb"},
	} {
		if got := d.Must("fs.read", "path", tt.path); got != tt.want {
			t.Errorf("fs.read(%q) = %q, want %q", tt.path, got, tt.want)
		}
		if got := d.Must("fs.read_bytes", "path", tt.path); !value.Equal(got, []byte(tt.want)) {
			t.Errorf("fs.read_bytes(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
	d.Fails(value.Failed, "bin is not UTF-8 text\nin a script, pass encoding = \"auto\" to fs.read", "fs.read", "path", "bin")
	if got := d.Must("fs.read_bytes", "path", "bin"); !value.Equal(got, []byte("\xff\x00")) {
		t.Errorf("fs.read_bytes(bin) = %q, want ff 00", got)
	}
	d.Fails(value.Failed, "dir is a folder\npass a file in it; in a script, fs.list", "fs.read", "path", "dir")
	d.Fails(value.Failed, "is a folder", "fs.read", "path", ".")
	d.Fails(value.Invalid, "missing argument", "fs.read")
	d.Fails(value.Invalid, "should be string", "fs.read", "path", int64(1))
}

func TestReadPart(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"digits": "0123456789", "empty": "", "dir/x": "1"})
	if err := os.WriteFile(filepath.Join(d.Dir, "large"), make([]byte, 9<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Must("fs.write", "path", "staged", "content", "abcdef")
	for _, tt := range []struct {
		path           string
		offset, length int64
		want           string
	}{
		{"digits", 0, 4, "0123"}, {"digits", 4, 4, "4567"}, {"digits", 8, 4, "89"}, {"digits", 10, 4, ""}, {"digits", 99, 4, ""},
		{"digits", 3, 0, ""}, {"empty", 0, 1, ""}, {"staged", 2, 3, "cde"}, {"staged", 2, 30, "cdef"}, {"staged", 9, 1, ""},
		{"large", 9<<20 - 2, 8, "\x00\x00"},
	} {
		if got := d.Must("fs.read_bytes", "path", tt.path, "offset", tt.offset, "length", tt.length); !value.Equal(got, []byte(tt.want)) {
			t.Errorf("fs.read_bytes(%q, %d, %d) = %q, want %q", tt.path, tt.offset, tt.length, got, tt.want)
		}
	}
	if got := d.Must("fs.read_bytes", "path", "digits", "offset", int64(7)); !value.Equal(got, []byte("789")) {
		t.Errorf("fs.read_bytes(digits, 7) = %q, want all from there on", got)
	}
	d.Fails(value.Limit, "more than the limit of 8 MB\npass a smaller length", "fs.read_bytes", "path", "large", "offset", int64(1))
	d.Fails(value.Failed, "dir is a folder", "fs.read_bytes", "path", "dir", "offset", int64(1))
	d.Fails(value.Invalid, "argument 'offset'", "fs.read_bytes", "path", "digits", "offset", int64(-1))
}

func TestFileNotFoundNamesWhatIsNear(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"docs/readme.md": "", "docs/guide.md": "", "file": "", "secret/keys.txt": ""})
	d.Fails(value.Failed, "File not found: docs/reedme.md\ndid you mean docs/readme.md?", "fs.read", "path", "docs/reedme.md")
	d.Fails(value.Failed, "File not found: docs/README.md\ndid you mean docs/readme.md?", "fs.stat", "path", "docs/README.md")
	d.Fails(value.Failed, "File not found: nowhere/x\ncheck the path: the folder nowhere does not exist", "fs.read", "path", "nowhere/x")
	d.Fails(value.Failed, "File not found: file/x\nfile is a file", "fs.read", "path", "file/x")
	d.Fails(value.Failed, "File not found: zzz\n", "fs.read", "path", "zzz")
	d.Fails(value.Failed, "File not found: nope", "fs.list", "path", "nope")
	d.Must("fs.write", "path", "docs/staged.md", "content", "")
	d.Fails(value.Failed, "did you mean docs/staged.md?", "fs.read", "path", "docs/stagd.md")
	d.Grant("fs.read:secret/key.txt", "fs.read:docs/**")
	_, err := d.Call("fs.read", "path", "secret/key.txt")
	if e := value.ErrorOf(err, value.Internal); e == nil || strings.Contains(e.Hint, "keys") {
		t.Errorf("fs.read(secret/key.txt) = %v, want an error whose hint names nothing that may not be read", err)
	}
}

func TestWorkDirInWords(t *testing.T) {
	t.Parallel()
	top := newProject(t, map[string]string{"work/a.txt": "a", "other/b.txt": "b", "work/sub/c.txt": "c"})
	d := openProject(t, &Options{Root: top.Dir, WorkDir: "work"})
	d.Fails(value.Failed, "File not found: b.txt", "fs.read", "path", "b.txt")
	d.Fails(value.Failed, "File not found: ../other/c.txt\ndid you mean ../other/b.txt?", "fs.read", "path", "../other/c.txt")
	for _, tt := range []struct {
		name string
		args []value.Value
		want value.Value
	}{
		{"fs.glob", []value.Value{"pattern", "**/*.txt"}, value.List{"a.txt", "sub/c.txt"}},
		{"fs.glob", []value.Value{"pattern", "../other/*"}, value.List{"../other/b.txt"}},
		{"fs.glob", []value.Value{"pattern", "*", "path", "../other"}, value.List{"../other/b.txt"}},
		{"fs.search", []value.Value{"pattern", "b", "path", ".."}, value.List{value.NewDict("path", "../other/b.txt", "line", int64(1), "text", "b")}},
		{"fs.write", []value.Value{"path", "../new", "content", "xy"}, value.NewDict("path", "../new", "bytes", int64(2), "created", true)},
	} {
		if got := d.Must(tt.name, tt.args...); !value.Equal(got, tt.want) {
			t.Errorf("%s(%v) = %s, want %s", tt.name, tt.args, value.FormatJSON(got, ""), value.FormatJSON(tt.want, ""))
		}
	}
	d.Grant("fs.read:work/**")
	d.Fails(value.Denied, "fs.read:other/b.txt", "fs.read", "path", "../other/b.txt")
}

func TestStatAndExists(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"dir/a.txt": "12345"})
	when := time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC)
	rowtest.NoError(t, os.Chtimes(filepath.Join(d.Dir, "dir/a.txt"), when, when))
	want := value.NewDict("name", "a.txt", "path", "dir/a.txt", "kind", "file", "size", int64(5), "modified", "2024-02-03T04:05:06Z")
	if got := d.Must("fs.stat", "path", "dir/./a.txt"); !value.Equal(got, want) {
		t.Errorf("fs.stat = %s, want %s", value.FormatJSON(got, ""), value.FormatJSON(want, ""))
	}
	for _, tt := range []struct {
		path, kind string
		exists     bool
	}{
		{"dir", "dir", true}, {"dir/", "dir", true}, {".", "dir", true}, {"dir/a.txt", "file", true},
		{"dir/b", "", false}, {"x/y/z", "", false}, {"dir/a.txt/b", "", false},
	} {
		if got := d.Must("fs.exists", "path", tt.path); got != tt.exists {
			t.Errorf("fs.exists(%q) = %v, want %v", tt.path, got, tt.exists)
		}
		if !tt.exists {
			d.Fails(value.Failed, "File not found", "fs.stat", "path", tt.path)
			continue
		}
		if got := d.Must("fs.stat", "path", tt.path).(*value.Dict).Text("kind"); got != tt.kind {
			t.Errorf("fs.stat(%q) kind = %q, want %q", tt.path, got, tt.kind)
		}
	}
	if got := d.Must("fs.exists", "path", "dir/a.txt/"); got != false {
		t.Errorf(`fs.exists("dir/a.txt/") = %v, want false: a file is no folder`, got)
	}
	d.Fails(value.Failed, "not a folder", "fs.stat", "path", "dir/a.txt/")
}

func TestList(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"b": "22", "a.txt": "", "a/x": "", ".hidden": "", ".git/HEAD": "", "z/": "", "bad\xff": "", "new\nline": ""})
	if got, want := namesOf(d.Must("fs.list")), ".git/ .hidden a.txt a/ b z/"; got != want {
		t.Errorf("fs.list() = %q, want %q", got, want)
	}
	if got, want := namesOf(d.Must("fs.list", "path", "a")), "x"; got != want {
		t.Errorf("fs.list(a) = %q, want %q", got, want)
	}
	if got := d.Must("fs.list", "path", "z"); !value.Equal(got, value.List{}) {
		t.Errorf("fs.list(z) = %v, want an empty list", got)
	}
	d.Fails(value.Failed, "b is not a folder", "fs.list", "path", "b")
}

// namesOf gives the names of a list, a folder's with a slash.
func namesOf(v value.Value) string {
	var names []string
	for _, item := range v.(value.List) {
		name := item.(*value.Dict).Text("name")
		if item.(*value.Dict).Text("kind") == "dir" {
			name += "/"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestListOfTooMany(t *testing.T) {
	t.Parallel()
	d := newProject(t, nil)
	for i := range 40 {
		rowtest.PutFile(t, d.Dir, fmt.Sprintf("many/%02d", i), "")
	}
	small := openProject(t, &Options{Root: d.Dir, Limits: Limits{Entries: 39}})
	small.Fails(value.Limit, "too many files in many", "fs.list", "path", "many")
	if got := len(d.Must("fs.list", "path", "many").(value.List)); got != 40 {
		t.Errorf("fs.list(many) gave %d entries, want 40", got)
	}
}

// The promise of the limit is that what it lets through is still one value.
func TestTheLongestListIsAValue(t *testing.T) {
	t.Parallel()
	entry := (&spot{look: &look{w: &Files{Folder: &Folder{work: "."}, now: time.Now}}, staged: &tool.FileState{Exists: true}}).describe("a")
	list := make(value.List, maxListed)
	for i := range list {
		list[i] = entry
	}
	if _, err := value.Append(nil, list); err != nil {
		t.Errorf("Append(list of %d) = %v, want nil", maxListed, err)
	}
}

func TestReadSizeLimit(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"eight": "12345678", "nine": "123456789"})
	small := openProject(t, &Options{Root: d.Dir, Limits: Limits{Read: 8}})
	if got := small.Must("fs.read", "path", "eight"); got != "12345678" {
		t.Errorf("fs.read(eight) = %q, want it", got)
	}
	small.Fails(value.Limit, "nine is larger than the limit of 8 bytes", "fs.read", "path", "nine")
	rowtest.PutFile(t, d.Dir, "big", strings.Repeat("x", 8<<20+1))
	d.Fails(value.Limit, "big is larger than the limit of 8 MB", "fs.read", "path", "big")
	_, err := d.Call("fs.read_bytes", "path", "big")
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Limit != value.LimitRead {
		t.Errorf("fs.read_bytes(big) = %v, want the limit read", err)
	}
}

func TestReadsStopWhenTheCallIs(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, args := range map[string][]value.Value{
		"fs.read": {"path", "a"}, "fs.list": nil, "fs.glob": {"pattern", "**"}, "fs.search": {"pattern", "x"},
		"fs.write": {"path", "b", "content", ""}, "fs.stat": {"path", "a"},
	} {
		_, err := d.Run(ctx, name, args...)
		rowtest.Wrong(t, err, value.Canceled, "the call was cancelled", name)
	}
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelLate()
	_, err := d.Run(late, "fs.read", "path", "a")
	rowtest.Wrong(t, err, value.Timeout, "time", "fs.read")
	why := value.Errorf(value.Limit, "enough of you")
	because, cancelBecause := context.WithCancelCause(context.Background())
	cancelBecause(why)
	_, err = d.Run(because, "fs.read", "path", "a")
	if !errors.Is(err, why) {
		t.Errorf("fs.read = %v, want the cause of the cancelling", err)
	}
}

func TestReadsSeeWhatIsStaged(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"old.txt": "old needle", "gone.txt": "gone needle", "dir/x": "x", "tree/a/b": "b"})
	d.Must("fs.write", "path", "new/deep/file.txt", "content", "a\nnew needle\n")
	d.Must("fs.write", "path", "old.txt", "content", "changed")
	d.Must("fs.remove", "path", "gone.txt")
	d.Must("fs.remove", "path", "tree", "recursive", true)
	d.Must("fs.mkdir", "path", "made")
	before := rowtest.Snapshot(t, d.Dir)

	if got, want := namesOf(d.Must("fs.list")), "dir/ made/ new/ old.txt"; got != want {
		t.Errorf("fs.list() = %q, want %q", got, want)
	}
	if got, want := namesOf(d.Must("fs.list", "path", "new")), "deep/"; got != want {
		t.Errorf("fs.list(new) = %q, want %q", got, want)
	}
	if got := d.Must("fs.glob", "pattern", "**"); !value.Equal(got, value.List{"dir/x", "new/deep/file.txt", "old.txt"}) {
		t.Errorf("fs.glob(**) = %v, want what is staged over what is on disk", got)
	}
	want := value.List{value.NewDict("path", "new/deep/file.txt", "line", int64(2), "text", "new needle")}
	if got := d.Must("fs.search", "pattern", "needle"); !value.Equal(got, want) {
		t.Errorf("fs.search = %s, want %s", value.FormatJSON(got, ""), value.FormatJSON(want, ""))
	}
	if got := d.Must("fs.read", "path", "old.txt"); got != "changed" {
		t.Errorf("fs.read(old.txt) = %q, want what the call wrote", got)
	}
	d.Fails(value.Failed, "File not found: gone.txt", "fs.read", "path", "gone.txt")
	d.Fails(value.Failed, "File not found: tree/a/b", "fs.read", "path", "tree/a/b")
	d.Fails(value.Failed, "File not found: tree", "fs.list", "path", "tree")
	if got := d.Must("fs.exists", "path", "tree/a"); got != false {
		t.Errorf("fs.exists(tree/a) = %v, want false", got)
	}
	if got := d.Must("fs.stat", "path", "new/deep/file.txt").(*value.Dict).IntOr("size", -1); got != 13 {
		t.Errorf("fs.stat size = %d, want 13", got)
	}
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("the disk changed before a commit (-want +got):\n%s", diff)
	}
}

func TestBytesThatAreGivenAreTheReadersOwn(t *testing.T) {
	t.Parallel()
	d := newProject(t, nil)
	mine := []byte("abc")
	d.Must("fs.write", "path", "f", "content", mine)
	mine[0] = 'X'
	d.Must("fs.read_bytes", "path", "f").([]byte)[1] = 'Y'
	if got := d.Must("fs.read", "path", "f"); got != "abc" {
		t.Errorf("fs.read(f) = %q, want %q", got, "abc")
	}
}
