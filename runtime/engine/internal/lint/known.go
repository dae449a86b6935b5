package lint

import (
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Language can find the faults of its files without running them.
type Language interface {
	Check(src script.Source, r *Report)
}

// A Formatter is a language whose files have a standard format.
type Formatter interface {
	Format(src script.Source) (string, error)
}

// A Block is a language in which the code block of a Markdown file can be written.
type Block interface {
	// CheckBlock reports the faults of the block. It calls declared with what the block declares, or
	// with nil if there is no handler: declared adds the front matter, and returns the tool and its needs.
	CheckBlock(src script.Source, r *Report, declared func(*script.Declaration) (*Declaration, *tool.Tool))
}

// A Kind says what a file is for, and so who calls which of its functions.
type Kind string

// The kinds of files.
const (
	KindTool     Kind = "tool"     // declares a tool
	KindWorkflow Kind = "workflow" // has a function main, which a person runs
	KindPolicy   Kind = "policy"   // has a function policy, which controls an agent
	KindHooks    Kind = "hooks"    // has functions that are called before and after what an agent does
	KindLibrary  Kind = "library"  // other files load its functions
	KindTest     Kind = "test"     // tests a tool
	KindScript   Kind = "script"   // anything else: who calls its functions is unknown
)

// An Entry is a function of a file that the host calls by its name. A further parameter that has the name of a module
// gets the module.
type Entry struct {
	Name   string
	Params []string // the names of its arguments
	Result string   // what it returns, such as "the result of agent.finish"
	Return string   // a statement that returns it
	Types  []string // the types of Starlark that its result may have
	Keys   []string // that its result has, if that is a dict; nil if these are not known
}

// Known is what is known besides a file that is checked.
type Known struct {
	Kind Kind
	// Tools are the tools that scripts can call, by their keys. A nil tool exists, but nothing
	// else is known of it. Calls of tools are not checked if the map is nil.
	Tools map[string]*tool.Tool
	// Test are the functions of the parameter of tests. Their Do checks single arguments. Test files are not checked for them if it is empty.
	Test []tool.Func
	// Entries are the functions that the host calls. The file must define one of them.
	Entries []Entry
	// Strict says that the host refuses entries with other parameters, and further functions that are not private.
	Strict bool
	// Computes says that the functions of the file can have no effects.
	Computes bool
}
