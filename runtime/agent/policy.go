package agent

import (
	"regexp"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

// A Policy is the script that leads an agent: it has a function
// policy(task, agent), where agent is the module of [Modules], and returns what
// agent.finish gives.
type Policy struct {
	Name     string
	Script   tool.Script
	Location tool.Location
}

// entry is the function of a policy's script.
const entry = "policy"

// Builtin finds a policy that comes with cassidy.
func Builtin(name string) (Policy, error) {
	source, ok := scripts.Policy(name)
	if !ok {
		known := scripts.Policies()
		return Policy{}, value.Errorf(value.Invalid, "there is no policy %q%s", name, value.DidYouMean(name, known)).
			WithHint("the policies are %s", strings.Join(known, ", "))
	}
	return Policy{Name: name, Location: tool.Builtin, Script: tool.Script{
		Name: name, Path: "policies/" + name + ".star", Source: source, Libs: PolicyLibs(),
	}}, nil
}

// check says whether a policy's script has the function that is run.
func (p *Policy) check() error {
	if p.Location == tool.Builtin || hasEntry.MatchString(p.Script.Source) {
		return nil
	}
	e := value.Errorf(value.Invalid, "the policy '%s' has no function %s", p.Name, entry).
		WithHint("it begins with: def %s(task, agent):", entry)
	e.Pos.File = p.Script.Path
	return e
}

var hasEntry = regexp.MustCompile(`(?m)^def[ \t]+` + entry + `[ \t]*\(`)

// PolicyLibs are the files that every policy may load: "lib/loop.star" has the
// loop of the built-in ones.
func PolicyLibs() map[string]string { return scripts.PolicyLibs() }

// name is how events and errors name the policy.
func (p *Policy) name() string { return "policy " + p.Name }

// program is the policy as it is run, but for what each turn has of its own.
func (p *Policy) program() host.Program {
	prog := host.Program{Name: p.name(), Script: p.Script, Builtin: p.Location == tool.Builtin, Entry: entry, Modules: Modules()}
	if prog.Kind = taskKind; p.Name == "chat" {
		prog.Kind = chatKind
	}
	prog.Prepare()
	return prog
}

// placeless returns the error of a run without the line of the policy at which
// it came up, if the policy is ours: that helps nobody, unless it is its fault.
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
