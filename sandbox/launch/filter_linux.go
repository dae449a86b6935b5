//go:build amd64 || arm64

package launch

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/sandbox/internal/seccomp"
)

// System calls that only amd64 has, and those that are too new for the table
// of x/sys.
const (
	amd64Open      = 2
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

// low tests the lower half of an argument. A rule that refuses must not test the upper
// half where the kernel ignores it: an attacker would fill it.
func low(index int, mask, value uint32) seccomp.Test {
	return seccomp.Masked(index, uint64(mask), uint64(value))
}

const word = ^uint32(0) // a mask of all bits

// filterCommand puts the filter of system calls on this thread.
func filterCommand(cmd *command) error {
	prog, err := seccomp.Assemble(seccomp.NativeArch(), seccomp.Allow, commandRules(cmd))
	if err != nil {
		return err
	}
	return seccomp.Install(prog)
}

// commandRules returns what a command may not do, beyond what Landlock refuses. Everything
// else is allowed: there are many commands, and the files that they can reach are few.
func commandRules(cmd *command) []seccomp.Rule {
	var rules []seccomp.Rule
	add := func(action uint32, nr uint32, args ...seccomp.Test) {
		rules = append(rules, seccomp.On(nr, action, args...))
	}
	refuse := func(numbers ...uint32) {
		for _, nr := range numbers {
			add(seccomp.Errno(unix.EPERM), nr)
		}
	}
	refuse(privilegedCalls()...)
	// Programs work without these where they are missing.
	for _, nr := range []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_CLONE3, unix.SYS_OPENAT2, // their flags lie in memory, where a filter cannot look
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, // memory that no limit counts
	} {
		add(seccomp.Errno(unix.ENOSYS), nr)
	}
	for _, flag := range []uint32{
		unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET,
		unix.CLONE_UNTRACED, // would not be counted
	} {
		add(seccomp.Errno(unix.EPERM), unix.SYS_CLONE, low(0, flag, flag))
	}
	for _, order := range []uint32{
		unix.TIOCSTI, unix.TIOCLINUX, // would type for the user
		unix.FS_IOC_SETFLAGS, fsIoc32SetFlags, fsIocSetXattr, // need no right to write
	} {
		add(seccomp.Errno(unix.EPERM), unix.SYS_IOCTL, low(1, word, order))
	}
	rules = append(rules, selfOnlyRules()...)
	rules = append(rules, socketRules(cmd.Network)...)
	rules = append(rules, metadataRules(cmd.writes())...)
	if upTo(cmd.ABI, landlockScope) == 0 {
		// This version of Landlock does not restrict signals.
		refuse(unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL)
		for _, order := range []uint32{unix.F_SETOWN, unix.F_SETOWN_EX} {
			add(seccomp.Errno(unix.EPERM), unix.SYS_FCNTL, low(1, word, order))
		}
	}
	return rules
}

const (
	fsIoc32SetFlags = 0x40046602
	fsIocSetXattr   = 0x401c5820
)

// privilegedCalls lists the system calls that act on other processes, on the kernel or on
// what programs share outside the file system.
func privilegedCalls() []uint32 {
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

// selfOnlyRules let a process use on itself what it could use on any process of its user,
// this program included.
func selfOnlyRules() []seccomp.Rule {
	var rules []seccomp.Rule
	for _, own := range []struct {
		nr   uint32
		args []seccomp.Test
	}{
		{unix.SYS_PRLIMIT64, []seccomp.Test{low(0, word, 0)}},
		{unix.SYS_SCHED_SETAFFINITY, []seccomp.Test{low(0, word, 0)}},
		{unix.SYS_SCHED_SETSCHEDULER, []seccomp.Test{low(0, word, 0)}},
		{unix.SYS_SCHED_SETPARAM, []seccomp.Test{low(0, word, 0)}},
		{unix.SYS_SCHED_SETATTR, []seccomp.Test{low(0, word, 0)}},
		{unix.SYS_SETPRIORITY, []seccomp.Test{low(0, word, unix.PRIO_PROCESS), low(1, word, 0)}},
		{unix.SYS_IOPRIO_SET, []seccomp.Test{low(0, word, 1), low(1, word, 0)}},
	} {
		rules = append(rules,
			seccomp.On(own.nr, seccomp.Allow, own.args...),
			seccomp.On(own.nr, seccomp.Errno(unix.EPERM)))
	}
	return rules
}

// socketRules allow pairs of sockets. With the network they also allow internet addresses
// and the kernel's list of interfaces, but never the sockets of other programs on this
// machine.
func socketRules(network bool) []seccomp.Rule {
	rules := []seccomp.Rule{
		seccomp.On(unix.SYS_SOCKETPAIR, seccomp.Allow, low(0, word, unix.AF_UNIX)),
		seccomp.On(unix.SYS_SOCKETPAIR, seccomp.Errno(unix.EPERM)),
	}
	if network {
		rules = append(rules,
			seccomp.On(unix.SYS_SOCKET, seccomp.Allow, low(0, word, unix.AF_INET)),
			seccomp.On(unix.SYS_SOCKET, seccomp.Allow, low(0, word, unix.AF_INET6)),
			seccomp.On(unix.SYS_SOCKET, seccomp.Allow, low(0, word, unix.AF_NETLINK), low(2, word, unix.NETLINK_ROUTE)))
	}
	return append(rules, seccomp.On(unix.SYS_SOCKET, seccomp.Errno(unix.EPERM)))
}

// metadataRules refuse changes that Landlock does not handle: of owners, attributes, modes
// and times. A process that may write nothing changes none of them. One that may write
// cannot set the set-user-ID and set-group-ID bits.
func metadataRules(writes bool) []seccomp.Rule {
	never := []uint32{
		unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, anySetxattrat,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, anyRmxattrat, anyFileSetattr,
	}
	times := []uint32{unix.SYS_UTIMENSAT}
	modes := []modeCall{{unix.SYS_FCHMOD, 1, nil}, {unix.SYS_FCHMODAT, 2, nil}, {unix.SYS_FCHMODAT2, 2, nil}}
	makers := []modeCall{
		{unix.SYS_OPENAT, 3, []seccomp.Test{low(2, unix.O_CREAT, unix.O_CREAT)}},
		{unix.SYS_OPENAT, 3, []seccomp.Test{low(2, onlyTmpfile, onlyTmpfile)}},
		{unix.SYS_MKNODAT, 2, nil},
	}
	if runtime.GOARCH == "amd64" {
		never = append(never, amd64Chown, amd64Lchown)
		times = append(times, amd64Utime, amd64Utimes, amd64Futimesat)
		modes = append(modes, modeCall{amd64Chmod, 1, nil})
		makers = append(makers,
			modeCall{amd64Open, 2, []seccomp.Test{low(1, unix.O_CREAT, unix.O_CREAT)}},
			modeCall{amd64Open, 2, []seccomp.Test{low(1, onlyTmpfile, onlyTmpfile)}},
			modeCall{amd64Creat, 1, nil}, modeCall{amd64Mknod, 1, nil})
	}
	var rules []seccomp.Rule
	refuse := func(nr uint32, args ...seccomp.Test) {
		rules = append(rules, seccomp.On(nr, seccomp.Errno(unix.EPERM), args...))
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

// A modeCall is a system call that sets a file's mode: the index of that argument, and the
// tests under which the call sets it.
type modeCall struct {
	nr   uint32
	mode int
	when []seccomp.Test
}

// onlyTmpfile is O_TMPFILE without the O_DIRECTORY in it.
const onlyTmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY
