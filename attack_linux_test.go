package cassidy_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// attacked opens a host over a project with one tool, f.star or f.lua.
func attacked(t *testing.T, file, source string) (dir string, h *host.Host) {
	t.Helper()
	dir = t.TempDir()
	putFile(t, filepath.Join(dir, ".cassidy", "tools", file), source)
	h, err := testhost.Open(t, testhost.On{}, dir, &cassidy.Options{TrustSource: true, Approver: host.ApproveAll()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, h
}

// workers are the processes that this one has started and that run scripts. A test that kills them cannot be
// parallel: they are those of all hosts.
func workers(t *testing.T) []int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) || !strings.HasPrefix(string(cmdline), "cassidy-worker") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// TestR43WorkerKilledInAWrite kills the worker of a call after each of its
// writes: what it staged must not be on disk, and the next call must be right.
func TestR43WorkerKilledInAWrite(t *testing.T) {
	for at := 1; at <= 4; at++ {
		dir, h := attacked(t, "f.star", `def f(at: int):
    """Write much."""
    for i in range(4):
        fs.write("out%d.txt" % i, "new" * 100000)
        log(str(i + 1))
        for j in range(1000000000 if i + 1 == at else 0):  # until it is killed
            pass

tool(f, needs = ["fs.write"], limits = {"steps": 4000000000})
`)
		putFile(t, filepath.Join(dir, "out0.txt"), "old")
		ctx, cancel := context.WithCancel(context.Background())
		events, heard := h.Subscribe(ctx, host.EventFilter{}), make(chan struct{})
		go func() {
			defer close(heard)
			for e := range events {
				if line, ok := e.Data.(tool.Log); ok && line.Message == strconv.Itoa(at) {
					for _, pid := range workers(t) {
						if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
							t.Error(err)
						}
					}
				}
			}
		}()
		_, err := h.Call(context.Background(), tool.Call{Tool: "f", Args: value.NewDict("at", at)})
		if err == nil || value.KindOf(err) != value.Unavailable {
			t.Errorf("killed after write %d: %v, want unavailable", at, err)
		}
		cancel()
		<-heard
		if got := readPage(t, filepath.Join(dir, "out0.txt")); got != "old" {
			t.Errorf("killed after write %d: out0.txt = %.10q, want old", at, got)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "out*")); len(left) != 1 {
			t.Errorf("killed after write %d: the folder holds %v, want out0.txt alone", at, left)
		}
		if _, err := h.Call(context.Background(), tool.Call{Tool: "f", Args: value.NewDict("at", 0)}); err != nil {
			t.Errorf("the next call: %v", err)
		}
		if got := readPage(t, filepath.Join(dir, "out3.txt")); len(got) != 300000 {
			t.Errorf("after the next call out3.txt has %d bytes, want 300000", len(got))
		}
	}
}

// TestI01NothingOfTheSystem checks that a Lua script finds nothing that reaches
// the system or reads code.
func TestI01NothingOfTheSystem(t *testing.T) {
	t.Parallel()
	const names = "os io debug package channel dofile loadfile load loadstring require module newproxy collectgarbage setfenv getfenv"
	_, h := attacked(t, "f.lua", `return tool{ description = "Look around.", handler = function()
  local found = {}
  for _, name in ipairs{"`+strings.ReplaceAll(names, " ", `", "`)+`"} do
    if _G[name] ~= nil then found[#found + 1] = name end
  end
  return found
end }
`)
	got, err := h.Call(context.Background(), tool.Call{Tool: "f"})
	if list, ok := value.Elements(got.Value); err != nil || !ok || len(list) != 0 {
		t.Errorf("it found %v, %v, want nothing", got.Value, err)
	}
}

// TestI03NothingIsKept checks that a script can change neither what its file
// made nor what it was given, and that the next call sees none of it.
func TestI03NothingIsKept(t *testing.T) {
	t.Parallel()
	_, h := attacked(t, "f.star", `STATE = {"n": 0}

def f(how: str, given: list = [1]) -> str:
    """Try to keep something."""
    if how == "global":
        STATE["n"] = 1
    if how == "default":
        given.append(2)
        STATE.update(given = given)
    return str(STATE) + str(given)

tool(f)
`)
	for _, how := range []string{"global", "default"} {
		if _, err := h.Call(context.Background(), tool.Call{Tool: "f", Args: value.NewDict("how", how)}); err == nil {
			t.Errorf("%s: the call succeeded, want an error", how)
		}
		got, err := h.Call(context.Background(), tool.Call{Tool: "f", Args: value.NewDict("how", "look")})
		if err != nil || got.Value != `{"n": 0}[1]` {
			t.Errorf("after %s: %v, %v, want nothing changed", how, got.Value, err)
		}
	}
}
