package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// putChatFile writes a file for a chat.
func putChatFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// callingModel calls the tool that a message names, and answers with its result.
const callingModel = `def reply(messages, turn):
    last = messages[-1]["content"]
    if "RESULT (" in last or "ERROR" in last:
        return "It says " + last.split("\n")[1] + "."
    word = last.split("call:")[-1].split()[0]
    return '{"tool_decision": {"action": "' + word + '", "input": {}, "status": "continue"}}'
`

// echoTool returns a tool that returns a text.
func echoTool(name, text string) string {
	return "def " + name + "():\n    \"\"\"Say it.\"\"\"\n    return \"" + text + "\"\n\ntool(" + name + ")\n"
}

// TestChatContinuesWithEditedTools edits a tool while a session runs, adds one, and continues the
// session in another process after a third edit.
func TestChatContinuesWithEditedTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := putChatFile(t, dir, "m.star", callingModel)
	putChatFile(t, dir, "home/tools/first.star", echoTool("first", "one"))
	s := sit(t, dir, nil, "--model", "script:"+model, "--tools", "auto")
	s.atPrompt()
	s.types("call:first\r")
	s.expect("It says one.")
	s.atPrompt()
	putChatFile(t, dir, "home/tools/first.star", echoTool("first", "two"))
	s.types("call:first\r")
	s.expect("It says two.")
	s.atPrompt()
	putChatFile(t, dir, "home/tools/second.star", echoTool("second", "new"))
	s.types("call:second\r")
	s.expect("the tools have changed; the model has ")
	s.expect("It says new.")
	s.atPrompt()
	putChatFile(t, dir, "home/tools/first.star", "def first(:\n")
	s.types("/refresh\r")
	s.expect("first.star")
	s.expect("read the files again; the model has ")
	s.atPrompt()
	s.types("/quit\r")
	s.expect("to continue this session: cassidy chat --session ")
	s.ends(0)

	putChatFile(t, dir, "home/tools/first.star", echoTool("first", "three"))
	s = sit(t, dir, nil, "--continue")
	s.expect("continuing session ")
	s.expect(" after ")
	s.expect(", last used at 2")
	s.atPrompt()
	s.types("call:first\r")
	s.expect("It says three.")
	s.atPrompt()
	s.types("call:second\r")
	s.expect("It says new.")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}

// TestChatModels continues a conversation with another model, and with none that exists.
func TestChatModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putChatFile(t, dir, "a.star", "def reply(messages, turn):\n    return 'a has %d messages' % len(messages)\n")
	putChatFile(t, dir, "b.star", "def reply(messages, turn):\n    return 'b has %d messages' % len(messages)\n")
	s := sit(t, dir, nil, "--model", "script:a.star")
	s.atPrompt()
	s.types("hello\r")
	s.expect("a has 1 messages")
	s.atPrompt()
	s.types("/model script:b.star\r")
	s.expect("the next message goes to script:b.star, in the format pure_json")
	s.atPrompt()
	s.types("hello\r")
	s.expect("b has 3 messages")
	s.atPrompt()
	s.types("/model script:none.star\r")
	s.expect("read the model script:none.star")
	s.atPrompt()
	s.types("/model\r")
	s.expect("script:b.star, format pure_json, policy chat")
	s.atPrompt()
	s.types("again\r")
	s.expect("b has 5 messages")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
	s = sit(t, dir, nil, "--continue")
	s.expect("model script:")
	s.expect("b.star, no tools")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}

// TestChatConfig edits the config while a session runs: the next message goes to the model and has the
// format of now. An invalid config is reported once, and its last valid version stays. A model that the
// user has chosen stays, too.
func TestChatConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		putChatFile(t, dir, name+".star", "def reply(messages, turn):\n    return '"+name+" has %d messages' % len(messages)\n")
	}
	home := t.TempDir()
	config := func(text string) { putChatFile(t, home, "config.yaml", text) }
	config("model: script:a.star\n")
	s := sit(t, dir, []string{"CASSIDY_HOME=" + home})
	say := func(want ...string) {
		t.Helper()
		s.atPrompt()
		s.types("hello\r")
		for _, text := range want {
			s.expect(text)
		}
	}
	say("a has 1 messages")
	config("model: script:b.star\n")
	say("the config has changed; messages go to script:b.star, in the format pure_json", "b has 3 messages")
	config("model: script:none.star\n")
	say("read the model script:none.star", "b has 5 messages")
	config("model: [\n")
	say("config.yaml:1", "b has 7 messages")
	say("b has 9 messages")
	config("model: script:b.star\nformat: xml_json\n")
	say("messages go to script:b.star, in the format xml_json", "b has 11 messages")
	s.atPrompt()
	s.types("/model script:c.star\r")
	s.expect("the next message goes to script:c.star")
	config("model: script:a.star\n")
	say("messages go to script:c.star, in the format pure_json", "c has 13 messages")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
	if n := strings.Count(s.shown(), "config.yaml:1"); n != 1 {
		t.Errorf("the error of the config was reported %d times", n)
	}
}

