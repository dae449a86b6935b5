package diagnostic

// The codes of diagnostics. [Codes] explains each.
const (
	InvalidFile = "invalid-file"
	Syntax      = "syntax"
	InvalidCode = "invalid-code"

	UnknownName      = "unknown-name"
	UnknownFunction  = "unknown-function"
	UnknownTool      = "unknown-tool"
	UnknownParameter = "unknown-parameter"
	UnknownType      = "unknown-type"

	UnknownArgument = "unknown-argument"
	MissingArgument = "missing-argument"
	ManyArguments   = "too-many-arguments"
	TwiceArgument   = "duplicate-argument"
	ArgumentType    = "argument-type"

	MissingReturn = "missing-return"
	ResultType    = "result-type"
	Unreachable   = "unreachable-code"

	DuplicateName = "duplicate-name"
	DuplicateKey  = "duplicate-key"

	UnusedVariable  = "unused-variable"
	UnusedParameter = "unused-parameter"
	UnusedFunction  = "unused-function"
	UnusedLoad      = "unused-load"
	Load            = "invalid-load"

	MissingNeed   = "missing-need"
	UnusedNeed    = "unused-need"
	DuplicateNeed = "duplicate-need"

	Declaration   = "declaration"
	MoreFaults    = "more-faults"
	Constraint    = "constraint-type"
	Example       = "example-args"
	ExampleResult = "example-result"
	MissingDoc    = "missing-docstring"
	DocstringArgs = "docstring-args"
	DocstringType = "docstring-type"
	DocComment    = "doc-comment"
)

// A Code is a code of diagnostics and its meaning.
type Code struct {
	ID      string
	Meaning string // Markdown, without a full stop
}

// Codes returns all codes, in the order of docs/checking.md.
func Codes() []Code {
	return []Code{
		{InvalidFile, "the file cannot be read, or is not a script"},
		{Syntax, "the file does not parse"},
		{InvalidCode, "the code parses, but certainly fails"},
		{UnknownName, "a name is not defined"},
		{UnknownFunction, "a module or a value has no such function"},
		{UnknownTool, "there is no tool with this name"},
		{UnknownParameter, "a handler in Lua reads a parameter that the tool does not have"},
		{UnknownType, "a type is unknown, so any value is accepted"},
		{UnknownArgument, "the function or the tool does not have this argument"},
		{MissingArgument, "a required argument is missing"},
		{ManyArguments, "a call has more arguments than the function has parameters"},
		{TwiceArgument, "an argument is given twice"},
		{ArgumentType, "a value has the wrong type"},
		{MissingReturn, "a function returns a value on some paths only, or never returns the declared result"},
		{ResultType, "a handler returns a value that does not have the declared type"},
		{Unreachable, "a statement is never executed"},
		{DuplicateName, "a name is defined twice, or two tools have the same name"},
		{DuplicateKey, "a dict or a table has a key twice"},
		{UnusedVariable, "a variable is not used"},
		{UnusedParameter, "a parameter is not used"},
		{UnusedFunction, "a function is not used"},
		{UnusedLoad, "a loaded name is not used"},
		{Load, "a file cannot be loaded, or does not define the loaded name"},
		{MissingNeed, "the tool uses a capability that is not in `needs`"},
		{UnusedNeed, "`needs` contains a capability that the tool does not use"},
		{DuplicateNeed, "`needs` contains a capability twice"},
		{Constraint, "a constraint does not fit the type of its parameter, such as `min` for a string"},
		{Example, "the arguments of an example do not fit the parameters"},
		{ExampleResult, "the expected result of an example does not fit the declared result"},
		{DocstringArgs, "the docstring describes something that is not a parameter"},
		{DocstringType, "the type of a parameter is only in the docstring, as in `n (int): the number`"},
		{DocComment, "a tag of the comment above a handler in Lua cannot be read"},
		{MissingDoc, "a function or a parameter is not described"},
		{Declaration, "the declaration has a fault that has no other code"},
		{MoreFaults, "the file has more than 100 faults, and the others are not listed"},
	}
}
