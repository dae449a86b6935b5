package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// Variables of TestSoak: whether it has its full number of runs, the seed, the names of the
// faults, and the number of the only run.
const (
	seedVariable   = "CASSIDY_SOAK_SEED"
	faultsVariable = "CASSIDY_SOAK_FAULTS"
	onlyVariable   = "CASSIDY_SOAK_ONLY"
)

// soakTools are those that TestSoak has besides some of [killTools].
var soakTools = map[string]string{
	"add": `def add(file: str) -> int:
    "Add one to the number in a file."
    n = (int(fs.read(file)) if fs.exists(file) else 0) + 1
    fs.write(file, str(n))
    return n
tool(add, needs = ["fs.read", "fs.write:count*"])`,
	"post": `def post(text: str) -> str:
    "Send a text that may not be sent twice."
    return http.post("http://SERVER/each", body = text)["text"]
tool(post, needs = ["http.post:SERVER"])`,
	"once": `def once(text: str) -> str:
    "Send a text that may be sent again."
    return http.post("http://SERVER/once", body = text)["text"]
tool(once, needs = ["http.post:SERVER"], hints = {"idempotent": True})`,
	"nap": `def nap():
    "Sleep shortly."
    time.sleep(0.05)
tool(nap)`,
	"work": `def work(n: int) -> int:
    "Compute, and use memory."
    all = [[i] for i in range(n)]
    return len(all)
tool(work)`,
	"look": `def look(path: str) -> str:
    "Have a command count the lines of a file."
    return shell.run(["sh", "-c", "wc -l < " + path])["stdout"].strip()
tool(look, needs = ["shell:sh", "fs.read"])`,
	"fill": `def fill(n: int):
    "Write files of 100 KB."
    for i in range(n):
        fs.write("large/%d" % i, "0123456789" * 10000)
tool(fill, needs = ["fs.write:large/**"])`,
	"late": `def late() -> str:
    "Copy a file."
    fs.write("late.txt", fs.read("b/poem.txt"))
    return fs.read("late.txt")
tool(late, needs = ["fs.read", "fs.write:late.txt"])`,
	"report": `def report(problem: str, sends: str = "") -> str:
    "Ask a person to repair something, and whether a text was sent."
    return human.ask("Repair this (sends '%s'): %s" % (sends, problem))
tool(report, needs = ["human"])`,
}

// soakFlow uses each tool. Parallel calls that failed are repeated.
const soakFlow = `def sure(calls):
    got = tools.call_all(calls)
    return [r["value"] if r["ok"] else tools.call(c[0], **c[1]) for c, r in zip(calls, got)]

def main():
    tools.note(file = "log.txt", line = "begins")
    tools.put(path = "a/poem.txt", content = "one\ntwo\nthree\n")
    diff = tools.swap(path = "a/poem.txt", old = "two", new = "2")
    first = tools.send(text = "first")
    tools.add(file = "count")
    once = tools.post(text = "once")
    tools.nap()
    worked = tools.work(n = 20000)
    seen = tools.look(path = "a/poem.txt")
    together = sure([("add", {"file": "count1"}), ("add", {"file": "count2"}), ("work", {"n": 10000})])
    tools.fill(n = 5)
    tools.several(line = "line")
    tools.rename(old = "a", new = "b")
    tools.add(file = "count")
    late = tools.late()
    second = tools.send(text = "second")
    tools.drop(path = "many/7.txt")
    twice = tools.post(text = "twice")
    tools.note(file = "log.txt", line = "ends")
    return {"diff": diff, "sent": [first, once, second, twice], "worked": worked, "seen": seen, "together": together, "late": late}
`

