package tool

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Effect is what a script asks of the world: one function of a [Module],
// with its arguments, at a place in the run.
type Effect struct {
	Func  string      // "fs.read"
	Args  *value.Dict // by parameter name
	Place Place
	Self  Object // whose method it is, or nil
}

// A Place says where in a run an effect stands: {3} is the third effect of the
// root script, {3, 1} the first effect of the tool that the third one called.
type Place []int

// String returns the place as it is written in records: "3.1".
func (p Place) String() string {
	var b strings.Builder
	for i, n := range p {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// Child returns the place of the n-th effect inside this one, counted from 1.
func (p Place) Child(n int) Place {
	return append(p[:len(p):len(p)], n)
}

// An Outcome is what came of an effect or a call that did not fail.
type Outcome struct {
	Value value.Value
	Undo  *Effect // what would take it back, or nil
	Usage Usage
}

// Usage is what a call cost.
type Usage struct {
	Steps   int64         // of the script's interpreter
	Effects int           // how many effects it asked for
	Wall    time.Duration // from start to end
}

// An Effector carries out effects. It is the one hook between a script and the
// world: every gate is an Effector around another.
type Effector func(ctx context.Context, e Effect) (Outcome, error)

// A Module is a named group of functions that scripts can use, as in fs.read.
// The functions of the module without a name are called by theirs alone.
type Module struct {
	Name   string
	Doc    string
	Funcs  []Func
	Consts []Const
	// Objects are the kinds of objects that the functions give.
	Objects []*ObjectType
}

// A Const is a value that scripts can use by its name, as in math.pi.
type Const struct {
	Name  string
	Doc   string
	Value value.Value
}

// A Func is one function that scripts can use: a row of the one table from
// which come its bindings in every language, its gate, and its reference page.
type Func struct {
	Name    string
	Doc     string // what it does; the first sentence is its summary
	Params  []Param
	Returns string // what it gives, in words
	Kind    EffectKind
	// Target gives the capabilities that a call with these arguments takes.
	// Nil means none.
	Target func(args *value.Dict) ([]Capability, error)
	// Risk says whether the function asks for approval before it is carried out; see
	// [Func.Asks]. It decides for a function whose Target gives use capabilities.
	// RiskAsk holds for any other too, which is granted by its needs otherwise. A
	// yes holds for the function, with the same capabilities, for the rest of the
	// call of the tool. Nobody is asked where a person made the call, where all of it
	// was approved, or where a rule allows what it takes.
	Risk Risk
	// Do carries it out. The arguments are complete and of the right types. The Value
	// of the outcome must be a [value.Value]: [value.FromGo] encodes any other. An error without
	// a kind is of kind Failed, a panic is one of kind Internal.
	Do func(ctx context.Context, e Effect, g Grant) (Outcome, error)
	// Rest is the name under which named arguments that are no parameter's
	// come, together in a dict. "" refuses them.
	Rest string
	// Variadic says that the arguments that are given by place are the items of the
	// first parameter, a list; the others are given by name: t.sort("a", "b", descending = True).
	Variadic bool
	// Other marks the one row of a module that stands for every name that the
	// module does not have: tools.slug(x = 1) is tools.call("slug", x = 1),
	// where tools.call is that row. The name is its first argument.
	Other bool
	// Internal marks a row that a script cannot name: the host or the engine
	// calls it.
	Internal bool
	// Objects marks a pure row that takes objects and functions of the script as
	// they are: what else a row is given of an object is its plain value.
	Objects bool
	// Calls marks a row that does nothing itself but make calls, as tools.call:
	// what they do is recorded at places inside its own, so it can always be
	// carried out again after a crash.
	Calls bool
	// Again is called in place of Do where the outcome is known from the record
	// of a run, with the context that Do would get: it brings what Do keeps beside
	// the outcome to where it was. Nil where Do keeps nothing.
	Again func(ctx context.Context, e Effect, out Outcome, failure error) error
}

// A Risk says whether a function asks for approval before it is carried out.
type Risk uint8

const (
	RiskDefault Risk = iota // as its EffectKind: Write and External ask
	RiskSafe                // it does not ask
	RiskAsk                 // it asks
)

// Asks reports whether the function asks: what its Risk says, and by default
// whether its kind is Write or External.
func (f *Func) Asks() bool {
	return f.Risk == RiskAsk || f.Risk == RiskDefault && (f.Kind == Write || f.Kind == External)
}

// An EffectKind is what may happen when a function is called. It decides what a
// record of the call must hold and whether the call may be repeated. The zero
// value is invalid: each row sets its kind.
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

// CheckKinds returns an error of kind Invalid if a row of the module, or of its
// objects, has no valid Kind or Risk. A Pure row cannot ask, as no gate sees it. The rows of objects must be Pure, since they run
// in the script's own process.
func (m *Module) CheckKinds() error {
	for i := range m.Funcs {
		f, name := &m.Funcs[i], m.Funcs[i].Name
		if m.Name != "" {
			name = m.Name + "." + name
		}
		if f.Risk > RiskAsk || f.Risk == RiskAsk && f.Kind == Pure {
			return value.Errorf(value.Invalid, "the function %s has a Risk that it cannot have", name).
				WithHint("set its Risk to tool.RiskSafe or, if its Kind is not Pure, to tool.RiskAsk")
		}
		if !f.Kind.Valid() {
			return value.Errorf(value.Invalid, "the function %s has no valid Kind", name).
				WithHint("set its Kind to one of tool.Pure, tool.Recorded, tool.Read, tool.Write, tool.External, tool.Repeatable and tool.Notice")
		}
	}
	for _, o := range m.Objects {
		for _, rows := range [][]Func{o.Fields, o.Methods} {
			for i := range rows {
				if f := &rows[i]; f.Kind != Pure {
					return value.Errorf(value.Invalid, "the row %s of the object type %s must be of the Kind tool.Pure", f.Name, o.Name).
						WithHint("set its Kind to tool.Pure: fields and methods can only compute")
				}
			}
		}
	}
	return nil
}

// A Grant is what a function is lent for one effect: whom it acts for, and
// what that one may do. The zero Grant allows nothing.
type Grant struct {
	Call Call // the call that asked
	// Check says whether the call may also use this capability. A function
	// asks it again where the target turns out to be another than the
	// arguments said, as after a redirect.
	Check func(Capability) error
	// Narrowed names a rule that denies or asks for a part of what a capability
	// name covers, or "": for a function that cannot ask about each part, as one
	// that starts a command which may read any file.
	Narrowed func(name string) string
	Stage    *Stage // where the writes of the call wait
	// ReadsOnly says that the call can have no writes: what an effect has seen
	// need not be noted in the stage for them.
	ReadsOnly bool
	// Key names the effect, the same for each try: for services that do a thing
	// once for a key. "" where the run is not recorded.
	Key string
	// Ask puts a question to a person: with confirm the answer is a bool, else a
	// text. Where nobody is there to answer and the run can wait, its error parks
	// the run, and is to be returned as it is.
	Ask func(ctx context.Context, question string, confirm bool) (value.Value, error)
	// Sleep waits. A run that can wait in no process does, if it is for long;
	// then its error parks the run, and is to be returned as it is.
	Sleep func(ctx context.Context, d time.Duration) error
	Emit  func(Report)               // reports about the call
	Rand  func() (*rand.Rand, error) // the call's random numbers, from one seed
	// Do asks for an effect as the script itself would: for pure rows, which run
	// beside it.
	Do func(name string, args *value.Dict) (Outcome, error)
	// Memory is how many bytes the process of the script may use; 0 says that
	// it is not known.
	Memory int64
}

// Required is a parameter that every call must give.
func Required(name, typ, doc string) Param {
	return Param{Name: name, Type: Type{Name: typ}, Description: doc, Required: true}
}

// Optional is a parameter with a default.
func Optional(name, typ string, otherwise value.Value, doc string) Param {
	return Param{Name: name, Type: Type{Name: typ}, Description: doc, Default: otherwise, HasDefault: true}
}

// Maybe is a parameter that a call may leave out, which the function can tell
// from every value.
func Maybe(name, typ, doc string) Param {
	return Param{Name: name, Type: Type{Name: typ}, Description: doc}
}

// Bind matches positional and named arguments to the parameters of f, fills in
// defaults and checks types. The result holds every argument by its
// parameter's name and in the order of the parameters, without those that are
// absent and have no default. Null for a parameter that is not required means
// its default; where it has none, null is passed on. What Rest collects comes
// last, and there an argument may have the name of a parameter that was given
// by its place.
func (f *Func) Bind(positional []value.Value, named *value.Dict) (*value.Dict, error) {
	if f.Variadic {
		positional = f.collect(positional)
	}
	if len(positional) > len(f.Params) {
		return nil, value.Errorf(value.Invalid, "takes at most %d arguments, got %d", len(f.Params), len(positional))
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
