//go:build amd64 || arm64

package seal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	_ "time/tzdata"
	"unsafe"

	"github.com/cassidy-run/cassidy/runtime/value"

	"golang.org/x/sys/unix"
)

// sealProbe as argv[0] makes the test binary a process that confines itself
// and then tries one thing. Its arguments: what to try, the number of its
// parent, and the name of a layer to leave out, or "".
const sealProbe = "cassidy-seal-probe"

// probeMemory is the budget of each probe.
const probeMemory = 64 << 20

// nobody is an ordinary user that every system has.
const nobody = 65534

func probeMain() bool {
	if len(os.Args) != 4 || os.Args[0] != sealProbe {
		return false
	}
	if os.Args[1] == "host" {
		hostProbe()
		return true
	}
	parent, _ := strconv.Atoi(os.Args[2])
	act := probeNamed(os.Args[1], parent)
	if act == nil {
		fmt.Fprintf(os.Stderr, "there is no probe %q\n", os.Args[1])
		os.Exit(1)
	}
	if err := applyWithout(os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	unix.Write(1, []byte("ready"))
	unix.Read(0, make([]byte, 1))
	unix.Write(1, []byte(outcome(act())))
	os.Exit(0)
	return true
}

// outcome is what a probe that lives reports.
func outcome(err error) string {
	var e unix.Errno
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &e):
		return unix.ErrnoName(e)
	}
	return err.Error()
}

// applyWithout is Apply without one layer.
func applyWithout(name string) error {
	if name == "" {
		return Apply(probeMemory)
	}
	layers, err := layersFor(probeMemory)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(layers), func(l layer) bool { return l.name == name })
	if len(left) != len(layers)-1 {
		return fmt.Errorf("there is no layer %q", name)
	}
	for _, l := range left {
		if err := l.apply(); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// A probe is a child of the test that has confined itself and waits.
type probe struct {
	cmd      *exec.Cmd
	to, from *os.File
	stderr   bytes.Buffer
}

// startProbe starts a child that is ready to try something, as another user
// where uid is not ours.
func startProbe(uid int, name, without string) (*probe, error) {
	in, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	from, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &probe{to: to, from: from}
	p.cmd = &exec.Cmd{
		// By this name another user finds it too, whatever the folders above.
		Path:   "/proc/self/exe",
		Args:   []string{sealProbe, name, strconv.Itoa(os.Getpid()), without},
		Env:    Environment(),
		Dir:    "/",
		Stdin:  in,
		Stdout: out,
		Stderr: &p.stderr,
	}
	passwd, err := os.Open("/etc/passwd") // left open to the child, as a careless parent does
	if err != nil {
		return nil, err
	}
	defer passwd.Close()
	p.cmd.ExtraFiles = []*os.File{passwd, out}
	if uid != os.Getuid() {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if got := p.read(); got != "ready" {
		p.end()
		return nil, fmt.Errorf("the probe said %q: %s", got, &p.stderr)
	}
	return p, nil
}

// read returns the next message, or "" when there is none.
func (p *probe) read() string {
	p.from.SetDeadline(time.Now().Add(2 * time.Minute)) // it hangs
	b := make([]byte, 4096)
	n, _ := p.from.Read(b)
	return string(b[:n])
}

func (p *probe) end() {
	p.hangUp()
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func (p *probe) hangUp() {
	p.to.Close()
	p.from.Close()
}

// try lets the probe go on, and returns what became of it: what it told, or
// how it ended.
func (p *probe) try() string {
	p.to.Write([]byte("!"))
	told := p.read()
	p.hangUp()
	p.cmd.Wait()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled():
		return unix.SignalName(status.Signal())
	case told != "":
		return told
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// users are who the probes run as.
func users() []int {
	if os.Getuid() != 0 {
		return []int{os.Getuid()}
	}
	return []int{0, nobody}
}

// built reports whether this binary was built with a setting.
func built(key, value string) bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: key, Value: value})
}

// needWorker skips where this binary cannot be a worker.
func needWorker(t testing.TB) {
	t.Helper()
	if built("-race", "true") {
		t.Skip("NOT TESTED HERE: the race detector needs more addresses than a worker gets; " +
			"a separately built CGO_ENABLED=0 worker covers it")
	}
}

func mustStart(t testing.TB, uid int, name, without string) *probe {
	t.Helper()
	p, err := startProbe(uid, name, without)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	return p
}

// eachUser runs a test as every user.
func eachUser(t *testing.T, f func(t *testing.T, uid int)) {
	needWorker(t)
	for _, uid := range users() {
		t.Run(fmt.Sprintf("uid %d", uid), func(t *testing.T) { f(t, uid) })
	}
}

// raw makes a system call that has no wrapper.
func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
		return e
	}
	return nil
}

