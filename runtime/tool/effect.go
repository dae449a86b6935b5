package tool

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Effect is a call of a function of a [Module] by a script, at a step of the run.
type Effect struct {
	Func     string      // "fs.read"
	Args     *value.Dict // by parameter name
	StepPath StepPath
	Self     Object // the object if it is a method, or nil
	// Pos is the position of the call in the script, if Trace of its call has
	// [trace.Calls]. The column is 0 if the language does not record it.
	Pos value.Position
}

// A StepPath is the position of a step in its run: {3} is the third effect of the
// root script, {3, 1} the first effect of the tool that the third one called.
type StepPath []int

// String returns the path as it is written in records: "3.1".
func (p StepPath) String() string {
	var b strings.Builder
	for i, n := range p {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// Child returns the path of the n-th effect inside this step, counted from 1.
func (p StepPath) Child(n int) StepPath {
	return append(p[:len(p):len(p)], n)
}

// An Outcome is the result of an effect or a call that did not fail.
type Outcome struct {
	Value value.Value
	Undo  *Effect // the effect that undoes it, or nil
	// Names returns paths of the project that the value tells as names of files and folders, but not as a list
	// of paths. It is not recorded, and nil for none.
	Names func() []string
	Usage Usage
	Lines []trace.Line // if Trace of the call has [trace.Lines], sorted by file and line
}

// Usage is what a call used.
type Usage struct {
	Steps   int64         `dict:"steps"`   // of the script's interpreter
	Effects int           `dict:"effects"` // the number of effects that it asked for
	Wall    time.Duration `dict:"wall_ms"` // from start to end
}

// An Effector executes effects. It is the only way from a script to files, processes and
// the network: every gate is an Effector around another one.
type Effector func(ctx context.Context, e Effect) (Outcome, error)

// A Module is a named group of functions that scripts can use, as in fs.read.
// The functions of the module without a name are called by theirs alone.
type Module struct {
	Name   string
	Doc    string
	Funcs  []Func
	Consts []Const
	// Objects are the types of the objects that the functions return.
	Objects []*ObjectType
}

// A Const is a value that scripts can use by its name, as in math.pi.
type Const struct {
	Name  string
	Doc   string
	Value value.Value
}

// A Func is a function that scripts can use, in every language. Name, Kind and Do are
// required.
type Func struct {
	Name    string
	Doc     string // what it does; the first sentence is its summary
	Params  []Param
	Returns string // a description of the result
	// Result is the type of each result, with all keys of a dict, for checks of scripts. Nil is unknown.
	Result *Type
	Kind   EffectKind
	// Target returns the capabilities that a call with these arguments needs.
	// Nil means none.
	Target func(args *value.Dict) ([]Capability, error)
	// Requests are the names of the capabilities of effects that Do requests by [Grant.Do], for
	// checks of scripts. They grant nothing.
	Requests []string
	// Exact returns a capability for exactly what a call with these arguments does, which a rule can
	// allow instead of those of Target with the same name; see [Verdict.ParseCapability]. ok is false if there is none. Nil means
	// that Target is exact.
	Exact func(args *value.Dict) (c Capability, ok bool)
	// ReadsOnly reports whether a call with these arguments changes nothing, so that there is
	// nothing to undo. Nil means that the Kind says so.
	ReadsOnly func(args *value.Dict) bool
	// Untrusted reports whether a call with these arguments may return text that others have
	// written, besides what its capabilities say. Nil means that it does not.
	Untrusted func(args *value.Dict) bool
	// Risk decides whether the function asks for approval before it is executed; see
	// [Func.Asks]. RiskDefault and RiskSafe apply only to a function whose Target returns
	// use capabilities; any other is granted by the tool's needs. An approval is valid for
	// the function, with the same capabilities, for the rest of the call of the tool.
	// Nobody is asked if a person made the call, if the full call was approved, or if a
	// rule allows the capabilities.
	Risk Risk
	// Do executes it. It may be called concurrently. The arguments are complete and of the right types. The Value
	// of the outcome must be a [value.Value]: [value.FromGo] encodes any other. An error without
	// a kind is of kind Failed, a panic is one of kind Internal.
	Do func(ctx context.Context, e Effect, g Grant) (Outcome, error)
	// Prepare is called before Do, with its context, and before the host records that the effect begins. What it
	// does, such as starting a server, can be repeated, so a run that is interrupted then asks nobody. If it fails,
	// the effect was not begun. Nil prepares nothing.
	Prepare func(ctx context.Context, e Effect) error
	// Rest is the name of an argument that collects, in a dict, the named arguments that
	// are not parameters. "" refuses them.
	Rest string
	// Mode is [ModePlain] for an ordinary function.
	Mode Mode
	// Callbacks says that the arguments of an effect may contain functions of the script, if that
	// is in Starlark. It is for cassidy's own functions, such as those of package scripttest.
	Callbacks bool
	// Reported returns the Value of an outcome of which a person has reported the result, after the run was
	// interrupted in the effect. It fails if that cannot be its result. Nil returns the result itself.
	Reported func(result value.Value) (value.Value, error)
	// Again is called instead of Do if the outcome is in the record of a run, with the
	// context that Do would get. It restores the state that Do keeps beside the outcome.
	// Nil means that Do keeps none.
	Again func(ctx context.Context, e Effect, out Outcome, failure error) error
	// Resumes reports that Do finds out itself what an interrupted try of the same effect
	// has done, and continues it. That it begins, and its outcome, are durable at once.
	Resumes bool
}

// A Mode is a way in which scripts or the host call a function.
type Mode uint8

const (
	// ModePlain: scripts call it with values.
	ModePlain Mode = iota
	// ModeVariadic: a method whose positional arguments are the items of its first
	// parameter, a list. The others are given by name:
	// t.sort("a", "b", descending = True).
	ModeVariadic
	// ModeObjects: a pure function that takes objects and functions of the script as they
	// are, as all methods of objects do. Any other function gets their plain values.
	ModeObjects
	// ModeInternal: the host or the engine calls it, and scripts cannot.
	ModeInternal
	// ModeCalls: it only calls tools, as tools.call_all does. The effects of these calls
	// are recorded at steps inside its own, so it can be executed again after a crash.
	ModeCalls
	// ModeOther is ModeCalls for the one function of a module that is called for every
	// name that the module does not have: tools.slug(x = 1) is
	// tools.call("slug", x = 1), where tools.call is that function. The name is its
	// first argument.
	ModeOther
)

// MakesCalls reports whether the function only calls tools.
func (f *Func) MakesCalls() bool { return f.Mode == ModeCalls || f.Mode == ModeOther }

// A Risk decides whether a function asks for approval before it is executed.
type Risk uint8

const (
	RiskDefault Risk = iota // as its EffectKind: Write and External ask
	RiskSafe                // it does not ask
	RiskAsk                 // it asks
)

// Asks reports whether the function asks for approval: as its Risk decides, and by default
// if its kind is Write or External.
func (f *Func) Asks() bool {
	return f.Risk == RiskAsk || f.Risk == RiskDefault && (f.Kind == Write || f.Kind == External)
}

// An EffectKind classifies what a function does. It decides what is recorded of a call and
// whether the call may be repeated. The zero value is invalid: each Func sets its kind.
type EffectKind uint8

const (
	_           EffectKind = iota
	Pure                   // computes, in the script's own process
	Recorded               // asks for something that is never the same: a time, a seed
	Read                   // reads the project
	Write                  // changes the project; staged, and can be undone
	External               // acts beyond the project; at most once
	Repeatable             // reaches beyond the project, and may be repeated
	Notice                 // reports something to the user; changes nothing
	effectKinds            // the bound of valid kinds; a new kind comes before it
)

// LastEffectKind is the last valid EffectKind: the bound for decoders.
const LastEffectKind = effectKinds - 1

// Valid reports whether k is one of the kinds.
func (k EffectKind) Valid() bool { return k > 0 && k <= LastEffectKind }

// String returns the kind's name, as in "external".
func (k EffectKind) String() string {
	names := [...]string{"invalid", "pure", "recorded", "read", "write", "external", "repeatable", "notice"}
	if k.Valid() {
		return names[k]
	}
	return names[0]
}

// CheckKinds returns an error of kind Invalid if a function of the module, or of its
// objects, has no valid Kind or Risk. A Pure function cannot ask for approval, since it runs in
// the script's own process, where nothing checks it. The functions of objects must be Pure.
func (m *Module) CheckKinds() error {
	for i := range m.Funcs {
		f, name := &m.Funcs[i], m.Funcs[i].Name
		if m.Name != "" {
			name = m.Name + "." + name
		}
		if f.Risk > RiskAsk || f.Risk == RiskAsk && f.Kind == Pure {
			return value.Errorf(value.Invalid, "the function %s has an invalid Risk", name).
				WithHint("set its Risk to tool.RiskSafe or, if its Kind is not Pure, to tool.RiskAsk")
		}
		if !f.Kind.Valid() {
			return value.Errorf(value.Invalid, "the function %s has an invalid Kind", name).
				WithHint("set its Kind to one of tool.Pure, tool.Recorded, tool.Read, tool.Write, tool.External, tool.Repeatable and tool.Notice")
		}
	}
	for _, o := range m.Objects {
		for _, rows := range [][]Func{o.Fields, o.Methods} {
			for i := range rows {
				if f := &rows[i]; f.Kind != Pure {
					return value.Errorf(value.Invalid, "the field or method %s of the object type %s should have the Kind tool.Pure", f.Name, o.Name).
						WithHint("set its Kind to tool.Pure")
				}
			}
		}
	}
	return nil
}

// A Grant is what a function gets to execute one effect: the call that asked, and access
// to what that call may do. The zero Grant allows nothing.
type Grant struct {
	Call Call // the call that asked
	// Check returns an error if the call may not use a capability. A function calls it
	// if the target differs from that of the arguments, as after a redirect.
	Check func(Capability) error
	// Narrowed returns the source of a rule that denies or asks for a part of what a
	// capability name covers, or "". It is for a function that cannot check each part,
	// such as one that starts a command which may read any file.
	Narrowed func(name string) string
	Stage    *Stage // the uncommitted writes of the call
	// Hold takes the memory for a stage that holds so many bytes, until it is committed or dropped. It
	// may wait. Nil bounds nothing.
	Hold func(bytes int64) error
	// Request counts an HTTP request of the call, and fails beyond [Limits.Requests]. Nil counts nothing.
	Request func() error
	// ReadsOnly reports that the call cannot write, so that what an effect reads need
	// not be noted in the stage.
	ReadsOnly bool
	// Key is the idempotency key of the effect, the same for each try. It is "" if the
	// run is not recorded.
	Key string
	// Ask asks a person: with confirm the answer is a bool, else a text. If nobody can
	// answer and the run can wait, the error parks the run and must be returned
	// unchanged.
	Ask func(ctx context.Context, question string, confirm bool, timeout time.Duration) (value.Value, error)
	// Form asks a person to fill in a form, see [Question.Form]. The result is a dict with an action,
	// which is "accept", "decline" or "cancel", and the content of an accepted form. It is recorded
	// with the effect: the same form is not asked again when the effect is repeated. If nobody can
	// answer now, it parks the run like Ask; with live, or if the run cannot be parked, it fails with kind
	// Unanswered instead. It is nil if nobody can be asked and the run cannot be parked. With live, it
	// checks the capability human first, and fails with kind Denied. Otherwise the Target of the function
	// must return human.
	Form func(ctx context.Context, text string, form *value.Dict, live bool) (*value.Dict, error)
	// Sleep waits. For a long time it parks the run if that is possible: then its error
	// must be returned unchanged.
	Sleep func(ctx context.Context, d time.Duration) error
	Emit  func(Report)               // reports about the call
	Note  func(*value.Dict) error    // records a fact about the effect; nil if it has no record
	Rand  func() (*rand.Rand, error) // the random numbers of the call, from one seed
	// Do asks for an effect as the script would. It is for Pure functions, which run in the
	// script's process, and nil for others.
	Do func(name string, args *value.Dict) (Outcome, error)
	// Memory is how many bytes the process of the script may use; 0 means unknown.
	Memory int64
}

// Required returns a parameter that every call must give.
func Required(name, typ, doc string) Param {
	return Param{Name: name, Type: Type{Name: typ}, Description: doc, Required: true}
}

// Optional returns a parameter with a default.
func Optional(name, typ string, otherwise value.Value, doc string) Param {
	return Param{Name: name, Type: Type{Name: typ}, Description: doc, Default: otherwise, HasDefault: true}
}

// Maybe returns a parameter without a default that a call may omit: the function can
// distinguish that from every value.
func Maybe(name, typ, doc string) Param {
	return Param{Name: name, Type: Type{Name: typ}, Description: doc}
}

// Bind matches positional and named arguments to the parameters of f, fills in
// defaults and checks types. The result holds every argument by its
// parameter's name and in the order of the parameters, without those that are
// absent and have no default. Null for a parameter that is not required means
// its default; without one, null is passed on. The dict of Rest is last; it may have
// the name of a parameter that was given by position. An error is of kind Invalid.
func (f *Func) Bind(positional []value.Value, named *value.Dict) (*value.Dict, error) {
	if f.Mode == ModeVariadic {
		positional = f.collect(positional)
	}
	if len(positional) > len(f.Params) {
		return nil, value.Errorf(value.Invalid, "too many arguments: expected at most %d but got %d", len(f.Params), len(positional))
	}
	given := value.MakeDict(len(f.Params))
	for i, v := range positional {
		given.Put(f.Params[i].Name, v)
	}
	var rest *value.Dict
	if f.Rest != "" {
		rest = &value.Dict{}
	}
	for k, v := range named.All() {
		name, _ := k.(string)
		p, ok := findParam(f.Params, name)
		if rest != nil && (!ok || given.Has(p.Name)) {
			rest.Put(name, v)
			continue
		}
		if !ok {
			return nil, value.Errorf(value.Invalid, "unexpected argument %q%s", name, value.DidYouMean(name, paramNames(f.Params)))
		}
		if given.Has(p.Name) {
			return nil, value.Errorf(value.Invalid, "argument %q is given twice", p.Name)
		}
		if name != p.Name {
			k = p.Name
		}
		given.PutEntry(value.Entry{Key: k, Value: v})
	}
	args := value.MakeDict(len(f.Params))
	for i := range f.Params {
		p := &f.Params[i]
		e, ok := given.Lookup(p.Name)
		switch {
		case ok && (e.Value != nil || p.Required):
			checked, problems := checkValue(&p.Type, e.Value, "argument '", p.Name, "'")
			if len(problems) > 0 {
				return nil, value.Errorf(value.Invalid, "%s", strings.Join(problems, "; "))
			}
			args.PutEntry(value.Entry{Key: e.Key, Value: checked})
		case p.Required:
			return nil, value.Errorf(value.Invalid, "missing argument %q", p.Name)
		case p.HasDefault:
			args.Put(p.Name, p.Default)
		case ok:
			args.Put(p.Name, nil)
		}
	}
	if rest != nil {
		args.Put(f.Rest, rest)
	}
	return args, nil
}

// collect makes one list of the arguments that are given by place, unless that is
// what they are.
func (f *Func) collect(positional []value.Value) []value.Value {
	if len(positional) == 0 {
		return nil
	}
	if _, isList := value.Elements(positional[0]); isList && len(positional) == 1 {
		return positional
	}
	return []value.Value{value.List(positional)}
}
