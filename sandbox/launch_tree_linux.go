//go:build amd64 || arm64

package sandbox

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A kin is a process as /proc shows it.
type kin struct {
	pid, parent int
	threads     int
	memory      int64  // bytes that it holds of the machine's
	born        string // tells it from a later process with its number
	dead        bool   // with all its threads, and only waits for its parent to hear of it
}

// descendants lists all processes below one. Between two looks at /proc some
// may hide from it, so a list is a part of the truth; an empty one proves
// nothing.
func descendants(root int) []kin {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	children := map[int][]kin{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readKin(pid); ok {
				children[p.parent] = append(children[p.parent], p)
			}
		}
	}
	var all []kin
	next := []int{root}
	for len(next) > 0 {
		below := children[next[0]]
		next = next[1:]
		for _, p := range below {
			all = append(all, p)
			next = append(next, p.pid)
		}
	}
	return all
}

// childTree lists the processes below one that live, as [descendants] does but
// for less: it looks at those alone, where the kernel lists children. It ends
// after as many as are asked for, since a fork bomb grows while it looks.
func childTree(root, most int) []kin {
	pids, ok := childrenOf(root)
	if !ok {
		return living(descendants(root))
	}
	var all []kin
	for len(pids) > 0 && len(all) < most {
		pid := pids[0]
		pids = pids[1:]
		if p, ok := readKin(pid); ok && !p.dead {
			all = append(all, p)
			below, _ := childrenOf(pid)
			pids = append(pids, below...)
		}
	}
	return all
}

func living(list []kin) []kin {
	kept := list[:0]
	for _, p := range list {
		if !p.dead {
			kept = append(kept, p)
		}
	}
	return kept
}

func childrenOf(pid int) (pids []int, ok bool) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return nil, false
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	for _, name := range names {
		text, err := os.ReadFile(tasks + "/" + name + "/children")
		if err != nil {
			continue
		}
		ok = true
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, ok
}

// readKin reads /proc/PID/stat. The name of the program in it may hold
// anything, so the fields are counted from its last bracket.
func readKin(pid int) (kin, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return kin{}, false
	}
	i := strings.LastIndexByte(string(text), ')')
	if i < 0 {
		return kin{}, false
	}
	fields := strings.Fields(string(text[i+1:]))
	if len(fields) < 22 {
		return kin{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	threads, _ := strconv.Atoi(fields[17])
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return kin{
		pid: pid, parent: parent, threads: threads, memory: pages * int64(os.Getpagesize()),
		born: fields[19],
		// One whose first thread has ended looks the same but has others.
		dead: (fields[0] == "Z" || fields[0] == "X") && threads <= 1,
	}, true
}

// kill kills the process, and no other that has its number by now.
func (p kin) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readKin(p.pid); ok && now.born == p.born {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}