func text(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(b))
}

// An attack is one thing that a worker must not be able to do.
type attack struct {
	name string
	want string
	do   func(parent int) error
}

// attacks would each work, or fail in another way, in a process that is not
// confined.
func attacks() []attack {
	const here = ^uintptr(99) // AT_FDCWD
	page := uintptr(os.Getpagesize())
	simple := func(name string, nr uintptr, args ...uintptr) attack {
		return attack{name, "SIGSYS", func(int) error { return raw(nr, args...) }}
	}
	return append([]attack{
		{"open", "EPERM", func(int) error { _, err := os.Open("/etc/passwd"); return err }},
		{"open to write", "EPERM", func(int) error { _, err := os.Create("/tmp/cassidy-escaped"); return err }},
		{"open itself", "EPERM", func(int) error { _, err := os.ReadFile("/proc/self/environ"); return err }},
		{"list", "EPERM", func(int) error { _, err := os.ReadDir("/"); return err }},
		{"readlink", "EPERM", func(int) error { _, err := os.Readlink("/proc/self/exe"); return err }},
		{"uname", "EPERM", func(int) error { return unix.Uname(new(unix.Utsname)) }},
		{"clone3", "ENOSYS", func(int) error { return raw(unix.SYS_CLONE3, 0, 0) }},
		{"advice", "EINVAL", func(int) error { return raw(unix.SYS_MADVISE, 0, 0, unix.MADV_MERGEABLE) }},
		{"name memory", "EINVAL", func(int) error { return raw(unix.SYS_PRCTL, unix.PR_SET_VMA, 0, 0, 0, 0) }},

		{"stat", "SIGSYS", func(int) error { _, err := os.Stat("/etc/passwd"); return err }},
		{"remove", "SIGSYS", func(int) error { return os.Remove("/tmp/cassidy-escaped") }},
		{"folder", "SIGSYS", func(int) error { return os.Mkdir("/tmp/cassidy-escaped", 0o755) }},
		{"rename", "SIGSYS", func(int) error { return os.Rename("/tmp/a", "/tmp/b") }},
		{"change folder", "SIGSYS", func(int) error { return os.Chdir("/tmp") }},
		{"tcp", "SIGSYS", func(int) error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err }},
		{"udp", "SIGSYS", func(int) error { _, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0); return err }},
		{"unix socket", "SIGSYS", func(int) error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"netlink", "SIGSYS", func(int) error { _, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0); return err }},
		{"connect", "SIGSYS", func(int) error { return unix.Connect(1, &unix.SockaddrUnix{Name: "@x"}) }},
		{"pass a descriptor", "SIGSYS", func(int) error { return unix.Sendmsg(1, []byte("x"), unix.UnixRights(1), nil, 0) }},
		{"take a descriptor", "SIGSYS", func(int) error { _, _, _, _, err := unix.Recvmsg(1, nil, make([]byte, 64), 0); return err }},
		{"exec", "SIGSYS", func(int) error { return unix.Exec("/bin/true", []string{"true"}, nil) }},
		{"fork and exec", "EPERM", func(int) error { return exec.Command("/bin/true").Run() }},
		{"fork", "SIGSYS", func(int) error { return raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) }},
		{"thread in a namespace", "SIGSYS", func(int) error { return raw(unix.SYS_CLONE, threadFlags|unix.CLONE_NEWNET) }},
		{"kill parent", "SIGSYS", func(parent int) error { return unix.Kill(parent, 0) }},
		{"kill a thread of parent", "SIGSYS", func(parent int) error { return unix.Tgkill(parent, parent, 0) }},
		{"ptrace parent", "SIGSYS", func(parent int) error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(parent), 0, 0) }},
		{"read parent's memory", "SIGSYS", func(parent int) error {
			_, err := unix.ProcessVMReadv(parent, nil, nil, 0)
			return err
		}},
		{"handle of parent", "SIGSYS", func(parent int) error { _, err := unix.PidfdOpen(parent, 0); return err }},
		{"clock of parent", "SIGSYS", func(parent int) error {
			return unix.ClockGettime(^int32(parent)<<3|2, new(unix.Timespec))
		}},
		{"limits of parent", "SIGSYS", func(parent int) error { return unix.Prlimit(parent, unix.RLIMIT_CORE, nil, new(unix.Rlimit)) }},
		{"raise a limit", "SIGSYS", func(int) error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 16, Max: 16}) }},
		{"executable memory", "SIGSYS", func(int) error {
			_, err := unix.Mmap(-1, 0, int(page), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
			return err
		}},
		{"memory made executable", "SIGSYS", func(int) error {
			m, err := unix.Mmap(-1, 0, int(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				return err
			}
			return unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC)
		}},
		{"map a descriptor", "SIGSYS", func(int) error {
			_, err := unix.Mmap(1, 0, int(page), unix.PROT_READ, unix.MAP_PRIVATE)
			return err
		}},
		{"setuid", "SIGSYS", func(int) error { return raw(unix.SYS_SETUID, 0) }},
		{"capabilities", "SIGSYS", func(int) error {
			return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &make([]unix.CapUserData, 2)[0])
		}},
		{"dumpable", "SIGSYS", func(int) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"another filter", "SIGSYS", func(int) error { return raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0) }},
		{"other ABI", "SIGSYS", func(int) error { return raw(unix.SYS_GETPID | x32Bit) }},
	}, []attack{
		simple("memfd", unix.SYS_MEMFD_CREATE, text("x"), 0),
		simple("io_uring", unix.SYS_IO_URING_SETUP, 4, 0),
		simple("user namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		simple("enter a namespace", unix.SYS_SETNS, 1, 0),
		simple("mount", unix.SYS_MOUNT, text("none"), text("/mnt"), text("tmpfs"), 0, 0),
		simple("new mount", unix.SYS_FSOPEN, text("tmpfs"), 0),
		simple("chroot", unix.SYS_CHROOT, text("/")),
		simple("keyctl", unix.SYS_KEYCTL, 0, 0),
		simple("add_key", unix.SYS_ADD_KEY, text("user"), text("k"), text("v"), 1, ^uintptr(2)),
		simple("bpf", unix.SYS_BPF, 0, 0, 0),
		simple("perf", unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0),
		simple("userfaultfd", unix.SYS_USERFAULTFD, 0),
		simple("personality", unix.SYS_PERSONALITY, 0xffffffff),
		simple("module", unix.SYS_INIT_MODULE, 0, 0, text("")),
		simple("reboot", unix.SYS_REBOOT, 0, 0, 0),
		simple("kernel log", unix.SYS_SYSLOG, 10, 0, 0),
		simple("file handle", unix.SYS_NAME_TO_HANDLE_AT, here, text("/"), 0, 0, 0),
		simple("shared memory", unix.SYS_SHMGET, 0, page, 0o1600),
		simple("message queue", unix.SYS_MSGGET, 0, 0o1600),
		simple("duplicate", unix.SYS_DUP, 1),
		simple("pipe", unix.SYS_PIPE2, text("12345678"), 0),
		simple("watch", unix.SYS_INOTIFY_INIT1, 0),
		simple("another poller", unix.SYS_EPOLL_CREATE1, 0),
		simple("terminal input", unix.SYS_IOCTL, 1, unix.TIOCSTI, text("x")),
		simple("duplicate by fcntl", unix.SYS_FCNTL, 1, unix.F_DUPFD, 10),
		simple("owner of a descriptor", unix.SYS_FCNTL, 1, unix.F_SETOWN, 1),
		simple("signals from a descriptor", unix.SYS_FCNTL, 1, unix.F_SETFL, unix.O_ASYNC),
		simple("requeue", unix.SYS_FUTEX, text("1234"), 3, 1),
		simple("unknown call", 1000),
	}...)
}

