package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// putModel puts a text into the file that a message names.
const putModel = `def reply(messages, turn):
    last = messages[-1]["content"]
    if "put:" not in last.split("RESULT")[0].split("ERROR")[0]:
        return "It is done." if "RESULT" in last else "Refused."
    words = last.split("put:")[-1].split()[0].split("=")
    return '{"tool_decision": {"action": "write_file", "input": {"filepath": "' + words[0] + '", "content": "' + words[1] + '", "overwrite": true}, "status": "continue"}}'
`

// TestChatRule answers a question of a chat by a rule. It holds for the next call of the same chat, for
// this file alone, until another process removes it.
func TestChatRule(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	file := putChatFile(t, home, "config.yaml", "# mine\nallow:\n  - env # all\n")
	model := putChatFile(t, dir, "m.star", putModel)
	s := sit(t, dir, []string{"CASSIDY_HOME=" + home}, "--model", "script:"+model, "--tools", "write_file")
	s.atPrompt()
	s.types("put:a.txt=one\r")
	s.expect("r rule · ? help › ")
	s.types("r\n")
	s.expect("this would be added to your config, for this project only:")
	s.expect("write_file may write, change and remove the files a.txt without a question")
	s.expect("  - {tool: write_file, capability: \"fs.write:a.txt\"")
	s.expect("w write it and approve · N no › ")
	if text, _ := os.ReadFile(file); strings.Contains(string(text), "write_file") {
		t.Errorf("it was written without an answer:\n%s", text)
	}
	s.types("w\n")
	s.expect("written; to be asked again:\r\n")
	s.expect("cassidy trust --remove-rule")
	s.expect("It is done.")
	s.atPrompt()
	s.types("put:a.txt=two\r")
	s.expect("It is done.")
	s.atPrompt()
	s.types("put:b.txt=two\r")
	s.expect("r rule · ? help › ")
	s.types("n\n")
	s.expect("Refused.")
	s.atPrompt()
	rule := tool.Rule{Verdict: tool.Allow, Tool: "write_file", Capability: tool.Capability{Name: "fs.write", Target: "a.txt"}}
	change, err := config.RemoveRules(file, dir, []tool.Rule{rule})
	if err == nil {
		err = change.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.types("put:a.txt=three\r")
	s.expect("r rule · ? help › ")
	s.types("n\n")
	s.expect("Refused.")
	s.atPrompt()
	added, err := config.AddRules(file, dir, []tool.Rule{rule})
	if err == nil {
		err = added.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.types("put:a.txt=four\r")
	s.expect("It is done.")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(text) != "four" {
		t.Errorf("a.txt = %q, %v, want four", text, err)
	}
	if text, _ := os.ReadFile(file); !strings.HasPrefix(string(text), "# mine\nallow:\n  - {tool: write_file, ") || !strings.HasSuffix(string(text), "\n  - env # all\n") {
		t.Errorf("the config is:\n%s", text)
	}
}

// TestRunsAnswerRule answers the questions of a parked call by rules: first that it begins, then what it
// does.
func TestRunsAnswerRule(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	env := []string{"CASSIDY_HOME=" + home}
	putChatFile(t, home, "tools/list_folder.star", `def list_folder(at: str):
    """List a folder with a command."""
    return shell.run(["ls", at])["stdout"]

tool(list_folder, needs = ["shell"])
`)
	model := putChatFile(t, dir, "m.star", `def reply(messages, turn):
    if turn == 0:
        return '{"tool_decision": {"action": "list_folder", "input": {"at": "."}, "status": "continue"}}'
    return "TASK COMPLETE: done"
`)
	task := func(id string) *sitting {
		return sitAt(t, dir, env, "task", "List", "--model", "script:"+model, "--tools", "list_folder", "--run-id", id)
	}
	s := task("first")
	s.expect("r rule · ? help › ")
	s.types("\x04") // leaves it open
	s.expect("cassidy runs answer first")
	s.ends(6)

	s = sitAt(t, dir, env, "runs", "answer", "first", "--rule")
	s.expect("b begin · N not now › ")
	s.types("b\n")
	s.expect("cassidy runs resume first")
	s.ends(0)

	s = sitAt(t, dir, env, "runs", "resume", "first")
	s.expect("r rule · ? help › ")
	s.types("\x04")
	s.ends(6)

	s = sitAt(t, dir, env, "runs", "answer", "first", "--rule", "--resume")
	s.expect("list_folder may run the command ls without a question")
	s.expect("w write it and approve · N no › ")
	s.types("w\n")
	s.expect("done")
	s.ends(0)

	s = task("second") // by the rule
	s.expect("done")
	s.ends(0)
	if strings.Contains(s.shown(), "? help › ") {
		t.Errorf("it asks again:\n%s", s.shown())
	}
}

// TestRuleForACommandLine answers a question about a command that can do more than read by a rule for
// exactly this command line.
func TestRuleForACommandLine(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	env := []string{"CASSIDY_HOME=" + home}
	task := func(line string) *sitting {
		model := putChatFile(t, dir, "m.star", `def reply(messages, turn):
    if turn == 0:
        return '{"tool_decision": {"action": "run_command", "input": {"command": "`+line+`"}, "status": "continue"}}'
    return "TASK COMPLETE: " + ("refused" if "ERROR" in messages[-1]["content"] or "not approved" in messages[-1]["content"] else "done")
`)
		return sitAt(t, dir, env, "task", "Run", "--model", "script:"+model, "--tools", "run_command")
	}
	s := task("echo one; echo two")
	s.expect("r rule · ? help › ")
	s.types("r\n")
	s.expect("b begin · N not now › ")
	s.types("b\n")
	s.expect("does ")
	s.expect("r rule · ? help › ")
	s.types("r\n")
	s.expect("calls of run_command begin without a question; what they do can still ask")
	s.expect("run_command may run exactly this command line in the project folder")
	s.expect("w write it and approve · N no › ")
	s.types("w\n")
	s.expect("done")
	s.ends(0)

	s = task("echo one; echo two") // by the rule
	s.expect("done")
	s.ends(0)
	if strings.Contains(s.shown(), "? help › ") {
		t.Errorf("it asks again:\n%s", s.shown())
	}
	for _, line := range []string{"echo one; echo two; echo three", "echo one;  echo two", "sh -c true", "touch x"} {
		s = task(line)
		s.expect("does ")
		s.expect("? help › ")
		s.types("n\n")
		s.expect("refused")
		s.ends(0)
	}
}

// TestChatRulesForASecret answers, by one rule each and in one change, what a tool asks about a server and the
// secret that it sends there. The next call of the chat does not ask, and a task that asks can be answered later.
func TestChatRulesForASecret(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte("found"))
	}))
	t.Cleanup(server.Close)
	at := strings.TrimPrefix(server.URL, "http://")
	dir, home := t.TempDir(), t.TempDir()
	file := putChatFile(t, home, "config.yaml", "secrets: {KEY: {file: key}}\nhttp: {private: [\"127.0.0.0/8\"]}\ntrusted_sources: [\"http:"+at+"\"]\n")
	putChatFile(t, home, "key", "key-123456789\n")
	putChatFile(t, home, "tools/look_up.star", `def look_up(host: str):
    """Ask a server."""
    return http.get("http://" + host + "/", headers = {"Authorization": "Bearer " + secret("KEY")})["text"]

tool(look_up, needs = ["http.get", "secret:KEY@`+at+`"])
`)
	call := `'{"tool_decision": {"action": "look_up", "input": {"host": "` + at + `"}, "status": "continue"}}'`
	model := putChatFile(t, dir, "m.star", `def reply(messages, turn):
    last = messages[-1]["content"]
    return "It is done." if "RESULT" in last or "ERROR" in last else `+call+`
`)
	begins := func(s *sitting) {
		s.expect("r rule · ? help › ")
		s.types("r\n")
		s.expect("b begin · N not now › ")
		s.types("b\n")
	}
	agrees := func(s *sitting) {
		s.expect("look_up may request " + at + " and send data in the URL")
		s.expect("look_up may use the secret KEY@" + at + " without a question")
		s.expect("w write it and approve · N no › ")
		s.types("w\n")
	}
	s := sit(t, dir, []string{"CASSIDY_HOME=" + home}, "--model", "script:"+model, "--tools", "look_up")
	s.atPrompt()
	s.types("go\r")
	begins(s)
	s.expect("does ")
	s.expect("request " + at + " and send data in the URL")
	s.expect("use the secret KEY@" + at)
	s.expect("r rule · ? help › ")
	s.types("r\n")
	agrees(s)
	s.expect("It is done.")
	s.atPrompt()
	s.types("go\r")
	s.expect("It is done.")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
	text, _ := os.ReadFile(file)
	rules := `allow:
  - {tool: look_up, capability: "http.get:` + at + `", `
	if !strings.Contains(string(text), rules) || strings.Count(string(text), "tool: look_up") != 2 || !slices.Equal(got, []string{"Bearer key-123456789", "Bearer key-123456789"}) {
		t.Errorf("the config is:\n%s\nthe server got %q", text, got)
	}

	// Later, in the same words, once the rules are removed by the command that the answer has printed.
	env := []string{"CASSIDY_HOME=" + home}
	_, line, _ := strings.Cut(s.shown(), "to be asked again:\r\n    ")
	line, _, _ = strings.Cut(line, "\r\n")
	typed := exec.Command("sh", "-c", strings.Replace(line, "cassidy ", `"$0" --dir "$1" `, 1)+" --yes", s.cmd.Path, dir)
	typed.Env = append(os.Environ(), asCassidy+"=1", env[0])
	if out, err := typed.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	if text, _ := os.ReadFile(file); strings.Contains(string(text), "look_up") {
		t.Errorf("after %s the config is:\n%s", line, text)
	}
	s = sitAt(t, dir, env, "task", "Ask", "--model", "script:"+putChatFile(t, dir, "task.star", `def reply(messages, turn):
    return "TASK COMPLETE: done" if turn else `+call+`
`), "--tools", "look_up", "--run-id", "later")
	begins(s)
	s.expect("does ")
	s.expect("r rule · ? help › ")
	s.types("\x04")
	s.expect("cassidy runs answer later yes; to allow it from now on:")
	s.expect("cassidy runs answer later --rule")
	s.ends(6)
	s = sitAt(t, dir, env, "runs", "answer", "later", "--rule", "--resume")
	agrees(s)
	s.expect("done")
	s.ends(0)
	if len(got) != 3 {
		t.Errorf("the server got %q", got)
	}
}
