//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// confineMain is the last stage before the process: it takes every right from
// itself that the process is not to have, and becomes the process. Everything
// happens on one thread, the one that execve keeps.
func confineMain() int {
	runtime.LockOSThread()
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	trouble := os.NewFile(troublePipe, "trouble")
	var spec launchSpec
	err := json.NewDecoder(os.NewFile(specPipe, "spec")).Decode(&spec)
	if err == nil {
		err = confine(&spec)
	}
	if err != nil {
		fmt.Fprintf(trouble, "%s %v", launchUnconfined, err)
		return 1
	}
	err = become(&spec)
	fmt.Fprintf(trouble, "%s %s: %v", launchUnstarted, spec.Path, err)
	return 1
}

// become runs the program in place of this one, if it is still the one that
// was asked for.
func become(spec *launchSpec) error {
	var st unix.Stat_t
	if err := unix.Stat(string(spec.Path), &st); err != nil {
		return err
	}
	if uint64(st.Dev) != spec.Dev || st.Ino != spec.Ino {
		return errors.New("it is another program than a moment ago")
	}
	argv := append([]string{filepath.Base(string(spec.Path))}, plainTexts(spec.Args)...)
	return unix.Exec(string(spec.Path), argv, plainTexts(spec.Env))
}

// lendModes has the supervisor change modes and times, where the process may
// write at all.
func lendModes(spec *launchSpec) error {
	if len(spec.Write) == 0 {
		return nil
	}
	return lendListener(listenSocket)
}

// confine takes this thread's rights. The filter of system calls comes last,
// since it forbids what the steps before it do.
func confine(spec *launchSpec) error {
	if err := os.Chdir(string(spec.Dir)); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(*launchSpec) error
	}{
		{"limits", setLimits},
		{"no new privileges", func(*launchSpec) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"capabilities", func(*launchSpec) error { return giveUpCapabilities() }},
		{"Landlock", fence},
		{"modes and times", lendModes},
		{"filter of system calls", filterCommand},
	} {
		if err := step.do(spec); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// launchMaxFile is how long a file can become that a process writes: longer
// than what programs build, and far shorter than a disk.
const launchMaxFile = 1 << 30

// launchNice puts a process behind the supervisor that is to end it.
const launchNice = 5

func setLimits(spec *launchSpec) error {
	file := uint64(0)
	if len(spec.Write) > 0 {
		file = launchMaxFile
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
		{unix.RLIMIT_DATA, uint64(spec.Memory)},
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
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && 20-raw < launchNice { // the call gives 20 less the value
		return unix.Setpriority(unix.PRIO_PROCESS, 0, launchNice)
	}
	return nil
}

// giveUpCapabilities empties every set of capabilities, so that root is an
// ordinary user here and no program can bring one back.
func giveUpCapabilities() error {
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

// What Landlock can be asked to guard, by the version that began it.
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

// fence puts this thread, and so the process, behind Landlock.
func fence(spec *launchSpec) error {
	attr := landlock.RulesetAttr{HandledAccessFS: upTo(spec.ABI, landlockFiles), Scoped: upTo(spec.ABI, landlockScope)}
	if !spec.Network {
		attr.HandledAccessNet = upTo(spec.ABI, landlockNet)
	}
	set, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(set)
	open := func(name string, follow int, rights, fileRights uint64, must bool) error {
		err := allowPath(set, name, follow, rights&attr.HandledAccessFS, fileRights&attr.HandledAccessFS)
		if err != nil && (must || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOTDIR)) {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for _, name := range systemRead() {
		if err := open(name, 0, mayRead, mayReadFile, false); err != nil {
			return err
		}
	}
	for _, name := range systemDevices() {
		if err := open(name, 0, 0, landlock.AccessFSReadFile|landlock.AccessFSWriteFile|landlock.AccessFSTruncate, false); err != nil {
			return err
		}
	}
	if err := open(string(spec.Path), 0, 0, mayReadFile, true); err != nil {
		return err
	}
	// What a caller names is meant as it stands: a link may have been put there
	// by a stranger, and leads anywhere.
	for _, name := range spec.Read {
		if err := open(string(name), unix.O_NOFOLLOW, mayRead, mayReadFile, true); err != nil {
			return err
		}
	}
	for _, name := range spec.Write {
		if err := open(string(name), unix.O_NOFOLLOW, mayWrite, mayWriteFile, true); err != nil {
			return err
		}
	}
	return landlock.LandlockRestrictSelf(set, 0)
}

// allowPath adds a path to a set of rules, with the rights of a folder or those
// of a file, whichever it is.
func allowPath(set int, name string, follow int, rights, fileRights uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|follow, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil // the link itself holds nothing
	case unix.S_IFDIR:
	default:
		rights = fileRights
	}
	if rights == 0 {
		return nil
	}
	return landlock.LandlockAddPathBeneathRule(set, &landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}
