//go:build amd64 || arm64

package launch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/sandbox/internal/seccomp"
)

// Landlock does not handle modes and times: a process may change those of every file that
// its user owns. So for a process that may write, a filter holds the system calls that
// change them. The supervisor carries each out where the process may write, and refuses it
// elsewhere.

// modeCalls lists the system calls that change modes and times.
func modeCalls() []uint32 {
	list := []uint32{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_UTIMENSAT}
	if runtime.GOARCH == "amd64" {
		list = append(list, amd64Chmod, amd64Utime, amd64Utimes, amd64Futimesat)
	}
	return list
}

// sendListener has a filter hold the calls of modeCalls, and sends the descriptor by which
// they are answered through a socket.
func sendListener(socket int) error {
	var rules []seccomp.Rule
	for _, nr := range modeCalls() {
		rules = append(rules, seccomp.On(nr, unix.SECCOMP_RET_USER_NOTIF))
	}
	prog, err := seccomp.Assemble(seccomp.NativeArch(), seccomp.Allow, rules)
	if err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	listener, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(prog)
	if e != 0 {
		return e
	}
	unix.CloseOnExec(int(listener))
	return unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(listener)), nil, 0)
}

// receiveListener returns the descriptor that sendListener has sent.
func receiveListener(socket int) (int, error) {
	one, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, one, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return -1, unix.EBADMSG
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, unix.EBADMSG
	}
	return fds[0], nil
}

// The kernel's seccomp_notif and seccomp_notif_resp.
type (
	heldCall struct {
		id         uint64
		tid, flags uint32
		nr         int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	heldAnswer struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

// The requests to a listener.
const (
	listenReceive = unix.SECCOMP_IOCTL_NOTIF_RECV
	listenAnswer  = unix.SECCOMP_IOCTL_NOTIF_SEND
	listenValid   = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
)

// A metadataServer changes modes and times for a process, in what the process may write.
type metadataServer struct {
	listener int
	places   []int // descriptors of what the process may write
}

func newMetadataServer(listener int, cmd *command) *metadataServer {
	j := &metadataServer{listener: listener}
	for i, p := range cmd.Places {
		if p.Use == useWrite {
			j.places = append(j.places, supervisePlaces+i)
		}
	}
	return j
}

// serve answers calls until no process is left that could make one.
func (j *metadataServer) serve() {
	for {
		var c heldCall
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(j.listener), listenReceive, uintptr(unsafe.Pointer(&c)))
		if e == unix.EINTR || e == unix.ENOENT {
			continue // the caller has been killed
		}
		if e != 0 {
			return
		}
		answer := heldAnswer{id: c.id}
		if err := j.do(&c); err != nil {
			e, ok := err.(unix.Errno)
			if !ok {
				e = unix.EPERM
			}
			answer.errno = -int32(e)
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(j.listener), listenAnswer, uintptr(unsafe.Pointer(&answer)))
	}
}

// A change is what a held call asks for: to change the file called name in the folder at,
// or at itself.
type change struct {
	at          int32
	name, value uint64 // the address of the name; the mode, or the address of the times
	flags       uint64
	times, self bool // self: a call without a name means at itself
}

// read returns what a held call asks for.
func (c *heldCall) read() (change, error) {
	a := c.args
	switch uint32(c.nr) {
	case unix.SYS_FCHMOD:
		return change{at: int32(a[0]), value: a[1], self: true}, nil
	case unix.SYS_FCHMODAT:
		return change{at: int32(a[0]), name: a[1], value: a[2]}, nil
	case unix.SYS_FCHMODAT2:
		return change{at: int32(a[0]), name: a[1], value: a[2], flags: a[3]}, nil
	case unix.SYS_UTIMENSAT:
		return change{at: int32(a[0]), name: a[1], value: a[2], flags: a[3], times: true, self: true}, nil
	}
	if runtime.GOARCH == "amd64" {
		switch c.nr {
		case amd64Chmod:
			return change{at: unix.AT_FDCWD, name: a[0], value: a[1]}, nil
		case amd64Utime, amd64Utimes:
			return change{at: unix.AT_FDCWD, name: a[0], value: a[1], times: true}, nil
		case amd64Futimesat:
			return change{at: int32(a[0]), name: a[1], value: a[2], times: true, self: true}, nil
		}
	}
	return change{}, unix.ENOSYS
}

// do carries out one call, on the file that the caller means, if the caller may write it.
func (j *metadataServer) do(c *heldCall) error {
	ch, err := c.read()
	if err != nil {
		return err
	}
	caller := &callerMemory{tid: c.tid}
	defer caller.close()
	fd, err := j.open(caller, ch)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var when []unix.Timespec
	if ch.times {
		if when, err = caller.times(uint32(c.nr), ch.value); err != nil {
			return err
		}
	}
	// What was read is the caller's only if the caller still waits: otherwise its number may
	// be another thread's.
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(j.listener), listenValid, uintptr(unsafe.Pointer(&c.id))); e != 0 {
		return e
	}
	if ch.times {
		return unix.UtimesNanoAt(fd, "", when, unix.AT_EMPTY_PATH)
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), uint32(ch.value)&(0o777|unix.S_ISVTX))
}