// soakModel plays a model that calls tools. It has a person repair what fails, and tries it
// again, unless the person knows that it was done.
const soakModel = `CALLS = [
    ("note", {"file": "log.txt", "line": "begins"}),
    ("put", {"path": "b/poem.txt", "content": "one\ntwo\nthree\n"}),
    ("post", {"text": "once"}),
    ("add", {"file": "count"}),
    ("work", {"n": 20000}),
    ("fill", {"n": 3}),
    ("look", {"path": "b/poem.txt"}),
    ("once", {"text": "first"}),
    ("late", {}),
    ("post", {"text": "twice"}),
    ("note", {"file": "log.txt", "line": "ends"}),
]

def call(name, input):
    return json.encode({"tool_decision": {"action": name, "input": input, "reasoning": "it is next", "status": "continue"}})

def reply(messages, turn):
    done = 0
    for m in messages:
        if m["role"] == "user" and done < len(CALLS):
            skips = m["content"].startswith("RESULT (report):") and "skip" in m["content"]
            if m["content"].startswith("RESULT (%s):" % CALLS[done][0]) or skips:
                done += 1
    last = messages[-1]["content"]
    if turn > 0 and not last.startswith("RESULT ("):
        return call("report", {"problem": last[:300], "sends": CALLS[done][1].get("text", "")})
    return call(CALLS[done][0], CALLS[done][1]) if done < len(CALLS) else "TASK COMPLETE: all is done"
`

// A soak is an ordeal with disks of its own, around which things break.
type soak struct {
	*ordeal
	disk, homeDisk string // folders around that of the project and the home
	model          string
	pick           int  // chooses among the variants of a fault
	broken         bool // until it is repaired
}

// A fault is something that happens to a process or to its environment.
type fault struct {
	name    string
	strike  func(s *soak, p *os.Process) bool // reports whether there was something to strike
	repair  func(s *soak)                     // nil: nothing has to be repaired
	stops   bool                              // a running process does not see it: it is ended, and continued
	crashes bool                              // a run may be broken off
	reasons []string                          // for which a run may be parked
	hint    string                            // part of what is printed then
}

var soakFaults = []fault{
	{name: "SIGKILL to the group", crashes: true, strike: func(_ *soak, p *os.Process) bool {
		return unix.Kill(-p.Pid, unix.SIGKILL) == nil
	}},
	{name: "SIGKILL to workers", reasons: []string{"interrupted"}, hint: "cassidy runs resume", strike: func(s *soak, p *os.Process) bool {
		return blow{byWorker, s.pick}.strike(p)
	}},
	{name: "SIGTERM", reasons: []string{"interrupted"}, hint: "cassidy runs resume", strike: func(_ *soak, p *os.Process) bool {
		return p.Signal(unix.SIGTERM) == nil
	}},
	{name: "home full", crashes: true, reasons: []string{"disk"}, hint: "disk", strike: func(s *soak, _ *os.Process) bool {
		return s.fillDisk(s.homeDisk)
	}, repair: func(s *soak) { s.remove(filepath.Join(s.homeDisk, "ballast")) }},
	{name: "project full", reasons: []string{"disk"}, hint: "space", strike: func(s *soak, _ *os.Process) bool {
		return s.fillDisk(s.disk)
	}, repair: func(s *soak) { s.remove(filepath.Join(s.disk, "ballast")) }},
	{name: "project read-only", reasons: []string{"read_only"}, hint: "writable", strike: func(s *soak, _ *os.Process) bool {
		return s.remount(unix.MS_RDONLY)
	}, repair: func(s *soak) { s.remount(0) }},
	{name: "connection refused", reasons: []string{"unavailable"}, hint: "wait until", strike: func(s *soak, _ *os.Process) bool {
		s.far.stop()
		return true
	}, repair: func(s *soak) { s.far.restart(s.TB) }},
	{name: "connection reset", reasons: []string{"unavailable"}, hint: "wait until", strike: func(s *soak, _ *os.Process) bool {
		s.far.cut()
		return true
	}},
	{name: "tool missing", reasons: []string{"tool"}, hint: "cassidy trust", strike: func(s *soak, _ *os.Process) bool {
		s.remove(filepath.Join(s.Dir, s.toolFile()))
		return true
	}, repair: func(s *soak) { s.writeTool() }},
	{name: "tool edited", reasons: []string{"tool"}, hint: "cassidy trust", strike: func(s *soak, _ *os.Process) bool {
		s.Write(s.toolFile(), "# edited\n"+s.toolText())
		return true
	}, repair: func(s *soak) {
		if s.pick%2 == 0 {
			s.writeTool()
		} else {
			s.Want([]string{"trust", "--yes"}, 0, "", "")
		}
	}},
	{name: "trust revoked", stops: true, reasons: []string{"tool"}, hint: "cassidy trust", strike: func(s *soak, _ *os.Process) bool {
		s.Want([]string{"trust", "--revoke"}, 0, "", "")
		return true
	}, repair: func(s *soak) { s.Want([]string{"trust", "--yes"}, 0, "", "") }},
	{name: "rule", stops: true, reasons: []string{"rule"}, hint: "rule", strike: func(s *soak, _ *os.Process) bool {
		s.configure("deny: [" + s.rule() + "]\n")
		return true
	}, repair: func(s *soak) { s.configure("") }},
	{name: "worker out of memory", reasons: []string{"interrupted", "limit", "unavailable"}, hint: "memory", strike: func(_ *soak, p *os.Process) bool {
		none, struck := unix.Rlimit{Cur: 1, Max: 1}, false
		for _, pid := range workersOf(p.Pid) {
			struck = unix.Prlimit(pid, unix.RLIMIT_DATA, &none, nil) == nil && unix.Prlimit(pid, unix.RLIMIT_AS, &none, nil) == nil || struck
		}
		return struck
	}},
}

