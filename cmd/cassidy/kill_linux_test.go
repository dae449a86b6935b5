package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// killsVariable says how many runs TestKill interrupts; not set, 3, and 200 under make soak.
const killsVariable = "CASSIDY_KILLS"

// weaponsVariable says how, as in "SIGTERM,worker"; not set, in every way.
const weaponsVariable = "CASSIDY_KILLS_BY"

// killWeapons are those with which TestKill strikes.
func killWeapons() (all []weapon) {
	text := os.Getenv(weaponsVariable)
	for w := range weapons {
		if text == "" || slices.Contains(strings.Split(text, ","), w.String()) {
			all = append(all, w)
		}
	}
	return all
}

// killTools are tools with effects of every kind. Of those that send or run
// something, only send says that it may be repeated.
var killTools = map[string]string{
	"note": `def note(file: str, line: str):
    "Add a line to a file."
    fs.append(file, line + "\n")
tool(note, needs = ["fs.write:*.txt"])`,
	"put": `def put(path: str, content: str):
    "Write a file."
    fs.write(path, content)
tool(put, needs = ["fs.write"])`,
	"swap": `def swap(path: str, old: str, new: str) -> str:
    "Replace a text."
    return fs.edit(path, old, new)["diff"]
tool(swap, needs = ["fs.read", "fs.write"])`,
	"rename": `def rename(old: str, new: str):
    "Move a file or folder."
    fs.move(old, new)
tool(rename, needs = ["fs.read", "fs.write"])`,
	"drop": `def drop(path: str):
    "Remove a file or folder."
    fs.remove(path, recursive = True)
tool(drop, needs = ["fs.write"])`,
	"several": `def several(line: str):
    "Change many files at once."
    for i in range(12):
        fs.append("many/%d.txt" % i, line + "\n")
tool(several, needs = ["fs.write:many/**"])`,
	"twice": `def twice(file: str, line: str) -> str:
    "Add three lines, one of them with another tool."
    fs.append(file, line + " 1\n")
    tools.note(file = file, line = line + " 2")
    fs.append(file, line + " 3\n")
    return fs.read(file)
tool(twice, needs = ["fs.read", "fs.write:*.txt", "tool:note"])`,
	"mark": `def mark() -> str:
    "Keep an identifier that nobody else has."
    fs.write("mark", uuid())
    return fs.read("mark")
tool(mark, needs = ["fs.read", "fs.write:mark"])`,
	"breaks": `def breaks():
    "Write, and fail."
    fs.write("never", "x")
    fail("as it should")
tool(breaks, needs = ["fs.write:never"])`,
	"send": `def send(text: str) -> str:
    "Send a text, which may be sent again."
    fs.append("sent.txt", text + "\n")
    return http.post("http://SERVER/once", body = text)["text"]
tool(send, needs = ["http.post:SERVER", "fs.write:sent.txt"], hints = {"idempotent": True})`,
	"tell": `def tell(text: str):
    "Send a text that nobody may send twice."
    attempt(http.post, "http://SERVER/each", body = text)
tool(tell, needs = ["http.post:SERVER"])`,
	"say": `def say(line: str):
    "Have a command add a line."
    attempt(shell.run, ["sh", "-c", "echo '%s' >> said/log.txt" % line])
tool(say, needs = ["shell:sh", "fs.write"])`,
	"sum": `def sum() -> dict[str, str]:
    "Give a fingerprint of each file."
    return {p: hash.sha256(fs.read(p)) for p in fs.glob("**/*.txt")}
tool(sum, needs = ["fs.read"])`,
}