func probeNamed(name string, parent int) func() error {
	for _, a := range attacks() {
		if a.name == name {
			return func() error { return a.do(parent) }
		}
	}
	return map[string]func() error{
		"work":      probeWork,
		"zones":     zones,
		"threads":   threads,
		"panic":     func() error { panic("a probe's panic") },
		"recursion": func() error { return fmt.Errorf("%d deep", deep(1)) },
		"wait":      func() error { return nil },
		"gulp":      gulp,
		"bites":     bites,
		"doubling":  doubling,
		"map":       bigMap,
		"goroutine": goroutines,
		"mmap":      bigMapping,
		"burn":      burn,
	}[name]
}

func TestO01AttacksEnd(t *testing.T) {
	eachUser(t, func(t *testing.T, uid int) {
		for _, a := range attacks() {
			t.Run(a.name, func(t *testing.T) {
				p := mustStart(t, uid, a.name, "")
				if got := p.try(); got != a.want {
					t.Errorf("%s: got %s, want %s\n%s", a.name, got, a.want, &p.stderr)
				}
			})
		}
	})
	if _, err := os.Lstat("/tmp/cassidy-escaped"); err == nil {
		t.Error("a probe wrote a file")
	}
}

// TestO01WithoutSeccomp shows that Landlock holds by itself.
func TestO01WithoutSeccomp(t *testing.T) {
	eachUser(t, func(t *testing.T, uid int) {
		for _, tt := range []struct{ name, want string }{
			{"open", "EACCES"}, {"open to write", "EACCES"}, {"list", "EACCES"}, {"folder", "EACCES"},
			{"kill parent", "EPERM"}, {"ptrace parent", "EPERM"}, {"chroot", "EPERM"}, {"mount", "EPERM"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if v, _ := landlockVersion(); tt.name == "kill parent" && v < 6 {
					t.Skip("this kernel's Landlock does not know signals")
				}
				p := mustStart(t, uid, tt.name, "seccomp")
				if got := p.try(); got != tt.want {
					t.Errorf("%s: got %s, want %s\n%s", tt.name, got, tt.want, &p.stderr)
				}
			})
		}
	})
}

