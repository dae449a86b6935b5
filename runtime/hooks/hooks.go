// Package hooks runs the functions of a user that watch an agent: before and after its calls of
// tools, before requests to its model, before it stops, and when its conversation is compacted.
//
// The functions are in Starlark files, the [File]s of a [Set]. They can only compute. They can
// refuse, change arguments and add notes for the model, and cannot allow anything: what they
// change is checked and approved as if the model had written it. A function that fails refuses.
//
// An agent has hooks in its options, see runtime/agent. In Go, a host.Middleware can do the same
// as before_tool and after_tool. [AddNote] adds a note for the model.
package hooks

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The names of the functions.
const (
	beforeTool = "before_tool"
	afterTool  = "after_tool"
	beforeAsk  = "before_ask"
	onStop     = "on_stop"
	onCompact  = "on_compact"
)

// A Function is a function that a file can define.
type Function struct {
	Name   string
	Params []string // which are passed by name
	Keys   []string // of the dict that it can return
}

// Functions returns the functions that a file can define.
func Functions() []Function {
	return []Function{
		{beforeTool, []string{"call"}, []string{keyDeny, keyEdit, keyNote}},
		{afterTool, []string{"call", "result"}, []string{keyDeny, keyNote, keyResult}},
		{beforeAsk, []string{"request"}, []string{keyDeny, keyNote}},
		{onStop, []string{"run"}, []string{keyDeny}},
		{onCompact, []string{"summary"}, []string{keyDeny, keyEdit, keyNote}},
	}
}

// names returns the names of the functions.
func names() []string { return value.Map(Functions(), func(f Function) string { return f.Name }) }

// find returns a function by its name, or the zero Function.
func find(name string) Function {
	for _, f := range Functions() {
		if f.Name == name {
			return f
		}
	}
	return Function{}
}

// params returns the parameters of a function, or "" for an unknown one.
func params(name string) string { return strings.Join(find(name).Params, ", ") }

// Expected describes what a function may return.
func (f Function) Expected() string {
	return `None or a dict with "` + strings.Join(f.Keys, `" or "`) + `"`
}

// A File is a Starlark file with some of the functions before_tool(call),
// after_tool(call, result), before_ask(request), on_stop(run) and on_compact(summary). It loads
// no other files. It is recorded with the run of an agent, so that a resumed run has the same
// hooks.
type File struct {
	Path   string `json:"path"` // in messages
	Source string `json:"source"`
}

// A Set is the hooks of an agent. It is safe for concurrent use. The nil Set has no functions.
type Set struct {
	host  *host.Host
	files []file
}

// A file is a file with the functions that it defines.
type file struct {
	script  tool.Script
	defines []string
}

// New returns the hooks in files, which are called in this order. Its functions run in the sandbox
// of the host. New fails with kind Invalid for a file that defines none of the functions, one of
// them with other parameters, or a misspelled one.
func New(h *host.Host, files []File) (*Set, error) {
	if err := host.Operate(h).Valid(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, nil
	}
	s := &Set{host: h}
	for _, f := range files {
		one := file{script: tool.Script{Name: "hooks", Path: f.Path, Source: f.Source}}
		one.script.Hash = one.script.Sum()
		var err error
		if one.defines, err = defined(f); err != nil {
			e := value.ErrorOf(err, value.Invalid)
			e.Pos.File = f.Path
			return nil, e
		}
		s.files = append(s.files, one)
	}
	return s, nil
}

// Check fails if the script of a file cannot be compiled, or its top level fails.
func (s *Set) Check(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for i := range s.files {
		f := &s.files[i]
		if err := s.host.Check(ctx, &host.Program{Name: "hooks", Script: f.script}); err != nil {
			return err
		}
	}
	return nil
}

// header finds the definitions of functions whose names do not begin with _, and assigned the names
// to which the file assigns something.
var (
	header = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^def[ \t]+([A-Za-z][A-Za-z0-9_]*)[ \t]*\(([^)]*)\)`)
	})
	assigned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^([A-Za-z][A-Za-z0-9_]*)[ \t]*=(?:[^=]|$)`)
	})
)