// killFlow has twenty steps.
const killFlow = `def main():
    tools.note(file = "log.txt", line = "begins")
    token = uuid()
    tools.put(path = "token", content = token)
    tools.put(path = "a/poem.txt", content = "one\ntwo\nthree\n")
    diff = tools.swap(path = "a/poem.txt", old = "two", new = "2")
    together = tools.call_all([
        ("note", {"file": "p1.txt", "line": "one of many"}),
        ("note", {"file": "p2.txt", "line": "one of many"}),
        ("twice", {"file": "p3.txt", "line": "one of many"}),
        ("breaks", {}),
        ("tell", {"text": "at once"}),
    ])
    read = tools.twice(file = "log.txt", line = "twice")
    first = tools.send(text = "first")
    tools.tell(text = "once and never again")
    tools.say(line = "aloud")
    mark = tools.mark()
    failed = attempt(tools.breaks)["error"]
    tools.several(line = "before")
    tools.rename(old = "a", new = "deep/er/b")
    tools.several(line = "after")
    tools.drop(path = "many/7.txt")
    tools.say(line = "louder")
    second = tools.send(text = "second")
    tools.note(file = "log.txt", line = "ends")
    sums = tools.sum()
    return {"token": token, "mark": mark, "diff": diff, "together": together, "read": read, "sent": [first, second],
            "failed": failed, "sums": sums}
`

// An ordeal is a project in which a workflow is run by processes that are
// killed, and a server to which it sends.
type ordeal struct {
	*flowProject
	far    *farServer
	before []int        // processes that are nobody's affair here
	struck [weapons]int // how many were, with each weapon
	broke  [weapons]int // how many of them then ended before their run did
}

func newOrdeal(t *testing.T) *ordeal {
	t.Helper()
	o := newOrdealIn(t, t.TempDir(), t.TempDir(), killTools, killFlow)
	o.clear()
	return o
}

// newOrdealIn makes an ordeal of these tools and a workflow called all, in these folders. Its test cannot be
// parallel: each child of this process that is not known yet counts as an orphan.
func newOrdealIn(t *testing.T, dir, home string, tools map[string]string, flow string) *ordeal {
	t.Helper()
	if !launch.Confined() {
		t.Skip("THIS MACHINE CANNOT CONFINE COMMANDS")
	}
	// What outlives its parent is the test's own child then.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	if signal.Ignored(unix.SIGHUP) { // as under nohup: what it starts would ignore it too
		hangUps := make(chan os.Signal, 1)
		signal.Notify(hangUps, unix.SIGHUP)
		t.Cleanup(func() { signal.Ignore(unix.SIGHUP) })
	}
	o := &ordeal{far: newFarServer(t), before: childrenOf(os.Getpid())}
	o.flowProject = &flowProject{&apptest.Project{TB: t, Dir: dir, Home: home, Commands: command.Commands()}}
	o.Write(".cassidy/workflows/all.star", flow)
	for name, text := range tools {
		o.Write(".cassidy/tools/"+name+".star", strings.ReplaceAll(text, "SERVER", o.far.address())+"\n")
	}
	o.Want([]string{"trust", "--yes"}, 0, "", "")
	o.configure("")
	return o
}

// configure writes the config of the user, with these rules.
func (o *ordeal) configure(rules string) {
	o.TB.Helper()
	config := "http: {private: [\"127.0.0.1\"]}\ncommands:\n  sh: {exec: any}\n" + rules
	if err := os.WriteFile(filepath.Join(o.Home, "config.yaml"), []byte(config), 0o600); err != nil {
		o.TB.Error(err)
	}
}

// clear leaves nothing in the project but the tools, and what the workflow
// begins with.
func (o *ordeal) clear() {
	o.TB.Helper()
	entries, err := os.ReadDir(o.Dir)
	for _, e := range entries {
		if err == nil && e.Name() != ".cassidy" {
			err = os.RemoveAll(filepath.Join(o.Dir, e.Name()))
		}
	}
	if err != nil {
		o.TB.Fatal(err)
	}
	o.far.forget()
	o.Write("said/log.txt", "") // a command makes no new names at the top
}

// files returns what is in the project, by path; folders are empty.
func (o *ordeal) files() map[string]string {
	o.TB.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(o.Dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".cassidy":
			return fs.SkipDir
		case d.IsDir():
			all[path+"/"] = ""
			return nil
		}
		text, err := os.ReadFile(filepath.Join(o.Dir, path))
		all[path] = string(text)
		return err
	})
	if err != nil {
		o.TB.Fatal(err)
	}
	return all
}

// A death is when a process is struck, and how. The zero value lets it live.
type death struct {
	blow
	inject  func(p *os.Process) bool // what is done to it in place of the blow, or nil
	line    int                      // right before it writes this line
	effect  int                      // when this effect has been read of
	request int                      // when this request has come
	late    bool                     // and has been carried out
	instant time.Duration            // after it was started
}

