//go:build amd64 || arm64

package sandbox

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// System calls that only amd64 has, and those that are too new for the table
// of x/sys.
const (
	amd64Chmod     = 90
	amd64Chown     = 92
	amd64Lchown    = 94
	amd64Creat     = 85
	amd64Utime     = 132
	amd64Utimes    = 235
	amd64Futimesat = 261
	amd64Mknod     = 133
	amd64Iopl      = 172
	amd64Ioperm    = 173
	anySetxattrat  = 463
	anyRmxattrat   = 466
	anyFileSetattr = 469
)

// low makes a test of the lower half of an argument. A rule that refuses must
// not look at the upper one where the kernel does not: an attacker would fill it.
func low(index int, mask, value uint32) argTest {
	return argTest{index, uint64(mask), uint64(value)}
}

const word = ^uint32(0)

// filterCommand puts the filter of system calls on this thread.
func filterCommand(spec *launchSpec) error {
	prog, err := assembleFilter(nativeArch(), actionAllow, commandRules(spec))
	if err != nil {
		return err
	}
	return installFilter(prog)
}

// commandRules is what a command may not do, beside what Landlock keeps from
// it. What is not here is allowed: commands are many, and the files they can
// reach are few.
func commandRules(spec *launchSpec) []syscallRule {
	var rules []syscallRule
	add := func(action uint32, nr uint32, args ...argTest) {
		rules = append(rules, syscallRule{nr, args, action})
	}
	refuse := func(numbers ...uint32) {
		for _, nr := range numbers {
			add(actionErrno(unix.EPERM), nr)
		}
	}
	refuse(powers()...)
	// Programs that find these missing do without.
	for _, nr := range []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_CLONE3, unix.SYS_OPENAT2, // their flags lie in memory, where a filter cannot look
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, // memory that no limit counts
	} {
		add(actionErrno(unix.ENOSYS), nr)
	}
	for _, flag := range []uint32{
		unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET,
	} {
		add(actionErrno(unix.EPERM), unix.SYS_CLONE, low(0, flag, flag))
	}
	for _, order := range []uint32{
		unix.TIOCSTI, unix.TIOCLINUX, // would type for the user
		unix.FS_IOC_SETFLAGS, fsIoc32SetFlags, fsIocSetXattr, // need no right to write
	} {
		add(actionErrno(unix.EPERM), unix.SYS_IOCTL, low(1, word, order))
	}
	rules = append(rules, ownRules()...)
	rules = append(rules, socketRules(spec.Network)...)
	rules = append(rules, metadataRules(len(spec.Write) > 0)...)
	if upTo(spec.ABI, landlockScope) == 0 {
		// Landlock does not yet keep signals in.
		refuse(unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL)
		for _, order := range []uint32{unix.F_SETOWN, unix.F_SETOWN_EX} {
			add(actionErrno(unix.EPERM), unix.SYS_FCNTL, low(1, word, order))
		}
	}
	return rules
}

const (
	fsIoc32SetFlags = 0x40046602
	fsIocSetXattr   = 0x401c5820
)

// powers lists what acts on other processes, on the kernel or on what programs
// share behind the file system.
func powers() []uint32 {
	list := []uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
		unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
		unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}
	if runtime.GOARCH == "amd64" {
		list = append(list, amd64Iopl, amd64Ioperm)
	}
	return list
}

// ownRules keep a process to itself with what by number could as well be done
// to any other process of its user, this program included.
func ownRules() []syscallRule {
	var rules []syscallRule
	for _, own := range []struct {
		nr   uint32
		args []argTest
	}{
		{unix.SYS_PRLIMIT64, []argTest{low(0, word, 0)}},
		{unix.SYS_SCHED_SETAFFINITY, []argTest{low(0, word, 0)}},
		{unix.SYS_SCHED_SETSCHEDULER, []argTest{low(0, word, 0)}},
		{unix.SYS_SCHED_SETPARAM, []argTest{low(0, word, 0)}},
		{unix.SYS_SCHED_SETATTR, []argTest{low(0, word, 0)}},
		{unix.SYS_SETPRIORITY, []argTest{low(0, word, unix.PRIO_PROCESS), low(1, word, 0)}},
		{unix.SYS_IOPRIO_SET, []argTest{low(0, word, 1), low(1, word, 0)}},
	} {
		rules = append(rules,
			syscallRule{own.nr, own.args, actionAllow},
			syscallRule{own.nr, nil, actionErrno(unix.EPERM)})
	}
	return rules
}