// defined returns which of the functions a file defines. A function that is not a hook must be
// private, so that a misspelled hook is not taken for another function.
func defined(f File) (found []string, err error) {
	for _, m := range assigned().FindAllStringSubmatch(f.Source, -1) {
		if want := params(m[1]); want != "" {
			return nil, value.Errorf(value.Invalid, "the hook %s is a variable: expected a function", m[1]).WithHint("write: def %s(%s):", m[1], want)
		}
	}
	for _, m := range header().FindAllStringSubmatch(f.Source, -1) {
		name := m[1]
		want := params(name)
		if want == "" {
			return nil, value.Errorf(value.Invalid, "unknown hook %q%s", name, value.DidYouMean(name, names())).
				WithHint("the hooks are %s; if the function is not a hook, begin its name with _", strings.Join(names(), ", "))
		}
		if got := parameters(m[2]); got != want {
			return nil, value.Errorf(value.Invalid, "the hook %s has the wrong parameters (%s)", name, got).WithHint("write: def %s(%s):", name, want)
		}
		found = append(found, name)
	}
	if len(found) == 0 {
		return nil, value.Errorf(value.Invalid, "the file defines no hook").WithHint("define a function such as: def %s(%s):", beforeTool, params(beforeTool))
	}
	return found, nil
}

// parameters returns the names in a list of parameters.
func parameters(list string) string {
	var found []string
	for _, p := range strings.Split(list, ",") {
		p, _, _ = strings.Cut(p, "=")
		p, _, _ = strings.Cut(p, ":")
		if p = strings.TrimSpace(p); p != "" {
			found = append(found, p)
		}
	}
	return strings.Join(found, ", ")
}

// has reports whether a file defines a function.
func (s *Set) has(name string) bool {
	return s != nil && slices.ContainsFunc(s.files, func(f file) bool { return slices.Contains(f.defines, name) })
}

// Asks reports whether a file defines before_ask.
func (s *Set) Asks() bool { return s.has(beforeAsk) }

// Stops reports whether a file defines on_stop.
func (s *Set) Stops() bool { return s.has(onStop) }

// maxTime bounds one call of a function, with the start of a worker. Its other limits are those of
// a call: [tool.DefaultLimits].
const maxTime = 10 * time.Second

// each calls the function of each file that defines it, until one fails, refuses, or use returns
// an error. use gets what the function returned.
func (s *Set) each(ctx context.Context, name string, args func() *value.Dict, use func(f *file, v *verdict) error) error {
	if s == nil {
		return nil
	}
	for i := range s.files {
		f := &s.files[i]
		if !slices.Contains(f.defines, name) {
			continue
		}
		v, err := s.call(ctx, f, name, args())
		if err != nil {
			return err
		}
		if err := use(f, v); err != nil {
			return err
		}
	}
	return nil
}

// call calls a function of a file. An error is of kind Denied, or that of ctx.
func (s *Set) call(ctx context.Context, f *file, name string, args *value.Dict) (*verdict, error) {
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	out, err := host.Operate(s.host).Compute(limited, f.script, tool.Call{Tool: f.script.Name, Entry: name, Args: args, Caller: tool.ByScript})
	if ctx.Err() != nil {
		return nil, value.AsError(context.Cause(ctx), value.Canceled)
	}
	var v *verdict
	if err == nil {
		v, err = readVerdict(out, find(name))
	}
	if err != nil {
		return nil, f.failed(ctx, name, err)
	}
	return v, nil
}

// failed reports a function that failed, and returns the error, with which it refuses.
func (f *file) failed(ctx context.Context, name string, err error) error {
	e := value.ErrorOf(err, value.Failed)
	where := f.script.Path
	if e.Pos.Line > 0 {
		where = e.Pos.String()
	}
	host.Emit(ctx, tool.Hooked{Hook: name, Action: "failed", Path: f.script.Path, Text: where + ": " + e.Message()})
	denied := value.Errorf(value.Denied, "the hook %s in %s failed: %s", name, where, e.Message())
	if name == beforeTool || name == afterTool { // a model reads it
		return denied.WithHint("do not repeat the call: the user has to repair the hook")
	}
	return denied.WithHint("repair the function, or run without hooks: --no-hooks")
}

// refused reports that a function refused, and returns the error. what is refused, such as "the call".
func (f *file) refused(ctx context.Context, name, target, what, why string) error {
	host.Emit(ctx, tool.Hooked{Hook: name, Action: "denied", Path: f.script.Path, Target: target, Text: why})
	return value.Errorf(value.Denied, "%s was refused by the hook %s: %s", what, name, why)
}

// noted reports that a function added a note.
func (f *file) noted(ctx context.Context, name, target, note string) {
	host.Emit(ctx, tool.Hooked{Hook: name, Action: "noted", Path: f.script.Path, Target: target, Text: note})
}