func (d death) String() string {
	how := fmt.Sprintf("by %v %d ", d.weapon, d.pick)
	switch {
	case d.line > 0:
		return how + "at line " + strconv.Itoa(d.line)
	case d.effect > 0:
		return how + "after effect " + strconv.Itoa(d.effect)
	case d.request > 0:
		return fmt.Sprintf("%sat request %d (carried out: %t)", how, d.request, d.late)
	case d.instant > 0:
		return how + "after " + d.instant.String()
	}
	return "never"
}

// An end is what became of a process.
type end struct {
	stdout, stderr string
	code           int  // -1 where it was killed
	struck         bool // by what was to end it, or a worker of it
	late           bool // it did not end when it was asked to
	lines, effects int
	took           time.Duration
}

// open reports whether a process that was struck has ended before its run.
func (e end) open(w weapon) bool {
	switch {
	case e.code == -1: // also by a signal that came before it could be caught
		return w != byWorker
	case !e.struck || e.late:
		return false
	case w == byWorker:
		return e.code == ui.ExitCode(value.Unavailable)
	}
	return w != bySIGKILL && e.code > 0
}

// command is a process of the command that is yet to be started.
func (p *flowProject) command(args ...string) *exec.Cmd {
	p.TB.Helper()
	exe, err := os.Executable()
	if err != nil {
		p.TB.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"--json", "--dir", p.Dir}, args...)...)
	cmd.Env = append(os.Environ(), asCassidy+"=1", "CASSIDY_HOME="+p.Home, "CASSIDY_WORKER="+testworker.Exec())
	return cmd
}

// process runs the command until it ends or is killed, and nothing of it is
// left: only the process itself is struck, or one worker, and what it has
// started has to see to its own end.
func (o *ordeal) process(d death, args ...string) end {
	o.TB.Helper()
	began := time.Now()
	cmd := o.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if d.line > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d %d %d", asMortal, d.line, d.weapon, d.pick))
	}
	var said, stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		o.TB.Fatal(err)
	}
	v := &victim{process: cmd.Process, blow: d.blow, inject: d.inject}
	o.far.strike(d.request, d.late, d.weapon, v.strike)
	if d.instant > 0 {
		defer time.AfterFunc(d.instant, v.strike).Stop()
	}
	e := end{}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e.lines++
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), `{"type":"effect"`) {
			if e.effects++; e.effects == d.effect {
				v.strike()
			}
		}
	}
	_ = cmd.Wait() // the exit code says it
	e.stdout, e.stderr, e.code, e.took = said.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(began)
	e.struck, e.late = v.ended()
	e.struck = e.struck || strings.Contains(e.stderr, wasStruck) || d.line > 0 && d.weapon == bySIGKILL && e.code == -1
	if e.late = e.late || strings.Contains(e.stderr, doesNotEnd); e.late {
		o.TB.Errorf("cassidy %s, struck %v, did not end within %v:\n%s", strings.Join(args, " "), d, endTime, e.stdout)
	}
	if e.struck && d.inject == nil {
		o.struck[d.weapon]++
		if e.code != 0 {
			o.broke[d.weapon]++
		}
	}
	o.orphans()
	o.far.quiet(o.TB)
	return e
}

// A victim is a process that is struck once. One that is asked to end, and does
// not, is killed.
type victim struct {
	process *os.Process
	blow    blow
	inject  func(p *os.Process) bool // in place of the blow, or nil
	mu      sync.Mutex
	struck  bool
	late    bool
	over    bool
	timer   *time.Timer
}

func (v *victim) strike() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over || v.struck {
		return
	}
	if v.inject != nil {
		v.struck = v.inject(v.process)
		return
	}
	v.struck = v.blow.strike(v.process)
	if v.struck && v.blow.weapon != byWorker {
		v.timer = time.AfterFunc(endTime, v.end)
	}
}

func (v *victim) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.late = !v.over; v.late {
		_ = v.process.Kill()
	}
}

// ended is called when the process has ended.
func (v *victim) ended() (struck, late bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over = true; v.timer != nil {
		v.timer.Stop()
	}
	return v.struck, v.late
}

