package stdlib

import "github.com/cassidy-run/cassidy/runtime/tool"

func modules() []tool.Module { return Pure() }