func TestO02Verify(t *testing.T) {
	eachUser(t, func(t *testing.T, uid int) {
		p := mustStart(t, uid, "work", "")
		if err := Verify(p.cmd.Process.Pid); err != nil {
			t.Errorf("a confined process: %v", err)
		}
		if got := p.try(); got != "done" {
			t.Errorf("work: got %s, want done\n%s", got, &p.stderr)
		}
	})
}

func TestO02VerifyMisses(t *testing.T) {
	// The others cannot be left out alone: Landlock and seccomp bring
	// no_new_privs with them. Landlock cannot be seen from outside; Apply
	// tries it, see TestLandlockIsTried.
	wants := map[string]string{
		"seccomp":               "Seccomp: expected 2 but got 0",
		"inherited descriptors": "forbidden open file: /etc/passwd (descriptor 3)",
		"resource limits":       "Max ",
		"capabilities":          "Cap",
	}
	eachUser(t, func(t *testing.T, uid int) {
		for name, want := range wants {
			if name == "capabilities" && uid != 0 {
				continue // an ordinary user has none to drop
			}
			p := mustStart(t, uid, "wait", name)
			err := Verify(p.cmd.Process.Pid)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("without %s: got %v, want an error with %q", name, err, want)
			}
			if e := value.ErrorOf(err, value.Failed); e != nil && e.Kind != value.Unavailable {
				t.Errorf("without %s: got kind %v, want %v", name, e.Kind, value.Unavailable)
			}
		}
	})
}

