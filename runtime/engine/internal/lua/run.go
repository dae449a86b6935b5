package lua

import (
	"context"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The sizes of a Lua state. Each call and each coroutine has one, so these sizes decide
// their cost.
const (
	// luaCalls is the depth of calls; it is the interpreter's default.
	luaCalls = 256
	// luaValues is the initial capacity, enough for some dozens of calls. It grows up
	// to luaMaxValues: with 64 coroutines that is 64 MB.
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

// program is a compiled Lua file. Its top level runs anew for each call.
type program struct {
	path    string
	text    string
	proto   *lua.FunctionProto
	handler string         // one of the functions that the chunk returns
	names   map[int]string // functions by their first line
	returns *tool.Type     // the declared type, or nil
	library *library       // the part that the file mentions
	missing []string       // the mentioned names of Lua that scripts do not have
}

func (p *program) Call(r *script.Run, entry string) (value.Value, error) {
	c := &call{Context: r.Ctx, r: r, program: p, limit: r.Limits.Steps}
	c.stop = r.Ctx.Err() != nil
	if r.TraceCalls {
		r.Position = func() value.Position { return value.Position{File: p.path, Line: c.line()} }
	}
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

// A call is one call of a Lua function. It is the context of its states: every function
// can find it, and the interpreter calls its Done before each instruction, which counts
// steps.
type call struct {
	context.Context
	r       *script.Run
	program *program
	limit   int64
	steps   int64
	state   *lua.LState   // of the main thread
	checked int64         // the steps at the last check of the context
	stop    bool          // whether the script must stop
	halted  chan struct{} // closed when the script stops; then Done returns it
	loading bool          // while the top level runs

	coroutines []*lua.LState // that have not ended
	metatables map[*tool.ObjectType]*lua.LTable
	numbers    map[lua.LValue]int // of values in texts, see text
	loops      []*loop            // over objects, that have not ended

	guards    int          // how many pcalls are active
	own       bool         // whether error(…) of the script raises the current error
	failure   *luaFailure  // the last error raised
	stoppedAt *luaFailure  // the first failure after the script was stopped
	cause     *value.Error // the error of the last failed function of a module
}

// luaCheckSteps is how many steps a script takes between checks of its context: about a tenth
// of a millisecond.
const luaCheckSteps = 4096

// luaCallOf returns the call of a state or coroutine.
func luaCallOf(L *lua.LState) *call { return L.Context().(*call) }

// Done counts a step. If it returns a closed channel the interpreter raises Err. It
// does so for each instruction, so neither pcall nor a coroutine can continue.
func (c *call) Done() <-chan struct{} {
	c.steps++
	if c.r.Lines != nil {
		c.r.Lines.Began(c.program.path, c.line())
	}
	if c.r.Cover != nil {
		c.r.Cover.Add(c.program.path, c.line())
	}
	if c.steps-c.checked >= luaCheckSteps {
		c.checked = c.steps
		c.r.Lines.Check()
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

// line returns the line of the innermost function of the script that runs, or 0.
func (c *call) line() int {
	if c.state == nil {
		return 0
	}
	L := c.state
	if running := L.G.CurrentThread; running != nil {
		L = running
	}
	for level := 0; level < luaMaxLevels; level++ {
		debug, ok := L.GetStack(level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("l", debug, lua.LNil); err == nil && debug.CurrentLine > 0 {
			return debug.CurrentLine
		}
	}
	return 0
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

// Err returns why the script must stop.
func (c *call) Err() error {
	if c.r.Fatal != nil {
		return c.r.Fatal
	}
	return c.Context.Err()
}

// work counts the work of a builtin as steps, and stops the script if they are used up.
func (c *call) work(L *lua.LState, steps int) {
	c.steps += int64(steps)
	if c.r.Lines != nil {
		c.r.Lines.Add(steps)
	}
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
	c.state = L
	c.loading = true
	exports, err := c.protected(L, L.NewFunctionFromProto(c.program.proto))
	c.loading = false
	if err != nil {
		return nil, c.failed(err)
	}
	fn, ok := exports.(*lua.LTable).RawGetString(name).(*lua.LFunction)
	if !ok {
		e := value.Errorf(value.Invalid, "function not found: %q", name)
		e.Pos = value.Position{File: c.program.path}
		return nil, e
	}
	table, err := luaArgs(L, c.r.Args)
	if err != nil {
		return nil, err
	}
	args := []lua.LValue{table}
	if entry != "" && !fn.IsG && fn.Proto.NumParameters > 1 {
		args = args[:0] // by parameter name, as in undo(args, result)
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

// luaArgs returns the argument of a function with one parameter, such as a handler: a
// table of the named arguments. nil and absent are the same.
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

// protected calls a function of the script from Go. It also fails if the script was
// stopped but returned nevertheless, which a last pcall can do.
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
