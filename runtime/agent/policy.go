package agent

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
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
		return Policy{}, tool.Errorf(tool.Invalid, "there is no policy %q%s", name, tool.DidYouMean(name, known)).
			WithHint("the policies are %s", strings.Join(known, ", "))
	}
	return Policy{Name: name, Location: tool.Builtin, Script: tool.Script{
		Name: name, Path: "policies/" + name + ".star", Source: source, Libs: PolicyLibs(),
	}}, nil
}

// PolicyLibs are the files that every policy may load: "lib/loop.star" has the
// loop of the built-in ones.
func PolicyLibs() map[string]string { return scripts.PolicyLibs() }

// plainly leaves out of an error where in a policy of our own it came up, unless
// the mistake is there: what failed was the model, or a limit.
func (p *Policy) plainly(err error) error {
	e := *tool.AsError(err, tool.Failed)
	if p.Location == tool.Builtin && e.Kind != tool.Internal {
		e.Pos, e.Trace = tool.Position{}, nil
	}
	return &e
}

// name is how the host names the policy.
func (p *Policy) name() string { return "policy " + p.Name }
