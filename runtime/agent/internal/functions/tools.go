package functions

import (
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/roster"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// AgentTool returns the tool that starts other agents.
func AgentTool() tool.Tool {
	return tool.Tool{
		Name:  stub.AgentTool,
		Title: "Agent",
		Description: "Let another agent work on a part of the task, in a separate conversation, and get its answer.\n\n" +
			"Use this for a part with many steps if you need only the outcome, such as finding something in many files. It does not see this conversation: write everything that it needs.",
		Group: "code",
		Needs: []tool.Capability{{Name: "model"}},
		Hints: tool.Hints{OpenWorld: true},
		Params: []tool.Param{
			{Name: "task", Type: tool.Type{Name: tool.TypeString}, Description: "what to do, and what to answer", Required: true},
			{Name: roster.Param, Type: tool.Type{Name: tool.TypeString}, Description: "the name of an agent that the user has defined; default: an agent with the tools of this conversation"},
			{Name: "tools", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeString}}, Description: "the names of the tools that it may use; default: those of this conversation"},
			{Name: "policy", Type: tool.Type{Name: tool.TypeString}, Description: "its policy, such as task, plan or review; default: that of the named agent, or task"},
		},
		Returns: &tool.Type{Name: tool.TypeAny},
		Tags:    []string{"agent"},
		// The effects of its policy are recorded below the call.
		OnlyCalls: true,
	}
}

// CodeTool returns the tool that runs programs.
func CodeTool() tool.Tool {
	return tool.Tool{
		Name:  decision.ProgramTool,
		Title: "Execute Code",
		Description: "Run a program that calls other tools, and get its result.\n\n" +
			"Use this for many calls if you need only their outcome: their results stay in the program. " +
			"It is written in Starlark, a small Python without import, class, try, while and f-strings. " +
			"Each of your tools is a function, with _ for each dash of its name: read_file(filepath = \"a.txt\"). " +
			"The result is the value of the last expression, and what was printed. " +
			"A call that fails ends the program; attempt(read_file, filepath = \"a.txt\") returns {\"ok\", \"value\", \"error\"} instead.",
		Group:     "code",
		Hints:     tool.Hints{OpenWorld: true},
		OnlyCalls: true,
		Params: []tool.Param{
			{Name: "code", Type: tool.Type{Name: tool.TypeString}, Description: "the program", Required: true},
		},
		ReturnsDoc: `the result of the program, or {"result", "output"} if it printed something`,
		Tags:       []string{"code"},
	}
}
