package cassidy

import (
	"cmp"
	"maps"
	"time"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/shell"
)

// The types with which a program describes functions, rules and limits. Those
// packages document them.
type (
	// Func is one function of a [Module]; see [tool.Func].
	Func = tool.Func
	// EffectKind is what may happen when a function is called; see [tool.EffectKind].
	EffectKind = tool.EffectKind
	// Risk says whether a function asks for approval; see [tool.Risk].
	Risk = tool.Risk
	// Effect is one request of a script to a function; see [tool.Effect].
	Effect = tool.Effect
	// Grant is what a function gets for one effect; see [tool.Grant].
	Grant = tool.Grant
	// Outcome is what came of an effect or a call; see [tool.Outcome].
	Outcome = tool.Outcome
	// Param is a parameter of a function or a tool; see [tool.Param].
	Param = tool.Param
	// Type is the type of a parameter or a result; see [tool.Type].
	Type = tool.Type
	// Verdict is what a [Rule] decides; see [tool.Verdict].
	Verdict = tool.Verdict
	// CommandRule says how a command may run; see [shell.Rule].
	CommandRule = shell.Rule
)

// The kinds of functions; see [tool.EffectKind]. A [Func] must have one.
const (
	Pure       = tool.Pure       // computes, in the script's own process
	Recorded   = tool.Recorded   // is never the same, such as a time
	Read       = tool.Read       // reads; can be repeated
	Write      = tool.Write      // changes the project; staged, and can be undone
	External   = tool.External   // acts beyond the project; at most once
	Repeatable = tool.Repeatable // reaches beyond the project; can be repeated
	Notice     = tool.Notice     // reports something to the user
)

// Whether a function asks for approval before it is used. By default Write and
// External do, and the other kinds do not.
const (
	RiskDefault = tool.RiskDefault
	RiskSafe    = tool.RiskSafe
	RiskAsk     = tool.RiskAsk
)

// The verdicts of rules. Of the rules about a capability Deny wins over Ask, and
// Ask over Allow.
const (
	Allow = tool.Allow
	Ask   = tool.Ask
	Deny  = tool.Deny
)

// The names of types, for [Type].Name.
const (
	TypeAny     = tool.TypeAny
	TypeString  = tool.TypeString
	TypeNumber  = tool.TypeNumber
	TypeInteger = tool.TypeInteger
	TypeBoolean = tool.TypeBoolean
	TypeArray   = tool.TypeArray
	TypeObject  = tool.TypeObject
	TypeMedia   = tool.TypeMedia
)

// maxTimeout returns the smaller of the maxima of the program and of the user's
// config; 0 means that neither sets one.
func maxTimeout(o *Options, c *config.Config) time.Duration {
	return min(cmp.Or(o.MaxTimeout, c.Limits.Timeout), cmp.Or(c.Limits.Timeout, o.MaxTimeout))
}

// commandRules returns the rules for commands of the user's config and of the
// program. For the same name those of the program win.
func commandRules(o *Options, c *config.Config) (map[string]CommandRule, error) {
	all := map[string]CommandRule{}
	if c.Commands != nil {
		var err error
		if all, err = shell.ParseRules(c.Commands); err != nil {
			return nil, err
		}
	}
	maps.Copy(all, o.Commands)
	return all, nil
}
