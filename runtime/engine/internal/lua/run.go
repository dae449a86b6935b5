package lua

import (
	"context"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The sizes of a Lua state. One is made for each call and each coroutine, so
// they decide what those cost.
const (
	// luaCalls is how deep functions may call each other, as in the
	// interpreter's own default.
	luaCalls = 256
	// luaValues is room for the values of some dozens of calls; it grows by
	// itself to luaMaxValues, which 64 coroutines can fill in 64 MB.
	luaValues    = 512
	luaMaxValues = 64 << 10
	luaGrow      = 2048
)

var luaOptions = lua.Options{
	CallStackSize:    luaCalls,
	RegistrySize:     luaValues,
	RegistryMaxSize:  luaMaxValues,
	RegistryGrowStep: luaGrow,
	SkipOpenLibs:     true,
}

// luaProgram is a compiled Lua file. What its top level makes is made anew for
// each call.
type program struct {
	path    string
	text    string
	proto   *lua.FunctionProto
	handler string         // among the functions that the chunk returns
	names   map[int]string // functions by the line on which they begin
	returns *tool.Type     // as declared, or nil
	library *library       // what the file mentions of it
	missing []string       // what the file mentions of Lua that is not there
}

func (p *program) Call(r *script.Run, entry string) (value.Value, error) {
	c := &call{Context: r.Ctx, r: r, program: p, limit: r.Limits.Steps}
	c.stop = r.Ctx.Err() != nil
	v, err := c.run(entry)
	for _, l := range c.loops {
		l.stop()
	}
	r.Steps = min(c.steps, c.limit)
	if err != nil || entry != "" || p.returns == nil {
		return v, err
	}
	return fitTable(*p.returns, v), nil
}

// A luaCall is one call of a Lua function. It is the context of its states, so
// that every function finds it, and because the interpreter asks its context
// before each instruction: that is where steps are counted.
type call struct {
	context.Context
	r       *script.Run
	program *program
	limit   int64
	steps   int64
	looked  int64         // the steps when the context was last asked
	stop    bool          // the script may not go on
	halted  chan struct{} // closed; what Done returns then
	loading bool          // while the top level runs

	coroutines []*lua.LState // those that have not ended
	metatables map[*tool.ObjectType]*lua.LTable
	loops      []*loop // over objects, that have not come to their end

	guards    int          // how many pcalls are around
	own       bool         // the error being raised is the script's own error(…)
	failure   *luaFailure  // the last error raised
	stoppedAt *luaFailure  // the first after the script was stopped
	cause     *value.Error // what the last failed function of a module gave
}

// luaLook is how many steps a script takes before its context is asked: a tenth
// of a millisecond or so.
const luaLook = 4096

// luaCallOf returns the call that a state, of it or of a coroutine, runs for.
func luaCallOf(L *lua.LState) *call { return L.Context().(*call) }

// Done counts a step. A closed channel makes the interpreter raise Err; it
// asks again at each instruction, so no pcall and no coroutine gets past it.
func (c *call) Done() <-chan struct{} {
	c.steps++
	if c.steps-c.looked >= luaLook {
		c.looked = c.steps
		c.stop = c.stop || c.r.Ctx.Err() != nil
	}
	if c.steps <= c.limit && !c.stop {
		return nil
	}
	if c.halted == nil {
		c.halt()
	}
	return c.halted
}

func (c *call) halt() {
	switch {
	case c.r.Fatal != nil:
	case c.r.Ctx.Err() != nil:
		c.r.Fatal = c.r.Stopped()
	default:
		c.r.Fatal = c.r.TooManySteps()
	}
	c.stop = true
	c.halted = make(chan struct{})
	close(c.halted)
}

// Err says why the script may not go on.
func (c *call) Err() error {
	if c.r.Fatal != nil {
		return c.r.Fatal
	}
	return c.Context.Err()
}

// work counts what a builtin did as steps, and stops the script where they
// are used up.
func (c *call) work(L *lua.LState, steps int) {
	c.steps += int64(steps)
	select {
	case <-c.Done():
		c.fail(L, c.r.Fatal.Message())
	default:
	}
}

func (c *call) run(entry string) (value.Value, error) {
	name := entry
	if name == "" {
		name = c.program.handler
	}
	L := c.program.library.state(c)
	c.loading = true
	exports, err := c.protected(L, L.NewFunctionFromProto(c.program.proto))
	c.loading = false
	if err != nil {
		return nil, c.failed(err)
	}
	fn, ok := exports.(*lua.LTable).RawGetString(name).(*lua.LFunction)
	if !ok {
		e := value.Errorf(value.Invalid, "there is no function %q", name)
		e.Pos = value.Position{File: c.program.path}
		return nil, e
	}
	table, err := luaArgs(L, c.r.Args)
	if err != nil {
		return nil, err
	}
	args := []lua.LValue{table}
	if entry != "" && !fn.IsG && fn.Proto.NumParameters > 1 {
		args = args[:0] // by name, as in undo(args, result)
		for _, param := range fn.Proto.DbgLocals[:fn.Proto.NumParameters] {
			args = append(args, table.RawGetString(param.Name))
		}
	}
	v, err := c.protected(L, fn, args...)
	if err != nil {
		return nil, c.failed(err)
	}
	return fromLua(v)
}

// luaArgs is the one table that a function gets which has but one parameter, as
// a handler has: its arguments by name, where
// nil and absent are the same.
func luaArgs(L *lua.LState, args *value.Dict) (*lua.LTable, error) {
	table := L.CreateTable(0, args.Len())
	for k, arg := range args.All() {
		name, _ := k.(string)
		v, err := toLua(L, arg)
		if err != nil {
			return nil, script.WithOp(err, "argument '"+name+"'")
		}
		table.RawSetString(name, v)
	}
	return table, nil
}

// protected calls a function of the script from outside. It fails also where
// the script was stopped and yet came to its end: a last pcall can do that.
func (c *call) protected(L *lua.LState, fn *lua.LFunction, args ...lua.LValue) (lua.LValue, error) {
	L.Push(luaGuard)
	L.Push(fn)
	for _, arg := range args {
		L.Push(arg)
	}
	if err := L.PCall(1+len(args), 1, nil); err != nil {
		return nil, err
	}
	v := L.Get(-1)
	L.Pop(1)
	if c.r.Fatal != nil {
		return nil, c.r.Fatal
	}
	return v, nil
}
