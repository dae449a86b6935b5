package agent

import (
	"regexp"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

// A Policy is the script that controls an agent. Its function policy(task, agent) is called
// for each turn, with the module of [Modules], and returns the result of agent.finish.
type Policy struct {
	Name     string
	Script   tool.Script
	Location tool.Location
}

// entry is the function of a policy's script.
const entry = "policy"

// Function returns the name of the function that each policy defines, and the names of its arguments. Further
// parameters get the modules that have their names.
func (Policy) Function() (name string, params []string) {
	return entry, []string{conversation.TaskArg}
}

// Builtin returns a policy that is part of cassidy: task, chat, plan, review, best, debate or planner. It fails with
// kind Invalid for other names.
func Builtin(name string) (Policy, error) {
	source, ok := scripts.Policy(name)
	if !ok {
		known := scripts.Policies()
		return Policy{}, value.Errorf(value.Invalid, "unknown policy %q%s", name, value.DidYouMean(name, known)).
			WithHint("the policies are %s", strings.Join(known, ", "))
	}
	return Policy{Name: name, Location: tool.Builtin, Script: tool.Script{
		Name: name, Path: "policies/" + name + ".star", Source: source, Libs: PolicyLibs(),
	}}, nil
}

// check returns an error if the policy's script does not define its function.
func (p *Policy) check() error {
	if p.Location == tool.Builtin || hasEntry().MatchString(p.Script.Source) {
		return nil
	}
	e := value.Errorf(value.Invalid, "the policy '%s' has no function %s", p.Name, entry).
		WithHint("add to the file: def %s(task, agent):", entry)
	e.Pos.File = p.Script.Path
	return e
}

var hasEntry = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^def[ \t]+` + entry + `[ \t]*\(`)
})

// PolicyLibs returns the files that every policy can load, by path. "lib/loop.star" has the
// loop of the built-in policies.
func PolicyLibs() map[string]string { return scripts.PolicyLibs() }

// name returns the name of the policy in events and errors.
func (p *Policy) name() string { return "policy " + p.Name }

// program returns the policy as a program, without the fields that each turn sets.
func (p *Policy) program() host.Program {
	prog := host.Program{Name: p.name(), Script: p.Script, Builtin: p.Location == tool.Builtin, Entry: entry, Modules: Modules()}
	if prog.Kind = taskKind; p.Name == "chat" {
		prog.Kind = chatKind
	}
	prog.Prepare()
	return prog
}

// placeless returns the error of a run. It removes the position in a built-in policy, which
// helps nobody, unless the error is internal.
func (p *Policy) placeless(err error) error {
	e := *value.ErrorOf(err, value.Failed)
	_, loaded := p.Script.Libs[e.Pos.File]
	ours := loaded || e.Pos.File == p.Script.Path
	if p.Location != tool.Builtin || e.Kind == value.Internal && ours {
		return err
	}
	if e.Trace = nil; ours {
		e.Pos = value.Position{}
	}
	return &e
}