// TestChatOnTwoTerminals has two terminals with one session: each message gets the conversation of
// both, and while one waits for the model, the other is refused.
func TestChatOnTwoTerminals(t *testing.T) {
	t.Parallel()
	env, _ := talkingServer(t)
	dir := t.TempDir()
	first := sit(t, dir, env, "--model", "openai:small", "--session", "shared")
	first.atPrompt()
	first.types("hello\r")
	first.expect("You said 1: hello.")
	first.atPrompt()
	second := sit(t, dir, env, "--session", "shared")
	second.expect("continuing session shared after 2 messages")
	second.atPrompt()
	second.types("there\r")
	second.expect("You said 3: there.")
	second.atPrompt()
	first.types("more\r")
	first.expect("You said 5: more.")
	first.atPrompt()

	first.types("be silent\r")
	first.expect("I begin")
	const refused = "the session 'shared' has a turn in progress in another process"
	second.types("me too\r")
	second.expect(refused)
	second.expect("try\x1b[0m  wait until that turn has ended")
	second.atPrompt()
	third := sit(t, dir, env, "--continue")
	third.expect(refused)
	third.atPrompt()
	third.types("/quit\r")
	third.ends(0)

	first.types("\x03")
	first.expect("stopped the answer")
	first.atPrompt()
	second.types("and now\r")
	second.expect("You said 7: and now.")
	second.atPrompt()
	for _, s := range []*sitting{first, second} {
		s.types("/quit\r")
		s.ends(0)
	}
}

// TestChatHooks edits the hooks of a project while a session runs: the next turn has them, and an
// untrusted file stops it.
func TestChatHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := putChatFile(t, dir, "m.star", callingModel)
	putChatFile(t, dir, "home/tools/first.star", echoTool("first", "one"))
	s := sit(t, dir, nil, "--model", "script:"+model, "--tools", "first")
	s.atPrompt()
	s.types("call:first\r")
	s.expect("It says one.")
	s.atPrompt()
	putChatFile(t, dir, "home/hooks.star", "def before_tool(call): return {'deny': 'not today'}\n")
	s.types("call:first\r")
	s.expect("the hooks have changed")
	s.expect("hook before_tool refused first: not today")
	s.atPrompt()
	putChatFile(t, dir, ".cassidy/hooks.star", "def before_tool(call): return None\n")
	s.types("call:first\r")
	s.expect("the hook file .cassidy/hooks.star is untrusted")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}

// TestChatTodo has a model write its list of tasks: it is shown after each change, as an event, and
// when the session is continued. An invalid list is an error for the model.
func TestChatTodo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := putChatFile(t, dir, "m.star", `def reply(messages, turn):
    last = messages[-1]["content"]
    if "RESULT (" in last:
        return "written"
    if "ERROR" in last:
        return "refused: " + last.split("\n")[1]
    if "begin" in last:
        items = [{"text": "look", "status": "doing"}, {"text": "write"}]
    elif "bad" in last:
        items = [{"text": "two\nlines"}]
    else:
        items = [{"text": "look", "status": "done"}, {"text": "write", "status": "doing"}]
    return json.encode({"tool_decision": {"action": "todo", "input": {"items": items}, "status": "continue"}})
`)
	s := sit(t, dir, nil, "--model", "script:"+model, "--tools", "todo", "--session", "tasks")
	s.atPrompt()
	s.types("begin\r")
	s.expect("[>] look")
	s.expect("[ ] write")
	s.expect("written")
	s.atPrompt()
	s.types("bad\r")
	s.expect("refused: ")
	s.expect("task 1: the text must be one line of 1 to 200 characters")
	s.atPrompt()
	s.types("next\r")
	s.expect("[x] look")
	s.expect("[>] write")
	s.atPrompt()
	s.types("/todo\r")
	s.expect("[x] look\r\n")
	s.expect("[>] write\r\n")
	s.atPrompt()
	s.types("/show 3\r")
	s.expect("there is no call 3")
	s.expect("/show NUMBER, from 1 to 1")
	s.atPrompt()
	s.types("/show\r")
	s.expect(" 1  todo")
	s.expect("arguments\x1b[0m\r\n")
	s.expect("lines\r\n")
	s.expect("task 1: the text must be one line of 1 to 200 characters")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
	s = sit(t, dir, nil, "--continue")
	s.expect("the todo list:")
	s.expect("[x] look")
	s.expect("[>] write")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}

// TestChatConfigInTheProject edits a config that tools could write while a chat runs.
func TestChatConfigInTheProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putChatFile(t, dir, "a.star", "def reply(messages, turn):\n    return 'a has %d messages' % len(messages)\n")
	putChatFile(t, dir, "home/config.yaml", "model: script:a.star\n")
	s := sit(t, dir, nil)
	s.atPrompt()
	s.types("hello\r")
	s.expect("a has 1 messages")
	putChatFile(t, dir, "home/config.yaml", "model: script:b.star\n")
	s.atPrompt()
	s.types("hello\r")
	s.expect("are not applied to this chat, because tools can write this file")
	s.expect("a has 3 messages")
	s.atPrompt()
	s.types("/quit\r")
	s.ends(0)
}
