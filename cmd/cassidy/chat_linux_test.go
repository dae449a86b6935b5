package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// A sitting is a person at a terminal on which cassidy chat runs.
type sitting struct {
	t       *testing.T
	person  *os.File
	program *os.File // stays open, so that the terminal outlives the session
	before  unix.Termios
	cmd     *exec.Cmd
	home    string

	mu   sync.Mutex
	text strings.Builder
	news *sync.Cond
	seen int // how much of the text was expected already
}

// sit starts a session in a folder.
func sit(t *testing.T, dir string, env []string, args ...string) *sitting {
	t.Helper()
	return sitAt(t, dir, env, append([]string{"chat"}, args...)...)
}

// sitAt starts a command in a folder, on a terminal.
func sitAt(t *testing.T, dir string, env []string, args ...string) *sitting {
	t.Helper()
	person, program := ptytest.Open(t)
	if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &sitting{t: t, person: person, program: program, before: *before, home: filepath.Join(dir, "home")}
	s.news = sync.NewCond(&s.mu)
	s.cmd = exec.Command(exe, append([]string{"--dir", dir}, args...)...)
	s.cmd.Env = append(os.Environ(), asCassidy+"=1", "TERM=xterm", "CASSIDY_HOME="+s.home, "CASSIDY_WORKER="+testworker.Exec())
	s.cmd.Env = append(s.cmd.Env, env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = program, program, program
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.watch()
	return s
}

func (s *sitting) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := s.person.Read(buf)
		s.mu.Lock()
		s.text.Write(buf[:n])
		s.news.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until something new is shown. Its spaces may be the ends of lines.
func (s *sitting) expect(want string) {
	s.t.Helper()
	late := false
	pattern := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(want), " ", `(?: |\r\n +|\r\n\S*│\S* )`))
	s.mu.Lock()
	defer s.mu.Unlock()
	defer time.AfterFunc(2*time.Minute, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.news.Broadcast()
	}).Stop()
	for {
		if at := pattern.FindStringIndex(s.text.String()[s.seen:]); at != nil {
			s.seen += at[1]
			return
		}
		if late {
			_ = s.cmd.Process.Kill()
			s.t.Fatalf("it does not show %q after:\n%s\nbut:\n%q", want, s.text.String()[:s.seen], s.text.String()[s.seen:])
		}
		s.news.Wait()
	}
}

// shown is all that was shown.
func (s *sitting) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// left is what is on the terminal: what was erased is not.
func (s *sitting) left() string { return leftOf(s.shown()) }

// leftOf returns what is left on a terminal of what a program wrote.
func leftOf(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = line[strings.LastIndex(line, "\r")+1:]
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b[K", "")
}

// atPrompt waits until a message can be typed.
func (s *sitting) atPrompt() { s.t.Helper(); s.expect("\x1b[?2004h> ") }

func (s *sitting) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.person, keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end of the session, and checks that the mode of the terminal is
// restored.
func (s *sitting) ends(code int) {
	s.t.Helper()
	late := time.AfterFunc(2*time.Minute, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait() // the exit code says it
	late.Stop()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code = %d, want %d; it showed:\n%s", got, code, s.shown())
	}
	after, err := unix.IoctlGetTermios(int(s.program.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(s.before, *after); diff != "" {
		s.t.Errorf("the terminal is not as it was (-before +after):\n%s", diff)
	}
}

// talkingServer is a fake of OpenAI's server. It streams an answer to each message, an
// unfinished one to "be silent", and an error to "refuse".
func talkingServer(t *testing.T) (env []string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var messages []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		last := body.Messages[len(body.Messages)-1].Content
		mu.Lock()
		messages = append(messages, last)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(text, stop string) {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":%s}]}\n\n", text, stop)
			w.(http.Flusher).Flush()
		}
		if last == "refuse" {
			http.Error(w, `{"error": {"message": "no such thing"}}`, http.StatusBadRequest)
			return
		}
		if last == "be silent" {
			say("I begin", "null")
			<-r.Context().Done()
			return
		}
		say("You said ", "null")
		say(fmt.Sprintf("%d: ", len(body.Messages)), "null")
		say(last+".", `"stop"`)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	env = []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=" + server.URL}
	return env, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return messages
	}
}

func TestChatSession(t *testing.T) {
	t.Parallel()
	env, _ := talkingServer(t)
	s := sit(t, t.TempDir(), env, "--model", "openai:small")
	s.expect("openai:small, no tools; /help lists the commands")
	s.atPrompt()
	s.types("hello\r")
	s.expect("You said 1: hello.\r\n")
	s.atPrompt()
	s.types("/tols\r")
	s.expect(`there is no command /tols; did you mean "/tools"?`)
	s.atPrompt()
	s.types("/tools\r")
	s.expect("the model has no tools; to offer all: /tools auto")
	s.atPrompt()
	s.types("/tools read_file\r")
	s.expect("the next message offers 1 tool to the model")
	s.atPrompt()
	s.types("/tools\r")
	s.expect("read_file  ")
	s.atPrompt()
	s.types("/tools none\r")
	s.atPrompt()

	// Ctrl-C stops the turn. The session continues.
	s.types("be silent\r")
	s.expect("I begin")
	s.types("\x03")
	s.expect("stopped the answer; the message was removed from the conversation")
	s.atPrompt()
	s.types("//slash\r")
	s.expect("You said 3: /slash.\r\n")
	s.atPrompt()
	s.types("/context\r")
	s.expect("in 4 messages; tokens of the tools: 0")
	s.atPrompt()
	s.types("refuse\r")
	s.expect("refuse\r\n")
	s.expect("✗\x1b[0m openai:small: ")
	s.expect("no such thing")
	s.atPrompt()
	s.types("/compact\r")
	s.expect("compacted a short conversation from ")
	s.atPrompt()
	s.types("/clear\r")
	s.expect("began a new conversation")
	s.atPrompt()
	s.types("again\r")
	s.expect("You said 1: again.")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)

	info, err := os.Stat(filepath.Join(s.home, "state", "chat_history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history has the mode %v (%v), want 0600", info.Mode(), err)
	}
}

