package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/fields"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A reply ends the task with "TASK COMPLETE:" and the answer. Models also end it with a decision
// that calls nothing: one without an action whose status is final, or one whose action is a word for
// the end and not the name of a tool.

// ends are words for the end of a task, as the action of a decision.
var ends = []string{"task_complete", "final_answer", "final", "finish", "complete", "done"}

// answerKeys are the keys of an answer beside the status of a decision.
var answerKeys = []string{"answer", "final_answer", "response", "result", "summary", "message"}

// endsEmpty reports whether a decision as JSON has the status final and no input.
func endsEmpty(d *value.Dict) bool {
	given, _ := d.Get("input")
	input, _, ok := loose.DictOf(given)
	return statusOf(d.Text("status")) == LastCall && ok && input.Len() == 0
}

// isEnd reports whether an action that is not the name of a tool means the end of the task.
func isEnd(name string) bool {
	return slices.Contains(ends, strings.ReplaceAll(strings.ToLower(plainName(name)), "-", "_"))
}

// ending returns the end that a decision without a call means, if it means one.
func ending(action, status, reasoning string, input *value.Dict) (Decision, bool) {
	said := onlyText(input)
	ends := statusOf(status) == LastCall || isEnd(action)
	if said == "" {
		said = strings.TrimSpace(reasoning)
	}
	return Decision{Kind: Final, Status: Continue, Answer: said}, ends
}

// onlyText returns the text in an input that has only one.
func onlyText(input *value.Dict) string {
	if input == nil || input.Len() != 1 {
		return ""
	}
	for _, v := range input.All() {
		text, _ := v.(string)
		return strings.TrimSpace(text)
	}
	return ""
}

// ending returns the shape of a decision as JSON that calls nothing.
func (s *reader) ending(action string, d *value.Dict) shape {
	given, _ := d.Get("input")
	input, _, _ := loose.DictOf(given)
	if text, ok := given.(string); ok && strings.TrimSpace(text) != "" {
		input = value.NewDict("answer", text)
	}
	for _, key := range answerKeys {
		if text := strings.TrimSpace(d.Text(key)); text != "" {
			input = value.NewDict(key, text)
			break
		}
	}
	end, ends := ending(action, d.Text("status"), d.Text("reasoning"), input)
	return shape{call: ends, ours: true, calls: []Decision{end}}
}

// endsAlone reports whether JSON without a wrapper is a decision that calls nothing and whose status
// is final, and returns its action.
func (s *reader) endsAlone(d *value.Dict) (action string, ok bool) {
	v, has := d.Get("action")
	name, isText := v.(string)
	calls := isText && !fields.IsNobody(name) && !isEnd(name) || v != nil && !isText || isText && s.tools.FindFold(name) != nil
	return name, has && !calls && statusOf(d.Text("status")) == LastCall && s.onlyKeys(d, append([]string{"action"}, s.words.Of(phrases.ArgsKey)...)...)
}

// ended returns the calls in a list of decisions. If all of them end the task, it returns one end,
// with the answer: that after "TASK COMPLETE:", else the text beside the decisions, else what they
// say. Without an answer it returns nil.
func (s *reader) ended(list []candidate, decisions []Decision) []Decision {
	calls := slices.DeleteFunc(slices.Clone(decisions), func(d Decision) bool { return d.Kind == Final })
	if len(calls) > 0 {
		return calls
	}
	end := decisions[0]
	beside := s.beside(list)
	for line := 0; line < len(beside) && s.complete > 0; line = prose.LineEnd(beside, line) + 1 {
		if answer, ok := prose.TaskComplete(beside, line); ok {
			end.Answer, beside = prose.Once(strings.TrimSpace(beside[answer:])), ""
		}
	}
	if beside != "" && !strings.HasSuffix(beside, ":") {
		end.Answer = beside
	}
	if end.Answer == "" || prose.IsPlaceholder(end.Answer) {
		return nil
	}
	return []Decision{end}
}

// beside returns the text of a reply without thinking and without candidates.
func (s *reader) beside(list []candidate) string {
	var parts []string
	from := s.replyStart()
	for _, c := range list {
		start, end := c.start, c.end
		if c.fence > 0 {
			f := &s.fences[c.fence-1]
			start, end = f.mark, min(max(prose.LineEnd(s.text, f.end), c.end), len(s.text))
		}
		parts = append(parts, strings.TrimSpace(s.text[min(from, start):start]))
		from = max(from, end)
	}
	parts = append(parts, strings.TrimSpace(s.text[min(from, len(s.text)):]))
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n"))
}

// noAnswer is the answer of a reply that ends the task and says nothing else.
const noAnswer = "Task completed successfully"

// answers reports whether the reply has an answer after "TASK COMPLETE", and not the placeholder of
// the instructions.
func (s *reader) answers() bool {
	return s.complete > 0 && !prose.IsPlaceholder(s.finalAnswer())
}

// finalAnswer returns the answer after "TASK COMPLETE:". If the same answer is given again, it is
// returned once.
func (s *reader) finalAnswer() string {
	answer := strings.TrimSpace(s.without(s.answer))
	first := answer[:prose.LineEnd(answer, 0)]
	if strings.HasSuffix(first, "**") && strings.Count(first, "**")%2 == 1 {
		answer = strings.TrimSpace(strings.TrimSuffix(first, "**") + answer[len(first):])
	}
	if answer = prose.Once(answer); answer == "" {
		return noAnswer
	}
	return answer
}