// TestVerifyReadsAll changes each line that the kernel reports of a confined
// process, and then leaves it out.
func TestVerifyReadsAll(t *testing.T) {
	needWorker(t)
	p := mustStart(t, os.Getuid(), "wait", "")
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	thread := func(file string) error { return verifyThread(file, os.Getuid() == 0) }
	limits := func(file string) error { return verifyLimits(strings.TrimSuffix(file, "/limits")) }
	for _, tt := range []struct {
		file, line, wrong string
		check             func(file string) error
	}{
		{"status", "Seccomp", "Seccomp:\t1", thread},
		{"status", "NoNewPrivs", "NoNewPrivs:\t0", thread},
		{"status", "CapInh", "CapInh:\t0000000000000001", thread},
		{"status", "CapPrm", "CapPrm:\t0000000000000001", thread},
		{"status", "CapEff", "CapEff:\t8000000000000000", thread},
		{"status", "CapAmb", "CapAmb:\t0000000000000100", thread},
		{"limits", "Max cpu time", "Max cpu time  1  unlimited  seconds", limits},
		{"limits", "Max address space", "Max address space  1  unlimited  bytes", limits},
		{"limits", "Max data size", "Max data size  1  unlimited  bytes", limits},
		{"limits", "Max open files", "Max open files  16  17  files", limits},
		{"limits", "Max file size", "Max file size  0  1  bytes", limits},
		{"limits", "Max core file size", "Max core file size  0  unlimited  bytes", limits},
		{"limits", "Max locked memory", "Max locked memory  0  65536  bytes", limits},
		{"limits", "Max msgqueue size", "Max msgqueue size", limits},
	} {
		text, err := os.ReadFile(proc + tt.file)
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile("(?m)^" + tt.line + `\b.*$`)
		for _, wrong := range []string{tt.wrong, ""} {
			file := filepath.Join(t.TempDir(), tt.file)
			for content, fine := range map[string]bool{string(text): true, line.ReplaceAllLiteralString(string(text), wrong): false} {
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := tt.check(file); (err == nil) != fine {
					t.Errorf("%s with %q: got %v, want it fine: %v", tt.line, wrong, err, fine)
				}
			}
		}
	}
}

func TestVerifyRefusesOthers(t *testing.T) {
	if err := Verify(os.Getpid()); err == nil {
		t.Error("the test itself counts as confined")
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if err := Verify(pid); err == nil {
			t.Errorf("process %d, which does not exist, counts as confined", pid)
		}
	}
}

func TestVerifyEndedWorker(t *testing.T) {
	needWorker(t)
	p := mustStart(t, os.Getuid(), "wait", "")
	pid := p.cmd.Process.Pid
	p.cmd.Process.Kill()
	waitZombie(t, pid)
	if err := Verify(pid); err == nil {
		t.Error("a process that has ended counts as confined")
	}
	if n, ok := Memory(pid); ok {
		t.Errorf("a process that has ended has %d bytes", n)
	}
}

