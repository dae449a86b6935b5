//go:build amd64 || arm64

package launch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A syncBuffer keeps what both of a command's outputs say.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// needConfined skips where the kernel cannot confine, which a person sees.
func needConfined(t *testing.T) {
	t.Helper()
	if !Confined() {
		t.Skip("THIS KERNEL CANNOT CONFINE COMMANDS: Landlock is missing or older than version 3")
	}
}

// runShell runs a command line with /bin/sh.
func runShell(t *testing.T, line string, change func(*tool.Process)) (said string, exit int, err error) {
	t.Helper()
	needConfined(t)
	var out syncBuffer
	p := &tool.Process{
		Path: "/bin/sh", Args: []string{"-c", line}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
		Timeout: 20 * time.Second, Stdout: &out, Stderr: &out,
	}
	if change != nil {
		change(p)
	}
	ctx, cancel := lastResort(t)
	defer cancel()
	exit, err = Run(ctx, p)
	return out.String(), exit, err
}

// lastResort ends what hangs, with an error that no test wants.
func lastResort(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeoutCause(t.Context(), 10*time.Minute, value.Errorf(value.Internal, "it has not ended for ten minutes"))
}

// ownProgram is the path of the test's own program.
func ownProgram(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestExits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, said string
		exit       int
		kind       value.Kind
		fails      bool
	}{
		{line: "echo out", said: "out\n"},
		{line: "echo err >&2", said: "err\n"},
		{line: "exit 3", exit: 3},
		{line: "exit 255", exit: 255},
		{line: "no-such-program", said: "/bin/sh: 1: no-such-program: not found\n", exit: 127},
		{line: "kill -SEGV $$", exit: 128 + 11, kind: value.Command, fails: true},
		{line: "kill -KILL $$", exit: 128 + 9, kind: value.Command, fails: true},
		{line: "cat; echo end", said: "end\n"}, // nothing comes in
		{line: "echo $0 $PATH; pwd", said: "/bin/sh /usr/bin:/bin\n/\n"},
		{line: "set | grep -c ^[A-Z]*=", said: ""},
	} {
		said, exit, err := runShell(t, tt.line, nil)
		if strings.HasPrefix(tt.line, "set") { // differs from shell to shell
			tt.said = said
		}
		tt.said = strings.ReplaceAll(tt.said, "/bin/sh: 1", "sh: 1")
		said = strings.ReplaceAll(said, "/bin/sh: 1", "sh: 1")
		if exit != tt.exit || (err != nil) != tt.fails || tt.fails && value.KindOf(err) != tt.kind || said != tt.said {
			t.Errorf("%s: said %q, exit %d, %v, want %q, %d", tt.line, said, exit, err, tt.said, tt.exit)
		}
	}
}