// orphans waits until what a process has started is gone.
func (o *ordeal) orphans() {
	o.TB.Helper()
	for {
		found := slices.DeleteFunc(childrenOf(os.Getpid()), func(pid int) bool { return slices.Contains(o.before, pid) })
		if len(found) == 0 {
			return
		}
		for _, pid := range found {
			late := time.AfterFunc(2*time.Minute, func() {
				o.TB.Errorf("the process %d outlives the one that started it", pid)
				_ = unix.Kill(pid, unix.SIGKILL)
			})
			_, err := unix.Wait4(pid, nil, 0, nil)
			for err == unix.EINTR {
				_, err = unix.Wait4(pid, nil, 0, nil)
			}
			late.Stop()
		}
	}
}

// A trace is what a run leaves behind: its result, the files, and what the
// server was sent, by place.
type trace struct {
	Result any
	Files  map[string]string
	Sent   map[string]string
}

// trace looks at a run that ended like this. What is new in each run it checks
// and leaves out.
func (o *ordeal) trace(id string, e end) trace {
	o.TB.Helper()
	last := strings.TrimSuffix(e.stdout, "\n")
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if e.code != 0 { // it was killed when it had recorded its end, and not yet told it
		last, _, _ = o.Run("--json", "runs", "show", id)
	}
	var told struct{ Result map[string]any }
	if err := json.Unmarshal([]byte(last), &told); err != nil || told.Result == nil {
		o.TB.Fatalf("no result in %q: %v", last, err)
	}
	tr := trace{Result: told.Result, Files: o.files(), Sent: o.far.sent(o.TB)}
	for _, name := range []string{"token", "mark"} {
		if text, ok := told.Result[name].(string); len(text) != 36 || !ok || text != tr.Files[name] {
			o.TB.Errorf("%s: the result has %q, the file %q", name, told.Result[name], tr.Files[name])
		}
		delete(tr.Files, name)
		delete(told.Result, name)
	}
	return tr
}

// endure resumes a run after each of these deaths until it ends, and returns the end of
// the last process.
func (o *ordeal) endure(id string, deaths []death) end {
	o.TB.Helper()
	args := []string{"run", "all", "--yes", "--run-id", id}
	for range 100 {
		d := death{}
		if len(deaths) > 0 {
			d, deaths = deaths[0], deaths[1:]
		}
		e := o.process(d, args...)
		switch {
		case e.code == 0, strings.Contains(e.stderr, "has ended: done"):
			return e
		case strings.Contains(e.stderr, "there is no run"): // it was killed too early
			args = []string{"run", "all", "--yes", "--run-id", id}
			continue
		case e.code == 6:
			o.answer(id)
		case !e.open(d.weapon), strings.Contains(e.stderr, "has ended"):
			o.TB.Fatalf("cassidy %s, to be struck %v, ended with %d:\n%s%s", strings.Join(args, " "), d, e.code, e.stdout, e.stderr)
		}
		args = []string{"runs", "resume", id, "--yes"}
	}
	o.TB.Fatal("the run does not end")
	return end{}
}

