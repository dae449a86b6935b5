package stdlib

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/table"
)

// Pure returns the modules whose functions only compute. They draw on nothing
// but their arguments and, for the module random and the function uuid, the
// random numbers that the call is lent.
func Pure() []tool.Module {
	modules := []tool.Module{
		jsonModule(), yamlModule(), csvModule(), textModule(), reModule(), mathModule(), pureTimeModule(),
		hashModule(), base64Module(), urlModule(), htmlModule(), diffModule(), shellSplitModule(), randomModule(), uuidModule(),
		table.Module(),
	}
	for _, m := range modules {
		for i := range m.Funcs {
			m.Funcs[i].Kind = tool.Pure
		}
	}
	return modules
}
