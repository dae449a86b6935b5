package agents

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestTodoList checks the text of a list, and its limits.
func TestTodoList(t *testing.T) {
	task := func(text, status string) value.Value { return value.NewDict("text", text, "status", status) }
	cases := []struct {
		items value.List
		want  string
	}{
		{nil, "The list is empty."},
		{value.List{task(" a ", "pending"), task("b", "doing"), task("ü", "done")}, "[ ] a\n[>] b\n[x] ü"},
		{value.List{task("a", "done"), task(" ", "done")}, "task 2: the text must be one line"},
		{value.List{task("a\rb", "done")}, "task 1: the text must be one line"},
		{value.List{task(strings.Repeat("ü", 201), "done")}, "task 1: the text must be one line"},
		{make(value.List, 51), "the list has 51 tasks: limit 50"},
	}
	for _, c := range cases {
		got, err := todoList(value.NewDict("items", c.items))
		text, _ := got.(string)
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, c.want) {
			t.Errorf("the list of %v is %q, want %q", c.items, text, c.want)
		}
	}
}