// answer answers whether something is to be done again: as it was done, or not.
func (o *ordeal) answer(id string) {
	o.TB.Helper()
	stdout, _, _ := o.Run("--json", "runs", "show", id)
	var shown struct {
		Waits struct{ Place, Question string }
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil {
		o.TB.Fatal(err)
	}
	said := o.files()["said/log.txt"]
	done := false
	place := shown.Waits.Place // the question is inside of what it is about, and deeper each time
	for strings.HasSuffix(place, ".0") {
		place = strings.TrimSuffix(place, ".0")
	}
	switch q := shown.Waits.Question; {
	case strings.Contains(q, "http.post("):
		done = o.far.sent(o.TB)[place] != ""
	case strings.Contains(q, "aloud"):
		done = strings.Contains(said, "aloud\n")
	case strings.Contains(q, "louder"):
		done = strings.Contains(said, "louder\n")
	default:
		o.TB.Fatalf("the run %s waits for an answer to %q", id, q)
	}
	word := "yes"
	if done {
		word = "no"
	}
	o.Want([]string{"runs", "answer", id, word}, 0, "answered "+word, "cassidy runs resume "+id)
}

// deaths returns how the i-th of n runs is struck, given a complete run: every other one at
// a line, from the first to the last, and the rest at random. Half of those that continue
// are struck again, and so on.
func deaths(r *rand.Rand, i, n int, whole end, requests int) []death {
	first := death{blow: anyBlow(r), line: 1 + i*whole.lines/n}
	if i%2 == 1 {
		first = anyDeath(r, whole, requests)
	}
	all := []death{first}
	for len(all) < 4 && r.IntN(2) == 0 {
		all = append(all, anyDeath(r, whole, requests))
	}
	return all
}

func anyBlow(r *rand.Rand) blow {
	all := killWeapons()
	return blow{all[r.IntN(len(all))], r.IntN(1000)}
}

func anyDeath(r *rand.Rand, whole end, requests int) death {
	d := death{blow: anyBlow(r)}
	switch r.IntN(4) {
	case 0:
		d.line = 1 + r.IntN(whole.lines)
	case 1:
		d.effect = 1 + r.IntN(whole.effects)
	case 2:
		d.request, d.late = 1+r.IntN(requests), r.IntN(2) == 0
	default:
		d.instant = 1 + time.Duration(r.Int64N(int64(whole.took)))
	}
	return d
}

// TestKill ends the processes of a run of twenty steps, or their workers, each
// time somewhere else, until one gets to the end. Then the result, the files and
// what was sent are as if nothing had happened.
func TestKill(t *testing.T) {
	loops := testutil.Times(3, 200)
	if text, ok := os.LookupEnv(killsVariable); ok {
		var err error
		if loops, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", killsVariable, err)
		}
	}
	o := newOrdeal(t)
	whole := o.process(death{}, "run", "all", "--yes", "--run-id", "whole")
	if whole.code != 0 {
		t.Fatalf("the run ended with %d:\n%s%s", whole.code, whole.stdout, whole.stderr)
	}
	want := o.trace("whole", whole)
	if len(want.Sent) != 4 || want.Files["said/log.txt"] != "aloud\nlouder\n" {
		t.Fatalf("the run did not do what it should:\n%s", whole.stdout)
	}
	r := rand.New(rand.NewPCG(1, uint64(loops)))
	began := time.Now()
	for i := range loops {
		o.clear()
		id := fmt.Sprint("k", i)
		plan := deaths(r, i, loops, whole, len(want.Sent))
		last := o.endure(id, plan)
		if diff := cmp.Diff(want, o.trace(id, last)); diff != "" {
			t.Errorf("run %d, struck %v, is not as the whole one (-want +got):\n%s", i, plan, diff)
		}
		if t.Failed() {
			shown, _, _ := o.Run("runs", "show", id)
			t.Fatalf("run %d, struck %v:\n%s", i, plan, shown)
		}
	}
	t.Logf("%d runs of %d lines and %d effects took %v", loops, whole.lines, whole.effects, time.Since(began).Round(time.Millisecond))
	for _, w := range killWeapons() {
		t.Logf("%v: %d times, and %d times the process ended before its run", w, o.struck[w], o.broke[w])
		if loops >= 200 && o.struck[w] < 30 {
			t.Errorf("%v happened %d times, want at least 30", w, o.struck[w])
		}
	}
}

// TestResumeTwice resumes a run in two processes.
func TestResumeTwice(t *testing.T) {
	o := newOrdeal(t)
	if e := o.process(death{request: 2, late: true}, "run", "all", "--yes", "--run-id", "k"); e.code != -1 {
		t.Fatalf("the run ended with %d:\n%s", e.code, e.stderr)
	}
	var said []byte
	var err error
	o.far.hold(func() { // while the first waits for an answer to its request
		said, err = o.command("runs", "resume", "k", "--yes").CombinedOutput()
	})
	e := o.process(death{}, "runs", "resume", "k", "--yes")
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 1 ||
		!strings.Contains(string(said), "another process is executing run 'k'\ncassidy: hint: wait until the run ends or is parked") {
		t.Errorf("the second process ended with %v:\n%s", err, said)
	}
	if e.code != 0 {
		t.Errorf("the first process ended with %d:\n%s", e.code, e.stderr)
	}
}
