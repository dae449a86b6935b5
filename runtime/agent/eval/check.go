package eval

import (
	"context"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A checker checks what came of one case.
type checker struct {
	run   *run
	ctx   context.Context
	c     *Case
	b     *Bench
	reply *agent.Reply
	used  usage // of the judge
}

// all checks everything that the task asks for. Commands and the judge, which take time and money,
// are not run if the run has no answer or another check failed.
func (k *checker) all() []CheckResult {
	results := make([]CheckResult, len(k.c.Checks))
	sound := k.reply.Reason == agent.ReasonFinal
	for i, c := range k.c.Checks {
		results[i] = CheckResult{Check: c.String(), NotRun: true}
		if c.Command == nil && c.Judge == "" {
			results[i] = result(c, k.check(&c))
			sound = sound && results[i].Success
		}
	}
	for i, c := range k.c.Checks {
		if sound && results[i].NotRun {
			results[i] = result(c, k.check(&c))
			sound = results[i].Success
		}
	}
	return results
}

func result(c Check, why string) CheckResult {
	return CheckResult{Check: c.String(), Success: why == "", Why: why}
}

// check returns why a check fails, or "".
func (k *checker) check(c *Check) string {
	switch {
	case c.Answer != nil:
		return c.Answer.problem("the answer", k.reply.Text)
	case c.File != nil:
		return k.file(c.File)
	case c.Command != nil:
		return k.command(c.Command)
	case c.Call != nil:
		return k.checkCall(c.Call)
	case c.NotCalled != "":
		return k.notCalled(c.NotCalled)
	}
	return k.judged(c.Judge)
}

// maxArguments is how much of the arguments of a call is shown, in characters.
const maxArguments = 200

// maxFile is the longest file that a check reads, in bytes.
const maxFile = 16 << 20

func (k *checker) file(c *FileCheck) string {
	info, err := fs.Stat(k.b.Files, c.Path)
	switch {
	case err == nil && !c.Exists:
		return "the file " + c.Path + " exists"
	case !c.Exists:
		return ""
	case err != nil:
		return "the file " + c.Path + " does not exist"
	case !c.any():
		return ""
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return "the file " + c.Path + " is not a regular file, or is larger than 16 MB"
	}
	text, err := fs.ReadFile(k.b.Files, c.Path)
	if err != nil {
		return "read " + c.Path + ": " + value.PathFailure(err).Error()
	}
	return c.problem("the file "+c.Path, string(text))
}

func (k *checker) command(c *CommandCheck) string {
	if k.b.Command == nil {
		return "the command " + quote(c.Line) + " was not run: commands are not available"
	}
	ran, err := k.b.Command(k.ctx, c.Line)
	if err != nil {
		return "the command " + quote(c.Line) + " failed: " + value.ErrorOf(err, value.Failed).Message()
	}
	if ran.ExitCode != c.ExitCode {
		return "the command " + quote(c.Line) + " ended with the exit code " + strconv.Itoa(ran.ExitCode) + ", not " + strconv.Itoa(c.ExitCode) + ": " + quote(strings.TrimSpace(ran.Stdout+ran.Stderr))
	}
	return c.problem("the output of "+quote(c.Line), ran.Stdout)
}

// checkCall returns why none of the calls is the one that is checked, or "".
func (k *checker) checkCall(c *CallCheck) string {
	why := c.Tool + " was not called"
	for _, call := range k.reply.Calls {
		switch {
		case !sameTool(call.Action, c.Tool):
		case !call.Success:
			why = c.Tool + " failed: " + call.Error
		case !hasArguments(call.Input, c.Arguments):
			why = c.Tool + " was called with other arguments: " + prose.OneLine(call.Input.String())
		default:
			about := "the result of " + c.Tool + " with the arguments " + value.Clean(prose.OneLine(call.Input.String()), maxArguments)
			if why = c.problem(about, resultText(call.Result)); why == "" {
				return ""
			}
		}
	}
	return why
}

func (k *checker) notCalled(name string) string {
	for _, call := range k.reply.Calls {
		if sameTool(call.Action, name) {
			return name + " was called with the arguments " + prose.OneLine(call.Input.String())
		}
	}
	return ""
}

// hasArguments reports whether a call has these arguments, among others.
func hasArguments(input, want *value.Dict) bool {
	if want == nil {
		return true
	}
	for k, v := range want.All() {
		name, _ := k.(string)
		if got, ok := input.Get(name); !ok || !value.EqualJSON(got, v) {
			return false
		}
	}
	return true
}

// resultText returns the result of a call as a text.
func resultText(v value.Value) string {
	if text, ok := v.(string); ok {
		return text
	}
	return value.FormatJSON(v, "")
}
