//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock knows nothing of modes and times: a process may change those of any
// file that its user owns. So a process that may write asks the supervisor to
// change them, without knowing it: a filter holds the system call, and the
// supervisor does it where the process may write, or refuses.

// modeCalls lists the system calls that change modes and times.
func modeCalls() []uint32 {
	list := []uint32{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_UTIMENSAT}
	if runtime.GOARCH == "amd64" {
		list = append(list, amd64Chmod, amd64Utime, amd64Utimes, amd64Futimesat)
	}
	return list
}

// lendListener has a filter hold the calls of modeCalls, and sends the
// descriptor by which they are answered through a socket.
func lendListener(socket int) error {
	var rules []syscallRule
	for _, nr := range modeCalls() {
		rules = append(rules, syscallRule{nr, nil, unix.SECCOMP_RET_USER_NOTIF})
	}
	prog, err := assembleFilter(nativeArch(), actionAllow, rules)
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

// receiveListener takes what lendListener has sent.
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

// What is asked of a listener.
const (
	listenReceive = unix.SECCOMP_IOCTL_NOTIF_RECV
	listenAnswer  = unix.SECCOMP_IOCTL_NOTIF_SEND
	listenValid   = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
)

// A janitor changes modes and times for a process, where that may write.
type janitor struct {
	listener int
	roots    []string // as the kernel names them
}

func newJanitor(listener int, write []launchText) *janitor {
	j := &janitor{listener: listener}
	for _, name := range write {
		fd, err := unix.Open(string(name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
			j.roots = append(j.roots, at)
		}
		unix.Close(fd)
	}
	return j
}

// serve answers until there is nobody left who could ask.
func (j *janitor) serve() {
	for {
		var c heldCall
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(j.listener), listenReceive, uintptr(unsafe.Pointer(&c)))
		if e == unix.EINTR || e == unix.ENOENT {
			continue // the one who asked has been killed
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

// A change is what a held call asks for: of the file called name in the folder
// at, or of at itself.
type change struct {
	at          int32
	name, value uint64 // where the name stands; the mode, or where the times stand
	flags       uint64
	times, self bool // self: without a name it means at itself
}

// read says what a held call asks for.
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

// do carries one call out, on the file that the caller means, if that is one
// it may write.
func (j *janitor) do(c *heldCall) error {
	ch, err := c.read()
	if err != nil {
		return err
	}
	caller := &memory{tid: c.tid}
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
	// All that was read is of the caller, and not of who has its number now.
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(j.listener), listenValid, uintptr(unsafe.Pointer(&c.id))); e != 0 {
		return e
	}
	if ch.times {
		return unix.UtimesNanoAt(fd, "", when, unix.AT_EMPTY_PATH)
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), uint32(ch.value)&(0o777|unix.S_ISVTX))
}

// open opens what a call names, without any right to its content, and checks
// that it is the caller's to change.
func (j *janitor) open(caller *memory, ch change) (int, error) {
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

// name gives the name of a call, "" for none, where that is allowed.
func (m *memory) name(ch change) (string, error) {
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

// owns says whether a file is the user's, and where the process may write.
func (j *janitor) owns(fd int) error {
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
	for _, root := range j.roots {
		if at == root || strings.HasPrefix(at, root+"/") {
			return nil
		}
	}
	return unix.EPERM
}

// A memory is that of the thread that waits for an answer.
type memory struct {
	tid  uint32
	file *os.File
}

func (m *memory) close() {
	if m.file != nil {
		m.file.Close()
	}
}

func (m *memory) read(b []byte, at uint64) (int, error) {
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
func (m *memory) text(at uint64) (string, error) {
	var all []byte
	for len(all) < unix.PathMax {
		// Up to the end of the page: the next need not be there.
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

// times reads the two times of a call, in the form that it takes them. None
// mean now.
func (m *memory) times(nr uint32, at uint64) ([]unix.Timespec, error) {
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
