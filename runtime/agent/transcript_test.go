package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A transcript is a conversation that a model plays its part of. What happens
// in it is held against a file in testdata/transcripts.
type transcript struct {
	name string
	setting
	turns  []string // what the user says; "do it" if he says nothing
	reason agent.Reason
	check  func(t *testing.T, s *stage, r *agent.Reply) // of the last turn, if there is more to know
}

const done = "TASK COMPLETE: done"

// no refuses everything.
func no(context.Context, tool.Question) (tool.Answer, error) {
	return tool.Answer{Why: "not today"}, nil
}

func readsA() string { return call("read_file", "filepath", "a.txt") }

// overwrite is a call that replaces a file.
var overwrite = call("write_file", "filepath", "a.txt", "content", "new", "overwrite", true)

var twoFiles = map[string]string{"a.txt": "first\nsecond\n", "b.txt": "third\n"}

func TestTranscriptsOfTheTaskPolicy(t *testing.T) {
	t.Parallel()
	run(t, []transcript{{
		name: "several_steps", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, approve: host.ApproveAll(), replies: play{
			call("list_files"), "First I look.\n\n" + readsA(), call("write_file", "filepath", "c.txt", "content", "third"), "All is there.\n\nTASK COMPLETE: c.txt is written\nas you wished",
		}},
		check: func(t *testing.T, s *stage, r *agent.Reply) {
			if s.file("c.txt") != "third" || r.Text != "c.txt is written\nas you wished" || r.Iterations != 4 || len(r.Calls) != 3 {
				t.Errorf("c.txt = %q, result = %+v", s.file("c.txt"), r)
			}
		},
	}, {
		name: "several_calls_in_a_reply", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, replies: play{readsA() + "\n" + call("read_file", "filepath", "b.txt"), done}},
	}, {
		name: "unknown_tool", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, replies: play{call("read_fil", "filepath", "a.txt"), readsA(), done}},
	}, {
		name: "missing_argument", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, replies: play{call("read_file"), readsA(), done}},
	}, {
		name: "tool_failure", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, replies: play{call("read_file", "filepath", "none.txt"), done}},
	}, {
		name: "broken_json", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, replies: play{`{"tool_decision": {"action": "read_file", "input": {"filepath": "a.txt" "x"}, "status": "continue"}}`, readsA(), done}},
	}, {
		name: "refused_once", reason: agent.ReasonFinal,
		setting: setting{approve: host.ApproverFunc(no), replies: play{call("write_file", "filepath", "a.txt", "content", "x"), done}},
		check:   nothingWritten,
	}, {
		name: "refused_thrice", reason: agent.ReasonDenied,
		setting: setting{approve: host.ApproverFunc(no), replies: play{
			call("write_file", "filepath", "a.txt", "content", "x"), call("write_file", "filepath", "a.txt", "content", "y"),
			"Then so.\n" + call("write_file", "filepath", "b.txt", "content", "y"), done,
		}},
		check: nothingWritten,
	}, {
		name: "redundant_call", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, approve: host.ApproveAll(), replies: play{
			readsA(), readsA(), overwrite, readsA(), done,
		}},
	}, {
		name: "loop", reason: agent.ReasonLoop,
		setting: setting{files: twoFiles, replies: play{readsA(), readsA(), readsA(), readsA(), done}},
	}, {
		name: "loop_in_a_reply", reason: agent.ReasonLoop,
		setting: setting{files: twoFiles, replies: play{strings.Repeat(readsA()+"\n", 5), readsA(), done}},
	}, {
		name: "no_loop_where_results_change", reason: agent.ReasonFinal,
		setting: setting{before: withCounter, options: agent.Options{Tools: []string{"counter"}}, replies: play{call("counter"), call("counter"), call("counter"), call("counter"), call("counter"), done}},
	}, {
		name: "loop_of_failures", reason: agent.ReasonLoop,
		setting: setting{replies: play{readsA(), readsA(), readsA(), readsA(), done}},
	}, {
		name: "no_decision", reason: agent.ReasonNoDecision,
		setting: setting{replies: play{"Hm.", "Let me think.", "I cannot decide.", done}},
	}, {
		name: "no_decision_then_one", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, replies: play{"Hm.", "Well.", readsA(), "Hm.", "Well.", done}},
	}, {
		name: "max_iterations", reason: agent.ReasonMaxIterations,
		setting: setting{files: twoFiles, options: agent.Options{Iterations: 3}, replies: play{readsA(), call("list_files"), "Still looking.\n" + call("read_file", "filepath", "b.txt")}},
		check: func(t *testing.T, _ *stage, r *agent.Reply) {
			if !r.Incomplete() || r.Success() {
				t.Errorf("result = %+v, want it incomplete", r)
			}
		},
	}, {
		name: "status_final", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, replies: play{callAs("final", "read_file", "filepath", "a.txt"), "The file has two lines."}},
	}, {
		name: "task_complete_call", reason: agent.ReasonFinal,
		setting: setting{options: agent.Options{Tools: []string{"read_file", "task_complete"}}, replies: play{call("task_complete", "summary", "It is done.")}},
	}, {
		name: "overwrite_unread", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, approve: host.ApproveAll(), replies: play{
			overwrite, readsA(), overwrite, done,
		}},
		check: func(t *testing.T, s *stage, _ *agent.Reply) {
			if s.file("a.txt") != "new" {
				t.Errorf("a.txt = %q, want it written after it was read", s.file("a.txt"))
			}
		},
	}, {
		name: "without_tools", reason: agent.ReasonFinal,
		setting: setting{options: agent.Options{Tools: []string{}}, replies: play{"Hm.", "TASK COMPLETE: four"}},
		check: func(t *testing.T, _ *stage, r *agent.Reply) {
			if r.Text != "four" {
				t.Errorf("answer = %q, want four", r.Text)
			}
		},
	}, {
		name: "xml_json", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, options: agent.Options{Format: decision.XMLJSON}, replies: play{
			"<TOOL_DECISION>\nACTION: read_file\nINPUT: {\"filepath\": \"a.txt\"}\nREASONING: it is needed\nSTATUS: continue\n</TOOL_DECISION>", done}},
	}, {
		name: "markdown", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, options: agent.Options{Format: decision.Markdown, RepeatInstructions: true}, replies: play{
			"<TOOL_DECISION>\nACTION: read_file\nREASONING: it is needed\nSTATUS: final\n\n## Parameters\n- filepath: a.txt\n- limit: 1\n</TOOL_DECISION>", "One line."}},
	}, {
		name: "long_result", reason: agent.ReasonFinal,
		setting: setting{files: map[string]string{"a.txt": strings.Repeat("0123456789abcdef\n", 400)}, before: keepResults,
			options: agent.Options{MaxResult: 600}, replies: play{readsA(), done}},
		check: func(t *testing.T, s *stage, _ *agent.Reply) {
			if kept := s.file("kept.txt"); strings.Count(kept, "0123456789abcdef") != 400 || !strings.HasPrefix(kept, "run/1-read_file.txt\n") {
				t.Errorf("kept %d bytes: %.40q, want the whole result", len(kept), kept)
			}
		},
	}, {
		name: "model_error", reason: agent.ReasonError, turns: []string{"do it", "try again"},
		setting: setting{files: twoFiles, replies: play{readsA(), value.Errorf(value.Unavailable, "the network is away"), value.Errorf(value.Unavailable, "still")}},
	}})
}

