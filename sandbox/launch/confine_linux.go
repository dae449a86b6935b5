//go:build amd64 || arm64

package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// confineMain is the main of the confining stage: it drops every right that the process is
// not to have, and executes the program in its own place. Everything happens on one
// thread, the one that execve keeps.
func confineMain() int {
	runtime.LockOSThread()
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	failure := os.NewFile(failurePipe, "failure")
	var cmd command
	err := json.NewDecoder(os.NewFile(commandPipe, "command")).Decode(&cmd)
	if err == nil {
		err = confine(&cmd)
	}
	if err != nil {
		fmt.Fprintf(failure, "%s %v", reasonUnconfined, err)
		return 1
	}
	err = execProgram(&cmd)
	fmt.Fprintf(failure, "%s %s: %v", reasonUnstarted, cmd.Path, err)
	return 1
}

// execProgram executes the program in place of this one, if its file is still the one that
// the host has seen.
func execProgram(cmd *command) error {
	var st unix.Stat_t
	if err := unix.Stat(string(cmd.Path), &st); err != nil {
		return err
	}
	if uint64(st.Dev) != cmd.Dev || st.Ino != cmd.Ino {
		return errors.New("the file was replaced after the check")
	}
	argv := append([]string{string(cmd.Name)}, plainTexts(cmd.Args)...)
	return unix.Exec(string(cmd.Path), argv, plainTexts(cmd.Env))
}

// delegateMetadata has the supervisor change modes and times of files for the process, if
// the process may write any.
func delegateMetadata(cmd *command) error {
	if !cmd.writes() {
		return nil
	}
	return sendListener(listenSocket)
}

// confine drops the rights of this thread. The filter of system calls comes last, since
// it forbids what the steps before it do.
func confine(cmd *command) error {
	for _, step := range []struct {
		what string
		do   func(*command) error
	}{
		{"folder", enterDir},
		{"no new privileges", func(*command) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"capabilities", func(*command) error { return dropCapabilitySets() }},
		{"Landlock", restrictFiles},
		{"limits", setLimits}, // after what needs more descriptors than the process may have
		{"modes and times", delegateMetadata},
		{"filter of system calls", filterCommand},
	} {
		if err := step.do(cmd); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// enterDir starts in the folder of the command.
func enterDir(cmd *command) error {
	for i, p := range cmd.Places {
		if p.Use == useDir {
			if err := unix.Fchdir(confinePlaces + i); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// maxFile is the longest file that a process can write, in bytes: longer than what
// programs build, and far shorter than a disk.
const maxFile = 1 << 30

// niceness is the priority of a process: lower than that of the supervisor, which must be
// able to end it.
const niceness = 5

func setLimits(cmd *command) error {
	file := uint64(0)
	if cmd.writes() {
		file = maxFile
	}
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, file},
		{unix.RLIMIT_NOFILE, 1024},
		{unix.RLIMIT_MSGQUEUE, 0},
		// Not RLIMIT_AS: programs in Go, Java and JavaScript reserve far more
		// addresses than they use. The supervisor watches what this one misses.
		{unix.RLIMIT_DATA, uint64(cmd.Memory)},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.what, &now); err != nil {
			return err
		}
		most := min(l.most, now.Max)
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && 20-raw < niceness { // the call gives 20 less the value
		return unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	}
	return nil
}

// dropCapabilitySets empties every set of capabilities, so that root is an ordinary user
// here and no program can gain one.
func dropCapabilitySets() error {
	for c := uintptr(0); c <= 63; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL || err == unix.EPERM {
			break // past the last one, or an ordinary user, who has none
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}

// The rights that Landlock can handle, by the version that introduced them.
var (
	landlockFiles = []uint64{
		1: landlock.AccessFSRefer - 1, 2: landlock.AccessFSRefer, 3: landlock.AccessFSTruncate, 5: landlock.AccessFSIoctlDev,
		9: landlock.AccessFSResolveUnix,
	}
	landlockNet   = []uint64{4: landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP}
	landlockScope = []uint64{6: landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal}
)

// upTo joins the rights of all versions up to one.
func upTo(abi int, rights []uint64) uint64 {
	var all uint64
	for i, r := range rights {
		if i <= abi {
			all |= r
		}
	}
	return all
}

// What a process may do with a folder and with a file.
const (
	mayReadFile  = landlock.AccessFSReadFile | landlock.AccessFSExecute
	mayRead      = mayReadFile | landlock.AccessFSReadDir
	mayWriteFile = mayReadFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	mayWrite     = mayRead | mayWriteFile | landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile |
		landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeFifo | landlock.AccessFSMakeSym |
		landlock.AccessFSRefer
)

// restrictFiles has Landlock restrict this thread, and so the process, to the files, the
// network and the signals that the command grants.
func restrictFiles(cmd *command) error {
	attr := landlock.RulesetAttr{HandledAccessFS: upTo(cmd.ABI, landlockFiles), Scoped: upTo(cmd.ABI, landlockScope)}
	if !cmd.Network {
		attr.HandledAccessNet = upTo(cmd.ABI, landlockNet)
	}
	set, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(set)
	handled := attr.HandledAccessFS
	for i, p := range cmd.Places {
		rights, fileRights := uint64(0), uint64(0)
		switch p.Use {
		case useProgram:
			fileRights = mayReadFile
		case useRead:
			rights, fileRights = mayRead, mayReadFile
		case useWrite:
			rights, fileRights = mayWrite, mayWriteFile
		}
		if err := allow(set, confinePlaces+i, rights&handled, fileRights&handled); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		unix.Close(confinePlaces + i) // there may be more than the process may have open
	}
	for _, name := range systemRead() {
		if err := allowPath(set, name, mayRead&handled, mayReadFile&handled); err != nil && !isAbsent(err) {
			return err
		}
	}
	for _, name := range systemDevices() {
		device := uint64(landlock.AccessFSReadFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate)
		if err := allowPath(set, name, 0, device&handled); err != nil && !isAbsent(err) {
			return err
		}
	}
	return landlock.LandlockRestrictSelf(set, 0)
}

// isAbsent reports whether a path of the system does not exist here.
func isAbsent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR)
}

// allowPath adds a path of the system to a set of rules, as allow does.
func allowPath(set int, name string, rights, fileRights uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer unix.Close(fd)
	if err := allow(set, fd, rights, fileRights); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// allow adds what a descriptor refers to to a set of rules, with the rights for a folder
// or those for a file, depending on what it is.
func allow(set, fd int, rights, fileRights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil // a link itself has no content
	case unix.S_IFDIR:
	default:
		rights = fileRights
	}
	if rights == 0 {
		return nil
	}
	return landlock.LandlockAddPathBeneathRule(set, &landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}
