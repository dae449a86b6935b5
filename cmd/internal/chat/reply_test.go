package chat

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
)

func TestReplyText(t *testing.T) {
	const call = `{"tool_decision": {"action": "list_files", "input": {}}}`
	tests := []struct {
		name, reply  string
		shown        string // while it comes
		answer, rest string // what is left of the answer, where it is one
		whole        bool
	}{
		{name: "a text", reply: "Two\nlines.\n", shown: "Two\nlines.", answer: "Two\nlines."},
		{name: "an ending", reply: "TASK COMPLETE: It is 4.", shown: "It is 4.", answer: "It is 4."},
		{name: "an ending in bold", reply: "**TASK COMPLETE:** *Four* it is.", shown: "Four* it is.", answer: "*Four* it is.", rest: "*Four* it is."},
		{name: "an ending on its own line", reply: "Well.\n\ntask_complete:\n\nIt is {4}.\n{5}", shown: "Well.\n\nIt is {4}.\n{5}", answer: "It is {4}.\n{5}"},
		{name: "an ending in a sentence", reply: "I write TASK COMPLETE: at the end.", shown: "I write TASK COMPLETE: at the end.", answer: "I write TASK COMPLETE: at the end."},
		{name: "half an ending", reply: "Task", answer: "Task", rest: "Task"},
		{name: "a call", reply: call},
		{name: "a call after words", reply: "I look.\n\n" + call, shown: "I look."},
		{name: "a call in a fence", reply: "I look.\n```json\n" + call + "\n```\n", shown: "I look."},
		{name: "a call in a fence without a language", reply: "I look.\n```\n" + call + "\n```", shown: "I look."},
		{name: "a call in tags", reply: "I look.\n<TOOL_DECISION>\nACTION: x", shown: "I look."},
		{name: "another vendor's call", reply: "<|tool_call|>x"},
		{name: "a skill", reply: "<USE_SKILL>x</USE_SKILL>"},
		{name: "less than", reply: "< 4 it is", shown: "< 4 it is", answer: "< 4 it is"},
		{name: "JSON that is the answer", reply: "See:\n```json\n{\"a\": 1}\n```\nThat.", shown: "See:", answer: "See:\n```json\n{\"a\": 1}\n```\nThat.", rest: "\n```json\n{\"a\": 1}\n```\nThat."},
		{name: "JSON without tools", whole: true, reply: "{\"a\": 1}", shown: "{\"a\": 1}", answer: "{\"a\": 1}"},
		{name: "a program", reply: "Run:\n```go\nif x {\n}\n<-c\n```\n\nDone.", shown: "Run:\n```go\nif x {\n}\n<-c\n```\n\nDone.", answer: "Run:\n```go\nif x {\n}\n<-c\n```\n\nDone."},
		{name: "a program without a language", reply: "```\nls\n{\n```\nx", shown: "```\nls\n{\n```\nx", answer: "```\nls\n{\n```\nx"},
		{name: "a call after a program", reply: "```sh\nls\n```\n" + call, shown: "```sh\nls\n```"},
		{name: "a word in code", reply: "`x` is it\n`y`", shown: "`x` is it\n`y`", answer: "`x` is it\n`y`"},
		{name: "a list", reply: "[1] a\n* b", shown: "[1] a\n* b", answer: "[1] a\n* b"},
		{name: "a terminal's controls", reply: "a\x1b[2Jb", shown: "a⟨U+001B⟩[2Jb", answer: "a\x1b[2Jb"},
		{name: "an answer that is not in the reply", reply: "I look.", shown: "I look.", answer: "Other.", rest: "Other."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 20} {
				r := &replyText{whole: tt.whole}
				var shown strings.Builder
				for text := []rune(tt.reply); len(text) > 0; {
					n := min(size, len(text))
					shown.WriteString(r.add(string(text[:n])))
					text = text[n:]
				}
				if shown.String() != tt.shown {
					t.Errorf("in pieces of %d it shows %q, want %q", size, shown.String(), tt.shown)
				}
				if got := r.rest(tt.answer); got != tt.rest {
					t.Errorf("in pieces of %d, rest(%q) = %q, want %q", size, tt.answer, got, tt.rest)
				}
			}
		})
	}
}

// FuzzReplyText checks that it does not matter how a reply is cut, and that
// without tools all of it is shown.
func FuzzReplyText(f *testing.F) {
	f.Add("I look.\n```\n{\"a\"}\n```\n", uint(3))
	f.Add("**TASK COMPLETE:** x", uint(1))
	f.Fuzz(func(t *testing.T, text string, size uint) {
		n := int(size%100) + 1
		once, cut, whole := &replyText{}, &replyText{}, &replyText{whole: true}
		want, got := once.add(text), ""
		for runes := []rune(text); len(runes) > 0; runes = runes[min(n, len(runes)):] {
			got += cut.add(string(runes[:min(n, len(runes))]))
		}
		if got != want {
			t.Errorf("in pieces of %d it shows %q, want %q", n, got, want)
		}
		if got, want := whole.add(text)+whole.rest(text), strings.TrimSpace(ui.Printable(text)); got != want {
			t.Errorf("without tools it shows %q, want %q", got, want)
		}
	})
}