func nothingWritten(t *testing.T, s *stage, _ *agent.Reply) {
	if s.file("a.txt") != "none" || s.file("b.txt") != "none" {
		t.Error("a file was written though it was refused")
	}
}

// withCounter gives the host a tool that never gives the same twice.
func withCounter(s *stage, _ *agent.Options) {
	n := 0
	err := s.Register(tool.Tool{Name: "counter", Description: "Count."}, func(context.Context, *value.Dict) (value.Value, error) {
		n++
		return int64(n), nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// keepResults keeps what is too long in a file of the stage.
func keepResults(s *stage, o *agent.Options) {
	o.Keep = func(name, text string) (string, error) {
		s.write("kept.txt", name+"\n"+text)
		return "kept.txt", nil
	}
}

func TestTranscriptsOfOtherPolicies(t *testing.T) {
	t.Parallel()
	chat, plan, review := agent.Options{Policy: "chat"}, agent.Options{Policy: "plan"}, agent.Options{Policy: "review"}
	run(t, []transcript{{
		name: "chat", reason: agent.ReasonFinal, turns: []string{"What is in a.txt?", "And now?", "Thanks."},
		setting: setting{files: twoFiles, options: chat, replies: play{readsA(), "Two lines.", readsA(), "Still two.", "You are welcome."}},
	}, {
		name: "chat_empty", reason: agent.ReasonFinal,
		setting: setting{options: chat, replies: play{model.ErrEmpty, "Hello!"}},
	}, {
		name: "chat_empty_thrice", reason: agent.ReasonError,
		setting: setting{options: chat, replies: play{model.ErrEmpty, model.ErrEmpty, model.ErrEmpty}},
	}, {
		name: "chat_plain", reason: agent.ReasonFinal, turns: []string{"Hello", "Bye"},
		setting: setting{options: agent.Options{Policy: "chat", Tools: []string{}}, replies: play{"Hello!", "TASK COMPLETE: is what you want to hear?"}},
	}, {
		name: "chat_max_iterations", reason: agent.ReasonMaxIterations, turns: []string{"look around"},
		setting: setting{files: twoFiles, options: chat, replies: play{readsA(), call("list_files"), call("read_file", "filepath", "b.txt"), call("list_files", "path", "."), "So:\n" + call("list_files", "hidden", true)}},
	}, {
		name: "plan", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, options: plan, replies: play{"1. Read a.txt.\n2. Answer.", readsA(), done}},
	}, {
		name: "plan_that_calls", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, options: plan, replies: play{"1. Read a.txt.\n\n" + readsA(), readsA(), done}},
	}, {
		name: "plan_native", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, options: plan, native: true, replies: play{calls("1. Read a.txt.", "read_file", value.NewDict("filepath", "a.txt")), calls("", "read_file", value.NewDict("filepath", "a.txt")), done}},
	}, {
		name: "plan_of_one_reply", reason: agent.ReasonFinal,
		setting: setting{options: agent.Options{Policy: "plan", Iterations: 1}, replies: play{done}},
	}, {
		name: "plan_that_answers", reason: agent.ReasonFinal,
		setting: setting{options: plan, replies: play{"TASK COMPLETE: nothing is to be done"}},
	}, {
		name: "review", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, options: review, replies: play{readsA(), "TASK COMPLETE: two lines", call("read_file", "filepath", "b.txt"), "TASK COMPLETE: two lines, and I looked again"}},
	}, {
		name: "review_without_end", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, options: agent.Options{Policy: "review", Iterations: 4}, replies: play{"TASK COMPLETE: two lines", readsA(), call("list_files")}},
	}, {
		name: "own_policy", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, process: true, before: ownPolicy, replies: play{readsA(), "two", "a short answer"}},
	}})
}