// waitZombie waits until a process has ended, and leaves it as it is.
func waitZombie(t *testing.T, pid int) {
	t.Helper()
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

func TestVerifyDescriptors(t *testing.T) {
	for target, want := range map[string]bool{
		"socket:[12]": false, "pipe:[34]": true, "anon_inode:[eventpoll]": true, "anon_inode:[eventfd]": true,
		"/dev/null": false, "/": false, "/memfd:x (deleted)": false, "anon_inode:[io_uring]": false,
		"anon_inode:[pidfd]": false, "anon_inode:landlock-ruleset": false, "/tmp/socket:[12]": false, "net:[4026531840]": false,
	} {
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/fd", 0o700); err != nil {
			t.Fatal(err)
		}
		for n := range maxDescriptors + 1 {
			if err := os.Symlink(target, fmt.Sprintf("%s/fd/%d", dir, n)); err != nil {
				t.Fatal(err)
			}
			ok := want && n < maxDescriptors
			if err := verifyDescriptors(dir); (err == nil) != ok {
				t.Errorf("%d times %s: got %v, want it fine: %v", n+1, target, err, ok)
			}
		}
	}
}

// TestOrdinaryHost verifies a worker from a process that is no root.
func TestOrdinaryHost(t *testing.T) {
	needWorker(t)
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{sealProbe, "host", "", ""}}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("got %q and %v, want ok", out, err)
	}
}

// hostProbe starts a worker and looks at it.
func hostProbe() {
	p, err := startProbe(os.Getuid(), "wait", "")
	if err == nil {
		defer p.end()
		err = Verify(p.cmd.Process.Pid)
	}
	if err == nil {
		_, hasRSS := Memory(p.cmd.Process.Pid)
		_, hasTime := CPUTime(p.cmd.Process.Pid)
		if !hasRSS || !hasTime {
			err = fmt.Errorf("memory known: %v, time known: %v", hasRSS, hasTime)
		}
	}
	if err == nil {
		if _, err = Layers(); err == nil {
			fmt.Println("ok")
			return
		}
	}
	fmt.Println(err)
}

func TestLandlockIsTried(t *testing.T) {
	if err := checkLandlock(); err == nil {
		t.Error("a process with no Landlock passes")
	}
}

func TestApplyRefusesNoBudget(t *testing.T) {
	for _, memory := range []int64{0, -1} {
		if e := value.ErrorOf(Apply(memory), value.Failed); e == nil || e.Kind != value.Invalid {
			t.Errorf("Apply(%d) = %v, want an error of kind %v", memory, e, value.Invalid)
		}
	}
}

func TestWorkGoesOn(t *testing.T) {
	eachUser(t, func(t *testing.T, uid int) {
		for _, name := range []string{"work", "zones", "threads"} {
			p := mustStart(t, uid, name, "")
			if got := p.try(); got != "done" {
				t.Errorf("%s: got %s, want done\n%s", name, got, &p.stderr)
			}
		}
	})
}

func TestCrashIsReported(t *testing.T) {
	needWorker(t)
	for name, wants := range map[string][]string{
		"panic":     {"panic: a probe's panic", "goroutine ", "seal_linux_test.go:"},
		"recursion": {"stack exceeds 33554432-byte limit", "goroutine "},
	} {
		p := mustStart(t, os.Getuid(), name, "")
		if got := p.try(); got != "exit status 2" {
			t.Errorf("%s: got %s, want exit status 2", name, got)
		}
		for _, want := range wants {
			if !strings.Contains(p.stderr.String(), want) {
				t.Errorf("%s: got %q on standard error, want %q in it", name, &p.stderr, want)
			}
		}
	}
}

// TestMemoryBombs lets probes with a budget of 64 MB take more: the kernel alone
// stops them, nobody polls here.
func TestMemoryBombs(t *testing.T) {
	const most = 200 << 20
	eachUser(t, func(t *testing.T, uid int) {
		for name, want := range map[string]string{
			"gulp": "exit status 2", "bites": "exit status 2", "doubling": "exit status 2",
			"map": "exit status 2", "goroutine": "exit status 2", "mmap": "ENOMEM",
		} {
			p := mustStart(t, uid, name, "")
			if got := p.try(); got != want {
				t.Errorf("%s: got %s, want %s\n%.2000s", name, got, want, &p.stderr)
			}
			peak := p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			t.Logf("%s: at most %d MB", name, peak>>20)
			if peak >= most {
				t.Errorf("%s: got %d MB, want less than %d", name, peak>>20, most>>20)
			}
		}
	})
}

