package agents

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TodoTool is the name of the tool with which the model of a chat writes its list of tasks.
const TodoTool = "todo"

// The limits of a list.
const (
	maxTodos    = 50
	maxTodoText = 200 // characters
)

// todoMark returns the mark of a task with a status.
func todoMark(status string) string {
	switch status {
	case "done":
		return "[x] "
	case "doing":
		return "[>] "
	}
	return "[ ] "
}

// RegisterForHelp registers the tools that only agents and workflows can call, for commands that list
// and describe tools. A tool of the project or the user with such a name is kept.
func RegisterForHelp(h *host.Host) {
	_ = agent.Register(h, func() (*agent.Options, error) {
		return nil, value.Errorf(value.Invalid, "only agents and workflows can call this tool")
	})
	_ = agent.RegisterCode(h)
	_ = registerTodo(h)
}

// registerTodo registers the tool todo(items). Its list is a part of the conversation, in which each
// call replaces it. It fails if a tool of the project or the user has the name.
func registerTodo(h *host.Host) error {
	text := tool.Type{Name: tool.TypeString}
	status := tool.Type{Name: tool.TypeString, Enum: []value.Value{"pending", "doing", "done"}}
	return h.Register(tool.Tool{
		Name: TodoTool, Title: "Todo list", Group: "context", Tags: []string{"todo"}, Hints: tool.Hints{ReadOnly: true},
		Description: "Write your list of tasks, which the user sees.\n\nUse this for work with three or more steps. Each call replaces the full list: call it again when a task begins or ends.",
		Params: []tool.Param{{Name: "items", Required: true, Description: "all tasks, in order", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{
			Name: tool.TypeObject, Fields: []tool.Param{
				{Name: "text", Type: text, Description: "what to do, on one line", Required: true},
				{Name: "status", Type: status, Description: "pending, doing or done", HasDefault: true, Default: "pending"},
			},
		}}}},
		Returns: &tool.Type{Name: tool.TypeString},
	}, func(_ context.Context, args *value.Dict) (value.Value, error) { return todoList(args) })
}

// todoList returns the list as a text, a line for each task.
func todoList(args *value.Dict) (value.Value, error) {
	items := args.Elements("items")
	if len(items) > maxTodos {
		return nil, value.Errorf(value.Invalid, "the list has %d tasks: limit %d", len(items), maxTodos).WithHint("combine tasks")
	}
	lines := make([]string, len(items))
	for i, v := range items {
		d, _ := v.(*value.Dict)
		text := strings.TrimSpace(d.Text("text"))
		if text == "" || strings.ContainsAny(text, "\r\n") || len([]rune(text)) > maxTodoText {
			return nil, value.Errorf(value.Invalid, "task %d: the text must be one line of 1 to %d characters", i+1, maxTodoText)
		}
		lines[i] = todoMark(d.Text("status")) + text
	}
	if len(lines) == 0 {
		return "The list is empty.", nil
	}
	return strings.Join(lines, "\n"), nil
}