// ownPolicySource is a policy as a user writes one.
const ownPolicySource = `"""Asks twice, and takes the shorter answer."""

load("lib/loop.star", "work")

def policy(task, agent):
    limits = agent.limits()
    done = work(agent, agent.prompt(task), limits["iterations"] or 4, answer_by_text = True)
    again = agent.ask("Shorter, please.")["text"]
    return agent.finish("final", min([done["answer"], again], key = len))
`

func ownPolicy(_ *stage, o *agent.Options) {
	o.Policy = "mine"
	o.Policies = func(name string) (agent.Policy, error) {
		return agent.Policy{Name: name, Location: tool.Project, Script: tool.Script{
			Name: name, Path: ".cassidy/policies/mine.star", Source: ownPolicySource, Libs: agent.PolicyLibs(),
		}}, nil
	}
}

func TestTranscriptsOfNativeCalls(t *testing.T) {
	t.Parallel()
	a, b := value.NewDict("filepath", "a.txt"), value.NewDict("filepath", "b.txt")
	run(t, []transcript{{
		name: "native", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, native: true, replies: play{calls("I read both.", "read_file", a, "read_file", b), calls("", "list_files", &value.Dict{}), done}},
	}, {
		name: "native_failures", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, native: true, replies: play{
			calls("", "read_file", "{\"filepath\": ", "read_fil", a, "read_file", &value.Dict{}, "read_file", b), done}},
	}, {
		name: "native_skipped", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, native: true, options: agent.Options{Tools: []string{"read_file", "task_complete"}}, replies: play{
			calls("", "read_file", a, "task_complete", value.NewDict("summary", "done"), "read_file", b), "TASK COMPLETE: again"}},
		turns: []string{"do it", "once more"},
	}, {
		name: "native_text_calls", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, native: true, replies: play{readsA(), done}},
	}, {
		name: "native_text", reason: agent.ReasonFinal, turns: []string{"do it", "once more"}, // it ends the task, as agents of the vendors do
		setting: setting{files: twoFiles, native: true, replies: play{calls("I read it.", "read_file", a), "Two lines.", "Still two."}},
	}, {
		name: "native_empty_thrice", reason: agent.ReasonError,
		setting: setting{files: twoFiles, native: true, replies: play{model.ErrEmpty, calls("", "read_file", a), model.ErrEmpty, model.ErrEmpty, model.ErrEmpty}},
	}, {
		name: "native_empty", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, native: true, replies: play{calls("", "read_file", value.NewDict("filepath", "a.txt")), model.ErrEmpty, done}},
	}})
}