// newSoak makes a project and a home that are file systems of their own.
func newSoak(t *testing.T) *soak {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("THIS TEST NEEDS ROOT, TO MOUNT FILE SYSTEMS")
	}
	s := &soak{disk: t.TempDir(), homeDisk: t.TempDir()}
	dir, home := filepath.Join(s.disk, "project"), filepath.Join(s.homeDisk, "home")
	for _, disk := range []string{s.disk, s.homeDisk} {
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
			t.Skipf("NO FILE SYSTEM CAN BE MOUNTED HERE: %v", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	}
	err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(home, 0o700), unix.Mount(dir, dir, "", unix.MS_BIND, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	tools := maps.Clone(soakTools)
	for _, name := range []string{"note", "put", "swap", "rename", "drop", "several", "send"} {
		tools[name] = killTools[name]
	}
	s.ordeal = newOrdealIn(t, dir, home, tools, soakFlow)
	s.model = filepath.Join(s.homeDisk, "model.star")
	if err := os.WriteFile(s.model, []byte(soakModel), 0o600); err != nil {
		t.Fatal(err)
	}
	s.clear()
	return s
}

// fillDisk leaves a few pages on a disk, or none.
func (s *soak) fillDisk(disk string) bool {
	f, err := os.OpenFile(filepath.Join(disk, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.TB.Error(err)
		return true
	}
	var stat unix.Statfs_t
	page := make([]byte, 1<<20)
	for err == nil && len(page) >= 4096 {
		if _, err = f.Write(page); err != nil {
			page, err = page[:len(page)/2], nil
		}
	}
	err = errors.Join(f.Sync(), unix.Statfs(disk, &stat))
	if left := int64(s.pick%4) * 4096 * 4; err == nil && left > 0 {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			err = f.Truncate(info.Size() - left)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.TB.Error(err)
	}
	return true
}

func (s *soak) remove(path string) {
	if err := os.Remove(path); err != nil {
		s.TB.Error(err)
	}
}

// remount makes the project read-only, or writable with 0. While a file is open for
// writing, it fails, and is tried again.
func (s *soak) remount(flags uintptr) bool {
	err := error(unix.EBUSY)
	for range 1000 {
		if err = unix.Mount("", s.Dir, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != unix.EBUSY {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		s.TB.Error(err)
	}
	return true
}

func (s *soak) toolName() string {
	names := []string{"late", "add", "post", "look", "fill", "work"}
	return names[s.pick%len(names)]
}

func (s *soak) toolFile() string { return ".cassidy/tools/" + s.toolName() + ".star" }

func (s *soak) toolText() string {
	return strings.ReplaceAll(soakTools[s.toolName()], "SERVER", s.far.address()) + "\n"
}

func (s *soak) writeTool() { s.Write(s.toolFile(), s.toolText()) }

func (s *soak) rule() string {
	rules := []string{
		`{tool: late, capability: fs.write}`, `http.post`, `"fs.write:count"`, `"shell:sh"`,
		`"tool:add"`, `"fs.write:large/**"`, `{tool: post, capability: "http.post:` + s.far.address() + `"}`,
	}
	return rules[s.pick%len(rules)]
}

// A shown run is what runs show --json prints of it.
type shown struct {
	State, Reason, Damage, Error string
	Result                       any
	Waits                        struct {
		Questions []struct{ ID, Place, Kind, Text string }
	}
	none bool // there is no run
}

func (s *soak) show(id string) shown {
	s.TB.Helper()
	stdout, stderr, code := s.Run("--json", "runs", "show", id)
	var run shown
	run.none = strings.Contains(stderr, "there is no run")
	if err := json.Unmarshal([]byte(stdout), &run); !run.none && (err != nil || code != 0) {
		s.TB.Fatalf("runs show %s ended with %d: %v\n%s%s", id, code, err, stdout, stderr)
	}
	return run
}

// survive runs something until it is done. It strikes its first process, and kills the group
// of the second one. It returns what was shown last.
func (s *soak) survive(id string, begin []string, f *fault, moment, kill death, again bool) (shown, bool) {
	s.TB.Helper()
	var struck atomic.Bool
	if f.strike != nil {
		moment.inject = func(p *os.Process) bool {
			if struck.Load() || !f.strike(s, p) {
				return struck.Load()
			}
			struck.Store(true)
			return !f.stops || p.Signal(unix.SIGTERM) == nil
		}
	}
	kill.inject = func(p *os.Process) bool { return unix.Kill(-p.Pid, unix.SIGKILL) == nil }
	yes := map[string]int{}
	args, repaired := begin, 0
	for range 12 {
		e := s.process(moment, args...)
		moment, kill = kill, death{}
		s.broken = s.broken || struck.Swap(false) && f.repair != nil
		run := s.show(id)
		at := fmt.Sprintf("cassidy %s (repaired: %d) ended with %d, and the run is %s (%s)", strings.Join(args, " "), repaired, e.code, run.State, run.Reason)
		s.TB.Log(at)
		switch {
		case run.none:
			if e.code == 0 || e.code > 0 && e.code != 130 && !strings.Contains(e.stderr, "hint: ") {
				s.TB.Errorf("%s: no run was recorded\n%s", at, e.stderr)
			}
		case run.Damage != "":
			s.TB.Errorf("%s: %s", at, run.Damage)
			return run, false
		case run.State == "done":
			s.posts(yes, len(yes) > 0)
			return run, true
		case run.State == "parked" && len(run.Waits.Questions) > 0:
			for _, q := range run.Waits.Questions {
				if q.Kind == "ask" {
					if s.broken {
						f.repair(s)
						s.broken = false
					}
					s.Want([]string{"runs", "answer", q.ID, "--text", s.report(q.Text)}, 0, "answered", "")
					continue
				}
				place := q.Place
				for strings.HasSuffix(place, ".0") {
					place = strings.TrimSuffix(place, ".0")
				}
				yes[place]++
				s.Want([]string{"runs", "answer", q.ID, "yes"}, 0, "answered yes", "cassidy runs resume "+id)
			}
		case run.State == "parked" && e.code == -1: // it was killed before it resumed the run
		case run.State == "running" && run.Reason == "broken off" && (e.code == -1 || f.crashes && repaired == 0):
			if e.code > 0 && !strings.Contains(e.stderr, f.hint) {
				s.TB.Errorf("%s, want %q:\n%s", at, f.hint, e.stderr)
			}
		case run.State == "parked" && run.Reason == "interrupted" && f.stops && repaired == 0:
			if e.code > 0 && e.code != 130 && !strings.Contains(e.stderr, f.hint) {
				s.TB.Errorf("%s, want a hint with %q:\n%s", at, f.hint, e.stderr)
			}
		case run.State != "parked" || !slices.Contains(f.reasons, run.Reason) || !strings.Contains(e.stderr, "hint: ") || !strings.Contains(e.stderr, f.hint) || repaired > 1:
			page, _, _ := s.Run("runs", "show", id)
			s.TB.Errorf("%s, want done, or parked with %q and a hint with %q:\n%s%s", at, f.reasons, f.hint, e.stderr, page)
			return run, false
		}
		if again = again && s.broken; again {
			again = false // it is parked again
		} else {
			if s.broken {
				f.repair(s)
				s.broken = false
			}
			repaired++
		}
		if args = []string{"runs", "resume", id, "--yes"}; run.none {
			args = begin
		}
	}
	s.TB.Errorf("the run %s does not end", id)
	return shown{}, false
}

// posts checks what the server got: each request once, or as often as a person agreed to
// repeat it, and those of a tool that is idempotent again with the same key and text.
func (s *soak) posts(yes map[string]int, asked bool) {
	s.TB.Helper()
	s.far.mu.Lock()
	defer s.far.mu.Unlock()
	for key, came := range s.far.came {
		_, place, _ := strings.Cut(key, "/")
		if len(slices.Compact(slices.Clone(came))) != 1 {
			s.TB.Errorf("different requests have the key %s: %q", key, came)
		}
		if strings.HasPrefix(came[0], "/each ") && len(came) > 1+yes[place] {
			s.TB.Errorf("the request %s came %d times, and was repeated %d times by a person (asked: %t)", key, len(came), yes[place], asked)
		}
	}
}

// report answers the question of a model whether something was repaired, and is still to be
// sent.
func (s *soak) report(question string) string {
	for _, text := range s.sentTexts() {
		if _, text, _ = strings.Cut(text, " "); strings.Contains(question, "(sends '"+text+"')") {
			return "skip"
		}
	}
	return "repaired"
}

// sentTexts returns the requests that came, without their keys and repetitions.
func (s *soak) sentTexts() (texts []string) {
	s.far.mu.Lock()
	defer s.far.mu.Unlock()
	for _, came := range s.far.came {
		texts = append(texts, came[0])
	}
	slices.Sort(texts)
	return texts
}

// left returns what processes have left behind: temporary files and locks.
func (s *soak) left() (found []string) {
	s.TB.Helper()
	for _, dir := range []string{s.disk, s.homeDisk} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.Contains(d.Name(), ".cassidy-tmp-") {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			s.TB.Fatal(err)
		}
		var stat unix.Stat_t
		locks, err := os.ReadFile("/proc/locks")
		if err = errors.Join(err, unix.Stat(dir, &stat)); err != nil {
			s.TB.Fatal(err)
		}
		device := fmt.Sprintf(" %02x:%02x:", unix.Major(stat.Dev), unix.Minor(stat.Dev))
		for line := range strings.Lines(string(locks)) {
			if strings.Contains(line, device) {
				found = append(found, "lock: "+line)
			}
		}
	}
	return found
}

// restore makes the environment as it was before the first run.
func (s *soak) restore(f *fault) {
	s.TB.Helper()
	if s.broken {
		f.repair(s)
		s.broken = false
	}
	s.writeTool()
	s.Want([]string{"trust", "--yes"}, 0, "", "")
	s.clear()
}

// begin returns the arguments of a new run: of the workflow, or of a task.
func (s *soak) begin(task bool, id string) []string {
	if !task {
		return []string{"run", "all", "--yes", "--run-id", id}
	}
	return []string{"task", "Do it all", "--model", "script:" + s.model, "--yes", "--run-id", id, "--max-iterations", "60",
		"--tools", "note,put,post,add,work,fill,look,once,late,report"}
}

// soakSize returns the numbers of the runs, and their seed.
func soakSize(t *testing.T) (runs []int, seed uint64) {
	few := 5
	if os.Getenv(faultsVariable)+os.Getenv(onlyVariable) != "" {
		few = len(soakFaults)
	}
	for i := range testutil.Times(len(soakFaults), 200) {
		runs = append(runs, i)
	}
	runs, seed = testutil.Sample(runs, few), 1
	if testutil.Soak() {
		seed = uint64(time.Now().UnixNano())
	}
	if text, ok := os.LookupEnv(seedVariable); ok {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	return runs, seed
}

// anyMoment returns when to strike a process, given a run that was not disturbed and how many
// requests it sent.
func anyMoment(r *rand.Rand, whole end, requests int) death {
	d := death{blow: blow{weapon: byWorker}}
	switch r.IntN(3) {
	case 0:
		d.effect = 1 + r.IntN(whole.effects)
	case 1:
		d.request, d.late = 1+r.IntN(requests), r.IntN(2) == 0
	default:
		d.instant = 1 + time.Duration(r.Int64N(int64(whole.took)))
	}
	return d
}

// TestSoak breaks something during each run, at a random moment, and kills the process that
// resumes half of them. The run ends, or is parked with a reason that names the repair. After
// the repair it ends as if nothing had happened.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	faults := slices.DeleteFunc(slices.Clone(soakFaults), func(f fault) bool {
		only := os.Getenv(faultsVariable)
		return only != "" && !slices.Contains(strings.Split(only, ","), f.name)
	})
	var whole [2]end
	var want [2]shown
	var files [2]map[string]string
	var sent [2][]string
	for i := range whole {
		id := fmt.Sprint("whole", i)
		whole[i] = s.process(death{}, s.begin(i == 1, id)...)
		if want[i] = s.show(id); whole[i].code != 0 || want[i].State != "done" {
			t.Fatalf("the run ended with %d:\n%s%s", whole[i].code, whole[i].stdout, whole[i].stderr)
		}
		files[i], sent[i] = s.files(), s.sentTexts()
		s.restore(&fault{})
	}
	runs, seed := soakSize(t)
	t.Logf("%d runs, %s=%d", len(runs), seedVariable, seed)
	began := time.Now()
	failed := map[string]int{}
	for _, i := range runs {
		if only, ok := os.LookupEnv(onlyVariable); ok && only != strconv.Itoa(i) {
			continue
		}
		f := &faults[i%len(faults)]
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		kind := r.IntN(3) / 2 // a task every third time
		id := fmt.Sprint("s", i)
		s.pick = r.IntN(1000)
		moment, kill := anyMoment(r, whole[kind], len(sent[kind])), death{}
		if r.IntN(2) == 0 {
			kill = anyMoment(r, whole[kind], len(sent[kind]))
		}
		name := fmt.Sprintf("%d %s, %v, then %v, task %t, pick %d", i, f.name, moment, kill, kind == 1, s.pick)
		ok := t.Run(name, func(t *testing.T) {
			s.TB, s.ordeal.TB = t, t
			run, done := s.survive(id, s.begin(kind == 1, id), f, moment, kill, r.IntN(2) == 0)
			if !done {
				return
			}
			if diff := cmp.Diff(files[kind], s.files()); diff != "" {
				t.Errorf("the files are not as those of a run that was not disturbed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want[kind].Result, run.Result); diff != "" && kind == 0 {
				t.Errorf("the result is not that of a run that was not disturbed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(sent[kind], s.sentTexts()); diff != "" {
				t.Errorf("the requests are not those of a run that was not disturbed (-want +got):\n%s", diff)
			}
			s.Want([]string{"runs", "replay", id}, 0, "The replay is exact", "")
			if found := s.left(); len(found) > 0 {
				t.Errorf("left behind: %q", found)
			}
		})
		s.TB, s.ordeal.TB = t, t
		if !ok {
			failed[f.name]++
		}
		s.restore(f)
	}
	t.Logf("%d runs took %v", len(runs), time.Since(began).Round(time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		t.Errorf("%s: %d runs failed", name, failed[name])
	}
}
