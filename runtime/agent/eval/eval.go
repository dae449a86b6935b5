// Package eval measures how well models do tasks with tools: it runs the tasks of a suite with
// several models, formats and policies, checks what came of each, and compares reports.
//
// [Parse] reads a suite from YAML, and [Suite.Run] runs it. The caller opens the models and, for
// each case, a host over a folder of its own: see [Options]. docs/evals.md describes the file.
package eval

import (
	"cmp"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Suite is the content of an eval file: tasks, and with what they are run. A zero field has its
// default.
type Suite struct {
	Name     string
	Models   []string          // names for Options.Model; default: "" alone
	Formats  []decision.Format // default: the default format of each model; AllFormats: all that it has
	Policies []string          // default: "task"
	Agents   []string          // names of agent files; default: none
	Repeat   int               // how often each case is run; default 1
	Judge    string            // the name of the model that answers questions about answers
	Tasks    []Task
}

// AllFormats stands for all formats of a model, see [Formats].
const AllFormats decision.Format = "all"

// A Task is what a model is asked to do, and how that is checked.
type Task struct {
	Name   string
	Prompt string
	// Tools are words for [host.Host.Select]. Nil means all that are ready; an empty list
	// means none.
	Tools  []string
	Policy string            // replaces the policies of the suite, or ""
	Agent  string            // replaces the agents of the suite, or ""
	Files  map[string]string // the files that the folder of the case contains, by path with slashes
	// Folder is a folder that is copied into that of the case before the Files are written, or
	// "". It is relative to the eval file.
	Folder string
	Checks []Check
	Limits Limits
}

// Limits bound a case. A zero field sets no bound, except as described.
type Limits struct {
	agent.Ceilings
	Iterations int           // requests to the model; 0 means the default of the policy
	Timeout    time.Duration // 0 means 5 minutes
}

// defaultTimeout bounds a case: a model that thinks for long takes a minute for a request.
const defaultTimeout = 5 * time.Minute

// A Check is one condition for the success of a task. Exactly one of Answer, File, Command, Call,
// NotCalled and Judge is set.
type Check struct {
	Answer    *Match        // of the answer
	File      *FileCheck    // of a file in the folder after the run
	Command   *CommandCheck // runs in the folder after the run
	Call      *CallCheck    // that a tool was called
	NotCalled string        // the name of a tool that was not called
	Judge     string        // a question about the answer, which a model must answer with yes
}

// A Match is a condition for a text. All fields that are set must hold.
type Match struct {
	Equals   *string // the text, without spaces and line breaks around it
	Contains []string
	Lacks    []string
	Matches  *regexp.Regexp
}

// A FileCheck is a condition for a file.
type FileCheck struct {
	Path string // with slashes
	// Exists is whether the file must exist. If it must not, Match is ignored.
	Exists bool
	Match
}

// A CommandCheck is a condition for what a command does.
type CommandCheck struct {
	Line     string // the command line
	ExitCode int
	Match    // of its standard output
}

// A CallCheck is a condition for the calls of a model: one succeeded call of Tool had these
// Arguments, among others, and a result that matches.
type CallCheck struct {
	Tool      string
	Arguments *value.Dict // or nil
	Match                 // of the result as text
}

// A Case is a task with a model, a format, a policy and an agent.
type Case struct {
	*Task
	Model  string
	Format decision.Format
	Policy string
	Agent  string // the name of an agent file, or ""
	Repeat int    // from 1

	model model.Model
	key   string // of the model, see run.open
}

// Name names a case, without its repetition: TASK/MODEL/FORMAT, and /POLICY if that is not "task",
// and /@AGENT if there is one.
func (c *Case) Name() string { return caseName(c.Task.Name, c.Model, c.Format, c.Policy, c.Agent) }

func caseName(task, model string, f decision.Format, policy, agent string) string {
	name := task + "/" + model + "/" + string(f)
	if policy != defaultPolicy {
		name += "/" + policy
	}
	if agent != "" {
		name += "/@" + agent
	}
	return name
}

const defaultPolicy = "task"

// Commands returns the command lines of the checks of cases, each of them once.
func Commands(cases []*Case) []string {
	var lines []string
	for i := range cases {
		for _, c := range cases[i].Checks {
			if c.Command != nil && !slices.Contains(lines, c.Command.Line) {
				lines = append(lines, c.Command.Line)
			}
		}
	}
	return lines
}

// needJudge reports whether a check of the cases has a question for a judge.
func needJudge(cases []*Case) bool {
	return slices.ContainsFunc(cases, func(c *Case) bool {
		return slices.ContainsFunc(c.Checks, func(c Check) bool { return c.Judge != "" })
	})
}

// Formats returns the formats that a model can be tried in, in the order in which
// they are preferred if several work equally well.
func Formats(m model.Model) []decision.Format {
	all := []decision.Format{decision.PureJSON, decision.XMLJSON, decision.Markdown}
	if m.Native() {
		all = append([]decision.Format{decision.Native}, all...)
	}
	return all
}

// problem returns why a text does not match, or "". what names the text.
func (m *Match) problem(what, text string) string {
	trimmed := strings.TrimSpace(text)
	if m.Equals != nil && trimmed != strings.TrimSpace(*m.Equals) {
		return what + " is " + quote(trimmed) + ", not " + quote(strings.TrimSpace(*m.Equals))
	}
	for _, part := range m.Contains {
		if !strings.Contains(text, part) {
			return what + " does not contain " + quote(part) + ": " + quote(trimmed)
		}
	}
	for _, part := range m.Lacks {
		if strings.Contains(text, part) {
			return what + " contains " + quote(part)
		}
	}
	if m.Matches != nil && !m.Matches.MatchString(text) {
		return what + " does not match " + quote(m.Matches.String()) + ": " + quote(trimmed)
	}
	return ""
}

// any reports whether the match has a condition.
func (m *Match) any() bool {
	return m.Equals != nil || m.Matches != nil || len(m.Contains)+len(m.Lacks) > 0
}

// quote quotes a text on one line, cut to what a person reads.
func quote(text string) string {
	const most = 200 // characters
	return value.FormatJSON(value.Clean(text, most), "")
}

// String describes a check on a line, as in "answer" or "file notes.md".
func (c Check) String() string {
	switch {
	case c.File != nil:
		return "file " + c.File.Path
	case c.Command != nil:
		return "command " + c.Command.Line
	case c.Call != nil:
		return "call " + c.Call.Tool
	case c.NotCalled != "":
		return "not_called " + c.NotCalled
	case c.Judge != "":
		return "judge " + c.Judge
	}
	return "answer"
}

// sameTool reports whether two names are those of one tool.
func sameTool(a, b string) bool { return tool.Key(a) == tool.Key(b) }

// checkPath returns an error unless a path is one below a folder, with slashes.
func checkPath(path string) error {
	if path == "." || !fs.ValidPath(path) || strings.Contains(path, `\`) {
		return value.Errorf(value.Invalid, "invalid path %s: expected a relative path with slashes and without .., such as notes/todo.md", quote(path))
	}
	return nil
}

// withDefaults returns the suite with its defaults.
func (s *Suite) withDefaults() *Suite {
	own := *s
	if len(own.Models) == 0 {
		own.Models = []string{""}
	}
	if len(own.Policies) == 0 {
		own.Policies = []string{defaultPolicy}
	}
	if len(own.Agents) == 0 {
		own.Agents = []string{""}
	}
	own.Repeat = cmp.Or(own.Repeat, 1)
	return &own
}
