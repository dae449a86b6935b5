package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy"
)

// countFiles has TestFileSystemCalls count in its own process.
const countFiles = "CASSIDY_TEST_COUNT_FILES"

// insideLine is followed by the number of system calls between the beginning and the end of calls.
const insideLine = "inside calls: "

// BenchmarkCounters reports what the tests of counters check.
func BenchmarkCounters(b *testing.B) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFileSystemCalls$", "-test.v")
	cmd.Env = append(os.Environ(), countFiles+"=1")
	out, err := cmd.CombinedOutput()
	_, rest, ok := strings.Cut(string(out), insideLine)
	line, _, _ := strings.Cut(rest, "\n")
	inside, failed := strconv.ParseFloat(line, 64)
	if !ok || failed != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	h := userHost(b, "", nil)
	for b.Loop() {
		b.ReportMetric(testing.AllocsPerRun(500, func() { callJSON(b, h, "greet") }), "allocs")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(inside, "files")
	b.ReportMetric(stepBytes(b), "step-B")
	b.ReportMetric(float64(processes(b)), "processes")
}

// TestFileSystemCalls counts the system calls about files that 10,000 calls in a row make, in the host:
// at most ten rounds a second to look for a change of the user's config, all of them before a call
// begins. The kernel reports each of them to a listener, in a process of its own, as that cannot be ended.
func TestFileSystemCalls(t *testing.T) {
	if os.Getenv(countFiles) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestFileSystemCalls$", "-test.v")
		cmd.Env = append(os.Environ(), countFiles+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	var count atomic.Int64
	inside := int64(0)
	h := userHost(t, "deny: [env]\n", func(next cassidy.CallFunc) cassidy.CallFunc {
		return func(ctx context.Context, c *cassidy.Call) (cassidy.Result, error) {
			before := count.Load()
			r, err := next(ctx, c)
			inside += count.Load() - before
			return r, err
		}
	})
	callJSON(t, h, "greet") // finds the tools
	callJSON(t, h, "peek")
	listen(t, &count)
	if _, err := os.Stat(t.TempDir()); err != nil || count.Load() == 0 {
		t.Fatalf("os.Stat is not counted: %v", err)
	}
	count.Store(0)
	rounds, start := 0, time.Now()
	const calls, most = 10_000, 12
	for range calls {
		before := count.Load()
		callJSON(t, h, "greet")
		switch n := count.Load() - before; {
		case n > most:
			t.Fatalf("a look at the config makes %d system calls, want at most %d", n, most)
		case n > 0:
			rounds++
		}
	}
	allowed := 1 + int(time.Since(start)/(100*time.Millisecond))
	t.Logf("%d calls made %d rounds of system calls, %d in all", calls, rounds, count.Load())
	if rounds > allowed {
		t.Errorf("%d rounds of system calls, want at most %d", rounds, allowed)
	}
	fmt.Printf("%s%d\n", insideLine, inside)
	if inside != 0 {
		t.Errorf("%d system calls were made between the beginning and the end of calls", inside)
	}
	// To read a file: what is there, and the file. To find out whether it is one of the saved results: what is there,
	// and where .cassidy/results leads, which takes four.
	const mostRead = 7
	if callJSON(t, h, "peek"); inside > mostRead {
		t.Errorf("a call that reads a file has made %d system calls, want at most %d", inside, mostRead)
	}
}

// listen counts the system calls of this process that take the name of a file, or list a folder.
func listen(t *testing.T, count *atomic.Int64) {
	t.Helper()
	names := []uint32{
		unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_GETDENTS64, unix.SYS_OPENAT,
		unix.SYS_NEWFSTATAT, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_STATX, unix.SYS_OPENAT2, unix.SYS_FACCESSAT2,
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the system call
	for i, nr := range names {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(names) - i), K: nr})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	listener := make(chan uintptr)
	go func() {
		runtime.LockOSThread() // for prctl
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		const everyThread = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
		fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|everyThread, uintptr(unsafe.Pointer(&program)))
		if e != 0 {
			panic(e)
		}
		listener <- fd
		for {
			var got [80]byte // struct seccomp_notif, which begins with the ID
			if _, _, e := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&got))); e != 0 {
				continue // a signal
			}
			count.Add(1)
			answer := struct {
				id         uint64
				val        int64
				err, flags uint32
			}{id: *(*uint64)(unsafe.Pointer(&got)), flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
		}
	}()
	<-listener
}