func TestMeasures(t *testing.T) {
	needWorker(t)
	p := mustStart(t, os.Getuid(), "burn", "")
	pid := p.cmd.Process.Pid
	idle, ok := Memory(pid)
	if !ok || idle < 1<<20 || idle > 100<<20 {
		t.Errorf("Memory of an idle worker = %d, %v, want some MB", idle, ok)
	}
	before, ok := CPUTime(pid)
	if !ok || before <= 0 {
		t.Errorf("CPUTime of an idle worker = %v, %v, want a little", before, ok)
	}
	p.to.Write([]byte("!"))
	if got := p.read(); got != "half" { // burnt by a thread that has ended
		t.Fatalf("got %q, want half", got)
	}
	after, _ := CPUTime(pid)
	if got := after - before; got < 10*time.Millisecond || got > 10*time.Second { // ten times its slack: others compute too
		t.Errorf("computing for 100 ms took %v", got)
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if d, ok := CPUTime(pid); ok {
			t.Errorf("CPUTime(%d) = %v", pid, d)
		}
		if n, ok := Memory(pid); ok {
			t.Errorf("Memory(%d) = %d", pid, n)
		}
	}
}

func TestLayers(t *testing.T) {
	layers, err := Layers()
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(layers, "\n"); !strings.Contains(all, "Landlock version ") || !strings.Contains(all, "seccomp: ") {
		t.Errorf("got %q, want Landlock and seccomp in it", layers)
	}
	away := errors.New("away")
	for _, tt := range []struct {
		version   int
		landlock  error
		seccomp   error
		want, not string
		fails     bool
	}{
		{1, nil, nil, "Landlock version 1: no files", "TCP", false},
		{4, nil, nil, "Landlock version 4: no files, no TCP", "signals", false},
		{7, nil, nil, "no signals", "", false},
		{0, away, nil, "seccomp", "Landlock", true},
		{7, nil, away, "Landlock", "seccomp", true},
		{0, away, away, "separate process", "seccomp", true},
	} {
		layers, err := layersOf(tt.version, tt.landlock, tt.seccomp)
		all := strings.Join(layers, "\n")
		if !strings.Contains(all, tt.want) || tt.not != "" && strings.Contains(all, tt.not) {
			t.Errorf("layersOf(%d, %v, %v) = %q, want %q and not %q", tt.version, tt.landlock, tt.seccomp, layers, tt.want, tt.not)
		}
		if e := value.ErrorOf(err, value.Failed); tt.fails != (e != nil && e.Kind == value.Unavailable && e.Hint != "") {
			t.Errorf("layersOf(%d, %v, %v): got error %v, want one: %v", tt.version, tt.landlock, tt.seccomp, err, tt.fails)
		}
	}
}

// What the probes do.

var sink []byte // keeps the compiler from leaving out what is not used

// probeWork is what an interpreter does to the runtime.
func probeWork() error {
	var wg sync.WaitGroup
	sums := make(chan int, 64)
	for i := range 64 {
		wg.Go(func() {
			m := map[int][]byte{}
			for j := range 1000 {
				m[j] = make([]byte, 16*(i+1))
			}
			sums <- len(m)
		})
	}
	wg.Wait()
	close(sums)
	total := 0
	for n := range sums {
		total += n
	}
	if total != 64000 {
		return fmt.Errorf("counted %d", total)
	}
	for range 50 {
		sink = make([]byte, 1<<20)
	}
	runtime.GC()
	debug.FreeOSMemory()
	time.Sleep(time.Millisecond) // a timer is what is tested
	timeout := make(chan bool)
	time.AfterFunc(time.Millisecond, func() { close(timeout) })
	<-timeout
	if _, err := fmt.Fprint(os.Stderr, "logged\n"); err != nil {
		return err
	}
	return recovered(func() { sink[len(sink)] = 1 })
}

