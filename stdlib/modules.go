package stdlib

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/clock"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
	"github.com/cassidy-run/cassidy/stdlib/number"
	"github.com/cassidy-run/cassidy/stdlib/shell"
	"github.com/cassidy-run/cassidy/stdlib/table"
	"github.com/cassidy-run/cassidy/stdlib/text"
)

// Pure returns the modules whose functions only compute. Their results depend on their
// arguments alone and, for the module random and the function uuid, on the random numbers
// that the call is granted. Each call returns new modules.
func Pure() []tool.Module {
	return []tool.Module{
		encoding.JSON(), encoding.YAML(), encoding.CSV(), text.Text(), text.Regexp(), number.Math(), clock.Pure(),
		encoding.Hash(), encoding.Base64(), encoding.Media(), encoding.URL(), text.HTML(), text.Diff(), shell.Split(), number.Random(), number.UUID(),
		table.Module(),
	}
}
