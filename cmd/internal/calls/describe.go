package calls

import (
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Declared returns the declarations of tools.
func Declared(tools []toolset.Info) []tool.Tool {
	return ui.Map(tools, func(t toolset.Info) tool.Tool { return t.Tool })
}