// socketRules leave a process its pairs of sockets. With the network it also
// gets addresses of the internet and the kernel's list of interfaces, but never
// the sockets of other programs on this machine.
func socketRules(network bool) []syscallRule {
	rules := []syscallRule{
		{unix.SYS_SOCKETPAIR, []argTest{low(0, word, unix.AF_UNIX)}, actionAllow},
		{unix.SYS_SOCKETPAIR, nil, actionErrno(unix.EPERM)},
	}
	if network {
		rules = append(rules,
			syscallRule{unix.SYS_SOCKET, []argTest{low(0, word, unix.AF_INET)}, actionAllow},
			syscallRule{unix.SYS_SOCKET, []argTest{low(0, word, unix.AF_INET6)}, actionAllow},
			syscallRule{unix.SYS_SOCKET, []argTest{low(0, word, unix.AF_NETLINK), low(2, word, unix.NETLINK_ROUTE)}, actionAllow})
	}
	return append(rules, syscallRule{unix.SYS_SOCKET, nil, actionErrno(unix.EPERM)})
}

// metadataRules guard what Landlock does not know: owners, attributes, modes
// and times. A process that writes nothing changes none; one that does sets no
// set-user-ID bit.
func metadataRules(writes bool) []syscallRule {
	never := []uint32{
		unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, anySetxattrat,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, anyRmxattrat, anyFileSetattr,
	}
	times := []uint32{unix.SYS_UTIMENSAT}
	modes := []modeCall{{unix.SYS_FCHMOD, 1, nil}, {unix.SYS_FCHMODAT, 2, nil}, {unix.SYS_FCHMODAT2, 2, nil}}
	makers := []modeCall{
		{unix.SYS_OPENAT, 3, []argTest{low(2, unix.O_CREAT, unix.O_CREAT)}},
		{unix.SYS_OPENAT, 3, []argTest{low(2, onlyTmpfile, onlyTmpfile)}},
		{unix.SYS_MKNODAT, 2, nil},
	}
	if runtime.GOARCH == "amd64" {
		never = append(never, amd64Chown, amd64Lchown)
		times = append(times, amd64Utime, amd64Utimes, amd64Futimesat)
		modes = append(modes, modeCall{amd64Chmod, 1, nil})
		makers = append(makers,
			modeCall{amd64Open, 2, []argTest{low(1, unix.O_CREAT, unix.O_CREAT)}},
			modeCall{amd64Open, 2, []argTest{low(1, onlyTmpfile, onlyTmpfile)}},
			modeCall{amd64Creat, 1, nil}, modeCall{amd64Mknod, 1, nil})
	}
	var rules []syscallRule
	refuse := func(nr uint32, args ...argTest) {
		rules = append(rules, syscallRule{nr, args, actionErrno(unix.EPERM)})
	}
	for _, nr := range never {
		refuse(nr)
	}
	if !writes {
		for _, nr := range times {
			refuse(nr)
		}
		for _, c := range modes {
			refuse(c.nr)
		}
		return rules
	}
	for _, bit := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		for _, c := range append(modes, makers...) {
			refuse(c.nr, append(c.when, low(c.mode, bit, bit))...)
		}
	}
	return rules
}

// A modeCall is a system call that sets a file's mode: which argument that is,
// and when it counts.
type modeCall struct {
	nr   uint32
	mode int
	when []argTest
}

// onlyTmpfile is O_TMPFILE without the O_DIRECTORY in it.
const onlyTmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY
