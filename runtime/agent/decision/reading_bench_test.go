package decision

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const replySize = 200_000

// hostileReplies are texts that a reader which tries again at each place, or
// looks for the end of each thing that begins, takes quadratic time for. They
// have a size of about n bytes.
func hostileReplies(n int) map[string]func() string {
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)) }
	replies := map[string]func() string{}
	for name, unit := range map[string]string{
		"braces": "{", "quotes": `"`, "open_strings": `{"`, "nested": `{"a":`, "single": "{'", "tags": "<TOOL_DECISION>", "fences": "```",
		"brackets": "[", "backslashes": `\\`, "escaped": `{"\`, "actions": "ACTION:", "action_lines": "ACTION: read_file\n",
		"blocks": "<TOOL_DECISION>\nACTION: x\n", "inputs": "<TOOL_DECISION>\nACTION: read_file\nINPUT: {\n", "one_line": "<TOOL_DECISION>ACTION: a INPUT: - a: b</TOOL_DECISION>",
		"comments": "{/*", "line_comments": "{//", "think": "<think>", "think_end": "</think>", "tool_call": "<tool_call>", "tool_calls": "<tool_call>{",
		"less": "<", "less_t": "<t", "function": "<function=read_file>", "parameter": "<function=read_file><parameter=a>", "invoke": `<invoke name="read_file">`,
		"names": "read_file(\n", "named": "read_file{\n", "arg": "read_file(a=\n", "backticks": "`", "newlines": "\n", "blanks": " ", "complete": "TASK COMPLETE:\n",
		"decisions": `{"tool_decision":`, "calls": `{"name":"read_file","arguments":{"filepath":"a.txt"}}` + "\n", "broken": `{"tool_decision":{"action":x}}` + "\n",
		"arg_keys": "<tool_call>read_file<arg_key>a", "list": "- a: b\n", "cut": `{"a":{"b":[1,2,`, "closed": "}", "call_list": "<tool_call>[read_file(a=1),",
		"channel": "<|channel|>commentary to=functions.read_file ", "triple": `{"""`, "words": "a ", "quote_lines": "> {\n", "mistral": "[TOOL_CALLS]",
		"xml": "<read_file><filepath>", "parameters": "<TOOL_DECISION>ACTION: a\n## Parameters\n- a:\n```\n", "reasoning": "REASONING: a\n", "smart": "{“", "ticks": "`a` ", "smart_calls": "read_file(“\n",
		"dsml": `<｜DSML｜invoke name="read_file"><｜DSML｜parameter name="a" string="true">`, "bars": "<｜", "dsml_closed": `<｜DSML｜invoke name="read_file"><｜DSML｜parameter name="a" string="false">{</｜DSML｜parameter>`,
		"gemma": `<|tool_call>call:read_file{a:<|"|>`, "gemma_calls": `<|tool_call>call:nope{}<tool_call|>`, "functools": "functools[", "functools_lines": "functools[{\n",
		"mistral_ids": "[TOOL_CALLS]read_file[CALL_ID]a", "llama": `{"name":"clock","parameters":{}}; `, "gemma_thoughts": "<|channel>thought", "gemma_thought_ends": "<channel|>",
		"thoughts": "<think></think>{\"name\":\"clock\",\"arguments\":{}}", "blocks_on_a_line": "<TOOL_DECISION>ACTION: x ",
	} {
		replies[name] = func() string { return fill(unit) }
	}
	for name, reply := range map[string]func() string{
		"blanks_then_ticks":  func() string { return strings.Repeat(" ", n/2) + strings.Repeat("`a`\n", n/8) },
		"smart_calls_closed": func() string { return fill("read_file(“\n") + "”) x" },
		"prose_then_broken": func() string {
			return strings.Repeat("word ", n/6) + strings.Repeat(`{"tool_decision":{"action":x}}`, n/500)
		},
		"gemma_calls_then_one": func() string {
			return fill("<|tool_call>call:nope{}<tool_call|>") + "<|tool_call>call:clock{}<tool_call|>"
		},
		"block_then_parameters": func() string { return "<TOOL_DECISION>\nACTION: read_file\n## Parameters\n" + fill("- a: b\n") },
		"block_then_list":       func() string { return "<TOOL_DECISION>\nACTION: read_file\n## Parameters\n- a: b\n" + fill("  \n") },
	} {
		replies[name] = reply
	}
	return replies
}

func ordinaryReplies() map[string]func() string {
	prose := strings.Repeat("The tests of the parser fail, since it's reading `one` line too few (see [1], and \"notes\").\nI looked at <b>all</b> of them.\n\n", replySize/130)
	content := value.FormatJSON(strings.Repeat("func main() { fmt.Println(\"x\") }\n", 150_000/33), "")
	list := value.List{}
	for range 5000 {
		list = append(list, value.NewDict("id", 17, "name", "a name", "on", true))
	}
	replies := map[string]func() string{}
	for name, reply := range map[string]string{
		"prose":     prose,
		"json":      `{"tool_decision":{"action":"write_file","input":{"path":"a.go","content":` + content + `},"reasoning":"","status":"continue"}}`,
		"xml_json":  "<TOOL_DECISION>\nACTION: write_file\nINPUT: {\"path\": \"a.go\", \"content\": " + content + "}\nSTATUS: final\n</TOOL_DECISION>",
		"data":      "```json\n" + value.FormatJSON(list, "") + "\n```",
		"prose_end": prose + "\n{\"tool_decision\":{\"action\":\"read_file\",\"input\":{\"filepath\":\"a.txt\"}}}",
		"code":      "```go\n" + strings.Repeat("func f(a []int) map[string]int { return map[string]int{\"a\": a[0]} }\n", replySize/68) + "```\n",
	} {
		replies[name] = func() string { return reply }
	}
	return replies
}

func BenchmarkRead(b *testing.B) {
	o := Options{Tools: caseTools(b)}
	for kind, replies := range map[string]map[string]func() string{"ordinary": ordinaryReplies(), "hostile": hostileReplies(replySize)} {
		for name, make := range replies {
			reply := make()
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(reply)))
				b.ReportAllocs()
				for b.Loop() {
					Read(reply, o)
				}
			})
		}
	}
	short := "I'll look.\n{\"tool_decision\":{\"action\":\"read_file\",\"input\":{\"filepath\":\"a.txt\"},\"reasoning\":\"\",\"status\":\"continue\"}}"
	b.Run("short", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Read(short, o)
		}
	})
}
