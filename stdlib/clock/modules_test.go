package clock

import "github.com/cassidy-run/cassidy/runtime/tool"

func modules() []tool.Module { return []tool.Module{Pure()} }
