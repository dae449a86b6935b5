package diagnostic

// The codes of diagnostics. docs/checking.md explains each.
const (
	InvalidFile = "invalid-file" // the file cannot be checked
	Syntax      = "syntax"
	InvalidCode = "invalid-code" // parses, and certainly fails

	UnknownName      = "unknown-name"
	UnknownFunction  = "unknown-function" // of a module or a value
	UnknownTool      = "unknown-tool"
	UnknownParameter = "unknown-parameter" // the handler reads an argument that the tool does not have
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

	Declaration   = "declaration"     // of a tool or workflow, in any other way
	Constraint    = "constraint-type" // does not fit the type of its parameter
	Example       = "example-args"    // do not fit the parameters
	ExampleResult = "example-result"  // does not fit the declared result
	MissingDoc    = "missing-docstring"
	DocstringArgs = "docstring-args" // describe what is no parameter
	DocstringType = "docstring-type" // a type that only the docstring has
)
