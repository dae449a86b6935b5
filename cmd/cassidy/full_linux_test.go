package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
)

// fillFiles are a workflow that writes, and has written down, more than some
// disks hold.
var fillFiles = map[string]string{
	".cassidy/tools/keep.star": `def keep(n: int):
    "Keep ten thousand letters, and a word of it."
    fs.write("out/%d.txt" % n, str(n % 10) * 10000)
    tools.note(line = str(n))
    fs.append("after.txt", "%d\n" % n)

tool(keep, needs = ["fs.write", "tool:note"])
`,
	".cassidy/tools/note.star": `def note(line: str):
    "Add a line."
    fs.append("log.txt", line + "\n")

tool(note, needs = ["fs.write:log.txt"])
`,
	".cassidy/workflows/fill.star": `def main():
    for n in range(60):
        tools.keep(n = n)
`,
}

// TestFullDisk fills the disk of the record during a run. The run must end before an effect
// that cannot be recorded, and continue when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		full func(p *flowProject) (began func(pid int), room func())
		code int
		want string
	}{
		{"full disk", smallDisk, 4, "write to the journal: the disk is full"},
		{"limit of the process", smallFiles, 5, "write to the journal: the disk cannot be read or written"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &flowProject{&apptest.Project{TB: t, Dir: t.TempDir(), Home: t.TempDir(), Commands: command.Commands()}}
			began, room := tt.full(p)
			cmd := p.command("run", "fill", "--yes", "--run-id", "k")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			began(cmd.Process.Pid)
			_ = cmd.Wait() // the exit code says it
			if got := cmd.ProcessState.ExitCode(); got != tt.code || !strings.Contains(stderr.String(), tt.want) || !strings.Contains(stderr.String(), "hint: ") {
				t.Errorf("the run ended with %d, want %d and %q:\n%s", got, tt.code, tt.want, stderr.String())
			}
			p.checkRecorded()
			room()
			p.Want([]string{"runs", "resume", "k", "--yes"}, 0, "", "")
			p.checkFilled()
		})
	}
}

// fillable makes a project of fillFiles that its user trusts.
func (p *flowProject) fillable() {
	p.TB.Helper()
	for name, text := range fillFiles {
		p.Write(name, text)
	}
	p.Want([]string{"trust", "--yes"}, 0, "", "trusted 3 files")
}

// smallDisk has the runs recorded on a disk with half a megabyte of room.
func smallDisk(p *flowProject) (began func(pid int), room func()) {
	p.TB.Helper()
	if err := unix.Mount("tmpfs", p.Home, "tmpfs", 0, "size=8m"); err != nil {
		p.TB.Skipf("no file system can be mounted here: %v", err)
	}
	p.TB.Cleanup(func() { _ = unix.Unmount(p.Home, unix.MNT_DETACH) })
	p.fillable()
	ballast := filepath.Join(p.Home, "ballast")
	var disk unix.Statfs_t
	err := unix.Statfs(p.Home, &disk)
	if err == nil {
		err = os.WriteFile(ballast, make([]byte, int64(disk.Bavail)*disk.Bsize-512<<10), 0o600)
	}
	if err != nil {
		p.TB.Fatal(err)
	}
	return func(int) {}, func() {
		if err := os.Remove(ballast); err != nil {
			p.TB.Fatal(err)
		}
	}
}

// smallFiles has a process write files of 400 KB at most.
func smallFiles(p *flowProject) (began func(pid int), room func()) {
	p.TB.Helper()
	p.fillable()
	return func(pid int) {
		if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 400 << 10, Max: 400 << 10}, nil); err != nil {
			p.TB.Error(err)
		}
	}, func() {}
}

// checkRecorded looks at a run that has come to a full disk: whatever it wrote,
// it has written down before.
func (p *flowProject) checkRecorded() {
	p.TB.Helper()
	stdout, stderr, code := p.Run("--json", "runs", "show", "k")
	var shown struct {
		State string
		Steps []struct{ Change map[string]any }
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || code != 0 || shown.State != "running" {
		p.TB.Fatalf("runs show ended with %d, %v: the run is %q\n%s", code, err, shown.State, stderr)
	}
	recorded, logged := map[string]bool{}, 0
	for _, s := range shown.Steps {
		for path := range s.Change {
			recorded[path] = true
			if path == "log.txt" {
				logged++
			}
		}
	}
	written := 0
	for n := range 60 {
		path := fmt.Sprintf("out/%d.txt", n)
		if _, err := os.Stat(filepath.Join(p.Dir, path)); err == nil {
			written++
			if !recorded[path] {
				p.TB.Errorf("%s was written, and that is not recorded", path)
			}
		}
	}
	if written == 0 || written == 60 {
		p.TB.Errorf("%d files were written before there was no room", written)
	}
	if lines := strings.Count(p.read("log.txt"), "\n"); lines > logged {
		p.TB.Errorf("%d lines were added, and %d are recorded", lines, logged)
	}
}

// checkFilled checks that each thing was written once.
func (p *flowProject) checkFilled() {
	p.TB.Helper()
	lines := ""
	for n := range 60 {
		lines += fmt.Sprintln(n)
		if got, want := p.read(fmt.Sprintf("out/%d.txt", n)), strings.Repeat(fmt.Sprint(n%10), 10000); got != want {
			p.TB.Errorf("out/%d.txt has %d bytes, want %d", n, len(got), len(want))
		}
	}
	for _, name := range []string{"log.txt", "after.txt"} {
		if diff := cmp.Diff(lines, p.read(name)); diff != "" {
			p.TB.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func (p *flowProject) read(name string) string {
	p.TB.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		p.TB.Fatal(err)
	}
	return string(text)
}