func TestTranscriptsOfSkillsAndLongConversations(t *testing.T) {
	t.Parallel()
	skills := agent.Options{Skills: []agent.Skill{{Name: "report", Description: "how to write a report"}}, LoadSkill: loadReport}
	small := agent.Options{Budget: agent.Budget{Limit: 5000, Reserve: 100, CompactAt: 0.55}}
	tight := agent.Options{Budget: agent.Budget{Limit: 5000, Reserve: 100, CompactAt: 0.99}}
	long := map[string]string{"a.txt": strings.Repeat(strings.Repeat("The first file. ", 120)+"\n", 3), "c.txt": strings.Repeat(strings.Repeat("The third file. ", 120)+"\n", 3), "b.txt": strings.Repeat("A line of the second.\n", 120)}
	run(t, []transcript{{
		name: "skill", reason: agent.ReasonFinal,
		setting: setting{options: skills, replies: play{"<USE_SKILL>report</USE_SKILL>", "<USE_SKILL>none</USE_SKILL>", "<USE_SKILL>report/a.md</USE_SKILL>", done}},
	}, {
		name: "compaction", reason: agent.ReasonFinal,
		setting: setting{files: long, options: small, replies: play{
			readsA(), call("read_file", "filepath", "b.txt", "limit", int64(2)), "SUMMARY: a.txt has 3 lines", "So I go on.\n" + call("list_files"), done}},
	}, {
		name: "compaction_native", reason: agent.ReasonFinal,
		setting: setting{files: long, options: small, native: true, replies: play{
			calls("", "read_file", value.NewDict("filepath", "a.txt")), calls("", "read_file", value.NewDict("filepath", "b.txt", "limit", int64(2))),
			"SUMMARY: a.txt has 3 lines", calls("", "list_files", &value.Dict{}), done}},
	}, {
		name: "compaction_for_results", reason: agent.ReasonFinal,
		setting: setting{files: long, options: tight, replies: play{
			readsA(), call("read_file", "filepath", "c.txt"), "SUMMARY: one was read", done}},
	}, {
		name: "compaction_for_native_results", reason: agent.ReasonFinal,
		setting: setting{files: long, options: tight, native: true, replies: play{
			calls("", "read_file", value.NewDict("filepath", "a.txt")), calls("", "read_file", value.NewDict("filepath", "c.txt")), "SUMMARY: one was read", done}},
	}, {
		name: "compaction_fails", reason: agent.ReasonFinal,
		setting: setting{files: long, options: small, replies: play{readsA(), call("list_files"), value.Errorf(value.Unavailable, "the network is away"), done}},
	}})
}

func loadReport(name string) (agent.LoadedSkill, error) {
	switch name {
	case "report":
		return agent.LoadedSkill{Text: "Write three sentences, as in a.md.", Notes: []string{"a note"}, Files: []string{"a.md"}}, nil
	case "report/a.md":
		return agent.LoadedSkill{Text: "One. Two. Three."}, nil
	}
	return agent.LoadedSkill{}, value.Errorf(value.NotFound, "there is no skill %s", name)
}

// withAgents gives the host the tool agent.
func withAgents(s *stage, o *agent.Options) {
	if err := agent.Register(s.Host, func() (*agent.Options, error) { return o, nil }); err != nil {
		s.t.Fatal(err)
	}
	o.Tools = []string{"read_file", "agent"}
}

func TestTranscriptOfAnAgentOfAnAgent(t *testing.T) {
	t.Parallel()
	run(t, []transcript{{
		name: "sub_agent", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: withAgents, approve: host.ApproveAll(), replies: play{
			call("agent", "task", "count the lines", "tools", value.List{"read_file", "list_files", "agent"}),
			call("list_files"), call("agent", "task", "you do it"), readsA(), "TASK COMPLETE: two lines",
			"TASK COMPLETE: the other says two",
		}},
	}, {
		name: "sub_agent_writes", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: func(s *stage, o *agent.Options) {
			withAgents(s, o)
			o.Tools = []string{"read_file", "write_file", "agent"}
		}, approve: host.ApproveAll(), replies: play{
			readsA(), call("agent", "task", "make it new"), readsA(), overwrite, "TASK COMPLETE: it is new",
			call("write_file", "filepath", "a.txt", "content", "newer", "overwrite", true), done,
		}},
		check: func(t *testing.T, s *stage, r *agent.Reply) {
			if s.file("a.txt") != "new" || len(r.Calls) != 3 || !r.Calls[1].Success || r.Calls[2].Success {
				t.Errorf("a.txt = %q, calls = %+v; the agent has read it and may write it, its caller has not seen the new one", s.file("a.txt"), r.Calls)
			}
		},
	}, {
		name: "sub_agent_fails", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: withAgents, approve: host.ApproveAll(), replies: play{
			call("agent", "task", "count the lines"), "Hm.", "Hm.", "I cannot say.", done,
		}},
	}})
}

// run plays the transcripts.
func run(t *testing.T, list []transcript) {
	t.Helper()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, c.setting)
			turns := c.turns
			if turns == nil {
				turns = []string{"do it"}
			}
			var r *agent.Reply
			for _, message := range turns {
				r, _ = s.turn(context.Background(), message)
			}
			if r.Reason != c.reason {
				t.Errorf("reason = %q, want %q", r.Reason, c.reason)
			}
			if c.check != nil {
				c.check(t, s, r)
			}
			s.compare(c.name)
			s.checkAgain()
		})
	}
}
