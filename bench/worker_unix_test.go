//go:build unix

package bench

import (
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestMain makes the benchmark its own worker, and the bare peer that it is compared
// with.
func TestMain(m *testing.M) {
	sandbox.Main(stdlib.Pure()...)
	if os.Args[0] == bareName {
		barePeer()
		return
	}
	os.Exit(testworker.Suite{M: m}.Run())
}

const bareName = "bare-worker"

// barePeer is the minimum for another process with a script: it reads a text, calls a
// function of a frozen module with it, and writes the result. Nothing is confined or
// checked.
func barePeer() {
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, &starlark.Thread{}, "greet.star",
		"def greet(name, times = 1):\n    return {\"text\": \"Hello \" * times + name}[\"text\"]\n", nil)
	if err != nil {
		panic(err)
	}
	globals.Freeze()
	buf := make([]byte, 4096)
	for {
		n, err := syscall.Read(0, buf)
		if n < 4 || err != nil {
			return
		}
		v, err := starlark.Call(&starlark.Thread{}, globals["greet"], starlark.Tuple{starlark.String(buf[4:n]), starlark.MakeInt(2)}, nil)
		if err != nil {
			panic(err)
		}
		text := string(v.(starlark.String))
		out := append(binary.LittleEndian.AppendUint32(buf[:0], uint32(len(text))), text...)
		if _, err := syscall.Write(1, out); err != nil {
			return
		}
	}
}

// bareSocket returns a round trip to a bare peer.
func bareSocket(b *testing.B) func() {
	b.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		b.Fatal(err)
	}
	syscall.CloseOnExec(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "peer")
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	process, err := os.StartProcess(self, []string{bareName}, &os.ProcAttr{Env: []string{"GOMAXPROCS=2"}, Files: []*os.File{theirs, theirs, os.Stderr}})
	if err != nil {
		b.Fatal(err)
	}
	theirs.Close()
	b.Cleanup(func() {
		syscall.Close(pair[0])
		if _, err := process.Wait(); err != nil {
			b.Error(err)
		}
	})
	request := append(binary.LittleEndian.AppendUint32(nil, 3), "Ada"...)
	buf := make([]byte, 4096)
	return func() {
		if _, err := syscall.Write(pair[0], request); err != nil {
			b.Fatal(err)
		}
		if n, err := syscall.Read(pair[0], buf); err != nil || n != 4+len("Hello Hello Ada") {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkWorkerCall is a call of a trivial tool in a hardened worker, with
// JSON in and out and everything checked, against a round trip over a socket
// to a process that calls a script and checks nothing. Both are on one processor: to wake up an
// idle one takes longer than the call.
func BenchmarkWorkerCall(b *testing.B) {
	oneProcessor(b)
	h := toolHost(b, cassidy.Process, "greet.star", greet)
	compare(b, 2.6, func() { callJSON(b, h, "greet") }, bareSocket(b))
}

// BenchmarkWorkerRead is the same with a read of 4 KB inside, which is one more round
// trip and disk access.
func BenchmarkWorkerRead(b *testing.B) {
	oneProcessor(b)
	dir := b.TempDir()
	writeTool(b, dir, "greet.star", `def greet(name: str, times: int = 1) -> dict[str, str]:
    """Greet somebody with a file."""
    return {"text": fs.read("4k.txt")[:times] + name}

tool(greet, needs = ["fs.read"])
`)
	if err := os.WriteFile(dir+"/4k.txt", []byte(strings.Repeat("x", 4096)), 0o644); err != nil {
		b.Fatal(err)
	}
	h := openHost(b, dir, cassidy.Process)
	compare(b, 5.7, func() { callJSON(b, h, "greet") }, bareSocket(b))
}

// BenchmarkWorkerCallLua is a call in Lua, in a worker, compared with bash.
func BenchmarkWorkerCallLua(b *testing.B) {
	h := toolHost(b, cassidy.Process, "greet.lua", luaGreet)
	compare(b, 0.1, func() { callJSON(b, h, "greet") }, func() {
		if err := exec.Command("bash", "-c", "echo Hello $0", "Ada").Run(); err != nil {
			b.Skip("no bash here:", err)
		}
	})
}

// BenchmarkWorkerPython is a call in a worker compared with a Python process for each
// call, as tool folders do today. The goal is 500 times faster.
func BenchmarkWorkerPython(b *testing.B) {
	if _, err := exec.LookPath("python3"); err != nil {
		b.Skip("no Python here:", err)
	}
	h := toolHost(b, cassidy.Process, "greet.star", greet)
	compare(b, 1.0/500, func() { callJSON(b, h, "greet") }, func() {
		if err := exec.Command("python3", "-c", "import json,sys; json.dumps({'text': 'Hello Ada'})").Run(); err != nil {
			b.Fatal(err)
		}
	})
}
