//go:build amd64 || arm64

package launch

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A process is one that /proc lists.
type process struct {
	pid, parent int
	threads     int
	memory      int64  // bytes that it has in use
	born        string // its start time, to distinguish a later process with its PID
	dead        bool   // all its threads have ended; only its parent has not waited for it
}

// descendants lists the processes below one. Processes that start while /proc is read may
// be missing, so an empty list proves nothing. No other is missing, even if its parent ends.
func descendants(root int) []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	read := map[int]process{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				read[pid] = p
			}
		}
	}
	children := map[int][]process{}
	for _, p := range read {
		// The parent may have ended before it was read, and so another process have adopted this one.
		for _, known := read[p.parent]; !known; _, known = read[p.parent] {
			now, ok := readProcess(p.pid)
			if !ok || now.parent == p.parent {
				break
			}
			p = now
		}
		children[p.parent] = append(children[p.parent], p)
	}
	var all []process
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

// childTree lists the living processes below one, as [descendants] does. Where the kernel
// lists children it reads only these, which costs less. It returns at most as many as
// given, since a fork bomb grows while it is read.
func childTree(root, most int) []process {
	pids, ok := childrenOf(root)
	if !ok {
		return living(descendants(root))
	}
	var all []process
	for len(pids) > 0 && len(all) < most {
		pid := pids[0]
		pids = pids[1:]
		if p, ok := readProcess(pid); ok && !p.dead {
			all = append(all, p)
			below, _ := childrenOf(pid)
			pids = append(pids, below...)
		}
	}
	return all
}

func living(list []process) []process {
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

// readProcess reads /proc/PID/stat. The name of the program in it may contain anything, so
// the fields are counted from the last bracket.
func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	i := strings.LastIndexByte(string(text), ')')
	if i < 0 {
		return process{}, false
	}
	fields := strings.Fields(string(text[i+1:]))
	if len(fields) < 22 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	threads, _ := strconv.Atoi(fields[17])
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return process{
		pid: pid, parent: parent, threads: threads, memory: pages * int64(os.Getpagesize()),
		born: fields[19],
		// A process whose first thread has ended has this state too, but has other threads.
		dead: (fields[0] == "Z" || fields[0] == "X") && threads <= 1,
	}, true
}

// kill kills the process, and not a later one with its PID.
func (p process) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProcess(p.pid); ok && now.born == p.born {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}
