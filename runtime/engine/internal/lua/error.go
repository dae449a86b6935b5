package lua

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Errors in the interpreter: whatever raises one calls the Panic of its state. luaPanic
// records the position and panics itself, with a traceback filled in. Otherwise the
// interpreter would write one with a line for each tail call of a function, which takes
// gigabytes after a loop of tail calls.

// A luaFailure is a raised error.
type luaFailure struct {
	value  lua.LValue
	own    bool // raised by error(…) or assert(…) of the script
	frames []frame
}

// A frame is a running Lua function and its current line.
type frame struct {
	name string
	line int
}

// The limits of a recorded call stack: its frames, and the levels that are searched for
// them. Each tail call counts as a level.
const (
	luaMaxFrames = 20
	luaMaxLevels = 64
)

// luaPanic is the Panic of all states.
func luaPanic(L *lua.LState) {
	v := L.Get(-1)
	luaCallOf(L).note(L, v)
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: v, StackTrace: "-"})
}

// note records where an error was raised, unless a pcall will catch it. An error of a
// coroutine is raised again in the one that resumed it.
func (c *call) note(L *lua.LState, v lua.LValue) {
	own := c.own
	c.own = false
	switch {
	case c.halted != nil:
		if c.stoppedAt == nil {
			c.stoppedAt = &luaFailure{value: v, frames: c.frames(L)}
		}
	case c.guards > 0 || !own && c.failure != nil && c.failure.value == v:
	default:
		c.failure = &luaFailure{value: v, own: own, frames: c.frames(L)}
	}
}

// frames lists the running functions, innermost first. After a function that was tail
// called often, the interpreter shows only the outermost one.
func (c *call) frames(L *lua.LState) []frame {
	var frames []frame
	for level := 0; level < luaMaxLevels && len(frames) < luaMaxFrames; level++ {
		debug, ok := L.GetStack(level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("Sln", debug, lua.LNil); err != nil || debug.Source == "" {
			continue // a builtin
		}
		name, ok := c.program.names[debug.LineDefined]
		if !ok {
			name = debug.Name
		}
		if name == "" || name == "?" || strings.HasPrefix(name, "<") {
			name = "a function of line " + strconv.Itoa(debug.LineDefined)
		}
		frames = append(frames, frame{name, debug.CurrentLine})
		if debug.What == "main" {
			break
		}
	}
	return frames
}

// fail raises an error that is the script's fault.
func (c *call) fail(L *lua.LState, text string) {
	L.Panic = luaPanic // a coroutine starts with the interpreter's Panic
	L.Error(lua.LString(text), 1)
}

// raise raises the error of a module's function. The script sees its text.
func (c *call) raise(L *lua.LState, err error) {
	c.cause = value.ErrorOf(err, value.Internal)
	L.Panic = luaPanic
	L.Error(lua.LString(luaClean(c.cause.Message())), 0)
}

// failed adds the position in the script to the error of a run.
func (c *call) failed(err error) error {
	if c.r.Fatal != nil {
		e := *c.r.Fatal
		if c.stoppedAt != nil {
			c.locate(&e, c.stoppedAt.frames, 0)
		}
		return &e
	}
	var raised *lua.ApiError
	if !errors.As(err, &raised) {
		return value.Errorf(value.Internal, "%w", err)
	}
	at := &luaFailure{}
	if c.failure != nil && c.failure.value == raised.Object {
		at = c.failure
	}
	text, line := c.message(raised.Object)
	e := value.Error{Kind: value.Internal, Err: errors.New(text)}
	reported := failureOf(raised.Object)
	switch {
	case reported != nil:
		e = *reported
	case c.cause != nil && text == luaClean(c.cause.Message()):
		e = *c.cause
	case at.own:
		e.Kind = value.Failed
	default:
		e.Hint = c.hint(line)
	}
	c.locate(&e, at.frames, line)
	return &e
}

// failureOf returns the error that a script reports with error({message = …, type = …, hint = …}), or
// nil for an error value without a message.
func failureOf(v lua.LValue) *value.Error {
	table, ok := v.(*lua.LTable)
	if !ok {
		return nil
	}
	message, ok := table.RawGetString("message").(lua.LString)
	if !ok {
		return nil
	}
	errorType, hint := "", ""
	if v := table.RawGetString("type"); v != lua.LNil {
		errorType = luaClean(v.String())
	}
	if v, ok := table.RawGetString("hint").(lua.LString); ok {
		hint = luaClean(string(v))
	}
	return script.NewFailure(luaClean(string(message)), errorType, hint)
}

// details returns the type and the hint of a caught error, or nil for an error that is not from a
// function of a module: an error value of the script has its own.
func (c *call) details(L *lua.LState, v lua.LValue) lua.LValue {
	text, ok := v.(lua.LString)
	if !ok || c.cause == nil || string(text) != luaClean(c.cause.Message()) {
		return lua.LNil
	}
	caught := script.Catch(c.cause)
	table := L.CreateTable(0, 2)
	table.RawSetString("error_type", lua.LString(caught.Type))
	table.RawSetString("hint", lua.LString(luaClean(caught.Hint)))
	return table
}

// message returns the text of an error value, and the line in it.
func (c *call) message(v lua.LValue) (string, int) {
	switch v := v.(type) {
	case lua.LString:
		text, line := c.withoutPosition(string(v))
		return luaClean(text), line
	case *lua.LTable:
		val, err := fromLua(v)
		if err != nil {
			return "the error value cannot be displayed: " + value.ErrorOf(err, value.Failed).Message(), 0
		}
		return value.FormatJSON(val, ""), 0
	case *lua.LFunction, *lua.LUserData, *lua.LState:
		return "the error value is a " + v.Type().String(), 0
	}
	return v.String(), 0
}

// withoutPosition removes "file:line: " from a message.
func (c *call) withoutPosition(text string) (string, int) {
	rest, ok := strings.CutPrefix(text, c.program.path+":")
	if !ok {
		return strings.TrimPrefix(text, " "), 0 // raised without a known line
	}
	number, rest, ok := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(number)
	if !ok || err != nil {
		return text, 0
	}
	return rest, line
}

func luaClean(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// locate adds the position in the script to an error.
func (c *call) locate(e *value.Error, frames []frame, line int) {
	if e.Trace != nil {
		return // it has its position in the script
	}
	if line == 0 && len(frames) > 0 {
		line = frames[0].line
	}
	e.Pos = value.Position{File: c.program.path, Line: line}
	for _, frame := range slices.Backward(frames) {
		e.Trace = append(e.Trace, fmt.Sprintf("%s:%d: in %s", c.program.path, frame.line, frame.name))
	}
}

// hint returns the replacement for a Lua feature that the sandbox does not have, if the
// failed line uses one.
func (c *call) hint(line int) string {
	words := strings.FieldsFunc(luaLine(c.program.text, line), func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z')
	})
	for _, word := range words {
		if slices.Contains(c.program.missing, word) {
			return luaMissing(word)
		}
	}
	return ""
}

// luaMissing returns the replacement for a Lua name that scripts do not have.
func luaMissing(name string) string {
	switch name {
	case "io", "dofile", "loadfile":
		return name + " is not available: read files with fs.read(path) and write them with fs.write(path, content)"
	case "os", "package":
		return name + " is not available: use fs, env, time or shell"
	case "require", "module", "load", "loadstring":
		return name + " is not available: a Lua tool is one file"
	case "debug", "collectgarbage", "newproxy", "setfenv", "getfenv":
		return name + " is not available in the sandbox"
	}
	return ""
}