// recovered fails unless f panics.
func recovered(f func()) (err error) {
	err = errors.New("no panic")
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	f()
	return err
}

func zones() error {
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		return err
	}
	if got := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).In(zone).Format("15:04 MST"); got != "14:00 CEST" {
		return fmt.Errorf("got %s", got)
	}
	return nil
}

// threads makes the runtime start many, and end them.
func threads() error {
	var wg sync.WaitGroup
	all := make(chan bool)
	many := 40
	if built("CGO_ENABLED", "1") {
		many = 8 // each has 8 MB of addresses for its stack
	}
	for range many {
		wg.Add(1)
		go func() {
			runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
			wg.Done()
			<-all
		}()
	}
	wg.Wait()
	close(all)
	return nil
}

func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n+1) + 1
}

func gulp() error {
	sink = make([]byte, 1<<30)
	for i := 0; i < len(sink); i += 4096 {
		sink[i] = 1
	}
	return nil
}

func bites() error {
	var all [][]byte
	for range 100 {
		b := bytes.Repeat([]byte{1}, 16<<20)
		all = append(all, b)
	}
	sink = all[len(all)-1]
	return fmt.Errorf("%d bites", len(all))
}

func doubling() error {
	sink = []byte{1}
	for len(sink) < 1<<32 {
		sink = append(sink, sink...)
	}
	return nil
}

func bigMap() error {
	m := map[int][64]byte{}
	for i := range 1 << 26 {
		m[i] = [64]byte{1}
	}
	return fmt.Errorf("%d entries", len(m))
}

func goroutines() error {
	var grow func(n int) int
	stay := make(chan int)
	grow = func(n int) int {
		if n == 0 {
			return <-stay
		}
		var frame [1024]byte
		frame[n%1024] = 1
		return grow(n-1) + int(frame[n%512])
	}
	for range 10000 {
		go grow(1000)
	}
	<-stay
	return nil
}

func bigMapping() error {
	_, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return err
}

// burn computes on a thread that ends, says so, and stays.
func burn() error {
	ended := make(chan bool)
	go func() {
		runtime.LockOSThread()
		var start, t unix.Timespec // of this thread, however busy the machine is, and whatever it did before
		unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &start)
		for t = start; t.Nano()-start.Nano() < int64(100*time.Millisecond); {
			unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
		}
		close(ended)
	}()
	<-ended
	unix.Write(1, []byte("half"))
	unix.Read(0, make([]byte, 1))
	return nil
}

// BenchmarkConfinedStart measures a worker from its start until it is confined
// and waits, with its memory then.
func BenchmarkConfinedStart(b *testing.B) {
	needWorker(b)
	var memory int64
	for b.Loop() {
		p, err := startProbe(os.Getuid(), "wait", "")
		if err != nil {
			b.Fatal(err)
		}
		n, _ := Memory(p.cmd.Process.Pid)
		memory += n
		p.end()
	}
	b.ReportMetric(float64(memory)/float64(b.N)/(1<<20), "MB-rss")
}

func BenchmarkVerify(b *testing.B) {
	needWorker(b)
	p := mustStart(b, os.Getuid(), "wait", "")
	for b.Loop() {
		if err := Verify(p.cmd.Process.Pid); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMeasures(b *testing.B) {
	needWorker(b)
	p := mustStart(b, os.Getuid(), "wait", "")
	b.Run("rss", func(b *testing.B) {
		for b.Loop() {
			Memory(p.cmd.Process.Pid)
		}
	})
	b.Run("cpu", func(b *testing.B) {
		for b.Loop() {
			CPUTime(p.cmd.Process.Pid)
		}
	})
}