// open opens what a call names, without any right to its content, and checks that the
// caller may change it.
func (j *metadataServer) open(caller *callerMemory, ch change) (int, error) {
	base := fmt.Sprintf("/proc/%d/cwd", caller.tid)
	if ch.at != unix.AT_FDCWD {
		base = fmt.Sprintf("/proc/%d/fd/%d", caller.tid, ch.at)
	}
	name, err := caller.name(ch)
	if err != nil {
		return -1, err
	}
	follow := 0
	if ch.flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		follow = unix.O_NOFOLLOW
	}
	fd := -1
	if strings.HasPrefix(name, "/") {
		fd, err = unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|follow, 0)
	} else if fd, err = unix.Open(base, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil && name != "" {
		dir := fd
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|follow, 0)
		unix.Close(dir)
	}
	if err != nil {
		return -1, err
	}
	if err := j.owns(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// name returns the path that a call names: "" if it names none and need not.
func (m *callerMemory) name(ch change) (string, error) {
	if ch.name == 0 {
		if ch.self {
			return "", nil
		}
		return "", unix.EFAULT
	}
	text, err := m.text(ch.name)
	if err != nil {
		return "", err
	}
	if text == "" && ch.flags&unix.AT_EMPTY_PATH == 0 {
		return "", unix.ENOENT
	}
	for _, own := range []string{"/proc/self/", "/proc/thread-self/", "/dev/fd/"} {
		if rest, ok := strings.CutPrefix(text, own); ok {
			if own == "/dev/fd/" {
				rest = "fd/" + rest
			}
			return fmt.Sprintf("/proc/%d/%s", m.tid, rest), nil
		}
	}
	return text, nil
}

// owns fails unless a file is the user's and lies where the process may write.
func (j *metadataServer) owns(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Uid != uint32(os.Geteuid()) {
		return unix.EPERM
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return err
	}
	for _, place := range j.places {
		// Now, and not when the process began: the place may have been renamed, and another
		// folder have its old name.
		root, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", place))
		if err == nil && (at == root || strings.HasPrefix(at, root+"/")) {
			return nil
		}
	}
	return unix.EPERM
}

// A callerMemory reads the memory of the thread that waits for an answer.
type callerMemory struct {
	tid  uint32
	file *os.File
}

func (m *callerMemory) close() {
	if m.file != nil {
		m.file.Close()
	}
}

func (m *callerMemory) read(b []byte, at uint64) (int, error) {
	if m.file == nil {
		var err error
		if m.file, err = os.Open(fmt.Sprintf("/proc/%d/mem", m.tid)); err != nil {
			return 0, unix.EPERM
		}
	}
	n, err := m.file.ReadAt(b, int64(at))
	if n == 0 && err != nil {
		return 0, unix.EFAULT
	}
	return n, nil
}

// text reads a string that ends with NUL.
func (m *callerMemory) text(at uint64) (string, error) {
	var all []byte
	for len(all) < unix.PathMax {
		// Up to the end of the page: the next page may not be mapped.
		b := make([]byte, 4096-at%4096)
		n, err := m.read(b, at)
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			return string(append(all, b[:i]...)), nil
		}
		all = append(all, b[:n]...)
		at += uint64(n)
	}
	return "", unix.ENAMETOOLONG
}

// times reads the two times of a call, in the form that the call takes. At address 0 they
// are now.
func (m *callerMemory) times(nr uint32, at uint64) ([]unix.Timespec, error) {
	if at == 0 {
		return []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, nil
	}
	size, part := 32, int64(1)
	switch {
	case nr == unix.SYS_UTIMENSAT:
	case nr == amd64Utime:
		size, part = 16, 0 // seconds alone
	default:
		part = 1000 // microseconds
	}
	b := make([]byte, size)
	if n, err := m.read(b, at); err != nil || n < size {
		return nil, unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	if part == 0 {
		return []unix.Timespec{{Sec: word(0)}, {Sec: word(1)}}, nil
	}
	return []unix.Timespec{{Sec: word(0), Nsec: word(1) * part}, {Sec: word(2), Nsec: word(3) * part}}, nil
}