// TestChatKeys types with the keys of a terminal. The server reports the messages.
func TestChatKeys(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, keys, want string }{
		{"backspace", "helloo\x7f\r", "hello"},
		{"left and right", "hllo\x1b[D\x1b[D\x1b[De\x1b[C\x1b[C\x1b[C!\r", "hello!"},
		{"home and end", "ello\x01h\x05!\x1b[H\"\x1b[F\"\r", `"hello!"`},
		{"words", "one two three\x1b[1;5D\x1b[1;5D\x17x \r", "x two three"},
		{"kill", "one two\x1bb\x0b\x15three\r", "three"},
		{"delete", "ab\x01\x1b[3~\x04c\r", "c"},
		{"wide", "日本\x1b[D語\r", "日語本"},
		{"history", "\x1b[A\x1b[A\x1b[B!\r", "日語本!"},
		{"back from history", "new\x1b[A\x1b[B er\r", "new er"},
		{"continued", "one\\\rtwo\r", "one\ntwo"},
		{"pasted", "\x1b[200~one\rtwo\ttabs\x1b[201~ three\r", "one\ntwo\ttabs three"},
		{"pasted after a word", "see \x1b[200~one\rtwo\x1b[201~\r", "see one\ntwo"},
		{"pasted controls", "\x1b[200~a\x1b[2J\x15\u009bb\u202e\xff\ufffd\x1b\x1b[201~c\r", "a[2Jbc"},
		{"pasted and long", "\x1b[200~" + strings.Repeat("0123456789", 600) + "\x1b[201~\r", strings.Repeat("0123456789", 600)},
		{"pasted again", "\x1b[A\x1b[A\x1b[A!\r", "see one\ntwo!"},
		{"unknown keys", "a\x1b[15~\x1bxb\x1bOP\x00\u009bc\ufffd\xff\r", "abc"},
		{"other keys for home and end", "b\x1b[1~a\x1b[4~c\x1bOHx\x1bOFy\x1b[7~1\x1b[8~2\r", "1xabcy2"},
		{"Ctrl-C clears", "wrong\x03right\r", "right"},
		{"longer than the terminal", strings.Repeat("abcdefghi ", 20) + "\x01x\r", "x" + strings.TrimSpace(strings.Repeat("abcdefghi ", 20))},
	}
	env, asked := talkingServer(t)
	s := sit(t, t.TempDir(), env, "--model", "openai:small")
	for i, tt := range tests {
		s.atPrompt()
		s.types(tt.keys)
		s.expect("You said ")
		s.expect(".\r\n")
		if got := asked(); len(got) != i+1 || got[i] != tt.want {
			t.Errorf("%s: the model was asked %q, want %q at the end", tt.name, got, tt.want)
		}
	}
	if shown := s.shown(); strings.Contains(shown, "\x1b[2J") || strings.ContainsAny(shown, "\u009b\u202e") {
		t.Errorf("the terminal got control characters:\n%q", shown)
	}
	s.atPrompt()
	s.types("0123456789 0123456789")
	s.expect("0123456789 0123456789")
	if err := unix.IoctlSetWinsize(int(s.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 20}); err != nil {
		t.Fatal(err)
	}
	s.types("!") // is shown with the line at its new width
	s.expect("> 0123456789 0123456\r\n789!")
	s.types("\x03")
	s.atPrompt()
	s.types("\x04")
	s.ends(0)
}

func TestChatEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  string
		do   func(s *sitting)
		exit int
	}{
		{"Ctrl-C twice", "", func(s *sitting) {
			s.types("\x03")
			s.expect("press Ctrl-C again to end the session")
			s.atPrompt()
			s.types("\x03")
		}, 0},
		{"terminated at the prompt", "", func(s *sitting) { _ = s.cmd.Process.Signal(unix.SIGTERM) }, 130},
		{"interrupted from outside at the prompt", "", func(s *sitting) {
			_ = s.cmd.Process.Signal(os.Interrupt)
			s.expect("press Ctrl-C again to end the session")
			s.atPrompt()
			s.types("/exit\r")
		}, 0},
		{"terminated in a turn", "", func(s *sitting) {
			s.types("be silent\r")
			s.expect("I begin")
			_ = s.cmd.Process.Signal(unix.SIGTERM)
		}, 130},
		{"hung up", "", func(s *sitting) { _ = s.cmd.Process.Signal(unix.SIGHUP) }, 130},
		{"without colour", "NO_COLOR=1", func(s *sitting) { s.types("/quit\r") }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, _ := talkingServer(t)
			s := sit(t, t.TempDir(), append(env, tt.env), "--model", "openai:small")
			s.atPrompt()
			tt.do(s)
			s.ends(tt.exit)
		})
	}
}

// TestChatDumb runs a session on a terminal without escape sequences.
func TestChatDumb(t *testing.T) {
	t.Parallel()
	env, asked := talkingServer(t)
	s := sit(t, t.TempDir(), append(env, "TERM=dumb"), "--model", "openai:small")
	s.expect("\r\n> ")
	s.types("half\x03")
	s.expect("press Ctrl-C again to end the session")
	s.expect("\r\n> ")
	s.types("one\\\n")
	s.expect("... ")
	s.types("two\n")
	s.expect("You said 1: one two.\r\n> ")
	s.types("be silent\n")
	for len(asked()) < 2 { // what has no end is not shown on such a terminal
		time.Sleep(time.Millisecond)
	}
	s.types("\x03")
	s.expect("stopped")
	s.expect("> ")
	s.types("/quit\n")
	s.ends(0)
	if diff := cmp.Diff([]string{"one\ntwo", "be silent"}, asked()); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
	if shown := s.shown(); strings.Contains(shown, "\x1b") {
		t.Errorf("a terminal without escape sequences got %q", shown)
	}
}

// TestChatMessage shows the answer to one message on a terminal as it arrives.
func TestChatMessage(t *testing.T) {
	t.Parallel()
	env, _ := talkingServer(t)
	s := sit(t, t.TempDir(), append(env, "NO_COLOR=1"), "hello", "--model", "openai:small")
	s.ends(0)
	s.expect("You said 1: hello.\r\n")
	if got, want := s.left(), "You said 1: hello.\n"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}

	s = sit(t, t.TempDir(), env, "be silent", "--model", "openai:small")
	s.expect("I begin")
	s.types("\x03")
	s.ends(130)
	s.expect(" was cancelled\r\n")
	s.expect("to undo the run: cassidy runs undo ")
}

// TestChatIncomplete checks that a turn that ends with a call does not show the call as an
// answer.
func TestChatIncomplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const model = `def reply(messages, turn):
    return 'I look.\n{"tool_decision": {"action": "list_files", "input": {}, "reasoning": "", "status": "continue"}}'
`
	if err := os.WriteFile(filepath.Join(dir, "m.star"), []byte(model), 0o644); err != nil {
		t.Fatal(err)
	}
	s := sit(t, dir, []string{"NO_COLOR=1"}, "hello", "--model", "script:"+filepath.Join(dir, "m.star"), "--tools", "list_files", "--max-iterations", "1")
	s.ends(4)
	s.expect("I look.\r\n")
	s.expect("\r\n✓ 1  list_files ")
	s.expect("\r\n! Incomplete (max iterations reached)\r\n")
	if shown := s.shown(); strings.Contains(shown, "tool_decision") {
		t.Errorf("it shows a decision:\n%s", shown)
	}
}

// TestChatLong checks that a long conversation is reported once, and then compacted.
func TestChatLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const model = `def reply(messages, turn):
    last = messages[-1]["content"]
    if last == "long":
        return "x" * 90000
    return "%d messages" % len(messages) if last == "how many" else "A summary."
`
	if err := os.WriteFile(filepath.Join(dir, "m.star"), []byte(model), 0o644); err != nil {
		t.Fatal(err)
	}
	s := sit(t, dir, nil, "--model", "script:"+filepath.Join(dir, "m.star"))
	for range 5 { // a fifth of the limit each
		s.atPrompt()
		s.types("long\r")
	}
	s.expect("the conversation is long: ")
	s.expect("to shorten it: /compact")
	s.atPrompt()
	s.types("how many\r")
	s.expect("compacted the conversation from ")
	s.expect(" messages\r\n")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
	if n := strings.Count(s.shown(), "the conversation is long"); n != 1 {
		t.Errorf("it was reported %d times that the conversation is long, want once", n)
	}
}

