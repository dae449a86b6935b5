package testutil

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Build returns the program of a main package of this module, such as "cmd/cassidy", of a module in a folder of this one, or
// of a module that it requires, by its import path. It is built without cgo and without the race detector. The program is in the
// user's cache folder, and is linked again only if its sources have changed, so all tests of a run share it. A test
// must not change it.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	program, err := Program("", pkg)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Program is [Build] for code that has no test to fail. dir is a folder of this module; "" is the working
// directory.
func Program(dir, pkg string) (string, error) {
	root, err := moduleRoot(dir)
	if err != nil {
		return "", err
	}
	build, _ := built.LoadOrStore(root+"\x00"+pkg, sync.OnceValues(func() (string, error) { return build(root, pkg) }))
	return build.(func() (string, error))()
}

// built are the programs that this process has built. Its sources do not change meanwhile.
var built sync.Map

func build(root, pkg string) (string, error) {
	if err := noteSources(root); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	programs := filepath.Join(cache, "cassidy-test", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(programs, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	program := filepath.Join(programs, filepath.Base(pkg)+".exe")
	if first, _, _ := strings.Cut(pkg, "/"); !strings.Contains(first, ".") {
		pkg = "./" + pkg
	}
	module := root
	if own := filepath.Join(root, pkg); exists(filepath.Join(own, "go.mod")) {
		module, pkg = own, "."
	}
	cmd := exec.Command("go", "build", "-o", program, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PWD="+module)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return program, nil
}

// noteSources opens the folders of the module, so that go test uses no cached result of a test whose
// program has changed: it notes which folders of the module a test opens.
func noteSources(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		return err
	})
}

// moduleRoot returns the folder with the go.mod file, at or above dir or the working directory.
func moduleRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, "go.mod")) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a Go module: build programs before you change the working directory", dir)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// WriteProgram writes a program that this process then starts. Meanwhile it starts no other: each new process has the
// open files of this one until its own program begins, and a file that is open for writing cannot be started.
func WriteProgram(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
