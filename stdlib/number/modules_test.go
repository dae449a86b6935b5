package number

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
)

func modules() []tool.Module { return []tool.Module{Math(), Random(), UUID(), encoding.JSON()} }
