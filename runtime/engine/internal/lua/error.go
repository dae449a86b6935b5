package lua

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// How an error goes through the interpreter. Whatever raises it calls the
// Panic of its state; ours notes where that was and panics itself, with a
// traceback filled in. The interpreter would else write one, with a line for
// each tail call that a function has made: after a loop of tail calls that
// takes gigabytes.

// A luaFailure is an error that was raised.
type luaFailure struct {
	value  lua.LValue
	own    bool // raised by the script's own error(…) or assert(…)
	frames []frame
}

// A luaFrame is a Lua function that was running, and the line it was at.
type frame struct {
	name string
	line int
}

// The bounds of what is noted of the functions that were running: of the
// levels that are looked at, tail calls count as some.
const (
	luaMaxFrames = 20
	luaMaxLevels = 64
)

// luaPanic is the Panic of our states.
func luaPanic(L *lua.LState) {
	v := L.Get(-1)
	luaCallOf(L).note(L, v)
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: v, StackTrace: "-"})
}

// note keeps where an error was raised, unless a pcall will catch it. What a
// coroutine raises comes by once more in the one that resumed it.
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

// frames lists the functions that are running, innermost first. Behind a
// function that was tail called often, the interpreter shows only the
// outermost.
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

// fail raises an error that is a fault of the script.
func (c *call) fail(L *lua.LState, text string) {
	L.Panic = luaPanic // a coroutine begins with the interpreter's own
	L.Error(lua.LString(text), 1)
}

// raise raises what a function of a module gave. To the script it is its text.
func (c *call) raise(L *lua.LState, err error) {
	c.cause = value.ErrorOf(err, value.Internal)
	L.Panic = luaPanic
	L.Error(lua.LString(luaClean(c.cause.Message())), 0)
}

// luaLimit is the error of what would take more memory than is sensible.
func luaLimit(format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = value.LimitMemory
	return e
}

// failed turns the error of a run into one with the place in the script.
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
	switch {
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

// message returns what an error value says, and the line that it names.
func (c *call) message(v lua.LValue) (string, int) {
	switch v := v.(type) {
	case lua.LString:
		text, line := c.withoutPosition(string(v))
		return luaClean(text), line
	case *lua.LTable:
		if text, ok := v.RawGetString("message").(lua.LString); ok {
			return luaClean(string(text)), 0
		}
		val, err := fromLua(v)
		if err != nil {
			return "an error that cannot be shown: " + value.ErrorOf(err, value.Failed).Message(), 0
		}
		return value.FormatJSON(val, ""), 0
	case *lua.LFunction, *lua.LUserData, *lua.LState:
		return "an error that is a " + v.Type().String(), 0
	}
	return v.String(), 0
}

// withoutPosition takes "file:line: " off a message.
func (c *call) withoutPosition(text string) (string, int) {
	rest, ok := strings.CutPrefix(text, c.program.path+":")
	if !ok {
		return strings.TrimPrefix(text, " "), 0 // raised where no line is known
	}
	number, rest, ok := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(number)
	if !ok || err != nil {
		return text, 0
	}
	return rest, line
}

func luaClean(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// locate adds the place in the script to an error.
func (c *call) locate(e *value.Error, frames []frame, line int) {
	if e.Trace != nil {
		return // it has the place in the script that it comes from
	}
	if line == 0 && len(frames) > 0 {
		line = frames[0].line
	}
	e.Pos = value.Position{File: c.program.path, Line: line}
	for _, frame := range slices.Backward(frames) {
		e.Trace = append(e.Trace, fmt.Sprintf("%s:%d: in %s", c.program.path, frame.line, frame.name))
	}
}

// hint says what to write instead of what the sandbox does not have, where the
// line that failed names such a thing.
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

// luaMissing says what to write for a name of Lua that scripts do not have.
func luaMissing(name string) string {
	switch name {
	case "io", "dofile", "loadfile":
		return "there is no " + name + ": read files with fs.read(path) and write them with fs.write(path, content)"
	case "os", "package":
		return "there is no " + name + ": scripts have fs, env, time and shell instead"
	case "require", "module", "load", "loadstring":
		return "there is no " + name + ": a Lua tool is one file"
	case "debug", "collectgarbage", "newproxy", "setfenv", "getfenv":
		return "there is no " + name + " in the sandbox"
	}
	return ""
}