// TestChatSpinner checks that a spinner is shown while the model is silent, and removed.
func TestChatSpinner(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	s := sit(t, t.TempDir(), []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=" + silent.URL}, "--model", "openai:small")
	s.atPrompt()
	s.types("hello\r")
	s.expect(" thinking")
	s.types("\x03")
	s.expect("\r\x1b[K  stopped the answer; ")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}

// TestChatTools calls a tool that asks for approval on the terminal of the session.
// TestChatFiles attaches files to messages of a session. What a failed message attached is not sent
// with the next one.
func TestChatFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"m.star": `def reply(messages, turn):
    last = messages[-1]
    if "fail" in last["content"]:
        fail("not that")
    return last["content"].split("\n")[0] + " with " + ", ".join(["%s %d" % (m["type"], m["size"]) for m in last.get("media", [])]) + "!"
`, "a.gif": "GIF89a....", "b.pdf": "%PDF-1.7"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return "@" + filepath.Join(dir, name) }
	s := sit(t, dir, nil, "--model", "script:"+filepath.Join(dir, "m.star"))
	s.atPrompt()
	s.types("fail " + at("b.pdf") + "\r")
	s.expect("not that")
	s.atPrompt()
	s.types("look " + at("nosuch.gif") + "\r")
	s.expect("there is no such file; nothing was sent")
	s.expect("write @@")
	s.atPrompt()
	s.types("look " + at("a.gif") + "\r")
	s.expect(" with image/gif 10!")
	s.atPrompt()
	s.types("and now, @@alice?\r")
	s.expect("and now, @alice? with !")
	s.atPrompt()
	s.types("/help\r")
	s.expect("for a literal @, type @@")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}

func TestChatTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := `def reply(messages, turn):
    last = "\n\n" + messages[-1]["content"] + "\n\n"
    asked = "\n\nwrite\n\n" in last # after what came of a turn that was broken off
    if "RESULT" in last and not asked:
        return "Done.\n\nTASK COMPLETE: It is written."
    if ("ERROR" in last or "not approve" in last) and not asked:
        return "Then not."
    return 'I write it.\n\n` + "```json" + `\n{"tool_decision": {"action": "write_file", "input": {"filepath": "a.txt", "content": "x"}, "reasoning": "so", "status": "continue"}}\n` + "```" + `'
`
	if err := os.WriteFile(filepath.Join(dir, "m.star"), []byte(model), 0o644); err != nil {
		t.Fatal(err)
	}
	s := sit(t, dir, nil, "--model", "script:"+filepath.Join(dir, "m.star"), "--tools", "write_file")
	s.atPrompt()
	s.types("write\r")
	s.expect("I write it.\r\n")
	s.expect("› ")
	s.types("n\n")
	s.expect("\x1b[31m✗\x1b[0m 1  write_file   a.txt")
	s.expect("Then not.\r\n")

	s.atPrompt()
	s.types("write\r")
	s.expect("› ")
	s.types("\x03")
	s.expect("stopped the answer; the message stays in the conversation")
	s.atPrompt()
	s.types("write\r")
	s.expect("› ")
	s.types("y\n")
	s.expect("\x1b[32m✓\x1b[0m 3  write_file   a.txt")
	s.expect(" Done.\r\n")
	s.expect(" It is written.\r\n")

	s.atPrompt()
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(text) != "x" {
		t.Errorf("a.txt = %q, %v, want x", text, err)
	}
	s.types("/undo\r")
	s.expect("removed a.txt")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
	if shown := s.shown(); strings.Contains(shown, "tool_decision") || strings.Contains(shown, "TASK COMPLETE") {
		t.Errorf("it shows a decision:\n%s", shown)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("a.txt is still there")
	}
}

// TestChatReopens kills a session in the middle of an answer, and continues it.
func TestChatReopens(t *testing.T) {
	t.Parallel()
	env, _ := talkingServer(t)
	dir := t.TempDir()
	s := sit(t, dir, env, "--model", "openai:small")
	s.atPrompt()
	s.types("hello\r")
	s.expect("You said ")
	s.atPrompt()
	s.types("be silent\r")
	s.expect("I begin")
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed

	s = sit(t, dir, env, "--continue")
	s.expect(" after 2 messages")
	s.expect("resuming the last turn: it has not ended")
	s.expect("I begin")
	s.types("\x03")
	s.atPrompt()
	s.types("again\r")
	s.expect("You said ")
	s.expect("again")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}