func TestRefusesWhatIsNoProcess(t *testing.T) {
	t.Parallel()
	needConfined(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	garbage := filepath.Join(dir, "garbage")
	for name, mode := range map[string]os.FileMode{plain: 0o644, garbage: 0o755} {
		if err := os.WriteFile(name, []byte("\x00\x01"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		p    tool.Process
		kind value.Kind
	}{
		{tool.Process{Path: "sh", Dir: "/"}, value.Invalid},
		{tool.Process{Path: "/bin/sh", Dir: "."}, value.Invalid},
		{tool.Process{Path: "/bin/sh", Dir: "/", Args: []string{"a\x00b"}}, value.Invalid},
		{tool.Process{Path: "/bin/sh", Dir: "/", Args: []string{strings.Repeat("x", 200<<10)}}, value.Invalid},
		{tool.Process{Path: "/bin/sh", Dir: "/", Read: []string{"x"}}, value.Invalid},
		{tool.Process{Path: "/bin/sh", Dir: "/", Read: []string{dir + "/missing"}}, value.Unavailable},
		{tool.Process{Path: "/bin/sh", Dir: dir + "/missing"}, value.Unavailable},
		{tool.Process{Path: dir + "/missing", Dir: "/"}, value.Unavailable},
		{tool.Process{Path: dir, Dir: "/"}, value.Unavailable},
		{tool.Process{Path: plain, Dir: "/"}, value.Unavailable},
		{tool.Process{Path: garbage, Dir: "/"}, value.Unavailable},
	} {
		exit, err := Run(t.Context(), &tt.p)
		if err == nil || value.KindOf(err) != tt.kind || exit != -1 {
			t.Errorf("%+v: exit %d, %v, want an error of kind %s", tt.p.Path, exit, err, tt.kind)
		}
	}
}

// TestKeepsArguments checks that what is no text comes through as it is.
func TestKeepsArguments(t *testing.T) {
	t.Parallel()
	needConfined(t)
	dir := filepath.Join(t.TempDir(), "d\xffr \n'\"$(x)")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err := Run(t.Context(), &tool.Process{
		Path: "/bin/sh", Args: []string{"-c", `printf '%s|' "$@"; pwd; ls`, "sh", "a b", "", "\xff", "$(id)", "; ls", "-x", "é\n"},
		Dir: dir, Read: []string{dir}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out,
	})
	want := "a b||\xff|$(id)|; ls|-x|é\n|" + dir + "\n"
	if err != nil || out.String() != want {
		t.Errorf("said %q, %v, want %q", out.String(), err, want)
	}
}

// TestName checks that a program gets its name as it was written, unless PATH leads from the name to
// another program.
func TestName(t *testing.T) {
	t.Parallel()
	needConfined(t)
	dir := t.TempDir()
	for _, name := range []string{"bin/tool", "other/tool"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.Symlink("/bin/sh", filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(dir, "bin/tool")
	for _, tt := range []struct{ name, path, want string }{
		{"", "bin", own},
		{"tool", "bin", "tool"},
		{"tool", "bin:DIR/other", "tool"},
		{"tool", "other:DIR/bin", own},
		{"tool", "none:DIR/bin", "tool"},
		{"tool", "none", own},
		{"bin/tool", "other", "bin/tool"},
		{"./bin/../bin/tool", "other", "./bin/../bin/tool"},
		{own, "other", own},
		{"t\xff/ool", "bin", "t\xff/ool"},
	} {
		path := strings.ReplaceAll(dir+"/"+tt.path, "DIR", dir)
		got, exit, err := runShell(t, `printf %s "$0"`, func(p *tool.Process) {
			p.Path, p.Name, p.Dir, p.Read, p.Env = own, tt.name, dir, []string{dir}, []string{"PATH=" + path, "PATH=" + dir}
		})
		if got != tt.want || exit != 0 || err != nil {
			t.Errorf("name %q, PATH %s: %q, exit %d, %v, want %q", tt.name, path, got, exit, err, tt.want)
		}
	}
}

// TestPythonEnvironment checks that Python finds its environment, and not that of another Python in
// PATH.
func TestPythonEnvironment(t *testing.T) {
	t.Parallel()
	needConfined(t)
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip("THIS MACHINE HAS NO " + python)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"a", "b"} {
		bin := filepath.Join(dir, env, "bin")
		err := errors.Join(os.MkdirAll(bin, 0o755), os.Symlink(python, filepath.Join(bin, "python")), os.Symlink(python, filepath.Join(bin, "python3")),
			os.WriteFile(filepath.Join(dir, env, "pyvenv.cfg"), []byte("home = /usr/bin\n"), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ path, name, want string }{
		{dir + "/a/bin/python", dir + "/a/bin/python", dir + "/a"},
		{dir + "/a/bin/python", "a/bin/python", dir + "/a"},
		{dir + "/a/bin/python3", "python3", dir + "/a"},
		{dir + "/b/bin/python3", "python3", dir + "/b"},
		{python, python, "/usr"},
		{python, "python3", "/usr"},
	} {
		got, exit, err := runShell(t, "", func(p *tool.Process) {
			p.Path, p.Name, p.Dir, p.Read, p.Env = tt.path, tt.name, dir, []string{dir}, []string{"PATH=" + dir + "/a/bin:/usr/bin:/bin"}
			p.Args = []string{"-c", "import sys; print(sys.prefix)"}
		})
		if got != tt.want+"\n" || exit != 0 || err != nil {
			t.Errorf("%s as %s: %q, exit %d, %v, want %q", tt.path, tt.name, got, exit, err, tt.want)
		}
	}
}

// layProject makes a folder that may be read, and a file beside it that may not.
func layProject(t *testing.T) (dir, outside string) {
	t.Helper()
	base := t.TempDir()
	dir, outside = filepath.Join(base, "project"), filepath.Join(base, "outside")
	for _, d := range []string{dir, filepath.Join(dir, "empty"), filepath.Join(dir, "sub")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{filepath.Join(dir, "file"): "inside", outside: "secret"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

// TestS08CommandIsConfined tries everything that a command is not to do, with
// the Landlock of this kernel and with the oldest that is good enough.
func TestS08CommandIsConfined(t *testing.T) {
	needConfined(t)
	for _, abi := range []int{0, minABI} {
		dir, outside := layProject(t)
		file := filepath.Join(dir, "file")
		before := looks(t, dir, outside)
		var out syncBuffer
		p := &tool.Process{
			Path: ownProgram(t), Args: []string{"hostile", "probe", outside, file, dir, fmt.Sprint(os.Getpid())},
			Dir: dir, Read: []string{dir}, Timeout: 20 * time.Second, Stdout: &out, Stderr: &out,
		}
		exit, err := runChanged(t, p, func(s *command) {
			if abi > 0 {
				s.ABI = abi
			}
		})
		if err != nil || exit != 0 {
			t.Fatalf("exit %d, %v; it said %s", exit, err, out.String())
		}
		for _, name := range probeNames() {
			if !strings.Contains(out.String(), name+": refused") {
				t.Errorf("Landlock %d: %q was not refused", abi, name)
			}
		}
		if t.Failed() {
			t.Logf("it said:\n%s", out.String())
		}
		if after := looks(t, dir, outside); after != before {
			t.Errorf("the files are now\n%swant\n%s", after, before)
		}
	}
}

// runChanged is Run with a change to the command that the stages get.
func runChanged(t *testing.T, p *tool.Process, change func(*command)) (int, error) {
	t.Helper()
	full, err := complete(p)
	if err != nil {
		return -1, err
	}
	cmd, err := newCommand(full)
	if err != nil {
		return -1, err
	}
	defer cmd.closePlaces()
	change(cmd)
	l, err := startSupervisor("", cmd, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	ctx, cancel := lastResort(t)
	defer cancel()
	return l.wait(ctx, full)
}

// looks writes down files with mode, time and content.
func looks(t *testing.T, names ...string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range names {
		err := filepath.Walk(name, func(name string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			text, _ := os.ReadFile(name)
			fmt.Fprintf(&b, "%s %s %s %q\n", name, info.Mode(), info.ModTime(), text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestS08Capabilities checks what a command is, as the kernel sees it.
func TestS08Capabilities(t *testing.T) {
	needConfined(t)
	var out bytes.Buffer
	_, err := Run(t.Context(), &tool.Process{Path: "/bin/cat", Args: []string{"/proc/self/status"}, Dir: "/", Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("its status lacks %q", want)
		}
	}
	if os.Geteuid() == 0 && !strings.Contains(out.String(), "CapBnd:\t0000000000000000") {
		t.Errorf("root can take capabilities back: %s", out.String())
	}
}

// TestDescriptors checks that a command holds its three files and no other.
func TestDescriptors(t *testing.T) {
	leak, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, leak.Fd(), syscall.F_SETFD, 0); e != 0 {
		t.Fatal(e)
	}
	said, _, err := runShell(t, "for f in /proc/self/fd/*; do echo ${f##*/}; done", nil)
	if err != nil || strings.Join(strings.Fields(strings.ReplaceAll(said, "*", "")), " ") > "0 1 2 3" {
		t.Errorf("its descriptors are %q, %v, want 0, 1 and 2 (3 is the list's own)", said, err)
	}
}

// TestWrite checks that what may be written can be, and only that.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir, outside := layProject(t)
	sub := filepath.Join(dir, "sub")
	said, exit, err := runShell(t, `exec 2>&1
		echo new >sub/new && mv sub/new sub/moved && mkdir sub/d && ln sub/moved sub/d/hard && mv sub/moved sub/d/moved && mv sub/d/moved sub/moved && ln -s x sub/l && chmod 755 sub/moved && touch -d 2020-01-01 sub/moved && echo ok
		printf '#!/bin/sh\necho ran\n' >sub/script && chmod +x sub/script && sub/script
		ln file sub/hard; mv file sub/taken; echo x >file; echo x >other; chmod 4755 sub/moved; echo x >link; ln -s ../file sub/s && echo x >sub/s; true >sub/../file
		cat file`, func(p *tool.Process) { p.Dir, p.Read, p.Write = dir, []string{dir}, []string{sub} })
	if err != nil || exit != 0 || !strings.Contains(said, "ok\nran\n") || !strings.HasSuffix(said, "inside") {
		t.Errorf("said %q, exit %d, %v", said, exit, err)
	}
	for name, want := range map[string]string{filepath.Join(dir, "file"): "inside", outside: "secret", filepath.Join(sub, "moved"): "new\n"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v, want %q", name, text, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(sub, "moved")); err != nil {
		t.Error(err)
	} else if info.Mode() != 0o755 {
		t.Errorf("the file has mode %v, want 0755", info.Mode())
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 4 {
		t.Errorf("the folder has %q, want 4 names", names)
	}
}

// TestS08Modes checks that modes and times change where the process may write,
// in every way, and nowhere else in any.
func TestS08Modes(t *testing.T) {
	t.Parallel()
	needConfined(t)
	dir, outside := layProject(t)
	sub := filepath.Join(dir, "sub")
	inside := filepath.Join(sub, "inside")
	if err := os.WriteFile(inside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{inside, outside, filepath.Join(dir, "file")} {
		if err := os.Symlink(name, filepath.Join(sub, "to-"+filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	run := func(file string) string {
		var out syncBuffer
		_, err := Run(t.Context(), &tool.Process{
			Path: ownProgram(t), Args: []string{"hostile", "modes", file}, Dir: sub, Read: []string{dir}, Write: []string{sub}, Stdout: &out, Stderr: &out,
		})
		if err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		return out.String()
	}
	for _, file := range []string{outside, filepath.Join(dir, "file"), "/etc/passwd", "/bin/sh"} {
		before, _ := os.Stat(file)
		for line := range strings.Lines(run(file)) {
			if !strings.Contains(line, ": refused: ") && !(strings.Contains(line, "link") && strings.HasPrefix(file, "/etc") || strings.HasPrefix(file, "/bin")) {
				t.Errorf("%s: %s", file, line)
			}
		}
		if after, _ := os.Stat(file); after.Mode() != before.Mode() || after.ModTime() != before.ModTime() {
			t.Errorf("%s is now %v %v", file, after.Mode(), after.ModTime())
		}
	}
	said := run(inside)
	for _, p := range modeProbes(inside) {
		if !strings.Contains(said, p.name+": done") {
			t.Errorf("inside: %s is refused: %s", p.name, said)
		}
	}
	info, err := os.Stat(inside)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(86400); info.ModTime().Unix() != want || info.Mode() != 0o750 && info.Mode() != 0o756 {
		t.Errorf("inside is now %v %v, want 0750 (0756 on arm64) and the second day", info.Mode(), info.ModTime())
	}
}

// TestLinkAsGrant checks that a link where a folder was meant grants nothing.
func TestLinkAsGrant(t *testing.T) {
	t.Parallel()
	dir, outside := layProject(t)
	link := filepath.Join(dir, "link")
	said, exit, _ := runShell(t, "cat "+outside+"; echo x >"+outside, func(p *tool.Process) {
		p.Read, p.Write = []string{link}, []string{link}
	})
	if text, _ := os.ReadFile(outside); strings.Contains(said, "secret") || string(text) != "secret" || exit == 0 {
		t.Errorf("it said %q and exit %d; outside is now %q", said, exit, text)
	}
}

// TestOpened checks that a process gets what was opened, whatever has its name by then: where
// it starts, reads, writes and changes modes.
func TestOpened(t *testing.T) {
	needConfined(t)
	base := t.TempDir()
	dir, moved, outside := filepath.Join(base, "dir"), filepath.Join(base, "moved"), filepath.Join(base, "outside")
	for _, d := range []string{dir, outside} {
		if err := errors.Join(os.Mkdir(d, 0o755), os.WriteFile(filepath.Join(d, "f"), []byte(filepath.Base(d)), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if err := errors.Join(os.Rename(dir, moved), os.Symlink(outside, dir)); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("exec 2>&1; pwd; cat f; cat %[1]s/f; echo new >f && chmod 700 f && echo wrote; echo new >%[1]s/f; chmod 700 %[1]s/f; ls -d /proc/self/fd/*", dir)
	said, exit, err := runShell(t, line, func(p *tool.Process) {
		p.Dir, p.Read, p.Write, p.Opened = dir, []string{dir}, []string{dir}, map[string]uintptr{dir: opened.Fd()}
	})
	if err != nil || !strings.HasPrefix(said, moved+"\ndir") || !strings.Contains(said, "wrote\n") || strings.Contains(said, "outside") || strings.Contains(said, "/fd/4") {
		t.Errorf("said %q, exit %d, %v", said, exit, err)
	}
	info, err := os.Stat(filepath.Join(outside, "f"))
	if text, _ := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(text) != "outside" || info.Mode() != 0o644 {
		t.Errorf("outside is now %q, %v, %v", text, info.Mode(), err)
	}
	if text, _ := os.ReadFile(filepath.Join(moved, "f")); string(text) != "new\n" {
		t.Errorf("inside is now %q", text)
	}
}

// TestManyPlaces checks that a process may have more places than descriptors.
func TestManyPlaces(t *testing.T) {
	t.Parallel()
	needConfined(t)
	dir := t.TempDir()
	var places []string
	for i := range 1500 {
		places = append(places, filepath.Join(dir, fmt.Sprint(i)))
		if err := os.Mkdir(places[i], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	said, exit, err := runShell(t, "echo x >0/f && echo y >1499/f && cat 0/f 1499/f; (echo x >f) 2>/dev/null || ulimit -n", func(p *tool.Process) {
		p.Dir, p.Read, p.Write = dir, []string{dir}, places
	})
	if err != nil || exit != 0 || said != "x\ny\n1024\n" {
		t.Errorf("said %q, exit %d, %v", said, exit, err)
	}
}

// TestNetwork checks that the network is open only for who may use it,
// and then leads to no program of this machine that listens on a file.
func TestNetwork(t *testing.T) {
	needConfined(t)
	var out syncBuffer
	dir, outside := layProject(t)
	_, err := Run(t.Context(), &tool.Process{
		Path: ownProgram(t), Args: []string{"hostile", "probe", outside, filepath.Join(dir, "file"), dir, fmt.Sprint(os.Getpid())},
		Dir: "/", Network: true, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"socket TCP", "socket TCP6", "socket UDP", "socket NETLINK"} {
		if !strings.Contains(out.String(), name+": done") && !strings.Contains(out.String(), name+": refused: address family not supported") {
			t.Errorf("%s is refused to one that may use the network", name)
		}
	}
	for _, name := range []string{"socket UNIX", "socket PACKET", "socket VSOCK", "read outside", "io_uring", "trace the host"} {
		if !strings.Contains(out.String(), name+": refused") {
			t.Errorf("%s is not refused to one that may use the network", name)
		}
	}
}

// markOf makes an argument that no other process has.
func markOf(t *testing.T) string { return fmt.Sprintf("3%d.%d", time.Now().UnixNano(), os.Getpid()) }

// TestS07NothingStays starts what is made to stay, and looks for it afterwards.
// M stands for a mark that finds it.
func TestS07NothingStays(t *testing.T) {
	forever := "sleep M"
	for _, tt := range []struct {
		name, line string
		kind       value.Kind
		ends       bool // by itself, leaving something behind
	}{
		{name: "runs on", line: forever, kind: value.Timeout},
		{name: "background", line: forever + " & echo up", ends: true},
		{name: "background, waits", line: forever + " & echo up; wait", kind: value.Timeout},
		{name: "no output held", line: forever + " >/dev/null 2>&1 & echo up", ends: true},
		{name: "setsid", line: "setsid " + forever + " & echo up", ends: true},
		{name: "setsid, waits", line: "setsid setsid " + forever + " & echo up; " + forever, kind: value.Timeout},
		{name: "double fork", line: "( ( setsid sh -c '( " + forever + " & ) ; " + forever + "' & ) & ) ; echo up", ends: true},
		{name: "ignores signals", line: "trap '' TERM INT HUP QUIT USR1 ALRM PIPE; echo up; while :; do sleep M & wait; done", kind: value.Timeout},
		{name: "nohup", line: "nohup setsid nohup sh -c \"trap '' TERM HUP; " + forever + "\" & echo up", ends: true},
		{name: "stopped", line: "sh -c 'kill -STOP $$; " + forever + "' & echo up", ends: true},
		{name: "stops itself", line: "echo up; kill -STOP $$; " + forever, kind: value.Timeout},
		{name: "guards each other", line: `echo up; g() { while :; do setsid sh -c 'sleep M' & wait $!; done; }; g & g & g & sleep M`, kind: value.Timeout},
		{name: "restarts on its end", line: `echo up; sh -c 'trap "setsid sleep M &" EXIT; sleep M' & sleep M`, kind: value.Timeout},
		{name: "moves its group", line: "set -m; " + forever + " & " + forever + " & set +m; echo up", ends: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // most wait for the end of their time
			mark := markOf(t)
			said, exit, err := runShell(t, strings.ReplaceAll(tt.line, "M", mark), func(p *tool.Process) { p.Timeout = time.Second })
			if tt.ends != (err == nil) || err != nil && value.KindOf(err) != tt.kind {
				t.Errorf("exit %d, %v, want kind %s", exit, err, tt.kind)
			}
			if strings.Contains(tt.line, "echo up") && !strings.Contains(said, "up") {
				t.Errorf("it said %q and never came up", said)
			}
			if left := heldBy(mark); len(left) > 0 {
				t.Errorf("there stay %q", left)
			}
		})
	}
}

// TestS07OldLandlock ends what runs where Landlock keeps no signals in, and the
// supervisor must look for each process.
func TestS07OldLandlock(t *testing.T) {
	needConfined(t)
	t.Parallel()
	processes, most := bombSize()
	for _, tt := range []struct {
		line string
		kind value.Kind
	}{
		{"(setsid sh -c 'trap \"\" TERM; (sleep M &) ; sleep M' &) ; sleep M", value.Timeout},
		{"setsid \"$0\" hostile headless M & sleep M", value.Timeout},
		{fmt.Sprintf("i=0; while [ $i -lt %d ]; do ( setsid sleep M & ); i=$((i+1)); done; sleep M", most), value.Limit},
	} {
		mark := markOf(t)
		p := &tool.Process{
			Path: "/bin/sh", Args: []string{"-c", strings.ReplaceAll(tt.line, "M", mark), ownProgram(t)}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
			Read: []string{ownProgram(t)}, Timeout: time.Duration(testutil.Times(1, 2)) * time.Second, Processes: processes,
		}
		if tt.kind == value.Limit {
			p.Timeout = time.Minute // it ends long before
		}
		_, err := runChanged(t, p, func(s *command) { s.ABI = minABI })
		if err == nil || value.KindOf(err) != tt.kind {
			t.Errorf("%s: %v, want kind %s", tt.line, err, tt.kind)
		}
		if left := heldBy(mark); len(left) > 0 {
			t.Errorf("%s: there stay %q", tt.line, left)
		}
	}
}

// TestS07Headless ends a process that looks like one that has ended: when the command is cancelled, and when it ends by itself.
func TestS07Headless(t *testing.T) {
	needConfined(t)
	t.Parallel()
	mark := markOf(t)
	for _, line := range []string{`exec "$0" hostile headless M`, `setsid "$0" hostile headless M & wait`, `(setsid "$0" hostile headless M &) | head -n 1`} {
		ctx, cancel := context.WithCancel(t.Context())
		var out syncBuffer
		said := writerFunc(func(p []byte) (int, error) {
			if n, err := out.Write(p); !strings.Contains(out.String(), "up") || strings.Contains(line, "head -n 1") {
				return n, err
			}
			cancel()
			return len(p), nil
		})
		_, err := Run(ctx, &tool.Process{
			Path: "/bin/sh", Args: []string{"-c", strings.ReplaceAll(line, "M", mark), ownProgram(t)}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
			Read: []string{ownProgram(t)}, Timeout: 10 * time.Minute, Stdout: said, Stderr: said,
		})
		cancel()
		if ends := strings.Contains(line, "head -n 1"); (err == nil) != ends || !ends && value.KindOf(err) != value.Canceled {
			t.Errorf("%s: %v, want that it ends by itself: %v, or is cancelled", line, err, ends)
		}
		if !strings.Contains(out.String(), "up") {
			t.Errorf("%s: it said %q, want up", line, out.String())
		}
		if left := heldBy(mark); len(left) > 0 {
			t.Errorf("%s: there stay %q", line, left)
		}
	}
}

// A writerFunc is a writer that is a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestS07Floods(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	full := value.Errorf(value.Limit, "that is enough")
	full.Limit = value.LimitLength
	limit := &cutter{left: 1 << 20, err: full}
	_, exit, err := runShell(t, "setsid sh -c 'sleep "+mark+"' & yes; yes; yes", func(p *tool.Process) { p.Stdout, p.Stderr = limit, limit })
	if !errors.Is(err, full) || exit != -1 {
		t.Errorf("exit %d, %v, want the writer's error", exit, err)
	}
	if left := heldBy(mark); len(left) > 0 {
		t.Errorf("there stay %q", left)
	}
	// One whose output is wanted by nobody is not held up by it.
	_, exit, err = runShell(t, "head -c 50000000 /dev/zero; head -c 5000000 /dev/zero >&2; exit 4", func(p *tool.Process) { p.Stdout, p.Stderr = nil, nil })
	if exit != 4 || err != nil {
		t.Errorf("exit %d, %v, want 4", exit, err)
	}
}

// A cutter takes so many bytes and then gives an error.
type cutter struct {
	mu   sync.Mutex
	left int
	err  error
}

func (c *cutter) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left -= len(b); c.left < 0 {
		return 0, c.err
	}
	return len(b), nil
}

// bombSize is how many processes a bomb may have, and how many it tries to start. An ordinary
// run starts no more than 64 at a time, even if nothing ends them.
func bombSize() (processes, most int) {
	if testutil.Soak() {
		return defaultProcesses, 500
	}
	return 16, 48
}

// TestS07ForkBombs checks that what multiplies is ended, and by which limit.
func TestS07ForkBombs(t *testing.T) {
	processes, most := bombSize()
	// What doubles has 63 processes when it has doubled five times; in a soak it has no end.
	doubling, sessions := "b() { [ $1 = 6 ] && exec sleep M; b $(($1+1)) & b $(($1+1)) & wait; }; b 1", `export B='[ $0 = 6 ] && exec sleep M; setsid sh -c "$B" $(($0+1)) & setsid sh -c "$B" $(($0+1)) & wait'; sh -c "$B" 1`
	if testutil.Soak() {
		doubling, sessions = "b() { b M & b M & wait; }; b", `export B='setsid sh -c "$B" M & setsid sh -c "$B" M & wait'; sh -c "$B"`
	}
	for _, tt := range []struct{ name, line string }{
		{"many children", fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep M & i=$((i+1)); done; wait", most)},
		{"doubling", doubling},
		{"doubling in sessions of their own", sessions},
		{"in sessions of their own", fmt.Sprintf("i=0; while [ $i -lt %d ]; do setsid sleep M & i=$((i+1)); done; wait", most)},
		{"orphans", fmt.Sprintf("i=0; while [ $i -lt %d ]; do ( setsid sleep M & ); i=$((i+1)); done; sleep M", most)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mark := markOf(t)
			_, exit, err := runShell(t, strings.ReplaceAll(tt.line, "M", mark), func(p *tool.Process) { p.Processes = processes })
			var e *value.Error
			if exit != -1 || !errors.As(err, &e) || e.Kind != value.Limit || e.Limit != value.LimitProcesses {
				t.Errorf("exit %d, %v, want the limit of processes", exit, err)
			}
			if left := heldBy(mark); len(left) > 0 {
				t.Errorf("there stay %d: %q", len(left), left[0])
			}
		})
	}
	said, exit, err := runShell(t, "for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait; echo fine", func(p *tool.Process) { p.Processes = 9 })
	if said != "fine\n" || exit != 0 || err != nil {
		t.Errorf("as many as are allowed: %q, %d, %v", said, exit, err)
	}
}

func TestMemory(t *testing.T) {
	needConfined(t)
	t.Parallel()
	memory := testutil.Times(128, 512) // MB: to fill it takes long
	if raceBuild {
		memory = 512 // its programs need as much
	}
	run := func(mode string) (string, int, error) {
		var out syncBuffer
		exit, err := Run(t.Context(), &tool.Process{
			Path: ownProgram(t), Args: []string{"hostile", mode, fmt.Sprint(3 * memory)}, Dir: "/", Memory: int64(memory) << 20, Timeout: time.Minute, Stdout: &out, Stderr: &out,
		})
		return out.String(), exit, err
	}
	if said, exit, err := run("eat"); strings.Contains(said, "ate 1") || exit == 0 || err != nil && value.KindOf(err) != value.Limit {
		t.Errorf("it could eat: %.200q, %d, %v", said, exit, err)
	}
	var e *value.Error
	if said, _, err := run("share"); !errors.As(err, &e) || e.Limit != value.LimitMemory {
		t.Errorf("it could share: %.200q, %v, want the limit of memory", said, err)
	}
	// It writes past the longest file: from its last MB on, or in a soak from the first.
	skip := testutil.Times(1023, 0)
	said, exit, err := runShell(t, fmt.Sprintf("dd if=/dev/zero of=big bs=1M seek=%d count=%d 2>&1; ls -l big", skip, 1100-skip), func(p *tool.Process) {
		p.Dir = t.TempDir()
		p.Write = []string{p.Dir}
	})
	if exit == 0 && !strings.Contains(said, "1073741824") || err != nil && value.KindOf(err) != value.Command {
		t.Errorf("it wrote past the longest file: %q, %d, %v", said, exit, err)
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	needConfined(t)
	mark := markOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	go func() {
		_, _ = bufio.NewReader(r).ReadString('\n')
		cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	exit, err := Run(ctx, &tool.Process{Path: "/bin/sh", Args: []string{"-c", "setsid sleep " + mark + " & echo up; wait"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: w})
	if exit != -1 || value.KindOf(err) != value.Canceled {
		t.Errorf("exit %d, %v, want canceled", exit, err)
	}
	if left := heldBy(mark); len(left) > 0 {
		t.Errorf("there stay %q", left)
	}
	if exit, err := Run(ctx, &tool.Process{Path: "/bin/true", Dir: "/"}); exit != -1 || value.KindOf(err) != value.Canceled {
		t.Errorf("after the end: exit %d, %v, want canceled", exit, err)
	}
	why := value.Errorf(value.Denied, "no more")
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	if _, err := Run(ended, &tool.Process{Path: "/bin/true", Dir: "/"}); !errors.Is(err, why) {
		t.Errorf("with a cause: %v, want it", err)
	}
}

// TestS07HostDies checks that a command does not outlive a host that is killed,
// nor one whose supervisor is to end.
func TestS07HostDies(t *testing.T) {
	needConfined(t)
	mark := markOf(t)
	cmd := exec.Command(ownProgram(t), "hostile", "host", "-c", "trap '' TERM; (setsid sleep "+mark+" &) ; echo up; sleep "+mark)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	if len(heldBy(mark)) < 2 {
		t.Fatalf("it did not start: %q", heldBy(mark))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(t, mark)
}

// gone waits for all processes with a mark to end.
func gone(t *testing.T, mark string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); len(heldBy(mark)) > 0; {
		if time.Now().After(end) {
			t.Fatalf("there stay %q", heldBy(mark))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestLeavesNothing runs many commands and counts what is left of them.
func TestLeavesNothing(t *testing.T) {
	needConfined(t)
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	run := func() {
		if _, exit, err := runShell(t, "exit 0", nil); exit != 0 || err != nil {
			t.Fatalf("exit %d, %v", exit, err)
		}
	}
	run()
	before := count()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range testutil.Times(3, 10) {
				run()
			}
		})
	}
	all.Wait()
	if after := count(); after > before {
		t.Errorf("%d descriptors, before there were %d", after, before)
	}
	for _, p := range descendants(os.Getpid()) {
		t.Errorf("process %d is left (dead: %v)", p.pid, p.dead)
	}
}

// TestAsOrdinaryUser runs these tests again as one who is not root: in a soak all of them.
func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	needConfined(t)
	if os.Geteuid() != 0 {
		t.Skip("ran as an ordinary user already")
	}
	if raceBuild {
		t.Skip("the stages of a race build take minutes to start: run without -race for this")
	}
	dir, err := os.MkdirTemp("", "cassidy-test-*") // one that others can enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program, err := os.ReadFile(ownProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	bin, tmp := filepath.Join(dir, "launch.test"), filepath.Join(dir, "tmp")
	err = errors.Join(os.Chmod(dir, 0o755), testutil.WriteProgram(bin, program), os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o777))
	if err != nil {
		t.Fatal(err)
	}
	tests := "-test.run=^Test(KeepsArguments|S08CommandIsConfined|S08Capabilities|Write|S08Modes|Opened|S07Floods|S07HostDies|Canceled)$"
	if testutil.Soak() {
		tests = "-test.run=^Test"
	}
	cmd := exec.CommandContext(t.Context(), bin, tests, "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + tmp, "PATH=" + os.Getenv("PATH"), "CASSIDY_SOAK=" + os.Getenv("CASSIDY_SOAK")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestS08CommandIsConfined") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

// TestInput checks that a process reads what it is given, to its end, and that a read of the
// input that is still waiting does not keep Run from returning.
func TestInput(t *testing.T) {
	t.Parallel()
	said, exit, err := runShell(t, "cat; echo end", func(p *tool.Process) { p.Stdin = strings.NewReader("one\ntwo\n") })
	if said != "one\ntwo\nend\n" || exit != 0 || err != nil {
		t.Errorf("cat = %q, %d, %v", said, exit, err)
	}
	waiting, end := io.Pipe()
	defer end.Close()
	said, exit, err = runShell(t, "read x; echo got $x", func(p *tool.Process) {
		p.Stdin = io.MultiReader(strings.NewReader("a line\n"), waiting)
	})
	if said != "got a line\n" || exit != 0 || err != nil {
		t.Errorf("read = %q, %d, %v", said, exit, err)
	}
	if said, _, err = runShell(t, "cat; echo end", nil); said != "end\n" || err != nil {
		t.Errorf("without input: %q, %v", said, err)
	}
}
