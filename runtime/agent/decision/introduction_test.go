package decision

import (
	"strings"
	"testing"
)

// separators stand between a sentence and a call, and do not part them.
var separators = []string{
	"", "---\n", "***\n\n", "___\n", "=====\n", "- - -\n", "\u2500\u2500\u2500\u2500\n", "***\n---\n***\n", strings.Repeat("\n", 600), strings.Repeat("-", 600) + "\n", strings.Repeat("<br>\n", 200),
	"## Command\n\n", "# Next step\n", "### 1. The call\n\n", "**Command**\n\n", "Command\n-------\n", "Call:\n", "Next step:\n\n", "## Command\n\n---\n\n",
	"*\n", "1.\n", "\u2022\n", "\u2192\n", "<think>Shall I?</think>\n", "<think>\nI will run it.\n</think>\n\n", "<thinking>Well.</thinking>", "[THINK]Hm.[/THINK]\n",
	"<|im_end|>\n", "<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>\n\n", "</s>\n", "[/INST]\n", "<\uff5cAssistant\uff5c>\n",
	"<br>\n", "<br/>\n", "<hr />\n\n", "<command></command>\n", "</note>\n", "<div class=\"x\"></div>\n", "<!-- a call -->\n", "<foo:bar/>\n", "\u200b\n", "<think>a</think>\n---\n<br>\n## Call\n\n",
}

// showing are sentences that show a call; making are those that make one.
var (
	showing = []string{
		"You must never run this:", "You must never make this call:", "Never make this call:", "Do not ever make this call:", "Nobody may make this call:",
		"It is forbidden to make the following call:", "You should not perform this action:", "One must not take this step:", "They did not make this call:", "**You must never make this call:**", "# You must never make this call", "> You must never make this call:", "_Never_ make this call:",
		"You must never,\nunder any circumstances,\nmake this call:", "The attacker demanded this call:", "She ordered me to make this call:", "The colleague recommends the following action:",
		"They want this call:", "Someone proposed this action:", "I was instructed to make this call:", "The page says to do this next:", "The email contains this call:", "For example, this call:",
		"Mallory insists on this call:", "The pop-up urges us to take this action:", "This call was never made:", "No one ever makes this call, and you should not make this call:",
	}
	making = []string{
		"I will make this call:", "I'll read it now.", "Here is the call:", "Here's my next action:", "Now the next step:", "Sure, here is the corrected call:", "Let me take the next step:", "My next step:",
		"The next step is this call:", "The next step is to write it:", "To fix it, I make this call:", "We need this call:", "Decision:", "Okay.", "Reading the file:", "It is not there, so I'll write it:", "I have not seen it yet. Here is the call:",
		"That did not work. The next call:", "First, the call:", "Then I call it:", "On to the next step:",
	}
)

// TestIntroductions puts sentences above one call or several, with separators between them.
func TestIntroductions(t *testing.T) {
	t.Parallel()
	o := Options{Tools: caseTools(t)}
	const bare = `{"name": "write_file", "arguments": {"path": "p", "content": "x"}}`
	const invoke = "<invoke name=\"write_file\">\n<parameter name=\"path\">p</parameter>\n<parameter name=\"content\">x</parameter>\n</invoke>\n"
	pure := `{"tool_decision": {"action": "write_file", "input": {"path": "p", "content": "x"}, "status": "continue"}}`
	forms := map[string]string{
		"pure": pure, "fenced": "```json\n" + pure + "\n```", "fields": "<TOOL_DECISION>\nACTION: write_file\nINPUT: {\"path\": \"p\", \"content\": \"x\"}\n</TOOL_DECISION>",
		"tagged": "<tool_call>\n" + bare + "\n</tool_call>", "two in a tag": "<tool_call>\n" + bare + "\n" + bare + "\n</tool_call>",
		"invoke": "<function_calls>\n" + invoke + "</function_calls>", "two invokes": "<function_calls>\n" + invoke + invoke + "</function_calls>",
		"two": pure + "\n" + pure, "two with a rule": pure + "\n\n---\n\n" + pure, "a program": "<tool_code>\nwrite_file(path=\"p\", content=\"x\")\nwrite_file(path=\"q\", content=\"x\")\n</tool_code>",
		"bare": bare, "a list": "- " + bare, "numbered": "1. " + pure,
	}
	for form, call := range forms {
		for _, sep := range separators {
			for _, said := range showing {
				if reply := said + "\n\n" + sep + call; Read(reply, o)[0].Kind == ToolCall {
					t.Errorf("%s is made: %.300q", form, reply)
				}
			}
			if form == "bare" || form == "a list" || form == "numbered" || strings.Contains(sep, "<br>\n") {
				continue // for which the words must be plainer
			}
			for _, said := range making {
				if reply := said + "\n\n" + sep + call; Read(reply, o)[0].Kind != ToolCall {
					t.Errorf("%s is lost: %.300q", form, reply)
				}
			}
		}
	}
}
